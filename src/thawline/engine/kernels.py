"""The native engine: kernels run over a buffer, their arrays assembled into Arrow columns."""

from __future__ import annotations

import math
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, TypeVar

import pyarrow as pa

from thawline import native
from thawline.engine.chunks import (
    ARROW_TYPES,
    Break,
    Chunk,
    Piece,
    Places,
    Ranges,
    Rows,
    arrow_type,
    label_of,
    schema_of,
    text_of,
)
from thawline.engine.tables import GATHERED, SLICES, Array, Column, Table, arrays, lists

DONE, FULL, FAILED, LIST_FULL = 0, 1, 2, 3
"""What a kernel returns; LIST_FULL + n where the n-th list column has no room left, and behind the
last of them the n-th column of bytes."""
RANGE, ROWS_IN_RANGE, POSITION, ROWS, FAILURE, AT, FIRST, LISTS = range(8)
"""Slots of a kernel's state: that of the start of the row it stopped at. FIRST is where the chunk started; AT is the
byte that failed, or how much room a column of bytes needs."""
ITEM_SIZES = {"q": 8, "i": 4, "h": 2, "b": 1, "B": 1}
FIRST_ITEMS = 4
"""Room for items of a list that is made for each row at first."""
ENDLESS = 1 << 62
"""The room of a list that was not asked for, whose items are counted but not stored."""
NOTHING = {typecode: memoryview(array(typecode)) for typecode in ITEM_SIZES}
"""What a kernel is given for a column that was not asked for."""
PLACES = "qqi"
"""Arrays before those of columns: where each row starts and ends, and the range it is from."""

OFFSET, DATA = "offset", "data"
PLACE, GATHERING = ("start", "length"), (OFFSET, DATA, "valid")
"""Parts of a column of bytes: where they are, or the bytes themselves as Arrow has them. A kernel fills the ones or the
others."""
SLACK = 4
"""A quarter more room than they should need is made for gathered values: the last row of a chunk may go beyond it."""
ROOM_BEHIND = 32
"""Bytes behind gathered values that they may be copied over."""

INT64, INT32, BOOL, STRING, BINARY = pa.int64(), pa.int32(), pa.bool_(), pa.string(), pa.binary()

Path = tuple[str, ...]
Made = TypeVar("Made")


def read(
    table: Table,
    view: memoryview,
    ranges: Ranges,
    wanted: Sequence[Column],
    limits: tuple[int, int],
    *,
    checksums: bool = True,
) -> Iterator[Chunk | Break]:
    """Chunks of rows, and a break for each range that could not be read to its end."""
    if ranges.starts:
        yield from _Reading(table, view, ranges, wanted, limits, checksums=checksums).chunks()


def read_pieces(
    table: Table, pieces: Iterator[Piece], wanted: Sequence[Column], limits: tuple[int, int]
) -> Iterator[Rows | Break]:
    """The same from one buffer after the other, whose rows share chunks; a buffer is let go of when the next comes."""
    if (first := next(pieces, None)) is not None:
        yield from _PieceReading(table, first, pieces, wanted, limits).rows()


def places(
    table: Table, view: memoryview, ranges: Ranges, wanted: Sequence[Column], limits: tuple[int, int]
) -> Iterator[Places | Break]:
    """The same rows before they become Arrow, in memory that serves again."""
    if ranges.starts:
        yield from _Reading(table, view, ranges, wanted, limits, checksums=False, is_kept=False).places()


@dataclass(slots=True)
class _Column:
    """An array that the kernel fills, in Arrow's memory pool."""

    buffer: pa.Buffer
    view: memoryview

    @classmethod
    def allocate(cls, typecode: str, size: int) -> _Column:
        buffer = pa.allocate_buffer(size * ITEM_SIZES[typecode])
        view = memoryview(buffer).cast("B")
        return cls(buffer, view if typecode == "B" else view.cast(typecode))  # type: ignore[call-overload]


def kernel_of(table: Table) -> Callable[..., int]:
    """The function that reads rows of a table."""
    found: Callable[..., int] = table.kernel or getattr(native.functions, f"scan_{table.name}")
    return found


class _Reading:
    """One run of a kernel over some ranges."""

    def __init__(
        self,
        table: Table,
        view: memoryview,
        ranges: Ranges,
        wanted: Sequence[Column],
        limits: tuple[int, int],
        *,
        checksums: bool,
        is_kept: bool = True,
    ) -> None:
        self.table, self.view, self.ranges, self.wanted = table, view, ranges, wanted
        self.has_checksums = checksums
        self.max_rows, self.max_bytes = limits
        self.kernel = kernel_of(table)
        plan = plan_of(table, wanted, is_gathered=is_kept)
        self.schema, self.lists, self.gathered = plan.schema, plan.lists, plan.gathered
        self.state = array("q", bytes(8 * (LISTS + len(self.lists))))
        self.state[POSITION] = ranges.starts[0]
        self.rows_due = sum(ranges.counts) if min(ranges.counts) >= 0 else None
        """How many rows can come at most, where every range counts them."""
        self.arrays = _Arrays(plan, is_kept=is_kept)
        self.builder = _Builder(view, self.arrays)

    def chunks(self) -> Iterator[Chunk | Break]:
        return self.made(self.chunk)

    def places(self) -> Iterator[Places | Break]:
        return self.made(self.place)

    def made(self, make: Callable[[], Made]) -> Iterator[Made | Break]:
        """What is made of the rows of each chunk."""
        status, is_taken = FULL, True
        while status != DONE:
            if is_taken:  # where every range is broken, new arrays for each would cost most of the time
                self.prepare()
            status = self.run()
            is_taken = bool(self.state[ROWS])
            if is_taken:
                if self.rows_due is not None:
                    self.rows_due -= self.state[ROWS]
                yield make()
            if status == FAILED:
                yield self.broken()
                status = FULL if self.skip_range() else DONE

    def prepare(self) -> None:
        """Make arrays for the next chunk, no larger than what is left of the buffer can fill."""
        bytes_left = self.ranges.ends[-1] - self.state[POSITION]
        rows = min(self.max_rows, max(min(bytes_left, self.max_bytes), 0) // self.table.least_size + 1)
        if self.rows_due is not None:
            rows = min(rows, max(self.rows_due, 1))
        most = [bytes_left // column.least_size + 1 for _, column in self.lists]
        self.arrays.renew(rows, most, max(min(bytes_left, self.max_bytes), 0))

    def run(self) -> int:
        """Fill the arrays from their start."""
        self.state[ROWS] = 0
        for index in range(len(self.lists)):
            self.state[LISTS + index] = 0
        return self.go_on()

    def go_on(self) -> int:
        """Fill the arrays; a list or a row that runs out of room gets more, and the kernel goes on with that row."""
        status = self.call()
        while status >= LIST_FULL:
            index = status - LIST_FULL
            if index < len(self.lists):
                self.arrays.grow(index, self.state[LISTS + index])
            else:
                self.arrays.widen(self.gathered[index - len(self.lists)], self.state[AT])
            status = self.call()
        return status

    def call(self) -> int:
        ranges, arrays_ = self.ranges, self.arrays
        places = (ranges.starts, ranges.ends, ranges.counts, self.max_bytes)
        status: int = self.kernel(self.view, *places, self.state, arrays_.rooms, *arrays_.arguments)
        return status

    def batch(self) -> pa.RecordBatch:
        """The rows that the kernel has read, as Arrow."""
        self.builder.items = {path: self.state[LISTS + index] for index, (path, _) in enumerate(self.lists)}
        self.arrays.read = self.state[POSITION] - self.state[FIRST]
        built = [self.builder.build(column, (column.name,), self.state[ROWS]) for column in self.wanted]
        return pa.RecordBatch.from_arrays(built, schema=self.schema)

    def chunk(self) -> Chunk:
        """The same, and where each row is."""
        rows = self.state[ROWS]
        starts, ends, ranges = self.arrays.places
        return Chunk(
            self.batch(),
            _fixed(INT64, starts, rows),
            _fixed(INT64, ends, rows),
            _fixed(INT32, ranges, rows),
            self.checksums(rows),
        )

    def place(self) -> Places:
        """The rows that the kernel has read, as it left them."""
        rows = self.state[ROWS]
        starts, ends, _ = self.arrays.places
        items = {path: self.state[LISTS + index] for index, (path, _) in enumerate(self.lists)}
        views = {key: column.view for key, column in self.arrays.columns.items()}
        return Places(rows, starts.view[0], ends.view[rows - 1], items, views)

    def checksums(self, rows: int) -> pa.Int64Array | None:
        checksum = self.table.checksum
        if checksum is None or not self.has_checksums or checksum.column not in self.schema.names:
            return None
        computed = _Column.allocate("q", rows)
        compute = getattr(native.functions, f"{checksum.algorithm}_ranges")
        starts, ends = (self.arrays.columns[(), part].view for part in ("checksum_start", "checksum_end"))
        compute(self.view, starts, ends, rows, computed.view)
        return _fixed(INT64, computed, rows)

    def broken(self) -> Break:
        failure = self.table.failures[self.state[FAILURE]]
        return Break(failure, self.state[POSITION], self.state[AT], self.state[RANGE])

    def skip_range(self) -> bool:
        """Leave the range that is broken, for the next one if there is one."""
        self.state[RANGE] += 1
        self.state[ROWS_IN_RANGE] = 0
        if self.state[RANGE] == len(self.ranges.starts):
            return False
        self.state[POSITION] = self.ranges.starts[self.state[RANGE]]
        return True


class _PieceReading(_Reading):
    """The same over several buffers, whose ranges are counted through. Where rows were is not kept."""

    def __init__(
        self,
        table: Table,
        first: Piece,
        others: Iterator[Piece],
        wanted: Sequence[Column],
        limits: tuple[int, int],
    ) -> None:
        view, ranges = first
        own = Ranges(ranges.starts[:], ranges.ends[:], ranges.counts[:])  # since those of other pieces join them
        super().__init__(table, view, own, wanted, limits, checksums=False)
        self.pieces = others
        self.arrays.is_placed = False

    def rows(self) -> Iterator[Rows | Break]:
        return self.made(lambda: Rows(self.batch(), _fixed(INT32, self.arrays.places[-1], self.state[ROWS])))

    def prepare(self) -> None:
        """Make arrays for a whole chunk of rows like those of this buffer, since what is to come is not known."""
        size = max(self.ranges.ends[-1] - self.state[POSITION], 1)
        rows = min(max(sum(self.ranges.counts[self.state[RANGE] :]), 1), size // self.table.least_size + 1)
        most = min(self.max_rows, rows * (self.max_bytes // size + 1))
        items = [max(size, self.max_bytes) // column.least_size + 1 for _, column in self.lists]
        self.arrays.renew(most, items, min(size * most // rows, self.max_bytes))

    def made(self, make: Callable[[], Made]) -> Iterator[Made | Break]:
        """What is made of the rows of each chunk, behind its breaks: rows behind a broken range share its chunk."""
        is_more = True
        while is_more:
            self.prepare()
            status = self.run()
            while status != FULL:
                if status == FAILED:
                    yield self.broken()
                if not (status == FAILED and self.skip_range()):
                    is_more = self.turn()
                    if not (is_more and self.fits()):
                        break
                status = self.go_on()
            if self.state[ROWS]:
                yield make()

    def turn(self) -> bool:
        """Turn to the next buffer, if there is one."""
        if (piece := next(self.pieces, None)) is None:
            return False
        read = self.state[POSITION] - self.state[FIRST]
        self.view, ranges = piece
        self.ranges.starts.extend(ranges.starts)
        self.ranges.ends.extend(ranges.ends)
        self.ranges.counts.extend(ranges.counts)
        self.state[POSITION] = ranges.starts[0]
        self.state[FIRST] = ranges.starts[0] - read
        return True

    def fits(self) -> bool:
        """Whether all of the buffer may go into the same chunk."""
        return self.ranges.ends[-1] - self.state[FIRST] <= self.max_bytes


class _Arrays:
    """The arrays that a kernel fills. Those that become columns that are kept are new for every chunk."""

    def __init__(self, plan: _Plan, *, is_kept: bool) -> None:
        self.is_kept, self.is_placed = is_kept, True
        self.rooms = plan.rooms[:]
        self.shares, self.read = plan.shares, 0
        self.most = [ENDLESS] * len(plan.lists)
        self.slots = plan.slots
        self.places: list[_Column] = []
        self.columns: dict[tuple[Path, str], _Column] = {}
        self.arguments = plan.arguments[:]

    def renew(self, rows: int, most: list[int], size: int) -> None:
        """Make room for a chunk of so many rows of `size` bytes, and for items of lists, of which there are `most`."""
        self.most, self.size = most, size
        for index, room in enumerate(self.rooms):
            if room != ENDLESS:
                self.rooms[index] = min(max(room, FIRST_ITEMS * rows), most[index])
        if self.is_kept or not self.places or len(self.places[-1].view) < rows:
            sizes = (rows, rows, rows) if self.is_placed else (0, 0, rows)
            self.places = [_Column.allocate(typecode, size) for typecode, size in zip(PLACES, sizes, strict=True)]
        self.arguments[: len(PLACES)] = [place.view for place in self.places]
        for slot in self.slots:
            index, it, list_index, _ = slot
            size = rows if list_index is None else self.rooms[list_index]
            if it.part == DATA:
                if (it.path, DATA) not in self.columns:
                    self.allocate(slot, _roomy(math.ceil(self.size * self.shares.get(it.path, 1))))
            elif (it.is_column and self.is_kept) or len(self.arguments[index]) < size * it.width:
                self.allocate(slot, size)

    def allocate(self, slot: Slot, size: int) -> None:
        index, it, _, is_list = slot
        column = _Column.allocate(it.typecode, size * it.width + (is_list or it.part == OFFSET))
        self.columns[it.path, it.part] = column
        self.arguments[index] = column.view
        if it.part == OFFSET:
            column.view[0] = 0
        if is_list:
            # The kernel writes where each row's items end; with a zero before them, those are Arrow's offsets.
            column.view[0] = 0
            self.arguments[index] = column.view[1:]

    def grow(self, grown: int, items: int) -> None:
        """Move a list's items into arrays with more room."""
        self.rooms[grown] = min(4 * self.rooms[grown], self.most[grown])
        for slot in self.slots:
            index, it, list_index, _ = slot
            if list_index == grown and it.part != DATA:
                filled = self.arguments[index][: items * it.width + (it.part == OFFSET)]
                self.allocate(slot, self.rooms[grown])
                self.arguments[index][: len(filled)] = filled

    def widen(self, path: Path, size: int) -> None:
        """Move the gathered bytes of a column to where there is room for so many."""
        for slot in self.slots:
            index, it, _, _ = slot
            if (it.path, it.part) == (path, DATA):
                filled = self.arguments[index]
                self.allocate(slot, _roomy(max(size, self.size)))
                self.arguments[index][: len(filled)] = filled

    def taken(self, path: Path, used: int) -> _Column:
        """Gathered bytes for good. Where they are few, they are copied, and the room serves again."""
        data = self.columns[path, DATA]
        self.shares[path] = used / max(self.read, 1)
        if 2 * used >= min(self.size, len(data.view)):
            del self.columns[path, DATA]
            return data
        copied = _Column.allocate("B", used + ROOM_BEHIND)
        copied.view[:used] = data.view[:used]
        return copied


def _roomy(size: int) -> int:
    return size + size // SLACK + ROOM_BEHIND


Slot = tuple[int, Array, int | None, bool]
"""An array that is filled: its place among the arguments, what it is, the list whose items it is for, and whether it
holds the ends of a list's items."""


@dataclass(frozen=True, slots=True)
class _Plan:
    """What is the same whenever some columns of a table are read."""

    table: Table
    schema: pa.Schema
    lists: list[tuple[Path, Column]]
    gathered: list[Path]
    """Columns of bytes in the order in which kernels count them."""
    rooms: array[int]
    slots: list[Slot]
    arguments: list[memoryview]
    shares: dict[Path, float] = field(default_factory=dict)
    """How much of the bytes of the last chunk a column of bytes took, and hence the next one may take."""


_PLANS: dict[tuple[int, bool, tuple[Name, ...]], _Plan] = {}
"""By the identity of their table, which they keep alive: tables have no hash."""


def plan_of(table: Table, wanted: Sequence[Column], *, is_gathered: bool) -> _Plan:
    """How the kernel of a table is called for some of its columns; made once."""
    key = id(table), is_gathered, tuple(_name(column) for column in wanted)
    if key not in _PLANS:
        lists_ = list(lists(table.columns))
        paths = [path for path, _ in lists_]
        kept = set(_paths(wanted))
        gathered = [it.path for it in arrays(table) if it.part == OFFSET]
        left_out = dict.fromkeys(gathered, PLACE if is_gathered else GATHERING)
        slots = [
            (index, it, paths.index(it.path[:-1]) if it.path[:-1] else None, it.path in paths)
            for index, it in enumerate(arrays(table), len(PLACES))
            if (not it.path or it.path in kept) and it.part not in left_out.get(it.path, ())
        ]
        rooms = array("q", [0 if path in kept else ENDLESS for path in paths])
        arguments = [*(NOTHING[typecode] for typecode in PLACES), *(NOTHING[it.typecode] for it in arrays(table))]
        _PLANS[key] = _Plan(table, schema_of(wanted), lists_, gathered, rooms, slots, arguments)
    return _PLANS[key]


Name = str | tuple[Any, ...]
"""A column by its name; a list with the names of its items' columns."""


def _name(column: Column) -> Name:
    return (column.name, *map(_name, column.items)) if column.items else column.name


def _paths(columns: Iterable[Column], above: Path = ()) -> Iterator[Path]:
    for column in columns:
        yield (*above, column.name)
        yield from _paths(column.items, (*above, column.name))


class _Builder:
    """The way from the kernel's arrays to Arrow's."""

    def __init__(self, view: memoryview, arrays_: _Arrays) -> None:
        self.view, self.arrays, self.columns = view, arrays_, arrays_.columns
        self.items: dict[Path, int] = {}
        self.types: dict[Path, pa.DataType] = {}
        self.steps: dict[int, _Column] = {}

    def build(self, column: Column, path: Path, rows: int) -> pa.Array:
        """One Arrow array, whatever the column holds."""
        if column.size:
            return self.build_equal(column, self.columns[path, "bytes"], rows)
        if column.kind in GATHERED:
            return self.build_gathered(column, path, rows)
        if column.kind in SLICES:
            return self.build_slices(column, path, rows)
        if column.kind == "list":
            return self.build_list(column, path, rows)
        values = self.columns[path, "value"]
        valid, nulls = self.validity(column, path, rows)
        if column.kind == "enum":
            return _labels(column, values, rows, (valid, nulls))
        if column.kind == "bool":
            bits = _Column.allocate("B", (rows + 7) // 8)
            native.functions.pack_bits(values.view, rows, bits.view)
            return pa.Array.from_buffers(BOOL, rows, [valid, bits.buffer], nulls)
        return _fixed(ARROW_TYPES[column.kind], values, rows, (valid, nulls))

    def validity(self, column: Column, path: Path, rows: int) -> tuple[pa.Buffer | None, int]:
        if not column.nullable:
            return None, 0
        valid = self.columns[path, "valid"].view
        if b"\0" not in bytes(valid[:rows]):  # most often; and to see that is quicker than to pack them
            return None, 0
        bits = _Column.allocate("B", (rows + 7) // 8)
        return bits.buffer, native.functions.pack_bits(valid, rows, bits.view)

    def build_equal(self, column: Column, data: _Column, rows: int) -> pa.Array:
        """Bytes of one size, which are there already."""
        return _bytes(column, rows, (None, self.stepped(column.size, rows), data), 0, column.size * rows)

    def stepped(self, size: int, rows: int) -> _Column:
        """Offsets of values of one size. All chunks share them, since nobody writes to them."""
        steps = self.steps.get(size)
        if steps is None or len(steps.view) <= rows:
            steps = self.steps[size] = _Column.allocate("i", rows + 1)
            native.functions.fill_steps(steps.view, size)
        return steps

    def build_gathered(self, column: Column, path: Path, rows: int) -> pa.Array:
        """Values that the kernel has copied."""
        offsets = self.columns[path, OFFSET]
        used = offsets.view[rows]
        valid, nulls = self.validity(column, path, rows)
        return _bytes(column, rows, (valid, offsets, self.arrays.taken(path, used)), nulls, used)

    def build_slices(self, column: Column, path: Path, rows: int) -> pa.Array:
        """Values that lie scattered in the buffer, gathered in one copy."""
        starts, lengths = (self.columns[path, part].view for part in PLACE)
        total, is_mixed, size = native.functions.measure(lengths, rows)
        data = _Column.allocate("B", total + ROOM_BEHIND)
        if size and column.kind != "base64":
            native.functions.gather_equal(self.view, starts, size, rows, data.view)
            return _bytes(column, rows, (None, self.stepped(size, rows), data), 0, total)
        offsets = _Column.allocate("i", rows + 1)
        gathering = (self.view, starts, lengths, rows, offsets.view, data.view)
        if not is_mixed and column.kind != "base64":
            native.functions.gather_plain(*gathering)
            return _bytes(column, rows, (None, offsets, data), 0, total)
        valid = _Column.allocate("B", (rows + 7) // 8)
        gather = native.functions.gather_base64 if column.kind == "base64" else native.functions.gather_optional
        nulls = gather(*gathering, valid.view)
        # Escapes and base-64 take more bytes than what they stand for.
        parts = (valid.buffer if nulls else None, offsets, data)
        return _bytes(column, rows, parts, nulls, offsets.view[rows])

    def build_list(self, column: Column, path: Path, rows: int) -> pa.ListArray:
        if path not in self.types:
            self.types[path] = arrow_type(column)
        type_, size = self.types[path], self.items[path]
        built = [self.build(item, (*path, item.name), size) for item in column.items]
        items = pa.Array.from_buffers(type_.value_type, size, [None], 0, children=built)
        offsets = self.columns[path, "value"].buffer
        return pa.Array.from_buffers(type_, rows, [None, offsets], 0, children=[items])


def _fixed(
    type_: pa.DataType, column: _Column, rows: int, validity: tuple[pa.Buffer | None, int] = (None, 0)
) -> pa.Array:
    """An array of fixed-size values over the kernel's own memory."""
    return pa.Array.from_buffers(type_, rows, [validity[0], column.buffer], validity[1])


def _bytes(
    column: Column, rows: int, parts: tuple[pa.Buffer | None, _Column, _Column], nulls: int, used: int
) -> pa.Array:
    """An array of bytes or text. Most text is ASCII, which is quicker to see than that each value is UTF-8."""
    valid, offsets, data = parts
    buffers = [valid, offsets.buffer, data.buffer]
    if column.kind in ("binary", "base64"):
        return pa.Array.from_buffers(BINARY, rows, buffers, nulls)
    if native.functions.is_ascii(data.view, used):
        return pa.Array.from_buffers(STRING, rows, buffers, nulls)
    return text_of(pa.Array.from_buffers(BINARY, rows, buffers, nulls))


def _labels(column: Column, codes: _Column, rows: int, validity: tuple[pa.Buffer | None, int]) -> pa.StringArray:
    """A string array of an enum's names."""
    text, label_starts = _label_table(tuple(column.labels.items()))
    total = native.functions.measure_labels(label_starts, codes.view, rows)
    offsets, data = _Column.allocate("i", rows + 1), _Column.allocate("B", total + ROOM_BEHIND)
    native.functions.gather_labels(text, label_starts, codes.view, rows, offsets.view, data.view)
    return pa.Array.from_buffers(STRING, rows, [validity[0], offsets.buffer, data.buffer], validity[1])


@cache
def _label_table(labels: tuple[tuple[int, str], ...]) -> tuple[bytes, array[int]]:
    """The names of all 256 values of a byte back to back, and where each of them starts."""
    column = Column("", "enum", (), labels=dict(labels))
    names = [label_of(column, code).encode() for code in range(256)]
    starts = array("q", [0])
    for name in names:
        starts.append(starts[-1] + len(name))
    return b"".join(names) + bytes(ROOM_BEHIND), starts


def add_bases(bases: pa.Int64Array, ranges: pa.Int32Array, numbers: pa.Array) -> pa.Int64Array:
    """Numbers of 32 or 64 bits, counted from the base that each range of rows has."""
    sums = _Column.allocate("q", len(numbers))
    add = native.functions.add_bases_short if numbers.type == INT32 else native.functions.add_bases
    add(_numbers(bases), _numbers(ranges), _numbers(numbers), len(numbers), sums.view)
    return _fixed(INT64, sums, len(numbers))


def _numbers(values: pa.Array) -> memoryview:
    typecode = "i" if values.type == INT32 else "q"
    view: memoryview = memoryview(values.buffers()[1]).cast("B").cast(typecode)  # type: ignore[call-overload]
    return view[values.offset : values.offset + len(values)]
