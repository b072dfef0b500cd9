"""Rows as a folder of Parquet files, also with a folder for each value of a column, as Spark and Hive lay it out."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import BinaryIO
from urllib.parse import quote

import pyarrow as pa
import pyarrow.compute as pc

from thawline.batches import Waiting
from thawline.errors import ThawlineError
from thawline.jobs import ALONE, Crew
from thawline.outputs import part_name
from thawline.parquet import Encoders, ParquetFile, ParquetSettings

__all__ = ["PartsWriter", "UnfitColumn"]

PART_BYTES = 256 << 20
"""Bytes in memory of the rows of a part, at which it ends."""
MOST_PARTITIONS = 500
"""Each is an open file."""
HELD = 4
"""Rows of all partitions may wait up to this many times the size of a row group."""
LONGEST_NAME = 255
NULL = "__HIVE_DEFAULT_PARTITION__"
"""The folder of rows without a value; for Spark, that includes empty text."""


class UnfitColumn(ThawlineError, ValueError):
    """A column that rows cannot be divided by."""


@dataclass(slots=True)
class _Partition:
    """The rows of one value, or all rows: those that wait, and the part that others were written to."""

    folder: Path
    parts: int = 0
    size: int = 0
    """Bytes of the rows in the current part."""
    file: ParquetFile | None = None
    handle: BinaryIO | None = None
    waiting: Waiting = field(default_factory=Waiting)


class PartsWriter:
    """Writes batches of one schema into the files of a folder, which must be empty."""

    is_mixed = False

    def __init__(
        self,
        folder: Path,
        schema: pa.Schema,
        settings: ParquetSettings | None = None,
        crew: Crew = ALONE,
        by: str | None = None,
    ) -> None:
        self._folder, self._by, self._settings = folder, by, settings or ParquetSettings()
        self._schema = schema if by is None else _without(schema, by)
        self._encoders = Encoders(self._settings, crew)
        self._partitions: dict[str, _Partition] = {}
        if by is None:
            self._partitions[""] = _Partition(folder)

    def write(self, batch: pa.RecordBatch) -> None:
        """Add the rows of a batch."""
        if self._by is None:
            self._add(self._partitions[""], batch)
            return
        for name, rows in divided(batch, self._by):
            self._add(self._partition(name), rows)
        _, size = self._settings.limits
        if sum(each.waiting.size for each in self._partitions.values()) > HELD * size:
            for each in self._partitions.values():
                self._flush(each)

    def _partition(self, name: str) -> _Partition:
        if name not in self._partitions:
            if len(self._partitions) == MOST_PARTITIONS:
                raise UnfitColumn(f"{self._by} has more than {MOST_PARTITIONS} values; divide by another column")
            folder = self._folder / name
            folder.mkdir()
            self._partitions[name] = _Partition(folder)
        return self._partitions[name]

    def _add(self, partition: _Partition, batch: pa.RecordBatch) -> None:
        for group in partition.waiting.filled(batch, *self._settings.limits):
            self._put(partition, group)

    def _flush(self, partition: _Partition) -> None:
        if partition.waiting.rows:
            self._put(partition, partition.waiting.taken())

    def _put(self, partition: _Partition, group: list[pa.RecordBatch]) -> None:
        """Make a row group of the current part; a part that is full ends before it."""
        if partition.size >= PART_BYTES:
            self._end(partition)
        partition.size += sum(batch.nbytes for batch in group)
        self._encoders.add(self._file(partition), group)

    def _file(self, partition: _Partition) -> ParquetFile:
        if partition.file is None:
            partition.handle = (partition.folder / part_name(partition.parts)).open("xb")
            partition.file = ParquetFile(partition.handle, self._schema, self._settings)
            partition.parts += 1
        return partition.file

    def _end(self, partition: _Partition) -> None:
        if partition.file is not None and partition.handle is not None:
            self._encoders.then(partial(_end, partition.file, partition.handle))
        partition.file, partition.handle, partition.size = None, None, 0

    def close(self) -> None:
        """Write the rest. Without rows, there is one part without rows."""
        for partition in self._partitions.values():
            self._flush(partition)
        if self._by is None and not self._partitions[""].parts:
            self._file(self._partitions[""])
        for partition in self._partitions.values():
            self._end(partition)
        self._encoders.finish()


def _end(file: ParquetFile, handle: BinaryIO) -> None:
    with handle:
        file.close()
        handle.flush()
        os.fsync(handle.fileno())


def _without(schema: pa.Schema, name: str) -> pa.Schema:
    """The schema of the files: the names of folders have the column."""
    if name not in schema.names:
        raise UnfitColumn(f"there is no column {name} to divide by; there are {', '.join(schema.names)}")
    kind = schema.field(name).type
    if not (pa.types.is_integer(kind) or pa.types.is_boolean(kind) or pa.types.is_string(kind)):
        raise UnfitColumn(f"{name} has the type {kind}; rows are divided by text, integers or booleans")
    return schema.remove(schema.get_field_index(name))


def divided(batch: pa.RecordBatch, name: str) -> Iterator[tuple[str, pa.RecordBatch]]:
    """The rows of each value without the column, with the name of their folder; rows keep their order.

    >>> batch = pa.record_batch({"a": ["x", None, "x"], "b": [1, 2, 3]})
    >>> [(folder, rows["b"].to_pylist()) for folder, rows in divided(batch, "a")]
    [('a=x', [1, 3]), ('a=__HIVE_DEFAULT_PARTITION__', [2])]
    """
    keys = batch[name].dictionary_encode(null_encoding="encode")
    rest = batch.drop_columns([name])
    values = keys.dictionary.to_pylist()
    if len(values) == 1:
        yield _folder_name(name, values[0]), rest
        return
    order = pc.sort_indices(keys.indices)
    counts = pc.value_counts(keys.indices.take(order))
    ordered, first = rest.take(order), 0
    for key, count in zip(counts.field(0).to_pylist(), counts.field(1).to_pylist(), strict=True):
        yield _folder_name(name, values[key]), ordered.slice(first, count)
        first += count


def _folder_name(column: str, value: object) -> str:
    text = (
        NULL if value in (None, "") else quote(str(value).lower() if isinstance(value, bool) else str(value), safe=" ")
    )
    name = f"{quote(column, safe='')}={text}"
    if len(name) > LONGEST_NAME:
        raise UnfitColumn(f"{column} has a value of {len(str(value))} characters, too long for the name of a folder")
    return name
