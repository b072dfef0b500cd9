"""Facts about files, formats and columns: a few records, in any of the shapes that rows have."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, BinaryIO

import pyarrow as pa
from rich.console import Console

from thawline.rendering.grid import Grid
from thawline.rendering.rows import Kind, RowSink, shown, tabular
from thawline.rendering.values import json_line, json_text
from thawline.rendering.vertical import Vertical
from thawline.rendering.words import grouped

Record = Mapping[str, Any]
COUNTS = {"size", "rows", "nulls", "bytes", "shortest", "longest", "distinct", "files", "chunks"}
"""Names of numbers that are counts, which a person reads in groups; all others may be ids or positions."""
HINT = "--vertical shows"


class Records:
    """Records one after another, as one output. JSON lines come at once; the other shapes need all to begin."""

    def __init__(self, kind: Kind, file: BinaryIO, console: Console, names: tuple[str, ...] = ()) -> None:
        self.kind, self.file, self.console, self.names = kind, file, console, names
        self.held: list[Record] = []

    def add(self, record: Record) -> None:
        """Write or hold a record."""
        if self.kind == "jsonl":
            self.file.write(json_line(record))
            self.file.flush()
        else:
            self.held.append(record)

    def close(self) -> None:
        """Write what was held."""
        if self.kind in {"table", "vertical"}:
            show(self.console, self.held, vertical=self.kind == "vertical")
        elif self.kind == "json":
            self.file.write(b"[" + b",".join(b"\n" + json_line(record)[:-1] for record in self.held) + b"\n]\n")
        elif self.kind != "jsonl":
            self._close_columns()

    def _close_columns(self) -> None:
        names = dict.fromkeys(name for record in self.held for name in record)
        rows = [{name: _scalar(record.get(name)) for name in names} for record in self.held]
        empty = pa.table({name: pa.array([], pa.string()) for name in self.names})
        table = pa.Table.from_pylist(rows) if rows else empty
        sink = RowSink(self.kind, self.file, self.console, "auto")
        sink.add(table.schema, table.to_batches(), "")
        sink.close()


def _scalar(value: Any) -> Any:
    return value if value is None or isinstance(value, str | int | float | bool) else json_text(value)


def show(console: Console, records: list[Record], *, vertical: bool = False) -> None:
    """Print records in columns, or one below the other."""
    if not records:
        return
    names = list(records[0])
    right = [_is_number([record[name] for record in records]) for name in names]
    page = [[_cell(name, record[name]) for name in names] for record in records]
    grid = Grid(console, names, right, hint=HINT, flows=True)
    table = Vertical(console, names) if vertical else tabular(grid, page)
    table.show(page)
    if isinstance(table, Grid):
        table.close()


def _is_number(values: list[Any]) -> bool:
    return any(value is not None for value in values) and all(isinstance(value, int | None) for value in values)


def _cell(name: str, value: Any) -> str:
    if name in COUNTS and isinstance(value, int) and not isinstance(value, bool):
        return grouped(value)
    return ", ".join(map(shown, value)) if isinstance(value, list | tuple) else shown(value)
