"""The kernels as the fuzzer calls them: without Arrow, into arrays that serve again and start with the worst in them.

What `thawline.engine.kernels` does for a file is done here in a few microseconds: the same calls in the same order,
over arrays that are soon full, and grow when a kernel asks for more.
"""

from __future__ import annotations

from array import array
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from thawline import native
from thawline.engine.arrays import DATA, ENDLESS, GATHERING, OFFSET, PLACE, PLACES
from thawline.engine.assembly import label_table as _label_table
from thawline.engine.buffers import ITEM_SIZES
from thawline.engine.chunks import Places
from thawline.engine.tables import GATHERED, SLICES, Array, Column, Table, arrays, lists
from thawline.native.constants.kernels import COPY_STEP as ROOM_BEHIND
from thawline.native.constants.kernels import SCAN_DONE as DONE
from thawline.native.constants.kernels import SCAN_FAILED as FAILED
from thawline.native.constants.kernels import SCAN_LIST_FULL as LIST_FULL
from thawline.native.constants.kernels import STATE_AT as AT
from thawline.native.constants.kernels import STATE_FAILURE as FAILURE
from thawline.native.constants.kernels import STATE_LISTS as LISTS
from thawline.native.constants.kernels import STATE_POSITION as POSITION
from thawline.native.constants.kernels import STATE_RANGE as RANGE
from thawline.native.constants.kernels import STATE_ROWS as ROWS
from thawline.native.constants.kernels import STATE_ROWS_IN_RANGE as ROWS_IN_RANGE
from tools.filled import PATTERNS

LONGEST = 1024
"""Bytes of an input: what a scan does wrong it does with few."""
FILLS = tuple(PATTERNS.values())
FEW_ROWS, FEW_ITEMS, FEW_BYTES = 6, 5, 24 + ROOM_BEHIND
"""Room of arrays at first."""
SOON = 40
"""Bytes of a chunk that ends soon."""

ZERO = array("B", [0])
UNITS = {typecode: [array(typecode, pattern) for pattern in FILLS] for typecode in "qiBb"}
"""Patterns as arrays."""

NATIVE: Any = native.functions
"""Untyped: its functions are called with arguments that the package never gives them."""


class Room:
    """An array that native code fills, in a block of memory of its own."""

    __slots__ = ("array", "bytes", "fills", "held", "typecode")

    def __init__(self, typecode: str, size: int, *, skip: int = 0) -> None:
        self.typecode, self.array = typecode, array(typecode, bytes(ITEM_SIZES[typecode] * size))[:]
        self.bytes = memoryview(self.array).cast("B")
        whole = len(self.bytes) // 8 + 1
        self.fills = [(pattern * whole)[: len(self.bytes)] for pattern in FILLS]
        self.held = held(typecode, memoryview(self.array)[skip:])

    def fill(self, pattern: int) -> None:
        """Forget what is in it."""
        self.bytes[:] = self.fills[pattern]


def held(typecode: str, view: memoryview) -> Any:
    """The array as the native module likes it best: it need not be looked at again with every call.

    Only the module that is built for the fuzzer can do that.
    """
    hold = getattr(NATIVE, "fuzz_hold", None)
    return hold(typecode, view) if hold and len(view) else view


class Rooms:
    """Arrays that are filled together; `added.pyx` has it in C."""

    def __init__(self, rooms: list[tuple[memoryview, int]]) -> None:
        self._rooms = rooms

    def fill(self, pattern: bytes) -> None:
        """Fill all of them with eight bytes that are repeated, but for those that are 0."""
        for view, zeros in self._rooms:
            view[:] = bytes(zeros) + (pattern * (len(view) // 8 + 1))[zeros : len(view)]


@dataclass(frozen=True, slots=True)
class How:
    """How a scan is run, as a byte of the input says."""

    number: int

    @property
    def pattern(self) -> int:
        """What memory holds before."""
        return self.number % len(FILLS)

    @property
    def most_bytes(self) -> int:
        """After how many bytes a chunk ends."""
        return SOON if self.number & 64 else 1 << 20

    @property
    def is_gathered(self) -> bool:
        """Whether what was found is also copied."""
        return not self.number & 128

    def ranges(self, size: int) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
        """Starts, ends and counts of what is read of `size` bytes."""
        middle = size // 3
        match self.number >> 3 & 7:
            case 0:
                return (0,), (size,), (1,)
            case 1:
                return (0, middle), (middle, size), (1, -1)
            case 2:
                return (0, middle, middle), (middle, middle, size), (-1, 0, 2)
        return (0,), (size,), (-1,)


class Scan:
    """A kernel with its arrays."""

    def __init__(self, table: Table, *, is_gathered: bool, wanted: Collection[str] | None = None) -> None:
        self.table, self.is_gathered = table, is_gathered
        self.kernel = getattr(NATIVE, f"scan_{table.name}")
        self.lists = list(lists(table.columns))
        self.paths = [path for path, _ in self.lists]
        every = list(arrays(table))
        self.gathered = [it.path for it in every if it.part == OFFSET]
        self.wanted = {it.path for it in every if wanted is None or not it.path or ".".join(it.path) in wanted}
        self.wanted |= {path[:-1] for path in self.wanted if path}
        self.state = array("q", bytes(8 * (LISTS + len(self.lists))))
        self.fresh = array("q", bytes(8 * len(self.state)))
        self.places = [Room(typecode, FEW_ROWS) for typecode in PLACES]
        self.slots = [(index, it) for index, it in enumerate(every, len(PLACES)) if self._is_filled(it)]
        self.few = {index: self._room(it, FEW_ROWS, FEW_ITEMS, FEW_BYTES) for index, it in self.slots}
        self.many = {index: self._room(it, FEW_ROWS, LONGEST + 1, 4 * LONGEST) for index, it in self.slots}
        nothing = [held(it.typecode, memoryview(array(it.typecode))) for it in every]
        self.empty = [*(place.held for place in self.places), *nothing]
        self.few_arguments = [self.few[index].held if index in self.few else it for index, it in enumerate(self.empty)]
        rooms = [(place.bytes, 0) for place in self.places]
        rooms += [
            (self.few[index].bytes, self.few[index].array.itemsize * self._is_offset(it)) for index, it in self.slots
        ]
        self.all_few = getattr(NATIVE, "fuzz_rooms", Rooms)(rooms)
        self.few_rooms = array("q", [FEW_ITEMS if path in self.wanted else ENDLESS for path in self.paths])

    def _is_filled(self, it: Array) -> bool:
        left_out = (PLACE if self.is_gathered else GATHERING) if it.path in self.gathered else ()
        return it.path in self.wanted and it.part not in left_out

    def _is_offset(self, it: Array) -> bool:
        """Whether the first item is where the first value starts."""
        return it.part == OFFSET or it.path in self.paths

    def _room(self, it: Array, rows: int, items: int, size: int) -> Room:
        is_list = it.path in self.paths
        count = rows if len(it.path) < 2 else items  # noqa: PLR2004 - a column of a list
        return Room(it.typecode, size if it.part == DATA else count * it.width + (is_list or it.part == OFFSET),
                    skip=int(is_list))  # fmt: skip

    def chunks(self, view: memoryview, how: How) -> Iterator[int]:
        """How many rows are in the arrays, again and again until all is read."""
        self._begin(how, view)
        calls, status = 0, -1
        while status != DONE:
            status = self._run(view, how)
            calls += 1
            rows = self.state[ROWS]
            if rows:
                self._check_places(rows, len(view))
                yield rows
            if status == FAILED:
                self.table.failures[self.state[FAILURE]]  # one there is
                if not self._skip():
                    return
            if calls > LONGEST + len(self.starts):
                raise AssertionError(f"{self.table.name} does not come to an end")

    def _begin(self, how: How, view: memoryview) -> None:
        self.state[:] = self.fresh
        self.starts, self.ends, self.counts = (array("q", numbers) for numbers in how.ranges(len(view)))
        self.rooms, self.current, self.arguments = self.few_rooms[:], dict(self.few), self.few_arguments[:]
        self.all_few.fill(FILLS[how.pattern])

    def _use(self, index: int, it: Array, room: Room, pattern: int) -> None:
        room.fill(pattern)
        if self._is_offset(it):
            room.array[0] = 0
        self.current[index], self.arguments[index] = room, room.held

    def _run(self, view: memoryview, how: How) -> int:
        """One chunk; a list or a row that runs out of room gets more, and the kernel goes on with that row."""
        self.state[ROWS] = 0
        self.state[LISTS:] = self.fresh[LISTS:]
        while True:
            status: int = self.kernel(
                view, self.starts, self.ends, self.counts, how.most_bytes, self.state, self.rooms, *self.arguments
            )
            if status < LIST_FULL:
                return status
            self._grow(status - LIST_FULL, how.pattern)

    def _grow(self, number: int, pattern: int) -> None:
        """Move a list's items, or the bytes of a column, to where there is room for all that may come."""
        if number < len(self.lists):
            grown = [slot for slot in self.slots if slot[1].path[:-1] == self.paths[number] and slot[1].part != DATA]
            self.rooms[number] = LONGEST + 1
        else:
            path = self.gathered[number - len(self.lists)]
            grown = [slot for slot in self.slots if (slot[1].path, slot[1].part) == (path, DATA)]
            if self.state[AT] > LONGEST:
                raise AssertionError(f"{self.table.name} wants {self.state[AT]} bytes for {path}")
        for index, it in grown:
            before = self.current[index]
            if before is self.many[index]:
                raise AssertionError(f"{self.table.name} has no room for {it.path} where there is room for all")
            self._use(index, it, self.many[index], pattern)
            self.many[index].bytes[: len(before.bytes)] = before.bytes

    def _skip(self) -> bool:
        """Leave the range that is broken, for the next one if there is one."""
        self.state[RANGE] += 1
        self.state[ROWS_IN_RANGE] = 0
        if self.state[RANGE] >= len(self.starts):
            return False
        self.state[POSITION] = self.starts[self.state[RANGE]]
        return True

    def _check_places(self, rows: int, size: int) -> None:
        at = 0
        for start, end in zip(self.places[0].array[:rows], self.places[1].array[:rows], strict=True):
            if not at <= start <= end <= size:
                raise AssertionError(f"{self.table.name}: a row at {start}..{end} of {size} bytes after {at}")
            at = end

    def found(self, rows: int) -> Places:
        """What the kernel has left."""
        starts, ends, _ = self.places
        items = {path: self.state[LISTS + index] for index, path in enumerate(self.paths)}
        parts = {(it.path, it.part): self.current[index].held for index, it in self.slots}
        return Places(rows, starts.array[0], ends.array[rows - 1], items, parts)

    def copied(self, view: memoryview, rows: int, pattern: int) -> None:
        """Everything that is made of what the kernel has left, as `assembly.Assembly` makes it."""
        found = self.found(rows)
        if self.table.checksum:
            starts, ends = (found.arrays[(), part] for part in ("checksum_start", "checksum_end"))
            compute = getattr(NATIVE, f"{self.table.checksum.algorithm}_ranges")
            compute(view, starts, ends, rows, array("q", [0]) * rows)
        for path, column, count in _columns(self.table.columns, rows, found):
            if path in self.wanted:
                _copy(view, column, {part: found.arrays.get((path, part)) for part in PARTS}, count, pattern)


PARTS = ("value", "valid", "start", "length", "offset", "data")


def _columns(
    columns: tuple[Column, ...], rows: int, found: Places, above: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], Column, int]]:
    for column in columns:
        path = (*above, column.name)
        yield path, column, rows
        if column.items:
            yield from _columns(column.items, found.items[path], found, path)


def _copy(view: memoryview, column: Column, parts: dict[str, Any], rows: int, pattern: int) -> None:
    if column.kind in SLICES and parts["start"] is not None:
        gather(view, column.kind, (parts["start"], parts["length"], rows), pattern)
    elif column.kind in GATHERED and not column.size:
        NATIVE.is_ascii(parts["data"], parts["offset"][rows])
    elif column.kind == "enum":
        text, starts = _label_table(tuple(column.labels.items()))
        total = NATIVE.measure_labels(starts, parts["value"], rows)
        offsets, data = array("i", [0]) * (rows + 1), block(total + ROOM_BEHIND, pattern)
        NATIVE.gather_labels(text, starts, parts["value"], rows, offsets, data)
    elif column.kind == "bool":
        NATIVE.pack_bits(parts["value"], rows, block((rows + 7) // 8, pattern))
    if parts["valid"] is not None:
        NATIVE.pack_bits(parts["valid"], rows, block((rows + 7) // 8, pattern))


def gather(view: memoryview, kind: str, places: tuple[Any, Any, int], pattern: int) -> None:
    """Copy values that lie scattered in a buffer."""
    starts, lengths, rows = places
    total, is_mixed, size = NATIVE.measure(lengths, rows)
    data = block(total + ROOM_BEHIND, pattern)
    if size and kind not in {"base64", "json"}:
        NATIVE.gather_equal(view, starts, size, rows, data)
        return
    offsets = array("i", [0]) * (rows + 1)
    if not is_mixed and kind not in {"base64", "json"}:
        NATIVE.gather_plain(view, starts, lengths, rows, offsets, data)
        return
    ways = {"base64": NATIVE.gather_base64, "json": NATIVE.gather_json}
    valid = block((rows + 7) // 8, pattern)
    ways.get(kind, NATIVE.gather_optional)(view, starts, lengths, rows, offsets, data, valid)
    if any(one > other for one, other in pairwise(offsets)) or offsets[rows] > total:
        raise AssertionError(f"offsets of {kind} {list(offsets)} for {total} bytes")


def block(size: int, pattern: int) -> array[int]:
    """Bytes in a block of memory of their own, filled with a pattern.

    An array and no bytearray: under the fuzzer, only arrays are blocks that AddressSanitizer watches. A slice, since
    an array that is made of bytes has room for a few more.
    """
    return filled("B", size, pattern)


def filled(typecode: str, size: int, pattern: int) -> array[int]:
    """Items in a block of memory of their own, filled with a pattern."""
    one = UNITS[typecode][pattern]
    return one * size if len(one) == 1 else (one * (size // len(one) + 1))[:size]


def zeros(size: int = 0) -> array[int]:
    """Bytes in a block of memory of their own, all zero."""
    return ZERO * size
