"""Single values of encoders, measured and written: varints, decimal numbers, tokens, base-64, checksums.

What is measured is what is written: an encoder makes its buffer by the one and fills it by the other.
"""

import cython

if not cython.compiled:
    import operator

    from thawline.checksums import crc32, crc32c
    from thawline.native.constants.characters import (
        BACKSLASH,
        DIGIT_0,
        EQUALS,
        LINE_FEED,
        LOWER_A,
        MINUS,
        PLUS,
        SLASH,
        SPACE,
        UPPER_A,
    )
    from thawline.native.constants.encoders import (
        BASE64_BITS,
        BASE64_DIGITS,
        BASE64_GROUP,
        BASE64_NUMBERS,
        BASE64_PLUS,
        BASE64_SLASH,
        BASE64_SMALL,
        ENCODED_AT,
        ENCODED_ROW,
        TEN,
        VARINT_BITS,
        VARINT_MORE,
    )
    from thawline.native.sources.checksums import _first_byte


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _stopped(
    state: cython.longlong[::1], status: cython.longlong, row: cython.longlong, pos: cython.longlong
) -> cython.longlong:
    """Return a status, and keep where the encoder stopped."""
    state[ENCODED_ROW] = row
    state[ENCODED_AT] = pos
    return status


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _is_given(valid: cython.const[cython.uchar][::1], bit: cython.longlong) -> cython.bint:
    """Whether a row is not null, by a validity bitmap, which is empty where none is."""
    return valid.shape[0] == 0 or (valid[bit >> 3] >> (bit & 7)) & 1 == 1


@cython.cfunc
@cython.inline
@cython.exceptval(check=True)
def _given_number(given: object) -> cython.longlong:
    """A number of 64 bits; Python refuses others."""
    if cython.compiled:
        return given
    number = operator.index(given)
    if not -(1 << 63) <= number < 1 << 63:
        raise OverflowError("a number of more than 64 bits")
    return number


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _zigzag_size(number: cython.longlong) -> cython.longlong:
    """How many bytes a zigzag varint takes."""
    if cython.compiled:
        return zigzag_size(number)  # noqa: F821 - of bytes.h
    return max(1, -(-(number << 1 ^ number >> 63).bit_length() // VARINT_BITS))


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _write_zigzag(out: cython.uchar[::1], at: cython.longlong, number: cython.longlong) -> cython.longlong:
    """Write a zigzag varint; returns the place after it."""
    rest: cython.longlong
    if cython.compiled:
        return at + put_zigzag(cython.address(out[at]), number)  # noqa: F821 - of bytes.h
    rest = number << 1 ^ number >> 63
    while rest >= VARINT_MORE:
        out[at] = rest & (VARINT_MORE - 1) | VARINT_MORE
        rest >>= VARINT_BITS
        at += 1
    out[at] = rest
    return at + 1


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _decimal_size(number: cython.longlong) -> cython.longlong:
    """How many characters a decimal number takes."""
    rest: cython.ulonglong = _magnitude(number)
    size: cython.longlong = 2 if number < 0 else 1
    while rest >= TEN:
        rest //= TEN
        size += 1
    return size


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _magnitude(number: cython.longlong) -> cython.ulonglong:
    """A number without its sign. The most negative one has no positive of 64 bits with a sign."""
    if number >= 0:
        return cython.cast(cython.ulonglong, number)
    return cython.cast(cython.ulonglong, -(number + 1)) + 1


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _write_decimal(out: cython.uchar[::1], at: cython.longlong, number: cython.longlong) -> cython.longlong:
    """Write a decimal number, its last digit first; returns the place after it."""
    rest: cython.ulonglong = _magnitude(number)
    end: cython.longlong = at + _decimal_size(number)
    place: cython.longlong = end - 1
    if number < 0:
        out[at] = MINUS
    while rest >= TEN:
        out[place] = cython.cast(cython.uchar, DIGIT_0 + rest % TEN)
        rest //= TEN
        place -= 1
    out[place] = cython.cast(cython.uchar, DIGIT_0 + rest)
    return end


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _is_escaped(byte: cython.uchar) -> cython.bint:
    """Whether a token has a backslash before a byte: writers escape these three and nothing else (escaped_token)."""
    return byte == BACKSLASH or byte == SPACE or byte == LINE_FEED  # noqa: PLR1714 - Cython makes a tuple of `in`


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _escaped_size(
    data: cython.pointer(cython.const[cython.uchar]), start: cython.longlong, length: cython.longlong
) -> cython.longlong:
    """How many bytes a token takes."""
    size: cython.longlong = 0
    at: cython.longlong = start
    while at < start + length:
        size += 2 if _is_escaped(data[at]) else 1
        at += 1
    return size


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _write_escaped(
    out: cython.uchar[::1],
    at: cython.longlong,
    data: cython.pointer(cython.const[cython.uchar]),
    start: cython.longlong,
    length: cython.longlong,
) -> cython.longlong:
    """Write a token; returns the place after it."""
    index: cython.longlong = start
    while index < start + length:
        if _is_escaped(data[index]):
            out[at] = BACKSLASH
            at += 1
        out[at] = data[index]
        at += 1
        index += 1
    return at


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _base64_size(length: cython.longlong) -> cython.longlong:
    """How many characters bytes take in base-64."""
    return (length + BASE64_GROUP - 1) // BASE64_GROUP * BASE64_DIGITS if length > 0 else 0


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _base64_digit(bits: cython.longlong) -> cython.uchar:
    """The character of six bits."""
    if bits < BASE64_SMALL:
        return cython.cast(cython.uchar, UPPER_A + bits)
    if bits < BASE64_NUMBERS:
        return cython.cast(cython.uchar, LOWER_A + bits - BASE64_SMALL)
    if bits < BASE64_PLUS:
        return cython.cast(cython.uchar, DIGIT_0 + bits - BASE64_NUMBERS)
    return PLUS if bits < BASE64_SLASH else SLASH


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _write_base64(
    out: cython.uchar[::1],
    at: cython.longlong,
    data: cython.pointer(cython.const[cython.uchar]),
    start: cython.longlong,
    length: cython.longlong,
) -> cython.longlong:
    """Write bytes in base-64; returns the place after them."""
    index: cython.longlong = 0
    digit: cython.longlong
    place: cython.longlong
    word: cython.longlong
    while index < length:
        word = 0
        for place in range(BASE64_GROUP):
            word = word << 8 | (data[start + index + place] if index + place < length else 0)
        for digit in range(BASE64_DIGITS):
            if index + digit > length:
                out[at + digit] = EQUALS
            else:
                place = word >> (BASE64_BITS * (BASE64_DIGITS - 1 - digit))
                out[at + digit] = _base64_digit(place & BASE64_SLASH)
        at += BASE64_DIGITS
        index += BASE64_GROUP
    return at


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _crc32c_at(
    before: cython.longlong,
    data: cython.pointer(cython.const[cython.uchar]),
    start: cython.longlong,
    end: cython.longlong,
) -> cython.longlong:
    """CRC-32C of bytes after others whose checksum is known; 0 for none."""
    if not cython.compiled:
        return crc32c(data, start, end, value=before)
    size: cython.size_t = cython.cast(cython.size_t, end - start)
    return cython.cast(
        cython.uint,
        ~crc32c_best(~cython.cast(cython.uint, before), data + start, size),  # noqa: F821 - of crc.h
    )


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _crc32c_on(
    before: cython.longlong, buf: cython.const[cython.uchar][::1], start: cython.longlong, end: cython.longlong
) -> cython.longlong:
    """The same, of a buffer."""
    return _crc32c_at(before, _first_byte(buf), start, end)


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _crc32_at(
    before: cython.longlong,
    data: cython.pointer(cython.const[cython.uchar]),
    start: cython.longlong,
    end: cython.longlong,
) -> cython.longlong:
    """CRC-32 (IEEE) of bytes after others whose checksum is known; 0 for none."""
    if not cython.compiled:
        return crc32(data, start, end, value=before)
    size: cython.size_t = cython.cast(cython.size_t, end - start)
    return cython.cast(
        cython.uint,
        ~crc32_by_tables(~cython.cast(cython.uint, before), data + start, size),  # noqa: F821 - of crc.h
    )


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _crc32_on(
    before: cython.longlong, buf: cython.const[cython.uchar][::1], start: cython.longlong, end: cython.longlong
) -> cython.longlong:
    """The same, of a buffer."""
    return _crc32_at(before, _first_byte(buf), start, end)
