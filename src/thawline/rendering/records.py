"""Records about files, formats and columns, in any of the shapes that rows have."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, BinaryIO

import pyarrow as pa
from rich.console import Console

from thawline.options import LARGEST
from thawline.packed import PAGE, Packed
from thawline.rendering.grid import Grid
from thawline.rendering.rows import Kind, row_sink, shown, tabular
from thawline.rendering.vertical import Vertical
from thawline.rendering.words import grouped
from thawline.values import json_bytes, json_text, well_formed

Record = Mapping[str, Any]
COUNTS = {"size", "rows", "nulls", "bytes", "shortest", "longest", "distinct", "files", "chunks"}
"""Columns of counts, whose digits are grouped for people; other numbers may be ids or positions."""
HINT = "--vertical shows"
TEXT = pa.string()
TYPES = {bool: pa.bool_(), int: pa.int64(), float: pa.float64(), type(None): pa.null()}
SHOWN = {"table", "vertical"}
"""Shapes for a person."""


class Records:
    """A sink for records. JSON lines are written at once; the other shapes are written when it is closed."""

    def __init__(self, kind: Kind, file: BinaryIO, console: Console, names: tuple[str, ...] = ()) -> None:
        self.kind, self.file, self.console, self.names = kind, file, console, names
        self.held = Packed()

    def add(self, record: Record) -> None:
        """Write or hold a record."""
        if self.kind in {"jsonl", "json"}:
            self._add_text([json_bytes(record)])
        else:
            self.held.append(record if self.kind in SHOWN else well_formed(record))

    def add_with(self, record: Record, name: str, items: Iterable[Record]) -> None:
        """Write or hold a record with one more value: a list, which JSON lines write piece by piece."""
        if self.kind in {"jsonl", "json"}:
            self._add_text(_pieces(record, name, items))
        else:
            self.add({**record, name: list(items)})

    def _add_text(self, pieces: Iterable[bytes]) -> None:
        if self.kind == "json":
            self.held.append(b"".join(pieces))
            return
        self.file.writelines(pieces)
        self.file.write(b"\n")
        self.file.flush()

    def close(self) -> None:
        """Write the held records."""
        if self.kind in SHOWN:
            show(self.console, self.held, vertical=self.kind == "vertical")
        elif self.kind == "json":
            self.file.write(b"[")
            for number, text in enumerate(self.held):
                self.file.write(b",\n" if number else b"\n")
                self.file.write(text)
            self.file.write(b"\n]\n")
        elif self.kind != "jsonl":
            self._close_columns()

    def _close_columns(self) -> None:
        schema = _schema(self.held) if self.held else pa.schema([(name, pa.string()) for name in self.names])
        sink = row_sink(self.kind, self.file, self.console, "auto")
        sink.add(schema, self._batches(schema), "")
        sink.close()

    def _batches(self, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        for start in range(0, len(self.held), PAGE):
            page = self.held[start : start + PAGE]
            columns = [_column([record.get(field.name) for record in page], field.type) for field in schema]
            yield pa.RecordBatch.from_arrays(columns, schema=schema)


def _pieces(record: Record, name: str, items: Iterable[Record]) -> Iterator[bytes]:
    """A record as JSON, with a list of items as its last value, in pieces."""
    yield json_bytes(record)[:-1] + b"," + json_bytes(name) + b":["
    for number, item in enumerate(items):
        yield (b"," if number else b"") + json_bytes(item)
    yield b"]}"


def _names(records: Iterable[Record]) -> list[str]:
    """The names of all columns, in the order of their first occurrence."""
    return list(dict.fromkeys(name for record in records for name in record))


def _schema(records: Iterable[Record]) -> pa.Schema:
    """All columns, each with the common type of its values, or text if they have none."""
    kinds: dict[str, set[pa.DataType]] = {}
    for record in records:
        for name, value in record.items():
            kinds.setdefault(name, set()).add(_type(value))
    return pa.schema([(name, _common(types - {pa.null()})) for name, types in kinds.items()])


def _type(value: Any) -> pa.DataType:
    is_long = type(value) is int and not -LARGEST - 1 <= value <= LARGEST
    return TEXT if is_long else TYPES.get(type(value), TEXT)


def _common(types: set[pa.DataType]) -> pa.DataType:
    return next(iter(types), pa.null()) if len(types) <= 1 else TEXT


def _column(values: list[Any], kind: pa.DataType) -> pa.Array:
    """Values as a column; a text column holds other values as JSON."""
    if kind != TEXT:
        return pa.array(values, kind)
    return pa.array([value if isinstance(value, str | None) else json_text(value) for value in values], kind)


def show(console: Console, records: Sequence[Record], *, vertical: bool = False) -> None:
    """Print records in columns, or one below another."""
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
