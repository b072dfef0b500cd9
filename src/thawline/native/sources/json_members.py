"""Members of JSON documents: each value into the cells of its field, or what is wrong with it.

The readers of documents in `generated/kernels/readers.py` know the fields; these functions know their types. A member
that is null leaves its field as one that is absent. Of several members with the same key the last counts. A record with
a value of another type gives no row: its cells say what is wrong, and where.
"""

import cython

if cython.compiled:
    from cython.cimports.libc.string import memcmp
else:
    from thawline.native.constants.characters import (
        CLOSING_BRACKET,
        COMMA,
        DIGIT_0,
        DIGIT_9,
        LOWER_F,
        LOWER_N,
        LOWER_T,
        MINUS,
        OPENING_BRACE,
        OPENING_BRACKET,
        QUOTE,
    )
    from thawline.native.constants.documents import (
        DATA_END,
        DATA_START,
        ESCAPED,
        FAULT,
        FAULT_AT,
        FAULT_FIELD,
        FAULTY_AT,
        FAULTY_CELLS,
        FAULTY_DOCUMENT,
        FAULTY_FIELD,
        FAULTY_KIND,
        FIELD_CELLS,
        FIRST_FIELD,
        LONGEST_KEY,
        NOT_A_BYTE,
        NOT_JSON,
        SEEN,
        WRONG_TYPE,
    )
    from thawline.native.constants.kernels import NULL_LENGTH
    from thawline.native.sources.json_text import (
        _json_blank,
        _json_number,
        _json_skip,
        _json_string,
        _json_unescape,
        _json_word,
    )


# Names.


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _json_same(
    p: cython.pointer(cython.const[cython.uchar]),
    start: cython.longlong,
    names: cython.pointer(cython.const[cython.uchar]),
    begin: cython.longlong,
    size: cython.longlong,
) -> cython.bint:
    """Whether bytes are those of a name, which begins there among others."""
    if cython.compiled:
        return memcmp(p + start, names + begin, size) == 0
    return bytes(p[start : start + size]) == bytes(names[begin : begin + size])


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _json_plain_key(
    p: cython.pointer(cython.const[cython.uchar]),
    start: cython.longlong,
    length: cython.longlong,
    scratch: cython.pointer(cython.uchar),
) -> cython.longlong:
    """Write a key without its escapes to `scratch`; returns its length, or -1 if it is longer than any name."""
    if length > LONGEST_KEY:
        return -1
    return _json_unescape(p, start, start + length, scratch, 0)


# Cells.


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _blame(
    row: cython.pointer(cython.longlong), kind: cython.longlong, field: cython.longlong, at: cython.longlong
) -> cython.longlong:
    """Note the first thing that is wrong with a record."""
    if row[FAULT] == 0:
        row[FAULT] = kind
        row[FAULT_FIELD] = field
        row[FAULT_AT] = at
    return 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _forget(row: cython.pointer(cython.longlong), first: cython.longlong, last: cython.longlong) -> cython.longlong:
    """Make the fields `[first, last)` null."""
    bit: cython.longlong = 1
    while first < last:
        row[FIRST_FIELD + FIELD_CELLS * first] = 0
        row[FIRST_FIELD + FIELD_CELLS * first + 1] = NULL_LENGTH
        row[SEEN] &= ~(bit << first)
        row[ESCAPED] &= ~(bit << first)
        first += 1
    return 0


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _place(
    row: cython.pointer(cython.longlong), field: cython.longlong, start: cython.longlong, length: cython.longlong
) -> cython.longlong:
    """Keep a value, or where it is and how long."""
    bit: cython.longlong = 1
    row[FIRST_FIELD + FIELD_CELLS * field] = start
    row[FIRST_FIELD + FIELD_CELLS * field + 1] = length
    row[SEEN] |= bit << field
    return 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _begin_record(row: cython.pointer(cython.longlong), fields: cython.longlong) -> cython.longlong:
    """Make all fields null."""
    field: cython.longlong = 0
    while field < fields:
        row[FIRST_FIELD + FIELD_CELLS * field] = 0
        row[FIRST_FIELD + FIELD_CELLS * field + 1] = NULL_LENGTH
        field += 1
    row[SEEN] = 0
    row[ESCAPED] = 0
    row[FAULT] = 0
    row[DATA_START] = row[DATA_END]
    return 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _end_record(
    p: cython.pointer(cython.const[cython.uchar]),
    pos: cython.longlong,
    end: cython.longlong,
    row: cython.pointer(cython.longlong),
    fields: cython.longlong,
) -> cython.bint:
    """Whether a document that has been read up to here is a record; the cells say what else it is."""
    if pos >= 0:
        pos = _json_blank(p, pos, end)
        if pos < end:
            pos = ~pos
    if pos < 0:
        row[FAULT] = NOT_JSON
        row[FAULT_FIELD] = fields
        row[FAULT_AT] = ~pos
    return row[FAULT] == 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _keep_fault(
    faults: cython.longlong[::1],
    number: cython.longlong,
    document: cython.longlong,
    row: cython.pointer(cython.longlong),
) -> cython.longlong:
    """List a document that is no record; its bytes go."""
    row[DATA_END] = row[DATA_START]
    faults[FAULTY_CELLS * number + FAULTY_DOCUMENT] = document
    faults[FAULTY_CELLS * number + FAULTY_KIND] = row[FAULT]
    faults[FAULTY_CELLS * number + FAULTY_FIELD] = row[FAULT_FIELD]
    faults[FAULTY_CELLS * number + FAULTY_AT] = row[FAULT_AT]
    return 0


# Values. Each function is given the position of a value, and returns the one after it.


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _member_other(
    p: cython.pointer(cython.const[cython.uchar]),
    pos: cython.longlong,
    end: cython.longlong,
    field: cython.longlong,
    depth: cython.longlong,
    row: cython.pointer(cython.longlong),
    stack: cython.pointer(cython.uchar),
) -> cython.longlong:
    """A null, or a value that has not the type of its field."""
    start: cython.longlong = pos
    if pos < end and p[pos] == LOWER_N:
        return _json_word(p, pos, end)
    pos = _json_skip(p, pos, end, depth, stack)
    if pos >= 0:
        _blame(row, WRONG_TYPE, field, start)
    return pos


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _member_text(
    p: cython.pointer(cython.const[cython.uchar]),
    pos: cython.longlong,
    end: cython.longlong,
    field: cython.longlong,
    depth: cython.longlong,
    row: cython.pointer(cython.longlong),
    stack: cython.pointer(cython.uchar),
) -> cython.longlong:
    """A text; its place is kept."""
    found: cython.longlong
    bit: cython.longlong = 1
    if row[SEEN] >> field & 1:
        _forget(row, field, field + 1)
    if pos >= end or p[pos] != QUOTE:
        return _member_other(p, pos, end, field, depth, row, stack)
    found = _json_string(p, pos + 1, end)
    if found < 0:
        return found
    if found & 1:
        row[ESCAPED] |= bit << field
    _place(row, field, pos + 1, (found >> 1) - pos - 1)
    return (found >> 1) + 1


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _member_bool(
    p: cython.pointer(cython.const[cython.uchar]),
    pos: cython.longlong,
    end: cython.longlong,
    field: cython.longlong,
    depth: cython.longlong,
    row: cython.pointer(cython.longlong),
    stack: cython.pointer(cython.uchar),
) -> cython.longlong:
    """`true` or `false`, kept as 1 or 0."""
    after: cython.longlong
    if row[SEEN] >> field & 1:
        _forget(row, field, field + 1)
    if pos >= end or (p[pos] != LOWER_T and p[pos] != LOWER_F):
        return _member_other(p, pos, end, field, depth, row, stack)
    after = _json_word(p, pos, end)
    if after >= 0:
        _place(row, field, p[pos] == LOWER_T, NULL_LENGTH)
    return after


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _integer(
    p: cython.pointer(cython.const[cython.uchar]),
    pos: cython.longlong,
    end: cython.longlong,
    bits: cython.longlong,
    sign: cython.longlong,
    cell: cython.pointer(cython.longlong),
    at: cython.longlong,
) -> cython.bint:
    """Put the number in `[pos, end)` into a cell, as 64 bits; False if it is not an integer of this many bits.

    One of the bits may be the sign.
    """
    value: cython.ulonglong = 0
    limit: cython.ulonglong = 18446744073709551615
    digit: cython.ulonglong
    negative: cython.bint = p[pos] == MINUS
    limit >>= 64 - bits + sign
    if negative:
        if sign == 0:
            return False
        pos += 1
        limit += 1
    while pos < end:
        if p[pos] < DIGIT_0 or p[pos] > DIGIT_9:
            return False
        digit = p[pos] - DIGIT_0
        if value > (limit - digit) // 10:
            return False
        value = value * 10 + digit
        pos += 1
    if negative and value == 0:
        return False  # serde reads -0 as a float
    if cython.compiled:
        cell[at] = cython.cast(cython.longlong, 0 - value if negative else value)
    else:
        value = -value if negative else value
        cell[at] = value - (1 << 64) if value >> 63 == 1 else value
    return True


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _member_integer(
    p: cython.pointer(cython.const[cython.uchar]),
    pos: cython.longlong,
    end: cython.longlong,
    field: cython.longlong,
    bits: cython.longlong,
    sign: cython.longlong,
    depth: cython.longlong,
    row: cython.pointer(cython.longlong),
    stack: cython.pointer(cython.uchar),
) -> cython.longlong:
    """An integer of a number of bits, the sign among them, kept as 64 bits."""
    start: cython.longlong = pos
    bit: cython.longlong = 1
    if row[SEEN] >> field & 1:
        _forget(row, field, field + 1)
    if pos >= end or (p[pos] != MINUS and (p[pos] < DIGIT_0 or p[pos] > DIGIT_9)):
        return _member_other(p, pos, end, field, depth, row, stack)
    pos = _json_number(p, pos, end)
    if pos < 0:
        return pos
    if _integer(p, start, pos, bits, sign, row, FIRST_FIELD + FIELD_CELLS * field):
        row[SEEN] |= bit << field
    else:
        _blame(row, WRONG_TYPE, field, start)
    return pos


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _compact_bytes(
    p: cython.pointer(cython.const[cython.uchar]),
    pos: cython.longlong,
    end: cython.longlong,
    out: cython.pointer(cython.uchar),
    row: cython.pointer(cython.longlong),
) -> cython.longlong:
    """Read the bytes of an array while it is in compact form; returns the position of the next element."""
    count: cython.longlong = 0
    if cython.compiled:
        pos += read_bytes(p + pos, end - pos, out + row[DATA_END], cython.address(count))  # noqa: F821 - of bits.h
        row[DATA_END] += count
    return pos


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _bytes(
    p: cython.pointer(cython.const[cython.uchar]),
    pos: cython.longlong,
    end: cython.longlong,
    field: cython.longlong,
    row: cython.pointer(cython.longlong),
    out: cython.pointer(cython.uchar),
) -> cython.longlong:
    """An array of bytes, which go to `out`; ~position of an element that is not one, which is noted."""
    element: cython.longlong
    pos = _json_blank(p, pos + 1, end)
    if pos < end and p[pos] == CLOSING_BRACKET:
        return pos + 1
    while True:
        pos = _json_blank(p, _compact_bytes(p, pos, end, out, row), end)
        element = pos
        pos = _json_number(p, pos, end)
        if pos < 0:
            _blame(row, WRONG_TYPE, field, element)
            return ~element
        if not _integer(p, element, pos, 8, 0, row, FIRST_FIELD + FIELD_CELLS * field):
            _blame(row, NOT_A_BYTE, field, element)
            return ~element
        out[row[DATA_END]] = cython.cast(cython.uchar, row[FIRST_FIELD + FIELD_CELLS * field])
        row[DATA_END] += 1
        pos = _json_blank(p, pos, end)
        if pos < end and p[pos] == CLOSING_BRACKET:
            return pos + 1
        if pos >= end or p[pos] != COMMA:
            return ~pos
        pos = _json_blank(p, pos + 1, end)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _member_bytes(
    p: cython.pointer(cython.const[cython.uchar]),
    pos: cython.longlong,
    end: cython.longlong,
    field: cython.longlong,
    depth: cython.longlong,
    row: cython.pointer(cython.longlong),
    stack: cython.pointer(cython.uchar),
    out: cython.pointer(cython.uchar),
) -> cython.longlong:
    """An array of bytes, which are appended to `out`."""
    start: cython.longlong = pos
    if row[SEEN] >> field & 1:
        _forget(row, field, field + 1)
    row[DATA_END] = row[DATA_START]
    if pos >= end or p[pos] != OPENING_BRACKET:
        return _member_other(p, pos, end, field, depth, row, stack)
    pos = _bytes(p, pos, end, field, row, out)
    if pos >= 0:
        _place(row, field, start, pos - start)
    elif row[FAULT]:
        return _json_skip(p, start, end, depth, stack)  # not an array of bytes, but it may be JSON
    return pos


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _member_pairs(
    p: cython.pointer(cython.const[cython.uchar]),
    pos: cython.longlong,
    end: cython.longlong,
    field: cython.longlong,
    depth: cython.longlong,
    row: cython.pointer(cython.longlong),
    stack: cython.pointer(cython.uchar),
) -> cython.longlong:
    """An array or an object of any shape; its place is kept."""
    after: cython.longlong
    if row[SEEN] >> field & 1:
        _forget(row, field, field + 1)
    if pos >= end or (p[pos] != OPENING_BRACKET and p[pos] != OPENING_BRACE):
        return _member_other(p, pos, end, field, depth, row, stack)
    after = _json_skip(p, pos, end, depth, stack)
    if after >= 0:
        _place(row, field, pos, after - pos)
    return after
