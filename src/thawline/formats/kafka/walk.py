"""A segment as stretches of intact units and findings about the rest, by heads and checksums. Payloads stay closed."""

from __future__ import annotations

import heapq
import re
from bisect import bisect_left
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import PurePath
from typing import Any, TypeVar

import pyarrow as pa
import pyarrow.compute as pc

from thawline.engine import columns
from thawline.engine.chunks import Break, Chunk
from thawline.errors import SourceError
from thawline.formats.kafka.findings import (
    BAD_OFFSET,
    EPOCH_FALLS,
    OFFSETS_RESTART,
    PREALLOCATED,
    SUSPECTS,
    Explanations,
    damage,
)
from thawline.formats.kafka.resync import Doubts, Search, search_window
from thawline.formats.kafka.units import LARGEST_OFFSET, Checksums, Heads, head_at, heads_from, offset_at
from thawline.model import Finding, Run, Span
from thawline.source import Source, open_beside
from thawline.wording import counted, numbered

RELEASE_BYTES = 32 << 20
"""Release mapped pages in steps of this size; madvise is slow on large mappings."""
MOST_TURNS = 8
"""After more short stretches than this in a row, a whole window is searched in one go."""
SEGMENT_NAME = re.compile(r"(\d{20})(?:-\d{10})?\.(?:log|checkpoint)(?:\.deleted|\.swap|\.cleaned)?", re.ASCII)

Item = TypeVar("Item")
Look = Callable[[Heads], pa.BooleanArray | None]
"""Chooses the units whose checksums are verified; None means all of them."""


def everywhere(_heads: Heads) -> None:
    """Verify every unit."""


def nowhere(heads: Heads) -> pa.BooleanArray:
    """Look at heads only."""
    return pa.repeat(pa.scalar(False), len(heads))  # noqa: FBT003 - a value, not a flag


def beyond(start: int) -> Look:
    """Verify the units from a position on: those before it are known to be intact."""
    return lambda heads: None if heads.start >= start else pc.greater_equal(heads.rows["position"], start)


def named_offset(source: Source) -> int | None:
    """The offset in the name of a segment; None if it has another name, or a number that no record can have."""
    found = SEGMENT_NAME.fullmatch(PurePath(source.name).name)
    return int(found[1]) if found and int(found[1]) <= LARGEST_OFFSET else None


def first_offset(source: Source) -> int:
    """The offset that a segment is named after; 0 if it has another name."""
    return (named_offset(source) or 0) if ".log" in source.name else 0


@dataclass(frozen=True, slots=True)
class Stretch:
    """Intact units, perhaps with holes between them, and the findings about these holes and what is around them."""

    heads: Heads | None
    findings: tuple[Finding, ...] = ()

    @property
    def start(self) -> int:
        """Where it starts."""
        starts = [finding.span.start for finding in self.findings]
        return min(starts + ([self.heads.start] if self.heads else []))

    def items(self) -> Iterator[Heads | Finding]:
        """All of it in file order, the units of each run by themselves."""
        return in_order(self.heads.pieces() if self.heads else (), self.findings)

    def after(self, start: int) -> Stretch:
        """What of it is after intact units that end at a position."""
        heads = self.heads
        if heads is None or heads.start >= start:
            return self
        first = bisect_left(heads.positions, start)
        return Stretch(heads.slice(first, len(heads)) if first < len(heads) else None, self.findings)


def in_order(parts: Iterable[Item], findings: Sequence[Finding]) -> Iterator[Item | Finding]:
    """What became of the units of a stretch, and its findings, in file order."""
    if not findings:
        yield from parts
        return
    both: list[Iterable[Any]] = [parts, findings]
    yield from heapq.merge(*both, key=_place)


def together(parts: Iterable[Iterator[Item]]) -> Iterator[Item]:
    """What became of several kinds of units of a stretch, in file order."""
    return heapq.merge(*parts, key=_place)


def _place(item: Any) -> tuple[int, int]:
    """Where an item belongs: a finding at the end of a unit comes before the unit that starts there."""
    span: Span = (item if isinstance(item, Finding | Run | Heads) else item[0]).span
    return span.start, span.end


def explained(source: Source, start: int = 0) -> Iterator[Stretch]:
    """The stretches of a whole segment, all verified. The first damage says what a broker would lose.

    Units before `start` are known to be intact.
    """
    walk, is_told = Walk(source, beyond(start) if start else everywhere, first_offset=first_offset(source)), False
    for stretch in walk.stretches():
        index = -1 if is_told else _first_damage(stretch)
        if index < 0:
            yield stretch
            continue
        found, is_told = list(stretch.findings), True
        end = found[index if stretch.heads else -1].span.end
        detail = {**found[index].detail, **_lost_by_broker(source, walk.floor, end)}
        found[index] = replace(found[index], detail=detail)
        yield Stretch(stretch.heads, tuple(found))


def _first_damage(stretch: Stretch) -> int:
    found = (index for index, item in enumerate(stretch.findings) if item.severity == "error")
    return next((index for index in found if stretch.findings[index].code is not BAD_OFFSET), -1)


def _lost_by_broker(source: Source, floor: int, start: int) -> dict[str, object]:
    """What a broker would lose besides: everything after the first damage, intact or not."""
    batches = 0
    first: int | None = None
    last: int | None = None
    for stretch in Walk(source, first_offset=floor + 1, is_silent=True).stretches(start):
        if heads := stretch.heads:
            batches += len(heads)
            first = heads.rows["base_offset"][0].as_py() if first is None else first
            last = heads.rows["last_offset"][-1].as_py()
    if last is None:
        return {}
    spared = f"{counted(batches, 'intact batch')}, {numbered('offset', last if first is None else first, last)}"
    return {"broker": f"would truncate here and lose {spared}"}


class Walk:
    """One pass over a segment."""

    def __init__(
        self, source: Source, look: Look = everywhere, *, first_offset: int = 0, is_silent: bool = False
    ) -> None:
        self.source, self.look, self.is_silent = source, look, is_silent
        """With `is_silent`, many gaps in a row are passed over without findings."""
        self.checksums = Checksums(source)
        self.search, self.explanations = Search(self.checksums), Explanations(self.checksums)
        self.doubts = Doubts(self.checksums)
        self.floor = first_offset - 1
        """The last offset so far."""
        self.epoch = -1
        """That of the last batch that has one."""
        self.turns = 0
        """Short stretches of units in a row."""

    def items(self, start: int = 0) -> Iterator[Heads | Finding]:
        """Intact units and findings from a position to the end of the file; their spans tile that."""
        for stretch in self.stretches(start):
            yield from stretch.items()

    def stretches(self, start: int = 0) -> Iterator[Stretch]:
        """The same, with units together that have holes between them: each step has a fixed cost."""
        position = released = start
        while position < self.source.size:
            if self.takes_turns and self.source.is_local:
                position = yield from self._windows(position)
                if position == self.source.size:
                    return
            for item in heads_from(self.source, position):
                if isinstance(item, Break):
                    self.turns += 1
                    position = yield from self._gap(item.start)
                    break
                self.turns = 0 if len(item) >= columns.FIRST_ROWS else self.turns + 1
                position = yield from self._verified(item)
                if self.takes_turns:
                    break
                if position - released >= RELEASE_BYTES:
                    self.source.release(position)
                    released = position
                if position != item.end:
                    break

    @property
    def takes_turns(self) -> bool:
        """Whether short stretches of units take turns, so that whole windows are searched."""
        return self.turns > MOST_TURNS

    def _windows(self, position: int) -> Generator[Stretch, None, int]:
        """Units and gaps that take turns; returns where that ends."""
        is_first = True
        while self.takes_turns or is_first:
            is_first = False
            found = search_window(self.search, position, self.floor, is_trusting=self.look is nowhere)
            is_mixed = len(found.holes) > MOST_TURNS or _takes_turns(found.heads)
            self.turns = MOST_TURNS + 1 if is_mixed else 0
            self.doubts.damage += [span for span, _, _ in found.holes]
            stretches = list(self._ordered(found.heads, is_last=True)) if found.heads else []
            yield from _merged(stretches, [] if self.is_silent else self.explanations.of_many(found.holes))
            if found.end == position:
                self.turns = 0
            position = found.end
        return position

    def _verified(self, heads: Heads) -> Generator[Stretch, None, int]:
        """Units whose checksums are right, and findings for the others; returns where that ends."""
        row = 0
        for bad in self._bad_rows(heads):
            if bad < row:
                continue
            positions = heads.positions
            yield from self._ordered(heads.slice(row, bad))
            self.turns = self.turns + 1 if bad - row < columns.FIRST_ROWS else 0
            if self.takes_turns and self.source.is_local:
                return positions[bad]
            end = yield from self._gap(positions[bad])
            row = bisect_left(positions, end)
            if row == len(heads) or positions[row] != end:
                return end
        yield from self._ordered(heads.slice(row, len(heads)))
        return heads.end

    def _bad_rows(self, heads: Heads) -> list[int]:
        chosen = self.look(heads)
        if chosen is None:
            right = self.checksums.right(heads)
        elif pc.any(chosen).as_py():
            found = iter(self.checksums.right(Heads(heads.rows.filter(chosen))).to_pylist())
            right = pa.array([next(found) if is_chosen else True for is_chosen in chosen.to_pylist()])
        else:
            return []
        bad: list[int] = pc.indices_nonzero(pc.invert(right)).to_pylist()
        if bad:
            self.search.intact = frozenset(heads.rows["position"].filter(right).to_pylist())
        return bad

    def _gap(self, start: int) -> Generator[Stretch, None, int]:
        """What stands where no intact unit starts; returns where the next one does."""
        size = self.source.size
        if self.search.is_zero(start):
            yield Stretch(None, (Finding(PREALLOCATED, Span(start, size), {"size": size - start}),))
            return size
        spans = self.search.damaged(start, self.floor)
        end = spans[-1].end
        following = offset_at(self.search.source, end)
        self.doubts.damage.append(spans[-1])
        told = (self.explanations.of(span, self.floor, following, is_last=span is spans[-1]) for span in spans)
        yield Stretch(None, tuple(told))
        return end

    def _ordered(self, heads: Heads, *, is_last: bool = False) -> Iterator[Stretch]:
        """The units without those whose offset cannot be right, and remarks about what no checksum covers.

        With `is_last`, the offset after them is not known.
        """
        if not len(heads):
            return
        heads = self.doubts.marked(heads)
        found = disorder(heads, self.floor, None if is_last else offset_at(self.source, heads.end))
        remarks = [*_restarts(heads, found.restarts), *self._falling_epochs(heads), *_suspects(heads)]
        row = 0
        for at, remark in [*sorted(remarks, key=lambda item: item[0]), (len(heads), None)]:
            outliers = found.outliers[bisect_left(found.outliers, row) : bisect_left(found.outliers, at)]
            yield from self._without(heads, row, at, outliers)
            row = at
            if remark:
                yield Stretch(None, (remark,))
        if len(found.outliers) < len(heads):
            lasts = heads.rows["last_offset"]
            kept = lasts.filter(_mask(len(heads), found.outliers)) if found.outliers else lasts.slice(len(heads) - 1)
            self.floor = pc.max(kept).as_py()

    def _without(self, heads: Heads, first: int, end: int, outliers: Sequence[int]) -> Iterator[Stretch]:
        """Some rows without outliers, which are findings."""
        if first == end:
            return
        kept = heads.slice(first, end)
        if not outliers:
            yield Stretch(kept)
            return
        rows = kept.rows.filter(_mask(end - first, [row - first for row in outliers]))
        lasts = heads.rows["last_offset"]
        befores: list[int] = []
        for row, before in zip(outliers, (-1, *outliers), strict=False):
            follows = bool(befores) and before == row - 1
            befores.append(befores[-1] if follows else lasts[row - 1].as_py() if row else self.floor)
        wrong = Heads(heads.rows.take(pa.array(outliers, pa.int64())))
        yield Stretch(Heads(rows) if rows.num_rows else None, tuple(self._bad_offsets(wrong, befores)))

    def _bad_offsets(self, heads: Heads, befores: list[int]) -> Iterator[Finding]:
        """Findings about units whose offset does not fit."""
        counts = (heads.rows[name].to_pylist() for name in ("base_offset", "last_offset", "num_records"))
        for span, base, last, count, before in zip(heads.spans(), *counts, befores, strict=True):
            lost = "1 compressed message set" if count is None else f"1 batch of {counted(count, 'record')}"
            offset = {"offset": last} if base is None else {"base_offset": base}
            detail = {**offset, "last_offset_before": before, "lost": lost}
            yield damage(self.search.source, BAD_OFFSET, span, detail)

    def _falling_epochs(self, heads: Heads) -> Iterator[tuple[int, Finding]]:
        """One remark about places where the epoch is below that of the batch before; some batches have none."""
        epochs, rows = heads.rows["leader_epoch"], len(heads) - 1
        before, self.epoch = self.epoch, epochs[-1].as_py()
        never_falls = pc.all(pc.greater_equal(epochs.slice(1), epochs.slice(0, rows))).as_py()
        if epochs[0].as_py() >= before and never_falls:
            return
        falls = []
        for row, epoch in enumerate(epochs.to_pylist()):
            if 0 <= epoch < before:
                falls.append(row)
            before = epoch if epoch >= 0 else before
        self.epoch = before
        if falls:
            at = heads.positions[falls[0]]
            detail = {"at": at, "leader_epoch": epochs[falls[0]].as_py(), "places": len(falls)}
            yield falls[0], Finding(EPOCH_FALLS, Span(at, at), detail)


def _merged(stretches: list[Stretch], findings: list[Finding]) -> Iterator[Stretch]:
    """Stretches with the findings about holes in them and between them."""
    starts = [finding.span.start for finding in findings]
    first = 0
    for index, stretch in enumerate(stretches):
        is_last = index == len(stretches) - 1
        end = len(findings) if is_last else bisect_left(starts, stretches[index + 1].start)
        own = (*stretch.findings, *findings[first:end])
        yield Stretch(stretch.heads, tuple(sorted(own, key=lambda finding: finding.span)))
        first = end
    if not stretches and findings:
        yield Stretch(None, tuple(findings))


def _takes_turns(heads: Heads | None) -> bool:
    """Whether units of old and new magic take turns."""
    if heads is None or len(heads) == 1:
        return False
    magics, rows = heads.rows["magic"], len(heads) - 1
    return (pc.sum(pc.not_equal(magics.slice(1), magics.slice(0, rows))).as_py() or 0) > MOST_TURNS


def _mask(rows: int, left_out: Sequence[int]) -> pa.BooleanArray:
    kept = bytearray(b"\1" * rows)
    for row in left_out:
        kept[row] = 0
    return pa.array(kept, pa.uint8()).cast(pa.bool_())


# What no checksum covers: the order of offsets.

FEWEST = 3
"""Units that must agree about the order of offsets before one that does not is called wrong."""


@dataclass(frozen=True, slots=True)
class Disorder:
    """Rows whose offsets are wrong: single ones that stand out, or places where offsets start again."""

    outliers: tuple[int, ...] = ()
    restarts: tuple[int, ...] = ()


def disorder(heads: Heads, floor: int, ceiling: int | None) -> Disorder:
    """Units whose offsets do not rise.

    No checksum covers the base offset of a batch. Where it is damaged, records would get offsets that they never had.
    Which of two units is wrong, only the others tell: the longest series of rising offsets is right. `floor` is the
    last offset before these units, `ceiling` the first one after them. Where more than single units stand out, offsets
    start again, as in files that were put together by hand. So they do where the last unit of a file also has a lower
    leader epoch: damage to one field does not explain both. No log has offsets below 0, whatever is around them.
    """
    last = heads.rows["last_offset"]
    first = pc.coalesce(heads.rows["base_offset"], last)
    if _rises(first, last, floor, ceiling):
        return Disorder()
    is_possible = pc.greater_equal(pc.min_element_wise(first, last), 0)
    if not pc.all(is_possible).as_py():
        return _among_possible(heads, is_possible, floor, ceiling)
    ends = [] if ceiling is None else [ceiling]
    firsts, lasts = [floor, *first.to_pylist(), *ends], [floor, *last.to_pylist(), *ends]
    kept = set(_joined(firsts, lasts, rising(firsts, lasts)))
    wrong = [index - 1 for index in range(1, len(heads) + 1) if index not in kept]
    near = set(wrong)
    single = [index for index in wrong if not {index - 1, index + 1} & near]
    if len(kept) < FEWEST or len(single) < len(wrong) or (ceiling is None and _is_another_log(heads, single)):
        falls = [index - 1 for index in range(1, len(heads) + 1) if firsts[index] <= lasts[index - 1]]
        return Disorder(restarts=tuple(falls))
    return Disorder(outliers=tuple(single))


def _among_possible(heads: Heads, is_possible: pa.BooleanArray, floor: int, ceiling: int | None) -> Disorder:
    """The disorder of the units whose offsets are possible; all others are outliers."""
    impossible: list[int] = pc.indices_nonzero(pc.invert(is_possible)).to_pylist()
    places: list[int] = pc.indices_nonzero(is_possible).to_pylist()
    found = disorder(Heads(heads.rows.filter(is_possible)), floor, ceiling) if places else Disorder()
    outliers = sorted([*impossible, *(places[row] for row in found.outliers)])
    return Disorder(tuple(outliers), tuple(places[row] for row in found.restarts))


def _rises(first: pa.Int64Array, last: pa.Int64Array, floor: int, ceiling: int | None) -> bool:
    if first[0].as_py() <= floor or (ceiling is not None and last[-1].as_py() >= ceiling):
        return False
    if pc.any(pc.less(last, first)).as_py():
        return False
    rows = len(first) - 1
    return rows == 0 or bool(pc.all(pc.greater(first.slice(1), last.slice(0, rows))).as_py())


def _is_another_log(heads: Heads, outliers: list[int]) -> bool:
    """Whether the last unit is from another log than those before it, as its leader epoch says."""
    last = len(heads) - 1
    epochs = heads.rows["leader_epoch"]
    return last in outliers and last > 0 and bool(0 <= epochs[last].as_py() < epochs[last - 1].as_py())


def _joined(firsts: Sequence[int], lasts: Sequence[int], kept: list[int]) -> list[int]:
    """The choice, but of two neighbours of which one can stay, the one that leaves fewer gaps unexplained.

    In most logs each batch starts where the one before it ends; compaction leaves gaps. A gap exactly as long as the
    batch that does not fit is the place where that batch belongs.
    """
    for place, at in enumerate(kept):
        before = lasts[kept[place - 1]] if place else None
        after = firsts[kept[place + 1]] if place + 1 < len(kept) else None
        chosen = {*kept[max(place - 1, 0) : place + 2]}
        for other in (index for index in (at - 1, at + 1) if 0 <= index < len(firsts) and index not in chosen):
            spans = [Span(firsts[index], lasts[index] + 1) for index in (at, other)]
            if _score(spans[1], spans[0], before, after) > _score(spans[0], spans[1], before, after):
                kept[place] = other
    return kept


def _score(kept: Span, dropped: Span, before: int | None, after: int | None) -> int:
    """How well offsets fit between the last one before them and the first one after them; -1 if they cannot."""
    gap_before = kept.start - before - 1 if before is not None else None
    gap_after = after - kept.end if after is not None else None
    if kept.size <= 0 or min(gap_before or 0, gap_after or 0) < 0:
        return -1
    gaps = (gap_before, gap_after)
    return gaps.count(0) + 2 * (dropped.size > 0) * gaps.count(dropped.size)


def rising(firsts: Sequence[int], lasts: Sequence[int]) -> list[int]:
    """The longest choice of ranges of which each starts after the end of the one before it, by index.

    >>> rising([0, 900, 6, 11], [5, 905, 10, 15])
    [0, 2, 3]
    """
    ends: list[int] = []  # the least end of a series of each length
    series: list[int] = []  # the range that has it
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


def _restarts(heads: Heads, rows: tuple[int, ...]) -> Iterator[tuple[int, Finding]]:
    """One remark about the places where offsets start again."""
    if rows:
        at, offset = heads.positions[rows[0]], heads.rows["last_offset"][rows[0]].as_py()
        yield rows[0], Finding(OFFSETS_RESTART, Span(at, at), {"at": at, "offset": offset, "places": len(rows)})


def _suspects(heads: Heads) -> Iterator[tuple[int, Finding]]:
    """One remark about units that are suspect."""
    if count := heads.rows["is_suspect"].true_count:
        row = pc.index(heads.rows["is_suspect"], True).as_py()
        at, offset = heads.positions[row], heads.rows["last_offset"][row].as_py()
        yield row, Finding(SUSPECTS, Span(at, at), {"at": at, "offset": offset, "messages": count})


# Where a walk may start.

LARGEST_INDEX = 64 << 20
"""Kafka's largest is 10 MiB; a larger file is not Kafka's."""


def find_start(source: Source, offset: int | None, since: int | None) -> Heads | None:
    """The last batch that an index names before an offset and a time; None where no index helps.

    An entry is the last offset of a batch, or a larger one (KAFKA-806), and where that batch starts. So with an entry
    below the first requested offset, nothing before that place is requested. Index files have no checksum: an entry
    counts only if an intact batch starts there.
    """
    base = first_offset(source)
    least = max(_least_by_time(source, base, since), offset or 0)
    entries = _index(source, ".index", "kafka_offset_index") if least > base else None
    if entries is None:
        return None
    offsets = pc.add(entries["relative_offset"].cast(pa.int64()), base)
    found = entries["position"].filter(pc.and_(pc.less(offsets, least), pc.greater(entries["position"], 0)))
    position = pc.max(found).as_py()
    head = head_at(source, position) if position is not None and position < source.size else None
    if not isinstance(head, Heads) or not Checksums(source).right(head)[0].as_py():
        return None
    return head if head.rows["last_offset"][0].as_py() < least else None


def _least_by_time(source: Source, base: int, since: int | None) -> int:
    """The first offset that can have such a time: an entry is the largest timestamp of all up to an offset."""
    entries = _index(source, ".timeindex", "kafka_time_index") if since is not None else None
    if entries is None:
        return 0
    is_before = pc.and_(pc.less(entries["timestamp"], since), pc.greater(entries["timestamp"], 0))
    last = pc.max(entries["relative_offset"].filter(is_before)).as_py()
    return 0 if last is None else min(base + last + 1, LARGEST_OFFSET)


def _index(source: Source, suffix: str, table: str) -> pa.Table | None:
    """The entries of an index file; None where there is none."""
    if not PurePath(source.name).name.endswith(".log"):
        return None
    with suppress(SourceError), open_beside(source.name.removesuffix(".log") + suffix) as index:
        if index.size <= LARGEST_INDEX:
            found = columns.scan(table, index.view(0, index.size))
            batches = [item.batch for item in found if isinstance(item, Chunk)]
            return pa.Table.from_batches(batches, columns.schema(table))
    return None
