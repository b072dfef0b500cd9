"""Rows of the tables `records` and `batches`: which are requested, how they are built, how an encoder takes them."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from thawline.engine.buffers import Pooled
from thawline.engine.encoding import hold
from thawline.errors import ThawlineError
from thawline.formats.building import Origins, batch_of, column_of
from thawline.formats.contract import Reading
from thawline.formats.kafka.findings import lost_unit
from thawline.formats.kafka.units import NAMES, NO_TIMESTAMP, SUSPECT, Heads, integers, timestamp_types
from thawline.generated.kernels.constants import (
    KAFKA_RECORD_BATCH_TIMESTAMP_TYPE_LOG_APPEND_TIME,
)
from thawline.generated.tables.kafka import BATCHES, RECORDS
from thawline.literals import repeated
from thawline.model import Code, Finding, Run, Span
from thawline.tables import PublicColumn

if TYPE_CHECKING:
    from typing_extensions import Buffer  # collections.abc has it from Python 3.12 on

    from thawline.formats.kafka.transactions import Transactions

SEQUENCES = 1 << 31
"""Sequence numbers go on with 0 after the largest 32-bit integer."""


# Which rows are requested.


@dataclass(frozen=True, slots=True)
class Selection:
    """Records by time, offset, outcome of their transaction, and kind. Bounds are inclusive, times milliseconds."""

    since: int | None = None
    until: int | None = None
    offsets: tuple[int | None, int | None] = (None, None)
    control: bool = False
    committed: Transactions | None = None
    """Only what a consumer with read_committed gets, as these transactions ended."""

    @property
    def is_narrow(self) -> bool:
        """Whether anything but all records is requested."""
        bounds = (self.since, self.until, *self.offsets)
        return self.committed is not None or any(bound is not None for bound in bounds)

    def units(self, heads: Heads) -> pa.BooleanArray | None:
        """Units that may hold such a record, as far as their heads tell; None if all may."""
        rows = heads.rows
        return _all_of(
            [
                *self._by_offset(rows),
                *self._by_time(rows),
                *([pc.invert(rows["is_control"])] if self.is_narrow and not self.control else []),
                *self._by_outcome(rows),
            ]
        )

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
            # The head of a wrapper has only the last offset.
            found.append(pc.fill_null(pc.less_equal(rows["base_offset"], last), True))  # noqa: FBT003 - a value
        return found

    def _by_time(self, rows: pa.RecordBatch) -> list[pa.BooleanArray]:
        """With CreateTime, the largest timestamp bounds the others from above only, and sarama writes 0 there."""
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
        """Which records of the chosen units are requested; None if all are."""
        stable = self.committed.last_stable_offset if self.committed else None
        chosen = [pc.less(offsets, stable)] if stable is not None else []
        for values, least, most in ((offsets, *self.offsets), (milliseconds, self.since, self.until)):
            chosen += [] if least is None else [pc.greater_equal(values, least)]
            chosen += [] if most is None else [pc.less_equal(values, most)]
        return _all_of(chosen)

    def stretches(self, heads: Heads) -> Iterator[tuple[Heads, bool]]:
        """Units that may hold what is requested, and units that cannot, in turns."""
        mask = self.units(heads)
        if mask is None:
            yield heads, True
            return
        first = 0
        chosen = mask.to_pylist()
        for row in range(1, len(heads) + 1):
            if row == len(heads) or chosen[row] != chosen[first]:
                yield heads.slice(first, row), chosen[first]
                first = row


def _all_of(masks: Sequence[pa.BooleanArray]) -> pa.BooleanArray | None:
    """Where all of some masks hold; None without any."""
    found = masks[0] if masks else None
    for other in masks[1:]:
        found = pc.and_(found, other)
    return found


@dataclass(frozen=True, slots=True)
class Request:
    """What is requested, and what holds for all records of a file."""

    columns: Sequence[str] = ()
    selection: Selection = field(default_factory=Selection)
    topic: str | None = None
    partition: int | None = None
    transactions: Transactions | None = None
    max_batch_bytes: int = 32 << 20


def counts_of(heads: Heads, selection: Selection) -> pa.Int32Array:
    """Rows of each unit as its head counts them; none of a wrapper, whose head does not."""
    counts, nothing = heads.rows["num_records"].fill_null(0), pa.scalar(0, pa.int32())
    return counts if selection.control else pc.if_else(heads.rows["is_control"], nothing, counts)


FEW_RUNS = 64
"""Up to this many runs are counted by Arrow, each by itself; of more, every unit is counted in Python, once."""


def counted_runs(heads: Heads, ends: Sequence[int], selection: Selection) -> Iterator[Run]:
    """Runs of units as their heads count them; `ends` are the rows after the last unit of each run."""
    counts = counts_of(heads, selection)
    first = 0
    if len(ends) <= FEW_RUNS:
        for end in ends:
            some = heads.slice(first, end)
            rows = pc.sum(counts.slice(first, end - first)).as_py()
            yield Run(some.span, end - first, rows, suspect=some.suspect)
            first = end
        return
    totals = [0, *accumulate(counts.to_pylist())]
    suspects = heads.rows["is_suspect"].to_pylist()
    for end in ends:
        span = Span(heads.positions[first], heads.positions[end - 1] + heads.sizes[end - 1])
        yield Run(span, end - first, totals[end] - totals[first], suspect=SUSPECT if suspects[first] else "")
        first = end


# Rows of records.


@dataclass(frozen=True, slots=True)
class Records:
    """Decoded records of some units."""

    wire: Mapping[str, pa.Array]
    """Columns as the file has them: key, value, headers."""
    offsets: pa.Int64Array
    milliseconds: pa.Int64Array
    units: pa.Int32Array
    """The row of each record's unit among the heads, rising."""


@dataclass(frozen=True, slots=True)
class Failure:
    """Why the records of a unit cannot be given."""

    code: Code
    detail: Mapping[str, object]
    hint: str = ""


NO_FAILURES: Mapping[int, Failure] = {}


def runs_of(
    heads: Heads,
    groups: Sequence[Records],
    failed: Mapping[int, Failure],
    request: Request,
    remarked: Mapping[int, Failure] = NO_FAILURES,
) -> Reading:
    """Runs with the requested rows, a finding for each unit that failed, and one after each that is remarked on."""
    built = [_Columns(records, heads, request) for records in groups]
    after = {unit + 1 for unit in (*failed, *remarked)}
    starts, sizes = integers(heads.rows["position"]), integers(heads.rows["size"])
    first = 0
    for end in sorted({*heads.seams(), *failed, *after, len(heads)} - {0}):
        units = heads.slice(first, end)
        if first not in failed:
            found = [piece for item in built if (piece := item.of_units(first, end)) is not None]
            span = Span(starts[first], starts[end - 1] + sizes[end - 1])
            run = Run(span, end - first, sum(rows for rows, _ in found), suspect=units.suspect)
            yield run, [batch for _, batch in found]
        else:
            yield _lost(units, failed[first])
        if end - 1 in remarked and end - 1 not in failed:
            remark, at = remarked[end - 1], units.end
            yield Finding(remark.code, Span(at, at), remark.detail, remark.hint)
        first = end


def _lost(heads: Heads, failure: Failure) -> Finding:
    count, base, last = (heads.rows[name][0].as_py() for name in ("num_records", "base_offset", "last_offset"))
    detail = {**failure.detail, "lost": lost_unit(count, base, last)}
    return Finding(failure.code, heads.span, detail, failure.hint)


class _Columns:
    """Records as a batch of the requested columns."""

    def __init__(self, records: Records, heads: Heads, request: Request) -> None:
        self.records, self.heads, self.request = records, heads, request
        self.has_control = heads.rows["is_control"].true_count > 0
        self.batch = self._batch()
        self.chosen = self._chosen()
        self.units = integers(records.units, "i")

    def of_units(self, first: int, end: int) -> tuple[int, pa.RecordBatch] | None:
        """The number of records of some units, and those of them that are requested; None if there are none."""
        start = bisect_left(self.units, first) if first else 0
        rows = bisect_left(self.units, end) - start if end < len(self.heads) else len(self.units) - start
        if not rows:
            return None
        batch = self.batch.slice(start, rows)
        if self.chosen is not None:
            batch = batch.filter(self.chosen.slice(start, rows))
        return self._counted(start, rows), batch

    def _counted(self, start: int, rows: int) -> int:
        if self.request.selection.control or not self.has_control:
            return rows
        return rows - int(self._is_control().slice(start, rows).true_count)

    def _chosen(self) -> pa.BooleanArray | None:
        chosen = self.request.selection.records(self.records.offsets, self.records.milliseconds)
        if self.has_control and not self.request.selection.control:
            is_data = pc.invert(self._is_control())
            return is_data if chosen is None else pc.and_(chosen, is_data)
        return chosen

    def _batch(self) -> pa.RecordBatch:
        origins = Origins(len(self.records.units), self._field, self._made, self._unit, self._facts())
        return batch_of(RECORDS, self.request.columns, origins)

    def _facts(self) -> dict[str, int | str | bytes | None]:
        return {"topic": self.request.topic, "partition": self.request.partition}

    def _field(self, column: PublicColumn) -> pa.Array:
        return self.records.wire[column.source] if column.source in self.records.wire else self._no_headers(column)

    def _unit(self, column: PublicColumn) -> pa.Array:
        """What the batch of each record says, as the table `batches` has it."""
        of_units = _of_heads(self.heads, self.request)
        return column_of(BATCHES.column(column.source), of_units).take(self.records.units)

    def _made(self, column: PublicColumn) -> pa.Array:
        match column.name:
            case "offset":
                return self.records.offsets
            case "timestamp" | "timestamp_ms":
                return self.records.milliseconds
            case "timestampType":
                return self._timestamp_types()
        return self._sequences()

    def _of_unit(self, name: str) -> pa.Array:
        """What the head of each record's unit says."""
        return self.heads.rows[name].take(self.records.units)

    def _timestamp_types(self) -> pa.Array:
        types = timestamp_types(self.heads)
        least, most = pc.min_max(types).values()
        units = self.records.units
        return repeated(least.as_py(), types.type, len(units)) if least == most else types.take(units)

    def _no_headers(self, column: PublicColumn) -> pa.Array:
        """Magic 0 and 1 have none."""
        kind = column.stored_type
        fields = list(kind.value_type)
        nothing = pa.StructArray.from_arrays([pa.array([], each.type) for each in fields], fields=fields)
        offsets = pa.repeat(pa.scalar(0, pa.int32()), len(self.records.units) + 1)
        return pa.ListArray.from_arrays(offsets, nothing, type=kind)

    def _sequences(self) -> pa.Array:
        base = self._of_unit("base_sequence").cast(pa.int64())
        delta = pc.subtract(self.records.offsets, self._of_unit("base_offset"))
        wrapped = pc.bit_wise_and(pc.add(base, delta), SEQUENCES - 1)
        return pc.if_else(pc.less(base, 0), pa.scalar(None, pa.int64()), wrapped).cast(pa.int32())

    def _is_control(self) -> pa.Array:
        return self._of_unit("is_control")


def _transactions(request: Request, heads: Heads) -> pa.StringArray:
    assert request.transactions is not None  # noqa: S101 - made where the column is requested
    return request.transactions.outcomes(heads.rows)


# Rows of batches.


def batch_rows(heads: Heads, columns: Collection[str], request: Request) -> pa.RecordBatch:
    """What the heads of some units say."""
    return batch_of(BATCHES, columns, _of_heads(heads, request))


def _of_heads(heads: Heads, request: Request) -> Origins:
    """Heads have every column of the table, under its name or one of `NAMES`, but for outcomes of transactions."""

    def stated(column: PublicColumn) -> pa.Array:
        is_outcome = column.name == "transaction"
        return _transactions(request, heads) if is_outcome else heads.rows[NAMES.get(column.name, column.name)]

    return Origins(len(heads), stated, stated)


# Rows of records as an encoder takes them.

LATEST_TIMESTAMP = (1 << 63) - 2
"""One less than the largest number, so that the difference of any two timestamps fits 64 bits."""
LONGEST_RECORD = 1 << 30
"""Bytes of key, value and headers together. A batch has to stay below 2 GB, whatever a codec makes of it."""
LOG_APPEND_TIME = KAFKA_RECORD_BATCH_TIMESTAMP_TYPE_LOG_APPEND_TIME
COLUMNS = ("key", "value", "offset", "timestamp", "timestampType", "headers")
PLACE = {"topic", "partition"}
"""Columns that are not used: a segment does not hold them, its folder is named by them."""
TICKS = {"ms": 1, "us": 1000, "ns": 1_000_000}
"""Ticks of a unit in a millisecond."""
BINARY = pa.binary()
NOTHING = memoryview(b"")
NO_NUMBERS = memoryview(array("q"))
NO_STARTS = memoryview(array("i"))
NO_ATTRIBUTES = memoryview(array("b"))
NO_HEADERS = (NO_STARTS, NO_STARTS, NOTHING, NO_STARTS, NOTHING, NOTHING, 0)


class BadRecord(ThawlineError, ValueError):
    """A record, or a column of records, that no batch can hold. Nothing of the call has been written."""


@dataclass(frozen=True, slots=True)
class RecordColumns:
    """Records to encode: how many, and their columns as native code takes them."""

    count: int
    columns: tuple[Any, ...]
    """Those of the encoder `kafka_records`."""
    places: tuple[memoryview, memoryview, memoryview]
    """Offsets, empty where each is one above that of the record before; timestamps; whether these are the broker's."""
    deltas: tuple[memoryview, memoryview]
    """Offsets and timestamps as the batch that takes the records has them."""

    def held(self) -> RecordColumns:
        """The same, for several batches: native code takes the views that it returns quicker than others."""
        return replace(self, columns=hold("kafka_records", self.columns))

    @property
    def offsets(self) -> memoryview:
        """The offsets, where they are given."""
        return self.places[0]


def record_columns(batch: pa.RecordBatch) -> RecordColumns:
    """The records of a batch with columns of the table `records`.

    Any column may be missing. Then keys and values are null, timestamps -1, and each offset is one above the last.
    """
    if not isinstance(batch, pa.RecordBatch):
        raise BadRecord(
            f"rows come as a pyarrow.RecordBatch, not {type(batch).__name__}; to_batches() of a table gives some"
        )
    columns, rows = _used_columns(batch), batch.num_rows
    _refuse_long(columns, batch)
    missing = pa.nulls(rows, BINARY)
    keys, values = (_parts(_binary(columns.get(name, missing), name)) for name in ("key", "value"))
    headers = _headers(columns["headers"]) if "headers" in columns else NO_HEADERS
    offsets = _offsets(columns["offset"]) if "offset" in columns else NO_NUMBERS
    timestamps = _timestamps(columns["timestamp"]) if "timestamp" in columns else NO_NUMBERS
    append_times = _append_times(columns["timestampType"]) if "timestampType" in columns else NOTHING
    deltas = Pooled("i", rows).view, Pooled("q", rows).view
    columns_ = (NO_ATTRIBUTES, *reversed(deltas), *keys, *values, *headers)
    return RecordColumns(rows, columns_, (offsets, timestamps, append_times), deltas)


def _used_columns(batch: pa.RecordBatch) -> dict[str, pa.Array]:
    """The columns by name; a column of nulls counts as missing."""
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
    if column.type == BINARY:
        return column
    kinds = ("binary", "string", "large_binary", "large_string", "binary_view", "string_view", "fixed_size_binary")
    if not any(getattr(pa.types, f"is_{kind}")(column.type) for kind in kinds):
        raise BadRecord(f"the column {name} is {column.type}, not binary or text")
    return column.cast(BINARY)


def _parts(binary: pa.BinaryArray) -> tuple[memoryview, memoryview, memoryview, int]:
    """Where each value starts, the bytes of all, the validity bitmap, and the bit at which it begins."""
    valid, starts, data = binary.buffers()
    return (
        memoryview(starts).cast("B").cast("i")[binary.offset : binary.offset + len(binary) + 1]
        if starts
        else NO_STARTS,
        memoryview(data).cast("B") if data else NOTHING,
        memoryview(valid).cast("B") if valid and binary.null_count else NOTHING,
        binary.offset,
    )


def _headers(column: pa.Array) -> tuple[Any, ...]:
    """Where the headers of each row start, then the keys and the values of all."""
    kind = column.type
    is_pairs = pa.types.is_list(kind) and pa.types.is_struct(kind.value_type)
    if not is_pairs or not {"key", "value"} <= {field.name for field in kind.value_type}:
        raise BadRecord(f"the column headers is {kind}, not a list of structures of key and value")
    items = column.flatten()
    keys, values = items.field("key"), items.field("value")
    if items.null_count or keys.null_count:
        raise BadRecord("a header is null, or its key is: Kafka has no such headers")
    ends = pc.cumulative_sum(pc.fill_null(pc.list_value_length(column), 0))
    starts = pa.concat_arrays([pa.array([0], pa.int32()), ends])
    name_starts, name_data, _, _ = _parts(_text(keys))
    values = values.cast(pa.binary()) if pa.types.is_null(values.type) else _binary(values, "headers.value")
    return (memoryview(starts.buffers()[1]).cast("B").cast("i"), name_starts, name_data, *_parts(values))


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
    return integers(_int64s(column, "offset"))


def _int64s(column: pa.Array, name: str) -> pa.Int64Array:
    try:
        return column.cast(pa.int64())
    except pa.ArrowInvalid as error:
        raise BadRecord(f"the column {name} has a number of more than 63 bits: {error}") from error


def _timestamps(column: pa.Array) -> memoryview:
    """Milliseconds. What is finer is cut off; null is Kafka's -1."""
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
    milliseconds = pc.divide(times, ticks) if ticks > 1 else times
    return integers(pc.fill_null(milliseconds, NO_TIMESTAMP) if milliseconds.null_count else milliseconds)


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


# One record as a caller gives it.

ROW_COLUMNS = {
    "key": pa.binary(),
    "value": pa.binary(),
    "offset": pa.int64(),
    "timestamp": pa.int64(),
    "headers": pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())])),
}
START_OF_TIME = datetime(1970, 1, 1, tzinfo=UTC)

Time = int | datetime
"""Milliseconds since 1970, or a time with a zone."""
Headers = Iterable[tuple["str | Buffer", "Buffer | None"]] | Mapping[str, "Buffer | None"]
Row = tuple[bytes | None, bytes | None, int, int, list[tuple[str, bytes | None]]]


def columns_of(rows: Sequence[Row]) -> RecordColumns:
    """Rows as an encoder takes them."""
    columns = zip(zip(*rows, strict=True), ROW_COLUMNS.values(), strict=True)
    arrays = [pa.array(values, kind) for values, kind in columns]
    return record_columns(pa.RecordBatch.from_arrays(arrays, list(ROW_COLUMNS)))


def record_row(key: Buffer | None, value: Buffer | None, offset: int, timestamp: Time | None, headers: Headers) -> Row:
    """A record as it is held until it is encoded, if a batch can hold it."""
    row = _bytes(key, "key"), _bytes(value, "value"), offset, _milliseconds(timestamp), _header_pairs(headers)
    size = len(row[0] or b"") + len(row[1] or b"") + sum(len(name) + len(data or b"") for name, data in row[4])
    if size > LONGEST_RECORD:
        raise BadRecord(f"a record of {size} bytes is longer than {LONGEST_RECORD}, the most that is written")
    return row


def _bytes(data: Buffer | None, what: str) -> bytes | None:
    if data is None or isinstance(data, bytes):
        return data
    try:
        return bytes(memoryview(data))
    except TypeError as error:
        raise BadRecord(f"a {what} is bytes or None, not {type(data).__name__}") from error


def _header_pairs(headers: Headers) -> list[tuple[str, bytes | None]]:
    pairs = headers.items() if isinstance(headers, Mapping) else headers
    try:
        return [(_header_key(name), _bytes(data, "header value")) for name, data in pairs]
    except (TypeError, ValueError) as error:
        if isinstance(error, BadRecord):
            raise
        raise BadRecord(f"headers are pairs of a key and a value: {error}") from error


def _header_key(name: str | Buffer) -> str:
    """Text, as Kafka's clients have header keys; other bytes could not be read back."""
    key = _bytes(name.encode() if isinstance(name, str) else name, "header key")
    if key is None:
        raise BadRecord("the key of a header is None: Kafka has no such headers")
    try:
        return key.decode()
    except UnicodeDecodeError as error:
        raise BadRecord(f"the key of a header is not UTF-8: {key!r}") from error


def _milliseconds(timestamp: Time | None) -> int:
    """Milliseconds since 1970. What is finer is cut off; None is Kafka's -1."""
    if isinstance(timestamp, datetime):
        if timestamp.tzinfo is None:
            raise BadRecord(f"the timestamp {timestamp} has no zone, so it could be any of a day's times")
        timestamp = (timestamp - START_OF_TIME) // timedelta(milliseconds=1)
    number = NO_TIMESTAMP if timestamp is None else timestamp
    if not isinstance(number, int) or not NO_TIMESTAMP <= number <= LATEST_TIMESTAMP:
        raise BadRecord(f"the timestamp {number!r} is neither -1, for none, nor milliseconds since 1970")
    return number
