"""Rows of a table on a terminal, and the sink for the requested kind of output."""

from __future__ import annotations

import codecs
from collections.abc import Iterator, Sequence
from typing import Any, BinaryIO, Literal

import pyarrow as pa
from rich.console import Console

from thawline.batches import slices
from thawline.rendering.grid import Grid
from thawline.rendering.vertical import Vertical
from thawline.rendering.words import printable
from thawline.sinks import MIXED, FileKind, RowSink, RowWriter, file_writer
from thawline.values import SHOWN, SLICE_BYTES, Bytes, is_bytes, json_text, listed

Kind = Literal["table", "vertical"] | FileKind

PAGE, PAGE_TEXT = 256, 4 << 20
"""The largest numbers of rows and of characters of a page on a terminal."""
CELL, LONG_CELL = 256, 4096
"""Bytes of a binary value that are shown in a column, and on a line of its own."""
HINT, ONLY_VERTICAL = "--columns or --vertical shows", "--vertical shows"


class Terminal:
    """Columns on a terminal. Long values are cut and end with …; columns that do not fit are named.

    If fewer than three columns fit, records are shown one below another.
    """

    is_mixed = False

    def __init__(
        self, console: Console, mode: Bytes, schema: pa.Schema, *, vertical: bool = False, hint: str = HINT
    ) -> None:
        self.mode, self.size = mode, LONG_CELL if vertical else CELL
        right = [_is_number(field.type) for field in schema]
        names = [printable(name) for name in schema.names]
        self.grid = Grid(console, names, right, [_is_firm(field.type) for field in schema], hint, drops_alike=True)
        self.vertical = Vertical(console, names) if vertical else None
        self.held: list[tuple[str, ...]] = []
        """Rows of the page that is not full yet; the first page sets the widths of columns."""
        self.letters = 0
        """The number of characters in them."""

    def write(self, batch: pa.RecordBatch) -> None:
        """Print rows, a full page at a time."""
        for piece in slices(batch, PAGE, SLICE_BYTES):
            cells = list(_cells(piece, self.mode, self.size))
            self.held += cells
            self.letters += sum(len(cell) for row in cells for cell in row)
            if len(self.held) >= PAGE or self.letters > PAGE_TEXT:
                self._show()

    def close(self) -> None:
        """Print the last page; only the header if there are no rows."""
        if self.held or not (self.grid.is_begun or self.vertical):
            self._show()
        self.grid.close()

    def _show(self) -> None:
        table = tabular(self.grid, self.held) if self.vertical is None else self.vertical
        if isinstance(table, Vertical):
            self.vertical = table
        table.show(self.held)
        self.held, self.letters = [], 0


def tabular(grid: Grid, page: Sequence[Sequence[str]]) -> Grid | Vertical:
    """The layout for rows: columns, unless too few of them fit."""
    return grid if grid.is_begun or grid.fit(page) or not page else Vertical(grid.console, grid.header)


def _is_number(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind))


def _is_firm(kind: pa.DataType) -> bool:
    return _is_number(kind) or bool(pa.types.is_temporal(kind) or pa.types.is_boolean(kind))


def _cells(batch: pa.RecordBatch, mode: Bytes, size: int) -> Iterator[tuple[str, ...]]:
    columns = [
        [shown_bytes(value, mode, size) for value in column.to_pylist()]
        if is_bytes(column.type)
        else [shown(value) for value in listed(pa.RecordBatch.from_arrays([column], [name]), mode)[name]]
        for name, column in zip(batch.schema.names, batch.columns, strict=True)
    ]
    return zip(*columns, strict=True)


def shown_bytes(value: bytes | None, mode: Bytes, size: int = CELL) -> str:
    """Bytes in a cell: text if they are valid UTF-8, else hexadecimal."""
    if value is None:
        return ""
    is_cut = len(value) > size
    head = value[:size]
    text = _text_or_hex(head, is_cut=is_cut) if mode == "auto" else printable(SHOWN[mode](head))
    return text + ("…" if is_cut else "")


def _text_or_hex(value: bytes, *, is_cut: bool) -> str:
    decoder = codecs.getincrementaldecoder("utf-8")()  # the cut may split a character
    try:
        return printable(decoder.decode(value, final=not is_cut))
    except UnicodeDecodeError:
        return "0x" + value.hex()


def shown(value: Any) -> str:
    """Any other value in a cell."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return printable(value if isinstance(value, str) else json_text(value))


def row_sink(kind: Kind, file: BinaryIO, console: Console, mode: Bytes, hint: str = HINT) -> RowSink:
    """The sink for a kind of output. Tables go to the console, all else to the file."""

    def writer(schema: pa.Schema) -> RowWriter:
        if kind == "table" or kind == "vertical":  # noqa: PLR1714 - mypy narrows only so
            return Terminal(console, mode, schema, vertical=kind == "vertical", hint=hint)
        return file_writer(kind, file, mode, schema)

    return RowSink(writer, is_mixed=kind in MIXED)
