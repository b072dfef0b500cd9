"""Rows of a public table: columns that are fields, of the unit, of the file, and those that the format makes.

What a declaration says of a column is done here: its field is taken, the number that stands for none becomes null, and
counted time becomes a timestamp.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection, Mapping

import pyarrow as pa
import pyarrow.compute as pc

from thawline import native
from thawline.engine.buffers import ALL_VALID, Pooled, numbers, packed
from thawline.literals import integer, null, repeated
from thawline.tables import PublicColumn, PublicTable, arrow_type

Maker = Callable[[PublicColumn], pa.Array]
TICKS = {"ms": 1_000, "s": 1_000_000}
"""Microseconds in what a timestamp counts."""
MICROSECONDS = TICKS["s"]
LARGEST = (1 << 63) - 1


def _nothing(column: PublicColumn) -> pa.Array:
    raise LookupError(f"nothing gives the column {column.name}, which is a {column.origin}")


@dataclasses.dataclass(frozen=True, slots=True)
class Origins:
    """What the columns of some rows are made from."""

    rows: int
    field: Maker
    """The field of the row that a column is; before its rule for null and time."""
    made: Maker = _nothing
    """Sums, and what the format makes; before the same rules."""
    unit: Maker = _nothing
    """The column of the unit around each row; all rules of it are done."""
    file: Mapping[str, int | str | bytes | None] = dataclasses.field(default_factory=dict)
    """Facts of the file and its folder, by name."""


def batch_of(table: PublicTable, wanted: Collection[str], origins: Origins) -> pa.RecordBatch:
    """Rows with the wanted columns, in the table's order; without any, it still has its number of rows."""
    projection = table.projected(wanted)
    if not projection.columns:
        return pa.RecordBatch.from_arrays([pa.nulls(origins.rows)], ["rows"]).select([])
    arrays = [column_of(column, origins) for column in projection.columns]
    return pa.RecordBatch.from_arrays(arrays, schema=projection.schema)


def column_of(column: PublicColumn, origins: Origins) -> pa.Array:
    """One column."""
    match column.origin:
        case "field":
            return _ruled(column, origins.field(column))
        case "unit":
            return origins.unit(column)
        case "file":
            return repeated(origins.file[column.source], arrow_type(column.type), origins.rows)
    return _ruled(column, origins.made(column))


def _ruled(column: PublicColumn, values: pa.Array) -> pa.Array:
    """Values from the wire as the declaration of a column gives them."""
    if column.is_in_calendar:
        return _calendar(values)
    if (
        column.null is not None
        and pc.any(is_none := pc.equal(values, repeated(column.null, values.type, 1)[0])).as_py()
    ):
        values = pc.if_else(is_none, null(values.type), values)
    return timestamps(values, TICKS[column.timestamp], column.since) if column.timestamp else values


def _calendar(milliseconds: pa.Int64Array) -> pa.TimestampArray:
    """Times from milliseconds; null for -1 and outside of the years 1 to 9999."""
    rows = len(milliseconds)
    made, valid = Pooled("q", rows), bytearray(rows)
    missing = native.functions.to_microseconds(numbers(milliseconds), rows, made.view, valid)
    return made.column(rows, arrow_type("timestamp"), packed(memoryview(valid), rows) if missing else ALL_VALID)


def timestamps(values: pa.Array, ticks: int, since: int = 0) -> pa.TimestampArray:
    """Times from numbers of a unit of `ticks` microseconds, from some second on; null where they do not fit."""
    first = since * MICROSECONDS // ticks
    most = LARGEST // ticks - first
    if pa.types.is_decimal(values.type):
        fitting = pc.less_equal(values, pa.scalar(most, values.type))
        values = pc.if_else(fitting, values, null(values.type)).cast(pa.int64())
    if not is_within(values, most):
        fitting = pc.and_(pc.less_equal(values, most), pc.greater_equal(values, -most))
        values = pc.if_else(fitting, values, null(values.type))
    counted = pc.add(values, integer(first)) if first else values
    return pc.multiply(counted, integer(ticks)).cast(arrow_type("timestamp"))


def is_within(values: pa.Int64Array, most: int) -> bool:
    """Whether all numbers lie between -most and most."""
    if values.null_count == len(values):
        return True
    bounds = pc.min_max(values)
    least, greatest = bounds["min"].as_py(), bounds["max"].as_py()
    return least is None or -most <= least <= greatest <= most
