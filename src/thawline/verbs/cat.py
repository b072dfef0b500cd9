"""Rows of a file: all, the first or the last of them, and of its columns those that are asked for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

import pyarrow as pa

from thawline.batches import first, last
from thawline.cold import ColdFile
from thawline.verbs.where import matching

EVERY: Mapping[str, str] = {}
"""The condition that every row meets."""


def cat(
    cold: ColdFile, columns: Sequence[str] | None = None, limit: int | None = None, where: Mapping[str, str] = EVERY
) -> Iterator[pa.RecordBatch]:
    """The first rows that meet the conditions, or all; columns in the order in which they are asked for."""
    batches = matching(cold.batches({*columns, *where} if columns else None), where)
    if limit is not None:
        batches = first(batches, limit)
    return (batch.select(columns) for batch in batches) if columns else batches


def tail(
    cold: ColdFile, rows: int, columns: Sequence[str] | None = None, where: Mapping[str, str] = EVERY
) -> list[pa.RecordBatch]:
    """The last rows that meet the conditions; where there are none, read from the end of the file if the format can."""
    if where:
        return last(cat(cold, columns, where=where), rows)
    return [batch.select(columns) if columns else batch for batch in cold.tail(rows, columns or None)]


def columns_of(cold: ColdFile, columns: Sequence[str] | None = None) -> pa.Schema:
    """The schema of what `cat` yields."""
    return pa.schema([cold.every_column.field(name) for name in columns]) if columns else cold.schema


def with_file(batches: Iterable[pa.RecordBatch], name: str) -> Iterator[pa.RecordBatch]:
    """The same rows with the name of their file in the first column."""
    for batch in batches:
        yield batch.add_column(0, "file", pa.repeat(pa.scalar(name), batch.num_rows))
