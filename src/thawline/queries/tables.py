"""The tables of a query: rows of files, with what DuckDB need not see left out."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

import pyarrow as pa

from thawline.filters import Bound
from thawline.formats.contract import Depth
from thawline.model import Finding, Run
from thawline.queries.engine import Rows
from thawline.queries.statement import Place, Statement
from thawline.wording import utf8

if TYPE_CHECKING:
    from thawline.cold import ColdFile

FILE = pa.field("file", pa.string())
"""Names the file of a row, where a table has several."""
COUNTED = pa.schema([pa.field("_", pa.null())])
"""The schema of rows of which nothing is needed but their number."""
MOST_COUNTED = 1 << 20

Opener = Callable[[], AbstractContextManager["ColdFile"]]


@dataclass(frozen=True, slots=True)
class Files:
    """The files that one mention in FROM stands for, which have the same columns."""

    openers: tuple[Opener, ...]
    schema: pa.Schema
    """What each gives by default."""
    extras: pa.Schema
    """What each gives by name."""
    has_many: bool = False
    counts_by_heads: bool = False
    """Whether their rows may be counted by the heads of units."""
    done: Callable[[ColdFile], None] = field(default=lambda _cold: None)
    """Called with each file that was read to its end, or as far as was needed."""


def rows_of(place: Place, files: Files, statement: Statement, zone: dt.tzinfo = dt.UTC) -> Rows:
    """The rows of a mention in FROM: the columns that the query may need, of units that may hold a row that it uses."""
    offered = pa.schema([FILE, *files.schema]) if files.has_many else files.schema
    wanted = statement.columns(place, offered.names)
    extras = statement.extras([name for name in files.extras.names if name not in offered.names])
    names = [*(offered.names if wanted is None else wanted), *extras]
    every = pa.schema([*offered, *files.extras])
    if not names and files.counts_by_heads:
        return Rows(COUNTED, partial(_counted, files), every.names)
    # A row needs a column; without any that is wanted, the first is the cheapest known.
    schema = pa.schema([every.field(name) for name in names or _cheapest(files.schema)])
    bound = Bound(conditions=statement.conditions(place, every, zone))
    return Rows(schema, partial(_read, files, schema, bound), every.names)


def _cheapest(schema: pa.Schema) -> list[str]:
    """A column that takes little to read."""
    small = (name for name in schema.names if pa.types.is_integer(schema.field(name).type))
    return [next(small, schema.names[0])]


def _read(files: Files, schema: pa.Schema, bound: Bound) -> Iterator[pa.RecordBatch]:
    columns = [name for name in schema.names if not (files.has_many and name == FILE.name)]
    for opener in files.openers:
        with opener() as cold:
            try:
                for batch in cold.pruned(columns or _cheapest(files.schema), bound):
                    yield _shaped(batch, schema, cold.name)
            finally:
                files.done(cold)


def _shaped(batch: pa.RecordBatch, schema: pa.Schema, name: str) -> pa.RecordBatch:
    columns = [
        batch[column] if column in batch.schema.names else pa.repeat(pa.scalar(utf8(name)), batch.num_rows)
        for column in schema.names
    ]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _counted(files: Files) -> Iterator[pa.RecordBatch]:
    """As many rows as the heads of units count; where they do not fit together, as many as are read."""
    for opener in files.openers:
        with opener() as cold:
            try:
                for count in _counts(cold, files.schema):
                    for start in range(0, count, MOST_COUNTED):
                        yield pa.record_batch([pa.nulls(min(MOST_COUNTED, count - start))], schema=COUNTED)
            finally:
                files.done(cold)


def _counts(cold: ColdFile, schema: pa.Schema) -> Iterable[int]:
    count = 0
    for item in cold.scan(Depth.HEADS):
        if isinstance(item, Run):
            count += item.rows
        elif isinstance(item, Finding) and item.severity == "error":
            return (batch.num_rows for batch in cold.batches(_cheapest(schema)))
    return [count]
