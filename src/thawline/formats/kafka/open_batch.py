"""The batch that a writer has open: which records it takes, and their bytes."""

from __future__ import annotations

from array import array
from collections.abc import Callable

from thawline import native
from thawline.engine.encoding import function_of, new_state, refused
from thawline.formats.kafka.rows import NO_NUMBERS, BadRecord, RecordColumns
from thawline.generated.encoders.inputs import ENCODERS
from thawline.native.constants.encoders import (
    ENCODE_FULL,
    ENCODE_REFUSED,
    ENCODED_AT,
    ENCODED_NEEDED,
    ENCODED_ROW,
)
from thawline.native.constants.kafka import (
    OPEN_BASE_OFFSET,
    OPEN_BASE_TIMESTAMP,
    OPEN_COUNT,
    OPEN_IS_APPEND_TIME,
    OPEN_LAST_OFFSET,
    OPEN_MAX_TIMESTAMP,
    OPEN_SLOTS,
)

RECORDS = ENCODERS["kafka_records"]
ROOM = 64 << 10
"""Bytes that an open batch has room for at first."""
PLACED = 512
"""Records that get their deltas at a time: the batch may end after any of them, and the next has deltas of its own."""


class OpenBatch:
    """A batch that records are added to until it is full, and its records encoded so far."""

    def __init__(self, *, most_records: int, most_bytes: int) -> None:
        self._most_records, self._most_bytes = most_records, most_bytes
        self._state, self._encoded = array("q", bytes(8 * OPEN_SLOTS)), new_state()
        self._out = bytearray(min(most_bytes, ROOM))
        self._encode_rows = function_of("kafka_records")
        self._placed = PLACED

    def add(self, rows: RecordColumns, row: int, first_offset: int, *, is_append_time: bool) -> int:
        """Add rows from `row` on; returns the first row that has to wait for the next batch, or the number of rows."""
        place: Callable[..., int] = native.functions.place_in_batch
        default = first_offset, is_append_time
        while row < rows.count and (room := self._most_records - self._state[OPEN_COUNT]):
            before = self._state[:]
            most = min(rows.count, row + (PLACED if before[OPEN_COUNT] else self._placed), row + room)
            end = place(row, most, *rows.places, *default, self._state, *rows.deltas)
            reached = self._encode(rows, row, end)
            if reached < end:  # it has no room for the others
                self._state[:] = before
                place(row, reached, *rows.places, *default, self._state, *rows.deltas)
            if reached < most:
                return reached
            row = reached
        return row

    def _encode(self, rows: RecordColumns, row: int, end: int) -> int:
        """Encode rows until the batch has as many bytes as it may have; returns the first row after them."""
        while row < end:
            status = self._run(rows, row, end, self._most_bytes)
            row, needed = self._encoded[ENCODED_ROW], self._encoded[ENCODED_NEEDED]
            if status == ENCODE_REFUSED:
                refusal = refused(RECORDS, self._encoded)
                raise BadRecord(str(refusal)) from refusal
            if status == ENCODE_FULL:
                is_first = not self._encoded[ENCODED_AT]
                if needed > self._most_bytes and not is_first:
                    break
                self._grow(needed if is_first else max(needed, min(2 * len(self._out), self._most_bytes)))
                if needed > self._most_bytes:  # a batch has one record at least, however long
                    self._run(rows, row, row + 1, needed)
                    return row + 1
        return row

    def _run(self, rows: RecordColumns, row: int, end: int, most: int) -> int:
        out = self._out if len(self._out) <= most else memoryview(self._out)[:most]
        run = self._encode_rows
        return run(row, end, self._encoded, NO_NUMBERS, False, out, *rows.columns)  # noqa: FBT003 - native code

    def _grow(self, size: int) -> None:
        self._out += bytes(max(size - len(self._out), 0))

    def clear(self) -> None:
        """Begin the next batch. It may have about as many records as this one, most of which are placed at once."""
        self._placed = max(PLACED, self.count - self.count // 16)
        self._state[OPEN_COUNT] = self._encoded[ENCODED_AT] = 0

    @property
    def records(self) -> memoryview:
        """The records encoded so far. Release it before more are added."""
        return memoryview(self._out)[: self._encoded[ENCODED_AT]]

    @property
    def count(self) -> int:
        """How many records it has."""
        return self._state[OPEN_COUNT]

    @property
    def base_offset(self) -> int:
        """Offset of the first record."""
        return self._state[OPEN_BASE_OFFSET]

    @property
    def last_offset(self) -> int:
        """Offset of the last record."""
        return self._state[OPEN_LAST_OFFSET]

    @property
    def base_timestamp(self) -> int:
        """Timestamp of the first record."""
        return self._state[OPEN_BASE_TIMESTAMP]

    @property
    def max_timestamp(self) -> int:
        """The latest timestamp of a record."""
        return self._state[OPEN_MAX_TIMESTAMP]

    @property
    def is_append_time(self) -> bool:
        """Whether the timestamp is the broker's, and one for all records."""
        return bool(self._state[OPEN_IS_APPEND_TIME])
