"""Headers of an RBAK record, in each of their known shapes, as places in their JSON, which is known to be valid.

The shapes are `[["k", v], …]`, `[{"key": "k", "value": v}, …]` and `{"k": v, …}`.
"""

import cython

if not cython.compiled:
    from thawline.native.constants.characters import (
        CLOSING_BRACE,
        CLOSING_BRACKET,
        COLON,
        COMMA,
        LOWER_A,
        LOWER_E,
        LOWER_K,
        LOWER_L,
        LOWER_U,
        LOWER_V,
        LOWER_Y,
        OPENING_BRACE,
        OPENING_BRACKET,
        QUOTE,
    )
    from thawline.native.constants.kernels import NULL_LENGTH
    from thawline.native.constants.rbak import (
        ENTRY_CELLS,
        ENTRY_END,
        ENTRY_START,
        HEADER_CELLS,
        KEY_ESCAPED,
        KEY_LENGTH,
        KEY_START,
        KEY_WORD,
        MEMBER_CELLS,
        MOST_HEADERS,
        NO_SHAPE,
        VALUE_LENGTH,
        VALUE_START,
        VALUE_WORD,
    )
    from thawline.native.sources.json_text import _json_blank, _json_skip, _json_string


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _rbak_pair(
    p: cython.pointer(cython.const[cython.uchar]),
    pos: cython.longlong,
    end: cython.longlong,
    stack: cython.pointer(cython.uchar),
    entry: cython.pointer(cython.longlong),
    separator: cython.uchar,
) -> cython.longlong:
    """Position after a key, a separator and a value, whose places go to `entry`; -1 if it is something else."""
    if pos >= end or p[pos] != QUOTE:
        return -1
    entry[KEY_START] = pos + 1
    pos = _json_string(p, pos + 1, end)
    if pos < 0:
        return -1
    entry[KEY_ESCAPED] = pos & 1
    entry[KEY_LENGTH] = (pos >> 1) - entry[KEY_START]
    pos = _json_blank(p, (pos >> 1) + 1, end)
    if pos >= end or p[pos] != separator:
        return -1
    entry[VALUE_START] = _json_blank(p, pos + 1, end)
    pos = _json_skip(p, entry[VALUE_START], end, 0, stack)
    entry[VALUE_LENGTH] = pos - entry[VALUE_START]
    return pos


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _rbak_is_value(p: cython.pointer(cython.const[cython.uchar]), at: cython.longlong) -> cython.bint:
    """Whether the five bytes from here are `value`."""
    return (
        p[at] == LOWER_V
        and p[at + 1] == LOWER_A
        and p[at + 2] == LOWER_L
        and p[at + 3] == LOWER_U
        and p[at + 4] == LOWER_E
    )


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _rbak_named_pair(
    p: cython.pointer(cython.const[cython.uchar]),
    pos: cython.longlong,
    end: cython.longlong,
    stack: cython.pointer(cython.uchar),
    entry: cython.pointer(cython.longlong),
    member: cython.pointer(cython.longlong),
) -> cython.longlong:
    """As `_rbak_pair`, for an object with the members `key` and `value`; without a value, its length is -1."""
    length: cython.longlong
    start: cython.longlong
    entry[KEY_LENGTH] = NULL_LENGTH
    entry[VALUE_START] = 0
    entry[VALUE_LENGTH] = NULL_LENGTH
    pos = _json_blank(p, pos + 1, end)
    while True:
        pos = _rbak_pair(p, pos, end, stack, member, COLON)
        if pos < 0:
            return -1
        start = member[KEY_START]
        length = member[KEY_LENGTH]
        if length == KEY_WORD and p[start] == LOWER_K and p[start + 1] == LOWER_E and p[start + 2] == LOWER_Y:
            if p[member[VALUE_START]] != QUOTE:
                return -1
            entry[KEY_ESCAPED] = _json_string(p, member[VALUE_START] + 1, end) & 1
            entry[KEY_START] = member[VALUE_START] + 1
            entry[KEY_LENGTH] = member[VALUE_LENGTH] - 2
        elif length == VALUE_WORD and _rbak_is_value(p, start):
            entry[VALUE_START] = member[VALUE_START]
            entry[VALUE_LENGTH] = member[VALUE_LENGTH]
        pos = _json_blank(p, pos, end)
        if pos < end and p[pos] == CLOSING_BRACE:
            return pos + 1 if entry[KEY_LENGTH] >= 0 else -1
        pos = _json_blank(p, pos + 1, end)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _rbak_entry(
    p: cython.pointer(cython.const[cython.uchar]),
    pos: cython.longlong,
    end: cython.longlong,
    stack: cython.pointer(cython.uchar),
    entry: cython.pointer(cython.longlong),
    member: cython.pointer(cython.longlong),
    is_object: cython.bint,
) -> cython.longlong:
    """Position after one header, in any of the known shapes; -1 if it has none of them."""
    entry[ENTRY_START] = pos
    if is_object:
        pos = _rbak_pair(p, pos, end, stack, entry, COLON)
    elif pos < end and p[pos] == OPENING_BRACE:
        pos = _rbak_named_pair(p, pos, end, stack, entry, member)
    elif pos < end and p[pos] == OPENING_BRACKET:
        pos = _rbak_pair(p, _json_blank(p, pos + 1, end), end, stack, entry, COMMA)
        if pos >= 0:
            pos = _json_blank(p, pos, end)
            pos = pos + 1 if pos < end and p[pos] == CLOSING_BRACKET else -1
    else:
        pos = -1
    entry[ENTRY_END] = pos
    return pos


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _rbak_headers(
    p: cython.pointer(cython.const[cython.uchar]),
    pos: cython.longlong,
    end: cython.longlong,
    stack: cython.pointer(cython.uchar),
    entry: cython.pointer(cython.longlong),
    member: cython.pointer(cython.longlong),
    cells: cython.pointer(cython.longlong),
    at: cython.longlong,
    is_kept: cython.int,
) -> cython.longlong:
    """Number of headers in `[pos, end)`; `NO_SHAPE` if they have no known shape or are too many for a message.

    If kept, they go to `cells`, the first one to number `at`.
    """
    is_object: cython.bint = p[pos] == OPENING_BRACE
    found: cython.longlong = 0
    i: cython.longlong
    pos = _json_blank(p, pos + 1, end)
    if pos < end and (p[pos] == CLOSING_BRACKET or p[pos] == CLOSING_BRACE):
        return 0
    while True:
        pos = _rbak_entry(p, pos, end, stack, entry, member, is_object)
        if pos < 0 or found >= MOST_HEADERS:
            return NO_SHAPE
        if is_kept:
            i = 0
            while i < HEADER_CELLS:
                cells[HEADER_CELLS * (at + found) + i] = entry[i]
                i += 1
        found += 1
        pos = _json_blank(p, pos, end)
        if pos >= end or p[pos] != COMMA:
            return found
        pos = _json_blank(p, pos + 1, end)


def find_headers(
    buf: cython.const[cython.uchar][::1],
    starts: cython.const[cython.longlong][::1],
    lengths: cython.const[cython.int][::1],
    entries: cython.const[cython.int][::1],
    rows: cython.longlong,
    found: cython.longlong[::1],
    key_starts: cython.longlong[::1],
    key_lengths: cython.int[::1],
    value_starts: cython.longlong[::1],
    value_lengths: cython.int[::1],
    work: cython.longlong[::1],
    scratch: cython.uchar[::1],
):
    """Find all headers; `entries` is how many each row has. Returns whether a key has escapes.

    `found` gets the cells of each header. A value that is absent has the length -1.
    """
    row: cython.longlong = 0
    total: cython.longlong = 0
    item: cython.longlong = 0
    escaped: cython.bint = False
    p: cython.pointer(cython.const[cython.uchar])
    entry: cython.pointer(cython.longlong)
    member: cython.pointer(cython.longlong)
    cells: cython.pointer(cython.longlong)
    stack: cython.pointer(cython.uchar)
    if rows == 0 or buf.shape[0] == 0 or found.shape[0] == 0:
        return False
    if cython.compiled:
        p = cython.address(buf[0])
        entry = cython.address(work[ENTRY_CELLS])
        member = cython.address(work[MEMBER_CELLS])
        cells = cython.address(found[0])
        stack = cython.address(scratch[0])
    else:
        p, entry, member, cells, stack = buf, work[ENTRY_CELLS:], work[MEMBER_CELLS:], found, scratch
    with cython.nogil:
        while row < rows:
            if entries[row] > 0:
                total += _rbak_headers(
                    p, starts[row], starts[row] + lengths[row], stack, entry, member, cells, total, 1
                )
            row += 1
        while item < total:
            key_starts[item] = cells[HEADER_CELLS * item + KEY_START]
            key_lengths[item] = cython.cast(cython.int, cells[HEADER_CELLS * item + KEY_LENGTH])
            value_starts[item] = cells[HEADER_CELLS * item + VALUE_START]
            value_lengths[item] = cython.cast(cython.int, cells[HEADER_CELLS * item + VALUE_LENGTH])
            escaped = escaped or cells[HEADER_CELLS * item + KEY_ESCAPED] != 0
            item += 1
    return escaped


def list_offsets(
    entries: cython.const[cython.int][::1], rows: cython.longlong, offsets: cython.int[::1], valid: cython.uchar[::1]
):
    """Write the offsets of lists from the number of items of each, below zero for null; returns the number of nulls."""
    row: cython.longlong = 0
    at: cython.int = 0
    nulls: cython.longlong = 0
    offsets[0] = 0
    with cython.nogil:
        while row < rows:
            if entries[row] >= 0:
                at += entries[row]
                valid[row >> 3] |= cython.cast(cython.uchar, 1 << (row & 7))
            else:
                nulls += 1
            row += 1
            offsets[row] = at
    return nulls


def pack_seen(
    seen: cython.const[cython.int][::1], field: cython.longlong, rows: cython.longlong, bitmap: cython.uchar[::1]
):
    """Pack the bit of a field into a bitmap of zeros; returns the number of rows without it."""
    row: cython.longlong = 0
    zeros: cython.longlong = 0
    with cython.nogil:
        while row < rows:
            if seen[row] >> field & 1:
                bitmap[row >> 3] |= cython.cast(cython.uchar, 1 << (row & 7))
            else:
                zeros += 1
            row += 1
    return zeros


def widen(values: cython.const[cython.longlong][::1], rows: cython.longlong, wide: cython.longlong[::1]):
    """Write unsigned 64-bit integers as 128-bit integers, the low half first."""
    row: cython.longlong = 0
    with cython.nogil:
        while row < rows:
            wide[2 * row] = values[row]
            wide[2 * row + 1] = 0
            row += 1
