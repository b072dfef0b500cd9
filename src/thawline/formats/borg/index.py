"""Index files: which chunk lies in which pack, where; read, checked and written.

An index is a serialised borghash table. Since 2.0.0b25 it lies in the envelope of the repository's key: behind 34 bytes
in the modes authenticated-*, as ciphertext in the encrypted ones.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson
import pyarrow as pa

from thawline import specs
from thawline.engine import columns
from thawline.engine.chunks import Break, Chunk
from thawline.errors import FormatError, SourceError
from thawline.formats.borg.findings import BAD_INDEX, BAD_INDEX_NAME, TORN_INDEX
from thawline.formats.borg.header import ENVELOPES
from thawline.formats.borg.naming import HASH_RULES, HASHES, Rule, hash_rule, id_in
from thawline.formats.borg.rows import INDEX, index_batch
from thawline.model import Finding, Run, Span
from thawline.outputs import replacing
from thawline.source import Source
from thawline.wording import counted, printable

TABLE = "borg_index_entries"
MAGIC = b"BORGHASH"
ENVELOPE = ENVELOPES[2]
STAMPED = (0x50, 0x60)
"""Key types of b25 whose envelope leaves what is in it readable."""
FIELDS = ["flags", "size", "pack_id", "obj_offset", "obj_size"]
LAYOUT = {"key_size": 32, "value_size": 48, "byte_order": "little", "value_format": ["I", "I", "32s", "I", "I"]}
"""What the description must say for the entries to be those of the spec."""
LONGEST_DESCRIPTION = 1 << 16
MOST_ENTRIES = (1 << 32) - 1
"""A borghash table counts with 32 bits."""
ENTRY = 80
ON_DISK_FLAGS = 0x01000000
EMPTY_CAPACITY = 1000
LARGEST_PLACE = (1 << 32) - 1
Place = tuple[bytes, bytes, int, int]
"""chunk_id, pack_id, offset and length."""


@dataclass(frozen=True, slots=True)
class Head:
    """What stands before the entries of an index."""

    start: int
    """Where the table starts, behind an envelope if there is one."""
    entries: int
    """Where the entries start."""
    used: int
    """How many there should be."""


def table_start(source: Source) -> int | None:
    """Where the table starts in an index file; None if it is none, or encrypted."""
    head = bytes(source.view(0, min(source.size, ENVELOPE + len(MAGIC))))
    if head.startswith(MAGIC):
        return 0
    is_stamped = len(head) > ENVELOPE and head[0] in STAMPED and head[1] == 0
    return ENVELOPE if is_stamped and head[ENVELOPE:] == MAGIC else None


def read_head(source: Source) -> Head:
    """The head of an index; `FormatError` names what is wrong with it."""
    start = table_start(source)
    if start is None:
        raise FormatError("does not start with BORGHASH", file=source.name, offset=0)
    fixed = bytes(source.view(start, min(source.size, start + 16)))
    size = min(int.from_bytes(fixed[12:16], "little"), LONGEST_DESCRIPTION)
    data = bytes(source.view(start, min(source.size, start + 16 + size)))
    # Cut behind the description, so that the parser makes no object of any entry.
    parsed = specs.parse("borg_index", data, file=source.name, base=start)
    description = _description(parsed.description)
    for key, value in LAYOUT.items():
        told = description.get(key)
        if type(told) is not type(value) or told != value:
            message = f"its description says {key} {_shown(told)}, must be {value!r}"
            raise FormatError(message, file=source.name, offset=start + 16)
    used = description.get("used")
    if type(used) is not int or not 0 <= used <= MOST_ENTRIES:
        raise FormatError(f"its description says used {_shown(used)}", file=source.name, offset=start + 16)
    return Head(start, start + len(data), used)


def _shown(value: object) -> str:
    return printable(f"{value!r:.60}")


def _description(text: bytes) -> dict[str, Any]:
    try:
        found = orjson.loads(text)
    except orjson.JSONDecodeError:
        return {}
    return found if isinstance(found, dict) else {}


def scan_index(source: Source, repository_version: int | None = None) -> Iterator[Run | Finding]:
    """The entries of an index as one run, and what is wrong with it."""
    try:
        head = read_head(source)
    except FormatError as error:
        at = error.offset or 0
        yield Finding(BAD_INDEX, Span(0, source.size), {"at": at, "reason": error.message, "lost": "its entries"})
        return
    whole = (source.size - head.entries) // ENTRY
    end = head.entries + whole * ENTRY
    yield Run(Span(0, end), 1, whole, {"entries": head.entries})
    counts = {"entries_stored": head.used, "entries_computed": whole}
    if end < source.size:
        left = {"left": source.size - end, "lost": counted(max(head.used - whole, 1), "entry")}
        yield Finding(TORN_INDEX, Span(end, source.size), {**counts, **left})
    elif whole != head.used:
        lost = {"lost": counted(head.used - whole, "entry")} if head.used > whole else {}
        yield Finding(TORN_INDEX, Span(end, end), {**counts, **lost})
    yield from check_name(source, repository_version)


def check_name(source: Source, repository_version: int | None) -> Iterator[Finding]:
    """A finding, if the file is named by an id that is not the hash of its bytes."""
    name = id_in(source.name)
    if name and hash_rule(source.on_disk().view(0, source.size), name, repository_version) == "none":
        yield Finding(BAD_INDEX_NAME, Span(source.size, source.size), {"name": name})


def index_batches(source: Source, run: Run, names: Collection[str]) -> Iterator[pa.RecordBatch]:
    """The entries of an index."""
    start = run.labels["entries"]
    assert isinstance(start, int)  # noqa: S101 - the run is one of scan_index
    for chunk in index_chunks(source, start, run.span.end):
        yield index_batch(chunk, names)


def index_chunks(source: Source, start: int, end: int) -> Iterator[Chunk]:
    """The entries between two positions as chunks."""
    for item in columns.scan(TABLE, source.on_disk().view(start, end)):
        if isinstance(item, Break):
            raise SourceError(f"{source.name}: changed while it was read")
        yield item.moved(start)


def read_index(source: Source) -> pa.Table:
    """All entries of an index that are whole, whatever else is wrong with it."""
    runs = [item for item in scan_index(source) if isinstance(item, Run)]
    batches = [batch for run in runs for batch in index_batches(source, run, INDEX.names)]
    return pa.Table.from_batches(batches, INDEX)


def encode_index(places: Iterable[Place]) -> bytes:
    """An index file as borg writes it, of chunk_id, pack_id, offset and length of each chunk."""
    entries = [
        chunk_id + ON_DISK_FLAGS.to_bytes(4, "little") + bytes(4) + pack_id
        + offset.to_bytes(4, "little") + length.to_bytes(4, "little")
        for chunk_id, pack_id, offset, length in places
    ]  # fmt: skip
    description = {
        "key_size": LAYOUT["key_size"],
        "value_size": LAYOUT["value_size"],
        "byte_order": LAYOUT["byte_order"],
        "value_type_name": "ChunkIndexEntry",
        "value_type_fields": FIELDS,
        "value_format_name": "ChunkIndexEntryFormatT",
        "value_format_fields": FIELDS,
        "value_format": LAYOUT["value_format"],
        "capacity": 2 * len(entries) or EMPTY_CAPACITY,
        "used": len(entries),
    }
    text = _spaced(description)
    head = MAGIC + (1).to_bytes(4, "little") + len(text).to_bytes(4, "little") + text
    return head + b"".join(entries)


def _spaced(description: dict[str, Any]) -> bytes:
    """JSON with the spaces that borg's has."""
    import json  # noqa: PLC0415 - orjson has no way to write them

    return json.dumps(description).encode("ascii")


def write_index(folder: Path, places: Iterable[Place], repository_version: int) -> Path:
    """Write an index file under the name that its content gives it; `SourceError` if it is there already."""
    data = encode_index(places)
    rule: Rule = HASH_RULES[repository_version]
    target = folder / HASHES[rule](memoryview(data)).hex()
    with replacing(target) as file:
        file.write(data)
    return target
