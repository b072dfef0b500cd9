"""Rows of the tables `blobs` and `index`: Arrow columns out of what the kernels and the verdicts give."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from thawline.engine.chunks import Chunk
from thawline.formats.borg.contents import Flaw, Known, decompress
from thawline.formats.borg.header import HEADER_SIZE
from thawline.formats.borg.judging import Judged, slots_of
from thawline.formats.borg.modes import mode_names
from thawline.formats.borg.naming import Rule
from thawline.formats.borg.walk import Stretch

BLOBS = pa.schema(
    [
        ("pack_id", pa.binary()),
        ("offset", pa.int64()),
        ("size", pa.int64()),
        ("version", pa.int16()),
        ("chunk_id", pa.binary()),
        ("len_meta", pa.int64()),
        ("len_data", pa.int64()),
        ("mode", pa.string()),
        ("name_rule", pa.string()),
        ("type", pa.string()),
        ("ctype", pa.int32()),
        ("clevel", pa.int32()),
        ("csize", pa.int64()),
        ("plain_size", pa.int64()),
        ("verdict", pa.string()),
        ("verified_by", pa.string()),
    ]
)
PAYLOADS = pa.schema([("meta", pa.binary()), ("data", pa.binary()), ("plaintext", pa.binary())])
"""Payloads of the slots as they are stored, and the chunk itself where it can be read."""
SLOTS = pa.schema([("meta_slot", pa.binary()), ("data_slot", pa.binary())])
"""The slots in their envelopes: with version and chunk_id, all that a blob is made of, whatever its mode."""
INDEX = pa.schema(
    [
        ("chunk_id", pa.binary()),
        ("pack_id", pa.binary()),
        ("offset", pa.int64()),
        ("length", pa.int64()),
        ("flags", pa.int64()),
        ("size", pa.int64()),
    ]
)
CONTENT = frozenset({"type", "ctype", "clevel", "csize", "plain_size", "verdict", "verified_by", *PAYLOADS.names})
"""Columns that need more than headers and envelopes."""
LARGEST_BATCH = 64 << 20
"""Bytes of plaintext after which a batch ends."""


@dataclass(frozen=True, slots=True)
class Pack:
    """What holds for every blob of a pack."""

    pack_id: str | None
    """The id that it is named by, in hexadecimal digits."""
    rule: Rule
    repository_version: int | None

    @property
    def is_proven(self) -> bool:
        """Whether the pack's name is a hash of its bytes, and right."""
        return self.rule in {"sha256", "blake3"}


def blob_batches(
    stretch: Stretch, pack: Pack, columns: Collection[str], view: memoryview | None = None
) -> Iterator[pa.RecordBatch]:
    """The blobs of a stretch; as one batch, unless their plaintext was asked for and is too much for one.

    Slots in their envelopes are taken from a view of the whole pack.
    """
    if not {"plaintext", *SLOTS.names} & set(columns):
        yield _sliced(stretch, pack, frozenset(columns))
        return
    if "plaintext" not in columns:
        yield _batch(stretch, pack, columns, {}, view)
        return
    first, plaintexts, held = stretch.first, list[bytes | None](), 0
    for row in range(stretch.first, stretch.last):
        plaintexts.append(_plaintext(stretch.judged, row))
        held += len(plaintexts[-1] or b"")
        if held >= LARGEST_BATCH or row == stretch.last - 1:
            part = Stretch(stretch.judged, first, row + 1, stretch.doubt)
            yield _batch(part, pack, columns, {"plaintext": plaintexts}, view)
            first, plaintexts, held = row + 1, [], 0


def _sliced(stretch: Stretch, pack: Pack, columns: frozenset[str]) -> pa.RecordBatch:
    """The blobs of a stretch, out of a batch of the whole chunk: between damage, stretches have a blob or two."""
    whole, judged = stretch.judged.batches.get((pack, columns)), stretch.judged
    if whole is None:
        whole = _batch(Stretch(judged, 0, len(judged)), pack, columns, {}, None)
        judged.batches[pack, columns] = whole
    part = whole.slice(stretch.first, len(stretch))
    if not stretch.doubt or "verdict" not in columns:
        return part
    place = part.schema.get_field_index("verdict")
    return part.set_column(place, "verdict", pa.array([stretch.doubt] * len(stretch), pa.string()))


def _plaintext(judged: Judged, row: int) -> bytes | None:
    known = judged.contents.get(row)
    if known is None:
        return None
    try:
        return decompress(known.meta, slots_of(judged.chunk.batch, row).data)
    except Flaw:  # it was read a moment ago
        return None


def _batch(
    stretch: Stretch,
    pack: Pack,
    columns: Collection[str],
    made: dict[str, list[bytes | None]],
    view: memoryview | None,
) -> pa.RecordBatch:
    fields = [field for field in (*BLOBS, *PAYLOADS, *SLOTS) if field.name in columns]
    if not fields:
        starts = stretch.judged.chunk.starts.slice(stretch.first, len(stretch))
        return pa.RecordBatch.from_arrays([starts], ["offset"]).select([])  # has as many rows all the same
    of = _Columns(stretch, pack, view)
    arrays = [pa.array(made[field.name], field.type) if field.name in made else of.column(field) for field in fields]
    return pa.RecordBatch.from_arrays(arrays, schema=pa.schema(fields))


class _Columns:
    """The columns of a stretch, each made when it is asked for."""

    def __init__(self, stretch: Stretch, pack: Pack, view: memoryview | None) -> None:
        self.stretch, self.pack, self.judged, self.view = stretch, pack, stretch.judged, view
        self.rows = range(stretch.first, stretch.last)

    def column(self, field: pa.Field) -> pa.Array:
        """One column."""
        made: dict[str, Callable[[], pa.Array]] = {
            "pack_id": self._pack_ids,
            "offset": lambda: self._sliced(self.judged.chunk.starts),
            "size": lambda: pc.subtract(*map(self._sliced, (self.judged.chunk.ends, self.judged.chunk.starts))),
            "mode": self._modes,
            "name_rule": lambda: self._repeated(self.pack.rule),
            "plain_size": lambda: self._known(field, lambda known: known.plain_size),
            "verdict": self._verdicts,
            "verified_by": self._checks,
            "meta": lambda: self._wire("meta_payload"),
            "data": lambda: self._wire("data_payload"),
            "meta_slot": lambda: self._slots("len_meta", []),
            "data_slot": lambda: self._slots("len_data", ["len_meta"]),
        }
        if field.name in made:
            return made[field.name]()
        if field.name in {"type", "ctype", "clevel", "csize"}:
            return self._known(field, lambda known: getattr(known.meta, field.name))
        return self._wire(field.name)

    def _sliced(self, whole: pa.Array) -> pa.Array:
        return whole.slice(self.stretch.first, len(self.stretch))

    def _wire(self, name: str) -> pa.Array:
        return self._sliced(self.judged.chunk.batch[name])

    def _slots(self, size: str, before: list[str]) -> pa.Array:
        """The bytes of a slot of each blob; those of other slots may lie between the header and it."""
        assert self.view is not None  # noqa: S101 - given where the column is asked for
        starts = pc.add(self._sliced(self.judged.chunk.starts), HEADER_SIZE)
        for name in before:
            starts = pc.add(starts, self._wire(name))
        places = zip(starts.to_pylist(), self._wire(size).to_pylist(), strict=True)
        return pa.array([bytes(self.view[start : start + length]) for start, length in places], pa.binary())

    def _repeated(self, value: str | None) -> pa.Array:
        return pa.repeat(pa.scalar(value, pa.string()), len(self.stretch))

    def _pack_ids(self) -> pa.Array:
        pack_id = None if self.pack.pack_id is None else bytes.fromhex(self.pack.pack_id)
        return pa.repeat(pa.scalar(pack_id, pa.binary()), len(self.stretch))

    def _modes(self) -> pa.Array:
        return mode_names(self._wire("version"), self._wire("meta_key_type"), self.pack.repository_version)

    def _known(self, field: pa.Field, value: Callable[[Known], object]) -> pa.Array:
        contents = self.judged.contents
        if not contents:
            return pa.nulls(len(self.stretch), field.type)
        return pa.array([value(contents[row]) if row in contents else None for row in self.rows], field.type)

    def _verdicts(self) -> pa.Array:
        if self.stretch.doubt or self.pack.is_proven:
            return self._repeated(self.stretch.doubt or "verified")
        if not self.judged.contents:
            return self._repeated("sealed")
        return pa.array([self._verdict(self.judged.contents.get(row)) for row in self.rows], pa.string())

    def _verdict(self, known: Known | None) -> str:
        return "sealed" if known is None else "verified" if known.verified_by else "readable"

    def _checks(self) -> pa.Array:
        by_name = ("pack_name",) if self.pack.is_proven else ()
        if not self.judged.contents:
            return self._repeated("+".join(by_name) or "structure")
        known = (self.judged.contents.get(row) for row in self.rows)
        checks = ((*(one.verified_by if one else ()), *by_name) for one in known)
        return pa.array(["+".join(check) or "structure" for check in checks], pa.string())


def index_batch(chunk: Chunk, columns: Collection[str]) -> pa.RecordBatch:
    """Entries of an index file."""
    names: Sequence[str] = [name for name in INDEX.names if name in columns]
    if not names:
        return pa.RecordBatch.from_arrays([chunk.starts], ["offset"]).select([])
    wire = {"offset": "ofs_blob", "length": "len_blob"}
    arrays = [chunk.batch[wire.get(name, name)] for name in names]
    return pa.RecordBatch.from_arrays(arrays, schema=pa.schema([INDEX.field(name) for name in names]))
