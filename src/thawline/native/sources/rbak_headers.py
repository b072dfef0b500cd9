"""Headers of an RBAK record, in each of the shapes that formats are known to give them, as places of their JSON.

The JSON has been checked before. The shapes are `[["k", v], …]`, `[{"key": "k", "value": v}, …]` and `{"k": v, …}`.
"""

import cython

if not cython.compiled:
    from thawline.native.sources.json_text import _json_blank, _json_skip, _json_string

# Cells of a header on its way into columns.
ENTRY_START = cython.declare(cython.int, 0)
ENTRY_END = cython.declare(cython.int, 1)
KEY_START = cython.declare(cython.int, 2)
KEY_LENGTH = cython.declare(cython.int, 3)
KEY_ESCAPED = cython.declare(cython.int, 4)
VALUE_START = cython.declare(cython.int, 5)
VALUE_LENGTH = cython.declare(cython.int, 6)

# More than a frame of AMQP holds: a table of headers has to fit into one, of 128 KiB unless told otherwise.
MOST_HEADERS = cython.declare(cython.longlong, 65536)


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
    """Position behind a key, a separator and a value, whose places go to `entry`; below zero if that is no such."""
    if pos >= end or p[pos] != 34:
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
    return p[at] == 118 and p[at + 1] == 97 and p[at + 2] == 108 and p[at + 3] == 117 and p[at + 4] == 101


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
    """The same for an object with the members `key` and `value`; without a value, its length is -1."""
    length: cython.longlong
    start: cython.longlong
    entry[KEY_LENGTH] = -1
    entry[VALUE_START] = 0
    entry[VALUE_LENGTH] = -1
    pos = _json_blank(p, pos + 1, end)
    while True:
        pos = _rbak_pair(p, pos, end, stack, member, 58)
        if pos < 0:
            return -1
        start = member[KEY_START]
        length = member[KEY_LENGTH]
        if length == 3 and p[start] == 107 and p[start + 1] == 101 and p[start + 2] == 121:
            if p[member[VALUE_START]] != 34:
                return -1
            entry[KEY_ESCAPED] = _json_string(p, member[VALUE_START] + 1, end) & 1
            entry[KEY_START] = member[VALUE_START] + 1
            entry[KEY_LENGTH] = member[VALUE_LENGTH] - 2
        elif length == 5 and _rbak_is_value(p, start):
            entry[VALUE_START] = member[VALUE_START]
            entry[VALUE_LENGTH] = member[VALUE_LENGTH]
        pos = _json_blank(p, pos, end)
        if pos < end and p[pos] == 125:
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
    """Position behind one header, in any of the known shapes; below zero if it has none of them."""
    entry[ENTRY_START] = pos
    if is_object:
        pos = _rbak_pair(p, pos, end, stack, entry, 58)
    elif pos < end and p[pos] == 123:
        pos = _rbak_named_pair(p, pos, end, stack, entry, member)
    elif pos < end and p[pos] == 91:
        pos = _rbak_pair(p, _json_blank(p, pos + 1, end), end, stack, entry, 44)
        if pos >= 0:
            pos = _json_blank(p, pos, end)
            pos = pos + 1 if pos < end and p[pos] == 93 else -1
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
    """Number of headers in the right JSON `[pos, end)`; -1 if they have no known shape or are too many for a message.

    If kept, they go to `cells`; the first has the number `at` there.
    """
    is_object: cython.bint = p[pos] == 123
    found: cython.longlong = 0
    i: cython.longlong
    pos = _json_blank(p, pos + 1, end)
    if pos < end and (p[pos] == 93 or p[pos] == 125):
        return 0
    while True:
        pos = _rbak_entry(p, pos, end, stack, entry, member, is_object)
        if pos < 0 or found >= MOST_HEADERS:
            return -1
        if is_kept:
            i = 0
            while i < 7:
                cells[7 * (at + found) + i] = entry[i]
                i += 1
        found += 1
        pos = _json_blank(p, pos, end)
        if pos >= end or p[pos] != 44:
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
    """Places of all headers; `entries` says how many each row has. True if a key has escapes.

    `found` gets seven numbers a header: start and end of the entry, start, length and escapes of its key, start and
    length of its value. A value that is not there has the length -1.
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
        entry = cython.address(work[64])
        member = cython.address(work[72])
        cells = cython.address(found[0])
        stack = cython.address(scratch[0])
    else:
        p, entry, member, cells, stack = buf, work[64:], work[72:], found, scratch
    with cython.nogil:
        while row < rows:
            if entries[row] > 0:
                total += _rbak_headers(
                    p, starts[row], starts[row] + lengths[row], stack, entry, member, cells, total, 1
                )
            row += 1
        while item < total:
            key_starts[item] = cells[7 * item + KEY_START]
            key_lengths[item] = cython.cast(cython.int, cells[7 * item + KEY_LENGTH])
            value_starts[item] = cells[7 * item + VALUE_START]
            value_lengths[item] = cython.cast(cython.int, cells[7 * item + VALUE_LENGTH])
            escaped = escaped or cells[7 * item + KEY_ESCAPED] != 0
            item += 1
    return escaped


def list_offsets(
    entries: cython.const[cython.int][::1], rows: cython.longlong, offsets: cython.int[::1], valid: cython.uchar[::1]
):
    """Where the items of each row's list end; below zero they are null. Returns how many rows are."""
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
    """Pack one bit of each row into a bitmap of zeros; returns how many of them are zero."""
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
    """Unsigned integers of 64 bits as integers of 128 bits, the lower half first."""
    row: cython.longlong = 0
    with cython.nogil:
        while row < rows:
            wide[2 * row] = values[row]
            wide[2 * row + 1] = 0
            row += 1
