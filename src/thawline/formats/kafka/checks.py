"""Checks of units by their heads: the checksum, and what the checksum does not cover."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from thawline import checksums, native
from thawline.formats.kafka import numbers
from thawline.formats.kafka.heads import Heads
from thawline.model import Span
from thawline.source import Source

BUDGET, BUDGET_OF_STREAMS = 32, 4
"""How many times the file's size may go into checksums one by one. A hostile file claims units that overlap; behind the
budget checksums of magic 2 are taken from checkpoints, and those of older messages count as wrong. The second is for
the search for the end of compressed streams."""
CHECKPOINT = 128
COVERED_FROM = {False: 21, True: 16}
"""Where the bytes begin that the checksum covers, of magic 2 and before; they end with the unit."""
FEWEST = 3
"""Units that must agree about the order of offsets before one that does not is called wrong."""


class Checksums:
    """Whether the checksums of units are right, at a cost that stays linear whatever the file claims."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.budget, self.streams = BUDGET * source.size, BUDGET_OF_STREAMS * source.size
        """Bytes that may still go into checksums one by one, and into the search for the end of streams."""
        self.states = array("I")

    @property
    def is_spent(self) -> bool:
        """Whether checksums of old messages are no longer looked at."""
        return self.budget < 0

    def right(self, heads: Heads) -> pa.BooleanArray:
        """Whether each unit's checksum is right."""
        starts = heads.rows["position"]
        ends = pc.add(starts, heads.rows["size"])
        return pc.equal(heads.rows["crc"], self.of_units(starts, ends, is_legacy=heads.is_legacy))

    def of_units(self, starts: pa.Int64Array, ends: pa.Int64Array, *, is_legacy: bool) -> pa.Int64Array:
        """The checksum of each unit, computed; -1 where the budget is spent and there are no checkpoints."""
        covered = pc.add(starts, COVERED_FROM[is_legacy])
        self.budget -= pc.sum(pc.subtract(ends, covered)).as_py()
        if not self.is_spent:
            return numbers.column(self._one_by_one(covered, ends, is_legacy=is_legacy))
        if is_legacy or not self.source.is_local:
            return pa.repeat(pa.scalar(-1, pa.int64()), len(starts))
        return numbers.column(self._from_checkpoints(numbers.copied(covered), numbers.copied(ends)))

    def of_unit(self, start: int, end: int, *, is_legacy: bool) -> int:
        """The checksum of one unit; -1 where the budget is spent and there are no checkpoints."""
        covered = start + COVERED_FROM[is_legacy]
        self.budget -= end - covered
        if not self.is_spent:
            compute = checksums.crc32 if is_legacy else checksums.crc32c
            return compute(self.source.view(covered, end), 0, end - covered)
        if is_legacy or not self.source.is_local:
            return -1
        return self._from_checkpoints(array("q", [covered]), array("q", [end]))[0]

    def _one_by_one(self, starts: pa.Int64Array, ends: pa.Int64Array, *, is_legacy: bool) -> array[int]:
        base, last = starts[0].as_py(), pc.max(ends).as_py()
        view = self.source.view(base, last)
        spans = numbers.copied(pc.subtract(starts, base)), numbers.copied(pc.subtract(ends, base))
        made = array("q", bytes(8 * len(starts)))
        compute = native.functions.crc32_ranges if is_legacy else native.functions.crc32c_ranges
        compute(view, *spans, len(starts), made)
        return made

    def _from_checkpoints(self, starts: array[int], ends: array[int]) -> array[int]:
        whole = self.source.view(0, self.source.size)
        if not self.states:
            self.states = array("I", bytes(4 * (len(whole) // CHECKPOINT + 1)))
            native.functions.crc32c_checkpoints(whole, CHECKPOINT, self.states)
        made = array("q", bytes(8 * len(starts)))
        native.functions.crc32c_spans(whole, starts, ends, len(starts), self.states, CHECKPOINT, made)
        return made


@dataclass(frozen=True, slots=True)
class Disorder:
    """What is wrong with the offsets of units: single ones that stand out, or a place where they start again."""

    outliers: tuple[int, ...] = ()
    restarts: tuple[int, ...] = ()


def disorder(heads: Heads, floor: int, ceiling: int | None) -> Disorder:
    """Units whose offsets do not rise, by their number.

    No checksum covers a batch's base offset, so where it is damaged the records come out with offsets that they never
    had. Which of two units is wrong, only the others tell: the longest series of rising offsets is right. `floor` is
    the last offset before these units, `ceiling` the first one behind them. Where what stands out is more than a
    single unit between others, the offsets simply start again, as in files that were put together by hand; so they do
    where the last unit of a file has a lower leader epoch, too: damage to one field does not explain both.
    """
    last = heads.rows["last_offset"]
    first = pc.coalesce(heads.rows["base_offset"], last)
    if _rises(first, last, floor, ceiling):
        return Disorder()
    firsts, lasts = [floor, *first.to_pylist()], [floor, *last.to_pylist()]
    if ceiling is not None:
        firsts.append(ceiling)
        lasts.append(ceiling)
    kept = set(_joined(firsts, lasts, rising(firsts, lasts)))
    wrong = [index - 1 for index in range(1, len(heads) + 1) if index not in kept]
    near = set(wrong)
    single = [index for index in wrong if not {index - 1, index + 1} & near]
    if len(kept) < FEWEST or len(single) < len(wrong) or (ceiling is None and _is_another_log(heads, single)):
        falls = [index - 1 for index in range(1, len(heads) + 1) if firsts[index] <= lasts[index - 1]]
        return Disorder(restarts=tuple(falls))
    return Disorder(outliers=tuple(single))


def _is_another_log(heads: Heads, outliers: list[int]) -> bool:
    """Whether the last unit is from another log than those before it, as its leader epoch says."""
    last = len(heads) - 1
    epochs = heads.rows["leader_epoch"]
    return last in outliers and last > 0 and bool(0 <= epochs[last].as_py() < epochs[last - 1].as_py())


def _rises(first: pa.Int64Array, last: pa.Int64Array, floor: int, ceiling: int | None) -> bool:
    if first[0].as_py() <= floor or (ceiling is not None and last[-1].as_py() >= ceiling):
        return False
    if pc.any(pc.less(last, first)).as_py():
        return False
    rows = len(first) - 1
    return rows == 0 or bool(pc.all(pc.greater(first.slice(1), last.slice(0, rows))).as_py())


def _joined(firsts: Sequence[int], lasts: Sequence[int], kept: list[int]) -> list[int]:
    """The choice, but of two neighbours of which only one can stay the one that leaves the fewer gaps unexplained.

    In most logs each batch starts where the one before it ends; gaps are what compaction leaves, and what is exactly
    as long as the batch that does not fit is the place where that one belongs.
    """
    for place, at in enumerate(kept):
        before = lasts[kept[place - 1]] if place else None
        behind = firsts[kept[place + 1]] if place + 1 < len(kept) else None
        chosen = {*kept[max(place - 1, 0) : place + 2]}
        for other in (index for index in (at - 1, at + 1) if 0 <= index < len(firsts) and index not in chosen):
            spans = [Span(firsts[index], lasts[index] + 1) for index in (at, other)]
            if _score(spans[1], spans[0], before, behind) > _score(spans[0], spans[1], before, behind):
                kept[place] = other
    return kept


def _score(kept: Span, dropped: Span, before: int | None, behind: int | None) -> int:
    """How well offsets fit between the last one before them and the first one behind them; -1 if they cannot."""
    gap_before = kept.start - before - 1 if before is not None else None
    gap_behind = behind - kept.end if behind is not None else None
    if kept.size <= 0 or min(gap_before or 0, gap_behind or 0) < 0:
        return -1
    gaps = (gap_before, gap_behind)
    return gaps.count(0) + 2 * (dropped.size > 0) * gaps.count(dropped.size)


def rising(firsts: Sequence[int], lasts: Sequence[int]) -> list[int]:
    """The longest choice of spans of which each starts behind the end of the one before it, by their numbers.

    >>> rising([0, 900, 6, 11], [5, 905, 10, 15])
    [0, 2, 3]
    """
    ends: list[int] = []  # the least end of a series of each length
    series: list[int] = []  # the span that has it
    before: list[int] = []
    for index, (first, last) in enumerate(zip(firsts, lasts, strict=True)):
        length = bisect_left(ends, first)
        before.append(series[length - 1] if length else -1)
        if last < first:
            continue
        if length == len(ends):
            ends.append(last)
            series.append(index)
        elif last < ends[length]:
            ends[length], series[length] = last, index
    found, at = [], series[-1] if series else -1
    while at >= 0:
        found.append(at)
        at = before[at]
    return found[::-1]
