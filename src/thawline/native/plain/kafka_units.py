"""Functions that rely on 64-bit integers that wrap around."""

from __future__ import annotations

from collections.abc import MutableSequence, Sequence

from thawline.native.constants.kafka import HEAD_CELLS

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
    """Compute the offsets and timestamps of records from their deltas and the heads of their batches."""
    for row in range(rows):
        batch, delta = ranges[row], offset_deltas[row]
        base_offset, last_delta, base_timestamp, timestamp = heads[HEAD_CELLS * batch : HEAD_CELLS * (batch + 1)]
        if not last_deltas[batch] < delta <= last_delta:
            is_wrong[batch] = 1
        last_deltas[batch] = delta
        offsets[row] = _wrapped(base_offset + delta)
        timestamps[row] = _wrapped(base_timestamp + timestamp_deltas[row]) if timestamp == OWN_TIME else timestamp


def _wrapped(value: int) -> int:
    """The value as a signed 64-bit integer, which Kafka computes with."""
    return (value + (1 << 63)) % (1 << 64) - (1 << 63)
