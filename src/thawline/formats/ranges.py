"""A file in ranges of bytes. A task reads what ends in its range, so all tasks together read what one walk gives.

Nobody has to look into the file to hand out ranges. What belongs to a range is told by the walk over the file, which
is the only one that knows after damage where units are and what holds for them. It is resumed from range to range, and
what comes before a range is walked over without being decoded.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import accumulate, pairwise

from thawline.formats.contract import Depth, Kind, Undivided
from thawline.model import Finding, Run, Span
from thawline.source import Source

Item = Run | Finding


@dataclass(frozen=True, slots=True)
class Range:
    """A range of a file: its units and findings that end after `start`, but not after `end`."""

    start: int
    end: int

    @property
    def size(self) -> int:
        """The number of bytes in it; what ends in it may be more or less."""
        return self.end - self.start

    @property
    def is_first(self) -> bool:
        """Whether it starts at the start of the file. It has what is there without any bytes, too."""
        return self.start == 0

    def comes_after(self, end: int) -> bool:
        """Whether what ends at a position is before this range."""
        return end <= self.start and not self.is_first


def ranges_of(size: int, most: int) -> list[Range]:
    """Ranges of a file of some size, alike, of at most `most` bytes.

    >>> ranges_of(10, 4)
    [Range(start=0, end=3), Range(start=3, end=6), Range(start=6, end=10)]
    """
    count = max(-(-size // most), 1)
    return [Range(*edges) for edges in pairwise(index * size // count for index in range(count + 1))]


def is_undivided(kind: Kind, source: Source) -> bool:
    """Whether the first range of a file has all of it, since it is one unit or nothing in it can be read by itself."""
    if isinstance(kind, Undivided) and kind.is_undivided(source):
        return True
    if not kind.has_heads:
        return False
    units = (item.units for item in kind.walk(source, Depth.HEADS) if isinstance(item, Run))
    return not any(total > 1 for total in accumulate(units))


def part_of(kind: Kind, source: Source, run: Run, wanted: Range) -> tuple[Run | None, Run | None]:
    """What of a run ends in a range, and what after it; None for nothing."""
    start, end = run.span.start, run.span.end
    if wanted.comes_after(end):
        return None, None
    if wanted.start <= start and end <= wanted.end:
        return run, None
    if run.units <= 1:
        return (run, None) if end <= wanted.end else (None, run)
    edges = [start, *(unit.start for unit in kind.units(source, run)), end]
    edges[1:2] = []  # the run starts with its first unit
    units = len(edges) - 1
    first = sum(wanted.comes_after(edge) for edge in edges[1:])
    last = sum(edge <= wanted.end for edge in edges[1:])
    return _piece(run, edges, first, last), _piece(run, edges, max(first, last), units)


def _piece(run: Run, edges: list[int], first: int, last: int) -> Run | None:
    if first >= last:
        return None
    is_whole = first == 0 and last == len(edges) - 1
    return run if is_whole else run.cut(Span(edges[first], edges[last]), last - first)


class RangedWalk:
    """A walk over a file, of which ranges are taken in rising order."""

    def __init__(self, kind: Kind, source: Source, depth: Depth) -> None:
        self.kind, self.source = kind, source
        self.reached: int | None = 0
        """The end of the last range that was taken; None while, or if, it was not taken to its end."""
        self._items = kind.walk(source, depth)
        self._is_whole = is_undivided(kind, source)
        self._groups = groups(self._items)
        self._held: tuple[Item, ...] = ()

    def can_take(self, wanted: Range) -> bool:
        """Whether the walk has not gone beyond the start of a range."""
        return self.reached is not None and self.reached <= wanted.start

    def take(self, wanted: Range) -> Iterator[Item]:
        """The items of a range; none of a file without a division, except in its first range."""
        self.reached = None
        if self._is_whole:
            yield from self._items if wanted.is_first else ()
        else:
            yield from self._within(wanted)
        self.reached = wanted.end

    def _within(self, wanted: Range) -> Iterator[Item]:
        while group := self._held or next(self._groups, ()):
            self._held = ()
            end = group[-1].span.end
            if wanted.comes_after(end):
                continue
            if isinstance(run := group[0], Run) and len(group) == 1:
                part, rest = part_of(self.kind, self.source, run, wanted)
                yield from [part] if part else ()
                self._held = (rest,) if rest else ()
            elif end <= wanted.end:
                yield from group
            else:
                self._held = group
            if self._held:
                return


def groups(items: Iterable[Item]) -> Iterator[tuple[Item, ...]]:
    """Items one by one; a run without bytes comes with the finding after it, about its rows, which count as damaged."""
    held: tuple[Item, ...] = ()
    for item in items:
        if held and isinstance(item, Run):
            yield held
            held = ()
        if isinstance(item, Run) and not item.span.size:
            held = (item,)
        else:
            yield (*held, item)
            held = ()
    if held:
        yield held
