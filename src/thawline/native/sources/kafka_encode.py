"""Which records a batch takes and which entries an index gets. What they look like is the encoders' business."""

import cython

if not cython.compiled:
    from thawline.native.constants.kafka import (
        INDEXED_OFFSET,
        INDEXED_POSITION,
        INDEXED_TIMESTAMP,
        LARGEST_DELTA,
        LATEST_OFFSET,
        LATEST_TIMESTAMP,
        OFFSET_ENTRIES,
        OPEN_BASE_OFFSET,
        OPEN_BASE_TIMESTAMP,
        OPEN_COUNT,
        OPEN_IS_APPEND_TIME,
        OPEN_LAST_OFFSET,
        OPEN_MAX_TIMESTAMP,
        TIME_ENTRIES,
    )


def place_in_batch(
    row: cython.longlong,
    rows: cython.longlong,
    offsets: cython.const[cython.longlong][::1],
    timestamps: cython.const[cython.longlong][::1],
    append_times: cython.const[cython.uchar][::1],
    first_offset: cython.longlong,
    is_append_time: cython.longlong,
    state: cython.longlong[::1],
    offset_deltas: cython.int[::1],
    timestamp_deltas: cython.longlong[::1],
):
    """Add rows to the open batch, and write the deltas that they have in it; returns the first that cannot be in it.

    `append_times` marks the rows whose timestamp is the broker's: such a batch has one timestamp. Any of the columns
    may be empty: without `offsets` they count from `first_offset` for row 0, without `timestamps` they are -1, without
    `append_times` `is_append_time` holds for all rows. `state` has the slots `OPEN_*`.
    """
    first: cython.longlong = row
    offset: cython.longlong
    timestamp: cython.longlong = -1
    if state[OPEN_COUNT] == 0 and row < rows:
        state[OPEN_BASE_OFFSET] = offsets[row] if offsets.shape[0] else first_offset + row
        state[OPEN_BASE_TIMESTAMP] = timestamps[row] if timestamps.shape[0] else -1
        state[OPEN_MAX_TIMESTAMP] = state[OPEN_BASE_TIMESTAMP]
        state[OPEN_IS_APPEND_TIME] = append_times[row] if append_times.shape[0] else is_append_time
    base_offset: cython.longlong = state[OPEN_BASE_OFFSET]
    base_timestamp: cython.longlong = state[OPEN_BASE_TIMESTAMP]
    latest: cython.longlong = state[OPEN_MAX_TIMESTAMP]
    is_open_append_time: cython.longlong = state[OPEN_IS_APPEND_TIME]
    with cython.nogil:
        while row < rows:
            offset = offsets[row] if offsets.shape[0] else first_offset + row
            if timestamps.shape[0]:
                timestamp = timestamps[row]
            if append_times.shape[0]:
                is_append_time = append_times[row]
            if offset - base_offset > LARGEST_DELTA or is_append_time != is_open_append_time:
                break
            if is_append_time and timestamp != base_timestamp:
                break
            offset_deltas[row] = cython.cast(cython.int, offset - base_offset)
            timestamp_deltas[row] = timestamp - base_timestamp
            latest = max(latest, timestamp)
            row += 1
    if row > first:
        state[OPEN_LAST_OFFSET] = base_offset + offset_deltas[row - 1]
        state[OPEN_MAX_TIMESTAMP] = latest
        state[OPEN_COUNT] += row - first
    return row


def first_not_rising(offsets: cython.const[cython.longlong][::1], rows: cython.longlong, before: cython.longlong):
    """The first row whose offset is not above that of the row before, or above `before`; -1 if there is none."""
    row: cython.longlong = 0
    with cython.nogil:
        while row < rows and offsets[row] > before:
            before = offsets[row]
            row += 1
    return -1 if row == rows else row


def index_batches(
    positions: cython.const[cython.longlong][::1],
    last_offsets: cython.const[cython.longlong][::1],
    max_timestamps: cython.const[cython.longlong][::1],
    rows: cython.longlong,
    base_offset: cython.longlong,
    interval: cython.longlong,
    state: cython.longlong[::1],
    indexed_offsets: cython.int[::1],
    indexed_positions: cython.int[::1],
    times: cython.longlong[::1],
    time_offsets: cython.int[::1],
):
    """Write the entries of batches as columns; returns the first row that an index cannot hold, -1 if there is none.

    The columns have room for an entry of each row, and those of the time index for one more. `state` has the slots
    `INDEXED_*`, `LATEST_*` and `*_ENTRIES`.
    """
    row: cython.longlong = 0
    relative: cython.longlong
    with cython.nogil:
        while row < rows:
            if positions[row] > LARGEST_DELTA or last_offsets[row] < base_offset or last_offsets[row] < 0:
                break
            relative = last_offsets[row] - base_offset
            if relative > LARGEST_DELTA:
                break
            if max_timestamps[row] > state[LATEST_TIMESTAMP]:
                state[LATEST_TIMESTAMP] = max_timestamps[row]
                state[LATEST_OFFSET] = last_offsets[row]
            if positions[row] - state[INDEXED_POSITION] > interval and last_offsets[row] > state[INDEXED_OFFSET]:
                indexed_offsets[state[OFFSET_ENTRIES]] = cython.cast(cython.int, relative)
                indexed_positions[state[OFFSET_ENTRIES]] = cython.cast(cython.int, positions[row])
                state[OFFSET_ENTRIES] += 1
                state[INDEXED_POSITION] = positions[row]
                state[INDEXED_OFFSET] = last_offsets[row]
                _add_latest(base_offset, state, times, time_offsets)
            row += 1
    return -1 if row == rows else row


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _add_latest(
    base_offset: cython.longlong,
    state: cython.longlong[::1],
    times: cython.longlong[::1],
    time_offsets: cython.int[::1],
) -> cython.void:
    """Add the latest timestamp, unless the time index has it already."""
    if state[LATEST_TIMESTAMP] > state[INDEXED_TIMESTAMP]:
        times[state[TIME_ENTRIES]] = state[LATEST_TIMESTAMP]
        time_offsets[state[TIME_ENTRIES]] = cython.cast(cython.int, state[LATEST_OFFSET] - base_offset)
        state[TIME_ENTRIES] += 1
        state[INDEXED_TIMESTAMP] = state[LATEST_TIMESTAMP]


def index_end(
    base_offset: cython.longlong,
    state: cython.longlong[::1],
    times: cython.longlong[::1],
    time_offsets: cython.int[::1],
):
    """Add the latest timestamp of a segment, as Kafka does when it closes one."""
    _add_latest(base_offset, state, times, time_offsets)
