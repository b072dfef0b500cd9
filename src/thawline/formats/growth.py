"""What a file has gained since it was last looked at, while somebody may still be writing it.

A file that is open may end in the middle of a unit, which is no damage yet. So what looks damaged or doubtful at its
end waits until more of the file is there, or until it is closed. To find it again, it is enough to remember how large
the file was.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from thawline.formats.contract import Depth, Kind
from thawline.formats.ranges import Item, Range, groups, part_of, ranges_of
from thawline.model import Run
from thawline.source import Beginning, Source


@dataclass(frozen=True, slots=True)
class Growth:
    """A range of a file that has not been given yet."""

    range: Range
    is_open: bool
    """Whether more may be written to the file; what looks damaged at its end waits."""
    waiting_at: int | None = None
    """The size of the file when its end was last held back, though it ends before this range; None if none was."""


def growths(start: int, end: int, most: int, *, is_open: bool, waiting_at: int | None) -> Iterator[Growth]:
    """What a file has gained, in ranges of at most `most` bytes; the first one also has what was held back before."""
    edges = ranges_of(end - start, most) if end > start else [Range(0, 0)]
    for number, edge in enumerate(edges):
        yield Growth(Range(start + edge.start, start + edge.end), is_open, waiting_at if number == 0 else None)


CALM = 16 << 20
"""Intact bytes after damage from which on it is no longer taken for an end that is still being written. What lies in a
unit that is not whole yet can pass for units."""


def gained(kind: Kind, source: Source, depth: Depth, growth: Growth) -> Iterator[Item]:
    """The items of the range, and those before it that have waited; without what waits now."""
    wanted, late, doubt = growth.range, _Late(kind, source, depth, growth.waiting_at), _Doubt()
    held: list[Item] = []
    for group in groups(kind.walk(source, depth)):
        doubt.add(group)
        new = _new(kind, source, group, late.range_for(group, wanted) if doubt.has_been else wanted)
        if growth.is_open and doubt.start is not None:
            held += new
            continue
        if held:
            yield from held
            held = []
        if group[0].span.start >= wanted.end > 0:
            return
        yield from new


def _new(kind: Kind, source: Source, group: tuple[Item, ...], wanted: Range) -> Iterator[Item]:
    """What of a group ends in a range."""
    end = group[-1].span.end
    if len(group) == 1 and isinstance(run := group[0], Run):
        part, _ = part_of(kind, source, run, wanted)
        yield from [part] if part else ()
    elif end <= wanted.end and not wanted.comes_after(end):
        yield from group


class _Doubt:
    """Whether what was walked over lately may turn out to be something else when the file goes on."""

    def __init__(self) -> None:
        self.start: int | None = None
        """Where doubt starts; None if there is none now."""
        self.has_been = False
        self._calm = 0

    def add(self, group: tuple[Item, ...]) -> None:
        """Go on over a group."""
        item, start = group[-1], group[0].span.start
        if _is_doubtful(item):
            self.start, self._calm, self.has_been = start if self.start is None else self.start, 0, True
        else:
            self._calm += item.span.size
            self.start = None if self._calm >= CALM else self.start


def _is_doubtful(item: Item) -> bool:
    return bool(item.suspect) if isinstance(item, Run) else item.span.size > 0 and item.severity == "error"


class _Late:
    """What was held back when the file had another size."""

    def __init__(self, kind: Kind, source: Source, depth: Depth, size: int | None) -> None:
        self._walked, self._size = (kind, source, depth), size
        self._start: int | None = None

    def range_for(self, group: tuple[Item, ...], wanted: Range) -> Range:
        """The range, from the start of the file if the group was held back."""
        if self._size is None:
            return wanted
        if self._start is None:
            self._start = self._found(self._size)
        return Range(0, wanted.end) if group[0].span.start >= self._start else wanted

    def _found(self, size: int) -> int:
        (kind, source, depth), doubt = self._walked, _Doubt()
        for group in groups(kind.walk(Beginning(source, size), depth)):
            doubt.add(group)
        return size if doubt.start is None else doubt.start
