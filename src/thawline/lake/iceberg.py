"""Tables of Apache Iceberg, which a catalog finds; committed by pyiceberg on the driver.

A snapshot is committed against the one that it was made from, so the second of two commits is refused. The numbers of
the lake's commits are properties of a table, changed with the snapshot.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import TYPE_CHECKING, Any, cast

import pyarrow as pa

from thawline.errors import MissingExtra, SourceError
from thawline.lake import packing
from thawline.lake.place import LakeError, Place
from thawline.lake.table import Conflict, Documented, Stored, TableFile

try:
    import pyiceberg  # noqa: F401 - checked once, for all of the module
except ImportError:
    raise MissingExtra(
        "tables of Iceberg need pyiceberg, which is missing: `pip install 'thawline[iceberg]'`"
    ) from None

if TYPE_CHECKING:
    from pyiceberg.catalog import Catalog
    from pyiceberg.manifest import DataFile
    from pyiceberg.table import Table as Found
    from pyiceberg.types import PrimitiveType

__all__ = ["Iceberg"]

NAMES = ("_file", "_work")
"""Columns by whose bounds the rows of a file are found."""
ONCE = {"commit.retry.num-retries": "0", **{f"write.metadata.metrics.column.{name}": "full" for name in NAMES}}
"""A commit that another has come before is not repeated unseen: the lake decides that."""
TRIES = 10
SCHEMES = {"sqlite": "sql", "postgresql": "sql", "postgresql+psycopg2": "sql", "http": "rest", "https": "rest"}
"""Kinds of catalogs by the scheme of their URI."""


@contextmanager
def _explained(name: str) -> Iterator[None]:
    """Raise errors of pyiceberg, of its catalog and of its files as ours."""
    from pyiceberg import exceptions  # noqa: PLC0415 - slow to import

    refused = (exceptions.CommitFailedException, exceptions.CommitStateUnknownException, exceptions.ValidationException)
    try:
        yield
    except refused as error:
        raise Conflict(str(error)) from error
    except (exceptions.NoSuchTableError, exceptions.TableAlreadyExistsError, LakeError, SourceError):
        raise
    except Exception as error:
        if "database is locked" in str(error):
            raise Conflict(str(error)) from error
        first = next(iter(str(error).splitlines()), "") or type(error).__name__
        raise LakeError(f"{name}: {first}") from error


@lru_cache(maxsize=4)
def _catalog(place: Place) -> Catalog:
    """The catalog of a lake: one of pyiceberg's configuration, by its name, or one at a URI."""
    from pyiceberg.catalog import load_catalog  # noqa: PLC0415 - slow to import

    settings = {} if "://" not in place.catalog else {"uri": place.catalog, "type": _kind_of(place.catalog)}
    if place.storage:
        settings |= {"s3.endpoint": place.storage.get("AWS_ENDPOINT_URL", "")}
    name = "thawline" if "uri" in settings else place.catalog
    with _explained(place.catalog):
        found = load_catalog(name, **{key: value for key, value in settings.items() if value})
        found.create_namespace_if_not_exists(_namespace(place))
        return found


def _kind_of(uri: str) -> str:
    scheme = uri.partition(":")[0]
    if scheme not in SCHEMES:
        raise SourceError(f"{uri}: is no catalog; there are {', '.join(SCHEMES)}, and names of pyiceberg's catalogs")
    return SCHEMES[scheme]


def _namespace(place: Place) -> str:
    """The namespace of a lake: the last part of its name."""
    return re.sub(r"\W+", "_", place.root.rpartition("/")[2]) or "lake"


def _identifier(place: Place, name: str) -> tuple[str, str]:
    return _namespace(place), name.rpartition("/")[2]


@dataclass(slots=True)
class Iceberg:
    """A version of a table of Iceberg."""

    place: Place
    name: str
    found: Found
    at: int | None = None
    """The snapshot of an earlier version."""
    _held: dict[str, DataFile] = field(default_factory=dict)
    """Its files as the manifests have them, by path."""

    @classmethod
    def open(cls, place: Place, name: str, version: int | None = None) -> Iceberg | None:
        """The newest version of a table, or an earlier one; None if there is no such table."""
        from pyiceberg.exceptions import NoSuchTableError  # noqa: PLC0415 - slow to import

        try:
            with _explained(name):
                found = _catalog(place).load_table(_identifier(place, name))
        except NoSuchTableError:
            return None
        if found.location().rstrip("/") != place.uri(name):
            raise SourceError(
                f"{place}: the catalog {place.catalog} has tables {_namespace(place)}.* that lie at "
                f"{found.location()}; give the lake another name"
            )
        return cls(place, name, found, version or None)

    @classmethod
    def create(
        cls, place: Place, name: str, documented: Documented, by: Sequence[str], facts: Mapping[str, str]
    ) -> Iceberg:
        """A new table, or the one that another process has made meanwhile."""
        from pyiceberg.exceptions import TableAlreadyExistsError  # noqa: PLC0415 - slow to import

        schema, spec = _schemas(documented, by)
        properties = {"comment": documented.doc, **ONCE, **facts}
        try:
            with _explained(name):
                _catalog(place).create_table(
                    _identifier(place, name), schema, place.uri(name), partition_spec=spec, properties=properties
                )
        except (TableAlreadyExistsError, Conflict):
            pass  # made by another process
        made = cls.open(place, name)
        if made is None:
            raise LakeError(f"{name}: was made and is not there")
        return made

    @property
    def version(self) -> int:
        """The number of its snapshot; 0 without one."""
        newest = self.found.metadata.current_snapshot_id
        return self.at or newest or 0

    @property
    def schema(self) -> pa.Schema:
        """Its columns."""
        return _plain_types(self.found.schema().as_arrow())

    @property
    def partitions(self) -> tuple[str, ...]:
        """Its partitioning columns."""
        return tuple(one.name for one in self.found.spec().fields)

    @property
    def facts(self) -> dict[str, str]:
        """What its properties say."""
        return dict(self.found.properties)

    def mark(self, app: str) -> int:
        """The number of the last commit with the name of an application; 0 without one."""
        return int(self.found.properties.get(_mark(app), 0))

    def files(self, named_by: str = "_file") -> list[Stored]:
        """The files of this version; `named_by` is the column that says where rows are from."""
        with _explained(self.name):
            self._held = {self._path(one.file_path): one for one in _data_files(self.found, self.at)}
        return [_stored(self.found, path, one, named_by) for path, one in self._held.items()]

    def _path(self, uri: str) -> str:
        return uri.removeprefix(self.found.location().rstrip("/") + "/")

    def commit(
        self, adds: Sequence[TableFile], removes: Sequence[Stored], *, app: str, number: int, facts: Mapping[str, Any]
    ) -> None:
        """Add and remove files in one commit; `Conflict` if another came first."""
        from pyiceberg.io.pyarrow import parquet_files_to_data_files  # noqa: PLC0415 - slow to import

        with _explained(self.name):
            change = self.found.transaction()
            named = {"schema.name-mapping.default": self.found.schema().name_mapping.model_dump_json()}
            change.set_properties({**named, **({_mark(app): str(number)} if app else {})})
            update = change.update_snapshot({"thawline": json.dumps(dict(facts))})
            with update.overwrite() if removes else update.fast_append() as snapshot:
                paths = (self.place.uri(one.name) for one in adds)
                for one in parquet_files_to_data_files(self.found.io, change.table_metadata, paths):
                    snapshot.append_data_file(one)
                for stored in removes:
                    snapshot.delete_data_file(self._held[stored.path])
            self.found = change.commit_transaction()

    def settle(self) -> None:
        """Nothing: a commit is a single step."""

    def widen(self, documented: Documented) -> None:
        """Add the columns that a newer release gives; rows from before have null there."""
        schema, _ = _schemas(documented, ())
        known = set(self.schema.names)
        with _explained(self.name), self.found.update_schema() as update:
            for one in schema.fields:
                if one.name not in known:
                    update.add_column(one.name, one.field_type, one.doc)

    def pack(self, target: int) -> int:
        """Write small files again as large ones, in a commit of its own; how many are gone by it."""
        return packing.pack(self, target)

    def vacuum(self, hours: int) -> int:
        """Forget snapshots older than some hours, and remove files that no other needs."""
        before = datetime.now(UTC) - timedelta(hours=hours)
        self._expire(before)
        with _explained(self.name):
            self.found.refresh()
            kept = [one.snapshot_id for one in self.found.metadata.snapshots]
            live = {self._path(one.file_path) for at in kept for one in _data_files(self.found, at)}
        gone = [
            path
            for path, _, changed in self.place.below(self.name)
            if ".parquet" in path and path not in live and changed <= before
        ]
        for path in gone:
            self.place.remove(f"{self.name}/{path}")
        return len(gone)

    def _expire(self, before: datetime) -> None:
        """Forget older snapshots, again where another commit came first."""
        for _ in range(TRIES):
            try:
                with _explained(self.name):
                    self.found.maintenance.expire_snapshots().older_than(before.replace(tzinfo=None)).commit()
            except Conflict:
                self.found.refresh()
            else:
                return
        raise LakeError(f"{self.name}: others commit to it all the time; try again when no ingest is running")

    def history(self, limit: int | None = None) -> list[dict[str, Any]]:
        """What snapshots say of themselves, newest first."""
        newest = sorted(self.found.metadata.snapshots, key=lambda one: one.sequence_number or 0, reverse=True)
        return [
            {"version": one.snapshot_id, "timestamp": one.timestamp_ms, "thawline": _said(one)}
            for one in newest[:limit]
        ]


def _mark(app: str) -> str:
    return f"thawline.mark.{app.replace(' ', '-')}"


def _said(snapshot: Any) -> dict[str, Any]:
    said = snapshot.summary.additional_properties.get("thawline") if snapshot.summary else None
    found: dict[str, Any] = json.loads(said) if said else {}
    return found


def _schemas(documented: Documented, by: Sequence[str]) -> tuple[Any, Any]:
    """The schema of a table, and how it is partitioned, as Iceberg has them."""
    from pyiceberg.catalog import Catalog  # noqa: PLC0415 - slow to import
    from pyiceberg.partitioning import PartitionField, PartitionSpec  # noqa: PLC0415 - as above
    from pyiceberg.schema import assign_fresh_schema_ids  # noqa: PLC0415 - as above
    from pyiceberg.transforms import IdentityTransform  # noqa: PLC0415 - as above

    fields = [
        pa.field(one.name, one.type, metadata={"doc": one.metadata[b"comment"]} if one.metadata else None)
        for one in documented.schema
    ]
    schema = assign_fresh_schema_ids(Catalog._convert_schema_if_needed(pa.schema(fields)))  # noqa: SLF001 - no other way
    numbers = {one.name: one.field_id for one in schema.fields}
    parts = [
        PartitionField(numbers[name], 1000 + index, IdentityTransform(), name)
        for index, name in enumerate(by)
        if name in numbers
    ]
    return schema, PartitionSpec(*parts)


def _data_files(found: Found, at: int | None) -> Iterator[DataFile]:
    """The files of a snapshot, by default of the newest."""
    snapshot = found.snapshot_by_id(at) if at else found.current_snapshot()
    for manifest in snapshot.manifests(found.io) if snapshot else ():
        for entry in manifest.fetch_manifest_entry(found.io, discard_deleted=True):
            yield entry.data_file


def _stored(found: Found, path: str, one: DataFile, named_by: str) -> Stored:
    least, most = (_bound(found, named_by, bounds or {}) for bounds in (one.lower_bounds, one.upper_bounds))
    partition = {part.name: _text(one.partition[index]) for index, part in enumerate(found.spec().fields)}
    bounds = (least, most) if isinstance(least, str) and isinstance(most, str) else None
    return Stored(path, one.file_size_in_bytes, one.record_count, partition, bounds)


def _bound(found: Found, name: str, bounds: Mapping[int, bytes]) -> Any:
    """The bound of a column of a file; None if it is not known."""
    from pyiceberg.conversions import from_bytes  # noqa: PLC0415 - slow to import

    column = next((one for one in found.schema().fields if one.name == name), None)
    if column is None or column.field_id not in bounds:
        return None
    return from_bytes(cast("PrimitiveType", column.field_type), bounds[column.field_id])


def _text(value: Any) -> str | None:
    return None if value is None else str(value)


def _plain_types(schema: pa.Schema) -> pa.Schema:
    """Columns with the types that the files have: pyiceberg makes all text large."""
    fields = [pa.field(one.name, _plain_type(one.type), one.nullable) for one in schema]
    return pa.schema(fields)


def _plain_type(found: pa.DataType) -> pa.DataType:
    if pa.types.is_large_string(found):
        return pa.string()
    if pa.types.is_large_binary(found):
        return pa.binary()
    if pa.types.is_large_list(found) or pa.types.is_list(found):
        return pa.list_(_plain_type(found.value_type))
    if pa.types.is_struct(found):
        return pa.struct([pa.field(one.name, _plain_type(one.type), one.nullable) for one in found])
    if pa.types.is_map(found):
        return pa.map_(_plain_type(found.key_type), _plain_type(found.item_type))
    return found
