"""Filters that Spark pushes down, applied to files, to heads of units, and to rows before they are sent to the JVM.

Spark applies every filter again, so the filters here may let too many rows pass, but must not drop a requested row.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

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

from thawline.filters.pushdown import Comparison, Condition
from thawline.filters.pushdown import narrowed as narrowed_format
from thawline.spark.settings import Settings

COMPARISONS: Mapping[type[Filter], Comparison] = {
    EqualTo: "=",
    LessThan: "<",
    LessThanOrEqual: "<=",
    GreaterThan: ">",
    GreaterThanOrEqual: ">=",
    In: "in",
}


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
    """Settings whose format prunes units that cannot hold a requested row."""
    return replace(settings, format=narrowed_format(settings.format, settings.table, conditions))


def may_hold(known: Mapping[str, object], conditions: Iterable[Condition]) -> bool:
    """Whether a file can hold a requested row, by the column values that its folder fixes."""
    return all(_allows(condition, known[condition.column]) for condition in conditions if condition.column in known)


def chosen(batch: pa.RecordBatch, conditions: Iterable[Condition]) -> pa.RecordBatch:
    """The rows of a batch that satisfy all conditions."""
    masks = [
        _mask(batch[condition.column], condition) for condition in conditions if condition.column in batch.schema.names
    ]
    if not masks:
        return batch
    mask = masks[0]
    for other in masks[1:]:
        mask = pc.and_(mask, other)
    return batch if pc.all(mask).as_py() else batch.filter(mask)


def _allows(condition: Condition, value: object) -> bool:
    """Whether a value that all rows share satisfies the condition."""
    return bool(_compared(pa.array([value]), condition)[0].as_py())


def _mask(values: pa.Array, condition: Condition) -> pa.BooleanArray:
    """Which values satisfy the condition."""
    return pc.fill_null(_compared(values, condition), False)  # noqa: FBT003 - a value, not a flag


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
