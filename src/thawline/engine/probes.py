"""Probes: how far a kernel reads a buffer, and why it stops, without any of its rows."""

from __future__ import annotations

from array import array

from thawline.engine.chunks import Break
from thawline.engine.kernels import AT, FAILURE, LISTS, PLACES, POSITION, ROWS, kernel_of, plan_of
from thawline.engine.tables import Table


class Probe:
    """Tells how many rows a kernel reads from the start of a buffer, at next to no cost: only their ends are kept."""

    def __init__(self, table: Table, most: int = 1) -> None:
        plan = plan_of(table, (), is_gathered=True)
        self._failures = table.failures
        self._kernel = kernel_of(table)
        self._starts, self._lengths, self._counts = array("q", [0]), array("q", [0]), array("q", [0])
        self._state, self._rooms = array("q", bytes(8 * (LISTS + len(plan.lists)))), plan.rooms
        self._empty = self._state[:]
        self.ends = memoryview(array("q", bytes(8 * most)))
        """Where the rows end that were counted last."""
        self._arguments = plan.arguments[:]
        for index, it, *_ in plan.slots:  # a kernel says of every row where its checksum lies
            self._arguments[index] = memoryview(array(it.typecode, [0] * it.width * most))
        starts, ranges = array("q", bytes(8 * most)), array("i", bytes(4 * most))
        self._arguments[: len(PLACES)] = [memoryview(starts), self.ends, memoryview(ranges)]

    def rows(self, view: memoryview, most: int = -1) -> int:
        """How many rows the buffer starts with; not more are counted than there is room for, or `most`."""
        self._lengths[0], self._counts[0], self._state[:] = len(view), most, self._empty
        places = (self._starts, self._lengths, self._counts, len(view))
        self._kernel(view, *places, self._state, self._rooms, *self._arguments)
        return self._state[ROWS]

    def end(self, view: memoryview) -> int:
        """Where the row ends that the buffer starts with; 0 if it is none."""
        return self.ends[0] if self.rows(view, 1) else 0

    def broken(self, view: memoryview) -> Break | None:
        """Where and why the row fails that the buffer starts with; None if it is one."""
        if self.end(view):
            return None
        return Break(self._failures[self._state[FAILURE]], self._state[POSITION], self._state[AT])
