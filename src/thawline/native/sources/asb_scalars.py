"""Single values of Aerospike backups: base-64 decoded; doubles, sketches, names and heads checked."""

import cython

if cython.compiled:
    from cython.cimports.libc.string import memcpy
else:
    from thawline.generated.kernels.constants import (
        AEROSPIKE_RECORD_BIN_NAME_LONGEST,
        AEROSPIKE_RECORD_EXPIRATION_MOST,
        AEROSPIKE_RECORD_NAMESPACE_LONGEST,
        AEROSPIKE_RECORD_SET_LONGEST,
        BIN_TYPE_NIL,
    )
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
        BACKSLASH,
        DIGIT_0,
        DIGIT_9,
        EQUALS,
        LOWER_A,
        LOWER_E,
        LOWER_F,
        LOWER_I,
        LOWER_N,
        MINUS,
        NUL,
        PLUS,
        POINT,
        SPACE,
        UPPER_I,
        UPPER_N,
    )
    from thawline.native.constants.kernels import ESCAPED_LENGTH, NULL_LENGTH
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


# What tools accept.


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _token_end(start: cython.longlong, length: cython.longlong) -> cython.longlong:
    """Position after a token, with escapes or without."""
    return start + length if length >= 0 else start + ESCAPED_LENGTH - length


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _is_sound_token(
    buf: cython.const[cython.uchar][::1], start: cython.longlong, length: cython.longlong, most: cython.longlong
) -> cython.bint:
    """Whether a token without its backslashes has at most `most` bytes and no NUL; a null has neither."""
    size: cython.longlong = 0
    end: cython.longlong = start if length == NULL_LENGTH else _token_end(start, length)
    while start < end:
        if length < 0 and buf[start] == BACKSLASH:
            start += 1
        if buf[start] == NUL:
            return False
        start += 1
        size += 1
    return size <= most


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _is_sound_name(
    buf: cython.const[cython.uchar][::1], letter: cython.longlong, start: cython.longlong, length: cython.longlong
) -> cython.bint:
    """Whether both tools accept the name of a bin."""
    if not _is_sound_token(buf, start, length, AEROSPIKE_RECORD_BIN_NAME_LONGEST):
        return False
    if letter != BIN_TYPE_NIL:
        return True
    # A tool may read the text after a space as a value, which a nil bin does not have.
    return not _has_byte(buf, start, _token_end(start, length), SPACE)


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _is_sound_head(
    namespaces: cython.const[cython.uchar][::1],
    namespace: cython.longlong,
    namespace_length: cython.longlong,
    sets: cython.const[cython.uchar][::1],
    found_set: cython.longlong,
    set_length: cython.longlong,
    expiration: cython.longlong,
) -> cython.bint:
    """Whether both tools accept the namespace, the set and the expiration of a record."""
    return (
        _is_sound_token(namespaces, namespace, namespace_length, AEROSPIKE_RECORD_NAMESPACE_LONGEST)
        and _is_sound_token(sets, found_set, set_length, AEROSPIKE_RECORD_SET_LONGEST)
        and expiration <= AEROSPIKE_RECORD_EXPIRATION_MOST
    )
