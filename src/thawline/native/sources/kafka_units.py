"""What Kafka's declarative specs cannot say: where the next batch may be after damage, and where its records belong."""

import cython

if not cython.compiled:
    from thawline.checksums import crc32, crc32c


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _big(buf: cython.const[cython.uchar][::1], at: cython.longlong, size: cython.longlong) -> cython.longlong:
    value: cython.ulonglong = 0
    i: cython.longlong = 0
    if not cython.compiled:
        return int.from_bytes(buf[at : at + size], "big", signed=True)
    while i < size:
        value = (value << 8) | buf[at + i]
        i += 1
    if size < 8 and value >> (8 * size - 1):
        value |= ~cython.cast(cython.ulonglong, 0) << (8 * size)
    return cython.cast(cython.longlong, value)


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _place_size(buf: cython.const[cython.uchar][::1], pos: cython.longlong) -> cython.longlong:
    """The size of the unit that may start here; 0 where none can (formats/kafka.md 1.7)."""
    limit: cython.longlong = buf.shape[0]
    magic: cython.longlong
    size: cython.longlong
    last: cython.longlong
    count: cython.longlong
    if pos > limit - 26:
        return 0
    magic = buf[pos + 16]
    if magic > 2:
        return 0
    size = _big(buf, pos + 8, 4)
    if size < (49 if magic == 2 else 22 if magic == 1 else 14) or pos + 12 + size > limit:
        return 0
    if magic == 2:
        last = _big(buf, pos + 23, 4)
        count = _big(buf, pos + 57, 4)
        if buf[pos + 21] != 0 or last < 0 or count < 0 or count > last + 1:
            return 0
        return 12 + size
    # Of a message also the sizes of key and value must be possible: other bytes that look like one claim any size.
    last = pos + (26 if magic == 1 else 18)
    count = _big(buf, last, 4)
    if count < -1 or count > size:
        return 0
    last += 4 + max(count, 0)
    if last + 4 > pos + 12 + size:
        return 0
    count = _big(buf, last, 4)
    if count < -1 or last + 4 + max(count, 0) > pos + 12 + size:
        return 0
    return 12 + size


def find_units(
    buf: cython.const[cython.uchar][::1],
    start: cython.longlong,
    end: cython.longlong,
    offsets: cython.const[cython.longlong][::1],
    positions: cython.longlong[::1],
    sizes: cython.longlong[::1],
):
    """Places in `[start, end)` where a batch or a message may start; returns how many, and where to go on.

    A place is one where the length fits the buffer, the magic is known and the offset lies in `offsets[0]..offsets[1]`;
    of magic 2 also the attributes, the last offset and the count must be possible (formats/kafka.md 1.7), of older ones
    the sizes of key and value.
    """
    pos: cython.longlong = start
    found: cython.longlong = 0
    room: cython.longlong = positions.shape[0]
    limit: cython.longlong = buf.shape[0]
    size: cython.longlong
    if end > limit - 26:
        end = limit - 26 + 1
    with cython.nogil:
        while pos < end and found < room:
            if buf[pos + 16] <= 2:
                size = _place_size(buf, pos)
                if size and offsets[0] <= _big(buf, pos, 8) <= offsets[1]:
                    positions[found] = pos
                    sizes[found] = size
                    found += 1
            pos += 1
    return found, pos


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _claimed_offset(buf: cython.const[cython.uchar][::1], pos: cython.longlong) -> cython.longlong:
    """The last offset of the unit whose head is here, as that claims it; -1 where it is no head, or beyond 64 bits."""
    left: cython.longlong = buf.shape[0] - pos
    magic: cython.longlong
    size: cython.longlong
    base: cython.longlong
    more: cython.longlong = 0
    largest: cython.longlong = 9223372036854775807
    if left < 26:
        return -1
    magic = buf[pos + 16]
    if magic > 2 or (magic == 2 and left < 27):
        return -1
    size = _big(buf, pos + 8, 4)
    base = _big(buf, pos, 8)
    if size < (49 if magic == 2 else 22 if magic == 1 else 14) or base < 0:
        return -1
    if magic == 2:
        more = _big(buf, pos + 23, 4)
        if more < 0 or buf[pos + 21] != 0 or base > largest - more:
            return -1
    return base + more


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _is_right(
    buf: cython.const[cython.uchar][::1],
    pos: cython.longlong,
    known: cython.uchar[::1],
    first: cython.longlong,
    state: cython.longlong[::1],
) -> cython.int:
    """Whether an intact unit starts here; -1 where that would cost more than may go into checksums."""
    size: cython.longlong
    covered: cython.longlong
    stored: cython.uint
    computed: cython.uint
    if known[pos - first]:
        return known[pos - first] - 1
    size = _place_size(buf, pos)
    if size == 0:
        known[pos - first] = 1
        return 0
    covered = pos + (21 if buf[pos + 16] == 2 else 16)
    if state[2] < pos + size - covered:
        return -1
    state[2] -= pos + size - covered
    stored = cython.cast(cython.uint, _big(buf, pos + (17 if buf[pos + 16] == 2 else 12), 4))
    if not cython.compiled:
        stored &= 0xFFFFFFFF
        computed = (crc32c if buf[pos + 16] == 2 else crc32)(buf, covered, pos + size)
    elif buf[pos + 16] == 2:
        computed = crc_of_range(crc32c_best, cython.address(buf[covered]), pos + size - covered)  # noqa: F821
    else:
        computed = crc_of_range(crc32_by_tables, cython.address(buf[covered]), pos + size - covered)  # noqa: F821
    known[pos - first] = 2 if stored == computed else 1
    return 1 if stored == computed else 0


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _follows(
    buf: cython.const[cython.uchar][::1], pos: cython.longlong, floor: cython.longlong, ahead: cython.longlong
) -> cython.bint:
    """Whether the offset that is claimed here is behind one, and not too far."""
    offset: cython.longlong = _claimed_offset(buf, pos)
    return offset > floor and offset - ahead <= floor


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _chained(
    buf: cython.const[cython.uchar][::1],
    end: cython.longlong,
    limits: cython.const[cython.longlong][::1],
    known: cython.uchar[::1],
    first: cython.longlong,
    state: cython.longlong[::1],
    holes: cython.longlong[::1],
) -> cython.longlong:
    """Broken units from here on, one behind the other, that lead to one that is not: how many; 0 if they do not.

    -1 where checksums would cost too much.
    """
    pos: cython.longlong = state[0]
    count: cython.longlong = 0
    size: cython.longlong
    right: cython.int
    while count < limits[1] and 4 * (state[4] + count + 1) <= holes.shape[0]:
        if buf.shape[0] - pos < 12:
            return 0
        size = _big(buf, pos + 8, 4)
        if size < 14 or pos + 12 + size >= end:
            return 0
        holes[4 * (state[4] + count)] = pos
        pos += 12 + size
        holes[4 * (state[4] + count) + 1] = pos
        count += 1
        if _follows(buf, pos, state[1], limits[0]):
            right = _is_right(buf, pos, known, first, state)
            if right:
                return count if right > 0 else -1
    return 0


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _has_stream(buf: cython.const[cython.uchar][::1], pos: cython.longlong, end: cython.longlong) -> cython.bint:
    """Whether the magic of a compressed stream may start in a stretch: gzip, snappy of Java, lz4."""
    while pos < end:
        if (
            (buf[pos] == 0x1F and buf[pos + 1] == 0x8B)
            or (buf[pos] == 0x82 and buf[pos + 1] == 0x53)
            or (buf[pos] == 0x04 and buf[pos + 1] == 0x22)
        ):
            return True
        pos += 1
    return False


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _garbage(
    buf: cython.const[cython.uchar][::1],
    end: cython.longlong,
    limits: cython.const[cython.longlong][::1],
    known: cython.uchar[::1],
    first: cython.longlong,
    state: cython.longlong[::1],
) -> cython.longlong:
    """Where the next intact unit starts, if nothing is before it that may hold it; else 0."""
    pos: cython.longlong = state[0]
    if _follows(buf, pos, state[1], limits[0]):
        return 0
    pos += 1
    end = min(end, buf.shape[0] - 25)
    while pos < end:
        if buf[pos + 16] <= 2 and _place_size(buf, pos) and _follows(buf, pos, state[1], limits[0]):
            if buf[pos + 16] < 2 and _has_stream(buf, state[0], pos):
                return 0
            return pos if _is_right(buf, pos, known, first, state) > 0 else 0
        pos += 1
    return 0


def follow_units(
    buf: cython.const[cython.uchar][::1],
    window: cython.const[cython.longlong][::1],
    limits: cython.const[cython.longlong][::1],
    is_trusting: cython.bint,
    state: cython.longlong[::1],
    known: cython.uchar[::1],
    units: cython.longlong[::1],
    holes: cython.longlong[::1],
):
    """Units of a window one behind the other, from gap to gap, up to a gap that takes more to tell.

    `limits` are how far offsets may be ahead of those before, and how many broken units in a row are followed. `state`
    is where it is, the last offset before, bytes that may go into checksums, and how many units and gaps there are. Two
    numbers of `units` are a unit's start and end. Four of `holes` are a gap's start and end, and the offsets before and
    behind it. `known` is 2 where an intact unit starts and 1 where none does, once that was asked.
    """
    offset: cython.longlong
    size: cython.longlong
    count: cython.longlong
    index: cython.longlong
    right: cython.int
    first: cython.longlong = window[0]
    end: cython.longlong = window[1]
    with cython.nogil:
        while state[0] < end and 2 * state[3] < units.shape[0] and 4 * state[4] < holes.shape[0]:
            offset = _claimed_offset(buf, state[0])
            size = 12 + _big(buf, state[0] + 8, 4) if offset >= 0 else 0
            if size and state[0] + size <= buf.shape[0]:
                right = 1 if is_trusting else _is_right(buf, state[0], known, first, state)
                if right < 0:
                    break
                if right:
                    units[2 * state[3]] = state[0]
                    units[2 * state[3] + 1] = state[0] + size
                    state[3] += 1
                    state[0] += size
                    state[1] = offset
                    continue
            count = _chained(buf, end, limits, known, first, state, holes)
            if count == 0:
                holes[4 * state[4]] = state[0]
                holes[4 * state[4] + 1] = _garbage(buf, end, limits, known, first, state)
                count = 1 if holes[4 * state[4] + 1] else 0
            if count <= 0:
                break
            state[0] = holes[4 * (state[4] + count - 1) + 1]
            index = 0
            while index < count:
                holes[4 * state[4] + 2] = state[1]
                holes[4 * state[4] + 3] = _claimed_offset(buf, state[0])
                state[4] += 1
                index += 1


def place_records(
    ranges: cython.const[cython.int][::1],
    offset_deltas: cython.const[cython.int][::1],
    timestamp_deltas: cython.const[cython.longlong][::1],
    rows: cython.longlong,
    heads: cython.const[cython.longlong][::1],
    last_deltas: cython.longlong[::1],
    offsets: cython.longlong[::1],
    timestamps: cython.longlong[::1],
    is_wrong: cython.uchar[::1],
):
    """Offsets and timestamps in milliseconds of records, from the deltas to their batches' heads.

    Four numbers of `heads` are a batch's: base offset, last offset delta, base timestamp, and the timestamp of all
    records or the least integer where each has its own. Deltas must rise within 0..last offset delta; a batch in which
    they do not is marked in `is_wrong`. `last_deltas` is the last one of each batch so far, -1 at first.
    """
    row: cython.longlong = 0
    batch: cython.longlong
    delta: cython.longlong
    none: cython.longlong = -9223372036854775807 - 1
    with cython.nogil:
        while row < rows:
            batch = ranges[row]
            delta = offset_deltas[row]
            if delta <= last_deltas[batch] or delta > heads[4 * batch + 1]:
                is_wrong[batch] = 1
            last_deltas[batch] = delta
            offsets[row] = cython.cast(
                cython.longlong,
                cython.cast(cython.ulonglong, heads[4 * batch]) + cython.cast(cython.ulonglong, delta),
            )
            if heads[4 * batch + 3] == none:
                timestamps[row] = cython.cast(
                    cython.longlong,
                    cython.cast(cython.ulonglong, heads[4 * batch + 2])
                    + cython.cast(cython.ulonglong, timestamp_deltas[row]),
                )
            else:
                timestamps[row] = heads[4 * batch + 3]
            row += 1


def to_microseconds(
    milliseconds: cython.const[cython.longlong][::1],
    rows: cython.longlong,
    microseconds: cython.longlong[::1],
    valid: cython.uchar[::1],
):
    """Milliseconds times 1000; how many are not valid: Kafka's -1 for no timestamp, and years not of 1 to 9999."""
    row: cython.longlong = 0
    missing: cython.longlong = 0
    earliest: cython.longlong = -62135596800000
    latest: cython.longlong = 253402300799999
    value: cython.longlong
    with cython.nogil:
        while row < rows:
            value = milliseconds[row]
            if value == -1 or value > latest or value < earliest:
                valid[row] = 0
                microseconds[row] = 0
                missing += 1
            else:
                valid[row] = 1
                microseconds[row] = value * 1000
            row += 1
    return missing
