"""The index files of a segment, `.index` and `.timeindex`, built from the heads of its batches.

What Kafka does (LogSegment.append and LogSegment.recover in storage/internals/log): it looks at each batch before it
counts the batch's own bytes. If more than `index.interval.bytes` lie between the last batch that got an entry (or the
start of the segment) and this one, the offset index gets the batch's last offset and its position, and the time index
gets the latest timestamp so far with the last offset of the batch that had it first, unless that timestamp stands there
already. So the first batch has no entry, and a timestamp of -1 is never indexed. When the segment is closed, the latest
timestamp of all is added to the time index. Offsets are stored less the segment's base offset.

https://github.com/apache/kafka/blob/1eb7644/storage/src/main/java/org/apache/kafka/storage/internals/log/LogSegment.java
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa

from thawline import native
from thawline.errors import ThawlineError
from thawline.formats.kafka import numbers

if TYPE_CHECKING:
    from typing_extensions import Buffer  # collections.abc has it from Python 3.12 on

__all__ = ["INTERVAL", "IndexBuilder", "Indexes", "NotIndexable", "build_indexes"]

INTERVAL = 4096
"""Kafka's default of `index.interval.bytes`."""
OFFSET_ENTRY, TIME_ENTRY = 8, 12
OFFSET_BYTES, TIME_BYTES = 5, 6
"""Slots of the state that `index_batches` keeps."""


class NotIndexable(ThawlineError, ValueError):
    """A batch whose place or offset does not fit the 31 bits that an index has for it."""


@dataclass(frozen=True, slots=True)
class Indexes:
    """The bytes of both index files of a segment that is closed."""

    offset_index: bytes
    time_index: bytes


class IndexBuilder:
    """Indexes in the making: batches are added in the order in which they stand in the segment."""

    def __init__(self, base_offset: int, *, interval: int = INTERVAL) -> None:
        self._base_offset, self._interval = base_offset, interval
        self._state = array("q", [0, -1, base_offset, -1, -1, 0, 0])
        self._offset_index, self._time_index = bytearray(), bytearray()

    def add(self, positions: Buffer, last_offsets: Buffer, max_timestamps: Buffer) -> None:
        """Add batches by three arrays of 64-bit numbers: where each starts, its last offset, its largest timestamp."""
        columns = [memoryview(column).cast("B").cast("q") for column in (positions, last_offsets, max_timestamps)]
        rows = len(columns[0])
        room = bytearray(rows * OFFSET_ENTRY), bytearray(rows * TIME_ENTRY)
        index: Callable[..., int] = native.functions.index_batches
        bad = index(*columns, rows, self._base_offset, self._interval, self._state, *room)
        self._take(*room)
        if bad >= 0:
            position, offset = columns[0][bad], columns[1][bad]
            raise NotIndexable(
                f"the batch at byte {position} ends with offset {offset}; indexes hold 31 bits of the byte, and of "
                f"what the offset is above the segment's base offset {self._base_offset}"
            )

    def finish(self) -> Indexes:
        """Both indexes as Kafka leaves them when the segment is closed."""
        last = bytearray(TIME_ENTRY)
        native.functions.index_end(self._base_offset, self._state, last)
        self._take(bytearray(), last)
        return Indexes(bytes(self._offset_index), bytes(self._time_index))

    def _take(self, offset_index: bytearray, time_index: bytearray) -> None:
        self._offset_index += offset_index[: self._state[OFFSET_BYTES]]
        self._time_index += time_index[: self._state[TIME_BYTES]]
        self._state[OFFSET_BYTES] = self._state[TIME_BYTES] = 0


def build_indexes(batches: Iterable[pa.RecordBatch], base_offset: int, *, interval: int = INTERVAL) -> Indexes:
    """Both indexes of a segment, from one row for each of its batches or messages, in the order of the file.

    The columns are `position`, where it starts in the segment that the indexes will stand beside; `last_offset`, which
    is the offset of a message of magic 0 and 1; and `max_timestamp` in milliseconds, -1 for magic 0.

    >>> heads = {"position": [0, 5000, 9000], "last_offset": [106, 113, 120], "max_timestamp": [7, 9, 8]}
    >>> indexes = build_indexes([pa.RecordBatch.from_pydict(heads)], base_offset=100)
    >>> indexes.offset_index.hex(" ", 4), indexes.time_index.hex(" ", 4)
    ('0000000d 00001388', '00000000 00000009 0000000d')
    """
    builder = IndexBuilder(base_offset, interval=interval)
    for batch in batches:
        builder.add(*(_numbers(batch.column(name)) for name in ("position", "last_offset", "max_timestamp")))
    return builder.finish()


def _numbers(column: pa.Array) -> memoryview:
    if column.null_count:
        raise ValueError("a batch whose position, last offset or timestamp is null cannot be indexed")
    return numbers.view(column.cast(pa.int64()))
