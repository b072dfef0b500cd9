"""The table `messages`: what a record's columns are called, and what type they have."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from functools import cache

import pyarrow as pa
import pyarrow.compute as pc

from thawline.formats.rbak.fields import PROPERTIES
from thawline.formats.rbak.records import WIRE
from thawline.literals import integer, repeated

TIME = pa.timestamp("us", "UTC")
MOST_MILLISECONDS = (2**63 - 1) // 1000
MOST_SECONDS = (2**63 - 1) // 1_000_000
"""What microseconds of 64 bits hold."""

NAMES = {"vhost": "source_vhost", "queue": "source_queue", "type": "type_field"}
"""Columns that are not called like the field that they are from."""
SCHEMA = pa.schema(
    [
        ("vhost", pa.string()),
        ("queue", pa.string()),
        ("exchange", pa.string()),
        ("routing_key", pa.string()),
        ("delivery_tag", pa.decimal128(20, 0)),
        ("redelivered", pa.bool_()),
        ("backed_up_at", TIME),
        ("body", pa.binary()),
        *(("type" if name == "type_field" else name, WIRE.field(name).type) for name in PROPERTIES),
        ("headers", WIRE.field("headers").type),
        ("headers_json", pa.string()),
        ("segment", pa.string()),
        ("record_index", pa.int64()),
    ]
)
EXTRAS = pa.schema(
    [
        ("backed_up_at_ms", pa.int64()),
        ("published_at", TIME),
        ("record_json", pa.string()),
        ("headers_at", pa.int64()),
        ("verified", pa.bool_()),
    ]
)
SOURCES = {"backed_up_at": "backed_up_at", "backed_up_at_ms": "backed_up_at", "published_at": "timestamp"}


@dataclass(frozen=True, slots=True)
class Context:
    """What holds for all records of some documents."""

    segment: str
    first_index: int
    """Number of the first document in its segment."""
    verified: bool
    since: int | None = None
    until: int | None = None
    queue: tuple[str, ...] | None = None
    vhost: tuple[str, ...] | None = None

    @property
    def is_windowed(self) -> bool:
        """Whether only rows of some time are asked for."""
        return self.since is not None or self.until is not None

    @property
    def named(self) -> dict[str, tuple[str, ...]]:
        """Wire columns that must have one of some values."""
        asked = {"source_queue": self.queue, "source_vhost": self.vhost}
        return {name: values for name, values in asked.items() if values is not None}


def wire_columns(wanted: Collection[str], compared: Collection[str] = ()) -> set[str]:
    """The wire columns that the wanted ones are made from; what is compared and what every reading needs among them."""
    made_from = {SOURCES.get(name, NAMES.get(name, name)) for name in wanted}
    return {name for name in made_from if name in WIRE.names} | {"backed_up_at", "index", *compared}


def schema_of(wanted: Collection[str]) -> pa.Schema:
    """The wanted columns, those of the table before the others."""
    return _schema_of(frozenset(wanted))


@cache
def _schema_of(wanted: frozenset[str]) -> pa.Schema:
    return pa.schema([field for field in (*SCHEMA, *EXTRAS) if field.name in wanted])


def chosen(wire: pa.RecordBatch, context: Context) -> pa.RecordBatch:
    """The records within the time window and of the queues that are asked for."""
    if context.is_windowed:
        wire = wire.filter(within(wire["backed_up_at"], context))
    for name, values in context.named.items():
        wire = wire.filter(pc.is_in(wire[name], value_set=pa.array(values, pa.string())))
    return wire


def batch_of(wire: pa.RecordBatch, schema: pa.Schema, context: Context) -> pa.RecordBatch:
    """Rows of the table from wire columns."""
    if not schema.names:
        return wire.select([])
    return pa.RecordBatch.from_arrays([_column(wire, name, context) for name in schema.names], schema=schema)


def within(times: pa.Int64Array, context: Context) -> pa.BooleanArray:
    """Which times lie in the window, both ends included; none is in no window."""
    kept = pc.is_valid(times)
    if context.since is not None:
        kept = pc.and_(kept, pc.fill_null(pc.greater_equal(times, context.since), False))  # noqa: FBT003 - as pc has it
    if context.until is not None:
        kept = pc.and_(kept, pc.fill_null(pc.less_equal(times, context.until), False))  # noqa: FBT003 - as above
    return kept


def _column(wire: pa.RecordBatch, name: str, context: Context) -> pa.Array:
    match name:
        case "segment":
            return repeated(context.segment, pa.string(), wire.num_rows)
        case "record_index":
            return pc.add(wire["index"], integer(context.first_index))
        case "verified":
            return repeated(context.verified, pa.bool_(), wire.num_rows)
        case "backed_up_at":
            return _time(wire["backed_up_at"], 1000, MOST_MILLISECONDS)
        case "backed_up_at_ms":
            return wire["backed_up_at"]
        case "published_at":
            return _time(_seconds(wire["timestamp"]), 1_000_000, MOST_SECONDS)
    return wire[NAMES.get(name, name)]


def _time(values: pa.Int64Array, factor: int, most: int) -> pa.TimestampArray:
    """Times of whole numbers of units; null where they do not fit."""
    if not _is_within(values, most):
        fitting = pc.and_(pc.less_equal(values, most), pc.greater_equal(values, -most))
        values = pc.if_else(fitting, values, pa.scalar(None, pa.int64()))
    return pc.multiply(values, integer(factor)).cast(TIME)


def _is_within(values: pa.Int64Array, most: int) -> bool:
    """Whether no number is further from 0 than `most`."""
    if values.null_count == len(values):
        return True
    bounds = pc.min_max(values)
    least, greatest = bounds["min"].as_py(), bounds["max"].as_py()
    return least is None or -most <= least <= greatest <= most


def _seconds(values: pa.Array) -> pa.Int64Array:
    """A decimal column as integers; null where they do not fit."""
    fitting = pc.less_equal(values, pa.scalar(MOST_SECONDS, values.type))
    return pc.if_else(fitting, values, pa.scalar(None, values.type)).cast(pa.int64())


def out_of_time(times: pa.Int64Array) -> int:
    """How many times are too far away for microseconds."""
    if _is_within(times, MOST_MILLISECONDS):
        return 0
    beyond = pc.or_(pc.greater(times, MOST_MILLISECONDS), pc.less(times, -MOST_MILLISECONDS))
    return pc.sum(beyond).as_py() or 0
