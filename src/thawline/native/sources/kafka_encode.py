"""Records of magic 2 and entries of index files, encoded from columns.

Binary columns are as in Arrow: where each value starts (one more than there are rows), the values back to back, and a
validity bitmap, which is empty where no value is null and else begins at bit `first`.
"""

import cython

if cython.compiled:
    from cython.cimports.libc.string import memcpy
else:
    from thawline.native.constants.kafka import (
        INDEXED_OFFSET,
        INDEXED_POSITION,
        INDEXED_TIMESTAMP,
        LARGEST_DELTA,
        LATEST_OFFSET,
        LATEST_TIMESTAMP,
        OFFSET_INDEX_SIZE,
        OPEN_BASE_OFFSET,
        OPEN_BASE_TIMESTAMP,
        OPEN_COUNT,
        OPEN_IS_APPEND_TIME,
        OPEN_LAST_OFFSET,
        OPEN_MAX_TIMESTAMP,
        OPEN_NEEDED,
        OPEN_SIZE,
        TIME_INDEX_SIZE,
    )
    from thawline.native.constants.kernels import NULL_LENGTH
    from thawline.native.sources.encode_values import _write_zigzag, _zigzag_size


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _put_nullable(
    out: cython.uchar[::1],
    at: cython.longlong,
    data: cython.const[cython.uchar][::1],
    start: cython.longlong,
    length: cython.longlong,
) -> cython.longlong:
    """Write the length of a value, -1 for null, and the value; returns the place after it."""
    at = _write_zigzag(out, at, length)
    if length > 0:
        if cython.compiled:
            memcpy(cython.address(out[at]), cython.address(data[start]), length)
        else:
            out[at : at + length] = data[start : start + length]
        at += length
    return at


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _nullable_length(
    starts: cython.const[cython.int][::1],
    valid: cython.const[cython.uchar][::1],
    first: cython.longlong,
    row: cython.longlong,
) -> cython.longlong:
    """Length of a value; -1 for null."""
    bit: cython.longlong = first + row
    if valid.shape[0] and not (valid[bit >> 3] >> (bit & 7)) & 1:
        return NULL_LENGTH
    return starts[row + 1] - starts[row]


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _nullable_size(length: cython.longlong) -> cython.longlong:
    """How many bytes a value takes, with its length."""
    return _zigzag_size(length) + max(0, length)


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _headers_size(
    header: cython.longlong,
    last: cython.longlong,
    name_starts: cython.const[cython.int][::1],
    content_starts: cython.const[cython.int][::1],
    content_valid: cython.const[cython.uchar][::1],
    content_first: cython.longlong,
) -> cython.longlong:
    """How many bytes the headers of a record take, with their number."""
    size: cython.longlong = _zigzag_size(last - header)
    while header < last:
        size += _nullable_size(name_starts[header + 1] - name_starts[header])
        size += _nullable_size(_nullable_length(content_starts, content_valid, content_first, header))
        header += 1
    return size


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _put_headers(
    out: cython.uchar[::1],
    at: cython.longlong,
    header: cython.longlong,
    last: cython.longlong,
    name_starts: cython.const[cython.int][::1],
    name_data: cython.const[cython.uchar][::1],
    content_starts: cython.const[cython.int][::1],
    content_data: cython.const[cython.uchar][::1],
    content_valid: cython.const[cython.uchar][::1],
    content_first: cython.longlong,
) -> cython.longlong:
    """Write the number of headers of a record, and the headers; returns the place after them."""
    length: cython.longlong
    at = _write_zigzag(out, at, last - header)
    while header < last:
        length = name_starts[header + 1] - name_starts[header]
        at = _put_nullable(out, at, name_data, name_starts[header], length)
        length = _nullable_length(content_starts, content_valid, content_first, header)
        at = _put_nullable(out, at, content_data, content_starts[header], length)
        header += 1
    return at


def encode_records(
    row: cython.longlong,
    rows: cython.longlong,
    key_starts: cython.const[cython.int][::1],
    key_data: cython.const[cython.uchar][::1],
    key_valid: cython.const[cython.uchar][::1],
    key_first: cython.longlong,
    value_starts: cython.const[cython.int][::1],
    value_data: cython.const[cython.uchar][::1],
    value_valid: cython.const[cython.uchar][::1],
    value_first: cython.longlong,
    header_starts: cython.const[cython.int][::1],
    name_starts: cython.const[cython.int][::1],
    name_data: cython.const[cython.uchar][::1],
    content_starts: cython.const[cython.int][::1],
    content_data: cython.const[cython.uchar][::1],
    content_valid: cython.const[cython.uchar][::1],
    content_first: cython.longlong,
    offsets: cython.const[cython.longlong][::1],
    timestamps: cython.const[cython.longlong][::1],
    append_times: cython.const[cython.uchar][::1],
    first_offset: cython.longlong,
    is_append_time: cython.longlong,
    most_records: cython.longlong,
    most_bytes: cython.longlong,
    state: cython.longlong[::1],
    out: cython.uchar[::1],
):
    """Add rows to the open batch until it is full; returns the first row that it has no room for.

    `header_starts` says where the headers of each row start in `name_*` and `content_*`. `append_times` marks the rows
    whose timestamp is the broker's: such a batch has one timestamp. Any of these may be empty: without
    `header_starts` no row has headers, without `offsets` they count from `first_offset` for row 0, without `timestamps`
    they are -1, without `append_times` `is_append_time` holds for all rows. `state` has the slots `OPEN_*`.
    """
    count: cython.longlong = state[OPEN_COUNT]
    at: cython.longlong = state[OPEN_SIZE]
    offset: cython.longlong
    timestamp: cython.longlong = -1
    offset_delta: cython.longlong = 0
    timestamp_delta: cython.longlong = 0
    len_key: cython.longlong
    len_value: cython.longlong
    size: cython.longlong
    first_header: cython.longlong = 0
    last_header: cython.longlong = 0
    room: cython.longlong = out.shape[0]
    state[OPEN_NEEDED] = 0
    with cython.nogil:
        while row < rows and count < most_records:
            offset = offsets[row] if offsets.shape[0] else first_offset + row
            if timestamps.shape[0]:
                timestamp = timestamps[row]
            if append_times.shape[0]:
                is_append_time = append_times[row]
            if count == 0:
                state[OPEN_BASE_OFFSET] = offset
                state[OPEN_BASE_TIMESTAMP] = timestamp
                state[OPEN_MAX_TIMESTAMP] = timestamp
                state[OPEN_IS_APPEND_TIME] = is_append_time
            offset_delta = offset - state[OPEN_BASE_OFFSET]
            timestamp_delta = timestamp - state[OPEN_BASE_TIMESTAMP]
            if offset_delta > LARGEST_DELTA or is_append_time != state[OPEN_IS_APPEND_TIME]:
                break
            if is_append_time and timestamp_delta:
                break
            len_key = _nullable_length(key_starts, key_valid, key_first, row)
            len_value = _nullable_length(value_starts, value_valid, value_first, row)
            if header_starts.shape[0]:
                first_header = header_starts[row]
                last_header = header_starts[row + 1]
            size = 1 + _zigzag_size(timestamp_delta) + _zigzag_size(offset_delta)
            size += _nullable_size(len_key) + _nullable_size(len_value)
            size += _headers_size(first_header, last_header, name_starts, content_starts, content_valid, content_first)
            if count > 0 and at + _zigzag_size(size) + size > most_bytes:
                break
            if at + _zigzag_size(size) + size > room:
                state[OPEN_NEEDED] = at + _zigzag_size(size) + size
                break
            at = _write_zigzag(out, at, size)
            out[at] = 0
            at = _write_zigzag(out, at + 1, timestamp_delta)
            at = _write_zigzag(out, at, offset_delta)
            at = _put_nullable(out, at, key_data, key_starts[row], len_key)
            at = _put_nullable(out, at, value_data, value_starts[row], len_value)
            at = _put_headers(
                out,
                at,
                first_header,
                last_header,
                name_starts,
                name_data,
                content_starts,
                content_data,
                content_valid,
                content_first,
            )
            state[OPEN_MAX_TIMESTAMP] = max(state[OPEN_MAX_TIMESTAMP], timestamp)
            state[OPEN_LAST_OFFSET] = offset
            count += 1
            row += 1
    state[OPEN_COUNT] = count
    state[OPEN_SIZE] = at
    return row


def first_not_rising(offsets: cython.const[cython.longlong][::1], rows: cython.longlong, before: cython.longlong):
    """The first row whose offset is not above that of the row before, or above `before`; -1 if there is none."""
    row: cython.longlong = 0
    with cython.nogil:
        while row < rows and offsets[row] > before:
            before = offsets[row]
            row += 1
    return -1 if row == rows else row


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _put_big_endian(
    out: cython.uchar[::1], at: cython.longlong, number: cython.longlong, size: cython.longlong
) -> cython.longlong:
    """Write a number of `size` bytes; returns the place after it."""
    shift: cython.longlong = 8 * size
    while shift > 0:
        shift -= 8
        out[at] = cython.cast(cython.uchar, (number >> shift) & 255)
        at += 1
    return at


def index_batches(
    positions: cython.const[cython.longlong][::1],
    last_offsets: cython.const[cython.longlong][::1],
    max_timestamps: cython.const[cython.longlong][::1],
    rows: cython.longlong,
    base_offset: cython.longlong,
    interval: cython.longlong,
    state: cython.longlong[::1],
    offset_index: cython.uchar[::1],
    time_index: cython.uchar[::1],
):
    """Write the entries of batches; returns the first row that an index cannot hold, -1 if there is none.

    Both indexes have room for an entry of each row, and the time index for one more. `state` has the slots
    `INDEXED_*`, `LATEST_*` and `*_INDEX_SIZE`.
    """
    row: cython.longlong = 0
    relative: cython.longlong
    at: cython.longlong
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
                at = _put_big_endian(offset_index, state[OFFSET_INDEX_SIZE], relative, 4)
                state[OFFSET_INDEX_SIZE] = _put_big_endian(offset_index, at, positions[row], 4)
                state[INDEXED_POSITION] = positions[row]
                state[INDEXED_OFFSET] = last_offsets[row]
                _put_latest(base_offset, state, time_index)
            row += 1
    return -1 if row == rows else row


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _put_latest(
    base_offset: cython.longlong, state: cython.longlong[::1], time_index: cython.uchar[::1]
) -> cython.void:
    """Write the latest timestamp, unless the time index has it already."""
    at: cython.longlong
    if state[LATEST_TIMESTAMP] > state[INDEXED_TIMESTAMP]:
        at = _put_big_endian(time_index, state[TIME_INDEX_SIZE], state[LATEST_TIMESTAMP], 8)
        state[TIME_INDEX_SIZE] = _put_big_endian(time_index, at, state[LATEST_OFFSET] - base_offset, 4)
        state[INDEXED_TIMESTAMP] = state[LATEST_TIMESTAMP]


def index_end(base_offset: cython.longlong, state: cython.longlong[::1], time_index: cython.uchar[::1]):
    """Write the latest timestamp of a segment, as Kafka does when it closes one."""
    _put_latest(base_offset, state, time_index)
