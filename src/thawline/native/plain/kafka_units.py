"""What relies on numbers of 64 bits that wrap around."""

from __future__ import annotations

from collections.abc import MutableSequence, Sequence

OWN_TIME = -(1 << 63)


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
