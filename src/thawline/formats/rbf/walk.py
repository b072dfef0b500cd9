"""From a file to runs and findings: the forward walk, the reverse scan after damage, and the gaps between frames.

The intact frames of a file are those that the document's reverse scan finds (section 6). In a file without damage they
are those of the forward walk, which comes first; only a damaged file is scanned from its end.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import zip_longest

from thawline import native
from thawline.engine import columns
from thawline.formats.contract import Section
from thawline.formats.declared import Stretch, forward
from thawline.formats.rbf.findings import NEWER_LAYOUT, TOO_SHORT, Gaps
from thawline.formats.rbf.frame import (
    ALIGNMENT,
    FENCE,
    LONGEST_WRITTEN,
    WORD,
    can_be_length,
    is_newer_layout,
    may_start_before,
    u4,
)
from thawline.model import Finding, Run, Span
from thawline.native.constants.kernels import PROBE_CELLS
from thawline.source import Beginning, Held, LocalSource, Source

NESTED = "nested"
"""Why a run is suspect: it may lie in the payload of a broken frame."""
ANY_FENCE = re.compile(re.escape(FENCE))
BLOCK = 1 << 20
"""Bytes that the reverse scan searches for fences at once."""
CHECKSUM_BUDGET = 4
"""Bytes of candidates that are checksummed one by one, in multiples of the file's size. In a hostile file each of many
candidates covers half of it; once the budget is spent, their checksums are computed from checkpoints."""
CHECKPOINT = 128
"""Bytes between two checkpoints."""
FIRST_WINDOW, LAST_REMOTE_WINDOW = 1 << 16, 64 << 20
"""How much of a file's end is searched for its last frames: at first, and at most where it is fetched."""
LOOKED_BACK = LONGEST_WRITTEN
"""How much before the last frames of a file must be intact: no frame reaches further, so none holds them as payload."""

LOOKED_AHEAD = 4 << 20
"""How much after the first frames of a file must be intact: only a longer frame can hold the end of them as payload,
and only in a file that was crafted."""


# Runs and findings.


def tiles(source: Source) -> Iterator[Run | Finding]:
    """Intact frames and findings, in file order."""
    if source.size < len(FENCE):
        yield Finding(TOO_SHORT, Span(0, source.size))
    else:
        yield from _runs_and_gaps(source, list(_stretches(source)))


def _stretches(source: Source) -> Iterator[Stretch]:
    """The intact frames of a file, in file order."""
    leading = read_forward(source)
    end = leading[-1].end if leading else 0
    if end == source.size:
        yield from leading
        return
    following = list(read_backward(source, end))
    if following and following[-1].start < end:
        # A frame starts inside the intact ones: only the reverse scan of the whole file tells which of them it hides.
        leading, following = [], list(read_backward(source, 0))
    yield from leading
    yield from reversed(following)


def sections(source: Source, size: int, within: Span) -> Iterator[Section]:
    """Stretches of about some size between fences that seem to be those of frames."""
    start = within.start
    while start < within.end and has_genesis_fence(source):
        end = min(fence_after(source, start + size), within.end)
        yield Section(Span(start, end), partial(_verified, source, start, end))
        start = end


def fence_after(source: Source, position: int) -> int:
    """The end of the first fence that a frame seems to follow; the end of the file if there is none."""
    view = source.view(0, source.size)
    for found in ANY_FENCE.finditer(view, min(position, source.size)):
        end = found.end()
        if end % ALIGNMENT == 0 and end + WORD <= source.size and can_be_length(size := u4(source, end)):
            after = end + size
            if after + len(FENCE) <= source.size and view[after : after + len(FENCE)] == FENCE:
                return end
    return source.size


def _verified(source: Source, start: int, end: int) -> Sequence[Run] | None:
    """The frames of a section; None unless they are intact and end with it."""
    found = list(forward("rbf_frames", Held(Beginning(source, end)), start or len(FENCE), "crc32c"))
    stretches = [item for item in found if isinstance(item, Stretch)]
    if len(stretches) < len(found) or not stretches or stretches[-1].end != end:
        return None
    if not start:
        stretches[0] = replace(stretches[0], start=0)
    return [run_of(stretch) for stretch in stretches]


def _runs_and_gaps(source: Source, stretches: list[Stretch]) -> Iterator[Run | Finding]:
    """Runs of the intact frames, and findings about each gap between them."""
    position = 0
    has_genesis = source.view(0, len(FENCE)) == FENCE
    if has_genesis and not (stretches and stretches[0].start == len(FENCE)):
        position = len(FENCE)
        yield Run(Span(0, position), 0, 0)
    if not stretches and is_newer_layout(source):
        yield Finding(NEWER_LAYOUT, Span(position, source.size))
        return
    if has_genesis and not position:
        first = stretches.pop(0)
        yield run_of(Stretch(0, first.end, first.units))
        position = first.end
    edges = [position, *(edge for stretch in stretches for edge in (stretch.start, stretch.end)), source.size]
    between = [Span(*edges[index : index + 2]) for index in range(0, len(edges), 2)]
    gaps = Gaps(source, [gap for gap in between if gap.size])
    for stretch, gap in zip_longest(stretches, between):
        yield from gaps.explain(gap)
        if stretch:
            yield from _runs(source, stretch, gaps.nested_to)


def _runs(source: Source, stretch: Stretch, nested_to: int) -> Iterator[Run]:
    """A stretch as a run; as two where a broken frame ends between its frames, so that only the first are nested."""
    position, frames = stretch.start, 0
    if stretch.end - len(FENCE) <= nested_to:
        position, frames = stretch.end, stretch.units
    while position < min(stretch.end, nested_to) and (end := position + u4(source, position)) <= nested_to:
        position, frames = end + len(FENCE), frames + 1
    if frames:
        yield run_of(Stretch(stretch.start, position, frames), NESTED)
    if position < stretch.end:
        yield run_of(Stretch(position, stretch.end, stretch.units - frames))


def run_of(stretch: Stretch, suspect: str = "") -> Run:
    """A stretch as a run. The first run of a file starts with the genesis fence, at 0."""
    return Run(Span(stretch.start, stretch.end), stretch.units, stretch.units, suspect=suspect)


def beginning(source: Source, frames: int) -> list[Stretch] | None:
    """The first frames, at least as many as requested, or all; None if there is damage before or soon after their end.

    Only the start of the file is read.
    """
    kept: list[Stretch] = []
    found, enough = 0, source.size
    for item in forward("rbf_frames", source, len(FENCE), "crc32c") if has_genesis_fence(source) else ():
        if not isinstance(item, Stretch):
            return None
        if found < frames or not kept:
            kept.append(item)
            found += item.units
            enough = item.end
        if item.end == source.size or (found >= frames and item.end - enough >= LOOKED_AHEAD):
            return kept
    return None


def ending(source: Source, frames: int) -> list[Stretch] | None:
    """The last frames, at least as many as requested, or all; None if there is damage after or between them.

    Only the end of the file is read, and more of it while that is too little.
    """
    window, back = FIRST_WINDOW, LOOKED_BACK if source.is_local else 0
    while source.is_local or window <= LAST_REMOTE_WINDOW:
        base = max(source.size - back - window, 0) // 4 * 4
        end_of_file = LocalSource(source.name, source.view(base, source.size))
        kept: list[Stretch] = []
        position, found = source.size, 0
        for stretch in read_backward(end_of_file, 0, first_block=FIRST_WINDOW):
            if base + stretch.end != position or (found >= frames and position <= source.size - back):
                break
            position, found = base + stretch.start, found + stretch.units
            kept.append(Stretch(position, base + stretch.end, stretch.units))
        is_far = position <= source.size - back
        if (found >= frames and is_far) or (position == len(FENCE) and source.view(0, position) == FENCE):
            return kept[::-1]
        if base == 0 or not may_start_before(end_of_file, position - base):
            return None
        window *= 16
    return None


# Intact frames. A stretch of them ends after the fence of its last one.


def read_forward(source: Source) -> list[Stretch]:
    """The intact frames from the genesis fence up to the first damage; none if that fence is lost."""
    if not has_genesis_fence(source):
        return []
    return [item for item in forward("rbf_frames", source, len(FENCE), "crc32c") if isinstance(item, Stretch)]


def has_genesis_fence(source: Source) -> bool:
    """Whether a file starts with the fence that every log starts with."""
    return source.size >= len(FENCE) and bytes(source.view(0, len(FENCE))) == FENCE


def read_backward(source: Source, floor: int, first_block: int | None = None) -> Iterator[Stretch]:
    """What the document's reverse scan finds after the fence at `floor - 4`, last stretch first.

    The last one may start below `floor`: its first frame then straddles that fence. The scan reads the file in no
    order, so a remote file is copied to disk first.
    """
    scan = ReverseScan(source.on_disk(), floor)
    block = first_block or BLOCK
    released = scan.position
    joined: Stretch | None = None
    while scan.is_open:
        for stretch in scan.step(block):
            if joined and stretch.end == joined.start and _fit_together(stretch, joined):
                joined = Stretch(stretch.start, joined.end, stretch.units + joined.units)
            else:
                if joined:
                    yield joined
                joined = stretch
        if released - scan.position >= columns.MAX_BYTES:
            source.release(source.size)
            released = scan.position
        block = min(4 * block, BLOCK)
    if joined:
        yield joined


def _fit_together(first: Stretch, second: Stretch) -> bool:
    return first.units + second.units <= columns.MAX_ROWS and second.end - first.start <= columns.MAX_BYTES


class ReverseScan:
    """The reverse scan [R-REVERSE-SCAN-ALGORITHM], step by step from the end of a file down to a floor."""

    def __init__(self, source: Source, floor: int) -> None:
        self.view = source.view(0, source.size)
        self.floor = max(floor, len(FENCE))
        self.position = (source.size - len(FENCE)) // 4 * 4
        """The highest position where a fence has not been looked for."""
        self.budget = CHECKSUM_BUDGET * source.size
        self.checkpoints = array("I")
        self.state = array("q", bytes(8 * PROBE_CELLS))

    @property
    def is_open(self) -> bool:
        """Whether there is anything left to scan."""
        return self.position >= self.floor

    def step(self, block: int) -> list[Stretch]:
        """Frames whose fence lies in the next block, the last stretch first."""
        start = max(self.floor, (self.position + len(FENCE) - block) // 4 * 4)
        fences = array("q", bytes(8 * ((self.position + len(FENCE) - start) // 4)))
        count = native.functions.find_fences(self.view, start, self.position + len(FENCE), fences)
        starts = array("q", bytes(8 * count))
        native.functions.check_frames(self.view, fences, count, starts, self.state)
        self.budget -= native.functions.covered_bytes(fences, starts, count)
        native.functions.check_checksums(self.view, fences, starts, count, self._states(), CHECKPOINT)
        found = array("q", bytes(8 * count))
        frames, position = native.functions.walk_back(fences, starts, count, self.position, found)
        # The next block starts below this one, or further down where a frame has led there.
        self.position = min(position, start - len(FENCE))
        stretches = array("q", bytes(24 * frames))
        joined = 3 * native.functions.join_back(fences, starts, found, frames, stretches)
        return [Stretch(*stretches[index : index + 3]) for index in range(0, joined, 3)]

    def _states(self) -> array[int]:
        """Checkpoints of the checksum over the whole file; none before the budget is spent."""
        if self.budget < 0 and not self.checkpoints:
            self.checkpoints = array("I", bytes(4 * (len(self.view) // CHECKPOINT + 1)))
            native.functions.crc32c_checkpoints(self.view, CHECKPOINT, self.checkpoints)
        return self.checkpoints
