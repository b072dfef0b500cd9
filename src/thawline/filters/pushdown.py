"""Comparisons that a format can use to pass over units: by times, offsets and names."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, cast

if TYPE_CHECKING:
    from thawline.formats.contract import Format

Comparison = Literal["=", "<", "<=", ">", ">=", "in"]
TIMES = {"kafka": "timestamp", "rbak": "backed_up_at"}
"""The column that a format's options `since` and `until` select by."""
OFFSETS = {"kafka": "offset"}
"""The column that the option `offsets` selects by."""
NAMED: dict[str, dict[str, type]] = {
    "rbak": {"queue": str, "vhost": str},
    "aerospike": {"namespace": str, "set": str},
    "rbf": {"tag": int},
}
"""Columns with an option of the same name that lists the permitted values, and the type of those values."""
Window = tuple[int | None, int | None]
EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
INT64 = 1 << 63


@dataclass(frozen=True, slots=True)
class Condition:
    """A comparison that a column's value has to satisfy; null never does."""

    column: str
    comparison: Comparison
    value: Any

    @property
    def values(self) -> tuple[Any, ...]:
        """The values that the column is compared with, without null, which equals nothing."""
        operands = self.value if self.comparison == "in" else (self.value,)
        return tuple(value for value in operands if value is not None)


def narrowed(format_: Format, table: str, conditions: Sequence[Condition]) -> Format:
    """The format with options by which it passes over units that cannot hold a wanted row.

    Only for a format's first table: the same column name may mean another time in other tables.
    """
    if table != next(iter(format_.tables)):
        return format_
    changes = {**_windows(format_, conditions), **dict(_names(format_, conditions))}
    return cast("Format", replace(cast("Any", format_), **changes)) if changes else format_


def _windows(format_: Any, conditions: Sequence[Condition]) -> dict[str, Any]:
    """The options for times and offsets, narrowed by the conditions."""
    since, until = _bounds(conditions, TIMES.get(format_.name), dt.datetime)
    first, last = _bounds(conditions, OFFSETS.get(format_.name), int)
    changes: dict[str, Any] = {}
    if since is not None or until is not None:
        changes = {"since": _tighter(max, format_.since, since), "until": _tighter(min, format_.until, until)}
    if first is not None or last is not None:
        changes["offsets"] = (_tighter(max, format_.offsets[0], first), _tighter(min, format_.offsets[1], last))
    return changes


def _names(format_: Any, conditions: Sequence[Condition]) -> Iterator[tuple[str, tuple[Any, ...]]]:
    """The options that list permitted values, with the values that all conditions permit."""
    for column, kind in NAMED.get(format_.name, {}).items():
        permitted: tuple[Any, ...] | None = getattr(format_, column)
        for condition in conditions:
            is_relevant = condition.column == column and condition.comparison in {"=", "in"}
            if is_relevant and all(isinstance(value, kind) for value in condition.values):
                permitted = tuple(value for value in condition.values if permitted is None or value in permitted)
        if permitted != getattr(format_, column):
            yield column, permitted or ()


def _bounds(conditions: Sequence[Condition], column: str | None, kind: type[int | dt.datetime]) -> Window:
    """The smallest and the largest number that all conditions on a column permit; times in milliseconds since 1970.

    Values of another type come from a user's schema that changes the column's meaning; they set no bound.
    """
    least: int | None = None
    most: int | None = None
    for condition in conditions:
        numbers = [_number(value) for value in condition.values if isinstance(value, kind)]
        if condition.column != column or not numbers or len(numbers) < len(condition.values):
            continue
        if condition.comparison not in {"<", "<="} and min(numbers) < INT64:
            least = _tighter(max, least, min(numbers))
        if condition.comparison not in {">", ">="} and max(numbers) >= -INT64:
            most = _tighter(min, most, max(numbers))
    return _held(least), _held(most)


def _held(bound: int | None) -> int | None:
    return None if bound is None else max(-INT64, min(bound, INT64 - 1))


def _number(value: int | dt.datetime) -> int:
    if isinstance(value, dt.datetime):
        aware = value if value.tzinfo else value.replace(tzinfo=dt.UTC)
        return (aware - EPOCH) // dt.timedelta(milliseconds=1)
    return value


def _tighter(choose: Any, bound: int | None, other: int | None) -> int | None:
    return other if bound is None else bound if other is None else choose(bound, other)
