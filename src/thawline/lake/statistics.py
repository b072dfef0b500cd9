"""What Delta's log says of a table file, so that readers skip it: rows, and of each column minimum, maximum, nulls."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

__all__ = ["statistics"]

WHOLE = ("_file", "_work", "path", "file")
"""Columns of names, by which the lake finds the rows of a file."""
LONGEST, LONGEST_NAME = 48, 1024
"""Characters of a text that are kept: paths have their differences at their end."""
LAST = "\U0010ffff"
"""After a shortened maximum, which stays a maximum by it."""


@dataclass(slots=True)
class _Bounds:
    """What is known of a column."""

    nulls: int = 0
    is_bounded: bool = True
    """Whether all row groups so far have bounds, or hold only nulls."""
    least: Any = None
    most: Any = None

    def add(self, rows: int, facts: Any) -> None:
        """Add a row group."""
        if facts is None or not facts.has_null_count:
            self.nulls, self.is_bounded = -1, False
            return
        self.nulls += facts.null_count if self.nulls >= 0 else 0
        if facts.null_count == rows:
            return
        low, high = (facts.min, facts.max) if facts.has_min_max else (None, None)
        if isinstance(low, bool) or not isinstance(low, int | str | datetime):
            self.is_bounded = False
        elif self.is_bounded:
            self.least = low if self.least is None else min(self.least, low)
            self.most = high if self.most is None else max(self.most, high)


def statistics(footer: Any) -> str:
    """The statistics of a Parquet file from its footer, as JSON."""
    columns: dict[str, _Bounds] = {}
    for number in range(footer.num_row_groups):
        group = footer.row_group(number)
        for index in range(footer.num_columns):
            chunk = group.column(index)
            if "." not in chunk.path_in_schema:  # else below a list or a structure
                columns.setdefault(chunk.path_in_schema, _Bounds()).add(group.num_rows, chunk.statistics)
    known = {name: one for name, one in columns.items() if one.is_bounded and one.least is not None}
    told = {
        "numRecords": footer.num_rows,
        "minValues": {name: _shown(one.least, _longest(name)) for name, one in known.items()},
        "maxValues": {name: _shown(one.most, _longest(name), LAST) for name, one in known.items()},
        "nullCount": {name: one.nulls for name, one in columns.items() if one.nulls >= 0},
    }
    return json.dumps(told)


def _longest(name: str) -> int:
    return LONGEST_NAME if name in WHOLE else LONGEST


def _shown(value: Any, longest: int, ending: str = "") -> Any:
    """A bound as JSON has it."""
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
    if isinstance(value, str) and len(value) > longest:
        return value[:longest] + ending
    return value
