"""The arrays that a kernel fills: which there are for some columns, and how large they are."""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import pyarrow as pa

from thawline.engine import tables
from thawline.engine.buffers import ITEM_SIZES, Pooled
from thawline.engine.chunks import schema_of
from thawline.engine.tables import Array, Column, Table, lists
from thawline.native.constants.kernels import COPY_STEP

FIRST_ITEMS = 4
"""Items of a list for each row that there is room for at first."""
ENDLESS = 1 << 62
"""The room of a list that is not requested, whose items are counted but not stored."""
NOTHING = {typecode: memoryview(array(typecode)) for typecode in ITEM_SIZES}
"""What a kernel gets for a column that is not requested."""
PLACES = "qqi"
"""Arrays before those of columns: the start, the end and the range of each row."""

OFFSET, DATA = "offset", "data"
PLACE, GATHERING = ("start", "length"), (OFFSET, DATA, "valid")
"""Parts of a column of bytes: where they are, or the bytes themselves as Arrow has them. A kernel fills one of both."""
SLACK = 4
"""Gathered values get a quarter more room than they should need, since the last row of a chunk may exceed it."""

Path = tuple[str, ...]


class Slot(NamedTuple):
    """An array that is filled."""

    argument: int
    """Its place among the kernel's arguments."""
    array: Array
    list_index: int | None
    """The list whose items it is for."""
    is_list: bool
    """Whether it holds the ends of a list's items."""


@dataclass(frozen=True, slots=True)
class Plan:
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
    """Which part of the bytes of the last chunk a column of bytes took, and the next one may take."""


_PLANS: dict[tuple[int, bool, tuple[Name, ...]], Plan] = {}
"""By the identity of their table, which they keep alive: tables have no hash."""


def plan_of(table: Table, wanted: Sequence[Column], *, is_gathered: bool) -> Plan:
    """How the kernel of a table is called for some of its columns; made once."""
    key = id(table), is_gathered, tuple(_name(column) for column in wanted)
    if key not in _PLANS:
        _PLANS[key] = _plan(table, wanted, is_gathered=is_gathered)
    return _PLANS[key]


def _plan(table: Table, wanted: Sequence[Column], *, is_gathered: bool) -> Plan:
    filled, lists_ = list(tables.arrays(table)), list(lists(table.columns))
    paths, kept = [path for path, _ in lists_], set(_paths(wanted))
    gathered = [it.path for it in filled if it.part == OFFSET]
    left_out = dict.fromkeys(gathered, PLACE if is_gathered else GATHERING)
    slots = [
        Slot(index, it, paths.index(it.path[:-1]) if it.path[:-1] else None, it.path in paths)
        for index, it in enumerate(filled, len(PLACES))
        if (not it.path or it.path in kept) and it.part not in left_out.get(it.path, ())
    ]
    rooms = array("q", [0 if path in kept else ENDLESS for path in paths])
    arguments = [*(NOTHING[typecode] for typecode in PLACES), *(NOTHING[it.typecode] for it in filled)]
    return Plan(table, schema_of(wanted), lists_, gathered, rooms, slots, arguments)


Name = str | tuple[Any, ...]
"""A column by its name; a list with the names of its items' columns."""


def _name(column: Column) -> Name:
    return (column.name, *map(_name, column.items)) if column.items else column.name


def _paths(columns: Iterable[Column], above: Path = ()) -> Iterator[Path]:
    for column in columns:
        yield (*above, column.name)
        yield from _paths(column.items, (*above, column.name))


class Arrays:
    """The arrays that a kernel fills. Those that become columns that are kept are new for every chunk."""

    def __init__(self, plan: Plan, *, is_kept: bool) -> None:
        self.is_kept, self.is_placed = is_kept, True
        self.rooms = plan.rooms[:]
        self.shares, self.read = plan.shares, 0
        self.most = [ENDLESS] * len(plan.lists)
        self.slots = plan.slots
        self.places: list[Pooled] = []
        self.columns: dict[tuple[Path, str], Pooled] = {}
        self.arguments = plan.arguments[:]

    def renew(self, rows: int, most: list[int], size: int) -> None:
        """Make room for a chunk of some rows and `size` bytes, and for items of lists, of which there are `most`."""
        self.most, self.size = most, size
        for index, room in enumerate(self.rooms):
            if room != ENDLESS:
                self.rooms[index] = min(max(room, FIRST_ITEMS * rows), most[index])
        if self.is_kept or not self.places or len(self.places[-1].view) < rows:
            sizes = (rows, rows, rows) if self.is_placed else (0, 0, rows)
            self.places = [Pooled(typecode, size) for typecode, size in zip(PLACES, sizes, strict=True)]
        self.arguments[: len(PLACES)] = [place.view for place in self.places]
        for slot in self.slots:
            self._renew(slot, rows)

    def _renew(self, slot: Slot, rows: int) -> None:
        it = slot.array
        size = rows if slot.list_index is None else self.rooms[slot.list_index]
        if it.part == DATA:
            if (it.path, DATA) not in self.columns:
                self.allocate(slot, _roomy(math.ceil(self.size * self.shares.get(it.path, 1))))
        elif (it.is_column and self.is_kept) or len(self.arguments[slot.argument]) < size * it.width:
            self.allocate(slot, size)

    def allocate(self, slot: Slot, size: int) -> None:
        """Give a slot a new array."""
        it = slot.array
        room = Pooled(it.typecode, size * it.width + (slot.is_list or it.part == OFFSET))
        self.columns[it.path, it.part] = room
        self.arguments[slot.argument] = room.view
        if it.part == OFFSET:
            room.view[0] = 0
        if slot.is_list:
            # The kernel writes where each row's items end; with a zero before them, those are Arrow's offsets.
            room.view[0] = 0
            self.arguments[slot.argument] = room.view[1:]

    def grow(self, grown: int, items: int) -> None:
        """Move a list's items into arrays with more room."""
        self.rooms[grown] = min(4 * self.rooms[grown], self.most[grown])
        for slot in self.slots:
            it = slot.array
            if slot.list_index == grown and it.part != DATA:
                self._move(slot, self.rooms[grown], items * it.width + (it.part == OFFSET))

    def widen(self, path: Path, size: int) -> None:
        """Move the gathered bytes of a column into an array of at least `size` bytes."""
        for slot in self.slots:
            if (slot.array.path, slot.array.part) == (path, DATA):
                self._move(slot, _roomy(max(size, self.size)), len(self.arguments[slot.argument]))

    def _move(self, slot: Slot, size: int, filled: int) -> None:
        before = self.arguments[slot.argument][:filled]
        self.allocate(slot, size)
        self.arguments[slot.argument][: len(before)] = before

    def taken(self, path: Path, used: int) -> Pooled:
        """Gathered bytes for a column to keep. If they are few, they are copied, and the array serves again."""
        data = self.columns[path, DATA]
        self.shares[path] = used / max(self.read, 1)
        if 2 * used >= min(self.size, len(data.view)):
            del self.columns[path, DATA]
            return data
        return data.copy(used, COPY_STEP)


def _roomy(size: int) -> int:
    return size + size // SLACK + COPY_STEP
