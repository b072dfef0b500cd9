"""Single values of Aerospike backups: base-64 decoded, doubles and sketches checked."""

import cython

if cython.compiled:
    from cython.cimports.libc.string import memcpy
else:
    from thawline.native.constants.aerospike import (
        EXPONENT_DIGITS,
        LEAST_INDEX_BITS,
        LEAST_MINHASH_BITS,
        LONGEST_DOUBLE,
        MOST_INDEX_BITS,
        MOST_MINHASH_BITS,
        MOST_SKETCH_BITS,
        NOT_A_SEXTET,
        REGISTER_BITS,
        SKETCH_HEAD,
        WORD_OF_DOUBLE,
    )
    from thawline.native.constants.characters import (
        DIGIT_0,
        DIGIT_9,
        EQUALS,
        LOWER_A,
        LOWER_E,
        LOWER_F,
        LOWER_I,
        LOWER_N,
        MINUS,
        PLUS,
        POINT,
        UPPER_I,
        UPPER_N,
    )
    from thawline.native.sources.gather import BASE64

SEXTET_OF = bytes(BASE64.find(byte) if byte in BASE64 else NOT_A_SEXTET for byte in range(256))
"""Values of base-64 characters; `NOT_A_SEXTET` for every other byte."""


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _decode_base64(
    sextet_of: cython.const[cython.uchar][::1],
    buf: cython.const[cython.uchar][::1],
    pos: cython.longlong,
    end: cython.longlong,
    out: cython.uchar[::1],
    at: cython.longlong,
) -> cython.longlong:
    """Decode base-64; returns the place after the bytes in `out`, or -1 if length, characters or padding are wrong."""
    a: cython.int
    b: cython.int
    c: cython.int
    d: cython.int
    if (end - pos) % 4:
        return -1
    while pos < end:
        a = sextet_of[buf[pos]]
        b = sextet_of[buf[pos + 1]]
        c = sextet_of[buf[pos + 2]]
        d = sextet_of[buf[pos + 3]]
        if (a | b | c | d) >= NOT_A_SEXTET:
            break
        out[at] = cython.cast(cython.uchar, (a << 2 | b >> 4) & 255)
        out[at + 1] = cython.cast(cython.uchar, (b << 4 | c >> 2) & 255)
        out[at + 2] = cython.cast(cython.uchar, (c << 6 | d) & 255)
        at += 3
        pos += 4
    if pos == end:
        return at
    if pos + 4 != end or buf[pos + 3] != EQUALS or (a | b) >= NOT_A_SEXTET:
        return -1
    out[at] = cython.cast(cython.uchar, (a << 2 | b >> 4) & 255)
    if buf[pos + 2] == EQUALS:
        return at + 1
    if c >= NOT_A_SEXTET:
        return -1
    out[at + 1] = cython.cast(cython.uchar, (b << 4 | c >> 2) & 255)
    return at + 2


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _is_sketch(buf: cython.const[cython.uchar][::1], pos: cython.longlong, end: cython.longlong) -> cython.bint:
    """Whether a HyperLogLog has a possible geometry and the size that it takes (particle_hll.c of the server)."""
    index_bits: cython.longlong
    minhash_bits: cython.longlong
    if end - pos < SKETCH_HEAD:
        return False
    index_bits = buf[pos + 1]
    minhash_bits = buf[pos + 2]
    if not LEAST_INDEX_BITS <= index_bits <= MOST_INDEX_BITS or index_bits + minhash_bits > MOST_SKETCH_BITS:
        return False
    if minhash_bits != 0 and not LEAST_MINHASH_BITS <= minhash_bits <= MOST_MINHASH_BITS:
        return False
    one: cython.longlong = 1
    return end - pos == SKETCH_HEAD + ((REGISTER_BITS + minhash_bits) * (one << index_bits) + 7) // 8


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _is_usual_double(buf: cython.const[cython.uchar][::1], pos: cython.longlong, end: cython.longlong) -> cython.bint:
    """Whether a double is written as one of the tools writes it, so that both read the same number."""
    digits: cython.longlong = 0
    first: cython.int
    if end - pos > LONGEST_DOUBLE or pos >= end:
        return False
    if buf[pos] == MINUS or buf[pos] == PLUS:
        pos += 1
    if end - pos == WORD_OF_DOUBLE and not (DIGIT_0 <= buf[pos] <= DIGIT_9):
        first = buf[pos]
        if first in (LOWER_N, UPPER_N):  # nan and NaN
            return buf[pos + 1] == LOWER_A and buf[pos + 2] == first
        return first in (LOWER_I, UPPER_I) and buf[pos + 1] == LOWER_N and buf[pos + 2] == LOWER_F
    while pos < end and DIGIT_0 <= buf[pos] <= DIGIT_9:
        pos += 1
        digits += 1
    if pos < end and buf[pos] == POINT:
        pos += 1
        while pos < end and DIGIT_0 <= buf[pos] <= DIGIT_9:
            pos += 1
            digits += 1
    if digits == 0:
        return False
    if pos < end and buf[pos] == LOWER_E:
        pos += 1
        if pos < end and (buf[pos] == MINUS or buf[pos] == PLUS):
            pos += 1
        digits = 0
        while pos < end and DIGIT_0 <= buf[pos] <= DIGIT_9:
            pos += 1
            digits += 1
        if digits == 0 or digits > EXPONENT_DIGITS:
            return False
    return pos == end


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _has_byte(
    buf: cython.const[cython.uchar][::1], pos: cython.longlong, end: cython.longlong, byte: cython.int
) -> cython.bint:
    """Whether a byte is in `[pos, end)`."""
    while pos < end:
        if buf[pos] == byte:
            return True
        pos += 1
    return False


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _copied(
    buf: cython.const[cython.uchar][::1],
    start: cython.longlong,
    size: cython.longlong,
    out: cython.uchar[::1],
    at: cython.longlong,
) -> cython.longlong:
    """Copy bytes; returns the place after them."""
    i: cython.longlong = 0
    if cython.compiled:
        if size > 0:
            memcpy(cython.address(out[at]), cython.address(buf[start]), size)
    else:
        while i < size:
            out[at + i] = buf[start + i]
            i += 1
    return at + size


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _is_set(bitmap: cython.const[cython.uchar][::1], row: cython.longlong) -> cython.bint:
    """Whether a row's bit is set; an empty bitmap has all bits set."""
    return bitmap.shape[0] == 0 or (bitmap[row >> 3] >> (row & 7)) & 1
