"""Stretches of a segment where good units and damage, or units of old and new magic, take turns.

To look at each of them by itself costs the same however small it is. Here all places in a window where a unit may start
are found, checked and read in a few steps; what is left between those that are right is told in fewer words.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from types import ModuleType

import pyarrow as pa
import pyarrow.compute as pc

from thawline import columns
from thawline.chunks import Chunk, Ranges
from thawline.formats.kafka import plain
from thawline.formats.kafka.gaps import LARGEST_OFFSET, LONGEST_CHAIN, Gaps
from thawline.formats.kafka.heads import BATCHES, LATEST_MAGIC, MESSAGES, Heads, unified
from thawline.formats.kafka.nesting import MOST_OFFSETS, Claim, Nesting, claim_at
from thawline.model import Span
from thawline.source import Source

WINDOW = 1 << 17
"""Bytes in which units may start that are looked at in one go."""
SHORT = 1 << 16
"""Longer units are checked by themselves, so that the budget for checksums is not spent on what they claim."""
MOST_SINGLE = 16
"""So many places in a row are checked one by one."""
KINDS = ((False, BATCHES), (True, MESSAGES))


Hole = tuple[Span, int, int]
"""A stretch without a unit, the last offset before it, and the first one behind it."""


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
    units: list[Claim] = field(default_factory=list)
    holes: list[Hole] = field(default_factory=list)


class _Window:
    """The places of a window where a unit may start, and those where one does."""

    def __init__(self, source: Source, gaps: Gaps, start: int, *, is_trusting: bool) -> None:
        self.source, self.gaps, self.start = source, gaps, start
        self.end = min(start + WINDOW, source.size)
        self.positions, self.sizes = _places(source, start, self.end)
        self.is_trusting = is_trusting
        self.known: dict[int, bool] = {}
        """Whether the checksum is right of units that were looked at; those inside of good ones are not."""

    def refuse(self, places: set[int]) -> None:
        """Take note of units that break a rule although their checksums are right."""
        self.known.update(dict.fromkeys(places, False))
        self.is_trusting = False

    def _is_right(self, claim: Claim) -> bool:
        if claim.start not in self.known:
            index = bisect_left(self.positions, claim.start)
            is_place = index < len(self.positions) and self.positions[index] == claim.start
            checksums = self.gaps.checksums
            self.known[claim.start] = (
                is_place and checksums.of_unit(claim.start, claim.end, is_legacy=claim.is_legacy) == claim.checksum
            )
        return self.known[claim.start]

    def chosen(self, floor: int) -> _Chosen:
        """Units one behind the other, from gap to gap."""
        found = _Chosen(self.start)
        while found.end < self.end:
            claim = claim_at(self.source, found.end)
            if claim and claim.end <= self.source.size and (self.is_trusting or self._is_right(claim)):
                found.units.append(claim)
                found.end, floor = claim.end, claim.offset
                continue
            spans = self._hole(found.end, floor)
            if not spans:
                break
            behind = claim_at(self.source, spans[-1].end)
            found.holes += [(span, floor, behind.offset if behind else floor) for span in spans]
            found.end = spans[-1].end
        return found

    def _hole(self, start: int, floor: int) -> list[Span]:
        """What stands before the next unit; nothing if that is not in the window."""
        if chain := self._chain(start, floor):
            return chain
        nesting = Nesting(self.source, self.gaps.checksums, start, floor)
        index = bisect_right(self.positions, start)
        for step, at in enumerate(range(index, len(self.positions))):
            if step == MOST_SINGLE:
                self._check(at)
            claim = self._following(self.positions[at], floor)
            if claim and self._is_right(claim) and not nesting.holds(claim.start):
                return [Span(start, claim.start)]
            nesting.broken(self.positions[at], floor)
        return []

    def _check(self, first: int) -> None:
        """Check all places from one on together: so many in a row were wrong that many more will be."""
        view = self.source.view(self.start, self.source.size)
        rest = [
            (at, size)
            for at, size in zip(self.positions[first:], self.sizes[first:], strict=True)
            if at not in self.known
        ]
        for is_long in (False, True):
            for is_legacy, _ in KINDS:
                places = [
                    (at, size)
                    for at, size in rest
                    if (size > SHORT) is is_long and (view[at - self.start + 16] < LATEST_MAGIC) is is_legacy
                ]
                right = set(self.gaps.right_of_kind(places, is_legacy=is_legacy))
                self.known.update({at: at in right for at, _ in places})

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
    finder: ModuleType = columns.native() or plain
    view = source.view(0, source.size)
    positions, sizes = array("q", bytes(8 * (end - start))), array("q", bytes(8 * (end - start)))
    count, _ = finder.find_units(view, start, end, array("q", (0, LARGEST_OFFSET)), positions, sizes)
    return positions[:count], sizes[:count]


def _read(source: Source, units: list[Claim]) -> tuple[Heads | None, set[int]]:
    """The heads of units, and where those start that break a rule."""
    read: list[pa.RecordBatch] = []
    refused: set[int] = set()
    for is_legacy, table in KINDS:
        chosen = [unit for unit in units if unit.is_legacy is is_legacy]
        if not chosen:
            continue
        first = chosen[0].start
        ranges = Ranges.of([(unit.start - first, unit.end - first, 1) for unit in chosen])
        for item in columns.scan(table, source.view(first, chosen[-1].end), ranges, checksums=False):
            if isinstance(item, Chunk):
                read.append(unified(item.moved(first), table))
            else:
                refused.add(chosen[item.range_index].start)
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
