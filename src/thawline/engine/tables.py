"""Tables, columns and failures: what a scan kernel emits, as `generated/kernels/tables.py` lists it.

The columnar compiler derives them from the specs. The engine reads them to allocate a kernel's arrays, to derive the
Arrow schema and, without compiled kernels, to take the same values from the objects of the plain parsers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal

Kind = Literal["int8", "int16", "int32", "int64", "bool", "enum", "binary", "text", "escaped", "base64", "list"]
"""What a column holds. `text`, `escaped` and `base64` are bytes in the file that a table has decoded: UTF-8, a token
with backslashes, base-64."""

SLICES = frozenset({"binary", "text", "escaped", "base64"})
GATHERED = frozenset({"binary", "text"})
"""Slices whose bytes a kernel copies while it reads the row; of others it writes the places."""


@dataclass(frozen=True, slots=True)
class Failure:
    """A check of a kernel: which field of which spec, and what is wrong with it."""

    spec: str
    path: str
    reason: str


@dataclass(frozen=True, slots=True)
class Checksum:
    """A checksum of a row: the column that stores it, and the instance that is the bytes it covers."""

    column: str
    algorithm: Literal["crc32", "crc32c"]
    attributes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Column:
    """One column: its name, what it holds, and the attributes of a parser's object that lead to it."""

    name: str
    kind: Kind
    attributes: tuple[str, ...]
    nullable: bool = False
    labels: Mapping[int, str] = field(default_factory=dict)
    """Names of an enum's values."""
    items: tuple[Column, ...] = ()
    """Columns of a list's items."""
    least_size: int = 0
    """The least size of a list's item, which bounds how many there can be."""
    size: int = 0
    """The size of every value, where the spec fixes it; the kernel then copies the bytes."""


@dataclass(frozen=True, slots=True)
class Table:
    """A table: the spec type whose consecutive occurrences are its rows, and their columns."""

    name: str
    spec: str
    columns: tuple[Column, ...]
    failures: tuple[Failure, ...]
    least_size: int = 1
    """The least size of a row, which bounds how many there can be."""
    checksum: Checksum | None = None
    kernel: Callable[..., int] | None = field(default=None, compare=False, repr=False)
    """The kernel of a table that is compiled at run time; None for those of the native module."""


@dataclass(frozen=True, slots=True)
class Sync:
    """How units of a type are found after damage, as `-sync` of the spec says."""

    name: str
    """That of the probe: the table's, or the type's."""
    spec: str
    failures: tuple[Failure, ...]
    magic: bytes = b""
    """The bytes that mark a unit; empty if any position is a candidate."""
    offset: int = 0
    """Bytes of a unit before its magic."""
    alignment: int = 1
    checksum: str = ""
    """The algorithm of the checksum that proves a unit; empty if none does."""
    probe: Callable[..., int] | None = field(default=None, compare=False, repr=False)
    """The probe of a spec that is compiled at run time; None for those of the native module."""


@dataclass(frozen=True, slots=True)
class Array:
    """An array that a kernel fills: the path of its column, the part of the column, and the type of its elements."""

    path: tuple[str, ...]
    part: str
    typecode: str
    width: int = 1
    """Elements for each row."""
    is_column: bool = False
    """Whether an Arrow column takes its memory as it is."""


def arrays(table: Table) -> Iterator[Array]:
    """The arrays a kernel fills, in the order of its arguments.

    Arrays of a list's items come after all arrays of the table that the list is in.
    """
    if table.checksum:
        yield from (Array((), "checksum_start", "q"), Array((), "checksum_end", "q"))
    yield from _arrays(table.columns, ())


def _arrays(columns: tuple[Column, ...], above: tuple[str, ...]) -> Iterator[Array]:
    for column in columns:
        path = (*above, column.name)
        if column.size:
            yield Array(path, "bytes", "B", column.size, is_column=True)
        elif column.kind in SLICES:
            yield from (Array(path, "start", "q"), Array(path, "length", "i"))
            if column.kind in GATHERED:
                yield from (Array(path, "offset", "i", is_column=True), Array(path, "data", "B"))
                yield from (Array(path, "valid", "B") for _ in range(column.nullable))
        else:
            yield Array(path, "value", TYPECODES[column.kind], is_column=column.kind not in ("bool", "enum"))
            if column.nullable and column.kind != "list":
                yield Array(path, "valid", "B")
    for column in columns:
        if column.kind == "list":
            yield from _arrays(column.items, (*above, column.name))


TYPECODES = {"int8": "b", "int16": "h", "int32": "i", "int64": "q", "bool": "B", "enum": "h", "list": "i"}
"""Typecodes of the kernel's arrays. A list's array holds the end of each row's items."""


def lists(columns: tuple[Column, ...], above: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Column]]:
    """The list columns at every depth, with their paths, in the order in which kernels count their items."""
    for column in columns:
        if column.kind == "list":
            yield (*above, column.name), column
    for column in columns:
        if column.kind == "list":
            yield from lists(column.items, (*above, column.name))
