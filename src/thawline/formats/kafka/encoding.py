"""Records of magic 2 encoded from Arrow columns, without a Python object for each."""

from __future__ import annotations

from array import array
from collections.abc import Callable

from thawline import native
from thawline.formats.kafka.record_columns import Rows

__all__ = ["OpenBatch"]

COUNT, SIZE, BASE_OFFSET, LAST_OFFSET, BASE_TIMESTAMP, MAX_TIMESTAMP, IS_APPEND_TIME, NEEDED = range(8)
"""Slots of the state that `encode_records` keeps of an open batch."""
ROOM = 64 << 10
"""Bytes that an open batch has room for at first."""


class OpenBatch:
    """A batch that records are added to until it is full, and its records encoded so far."""

    def __init__(self, *, most_records: int, most_bytes: int) -> None:
        self._limits = most_records, most_bytes
        self._state = array("q", bytes(8 * 8))
        self._out = bytearray(min(most_bytes, ROOM))

    def add(self, rows: Rows, row: int, first_offset: int, *, is_append_time: bool) -> int:
        """Add rows from `row` on; gives the first that has to wait for the next batch, or the number of rows."""
        encode: Callable[..., int] = native.functions.encode_records
        default = first_offset, is_append_time
        while row < rows.count:
            with memoryview(self._out) as out:
                row = encode(row, rows.count, *rows.columns, *default, *self._limits, self._state, out)
            if not self._state[NEEDED]:
                break
            self._out += bytes(max(self._state[NEEDED] - len(self._out), len(self._out)))
        return row

    def clear(self) -> None:
        """Begin the next batch."""
        self._state[COUNT] = self._state[SIZE] = 0

    @property
    def records(self) -> memoryview:
        """The records encoded so far; they have to be let go of before more are added."""
        return memoryview(self._out)[: self._state[SIZE]]

    @property
    def count(self) -> int:
        """How many records it has."""
        return self._state[COUNT]

    @property
    def base_offset(self) -> int:
        """Offset of the first record."""
        return self._state[BASE_OFFSET]

    @property
    def last_offset(self) -> int:
        """Offset of the last record."""
        return self._state[LAST_OFFSET]

    @property
    def base_timestamp(self) -> int:
        """Timestamp of the first record."""
        return self._state[BASE_TIMESTAMP]

    @property
    def max_timestamp(self) -> int:
        """The latest timestamp of a record."""
        return self._state[MAX_TIMESTAMP]

    @property
    def is_append_time(self) -> bool:
        """Whether the timestamp is the broker's, and one for all records."""
        return bool(self._state[IS_APPEND_TIME])
