"""Where units can start after damage: the search with the probe that is generated from `-sync`.

A probe is called with the buffer, the position to stop at, its state, and arrays for the positions and sizes of the
units that it finds. `thawline.native.constants.kernels` has the slots of the state.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from functools import cached_property

from thawline import native
from thawline.engine.chunks import Break
from thawline.engine.tables import Sync
from thawline.native.constants.kernels import (
    PROBE_BUDGET,
    PROBE_CELLS,
    PROBE_LEAST_COST,
    PROBE_POSITION,
    PROBE_PROVES,
    PROBE_WHY,
    PROBE_WHY_AT,
)
from thawline.source import Source

LEAST_COST = 64
"""Bytes that a candidate costs at least."""
NO_BUDGET = 1 << 62
ROOM = 256
"""Units that are found at a time."""


class Starts:
    """The positions of a file where a unit can start, at most as many as a budget allows to look at."""

    def __init__(
        self, sync: Sync, file: Source | memoryview, *, budget: int = NO_BUDGET, is_proven: bool = False
    ) -> None:
        self.sync, self._file = sync, file
        self._probe = sync.probe or getattr(native.functions, f"probe_{sync.name}")
        self._state = array("q", bytes(8 * PROBE_CELLS))
        self._state[PROBE_BUDGET], self._state[PROBE_LEAST_COST] = budget, LEAST_COST
        self._state[PROBE_PROVES] = is_proven
        self._one = array("q", [0]), array("q", [0])

    @cached_property
    def view(self) -> memoryview:
        """The bytes of the file. A remote one is copied to disk when the first search needs it."""
        if isinstance(self._file, memoryview):
            return self._file
        source = self._file.on_disk()
        return source.view(0, source.size)

    def following(self, start: int) -> int:
        """The first position from `start` on; the end of the file if there is none, or the budget is spent."""
        positions, sizes = self._one
        self._state[PROBE_POSITION] = start
        return positions[0] if self._probe(self.view, len(self.view), self._state, positions, sizes) else len(self.view)

    def within(self, start: int, stop: int) -> Iterator[tuple[int, int]]:
        """Each position in `[start, stop)`, with the size of the unit there."""
        for positions, sizes in self._found(start, stop):
            yield from zip(positions, sizes, strict=True)

    def positions(self, start: int, stop: int) -> array[int]:
        """All positions in `[start, stop)`."""
        found = array("q")
        for positions, _ in self._found(start, stop):
            found.extend(positions)
        return found

    def _found(self, start: int, stop: int) -> Iterator[tuple[array[int], array[int]]]:
        positions, sizes = array("q", bytes(8 * ROOM)), array("q", bytes(8 * ROOM))
        self._state[PROBE_POSITION], found = start, ROOM
        while found == ROOM:
            found = self._probe(self.view, stop, self._state, positions, sizes)
            yield positions[:found], sizes[:found]

    def size_at(self, position: int) -> int:
        """The size of the unit that can start at a position; 0 if none can."""
        positions, sizes = self._one
        self._state[PROBE_POSITION] = position
        found = self._probe(self.view, position + 1, self._state, positions, sizes)
        return sizes[0] if found else 0

    def why_not(self, position: int) -> Break | None:
        """Why no unit can start at a position; None if one can."""
        self._state[PROBE_POSITION] = position
        self._probe(self.view, position, self._state, *self._one)
        code = self._state[PROBE_WHY]
        return None if code < 0 else Break(self.sync.failures[code], position, self._state[PROBE_WHY_AT])
