"""All rows of a file for a sink, and the report on the file, in one pass over it."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

import pyarrow as pa

from thawline.formats.contract import Kind, read
from thawline.formats.division import STRETCH, grouped
from thawline.model import Finding, Report, Run
from thawline.source import Source

Sink = Callable[[str, pa.RecordBatch], None]
"""Takes rows of a table, which is given by its name."""


def load(kind: Kind, source: Source, sink: Sink, report: Report, items: Iterable[Run | Finding] | None = None) -> None:
    """Give the rows of every table of a file to a sink, and add the file to a report; with `items`, a part of it.

    The report is that of the first table.
    """
    first, *others = kind.tables
    items = kind.walk(source, kind.tables[first].depth) if items is None else items
    for stretch in grouped(items, STRETCH):
        report.position = stretch[0].span.start
        for item in _loaded(kind, source, first, sink, stretch):
            report.add(item)
        for table in others:
            deque(_loaded(kind, source, table, sink, stretch), maxlen=0)
        source.release(stretch[0].span.start)


def _loaded(
    kind: Kind, source: Source, table: str, sink: Sink, items: Sequence[Run | Finding]
) -> Iterator[Run | Finding]:
    """The items after their rows went to the sink; each run has its number of rows."""
    for item in read(kind, source, table, kind.tables[table].schema.names, items):
        if isinstance(item, Finding):
            yield item
            continue
        run, batches = item
        rows = 0
        for batch in batches:
            if batch.num_rows:
                rows += batch.num_rows
                sink(table, batch)
        yield replace(run, rows=rows)
