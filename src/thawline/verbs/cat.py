"""Rows of a file: all, the first or the last of them, and of its columns those that are asked for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import pyarrow as pa

from thawline.cold import ColdFile


def cat(cold: ColdFile, columns: Sequence[str] | None = None, limit: int | None = None) -> Iterator[pa.RecordBatch]:
    """The first rows of a file, or all; columns in the order in which they are asked for."""
    batches = cold.batches(columns) if limit is None else first(cold.batches(columns), limit)
    return (batch.select(columns) for batch in batches) if columns else batches


def tail(cold: ColdFile, rows: int, columns: Sequence[str] | None = None) -> list[pa.RecordBatch]:
    """The last rows of a file, read from its end where the format can."""
    return [batch.select(columns) if columns else batch for batch in cold.tail(rows)]


def columns_of(cold: ColdFile, columns: Sequence[str] | None = None) -> pa.Schema:
    """The schema of what `cat` yields."""
    return pa.schema([cold.schema.field(name) for name in columns]) if columns else cold.schema


def first(batches: Iterable[pa.RecordBatch], rows: int) -> Iterator[pa.RecordBatch]:
    """The first rows of some batches; nothing is read that is not needed for them."""
    for batch in batches if rows else ():
        yield batch.slice(0, rows)
        rows -= batch.num_rows
        if rows <= 0:
            return


def with_file(batches: Iterable[pa.RecordBatch], name: str) -> Iterator[pa.RecordBatch]:
    """The same rows with the name of their file in the first column."""
    for batch in batches:
        yield batch.add_column(0, "file", pa.repeat(pa.scalar(name), batch.num_rows))
