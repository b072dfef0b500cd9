"""The native engine: kernels run over a buffer, their arrays assembled into Arrow columns."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Literal

import pyarrow as pa

from thawline import _native
from thawline.chunks import Break, Chunk, Ranges, arrow_type, item_type, label_of, schema_of, text_of
from thawline.tables import SLICES, Column, Table, arrays, lists

DONE, FULL, FAILED, LIST_FULL = 0, 1, 2, 3
"""What a kernel returns; LIST_FULL + n where the n-th list column has no room left."""
RANGE, ROWS_IN_RANGE, POSITION, ROWS, FAILURE, AT, LISTS = range(7)
"""Slots of a kernel's state. Up to LISTS it is that of the start of the row it stopped at."""
ITEM_SIZES = {"q": 8, "i": 4, "h": 2, "b": 1, "B": 1}
FIRST_ITEMS = 4
"""Room for items of a list that is made for each row at first."""

ROOM_BEHIND = 32
"""Bytes behind gathered values that they may be copied over."""

Path = tuple[str, ...]


def read(
    table: Table, view: memoryview, ranges: Ranges, wanted: Sequence[Column], limits: tuple[int, int]
) -> Iterator[Chunk | Break]:
    """Chunks of rows, and a break for each range that could not be read to its end."""
    if ranges.starts:
        yield from _Reading(table, view, ranges, wanted, limits).chunks()


@dataclass(frozen=True, slots=True)
class _Column:
    """An array that the kernel fills, in Arrow's memory pool."""

    buffer: pa.Buffer
    view: memoryview

    @classmethod
    def allocate(cls, typecode: str, size: int) -> _Column:
        buffer = pa.allocate_buffer(size * ITEM_SIZES[typecode])
        return cls(buffer, memoryview(buffer).cast("B").cast(typecode))  # type: ignore[call-overload]


def _bitmap(rows: int) -> _Column:
    """Bits for rows, all of them zero."""
    bitmap = _Column.allocate("B", (rows + 7) // 8)
    bitmap.view[:] = bytes(len(bitmap.view))
    return bitmap


class _Reading:
    """One run of a kernel over some ranges."""

    def __init__(
        self, table: Table, view: memoryview, ranges: Ranges, wanted: Sequence[Column], limits: tuple[int, int]
    ) -> None:
        self.table, self.view, self.ranges, self.wanted = table, view, ranges, wanted
        self.max_rows, self.max_bytes = limits
        self.schema = schema_of(wanted)
        self.kernel = getattr(_native, f"scan_{table.name}")
        self.lists = list(lists(table.columns))
        self.state = array("q", bytes(8 * (LISTS + len(self.lists))))
        self.state[POSITION] = ranges.starts[0]
        self.room = {path: 0 for path, _ in self.lists}
        self.most = dict(self.room)

    def chunks(self) -> Iterator[Chunk | Break]:
        status = FULL
        while status != DONE:
            frame = self.frame()
            status = self.run(frame)
            if self.state[ROWS]:
                yield frame.chunk(self.state)
            if status == FAILED:
                yield self.broken()
                status = self.skip_range()

    def frame(self) -> _Frame:
        """Arrays for the next chunk, no larger than what is left of the buffer can fill."""
        left = min(self.ranges.ends[-1] - self.state[POSITION], self.max_bytes)
        rows = min(self.max_rows, max(left, 0) // self.table.least_size + 1)
        rows = min(rows, self.rows_left())
        for path, column in self.lists:
            self.most[path] = (self.ranges.ends[-1] - self.state[POSITION]) // column.least_size + 1
            self.room[path] = min(max(self.room[path], FIRST_ITEMS * rows), self.most[path])
        return _Frame(self, rows)

    def rows_left(self) -> int:
        """How many rows can come at most, as far as the only range left counts them."""
        last = len(self.ranges.counts) - 1
        counted = self.ranges.counts[last] - self.state[ROWS_IN_RANGE]
        return max(counted, 1) if self.state[RANGE] == last and self.ranges.counts[last] >= 0 else self.max_rows

    def run(self, frame: _Frame) -> int:
        """Fill a frame; a list that runs out of room gets more, and the kernel goes on with the row it stopped at."""
        self.state[ROWS] = 0
        for index in range(len(self.lists)):
            self.state[LISTS + index] = 0
        status = self.call(frame)
        while status >= LIST_FULL:
            path, _ = self.lists[status - LIST_FULL]
            self.room[path] = min(4 * self.room[path], self.most[path])
            frame.grow(path, self.state[LISTS + status - LIST_FULL])
            status = self.call(frame)
        return status

    def call(self, frame: _Frame) -> int:
        ranges = self.ranges
        status: int = self.kernel(
            self.view, ranges.starts, ranges.ends, ranges.counts, self.max_bytes, self.state, *frame.arguments
        )
        return status

    def broken(self) -> Break:
        failure = self.table.failures[self.state[FAILURE]]
        return Break(failure, self.state[POSITION], self.state[AT], self.state[RANGE])

    def skip_range(self) -> int:
        """Go on with the range after the broken one."""
        self.state[RANGE] += 1
        self.state[ROWS_IN_RANGE] = 0
        if self.state[RANGE] == len(self.ranges.starts):
            return DONE
        self.state[POSITION] = self.ranges.starts[self.state[RANGE]]
        return FULL


class _Frame:
    """The arrays of one chunk, and the way from them to a record batch."""

    def __init__(self, reading: _Reading, rows: int) -> None:
        self.reading = reading
        self.places = [_Column.allocate(typecode, rows) for typecode in "qqi"]
        self.columns: dict[tuple[Path, str], _Column] = {}
        self.arguments = [place.view for place in self.places]
        for path, part, typecode in arrays(reading.table):
            self.arguments.append(self.allocate(path, part, typecode, reading.room.get(path[:-1], rows)))

    def allocate(self, path: Path, part: str, typecode: str, size: int) -> memoryview:
        is_list = (path, part) in ((path, "value") for path, _ in self.reading.lists)
        column = _Column.allocate(typecode, size + is_list)
        self.columns[path, part] = column
        if is_list:
            # The kernel writes where each row's items end; with a zero before them, those are Arrow's offsets.
            column.view[0] = 0
            return column.view[1:]
        return column.view

    def grow(self, path: Path, items: int) -> None:
        """Move a list's items into arrays with the room that there is now."""
        for index, (array_path, part, typecode) in enumerate(arrays(self.reading.table), len(self.places)):
            if array_path[:-1] == path:
                filled = self.arguments[index][:items]
                self.arguments[index] = self.allocate(array_path, part, typecode, self.reading.room[path])
                self.arguments[index][:items] = filled

    def chunk(self, state: array[int]) -> Chunk:
        rows = state[ROWS]
        self.items = {path: state[LISTS + index] for index, (path, _) in enumerate(self.reading.lists)}
        built = [self.build(column, (column.name,), rows) for column in self.reading.wanted]
        batch = pa.RecordBatch.from_arrays(built, schema=self.reading.schema)
        starts, ends = (_fixed(pa.int64(), place, rows) for place in self.places[:2])
        ranges = _fixed(pa.int32(), self.places[2], rows)
        return Chunk(batch, starts, ends, ranges, self.checksums(rows))

    def checksums(self, rows: int) -> pa.Int64Array | None:
        checksum = self.reading.table.checksum
        if checksum is None or checksum.column not in self.reading.schema.names:
            return None
        computed = _Column.allocate("q", rows)
        compute = getattr(_native, f"{checksum.algorithm}_ranges")
        starts, ends = (self.columns[(), part].view for part in ("checksum_start", "checksum_end"))
        compute(self.reading.view, starts, ends, rows, computed.view)
        return _fixed(pa.int64(), computed, rows)

    def build(self, column: Column, path: Path, rows: int) -> pa.Array:
        """One Arrow array, whatever the column holds."""
        if column.kind in SLICES:
            return self.build_slices(column, path, rows)
        values = self.columns[path, "value"]
        if column.kind == "list":
            return self.build_list(column, path, rows)
        valid, nulls = self.validity(column, path, rows)
        if column.kind == "enum":
            return _labels(column, values, rows, (valid, nulls))
        if column.kind == "bool":
            bits = _bitmap(rows)
            _native.pack_bits(values.view, rows, bits.view)
            return pa.Array.from_buffers(pa.bool_(), rows, [valid, bits.buffer], nulls)
        return _fixed(arrow_type(column), values, rows, (valid, nulls))

    def validity(self, column: Column, path: Path, rows: int) -> tuple[pa.Buffer | None, int]:
        if not column.nullable:
            return None, 0
        bits = _bitmap(rows)
        nulls = _native.pack_bits(self.columns[path, "valid"].view, rows, bits.view)
        return (bits.buffer, nulls) if nulls else (None, 0)

    def build_slices(self, column: Column, path: Path, rows: int) -> pa.Array:
        starts, lengths = (self.columns[path, part].view for part in ("start", "length"))
        how: dict[str, Literal["plain", "escaped", "base64"]] = {"escaped": "escaped", "base64": "base64"}
        binary = _gathered(self.reading.view, starts, lengths, rows, how.get(column.kind, "plain"))
        return binary if column.kind in ("binary", "base64") else _text(binary)

    def build_list(self, column: Column, path: Path, rows: int) -> pa.ListArray:
        size = self.items[path]
        built = [self.build(item, (*path, item.name), size) for item in column.items]
        items = pa.StructArray.from_arrays(built, fields=list(item_type(column)))
        offsets = self.columns[path, "value"].buffer
        return pa.Array.from_buffers(arrow_type(column), rows, [None, offsets], 0, children=[items])


def _fixed(
    type_: pa.DataType, column: _Column, rows: int, validity: tuple[pa.Buffer | None, int] = (None, 0)
) -> pa.Array:
    """An array of fixed-size values over the kernel's own memory."""
    return pa.Array.from_buffers(type_, rows, [validity[0], column.buffer], validity[1])


def _gathered(
    view: memoryview, starts: memoryview, lengths: memoryview, rows: int, how: Literal["plain", "escaped", "base64"]
) -> pa.BinaryArray:
    """A binary array of values that lie scattered in a buffer."""
    totals = array("q", (0, 0))
    _native.measure(lengths, rows, totals)
    total, nulls = totals
    offsets, data, valid = _Column.allocate("i", rows + 1), _Column.allocate("B", total + ROOM_BEHIND), _bitmap(rows)
    gathering = (view, starts, lengths, rows, offsets.view, data.view, valid.view)
    if how == "base64":
        nulls = _native.gather_base64(*gathering)
    else:
        gather = _native.gather_escaped if how == "escaped" else _native.gather_plain
        gather(*gathering, nulls > 0)
    return pa.Array.from_buffers(
        pa.binary(), rows, [valid.buffer if nulls else None, offsets.buffer, data.buffer], nulls
    )


def _text(binary: pa.BinaryArray) -> pa.StringArray:
    """The same bytes as text. Most text is ASCII, which is quicker to see than that each value is UTF-8 by itself."""
    valid, offsets, data = binary.buffers()
    used = memoryview(offsets).cast("B").cast("i")[len(binary)]  # tokens with escapes leave the end unwritten
    if _native.is_ascii(memoryview(data).cast("B")[:used]):
        return pa.Array.from_buffers(pa.string(), len(binary), [valid, offsets, data], binary.null_count)
    return text_of(binary)


def _last(offsets: pa.Buffer, rows: int) -> int:
    """Where the last value ends."""
    end: int = memoryview(offsets).cast("B").cast("i")[rows]
    return end


def _labels(column: Column, codes: _Column, rows: int, validity: tuple[pa.Buffer | None, int]) -> pa.StringArray:
    """A string array of an enum's names."""
    text, label_starts = _label_table(tuple(column.labels.items()))
    starts, lengths = _Column.allocate("q", rows), _Column.allocate("i", rows)
    _native.find_labels(label_starts, codes.view, rows, starts.view, lengths.view)
    named = _gathered(memoryview(text), starts.view, lengths.view, rows, "plain")
    _, offsets, data = named.buffers()
    return pa.Array.from_buffers(pa.string(), rows, [validity[0], offsets, data], validity[1])


@cache
def _label_table(labels: tuple[tuple[int, str], ...]) -> tuple[bytes, array[int]]:
    """The names of all 256 values of a byte back to back, and where each of them starts."""
    column = Column("", "enum", (), labels=dict(labels))
    names = [label_of(column, code).encode() for code in range(256)]
    starts = array("q", [0])
    for name in names:
        starts.append(starts[-1] + len(name))
    return b"".join(names), starts
