"""Lists and maps of Aerospike bins, which are msgpack of the server's own kind, as JSON.

Every length is checked against what is left before a byte is looked at, and nesting has an end.
"""

import cython

if cython.compiled:
    from cython.cimports.libc.stdio import snprintf
    from cython.cimports.libc.stdlib import strtod
else:
    from thawline.native.sources.asb_msgpack import _extension, _msgpack_double, _msgpack_integer, _msgpack_length
    from thawline.native.sources.asb_scalars import BASE64_ALPHABET, _is_utf8

DEEPEST_COLLECTION = cython.declare(cython.longlong, 64)
"""How deep lists and maps may lie in each other."""
PARTICLES = (
    b"$0      ", b"$1      ", b"$2      ", b"$string ", b"$bytes  ", b"$5      ", b"$6      ", b"$java   ",
    b"$csharp ", b"$python ", b"$ruby   ", b"$php    ", b"$erlang ", b"$13     ", b"$14     ", b"$15     ",
    b"$vector ", b"$17     ", b"$hll    ", b"$19     ", b"$20     ", b"$21     ", b"$22     ", b"$geojson",
    b"$other  ",
)  # fmt: skip
"""Keys of the objects that stand for bytes in JSON, eight characters each, by the particle type of the bytes."""
JSON_TEXTS = b"".join(PARTICLES) + BASE64_ALPHABET + b"0123456789abcdef"
"""What JSON is written with: the keys for bytes (200 characters), the alphabet of base-64 (64), hexadecimal digits."""
JSON_WORDS = b'nulltruefalse"nan""inf""-inf"'


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
    """Copy characters, or only count them; where they end."""
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
            out[at] = 45
        at += 1
    while digits < 19 and left >= power:
        power *= 10
        digits += 1
    if writing:
        i = digits - 1
        while i >= 0:
            out[at + i] = cython.cast(cython.uchar, 48 + left % 10)
            left = left // 10
            i -= 1
    return at + digits


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _put_string(
    hexes: cython.const[cython.uchar][::1],
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
        out[at] = 34
    at += 1
    while pos < end:
        byte = buf[pos]
        pos += 1
        if byte == 34 or byte == 92:
            if writing:
                out[at] = 92
                out[at + 1] = cython.cast(cython.uchar, byte)
            at += 2
        elif byte < 32:
            if writing:
                out[at] = 92
                out[at + 1] = 117
                out[at + 2] = 48
                out[at + 3] = 48
                out[at + 4] = hexes[byte >> 4]
                out[at + 5] = hexes[byte & 15]
            at += 6
        else:
            if writing:
                out[at] = cython.cast(cython.uchar, byte)
            at += 1
    if writing:
        out[at] = 34
    return at + 1


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _put_base64(
    alphabet: cython.const[cython.uchar][::1],
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
    out[at] = 34
    at += 1
    while pos < end:
        left = end - pos
        word = buf[pos] << 16
        if left > 1:
            word |= buf[pos + 1] << 8
        if left > 2:
            word |= buf[pos + 2]
        out[at] = alphabet[word >> 18]
        out[at + 1] = alphabet[(word >> 12) & 63]
        out[at + 2] = alphabet[(word >> 6) & 63] if left > 1 else 61
        out[at + 3] = alphabet[word & 63] if left > 2 else 61
        at += 4
        pos += 3
    out[at] = 34
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
    """A double in the fewest digits that give it back; those that JSON has no number for as words."""
    value: cython.double
    digits: cython.int = 15
    length: cython.int
    i: cython.int = 0
    text: cython.char[32]
    if not writing:
        return at + 26
    value = _msgpack_double(buf, pos, size)
    if value != value:  # noqa: PLR0124 - that is what makes it no number
        return _put(words, 13, 5, out, at, True)
    if value - value != 0:
        return _put(words, 18, 5, out, at, True) if value > 0 else _put(words, 23, 6, out, at, True)
    if cython.compiled:
        length = snprintf(text, 32, "%.*g", digits, value)
        while digits < 17 and strtod(text, cython.NULL) != value:
            digits += 1
            length = snprintf(text, 32, "%.*g", digits, value)
    else:
        text = _fewest_digits(value)
        length = len(text)
    while i < length:
        out[at + i] = cython.cast(cython.uchar, text[i])
        i += 1
    return at + length


def _fewest_digits(value):
    """A double as C's printf writes it with the fewest digits, 15 or more, that give it back."""
    texts = (b"%.*g" % (digits, value) for digits in (15, 16, 17))
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
    """Text or bytes, which have their particle type as first byte. Bytes are {"$bytes": base-64}, as keys base-64."""
    kind: cython.longlong = 4
    length: cython.longlong = 8
    end: cython.longlong = pos + size
    if size > 0:
        kind = buf[pos]
        pos += 1
    if (kind == 3 or kind == 23) and _is_utf8(buf, pos, end):
        return _put_string(names[264:280], buf, pos, end, out, at, writing)
    if is_key:
        return _put_base64(names[200:264], buf, pos, end, out, at, writing)
    if kind > 23:
        kind = 24
    while names[8 * kind + length - 1] == 32:
        length -= 1
    if writing:
        out[at] = 123
        out[at + 1] = 34
    at = _put(names, 8 * kind, length, out, at + 2, writing)
    if writing:
        out[at] = 34
        out[at + 1] = 58
        out[at + 2] = 32
    at = _put_base64(names[200:264], buf, pos, end, out, at + 3, writing)
    if writing:
        out[at] = 125
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
    """Write a msgpack value as JSON, or only measure it; where the value ends, or -1 if it is broken.

    `place[0]` is where the JSON ends. While measuring it may count more than is written in the end.
    """
    head: cython.int
    size: cython.longlong
    if pos >= end or depth <= 0:
        return -1
    head = buf[pos]
    pos += 1
    if 0x80 <= head <= 0x8F or head == 0xDE or head == 0xDF:
        size = head & 15
        if head >= 0xDE:
            size = _msgpack_length(buf, pos, end, 2 << (head - 0xDE))
            pos += 2 << (head - 0xDE)
        return -1 if is_key else _put_map(names, words, buf, pos, end, size, depth, out, place, writing)
    if 0x90 <= head <= 0x9F or head == 0xDC or head == 0xDD:
        size = head & 15
        if head >= 0xDC:
            size = _msgpack_length(buf, pos, end, 2 << (head - 0xDC))
            pos += 2 << (head - 0xDC)
        return _put_list(names, words, buf, pos, end, size, depth, out, place, writing)
    if 0xA0 <= head <= 0xBF or 0xC4 <= head <= 0xC6 or 0xD9 <= head <= 0xDB:
        return _put_sized(names, buf, head, pos, end, out, place, writing, is_key)
    if not is_key:
        return _put_scalar(words, buf, head, pos, end, out, place, writing)
    place[0] = _put(words, 13, 1, out, place[0], writing)
    pos = _put_scalar(words, buf, head, pos, end, out, place, writing)
    place[0] = _put(words, 13, 1, out, place[0], writing)
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
    """Text or bytes behind their head; where they end, or -1."""
    size: cython.longlong = head & 31
    if head >= 0xC4:
        size = 1 << (head - 0xD9) if head >= 0xD9 else 1 << (head - 0xC4)
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
    """A number, a truth value or nil behind its head; where it ends, or -1 if it is none of these."""
    size: cython.longlong = 0
    at: cython.longlong = place[0]
    if 0xCA <= head <= 0xD3:
        size = 4 << (head - 0xCA) if head < 0xCC else 1 << ((head - 0xCC) & 3)
    if size > end - pos:
        return -1
    if head <= 0x7F:
        place[0] = _put_integer(head, out, at, writing)
    elif head >= 0xE0:
        place[0] = _put_integer(head - 256, out, at, writing)
    elif head == 0xC0:
        place[0] = _put(words, 0, 4, out, at, writing)
    elif head == 0xC2:
        place[0] = _put(words, 8, 5, out, at, writing)
    elif head == 0xC3:
        place[0] = _put(words, 4, 4, out, at, writing)
    elif head == 0xCA or head == 0xCB:
        place[0] = _put_double(words, buf, pos, size, out, at, writing)
    elif 0xCC <= head <= 0xD3:
        place[0] = _put_integer(_msgpack_integer(buf, pos, size, head >= 0xD0), out, at, writing)
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
    """A list; the extension that may come first is counted but is no element."""
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
        out[place[0] - 1] = 91
    after = number
    while number < count:
        if number > after:
            if writing:
                out[place[0]] = 44
                out[place[0] + 1] = 32
            place[0] += 2
        pos = _put_value(names, words, buf, pos, end, depth - 1, out, place, writing, False)
        if pos < 0:
            return -1
        number += 1
    if writing:
        out[place[0]] = 93
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
    """A map; the extension that may be the first key, with a nil as its value, is counted but is no entry."""
    number: cython.longlong = 0
    after: cython.longlong
    if count < 0 or 2 * count > end - pos:
        return -1
    if count > 0:
        after = _extension(buf, pos, end)
        if after >= 0:
            if after >= end or buf[after] != 0xC0:
                return -1
            pos = after + 1
            number = 1
    place[0] += 1
    if writing:
        out[place[0] - 1] = 123
    after = number
    while number < count:
        if number > after:
            if writing:
                out[place[0]] = 44
                out[place[0] + 1] = 32
            place[0] += 2
        pos = _put_key(names, words, buf, pos, end, depth - 1, out, place, writing)
        if pos < 0:
            return -1
        if writing:
            out[place[0]] = 58
            out[place[0] + 1] = 32
        place[0] += 2
        pos = _put_value(names, words, buf, pos, end, depth - 1, out, place, writing, False)
        if pos < 0:
            return -1
        number += 1
    if writing:
        out[place[0]] = 125
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
    """The key of an entry. JSON has only text there: numbers are written as such, a list as base-64 of its msgpack."""
    before: cython.longlong = place[0]
    after: cython.longlong
    head: cython.int = buf[pos] if pos < end else 0xC1
    if not (0x90 <= head <= 0x9F or head == 0xDC or head == 0xDD):
        return _put_value(names, words, buf, pos, end, depth, out, place, writing, True)
    after = _put_value(names, words, buf, pos, end, depth, out, place, False, False)
    place[0] = before
    if after >= 0:
        place[0] = _put_base64(names[200:264], buf, pos, after, out, before, writing)
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
    """Whether bytes are one list or map, as the letter says, and nothing behind it; measures it as JSON."""
    head: cython.int
    is_map: cython.bint
    before: cython.longlong = place[0]
    if pos >= end:
        return False
    head = buf[pos]
    is_map = 0x80 <= head <= 0x8F or head >= 0xDE
    if is_map != (letter == 77):
        return False
    is_list: cython.bint = 0x90 <= head <= 0x9F or head == 0xDC or head == 0xDD
    if is_map or is_list:
        pos = _put_value(names, words, buf, pos, end, DEEPEST_COLLECTION, unused, place, False, False)
    if (is_map or is_list) and pos == end:
        return True
    place[0] = before
    return False
