"""The table `segments`: a row for each, from its header and footer."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import pyarrow as pa

from thawline import specs
from thawline.formats.rbak.messages import MOST_MILLISECONDS, TIME
from thawline.formats.rbak.segment import FOOTER, HEADER
from thawline.model import Run
from thawline.source import Source

SCHEMA = pa.schema(
    [
        ("segment", pa.string()),
        ("version", pa.int16()),
        ("compression", pa.string()),
        ("record_count", pa.decimal128(20, 0)),
        ("first_timestamp", TIME),
        ("last_timestamp", TIME),
        ("size_bytes", pa.int64()),
        ("payload_bytes", pa.int64()),
        ("crc32", pa.int64()),
    ]
)


def batch_of(source: Source, run: Run, name: str, columns: Collection[str]) -> pa.RecordBatch:
    """The segment of a run as a row."""
    schema = pa.schema([field for field in SCHEMA if field.name in columns])
    row = _row(source, run, name)
    if not schema.names:
        return pa.RecordBatch.from_arrays([pa.nulls(1)], ["none"]).select([])
    return pa.RecordBatch.from_pylist([{field.name: row[field.name] for field in schema}], schema=schema)


def _row(source: Source, run: Run, name: str) -> dict[str, Any]:
    header = specs.parse("rbak_segment::header", bytes(source.view(run.span.start, run.span.start + HEADER)))
    footer = specs.parse("rbak_segment::footer", bytes(source.view(run.span.end - FOOTER, run.span.end)))
    return {
        "segment": name,
        "version": header.version,
        "compression": header.compression.name,
        "record_count": header.num_records,
        "first_timestamp": _time(header.first_timestamp),
        "last_timestamp": _time(header.last_timestamp),
        "size_bytes": run.span.size,
        "payload_bytes": run.span.size - HEADER - FOOTER,
        "crc32": footer.crc32,
    }


def _time(milliseconds: int) -> pa.Scalar | None:
    """A time as the column takes it, whatever the year; null where it does not fit."""
    return pa.scalar(milliseconds * 1000, TIME) if abs(milliseconds) <= MOST_MILLISECONDS else None
