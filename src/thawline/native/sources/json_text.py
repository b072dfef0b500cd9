"""A strict JSON reader that gives positions in a buffer and makes no objects (RFC 8259).

A function that reads a value returns the position after it, or `~position` (below zero) of the byte that makes it
invalid. A stack of bytes bounds the nesting; nothing recurses.
"""

import cython

if cython.compiled:
    from cython.cimports.libc.string import memcpy
else:
    from thawline.native.constants.characters import (
        BACKSLASH,
        BACKSPACE,
        CARRIAGE_RETURN,
        CLOSING_DISTANCE,
        COLON,
        COMMA,
        DIGIT_0,
        DIGIT_9,
        FIRST_IN_PAIRS,
        FORM_FEED,
        HIGH_SURROGATE,
        LAST_SURROGATE,
        LINE_FEED,
        LOW_SURROGATE,
        LOWER_A,
        LOWER_B,
        LOWER_E,
        LOWER_F,
        LOWER_L,
        LOWER_N,
        LOWER_R,
        LOWER_S,
        LOWER_T,
        LOWER_U,
        MINUS,
        OPENING_BRACE,
        OPENING_BRACKET,
        PLUS,
        POINT,
        QUOTE,
        SHORT_ESCAPE,
        SLASH,
        SPACE,
        TAB,
        UNICODE_ESCAPE,
        UPPER_A,
        UPPER_E,
        UPPER_F,
        UTF8_TAIL,
    )
    from thawline.native.constants.documents import DEEPEST_JSON
    from thawline.native.sources.utf8 import _put_utf8, _utf8_size


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _json_blank(
    p: cython.pointer(cython.const[cython.uchar]), pos: cython.longlong, end: cython.longlong
) -> cython.longlong:
    """Position after white space."""
    while (
        pos < end
        and p[pos] <= SPACE
        and (p[pos] == SPACE or p[pos] == LINE_FEED or p[pos] == CARRIAGE_RETURN or p[pos] == TAB)
    ):
        pos += 1
    return pos


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _json_plain(
    p: cython.pointer(cython.const[cython.uchar]), pos: cython.longlong, end: cython.longlong
) -> cython.longlong:
    """Position of the first quote, backslash, control character or byte that is not ASCII."""
    word: cython.ulonglong = 0
    marks: cython.ulonglong
    quote: cython.ulonglong
    slash: cython.ulonglong
    ones: cython.ulonglong = 0x0101010101010101
    tops: cython.ulonglong = 0x8080808080808080
    if cython.compiled:
        while pos + 8 <= end:
            memcpy(cython.address(word), p + pos, 8)
            quote = word ^ (ones * QUOTE)
            slash = word ^ (ones * BACKSLASH)
            # The lowest mark is right; a borrow may have set some above it.
            marks = ((word - ones * SPACE) | (quote - ones) | (slash - ones) | word) & tops
            if marks:
                return pos + cython.cast(cython.longlong, ((((marks & (0 - marks)) - 1) & ones) * ones) >> 56) - 1
            pos += 8
    while pos < end and SPACE <= p[pos] < UTF8_TAIL and p[pos] != QUOTE and p[pos] != BACKSLASH:
        pos += 1
    return pos


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _json_hex(
    p: cython.pointer(cython.const[cython.uchar]), pos: cython.longlong, end: cython.longlong
) -> cython.longlong:
    r"""Value of the escape `\uXXXX` that starts here, or -1."""
    value: cython.longlong = 0
    i: cython.longlong = SHORT_ESCAPE
    byte: cython.longlong
    if pos + UNICODE_ESCAPE > end or p[pos] != BACKSLASH or p[pos + 1] != LOWER_U:
        return -1
    while i < UNICODE_ESCAPE:
        byte = p[pos + i]
        if DIGIT_0 <= byte <= DIGIT_9:
            byte -= DIGIT_0
        elif LOWER_A <= byte <= LOWER_F or UPPER_A <= byte <= UPPER_F:
            byte = (byte & 31) + 9  # the low bits of A are 1
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
    """Size of the escape that starts here; 0 if it is invalid, or half a surrogate pair."""
    byte: cython.int
    value: cython.longlong
    if pos + SHORT_ESCAPE > end:
        return 0
    byte = p[pos + 1]
    if byte in (QUOTE, BACKSLASH, SLASH, LOWER_B, LOWER_F, LOWER_N, LOWER_R, LOWER_T):
        return SHORT_ESCAPE
    value = _json_hex(p, pos, end)
    if value < 0 or LOW_SURROGATE <= value <= LAST_SURROGATE:
        return 0
    if value < HIGH_SURROGATE or value > LAST_SURROGATE:
        return UNICODE_ESCAPE
    value = _json_hex(p, pos + UNICODE_ESCAPE, end)
    return 2 * UNICODE_ESCAPE if LOW_SURROGATE <= value <= LAST_SURROGATE else 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _json_string(
    p: cython.pointer(cython.const[cython.uchar]), pos: cython.longlong, end: cython.longlong
) -> cython.longlong:
    """Twice the position of the quote that ends the text, plus 1 if it has escapes."""
    escaped: cython.longlong = 0
    size: cython.longlong
    while True:
        pos = _json_plain(p, pos, end)
        if pos >= end or p[pos] < SPACE:
            return ~pos
        if p[pos] == QUOTE:
            return 2 * pos + escaped
        if p[pos] == BACKSLASH:
            escaped = 1
            size = _json_escape(p, pos, end)
        else:
            size = _utf8_size(p, pos, end)
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
    """Position after one or more digits."""
    start: cython.longlong = pos
    while pos < end and DIGIT_0 <= p[pos] <= DIGIT_9:
        pos += 1
    return pos if pos > start else ~pos


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _json_number(
    p: cython.pointer(cython.const[cython.uchar]), pos: cython.longlong, end: cython.longlong
) -> cython.longlong:
    """Position after the number that starts here."""
    if pos < end and p[pos] == MINUS:
        pos += 1
    if pos < end and p[pos] == DIGIT_0:
        pos += 1
    else:
        pos = _json_digits(p, pos, end)
    if 0 <= pos < end and p[pos] == POINT:
        pos = _json_digits(p, pos + 1, end)
    if 0 <= pos < end and (p[pos] == LOWER_E or p[pos] == UPPER_E):
        pos += 1
        if pos < end and (p[pos] == PLUS or p[pos] == MINUS):
            pos += 1
        pos = _json_digits(p, pos, end)
    return pos


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _json_word(
    p: cython.pointer(cython.const[cython.uchar]), pos: cython.longlong, end: cython.longlong
) -> cython.longlong:
    """Position after `true`, `false` or `null`."""
    if (
        pos + 4 <= end
        and p[pos + 1] == LOWER_R
        and p[pos] == LOWER_T
        and p[pos + 2] == LOWER_U
        and p[pos + 3] == LOWER_E
    ):
        return pos + 4
    if (
        pos + 4 <= end
        and p[pos + 1] == LOWER_U
        and p[pos] == LOWER_N
        and p[pos + 2] == LOWER_L
        and p[pos + 3] == LOWER_L
    ):
        return pos + 4
    if (
        pos + 5 <= end
        and p[pos] == LOWER_F
        and p[pos + 1] == LOWER_A
        and p[pos + 2] == LOWER_L
        and p[pos + 3] == LOWER_S
    ):
        return pos + 5 if p[pos + 4] == LOWER_E else ~(pos + 4)
    return ~pos


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _json_scalar(
    p: cython.pointer(cython.const[cython.uchar]), pos: cython.longlong, end: cython.longlong
) -> cython.longlong:
    """Position after the text, number or word that starts here."""
    if pos >= end:
        return ~pos
    if p[pos] == QUOTE:
        pos = _json_string(p, pos + 1, end)
        return pos if pos < 0 else (pos >> 1) + 1
    if p[pos] == MINUS or DIGIT_0 <= p[pos] <= DIGIT_9:
        return _json_number(p, pos, end)
    return _json_word(p, pos, end)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _json_colon(
    p: cython.pointer(cython.const[cython.uchar]), pos: cython.longlong, end: cython.longlong
) -> cython.longlong:
    """Position of the value after the colon that comes next."""
    pos = _json_blank(p, pos, end)
    if pos >= end or p[pos] != COLON:
        return ~pos
    return _json_blank(p, pos + 1, end)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _json_key(
    p: cython.pointer(cython.const[cython.uchar]), pos: cython.longlong, end: cython.longlong
) -> cython.longlong:
    """Position of the value whose key starts here."""
    if pos >= end or p[pos] != QUOTE:
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
    """From after a value, the position of the next one, or after the last; `stack[0]` becomes the depth there."""
    while depth > base:
        pos = _json_blank(p, pos, end)
        if pos < end and p[pos] == COMMA:
            pos = _json_blank(p, pos + 1, end)
            stack[0] = cython.cast(cython.uchar, depth)
            return _json_key(p, pos, end) if stack[depth] == OPENING_BRACE else pos
        if pos >= end or p[pos] != stack[depth] + CLOSING_DISTANCE:
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
    """Position after the value that starts here, `base` levels deep; `stack` holds `DEEPEST_JSON` levels and one."""
    depth: cython.longlong = base
    opening: cython.uchar
    while True:
        if pos < end and (p[pos] == OPENING_BRACE or p[pos] == OPENING_BRACKET):
            if depth >= DEEPEST_JSON:
                return ~pos
            opening = p[pos]
            depth += 1
            stack[depth] = opening
            pos = _json_blank(p, pos + 1, end)
            if pos >= end or p[pos] != opening + CLOSING_DISTANCE:
                if opening == OPENING_BRACE:
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
def _json_escaped(
    p: cython.pointer(cython.const[cython.uchar]), pos: cython.longlong, end: cython.longlong
) -> cython.longlong:
    """The character of an escape that is known to be valid."""
    value: cython.longlong = p[pos + 1]
    if value == LOWER_U:
        value = _json_hex(p, pos, end)
        if HIGH_SURROGATE <= value < LOW_SURROGATE:
            value = FIRST_IN_PAIRS + ((value - HIGH_SURROGATE) << 10)
            value += _json_hex(p, pos + UNICODE_ESCAPE, end) - LOW_SURROGATE
    elif value == LOWER_N:
        value = LINE_FEED
    elif value == LOWER_T:
        value = TAB
    elif value == LOWER_R:
        value = CARRIAGE_RETURN
    elif value == LOWER_B:
        value = BACKSPACE
    elif value == LOWER_F:
        value = FORM_FEED
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
    """Write valid text without its escapes, which never grows; returns the place after it."""
    while pos < end:
        if p[pos] == BACKSLASH:
            at = _put_utf8(_json_escaped(p, pos, end), out, at)
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
    """Copy valid JSON texts without their escapes; a length of -1 is null. Returns the number of nulls."""
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
