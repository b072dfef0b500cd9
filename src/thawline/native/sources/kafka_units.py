"""Units of a Kafka segment: where one may start after damage, and the offsets and timestamps of its records."""

import cython

if not cython.compiled:
    from thawline.generated.kernels.constants import (
        KAFKA_MESSAGE_LEN_BODY_MIN,
        KAFKA_MESSAGE_TIMESTAMP_SIZE,
        KAFKA_RECORD_BATCH_BODY_AT,
        KAFKA_RECORD_BATCH_CRC_INPUT_AT,
        KAFKA_RECORD_BATCH_LAST_OFFSET_DELTA_AT,
        KAFKA_RECORD_BATCH_LEN_BODY_AT,
        KAFKA_RECORD_BATCH_LEN_BODY_MIN,
        KAFKA_RECORD_BATCH_MAGIC,
        KAFKA_RECORD_BATCH_MAGIC_AT,
    )
    from thawline.generated.kernels.probes import _kafka_segment__entry_at, _kafka_segment__entry_proven
    from thawline.native.constants.kafka import (
        FOLLOWED_BUDGET,
        FOLLOWED_HOLES,
        FOLLOWED_OFFSET,
        FOLLOWED_TO,
        FOLLOWED_UNITS,
        GZIP_1,
        GZIP_2,
        HEAD_BASE_OFFSET,
        HEAD_BASE_TIMESTAMP,
        HEAD_CELLS,
        HEAD_LAST_DELTA,
        HEAD_TIMESTAMP,
        HOLE_CELLS,
        HOLE_END,
        HOLE_OFFSET_AFTER,
        HOLE_OFFSET_BEFORE,
        HOLE_START,
        KNOWN_RIGHT,
        KNOWN_WRONG,
        LZ4_1,
        LZ4_2,
        MOST_AHEAD,
        MOST_BROKEN,
        SNAPPY_1,
        SNAPPY_2,
        UNIT_CELLS,
        UNIT_END,
        UNIT_START,
        WINDOW_END,
        WINDOW_START,
    )
    from thawline.native.constants.kernels import PROBE_COVERED_END, PROBE_COVERED_START, WORD


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _big(buf: cython.const[cython.uchar][::1], at: cython.longlong, size: cython.longlong) -> cython.longlong:
    """A signed big-endian integer of `size` bytes."""
    value: cython.ulonglong = 0
    i: cython.longlong = 0
    if not cython.compiled:
        return int.from_bytes(buf[at : at + size], "big", signed=True)
    while i < size:
        value = (value << 8) | buf[at + i]
        i += 1
    if size < WORD and value >> (8 * size - 1):
        value |= ~cython.cast(cython.ulonglong, 0) << (8 * size)
    return cython.cast(cython.longlong, value)


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _least_size(magic: cython.longlong) -> cython.longlong:
    """The least size of a unit."""
    if magic == KAFKA_RECORD_BATCH_MAGIC:
        return KAFKA_RECORD_BATCH_BODY_AT + KAFKA_RECORD_BATCH_LEN_BODY_MIN
    return KAFKA_RECORD_BATCH_BODY_AT + KAFKA_MESSAGE_LEN_BODY_MIN + (KAFKA_MESSAGE_TIMESTAMP_SIZE if magic == 1 else 0)


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _claimed_offset(buf: cython.const[cython.uchar][::1], pos: cython.longlong) -> cython.longlong:
    """The last offset that the head of a unit claims; -1 if no head is here, or it is beyond 64 bits."""
    left: cython.longlong = buf.shape[0] - pos
    magic: cython.longlong
    size: cython.longlong
    base: cython.longlong
    more: cython.longlong = 0
    largest: cython.longlong = 9223372036854775807
    if left < _least_size(0):
        return -1
    magic = buf[pos + KAFKA_RECORD_BATCH_MAGIC_AT]
    if magic > KAFKA_RECORD_BATCH_MAGIC or (
        magic == KAFKA_RECORD_BATCH_MAGIC and left < KAFKA_RECORD_BATCH_LAST_OFFSET_DELTA_AT + 4
    ):
        return -1
    size = KAFKA_RECORD_BATCH_BODY_AT + _big(buf, pos + KAFKA_RECORD_BATCH_LEN_BODY_AT, 4)
    base = _big(buf, pos, 8)
    if size < _least_size(magic) or base < 0:
        return -1
    if magic == KAFKA_RECORD_BATCH_MAGIC:
        more = _big(buf, pos + KAFKA_RECORD_BATCH_LAST_OFFSET_DELTA_AT, 4)
        if more < 0 or buf[pos + KAFKA_RECORD_BATCH_CRC_INPUT_AT] != 0 or base > largest - more:
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
    probe: cython.longlong[::1],
) -> cython.int:
    """Whether an intact unit starts here; -1 if its checksum would cost more than the budget has."""
    covered: cython.longlong
    is_right: cython.bint
    if known[pos - first]:
        return known[pos - first] == KNOWN_RIGHT
    if _kafka_segment__entry_at(buf, pos, buf.shape[0], probe) == 0:
        known[pos - first] = KNOWN_WRONG
        return 0
    covered = probe[PROBE_COVERED_END] - probe[PROBE_COVERED_START]
    if state[FOLLOWED_BUDGET] < covered:
        return -1
    state[FOLLOWED_BUDGET] -= covered
    is_right = _kafka_segment__entry_proven(buf, probe)
    known[pos - first] = KNOWN_RIGHT if is_right else KNOWN_WRONG
    return 1 if is_right else 0


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _follows(
    buf: cython.const[cython.uchar][::1], pos: cython.longlong, floor: cython.longlong, ahead: cython.longlong
) -> cython.bint:
    """Whether the offset that is claimed here is above `floor`, by `ahead` at most."""
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
    probe: cython.longlong[::1],
    holes: cython.longlong[::1],
) -> cython.longlong:
    """The number of broken units, one after the other, that lead to an intact one; 0 if they do not.

    -1 if checksums would cost too much.
    """
    pos: cython.longlong = state[FOLLOWED_TO]
    count: cython.longlong = 0
    size: cython.longlong
    cell: cython.longlong
    right: cython.int
    while count < limits[MOST_BROKEN] and HOLE_CELLS * (state[FOLLOWED_HOLES] + count + 1) <= holes.shape[0]:
        if buf.shape[0] - pos < KAFKA_RECORD_BATCH_BODY_AT:
            return 0
        size = _big(buf, pos + KAFKA_RECORD_BATCH_LEN_BODY_AT, 4)
        if size < KAFKA_MESSAGE_LEN_BODY_MIN or pos + KAFKA_RECORD_BATCH_BODY_AT + size >= end:
            return 0
        cell = HOLE_CELLS * (state[FOLLOWED_HOLES] + count)
        holes[cell + HOLE_START] = pos
        pos += KAFKA_RECORD_BATCH_BODY_AT + size
        holes[cell + HOLE_END] = pos
        count += 1
        if _follows(buf, pos, state[FOLLOWED_OFFSET], limits[MOST_AHEAD]):
            right = _is_right(buf, pos, known, first, state, probe)
            if right:
                return count if right > 0 else -1
    return 0


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _has_stream(buf: cython.const[cython.uchar][::1], pos: cython.longlong, end: cython.longlong) -> cython.bint:
    """Whether a compressed stream may start in `[pos, end)`: gzip, snappy as Java frames it, lz4."""
    while pos < end:
        if (
            (buf[pos] == GZIP_1 and buf[pos + 1] == GZIP_2)
            or (buf[pos] == SNAPPY_1 and buf[pos + 1] == SNAPPY_2)
            or (buf[pos] == LZ4_1 and buf[pos + 1] == LZ4_2)
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
    probe: cython.longlong[::1],
) -> cython.longlong:
    """Where the next intact unit starts, if nothing before it may contain it; else 0."""
    pos: cython.longlong = state[FOLLOWED_TO]
    floor: cython.longlong = state[FOLLOWED_OFFSET]
    if _follows(buf, pos, floor, limits[MOST_AHEAD]):
        return 0
    pos += 1
    end = min(end, buf.shape[0] - _least_size(0) + 1)
    while pos < end:
        if (
            buf[pos + KAFKA_RECORD_BATCH_MAGIC_AT] <= KAFKA_RECORD_BATCH_MAGIC
            and _kafka_segment__entry_at(buf, pos, buf.shape[0], probe)
            and _follows(buf, pos, floor, limits[MOST_AHEAD])
        ):
            if buf[pos + KAFKA_RECORD_BATCH_MAGIC_AT] < KAFKA_RECORD_BATCH_MAGIC and _has_stream(
                buf, state[FOLLOWED_TO], pos
            ):
                return 0
            return pos if _is_right(buf, pos, known, first, state, probe) > 0 else 0
        pos += 1
    return 0


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _unit_followed(
    buf: cython.const[cython.uchar][::1],
    is_trusting: cython.bint,
    known: cython.uchar[::1],
    first: cython.longlong,
    state: cython.longlong[::1],
    probe: cython.longlong[::1],
    units: cython.longlong[::1],
) -> cython.int:
    """Pass the unit here: 1 if it is intact, 0 if there is none, -1 if that needs a closer look."""
    pos: cython.longlong = state[FOLLOWED_TO]
    offset: cython.longlong = _claimed_offset(buf, pos)
    size: cython.longlong = 0
    cell: cython.longlong
    right: cython.int
    if offset >= 0:
        size = KAFKA_RECORD_BATCH_BODY_AT + _big(buf, pos + KAFKA_RECORD_BATCH_LEN_BODY_AT, 4)
    if size == 0 or pos + size > buf.shape[0]:
        return 0
    right = 1 if is_trusting else _is_right(buf, pos, known, first, state, probe)
    if right > 0:
        cell = UNIT_CELLS * state[FOLLOWED_UNITS]
        units[cell + UNIT_START] = pos
        units[cell + UNIT_END] = pos + size
        state[FOLLOWED_UNITS] += 1
        state[FOLLOWED_TO] += size
        state[FOLLOWED_OFFSET] = offset
    return right


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _holes_followed(
    buf: cython.const[cython.uchar][::1],
    end: cython.longlong,
    limits: cython.const[cython.longlong][::1],
    known: cython.uchar[::1],
    first: cython.longlong,
    state: cython.longlong[::1],
    probe: cython.longlong[::1],
    holes: cython.longlong[::1],
) -> cython.int:
    """Pass the holes here, one or several that follow one another; -1 if they need a closer look."""
    count: cython.longlong = _chained(buf, end, limits, known, first, state, probe, holes)
    cell: cython.longlong = HOLE_CELLS * state[FOLLOWED_HOLES]
    if count == 0:
        holes[cell + HOLE_START] = state[FOLLOWED_TO]
        holes[cell + HOLE_END] = _garbage(buf, end, limits, known, first, state, probe)
        count = 1 if holes[cell + HOLE_END] else 0
    if count <= 0:
        return -1
    state[FOLLOWED_TO] = holes[cell + HOLE_CELLS * (count - 1) + HOLE_END]
    while count > 0:
        holes[cell + HOLE_OFFSET_BEFORE] = state[FOLLOWED_OFFSET]
        holes[cell + HOLE_OFFSET_AFTER] = _claimed_offset(buf, state[FOLLOWED_TO])
        state[FOLLOWED_HOLES] += 1
        cell += HOLE_CELLS
        count -= 1
    return 1


def follow_units(
    buf: cython.const[cython.uchar][::1],
    window: cython.const[cython.longlong][::1],
    limits: cython.const[cython.longlong][::1],
    is_trusting: cython.bint,
    state: cython.longlong[::1],
    probe: cython.longlong[::1],
    known: cython.uchar[::1],
    units: cython.longlong[::1],
    holes: cython.longlong[::1],
):
    """Follow the units of a window from one to the next, over holes, up to a hole that needs a closer look.

    `window`, `limits`, `state` and `probe` have the slots `WINDOW_*`, `MOST_*`, `FOLLOWED_*` and `PROBE_*`; a unit and
    a hole have the cells `UNIT_*` and `HOLE_*`. `known` is `KNOWN_RIGHT` where an intact unit starts and `KNOWN_WRONG`
    where none does, once that was checked.
    """
    first: cython.longlong = window[WINDOW_START]
    end: cython.longlong = window[WINDOW_END]
    right: cython.int = 1
    with cython.nogil:
        while (
            right >= 0
            and state[FOLLOWED_TO] < end
            and UNIT_CELLS * state[FOLLOWED_UNITS] < units.shape[0]
            and HOLE_CELLS * state[FOLLOWED_HOLES] < holes.shape[0]
        ):
            right = _unit_followed(buf, is_trusting, known, first, state, probe, units)
            if right == 0:
                right = _holes_followed(buf, end, limits, known, first, state, probe, holes)


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
    """Compute the offsets and timestamps (ms) of records from their deltas and the heads of their batches.

    A batch has the cells `HEAD_*` of `heads`; its timestamp is the least integer where each record has its own. Deltas
    must rise within 0..last offset delta; a batch in which they do not is marked in `is_wrong`. `last_deltas` is the
    last one of each batch so far, -1 at first.
    """
    row: cython.longlong = 0
    batch: cython.longlong
    delta: cython.longlong
    own: cython.longlong = -9223372036854775807 - 1
    head: cython.longlong
    with cython.nogil:
        while row < rows:
            batch = ranges[row]
            head = HEAD_CELLS * batch
            delta = offset_deltas[row]
            if delta <= last_deltas[batch] or delta > heads[head + HEAD_LAST_DELTA]:
                is_wrong[batch] = 1
            last_deltas[batch] = delta
            offsets[row] = cython.cast(
                cython.longlong,
                cython.cast(cython.ulonglong, heads[head + HEAD_BASE_OFFSET]) + cython.cast(cython.ulonglong, delta),
            )
            if heads[head + HEAD_TIMESTAMP] == own:
                timestamps[row] = cython.cast(
                    cython.longlong,
                    cython.cast(cython.ulonglong, heads[head + HEAD_BASE_TIMESTAMP])
                    + cython.cast(cython.ulonglong, timestamp_deltas[row]),
                )
            else:
                timestamps[row] = heads[head + HEAD_TIMESTAMP]
            row += 1


def to_microseconds(
    milliseconds: cython.const[cython.longlong][::1],
    rows: cython.longlong,
    microseconds: cython.longlong[::1],
    valid: cython.uchar[::1],
):
    """Write milliseconds as microseconds; returns how many are not valid: -1, and years other than 1 to 9999."""
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
