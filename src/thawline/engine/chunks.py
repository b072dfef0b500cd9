"""What scans are given and yield: ranges and pieces, chunks, rows and breaks. Also the Arrow types of columns."""

from __future__ import annotations

from array import array
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace

import pyarrow as pa
import pyarrow.compute as pc

from thawline.engine.tables import Column, Failure
from thawline.literals import integer


@dataclass(frozen=True, slots=True)
class Chunk:
    """Rows that follow one another, and where each of them is in the buffer."""

    batch: pa.RecordBatch
    starts: pa.Int64Array
    ends: pa.Int64Array
    ranges: pa.Int32Array
    """Index of the range that each row is from."""
    checksums: pa.Int64Array | None = None
    """The computed checksum of each row, where the table has one and the stored one is requested."""

    def __len__(self) -> int:
        return len(self.starts)

    def moved(self, by: int) -> Chunk:
        """The same rows, with positions that are counted from `by` bytes earlier."""
        if not by:
            return self
        distance = integer(by)
        return replace(self, starts=pc.add(self.starts, distance), ends=pc.add(self.ends, distance))


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows that follow one another, and the range that each is from. Their buffers may be gone."""

    batch: pa.RecordBatch
    ranges: pa.Int32Array

    def __len__(self) -> int:
        return len(self.ranges)


@dataclass(frozen=True, slots=True)
class Places:
    """Rows as a kernel leaves them: numbers, and the places of bytes. The next ones use the same memory."""

    rows: int
    start: int
    end: int
    items: Mapping[tuple[str, ...], int]
    """The number of items of each list."""
    arrays: Mapping[tuple[tuple[str, ...], str], memoryview]
    """By the path of the column, and the part of it."""


@dataclass(frozen=True, slots=True)
class Break:
    """A range that cannot be read to its end: the row at `start` fails at byte `at`."""

    failure: Failure
    start: int
    at: int
    range_index: int = 0

    def moved(self, by: int) -> Break:
        """The same break, with positions that are counted from `by` bytes earlier."""
        return replace(self, start=self.start + by, at=self.at + by)


@dataclass(frozen=True, slots=True)
class Ranges:
    """Stretches of a buffer to read rows from, in rising order. A count below zero means all rows."""

    starts: array[int]
    ends: array[int]
    counts: array[int]

    @classmethod
    def of(cls, stretches: Collection[tuple[int, int, int]]) -> Ranges:
        """Ranges from (start, end, count) triples."""
        starts, ends, counts = zip(*stretches, strict=True) if stretches else ((), (), ())
        return cls(array("q", starts), array("q", ends), array("q", counts))

    @classmethod
    def covering(cls, starts: pa.Int64Array, ends: pa.Int64Array) -> Ranges:
        """The ranges of some rows. Rows that follow one another share a range.

        >>> found = Ranges.covering(pa.array([0, 5, 20]), pa.array([5, 9, 30]))
        >>> list(found.starts), list(found.ends)
        ([0, 20], [9, 30])
        """
        if not len(starts):
            return cls.of([])
        is_apart = pc.not_equal(starts[1:], ends[:-1])
        first = array("q", [starts[0].as_py(), *starts[1:].filter(is_apart).to_pylist()])
        last = array("q", [*ends[:-1].filter(is_apart).to_pylist(), ends[-1].as_py()])
        return cls(first, last, array("q", [-1]) * len(first))

    def check(self, size: int) -> None:
        """Raise ValueError unless every range lies within a buffer of this size, after the one before it."""
        last = 0
        for start, end in zip(self.starts, self.ends, strict=True):
            if not last <= start <= end <= size:
                raise ValueError(f"range {start}..{end} is not within {last}..{size}")
            last = end


Piece = tuple[memoryview, Ranges]
"""A buffer, and the ranges of it to read rows from."""

LEFT_OVER = "bytes are left after the last row"


def schema_of(columns: Iterable[Column]) -> pa.Schema:
    """The Arrow schema of columns. It has only types that Spark has, too."""
    return pa.schema([pa.field(column.name, arrow_type(column)) for column in columns])


ARROW_TYPES = {
    "int8": pa.int8(),
    "int16": pa.int16(),
    "int32": pa.int32(),
    "int64": pa.int64(),
    "bool": pa.bool_(),
    "enum": pa.string(),
    "binary": pa.binary(),
    "text": pa.string(),
    "escaped": pa.string(),
    "base64": pa.binary(),
}


def arrow_type(column: Column) -> pa.DataType:
    """The Arrow type of a column."""
    if column.kind == "list":
        return pa.list_(pa.field("element", item_type(column)))
    return ARROW_TYPES[column.kind]


def item_type(column: Column) -> pa.StructType:
    """The Arrow type of a list's items."""
    return pa.struct([pa.field(item.name, arrow_type(item)) for item in column.items])


def label_of(column: Column, code: int) -> str:
    """The name of an enum's value; its number if the spec has no name for it."""
    return column.labels.get(code, str(code))
