"""What an encoder is given: its columns, and the arrays of each as native code takes them.

The compiler derives them from the specs, and `generated/encoders/tables.py` lists them. `encoding` calls the encoders.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from thawline.engine.tables import SLICES, TYPECODES, Column

Path = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Refusal:
    """A rule that a row breaks: the field, the rule, and its place in the spec."""

    field: str
    rule: str
    spec: str
    path: str


@dataclass(frozen=True, slots=True)
class Encoder:
    """An encoder: the spec type whose occurrences it writes, what it is given, and what it refuses."""

    name: str
    spec: str
    columns: tuple[Column, ...]
    refusals: tuple[Refusal, ...]
    hidden: tuple[Path, ...] = ()
    """Columns that no table has. They may be missing: then they are zero, or empty."""
    sizes: tuple[str, ...] = ()
    """Of the encoder of a single structure: parts that are given by their size."""
    determined: tuple[tuple[int, int], ...] = ()
    """Of the same: bytes before the first part that follow from the spec and the parts, but for a checksum."""


@dataclass(frozen=True, slots=True)
class Argument:
    """An array, or a number, that is part of a column."""

    path: Path
    part: str
    typecode: str
    """Of the array's elements; empty for a number."""

    @property
    def name(self) -> str:
        """The name of the parameter."""
        return "__".join(("column", *self.path, self.part))


def has_tokens(columns: tuple[Column, ...]) -> bool:
    """Whether some values are tokens, which have escapes."""
    return any(column.kind == "escaped" or has_tokens(column.items) for column in columns)


def arguments(columns: tuple[Column, ...], above: Path = ()) -> Iterator[Argument]:
    """The arrays that an encoder takes, in their order; those of a list's items come last."""
    for column in columns:
        path = (*above, column.name)
        if column.kind in SLICES or column.kind == "list":
            yield Argument(path, "start", "i")
        else:
            yield Argument(path, "value", TYPECODES[column.kind])
        if column.kind in SLICES:
            yield Argument(path, "data", "B")
        if column.nullable:
            yield from (Argument(path, "valid", "B"), Argument(path, "first", ""))
    for column in columns:
        if column.kind == "list":
            yield from arguments(column.items, (*above, column.name))
