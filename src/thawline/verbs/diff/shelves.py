"""The rows of one side: in memory while they are few, then in files, so that rows with one key are in one file.

Every file has the rows of some keys. Those of both sides fit into memory together, or are divided once more.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import reduce
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from thawline.errors import SourceError, ThawlineError
from thawline.sinks import joined

HELD = 64 << 20
"""At most about this many bytes of a side are held in memory."""
TOGETHER = 256 << 20
"""At most about this many bytes of both sides are compared at once."""
FILES, BITS = 64, 6
LEVELS = 4
"""How often rows are divided. After that, hardly anything but one key is left in a file."""
ODD = pa.scalar(0x9E3779B97F4A7C15, pa.uint64())
"""Multiplying by it moves differences of the low bits to the high ones."""
EIGHT = pa.scalar(bytes(8), pa.binary())


class TooManyAlike(ThawlineError):
    """Too many rows with the same key to compare them in bounded memory."""


class Shelf:
    """The rows of a side, in order, or divided into files by their keys."""

    def __init__(self, folder: Path, schema: pa.Schema, key: Sequence[str], level: int = 0) -> None:
        self.folder, self.schema, self.key, self.level = folder, schema, key, level
        self._held: list[pa.RecordBatch] = []
        self._size = 0
        self._writers: dict[int, tuple[Any, Any]] = {}
        self.is_divided = False

    def fill(self, batches: Iterable[pa.RecordBatch]) -> None:
        """Take in rows; too many of them go to files."""
        for batch in joined(batches):
            self._held.append(batch)
            self._size += batch.nbytes
            if self.is_divided or self._size > HELD:
                self.divide()

    def divide(self) -> None:
        """Move all rows to files."""
        self.is_divided = True
        self.folder.mkdir(exist_ok=True)
        for batch in self._held:
            self._scatter(batch)
        self._held, self._size = [], 0

    def _scatter(self, batch: pa.RecordBatch) -> None:
        numbers = _file_numbers([batch.column(name) for name in self.key], self.level)
        order = pc.sort_indices(numbers)
        ordered, start = batch.take(order), 0
        counts = {item["values"]: item["counts"] for item in pc.value_counts(numbers).to_pylist()}
        for number in sorted(counts):
            with writing(self.folder):
                self._writer(number).write_batch(ordered.slice(start, counts[number]))
            start += counts[number]

    def _writer(self, number: int) -> Any:
        if number not in self._writers:
            file = pa.OSFile(str(self._path(number)), "wb")
            self._writers[number] = file, pa.ipc.new_stream(file, self.schema)
        return self._writers[number][1]

    def close(self) -> None:
        """End the files, so that they can be read."""
        with writing(self.folder):
            for file, writer in self._writers.values():
                writer.close()
                file.close()
        self._writers = {}

    def _path(self, number: int) -> Path:
        return self.folder / str(number)

    def size(self, number: int) -> int:
        """The size of a file; 0 if it has no rows."""
        return self._path(number).stat().st_size if self._path(number).exists() else 0

    def batches(self, number: int) -> Iterator[pa.RecordBatch]:
        """The rows of a file, which is removed afterwards."""
        if not self._path(number).exists():
            return
        with pa.memory_map(str(self._path(number))) as file, pa.ipc.open_stream(file) as reader:
            yield from reader
        self._path(number).unlink()

    def table(self) -> pa.Table:
        """The rows that are held in memory."""
        return pa.Table.from_batches(self._held, self.schema)


def compartments(a: Shelf, b: Shelf) -> Iterator[tuple[pa.Table, pa.Table]]:
    """The rows of both sides, in parts that fit into memory; all rows with one key are in one part."""
    if not a.is_divided and not b.is_divided:
        yield a.table(), b.table()
        return
    for side in (a, b):
        side.divide()
        side.close()
    for number in range(FILES):
        if a.size(number) + b.size(number) <= TOGETHER:
            table_a, table_b = (pa.Table.from_batches(side.batches(number), side.schema) for side in (a, b))
            yield table_a, table_b
        elif a.level + 1 < LEVELS:
            yield from compartments(*(_divided(side, number) for side in (a, b)))
        else:
            raise TooManyAlike(
                f"{a.size(number) + b.size(number):,} bytes of rows have nearly the same {', '.join(a.key)}; "
                "give --key columns that tell rows apart"
            )


def _divided(side: Shelf, number: int) -> Shelf:
    """The rows of a file, divided once more."""
    below = Shelf(side.folder / f"below-{number}", side.schema, side.key, side.level + 1)
    below.fill(side.batches(number))
    return below


def _file_numbers(key: Sequence[pa.Array], level: int) -> pa.Array:
    """The file of each row, which only its key determines."""
    columns = [_as_number(column) for column in key]
    mixed = reduce(lambda found, column: _mixed(pc.bit_wise_xor(found, column)), columns[1:], _mixed(columns[0]))
    for _ in range(level):
        mixed = _mixed(pc.bit_wise_xor(mixed, pc.shift_right(mixed, pa.scalar(29, pa.uint64()))))
    return pc.shift_right(mixed, pa.scalar(64 - BITS, pa.uint64())).cast(pa.uint8())


def _mixed(values: pa.Array) -> pa.Array:
    return pc.multiply(pc.bit_wise_xor(values, pc.shift_right(values, pa.scalar(32, pa.uint64()))), ODD)


def _as_number(column: pa.Array) -> pa.Array:
    """A number of 64 bits for each value: the value, or its last eight bytes and its length."""
    kind = column.type
    if pa.types.is_decimal(kind):
        return _as_number(column.cast(pa.string()))
    if pa.types.is_boolean(kind) or pa.types.is_integer(kind):
        return pc.fill_null(column.cast(pa.int64()), 0).view(pa.uint64())
    if pa.types.is_timestamp(kind) or pa.types.is_float64(kind):
        return _as_number(column.view(pa.int64()))
    texts = pc.fill_null(column.cast(pa.binary()), b"")
    last = pc.binary_slice(pc.binary_join_element_wise(EIGHT, texts, pa.scalar(b"")), -8)
    return pc.add(last.cast(pa.binary(8)).view(pa.uint64()), pc.binary_length(texts).cast(pa.uint64()))


@contextmanager
def writing(folder: Path) -> Iterator[None]:
    """Say which folder it was if a write fails."""
    try:
        yield
    except OSError as error:
        raise SourceError(
            error.errno, f"{folder.parent}: cannot be written: {error}; TMPDIR selects another place"
        ) from error
