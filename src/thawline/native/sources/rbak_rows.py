"""Records of an RBAK payload as columns, in one pass over the JSON of each.

A record that is not the JSON of a `BackupRecord` gives no row: `faults` says what is wrong with it, and where. Of
several members with the same key the last counts; unknown members are skipped. `formats.rbak.records` has the fields.
"""

import cython

if cython.compiled:
    from cython.cimports.libc.string import memcmp
else:
    from thawline.native.constants.characters import (
        CLOSING_BRACE,
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
        SPACE,
    )
    from thawline.native.constants.kernels import NULL_LENGTH
    from thawline.native.constants.rbak import (
        ALL_SEEN,
        ANY_ODD,
        ANY_SEEN,
        BODY,
        BODY_END,
        BODY_FIELD,
        BODY_START,
        BOOL,
        ENTRY_CELLS,
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
        FIRST_PROPERTY,
        HEADERS,
        HEADERS_FIELD,
        INT64,
        KEY_SCRATCH,
        LONGEST_KEY,
        MEMBER_CELLS,
        NO_HEADERS,
        NO_SHAPE,
        NOT_A_BYTE,
        NOT_JSON,
        NUM_FIELDS,
        PROPERTIES_FIELD,
        SEEN,
        TABLE,
        TEXT,
        UINT8,
        UINT64,
        WRONG_TYPE,
    )
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


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _rbak_blame(
    row: cython.pointer(cython.longlong), kind: cython.longlong, field: cython.longlong, at: cython.longlong
) -> cython.longlong:
    """Note the first thing that is wrong with a record."""
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
    """Whether bytes are those of a name."""
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
    """The number of the field of `[first, last)` that has a name, or -1."""
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
    """As `_rbak_field`, for a key as `_json_string` found it; escapes in it are resolved."""
    length: cython.longlong = (found >> 1) - start
    if found & 1 == 0:
        return _rbak_field(p, start, length, first, last, names, ends)
    if length > LONGEST_KEY:
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
    """Put the number in `[pos, end)` into a cell, as 64 bits; False if it is not an integer of that kind."""
    value: cython.ulonglong = 0
    limit: cython.ulonglong = 18446744073709551615
    digit: cython.ulonglong
    negative: cython.bint = p[pos] == MINUS
    if kind == INT64:
        limit = 9223372036854775807
        if negative:
            pos += 1
            limit = 9223372036854775808
    elif kind == UINT8:
        limit = 255
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
def _rbak_bytes(
    p: cython.pointer(cython.const[cython.uchar]),
    pos: cython.longlong,
    end: cython.longlong,
    body: cython.pointer(cython.uchar),
    row: cython.pointer(cython.longlong),
) -> cython.longlong:
    """Read the bytes of an array while it is in compact form; returns the position of the next element."""
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
    """Position after an array of bytes, which go to `body`; ~position of an element that is not one, which is noted."""
    element: cython.longlong
    pos = _json_blank(p, pos + 1, end)
    if pos < end and p[pos] == CLOSING_BRACKET:
        return pos + 1
    while True:
        pos = _json_blank(p, _rbak_bytes(p, pos, end, body, row), end)
        element = pos
        pos = _json_number(p, pos, end)
        if pos < 0:
            _rbak_blame(row, WRONG_TYPE, BODY_FIELD, element)
            return ~element
        if not _rbak_integer(p, element, pos, UINT8, row, FIELD_CELLS * BODY_FIELD):
            _rbak_blame(row, NOT_A_BYTE, BODY_FIELD, element)
            return ~element
        body[row[BODY_END]] = cython.cast(cython.uchar, row[FIELD_CELLS * BODY_FIELD])
        row[BODY_END] += 1
        pos = _json_blank(p, pos, end)
        if pos < end and p[pos] == CLOSING_BRACKET:
            return pos + 1
        if pos >= end or p[pos] != COMMA:
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
    """Position after a member of a simple kind, which goes to its cells; a wrong type is noted."""
    start: cython.longlong = pos
    bit: cython.longlong = cython.cast(cython.longlong, 1) << field
    if kind == TEXT and p[pos] == QUOTE:
        pos = _json_string(p, pos + 1, end)
        if pos < 0:
            return pos
        row[ESCAPED] |= bit if pos & 1 else 0
        row[FIELD_CELLS * field] = start + 1
        row[FIELD_CELLS * field + 1] = (pos >> 1) - start - 1
        row[SEEN] |= bit
        return (pos >> 1) + 1
    pos = _json_skip(p, pos, end, depth, stack)
    if pos < 0:
        return pos
    if kind >= UINT64 and (p[start] == MINUS or DIGIT_0 <= p[start] <= DIGIT_9):
        if _rbak_integer(p, start, pos, kind, row, FIELD_CELLS * field):
            row[SEEN] |= bit
            return pos
    elif kind == BOOL and (p[start] == LOWER_T or p[start] == LOWER_F):
        row[FIELD_CELLS * field] = p[start] == LOWER_T
        row[SEEN] |= bit
        return pos
    elif kind == HEADERS and (p[start] == OPENING_BRACKET or p[start] == OPENING_BRACE):
        row[FIELD_CELLS * field] = start
        row[FIELD_CELLS * field + 1] = pos - start
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
    """Make the fields `[first, last)` null, since the last member with a key counts."""
    bit: cython.longlong = 1
    while first < last:
        row[FIELD_CELLS * first] = 0
        row[FIELD_CELLS * first + 1] = NULL_LENGTH
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
    """Position after the value of a field of a record or of its properties."""
    kind: cython.longlong = kinds[field]
    start: cython.longlong = pos
    if row[SEEN] >> field & 1:
        _rbak_forget(row, field, field + 1)
    if field == BODY_FIELD:
        row[BODY_END] = row[BODY_START]
    elif field == PROPERTIES_FIELD and row[SEEN] >> FIRST_PROPERTY:
        _rbak_forget(row, FIRST_PROPERTY, NUM_FIELDS)
    if pos < end and p[pos] == LOWER_N:
        return _json_word(p, pos, end)
    if kind == BODY and pos < end and p[pos] == OPENING_BRACKET:
        pos = _rbak_body(p, pos, end, body, row)
        if pos < 0:
            if row[FAULT] == 0:
                return pos
            return _json_skip(p, start, end, 1, stack)  # not an array of bytes, but it may be JSON
        row[FIELD_CELLS * BODY_FIELD] = start
        row[FIELD_CELLS * BODY_FIELD + 1] = pos - start
        row[SEEN] |= 1 << BODY_FIELD
        return pos
    if kind == TABLE and pos < end and p[pos] == OPENING_BRACE:
        row[SEEN] |= 1 << PROPERTIES_FIELD
        return _rbak_object(p, pos, end, FIRST_PROPERTY, NUM_FIELDS, row, body, stack, scratch, names, ends, kinds)
    if pos >= end:
        return ~pos
    return _rbak_value(p, pos, end, field, kind, 1 if field < FIRST_PROPERTY else 2, row, stack)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _rbak_object(  # noqa: C901, PLR0912 - each branch is a step of the grammar
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
    """Position after an object whose members may be the fields `[first, last)`."""
    field: cython.longlong = first
    start: cython.longlong
    size: cython.longlong
    pos = _json_blank(p, pos + 1, end)
    if pos < end and p[pos] == CLOSING_BRACE:
        return pos + 1
    while True:
        if pos >= end or p[pos] != QUOTE:
            return ~pos
        start = pos + 1
        size = ends[field] - (ends[field - 1] if field > 0 else 0) if first <= field < last else end
        if start + size < end and _rbak_same(p, start, names, ends[field] - size, size):
            pos = start + size  # the field that serde writes next, in compact form
            if p[pos] <= SPACE:
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
        if pos < end and p[pos] == CLOSING_BRACE:
            return pos + 1
        if pos >= end or p[pos] != COMMA:
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
    """Read one record into its cells; False if something is wrong with it, which the cells then say."""
    start: cython.longlong = pos
    field: cython.longlong = 0
    while field < NUM_FIELDS:
        row[FIELD_CELLS * field] = 0
        row[FIELD_CELLS * field + 1] = NULL_LENGTH
        field += 1
    row[SEEN] = 0
    row[ESCAPED] = 0
    row[FAULT] = 0
    row[BODY_START] = row[BODY_END]
    pos = _json_blank(p, pos, end)
    if pos < end and p[pos] == OPENING_BRACE:
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
    """Read the JSON documents `[start + head, end)` of a buffer into columns; returns the number of rows and of faults.

    The columns of field `f` are `values[f * rows:]` (a place, or a value) and `lengths[f * rows:]`. `seen` has a bit
    for each field that is not null, `entries` the number of headers (`NO_SHAPE`, `NO_HEADERS`), `indices` the document
    of each row, `escaped` whether a text of a field has escapes; `faults` has document, kind, field and position of
    each. `work` gets the slots `ANY_SEEN`, `ALL_SEEN` and `ANY_ODD`.
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
        entry = cython.address(work[ENTRY_CELLS])
        member = cython.address(work[MEMBER_CELLS])
        stack = cython.address(scratch[0])
        room = cython.address(scratch[KEY_SCRATCH])
        out = cython.address(body[0])
        name = cython.address(names[0])
        name_end = cython.address(name_ends[0])
        kind = cython.address(kinds[0])
    else:
        p, cells, entry, member, out = buf, work, work[ENTRY_CELLS:], work[MEMBER_CELLS:], body
        stack, room, name, name_end, kind = scratch, scratch[KEY_SCRATCH:], names, name_ends, kinds
    with cython.nogil:
        cells[BODY_END] = 0
        while row < rows:
            if _rbak_record(p, starts[row] + head, ends[row], cells, out, stack, room, name, name_end, kind):
                field = 0
                while field < NUM_FIELDS:
                    values[field * rows + good] = cells[FIELD_CELLS * field]
                    lengths[field * rows + good] = cython.cast(cython.int, cells[FIELD_CELLS * field + 1])
                    field += 1
                any_escaped |= cells[ESCAPED]
                seen[good] = cython.cast(cython.int, cells[SEEN])
                entries[good] = NO_HEADERS
                if cells[SEEN] >> HEADERS_FIELD & 1:
                    entries[good] = cython.cast(
                        cython.int,
                        _rbak_headers(
                            p,
                            cells[FIELD_CELLS * HEADERS_FIELD],
                            cells[FIELD_CELLS * HEADERS_FIELD] + cells[FIELD_CELLS * HEADERS_FIELD + 1],
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
                is_odd = is_odd or entries[good] == NO_SHAPE
                indices[good] = row
                good += 1
                body_offsets[good] = cython.cast(cython.int, cells[BODY_END])
            else:
                cells[BODY_END] = cells[BODY_START]
                faults[FAULTY_CELLS * bad + FAULTY_DOCUMENT] = row
                faults[FAULTY_CELLS * bad + FAULTY_KIND] = cells[FAULT]
                faults[FAULTY_CELLS * bad + FAULTY_FIELD] = cells[FAULT_FIELD]
                faults[FAULTY_CELLS * bad + FAULTY_AT] = cells[FAULT_AT]
                bad += 1
            row += 1
        field = 0
        while field < NUM_FIELDS:
            escaped[field] = cython.cast(cython.uchar, any_escaped >> field & 1)
            field += 1
        work[ANY_SEEN] = any_seen
        work[ALL_SEEN] = every
        work[ANY_ODD] = is_odd
    return good, bad
