"""The reverse scan of RBF [R-REVERSE-SCAN-ALGORITHM], over a block of the file at a time.

The checksum is left out here: whole blocks of frames are checked with one call between `check_frames` and `walk_back`.
"""

import cython


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _u4(buf: cython.const[cython.uchar][::1], at: cython.longlong) -> cython.longlong:
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
    return _u4(buf, at) == 0x31464252  # RBF1


def find_fences(
    buf: cython.const[cython.uchar][::1], start: cython.longlong, end: cython.longlong, fences: cython.longlong[::1]
):
    """Positions of aligned fences in `[start, end)`, rising; returns how many, at most as many as there is room for."""
    found: cython.longlong = 0
    pos: cython.longlong = (start + 3) // 4 * 4
    room: cython.longlong = fences.shape[0]
    with cython.nogil:
        while pos + 4 <= end and found < room:
            if _is_fence(buf, pos):
                fences[found] = pos
                found += 1
            pos += 4
    return found


def check_frames(
    buf: cython.const[cython.uchar][::1],
    fences: cython.const[cython.longlong][::1],
    count: cython.longlong,
    starts: cython.longlong[::1],
):
    """Where the frame before each fence starts, if it passes every test but the checksum; else -1."""
    index: cython.longlong = 0
    end: cython.longlong
    size: cython.longlong
    start: cython.longlong
    status: cython.longlong
    i: cython.longlong
    with cython.nogil:
        while index < count:
            end = fences[index]
            starts[index] = -1
            if end >= 24:
                size = _u4(buf, end - 8)
                start = end - size
                if (
                    size >= 20
                    and size % 4 == 0
                    and start >= 4
                    and _is_fence(buf, start - 4)
                    and _u4(buf, start) == size
                ):
                    status = buf[end - 9]
                    i = 1
                    while i <= (status & 3) and buf[end - 9 - i] == status:
                        i += 1
                    if (status & 124) == 0 and i > (status & 3):
                        starts[index] = start
            index += 1


def walk_back(
    fences: cython.const[cython.longlong][::1],
    starts: cython.const[cython.longlong][::1],
    count: cython.longlong,
    position: cython.longlong,
    frames: cython.longlong[::1],
):
    """Indices of the fences that end a frame, from the last fence at or before `position` back to the first.

    A frame is followed by the one that ends at the fence before it; where there is none, by the next fence below
    [R-RESYNC-BEHAVIOR]. Returns how many frames there are, and the position to go on from below these fences.
    """
    index: cython.longlong = count - 1
    found: cython.longlong = 0
    with cython.nogil:
        while index >= 0:
            if fences[index] <= position:
                if starts[index] >= 0:
                    frames[found] = index
                    found += 1
                    position = starts[index] - 4
                else:
                    position = fences[index] - 4
            index -= 1
    return found, position


def join_back(
    fences: cython.const[cython.longlong][::1],
    starts: cython.const[cython.longlong][::1],
    frames: cython.const[cython.longlong][::1],
    count: cython.longlong,
    stretches: cython.longlong[::1],
):
    """Stretches of frames that follow one another, last one first: start, end and number of frames of each.

    `frames` are those that `walk_back` found. Returns how many stretches there are.
    """
    found: cython.longlong = 0
    index: cython.longlong = 0
    start: cython.longlong
    end: cython.longlong
    with cython.nogil:
        while index < count:
            start = starts[frames[index]]
            end = fences[frames[index]] + 4
            if found and stretches[3 * found - 3] == end:
                stretches[3 * found - 3] = start
                stretches[3 * found - 1] += 1
            else:
                stretches[3 * found] = start
                stretches[3 * found + 1] = end
                stretches[3 * found + 2] = 1
                found += 1
            index += 1
    return found
