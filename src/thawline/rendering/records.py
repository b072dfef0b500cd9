"""Facts about files, formats and columns: a few records, in any of the shapes that rows have."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, BinaryIO

import pyarrow as pa
from rich.console import Console

from thawline.options import LARGEST
from thawline.rendering.grid import Grid
from thawline.rendering.rows import Kind, RowSink, shown, tabular
from thawline.rendering.values import json_line, json_text, well_formed
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
            self.held.append(record if self.kind in {"table", "vertical"} else well_formed(record))

    def close(self) -> None:
        """Write what was held."""
        if self.kind in {"table", "vertical"}:
            show(self.console, self.held, vertical=self.kind == "vertical")
        elif self.kind == "json":
            self.file.write(b"[" + b",".join(b"\n" + json_line(record)[:-1] for record in self.held) + b"\n]\n")
        elif self.kind != "jsonl":
            self._close_columns()

    def _close_columns(self) -> None:
        columns = {name: [record.get(name) for record in self.held] for name in _names(self.held)}
        empty = pa.table({name: pa.array([], pa.string()) for name in self.names})
        table = pa.table({name: _column(values) for name, values in columns.items()}) if columns else empty
        sink = RowSink(self.kind, self.file, self.console, "auto")
        sink.add(table.schema, table.to_batches(), "")
        sink.close()


def _names(records: list[Record]) -> list[str]:
    """The names of all columns, as they come first."""
    return list(dict.fromkeys(name for record in records for name in record))


def _column(values: list[Any]) -> pa.Array:
    """Values as a column of one type: as text, with JSON for what is none, where they have no other in common."""
    kinds = {type(value) for value in values if value is not None}
    if kinds <= {bool} or kinds <= {float} or (kinds <= {int} and all(map(_is_int64, values))):
        return pa.array(values)
    texts = [value if value is None or isinstance(value, str) else json_text(value) for value in values]
    return pa.array(texts, pa.string())


def _is_int64(value: int | None) -> bool:
    return value is None or -LARGEST - 1 <= value <= LARGEST


def show(console: Console, records: list[Record], *, vertical: bool = False) -> None:
    """Print records in columns, or one below the other."""
    if not records:
        return
    names = _names(records)
    right = [_is_number([record.get(name) for record in records]) for name in names]
    page = [[_cell(name, record.get(name)) for name in names] for record in records]
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
