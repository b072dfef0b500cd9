"""What Kafka's declarative specs cannot say: where the next batch may be behind damage, and where its records belong.

Cython in pure Python mode, compiled into `thawline._native`. `thawline.formats.kafka.plain` does the same without it.
"""

import cython


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _big(buf: cython.const[cython.uchar][::1], at: cython.longlong, size: cython.longlong) -> cython.longlong:
    value: cython.ulonglong = 0
    i: cython.longlong = 0
    while i < size:
        value = (value << 8) | buf[at + i]
        i += 1
    if size < 8 and value >> (8 * size - 1):
        value |= ~cython.cast(cython.ulonglong, 0) << (8 * size)
    return cython.cast(cython.longlong, value)


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
    of magic 2 also the attributes, the last offset and the count must be possible (formats/kafka.md 1.7).
    """
    pos: cython.longlong = start
    found: cython.longlong = 0
    room: cython.longlong = positions.shape[0]
    limit: cython.longlong = buf.shape[0]
    least: cython.longlong = offsets[0]
    most: cython.longlong = offsets[1]
    magic: cython.longlong
    size: cython.longlong
    base: cython.longlong
    last: cython.longlong
    count: cython.longlong
    if end > limit - 26:
        end = limit - 26 + 1
    with cython.nogil:
        while pos < end and found < room:
            magic = buf[pos + 16]
            if magic <= 2:
                size = _big(buf, pos + 8, 4)
                if size >= (49 if magic == 2 else 22 if magic == 1 else 14) and pos + 12 + size <= limit:
                    base = _big(buf, pos, 8)
                    last = 0
                    count = 1
                    if magic == 2:
                        last = _big(buf, pos + 23, 4) if buf[pos + 21] == 0 else -1
                        count = _big(buf, pos + 57, 4)
                    if least <= base <= most and last >= 0 and 0 <= count <= last + 1:
                        positions[found] = pos
                        sizes[found] = 12 + size
                        found += 1
            pos += 1
    return found, pos


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
