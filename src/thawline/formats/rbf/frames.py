"""Frames of an RBF file: the forward walk from the genesis fence, and the reverse scan from the end."""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow.compute as pc

from thawline import native
from thawline.checksums import crc32c
from thawline.engine import columns
from thawline.engine.chunks import Break, Chunk
from thawline.source import Source

FENCE = b"RBF1"
LEAST_FRAME = 20
BLOCK = 1 << 20
"""Bytes in which the reverse scan looks for fences in one go."""
CHECKSUM_BUDGET = 4
"""How many times the file's size may go into checksums of candidates one by one. A hostile file nests candidates so
that each covers half of it; behind the budget their checksums are taken from checkpoints instead."""
CHECKPOINT = 128


@dataclass(frozen=True, slots=True)
class Segment:
    """Frames that follow one another without a gap: from the first one's start to the end of the last one's fence."""

    start: int
    end: int
    frames: int


def read_forward(source: Source) -> list[Segment]:
    """The intact frames from the genesis fence on, up to the first damage; none if that fence is lost."""
    segments: list[Segment] = []
    if source.size < len(FENCE) or source.view(0, len(FENCE)) != FENCE:
        return segments
    for item in columns.scan_source("rbf_frames", source, len(FENCE), columns=("crc32c",)):
        intact = 0 if isinstance(item, Break) else first_mismatch(item)
        if intact and isinstance(item, Chunk):
            segments.append(Segment(item.starts[0].as_py(), item.ends[intact - 1].as_py(), intact))
            source.release(segments[-1].end)
        if isinstance(item, Break) or intact < len(item):
            break
    return segments


def first_mismatch(chunk: Chunk) -> int:
    """Index of the first frame whose checksum is wrong; the number of frames if all are right."""
    differs = pc.not_equal(chunk.batch["crc32c"], chunk.checksums)
    index = pc.index(differs, True).as_py()
    return len(chunk) if index < 0 else int(index)


def read_backward(source: Source, floor: int, first_block: int | None = None) -> Iterator[Segment]:
    """What the document's reverse scan finds behind the fence at `floor - 4`, last stretch first.

    The last one may start below `floor`: the frame that it starts with then straddles that fence. The scan looks
    anywhere in the file, so a remote one is copied to disk for it.
    """
    scan = ReverseScan(source.on_disk(), floor)
    block = first_block or BLOCK
    released = scan.position
    joined: Segment | None = None
    while scan.is_open:
        for segment in scan.step(block):
            if joined and segment.end == joined.start and _have_room(segment, joined):
                joined = Segment(segment.start, joined.end, segment.frames + joined.frames)
            else:
                if joined:
                    yield joined
                joined = segment
        if released - scan.position >= columns.MAX_BYTES:
            source.release(source.size)
            released = scan.position
        block = min(4 * block, BLOCK)
    if joined:
        yield joined


def _have_room(segment: Segment, joined: Segment) -> bool:
    frames = segment.frames + joined.frames
    return frames <= columns.MAX_ROWS and joined.end - segment.start <= columns.MAX_BYTES


class ReverseScan:
    """The reverse scan [R-REVERSE-SCAN-ALGORITHM] as steps from the end of a file towards a floor."""

    def __init__(self, source: Source, floor: int) -> None:
        self.view = source.view(0, source.size)
        self.floor = max(floor, len(FENCE))
        self.position = (source.size - len(FENCE)) // 4 * 4
        """The highest fence that has not been looked at."""
        self.budget = CHECKSUM_BUDGET * source.size
        self.checkpoints = array("I")

    @property
    def is_open(self) -> bool:
        """Whether there is anything left to scan."""
        return self.position >= self.floor

    def step(self, block: int) -> list[Segment]:
        """Frames whose fence lies in the next block, last ones first."""
        start = max(self.floor, (self.position + len(FENCE) - block) // 4 * 4)
        fences = array("q", bytes(8 * ((self.position + len(FENCE) - start) // 4)))
        count = native.functions.find_fences(self.view, start, self.position + len(FENCE), fences)
        starts = array("q", bytes(8 * count))
        native.functions.check_frames(self.view, fences, count, starts)
        self.budget -= native.functions.covered_bytes(fences, starts, count)
        native.functions.check_checksums(self.view, fences, starts, count, self._states(), CHECKPOINT)
        found = array("q", bytes(8 * count))
        frames, position = native.functions.walk_back(fences, starts, count, self.position, found)
        # Below the last fence of the block nothing is left in it, unless a frame has led further down.
        self.position = min(position, start - len(FENCE))
        stretches = array("q", bytes(24 * frames))
        joined = 3 * native.functions.join_back(fences, starts, found, frames, stretches)
        return [Segment(*stretches[index : index + 3]) for index in range(0, joined, 3)]

    def _states(self) -> array[int]:
        """Checkpoints of the checksum over the whole file, once the budget is spent; until then none."""
        if self.budget < 0 and not self.checkpoints:
            self.checkpoints = array("I", bytes(4 * (len(self.view) // CHECKPOINT + 1)))
            native.functions.crc32c_checkpoints(self.view, CHECKPOINT, self.checkpoints)
        return self.checkpoints


def frame_before(view: memoryview, fence: int) -> int | None:
    """Where the frame that ends at a fence starts, if it is one."""
    if fence < len(FENCE) + LEAST_FRAME:
        return None
    size = int.from_bytes(view[fence - 8 : fence - 4], "little")
    start = fence - size
    if size < LEAST_FRAME or size % 4 or start < len(FENCE) or view[start - 4 : start] != FENCE:
        return None
    if int.from_bytes(view[start : start + 4], "little") != size or not has_right_status(view, fence):
        return None
    stored = int.from_bytes(view[fence - 4 : fence], "little")
    return start if crc32c(view, start + 4, fence - 4) == stored else None


def may_start_before(end_of_file: Source, end: int) -> bool:
    """Whether the frame whose fence ends at `end` may start before this part of its file does."""
    fence = end - len(FENCE)
    if fence < LEAST_FRAME:
        return True
    size = int.from_bytes(end_of_file.view(fence - 8, fence - 4), "little")
    return end_of_file.view(fence, end) == FENCE and not size % 4 and size > fence - len(FENCE)


def has_right_status(view: memoryview, end: int) -> bool:
    """Whether the FrameStatus of a frame that ends at `end` has no reserved bit and is filled with one value."""
    status = view[end - 9]
    return not status & 0x7C and view[end - 9 - (status & 3) : end - 8] == bytes([status]) * ((status & 3) + 1)
