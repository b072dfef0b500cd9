"""The tables that every lake has: what became of every file, and everything that is wrong."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Any

import pyarrow as pa

from thawline import formats
from thawline.errors import ThawlineError
from thawline.generated.tables import lake
from thawline.lake.table import Documented
from thawline.packed import PAGE
from thawline.values import well_formed

__all__ = ["DATA", "FILES", "FINDINGS", "column_of", "documented", "table_of"]

DATA = "tables/"
"""The folder of the tables of rows."""
FILES, FINDINGS = lake.FILES.schema, lake.FINDINGS.schema
MEANINGS = {column.name: column.doc for table in lake.TABLES.values() for column in table.columns}


def documented(table: str, schema: pa.Schema) -> Documented:
    """The schema of a table of a lake, with what it and its columns mean."""
    if own := lake.TABLES.get(table):
        return Documented.of(schema, own.doc, MEANINGS)
    format_name, _, name = table.removeprefix(DATA).partition("_")
    try:
        known = formats.get(format_name).tables[name]
    except (ThawlineError, KeyError):
        return Documented.of(schema, "", MEANINGS)
    return Documented.of(schema, known.doc, {**MEANINGS, **known.meanings})


def column_of(table: str) -> str:
    """The column that says where the rows of a table are from."""
    return "_file" if table.startswith(DATA) else "_work"


def table_of(rows: Iterable[Mapping[str, Any]], schema: pa.Schema) -> pa.Table:
    """Rows as a table; names that are not UTF-8 are escaped, and their bytes are kept in base64."""
    return pa.Table.from_batches(
        [pa.RecordBatch.from_pylist([well_formed(row) for row in page], schema=schema) for page in _pages(rows)], schema
    )


def _pages(rows: Iterable[Mapping[str, Any]]) -> Iterator[list[Mapping[str, Any]]]:
    waiting = iter(rows)
    while page := list(islice(waiting, PAGE)):
        yield page
