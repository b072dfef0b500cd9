"""Public tables: the columns that users see, as `schemas/<format>.tables.yaml` declares them.

`make generate` writes them to `generated/tables/`. Schemas, pages and rows (`thawline.formats.building`) follow from
them.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from typing import Literal

import pyarrow as pa

Origin = Literal["field", "unit", "file", "value", "made"]
"""Where a column comes from: a field of the row on the wire, a column of the unit around it, a fact of the file or its
folder, a sum of fields, or code of the format."""

TYPES = {
    "bool": pa.bool_(),
    "int8": pa.int8(),
    "int16": pa.int16(),
    "int32": pa.int32(),
    "int64": pa.int64(),
    "double": pa.float64(),
    "string": pa.string(),
    "binary": pa.binary(),
    "timestamp": pa.timestamp("us", "UTC"),
    "timestamp_ns": pa.timestamp("ns", "UTC"),
}
"""Types by the word that declarations have for them. Spark has all of them but the last."""
DECIMAL = re.compile(r"decimal\((\d+), (\d+)\)")
LIST = re.compile(r"list<(.*)>")


@cache
def arrow_type(text: str) -> pa.DataType:
    """The Arrow type that a declaration means.

    >>> arrow_type("list<key: string, value: binary>")
    ListType(list<element: struct<key: string, value: binary>>)
    """
    if found := DECIMAL.fullmatch(text):
        return pa.decimal128(int(found[1]), int(found[2]))
    if found := LIST.fullmatch(text):
        items = [item.split(": ") for item in found[1].split(", ")]
        return pa.list_(pa.field("element", pa.struct([(name, arrow_type(kind)) for name, kind in items])))
    return TYPES[text]


@dataclass(frozen=True, slots=True)
class PublicColumn:
    """One column of a public table."""

    name: str
    type: str
    """As `arrow_type` reads it."""
    doc: str
    origin: Origin
    source: str
    """The field, column or fact that it is; a sum of fields; or, of what code makes, how."""
    of: tuple[str, ...] = ()
    """The fields of the row that a sum or code needs."""
    null: int | str | None = None
    """The number or text that stands for none."""
    timestamp: Literal["", "ms", "s"] = ""
    """What a timestamp counts on the wire."""
    since: int = 0
    """When it counts from, in seconds since 1970."""
    is_in_calendar: bool = False
    """Whether timestamps outside of the years 1 to 9999 are null."""
    is_extra: bool = False
    """Whether it is given only when it is requested by name."""

    @property
    def fields(self) -> tuple[str, ...]:
        """The fields of the row that it is made from."""
        return (self.source,) if self.origin == "field" else self.of

    @property
    def stored_type(self) -> pa.DataType:
        """The Arrow type before timestamps are made of numbers."""
        return pa.int64() if self.timestamp else arrow_type(self.type)


@dataclass(frozen=True, slots=True)
class Identity:
    """Which columns tell a row from others, and which only say where it lies."""

    key: tuple[str, ...] = ()
    """The columns that identify a row for the owner of the format; empty where nothing is declared."""
    place: frozenset[str] = frozenset()
    """Columns that, unless they are of the key, may differ while the row is the same: they say where it was found."""
    facts: frozenset[str] = frozenset()
    """Columns that are facts of a file or its folder. Where all rows have the same, they tell no row from another."""

    def by(self, key: tuple[str, ...]) -> Identity:
        """The same with another key."""
        return Identity(key, self.place, self.facts)

    def without(self, columns: frozenset[str]) -> Identity:
        """The same without some columns."""
        key = tuple(name for name in self.key if name not in columns)
        return Identity(key, self.place - columns, self.facts - columns)


@dataclass(frozen=True, eq=False)
class PublicTable:
    """A table that users see: its columns in order, extras last."""

    name: str
    doc: str
    columns: tuple[PublicColumn, ...]
    key: tuple[str, ...] = ()
    """The columns that identify a row."""
    place: tuple[str, ...] = ()
    """The columns that say where a row lies, besides facts of files."""

    @cached_property
    def schema(self) -> pa.Schema:
        """The columns that are given unless others are requested."""
        return _schema(column for column in self.columns if not column.is_extra)

    @cached_property
    def extras(self) -> pa.Schema:
        """The columns that are given only when they are requested by name."""
        return _schema(column for column in self.columns if column.is_extra)

    @cached_property
    def identity(self) -> Identity:
        """What tells a row from others."""
        facts = frozenset(column.name for column in self.columns if column.origin == "file")
        return Identity(self.key, facts.union(self.place), facts)

    def column(self, name: str) -> PublicColumn:
        """The column of a name."""
        return next(column for column in self.columns if column.name == name)

    def fields(self, wanted: Collection[str]) -> frozenset[str]:
        """The fields of the row that the wanted columns are made from."""
        return frozenset(field for column in self.columns if column.name in wanted for field in column.fields)

    def projected(self, wanted: Collection[str]) -> Projection:
        """The wanted columns, in the table's order."""
        return _projected(self, frozenset(wanted))


@dataclass(frozen=True, slots=True)
class Projection:
    """Some columns of a table, and their schema."""

    columns: tuple[PublicColumn, ...]
    schema: pa.Schema


@lru_cache(maxsize=256)
def _projected(table: PublicTable, wanted: frozenset[str]) -> Projection:
    columns = tuple(column for column in table.columns if column.name in wanted)
    return Projection(columns, _schema(columns))


def _schema(columns: Iterator[PublicColumn] | tuple[PublicColumn, ...]) -> pa.Schema:
    return pa.schema([(column.name, arrow_type(column.type)) for column in columns])
