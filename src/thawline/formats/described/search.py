"""The next unit after damage: by its magic and its alignment, all rules of the spec, and its checksums.

A candidate costs as many bytes as it makes the kernel read. The budget bounds them by the file's size, however a
hostile file nests long candidates.
"""

from __future__ import annotations

from thawline.formats.described.layout import Layout, Units
from thawline.model import Span
from thawline.source import Source

BUDGET, LEAST_BUDGET = 32, 1 << 20
"""A search reads at most this many times the file's size."""
LEAST_COST = 64
WINDOW = 1 << 20
"""Bytes in which the magic is looked for at a time."""


class Search:
    """The units of a file, found one by one."""

    def __init__(self, layout: Layout, source: Source) -> None:
        self.layout, self.source = layout, source
        self.left = max(BUDGET * source.size, LEAST_BUDGET)

    def following(self, start: int) -> int:
        """Where the next intact unit starts; the end of the file if none is found."""
        position = self._candidate(start)
        while position < self.source.size and self.left > 0:
            if self.is_unit(position):
                return position
            position = self._candidate(position + 1)
        return self.source.size

    def is_unit(self, start: int) -> bool:
        """Whether an intact unit starts at a position."""
        end = self.layout.extent(self.source, start)
        self.left -= max((end if isinstance(end, int) else end.position) - start, LEAST_COST)
        if not isinstance(end, int) or end <= start:
            return False
        if not self.layout.proofs:
            return True
        found = next(self.layout.units(self.source, Span(start, end)), None)
        return isinstance(found, Units) and not found.wrong(self.layout.proofs)

    def _candidate(self, start: int) -> int:
        """The first position from here on where a unit may start; the end of the file if there is none."""
        layout, size = self.layout, self.source.size
        position = _aligned(start, layout.alignment)
        while layout.magic and position < size:
            found = self._magic(position)
            if found == _aligned(found, layout.alignment):
                return found
            position = _aligned(found, layout.alignment)
        return min(position, size)

    def _magic(self, start: int) -> int:
        """The first position from here on of a unit's magic; the end of the file if there is none."""
        magic, offset, size = self.layout.magic, self.layout.magic_at, self.source.size
        at = start + offset
        while at + len(magic) <= size:
            window = bytes(self.source.view(at, min(at + WINDOW, size)))
            found = window.find(magic)
            if found >= 0:
                return at + found - offset
            at += max(len(window) - len(magic) + 1, 1)
        return size


def _aligned(position: int, alignment: int) -> int:
    return -(-position // alignment) * alignment
