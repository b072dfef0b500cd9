"""Records of an RBAK payload as columns: one pass over the JSON of each, from its bytes into arrays.

A record that is not the JSON of a `BackupRecord` leaves no row: what is wrong with it, and where, goes into `faults`.
Of several members with the same key the last counts; members that are not known are passed over. The fields and their
names are in `formats.rbak.records`.
"""

import cython

if cython.compiled:
    from cython.cimports.libc.string import memcmp
else:
    from thawline.native.sources.json_text import (
        _json_blank,
        _json_colon,
        _json_number,
        _json_skip,
        _json_string,
        _json_unescape,
        _json_word,
    )
    from thawline.native.sources.rbak_headers import _rbak_headers

# Kinds of fields.
BODY = cython.declare(cython.int, 0)
TABLE = cython.declare(cython.int, 1)
HEADERS = cython.declare(cython.int, 2)
TEXT = cython.declare(cython.int, 3)
BOOL = cython.declare(cython.int, 4)
UINT64 = cython.declare(cython.int, 5)
INT64 = cython.declare(cython.int, 6)
UINT8 = cython.declare(cython.int, 7)

# Numbers of fields: those of a record, then those of its properties.
BODY_FIELD = cython.declare(cython.int, 0)
PROPERTIES_FIELD = cython.declare(cython.int, 1)
HEADERS_FIELD = cython.declare(cython.int, 2)
FIRST_PROPERTY = cython.declare(cython.int, 10)
NUM_FIELDS = cython.declare(cython.int, 23)

# What is wrong with a record.
NOT_JSON = cython.declare(cython.int, 1)
NOT_A_BYTE = cython.declare(cython.int, 2)
WRONG_TYPE = cython.declare(cython.int, 3)

# Cells of a record on its way into columns: two a field (place and length, or value; length -1 is null), then these.
SEEN = cython.declare(cython.int, 46)
ESCAPED = cython.declare(cython.int, 47)
FAULT = cython.declare(cython.int, 48)
FAULT_FIELD = cython.declare(cython.int, 49)
FAULT_AT = cython.declare(cython.int, 50)
BODY_START = cython.declare(cython.int, 51)
BODY_END = cython.declare(cython.int, 52)


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _rbak_blame(
    row: cython.pointer(cython.longlong), kind: cython.longlong, field: cython.longlong, at: cython.longlong
) -> cython.longlong:
    """Note what is wrong with a record, unless something was wrong before."""
    if row[FAULT] == 0:
        row[FAULT] = kind
        row[FAULT_FIELD] = field
        row[FAULT_AT] = at
    return 0


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _rbak_same(
    p: cython.pointer(cython.const[cython.uchar]),
    start: cython.longlong,
    names: cython.pointer(cython.const[cython.uchar]),
    begin: cython.longlong,
    length: cython.longlong,
) -> cython.bint:
    """Whether some bytes are those of a name."""
    if cython.compiled:
        return memcmp(p + start, names + begin, length) == 0
    return bytes(p[start : start + length]) == bytes(names[begin : begin + length])


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _rbak_field(
    p: cython.pointer(cython.const[cython.uchar]),
    start: cython.longlong,
    length: cython.longlong,
    first: cython.longlong,
    last: cython.longlong,
    names: cython.pointer(cython.const[cython.uchar]),
    ends: cython.pointer(cython.const[cython.short]),
) -> cython.longlong:
    """Which of the fields `[first, last)` is called so, or -1."""
    field: cython.longlong = first
    begin: cython.longlong
    while field < last:
        begin = ends[field - 1] if field > 0 else 0
        if ends[field] - begin - 2 == length and _rbak_same(p, start, names, begin, length):
            return field
        field += 1
    return -1


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _rbak_key(
    p: cython.pointer(cython.const[cython.uchar]),
    start: cython.longlong,
    found: cython.longlong,
    first: cython.longlong,
    last: cython.longlong,
    names: cython.pointer(cython.const[cython.uchar]),
    ends: cython.pointer(cython.const[cython.short]),
    scratch: cython.pointer(cython.uchar),
) -> cython.longlong:
    """The same for a key as `_json_string` found it: one with escapes means what it says without them."""
    length: cython.longlong = (found >> 1) - start
    if found & 1 == 0:
        return _rbak_field(p, start, length, first, last, names, ends)
    if length > 128:  # six times the longest name is less
        return -1
    length = _json_unescape(p, start, start + length, scratch, 0)
    return _rbak_field(scratch, 0, length, first, last, names, ends)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _rbak_integer(
    p: cython.pointer(cython.const[cython.uchar]),
    pos: cython.longlong,
    end: cython.longlong,
    kind: cython.longlong,
    cell: cython.pointer(cython.longlong),
    at: cython.longlong,
) -> cython.bint:
    """Put the number in `[pos, end)` into a cell, all 64 bits of it; False if it is no integer of that kind."""
    value: cython.ulonglong = 0
    limit: cython.ulonglong = 18446744073709551615
    digit: cython.ulonglong
    negative: cython.bint = p[pos] == 45
    if kind == INT64:
        limit = 9223372036854775807
        if negative:
            pos += 1
            limit = 9223372036854775808
    elif kind == UINT8:
        limit = 255
    while pos < end:
        if p[pos] < 48 or p[pos] > 57:
            return False
        digit = p[pos] - 48
        if value > (limit - digit) // 10:
            return False
        value = value * 10 + digit
        pos += 1
    if negative and value == 0:
        return False  # to serde -0 is a float
    if cython.compiled:
        cell[at] = cython.cast(cython.longlong, 0 - value if negative else value)
    else:
        value = -value if negative else value
        cell[at] = value - (1 << 64) if value >> 63 == 1 else value
    return True


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _rbak_bytes(
    p: cython.pointer(cython.const[cython.uchar]),
    pos: cython.longlong,
    end: cython.longlong,
    body: cython.pointer(cython.uchar),
    row: cython.pointer(cython.longlong),
) -> cython.longlong:
    """Bytes of an array in compact form, for as long as they are that; the position of the element to go on with."""
    count: cython.longlong = 0
    if cython.compiled:
        pos += read_bytes(p + pos, end - pos, body + row[BODY_END], cython.address(count))  # noqa: F821 - of bits.h
        row[BODY_END] += count
    return pos


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _rbak_body(
    p: cython.pointer(cython.const[cython.uchar]),
    pos: cython.longlong,
    end: cython.longlong,
    body: cython.pointer(cython.uchar),
    row: cython.pointer(cython.longlong),
) -> cython.longlong:
    """Position behind an array of bytes, which go to `body`; ~position of an element that is none, which is noted."""
    element: cython.longlong
    pos = _json_blank(p, pos + 1, end)
    if pos < end and p[pos] == 93:
        return pos + 1
    while True:
        pos = _json_blank(p, _rbak_bytes(p, pos, end, body, row), end)
        element = pos
        pos = _json_number(p, pos, end)
        if pos < 0:
            _rbak_blame(row, WRONG_TYPE, BODY_FIELD, element)
            return ~element
        if not _rbak_integer(p, element, pos, UINT8, row, 0):
            _rbak_blame(row, NOT_A_BYTE, BODY_FIELD, element)
            return ~element
        body[row[BODY_END]] = cython.cast(cython.uchar, row[0])
        row[BODY_END] += 1
        pos = _json_blank(p, pos, end)
        if pos < end and p[pos] == 93:
            return pos + 1
        if pos >= end or p[pos] != 44:
            return ~pos
        pos = _json_blank(p, pos + 1, end)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _rbak_value(
    p: cython.pointer(cython.const[cython.uchar]),
    pos: cython.longlong,
    end: cython.longlong,
    field: cython.longlong,
    kind: cython.longlong,
    depth: cython.longlong,
    row: cython.pointer(cython.longlong),
    stack: cython.pointer(cython.uchar),
) -> cython.longlong:
    """Position behind a member of a simple kind, which goes to its cells; one of another type is noted."""
    start: cython.longlong = pos
    bit: cython.longlong = cython.cast(cython.longlong, 1) << field
    if kind == TEXT and p[pos] == 34:
        pos = _json_string(p, pos + 1, end)
        if pos < 0:
            return pos
        row[ESCAPED] |= bit if pos & 1 else 0
        row[2 * field] = start + 1
        row[2 * field + 1] = (pos >> 1) - start - 1
        row[SEEN] |= bit
        return (pos >> 1) + 1
    pos = _json_skip(p, pos, end, depth, stack)
    if pos < 0:
        return pos
    if kind >= UINT64 and (p[start] == 45 or 48 <= p[start] <= 57):
        if _rbak_integer(p, start, pos, kind, row, 2 * field):
            row[SEEN] |= bit
            return pos
    elif kind == BOOL and (p[start] == 116 or p[start] == 102):
        row[2 * field] = p[start] == 116
        row[SEEN] |= bit
        return pos
    elif kind == HEADERS and (p[start] == 91 or p[start] == 123):
        row[2 * field] = start
        row[2 * field + 1] = pos - start
        row[SEEN] |= bit
        return pos
    _rbak_blame(row, WRONG_TYPE, field, start)
    return pos


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _rbak_forget(
    row: cython.pointer(cython.longlong), first: cython.longlong, last: cython.longlong
) -> cython.longlong:
    """Make the fields `[first, last)` null: what an earlier member of the same key said does not count."""
    bit: cython.longlong = 1
    while first < last:
        row[2 * first] = 0
        row[2 * first + 1] = -1
        row[SEEN] &= ~(bit << first)
        row[ESCAPED] &= ~(bit << first)
        first += 1
    return 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _rbak_member(
    p: cython.pointer(cython.const[cython.uchar]),
    pos: cython.longlong,
    end: cython.longlong,
    field: cython.longlong,
    row: cython.pointer(cython.longlong),
    body: cython.pointer(cython.uchar),
    stack: cython.pointer(cython.uchar),
    scratch: cython.pointer(cython.uchar),
    names: cython.pointer(cython.const[cython.uchar]),
    ends: cython.pointer(cython.const[cython.short]),
    kinds: cython.pointer(cython.const[cython.uchar]),
) -> cython.longlong:
    """Position behind the value of a field of a record or of its properties."""
    kind: cython.longlong = kinds[field]
    start: cython.longlong = pos
    if row[SEEN] >> field & 1:
        _rbak_forget(row, field, field + 1)
    if field == BODY_FIELD:
        row[BODY_END] = row[BODY_START]
    elif field == PROPERTIES_FIELD and row[SEEN] >> FIRST_PROPERTY:
        _rbak_forget(row, FIRST_PROPERTY, NUM_FIELDS)
    if pos < end and p[pos] == 110:
        return _json_word(p, pos, end)
    if kind == BODY and pos < end and p[pos] == 91:
        pos = _rbak_body(p, pos, end, body, row)
        if pos < 0:
            if row[FAULT] == 0:
                return pos
            return _json_skip(p, start, end, 1, stack)  # not an array of bytes, but is it JSON?
        row[0] = start
        row[1] = pos - start
        row[SEEN] |= 1
        return pos
    if kind == TABLE and pos < end and p[pos] == 123:
        row[SEEN] |= 2
        return _rbak_object(p, pos, end, FIRST_PROPERTY, NUM_FIELDS, row, body, stack, scratch, names, ends, kinds)
    if pos >= end:
        return ~pos
    return _rbak_value(p, pos, end, field, kind, 1 if field < FIRST_PROPERTY else 2, row, stack)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _rbak_object(  # noqa: C901, PLR0912 - a step of the grammar each
    p: cython.pointer(cython.const[cython.uchar]),
    pos: cython.longlong,
    end: cython.longlong,
    first: cython.longlong,
    last: cython.longlong,
    row: cython.pointer(cython.longlong),
    body: cython.pointer(cython.uchar),
    stack: cython.pointer(cython.uchar),
    scratch: cython.pointer(cython.uchar),
    names: cython.pointer(cython.const[cython.uchar]),
    ends: cython.pointer(cython.const[cython.short]),
    kinds: cython.pointer(cython.const[cython.uchar]),
) -> cython.longlong:
    """Position behind an object whose members may be the fields `[first, last)`."""
    field: cython.longlong = first
    start: cython.longlong
    size: cython.longlong
    pos = _json_blank(p, pos + 1, end)
    if pos < end and p[pos] == 125:
        return pos + 1
    while True:
        if pos >= end or p[pos] != 34:
            return ~pos
        start = pos + 1
        size = ends[field] - (ends[field - 1] if field > 0 else 0) if first <= field < last else end
        if start + size < end and _rbak_same(p, start, names, ends[field] - size, size):
            pos = start + size  # the field that serde writes next, in compact form
            if p[pos] <= 32:
                pos = _json_blank(p, pos, end)
        else:
            pos = _json_string(p, start, end)
            if pos < 0:
                return pos
            field = _rbak_key(p, start, pos, first, last, names, ends, scratch)
            pos = _json_colon(p, (pos >> 1) + 1, end)
        if pos >= 0:
            if field < 0:
                pos = _json_skip(p, pos, end, 1 if first == 0 else 2, stack)
            else:
                pos = _rbak_member(p, pos, end, field, row, body, stack, scratch, names, ends, kinds)
                field += 1
        if pos < 0:
            return pos
        pos = _json_blank(p, pos, end)
        if pos < end and p[pos] == 125:
            return pos + 1
        if pos >= end or p[pos] != 44:
            return ~pos
        pos = _json_blank(p, pos + 1, end)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _rbak_record(
    p: cython.pointer(cython.const[cython.uchar]),
    pos: cython.longlong,
    end: cython.longlong,
    row: cython.pointer(cython.longlong),
    body: cython.pointer(cython.uchar),
    stack: cython.pointer(cython.uchar),
    scratch: cython.pointer(cython.uchar),
    names: cython.pointer(cython.const[cython.uchar]),
    ends: cython.pointer(cython.const[cython.short]),
    kinds: cython.pointer(cython.const[cython.uchar]),
) -> cython.bint:
    """Read one record into its cells; False if something is wrong with it, which the cells say."""
    start: cython.longlong = pos
    field: cython.longlong = 0
    while field < NUM_FIELDS:
        row[2 * field] = 0
        row[2 * field + 1] = -1
        field += 1
    row[SEEN] = 0
    row[ESCAPED] = 0
    row[FAULT] = 0
    row[BODY_START] = row[BODY_END]
    pos = _json_blank(p, pos, end)
    if pos < end and p[pos] == 123:
        pos = _rbak_object(p, pos, end, 0, FIRST_PROPERTY, row, body, stack, scratch, names, ends, kinds)
    else:
        start = pos
        pos = _json_skip(p, pos, end, 0, stack)
        _rbak_blame(row, WRONG_TYPE, NUM_FIELDS, start)
    if pos >= 0:
        pos = _json_blank(p, pos, end)
        if pos < end:
            pos = ~pos
    if pos < 0:
        row[FAULT] = NOT_JSON
        row[FAULT_FIELD] = NUM_FIELDS
        row[FAULT_AT] = ~pos
    return row[FAULT] == 0


def decode_records(
    buf: cython.const[cython.uchar][::1],
    starts: cython.const[cython.longlong][::1],
    ends: cython.const[cython.longlong][::1],
    rows: cython.longlong,
    head: cython.longlong,
    names: cython.const[cython.uchar][::1],
    name_ends: cython.const[cython.short][::1],
    kinds: cython.const[cython.uchar][::1],
    values: cython.longlong[::1],
    lengths: cython.int[::1],
    seen: cython.int[::1],
    entries: cython.int[::1],
    body_offsets: cython.int[::1],
    body: cython.uchar[::1],
    indices: cython.longlong[::1],
    faults: cython.longlong[::1],
    escaped: cython.uchar[::1],
    work: cython.longlong[::1],
    scratch: cython.uchar[::1],
):
    """Read the JSON documents `[start + head, end)` of a buffer into columns; how many rows and faults that gives.

    The columns of field `f` are `values[f * rows:]` (a place, or a value) and `lengths[f * rows:]`. `seen` has a bit a
    field that is not null, `entries` the number of headers (-1: of no known shape, -2: null), `indices` which document
    a row is, `escaped` whether a text of a field has escapes; `faults` has document, kind, field and position of each.
    `work[61]` and `work[62]` have the bits that any and all rows have seen, `work[63]` whether headers of any row have
    no known shape.
    """
    row: cython.longlong = 0
    good: cython.longlong = 0
    bad: cython.longlong = 0
    every: cython.longlong = -1
    any_escaped: cython.longlong = 0
    any_seen: cython.longlong = 0
    is_odd: cython.bint = False
    field: cython.longlong
    p: cython.pointer(cython.const[cython.uchar])
    cells: cython.pointer(cython.longlong)
    entry: cython.pointer(cython.longlong)
    member: cython.pointer(cython.longlong)
    stack: cython.pointer(cython.uchar)
    room: cython.pointer(cython.uchar)
    out: cython.pointer(cython.uchar)
    name: cython.pointer(cython.const[cython.uchar])
    name_end: cython.pointer(cython.const[cython.short])
    kind: cython.pointer(cython.const[cython.uchar])
    body_offsets[0] = 0
    if rows == 0 or buf.shape[0] == 0:
        return 0, 0
    if cython.compiled:
        p = cython.address(buf[0])
        cells = cython.address(work[0])
        entry = cython.address(work[64])
        member = cython.address(work[72])
        stack = cython.address(scratch[0])
        room = cython.address(scratch[256])
        out = cython.address(body[0])
        name = cython.address(names[0])
        name_end = cython.address(name_ends[0])
        kind = cython.address(kinds[0])
    else:
        p, cells, entry, member, out = buf, work, work[64:], work[72:], body
        stack, room, name, name_end, kind = scratch, scratch[256:], names, name_ends, kinds
    with cython.nogil:
        cells[BODY_END] = 0
        while row < rows:
            if _rbak_record(p, starts[row] + head, ends[row], cells, out, stack, room, name, name_end, kind):
                field = 0
                while field < NUM_FIELDS:
                    values[field * rows + good] = cells[2 * field]
                    lengths[field * rows + good] = cython.cast(cython.int, cells[2 * field + 1])
                    field += 1
                any_escaped |= cells[ESCAPED]
                seen[good] = cython.cast(cython.int, cells[SEEN])
                entries[good] = -2
                if cells[SEEN] >> HEADERS_FIELD & 1:
                    entries[good] = cython.cast(
                        cython.int,
                        _rbak_headers(
                            p,
                            cells[2 * HEADERS_FIELD],
                            cells[2 * HEADERS_FIELD] + cells[2 * HEADERS_FIELD + 1],
                            stack,
                            entry,
                            member,
                            entry,
                            0,
                            0,
                        ),
                    )
                every &= cells[SEEN]
                any_seen |= cells[SEEN]
                is_odd = is_odd or entries[good] == -1
                indices[good] = row
                good += 1
                body_offsets[good] = cython.cast(cython.int, cells[BODY_END])
            else:
                cells[BODY_END] = cells[BODY_START]
                faults[4 * bad] = row
                faults[4 * bad + 1] = cells[FAULT]
                faults[4 * bad + 2] = cells[FAULT_FIELD]
                faults[4 * bad + 3] = cells[FAULT_AT]
                bad += 1
            row += 1
        field = 0
        while field < NUM_FIELDS:
            escaped[field] = cython.cast(cython.uchar, any_escaped >> field & 1)
            field += 1
        work[61] = any_seen
        work[62] = every
        work[63] = is_odd
    return good, bad
