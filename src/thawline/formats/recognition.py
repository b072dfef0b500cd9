"""What can be said about a file that no format claims: what it looks like, and which format may read it all the same.

A format claims a file by its first bytes, for a claim must be cheap and rarely wrong. A file whose beginning is lost
has none to go by. Here its name is asked, and its first megabyte is searched for units that are intact.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import PurePath

from thawline import formats
from thawline.errors import ThawlineError, UnknownFormat
from thawline.formats import Format
from thawline.formats.contract import Depth
from thawline.model import Run, Span
from thawline.source import LocalSource, Source
from thawline.wording import counted

LOOKED_AT = 1 << 20
"""Bytes of a file's start that are searched for units."""
MOST_ITEMS = 1 << 16
"""Runs and findings after which a search has seen enough."""
BATCH_HEAD, LAST_MAGIC = 17, 2
"""Bytes of a batch of Kafka up to its magic, which lies at the same place in all versions, and the latest of those."""
HEAD = 1 << 12
"""Bytes that tell what a file looks like."""
MOST_ZEROS = 16 << 20
"""Bytes of a file that are looked at before it is called all zero; of a longer one only the start is."""

NAMES = {
    "rbf": re.compile(r".*\.rbf"),
    "borg": re.compile(r".*\.pack|[0-9a-f]{64}"),
    "rbak": re.compile(r".*\.rbak"),
    "kafka": re.compile(r"\d{20}\.log(?:\.deleted|\.swap|\.cleaned)?|.*\.(?:index|timeindex|txnindex|snapshot)"),
    "aerospike": re.compile(r".*\.asb"),
}
"""Names that speak for a format. Whatever is behind them, such as `.gz`, is no part of the name that it had."""
PACKED_NAME = re.compile(r"\.(?:gz|zst|lz4|bz2|xz|bak|old|part|tmp|\d+)$")

COMPRESSED, ARCHIVE, OTHER = "decompress it first", "unpack it first", ""
"""What is to be done with a file that looks like something else."""


@dataclass(frozen=True, slots=True)
class Likeness:
    """Something that a file can look like: its name, the bytes that tell it, where those are, and what to do."""

    name: str
    magic: bytes
    remedy: str = OTHER
    at: int = 0


LIKENESSES = (
    Likeness("gzip", b"\x1f\x8b", COMPRESSED),
    Likeness("zstd", b"\x28\xb5\x2f\xfd", COMPRESSED),
    Likeness("lz4", b"\x04\x22\x4d\x18", COMPRESSED),
    Likeness("lz4", b"\x02\x21\x4c\x18", COMPRESSED),
    Likeness("bzip2", b"BZh", COMPRESSED),
    Likeness("xz", b"\xfd7zXZ\0", COMPRESSED),
    Likeness("snappy", b"\xff\x06\0\0sNaPpY", COMPRESSED),
    Likeness("snappy", b"\x82SNAPPY\0", COMPRESSED),
    Likeness("lzop", b"\x89LZO\0", COMPRESSED),
    Likeness("zip", b"PK\x03\x04", ARCHIVE),
    Likeness("zip", b"PK\x05\x06", ARCHIVE),
    Likeness("7z", b"7z\xbc\xaf\x27\x1c", ARCHIVE),
    Likeness("tar", b"ustar", ARCHIVE, at=257),
    Likeness("Parquet", b"PAR1"),
    Likeness("Arrow IPC", b"ARROW1\0\0"),
    Likeness("ORC", b"ORC"),
    Likeness("Avro", b"Obj\x01"),
    Likeness("SQLite", b"SQLite format 3\0"),
    Likeness("ELF", b"\x7fELF"),
    Likeness("PDF", b"%PDF-"),
    Likeness("a Redis dump", b"REDIS0"),
    Likeness("a Java class", b"\xca\xfe\xba\xbe"),
)
EMPTY, ALL_ZERO, ZEROS_FIRST, JSON, TEXT = "empty", "all zero", "zeros", "JSON", "text"


@dataclass(frozen=True, slots=True)
class Suspicion:
    """A format that may read a file although it does not claim it."""

    format: str
    why: str
    units: int
    """How many intact ones are found in what was looked at."""
    unit_name: str
    first: int | None = None
    """Where the first of them starts."""


def unrecognised(source: Source) -> UnknownFormat:
    """The error about a file that no format claims, with what can be said about it all the same."""
    found = suspects(source)
    told = advice(source) or "`thawline formats` lists what is known"
    return UnknownFormat(
        f"{source.name}: no format recognises this file; {told}", suspect=found[0].format if found else ""
    )


def advice(source: Source) -> str:
    """What to do about a file that no format claims, in a sentence; empty if there is nothing to say."""
    found, likeness = suspects(source), _likeness(source)
    if found and found[0].units:
        return f"{found[0].why}: try --input-format {found[0].format}"
    if likeness and likeness.remedy:
        return f"it begins like {likeness.name}: {likeness.remedy}"
    seen = _sentence(resemblance(source))
    if not found:
        return seen
    named = f"{found[0].why}: --input-format {found[0].format} says what is wrong with it"
    return f"{seen}, and {named}" if seen else named


def _sentence(seen: str) -> str:
    if seen in {EMPTY, ALL_ZERO}:
        return f"it is {seen}"
    return f"it begins {'with' if seen == ZEROS_FIRST else 'like'} {seen}" if seen else ""


def resemblance(source: Source) -> str:
    """What a file looks like: the name of another format, or what it is full of; empty if that cannot be told."""
    if not source.size:
        return EMPTY
    if likeness := _likeness(source):
        return likeness.name
    head = _head(source, HEAD)
    if not any(head):
        return ALL_ZERO if _is_all_zero(source) else ZEROS_FIRST
    return _kind_of_text(head, is_whole=source.size <= HEAD)


def likeness(source: Source) -> str:
    """What a file begins like that is not of any format here, and what to do about it; empty if nothing is known."""
    found = _likeness(source)
    if found is None:
        return "nothing: it is all zero" if resemblance(source) == ALL_ZERO else ""
    return f"{found.name}: {found.remedy}" if found.remedy else found.name


def suspects(source: Source) -> list[Suspicion]:
    """Formats that a file's name or a unit in its first megabyte speaks for; what finds most units comes first."""
    if not source.size:
        return []
    window = LocalSource(source.name, _head(source, LOOKED_AT))
    found = [suspicion for name in formats.FORMATS if (suspicion := _suspicion(name, window, source.size))]
    return sorted(found, key=lambda suspicion: -suspicion.units)


def _suspicion(name: str, window: LocalSource, size: int) -> Suspicion | None:
    is_named = _speaks_for(name, window.name)
    read = formats.get(name)
    unit_name = read.kinds[0].unit_name
    units, first = 0, None
    for span, count in _units(read, window):
        units, first = units + count, span.start if first is None else first
    is_fitting = name == "kafka" and _begins_like_a_batch(window, size)
    if not units and not is_named and not is_fitting:
        return None
    told = ["its name speaks for " + name] if is_named else []
    if not units and is_fitting:
        told.append(f"it begins like a {unit_name} of {name} that is damaged")
    if units:
        noun = counted(units, unit_name) + ("" if is_named else f" of {name}")
        within = " in its first MiB" if size > LOOKED_AT else ""
        told.append(f"{noun} {'is' if units == 1 else 'are'} found from byte {first:#x} on{within}")
    return Suspicion(name, ", and ".join(told), units, unit_name, first)


def _begins_like_a_batch(window: LocalSource, size: int) -> bool:
    """Whether length and magic fit a batch or message of Kafka that ends where the file does, or another begins."""
    head = _head(window, BATCH_HEAD)
    end = 12 + int.from_bytes(head[8:12], "big")
    if len(head) < BATCH_HEAD or head[16] > LAST_MAGIC or not BATCH_HEAD <= end <= size:
        return False
    following = bytes(window.view(min(end, window.size), min(end + BATCH_HEAD, window.size)))
    return end == size or (len(following) == BATCH_HEAD and following[16] == head[16])


def _speaks_for(name: str, path: str) -> bool:
    file = PurePath(path).name
    told = NAMES.get(name)
    return bool(told and (told.fullmatch(file) or told.fullmatch(PACKED_NAME.sub("", file))))


def _units(read: Format, window: LocalSource) -> Iterator[tuple[Span, int]]:
    """Runs of intact units; nothing is decompressed for them, since a little can become a lot."""
    if (likeness := _likeness(window)) and likeness.remedy == COMPRESSED:
        return
    with suppress(ThawlineError):
        depth = DEPTHS.get(read.name, Depth.UNITS)
        for item in islice(read.kinds[0].walk(window, depth), MOST_ITEMS):
            if isinstance(item, Run) and item.units:
                yield item.span, item.units


DEPTHS = {"borg": Depth.HEADS}
"""How far to look for units without decompressing any, where that is less than what rows need."""


def _likeness(source: Source) -> Likeness | None:
    head = _head(source, HEAD)
    return next((known for known in LIKENESSES if head.startswith(known.magic, known.at)), None)


def _head(source: Source, size: int) -> bytes:
    return bytes(source.view(0, min(size, source.size)))


def _is_all_zero(source: Source) -> bool:
    """Whether a file is nothing but zeros, as far as that can be said without reading much of it."""
    if source.size > MOST_ZEROS:
        return False
    blocks = (bytes(source.view(at, min(at + LOOKED_AT, source.size))) for at in range(0, source.size, LOOKED_AT))
    return all(block.count(0) == len(block) for block in blocks)


def _kind_of_text(head: bytes, *, is_whole: bool) -> str:
    """Whether bytes are JSON, or other text; a character may be cut at their end."""
    try:
        text = (head if is_whole else head[: head.rfind(b"\n") + 1] or head[:-3]).decode()
    except UnicodeDecodeError:
        return ""
    if not all(letter.isprintable() or letter in "\t\r\n\f" for letter in text.removeprefix("\ufeff")):
        return ""
    start = text.lstrip("\ufeff \t\r\n")[:2]
    return JSON if re.match(r'\{["\s}]|\[["\s\[{\]\d-]', start + " ") else TEXT
