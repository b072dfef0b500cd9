"""Single values of Aerospike backups: whether text, doubles and sketches are what they should be; base-64 decoded."""

import cython

if cython.compiled:
    from cython.cimports.libc.string import memcpy

BASE64_ALPHABET = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
SIXES = bytes(BASE64_ALPHABET.find(byte) if byte in BASE64_ALPHABET else 64 for byte in range(256))
"""Values of base-64 characters, 64 for every other byte."""


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _is_utf8(buf: cython.const[cython.uchar][::1], pos: cython.longlong, end: cython.longlong) -> cython.bint:
    """Whether bytes are UTF-8, without surrogates and in the shortest form."""
    byte: cython.int
    more: cython.int
    low: cython.int
    high: cython.int
    word: cython.ulonglong = 0
    tops: cython.ulonglong = 0x40404040
    tops = (tops << 1) | (tops << 33)
    while pos < end:
        if cython.compiled and end - pos >= 8:
            # Most text is ASCII, which shows eight bytes at a time.
            memcpy(cython.address(word), cython.address(buf[pos]), 8)
            if word & tops == 0:
                pos += 8
                continue
        byte = buf[pos]
        pos += 1
        if byte < 0x80:
            continue
        low = 0x80
        high = 0xBF
        if byte < 0xC2 or byte > 0xF4:
            return False
        more = 1
        if byte >= 0xE0:
            more = 2
            if byte == 0xE0:
                low = 0xA0
            elif byte == 0xED:
                high = 0x9F
        if byte >= 0xF0:
            more = 3
            if byte == 0xF0:
                low = 0x90
            elif byte == 0xF4:
                high = 0x8F
        if more > end - pos:
            return False
        while more > 0:
            if buf[pos] < low or buf[pos] > high:
                return False
            low = 0x80
            high = 0xBF
            pos += 1
            more -= 1
    return True


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _decode_base64(
    sixes: cython.const[cython.uchar][::1],
    buf: cython.const[cython.uchar][::1],
    pos: cython.longlong,
    end: cython.longlong,
    out: cython.uchar[::1],
    at: cython.longlong,
) -> cython.longlong:
    """Where decoded bytes end in `out`; -1 where length, characters or padding are wrong."""
    a: cython.int
    b: cython.int
    c: cython.int
    d: cython.int
    if (end - pos) % 4:
        return -1
    while pos < end:
        a = sixes[buf[pos]]
        b = sixes[buf[pos + 1]]
        c = sixes[buf[pos + 2]]
        d = sixes[buf[pos + 3]]
        if (a | b | c | d) >= 64:
            break
        out[at] = cython.cast(cython.uchar, (a << 2 | b >> 4) & 255)
        out[at + 1] = cython.cast(cython.uchar, (b << 4 | c >> 2) & 255)
        out[at + 2] = cython.cast(cython.uchar, (c << 6 | d) & 255)
        at += 3
        pos += 4
    if pos == end:
        return at
    if pos + 4 != end or buf[pos + 3] != 61 or (a | b) >= 64:
        return -1
    out[at] = cython.cast(cython.uchar, (a << 2 | b >> 4) & 255)
    if buf[pos + 2] == 61:
        return at + 1
    if c >= 64:
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
    if end - pos < 11:
        return False
    index_bits = buf[pos + 1]
    minhash_bits = buf[pos + 2]
    if index_bits < 4 or index_bits > 16 or index_bits + minhash_bits > 64:
        return False
    if minhash_bits != 0 and (minhash_bits < 4 or minhash_bits > 51):
        return False
    one: cython.longlong = 1
    return end - pos == 11 + ((6 + minhash_bits) * (one << index_bits) + 7) // 8


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _is_usual_double(buf: cython.const[cython.uchar][::1], pos: cython.longlong, end: cython.longlong) -> cython.bint:
    """Whether a double is written as one of the tools writes it, in digits that both read to the same number."""
    digits: cython.longlong = 0
    first: cython.int
    if end - pos > 26 or pos >= end:
        return False
    if buf[pos] == 45 or buf[pos] == 43:
        pos += 1
    if end - pos == 3 and not (48 <= buf[pos] <= 57):
        first = buf[pos]
        if first == 110 or first == 78:  # nan and NaN; a plus or minus before it is for a closer look
            return buf[pos + 1] == 97 and (buf[pos + 2] == first)
        return (first == 105 or first == 73) and buf[pos + 1] == 110 and buf[pos + 2] == 102
    while pos < end and 48 <= buf[pos] <= 57:
        pos += 1
        digits += 1
    if pos < end and buf[pos] == 46:
        pos += 1
        while pos < end and 48 <= buf[pos] <= 57:
            pos += 1
            digits += 1
    if digits == 0:
        return False
    if pos < end and buf[pos] == 101:
        pos += 1
        if pos < end and (buf[pos] == 45 or buf[pos] == 43):
            pos += 1
        digits = 0
        while pos < end and 48 <= buf[pos] <= 57:
            pos += 1
            digits += 1
        if digits == 0 or digits > 2:  # three may be too many for a double
            return False
    return pos == end


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _has_byte(
    buf: cython.const[cython.uchar][::1], pos: cython.longlong, end: cython.longlong, byte: cython.int
) -> cython.bint:
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
    """Copy bytes; where they end."""
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
    """Whether a bit is set; an empty bitmap has all of them set."""
    return bitmap.shape[0] == 0 or (bitmap[row >> 3] >> (row & 7)) & 1
