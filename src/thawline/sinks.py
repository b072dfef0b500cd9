"""Rows of a table as files: JSON lines, a JSON array, CSV, Arrow or Parquet, written batch by batch."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import nullcontext, suppress
from functools import partial
from types import TracebackType
from typing import Any, BinaryIO, Literal, Protocol, Self

import pyarrow as pa

from thawline.batches import Waiting, slices
from thawline.errors import ThawlineError
from thawline.jobs import ALONE, Crew, Line
from thawline.parquet import ParquetSettings, ParquetWriter
from thawline.parts import PartsWriter
from thawline.rowtext import csv_header, csv_rows, has_formula, json_rows
from thawline.values import Bytes

Told = Callable[[], None]
FileKind = Literal["jsonl", "json", "csv", "arrow", "arrow-file", "parquet"]

MOST_ROWS = 65_536
MOST_BYTES = 32 << 20
"""Small batches are joined up to this size: each Parquet row group and each Arrow batch has a fixed cost."""
A_TASK = 2 << 20
"""Bytes of rows that become text in one go, where several threads make it."""


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


class Text:
    """Rows as text, which a crew makes side by side and the thread that gives the rows writes in order."""

    is_mixed = False

    def __init__(self, file: BinaryIO, crew: Crew) -> None:
        self.file = file
        self._line = None if crew.is_alone else Line[list[bytes]](crew)

    def pieces(self, batch: pa.RecordBatch) -> Iterator[bytes]:
        """The text of a batch; any thread may ask for it."""
        raise NotImplementedError

    def put(self, piece: bytes) -> None:
        """Write the next piece."""
        self.file.write(piece)

    def write(self, batch: pa.RecordBatch) -> None:
        """Write the rows of a batch, or those of some before it."""
        if self._line is None:
            for piece in self.pieces(batch):
                self.put(piece)
            return
        for some in slices(batch, MOST_ROWS, A_TASK):
            self._line.add(partial(self._made, some))
            while self._line.is_full:
                self._take(self._line)

    def _made(self, batch: pa.RecordBatch) -> list[bytes]:
        return list(self.pieces(batch))

    def _take(self, line: Line[list[bytes]]) -> None:
        for piece in line.take():
            self.put(piece)

    def flush(self) -> None:
        """Write all that was given, and end the threads."""
        if self._line is None:
            return
        try:
            while self._line:
                self._take(self._line)
        finally:
            self._line.close()

    def close(self) -> None:
        """Write the rest: text has no end mark."""
        self.flush()


class JsonLines(Text):
    """A JSON object on each line."""

    is_mixed = True

    def __init__(self, file: BinaryIO, mode: Bytes, crew: Crew = ALONE) -> None:
        super().__init__(file, crew)
        self.mode = mode

    def pieces(self, batch: pa.RecordBatch) -> Iterator[bytes]:
        """The lines."""
        return json_rows(batch, self.mode, after=b"\n")


class JsonArray(Text):
    """One JSON array of objects, an object a line."""

    is_mixed = True

    def __init__(self, file: BinaryIO, mode: Bytes, crew: Crew = ALONE) -> None:
        super().__init__(file, crew)
        self.mode = mode
        self.is_begun = False

    def pieces(self, batch: pa.RecordBatch) -> Iterator[bytes]:
        """The objects, each after a comma."""
        return json_rows(batch, self.mode, before=b",\n")

    def put(self, piece: bytes) -> None:
        """Write objects; nothing is before the first one but a bracket."""
        self.file.write(piece if self.is_begun else b"[" + piece[1:])
        self.is_begun = True

    def close(self) -> None:
        """End the array, which may be empty."""
        self.flush()
        self.file.write(b"\n]\n" if self.is_begun else b"[]\n")


class Csv(Text):
    """Comma separated values with a header; text is quoted, to tell an empty text from a null."""

    def __init__(
        self,
        file: BinaryIO,
        mode: Bytes,
        schema: pa.Schema,
        crew: Crew = ALONE,
        *,
        is_guarded: bool,
        on_formula: Told | None = None,
    ) -> None:
        super().__init__(file, crew)
        self.mode, self.is_guarded = mode, is_guarded
        self._on_formula = None if is_guarded else on_formula
        self.file.write(csv_header(schema, mode, is_guarded=is_guarded))

    def pieces(self, batch: pa.RecordBatch) -> Iterator[bytes]:
        """The lines."""
        return csv_rows(batch, self.mode, is_guarded=self.is_guarded)

    def put(self, piece: bytes) -> None:
        """Write lines."""
        if self._on_formula and has_formula(piece):
            self._on_formula()
            self._on_formula = None  # once is enough
        super().put(piece)


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
        # Row groups go on from one file to the next, so that their writer joins batches by itself.
        try:
            for batch in batches if isinstance(self._writer, ParquetWriter | PartsWriter) else joined(batches):
                self._writer.write(batch)
                self.rows += batch.num_rows
        finally:
            if isinstance(self._writer, Text):
                self._writer.flush()  # rows before an error are given before it is told

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


def file_writer(
    kind: FileKind,
    file: BinaryIO,
    mode: Bytes,
    schema: pa.Schema,
    *,
    csv_safe: bool = False,
    on_formula: Told | None = None,
    parquet: ParquetSettings | None = None,
    crew: Crew = ALONE,
) -> RowWriter:
    """A writer for rows of a schema."""
    match kind:
        case "jsonl":
            return JsonLines(file, mode, crew)
        case "json":
            return JsonArray(file, mode, crew)
        case "csv":
            return Csv(file, mode, schema, crew, is_guarded=csv_safe, on_formula=on_formula)
        case "parquet":
            return ParquetWriter(file, schema, parquet, crew)
        case _:
            return Arrow(file, schema, is_stream=kind == "arrow")


def file_sink(
    kind: FileKind,
    file: BinaryIO,
    mode: Bytes,
    *,
    csv_safe: bool = False,
    on_formula: Told | None = None,
    parquet: ParquetSettings | None = None,
    crew: Crew = ALONE,
) -> RowSink:
    """A sink whose output is one file. `on_formula` is called where CSV gets a cell that a spreadsheet evaluates."""
    options: dict[str, Any] = {"csv_safe": csv_safe, "on_formula": on_formula, "parquet": parquet, "crew": crew}
    return RowSink(lambda schema: file_writer(kind, file, mode, schema, **options), is_mixed=kind in MIXED)
