"""Parquet files of row groups that are encoded side by side.

pyarrow encodes the row groups of a file one after the other. Here each becomes a file of its own in memory, in any
thread, and the pages of these files are put one after the other. Only positions change: those in the footer, and those
in the page index. https://github.com/apache/parquet-format/blob/master/src/main/thrift/parquet.thrift
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, BinaryIO, Literal, get_args

import pyarrow as pa

from thawline.batches import Waiting
from thawline.errors import ThawlineError
from thawline.jobs import ALONE, Crew, Line
from thawline.thrift import I16, I32, I64, LIST, Items, Structure, decode, encode

__all__ = ["Encoded", "Encoders", "ParquetFile", "ParquetSettings", "ParquetWriter"]

Compression = Literal["zstd", "snappy", "lz4", "none"]
MAGIC = b"PAR1"
TAIL = 8
"""Bytes of the length of the footer and the magic after it."""
MOST_ROWS, MOST_BYTES = 65_536, 32 << 20
"""Rows, and bytes in memory, of a row group, unless a size is requested."""
MOST_ROWS_OF_ANY = 1 << 20
LEAST_GROUP, LARGEST_GROUP = 64 << 10, 1 << 30
LARGEST_ORDINAL = (1 << 15) - 1

# Numbers of fields in parquet.thrift.
NUM_ROWS, ROW_GROUPS = 3, 4
COLUMNS, GROUP_ROWS, GROUP_OFFSET, ORDINAL = 1, 3, 5, 7
CHUNK_OFFSET, META_DATA = 2, 3
OFFSET_INDEX, COLUMN_INDEX = (4, 5), (6, 7)
"""Position and size of a page index."""
DATA_PAGE, INDEX_PAGE, DICTIONARY_PAGE, BLOOM_FILTER = 9, 10, 11, 14
PAGE_LOCATIONS, PAGE_OFFSET = 1, 1


class BadCompression(ThawlineError, ValueError):
    """A compression that is not known, or a level that it does not have."""


@dataclass(frozen=True, slots=True)
class ParquetSettings:
    """How Parquet files are written."""

    compression: Compression = "zstd"
    level: int | None = None
    row_group_bytes: int | None = None
    """Bytes in memory at which a row group ends; None for the default."""

    @classmethod
    def of(cls, compression: str = "zstd", row_group_bytes: int | None = None) -> ParquetSettings:
        """Settings from text such as `zstd:9`.

        >>> ParquetSettings.of("zstd:9")
        ParquetSettings(compression='zstd', level=9, row_group_bytes=None)
        """
        name, colon, level = compression.partition(":")
        if name not in get_args(Compression):
            raise BadCompression(f"compression is {compression!r}; it is one of {', '.join(get_args(Compression))}")
        if row_group_bytes is not None and not LEAST_GROUP <= row_group_bytes <= LARGEST_GROUP:
            raise BadCompression(f"row groups of {row_group_bytes} bytes; they have 64 KiB to 1 GiB")
        return cls(name, _level(name, level) if colon else None, row_group_bytes)  # type: ignore[arg-type]

    @property
    def limits(self) -> tuple[int, int]:
        """The rows and bytes at which a row group ends."""
        return (MOST_ROWS, MOST_BYTES) if self.row_group_bytes is None else (MOST_ROWS_OF_ANY, self.row_group_bytes)

    def writer(self, sink: Any, schema: pa.Schema) -> Any:
        """The writer of pyarrow, with statistics and a page index."""
        from pyarrow import parquet  # noqa: PLC0415 - slow to import, and rarely needed

        options = {"compression": self.compression, "compression_level": self.level}
        return parquet.ParquetWriter(sink, schema, write_page_index=True, **options)


def _level(name: str, text: str) -> int:
    try:
        least, most = pa.Codec.minimum_compression_level(name), pa.Codec.maximum_compression_level(name)
    except ValueError:
        raise BadCompression(f"compression is {name}:{text}; {name} has no levels") from None
    if not text.removeprefix("-").isdecimal() or not least <= int(text[:8]) <= most:
        raise BadCompression(f"compression is {name}:{text}; the level is a number from {least} to {most}")
    return int(text)


@dataclass(frozen=True, slots=True)
class Encoded:
    """Rows as a Parquet file in memory, taken apart."""

    pages: memoryview
    """Everything before the page index, without the magic."""
    footer: Structure
    indexes: list[tuple[Structure, bytes, Structure]]
    """Column chunks that have a page index, with the bytes of their column index, and their offset index."""

    @classmethod
    def of(cls, schema: pa.Schema, batches: Sequence[pa.RecordBatch], settings: ParquetSettings) -> Encoded:
        """Rows, encoded."""
        sink = pa.BufferOutputStream()
        with settings.writer(sink, schema) as writer:
            rows = sum(batch.num_rows for batch in batches)
            # In one piece: where pages end would depend on where batches do, and so on the number of jobs.
            table = pa.Table.from_batches(batches, schema).combine_chunks()
            writer.write_table(table, row_group_size=max(rows, 1))
        return cls.taken_apart(memoryview(sink.getvalue()).cast("B"))

    @classmethod
    def taken_apart(cls, data: memoryview) -> Encoded:
        """The parts of a file."""
        end = len(data) - TAIL
        start = end - int.from_bytes(data[end : end + 4], "little")
        footer = decode(data[start:end])
        chunks = [chunk for group in _groups(footer) for chunk in group[COLUMNS][1].values if OFFSET_INDEX[0] in chunk]
        first = min((chunk[COLUMN_INDEX[0]][1] for chunk in chunks if COLUMN_INDEX[0] in chunk), default=start)
        first = min([first, *(chunk[OFFSET_INDEX[0]][1] for chunk in chunks)])
        found = [(chunk, _indexed(data, chunk, COLUMN_INDEX), _indexed(data, chunk, OFFSET_INDEX)) for chunk in chunks]
        indexes = [(chunk, bytes(column), decode(offset)) for chunk, column, offset in found]
        return cls(data[len(MAGIC) : first], footer, indexes)

    def move(self, by: int) -> None:
        """Shift all positions."""
        for group in _groups(self.footer):
            _shift(group, GROUP_OFFSET, by)
            for chunk in group[COLUMNS][1].values:
                _shift(chunk, CHUNK_OFFSET, by)
                for place in (DATA_PAGE, INDEX_PAGE, DICTIONARY_PAGE, BLOOM_FILTER):
                    _shift(chunk[META_DATA][1], place, by)
        for _, _, offset in self.indexes:
            for page in offset[PAGE_LOCATIONS][1].values:
                _shift(page, PAGE_OFFSET, by)


def _groups(footer: Structure) -> list[Structure]:
    groups: list[Structure] = footer[ROW_GROUPS][1].values
    return groups


def _indexed(data: memoryview, chunk: Structure, place: tuple[int, int]) -> memoryview:
    """The bytes of a page index; none if there is none, as of a column without statistics."""
    if place[0] not in chunk:
        return data[:0]
    start = chunk[place[0]][1]
    return data[start : start + chunk[place[1]][1]]


def _shift(structure: Structure, number: int, by: int) -> None:
    """Shift a position; 0 stands for none."""
    if number in structure and structure[number][1] > 0:
        structure[number] = (structure[number][0], structure[number][1] + by)


@dataclass(slots=True)
class ParquetFile:
    """A file that grows by encoded rows."""

    file: BinaryIO
    schema: pa.Schema
    settings: ParquetSettings = field(default_factory=ParquetSettings)
    position: int = 0
    _footer: Structure | None = None
    _groups: list[Structure] = field(default_factory=list)
    _indexes: list[tuple[Structure, bytes, bytes]] = field(default_factory=list)

    def add(self, rows: Encoded) -> None:
        """Write the pages of some rows, and keep what the footer says about them."""
        if self._footer is None:
            self._write(MAGIC)
            self._footer = rows.footer
        rows.move(self.position - len(MAGIC))
        self._write(rows.pages)
        self._groups += _groups(rows.footer)
        self._indexes += [(chunk, column, encode(offset)) for chunk, column, offset in rows.indexes]

    def close(self) -> None:
        """Write the page index and the footer. The file stays open."""
        if self._footer is None:
            self.settings.writer(self.file, self.schema).close()
            return
        for chunk, column, _ in self._indexes:
            if column:
                self._place(chunk, COLUMN_INDEX, column)
        for chunk, _, offset in self._indexes:
            self._place(chunk, OFFSET_INDEX, offset)
        footer = encode(self._whole(self._footer))
        self._write(footer + len(footer).to_bytes(4, "little") + MAGIC)

    def _whole(self, first: Structure) -> Structure:
        """The footer of all row groups; the schema is that of the first ones."""
        for number, group in enumerate(self._groups):
            if ORDINAL in group:
                group[ORDINAL] = (I16, min(number, LARGEST_ORDINAL))
        rows = sum(group[GROUP_ROWS][1] for group in self._groups)
        return {**first, NUM_ROWS: (I64, rows), ROW_GROUPS: (LIST, Items(first[ROW_GROUPS][1].type, self._groups))}

    def _place(self, chunk: Structure, place: tuple[int, int], data: bytes) -> None:
        chunk[place[0]], chunk[place[1]] = (I64, self.position), (I32, len(data))
        self._write(data)

    def _write(self, data: bytes | memoryview) -> None:
        self.file.write(data)
        self.position += len(data)


class Encoders:
    """Row groups that a crew encodes; they are written by the thread that gives them, in order."""

    def __init__(self, settings: ParquetSettings, crew: Crew) -> None:
        self._settings = settings
        self._line = Line[Callable[[], None]](crew) if not crew.is_alone else None

    def add(self, file: ParquetFile, batches: Sequence[pa.RecordBatch]) -> None:
        """Make a row group of some batches and write it to a file."""
        self._do(partial(_encoded, file, batches, self._settings))

    def then(self, step: Callable[[], None]) -> None:
        """Do something after all row groups up to now are written."""
        self._do(lambda: step)

    def _do(self, task: Callable[[], Callable[[], None]]) -> None:
        if self._line is None:
            task()()
            return
        self._line.add(task)
        while self._line.is_full:
            self._line.take()()

    def finish(self) -> None:
        """Write everything that was given."""
        try:
            while self._line:
                self._line.take()()
        finally:
            self.stop()

    def stop(self) -> None:
        """Forget what is not written yet."""
        if self._line is not None:
            self._line.close()


def _encoded(file: ParquetFile, batches: Sequence[pa.RecordBatch], settings: ParquetSettings) -> Callable[[], None]:
    return partial(file.add, Encoded.of(file.schema, batches, settings))


class ParquetWriter:
    """Rows as a Parquet file."""

    is_mixed = False

    def __init__(
        self, file: BinaryIO, schema: pa.Schema, settings: ParquetSettings | None = None, crew: Crew = ALONE
    ) -> None:
        self._settings = settings or ParquetSettings()
        self._file = ParquetFile(file, schema, self._settings)
        self._encoders = Encoders(self._settings, crew)
        self._waiting = Waiting()

    def write(self, batch: pa.RecordBatch) -> None:
        """Add the rows of a batch; a row group is encoded when there are enough."""
        for group in self._waiting.filled(batch, *self._settings.limits):
            self._encoders.add(self._file, group)

    def close(self) -> None:
        """Write the rest. The file stays open."""
        if self._waiting.rows:
            self._encoders.add(self._file, self._waiting.taken())
        self._encoders.finish()
        self._file.close()
