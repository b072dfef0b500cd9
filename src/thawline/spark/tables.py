"""Files of rows that a task of the pipeline writes: one per table and value of its partitioning column."""

from __future__ import annotations

import io
import secrets
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import quote

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.orc
import pyarrow.parquet as pq

from thawline.batches import Waiting
from thawline.spark.lake import Output, writing
from thawline.wording import utf8

if TYPE_CHECKING:
    from typing_extensions import Buffer  # collections.abc has it from Python 3.12 on

BY = ("topic", "queue", "namespace")
"""Partitioning columns; a table uses the first that it has. The folders are named `by_topic=…`, and the files keep the
column, because readers turn a folder's value that looks like a number into one."""
BUFFERED = 96 << 20
"""Bytes of rows that a task buffers before it writes them: small batches make small row groups."""
MOST_OPEN = 64
SUFFIXES = {"parquet": "parquet", "orc": "orc", "arrow": "arrow"}


class _File(io.RawIOBase):
    """A new file that stores its first error instead of raising it: Arrow's ORC writer crashes on an exception."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("xb", buffering=0)
        self._size = 0
        self.error: OSError | None = None

    def writable(self) -> bool:
        """True."""
        return True

    def tell(self) -> int:
        """The number of bytes written."""
        return self._size

    def write(self, data: Buffer, /) -> int:
        """Write all data, unless an earlier write has failed."""
        view = memoryview(data).cast("B")
        try:
            while view and not self.error:
                view = view[self._file.write(view) :]
        except OSError as error:
            self.error = error
        self._size += memoryview(data).nbytes
        return memoryview(data).nbytes

    def close(self) -> None:
        """Close the file."""
        self._file.close()
        super().close()


class Writer:
    """A writer of tables to a new file; `LakeError` if writing fails."""

    def __init__(self, path: Path, schema: pa.Schema, output_format: str) -> None:
        with writing():
            self._file = _File(path)
        self._writer = _writer(self._file, schema, output_format)

    def write(self, rows: pa.Table) -> None:
        """Write rows."""
        self._writer.write(rows)
        self._check()

    def close(self) -> None:
        """Complete the file."""
        self._writer.close()
        self._file.close()
        self._check()

    def _check(self) -> None:
        if self._file.error:
            with writing():
                raise self._file.error

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()


def _writer(file: _File, schema: pa.Schema, output_format: str) -> Any:
    match output_format:
        case "parquet":
            return pq.ParquetWriter(file, schema, compression="zstd", compression_level=1)
        case "orc":
            return pyarrow.orc.ORCWriter(file, compression="zstd")
    return pa.ipc.new_file(file, schema)


@dataclass(slots=True)
class _Open:
    """A file that is being written, and the rows that wait to be written to it."""

    path: Path
    place: str
    writer: Writer
    waiting: Waiting = field(default_factory=Waiting)
    works: set[str] = field(default_factory=set)
    rows: int = 0

    def flush(self) -> None:
        if self.waiting.rows:
            self.writer.write(pa.Table.from_batches([self.waiting.take()]))


class Tables:
    """The files of a task; they are complete once it is closed."""

    def __init__(self, staging: Path, output_format: str) -> None:
        self.staging, self.output_format = staging, output_format
        self._open: dict[str, _Open] = {}
        self._done: list[_Open] = []
        self._buffered = 0

    def add(self, format_name: str, work: str, file: str, table: str, batch: pa.RecordBatch) -> None:
        """Add rows from a file to a table of its format."""
        batch = batch.append_column("_file", pa.repeat(pa.scalar(utf8(file)), batch.num_rows))
        for place, rows in _partitioned(f"{format_name}_{table}", batch):
            target = self._file(place, rows.schema)
            target.waiting.add(rows)
            target.works.add(work)
            target.rows += rows.num_rows
            self._buffered += rows.nbytes
        if self._buffered > BUFFERED:
            self._flush()

    def close(self) -> list[Output]:
        """The files, complete."""
        self._finish()
        return [Output(str(done.path), done.place, tuple(sorted(done.works)), done.rows) for done in self._done]

    def _file(self, folder: str, schema: pa.Schema) -> _Open:
        if folder not in self._open:
            if len(self._open) >= MOST_OPEN:
                self._finish()
            name = f"part-{secrets.token_hex(8)}.{SUFFIXES[self.output_format]}"
            path = self.staging / name
            self._open[folder] = _Open(path, f"{folder}/{name}", Writer(path, schema, self.output_format))
        return self._open[folder]

    def _flush(self) -> None:
        for file in self._open.values():
            file.flush()
        self._buffered = 0

    def _finish(self) -> None:
        self._flush()
        for file in self._open.values():
            file.writer.close()
        self._done += self._open.values()
        self._open = {}


def _partitioned(table: str, batch: pa.RecordBatch) -> list[tuple[str, pa.RecordBatch]]:
    """The rows of each value of the partitioning column, with their folder."""
    folder = f"tables/{table}"
    by = next((name for name in BY if name in batch.schema.names), None)
    if by is None:
        return [(folder, batch)]
    values = pc.unique(batch[by]).to_pylist()
    if len(values) == 1:
        return [(_named(folder, by, values[0]), batch)]
    return [
        (
            _named(folder, by, value),
            batch.filter(pc.is_null(batch[by]) if value is None else pc.equal(batch[by], value)),
        )
        for value in values
    ]


def _named(folder: str, by: str, value: object) -> str:
    text = "__HIVE_DEFAULT_PARTITION__" if value is None else quote(str(value), safe=" ")[:200]
    return f"{folder}/by_{by}={text or '__HIVE_DEFAULT_PARTITION__'}"
