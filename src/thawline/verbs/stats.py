"""Statistics of each column: nulls, range, sizes and the most frequent values, in one pass and bounded memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from thawline.filters import EVERY, Filter
from thawline.sinks import joined
from thawline.values import is_bytes, iso_time

if TYPE_CHECKING:
    from thawline.verbs.opened import OpenFile

MOST_VALUES = 1000
"""At most this many distinct values of a column are counted; with more, no most frequent values are given."""
LONGEST_VALUE = 256
TOP = 3


class Range:
    """The least and the greatest of the values added."""

    def __init__(self) -> None:
        self.least: Any = None
        self.most: Any = None

    def add(self, column: pa.Array) -> None:
        """Add the values of a column."""
        ends = pc.min_max(column).as_py()
        if ends["min"] is not None:
            self.least = ends["min"] if self.least is None else min(self.least, ends["min"])
            self.most = ends["max"] if self.most is None else max(self.most, ends["max"])


class ColumnStats:
    """The statistics of one column."""

    def __init__(self, field: pa.Field) -> None:
        self.name, self.type = field.name, field.type
        self.is_time = pa.types.is_timestamp(field.type)
        self.rows = self.nulls = self.size = 0
        self.range, self.sizes = Range(), Range()
        self.has_sizes = is_bytes(field.type) or pa.types.is_string(field.type) or pa.types.is_large_string(field.type)
        self.values: Counter[Any] | None = None if pa.types.is_nested(field.type) else Counter()

    def add(self, column: pa.Array) -> None:
        """Add the rows of a batch."""
        self.rows += len(column)
        self.nulls += column.null_count
        values = column.view(pa.int64()) if self.is_time else column  # datetime supports no year beyond 9999
        self._add_range(values)
        if self.values is not None:
            self._count(values)

    def _add_range(self, column: pa.Array) -> None:
        if self.has_sizes:
            lengths = pc.binary_length(column)
            self.size += pc.sum(lengths).as_py() or 0
            self.sizes.add(lengths)
        if not (is_bytes(self.type) or pa.types.is_nested(self.type) or pa.types.is_null(self.type)):
            self.range.add(column)

    def _count(self, column: pa.Array) -> None:
        """Count distinct values; stop where they are too many or too long."""
        if is_bytes(self.type) and (pc.max(pc.binary_length(column)).as_py() or 0) > LONGEST_VALUE:
            self.values = None
            return
        counts = pc.value_counts(column.drop_null())
        if len(counts) <= MOST_VALUES and self.values is not None:
            self.values.update(dict(zip(counts.field(0).to_pylist(), counts.field(1).to_pylist(), strict=True)))
        if len(counts) > MOST_VALUES or (self.values is not None and len(self.values) > MOST_VALUES):
            self.values = None

    def record(self) -> dict[str, Any]:
        """The statistics as a record; null where one does not apply to the column's type."""
        distinct = None if self.values is None else len(self.values)
        return {
            "column": self.name,
            "type": str(self.type),
            "rows": self.rows,
            "nulls": self.nulls,
            "min": self._shown(self.range.least),
            "max": self._shown(self.range.most),
            "bytes": self.size if self.has_sizes else None,
            "shortest": self.sizes.least,
            "longest": self.sizes.most,
            "distinct": distinct,
            "top": [] if distinct in {None, self.rows} else self._top(),
        }

    def _top(self) -> list[dict[str, Any]]:
        counts = self.values.most_common(TOP) if self.values else []
        return [{"value": self._shown(value), "count": count} for value, count in counts]

    def _shown(self, value: Any) -> Any:
        return iso_time(value, self.type.unit) if self.is_time and value is not None else _text(value)


def _text(value: Any) -> Any:
    if not isinstance(value, bytes):
        return value
    try:
        return value.decode("utf-8")
    except UnicodeDecodeError:
        return "0x" + value.hex()


def stats(cold: OpenFile, where: Filter = EVERY) -> Iterator[dict[str, Any]]:
    """A record for each column of the table, about the rows that meet a filter."""
    columns = [ColumnStats(field) for field in cold.schema]
    for batch in joined(cold.batches(where=where)):  # a column costs the same for one row as for thousands
        for column, values in zip(columns, batch.columns, strict=True):
            column.add(values)
    return (column.record() for column in columns)
