"""RBF logs: frames between fences, with their length at both ends, readable from either end.

Layout: https://github.com/Atelia-org/atelia/blob/76f827f82ecd247db938c8754ca941811087a1d2/docs/Rbf/rbf-format.md

The rows of a file are the frames that the document's reverse scan finds (section 6). A file without damage is the
same read forward, which is what happens first; only behind the first damage the file is scanned from its end.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from itertools import zip_longest

import pyarrow as pa

from thawline.batches import last
from thawline.formats.contract import Claim, Reading
from thawline.formats.legacy import LegacyFormat as Format
from thawline.formats.rbf import salvage
from thawline.formats.rbf.findings import CODES, LONGEST_TORN, NEWER_LAYOUT, TOO_SHORT, Gaps
from thawline.formats.rbf.frames import FENCE, LEAST_FRAME, Segment, may_start_before, read_backward, read_forward
from thawline.formats.rbf.rows import SCHEMA, Frames, bundles, first_frame
from thawline.model import Finding, Run, Span
from thawline.source import LocalSource, Source

FIRST_WINDOW, LAST_REMOTE_WINDOW = 1 << 16, 64 << 20
"""How much of a file's end is looked at for its last frames: at first, and at most where it has to be fetched."""
LOOKED_BACK = LONGEST_TORN
"""How much of a file before its last frames must be intact: no frame of a writer reaches further, so that none can have
them as its payload."""


@dataclass(frozen=True, slots=True)
class Rbf(Format):
    """RBF logs: frames between fences, with their length at both ends, readable from either end."""

    name = "rbf"
    title = "RBF log (Reversible Binary Framing)"
    table_names = ("frames",)
    codes = CODES
    unit_name = "frame"

    tag: tuple[int, ...] | None = None

    def claim(self, source: Source) -> Claim | None:
        """An RBF file starts with a fence; one that lost it may still be told by its first frame."""
        head = bytes(source.view(0, min(source.size, 4)))
        if head == FENCE:
            if is_newer_layout(source):
                return Claim(self.name, "0.40", "starts with the fence RBF1, frames end as in layout 0.40", "certain")
            return Claim(self.name, "0.27", "starts with the fence RBF1", "certain")
        if source.size < len(FENCE) and source.name.endswith(".rbf"):
            return Claim(self.name, "0.27", "named .rbf, and too short to hold even a fence", "possible")
        first = bytes(source.view(0, min(source.size, 1 << 16))).find(FENCE, 4)
        if first > 0 and source.name.endswith(".rbf"):
            return Claim(
                self.name, "0.27", f"named .rbf, with a fence at {first:#x}, but none at its start", "possible"
            )
        return None

    def schema(self, table: str) -> pa.Schema:
        """The schema of `frames`."""
        return SCHEMA

    def scan(self, source: Source) -> Iterator[Run | Finding]:
        """Intact frames and findings, in file order."""
        if source.size < len(FENCE):
            yield Finding(TOO_SHORT, Span(0, source.size))
        else:
            segments = list(_segments(source))
            yield from _tiles(source, segments)

    def read(self, source: Source, table: str, columns: Collection[str]) -> Reading:
        """Intact frames with their rows; of those with other tags than are asked for only the head is looked at."""
        for items in bundles(self.scan(source)):
            runs = [item for item in items if isinstance(item, Run) and item.units]
            each = Frames.of(source, runs, self.tag).of_each(columns) if runs else iter(())
            for item in items:
                if isinstance(item, Finding):
                    yield item
                else:
                    yield next(each) if item.units else (item, iter(()))

    def read_run(self, source: Source, run: Run, table: str, columns: Collection[str]) -> Reading:
        """Rows of a run; what it says is left out are frames with other tags."""
        yield from Frames.of(source, [run], self.tag).of_each(columns) if run.units else [(run, iter(()))]

    def batches(self, source: Source, run: Run, table: str, columns: Collection[str]) -> Iterator[pa.RecordBatch]:
        """The frames of a run."""
        return Frames.of(source, [run], self.tag).batches(columns)

    def tail(self, source: Source, rows: int, table: str, columns: Collection[str]) -> list[pa.RecordBatch] | None:
        """The last frames, found from the end of the file without looking at more of it than tells what they are.

        Where that comes upon damage the whole file is looked at, since only that tells what is nested in what. Of a
        remote file only the end is fetched, so that there it is not noticed if it was cut exactly behind a fence inside
        a torn frame's payload.
        """
        ending = _ending(source, rows) if self.tag is None else None
        if ending is None:
            return None
        runs = [_run(segment) for segment in ending]
        first, found = len(runs), 0
        while first and found < rows:
            first -= 1
            found += runs[first].rows
        batches = [batch for run in runs[first:] for batch in self.batches(source, run, table, columns)]
        return last(batches, rows)

    def units(self, source: Source, run: Run) -> Iterator[Span]:
        """The frames of a run, without their fences."""
        start = first_frame(run)
        for chunk in Frames.of(source, [run]).chunks([]):
            for first, end in zip(chunk.starts.to_pylist(), chunk.ends.to_pylist(), strict=True):
                yield Span(start + first, start + end - len(FENCE))

    def unit_at(self, source: Source, position: int) -> str:
        """A frame, wherever it is."""
        return "rbf_frame"

    def salvage(self, source: Source, items: Iterator[Run | Finding]) -> Iterator[bytes | memoryview]:
        """A file of the intact frames: the genesis fence, then every run with its fences.

        Addresses change where something before a frame is lost, so payloads that hold addresses are to be mended by
        the layer that wrote them.
        """
        return salvage.rewritten(source, items)

    def recover(self, source: Source, items: Iterator[Run | Finding]) -> Iterator[Run | Finding]:
        """The items of a scan, with the frames that are proven although a reader must reject them as runs."""
        return salvage.recovered(source, items)

    def check_cut(self, source: Source, items: Iterator[Run | Finding], at: int) -> None:
        """Raise unless the file can be cut there, to a DataTail [R-DATATAIL-TRUNCATE]."""
        salvage.check_cut(source, items, at)


def _segments(source: Source) -> Iterator[Segment]:
    """The frames of a file as stretches without a gap, in file order."""
    forward = read_forward(source)
    end = forward[-1].end if forward else 0
    if end == source.size:
        yield from forward
        return
    behind = list(read_backward(source, end))
    if behind and behind[-1].start < end:
        # A frame that begins inside the intact ones: only the whole reverse scan tells which of them it leaves out.
        forward, behind = [], list(read_backward(source, 0))
    yield from forward
    yield from reversed(behind)


def _ending(source: Source, rows: int) -> list[Segment] | None:
    """The last frames, at least as many as asked for, or all; None if they do not follow one another to the end.

    Only the end of the file is looked at, and ever more of it while that is too little.
    """
    window, back = FIRST_WINDOW, LOOKED_BACK if source.is_local else 0
    while source.is_local or window <= LAST_REMOTE_WINDOW:
        base = max(source.size - back - window, 0) // 4 * 4
        looked_at = LocalSource(source.name, source.view(base, source.size))
        kept: list[Segment] = []
        position, found = source.size, 0
        for segment in read_backward(looked_at, 0, first_block=FIRST_WINDOW):
            if base + segment.end != position or (found >= rows and position <= source.size - back):
                break
            position, found = base + segment.start, found + segment.frames
            kept.append(Segment(position, base + segment.end, segment.frames))
        is_far = position <= source.size - back
        if (found >= rows and is_far) or (position == len(FENCE) and source.view(0, position) == FENCE):
            return kept[::-1]
        if base == 0 or not may_start_before(looked_at, position - base):
            return None
        window *= 16
    return None


def _tiles(source: Source, segments: list[Segment]) -> Iterator[Run | Finding]:
    """Runs of the frames that were found, and findings for each stretch between them."""
    position = 0
    has_genesis = source.view(0, len(FENCE)) == FENCE
    if has_genesis and not (segments and segments[0].start == len(FENCE)):
        position = len(FENCE)
        yield Run(Span(0, position), 0, 0, {"has_genesis": True})
    if not segments and is_newer_layout(source):
        yield Finding(NEWER_LAYOUT, Span(position, source.size))
        return
    if has_genesis and not position:
        yield _run(segments[0], has_genesis=True)
        position = segments.pop(0).end
    edges = [position, *(edge for segment in segments for edge in (segment.start, segment.end)), source.size]
    stretches = [Span(*edges[index : index + 2]) for index in range(0, len(edges), 2)]
    gaps = Gaps(source, [stretch for stretch in stretches if stretch.size])
    for segment, gap in zip_longest(segments, stretches):
        yield from gaps.explain(gap)
        if segment:
            yield from _runs(source, segment, gaps.nested_to)


def _runs(source: Source, segment: Segment, nested_to: int) -> Iterator[Run]:
    """A segment as a run, or as two where only its first frames end before the frame that is broken around them."""
    position, frames = segment.start, 0
    if segment.end - len(FENCE) <= nested_to:
        position, frames = segment.end, segment.frames
    while position < min(segment.end, nested_to) and (end := position + _u4(source, position)) <= nested_to:
        position, frames = end + len(FENCE), frames + 1
    if frames:
        yield _run(Segment(segment.start, position, frames), is_suspect=True)
    if position < segment.end:
        yield _run(Segment(position, segment.end, segment.frames - frames))


def is_newer_layout(source: Source) -> bool:
    """Whether the first frame ends the way layout 0.40 writes it: with its length right before the fence."""
    if source.size < 2 * len(FENCE) + 4:
        return False
    size = _u4(source, len(FENCE))
    end = len(FENCE) + size
    if size < LEAST_FRAME or end + len(FENCE) > source.size or source.view(end, end + len(FENCE)) != FENCE:
        return False
    return _u4(source, end - 8) != size == _u4(source, end - 4)


def _u4(source: Source, at: int) -> int:
    return int.from_bytes(source.view(at, at + 4), "little")


def _run(segment: Segment, *, has_genesis: bool = False, is_suspect: bool = False) -> Run:
    start = 0 if has_genesis else segment.start
    labels = {"has_genesis": has_genesis, "nested_suspect": is_suspect}
    return Run(
        Span(start, segment.end), segment.frames, segment.frames, {key: True for key, on in labels.items() if on}
    )
