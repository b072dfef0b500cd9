"""The tables besides records: what the heads of batches say, and control records."""

from __future__ import annotations

from collections.abc import Collection, Iterator

import pyarrow as pa
import pyarrow.compute as pc

from thawline.formats.kafka.control import CONTROL, control_batches
from thawline.formats.kafka.heads import HEADS, Heads
from thawline.formats.kafka.rows import MICROSECONDS, Request, microseconds
from thawline.source import Source

TIMES = ("base_timestamp", "max_timestamp")
BATCHES = pa.schema(
    [
        ("batch_start" if field.name == "position" else field.name, MICROSECONDS if field.name in TIMES else field.type)
        for field in HEADS
        if field.name != "is_suspect"
    ]
)
SCHEMAS = {"batches": BATCHES, "control": CONTROL}
EXTRAS = {"batches": pa.schema([("transaction", pa.string()), ("suspect", pa.bool_())])}
NAMES = {"batch_start": "position", "suspect": "is_suspect"}
ABSENT = ("producer_id", "producer_epoch", "base_sequence", "leader_epoch")
"""Columns in which Kafka's -1 means that there is none."""


def batches(
    source: Source, heads: Heads, table: str, columns: Collection[str], request: Request
) -> Iterator[pa.RecordBatch]:
    """Rows of some units."""
    if table == "control":
        yield from control_batches(source, heads, columns, request.max_batch_bytes)
        return
    schema = pa.schema([field for field in (*SCHEMAS[table], *EXTRAS.get(table, ())) if field.name in columns])
    made = [_column(heads, field.name, request) for field in schema]
    yield pa.RecordBatch.from_arrays(made, schema=schema) if made else heads.rows.select([])


def _column(heads: Heads, name: str, request: Request) -> pa.Array:
    if name == "transaction":
        assert request.transactions is not None  # noqa: S101 - made where the column is asked for
        return request.transactions.outcomes(heads.rows)
    values = heads.rows[NAMES.get(name, name)]
    if name in TIMES:
        return microseconds(values)
    return pc.if_else(pc.equal(values, -1), pa.scalar(None, values.type), values) if name in ABSENT else values
