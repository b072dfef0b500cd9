"""The reverse scan of RBF [R-REVERSE-SCAN-ALGORITHM], over a block of the file at a time.

It leaves out checksums: between `check_frames` and `walk_back`, one call checks those of a whole block.
"""

import cython

if not cython.compiled:
    from thawline.generated.kernels.constants import (
        RBF_FILE_ENTRY_FENCE_SIZE,
        RBF_FILE_ENTRY_FENCE_WORD,
        RBF_FRAME_LEN_FRAME_MIN,
        RBF_FRAME_LEN_FRAME_STEP,
        RBF_FRAME_LEN_TAIL_BACK,
    )
    from thawline.generated.kernels.probes import _rbf_frames_at
    from thawline.native.constants.rbf import (
        STRETCH_CELLS,
        STRETCH_END,
        STRETCH_FRAMES,
        STRETCH_START,
    )


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _u4(buf: cython.const[cython.uchar][::1], at: cython.longlong) -> cython.longlong:
    """An unsigned little-endian integer of four bytes."""
    return (
        buf[at]
        | (cython.cast(cython.longlong, buf[at + 1]) << 8)
        | (cython.cast(cython.longlong, buf[at + 2]) << 16)
        | (cython.cast(cython.longlong, buf[at + 3]) << 24)
    )


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _is_fence(buf: cython.const[cython.uchar][::1], at: cython.longlong) -> cython.bint:
    """Whether a fence starts here."""
    return _u4(buf, at) == RBF_FILE_ENTRY_FENCE_WORD


def find_fences(
    buf: cython.const[cython.uchar][::1], start: cython.longlong, end: cython.longlong, fences: cython.longlong[::1]
):
    """Find aligned fences in `[start, end)`, in rising order, while there is room; returns how many there are."""
    found: cython.longlong = 0
    pos: cython.longlong = (start + RBF_FRAME_LEN_FRAME_STEP - 1) // RBF_FRAME_LEN_FRAME_STEP * RBF_FRAME_LEN_FRAME_STEP
    room: cython.longlong = fences.shape[0]
    with cython.nogil:
        while pos + RBF_FILE_ENTRY_FENCE_SIZE <= end and found < room:
            if _is_fence(buf, pos):
                fences[found] = pos
                found += 1
            pos += RBF_FRAME_LEN_FRAME_STEP
    return found


def check_frames(
    buf: cython.const[cython.uchar][::1],
    fences: cython.const[cython.longlong][::1],
    count: cython.longlong,
    starts: cython.longlong[::1],
    state: cython.longlong[::1],
):
    """Find the start of the frame before each fence, if it passes every check but the checksum; else -1.

    `state` is that of the probe of frames.
    """
    index: cython.longlong = 0
    end: cython.longlong
    size: cython.longlong
    start: cython.longlong
    with cython.nogil:
        while index < count:
            end = fences[index]
            starts[index] = -1
            if end >= RBF_FILE_ENTRY_FENCE_SIZE + RBF_FRAME_LEN_FRAME_MIN:
                size = _u4(buf, end - RBF_FRAME_LEN_TAIL_BACK)
                start = end - size
                if (
                    start >= RBF_FILE_ENTRY_FENCE_SIZE
                    and _is_fence(buf, start - RBF_FILE_ENTRY_FENCE_SIZE)
                    and _u4(buf, start) == size
                    and _rbf_frames_at(buf, start, end + RBF_FILE_ENTRY_FENCE_SIZE, state)
                    == size + RBF_FILE_ENTRY_FENCE_SIZE
                ):
                    starts[index] = start
            index += 1


def walk_back(
    fences: cython.const[cython.longlong][::1],
    starts: cython.const[cython.longlong][::1],
    count: cython.longlong,
    position: cython.longlong,
    frames: cython.longlong[::1],
):
    """Find the fences that end a frame, by index, from the last fence at or before `position` back to the first.

    After a frame comes the one that ends at the fence before it; without a frame, the next fence below
    [R-RESYNC-BEHAVIOR]. Returns the number of frames, and the position to continue from below these fences.
    """
    index: cython.longlong = count - 1
    found: cython.longlong = 0
    with cython.nogil:
        while index >= 0:
            if fences[index] <= position:
                if starts[index] >= 0:
                    frames[found] = index
                    found += 1
                    position = starts[index] - RBF_FILE_ENTRY_FENCE_SIZE
                else:
                    position = fences[index] - RBF_FILE_ENTRY_FENCE_SIZE
            index -= 1
    return found, position


def join_back(
    fences: cython.const[cython.longlong][::1],
    starts: cython.const[cython.longlong][::1],
    frames: cython.const[cython.longlong][::1],
    count: cython.longlong,
    stretches: cython.longlong[::1],
):
    """Join frames that follow one another into stretches, the last one first; returns the number of stretches.

    `frames` are those that `walk_back` found. A stretch has a start, an end and a number of frames.
    """
    found: cython.longlong = 0
    cell: cython.longlong
    index: cython.longlong = 0
    start: cython.longlong
    end: cython.longlong
    with cython.nogil:
        while index < count:
            start = starts[frames[index]]
            end = fences[frames[index]] + RBF_FILE_ENTRY_FENCE_SIZE
            cell = STRETCH_CELLS * (found - 1)
            if found and stretches[cell + STRETCH_START] == end:
                stretches[cell + STRETCH_START] = start
                stretches[cell + STRETCH_FRAMES] += 1
            else:
                cell += STRETCH_CELLS
                stretches[cell + STRETCH_START] = start
                stretches[cell + STRETCH_END] = end
                stretches[cell + STRETCH_FRAMES] = 1
                found += 1
            index += 1
    return found
