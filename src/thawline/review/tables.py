"""Differences between the public tables of two versions, and the verdict on each: users know columns by their names."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from thawline.compiler.tables import tables_of
from thawline.ksy.documents import Keys, Spec, SpecError
from thawline.ksy.versions import Version
from thawline.review.matching import Matches, Renames
from thawline.review.model import Change, Verdict
from thawline.review.rules import same_words
from thawline.tables import PublicColumn, PublicTable
from thawline.wording import counted

SAYS = "says something else, gives the same values"
RULES = ("null", "timestamp", "since", "is_in_calendar")


def table_changes(old: Version, new: Version, matches: Matches) -> Iterator[Change]:
    """Every difference in the public tables; none where a version is a single spec."""
    if old.tables is None or new.tables is None:
        return
    renames = frozenset[tuple[str, str]]().union(*matches.fields_renamed.values())
    for name in sorted(old.tables.keys() | new.tables.keys()):
        before, after = old.tables.get(name), new.tables.get(name)
        if not (before and after and before.text == after.text and _same_specs(old, new)):
            yield from _of_format(name, _Side(old, before), _Side(new, after), renames)


def _same_specs(old: Version, new: Version) -> bool:
    return {name: spec.text for name, spec in old.specs.items()} == {name: it.text for name, it in new.specs.items()}


@dataclass(frozen=True, slots=True)
class _Side:
    """The tables of a format in one version."""

    version: Version
    document: Spec | None

    def tables(self) -> Mapping[str, PublicTable]:
        """The tables; `SpecError` where they do not fit the specs."""
        return tables_of(self.document, self.version.specs) if self.document else {}

    def place(self, table: str, column: str = "") -> str:
        """file:line:column of a table, or of one of its columns."""
        assert self.document is not None  # noqa: S101 - only what it declares has a place
        keys: Keys = ("tables", table)
        for section in ("columns", "extras") if column else ():
            listed = self.document.data["tables"][table].get(section) or []
            at = next((index for index, item in enumerate(listed) if item.get("id") == column), None)
            keys = (*keys, section, at) if at is not None else keys
        return self.document.place(keys)


def _of_format(format_: str, old: _Side, new: _Side, renames: Renames) -> Iterator[Change]:
    try:
        after = new.tables()
    except SpecError as error:
        place, _, message = str(error).partition(": ")
        yield _breaking("refused", f"{format_} tables", "", "", f"`make generate` refuses it: {message}", place)
        return
    try:
        before = old.tables()
    except SpecError:
        return
    for name in [*before, *(name for name in after if name not in before)]:
        path = f"{format_} {name}"
        if name not in after:
            reason = "who reads the table finds none"
            yield _breaking("removed", path, _table(before[name]), "", reason, old.place(name))
        elif name not in before:
            yield Change("added", path, "", _table(after[name]), Verdict.ADDITION, "a new table", place=new.place(name))
        else:
            yield from _Comparison(path, before[name], after[name], old, new, renames).changes()


def _table(table: PublicTable) -> str:
    return f"table, {counted(len(table.columns), 'column')}"


@dataclass(frozen=True, slots=True)
class _Comparison:
    """One table in both versions."""

    path: str
    before: PublicTable
    after: PublicTable
    old: _Side
    new: _Side
    renames: Renames
    """Fields on the wire that have another name: before, after."""

    def changes(self) -> Iterator[Change]:
        name = self.after.name
        if self.before.doc != self.after.doc:
            yield _said(self.path, self.before.doc, self.after.doc, self.new.place(name))
        pairs = dict(self._pairs())
        for column in self.before.columns:
            if column not in pairs.values():
                reason = "who reads the column finds none"
                yield _breaking("removed", self._at(column), column.type, "", reason, self.old.place(name, column.name))
        for column in self.after.columns:
            if column not in pairs:
                place = self.new.place(name, column.name)
                reason = "given only by name" if column.is_extra else "a new column; those before keep their names"
                yield Change("added", self._at(column), "", column.type, Verdict.ADDITION, reason, place=place)
            else:
                yield from self._column(pairs[column], column)
        yield from self._order(pairs)
        for of in ("key", "place"):
            before, after = (", ".join(getattr(table, of)) for table in (self.before, self.after))
            if before != after:
                reason = "thawline diff compares rows by it"
                place = self.new.place(name)
                yield Change(of, self.path, before, after, Verdict.DOCUMENTATION, reason, place=place)

    def _at(self, column: PublicColumn) -> str:
        return f"{self.path}.{column.name}"

    def _pairs(self) -> Iterator[tuple[PublicColumn, PublicColumn]]:
        """New columns with what they were: by name; of the rest, what has the same origin and type is renamed."""
        old = {column.name: column for column in self.before.columns}
        new = {column.name: column for column in self.after.columns}
        yield from ((column, old[name]) for name, column in new.items() if name in old)
        gone = [column for name, column in old.items() if name not in new]
        for column in (column for name, column in new.items() if name not in old):
            same = next((it for it in gone if self._is_same_origin(it, column) and it.type == column.type), None)
            if same is not None:
                gone.remove(same)
                yield column, same

    def _is_same_origin(self, old: PublicColumn, new: PublicColumn) -> bool:
        """Whether columns come from the same, apart from fields that only have another name."""
        before, after = re.findall(r"\w+|\W+", old.source), re.findall(r"\w+|\W+", new.source)
        return old.origin == new.origin and same_words(before, after, self.renames)

    def _column(self, old: PublicColumn, new: PublicColumn) -> Iterator[Change]:
        path, place = self._at(new), self.new.place(self.after.name, new.name)
        if old.name != new.name:
            yield _breaking("renamed", path, old.name, new.name, f"users know the column as {old.name}", place)
        if old.type != new.type:
            yield _breaking("retyped", path, old.type, new.type, "users get another type", place)
        if not self._is_same_origin(old, new):
            if old.origin == new.origin == "made":
                yield _said(path, old.source, new.source, place)
            else:
                yield _breaking("origin", path, _origin(old), _origin(new), "users get other values", place)
        if _rules(old) != _rules(new):
            reason = "the same bytes give another value, or null"
            yield _breaking("values", path, _rules(old), _rules(new), reason, place)
        if old.is_extra and not new.is_extra:
            yield Change("given", path, "by name", "always", Verdict.ADDITION, "given without a name, too", place=place)
        if new.is_extra and not old.is_extra:
            yield _breaking("given", path, "always", "by name", "who does not name it gets none", place)
        if old.doc != new.doc:
            yield _said(path, old.doc, new.doc, place)

    def _order(self, pairs: Mapping[PublicColumn, PublicColumn]) -> Iterator[Change]:
        """A change where columns that both versions have are given in another order."""
        old = [column for column in self.before.columns if column in pairs.values()]
        new = [pairs[column] for column in self.after.columns if column in pairs]
        before, after = (", ".join(it.name for it in order if not it.is_extra) for order in (old, new))
        if before != after:
            reason = "who takes columns by their number gets others"
            yield _breaking("moved", self.path, before, after, reason, self.new.place(self.after.name))


def _origin(column: PublicColumn) -> str:
    return f"{column.origin} {column.source}"


def _rules(column: PublicColumn) -> str:
    """How values of the wire become those of a column."""
    found = {name: getattr(column, name) for name in RULES}
    return ", ".join(f"{name}: {value}" for name, value in found.items() if value not in {None, "", False})


def _said(path: str, before: str, after: str, place: str) -> Change:
    return Change("documentation", path, before, after, Verdict.DOCUMENTATION, SAYS, place=place)


def _breaking(kind: str, path: str, before: str, after: str, reason: str, place: str) -> Change:
    return Change(kind, path, before, after, Verdict.API, reason, breaks_api=True, place=place)
