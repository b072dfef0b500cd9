"""Columns of the table `records` as the encoder takes them, once it is sure that a segment can hold them."""

from __future__ import annotations

from array import array
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from thawline.errors import ThawlineError
from thawline.formats.kafka import numbers

__all__ = ["LAST_OFFSET", "LATEST_TIMESTAMP", "LONGEST_RECORD", "NO_TIMESTAMP", "BadRecord", "Rows", "rows_of"]

NO_TIMESTAMP = -1
LATEST_TIMESTAMP = (1 << 63) - 2
"""One less than the largest number, so that the difference of any two timestamps fits 64 bits."""
LAST_OFFSET = (1 << 63) - 2
"""Behind the last record there has to be an offset for the next."""
LONGEST_RECORD = 1 << 30
"""Bytes of a key, a value and headers together; a batch has to stay below 2 GB, whatever a codec makes of them."""
LOG_APPEND_TIME = 1
COLUMNS = ("key", "value", "offset", "timestamp", "timestampType", "headers")
PLACE = {"topic", "partition"}
"""Columns that are not looked at: a segment does not hold them, its folder is called by them."""

NOTHING = memoryview(b"")
NO_NUMBERS = memoryview(array("q"))
NO_STARTS = memoryview(array("i"))
TICKS = {"ms": 1, "us": 1000, "ns": 1_000_000}
"""How many ticks of a unit make a millisecond."""


class BadRecord(ThawlineError, ValueError):
    """A record, or a column of records, that no batch can hold; nothing of the call has been written."""


@dataclass(frozen=True, slots=True)
class Rows:
    """Records to encode: how many, and their columns as `kafka_encode.encode_records` takes them."""

    count: int
    columns: tuple[Any, ...]
    offsets: memoryview
    """Empty where the offsets count on from the record before."""


def rows_of(batch: pa.RecordBatch) -> Rows:
    """The records of a batch with columns of the table `records`.

    Any of the columns may be missing: keys and values are null then, timestamps -1, and offsets count on.
    """
    if not isinstance(batch, pa.RecordBatch):
        raise BadRecord(
            f"rows come as a pyarrow.RecordBatch, not {type(batch).__name__}; to_batches() of a table gives some"
        )
    columns = _columns(batch)
    _refuse_long(columns, batch)
    missing = pa.nulls(batch.num_rows, pa.binary())
    keys, values = (_parts(_binary(columns.get(name, missing), name)) for name in ("key", "value"))
    headers = _headers(columns["headers"]) if "headers" in columns else NO_HEADERS
    offsets = _offsets(columns["offset"]) if "offset" in columns else NO_NUMBERS
    timestamps = _timestamps(columns["timestamp"]) if "timestamp" in columns else NO_NUMBERS
    append_times = _append_times(columns["timestampType"]) if "timestampType" in columns else NOTHING
    return Rows(batch.num_rows, (*keys, *values, *headers, offsets, timestamps, append_times), offsets)


def _columns(batch: pa.RecordBatch) -> dict[str, pa.Array]:
    """The columns by name; one that holds nothing but nulls is as good as missing."""
    names: list[str] = batch.schema.names
    if unknown := sorted(set(names) - {*COLUMNS, *PLACE}):
        raise BadRecord(f"no record has a column {', '.join(unknown)}; there are {', '.join(COLUMNS)}")
    if len(set(names)) < len(names):
        raise BadRecord(f"two of the columns {', '.join(names)} have the same name")
    columns = {name: batch.column(name) for name in names if name not in PLACE}
    return {name: column for name, column in columns.items() if column.null_count < len(column)}


def _refuse_long(columns: dict[str, pa.Array], batch: pa.RecordBatch) -> None:
    if batch.nbytes <= LONGEST_RECORD:
        return
    for row in range(batch.num_rows):
        size = sum(columns[name].slice(row, 1).nbytes for name in ("key", "value", "headers") if name in columns)
        if size > LONGEST_RECORD:
            raise BadRecord(f"row {row}: its {size} bytes are more than {LONGEST_RECORD}, the most that is written")


def _binary(column: pa.Array, name: str) -> pa.BinaryArray:
    if not _is_bytes(column.type):
        raise BadRecord(f"the column {name} is {column.type}, not binary or text")
    return column.cast(pa.binary())


def _is_bytes(type_: pa.DataType) -> bool:
    kinds = ("binary", "string", "large_binary", "large_string", "binary_view", "string_view", "fixed_size_binary")
    return any(getattr(pa.types, f"is_{kind}")(type_) for kind in kinds)


def _parts(binary: pa.BinaryArray) -> tuple[memoryview, memoryview, memoryview, int]:
    """Where each value starts, the bytes of all, which are not null, and the bit at which that begins."""
    valid, starts, data = binary.buffers()
    return (
        memoryview(starts).cast("B").cast("i")[binary.offset : binary.offset + len(binary) + 1]
        if starts
        else NO_STARTS,
        memoryview(data).cast("B") if data else NOTHING,
        memoryview(valid).cast("B") if valid and binary.null_count else NOTHING,
        binary.offset,
    )


NO_HEADERS = (NO_STARTS, NO_STARTS, NOTHING, NO_STARTS, NOTHING, NOTHING, 0)


def _headers(column: pa.Array) -> tuple[Any, ...]:
    """Where the headers of each row start, then the keys and the values of all."""
    type_ = column.type
    if not (
        pa.types.is_list(type_) and pa.types.is_struct(type_.value_type) and {"key", "value"} <= set(_fields(type_))
    ):
        raise BadRecord(f"the column headers is {type_}, not a list of structures of key and value")
    items = column.flatten()
    keys, values = items.field("key"), items.field("value")
    if items.null_count or keys.null_count:
        raise BadRecord("a header is null, or its key is: Kafka has no such headers")
    starts = pa.concat_arrays([pa.array([0], pa.int32()), _ends(column)])
    name_starts, name_data, _, _ = _parts(_text(keys))
    values = values.cast(pa.binary()) if pa.types.is_null(values.type) else _binary(values, "headers.value")
    return (memoryview(starts.buffers()[1]).cast("B").cast("i"), name_starts, name_data, *_parts(values))


def _fields(type_: pa.DataType) -> list[str]:
    return [field.name for field in type_.value_type]


def _ends(lists: pa.ListArray) -> pa.Int32Array:
    return pc.cumulative_sum(pc.fill_null(pc.list_value_length(lists), 0))


def _text(keys: pa.Array) -> pa.BinaryArray:
    """Header keys as bytes, which have to be UTF-8: Kafka's clients replace what is not, or fail."""
    try:
        return keys.cast(pa.string()).cast(pa.binary())
    except pa.ArrowInvalid as error:
        raise BadRecord(f"the key of a header is not UTF-8: {error}") from error


def _offsets(column: pa.Array) -> memoryview:
    if column.null_count or not pa.types.is_integer(column.type):
        raise BadRecord(
            f"the column offset is {column.type} with {column.null_count} nulls; offsets are numbers, or all null"
        )
    return numbers.view(_int64s(column, "offset"))


def _int64s(column: pa.Array, name: str) -> pa.Int64Array:
    try:
        return column.cast(pa.int64())
    except pa.ArrowInvalid as error:
        raise BadRecord(f"the column {name} has a number of more than 63 bits: {error}") from error


def _timestamps(column: pa.Array) -> memoryview:
    """Milliseconds; what is finer is cut off, null is -1, Kafka's word for none."""
    if pa.types.is_timestamp(column.type) and column.type.unit == "s":
        column = _int64s(column, "timestamp").cast(pa.timestamp("s")).cast(pa.timestamp("ms"))
    if not (is_time := pa.types.is_timestamp(column.type)) and not pa.types.is_integer(column.type):
        raise BadRecord(f"the column timestamp is {column.type}, neither a timestamp nor milliseconds")
    ticks = TICKS[column.type.unit] if is_time else 1
    times = _int64s(column, "timestamp")
    earliest, latest = pc.min_max(times).as_py().values()
    if earliest < 0:
        _refuse_before_1970(times, ticks)
    if latest > LATEST_TIMESTAMP:
        raise BadRecord(f"the timestamp {latest} is too late for 63 bits")
    return numbers.view(pc.fill_null(pc.divide(times, ticks) if ticks > 1 else times, NO_TIMESTAMP))


def _refuse_before_1970(times: pa.Int64Array, ticks: int) -> None:
    """Kafka's clients write no timestamp below zero but -1, which stands for none."""
    bad = pc.min(pc.if_else(pc.equal(times, NO_TIMESTAMP * ticks), 0, times)).as_py()
    if bad < 0:
        raise BadRecord(f"the timestamp {bad} is before 1970, which Kafka does not write")


def _append_times(column: pa.Array) -> memoryview:
    """A byte for each row: 1 where the timestamp is the broker's (LogAppendTime)."""
    if not pa.types.is_integer(column.type):
        raise BadRecord(
            f"the column timestampType is {column.type}, not a number: 0 for CreateTime, 1 for LogAppendTime"
        )
    flags = pc.fill_null(pc.equal(column, LOG_APPEND_TIME), False).cast(pa.uint8())  # noqa: FBT003 - the value of nulls
    return memoryview(flags.buffers()[1]).cast("B")[flags.offset : flags.offset + len(flags)]
