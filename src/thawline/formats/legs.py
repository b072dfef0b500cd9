"""A file in legs: each task enters it where a unit seems to start, and reads up to where the next task seems to.

No task looks at what is before its leg. So legs count only all together: if each holds, starts where the one before it
ends, and goes on from there, they are what one walk gives of a file without damage. Else the file is read in ranges
(`ranges`), of which each is right by itself, but has to be walked to.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise

from thawline.formats.contract import Depth, Kind, Sectioned, Undivided
from thawline.formats.division import STRETCH, Item
from thawline.formats.ranges import Range
from thawline.model import Span
from thawline.source import Beginning, Source

__all__ = ["REACH", "Broken", "Joint", "Leg", "are_joined"]

REACH = 32 << 20
"""Bytes that are searched for the start of a unit."""


class Broken(Exception):
    """A leg that does not hold: what was read of it does not count."""


@dataclass(frozen=True, slots=True)
class Joint:
    """Where a leg that holds starts and ends, and the numbers that must not fall from one leg to the next."""

    span: Span
    first: tuple[int, ...] = ()
    last: tuple[int, ...] = ()


class Leg:
    """What a task reads of a file."""

    def __init__(self, kind: Kind, source: Source, depth: Depth, wanted: Range) -> None:
        self._read = kind, source, depth
        self._wanted = wanted
        self.joint: Joint | None = None
        """Known once all items were taken."""

    def items(self) -> Iterator[Item]:
        """Runs and findings, verified; `Broken` where something is not as it should be."""
        kind, source, depth = self._read
        if not isinstance(kind, Sectioned) or (isinstance(kind, Undivided) and kind.is_undivided(source)):
            raise Broken
        within = Span(self._boundary(self._wanted.start), self._boundary(self._wanted.end))
        position = within.start
        first: tuple[int, ...] = ()
        last: tuple[int, ...] = ()
        for section in kind.sections(source, depth, STRETCH, within) if within.size else ():
            items = section.items()
            if items is None or section.span.start != position or not _follows(last, section.first):
                raise Broken
            yield from items
            position, first, last = section.span.end, first or section.first, section.last
        if position != within.end:
            raise Broken
        if self._wanted.end == source.size:
            yield from kind.rest(source, depth, position)
        self.joint = Joint(within, first, last)

    def _boundary(self, position: int) -> int:
        kind, source, _ = self._read
        if not 0 < position < source.size:
            return position
        assert isinstance(kind, Sectioned)  # noqa: S101 - for mypy
        return kind.boundary(Beginning(source, min(position + REACH, source.size)), position)


def are_joined(joints: Iterable[Joint | None], size: int) -> bool:
    """Whether legs are together what one walk gives of a file of some size."""
    found = [joint for joint in joints if joint is None or joint.span.size]
    known = sorted((joint for joint in found if joint), key=lambda joint: joint.span)
    if len(known) < len(found) or not known or known[0].span.start or known[-1].span.end != size:
        return False
    return all(one.span.end == other.span.start and _follows(one.last, other.first) for one, other in pairwise(known))


def _follows(last: tuple[int, ...], first: tuple[int, ...]) -> bool:
    return all(before <= after for before, after in zip(last, first, strict=False))
