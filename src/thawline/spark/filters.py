"""Filters that Spark pushes down, applied to files, to heads of units, and to rows before they are sent to the JVM.

Spark applies every filter again, so the filters here may let too many rows pass, but must not drop a requested row.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql.datasource import (
    EqualTo,
    Filter,
    GreaterThan,
    GreaterThanOrEqual,
    In,
    LessThan,
    LessThanOrEqual,
)

from thawline.spark.settings import Settings

Comparison = Literal["=", "<", "<=", ">", ">=", "in"]
COMPARISONS: Mapping[type[Filter], Comparison] = {
    EqualTo: "=",
    LessThan: "<",
    LessThanOrEqual: "<=",
    GreaterThan: ">",
    GreaterThanOrEqual: ">=",
    In: "in",
}
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

    def allows(self, value: object) -> bool:
        """Whether a value that all rows share satisfies the condition."""
        return bool(_compared(pa.array([value]), self)[0].as_py())

    def mask(self, values: pa.Array) -> pa.BooleanArray:
        """Which values satisfy the condition."""
        return pc.fill_null(_compared(values, self), False)  # noqa: FBT003 - a value, not a flag


def conditions_of(filters: Iterable[Filter]) -> tuple[Condition, ...]:
    """The supported filters, as conditions."""
    conditions = []
    for one in filters:
        comparison = COMPARISONS.get(type(one))
        path: tuple[str, ...] = getattr(one, "attribute", ())
        if comparison and len(path) == 1:
            conditions.append(Condition(path[0], comparison, getattr(one, "value", None)))
    return tuple(conditions)


def narrowed(settings: Settings, conditions: Sequence[Condition]) -> Settings:
    """Settings whose format prunes units that cannot hold a requested row.

    Only for a format's first table: the same column name may mean another time in other tables.
    """
    if settings.table != next(iter(settings.format.tables)):
        return settings
    format_: Any = settings.format
    changes = {**_windows(format_, conditions), **dict(_names(format_, conditions))}
    return replace(settings, format=replace(format_, **changes)) if changes else settings


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


def may_hold(known: Mapping[str, object], conditions: Iterable[Condition]) -> bool:
    """Whether a file can hold a requested row, by the column values that its folder fixes."""
    return all(condition.allows(known[condition.column]) for condition in conditions if condition.column in known)


def chosen(batch: pa.RecordBatch, conditions: Iterable[Condition]) -> pa.RecordBatch:
    """The rows of a batch that satisfy all conditions."""
    masks = [
        condition.mask(batch[condition.column]) for condition in conditions if condition.column in batch.schema.names
    ]
    if not masks:
        return batch
    mask = masks[0]
    for other in masks[1:]:
        mask = pc.and_(mask, other)
    return batch if pc.all(mask).as_py() else batch.filter(mask)


def _bounds(conditions: Iterable[Condition], column: str | None, kind: type[int | dt.datetime]) -> Window:
    """The smallest and the largest number that all conditions on a column permit; times in milliseconds since 1970.

    Values of another type come from a user's schema that changes the column's meaning; they set no bound.
    """
    least: int | None = None
    most: int | None = None
    for condition in conditions:
        numbers = [_number(value) for value in condition.values if isinstance(value, kind)]
        if condition.column != column or not numbers or len(numbers) < len(condition.values):
            continue
        if condition.comparison not in {"<", "<="}:
            least = _tighter(max, least, min(numbers))
        if condition.comparison not in {">", ">="}:
            most = _tighter(min, most, max(numbers))
    return least, most


def _number(value: int | dt.datetime) -> int:
    if isinstance(value, dt.datetime):
        aware = value if value.tzinfo else value.replace(tzinfo=dt.UTC)
        return (aware - EPOCH) // dt.timedelta(milliseconds=1)
    return value


def _tighter(choose: Any, bound: int | None, other: int | None) -> int | None:
    return other if bound is None else bound if other is None else choose(bound, other)


def _compared(values: pa.Array, condition: Condition) -> pa.Array:
    """Whether each value satisfies a condition; true for values that cannot be compared."""
    try:
        if condition.comparison == "in":
            return pc.is_in(values, pa.array(list(condition.value), values.type))
        operand = pa.scalar(_aware(condition.value), values.type)
    except (pa.ArrowInvalid, pa.ArrowTypeError, TypeError, OverflowError):
        return pa.repeat(pa.scalar(True), len(values))  # noqa: FBT003 - a value, not a flag
    compare = {"=": pc.equal, "<": pc.less, "<=": pc.less_equal, ">": pc.greater, ">=": pc.greater_equal}
    return compare[condition.comparison](values, operand)


def _aware(value: object) -> object:
    if isinstance(value, dt.datetime) and value.tzinfo is None:
        return value.replace(tzinfo=dt.UTC)
    return value
