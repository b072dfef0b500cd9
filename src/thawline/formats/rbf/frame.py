"""One frame by itself: its fence, its lengths at both ends, its status and its checksum.

    HeadLen Tag Payload Status TailLen CRC32C | RBF1

CRC-32C covers all from Tag to TailLen [F-CRC32C-COVERAGE].
"""

from __future__ import annotations

from thawline.checksums import crc32c
from thawline.engine.starts import Starts
from thawline.generated.kernels.constants import (
    RBF_FILE_ENTRY_FENCE,
    RBF_FRAME_CRC32C_BACK,
    RBF_FRAME_CRC32C_INPUT_AT,
    RBF_FRAME_CRC32C_INPUT_REST,
    RBF_FRAME_FRAME_STATUS_NUM_STATUS_MINUS_1_MASK,
    RBF_FRAME_FRAME_STATUS_RESERVED_MASK,
    RBF_FRAME_LAST_STATUS_BACK,
    RBF_FRAME_LEN_FRAME_MIN,
    RBF_FRAME_LEN_FRAME_SIZE,
    RBF_FRAME_LEN_FRAME_STEP,
    RBF_FRAME_LEN_TAIL_BACK,
    RBF_FRAME_PAYLOAD_AT,
)
from thawline.generated.kernels.tables import SYNCS
from thawline.model import Span
from thawline.source import Source

FENCE: bytes = RBF_FILE_ENTRY_FENCE
LEAST_FRAME, ALIGNMENT = RBF_FRAME_LEN_FRAME_MIN, RBF_FRAME_LEN_FRAME_STEP
TAIL_BACK = RBF_FRAME_LEN_TAIL_BACK
"""Bytes from the end of a frame back to TailLen."""
LEAST_TAIL = TAIL_BACK + len(FENCE)
"""TailLen, checksum and fence."""
WORD = RBF_FRAME_LEN_FRAME_SIZE
"""Bytes of every number."""
LONGEST_WRITTEN = 256 << 20
"""Writers make no frame of this size or more (SizedPtr), so a larger HeadLen says nothing."""


def u4(source: Source, at: int) -> int:
    """The number in four bytes of a file."""
    return int.from_bytes(source.view(at, at + WORD), "little")


def can_be_length(size: int) -> bool:
    """Whether a writer makes frames of this size."""
    return LEAST_FRAME <= size < LONGEST_WRITTEN and not size % ALIGNMENT


def has_right_status(view: memoryview, end: int) -> bool:
    """Whether the FrameStatus of the frame that ends at `end` has no reserved bit, and all its bytes are equal."""
    last = end - RBF_FRAME_LAST_STATUS_BACK
    status = view[last]
    more = _more_status(status)
    is_reserved = status & RBF_FRAME_FRAME_STATUS_RESERVED_MASK
    return not is_reserved and view[last - more : last + 1] == bytes([status]) * (more + 1)


def _more_status(last: int) -> int:
    """How many bytes FrameStatus has before its last one, which tells it."""
    mask: int = RBF_FRAME_FRAME_STATUS_NUM_STATUS_MINUS_1_MASK
    return last & mask


def payload_at(source: Source, start: int, end: int) -> Span:
    """Where the payload of a frame is whose status is right [F-STATUSLEN-REVERSE-FORMULA]."""
    last = end - RBF_FRAME_LAST_STATUS_BACK
    return Span(start + RBF_FRAME_PAYLOAD_AT, last - _more_status(source.view(last, last + 1)[0]))


def has_right_checksum(frame: memoryview) -> bool:
    """Whether the checksum of a frame is right."""
    return computed_checksum(frame) == int.from_bytes(frame[-RBF_FRAME_CRC32C_BACK:], "little")


def computed_checksum(frame: memoryview) -> int:
    """The checksum that a frame should have."""
    return crc32c(frame, RBF_FRAME_CRC32C_INPUT_AT, len(frame) - RBF_FRAME_CRC32C_INPUT_REST)


def frame_before(view: memoryview, fence: int) -> int | None:
    """Where the intact frame before a fence starts; None if there is none."""
    if fence < len(FENCE) + LEAST_FRAME:
        return None
    start = fence - int.from_bytes(view[fence - TAIL_BACK : fence - TAIL_BACK + WORD], "little")
    if start < len(FENCE) or view[start - len(FENCE) : start] != FENCE:
        return None
    frame = Starts(SYNCS["rbf_frames"], view[start : fence + len(FENCE)], is_proven=True)
    return start if frame.size_at(0) == fence + len(FENCE) - start else None


def may_start_before(end_of_file: Source, end: int) -> bool:
    """Whether the frame whose fence ends at `end` may start before this part of its file."""
    fence = end - len(FENCE)
    if fence < LEAST_FRAME:
        return True
    size = u4(end_of_file, fence - TAIL_BACK)
    return end_of_file.view(fence, end) == FENCE and not size % ALIGNMENT and size > fence - len(FENCE)


def is_newer_layout(source: Source) -> bool:
    """Whether the first frame ends as layout 0.40 writes it: with its length right before the fence."""
    if source.size < 2 * len(FENCE) + WORD:
        return False
    size = u4(source, len(FENCE))
    end = len(FENCE) + size
    if size < LEAST_FRAME or end + len(FENCE) > source.size or source.view(end, end + len(FENCE)) != FENCE:
        return False
    return u4(source, end - TAIL_BACK) != size == u4(source, end - WORD)
