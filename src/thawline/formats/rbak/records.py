"""Records as columns: the fields of a `BackupRecord`, and its JSON documents decoded into Arrow arrays.

A native function reads the documents of a chunk into arrays of positions, lengths and values, one of each a field;
here these become Arrow columns. "Wire columns" have the names and the meaning of the JSON.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

import pyarrow as pa
import pyarrow.compute as pc

from thawline import native
from thawline.engine.chunks import Chunk
from thawline.generated.kernels.constants import (
    RBAK_PAYLOAD_RECORD_HEAD_SIZE,
)
from thawline.literals import repeated
from thawline.native.constants.kernels import COPY_STEP as ROOM_BEHIND

# Fields, in the order in which serde writes them.

FieldKind = Literal["body", "table", "headers", "text", "bool", "uint64", "int64", "uint8"]

RECORD: dict[str, FieldKind] = {
    "body": "body",
    "properties": "table",
    "headers": "headers",
    "exchange": "text",
    "routing_key": "text",
    "delivery_tag": "uint64",
    "redelivered": "bool",
    "backed_up_at": "int64",
    "source_queue": "text",
    "source_vhost": "text",
}
PROPERTIES: dict[str, FieldKind] = {
    "content_type": "text",
    "content_encoding": "text",
    "delivery_mode": "uint8",
    "priority": "uint8",
    "correlation_id": "text",
    "reply_to": "text",
    "expiration": "text",
    "message_id": "text",
    "timestamp": "uint64",
    "type_field": "text",
    "user_id": "text",
    "app_id": "text",
    "cluster_id": "text",
}
FIELD_KINDS = RECORD | PROPERTIES
FIELDS = tuple(FIELD_KINDS)
NUMBERS = {name: number for number, name in enumerate(FIELDS)}
"""A field's number is its place in `FIELDS`, and its bit in a set of fields."""
OPTIONAL = {"body", *PROPERTIES}
"""Fields that may be null."""
REQUIRED = sum(1 << number for name, number in NUMBERS.items() if name not in OPTIONAL)

# The same for the native function.

KIND_ORDER: tuple[FieldKind, ...] = ("body", "table", "headers", "text", "bool", "uint64", "int64", "uint8")
KINDS = bytes(KIND_ORDER.index(kind) for kind in FIELD_KINDS.values())
KEYS = tuple(f'{name}":' for name in FIELDS)
"""Keys from after the first quote up to the value, as a compact document has them."""
NAMES = "".join(KEYS).encode()
NAME_ENDS = array("h", [sum(map(len, KEYS[: number + 1])) for number in range(len(FIELDS))])
WORK, SCRATCH = 128, 512
"""Its working memory: the cells of a record; the stack of nesting, and a key without its escapes."""
ANY_SEEN, ALL_SEEN, ANY_ODD = 61, 62, 63
"""Results in the working memory: fields that any row has, that all rows have; whether any headers are odd."""
MOST_HEADERS = 1 << 16
"""Its bound for the headers of a record. A table of headers fits one AMQP frame, of 128 KiB by default."""
NO_SHAPE = -1
"""The number of headers of a row whose headers have no known shape."""

# Documents, faults and columns.

HEAD: int = RBAK_PAYLOAD_RECORD_HEAD_SIZE
"""Bytes of the length before each document."""
NOT_JSON, NOT_A_BYTE, WRONG_TYPE = 1, 2, 3
"""What can be wrong with a document."""
NAMED_FAULTS = 100

HEADERS = pa.list_(pa.field("element", pa.struct([("key", pa.string()), ("value", pa.string())])))
TYPES: dict[FieldKind, pa.DataType] = {
    "body": pa.binary(),
    "headers": HEADERS,
    "text": pa.string(),
    "bool": pa.bool_(),
    "uint64": pa.decimal128(20, 0),
    "int64": pa.int64(),
    "uint8": pa.int16(),
}
WIRE = pa.schema(
    [(name, TYPES[kind]) for name, kind in FIELD_KINDS.items() if kind in TYPES]
    + [("headers_json", pa.string()), ("headers_at", pa.int64()), ("record_json", pa.string()), ("index", pa.int64())]
)
"""Every wire column; `index` is the document's number in its chunk, `headers_at` the position of its headers in it."""


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


def decode(view: memoryview, chunk: Chunk, wanted: Collection[str], named: int = NAMED_FAULTS) -> Decoded:
    """The documents of a chunk as the wanted wire columns; at most `named` faults are described, the rest counted."""
    arrays = _idle.pop() if _idle else _Arrays()
    arrays.make_room(len(chunk))
    decoded = _Decoding(arrays, view, chunk).decoded(wanted, named)
    _idle.append(arrays)
    return decoded


@cache
def _projected(wanted: frozenset[str]) -> pa.Schema:
    """The wanted wire columns, in their own order."""
    return pa.schema([field for field in WIRE if field.name in wanted])


class _Array:
    """Numbers in Arrow's memory pool, for the native function to fill."""

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
    """What the native function fills, for one chunk after the other: memory that is new to the process is slow."""

    def __init__(self) -> None:
        self.room = 0

    def make_room(self, rows: int) -> None:
        """Grow to this number of rows."""
        if rows > self.room:
            self.room = rows
            self.values, self.lengths = _Array("q", len(FIELDS) * rows), _Array("i", len(FIELDS) * rows)
            self.seen, self.entries, self.indices = _Array("i", rows), _Array("i", rows), _Array("q", rows)
            self.offsets, self.faults = _Array("i", rows + 1), _Array("q", 4 * rows)


_idle: list[_Arrays] = []
"""Arrays for the next chunk of any segment: a file may have many small ones."""


class _Decoding:
    """One call of the native function, and the columns that are made of its results."""

    def __init__(self, arrays: _Arrays, view: memoryview, chunk: Chunk) -> None:
        self.arrays, self.view, self.chunk = arrays, view, chunk
        self.step = len(chunk)
        # An element of a body takes at least two bytes of JSON.
        self.body = _Array("B", (chunk.ends[-1].as_py() - chunk.starts[0].as_py()) // 2 + 16)
        self.escaped = bytearray(len(FIELDS))
        self.work, self.scratch = memoryview(array("q", bytes(8 * WORK))), memoryview(bytearray(SCRATCH))
        self.rows, self.bad = native.functions.decode_records(
            view, _items(chunk.starts, "q"), _items(chunk.ends, "q"), len(chunk), HEAD, NAMES, NAME_ENDS, KINDS,
            arrays.values.view, arrays.lengths.view, arrays.seen.view, arrays.entries.view, arrays.offsets.view,
            self.body.view, arrays.indices.view, arrays.faults.view, self.escaped, self.work, self.scratch,
        )  # fmt: skip

    def decoded(self, wanted: Collection[str], named: int) -> Decoded:
        """The wanted columns, and what is wrong with the documents. None of it refers to the shared arrays."""
        named, found = min(self.bad, named), self.arrays.faults.view
        faults = [Fault(*found[4 * number : 4 * number + 4]) for number in range(named)]
        more = Counter(found[4 * named + 1 : 4 * self.bad : 4]) if self.bad > named else {}
        is_complete = not ~self.work[ALL_SEEN] & REQUIRED
        incomplete = [] if is_complete else self._indices(self.arrays.seen, lambda seen: bool(~seen & REQUIRED))
        odd = self._indices(self.arrays.entries, lambda entries: entries == NO_SHAPE) if self.work[ANY_ODD] else []
        schema = _projected(frozenset(wanted))
        columns = [self._column(field.name) for field in schema]
        batch = pa.RecordBatch.from_arrays(columns, schema=schema) if columns else self._no_columns()
        return Decoded(batch, faults, more, incomplete, odd)

    def _indices(self, values: _Array, is_meant: Callable[[int], bool]) -> list[int]:
        """Documents of the rows whose value is meant."""
        return [self.arrays.indices.view[row] for row in range(self.rows) if is_meant(values.view[row])]

    def _no_columns(self) -> pa.RecordBatch:
        """A batch without columns that knows its number of rows."""
        return pa.RecordBatch.from_arrays([self._column("index")], ["index"]).select([])

    def _column(self, name: str) -> pa.Array:
        kind = FIELD_KINDS.get(name)
        if kind is None:
            return self._derived(name)
        if kind != "headers" and not self._is_seen(name):
            return repeated(None, TYPES[kind], self.rows)
        match kind:
            case "body":
                return self._bodies()
            case "headers":
                return self._headers()
            case "text":
                return self._text(name)
            case "int64":
                return self._integers(name)
            case "uint64":
                return self._decimals(name)
        return self._shared_integers(name).cast(TYPES[kind])

    def _derived(self, name: str) -> pa.Array:
        """A wire column that is no field."""
        if name == "index":
            return pa.Array.from_buffers(pa.int64(), self.rows, [None, self.arrays.indices.copy("q", self.rows)])
        if name == "headers_json":
            return self._text("headers") if self._is_seen("headers") else repeated(None, pa.string(), self.rows)
        rows = pa.Array.from_buffers(pa.int64(), self.rows, [None, self.arrays.indices.buffer])
        starts = pc.add(self.chunk.starts.take(rows), HEAD)
        if name == "headers_at":
            return pc.subtract(self._shared_integers("headers"), starts)
        lengths = pc.subtract(self.chunk.ends.take(rows), starts).cast(pa.int32())
        return _text(self.view, _items(starts, "q"), _items(lengths, "i"), self.rows)

    def _is_seen(self, name: str) -> bool:
        """Whether any row has a field."""
        return bool(self.work[ANY_SEEN] >> NUMBERS[name] & 1)

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
        field = NUMBERS[name]
        bits, nulls = self._valid(field)
        values = self.arrays.values.buffer.slice(8 * field * self.step, 8 * self.rows)
        return pa.Array.from_buffers(pa.int64(), self.rows, [bits, values], nulls)

    def _integers(self, name: str) -> pa.Int64Array:
        field = NUMBERS[name]
        bits, nulls = self._valid(field)
        values = _Array("q", self.rows)
        values.view[: self.rows] = self._part(self.arrays.values, field)
        return pa.Array.from_buffers(pa.int64(), self.rows, [bits, values.buffer], nulls)

    def _decimals(self, name: str) -> pa.Decimal128Array:
        """Unsigned numbers of 64 bits: Arrow's decimals are integers of 128 bits."""
        field = NUMBERS[name]
        bits, nulls = self._valid(field)
        wide = _Array("q", 2 * self.rows)
        native.functions.widen(self._part(self.arrays.values, field), self.rows, wide.view)
        return pa.Array.from_buffers(TYPES["uint64"], self.rows, [bits, wide.buffer], nulls)

    def _text(self, name: str) -> pa.StringArray:
        field = NUMBERS[name]
        starts, lengths = self._part(self.arrays.values, field), self._part(self.arrays.lengths, field)
        return _text(self.view, starts, lengths, self.rows, is_escaped=bool(self.escaped[field]))

    def _bodies(self) -> pa.BinaryArray:
        bits, nulls = self._valid(NUMBERS["body"])
        buffers = [bits, self.arrays.offsets.copy("i", self.rows + 1), self.body.buffer]
        return pa.Array.from_buffers(pa.binary(), self.rows, buffers, nulls)

    def _headers(self) -> pa.ListArray:
        """A list of keys as text and values as JSON text for each row."""
        offsets, bits = _Array("i", self.rows + 1), _Array("B", (self.rows + 7) // 8, is_zero=True)
        nulls = native.functions.list_offsets(self.arrays.entries.view, self.rows, offsets.view, bits.view)
        total = offsets.view[self.rows]
        cells, keys, values = _Array("q", 7 * total), _Array("q", total), _Array("q", total)
        key_sizes, value_sizes = _Array("i", total), _Array("i", total)
        field = NUMBERS["headers"]
        texts, sizes = self._part(self.arrays.values, field), self._part(self.arrays.lengths, field)
        is_escaped = native.functions.find_headers(
            self.view, texts, sizes, self.arrays.entries.view, self.rows, cells.view, keys.view, key_sizes.view,
            values.view, value_sizes.view, self.work, self.scratch,
        )  # fmt: skip
        key = _text(self.view, keys.view, key_sizes.view, total, is_escaped=is_escaped)
        value = _text(self.view, values.view, value_sizes.view, total)
        items = pa.StructArray.from_arrays([key, value], fields=list(HEADERS.value_type))
        validity = bits.buffer if nulls else None
        return pa.Array.from_buffers(HEADERS, self.rows, [validity, offsets.buffer], nulls, children=[items])


def _items(values: pa.Array, typecode: str) -> Any:
    return memoryview(values.buffers()[1]).cast("B").cast(typecode)  # type: ignore[call-overload]


def _text(view: memoryview, starts: Any, lengths: Any, rows: int, *, is_escaped: bool = False) -> pa.StringArray:
    """Text gathered from positions in a buffer; the native function has checked that it is UTF-8."""
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
