"""Filters that Spark offers, brought to where they spare the most: files, heads of units, and rows before they travel.

Spark applies every filter once more itself, so what is done here only has to leave nothing out.
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
"""The column that the options `since` and `until` of a format are about."""
OFFSETS = {"kafka": "offset"}
"""The column that the option `offsets` is about."""
NAMED: dict[str, dict[str, type]] = {
    "rbak": {"queue": str, "vhost": str},
    "aerospike": {"namespace": str, "set": str},
    "rbf": {"tag": int},
}
"""Columns with an option of the same name, which is given the values that they may have, and what those are."""
Window = tuple[int | None, int | None]
EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)


@dataclass(frozen=True, slots=True)
class Condition:
    """A column, and what its value has to be like; null never is."""

    column: str
    comparison: Comparison
    value: Any

    @property
    def values(self) -> tuple[Any, ...]:
        """What the column is compared with; null is equal to nothing."""
        given = self.value if self.comparison == "in" else (self.value,)
        return tuple(value for value in given if value is not None)

    def allows(self, value: object) -> bool:
        """Whether a value that is the same in all rows is like that."""
        return bool(_compared(pa.array([value]), self)[0].as_py())

    def mask(self, values: pa.Array) -> pa.BooleanArray:
        """Which of some values are like that."""
        return pc.fill_null(_compared(values, self), False)  # noqa: FBT003 - a value, not a flag


def conditions_of(filters: Iterable[Filter]) -> tuple[Condition, ...]:
    """Those of some filters that are understood here."""
    found = []
    for one in filters:
        comparison = COMPARISONS.get(type(one))
        path: tuple[str, ...] = getattr(one, "attribute", ())
        if comparison and len(path) == 1:
            found.append(Condition(path[0], comparison, getattr(one, "value", None)))
    return tuple(found)


def narrowed(settings: Settings, conditions: Sequence[Condition]) -> Settings:
    """Settings whose format passes over units that cannot hold a row that is asked for.

    Only of a format's first table: in another one a time may be that of something else.
    """
    if settings.table != next(iter(settings.format.tables)):
        return settings
    held: Any = settings.format
    changes = {**_windows(held, conditions), **dict(_names(held, conditions))}
    return replace(settings, format=replace(held, **changes)) if changes else settings


def _windows(held: Any, conditions: Sequence[Condition]) -> dict[str, Any]:
    """The options for times and offsets, no wider than they are."""
    since, until = _bounds(conditions, TIMES.get(held.name), dt.datetime)
    first, last = _bounds(conditions, OFFSETS.get(held.name), int)
    changes: dict[str, Any] = {}
    if since is not None or until is not None:
        changes = {"since": _tighter(max, held.since, since), "until": _tighter(min, held.until, until)}
    if first is not None or last is not None:
        changes["offsets"] = (_tighter(max, held.offsets[0], first), _tighter(min, held.offsets[1], last))
    return changes


def _names(held: Any, conditions: Sequence[Condition]) -> Iterator[tuple[str, tuple[Any, ...]]]:
    """The options for what columns may be called, with what all conditions leave of them."""
    for column, kind in NAMED.get(held.name, {}).items():
        kept: tuple[Any, ...] | None = getattr(held, column)
        for condition in conditions:
            is_meant = condition.column == column and condition.comparison in {"=", "in"}
            if is_meant and all(isinstance(value, kind) for value in condition.values):
                kept = tuple(value for value in condition.values if kept is None or value in kept)
        if kept != getattr(held, column):
            yield column, kept or ()


def may_hold(known: Mapping[str, object], conditions: Iterable[Condition]) -> bool:
    """Whether a file can hold a requested row, by the columns that its folder tells."""
    return all(condition.allows(known[condition.column]) for condition in conditions if condition.column in known)


def chosen(batch: pa.RecordBatch, conditions: Iterable[Condition]) -> pa.RecordBatch:
    """The rows of a batch that are asked for."""
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
    """The least and the largest number that all conditions on a column leave; times are milliseconds since 1970.

    Values of another kind are those of a column that the user has given another type, and so another meaning.
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


def _tighter(choose: Any, held: int | None, given: int | None) -> int | None:
    return given if held is None else held if given is None else choose(held, given)


def _compared(values: pa.Array, condition: Condition) -> pa.Array:
    """Whether values are as a condition says; all are if they cannot be compared."""
    try:
        if condition.comparison == "in":
            return pc.is_in(values, pa.array(list(condition.value), values.type))
        wanted = pa.scalar(_aware(condition.value), values.type)
    except (pa.ArrowInvalid, pa.ArrowTypeError, TypeError, OverflowError):
        return pa.repeat(pa.scalar(True), len(values))  # noqa: FBT003 - a value, not a flag
    compare = {"=": pc.equal, "<": pc.less, "<=": pc.less_equal, ">": pc.greater, ">=": pc.greater_equal}
    return compare[condition.comparison](values, wanted)


def _aware(value: object) -> object:
    if isinstance(value, dt.datetime) and value.tzinfo is None:
        return value.replace(tzinfo=dt.UTC)
    return value
