"""Lists and maps of Aerospike bins, which are msgpack of the server's own kind, as JSON.

Every length is checked against the bytes that are left before one is read, and nesting is bounded.
"""

import cython

from thawline.generated.kernels.constants import PARTICLE_TYPE_NAMES

if cython.compiled:
    from cython.cimports.libc.stdio import snprintf
    from cython.cimports.libc.stdlib import strtod
else:
    from thawline.generated.kernels.constants import (
        BIN_TYPE_MAP,
        MSGPACK_ARRAY_16,
        MSGPACK_BIN_8,
        MSGPACK_BIN_32,
        MSGPACK_FALSE,
        MSGPACK_FIXARRAY,
        MSGPACK_FIXMAP,
        MSGPACK_FIXSTR,
        MSGPACK_FLOAT_32,
        MSGPACK_FLOAT_64,
        MSGPACK_INT_8,
        MSGPACK_INT_64,
        MSGPACK_MAP_16,
        MSGPACK_NEGATIVE_FIXINT,
        MSGPACK_NIL,
        MSGPACK_STR_8,
        MSGPACK_STR_32,
        MSGPACK_TRUE,
        MSGPACK_UINT_8,
        MSGPACK_UNUSED,
        PARTICLE_TYPE_BYTES,
        PARTICLE_TYPE_GEOJSON,
        PARTICLE_TYPE_STRING,
    )
    from thawline.native.constants.aerospike import (
        ALPHABET_START,
        BASE64_BYTES,
        DEEPEST_COLLECTION,
        FALSE_AT,
        FALSE_SIZE,
        FEWEST_DIGITS,
        HEXES_START,
        INFINITY_AT,
        INFINITY_SIZE,
        LONGEST_DOUBLE,
        MINUS_INFINITY_AT,
        MINUS_INFINITY_SIZE,
        MOST_DECIMALS,
        MOST_DIGITS,
        NAN_AT,
        NAN_SIZE,
        NULL_AT,
        NULL_SIZE,
        PARTICLE_KEY,
        PARTICLE_OTHER,
        TRUE_AT,
        TRUE_SIZE,
        WORD_QUOTE_AT,
    )
    from thawline.native.constants.characters import (
        BACKSLASH,
        CLOSING_BRACE,
        CLOSING_BRACKET,
        COLON,
        COMMA,
        DIGIT_0,
        EQUALS,
        LOWER_U,
        MINUS,
        OPENING_BRACE,
        OPENING_BRACKET,
        QUOTE,
        SPACE,
    )
    from thawline.native.sources.asb_msgpack import (
        _extension,
        _is_list,
        _is_map,
        _msgpack_double,
        _msgpack_integer,
        _msgpack_length,
    )
    from thawline.native.sources.checksums import _first_byte
    from thawline.native.sources.gather import BASE64
    from thawline.native.sources.utf8 import _is_utf8

PARTICLE_NAMES = {kind: name for kind, name in PARTICLE_TYPE_NAMES.items() if name not in ("integer", "double")}
"""Particle types of text and bytes."""
JSON_KEYS = b"".join(
    f"${PARTICLE_NAMES.get(kind, kind)}".encode().ljust(PARTICLE_KEY) for kind in range(PARTICLE_OTHER)
) + b"$other".ljust(PARTICLE_KEY)
"""Keys of the objects that stand for bytes in JSON, of `PARTICLE_KEY` characters, by the particle type of the bytes."""
JSON_TEXTS = JSON_KEYS + BASE64 + b"0123456789abcdef"
"""Texts of JSON: the keys for bytes, the base-64 alphabet, hexadecimal digits."""
JSON_WORDS = b'nulltruefalse"nan""inf""-inf"'
"""Words of JSON; `constants.aerospike` has the offset of each."""


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _put(
    text: cython.const[cython.uchar][::1],
    start: cython.longlong,
    size: cython.longlong,
    out: cython.uchar[::1],
    at: cython.longlong,
    writing: cython.bint,
) -> cython.longlong:
    """Copy characters, or only count them; returns the place after them."""
    i: cython.longlong = 0
    if writing:
        while i < size:
            out[at + i] = text[start + i]
            i += 1
    return at + size


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _put_integer(
    number: cython.longlong, out: cython.uchar[::1], at: cython.longlong, writing: cython.bint
) -> cython.longlong:
    """A number in decimal digits."""
    left: cython.ulonglong = cython.cast(cython.ulonglong, number)
    digits: cython.longlong = 1
    power: cython.ulonglong = 10
    i: cython.longlong
    if number < 0:
        left = cython.cast(cython.ulonglong, -(number + 1)) + 1
        if writing:
            out[at] = MINUS
        at += 1
    while digits < MOST_DECIMALS and left >= power:
        power *= 10
        digits += 1
    if writing:
        i = digits - 1
        while i >= 0:
            out[at + i] = cython.cast(cython.uchar, DIGIT_0 + left % 10)
            left = left // 10
            i -= 1
    return at + digits


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _put_string(
    names: cython.const[cython.uchar][::1],
    buf: cython.const[cython.uchar][::1],
    pos: cython.longlong,
    end: cython.longlong,
    out: cython.uchar[::1],
    at: cython.longlong,
    writing: cython.bint,
) -> cython.longlong:
    """UTF-8 as a JSON string."""
    byte: cython.int
    if writing:
        out[at] = QUOTE
    at += 1
    while pos < end:
        byte = buf[pos]
        pos += 1
        if byte in (QUOTE, BACKSLASH):
            if writing:
                out[at] = BACKSLASH
                out[at + 1] = cython.cast(cython.uchar, byte)
            at += 2
        elif byte < SPACE:
            if writing:
                out[at] = BACKSLASH
                out[at + 1] = LOWER_U
                out[at + 2] = DIGIT_0
                out[at + 3] = DIGIT_0
                out[at + 4] = names[HEXES_START + (byte >> 4)]
                out[at + 5] = names[HEXES_START + (byte & 15)]
            at += 6
        else:
            if writing:
                out[at] = cython.cast(cython.uchar, byte)
            at += 1
    if writing:
        out[at] = QUOTE
    return at + 1


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _put_base64(
    names: cython.const[cython.uchar][::1],
    buf: cython.const[cython.uchar][::1],
    pos: cython.longlong,
    end: cython.longlong,
    out: cython.uchar[::1],
    at: cython.longlong,
    writing: cython.bint,
) -> cython.longlong:
    """Bytes as a JSON string of base-64."""
    left: cython.longlong = end - pos
    word: cython.int
    if not writing:
        return at + 2 + (left + 2) // 3 * 4
    out[at] = QUOTE
    at += 1
    while pos < end:
        left = end - pos
        word = buf[pos] << 16
        if left > 1:
            word |= buf[pos + 1] << 8
        if left >= BASE64_BYTES:
            word |= buf[pos + 2]
        out[at] = names[ALPHABET_START + (word >> 18)]
        out[at + 1] = names[ALPHABET_START + ((word >> 12) & 63)]
        out[at + 2] = names[ALPHABET_START + ((word >> 6) & 63)] if left > 1 else EQUALS
        out[at + 3] = names[ALPHABET_START + (word & 63)] if left >= BASE64_BYTES else EQUALS
        at += 4
        pos += 3
    out[at] = QUOTE
    return at + 1


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _put_double(
    words: cython.const[cython.uchar][::1],
    buf: cython.const[cython.uchar][::1],
    pos: cython.longlong,
    size: cython.longlong,
    out: cython.uchar[::1],
    at: cython.longlong,
    writing: cython.bint,
) -> cython.longlong:
    """A double in the fewest digits that read back as itself; a word where JSON has no number for it."""
    value: cython.double
    digits: cython.int = FEWEST_DIGITS
    length: cython.int
    i: cython.int = 0
    text: cython.char[32]
    if not writing:
        return at + LONGEST_DOUBLE
    value = _msgpack_double(buf, pos, size)
    if value != value:  # noqa: PLR0124 - only a NaN is not equal to itself
        return _put(words, NAN_AT, NAN_SIZE, out, at, True)
    if value - value != 0:
        if value > 0:
            return _put(words, INFINITY_AT, INFINITY_SIZE, out, at, True)
        return _put(words, MINUS_INFINITY_AT, MINUS_INFINITY_SIZE, out, at, True)
    if cython.compiled:
        length = snprintf(text, SPACE, "%.*g", digits, value)
        while digits < MOST_DIGITS and strtod(text, cython.NULL) != value:
            digits += 1
            length = snprintf(text, SPACE, "%.*g", digits, value)
    else:
        text = _fewest_digits(value)
        length = len(text)
    while i < length:
        out[at + i] = cython.cast(cython.uchar, text[i])
        i += 1
    return at + length


def _fewest_digits(value):
    """A double as C's printf writes it with the fewest digits, 15 or more, that read back as itself."""
    texts = (b"%.*g" % (digits, value) for digits in range(FEWEST_DIGITS, MOST_DIGITS + 1))
    return next(text for text in texts if float(text) == value)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _put_particle(
    names: cython.const[cython.uchar][::1],
    buf: cython.const[cython.uchar][::1],
    pos: cython.longlong,
    size: cython.longlong,
    out: cython.uchar[::1],
    at: cython.longlong,
    writing: cython.bint,
    is_key: cython.bint,
) -> cython.longlong:
    """Text or bytes, whose first byte is their particle type. Bytes are {"$bytes": base-64}; as keys, base-64."""
    kind: cython.longlong = PARTICLE_TYPE_BYTES
    length: cython.longlong = PARTICLE_KEY
    end: cython.longlong = pos + size
    if size > 0:
        kind = buf[pos]
        pos += 1
    if kind in (PARTICLE_TYPE_STRING, PARTICLE_TYPE_GEOJSON) and _is_utf8(_first_byte(buf), pos, end):
        return _put_string(names, buf, pos, end, out, at, writing)
    if is_key:
        return _put_base64(names, buf, pos, end, out, at, writing)
    kind = min(kind, PARTICLE_OTHER)
    while names[PARTICLE_KEY * kind + length - 1] == SPACE:
        length -= 1
    if writing:
        out[at] = OPENING_BRACE
        out[at + 1] = QUOTE
    at = _put(names, PARTICLE_KEY * kind, length, out, at + 2, writing)
    if writing:
        out[at] = QUOTE
        out[at + 1] = COLON
        out[at + 2] = SPACE
    at = _put_base64(names, buf, pos, end, out, at + 3, writing)
    if writing:
        out[at] = CLOSING_BRACE
    return at + 1


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _put_value(
    names: cython.const[cython.uchar][::1],
    words: cython.const[cython.uchar][::1],
    buf: cython.const[cython.uchar][::1],
    pos: cython.longlong,
    end: cython.longlong,
    depth: cython.longlong,
    out: cython.uchar[::1],
    place: cython.longlong[::1],
    writing: cython.bint,
    is_key: cython.bint,
) -> cython.longlong:
    """Write a msgpack value as JSON, or only measure it; returns the position after the value, or -1 if it is broken.

    `place[0]` is where the JSON ends. Measuring may count more bytes than writing takes.
    """
    head: cython.int
    size: cython.longlong
    if pos >= end or depth <= 0:
        return -1
    head = buf[pos]
    pos += 1
    if _is_map(head):
        size = head - MSGPACK_FIXMAP
        if head >= MSGPACK_MAP_16:
            size = _msgpack_length(buf, pos, end, 2 << (head - MSGPACK_MAP_16))
            pos += 2 << (head - MSGPACK_MAP_16)
        return -1 if is_key else _put_map(names, words, buf, pos, end, size, depth, out, place, writing)
    if _is_list(head):
        size = head - MSGPACK_FIXARRAY
        if head >= MSGPACK_ARRAY_16:
            size = _msgpack_length(buf, pos, end, 2 << (head - MSGPACK_ARRAY_16))
            pos += 2 << (head - MSGPACK_ARRAY_16)
        return _put_list(names, words, buf, pos, end, size, depth, out, place, writing)
    if (
        MSGPACK_FIXSTR <= head < MSGPACK_NIL
        or MSGPACK_BIN_8 <= head <= MSGPACK_BIN_32
        or MSGPACK_STR_8 <= head <= MSGPACK_STR_32
    ):
        return _put_sized(names, buf, head, pos, end, out, place, writing, is_key)
    if not is_key:
        return _put_scalar(words, buf, head, pos, end, out, place, writing)
    place[0] = _put(words, WORD_QUOTE_AT, 1, out, place[0], writing)
    pos = _put_scalar(words, buf, head, pos, end, out, place, writing)
    place[0] = _put(words, WORD_QUOTE_AT, 1, out, place[0], writing)
    return pos


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _put_sized(
    names: cython.const[cython.uchar][::1],
    buf: cython.const[cython.uchar][::1],
    head: cython.int,
    pos: cython.longlong,
    end: cython.longlong,
    out: cython.uchar[::1],
    place: cython.longlong[::1],
    writing: cython.bint,
    is_key: cython.bint,
) -> cython.longlong:
    """Text or bytes after their head; returns the position after them, or -1."""
    size: cython.longlong = head - MSGPACK_FIXSTR
    if head >= MSGPACK_BIN_8:
        size = 1 << (head - MSGPACK_STR_8) if head >= MSGPACK_STR_8 else 1 << (head - MSGPACK_BIN_8)
        pos += size
        size = _msgpack_length(buf, pos - size, end, size)
    if size < 0 or size > end - pos:
        return -1
    place[0] = _put_particle(names, buf, pos, size, out, place[0], writing, is_key)
    return pos + size


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _put_scalar(
    words: cython.const[cython.uchar][::1],
    buf: cython.const[cython.uchar][::1],
    head: cython.int,
    pos: cython.longlong,
    end: cython.longlong,
    out: cython.uchar[::1],
    place: cython.longlong[::1],
    writing: cython.bint,
) -> cython.longlong:
    """A number, a boolean or nil after its head; returns the position after it, or -1 if it is none of these."""
    size: cython.longlong = 0
    at: cython.longlong = place[0]
    if MSGPACK_FLOAT_32 <= head <= MSGPACK_INT_64:
        size = 4 << (head - MSGPACK_FLOAT_32) if head < MSGPACK_UINT_8 else 1 << ((head - MSGPACK_UINT_8) & 3)
    if size > end - pos:
        return -1
    if head < MSGPACK_FIXMAP:
        place[0] = _put_integer(head, out, at, writing)
    elif head >= MSGPACK_NEGATIVE_FIXINT:
        place[0] = _put_integer(head - 256, out, at, writing)
    elif head == MSGPACK_NIL:
        place[0] = _put(words, NULL_AT, NULL_SIZE, out, at, writing)
    elif head == MSGPACK_FALSE:
        place[0] = _put(words, FALSE_AT, FALSE_SIZE, out, at, writing)
    elif head == MSGPACK_TRUE:
        place[0] = _put(words, TRUE_AT, TRUE_SIZE, out, at, writing)
    elif head in (MSGPACK_FLOAT_32, MSGPACK_FLOAT_64):
        place[0] = _put_double(words, buf, pos, size, out, at, writing)
    elif MSGPACK_UINT_8 <= head <= MSGPACK_INT_64:
        place[0] = _put_integer(_msgpack_integer(buf, pos, size, head >= MSGPACK_INT_8), out, at, writing)
    else:
        return -1
    return pos + size


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _put_list(
    names: cython.const[cython.uchar][::1],
    words: cython.const[cython.uchar][::1],
    buf: cython.const[cython.uchar][::1],
    pos: cython.longlong,
    end: cython.longlong,
    count: cython.longlong,
    depth: cython.longlong,
    out: cython.uchar[::1],
    place: cython.longlong[::1],
    writing: cython.bint,
) -> cython.longlong:
    """A list. The extension that may come first is counted, but is not an element."""
    number: cython.longlong = 0
    after: cython.longlong
    if count < 0 or count > end - pos:
        return -1
    if count > 0:
        after = _extension(buf, pos, end)
        if after >= 0:
            pos = after
            number = 1
    place[0] += 1
    if writing:
        out[place[0] - 1] = OPENING_BRACKET
    after = number
    while number < count:
        if number > after:
            if writing:
                out[place[0]] = COMMA
                out[place[0] + 1] = SPACE
            place[0] += 2
        pos = _put_value(names, words, buf, pos, end, depth - 1, out, place, writing, False)
        if pos < 0:
            return -1
        number += 1
    if writing:
        out[place[0]] = CLOSING_BRACKET
    place[0] += 1
    return pos


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _put_map(
    names: cython.const[cython.uchar][::1],
    words: cython.const[cython.uchar][::1],
    buf: cython.const[cython.uchar][::1],
    pos: cython.longlong,
    end: cython.longlong,
    count: cython.longlong,
    depth: cython.longlong,
    out: cython.uchar[::1],
    place: cython.longlong[::1],
    writing: cython.bint,
) -> cython.longlong:
    """A map. The extension that may be the first key, with nil as its value, is counted, but is not an entry."""
    number: cython.longlong = 0
    after: cython.longlong
    if count < 0 or 2 * count > end - pos:
        return -1
    if count > 0:
        after = _extension(buf, pos, end)
        if after >= 0:
            if after >= end or buf[after] != MSGPACK_NIL:
                return -1
            pos = after + 1
            number = 1
    place[0] += 1
    if writing:
        out[place[0] - 1] = OPENING_BRACE
    after = number
    while number < count:
        if number > after:
            if writing:
                out[place[0]] = COMMA
                out[place[0] + 1] = SPACE
            place[0] += 2
        pos = _put_key(names, words, buf, pos, end, depth - 1, out, place, writing)
        if pos < 0:
            return -1
        if writing:
            out[place[0]] = COLON
            out[place[0] + 1] = SPACE
        place[0] += 2
        pos = _put_value(names, words, buf, pos, end, depth - 1, out, place, writing, False)
        if pos < 0:
            return -1
        number += 1
    if writing:
        out[place[0]] = CLOSING_BRACE
    place[0] += 1
    return pos


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _put_key(
    names: cython.const[cython.uchar][::1],
    words: cython.const[cython.uchar][::1],
    buf: cython.const[cython.uchar][::1],
    pos: cython.longlong,
    end: cython.longlong,
    depth: cython.longlong,
    out: cython.uchar[::1],
    place: cython.longlong[::1],
    writing: cython.bint,
) -> cython.longlong:
    """The key of an entry. JSON has only text there: a number is quoted, a list is base-64 of its msgpack."""
    before: cython.longlong = place[0]
    after: cython.longlong
    head: cython.int = buf[pos] if pos < end else MSGPACK_UNUSED
    if not _is_list(head):
        return _put_value(names, words, buf, pos, end, depth, out, place, writing, True)
    after = _put_value(names, words, buf, pos, end, depth, out, place, False, False)
    place[0] = before
    if after >= 0:
        place[0] = _put_base64(names, buf, pos, after, out, before, writing)
    return after


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _is_collection(
    names: cython.const[cython.uchar][::1],
    words: cython.const[cython.uchar][::1],
    buf: cython.const[cython.uchar][::1],
    pos: cython.longlong,
    end: cython.longlong,
    letter: cython.longlong,
    unused: cython.uchar[::1],
    place: cython.longlong[::1],
) -> cython.bint:
    """Whether bytes are exactly one list or map, as the letter says; measures it as JSON."""
    head: cython.int
    is_map: cython.bint
    before: cython.longlong = place[0]
    if pos >= end:
        return False
    head = buf[pos]
    is_map = MSGPACK_FIXMAP <= head < MSGPACK_FIXARRAY or head >= MSGPACK_MAP_16
    if is_map != (letter == BIN_TYPE_MAP):
        return False
    if is_map or _is_list(head):
        pos = _put_value(names, words, buf, pos, end, DEEPEST_COLLECTION, unused, place, False, False)
        if pos == end:
            return True
    place[0] = before
    return False
