"""JSON found in a buffer by place, checked strictly, without an object for any of it.

A function that reads a value returns the position behind it, or `~position` (below zero) of the byte that no JSON
document has there. White space, numbers, escapes, surrogate pairs and UTF-8 are held to RFC 8259 and RFC 3629; nesting
is bounded by a stack of bytes, so nothing recurses.
"""

import cython

if cython.compiled:
    from cython.cimports.libc.string import memcpy

DEEPEST = cython.declare(cython.int, 128)  # arrays and objects inside one another: what serde_json reads


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _json_blank(
    p: cython.pointer(cython.const[cython.uchar]), pos: cython.longlong, end: cython.longlong
) -> cython.longlong:
    """Position behind white space."""
    while pos < end and p[pos] <= 32 and (p[pos] == 32 or p[pos] == 10 or p[pos] == 13 or p[pos] == 9):
        pos += 1
    return pos


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _json_plain(
    p: cython.pointer(cython.const[cython.uchar]), pos: cython.longlong, end: cython.longlong
) -> cython.longlong:
    """Position of the first byte that is not a plain character: a quote, a backslash, a control, or not ASCII."""
    word: cython.ulonglong = 0
    marks: cython.ulonglong
    quote: cython.ulonglong
    slash: cython.ulonglong
    ones: cython.ulonglong = 0x0101010101010101
    tops: cython.ulonglong = 0x8080808080808080
    if cython.compiled:
        while pos + 8 <= end:
            memcpy(cython.address(word), p + pos, 8)
            quote = word ^ (ones * 34)
            slash = word ^ (ones * 92)
            # Below the lowest mark all are right; above it a borrow may have set one too many.
            marks = ((word - ones * 32) | (quote - ones) | (slash - ones) | word) & tops
            if marks:
                return pos + cython.cast(cython.longlong, ((((marks & (0 - marks)) - 1) & ones) * ones) >> 56) - 1
            pos += 8
    while pos < end and 32 <= p[pos] < 128 and p[pos] != 34 and p[pos] != 92:
        pos += 1
    return pos


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _json_utf8(
    p: cython.pointer(cython.const[cython.uchar]), pos: cython.longlong, end: cython.longlong
) -> cython.longlong:
    """Size of the UTF-8 sequence that starts here, which is not ASCII; 0 if it is none (RFC 3629, section 4)."""
    first: cython.int = p[pos]
    low: cython.int = 128
    high: cython.int = 191
    size: cython.longlong = 2 if first < 224 else 3 if first < 240 else 4
    i: cython.longlong = 2
    if first < 194 or first > 244 or pos + size > end:
        return 0
    if first == 224:
        low = 160
    elif first == 237:
        high = 159
    elif first == 240:
        low = 144
    elif first == 244:
        high = 143
    if p[pos + 1] < low or p[pos + 1] > high:
        return 0
    while i < size:
        if p[pos + i] < 128 or p[pos + i] > 191:
            return 0
        i += 1
    return size


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _json_hex(
    p: cython.pointer(cython.const[cython.uchar]), pos: cython.longlong, end: cython.longlong
) -> cython.longlong:
    r"""Value of the escape `\uXXXX` that starts here, or -1."""
    value: cython.longlong = 0
    i: cython.longlong = 2
    byte: cython.longlong
    if pos + 6 > end or p[pos] != 92 or p[pos + 1] != 117:
        return -1
    while i < 6:
        byte = p[pos + i]
        if 48 <= byte <= 57:
            byte -= 48
        elif 97 <= byte <= 102 or 65 <= byte <= 70:
            byte = (byte & 31) + 9
        else:
            return -1
        value = value * 16 + byte
        i += 1
    return value


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _json_escape(
    p: cython.pointer(cython.const[cython.uchar]), pos: cython.longlong, end: cython.longlong
) -> cython.longlong:
    """Size of the escape that starts here; 0 if it is none, or half a surrogate pair."""
    byte: cython.int
    value: cython.longlong
    if pos + 2 > end:
        return 0
    byte = p[pos + 1]
    if byte in (34, 92, 47, 98, 102, 110, 114, 116):
        return 2
    value = _json_hex(p, pos, end)
    if value < 0 or 0xDC00 <= value <= 0xDFFF:
        return 0
    if value < 0xD800 or value > 0xDFFF:
        return 6
    value = _json_hex(p, pos + 6, end)
    return 12 if 0xDC00 <= value <= 0xDFFF else 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _json_string(
    p: cython.pointer(cython.const[cython.uchar]), pos: cython.longlong, end: cython.longlong
) -> cython.longlong:
    """Twice the position of the quote that ends the text which starts here, plus 1 if it has escapes."""
    escaped: cython.longlong = 0
    size: cython.longlong
    while True:
        pos = _json_plain(p, pos, end)
        if pos >= end or p[pos] < 32:
            return ~pos
        if p[pos] == 34:
            return 2 * pos + escaped
        if p[pos] == 92:
            escaped = 1
            size = _json_escape(p, pos, end)
        else:
            size = _json_utf8(p, pos, end)
        if size == 0:
            return ~pos
        pos += size


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _json_digits(
    p: cython.pointer(cython.const[cython.uchar]), pos: cython.longlong, end: cython.longlong
) -> cython.longlong:
    """Position behind one or more digits."""
    start: cython.longlong = pos
    while pos < end and 48 <= p[pos] <= 57:
        pos += 1
    return pos if pos > start else ~pos


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _json_number(
    p: cython.pointer(cython.const[cython.uchar]), pos: cython.longlong, end: cython.longlong
) -> cython.longlong:
    """Position behind the number that starts here."""
    if pos < end and p[pos] == 45:
        pos += 1
    if pos < end and p[pos] == 48:
        pos += 1
    else:
        pos = _json_digits(p, pos, end)
    if 0 <= pos < end and p[pos] == 46:
        pos = _json_digits(p, pos + 1, end)
    if 0 <= pos < end and (p[pos] == 101 or p[pos] == 69):
        pos += 1
        if pos < end and (p[pos] == 43 or p[pos] == 45):
            pos += 1
        pos = _json_digits(p, pos, end)
    return pos


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _json_word(
    p: cython.pointer(cython.const[cython.uchar]), pos: cython.longlong, end: cython.longlong
) -> cython.longlong:
    """Position behind `true`, `false` or `null`."""
    if pos + 4 <= end and p[pos + 1] == 114 and p[pos] == 116 and p[pos + 2] == 117 and p[pos + 3] == 101:
        return pos + 4
    if pos + 4 <= end and p[pos + 1] == 117 and p[pos] == 110 and p[pos + 2] == 108 and p[pos + 3] == 108:
        return pos + 4
    if pos + 5 <= end and p[pos] == 102 and p[pos + 1] == 97 and p[pos + 2] == 108 and p[pos + 3] == 115:
        return pos + 5 if p[pos + 4] == 101 else ~(pos + 4)
    return ~pos


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _json_scalar(
    p: cython.pointer(cython.const[cython.uchar]), pos: cython.longlong, end: cython.longlong
) -> cython.longlong:
    """Position behind the text, number or word that starts here."""
    if pos >= end:
        return ~pos
    if p[pos] == 34:
        pos = _json_string(p, pos + 1, end)
        return pos if pos < 0 else (pos >> 1) + 1
    if p[pos] == 45 or 48 <= p[pos] <= 57:
        return _json_number(p, pos, end)
    return _json_word(p, pos, end)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _json_colon(
    p: cython.pointer(cython.const[cython.uchar]), pos: cython.longlong, end: cython.longlong
) -> cython.longlong:
    """Position of the value behind the colon that comes next."""
    pos = _json_blank(p, pos, end)
    if pos >= end or p[pos] != 58:
        return ~pos
    return _json_blank(p, pos + 1, end)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _json_key(
    p: cython.pointer(cython.const[cython.uchar]), pos: cython.longlong, end: cython.longlong
) -> cython.longlong:
    """Position of the value whose key starts here."""
    if pos >= end or p[pos] != 34:
        return ~pos
    pos = _json_string(p, pos + 1, end)
    return pos if pos < 0 else _json_colon(p, (pos >> 1) + 1, end)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _json_close(
    p: cython.pointer(cython.const[cython.uchar]),
    pos: cython.longlong,
    end: cython.longlong,
    depth: cython.longlong,
    base: cython.longlong,
    stack: cython.pointer(cython.uchar),
) -> cython.longlong:
    """Position of the next value, or behind the last one, from behind a value; `stack[0]` becomes the depth there."""
    while depth > base:
        pos = _json_blank(p, pos, end)
        if pos < end and p[pos] == 44:
            pos = _json_blank(p, pos + 1, end)
            stack[0] = cython.cast(cython.uchar, depth)
            return _json_key(p, pos, end) if stack[depth] == 123 else pos
        if pos >= end or p[pos] != stack[depth] + 2:  # ] and } stand two behind [ and {
            return ~pos
        pos += 1
        depth -= 1
    stack[0] = cython.cast(cython.uchar, depth)
    return pos


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _json_skip(
    p: cython.pointer(cython.const[cython.uchar]),
    pos: cython.longlong,
    end: cython.longlong,
    base: cython.longlong,
    stack: cython.pointer(cython.uchar),
) -> cython.longlong:
    """Position behind the value that starts here, `base` levels deep; `stack` has room for `DEEPEST` and one more."""
    depth: cython.longlong = base
    opening: cython.uchar
    while True:
        if pos < end and (p[pos] == 123 or p[pos] == 91):
            if depth >= DEEPEST:
                return ~pos
            opening = p[pos]
            depth += 1
            stack[depth] = opening
            pos = _json_blank(p, pos + 1, end)
            if pos >= end or p[pos] != opening + 2:
                if opening == 123:
                    pos = _json_key(p, pos, end)
                    if pos < 0:
                        return pos
                continue
        else:
            pos = _json_scalar(p, pos, end)
            if pos < 0:
                return pos
        pos = _json_close(p, pos, end, depth, base, stack)
        if pos < 0:
            return pos
        depth = stack[0]
        if depth == base:
            return pos


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _json_encode(value: cython.longlong, out: cython.pointer(cython.uchar), at: cython.longlong) -> cython.longlong:
    """Write a character as UTF-8; the place behind it."""
    if value < 0x80:
        out[at] = cython.cast(cython.uchar, value)
        return at + 1
    if value < 0x800:
        out[at] = cython.cast(cython.uchar, 192 | value >> 6)
    else:
        if value < 0x10000:
            out[at] = cython.cast(cython.uchar, 224 | value >> 12)
        else:
            out[at] = cython.cast(cython.uchar, 240 | value >> 18)
            at += 1
            out[at] = cython.cast(cython.uchar, 128 | (value >> 12 & 63))
        at += 1
        out[at] = cython.cast(cython.uchar, 128 | (value >> 6 & 63))
    out[at + 1] = cython.cast(cython.uchar, 128 | (value & 63))
    return at + 2


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _json_escaped(
    p: cython.pointer(cython.const[cython.uchar]), pos: cython.longlong, end: cython.longlong
) -> cython.longlong:
    """The character that an escape stands for, which is known to be a right one."""
    value: cython.longlong = p[pos + 1]
    if value == 117:
        value = _json_hex(p, pos, end)
        if 0xD800 <= value <= 0xDBFF:
            value = 0x10000 + ((value - 0xD800) << 10) + (_json_hex(p, pos + 6, end) - 0xDC00)
    elif value == 110:
        value = 10
    elif value == 116:
        value = 9
    elif value == 114:
        value = 13
    elif value == 98:
        value = 8
    elif value == 102:
        value = 12
    return value


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _json_unescape(
    p: cython.pointer(cython.const[cython.uchar]),
    pos: cython.longlong,
    end: cython.longlong,
    out: cython.pointer(cython.uchar),
    at: cython.longlong,
) -> cython.longlong:
    """Write text, which is known to be right, without its escapes; the place behind it. It never grows."""
    while pos < end:
        if p[pos] == 92:
            at = _json_encode(_json_escaped(p, pos, end), out, at)
            pos += _json_escape(p, pos, end)
        else:
            out[at] = p[pos]
            at += 1
            pos += 1
    return at


def gather_json(
    buf: cython.const[cython.uchar][::1],
    starts: cython.const[cython.longlong][::1],
    lengths: cython.const[cython.int][::1],
    rows: cython.longlong,
    offsets: cython.int[::1],
    data: cython.uchar[::1],
    valid: cython.uchar[::1],
):
    """Copy texts of JSON, which are known to be right, without their escapes; -1 is null. Returns how many are."""
    row: cython.longlong = 0
    at: cython.longlong = 0
    nulls: cython.longlong = 0
    p: cython.pointer(cython.const[cython.uchar])
    out: cython.pointer(cython.uchar)
    offsets[0] = 0
    if rows == 0 or buf.shape[0] == 0:
        return 0
    if cython.compiled:
        p = cython.address(buf[0])
        out = cython.address(data[0])
    else:
        p = buf
        out = data
    with cython.nogil:
        while row < rows:
            if row & 7 == 0:
                valid[row >> 3] = 0
            if lengths[row] >= 0:
                at = _json_unescape(p, starts[row], starts[row] + lengths[row], out, at)
                valid[row >> 3] |= cython.cast(cython.uchar, 1 << (row & 7))
            else:
                nulls += 1
            row += 1
            offsets[row] = cython.cast(cython.int, at)
    return nulls
