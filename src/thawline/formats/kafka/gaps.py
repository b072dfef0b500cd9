"""Stretches of a segment without an intact unit: what is wrong there, and where the next intact one starts."""

from __future__ import annotations

import struct
from array import array
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import pyarrow as pa

from thawline import native
from thawline.engine import columns
from thawline.engine.chunks import Break, Chunk, Ranges
from thawline.formats.kafka.checks import Checksums
from thawline.formats.kafka.findings import (
    BAD_CHECKSUM,
    DAMAGED_LENGTH,
    DAMAGED_MAGIC,
    NO_BATCH,
    PREALLOCATED,
    TORN_TAIL,
)
from thawline.formats.kafka.heads import (
    BATCHES,
    HEAD_SIZE,
    LATEST_MAGIC,
    MAGIC_AT,
    MESSAGES,
    Heads,
    head_at,
    table_at,
)
from thawline.formats.kafka.losses import lost_batch
from thawline.formats.kafka.nesting import MOST_OFFSETS, Claim, Nesting, claim_at
from thawline.generated.kernels.tables import TABLES
from thawline.model import Code, Finding, Span
from thawline.source import Source
from thawline.wording import numbered, quoted

LENGTH_AT, BEFORE_LENGTH = 8, 12
CRC_AT = {BATCHES: 17, MESSAGES: 12}
LEAST_LENGTH = 14
LARGEST_OFFSET = (1 << 63) - 1
LONGEST_CHAIN = 64
"""Broken units in a row whose lengths are followed before the bytes between them are searched."""
CANDIDATES = 256
ZEROS = 1 << 20


class Gaps:
    """What is wrong with the stretches of a segment that hold no intact unit."""

    def __init__(self, source: Source, checksums: Checksums) -> None:
        self.source, self.checksums = source, checksums
        self.intact: frozenset[int] = frozenset()
        """Where units start whose checksums were found to be right."""

    def explain(self, start: int, floor: int) -> list[Finding]:
        """Findings from the start of a unit that is not intact to the next one that is, or to the end of the file.

        `floor` is the last offset before it.
        """
        size = self.source.size
        if self._is_zero(start):
            return [Finding(PREALLOCATED, Span(start, size), {"size": size - start})]
        spans = self._chain(start, floor) or [Span(start, self._next_unit(start + 1, floor))]
        following = offset_at(self.source, spans[-1].end)
        return [self._explained(span, floor, following, is_last=span is spans[-1]) for span in spans]

    def found(self, code: Code, span: Span, detail: Mapping[str, object]) -> Finding:
        """A finding with the command that comes next."""
        return Finding(code, span, detail, f"thawline salvage {quoted(self.source.name)} -o intact.log")

    def _is_zero(self, start: int) -> bool:
        """Whether there is nothing but zeros from here to the end of the file."""
        step = 64
        while start < self.source.size:
            block = bytes(self.source.view(start, min(start + step, self.source.size)))
            if block.count(0) != len(block):
                return False
            start, step = start + len(block), ZEROS
        return True

    def _chain(self, start: int, floor: int) -> list[Span]:
        """Broken units one behind the other as their lengths say, if that leads to an intact one or the file's end."""
        spans: list[Span] = []
        while len(spans) < LONGEST_CHAIN:
            size = self.claimed(start)
            if not size or start + size > self.source.size:
                return []
            spans.append(Span(start, start + size))
            start += size
            if start == self.source.size or self._is_intact(start, floor):
                return spans
        return []

    def claimed(self, start: int) -> int:
        """The size of the unit that starts here, as its length says; 0 if that cannot be."""
        if self.source.size - start < BEFORE_LENGTH:
            return 0
        length = self._integer(start + LENGTH_AT, 4)
        return BEFORE_LENGTH + length if length >= LEAST_LENGTH else 0

    def _is_intact(self, position: int, floor: int) -> bool:
        """Whether an intact unit starts here, with offsets behind those before it."""
        if position in self.intact:
            return (offset_at(self.source, position) or 0) > floor
        heads = head_at(self.source, position)
        return (
            isinstance(heads, Heads)
            and floor < heads.rows["last_offset"][0].as_py()
            and bool(self.checksums.right(heads)[0].as_py())
        )

    def _next_unit(self, start: int, floor: int) -> int:
        """Where the next intact unit starts that is not inside of a broken one; the end of the file without any."""
        self.source = self.checksums.source = self.source.on_disk()
        view = self.source.view(0, self.source.size)
        offsets = array("q", (min(bound, LARGEST_OFFSET) for bound in (floor + 1, floor + MOST_OFFSETS)))
        positions, sizes = array("q", bytes(8 * CANDIDATES)), array("q", bytes(8 * CANDIDATES))
        nesting = Nesting(self.source, self.checksums, start - 1, floor)
        while start < self.source.size:
            seen = 0
            count, start = native.functions.find_units(view, start, self.source.size, offsets, positions, sizes)
            for position in self._right_ones(view, positions[:count], sizes[:count]):
                while seen < count and positions[seen] < position:
                    nesting.broken(positions[seen], floor)
                    seen += 1
                if not nesting.holds(position) and self._is_intact(position, floor):
                    return position
            if count < CANDIDATES:
                break
        return self.source.size

    def _right_ones(self, view: memoryview, positions: array[int], sizes: array[int]) -> Iterator[int]:
        """Those of some places where the checksum is right, in rising order.

        Mostly it is the first; ever more are looked at in one go while that is not so.
        """
        first, step = 0, 1
        while first < len(positions):
            places = list(zip(positions[first : first + step], sizes[first : first + step], strict=True))
            kinds = {kind: [place for place in places if _is_legacy(view, place[0]) is kind] for kind in (False, True)}
            yield from sorted(at for kind in kinds for at in self.right_of_kind(kinds[kind], is_legacy=kind))
            first, step = first + step, 4 * step

    def right_of_kind(self, places: list[tuple[int, int]], *, is_legacy: bool) -> Iterator[int]:
        """Those of some places, each with a size, where the checksum is right."""
        if not places:
            return
        view = self.source.view(0, self.source.size)
        starts = pa.array([at for at, _ in places], pa.int64())
        ends = pa.array([at + size for at, size in places], pa.int64())
        computed = self.checksums.of_units(starts, ends, is_legacy=is_legacy).to_pylist()
        crc_at = CRC_AT[MESSAGES if is_legacy else BATCHES]
        for (at, _), value in zip(places, computed, strict=True):
            if int.from_bytes(view[at + crc_at : at + crc_at + 4], "big") == value:
                yield at

    def _explained(self, span: Span, floor: int, following: int | None, *, is_last: bool) -> Finding:
        """What is wrong with one broken unit, or with bytes that are none."""
        table = table_at(self.source, span.start)
        facts: dict[str, Any] = {"lost": self._lost(span, table, floor, following)}
        if repaired := self._proven(span):
            at, field = (LENGTH_AT, "batchLength") if repaired is DAMAGED_LENGTH else (MAGIC_AT, "magic")
            found = self.found(repaired, span, {"at": span.start + at, "reason": field, **facts})
            return replace(found, hint=f"{found.hint} --recover")
        item = self._read(span, table)
        if isinstance(item, Chunk):
            computed = item.checksums[0].as_py() if item.checksums else None
            return self.found(
                BAD_CHECKSUM, span, {"crc_stored": item.batch["crc"][0].as_py(), "crc_computed": computed, **facts}
            )
        claimed, left = self.claimed(span.start), self.source.size - span.start
        if is_last and span.end == self.source.size and self._is_torn(span.start, claimed, left):
            return self.found(TORN_TAIL, span, {"claimed": claimed, "left": left, **facts})
        where = {"at": span.start + item.at, "field": f"{item.failure.spec}: {item.failure.path}"}
        return self.found(NO_BATCH, span, {**where, "reason": item.failure.reason, **facts})

    def briefly(self, holes: list[tuple[Span, int, int]]) -> list[Finding]:
        """Findings about many stretches, each with the last offset before it and the first one behind it."""
        claims = [claim_at(self.source, span.start) for span, _, _ in holes]
        checked: dict[int, int] = {}
        for is_legacy in (False, True):
            spans = [
                span
                for (span, _, _), claim in zip(holes, claims, strict=True)
                if claim is not None and claim.is_legacy is is_legacy and claim.end == span.end
            ]
            if spans:
                starts, ends = (pa.array(values, pa.int64()) for values in zip(*spans_of(spans), strict=True))
                computed = self.checksums.of_units(starts, ends, is_legacy=is_legacy).to_pylist()
                checked |= {span.start: value for span, value in zip(spans, computed, strict=True)}
        return [self._brief(*hole, claim, checked) for hole, claim in zip(holes, claims, strict=True)]

    def _brief(
        self, span: Span, floor: int, following: int, claim: Claim | None, checked: Mapping[int, int]
    ) -> Finding:
        facts = {"lost": self._lost(span, table_at(self.source, span.start), floor, following)}
        if claim and span.start in checked:
            stored = {"crc_stored": claim.checksum, "crc_computed": checked[span.start]}
            return self.found(BAD_CHECKSUM, span, {**stored, **facts})
        if self._proven(span):
            return self._explained(span, floor, following, is_last=False)
        return self.found(NO_BATCH, span, {"at": span.start, "reason": "no batch is here", **facts})

    def _read(self, span: Span, table: str) -> Chunk | Break:
        """What the kernel makes of a unit, in the extent that its length or else the span gives it."""
        end = min(max(span.start + self.claimed(span.start), span.end), self.source.size)
        view = self.source.view(span.start, end)
        return next(iter(columns.scan(table, view, Ranges.of([(0, len(view), 1)]), columns=("crc",))))

    def _is_torn(self, start: int, claimed: int, left: int) -> bool:
        """Whether what is left of the file is the start of a unit."""
        if left < HEAD_SIZE:
            return True
        return claimed > left and self.source.view(start + MAGIC_AT, start + MAGIC_AT + 1)[0] <= LATEST_MAGIC

    def _proven(self, span: Span) -> Code | None:
        """What of a batch of magic 2 is damaged where its checksum says that all the rest is right."""
        if span.size < HEAD_SIZE:
            return None
        starts, ends = pa.array([span.start], pa.int64()), pa.array([span.end], pa.int64())
        stored = self._integer(span.start + CRC_AT[BATCHES], 4) & 0xFFFFFFFF
        if self.checksums.of_units(starts, ends, is_legacy=False)[0].as_py() != stored:
            return None
        if self.claimed(span.start) != span.size:
            return DAMAGED_LENGTH
        is_latest = self.source.view(span.start + MAGIC_AT, span.start + MAGIC_AT + 1)[0] == LATEST_MAGIC
        return None if is_latest else DAMAGED_MAGIC

    def _lost(self, span: Span, table: str, floor: int, following: int | None) -> str:
        """What is lost, in offsets as far as the units around it tell."""
        if table == BATCHES and span.size >= HEAD_SIZE:
            base, count = self._integer(span.start, 8), self._integer(span.start + HEAD_SIZE - 4, 4)
            last = base + self._integer(span.start + 23, 4)
            fits = floor < base <= last and (following is None or last < following) and 0 < count <= last - base + 1
            if fits and last - floor < MOST_OFFSETS:
                is_more = HEAD_SIZE <= self.claimed(span.start) < span.size and not self._proven(span)
                behind = _between(last, following) if is_more else ""
                return lost_batch(count, base, last) + (f", and {behind} behind it" if behind else "")
        return _between(floor, following) or "nothing: offsets run on behind"

    def _integer(self, at: int, size: int) -> int:
        return int.from_bytes(self.source.view(at, at + size), "big", signed=True)


def _between(last: int, following: int | None) -> str:
    """Records that may have been behind an offset and before the next one that is there; empty if there are none."""
    if following is None or following <= last:
        return f"records in offsets {last + 1} to the end of the segment"
    return f"records in {numbered('offset', last + 1, following - 1)}" if following > last + 1 else ""


def spans_of(spans: Iterable[Span]) -> Iterator[tuple[int, int]]:
    """Start and end of each."""
    return ((span.start, span.end) for span in spans)


def _is_legacy(view: memoryview, position: int) -> bool:
    return view[position + MAGIC_AT] < LATEST_MAGIC


def offset_at(source: Source, position: int) -> int | None:
    """The offset that stands at the start of the unit at a position; None where the file ends before."""
    if source.size - position < TABLES[MESSAGES].least_size:
        return None
    offset, length = struct.unpack(">qi", source.view(position, position + BEFORE_LENGTH))
    return int(offset) if length >= LEAST_LENGTH else None
