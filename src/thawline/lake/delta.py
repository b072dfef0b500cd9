"""A Delta table: its files, and commits of adds and removes that count as a whole or not at all.

Commits are made by delta-rs on the driver; tasks only write Parquet files beside the log. A commit carries the number
of the lake's commit under the name of an application. delta-rs refuses a second commit with that name from the same
version of a table, and it refuses a remove of what is removed already: that is what makes a commit happen once.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import pyarrow as pa

from thawline.errors import MissingExtra, SourceError
from thawline.lake import packing
from thawline.lake.place import LakeError, Place
from thawline.lake.table import Conflict, Documented, Stored, TableFile
from thawline.wording import is_utf8

if TYPE_CHECKING:
    from deltalake import DeltaTable

__all__ = ["Delta"]

ESCAPED = re.compile("%[0-9A-Fa-f]{2}")

KEPT_LOG = {"delta.logRetentionDuration": "interval 3650 days"}
"""Earlier versions stay readable until `vacuum` removes their files."""


def _deltalake() -> Any:
    try:
        import deltalake  # noqa: PLC0415 - optional
    except ImportError:
        raise MissingExtra("lakes are Delta tables, and deltalake is missing: `pip install 'thawline[lake]'`") from None
    return deltalake


@contextmanager
def _explained(name: str) -> Iterator[None]:
    """Raise errors of delta-rs as ours."""
    errors = _deltalake().exceptions
    try:
        yield
    except errors.CommitFailedError as error:
        raise Conflict(str(error)) from error
    except (errors.DeltaError, OSError) as error:
        why = os.strerror(error.errno) if isinstance(error, OSError) and error.errno else str(error)
        first = next(iter(why.splitlines()), "") or type(error).__name__
        raise LakeError(f"{name}: {first}") from error


@dataclass(slots=True)
class Delta:
    """A version of a Delta table."""

    place: Place
    name: str
    delta: DeltaTable

    @classmethod
    def open(cls, place: Place, name: str, version: int | None = None) -> Delta | None:
        """The newest version of a table, or an earlier one; None if there is no such table."""
        deltalake, uri = _deltalake(), _uri(place, name)
        with _explained(name):
            try:
                return cls(place, name, deltalake.DeltaTable(uri, version, storage_options=place.storage))
            except deltalake.exceptions.TableNotFoundError:
                return None

    @classmethod
    def create(
        cls, place: Place, name: str, documented: Documented, by: Sequence[str], facts: Mapping[str, str]
    ) -> Delta:
        """A new table, or the one that another process has made meanwhile."""
        uri = _uri(place, name)
        try:
            with _explained(name):
                _deltalake().DeltaTable.create(
                    uri,
                    documented.schema,
                    mode="ignore",
                    partition_by=list(by),
                    name=name.rpartition("/")[2],
                    description=documented.doc or None,
                    configuration={**KEPT_LOG, **facts},
                    storage_options=place.storage,
                    raise_if_key_not_exists=False,
                )
        except (Conflict, LakeError):
            if not (found := cls.open(place, name)):
                raise
            return found
        made = cls.open(place, name)
        if made is None:
            raise LakeError(f"{name}: was made and is not there")
        return made

    @property
    def version(self) -> int:
        """The number of this version."""
        return self.delta.version()

    @property
    def schema(self) -> pa.Schema:
        """Its columns."""
        return pa.schema(self.delta.schema().to_arrow())

    @property
    def partitions(self) -> tuple[str, ...]:
        """Its partitioning columns."""
        return tuple(self.delta.metadata().partition_columns)

    @property
    def facts(self) -> dict[str, str]:
        """What its configuration says."""
        return {key: value for key, value in self.delta.metadata().configuration.items() if value is not None}

    def mark(self, app: str) -> int:
        """The number of the last commit with the name of an application; 0 without one."""
        with _explained(self.name):
            return self.delta.transaction_version(app) or 0

    def files(self, named_by: str = "_file") -> list[Stored]:
        """The files of this version; `named_by` is the column that says where rows are from."""
        prefix = "partition."
        with _explained(self.name):
            found = pa.RecordBatchReader.from_stream(self.delta.get_add_actions(flatten=True)).read_all()
        wanted = {"path", "size_bytes", "num_records", f"min.{named_by}", f"max.{named_by}"}
        names = [name for name in found.schema.names if name in wanted or name.startswith(prefix)]
        rows = found.select(names).to_pylist()
        return [
            Stored(
                unquote(row["path"]),
                row["size_bytes"],
                row["num_records"] or 0,
                {key.removeprefix(prefix): _text(row[key]) for key in row if key.startswith(prefix)},
                _bounds(row.get(f"min.{named_by}"), row.get(f"max.{named_by}")),
            )
            for row in rows
        ]

    def commit(
        self,
        adds: Sequence[TableFile],
        removes: Sequence[Stored],
        *,
        app: str,
        number: int,
        facts: Mapping[str, Any],
    ) -> None:
        """Add and remove files in one commit; `Conflict` if an earlier one excludes this one."""
        from deltalake import CommitProperties  # noqa: PLC0415 - optional
        from deltalake.transaction import AddAction, RemoveAction, Transaction  # noqa: PLC0415 - optional

        now = int(time.time() * 1000)
        marks = [Transaction(app, number)] if app else []
        properties = CommitProperties(app_transactions=marks, custom_metadata={"thawline": dict(facts)})
        is_new = bool(app)  # else the rows are in other files now, which is no change to who follows the table
        actions: list[AddAction | RemoveAction] = [
            *(AddAction(one.path, one.size, dict(one.partition), now, is_new, one.stats) for one in adds),
            *(RemoveAction(path=one.path, data_change=is_new, deletion_timestamp=now) for one in removes),
        ]
        with _explained(self.name):
            self.delta.create_write_transaction(
                actions, "append", self.delta.schema(), list(self.partitions), commit_properties=properties
            )

    def widen(self, documented: Documented) -> None:
        """Add the columns of a newer release; earlier rows have null there."""
        import deltalake  # noqa: PLC0415 - optional

        known = set(self.schema.names)
        new = [one for one in deltalake.Schema.from_arrow(documented.schema).fields if one.name not in known]
        if new:
            with _explained(self.name):
                self.delta.alter.add_columns(new)
                self.delta.update_incremental()

    def settle(self) -> None:
        """Nothing: a commit is a single step."""

    def pack(self, target: int) -> int:
        """Rewrite small files as large ones, in a commit of its own; returns how many fewer there are."""
        return packing.pack(self, target)

    def vacuum(self, hours: int) -> int:
        """Remove files that no version younger than some hours needs, and files that no version ever had."""
        with _explained(self.name):
            return len(self.delta.vacuum(hours, dry_run=False, enforce_retention_duration=False, full=True))

    def history(self, limit: int | None = None) -> list[dict[str, Any]]:
        """What commits say of themselves, newest first; those of the lake have facts under `thawline`."""
        with _explained(self.name):
            return self.delta.history(limit)


def _text(value: Any) -> str | None:
    """A value of a partitioning column as the log has it."""
    return str(value).lower() if isinstance(value, bool) else None if value is None else str(value)


def _uri(place: Place, name: str) -> str:
    """Where a table is; `SourceError` if delta-rs does not find it there again."""
    if not is_utf8(place.root) or ESCAPED.search(place.root):
        why = "whose name has a % before two hexadecimal digits, or is not UTF-8"
        raise SourceError(f"{place}: tables of Delta cannot lie in a folder {why}; choose another folder")
    return place.uri(name)


def _bounds(least: Any, most: Any) -> tuple[str, str] | None:
    return (least, most) if isinstance(least, str) and isinstance(most, str) else None
