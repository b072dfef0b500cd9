"""A table of a lake, in whichever form it is kept: its files, and commits that count as a whole or not at all.

A commit carries the number of the lake's commit under the name of an application (`mark`), and a table takes none
twice, whoever carries it out. What a form cannot do, such as reading an earlier version, it says.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import pyarrow as pa

from thawline.lake.place import Place

__all__ = ["Conflict", "Documented", "Stored", "Table", "TableFile", "TableForm"]


class Conflict(Exception):
    """Another commit came first."""


@dataclass(frozen=True, slots=True)
class TableFile:
    """A Parquet file that was written for a table and is to be committed."""

    table: str
    """The folder of the table, such as `tables/rbf_frames`."""
    path: str
    """Relative to that folder."""
    size: int
    rows: int
    partition: Mapping[str, str | None]
    """Values of the partitioning columns."""
    stats: str
    """As Delta's log has them, in JSON."""
    types: Mapping[str, str] = field(default_factory=dict)
    """Types of the partitioning columns."""

    @property
    def name(self) -> str:
        """Its place below the lake, once it is committed."""
        return f"{self.table}/{self.path}"


@dataclass(frozen=True, slots=True)
class Stored:
    """A file that is part of a version of a table."""

    path: str
    size: int
    rows: int
    partition: Mapping[str, str | None]
    bounds: tuple[str, str] | None
    """Least and greatest name in the column that says where rows are from; None if they are not known."""


@dataclass(frozen=True, slots=True)
class Documented:
    """The schema of a table, with what it and its columns mean."""

    schema: pa.Schema
    doc: str = ""

    @classmethod
    def of(cls, schema: pa.Schema, doc: str, meanings: Mapping[str, str]) -> Documented:
        """A schema whose columns have their meanings as comments, as Spark and Databricks show them."""
        fields = [
            one.with_metadata({"comment": meanings[one.name]}) if meanings.get(one.name) else one for one in schema
        ]
        return cls(pa.schema(fields), doc)


class Table(Protocol):
    """A version of a table."""

    place: Place
    name: str

    @property
    def version(self) -> int:
        """The number of this version."""

    @property
    def schema(self) -> pa.Schema:
        """Its columns."""

    @property
    def partitions(self) -> tuple[str, ...]:
        """Its partitioning columns."""

    @property
    def facts(self) -> dict[str, str]:
        """What its configuration says."""

    def mark(self, app: str) -> int:
        """The number of the last commit with the name of an application; 0 without one."""

    def files(self, named_by: str = "_file") -> list[Stored]:
        """The files of this version; `named_by` is the column that says where rows are from."""

    def commit(
        self,
        adds: Sequence[TableFile],
        removes: Sequence[Stored],
        *,
        app: str,
        number: int,
        facts: Mapping[str, Any],
    ) -> None:
        """Add and remove files in one commit; `Conflict` if another came first that this one does not go with."""

    def settle(self) -> None:
        """Finish what a process that died has left of the last commit, where a commit takes several steps."""

    def widen(self, documented: Documented) -> None:
        """Add the columns that a newer release gives; rows from before have null there."""

    def pack(self, target: int) -> int:
        """Write small files again as large ones, in a commit of its own; how many are gone by it."""

    def vacuum(self, hours: int) -> int:
        """Remove files that no version younger than some hours needs, and files that no version ever had."""

    def history(self, limit: int | None = None) -> list[dict[str, Any]]:
        """What commits say of themselves, newest first; those of the lake have facts under `thawline`."""


class TableForm(Protocol):
    """How tables of a form are found and made."""

    @classmethod
    def open(cls, place: Place, name: str, version: int | None = None) -> Table | None:
        """The newest version of a table, or an earlier one; None if there is no such table."""

    @classmethod
    def create(
        cls, place: Place, name: str, documented: Documented, by: Sequence[str], facts: Mapping[str, str]
    ) -> Table:
        """A new table, or the one that another process has made meanwhile."""
