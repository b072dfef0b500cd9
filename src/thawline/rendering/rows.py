"""Rows of a table, written as they come: to a terminal, as JSON, CSV, Arrow or Parquet."""

from __future__ import annotations

import codecs
from collections.abc import Iterable, Iterator, Sequence
from contextlib import nullcontext, suppress
from functools import partial
from types import TracebackType
from typing import Any, BinaryIO, Literal, Protocol, Self

import pyarrow as pa
from pyarrow import csv
from rich.console import Console

from thawline.batches import Waiting, slices
from thawline.errors import ThawlineError
from thawline.rendering.grid import Grid
from thawline.rendering.values import SHOWN, Bytes, flat, guarded, is_bytes, json_bytes, json_line, json_text, listed
from thawline.rendering.vertical import Vertical
from thawline.rendering.words import printable

Kind = Literal["table", "vertical", "jsonl", "json", "csv", "arrow", "arrow-file", "parquet"]

MIXED: frozenset[Kind] = frozenset({"jsonl", "json"})
"""Shapes in which rows name their own columns, so that files of different formats can follow one another."""
PAGE, PAGE_TEXT = 256, 4 << 20
"""Rows of a page on a terminal, and characters with which it is full all the same."""
CELL, LONG_CELL = 256, 4096
"""How much of bytes is looked at there, in columns and by themselves."""
HINT = "--columns or --vertical shows"
SLICE, SLICE_BYTES = 1024, 1 << 20
"""Rows, and bytes of them, that are text at the same time: as objects of Python, lists of short items take up to 50
times the memory that they take in a batch."""
MOST_ROWS = 65_536
MOST_BYTES = 32 << 20
"""Small batches are joined up to this size: a row group of Parquet or a batch of Arrow has a price of its own."""


class MixedTables(ThawlineError):
    """Files whose rows have different columns cannot be one table."""


class RowWriter(Protocol):
    """Something that takes batches, which all have the schema that it was made with unless `is_mixed`."""

    is_mixed: bool
    """Whether rows name their own columns, so that files of different formats can follow one another."""

    def write(self, batch: pa.RecordBatch) -> None:
        """Write some rows."""
        ...

    def close(self) -> None:
        """Write what ends the output. The file stays open."""
        ...


class JsonLines:
    """A JSON object on each line."""

    is_mixed = True

    def __init__(self, file: BinaryIO, mode: Bytes) -> None:
        self.file, self.mode = file, mode

    def write(self, batch: pa.RecordBatch) -> None:
        """Write some rows."""
        for piece in slices(batch, SLICE, SLICE_BYTES):
            self.file.write(b"".join([json_line(row) for row in objects(piece, self.mode)]))

    def close(self) -> None:
        """Nothing ends JSON lines."""


class JsonArray:
    """One JSON array of objects, an object a line."""

    is_mixed = True

    def __init__(self, file: BinaryIO, mode: Bytes) -> None:
        self.file, self.mode = file, mode
        self.separator = b"[\n"

    def write(self, batch: pa.RecordBatch) -> None:
        """Write some rows."""
        for piece in slices(batch, SLICE, SLICE_BYTES):
            for row in objects(piece, self.mode):
                self.file.write(self.separator)
                self.file.write(json_bytes(row))
                self.separator = b",\n"

    def close(self) -> None:
        """End the array, which may be empty."""
        self.file.write(b"[]\n" if self.separator == b"[\n" else b"\n]\n")


class Csv:
    """Comma separated values with a header; text is quoted, so that an empty text is not a null."""

    is_mixed = False

    def __init__(self, file: BinaryIO, mode: Bytes, schema: pa.Schema, *, is_guarded: bool) -> None:
        self.mode, self.is_guarded = mode, is_guarded
        empty = pa.RecordBatch.from_pylist([], schema=schema)
        self.writer = csv.CSVWriter(file, self._flat(empty).schema)

    def _flat(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        made = flat(batch, self.mode)
        return guarded(made) if self.is_guarded else made

    def write(self, batch: pa.RecordBatch) -> None:
        """Write some rows."""
        for piece in slices(batch, MOST_ROWS, SLICE_BYTES):
            self.writer.write_batch(self._flat(piece))

    def close(self) -> None:
        """Write what is held back."""
        self.writer.close()


class Arrow:
    """Arrow IPC: a stream for a pipe, or a file that can be mapped."""

    is_mixed = False

    def __init__(self, file: BinaryIO, schema: pa.Schema, *, is_stream: bool) -> None:
        self.writer = (pa.ipc.new_stream if is_stream else pa.ipc.new_file)(file, schema)

    def write(self, batch: pa.RecordBatch) -> None:
        """Write some rows."""
        self.writer.write_batch(batch)

    def close(self) -> None:
        """Write the end of the stream, or the footer of the file."""
        self.writer.close()


class Parquet:
    """A Parquet file, compressed with zstd; a batch becomes a row group."""

    is_mixed = False

    def __init__(self, file: BinaryIO, schema: pa.Schema) -> None:
        from pyarrow import parquet  # noqa: PLC0415 - slow to import, and rarely needed

        self.writer = parquet.ParquetWriter(file, schema, compression="zstd")

    def write(self, batch: pa.RecordBatch) -> None:
        """Write some rows."""
        self.writer.write_batch(batch)

    def close(self) -> None:
        """Write the footer."""
        self.writer.close()


class Terminal:
    """Columns for a person; long values are cut, which the … at their end says, and columns that do not fit are named.

    Where hardly any would fit, records stand one below the other.
    """

    is_mixed = False

    def __init__(self, console: Console, mode: Bytes, schema: pa.Schema, *, vertical: bool = False) -> None:
        self.mode, self.size = mode, LONG_CELL if vertical else CELL
        right = [_is_number(field.type) for field in schema]
        names = [printable(name) for name in schema.names]
        self.grid = Grid(console, names, right, [_is_firm(field.type) for field in schema], HINT)
        self.vertical = Vertical(console, names) if vertical else None
        self.held: list[tuple[str, ...]] = []
        """Rows of a page that is not full; the first page decides how wide columns are."""
        self.letters = 0
        """How much text that is."""

    def write(self, batch: pa.RecordBatch) -> None:
        """Print some rows, a full page at a time."""
        for piece in slices(batch, PAGE, SLICE_BYTES):
            cells = list(_cells(piece, self.mode, self.size))
            self.held += cells
            self.letters += sum(len(cell) for row in cells for cell in row)
            if len(self.held) >= PAGE or self.letters > PAGE_TEXT:
                self._show()

    def close(self) -> None:
        """Print the last page; it may hold no more than the header."""
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
    """What rows are shown in: columns, unless next to none fit."""
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
    """Bytes in a cell: text where it is text, else hexadecimal."""
    if value is None:
        return ""
    is_cut = len(value) > size
    head = value[:size]
    text = _text_or_hex(head, is_cut=is_cut) if mode == "auto" else printable(SHOWN[mode](head))
    return text + ("…" if is_cut else "")


def _text_or_hex(value: bytes, *, is_cut: bool) -> str:
    decoder = codecs.getincrementaldecoder("utf-8")()  # a cut may go through a letter
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


def objects(batch: pa.RecordBatch, mode: Bytes) -> Iterator[dict[str, Any]]:
    """The rows of a batch as dicts that JSON can hold."""
    columns = listed(batch, mode)
    names = list(columns)
    rows = (dict(zip(names, values, strict=True)) for values in zip(*columns.values(), strict=True))
    added = [name for name in names if name not in batch.schema.names]
    return (_without_nulls(row, added) for row in rows) if added else rows


def _without_nulls(row: dict[str, Any], names: list[str]) -> dict[str, Any]:
    for name in names:
        if row[name] is None:
            del row[name]
    return row


def joined(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The same rows in batches that are worth writing; rows before an error come before the error."""
    held = Waiting()
    try:
        for batch in batches:
            if held.rows and (held.rows + batch.num_rows > MOST_ROWS or held.size + batch.nbytes > MOST_BYTES):
                yield held.take()
            if batch.num_rows:
                held.add(batch)
    except ThawlineError:
        if held.rows:
            yield held.take()
        raise
    if held.rows:
        yield held.take()


class RowSink:
    """Rows of one file after another, as one output."""

    def __init__(self, kind: Kind, file: BinaryIO, console: Console, mode: Bytes, *, csv_safe: bool = False) -> None:
        self.rows = 0
        self._make = partial(row_writer, kind, file, console, mode, csv_safe=csv_safe)
        self._schema: pa.Schema | None = None
        # JSON needs no schema, and `[]` is the right output where no file could be read.
        self._writer: RowWriter | None = self._make(pa.schema([])) if kind in MIXED else None

    def add(self, schema: pa.Schema, batches: Iterable[pa.RecordBatch], name: str) -> None:
        """Write the rows of the next file, which is called `name`."""
        if self._writer is None:
            self._writer = self._make(schema)
        elif self._schema is not None and not self._writer.is_mixed and not schema.equals(self._schema):
            theirs, ours = ", ".join(schema.names), ", ".join(self._schema.names)
            raise MixedTables(f"{name}: its columns ({theirs}) are not those of the files before it ({ours})")
        self._schema = schema
        for batch in joined(batches):
            self._writer.write(batch)
            self.rows += batch.num_rows

    def close(self) -> None:
        """End the output; the file stays open."""
        if self._writer is not None:
            self._writer.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        # Also after an error: Arrow's writers complain if they are left open when their file is closed.
        with suppress(Exception) if error else nullcontext():
            self.close()


def row_writer(
    kind: Kind, file: BinaryIO, console: Console, mode: Bytes, schema: pa.Schema, *, csv_safe: bool = False
) -> RowWriter:
    """A writer for rows of a schema. Tables go to the console, all else to the file."""
    match kind:
        case "table" | "vertical":
            return Terminal(console, mode, schema, vertical=kind == "vertical")
        case "jsonl":
            return JsonLines(file, mode)
        case "json":
            return JsonArray(file, mode)
        case "csv":
            return Csv(file, mode, schema, is_guarded=csv_safe)
        case "parquet":
            return Parquet(file, schema)
        case _:
            return Arrow(file, schema, is_stream=kind == "arrow")
