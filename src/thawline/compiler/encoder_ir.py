"""The intermediate form of an encoder: what a row measures and checks, and what it then writes.

Values, assignments, checks, conditions and loops are those of kernels (`ir`).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from thawline.compiler import ir
from thawline.engine.tables import Column, Failure

Number = Literal["zigzag", "decimal"]
"""Numbers whose size depends on their value."""
Slice = Literal["binary", "text", "escaped", "base64"]
"""How the bytes of a column are written."""


@dataclass(frozen=True, slots=True)
class Load:
    """The number of the current row; 0 where it is null or the column is not given."""

    target: ir.Variable
    rows: ir.Rows
    column: Column


@dataclass(frozen=True, slots=True)
class LoadGiven:
    """Whether the current row has a number."""

    target: ir.Variable
    rows: ir.Rows
    column: Column


@dataclass(frozen=True, slots=True)
class LoadLength:
    """How many bytes the current row has; `missing` where they are null or the column is not given."""

    target: ir.Variable
    rows: ir.Rows
    column: Column
    missing: int = -1


@dataclass(frozen=True, slots=True)
class LoadCount:
    """How many items the list of the current row has."""

    target: ir.Variable
    items: ir.Rows


@dataclass(frozen=True, slots=True)
class MeasureNumber:
    """How many bytes a number takes."""

    target: ir.Variable
    coding: Number
    value: ir.Value


@dataclass(frozen=True, slots=True)
class MeasureSlice:
    """How many bytes the value of a column takes."""

    target: ir.Variable
    rows: ir.Rows
    column: Column
    length: ir.Value


@dataclass(frozen=True, slots=True)
class FindByte:
    """Whether a byte is in the value of a column, and would end it; in a token, only one without escapes."""

    target: ir.Variable
    rows: ir.Rows
    column: Column
    length: ir.Value
    byte: ir.Value


@dataclass(frozen=True, slots=True)
class Compare:
    """Whether the value of a column is one of some words."""

    target: ir.Variable
    rows: ir.Rows
    column: Column
    length: ir.Value
    words: tuple[bytes, ...]


@dataclass(frozen=True, slots=True)
class Search:
    """Statements that are repeated with the next value of a variable, up to `most`, until a condition holds."""

    variable: ir.Variable
    most: int
    body: list[Statement] = field(default_factory=list)
    condition: list[ir.Value] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Items:
    """Statements for each item of the current row's list."""

    rows: ir.Rows
    body: list[Statement] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class PutInteger:
    """Write an integer of a fixed size."""

    value: ir.Value
    size: int
    is_big_endian: bool
    is_determined: bool = False
    """Whether it follows from the spec and the parts of a frame, but for a checksum."""


@dataclass(frozen=True, slots=True)
class PutNumber:
    """Write a number whose size depends on its value; a decimal number is followed by its terminator."""

    coding: Number
    value: ir.Value
    terminator: int = 0


@dataclass(frozen=True, slots=True)
class PutContents:
    """Write bytes that the spec fixes."""

    contents: bytes


@dataclass(frozen=True, slots=True)
class PutSlice:
    """Write the value of a column, or zeros where it is not given, and the terminator after it, if it has one."""

    rows: ir.Rows
    column: Column
    length: ir.Value
    terminator: ir.Value | None = None
    is_part: bool = False
    """Whether a frame leaves it to its caller to write it."""


@dataclass(frozen=True, slots=True)
class Mark:
    """Keep the position."""

    target: ir.Variable


@dataclass(frozen=True, slots=True)
class PutChecksum:
    """Compute a checksum of bytes that are written, and write it at a position before."""

    algorithm: Literal["crc32", "crc32c"]
    start: ir.Value
    end: ir.Value
    at: ir.Variable
    size: int
    is_big_endian: bool


Own = (
    Load | LoadGiven | LoadLength | LoadCount | MeasureNumber | MeasureSlice | FindByte | Compare | Search | Items
    | PutInteger | PutNumber | PutContents | PutSlice | Mark | PutChecksum
)  # fmt: skip
Statement = ir.Statement | Own


@dataclass(frozen=True, slots=True)
class Refusable:
    """What an encoder refuses a row for: a field, and its rule."""

    field: str
    rule: str
    spec: str
    path: str


@dataclass(frozen=True, slots=True)
class Encoder:
    """A type's encoder: what it is given, and what a row measures, checks and writes."""

    name: str
    spec: str
    columns: tuple[Column, ...]
    hidden: tuple[tuple[str, ...], ...]
    """Paths of columns that may be missing, because no table has them."""
    measured: list[Statement]
    size: ir.Value
    written: list[Statement]
    variables: tuple[str, ...]
    rules: dict[Failure, Refusable]
    is_whole: bool = False
    """Whether a frame has no parts: all bytes are written."""
