"""The commits of a lake: what each adds to and takes out of all tables, and how it is carried out exactly once.

Delta has no commit over several tables. So a commit is first written down (`Change`), and then announced: an empty
commit of the table `files` takes the next number, which only one process gets. From then on it counts, and whoever
comes next carries it out, if the process that announced it does not live to: each table has the number of the last
commit that it is part of, and takes none twice. The table `files` comes last.
"""

from __future__ import annotations

import json
import time
from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from typing import Any

import pyarrow as pa

from thawline.lake.accounts import DATA, FILES, FINDINGS, column_of, documented
from thawline.lake.files import digest_of, has_rows_of, without
from thawline.lake.forms import create_table, open_table
from thawline.lake.place import LakeError, Place, parquet_reader
from thawline.lake.table import Conflict, Stored, Table, TableFile

__all__ = ["APP", "PATIENCE", "Change", "apply", "apply_to"]

APP = "thawline"
"""The application under which tables count the lake's commits."""
PATIENCE = 20
"""Times that a commit is tried again after another came first."""


@dataclass(frozen=True, slots=True)
class Change:
    """What a commit does."""

    adds: tuple[TableFile, ...] = ()
    stale: tuple[str, ...] = ()
    """Works whose rows are removed from all tables, by the values of `_work`."""
    renewed: tuple[str, ...] = ()
    """Works whose rows are replaced in the table `files` only."""
    facts: dict[str, Any] = field(default_factory=dict)
    """Facts about it for the history."""

    def to_json(self) -> bytes:
        """As JSON."""
        return json.dumps(asdict(self)).encode()

    @classmethod
    def from_json(cls, text: bytes) -> Change:
        """From JSON."""
        told = json.loads(text)
        adds = tuple(TableFile(**one) for one in told["adds"])
        return cls(adds, tuple(told["stale"]), tuple(told["renewed"]), told["facts"])

    @property
    def tables(self) -> set[str]:
        """The tables that it adds to."""
        return {one.table for one in self.adds}


def apply(place: Place, number: int, change: Change, versions: dict[str, int]) -> dict[str, int]:
    """Carry out a commit that counts, but for its last step; the version of each table afterwards."""
    tables = {f"{DATA}{name}" for name in place.listed(DATA)} if change.stale else set()
    after = dict(versions)
    for table in sorted({*tables, *change.tables, *(["findings"] if change.stale else [])} - {"files"}):
        after[table] = apply_to(place, table, number, change, change.stale)
    return after


def apply_to(
    place: Place, table: str, number: int, change: Change, stale: Collection[str], facts: dict[str, Any] | None = None
) -> int:
    """Carry out the part of a commit that is about one table, unless that was done; the version that has it."""
    adds = [one for one in change.adds if one.table == table]
    for attempt in range(PATIENCE):
        found = open_table(place, table) or (_created(place, table, adds) if adds else None)
        if found is None:
            return 0
        found.settle()
        if found.mark(APP) >= number:
            return found.version
        try:
            removes, again = _superseded(found, stale, number)
            if not (adds or removes or facts):
                return found.version
            _widened(found, adds)
            told = {"commit": number, **(facts or {})}
            found.commit([*adds, *again], removes, app=APP, number=number, facts=told)
        except (Conflict, FileNotFoundError):  # of plain folders, files go as soon as they are replaced
            time.sleep(min(0.05 * 2**attempt, 2))
    newest = open_table(place, table)
    if newest and newest.mark(APP) >= number:
        return newest.version
    raise LakeError(f"{table}: others commit to it all the time")


def _created(place: Place, table: str, adds: Sequence[TableFile]) -> Table:
    schema = schema_of(place, adds[0])
    return create_table(place, table, documented(table, schema), list(adds[0].partition), {})


def _widened(found: Table, adds: Iterable[TableFile]) -> None:
    """Add the columns that the added files are the first to have."""
    known = set(found.schema.names)
    for one in adds:
        schema = schema_of(found.place, one)
        if new := [column for column in schema if column.name not in known]:
            found.widen(documented(found.name, pa.schema(new)))
            known.update(column.name for column in new)


def schema_of(place: Place, file: TableFile) -> pa.Schema:
    """The schema of the rows of a file, its partitioning columns among them."""
    if fixed := {"files": FILES, "findings": FINDINGS}.get(file.table):
        return fixed
    staged = place.staged(file.name)
    with parquet_reader(place, staged if staged == file.name or place.exists(staged) else file.name) as reader:
        schema: pa.Schema = reader.schema_arrow.remove_metadata()
    for column in (name for name in file.partition if name not in schema.names):
        schema = schema.append(pa.field(column, pa.type_for_alias(file.types[column])))
    return schema


def _superseded(table: Table, stale: Collection[str], number: int) -> tuple[list[Stored], list[TableFile]]:
    """The files of a table that have rows of stale works, and those that take their place."""
    if not stale:
        return [], []
    column = column_of(table.name)
    names = sorted({work.partition(":")[2] for work in stale} if column == "_file" else stale)
    gone = pa.array(names, pa.string())
    removes = [one for one in _candidates(table, names, column) if _has_some(table, one, column, gone)]
    rewritten = partial(without, table.place, table=table.name, column=column, names=names)
    again = (rewritten(old, name=f"part-again-{number}-{digest_of([old.path, *names])}.parquet") for old in removes)
    return removes, [one for one in again if one]


def _has_some(table: Table, file: Stored, column: str, names: pa.Array) -> bool:
    return has_rows_of(table.place, table.name, file.path, column, names)


def _candidates(table: Table, names: list[str], column: str) -> Iterator[Stored]:
    """The files that may have rows of some names, by their statistics."""
    for one in table.files(column):
        if one.bounds is None:
            yield one
            continue
        first = bisect_left(names, one.bounds[0])
        if first < len(names) and names[first] <= one.bounds[1]:
            yield one
