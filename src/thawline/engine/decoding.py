"""JSON documents as columns: what the reader of a kind of documents finds in a chunk, as Arrow arrays.

A reader (`generated/kernels/readers.py`) writes arrays of positions, lengths and values, one of each a field. These
become Arrow columns with the names of the fields.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from thawline import native
from thawline.engine.chunks import Chunk
from thawline.engine.documents import Document, FieldKind
from thawline.literals import repeated
from thawline.native.constants.documents import (
    ALL_SEEN,
    ANY_ODD,
    ANY_SEEN,
    FAULTY_CELLS,
    NO_SHAPE,
    PAIR_CELLS,
    SCRATCH_BYTES,
    WORK_CELLS,
)
from thawline.native.constants.kernels import COPY_STEP as ROOM_BEHIND

NAMED_FAULTS = 100
PAIRS = pa.list_(pa.field("element", pa.struct([("key", pa.string()), ("value", pa.string())])))
TYPES: dict[FieldKind, pa.DataType] = {
    "bytes": pa.binary(),
    "pairs": PAIRS,
    "text": pa.string(),
    "bool": pa.bool_(),
    "uint64": pa.decimal128(20, 0),
    "int64": pa.int64(),
    "uint8": pa.int16(),
}


@cache
def columns_of(document: Document) -> pa.Schema:
    """Every column that a kind of documents gives: its fields, then what is known about the places of them.

    `record_json` is the document verbatim, `index` its number in its chunk. Pairs also give their text, `…_json`, and
    its position in the document, `…_at`.
    """
    fields = [(field.name, TYPES[field.kind]) for field in document.fields if field.kind in TYPES]
    pairs = [field.name for field in document.fields if field.kind == "pairs"]
    placed = [(f"{name}{end}", type_) for name in pairs for end, type_ in (("_json", pa.string()), ("_at", pa.int64()))]
    return pa.schema([*fields, *placed, ("record_json", pa.string()), ("index", pa.int64())])


@dataclass(frozen=True, slots=True)
class Fault:
    """A document that is no record."""

    index: int
    kind: int
    field: int
    """Number of the field; one more than the last for the document as a whole."""
    at: int
    """Position in the buffer."""


@dataclass(frozen=True, slots=True)
class Decoded:
    """The records of a chunk as columns, and what is wrong with its documents."""

    batch: pa.RecordBatch
    faults: list[Fault]
    """The first documents that are no records, as many as requested."""
    more_faults: Mapping[int, int]
    """How many more there are of each kind."""
    incomplete: list[int]
    """Indices of records without a required field."""
    odd_headers: list[int]
    """Indices of records whose headers have no known shape."""


def decode(
    document: Document, head: int, view: memoryview, chunk: Chunk, wanted: Collection[str], named: int = NAMED_FAULTS
) -> Decoded:
    """The documents of a chunk as the wanted columns; each follows the same number of bytes.

    At most `named` faults are described, the rest counted.
    """
    idle = _idle.setdefault(document.name, [])
    try:
        arrays = idle.pop()  # those that no other thread holds
    except IndexError:
        arrays = _Arrays(len(document.fields))
    arrays.make_room(len(chunk))
    decoded = _Decoding(document, head, arrays, view, chunk).decoded(wanted, named)
    idle.append(arrays)
    return decoded


@cache
def _projected(document: Document, wanted: frozenset[str]) -> pa.Schema:
    """The wanted columns, in their own order."""
    return pa.schema([field for field in columns_of(document) if field.name in wanted])


class _Array:
    """Numbers in Arrow's memory pool, for a reader to fill."""

    SIZES = {"q": 8, "i": 4, "B": 1}  # noqa: RUF012 - never changed

    def __init__(self, typecode: str, size: int, *, is_zero: bool = False) -> None:
        self.buffer = pa.allocate_buffer(max(size, 1) * self.SIZES[typecode])
        self.view: Any = memoryview(self.buffer).cast("B").cast(typecode)  # type: ignore[call-overload]
        if is_zero:
            self.view[:] = bytes(len(self.view))

    def copy(self, typecode: str, size: int) -> pa.Buffer:
        """The first numbers in memory of their own."""
        copied = _Array(typecode, size)
        copied.view[:size] = self.view[:size]
        return copied.buffer


class _Arrays:
    """What a reader fills, for one chunk after the other: memory that is new to the process is slow."""

    def __init__(self, fields: int) -> None:
        self.fields, self.room = fields, 0

    def make_room(self, rows: int) -> None:
        """Grow to this number of rows."""
        if rows > self.room:
            self.room = rows
            self.values, self.lengths = _Array("q", self.fields * rows), _Array("i", self.fields * rows)
            self.seen, self.entries, self.indices = _Array("i", rows), _Array("i", rows), _Array("q", rows)
            self.offsets, self.faults = _Array("i", rows + 1), _Array("q", FAULTY_CELLS * rows)


_idle: dict[str, list[_Arrays]] = {}
"""By the kind of documents, arrays for the next chunk of any file: there may be many small ones."""


class _Decoding:
    """One call of a reader, and the columns that are made of its results."""

    def __init__(self, document: Document, head: int, arrays: _Arrays, view: memoryview, chunk: Chunk) -> None:
        self.document, self.numbers, self.head = document, document.numbers, head
        self.arrays, self.view, self.chunk = arrays, view, chunk
        self.step = len(chunk)
        # An element of an array of bytes takes at least two bytes of JSON.
        self.bytes = _Array("B", (chunk.ends[-1].as_py() - chunk.starts[0].as_py()) // 2 + 16)
        self.escaped = bytearray(len(document.fields))
        self.work, self.scratch = memoryview(array("q", bytes(8 * WORK_CELLS))), memoryview(bytearray(SCRATCH_BYTES))
        self.rows, self.bad = getattr(native.functions, f"read_{document.name}")(
            view, _items(chunk.starts, "q"), _items(chunk.ends, "q"), len(chunk), head, arrays.values.view,
            arrays.lengths.view, arrays.seen.view, arrays.entries.view, arrays.offsets.view, self.bytes.view,
            arrays.indices.view, arrays.faults.view, self.escaped, self.work, self.scratch,
        )  # fmt: skip

    def decoded(self, wanted: Collection[str], named: int) -> Decoded:
        """The wanted columns, and what is wrong with the documents. None of it refers to the shared arrays."""
        faults, more = self._faults(min(self.bad, named))
        required = self.document.required
        is_complete = not ~self.work[ALL_SEEN] & required
        incomplete = [] if is_complete else self._indices(self.arrays.seen, lambda seen: bool(~seen & required))
        odd = self._indices(self.arrays.entries, lambda entries: entries == NO_SHAPE) if self.work[ANY_ODD] else []
        schema = _projected(self.document, frozenset(wanted))
        columns = [self._column(field.name) for field in schema]
        batch = pa.RecordBatch.from_arrays(columns, schema=schema) if columns else self._no_columns()
        return Decoded(batch, faults, more, incomplete, odd)

    def _faults(self, named: int) -> tuple[list[Fault], Mapping[int, int]]:
        """The first faults, and how many more there are of each kind."""
        found, size = self.arrays.faults.view, FAULTY_CELLS
        faults = [Fault(*found[size * number : size * (number + 1)]) for number in range(named)]
        return faults, Counter(found[size * named + 1 : size * self.bad : size]) if self.bad > named else {}

    def _indices(self, values: _Array, is_meant: Callable[[int], bool]) -> list[int]:
        """Documents of the rows whose value is meant."""
        return [self.arrays.indices.view[row] for row in range(self.rows) if is_meant(values.view[row])]

    def _no_columns(self) -> pa.RecordBatch:
        """A batch without columns that knows its number of rows."""
        return pa.RecordBatch.from_arrays([self._column("index")], ["index"]).select([])

    def _column(self, name: str) -> pa.Array:
        if name not in self.numbers:
            return self._derived(name)
        kind = self.document.fields[self.numbers[name]].kind
        if kind != "pairs" and not self._is_seen(name):
            return repeated(None, TYPES[kind], self.rows)
        match kind:
            case "bytes":
                return self._bytes(name)
            case "pairs":
                return self._pairs(name)
            case "text":
                return self._text(name)
            case "int64":
                return self._integers(name)
            case "uint64":
                return self._decimals(name)
        return self._shared_integers(name).cast(TYPES[kind])

    def _derived(self, name: str) -> pa.Array:
        """A column that is no field."""
        if name == "index":
            return pa.Array.from_buffers(pa.int64(), self.rows, [None, self.arrays.indices.copy("q", self.rows)])
        pairs = name.removesuffix("_json").removesuffix("_at")
        if name == f"{pairs}_json" and pairs in self.numbers:
            return self._text(pairs) if self._is_seen(pairs) else repeated(None, pa.string(), self.rows)
        rows = pa.Array.from_buffers(pa.int64(), self.rows, [None, self.arrays.indices.buffer])
        starts = pc.add(self.chunk.starts.take(rows), self.head)
        if pairs in self.numbers:
            return pc.subtract(self._shared_integers(pairs), starts)
        lengths = pc.subtract(self.chunk.ends.take(rows), starts).cast(pa.int32())
        return _text(self.view, _items(starts, "q"), _items(lengths, "i"), self.rows)

    def _is_seen(self, name: str) -> bool:
        """Whether any row has a field."""
        return bool(self.work[ANY_SEEN] >> self.numbers[name] & 1)

    def _part(self, of: _Array, field: int) -> Any:
        """The results of a field."""
        return of.view[field * self.step : field * self.step + self.rows]

    def _valid(self, field: int) -> tuple[pa.Buffer | None, int]:
        """The validity bitmap of a field, and its number of nulls."""
        if self.work[ALL_SEEN] >> field & 1:
            return None, 0
        bits = _Array("B", (self.rows + 7) // 8, is_zero=True)
        nulls = native.functions.pack_seen(self.arrays.seen.view, field, self.rows, bits.view)
        return (bits.buffer, nulls) if nulls else (None, 0)

    def _shared_integers(self, name: str) -> pa.Int64Array:
        """Numbers in the shared arrays: a caller must copy them."""
        field = self.numbers[name]
        bits, nulls = self._valid(field)
        values = self.arrays.values.buffer.slice(8 * field * self.step, 8 * self.rows)
        return pa.Array.from_buffers(pa.int64(), self.rows, [bits, values], nulls)

    def _integers(self, name: str) -> pa.Int64Array:
        field = self.numbers[name]
        bits, nulls = self._valid(field)
        values = _Array("q", self.rows)
        values.view[: self.rows] = self._part(self.arrays.values, field)
        return pa.Array.from_buffers(pa.int64(), self.rows, [bits, values.buffer], nulls)

    def _decimals(self, name: str) -> pa.Decimal128Array:
        """Unsigned numbers of 64 bits: Arrow's decimals are integers of 128 bits."""
        field = self.numbers[name]
        bits, nulls = self._valid(field)
        wide = _Array("q", 2 * self.rows)
        native.functions.widen(self._part(self.arrays.values, field), self.rows, wide.view)
        return pa.Array.from_buffers(TYPES["uint64"], self.rows, [bits, wide.buffer], nulls)

    def _text(self, name: str) -> pa.StringArray:
        field = self.numbers[name]
        starts, lengths = self._part(self.arrays.values, field), self._part(self.arrays.lengths, field)
        return _text(self.view, starts, lengths, self.rows, is_escaped=bool(self.escaped[field]))

    def _bytes(self, name: str) -> pa.BinaryArray:
        bits, nulls = self._valid(self.numbers[name])
        buffers = [bits, self.arrays.offsets.copy("i", self.rows + 1), self.bytes.buffer]
        return pa.Array.from_buffers(pa.binary(), self.rows, buffers, nulls)

    def _pairs(self, name: str) -> pa.ListArray:
        """A list of keys as text and values as JSON text for each row."""
        offsets, bits = _Array("i", self.rows + 1), _Array("B", (self.rows + 7) // 8, is_zero=True)
        nulls = native.functions.list_offsets(self.arrays.entries.view, self.rows, offsets.view, bits.view)
        total = offsets.view[self.rows]
        cells, keys, values = _Array("q", PAIR_CELLS * total), _Array("q", total), _Array("q", total)
        key_sizes, value_sizes = _Array("i", total), _Array("i", total)
        field = self.numbers[name]
        texts, sizes = self._part(self.arrays.values, field), self._part(self.arrays.lengths, field)
        is_escaped = native.functions.find_pairs(
            self.view, texts, sizes, self.arrays.entries.view, self.rows, cells.view, keys.view, key_sizes.view,
            values.view, value_sizes.view, self.document.pair_names, self.work, self.scratch,
        )  # fmt: skip
        key = _text(self.view, keys.view, key_sizes.view, total, is_escaped=is_escaped)
        value = _text(self.view, values.view, value_sizes.view, total)
        items = pa.StructArray.from_arrays([key, value], fields=list(PAIRS.value_type))
        validity = bits.buffer if nulls else None
        return pa.Array.from_buffers(PAIRS, self.rows, [validity, offsets.buffer], nulls, children=[items])


def _items(values: pa.Array, typecode: str) -> Any:
    return memoryview(values.buffers()[1]).cast("B").cast(typecode)  # type: ignore[call-overload]


def _text(view: memoryview, starts: Any, lengths: Any, rows: int, *, is_escaped: bool = False) -> pa.StringArray:
    """Text gathered from positions in a buffer; a reader has checked that it is UTF-8."""
    total, is_mixed, _ = native.functions.measure(lengths, rows)
    offsets, data = _Array("i", rows + 1), _Array("B", total + ROOM_BEHIND)
    gathering = (view, starts, lengths, rows, offsets.view, data.view)
    if not is_mixed and not is_escaped:
        native.functions.gather_plain(*gathering)
        return pa.Array.from_buffers(pa.string(), rows, [None, offsets.buffer, data.buffer], 0)
    valid = _Array("B", (rows + 7) // 8)
    nulls = (native.functions.gather_json if is_escaped else native.functions.gather_optional)(*gathering, valid.view)
    buffers = [valid.buffer if nulls else None, offsets.buffer, data.buffer]
    return pa.Array.from_buffers(pa.string(), rows, buffers, nulls)
