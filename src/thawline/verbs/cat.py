"""Rows of a file: all, the first or the last ones, with the requested columns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa

from thawline.batches import first, last
from thawline.filters import EVERY, Filter
from thawline.values import COMPANION, base64ed
from thawline.wording import is_utf8, raw, utf8

if TYPE_CHECKING:
    from thawline.verbs.opened import OpenFile


def cat(
    cold: OpenFile, columns: Sequence[str] | None = None, limit: int | None = None, where: Filter = EVERY
) -> Iterator[pa.RecordBatch]:
    """The rows that meet a filter, at most `limit`; columns in the requested order."""
    batches = cold.batches(columns or None, where)
    if limit is not None:
        batches = first(batches, limit)
    return (batch.select(columns) for batch in batches) if columns else batches


def head(
    cold: OpenFile, rows: int, columns: Sequence[str] | None = None, where: Filter = EVERY
) -> Iterator[pa.RecordBatch]:
    """The first rows that meet a filter; without one, no more of the file is read than they need."""
    if where:
        return cat(cold, columns, rows, where)
    return (batch.select(columns) if columns else batch for batch in cold.head(rows, columns or None))


def tail(
    cold: OpenFile, rows: int, columns: Sequence[str] | None = None, where: Filter = EVERY
) -> list[pa.RecordBatch]:
    """The last rows that meet a filter; without one, read from the end of the file if the format can."""
    if where:
        return last(cat(cold, columns, where=where), rows)
    return [batch.select(columns) if columns else batch for batch in cold.tail(rows, columns or None)]


def columns_of(cold: OpenFile, columns: Sequence[str] | None = None) -> pa.Schema:
    """The schema of what `cat` yields."""
    return pa.schema([cold.every_column.field(name) for name in columns]) if columns else cold.schema


@dataclass(frozen=True, slots=True)
class FileColumns:
    """The columns, before all others, that name the file of a row."""

    with_bytes: bool = False
    """Whether a column has the exact bytes of the name, since the name column escapes what is not UTF-8."""

    @classmethod
    def of(cls, names: Iterable[str]) -> FileColumns:
        """The columns that files of these names need."""
        return cls(not all(map(is_utf8, names)))

    def schema(self, rows: pa.Schema) -> pa.Schema:
        """The schema of rows with these columns."""
        names = ("file", f"file{COMPANION}") if self.with_bytes else ("file",)
        return pa.schema([*(pa.field(name, pa.string()) for name in names), *rows])

    def rows(self, batches: Iterable[pa.RecordBatch], name: str) -> Iterator[pa.RecordBatch]:
        """The same rows with the name of their file."""
        exact = None if is_utf8(name) else base64ed(raw(name))
        values = (utf8(name), exact) if self.with_bytes else (utf8(name),)
        for batch in batches:
            columns = [pa.repeat(pa.scalar(value, pa.string()), batch.num_rows) for value in values]
            yield pa.RecordBatch.from_arrays([*columns, *batch.columns], schema=self.schema(batch.schema))
