"""A lake: tables of rows, `findings` and `files`, in a folder or a bucket, which several processes may write to."""

from __future__ import annotations

import os
import secrets
import time
from base64 import b64decode
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from thawline.errors import SourceError
from thawline.lake.accounts import DATA, FILES, FINDINGS, documented
from thawline.lake.commits import APP, PATIENCE, Change, apply, apply_to
from thawline.lake.files import FileWriter, new_name
from thawline.lake.forms import chosen, create_table, known, open_table
from thawline.lake.place import LakeError, Place, parquet_reader
from thawline.lake.table import Conflict, Table, TableFile

__all__ = ["Entry", "Lake", "Overtaken", "State", "exact_path", "exact_work", "snapshot"]

EDITION = "2"
NEXT = "thawline announced"
"""The application under which the table `files` counts the commits that are announced."""
OWN = "_ingest"
PENDING = f"{OWN}/commits"
FORMER = ("about.json", "journal")
"""What lakes of the first edition have in their folder."""


class Overtaken(Exception):
    """Another process has taken in some of the same files meanwhile."""

    def __init__(self, works: frozenset[str]) -> None:
        super().__init__(works)
        self.works = works


@dataclass(frozen=True, slots=True)
class Entry:
    """What a lake knows of a work: a file, or a folder as a whole."""

    signature: str
    has_rows: bool
    """Whether tables may have rows of it."""


@dataclass(frozen=True, slots=True)
class State:
    """What a lake knows after a commit."""

    number: int = 0
    works: dict[str, Entry] = field(default_factory=dict)
    """By key, as the file system spells it."""
    versions: Mapping[str, int] = field(default_factory=dict)
    """The version of every table but `files`."""


@dataclass(slots=True)
class Lake:
    """The lake at a place."""

    place: Place
    by: tuple[str, ...] = ()
    """Columns by which tables are partitioned, where they have them."""
    run: str = field(default_factory=lambda: secrets.token_hex(4))
    announced: set[str] = field(default_factory=set)
    """Files of this run that are part of a commit that counts."""
    written: set[str] = field(default_factory=set)
    """Files of this run that its tasks have reported."""
    _state: State | None = None

    @classmethod
    def open(
        cls,
        to: str | os.PathLike[str],
        by: Sequence[str] | None = None,
        form: str | None = None,
        catalog: str | None = None,
    ) -> Lake:
        """The lake at a place, which is made if there is none; `SourceError` if it is another kind of lake."""
        refuse_former(Place.of(to))
        place = chosen(to, form, catalog)
        wanted = ",".join(by or ())
        found = open_table(place, "files") or create_table(
            place, "files", documented("files", FILES), (), {"thawline.edition": EDITION, "thawline.by": wanted}
        )
        open_table(place, "findings") or create_table(place, "findings", documented("findings", FINDINGS), (), {})
        facts = found.facts
        if facts.get("thawline.edition") != EDITION:
            raise SourceError(
                f"{place}: has a table `files` that is not of a lake of this release; choose another folder"
            )
        columns = facts.get("thawline.by", "")
        if by is not None and columns != wanted:
            how = f"by {columns}" if columns else "not partitioned"
            raise SourceError(
                f"{place}: its tables are {how}, which is for good; leave --partition-by out, or begin anew"
            )
        return cls(place, tuple(name for name in columns.split(",") if name))

    @property
    def state(self) -> State:
        """The state of the lake when it was last read."""
        if self._state is None:
            self.refresh()
        assert self._state is not None  # noqa: S101 - for mypy
        return self._state

    def refresh(self) -> State:
        """Read the state of the lake, and complete a commit that another process has announced only."""
        files = self._settled()
        number = files.mark(APP)
        if self._state is None or self._state.number != number:
            self._state = State(number, _works(files), versions_of(files))
        return self._state

    def _settled(self) -> Table:
        """The table `files`, without a commit that is only announced."""
        number = 0
        for attempt in range(PATIENCE):
            files = _existing(self.place, "files")
            files.settle()
            number = files.mark(NEXT)
            if files.mark(APP) >= number:
                return files
            if not self._carry_out(files, number):
                time.sleep(min(0.05 * 2**attempt, 2))
        raise LakeError(f"commit {number} is announced, and nothing in {PENDING} says any more what it does")

    def _carry_out(self, files: Table, number: int) -> bool:
        """Carry out a commit that is announced; false if it is gone, as when another process has just done so."""
        name = _announcement(files, number)
        try:
            change = Change.from_json(self.place.read(f"{PENDING}/{name}"))
        except FileNotFoundError:
            return False
        self._complete(files, number, name, change)
        return True

    def _complete(self, files: Table, number: int, name: str, change: Change) -> dict[str, int]:
        """Carry out a commit that counts; the version of each table but `files` afterwards."""
        versions = apply(self.place, number, change, versions_of(files) or dict(_newest(self.place, number)))
        told = {**change.facts, "tables": versions}
        apply_to(self.place, "files", number, change, {*change.stale, *change.renewed}, told)
        for old in self.place.listed(PENDING):
            if old.partition("-")[0] <= name.partition("-")[0]:  # of processes that were late, or did not live
                self.place.remove(f"{PENDING}/{old}")
        return versions

    def commit(
        self, change: Change, expected: Mapping[str, str | None], after: Mapping[str, Entry] | None = None
    ) -> None:
        """Make a change, all of it, once; `Overtaken` if works have other signatures than those that are expected.

        With `after`, what is known of its works then, the table `files` need not be read again.
        """
        while True:
            state = self.refresh()
            self._check(state, expected)
            number = state.number + 1
            name = f"{number:08}-{self.run}-{secrets.token_hex(4)}.json"
            if not self._announce(name, change):
                continue
            files = _existing(self.place, "files")
            try:
                if files.mark(NEXT) >= number:
                    raise Conflict  # noqa: TRY301 - as if the commit had said so
                files.commit([], [], app=NEXT, number=number, facts={"announced": number, "change": name})
            except Conflict:
                self.place.remove(f"{PENDING}/{name}")
                continue
            self.announced.update(one.name for one in change.adds)
            versions = self._complete(files, number, name, change)
            if after is not None:
                state.works.update(after)
                self._state = State(number, state.works, versions)
            return

    def _announce(self, name: str, change: Change) -> bool:
        """Write down a change; whether nobody has completed a commit of its number meanwhile, and cleared up."""
        try:
            with self.place.create(f"{PENDING}/{name}") as file:
                file.write(change.to_json())
        except LakeError as error:
            if isinstance(error.__cause__, FileNotFoundError):
                return False
            raise
        return True

    @staticmethod
    def _check(state: State, expected: Mapping[str, str | None]) -> None:
        overtaken = {key for key, signature in expected.items() if _signature(state, key) != signature}
        if overtaken:
            raise Overtaken(frozenset(overtaken))

    def add(self, table: str, rows: pa.Table) -> list[TableFile]:
        """A new file of a table, to be committed; none without rows."""
        if not rows.num_rows:
            return []
        name = new_name(self.run, [table])
        self.written.add(f"{table}/{name}")
        with FileWriter(self.place, table, name, rows.schema, {}) as writer:
            writer.write(rows)
            return [writer.close()]

    def clear(self) -> None:
        """Remove the files of this run that are part of no commit: of failed files, and of tasks that ran twice."""
        for name in self.written - self.announced:
            self.place.remove(self.place.staged(name))

    def batches(self, table: str, columns: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
        """The rows of `files` or `findings`, as they are now."""
        return _batches(_existing(self.place, table), columns)


def snapshot(to: str | os.PathLike[str], table: str, commit: int | None = None) -> Table:
    """A table as it was after a commit of its lake, or after the last one; `SourceError` if there is none.

    All tables of one commit go together: what another process is just committing is not part of it.
    """
    place = known(to)
    files = open_table(place, "files")
    if files is None:
        raise SourceError(f"{place}: is no lake, or is one of an earlier release")
    name = table if table in {"files", "findings"} else DATA + table.removeprefix(DATA)
    number = files.mark(APP) if commit is None else commit
    found = _unchanged(open_table(place, name), number, is_last=commit is None)
    if commit is not None or found is None:
        at, versions = _committed(files, commit)
        version = at if name == "files" else versions.get(name)
        found = found or (open_table(place, name, version) if version is not None else None)
        if found is None:
            listed = ", ".join(sorted({"files", "findings", *(one.removeprefix(DATA) for one in versions)}))
            raise SourceError(f"{place}: has no table {table}; there are {listed}")
        _refuse_removed(found, number)
    return found


def _unchanged(newest: Table | None, number: int, *, is_last: bool) -> Table | None:
    """The newest version of a table, if it has the rows that it had after a commit: it may have been packed since."""
    has_only_newest = is_last and newest is not None and newest.place.form == "parquet"
    return newest if newest and (has_only_newest or newest.mark(APP) <= number) else None


def _refuse_removed(found: Table, number: int) -> None:
    """Raise `SourceError` if a version has files that are gone."""
    there = {path for path, _, _ in found.place.below(found.name)}
    if any(one.path not in there for one in found.files()):
        raise SourceError(
            f"{found.place}: {found.name} cannot be read as of commit {number} any more: `thawline lake vacuum` has "
            "removed what it had then"
        )


def _committed(files: Table, commit: int | None) -> tuple[int, dict[str, int]]:
    """The version of the table `files` after a commit, and those of all other tables."""
    for limit in (20, None):
        for one in files.history(limit):
            facts = one.get("thawline", {})
            if "tables" in facts and commit in {None, facts["commit"]}:
                return one["version"], dict(facts["tables"])
    if commit is not None:
        raise SourceError(f"{files.place}: has no commit {commit}; `thawline lake history` lists them")
    return files.version, {}


def refuse_former(place: Place) -> None:
    """Raise `SourceError` for a lake of the first edition."""
    if set(FORMER) & set(place.listed(OWN)):
        raise SourceError(
            f"{place}: is a lake of an earlier release, whose folders have no log of what belongs to them; take its "
            "sources into a new one, and remove it"
        )


def _existing(place: Place, table: str) -> Table:
    found = open_table(place, table)
    if found is None:
        raise LakeError(f"has no table {table} any more")
    return found


def _announcement(files: Table, number: int) -> str:
    """The name of what was written down of a commit that is announced."""
    for limit in (20, None):
        for one in files.history(limit):
            facts = one.get("thawline", {})
            if facts.get("announced") == number:
                return str(facts["change"])
    raise LakeError(f"commit {number} is announced, and nothing says what it is")


def versions_of(files: Table) -> dict[str, int]:
    """The version of every table that goes with a version of `files`."""
    return _committed(files, None)[1]


def _newest(place: Place, number: int) -> Iterator[tuple[str, int]]:
    """The version of every table but `files` before a commit, where nothing says it any more."""
    for name in (*(f"{DATA}{one}" for one in place.listed(DATA)), "findings"):
        if (found := open_table(place, name)) and found.mark(APP) < number:
            yield name, found.version


def _works(files: Table) -> dict[str, Entry]:
    works: dict[str, Entry] = {}
    for batch in _batches(files, ["_work", "_work_b64", "_signature", "rows"]):
        for row in batch.to_pylist():
            key = exact_work(row)
            known = works.get(key)
            has_rows = bool(row["rows"]) or (known is not None and known.has_rows)
            works[key] = Entry(row["_signature"] or "", has_rows)
    return works


def _batches(table: Table, columns: Sequence[str] | None) -> Iterator[pa.RecordBatch]:
    """Rows of `files` or `findings`; a column that came with a later release is null."""
    schema = {"files": FILES, "findings": FINDINGS}[table.name]
    wanted = pa.schema([schema.field(name) for name in columns or schema.names])
    for one in table.files("_work"):
        with parquet_reader(table.place, f"{table.name}/{one.path}") as reader:
            present = [name for name in wanted.names if name in reader.schema_arrow.names]
            for batch in reader.iter_batches(columns=present):
                yield pa.RecordBatch.from_arrays([_column(batch, field) for field in wanted], schema=wanted)


def _column(batch: pa.RecordBatch, field: pa.Field) -> pa.Array:
    if field.name in batch.schema.names:
        return batch[field.name].cast(field.type)
    return pa.nulls(batch.num_rows, field.type)


def exact_work(row: Mapping[str, Any]) -> str:
    """The key of a work as the file system spells it, even if it is not UTF-8."""
    return os.fsdecode(b64decode(row["_work_b64"])) if row["_work_b64"] else str(row["_work"])


def exact_path(row: Mapping[str, Any]) -> str:
    """The name of a file as the file system spells it, even if it is not UTF-8."""
    return os.fsdecode(b64decode(row["path_b64"])) if row["path_b64"] else str(row["path"])


def _signature(state: State, key: str) -> str | None:
    """The signature of a work; None if the lake does not know it."""
    return state.works[key].signature if key in state.works else None
