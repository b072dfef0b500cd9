"""Keys with values, in each shape that writers of JSON give a table, as places in JSON that is known to be valid.

The shapes are `[["k", v], …]`, `[{"key": "k", "value": v}, …]` and `{"k": v, …}`. What the members of the second one
are called, the caller says: `names` has each of both after its length.
"""

import cython

if not cython.compiled:
    from thawline.native.constants.characters import (
        CLOSING_BRACE,
        CLOSING_BRACKET,
        COLON,
        COMMA,
        OPENING_BRACE,
        OPENING_BRACKET,
        QUOTE,
    )
    from thawline.native.constants.documents import (
        ENTRY_CELLS,
        KEY_ESCAPED,
        KEY_LENGTH,
        KEY_START,
        MEMBER_CELLS,
        NO_SHAPE,
        PAIR_CELLS,
        VALUE_LENGTH,
        VALUE_START,
    )
    from thawline.native.constants.kernels import NULL_LENGTH
    from thawline.native.sources.json_members import _json_same
    from thawline.native.sources.json_text import _json_blank, _json_skip, _json_string


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _pair(
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
@cython.nogil
@cython.exceptval(check=False)
def _named_pair(
    p: cython.pointer(cython.const[cython.uchar]),
    pos: cython.longlong,
    end: cython.longlong,
    stack: cython.pointer(cython.uchar),
    entry: cython.pointer(cython.longlong),
    member: cython.pointer(cython.longlong),
    names: cython.pointer(cython.const[cython.uchar]),
) -> cython.longlong:
    """As `_pair`, for an object with a member for the key and one for the value; without a value, its length is -1."""
    length: cython.longlong
    start: cython.longlong
    of_key: cython.longlong = names[0]
    of_value: cython.longlong = names[1 + of_key]
    entry[KEY_LENGTH] = NULL_LENGTH
    entry[VALUE_START] = 0
    entry[VALUE_LENGTH] = NULL_LENGTH
    pos = _json_blank(p, pos + 1, end)
    while True:
        pos = _pair(p, pos, end, stack, member, COLON)
        if pos < 0:
            return -1
        start = member[KEY_START]
        length = member[KEY_LENGTH]
        if length == of_key and _json_same(p, start, names, 1, of_key):
            if p[member[VALUE_START]] != QUOTE:
                return -1
            entry[KEY_ESCAPED] = _json_string(p, member[VALUE_START] + 1, end) & 1
            entry[KEY_START] = member[VALUE_START] + 1
            entry[KEY_LENGTH] = member[VALUE_LENGTH] - 2
        elif length == of_value and _json_same(p, start, names, 2 + of_key, of_value):
            entry[VALUE_START] = member[VALUE_START]
            entry[VALUE_LENGTH] = member[VALUE_LENGTH]
        pos = _json_blank(p, pos, end)
        if pos < end and p[pos] == CLOSING_BRACE:
            return pos + 1 if entry[KEY_LENGTH] >= 0 else -1
        pos = _json_blank(p, pos + 1, end)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _listed_pair(
    p: cython.pointer(cython.const[cython.uchar]),
    pos: cython.longlong,
    end: cython.longlong,
    stack: cython.pointer(cython.uchar),
    entry: cython.pointer(cython.longlong),
    member: cython.pointer(cython.longlong),
    names: cython.pointer(cython.const[cython.uchar]),
    is_object: cython.bint,
) -> cython.longlong:
    """Position after one pair, in any of the known shapes; -1 if it has none of them."""
    if is_object:
        return _pair(p, pos, end, stack, entry, COLON)
    if pos < end and p[pos] == OPENING_BRACE:
        return _named_pair(p, pos, end, stack, entry, member, names)
    if pos >= end or p[pos] != OPENING_BRACKET:
        return -1
    pos = _pair(p, _json_blank(p, pos + 1, end), end, stack, entry, COMMA)
    if pos < 0:
        return -1
    pos = _json_blank(p, pos, end)
    return pos + 1 if pos < end and p[pos] == CLOSING_BRACKET else -1


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _pairs(
    p: cython.pointer(cython.const[cython.uchar]),
    pos: cython.longlong,
    end: cython.longlong,
    stack: cython.pointer(cython.uchar),
    entry: cython.pointer(cython.longlong),
    member: cython.pointer(cython.longlong),
    names: cython.pointer(cython.const[cython.uchar]),
    most: cython.longlong,
    cells: cython.pointer(cython.longlong),
    at: cython.longlong,
    is_kept: cython.int,
) -> cython.longlong:
    """Number of pairs in `[pos, end)`; `NO_SHAPE` if they have no known shape, or are more than `most`.

    If kept, they go to `cells`, the first one to number `at`.
    """
    is_object: cython.bint = p[pos] == OPENING_BRACE
    found: cython.longlong = 0
    i: cython.longlong
    pos = _json_blank(p, pos + 1, end)
    if pos < end and (p[pos] == CLOSING_BRACKET or p[pos] == CLOSING_BRACE):
        return 0
    while True:
        pos = _listed_pair(p, pos, end, stack, entry, member, names, is_object)
        if pos < 0 or found >= most:
            return NO_SHAPE
        if is_kept:
            i = 0
            while i < PAIR_CELLS:
                cells[PAIR_CELLS * (at + found) + i] = entry[i]
                i += 1
        found += 1
        pos = _json_blank(p, pos, end)
        if pos >= end or p[pos] != COMMA:
            return found
        pos = _json_blank(p, pos + 1, end)


def find_pairs(
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
    names: cython.const[cython.uchar][::1],
    work: cython.longlong[::1],
    scratch: cython.uchar[::1],
):
    """Find all pairs; `entries` is how many each row has. Returns whether a key has escapes.

    `found` gets the cells of each pair. A value that is absent has the length -1.
    """
    row: cython.longlong = 0
    total: cython.longlong = 0
    item: cython.longlong = 0
    end: cython.longlong
    escaped: cython.bint = False
    p: cython.pointer(cython.const[cython.uchar])
    entry: cython.pointer(cython.longlong)
    member: cython.pointer(cython.longlong)
    cells: cython.pointer(cython.longlong)
    stack: cython.pointer(cython.uchar)
    name: cython.pointer(cython.const[cython.uchar])
    if rows == 0 or buf.shape[0] == 0 or found.shape[0] == 0:
        return False
    if cython.compiled:
        p = cython.address(buf[0])
        entry = cython.address(work[ENTRY_CELLS])
        member = cython.address(work[MEMBER_CELLS])
        cells = cython.address(found[0])
        stack = cython.address(scratch[0])
        name = cython.address(names[0])
    else:
        p, entry, member, cells, stack, name = buf, work[ENTRY_CELLS:], work[MEMBER_CELLS:], found, scratch, names
    with cython.nogil:
        while row < rows:
            if entries[row] > 0:
                end = starts[row] + lengths[row]
                total += _pairs(p, starts[row], end, stack, entry, member, name, entries[row], cells, total, 1)
            row += 1
        while item < total:
            key_starts[item] = cells[PAIR_CELLS * item + KEY_START]
            key_lengths[item] = cython.cast(cython.int, cells[PAIR_CELLS * item + KEY_LENGTH])
            value_starts[item] = cells[PAIR_CELLS * item + VALUE_START]
            value_lengths[item] = cython.cast(cython.int, cells[PAIR_CELLS * item + VALUE_LENGTH])
            escaped = escaped or cells[PAIR_CELLS * item + KEY_ESCAPED] != 0
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
