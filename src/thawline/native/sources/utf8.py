"""UTF-8 (RFC 3629): checked, and written."""

import cython

if cython.compiled:
    from cython.cimports.libc.string import memcpy
else:
    from thawline.native.constants.characters import (
        FIRST_IN_PAIRS,
        UTF8_FOUR,
        UTF8_FOUR_TAIL,
        UTF8_LAST,
        UTF8_LAST_TAIL_LAST,
        UTF8_SURROGATES,
        UTF8_SURROGATES_TAIL_LAST,
        UTF8_TAIL,
        UTF8_TAIL_LAST,
        UTF8_THREE,
        UTF8_THREE_TAIL,
        UTF8_TWO,
        UTF8_TWO_END,
    )
    from thawline.native.constants.kernels import WORD


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _utf8_size(
    p: cython.pointer(cython.const[cython.uchar]), pos: cython.longlong, end: cython.longlong
) -> cython.longlong:
    """Size of the sequence that starts here, which is not ASCII; 0 if it is invalid (RFC 3629, section 4)."""
    first: cython.int = p[pos]
    low: cython.int = UTF8_TAIL
    high: cython.int = UTF8_TAIL_LAST
    size: cython.longlong = 2 if first < UTF8_THREE else 3 if first < UTF8_FOUR else 4
    i: cython.longlong = 2
    if first < UTF8_TWO or first > UTF8_LAST or pos + size > end:
        return 0
    if first == UTF8_THREE:
        low = UTF8_THREE_TAIL
    elif first == UTF8_SURROGATES:
        high = UTF8_SURROGATES_TAIL_LAST
    elif first == UTF8_FOUR:
        low = UTF8_FOUR_TAIL
    elif first == UTF8_LAST:
        high = UTF8_LAST_TAIL_LAST
    if p[pos + 1] < low or p[pos + 1] > high:
        return 0
    while i < size:
        if p[pos + i] < UTF8_TAIL or p[pos + i] > UTF8_TAIL_LAST:
            return 0
        i += 1
    return size


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _is_utf8(p: cython.pointer(cython.const[cython.uchar]), pos: cython.longlong, end: cython.longlong) -> cython.bint:
    """Whether all bytes of `[pos, end)` are UTF-8."""
    size: cython.longlong
    word: cython.ulonglong = 0
    # The highest bit of each byte. Cython takes a literal beyond 31 bits for a Python object.
    tops: cython.ulonglong = 0x40404040
    tops = (tops << 1) | (tops << 33)
    while pos < end:
        if cython.compiled and end - pos >= WORD:
            # Most text is ASCII, which eight bytes at a time show.
            memcpy(cython.address(word), p + pos, WORD)
            if word & tops == 0:
                pos += WORD
                continue
        if p[pos] < UTF8_TAIL:
            pos += 1
            continue
        size = _utf8_size(p, pos, end)
        if size == 0:
            return False
        pos += size
    return True


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _put_utf8(value: cython.longlong, out: cython.pointer(cython.uchar), at: cython.longlong) -> cython.longlong:
    """Write a character; returns the place after it."""
    if value < UTF8_TAIL:
        out[at] = cython.cast(cython.uchar, value)
        return at + 1
    if value < UTF8_TWO_END:
        out[at] = cython.cast(cython.uchar, 192 | value >> 6)
    else:
        if value < FIRST_IN_PAIRS:
            out[at] = cython.cast(cython.uchar, UTF8_THREE | value >> 12)
        else:
            out[at] = cython.cast(cython.uchar, UTF8_FOUR | value >> 18)
            at += 1
            out[at] = cython.cast(cython.uchar, UTF8_TAIL | (value >> 12 & 63))
        at += 1
        out[at] = cython.cast(cython.uchar, UTF8_TAIL | (value >> 6 & 63))
    out[at + 1] = cython.cast(cython.uchar, UTF8_TAIL | (value & 63))
    return at + 2
