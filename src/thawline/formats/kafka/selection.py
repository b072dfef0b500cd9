"""Which records are asked for: by time, by offset, by the outcome of their transaction, and with or without markers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from thawline.formats.kafka.heads import Heads

if TYPE_CHECKING:
    from thawline.formats.kafka.transactions import Transactions


@dataclass(frozen=True, slots=True)
class Selection:
    """Bounds are inclusive; times are milliseconds since 1970."""

    since: int | None = None
    until: int | None = None
    offsets: tuple[int | None, int | None] = (None, None)
    control: bool = False
    committed: Transactions | None = None
    """Only what a consumer with read_committed gets, as these transactions ended."""

    def units(self, heads: Heads) -> pa.BooleanArray | None:
        """Units that may hold such a record, as far as their heads tell; None if all may."""
        rows = heads.rows
        chosen = [
            *self._by_offset(rows),
            *self._by_time(rows),
            *([pc.invert(rows["is_control"])] if self.is_narrow and not self.control else []),
            *self._by_outcome(rows),
        ]
        if not chosen:
            return None
        found = chosen[0]
        for other in chosen[1:]:
            found = pc.and_(found, other)
        return found

    @property
    def is_narrow(self) -> bool:
        """Whether anything but all records is asked for."""
        bounds = (self.since, self.until, *self.offsets)
        return self.committed is not None or any(bound is not None for bound in bounds)

    def _by_outcome(self, rows: pa.RecordBatch) -> list[pa.BooleanArray]:
        if self.committed is None:
            return []
        stable = self.committed.last_stable_offset
        before = [] if stable is None else [pc.fill_null(pc.less(rows["base_offset"], stable), True)]  # noqa: FBT003
        return [pc.not_equal(self.committed.outcomes(rows), "aborted"), *before]

    def _by_offset(self, rows: pa.RecordBatch) -> list[pa.BooleanArray]:
        first, last = self.offsets
        found = [] if first is None else [pc.greater_equal(rows["last_offset"], first)]
        if last is not None:
            # Of a wrapper only the last offset is known.
            found.append(pc.fill_null(pc.less_equal(rows["base_offset"], last), True))  # noqa: FBT003 - a value
        return found

    def _by_time(self, rows: pa.RecordBatch) -> list[pa.BooleanArray]:
        """The greatest timestamp bounds those of CreateTime from above only, and sarama writes 0 there."""
        known = pc.greater_equal(rows["max_timestamp"], rows["base_timestamp"])
        is_given = pc.and_(known, pc.greater(rows["max_timestamp"], 0))
        found = []
        if self.since is not None:
            found.append(pc.or_(pc.invert(is_given), pc.greater_equal(rows["max_timestamp"], self.since)))
        if self.until is not None:
            is_one = pc.fill_null(pc.equal(rows["timestamp_type"], "log_append_time"), False)  # noqa: FBT003 - a value
            found.append(pc.or_(pc.invert(is_one), pc.less_equal(rows["max_timestamp"], self.until)))
        return found

    def records(self, offsets: pa.Int64Array, milliseconds: pa.Int64Array) -> pa.BooleanArray | None:
        """Which records of the chosen units are asked for; None if all are."""
        bounds: Sequence[tuple[pa.Int64Array, int | None, int | None]] = (
            (offsets, *self.offsets),
            (milliseconds, self.since, self.until),
        )
        stable = self.committed.last_stable_offset if self.committed else None
        chosen = [pc.less(offsets, stable)] if stable is not None else []
        for values, least, most in bounds:
            chosen += [] if least is None else [pc.greater_equal(values, least)]
            chosen += [] if most is None else [pc.less_equal(values, most)]
        if not chosen:
            return None
        found = chosen[0]
        for other in chosen[1:]:
            found = pc.and_(found, other)
        return found
