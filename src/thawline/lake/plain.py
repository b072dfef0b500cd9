"""Plain folders of Parquet files, for readers that know nothing else, with a small log of our own beside them.

The log decides what counts, and is written as Delta's is: a version is a file that only one process can make. Files are
written elsewhere and moved to their places before the log has them, and those that they replace are removed after.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa

from thawline.errors import SourceError
from thawline.lake import packing
from thawline.lake.place import STAGED, LakeError, Place
from thawline.lake.table import Conflict, Documented, Stored, TableFile

__all__ = ["Plain"]

LOG = "_ingest/log"
CHECKPOINT = 50
"""Versions after which one says everything, so that no more have to be read."""


@dataclass(slots=True)
class Plain:
    """The newest version of a plain table."""

    place: Place
    name: str
    version: int
    told: dict[str, Any]
    """Its schema, columns that it is partitioned by, configuration and marks."""
    held: dict[str, Stored] = field(default_factory=dict)
    """Its files by path."""
    gone: tuple[str, ...] = ()
    """What the last commit has removed."""

    @classmethod
    def open(cls, place: Place, name: str, version: int | None = None) -> Plain | None:
        """The newest version of a table; an earlier one is refused, since its files are gone."""
        numbers = sorted(int(one.partition(".")[0]) for one in place.listed(f"{LOG}/{name}") if one.endswith(".json"))
        if not numbers:
            return None
        if version is not None and version < numbers[-1]:
            raise SourceError(f"{place}: plain folders keep no earlier versions; lakes of Delta and Iceberg do")
        first = numbers[-1] - numbers[-1] % CHECKPOINT
        found = cls(place, name, -1, {})
        for number in (one for one in numbers if one >= first):
            found.follow(number, json.loads(place.read(_entry(name, number))))
        return found

    @classmethod
    def create(
        cls, place: Place, name: str, documented: Documented, by: Sequence[str], facts: Mapping[str, str]
    ) -> Plain:
        """A new table, or the one that another process has made meanwhile."""
        told = {"doc": documented.doc, "by": list(by), "facts": dict(facts), "marks": {}}
        told["schema"] = documented.schema.serialize().to_pybytes().hex()
        with suppress(FileExistsError):  # made by another process
            place.create_whole(_entry(name, 0), json.dumps({"at": _now(), "told": told, "held": []}).encode())
        found = cls.open(place, name)
        if found is None:
            raise LakeError(f"{name}: was made and is not there")
        return found

    def follow(self, number: int, entry: Mapping[str, Any]) -> None:
        """Go on to a version."""
        self.version = number
        if "held" in entry:
            self.held = {one["path"]: _stored(one) for one in entry["held"]}
        else:
            for path in entry["removes"]:
                self.held.pop(path, None)
            self.held |= {one["path"]: _stored(one) for one in entry["adds"]}
        self.told = {**self.told, **entry.get("told", {})}
        self.gone = tuple(entry.get("removes", ()))

    @property
    def schema(self) -> pa.Schema:
        """Its columns."""
        return pa.ipc.read_schema(pa.py_buffer(bytes.fromhex(self.told["schema"])))

    @property
    def partitions(self) -> tuple[str, ...]:
        """Its partitioning columns."""
        return tuple(self.told["by"])

    @property
    def facts(self) -> dict[str, str]:
        """What its configuration says."""
        return dict(self.told["facts"])

    def mark(self, app: str) -> int:
        """The number of the last commit with the name of an application; 0 without one."""
        return int(self.told["marks"].get(app, 0))

    def files(self, named_by: str = "_file") -> list[Stored]:
        """The files of this version; bounds are those of the column that says where rows are from."""
        del named_by  # each table has one such column
        return list(self.held.values())

    def commit(
        self, adds: Sequence[TableFile], removes: Sequence[Stored], *, app: str, number: int, facts: Mapping[str, Any]
    ) -> None:
        """Add and remove files in one commit; `Conflict` if another came first."""
        marks = {**self.told["marks"], **({app: number} if app else {})}
        if self.place.exists(_entry(self.name, self.version + 1)):
            raise Conflict
        for one in adds:
            self.place.move(self.place.staged(one.name), one.name)
        self._say([_added(one, self.name) for one in adds], [one.path for one in removes], {"marks": marks}, {**facts})
        self.settle()

    def _say(
        self, adds: Sequence[Stored], removes: Sequence[str], told: Mapping[str, Any], facts: Mapping[str, Any]
    ) -> None:
        """Write the next version; `Conflict` if another process has."""
        entry: dict[str, Any] = {"at": _now(), "adds": [asdict(one) for one in adds], "removes": list(removes)}
        entry |= {"told": dict(told), "thawline": dict(facts)}
        after = replace(self, held=dict(self.held))
        after.follow(self.version + 1, entry)
        if not after.version % CHECKPOINT:
            entry |= {"told": after.told, "held": [asdict(one) for one in after.held.values()]}
        try:
            self.place.create_whole(_entry(self.name, after.version), json.dumps(entry).encode())
        except FileExistsError:
            raise Conflict from None
        self.version, self.told, self.held, self.gone = after.version, after.told, after.held, after.gone

    def settle(self) -> None:
        """Remove what the last commit has replaced."""
        for path in self.gone:
            self.place.remove(f"{self.name}/{path}")
        self.gone = ()

    def widen(self, documented: Documented) -> None:
        """Add the columns that a newer release gives; rows from before have null there."""
        schema = self.schema
        known = set(schema.names)
        for one in documented.schema:
            schema = schema if one.name in known else schema.append(one)
        self._say([], [], {"schema": schema.serialize().to_pybytes().hex()}, {})

    def pack(self, target: int) -> int:
        """Write small files again as large ones, in a commit of its own; how many are gone by it."""
        return packing.pack(self, target)

    def vacuum(self, hours: int) -> int:
        """Remove files that are part of no commit and older than some hours."""
        before = datetime.now(UTC) - timedelta(hours=hours)
        removed = 0
        for folder, known in ((self.name, self.held), (f"{STAGED}/{self.name}", {})):
            for path, _, changed in self.place.below(folder):
                if ".parquet" in path and path not in known and changed <= before:
                    self.place.remove(f"{folder}/{path}")
                    removed += 1
        return removed

    def history(self, limit: int | None = None) -> list[dict[str, Any]]:
        """What commits say of themselves, newest first."""
        numbers = range(self.version, -1, -1)[:limit]
        entries = [(number, json.loads(self.place.read(_entry(self.name, number)))) for number in numbers]
        return [
            {"version": number, "timestamp": one["at"], "thawline": one.get("thawline", {})} for number, one in entries
        ]


def _entry(name: str, number: int) -> str:
    return f"{LOG}/{name}/{number:010}.json"


def _now() -> int:
    return int(time.time() * 1000)


def _stored(one: Mapping[str, Any]) -> Stored:
    bounds = one["bounds"]
    return Stored(one["path"], one["size"], one["rows"], one["partition"], tuple(bounds) if bounds else None)


def _added(one: TableFile, table: str) -> Stored:
    """A file as the log has it, with the bounds of the column that says where its rows are from."""
    stats = json.loads(one.stats)
    column = "_file" if table.startswith("tables/") else "_work"
    least, most = stats["minValues"].get(column), stats["maxValues"].get(column)
    bounds = (least, most) if isinstance(least, str) and isinstance(most, str) else None
    return Stored(one.path, one.size, one.rows, dict(one.partition), bounds)
