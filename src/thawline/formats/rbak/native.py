"""Documents decoded by the native module, their columns assembled in Arrow's memory pool."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Callable, Collection
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from thawline import native
from thawline.engine.chunks import Chunk
from thawline.formats.rbak.fields import FIELDS, KINDS, NAME_ENDS, NAMES, NUMBERS, PROPERTIES, RECORD, REQUIRED
from thawline.formats.rbak.records import HEAD, HEADERS, NAMED_FAULTS, TYPES, Decoded, Fault, projected
from thawline.literals import repeated
from thawline.native.constants.kernels import COPY_STEP as ROOM_BEHIND

WORK, SCRATCH = 128, 512
"""What the native module needs besides: a record's cells, the stack of nesting, a key without its escapes."""
ITEM_SIZES = {"q": 8, "i": 4, "B": 1}
KIND_OF = RECORD | PROPERTIES
ANY_SEEN, ALL_SEEN, ANY_ODD = 61, 62, 63
"""Where it leaves which bits any and all rows have seen, and whether the headers of any have no known shape."""
NO_SHAPE = -1


def decode(view: memoryview, chunk: Chunk, wanted: Collection[str], named: int = NAMED_FAULTS) -> Decoded:
    """The documents of a chunk, of the wire columns those that are wanted; of its faults the first are named."""
    decoder = idle.pop() if idle else Decoder()
    decoded = decoder(view, chunk, wanted, named)
    idle.append(decoder)
    return decoded


class Decoder:
    """The native reader with the arrays that it fills, which serve one chunk after the other; bodies have their own."""

    def __init__(self) -> None:
        self.room = 0

    def __call__(self, view: memoryview, chunk: Chunk, wanted: Collection[str], named: int) -> Decoded:
        """The documents of a chunk; nothing of them is left in the arrays."""
        self._make_room(chunk)
        return _Decoding(self, view, chunk).decoded(wanted, named)

    def _make_room(self, chunk: Chunk) -> None:
        """Memory that is new to the process costs more than what is done with it, so it is kept."""
        rows = len(chunk)
        if rows > self.room:
            self.room = rows
            self.values, self.lengths = _Array("q", len(FIELDS) * rows), _Array("i", len(FIELDS) * rows)
            self.seen, self.entries, self.indices = _Array("i", rows), _Array("i", rows), _Array("q", rows)
            self.offsets, self.faults = _Array("i", rows + 1), _Array("q", 4 * rows)


idle: list[Decoder] = []
"""Those that wait for the next chunk, whoever has it: a file may have many small segments."""


class _Array:
    """Numbers in Arrow's memory pool, which the native module fills."""

    def __init__(self, typecode: str, size: int, *, is_zero: bool = False) -> None:
        self.buffer = pa.allocate_buffer(max(size, 1) * ITEM_SIZES[typecode])
        self.view: Any = memoryview(self.buffer).cast("B").cast(typecode)  # type: ignore[call-overload]
        if is_zero:
            self.view[:] = bytes(len(self.view))

    def copy(self, typecode: str, size: int) -> pa.Buffer:
        """The first numbers, for good."""
        copied = _Array(typecode, size)
        copied.view[:size] = self.view[:size]
        return copied.buffer


class _Decoding:
    """One run of the native reader over the documents of a chunk."""

    def __init__(self, room: Decoder, view: memoryview, chunk: Chunk) -> None:
        self.arrays, self.view, self.chunk = room, view, chunk
        self.step = len(chunk)
        # An element of a body takes two bytes of JSON at least.
        self.body = _Array("B", (chunk.ends[-1].as_py() - chunk.starts[0].as_py()) // 2 + 16)
        self.escaped = bytearray(len(FIELDS))
        self.work, self.scratch = memoryview(array("q", bytes(8 * WORK))), memoryview(bytearray(SCRATCH))
        self.rows, self.bad = native.functions.decode_records(
            view, _items(chunk.starts, "q"), _items(chunk.ends, "q"), len(chunk), HEAD, NAMES, NAME_ENDS, KINDS,
            room.values.view, room.lengths.view, room.seen.view, room.entries.view, room.offsets.view, self.body.view,
            room.indices.view, room.faults.view, self.escaped, self.work, self.scratch,
        )  # fmt: skip

    def decoded(self, wanted: Collection[str], named: int) -> Decoded:
        """The columns, and what is to be said about the documents."""
        named = min(self.bad, named)
        faults = [Fault(*self.arrays.faults.view[4 * number : 4 * number + 4]) for number in range(named)]
        more = Counter(self.arrays.faults.view[4 * named + 1 : 4 * self.bad : 4]) if self.bad > named else {}
        incomplete = (
            self.found(self.arrays.seen, lambda seen: bool(~seen & REQUIRED)) if ~self.work[ALL_SEEN] & REQUIRED else []
        )
        odd = self.found(self.arrays.entries, lambda entries: entries == NO_SHAPE) if self.work[ANY_ODD] else []
        schema = projected(wanted)
        built = [self.column(field.name) for field in schema]
        batch = pa.RecordBatch.from_arrays(built, schema=schema) if built else self.empty()
        return Decoded(batch, faults, more, incomplete, odd)

    def found(self, values: _Array, is_meant: Callable[[int], bool]) -> list[int]:
        """Documents of the rows that something is to be said about."""
        return [self.arrays.indices.view[row] for row in range(self.rows) if is_meant(values.view[row])]

    def empty(self) -> pa.RecordBatch:
        """No column, and as many rows all the same."""
        return pa.RecordBatch.from_arrays([self.column("index")], ["index"]).select([])

    def column(self, name: str) -> pa.Array:
        """One wire column."""
        kind = KIND_OF.get(name)
        if kind is None:
            return self.further(name)
        if kind != "headers" and not self.work[ANY_SEEN] >> NUMBERS[name] & 1:
            return repeated(None, TYPES[kind], self.rows)
        match kind:
            case "body":
                return self.bodies()
            case "headers":
                return self.headers()
            case "text":
                return self.text(name)
            case "int64":
                return self.integers(name)
            case "uint64":
                return self.decimals(name)
        return self.numbers(name).cast(TYPES[kind])

    def further(self, name: str) -> pa.Array:
        """A column that is no field."""
        if name == "index":
            return pa.Array.from_buffers(pa.int64(), self.rows, [None, self.arrays.indices.copy("q", self.rows)])
        if name == "headers_json":
            is_seen = self.work[ANY_SEEN] >> NUMBERS["headers"] & 1
            return self.text("headers") if is_seen else repeated(None, pa.string(), self.rows)
        rows = pa.Array.from_buffers(pa.int64(), self.rows, [None, self.arrays.indices.buffer])
        starts = pc.add(self.chunk.starts.take(rows), HEAD)
        if name == "headers_at":
            return pc.subtract(self.numbers("headers"), starts)
        lengths = pc.subtract(self.chunk.ends.take(rows), starts).cast(pa.int32())
        return _text(self.view, _items(starts, "q"), _items(lengths, "i"), self.rows)

    def part(self, of: _Array, field: int) -> Any:
        """What the native module left for a field."""
        return of.view[field * self.step : field * self.step + self.rows]

    def valid(self, field: int) -> tuple[pa.Buffer | None, int]:
        """The bitmap of a field, and how many nulls it has."""
        if self.work[ALL_SEEN] >> field & 1:
            return None, 0
        bits = _Array("B", (self.rows + 7) // 8, is_zero=True)
        nulls = native.functions.pack_seen(self.arrays.seen.view, field, self.rows, bits.view)
        return (bits.buffer, nulls) if nulls else (None, 0)

    def numbers(self, name: str) -> pa.Int64Array:
        """Numbers in the arrays that serve again."""
        field = NUMBERS[name]
        bits, nulls = self.valid(field)
        values = self.arrays.values.buffer.slice(8 * field * self.step, 8 * self.rows)
        return pa.Array.from_buffers(pa.int64(), self.rows, [bits, values], nulls)

    def decimals(self, name: str) -> pa.Decimal128Array:
        """Unsigned numbers: Arrow's decimals are integers of 128 bits."""
        field = NUMBERS[name]
        bits, nulls = self.valid(field)
        wide = _Array("q", 2 * self.rows)
        native.functions.widen(self.part(self.arrays.values, field), self.rows, wide.view)
        return pa.Array.from_buffers(TYPES["uint64"], self.rows, [bits, wide.buffer], nulls)

    def integers(self, name: str) -> pa.Int64Array:
        field = NUMBERS[name]
        bits, nulls = self.valid(field)
        values = _Array("q", self.rows)
        values.view[: self.rows] = self.part(self.arrays.values, field)
        return pa.Array.from_buffers(pa.int64(), self.rows, [bits, values.buffer], nulls)

    def text(self, name: str) -> pa.StringArray:
        field = NUMBERS[name]
        starts, lengths = self.part(self.arrays.values, field), self.part(self.arrays.lengths, field)
        return _text(self.view, starts, lengths, self.rows, is_escaped=bool(self.escaped[field]))

    def bodies(self) -> pa.BinaryArray:
        bits, nulls = self.valid(NUMBERS["body"])
        parts = [bits, self.arrays.offsets.copy("i", self.rows + 1), self.body.buffer]
        return pa.Array.from_buffers(pa.binary(), self.rows, parts, nulls)

    def headers(self) -> pa.ListArray:
        """Keys as text and values as JSON text, a list a row."""
        offsets, bits = _Array("i", self.rows + 1), _Array("B", (self.rows + 7) // 8, is_zero=True)
        nulls = native.functions.list_offsets(self.arrays.entries.view, self.rows, offsets.view, bits.view)
        total = offsets.view[self.rows]
        cells, keys, values = _Array("q", 7 * total), _Array("q", total), _Array("q", total)
        key_sizes, value_sizes = _Array("i", total), _Array("i", total)
        field = NUMBERS["headers"]
        texts, sizes = self.part(self.arrays.values, field), self.part(self.arrays.lengths, field)
        is_escaped = native.functions.find_headers(
            self.view, texts, sizes, self.arrays.entries.view, self.rows, cells.view, keys.view, key_sizes.view,
            values.view, value_sizes.view, self.work, self.scratch,
        )  # fmt: skip
        key = _text(self.view, keys.view, key_sizes.view, total, is_escaped=is_escaped)
        value = _text(self.view, values.view, value_sizes.view, total)
        items = pa.StructArray.from_arrays([key, value], fields=list(HEADERS.value_type))
        return pa.Array.from_buffers(
            HEADERS, self.rows, [bits.buffer if nulls else None, offsets.buffer], nulls, children=[items]
        )


def _items(values: pa.Array, typecode: str) -> Any:
    return memoryview(values.buffers()[1]).cast("B").cast(typecode)  # type: ignore[call-overload]


def _text(view: memoryview, starts: Any, lengths: Any, rows: int, *, is_escaped: bool = False) -> pa.StringArray:
    """Text that lies scattered in a buffer. That it is UTF-8 the native reader has seen."""
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
