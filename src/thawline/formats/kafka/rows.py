"""The table `records`: its columns, from what batches of every version hold, and what of them is asked for."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from thawline import native
from thawline.formats.kafka import numbers
from thawline.formats.kafka.heads import Heads
from thawline.formats.kafka.losses import lost_unit
from thawline.formats.kafka.selection import Selection
from thawline.literals import repeated, texts
from thawline.model import Code, Finding, Run, Span

if TYPE_CHECKING:
    from thawline.formats.kafka.transactions import Transactions

HEADERS = pa.list_(pa.field("element", pa.struct([("key", pa.string()), ("value", pa.binary())])))
MICROSECONDS = pa.timestamp("us", "UTC")
RECORDS = pa.schema(
    [
        ("key", pa.binary()),
        ("value", pa.binary()),
        ("topic", pa.string()),
        ("partition", pa.int32()),
        ("offset", pa.int64()),
        ("timestamp", MICROSECONDS),
        ("timestampType", pa.int32()),
        ("headers", HEADERS),
    ]
)
"""Exactly the columns of Spark's own Kafka source."""
EXTRAS = pa.schema(
    [
        ("transaction", pa.string()),
        ("producer_id", pa.int64()),
        ("producer_epoch", pa.int16()),
        ("sequence", pa.int32()),
        ("leader_epoch", pa.int32()),
        ("batch_start", pa.int64()),
        ("timestamp_ms", pa.int64()),
        ("is_control", pa.bool_()),
        ("suspect", pa.bool_()),
    ]
)
TIMESTAMP_TYPES, NO_TIMESTAMP_TYPE = texts(["create_time", "log_append_time"]), -1
"""Kafka's TimestampType in the order of their numbers; magic 0 has no timestamp."""
SEQUENCES = 1 << 31
"""Sequence numbers go on with 0 behind the largest 32-bit integer."""


@dataclass(frozen=True, slots=True)
class Request:
    """What is asked for, and what is known of all records of a file."""

    columns: Sequence[str] = ()
    selection: Selection = field(default_factory=Selection)
    topic: str | None = None
    partition: int | None = None
    transactions: Transactions | None = None
    max_batch_bytes: int = 32 << 20

    def wants(self, *names: str) -> bool:
        """Whether any of some columns is asked for."""
        return any(name in self.columns for name in names)


@dataclass(frozen=True, slots=True)
class Records:
    """Records of some units: what their bytes say, where they belong, and which unit each is from."""

    wire: Mapping[str, pa.Array]
    """Columns as the file has them: key, value, headers."""
    offsets: pa.Int64Array
    milliseconds: pa.Int64Array
    units: pa.Int32Array
    """Number of each record's unit among the heads, rising."""


@dataclass(frozen=True, slots=True)
class Failure:
    """Why the records of a unit cannot be returned."""

    code: Code
    detail: Mapping[str, object]
    hint: str = ""


NOTHING: Mapping[int, Failure] = {}
Part = tuple[Run, Iterable[pa.RecordBatch]]
"""Units that follow one another, and those of their records that are asked for."""


def parts(
    units: Units,
    groups: Sequence[Records],
    failed: Mapping[int, Failure],
    request: Request,
    remarked: Mapping[int, Failure] = NOTHING,
) -> Iterator[Part | Finding]:
    """Units with their records, a finding for each that failed, and one behind each that is remarked on."""
    heads = units.heads
    built = [_Built(records, units, request) for records in groups]
    behind = {unit + 1 for unit in (*failed, *remarked)}
    starts, sizes = numbers.view(heads.rows["position"]), numbers.view(heads.rows["size"])
    first = 0
    for end in sorted({*heads.holes(), *failed, *behind, len(heads)} - {0}):
        if first not in failed:
            found = [piece for item in built if (piece := item.part(first, end)) is not None]
            span = Span(starts[first], starts[end - 1] + sizes[end - 1])
            yield (
                Run(span, end - first, sum(rows for rows, _ in found), heads.part(first, end).labels),
                [batch for _, batch in found],
            )
        else:
            yield _finding(heads.part(first, end), failed[first])
        if end - 1 in remarked and end - 1 not in failed:
            yield _remark(heads.part(end - 1, end).end, remarked[end - 1])
        first = end


def _remark(end: int, failure: Failure) -> Finding:
    """What is said about a unit that is returned."""
    return Finding(failure.code, Span(end, end), failure.detail, failure.hint)


def _finding(heads: Heads, failure: Failure) -> Finding:
    count, base, last = (heads.rows[name][0].as_py() for name in ("num_records", "base_offset", "last_offset"))
    detail = {**failure.detail, "lost": lost_unit(count, base, last)}
    return Finding(failure.code, heads.span, detail, failure.hint)


@dataclass(frozen=True, slots=True)
class Units:
    """Units with what many batches of their records ask of the heads, found once."""

    heads: Heads
    has_control: bool
    timestamp_types: pa.Int32Array | pa.Int32Scalar
    """Kafka's number for the timestamp type of each unit, or the one that all of them have."""

    @classmethod
    def of(cls, heads: Heads) -> Units:
        """Units of some heads."""
        types = timestamp_types(heads)
        least, most = pc.min_max(types).values()
        has_control = bool(pc.any(heads.rows["is_control"]).as_py())
        return cls(heads, has_control, least if least == most else types)

    def part(self, first: int, end: int) -> Units:
        """Some of the units."""
        types = self.timestamp_types
        chosen = types if isinstance(types, pa.Scalar) else types.slice(first, end - first)
        return Units(self.heads.part(first, end), self.has_control, chosen)


class _Built:
    """Records as a batch of the columns that are asked for."""

    def __init__(self, records: Records, units: Units, request: Request) -> None:
        self.records, self.of, self.request = records, units, request
        self.heads, self.has_control = units.heads, units.has_control
        self.batch = self._batch()
        self.chosen = self._chosen()
        self.units = numbers.view(records.units, "i")

    def part(self, first: int, end: int) -> tuple[int, pa.RecordBatch] | None:
        """Number of records of some units, and those of them that are asked for; None if there are none."""
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
        is_control = self.of_unit("is_control").slice(start, rows)
        return rows - int(pc.sum(is_control).as_py() or 0)

    def _chosen(self) -> pa.BooleanArray | None:
        chosen = self.request.selection.records(self.records.offsets, self.records.milliseconds)
        if self.has_control and not self.request.selection.control:
            is_data = pc.invert(self.of_unit("is_control"))
            return is_data if chosen is None else pc.and_(chosen, is_data)
        return chosen

    def _batch(self) -> pa.RecordBatch:
        schema = _schema(tuple(self.request.columns))
        if not schema.names:
            return pa.RecordBatch.from_arrays([self.records.offsets], ["offset"]).select([])  # keeps the number of rows
        return pa.RecordBatch.from_arrays([self.column(name) for name in schema.names], schema=schema)

    def column(self, name: str) -> pa.Array:
        """One column, by its name."""
        if name in self.records.wire:
            return self.records.wire[name]
        made: Callable[[], pa.Array] = getattr(self, f"_{name}")
        return made()

    def of_unit(self, name: str) -> pa.Array:
        """What the head of each record's unit says."""
        return self.heads.rows[name].take(self.records.units)

    def _topic(self) -> pa.Array:
        return repeated(self.request.topic, pa.string(), len(self.records.units))

    def _partition(self) -> pa.Array:
        return repeated(self.request.partition, pa.int32(), len(self.records.units))

    def _offset(self) -> pa.Array:
        return self.records.offsets

    def _timestamp(self) -> pa.Array:
        return microseconds(self.records.milliseconds)

    def _timestamp_ms(self) -> pa.Array:
        return self.records.milliseconds

    def _timestampType(self) -> pa.Array:  # noqa: N802 - the column's name
        types = self.of.timestamp_types
        rows = self.records.units
        return repeated(types.as_py(), types.type, len(rows)) if isinstance(types, pa.Scalar) else types.take(rows)

    def _headers(self) -> pa.Array:
        """Before magic 2 there are none."""
        rows = len(self.records.units)
        kinds = list(HEADERS.value_type)
        nothing = pa.StructArray.from_arrays([pa.array([], kind.type) for kind in kinds], fields=kinds)
        offsets = pa.repeat(pa.scalar(0, pa.int32()), rows + 1)
        return pa.ListArray.from_arrays(offsets, nothing, type=HEADERS)

    def _transaction(self) -> pa.Array:
        transactions = self.request.transactions
        assert transactions is not None  # noqa: S101 - made where the column is asked for
        return transactions.outcomes(self.heads.rows).take(self.records.units)

    def _producer_id(self) -> pa.Array:
        return self._where_there(self.of_unit("producer_id"))

    def _producer_epoch(self) -> pa.Array:
        return self._where_there(self.of_unit("producer_epoch"))

    def _leader_epoch(self) -> pa.Array:
        return self._where_there(self.of_unit("leader_epoch"))

    def _where_there(self, values: pa.Array) -> pa.Array:
        """Kafka's -1 means that there is none."""
        return pc.if_else(pc.equal(values, -1), pa.scalar(None, values.type), values)

    def _sequence(self) -> pa.Array:
        base = self.of_unit("base_sequence").cast(pa.int64())
        delta = pc.subtract(self.records.offsets, self.of_unit("base_offset"))
        wrapped = pc.bit_wise_and(pc.add(base, delta), SEQUENCES - 1)
        return pc.if_else(pc.less(base, 0), pa.scalar(None, pa.int64()), wrapped).cast(pa.int32())

    def _batch_start(self) -> pa.Array:
        return self.of_unit("position")

    def _is_control(self) -> pa.Array:
        return self.of_unit("is_control")

    def _suspect(self) -> pa.Array:
        return self.of_unit("is_suspect")


@cache
def _schema(columns: tuple[str, ...]) -> pa.Schema:
    """The schema of those columns that are asked for, in the table's order."""
    return pa.schema([field for field in (*RECORDS, *EXTRAS) if field.name in columns])


def timestamp_types(heads: Heads) -> pa.Int32Array:
    """Kafka's numbers for the timestamp types of units."""
    found = pc.index_in(heads.rows["timestamp_type"], value_set=TIMESTAMP_TYPES)
    return found.fill_null(NO_TIMESTAMP_TYPE) if found.null_count else found


def microseconds(milliseconds: pa.Int64Array) -> pa.Array:
    """Timestamps; null for Kafka's -1 and outside of the years 1 to 9999, which is what calendars have."""
    rows = len(milliseconds)
    made, valid = numbers.Room(rows), bytearray(rows)
    missing = native.functions.to_microseconds(numbers.view(milliseconds), rows, made.view, valid)
    validity = None if not missing else pa.array(valid, pa.uint8()).cast(pa.bool_()).buffers()[1]
    return made.column(MICROSECONDS, validity)
