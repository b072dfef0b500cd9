"""A query with files in its FROM: which files, which of their columns it needs, and what every row it uses meets."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import pyarrow as pa
from sqlglot import exp

from thawline.filters import BadFilter, Condition
from thawline.filters.binding import Binder
from thawline.filters.reading import Sql, parsed

FUNCTION = "thawline"
"""In FROM, `thawline('path', 'table')` is a table of a file."""
UNORDERED = {"ASOF", "POSITIONAL"}
"""Joins whose result depends on rows that a condition leaves out."""


class BadQuery(ValueError):
    """A query that cannot be answered as it is."""


@dataclass(frozen=True, slots=True)
class Place:
    """One mention of a file in FROM."""

    view: str
    """The name that stands there for DuckDB."""
    path: str
    table: str | None
    called: str
    """The name by which the query refers to it."""


class Statement:
    """One query, read and checked."""

    def __init__(self, text: str, named: frozenset[str] = frozenset()) -> None:
        self.tree = _query(text)
        self.named = named
        """Names without quotes that stand for files, too."""
        self.places: list[Place] = []
        self._nodes: list[exp.Table] = []
        own = {cte.alias.lower() for cte in self.tree.find_all(exp.CTE)}
        for node in list(self.tree.find_all(exp.Table)):
            if (found := self._place(node, own)) is not None:
                self.places.append(found)
                self._nodes.append(_replaced(node, found))

    @property
    def sql(self) -> str:
        """The query for DuckDB, with views in the places of files."""
        return self.tree.sql(dialect=Sql)

    def in_words_of_filters(self, schemas: Sequence[pa.Schema]) -> None:
        """Let `key like 'a%'` and `headers['trace']` mean what they mean in filters, where FROM has only files.

        Bytes that are no text are null there.
        """
        if len(list(self.tree.find_all(exp.Table))) > len(self.places) or self.tree.find(exp.CTE, exp.Subquery):
            return
        columns = {field.name.lower(): field.type for schema in schemas for field in schema}
        written = [(select, _texts(select)) for select in self.tree.find_all(exp.Select)]
        for like in list(self.tree.find_all(exp.Like, exp.ILike)):
            kind = columns.get(like.this.name.lower()) if isinstance(like.this, exp.Column) else None
            if kind is not None and pa.types.is_binary(kind):
                like.set("this", _made("try(decode(placed))", like.this))
        for bracket in list(self.tree.find_all(exp.Bracket)):
            if entry := _entry(bracket, columns):
                bracket.replace(entry)
        for select, texts in written:
            _name_as_written(select, texts)

    def _place(self, node: exp.Table, own: set[str]) -> Place | None:
        view = f"thawline_{len(self.places)}"
        if isinstance(node.this, exp.Anonymous) and node.this.name.lower() == FUNCTION:
            words = [word.name for word in node.this.expressions if isinstance(word, exp.Literal) and word.is_string]
            if not 1 <= len(words) == len(node.this.expressions) <= 2:  # noqa: PLR2004 - a path and a table
                raise BadQuery(f"write {FUNCTION}('path') or {FUNCTION}('path', 'table')")
            return Place(view, words[0], words[1] if words[1:] else None, node.alias or FUNCTION)
        if not isinstance(node.this, exp.Identifier) or node.args.get("catalog"):
            return None
        file = node.args.get("db") or node.this
        is_file = bool(file.args.get("quoted")) or file.name in self.named
        if not is_file or (file is node.this and file.name.lower() in own):
            return None
        table = None if file is node.this else node.this.name
        return Place(view, file.name, table, _as_utf8(node.alias or node.this.name))

    def columns(self, place: Place, offered: list[str]) -> list[str] | None:
        """Those of the columns that the query may need of a file; None for all that it gives by default."""
        if self._wants_all(place):
            return None
        written = {name.name.lower() for name in self.tree.find_all(exp.Identifier)}
        return [name for name in offered if name.lower() in written]

    def extras(self, offered: list[str]) -> list[str]:
        """Columns that are only given by name, and that the query names."""
        written = {name.name.lower() for name in self.tree.find_all(exp.Identifier)}
        return [name for name in offered if name.lower() in written]

    def _wants_all(self, place: Place) -> bool:
        """Whether the query may mean columns that it does not name."""
        stars = (star for star in self.tree.find_all(exp.Star) if not isinstance(star.parent, exp.Count))
        if next(stars, None) or next(self.tree.find_all(exp.Columns, exp.Pivot, exp.Summarize), None):
            return True
        if any(join.args.get("method") == "NATURAL" for join in self.tree.find_all(exp.Join)):
            return True
        rows = (one for one in self.tree.find_all(exp.Column) if not one.table)
        return any(one.name.lower() == place.called.lower() for one in rows)

    def conditions(self, place: Place, schema: pa.Schema, zone: dt.tzinfo = dt.UTC) -> tuple[Condition, ...]:
        """Comparisons that each row of a file that the query uses meets: those of its WHERE, which null never meets."""
        node = self._nodes[self.places.index(place)]
        select = node.find_ancestor(exp.Select)
        where = select.args.get("where") if select else None
        if select is None or where is None:
            return ()
        joins = select.args.get("joins") or []
        if node.args.get("sample") or any(join.args.get("method") in UNORDERED for join in joins):
            return ()
        if node.parent is not select.args.get("from_") and node.parent not in joins:
            return ()
        is_alone = not joins and not select.args.get("laterals")
        found: list[Condition] = []
        for part in _conjuncts(where.this):
            found += _conditions(part, place, schema, zone, is_alone=is_alone)
        return tuple(found)


def _query(text: str) -> exp.Query:
    try:
        trees = [tree for tree in parsed(text) if tree is not None]
    except BadFilter as error:
        raise BadQuery(str(error)) from None
    if not trees:
        raise BadQuery("the query is empty; write it like select * from 'orders-3/'")
    if len(trees) != 1 or not isinstance(trees[0], exp.Query):
        raise BadQuery("only one query is answered, which reads: it starts with select, from or with")
    into = next(trees[0].find_all(exp.Into, exp.DML, exp.Command), None)
    if into is not None:
        raise BadQuery("a query reads; nothing is written, created or set")
    return trees[0]


def _replaced(node: exp.Table, place: Place) -> exp.Table:
    """The view in the place of a file, under the name that the query has for it."""
    alias = node.args.get("alias") or exp.TableAlias(this=exp.to_identifier(place.called, quoted=True))
    kept = {name: value for name, value in node.args.items() if name not in {"this", "db", "catalog", "alias"}}
    made = exp.Table(this=exp.to_identifier(place.view), alias=alias, **kept)
    node.replace(made)
    return made


def _as_utf8(name: str) -> str:
    """The name of a file as DuckDB takes it, which takes no bytes that are no UTF-8."""
    return name.encode("utf-8", "backslashreplace").decode()


def _entry(node: exp.Bracket, columns: Mapping[str, pa.DataType]) -> exp.Expression | None:
    """The last entry of a key in a list of keys and values; its value, where it has no more than that."""
    kind = columns.get(node.this.name.lower()) if isinstance(node.this, exp.Column) else None
    item = kind.value_type if kind is not None and pa.types.is_list(kind) else None
    key = node.expressions[0] if len(node.expressions) == 1 else None
    if item is None or not pa.types.is_struct(item) or not isinstance(key, exp.Literal) or not key.is_string:
        return None
    last = f"list_last(list_filter(placed, lambda it: struct_extract(it, '{item.field(0).name}') = {key.sql()}))"
    has_value = item.num_fields == 2  # noqa: PLR2004 - a key and its value
    return _made(f"struct_extract({last}, '{item.field(1).name}')" if has_value else last, node.this)


def _made(text: str, column: exp.Expression) -> exp.Expression:
    """An expression with a column in the place of `placed`."""
    made = cast("exp.Expression", parsed(text)[0])
    for node in list(made.find_all(exp.Column)):
        if node.name == "placed":
            node.replace(column.copy())
    return made


def _texts(select: exp.Select) -> list[str]:
    return [str(one.sql(dialect=Sql)) for one in select.expressions]


def _name_as_written(select: exp.Select, texts: Sequence[str]) -> None:
    """Columns of the answer keep the names that they would have had."""
    names = [
        one if isinstance(one, exp.Alias) or now == text else exp.alias_(one, text, quoted=True)
        for one, text, now in zip(select.expressions, texts, _texts(select), strict=True)
    ]
    select.set("expressions", names)


def _conjuncts(node: Any) -> Iterator[Any]:
    if isinstance(node, exp.Paren):
        yield from _conjuncts(node.this)
    elif isinstance(node, exp.And):
        for part in node.flatten():
            yield from _conjuncts(part)
    else:
        yield node


def _conditions(
    part: Any, place: Place, schema: pa.Schema, zone: dt.tzinfo, *, is_alone: bool
) -> tuple[Condition, ...]:
    """The conditions of one conjunct, if it is about this file alone."""
    part = part.copy()
    for column in part.find_all(exp.Column):
        if column.table and column.table.lower() == place.called.lower():
            column.set("table", None)
        elif column.table or not is_alone:
            return ()
    try:
        return tuple(Binder(schema, place.path, zone).conditions(part))
    except (BadFilter, pa.ArrowInvalid, pa.ArrowNotImplementedError, RecursionError):
        return ()
