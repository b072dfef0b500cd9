"""Index files: which chunk lies in which pack, and where; read, checked and written.

An index is a serialised borghash table. Since 2.0.0b25 it is kept in the envelope of the repository's key: after 34
bytes in the modes authenticated-*, as ciphertext in the encrypted ones.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson
import pyarrow as pa
import pyarrow.compute as pc

from thawline import specs
from thawline.engine.chunks import Chunk
from thawline.engine.encoding import Refused, encode, frame
from thawline.errors import FormatError, SourceError
from thawline.formats.borg.blobs import ENVELOPES, HASH_RULES, HASHES, SEALED, hash_rule, id_in
from thawline.formats.borg.findings import BAD_INDEX, BAD_INDEX_NAME, TORN_INDEX
from thawline.formats.building import Origins, batch_of
from thawline.formats.contract import Claim, Depth, Table
from thawline.formats.declared import OneTable, intact_chunks
from thawline.generated.kernels.constants import (
    BORG_INDEX_ENTRY_CHUNK_ID_SIZE,
    BORG_INDEX_ENTRY_SIZE,
    BORG_INDEX_HEAD_SIZE,
    BORG_INDEX_LEN_DESCRIPTION_AT,
    BORG_INDEX_MAGIC,
)
from thawline.generated.tables.borg import INDEX
from thawline.model import Finding, Run, Salvage, Span
from thawline.outputs import replacing
from thawline.source import Source
from thawline.wording import counted, printable

TABLE = "borg_index_entries"
PLACE = ("chunk_id", "pack_id", "offset", "length")
"""The columns that say where a chunk lies."""
MAGIC: bytes = BORG_INDEX_MAGIC
ENVELOPE = ENVELOPES[2]
STAMPED = (0x50, 0x60)
"""Key types of b25 whose envelope leaves the table readable."""
FIELDS = ["flags", "size", "pack_id", "obj_offset", "obj_size"]
HEAD_SIZE, ENTRY_SIZE, KEY_SIZE = BORG_INDEX_HEAD_SIZE, BORG_INDEX_ENTRY_SIZE, BORG_INDEX_ENTRY_CHUNK_ID_SIZE
LAYOUT = {
    "key_size": KEY_SIZE,
    "value_size": ENTRY_SIZE - KEY_SIZE,
    "byte_order": "little",
    "value_format": ["I", "I", "32s", "I", "I"],
}
"""What the description must say, so that the entries are those of the spec."""
LONGEST_DESCRIPTION = 1 << 16
MOST_ENTRIES = (1 << 32) - 1
"""A borghash table counts with 32 bits."""
LARGEST_OFFSET = (1 << 32) - 1
"""An entry has 32 bits for the offset of a blob in its pack."""
ON_DISK_FLAGS = 0x01000000
EMPTY_CAPACITY = 1000


@dataclass(frozen=True, slots=True)
class IndexHead:
    """What precedes the entries of an index."""

    entries: int
    """Where the entries start."""
    used: int
    """How many entries there should be."""


def table_start(source: Source) -> int | None:
    """Where the table starts in an index file, after its envelope if it has one; None if there is no readable table."""
    head = bytes(source.view(0, min(source.size, ENVELOPE + len(MAGIC))))
    if head.startswith(MAGIC):
        return 0
    is_stamped = len(head) > ENVELOPE and head[0] in STAMPED and head[1] == 0
    return ENVELOPE if is_stamped and head[ENVELOPE:] == MAGIC else None


@dataclass(frozen=True, slots=True)
class IndexKind(OneTable):
    """Index files: one unit, whose entries are rows. A walk is the same at any depth."""

    name = "index"
    unit_name = "index"

    version: int | None = None
    """The repository version, where it is known."""

    @property
    def tables(self) -> Mapping[str, Table]:
        """The entries."""
        return {"index": Table.of(INDEX)}

    def claim(self, source: Source) -> Claim | None:
        """The claim on an index by its magic, which an envelope may precede."""
        if table_start(source) is None:
            return None
        return Claim("borg", "index", "starts as a table of borghash", "certain", "index")

    def walk(self, source: Source, depth: Depth) -> Iterator[Run | Finding]:
        """The entries as one run, and what is wrong with the index; of an encrypted one only the name is checked."""
        if table_start(source) is None and source.size and source.view(0, 1)[0] in SEALED:
            yield Run(Span(0, source.size), 1, 0)
            yield from _check_name(source, self.version)
            return
        try:
            head = _read_head(source)
        except FormatError as error:
            at = error.offset or 0
            yield Finding(BAD_INDEX, Span(0, source.size), {"at": at, "reason": error.message, "lost": "its entries"})
            return
        whole = (source.size - head.entries) // ENTRY_SIZE
        end = head.entries + whole * ENTRY_SIZE
        yield Run(Span(0, end), 1, whole)
        yield from _check_count(Span(end, source.size), head.used, whole)
        yield from _check_name(source, self.version)

    def batches(self, source: Source, run: Run, columns: Collection[str]) -> Iterator[pa.RecordBatch]:
        """The entries of a run, which ends with them."""
        entries = Span(run.span.end - run.rows * ENTRY_SIZE, run.span.end)
        for chunk in intact_chunks(TABLE, source.on_disk(), entries, "entry"):
            yield _batch(chunk, columns)

    def units(self, source: Source, run: Run) -> Iterator[Span]:
        """The whole index without its envelope."""
        yield Span(table_start(source) or 0, run.span.end)

    def spec_at(self, source: Source, position: int) -> str:
        """The spec of an index."""
        return "borg_index"

    def salvaged(self, source: Source, *, include_suspects: bool) -> Salvage:
        """A new index of the whole entries, under the name that its content gives it."""
        entries = read_index(source)
        data = encode_index(entries)
        name = HASHES[HASH_RULES.get(self.version or 0, "sha256")](memoryview(data)).hex()
        items = self.walk(source, Depth.EVERYTHING)
        errors = tuple(item for item in items if isinstance(item, Finding) and item.severity == "error")
        return Salvage((data,), name, 1, entries.num_rows, errors)


def _check_count(rest: Span, used: int, whole: int) -> Iterator[Finding]:
    """A finding if the index holds another number of entries than its description says."""
    lost = max(used - whole, 1 if rest.size else 0)
    detail = {"entries_stored": used, "entries_computed": whole} | ({"left": rest.size} if rest.size else {})
    if rest.size or whole != used:
        yield Finding(TORN_INDEX, rest, {**detail, **({"lost": counted(lost, "entry")} if lost else {})})


def _read_head(source: Source) -> IndexHead:
    """The head of an index; `FormatError` names what is wrong with it."""
    start = table_start(source)
    if start is None:
        raise FormatError("does not start with BORGHASH", file=source.name, offset=0)
    fixed = bytes(source.view(start, min(source.size, start + HEAD_SIZE)))
    size = min(int.from_bytes(fixed[BORG_INDEX_LEN_DESCRIPTION_AT:HEAD_SIZE], "little"), LONGEST_DESCRIPTION)
    data = bytes(source.view(start, min(source.size, start + HEAD_SIZE + size)))
    # Cut after the description, so that the parser makes no object per entry.
    description = _description(specs.parse("borg_index", data, file=source.name, base=start).description)
    for key, value in LAYOUT.items():
        stated = description.get(key)
        if type(stated) is not type(value) or stated != value:
            message = f"its description says {key} {_shown(stated)}, must be {value!r}"
            raise FormatError(message, file=source.name, offset=start + HEAD_SIZE)
    used = description.get("used")
    if type(used) is not int or not 0 <= used <= MOST_ENTRIES:
        raise FormatError(f"its description says used {_shown(used)}", file=source.name, offset=start + HEAD_SIZE)
    return IndexHead(start + len(data), used)


def _description(text: bytes) -> dict[str, Any]:
    try:
        found = orjson.loads(text)
    except orjson.JSONDecodeError:
        return {}
    return found if isinstance(found, dict) else {}


def _shown(value: object) -> str:
    return printable(f"{value!r:.60}")


def _check_name(source: Source, repository_version: int | None) -> Iterator[Finding]:
    """A finding if the file is named by an id that is not the hash of its bytes."""
    name = id_in(source.name)
    if name and hash_rule(source.on_disk().view(0, source.size), name, repository_version) == "none":
        yield Finding(BAD_INDEX_NAME, Span(source.size, source.size), {"name": name})


def _batch(chunk: Chunk, names: Collection[str]) -> pa.RecordBatch:
    return batch_of(INDEX, names, Origins(len(chunk), lambda column: chunk.batch[column.source]))


def read_index(source: Source) -> pa.Table:
    """All whole entries of an index, whatever else is wrong with it."""
    kind = IndexKind()
    runs = [item for item in kind.walk(source, Depth.EVERYTHING) if isinstance(item, Run)]
    batches = [batch for run in runs for batch in kind.batches(source, run, INDEX.schema.names)]
    return pa.Table.from_batches(batches, INDEX.schema)


@dataclass(frozen=True, slots=True)
class ChunkIndex:
    """Where each chunk lies, each chunk once."""

    places: pa.Table
    doubled: int
    """Blobs whose chunk is also stored in another place."""


def index_of(blobs: pa.Table) -> ChunkIndex:
    """The index of blobs with `pack_id`, `offset`, `size` and `chunk_id`, in their order."""
    named = blobs.rename_columns({"size": "length"})
    first = named.group_by("chunk_id", use_threads=False).aggregate([(name, "first") for name in PLACE[1:]])
    places = first.select(["chunk_id", *(f"{name}_first" for name in PLACE[1:])]).rename_columns(list(PLACE))
    return ChunkIndex(places, named.num_rows - places.num_rows)


def encode_index(places: pa.Table) -> bytes:
    """An index file of these places, as borg writes it; `SourceError` if an offset does not fit into it."""
    rows, zeros = places.num_rows, pa.nulls(places.num_rows, pa.int64()).fill_null(0)
    entries = {
        "chunk_id": places["chunk_id"],
        "flags": pc.add(zeros, ON_DISK_FLAGS),
        "size": zeros,
        "pack_id": places["pack_id"],
        "ofs_blob": places["offset"],
        "len_blob": places["length"],
    }
    (batch,) = pa.table(entries).combine_chunks().to_batches() or [None]
    try:
        encoded = encode(TABLE, batch).data.to_pybytes() if batch is not None else b""
    except Refused as error:
        pack_id = places["pack_id"][error.row].as_py().hex()
        raise SourceError(f"pack {pack_id}: a blob does not fit into an index of borg: {error}") from None
    text = json.dumps(_described(rows)).encode("ascii")  # with spaces, as borg writes it; orjson writes none
    (head,) = frame("borg_index_head", description=len(text))
    return bytes(head) + text + encoded


def _described(rows: int) -> dict[str, Any]:
    """What an index says of its entries."""
    return {
        "key_size": LAYOUT["key_size"],
        "value_size": LAYOUT["value_size"],
        "byte_order": LAYOUT["byte_order"],
        "value_type_name": "ChunkIndexEntry",
        "value_type_fields": FIELDS,
        "value_format_name": "ChunkIndexEntryFormatT",
        "value_format_fields": FIELDS,
        "value_format": LAYOUT["value_format"],
        "capacity": 2 * rows or EMPTY_CAPACITY,
        "used": rows,
    }


def write_index(folder: Path, places: pa.Table, repository_version: int) -> Path:
    """Write an index file under the name that its content gives it; `SourceError` if it exists."""
    data = encode_index(places)
    target = folder / HASHES[HASH_RULES[repository_version]](memoryview(data)).hex()
    with replacing(target) as file:
        file.write(data)
    return target
