"""Files of rows that a task of the pipeline writes: one per table and value of its partitioning columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from urllib.parse import quote

import pyarrow as pa
import pyarrow.compute as pc

from thawline.batches import Waiting
from thawline.errors import SourceError
from thawline.lake.files import FileWriter, new_name
from thawline.lake.place import Place
from thawline.lake.table import TableFile
from thawline.wording import utf8

BUFFERED = 64 << 20
"""Bytes of rows that a task buffers before it writes them: small batches make small row groups."""
MOST_OPEN = 64
LONGEST = 200
"""Bytes of a value that are part of the name of a folder."""
NONE = "__HIVE_DEFAULT_PARTITION__"
"""The folder of rows without a value."""


@dataclass(frozen=True, slots=True)
class Output:
    """A file that a task has written, and the works whose rows it holds."""

    file: TableFile
    works: tuple[str, ...]


@dataclass(slots=True)
class _Open:
    """A file that is being written, and the rows that wait to be written to it."""

    writer: FileWriter
    waiting: Waiting = field(default_factory=Waiting)
    works: set[str] = field(default_factory=set)

    def flush(self) -> None:
        if self.waiting.rows:
            self.writer.write(self.waiting.take())


class Tables:
    """The files of a task; they are complete once it is closed."""

    def __init__(self, place: Place, run: str, by: Sequence[str] = ()) -> None:
        self.place, self.run, self.by = place, run, tuple(by)
        self._open: dict[tuple[str, tuple[str | None, ...]], _Open] = {}
        self._done: list[Output] = []
        self._buffered = 0

    def add(self, format_name: str, work: str, file: str, table: str, batch: pa.RecordBatch) -> None:
        """Add rows from a file to a table of its format."""
        batch = batch.append_column("_file", pa.repeat(pa.scalar(utf8(file)), batch.num_rows))
        by = {name: str(batch[name].type) for name in self.by if name in batch.schema.names and _is_key(batch[name])}
        for values, rows in _partitioned(batch, list(by), keep=self.place.keeps_values):
            target = self._file(f"tables/{format_name}_{table}", by, values, rows.schema)
            target.waiting.add(rows)
            target.works.add(work)
            self._buffered += rows.nbytes
        if self._buffered > BUFFERED:
            self._flush()

    def close(self) -> list[Output]:
        """The files, complete."""
        self._finish()
        return self._done

    def discard(self) -> None:
        """Remove what was written: the task has failed."""
        for file in self._open.values():
            file.writer.discard()
        for output in self._done:
            self.place.remove(self.place.staged(output.file.name))

    def _file(self, table: str, by: dict[str, str], values: tuple[str | None, ...], schema: pa.Schema) -> _Open:
        key = table, values
        if key not in self._open:
            if len(self._open) >= MOST_OPEN:
                self._finish()
            folders = [f"{name}={_named(value)}/" for name, value in zip(by, values, strict=True)]
            if self.place.form == "parquet":
                _refuse_cut(folders, values)
            path = "".join(folders) + new_name(self.run, [table, *folders])
            partition = dict(zip(by, values, strict=True))
            self._open[key] = _Open(FileWriter(self.place, table, path, schema, partition, by))
        return self._open[key]

    def _flush(self) -> None:
        for file in self._open.values():
            file.flush()
        self._buffered = 0

    def _finish(self) -> None:
        self._flush()
        while self._open:
            file = self._open[next(iter(self._open))]
            self._done.append(Output(file.writer.close(), tuple(sorted(file.works))))
            del self._open[next(iter(self._open))]


def _partitioned(
    batch: pa.RecordBatch, by: Sequence[str], *, keep: bool
) -> Iterator[tuple[tuple[str | None, ...], pa.RecordBatch]]:
    """The rows of each combination of values of the partitioning columns, with or without these columns."""
    if not by:
        yield (), batch
        return
    name, *others = by
    column = batch[name].cast(pa.string())
    rest = batch if keep else batch.drop_columns([name])
    for value in pc.unique(column).to_pylist():
        rows = rest.filter(pc.is_null(column) if value is None else pc.equal(column, value))
        for values, part in _partitioned(rows, others, keep=keep):
            yield (value, *values), part


def _is_key(column: pa.Array) -> bool:
    """Whether tables can be partitioned by a column: it has text, whole numbers, or true and false."""
    return any(is_one(column.type) for is_one in (pa.types.is_string, pa.types.is_integer, pa.types.is_boolean))


def _named(value: str | None) -> str:
    """A folder's name for a value."""
    return quote(value, safe=" ")[:LONGEST] if value else NONE


def _refuse_cut(folders: Sequence[str], values: Sequence[str | None]) -> None:
    """Raise `SourceError` if a folder does not have all of a value, where nothing else has it."""
    for folder, value in zip(folders, values, strict=True):
        if value and len(quote(value, safe=" ")) > LONGEST:
            raise SourceError(
                f"its {folder.partition('=')[0]} of {len(value)} characters is too long for the name of a folder, and "
                "the tables of this lake are partitioned by it"
            )
