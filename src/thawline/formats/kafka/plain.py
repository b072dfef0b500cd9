"""What `thawline.kafka_units` does, in plain Python: it serves where the native module could not be built."""

from __future__ import annotations

from collections.abc import MutableSequence, Sequence

LEAST_SIZES = {0: 14, 1: 22, 2: 49}
EARLIEST, LATEST = -62135596800000, 253402300799999
"""The first and the last millisecond of the years 1 to 9999."""
OWN_TIME = -(1 << 63)


def find_units(
    buf: memoryview,
    start: int,
    end: int,
    offsets: Sequence[int],
    positions: MutableSequence[int],
    sizes: MutableSequence[int],
) -> tuple[int, int]:
    """Places where a batch or a message may start; how many, and where to go on."""
    found, position, end = 0, start, min(end, len(buf) - 25)
    while position < end and found < len(positions):
        size = _size_at(buf, position) if buf[position + 16] in LEAST_SIZES else 0
        if size and offsets[0] <= _big(buf, position, 8) <= offsets[1]:
            positions[found], sizes[found] = position, size
            found += 1
        position += 1
    return found, position


def _size_at(buf: memoryview, at: int) -> int:
    """The size of the unit that may start here; 0 if none can."""
    magic, size = buf[at + 16], _big(buf, at + 8, 4)
    if size < LEAST_SIZES[magic] or at + 12 + size > len(buf):
        return 0
    if magic == 2 and (buf[at + 21] or not 0 <= _big(buf, at + 57, 4) <= _big(buf, at + 23, 4) + 1):  # noqa: PLR2004
        return 0
    if magic != 2:  # noqa: PLR2004 - as above
        return 12 + size if _holds_fields(buf, at + (26 if magic else 18), at + 12 + size) else 0
    return 12 + size if _big(buf, at + 23, 4) >= 0 else 0


def _holds_fields(buf: memoryview, at: int, end: int) -> bool:
    """Whether a key and a value, each with its size before it, have room up to an end."""
    for _ in range(2):
        if at + 4 > end or (size := _big(buf, at, 4)) < -1:
            return False
        at += 4 + max(size, 0)
    return at <= end


def _big(buf: memoryview, at: int, size: int) -> int:
    return int.from_bytes(buf[at : at + size], "big", signed=True)


def place_records(
    ranges: Sequence[int],
    offset_deltas: Sequence[int],
    timestamp_deltas: Sequence[int],
    rows: int,
    heads: Sequence[int],
    last_deltas: MutableSequence[int],
    offsets: MutableSequence[int],
    timestamps: MutableSequence[int],
    is_wrong: MutableSequence[int],
) -> None:
    """Offsets and timestamps of records, from the deltas to their batches' heads."""
    for row in range(rows):
        batch, delta = ranges[row], offset_deltas[row]
        base_offset, last_delta, base_timestamp, timestamp = heads[4 * batch : 4 * batch + 4]
        if not last_deltas[batch] < delta <= last_delta:
            is_wrong[batch] = 1
        last_deltas[batch] = delta
        offsets[row] = _wrapped(base_offset + delta)
        timestamps[row] = _wrapped(base_timestamp + timestamp_deltas[row]) if timestamp == OWN_TIME else timestamp


def _wrapped(value: int) -> int:
    """As a signed 64-bit integer, which is what Kafka computes with."""
    return (value + (1 << 63)) % (1 << 64) - (1 << 63)


def to_microseconds(
    milliseconds: Sequence[int], rows: int, microseconds: MutableSequence[int], valid: MutableSequence[int]
) -> int:
    """Milliseconds times 1000, where there is a timestamp and a calendar has it; gives how many do not."""
    for row in range(rows):
        value = milliseconds[row]
        valid[row] = value != -1 and EARLIEST <= value <= LATEST
        microseconds[row] = value * 1000 if valid[row] else 0
    return rows - sum(valid)
