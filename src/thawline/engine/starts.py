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
    PROBE_LEAST,
    PROBE_LEAST_COST,
    PROBE_MOST,
    PROBE_POSITION,
    PROBE_PROVES,
    PROBE_WHY,
    PROBE_WHY_AT,
)
from thawline.source import Source

LEAST_COST = 64
"""Bytes that a candidate costs at least."""
NO_BUDGET = 1 << 62
NO_BOUNDS = -(1 << 63), (1 << 63) - 1
ROOM, GROWTH = 1 << 8, 4
"""Units that are found at a time."""


class Starts:
    """The positions of a file where a unit can start, at most as many as a budget allows to look at.

    With `bounds`, what rises from unit to unit lies between them.
    """

    def __init__(
        self,
        sync: Sync,
        file: Source | memoryview,
        *,
        budget: int = NO_BUDGET,
        is_proven: bool = False,
        bounds: tuple[int, int] = NO_BOUNDS,
    ) -> None:
        self.sync, self._file = sync, file
        self._probe = sync.probe or getattr(native.functions, f"probe_{sync.name}")
        self._state = array("q", bytes(8 * PROBE_CELLS))
        self._state[PROBE_BUDGET], self._state[PROBE_LEAST_COST] = budget, LEAST_COST
        self._state[PROBE_PROVES] = is_proven
        self._state[PROBE_LEAST], self._state[PROBE_MOST] = bounds
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
        for positions, sizes in self.bundles(start, stop, first=1):  # mostly the first one is right
            yield from zip(positions, sizes, strict=True)

    def positions(self, start: int, stop: int) -> array[int]:
        """All positions in `[start, stop)`."""
        found = array("q")
        for positions, _ in self.bundles(start, stop):
            found.extend(positions)
        return found

    def bundles(self, start: int, stop: int, first: int = ROOM) -> Iterator[tuple[array[int], array[int]]]:
        """The positions in `[start, stop)` and the sizes of the units there: `first` ones, then more at a time."""
        self._state[PROBE_POSITION] = start
        found = room = first
        while found == room:
            room = first
            positions, sizes = array("q", bytes(8 * room)), array("q", bytes(8 * room))
            found = self._probe(self.view, stop, self._state, positions, sizes)
            yield positions[:found], sizes[:found]
            first = min(GROWTH * first, max(first, ROOM))

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
