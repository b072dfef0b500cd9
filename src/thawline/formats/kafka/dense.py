"""Stretches of a segment where good units and damage, or units of old and new magic, take turns.

To look at each of them by itself costs the same however small it is. Here all places in a window where a unit may start
are found, checked and read in a few steps; what is left between those that are right is told in fewer words.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

import pyarrow as pa
import pyarrow.compute as pc

from thawline import native
from thawline.engine import columns
from thawline.engine.chunks import Chunk, Ranges
from thawline.formats.kafka.gaps import LARGEST_OFFSET, LONGEST_CHAIN, Gaps
from thawline.formats.kafka.heads import BATCHES, LATEST_MAGIC, MAGIC_AT, MESSAGES, Heads, unified
from thawline.formats.kafka.nesting import MOST_OFFSETS, Claim, Nesting, claim_at
from thawline.model import Span
from thawline.source import Source

WINDOW = 1 << 17
"""Bytes in which units may start that are looked at in one go."""
SHORT = 1 << 16
"""Longer units are checked by themselves, so that the budget for checksums is not spent on what they claim."""
MOST_SINGLE = 16
"""So many places in a row are checked one by one."""
LEAST_SIZE = 26
"""Bytes of the smallest unit, broken or not."""
WRONG, RIGHT = 1, 2
KINDS = ((False, BATCHES), (True, MESSAGES))


Hole = tuple[Span, int, int]
"""A stretch without a unit, the last offset before it, and the first one behind it."""
Unit = tuple[int, int]
"""Start and end."""


@dataclass(slots=True)
class Found:
    """Units of a window, what is between them, and where the next window starts."""

    end: int
    heads: Heads | None = None
    holes: list[Hole] = field(default_factory=list)


def look(source: Source, gaps: Gaps, start: int, floor: int, *, is_trusting: bool) -> Found:
    """Units and gaps from a position on, as far as a window tells; nothing where that is not even one unit.

    With `is_trusting`, units right behind a good one are believed without a look at their bytes.
    """
    window = _Window(source, gaps, start, is_trusting=is_trusting)
    while True:
        chosen = window.chosen(floor)
        heads, refused = _read(source, chosen.units)
        if not refused:
            return Found(chosen.end, heads, chosen.holes)
        window.refuse(refused)


@dataclass(slots=True)
class _Chosen:
    end: int
    floor: int
    """The last offset."""
    units: list[Unit] = field(default_factory=list)
    holes: list[Hole] = field(default_factory=list)

    def add(self, claim: Claim) -> None:
        """Take the unit at the end."""
        self.units.append((claim.start, claim.end))
        self.end, self.floor = claim.end, claim.offset


class _Window:
    """The places of a window where a unit may start, and those where one does."""

    def __init__(self, source: Source, gaps: Gaps, start: int, *, is_trusting: bool) -> None:
        self.source, self.gaps, self.start = source, gaps, start
        self.end = min(start + WINDOW, source.size)
        self.is_trusting = is_trusting
        self.known = bytearray(self.end - start)
        """By their distance from the start, which units were found to be intact and which not."""

    @cached_property
    def places(self) -> tuple[array[int], array[int]]:
        """Where units may start, and their sizes."""
        return _places(self.source, self.start, self.end)

    def refuse(self, places: set[int]) -> None:
        """Take note of units that break a rule although their checksums are right."""
        for place in places:
            self.known[place - self.start] = WRONG
        self.is_trusting = False

    def _is_right(self, claim: Claim) -> bool:
        at = claim.start - self.start
        if not self.known[at]:
            positions, _ = self.places
            index = bisect_left(positions, claim.start)
            is_place = index < len(positions) and positions[index] == claim.start
            computed = self.gaps.checksums.of_unit if is_place else _no_checksum
            is_right = computed(claim.start, claim.end, is_legacy=claim.is_legacy) == claim.checksum
            self.known[at] = RIGHT if is_right else WRONG
        return self.known[at] == RIGHT

    def chosen(self, floor: int) -> _Chosen:
        """Units one behind the other, from gap to gap."""
        found = _Chosen(self.start, floor)
        while found.end < self.end:
            self._follow(found)
            if found.end >= self.end:
                break
            claim = claim_at(self.source, found.end)
            if claim and claim.end <= self.source.size and (self.is_trusting or self._is_right(claim)):
                found.add(claim)
                continue
            spans = self._hole(found.end, found.floor)
            if not spans:
                break
            behind = claim_at(self.source, spans[-1].end)
            found.holes += [(span, found.floor, behind.offset if behind else found.floor) for span in spans]
            found.end = spans[-1].end
        return found

    def _follow(self, found: _Chosen) -> None:
        """Go on as far as plain cases lead, all of them in one step."""
        checksums = self.gaps.checksums
        if not native.is_compiled or checksums.is_spent:
            return
        state = array("q", (found.end, min(found.floor, LARGEST_OFFSET), checksums.budget, 0, 0))
        window, limits = array("q", (self.start, self.end)), array("q", (MOST_OFFSETS, LONGEST_CHAIN))
        units, holes = self.room
        view = self.source.view(0, self.source.size)
        native.functions.follow_units(view, window, limits, self.is_trusting, state, self.known, units, holes)
        found.end, floor, checksums.budget, unit_count, hole_count = state
        found.floor = floor if unit_count else found.floor
        found.units += zip(*(units[index : 2 * unit_count : 2] for index in range(2)), strict=True)
        columns_ = (holes[index : 4 * hole_count : 4] for index in range(4))
        found.holes += [(Span(start, end), *offsets) for start, end, *offsets in zip(*columns_, strict=True)]

    @cached_property
    def room(self) -> tuple[array[int], array[int]]:
        """For units and gaps that are followed in one step."""
        most = (self.end - self.start) // LEAST_SIZE + 2
        return array("q", bytes(16 * most)), array("q", bytes(32 * most))

    def _hole(self, start: int, floor: int) -> list[Span]:
        """What stands before the next unit; nothing if that is not in the window."""
        if chain := self._chain(start, floor):
            return chain
        nesting = Nesting(self.source, self.gaps.checksums, start, floor)
        positions, _ = self.places
        index = bisect_right(positions, start)
        for step, at in enumerate(range(index, len(positions))):
            if step == MOST_SINGLE:
                self._check(at)
            claim = self._following(positions[at], floor)
            if claim and self._is_right(claim) and not nesting.holds(claim.start):
                return [Span(start, claim.start)]
            nesting.broken(positions[at], floor)
        return []

    def _check(self, first: int) -> None:
        """Check all places from one on together: so many in a row were wrong that many more will be."""
        view = self.source.view(self.start, self.source.size)
        pairs = zip(*(values[first:] for values in self.places), strict=True)
        rest = [(at, size) for at, size in pairs if not self.known[at - self.start]]
        for is_long in (False, True):
            for is_legacy, _ in KINDS:
                places = [
                    (at, size)
                    for at, size in rest
                    if (size > SHORT) is is_long and (view[at - self.start + 16] < LATEST_MAGIC) is is_legacy
                ]
                right = set(self.gaps.right_of_kind(places, is_legacy=is_legacy))
                for at, _ in places:
                    self.known[at - self.start] = RIGHT if at in right else WRONG

    def _chain(self, start: int, floor: int) -> list[Span]:
        """Broken units one behind the other as their lengths say, if that leads to one that is not."""
        spans: list[Span] = []
        while len(spans) < LONGEST_CHAIN and start < self.end:
            size = self.gaps.claimed(start)
            if not size or start + size >= self.end:
                return []
            spans.append(Span(start, start + size))
            start += size
            if (claim := self._following(start, floor)) and self._is_right(claim):
                return spans
        return []

    def _following(self, position: int, floor: int) -> Claim | None:
        """The unit that may be at a position, if its offset is behind those before it."""
        claim = claim_at(self.source, position)
        return claim if claim and floor < claim.offset <= min(floor + MOST_OFFSETS, LARGEST_OFFSET) else None


def _places(source: Source, start: int, end: int) -> tuple[array[int], array[int]]:
    """Where units may start in a window, and their sizes."""
    view = source.view(0, source.size)
    positions, sizes = array("q", bytes(8 * (end - start))), array("q", bytes(8 * (end - start)))
    count, _ = native.functions.find_units(view, start, end, array("q", (0, LARGEST_OFFSET)), positions, sizes)
    return positions[:count], sizes[:count]


def _no_checksum(_start: int, _end: int, *, is_legacy: bool) -> int:  # noqa: ARG001 - as of a unit
    """What the checksum of a place is where no unit can start."""
    return -1


def _read(source: Source, units: list[Unit]) -> tuple[Heads | None, set[int]]:
    """The heads of units, and where those start that break a rule."""
    read: list[pa.RecordBatch] = []
    refused: set[int] = set()
    view = source.view(0, source.size)
    for is_legacy, table in KINDS:
        chosen = [unit for unit in units if (view[unit[0] + MAGIC_AT] < LATEST_MAGIC) is is_legacy]
        if not chosen:
            continue
        first, end = chosen[0][0], chosen[-1][1]
        ranges = Ranges.of([(start - first, end - first, 1) for start, end in chosen])
        for item in columns.scan(table, view[first:end], ranges, checksums=False):
            if isinstance(item, Chunk):
                read.append(unified(item.moved(first), table))
            else:
                refused.add(chosen[item.range_index][0])
    if not read or refused:
        return None, refused
    rows = pa.Table.from_batches(read).combine_chunks()
    if len(read) > 1:
        rows = rows.take(pc.sort_indices(rows["position"])).combine_chunks()
    return Heads(rows.to_batches()[0]), refused


def kinds(heads: Heads) -> Iterator[Heads]:
    """The same units by how they are read, each kind by itself: old or new, compressed or not."""
    rows = heads.rows
    is_legacy, is_plain = pc.less(rows["magic"], LATEST_MAGIC), pc.equal(rows["compression"], "none")
    if pc.sum(is_legacy).as_py() in {0, len(heads)} and pc.sum(is_plain).as_py() in {0, len(heads)}:
        yield heads  # almost always, and then nothing is copied
        return
    for legacy in (is_legacy, pc.invert(is_legacy)):
        for plain_ in (is_plain, pc.invert(is_plain)):
            chosen = rows.filter(pc.and_(legacy, plain_))
            if chosen.num_rows:
                yield Heads(chosen)
