"""Tables of a lake as frames of Spark, which needs no jars for it: the log is read here, the files by Spark."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema

from thawline.lake.lake import snapshot
from thawline.lake.place import Place, parquet_reader

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["read"]

A_TASK = 64 << 20
"""Bytes of files at a URL that a task reads."""


def read(spark: SparkSession, to: str | os.PathLike[str], table: str, commit: int | None) -> DataFrame:
    """A table of a lake as it is, or as it was after a commit."""
    found = snapshot(to, table, commit)
    schema = from_arrow_schema(found.schema)
    files = found.files()
    if not files:
        return spark.createDataFrame([], schema)
    if not found.place.is_remote:
        base = found.place.uri(found.name)
        frames = spark.read.schema(schema).option("basePath", base)
        return frames.parquet(*(f"{base}/{one.path}" for one in files))
    listed = [(one.path, *(one.partition.get(name) for name in found.partitions)) for one in files]
    tasks = max(1, min(len(files), sum(one.size for one in files) // A_TASK))
    names = spark.createDataFrame(listed, ", ".join(f"`{name}` string" for name in ("path", *found.partitions)))
    reading = _Reading(found.place, found.name, found.partitions, to_arrow_schema(schema, timezone="UTC"))
    return names.repartition(tasks).mapInArrow(reading.rows, schema)


@dataclass(frozen=True)
class _Reading:
    """Reads files at a URL, in a task: Spark itself needs jars for that."""

    place: Place
    table: str
    partitions: tuple[str, ...]
    schema: pa.Schema

    def rows(self, names: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The rows of some files."""
        for batch in names:
            for one in batch.to_pylist():
                with parquet_reader(self.place, f"{self.table}/{one['path']}") as reader:
                    for rows in reader.iter_batches():
                        yield pa.RecordBatch.from_arrays(
                            [self._column(rows, field, one) for field in self.schema], schema=self.schema
                        )

    def _column(self, rows: pa.RecordBatch, field: pa.Field, one: dict[str, str | None]) -> pa.Array:
        if field.name in self.partitions:
            return pa.repeat(pa.scalar(one[field.name], pa.string()), rows.num_rows).cast(field.type)
        if field.name in rows.schema.names:
            return rows[field.name].cast(field.type)
        return pa.nulls(rows.num_rows, field.type)  # it came with a later release
