"""Facts about files, formats and columns: a few records, in any of the shapes that rows have."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, BinaryIO

import pyarrow as pa
from rich.console import Console

from thawline.rendering.grid import Grid
from thawline.rendering.rows import Kind, RowSink, shown
from thawline.rendering.values import json_line, json_text

Record = Mapping[str, Any]


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
        if self.kind == "table":
            show(self.console, self.held)
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


def show(console: Console, records: list[Record]) -> None:
    """Print records in columns."""
    if not records:
        return
    names = list(records[0])
    right = [all(isinstance(record[name], int) for record in records) for name in names]
    Grid(console, names, right).show([[_cell(record[name]) for name in names] for record in records])


def _cell(value: Any) -> str:
    return ", ".join(map(shown, value)) if isinstance(value, list | tuple) else shown(value)
