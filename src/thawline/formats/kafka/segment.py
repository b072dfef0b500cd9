"""A segment as stretches of intact units and findings about the rest, by heads and checksums; units stay closed."""

from __future__ import annotations

import heapq
from bisect import bisect_left
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import pyarrow as pa
import pyarrow.compute as pc

from thawline.engine.chunks import Break
from thawline.formats.kafka.checks import Checksums, disorder
from thawline.formats.kafka.dense import look
from thawline.formats.kafka.findings import BAD_OFFSET, EPOCH_FALLS, OFFSETS_RESTART, SUSPECTS
from thawline.formats.kafka.gaps import Gaps, offset_at
from thawline.formats.kafka.heads import FIRST_ROWS, Heads, walk
from thawline.formats.kafka.nesting import Doubts
from thawline.model import Finding, Run, Span
from thawline.source import Source
from thawline.wording import counted, numbered

RELEASE_BYTES = 64 << 20
"""So much is read before it is said that it is not needed any more; to say so takes a while in a large file."""

MOST_TURNS = 8
"""So many short stretches in a row are looked at one by one."""

Item = TypeVar("Item")
Look = Callable[[Heads], pa.BooleanArray | None]
"""Chooses the units whose bytes are looked at; None means all of them."""


def everywhere(_heads: Heads) -> None:
    """Look at every unit."""


def nowhere(heads: Heads) -> pa.BooleanArray:
    """Look at heads only."""
    return pa.repeat(pa.scalar(False), len(heads))  # noqa: FBT003 - a value, not a flag


@dataclass(frozen=True, slots=True)
class Stretch:
    """Intact units, perhaps with holes between them, and the findings about these holes and what is around them."""

    heads: Heads | None
    findings: tuple[Finding, ...] = ()

    def items(self) -> Iterator[Heads | Finding]:
        """All of it in file order, the units without holes."""
        return in_order(self.heads.pieces() if self.heads else (), self.findings)


def in_order(parts: Iterable[Item], findings: Sequence[Finding]) -> Iterator[Item | Finding]:
    """Parts of a stretch of units, each with its span, and the findings between them."""
    if not findings:
        yield from parts
        return
    both: list[Iterable[Any]] = [parts, findings]
    yield from heapq.merge(*both, key=_place)


def together(parts: Iterable[Iterator[Item]]) -> Iterator[Item]:
    """Parts of several stretches with holes, in file order."""
    return heapq.merge(*parts, key=_place)


def _place(item: Any) -> tuple[int, int]:
    """Where an item belongs: a finding at the end of a unit comes before the unit that starts there."""
    span: Span = (item if isinstance(item, Finding | Run | Heads) else item[0]).span
    return span.start, span.end


def _start_of(stretch: Stretch) -> int:
    return min([finding.span.start for finding in stretch.findings] + ([stretch.heads.start] if stretch.heads else []))


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


class Segment:
    """One pass over a segment."""

    def __init__(self, source: Source, look: Look = everywhere, *, first_offset: int = 0) -> None:
        self.source, self.look = source, look
        self.checksums = Checksums(source)
        self.floor = first_offset - 1
        """The last offset so far."""
        self.epoch = -1
        """That of the last batch that has one."""
        self.turns = 0
        """How many short stretches of units there were in a row."""
        self.is_silent = False
        """Whether only the units count, and nothing is asked about what is between them."""

    def items(self, start: int = 0, *, is_explained: bool = True) -> Iterator[Heads | Finding]:
        """Intact units and findings from a position to the end of the file; their spans tile that."""
        for stretch in self.stretches(start, is_explained=is_explained):
            yield from stretch.items()

    def stretches(self, start: int = 0, *, is_explained: bool = True) -> Iterator[Stretch]:
        """The same, with units together that have holes between them: each step costs time, however little it takes."""
        self.gaps = Gaps(self.source, self.checksums)
        self.doubts = Doubts(self.checksums)
        self.behind = self._lost_by_broker if is_explained else None
        position = released = start
        while position < self.source.size:
            if self.turns > MOST_TURNS and self.source.is_local:
                position = yield from self._dense(position)
                if position == self.source.size:
                    return
            for item in walk(self.source, position):
                if isinstance(item, Break):
                    self.turns += 1
                    position = yield from self._gap(item.start)
                    break
                self.turns = 0 if len(item) >= FIRST_ROWS else self.turns + 1
                position = yield from self._checked(item)
                if self.turns > MOST_TURNS:
                    break
                if position - released >= RELEASE_BYTES:
                    self.source.release(position)
                    released = position
                if position != item.end:
                    break

    def _dense(self, position: int) -> Generator[Stretch, None, int]:
        """Units and gaps that take turns; up to where they do."""
        is_first = True
        while self.turns > MOST_TURNS or is_first:
            is_first = False
            found = look(self.source, self.gaps, position, self.floor, is_trusting=self.look is nowhere)
            self.turns = MOST_TURNS + 1 if len(found.holes) > MOST_TURNS or _takes_turns(found.heads) else 0
            self.doubts.gaps += [span for span, _, _ in found.holes]
            stretches = list(self._ordered(found.heads, is_dense=True)) if found.heads else []
            findings = [] if self.is_silent else self.gaps.briefly(found.holes)
            yield from self._merged(stretches, self._with_broker(findings))
            if found.end == position:
                self.turns = 0
            position = found.end
        return position

    def _merged(self, stretches: list[Stretch], findings: list[Finding]) -> Iterator[Stretch]:
        """Stretches with the findings about holes in them and between them."""
        starts = [finding.span.start for finding in findings]
        first = 0
        for index, stretch in enumerate(stretches):
            last = index == len(stretches) - 1
            end = len(findings) if last else bisect_left(starts, _start_of(stretches[index + 1]))
            own = (*stretch.findings, *findings[first:end])
            yield Stretch(stretch.heads, tuple(sorted(own, key=lambda finding: finding.span)))
            first = end
        if not stretches and findings:
            yield Stretch(None, tuple(findings))

    def _with_broker(self, findings: list[Finding]) -> list[Finding]:
        """The findings, the first damage with what a broker would lose behind it."""
        if findings and self.behind:
            behind, self.behind = self.behind, None
            first = findings[0]
            return [replace(first, detail={**first.detail, **behind(first.span.end)}), *findings[1:]]
        return findings

    def _checked(self, heads: Heads) -> Generator[Stretch, None, int]:
        """Those of some units whose checksums are right, and findings for the others; up to where that goes."""
        row = 0
        for bad in self._bad_rows(heads):
            if bad < row:
                continue
            yield from self._ordered(heads.part(row, bad))
            self.turns = self.turns + 1 if bad - row < FIRST_ROWS else 0
            if self.turns > MOST_TURNS and self.source.is_local:
                return int(heads.rows["position"][bad].as_py())
            end = yield from self._gap(heads.rows["position"][bad].as_py())
            positions = heads.rows["position"]
            row = bisect_left(range(len(heads)), end, key=lambda index: positions[index].as_py())
            if row == len(heads) or positions[row].as_py() != end:
                return end
        yield from self._ordered(heads.part(row, len(heads)))
        return heads.end

    def _bad_rows(self, heads: Heads) -> list[int]:
        looked_at = self.look(heads)
        if looked_at is None:
            right = self.checksums.right(heads)
        elif pc.any(looked_at).as_py():
            chosen = Heads(heads.rows.filter(looked_at))
            found = iter(self.checksums.right(chosen).to_pylist())
            right = pa.array([next(found) if wanted else True for wanted in looked_at.to_pylist()])
        else:
            return []
        bad: list[int] = pc.indices_nonzero(pc.invert(right)).to_pylist()
        if bad:
            self.gaps.intact = frozenset(heads.rows["position"].filter(right).to_pylist())
        return bad

    def _ordered(self, heads: Heads, *, is_dense: bool = False) -> Iterator[Stretch]:
        """The units but for those whose offset cannot be right, and remarks about what no checksum covers."""
        if not len(heads):
            return
        heads = self.doubts.marked(heads)
        found = disorder(heads, self.floor, None if is_dense else offset_at(self.source, heads.end))
        remarks = [*self._restarts(heads, found.restarts), *self._falling_epochs(heads), *_suspects(heads)]
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
        if first == end:
            return
        kept = heads.part(first, end)
        if outliers:
            rows = kept.rows.filter(_mask(end - first, [row - first for row in outliers]))
            kept, lasts = Heads(rows), heads.rows["last_offset"]
            befores = [lasts[row - 1].as_py() if row else self.floor for row in outliers]
            wrong = Heads(heads.rows.take(pa.array(outliers, pa.int64())))
            yield Stretch(kept if len(kept) else None, tuple(self._bad_offsets(wrong, befores)))
        else:
            yield Stretch(kept)

    def _bad_offsets(self, heads: Heads, befores: list[int]) -> Iterator[Finding]:
        """Units whose offset does not fit; those before them do, for what stands out are single ones."""
        columns = (heads.rows[name].to_pylist() for name in ("position", "size", "base_offset", "num_records"))
        for at, size, base, count, before in zip(*columns, befores, strict=True):
            lost = "1 compressed message set" if count is None else f"1 batch of {counted(count, 'record')}"
            detail = {"base_offset": base, "last_offset_before": before, "lost": lost}
            yield self.gaps.found(BAD_OFFSET, Span(at, at + size), detail)

    def _restarts(self, heads: Heads, rows: tuple[int, ...]) -> Iterator[tuple[int, Finding]]:
        if rows:
            at = heads.rows["position"][rows[0]].as_py()
            offset = heads.rows["last_offset"][rows[0]].as_py()
            yield rows[0], Finding(OFFSETS_RESTART, Span(at, at), {"at": at, "offset": offset, "places": len(rows)})

    def _falling_epochs(self, heads: Heads) -> Iterator[tuple[int, Finding]]:
        """One remark about the places where the epoch is below that of the batch before; some batches have none."""
        epochs = heads.rows["leader_epoch"]
        before, self.epoch = self.epoch, epochs[-1].as_py()
        if epochs[0].as_py() >= before and _never_falls(epochs):
            return
        falls = []
        for row, epoch in enumerate(epochs.to_pylist()):
            if 0 <= epoch < before:
                falls.append(row)
            before = epoch if epoch >= 0 else before
        self.epoch = before
        if falls:
            at = heads.rows["position"][falls[0]].as_py()
            detail = {"at": at, "leader_epoch": epochs[falls[0]].as_py(), "places": len(falls)}
            yield falls[0], Finding(EPOCH_FALLS, Span(at, at), detail)

    def _gap(self, start: int) -> Generator[Stretch, None, int]:
        """What stands where no intact unit starts, and where the next one does."""
        findings = self.gaps.explain(start, self.floor)
        end = findings[-1].span.end
        self.doubts.gaps.append(findings[-1].span)
        for finding in findings:
            if self.behind and finding.severity == "error":
                detail = {**finding.detail, **self.behind(end)}
                self.behind = None
                yield Stretch(None, (replace(finding, detail=detail),))
            else:
                yield Stretch(None, (finding,))
        return end

    def _lost_by_broker(self, start: int) -> dict[str, object]:
        """What a broker would lose besides: everything behind the first damage, intact or not."""
        rest = Segment(self.source, first_offset=self.floor + 1)
        rest.is_silent = True
        batches = 0
        first: int | None = None
        last: int | None = None
        for stretch in rest.stretches(start, is_explained=False):
            if heads := stretch.heads:
                batches += len(heads)
                first = heads.rows["base_offset"][0].as_py() if first is None else first
                last = heads.rows["last_offset"][-1].as_py()
        if last is None:
            return {}
        first = last if first is None else first
        spared = f"{counted(batches, 'intact batch')}, {numbered('offset', first, last)}"
        return {"broker": f"would truncate here and lose {spared}"}


def _suspects(heads: Heads) -> Iterator[tuple[int, Finding]]:
    """One remark about the units that are suspect."""
    if count := heads.rows["is_suspect"].true_count:
        row = pc.index(heads.rows["is_suspect"], True).as_py()
        at = heads.rows["position"][row].as_py()
        offset = heads.rows["last_offset"][row].as_py()
        yield row, Finding(SUSPECTS, Span(at, at), {"at": at, "offset": offset, "messages": count})


def _never_falls(epochs: pa.Int32Array) -> bool:
    rows = len(epochs) - 1
    return bool(pc.all(pc.greater_equal(epochs.slice(1), epochs.slice(0, rows))).as_py())
