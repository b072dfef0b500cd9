"""Advice about a file that no format claims: what it looks like, and which format may still read it.

A format claims a file by its first bytes, since a claim must be cheap and rarely wrong. A file whose start is lost has
none. This module uses its name, and searches its first megabyte for intact units.
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
from thawline.generated.kernels.constants import (
    KAFKA_RECORD_BATCH_BODY_AT,
    KAFKA_RECORD_BATCH_CRC_AT,
    KAFKA_RECORD_BATCH_LEN_BODY_AT,
    KAFKA_RECORD_BATCH_MAGIC,
    KAFKA_RECORD_BATCH_MAGIC_AT,
)
from thawline.model import Run, Span
from thawline.source import LocalSource, Source
from thawline.wording import counted

SEARCHED = 1 << 20
"""This many bytes at the start of a file are searched for units."""
MOST_ITEMS = 1 << 16
"""The search stops after this many runs and findings."""
BATCH_HEAD: int = KAFKA_RECORD_BATCH_CRC_AT
BODY_AT: int = KAFKA_RECORD_BATCH_BODY_AT
MAGIC_AT: int = KAFKA_RECORD_BATCH_MAGIC_AT
LAST_MAGIC: int = KAFKA_RECORD_BATCH_MAGIC
"""Bytes of a Kafka batch up to and with its magic, which is at the same place in all versions; the latest magic."""
HEAD = 1 << 12
"""This many bytes decide what a file looks like."""
MOST_ZEROS = 16 << 20
"""A longer file is not read to its end to find out whether it is all zero."""

NAMES = {
    "rbf": re.compile(r".*\.rbf"),
    "borg": re.compile(r".*\.pack|[0-9a-f]{64}"),
    "rbak": re.compile(r".*\.rbak"),
    "kafka": re.compile(r"\d{20}\.log(?:\.deleted|\.swap|\.cleaned)?|.*\.(?:index|timeindex|txnindex|snapshot)"),
    "aerospike": re.compile(r".*\.asb"),
}
"""File names that suggest a format, without a further suffix such as `.gz`."""
PACKED_NAME = re.compile(r"\.(?:gz|zst|lz4|bz2|xz|bak|old|part|tmp|\d+)$")

COMPRESSED, ARCHIVE, OTHER = "decompress it first", "unpack it first", ""
KEY = "keep it with its repository; it holds no data itself"
"""The remedy for a file that looks like another format; empty if none exists."""


@dataclass(frozen=True, slots=True)
class Likeness:
    """A format that thawline does not read: its name, its magic and where that is, and the remedy."""

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
    Likeness("a key of Borg", b"BORG_KEY ", KEY),
)
EMPTY, ALL_ZERO, ZEROS_FIRST, JSON, TEXT = "empty", "all zero", "zeros", "JSON", "text"


@dataclass(frozen=True, slots=True)
class Suspicion:
    """A format that may read a file that it does not claim."""

    format: str
    why: str
    units: int
    """The number of intact units in the part that was searched."""
    unit_name: str
    first: int | None = None
    """The start of the first one."""


def unrecognised(source: Source) -> UnknownFormat:
    """The error about a file that no format claims, with advice."""
    suspicions = suspects(source)
    remark = advice(source) or "`thawline formats` lists what is known"
    return UnknownFormat(
        f"{source.name}: no format recognises this file; {remark}", suspect=suspicions[0].format if suspicions else ""
    )


def advice(source: Source) -> str:
    """What to do about a file that no format claims, in a sentence; empty if nothing is known."""
    suspicions, likeness = suspects(source), _likeness(source)
    if suspicions and suspicions[0].units:
        return f"{suspicions[0].why}: try --input-format {suspicions[0].format}"
    if likeness and likeness.remedy:
        return f"it begins like {likeness.name}: {likeness.remedy}"
    looks = _sentence(resemblance(source))
    if not suspicions:
        return looks
    named = f"{suspicions[0].why}: --input-format {suspicions[0].format} says what is wrong with it"
    return f"{looks}, and {named}" if looks else named


def _sentence(looks: str) -> str:
    if looks in {EMPTY, ALL_ZERO}:
        return f"it is {looks}"
    return f"it begins {'with' if looks == ZEROS_FIRST else 'like'} {looks}" if looks else ""


def resemblance(source: Source) -> str:
    """What a file looks like: another format, zeros, JSON or text; empty if it cannot be determined."""
    if not source.size:
        return EMPTY
    if likeness := _likeness(source):
        return likeness.name
    head = _head(source, HEAD)
    if not any(head):
        return ALL_ZERO if _is_all_zero(source) else ZEROS_FIRST
    return _kind_of_text(head, is_whole=source.size <= HEAD)


def likeness(source: Source) -> str:
    """The foreign format that a file begins like, and the remedy; empty if none is known."""
    foreign = _likeness(source)
    if foreign is None:
        return "nothing: it is all zero" if resemblance(source) == ALL_ZERO else ""
    return f"{foreign.name}: {foreign.remedy}" if foreign.remedy else foreign.name


def suspects(source: Source) -> list[Suspicion]:
    """Formats that a file's name or a unit in its first megabyte suggests; the one with most units comes first.

    A key has the name of a pack, and is none.
    """
    if not source.size or ((likeness := _likeness(source)) and likeness.remedy == KEY):
        return []
    window = LocalSource(source.name, _head(source, SEARCHED))
    suspicions = [suspicion for name in formats.FORMATS if (suspicion := _suspicion(name, window, source.size))]
    return sorted(suspicions, key=lambda suspicion: -suspicion.units)


def _suspicion(name: str, window: LocalSource, size: int) -> Suspicion | None:
    is_named = _is_named_like(name, window.name)
    read = formats.get(name)
    unit_name = read.kinds[0].unit_name
    units, first = 0, None
    for span, count in _units(read, window):
        units, first = units + count, span.start if first is None else first
    is_fitting = name == "kafka" and _begins_like_a_batch(window, size)
    if not units and not is_named and not is_fitting:
        return None
    reasons = ["its name speaks for " + name] if is_named else []
    if not units and is_fitting:
        reasons.append(f"it begins like a {unit_name} of {name} that is damaged")
    if units:
        noun = counted(units, unit_name) + ("" if is_named else f" of {name}")
        within = " in its first MiB" if size > SEARCHED else ""
        reasons.append(f"{noun} {'is' if units == 1 else 'are'} found from byte {first:#x} on{within}")
    return Suspicion(name, ", and ".join(reasons), units, unit_name, first)


def _begins_like_a_batch(window: LocalSource, size: int) -> bool:
    """Whether length and magic fit a Kafka batch or message that the end of the file or another one follows."""
    head = _head(window, BATCH_HEAD)
    end = BODY_AT + int.from_bytes(head[KAFKA_RECORD_BATCH_LEN_BODY_AT:BODY_AT], "big")
    if len(head) < BATCH_HEAD or head[MAGIC_AT] > LAST_MAGIC or not BATCH_HEAD <= end <= size:
        return False
    following = bytes(window.view(min(end, window.size), min(end + BATCH_HEAD, window.size)))
    return end == size or (len(following) == BATCH_HEAD and following[MAGIC_AT] == head[MAGIC_AT])


def _is_named_like(name: str, path: str) -> bool:
    file = PurePath(path).name
    pattern = NAMES.get(name)
    return bool(pattern and (pattern.fullmatch(file) or pattern.fullmatch(PACKED_NAME.sub("", file))))


def _units(read: Format, window: LocalSource) -> Iterator[tuple[Span, int]]:
    """Runs of intact units; nothing is decompressed, to bound the cost of hostile files."""
    if (likeness := _likeness(window)) and likeness.remedy == COMPRESSED:
        return
    with suppress(ThawlineError):
        depth = DEPTHS.get(read.name, Depth.UNITS)
        for item in islice(read.kinds[0].walk(window, depth), MOST_ITEMS):
            if isinstance(item, Run) and item.units:
                yield item.span, item.units


DEPTHS = {"borg": Depth.HEADS}
"""The depth of the search where `Depth.UNITS` would decompress units."""


def _likeness(source: Source) -> Likeness | None:
    head = _head(source, HEAD)
    return next((known for known in LIKENESSES if head.startswith(known.magic, known.at)), None)


def _head(source: Source, size: int) -> bytes:
    return bytes(source.view(0, min(size, source.size)))


def _is_all_zero(source: Source) -> bool:
    """Whether a file is nothing but zeros; false for a file too long to read."""
    if source.size > MOST_ZEROS:
        return False
    blocks = (bytes(source.view(at, min(at + SEARCHED, source.size))) for at in range(0, source.size, SEARCHED))
    return all(block.count(0) == len(block) for block in blocks)


def _kind_of_text(head: bytes, *, is_whole: bool) -> str:
    """`JSON`, `text`, or empty for other bytes; a character may be cut at their end."""
    try:
        text = (head if is_whole else head[: head.rfind(b"\n") + 1] or head[:-3]).decode()
    except UnicodeDecodeError:
        return ""
    if not all(letter.isprintable() or letter in "\t\r\n\f" for letter in text.removeprefix("\ufeff")):
        return ""
    start = text.lstrip("\ufeff \t\r\n")[:2]
    return JSON if re.match(r'\{["\s}]|\[["\s\[{\]\d-]', start + " ") else TEXT
