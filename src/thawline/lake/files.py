"""Parquet files of a table: written by tasks, and written again without some of their rows."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import ExitStack
from types import TracebackType
from typing import Any, Self

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import parquet

from thawline.batches import Waiting
from thawline.lake.place import LakeError, Place, parquet_reader, writing
from thawline.lake.statistics import statistics
from thawline.lake.table import Stored, TableFile

__all__ = ["FileWriter", "digest_of", "gathered", "has_rows_of", "new_name", "without"]

LEVEL = 1
"""Of zstd."""
ROW_GROUP = 24 << 20
"""Bytes of rows that are joined before they are written again."""


def new_name(run: str, of: Iterable[str]) -> str:
    """The name of a new file: its run, what it holds, and the attempt, so that two attempts never meet."""
    return f"part-{run}-{digest_of(of)}-{secrets.token_hex(4)}.parquet"


def digest_of(names: Iterable[str]) -> str:
    """A short digest of some names."""
    digest = hashlib.sha256()
    for name in names:
        digest.update(name.encode("utf-8", "surrogateescape") + b"\0")
    return digest.hexdigest()[:12]


class FileWriter:
    """A new file of a table; `LakeError` if it cannot be written. An error removes it."""

    def __init__(
        self,
        place: Place,
        table: str,
        path: str,
        schema: pa.Schema,
        partition: Mapping[str, str | None],
        types: Mapping[str, str] | None = None,
    ) -> None:
        self.place, self.table, self.path, self.partition, self.types = place, table, path, partition, types or {}
        self.rows = 0
        self._stack = ExitStack()
        self._footers: list[Any] = []
        with writing():
            self._file = self._stack.enter_context(place.create(place.staged(f"{table}/{path}")))
            self._writer = parquet.ParquetWriter(
                self._file,
                schema,
                compression="zstd",
                compression_level=LEVEL,
                metadata_collector=self._footers,
            )

    def write(self, rows: pa.Table | pa.RecordBatch) -> None:
        """Write rows."""
        self.rows += rows.num_rows
        with writing():
            self._writer.write(rows)

    def close(self) -> TableFile:
        """Complete the file."""
        with writing():
            self._writer.close()
            size = self._file.tell()
            self._stack.close()
        stats = statistics(self._footers[0])
        return TableFile(self.table, self.path, size, self.rows, self.partition, stats, self.types)

    def discard(self) -> None:
        """Remove the unfinished file."""
        try:
            self._writer.is_open = False  # its footer is of no use, and a full disk has no room for it
            self._stack.close()
        except (OSError, LakeError):
            pass  # the error that led here is the one to report
        self.place.remove(self.place.staged(f"{self.table}/{self.path}"))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, _error: object, _trace: TracebackType | None) -> None:
        if kind:
            self.discard()


def has_rows_of(place: Place, table: str, path: str, column: str, names: pa.Array) -> bool:
    """Whether a file has rows of some names; only their column is read."""
    with parquet_reader(place, f"{table}/{path}", column) as reader:
        found = (batch[column].dictionary for batch in reader.iter_batches(columns=[column]))
        return any(pc.any(pc.is_in(known, names)).as_py() for known in found)


def without(
    place: Place, old: Stored | TableFile, table: str, column: str, names: Collection[str], name: str
) -> TableFile | None:
    """A copy of a file without the rows of some names; None if no rows are left."""
    gone = pa.array(sorted(names), pa.string())
    at = f"{table}/{old.path}"
    with parquet_reader(place, place.staged(at) if isinstance(old, TableFile) else at) as reader:
        schema = reader.schema_arrow
        folder = old.path.rpartition("/")[0]
        path = f"{folder}/{name}" if folder else name
        types = old.types if isinstance(old, TableFile) else {}
        with FileWriter(place, table, path, schema, old.partition, types) as writer:
            for rows in gathered(_kept(reader.iter_batches(), column, gone)):
                writer.write(rows)
            made = writer.close()
    if made.rows:
        return made
    place.remove(place.staged(f"{table}/{path}"))
    return None


def gathered(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Batches joined, since each that is written becomes a row group."""
    waiting = Waiting()
    for batch in batches:
        waiting.add(batch)
        if waiting.size > ROW_GROUP:
            yield waiting.take()
    if waiting.rows:
        yield waiting.take()


def _kept(batches: Iterable[pa.RecordBatch], column: str, gone: pa.Array) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        kept = batch.filter(pc.invert(pc.is_in(batch[column], gone)))
        if kept.num_rows:
            yield kept
