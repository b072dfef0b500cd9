"""Counting: how far a kernel reads a buffer, and why it stops, without the rows."""

from __future__ import annotations

from array import array

from thawline.engine.arrays import PLACES, plan_of
from thawline.engine.chunks import Break
from thawline.engine.kernels import kernel_of
from thawline.engine.tables import Table
from thawline.native.constants.kernels import STATE_AT, STATE_FAILURE, STATE_LISTS, STATE_POSITION, STATE_ROWS


class RowCounter:
    """Counts the rows that a kernel reads from the start of a buffer, and keeps only their ends."""

    def __init__(self, table: Table, most: int = 1) -> None:
        plan = plan_of(table, (), is_gathered=True)
        self._failures = table.failures
        self._kernel = kernel_of(table)
        self._starts, self._lengths, self._counts = array("q", [0]), array("q", [0]), array("q", [0])
        self._state, self._rooms = array("q", bytes(8 * (STATE_LISTS + len(plan.lists)))), plan.rooms
        self._empty = self._state[:]
        self.ends = memoryview(array("q", bytes(8 * most)))
        """Where the rows that were counted last end."""
        self._arguments = plan.arguments[:]
        for slot in plan.slots:  # a kernel writes the range of every row's checksum
            self._arguments[slot.argument] = memoryview(array(slot.array.typecode, [0] * slot.array.width * most))
        starts, ranges = array("q", bytes(8 * most)), array("i", bytes(4 * most))
        self._arguments[: len(PLACES)] = [memoryview(starts), self.ends, memoryview(ranges)]

    def rows(self, view: memoryview, most: int = -1) -> int:
        """How many rows the buffer starts with, up to the room that there is, or up to `most`."""
        self._lengths[0], self._counts[0], self._state[:] = len(view), most, self._empty
        places = (self._starts, self._lengths, self._counts, len(view))
        self._kernel(view, *places, self._state, self._rooms, *self._arguments)
        return self._state[STATE_ROWS]

    def end(self, view: memoryview) -> int:
        """Where the first row of the buffer ends; 0 if it is invalid."""
        return self.ends[0] if self.rows(view, 1) else 0

    def broken(self, view: memoryview) -> Break | None:
        """Where and why the first row of the buffer fails; None if it is valid."""
        if self.end(view):
            return None
        return Break(self._failures[self._state[STATE_FAILURE]], self._state[STATE_POSITION], self._state[STATE_AT])
