"""Records of magic 2 and entries of index files, encoded from columns.

Binary columns come as Arrow keeps them: where each value starts (one more than there are rows), all values back to
back, and a bitmap of those that are not null, which is empty where all are there and else begins at bit `first`.
"""

import cython

if cython.compiled:
    from cython.cimports.libc.string import memcpy


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _zigzag_size(number: cython.longlong) -> cython.longlong:
    """How many bytes a zig-zag varint takes."""
    rest: cython.ulonglong = (cython.cast(cython.ulonglong, number) << 1) ^ cython.cast(cython.ulonglong, number >> 63)
    size: cython.longlong = 1
    while rest >= 128:
        rest >>= 7
        size += 1
    return size


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _put_zigzag(out: cython.uchar[::1], at: cython.longlong, number: cython.longlong) -> cython.longlong:
    """Write a zig-zag varint; returns the byte behind it."""
    rest: cython.ulonglong = (cython.cast(cython.ulonglong, number) << 1) ^ cython.cast(cython.ulonglong, number >> 63)
    while rest >= 128:
        out[at] = cython.cast(cython.uchar, (rest & 127) | 128)
        rest >>= 7
        at += 1
    out[at] = cython.cast(cython.uchar, rest)
    return at + 1


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
    """Write a nullable value behind its length, -1 for null; returns the byte behind it."""
    at = _put_zigzag(out, at, length)
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
    """Length of a value, -1 for null."""
    bit: cython.longlong = first + row
    if valid.shape[0] and not (valid[bit >> 3] >> (bit & 7)) & 1:
        return -1
    return starts[row + 1] - starts[row]


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _nullable_size(length: cython.longlong) -> cython.longlong:
    return _zigzag_size(length) + (max(0, length))


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
    """Write the headers of a record behind their number; returns the byte behind them."""
    length: cython.longlong
    at = _put_zigzag(out, at, last - header)
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
    """Add rows to the open batch until it is full; returns the row that it stopped before.

    `header_starts` says where the headers of each row start among `name_*` and `content_*`. `append_times` tells the
    rows whose timestamp is the broker's: such a batch has one timestamp. Any of the last four arrays may be empty: no
    row has headers, offsets count on from `first_offset` for row 0, timestamps are -1, `is_append_time` holds for all.

    Slots of the state: records and bytes of the open batch, base and last offset, base and largest timestamp, whether
    that is the broker's, and the room that a record needs for which `out` is too small by itself.
    """
    count: cython.longlong = state[0]
    at: cython.longlong = state[1]
    offset: cython.longlong
    timestamp: cython.longlong = -1
    offset_delta: cython.longlong = 0
    timestamp_delta: cython.longlong = 0
    len_key: cython.longlong
    len_value: cython.longlong
    size: cython.longlong
    first_header: cython.longlong = 0
    last_header: cython.longlong = 0
    most_delta: cython.longlong = 0x7FFFFFFF
    room: cython.longlong = out.shape[0]
    state[7] = 0
    with cython.nogil:
        while row < rows and count < most_records:
            offset = offsets[row] if offsets.shape[0] else first_offset + row
            if timestamps.shape[0]:
                timestamp = timestamps[row]
            if append_times.shape[0]:
                is_append_time = append_times[row]
            if count == 0:
                state[2] = offset
                state[4] = timestamp
                state[5] = timestamp
                state[6] = is_append_time
            offset_delta = offset - state[2]
            timestamp_delta = timestamp - state[4]
            if offset_delta > most_delta or is_append_time != state[6] or (is_append_time and timestamp_delta):
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
                state[7] = at + _zigzag_size(size) + size
                break
            at = _put_zigzag(out, at, size)
            out[at] = 0
            at = _put_zigzag(out, at + 1, timestamp_delta)
            at = _put_zigzag(out, at, offset_delta)
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
            state[5] = max(state[5], timestamp)
            state[3] = offset
            count += 1
            row += 1
    state[0] = count
    state[1] = at
    return row


def first_not_rising(offsets: cython.const[cython.longlong][::1], rows: cython.longlong, before: cython.longlong):
    """The first row whose offset is not above that of the row before, `before` for the first; -1 if there is none."""
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
    """Write a number; returns the byte behind it."""
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
    """Write the entries that batches give; returns the row that no index can hold, -1 if there is none.

    There has to be room for an entry of each row, and for one more in the time index. Slots of the state: where the
    last entry points; the latest timestamp and the last offset of its batch; timestamp and offset of the last entries;
    bytes in the offset index and in the time index.
    """
    row: cython.longlong = 0
    relative: cython.longlong
    with cython.nogil:
        while row < rows:
            if positions[row] > 0x7FFFFFFF or last_offsets[row] < base_offset or last_offsets[row] < 0:
                break
            relative = last_offsets[row] - base_offset
            if relative > 0x7FFFFFFF:
                break
            if max_timestamps[row] > state[1]:
                state[1] = max_timestamps[row]
                state[2] = last_offsets[row]
            if positions[row] - state[0] > interval and last_offsets[row] > state[4]:
                state[5] = _put_big_endian(offset_index, state[5], relative, 4)
                state[5] = _put_big_endian(offset_index, state[5], positions[row], 4)
                state[0] = positions[row]
                state[4] = last_offsets[row]
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
    if state[1] > state[3]:
        state[6] = _put_big_endian(time_index, state[6], state[1], 8)
        state[6] = _put_big_endian(time_index, state[6], state[2] - base_offset, 4)
        state[3] = state[1]


def index_end(base_offset: cython.longlong, state: cython.longlong[::1], time_index: cython.uchar[::1]):
    """Write the latest timestamp of the segment, as Kafka does when it closes one; it may stand there already."""
    _put_latest(base_offset, state, time_index)
