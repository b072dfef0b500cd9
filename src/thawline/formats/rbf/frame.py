"""One frame by itself: its fence, its lengths at both ends, its status and its checksum.

    HeadLen Tag Payload Status TailLen CRC32C | RBF1

CRC-32C covers all from Tag to TailLen [F-CRC32C-COVERAGE].
"""

from __future__ import annotations

from thawline.checksums import crc32c
from thawline.engine.starts import Starts
from thawline.generated.kernels.tables import SYNCS
from thawline.source import Source

FENCE = b"RBF1"
LEAST_FRAME = 20
LEAST_TAIL = 12
"""TailLen, checksum and fence."""
LONGEST_WRITTEN = 256 << 20
"""Writers make no frame of this size or more (SizedPtr), so a larger HeadLen says nothing."""


def u4(source: Source, at: int) -> int:
    """The number in four bytes of a file."""
    return int.from_bytes(source.view(at, at + 4), "little")


def can_be_length(size: int) -> bool:
    """Whether a writer makes frames of this size."""
    return LEAST_FRAME <= size < LONGEST_WRITTEN and not size % 4


def has_right_status(view: memoryview, end: int) -> bool:
    """Whether the FrameStatus of the frame that ends at `end` has no reserved bit, and all its bytes are equal."""
    status = view[end - 9]
    return not status & 0x7C and view[end - 9 - (status & 3) : end - 8] == bytes([status]) * ((status & 3) + 1)


def has_right_checksum(frame: memoryview) -> bool:
    """Whether the checksum of a frame is right."""
    return crc32c(frame, 4, len(frame) - 4) == int.from_bytes(frame[-4:], "little")


def frame_before(view: memoryview, fence: int) -> int | None:
    """Where the intact frame before a fence starts; None if there is none."""
    if fence < len(FENCE) + LEAST_FRAME:
        return None
    start = fence - int.from_bytes(view[fence - 8 : fence - 4], "little")
    if start < len(FENCE) or view[start - 4 : start] != FENCE:
        return None
    frame = Starts(SYNCS["rbf_frames"], view[start : fence + len(FENCE)], is_proven=True)
    return start if frame.size_at(0) == fence + len(FENCE) - start else None


def may_start_before(end_of_file: Source, end: int) -> bool:
    """Whether the frame whose fence ends at `end` may start before this part of its file."""
    fence = end - len(FENCE)
    if fence < LEAST_FRAME:
        return True
    size = u4(end_of_file, fence - 8)
    return end_of_file.view(fence, end) == FENCE and not size % 4 and size > fence - len(FENCE)


def is_newer_layout(source: Source) -> bool:
    """Whether the first frame ends as layout 0.40 writes it: with its length right before the fence."""
    if source.size < 2 * len(FENCE) + 4:
        return False
    size = u4(source, len(FENCE))
    end = len(FENCE) + size
    if size < LEAST_FRAME or end + len(FENCE) > source.size or source.view(end, end + len(FENCE)) != FENCE:
        return False
    return u4(source, end - 8) != size == u4(source, end - 4)
