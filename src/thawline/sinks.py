"""Rows of a table as files: JSON lines, a JSON array, CSV, Arrow or Parquet, written batch by batch."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import nullcontext, suppress
from types import TracebackType
from typing import Any, BinaryIO, Literal, Protocol, Self

import pyarrow as pa
from pyarrow import csv

from thawline.batches import Waiting, slices
from thawline.errors import ThawlineError
from thawline.values import Bytes, flat, guarded, json_bytes, json_line, listed

FileKind = Literal["jsonl", "json", "csv", "arrow", "arrow-file", "parquet"]

SLICE, SLICE_BYTES = 1024, 1 << 20
"""At most this many rows and bytes are converted to text at once: as Python objects, lists of short items take up to 50
times the memory of the batch."""
MOST_ROWS = 65_536
MOST_BYTES = 32 << 20
"""Small batches are joined up to this size: each Parquet row group and each Arrow batch has a fixed cost."""


class MixedTables(ThawlineError):
    """Files whose rows have different columns cannot be one table."""


class RowWriter(Protocol):
    """Writes batches of one schema, or of any schema if `is_mixed`."""

    is_mixed: bool
    """Whether each row names its columns, so that batches of different schemas can follow each other."""

    def write(self, batch: pa.RecordBatch) -> None:
        """Write the rows of a batch."""
        ...

    def close(self) -> None:
        """Write the end of the output. The file stays open."""
        ...


class JsonLines:
    """A JSON object on each line."""

    is_mixed = True

    def __init__(self, file: BinaryIO, mode: Bytes) -> None:
        self.file, self.mode = file, mode

    def write(self, batch: pa.RecordBatch) -> None:
        """Write the rows of a batch."""
        for piece in slices(batch, SLICE, SLICE_BYTES):
            self.file.write(b"".join([json_line(row) for row in objects(piece, self.mode)]))

    def close(self) -> None:
        """Do nothing: JSON lines have no end mark."""


class JsonArray:
    """One JSON array of objects, an object a line."""

    is_mixed = True

    def __init__(self, file: BinaryIO, mode: Bytes) -> None:
        self.file, self.mode = file, mode
        self.separator = b"[\n"

    def write(self, batch: pa.RecordBatch) -> None:
        """Write the rows of a batch."""
        for piece in slices(batch, SLICE, SLICE_BYTES):
            for row in objects(piece, self.mode):
                self.file.write(self.separator)
                self.file.write(json_bytes(row))
                self.separator = b",\n"

    def close(self) -> None:
        """End the array, which may be empty."""
        self.file.write(b"[]\n" if self.separator == b"[\n" else b"\n]\n")


class Csv:
    """Comma separated values with a header; text is quoted, to tell an empty text from a null."""

    is_mixed = False

    def __init__(self, file: BinaryIO, mode: Bytes, schema: pa.Schema, *, is_guarded: bool) -> None:
        self.mode, self.is_guarded = mode, is_guarded
        empty = pa.RecordBatch.from_pylist([], schema=schema)
        self.writer = csv.CSVWriter(file, self._flat(empty).schema)

    def _flat(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        columns = flat(batch, self.mode)
        return guarded(columns) if self.is_guarded else columns

    def write(self, batch: pa.RecordBatch) -> None:
        """Write the rows of a batch."""
        for piece in slices(batch, MOST_ROWS, SLICE_BYTES):
            self.writer.write_batch(self._flat(piece))

    def close(self) -> None:
        """Write what is still buffered."""
        self.writer.close()


class Arrow:
    """Arrow IPC: a stream for a pipe, or a file that readers can map."""

    is_mixed = False

    def __init__(self, file: BinaryIO, schema: pa.Schema, *, is_stream: bool) -> None:
        self.writer = (pa.ipc.new_stream if is_stream else pa.ipc.new_file)(file, schema)

    def write(self, batch: pa.RecordBatch) -> None:
        """Write the rows of a batch."""
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
        """Write the rows of a batch."""
        self.writer.write_batch(batch)

    def close(self) -> None:
        """Write the footer."""
        self.writer.close()


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
    """The same rows in batches large enough to write; rows before an error are given before it is raised."""
    waiting = Waiting()
    try:
        for batch in batches:
            if waiting.rows and (waiting.rows + batch.num_rows > MOST_ROWS or waiting.size > MOST_BYTES):
                yield waiting.take()
            if batch.num_rows:
                waiting.add(batch)
    except ThawlineError:
        if waiting.rows:
            yield waiting.take()
        raise
    if waiting.rows:
        yield waiting.take()


class RowSink:
    """The rows of several files as one output; with `is_mixed`, each row names its columns."""

    def __init__(self, make: Callable[[pa.Schema], RowWriter], *, is_mixed: bool) -> None:
        self.rows = 0
        self._make = make
        self._schema: pa.Schema | None = None
        # JSON needs no schema, and the output must be `[]` even if no file could be read.
        self._writer: RowWriter | None = make(pa.schema([])) if is_mixed else None

    def add(self, schema: pa.Schema, batches: Iterable[pa.RecordBatch], name: str) -> None:
        """Write the rows of the next file, named `name`."""
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
        # After an error, too: Arrow's writers raise if their file is closed before them.
        with suppress(Exception) if error else nullcontext():
            self.close()


MIXED: frozenset[str] = frozenset({"jsonl", "json"})
"""File types in which each row names its columns, so that rows of different schemas can follow each other."""


def file_writer(kind: FileKind, file: BinaryIO, mode: Bytes, schema: pa.Schema, *, csv_safe: bool = False) -> RowWriter:
    """A writer for rows of a schema."""
    match kind:
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


def file_sink(kind: FileKind, file: BinaryIO, mode: Bytes, *, csv_safe: bool = False) -> RowSink:
    """A sink whose output is one file."""
    return RowSink(lambda schema: file_writer(kind, file, mode, schema, csv_safe=csv_safe), is_mixed=kind in MIXED)
