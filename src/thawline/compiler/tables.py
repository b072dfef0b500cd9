"""Public tables from their declaration, `<format>.tables.yaml`, and the specs beside it.

A column is stated once: where it is a field of a kernel's table, of a spec or of another public table, its type is that
field's.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any, get_args

from thawline.compiler.emission import emit
from thawline.compiler.lowering import lower
from thawline.compiler.subset import tables as kernel_tables
from thawline.engine.tables import Column
from thawline.ksy.attributes import attributes_of
from thawline.ksy.documents import SCHEMAS, Keys, Spec, TypeDef, load_spec
from thawline.ksy.layouts import BITS, NUMBER
from thawline.ksy.names import find_type
from thawline.ksy.versions import TABLES_SUFFIX
from thawline.tables import DECIMAL, TYPES, Origin, PublicColumn, PublicTable

ORIGINS: tuple[Origin, ...] = get_args(Origin)
TABLE_KEYS = {"doc", "rows", "unit", "key", "place", "columns", "extras"}
COLUMN_KEYS = {"id", "doc", "type", "items", "of", "null", "timestamp", "since", "years", *ORIGINS}
YEARS = "1 to 9999"
MOST_TABLES = 100
NAME = re.compile("[a-zA-Z][a-zA-Z0-9_]*")
COLUMN = re.compile("_?[a-zA-Z][a-zA-Z0-9_]*")
SUM = re.compile(r"(?:file\.)?[a-z][a-z0-9_]*(?: \+ (?:file\.)?[a-z][a-z0-9_]*)+")
KINDS = {"enum": "string", "text": "string", "escaped": "string", "base64": "binary"}
"""Types of a kernel's columns, where they have another name."""


def load_tables(specs: Mapping[str, Spec], folder: Path = SCHEMAS) -> dict[str, dict[str, PublicTable]]:
    """The public tables of all formats, by the format's name and their own."""
    documents = [load_spec(file) for file in sorted(folder.glob(f"*{TABLES_SUFFIX}"))]
    return {format_of(document): tables_of(document, specs) for document in documents}


def format_of(document: Spec) -> str:
    """The format that a declaration is of; it has to be called like it."""
    name = document.file.name.removesuffix(TABLES_SUFFIX)
    if document.data.get("format") != name:
        raise document.error(("format",), f"format must be the file's name, {name}")
    return name


def tables_of(document: Spec, specs: Mapping[str, Spec]) -> dict[str, PublicTable]:
    """The tables of a declaration; `SpecError` names the place of what is wrong with it."""
    return _Declaration(document, specs).tables


@dataclass(frozen=True)
class _Declaration:
    document: Spec
    specs: Mapping[str, Spec]
    resolving: list[str] = field(default_factory=list)
    """Tables whose columns are being read, each inside the one before."""
    found: dict[str, PublicTable] = field(default_factory=dict)
    known: dict[str, Mapping[str, str]] = field(default_factory=dict)
    """Types of the fields of tables and specs that were looked up."""

    @property
    def tables(self) -> dict[str, PublicTable]:
        declared = self.document.data.get("tables")
        if not isinstance(declared, dict) or not 0 < len(declared) <= MOST_TABLES:
            raise self.document.error(("tables",), f"tables must be a mapping of at most {MOST_TABLES} tables by name")
        return {name: self.table(name) for name in declared}

    def table(self, name: str) -> PublicTable:
        """A table; those that it refers to are read first."""
        keys: Keys = ("tables", name)
        if not isinstance(name, str) or not NAME.fullmatch(name):
            raise self.document.error(keys, "a table needs a name, which is a word")
        data = self._mapping(keys, self.document.data["tables"][name], TABLE_KEYS)
        if name in self.resolving:
            raise self.document.error(keys, f"{' refers to '.join([*self.resolving, name])}")
        if name not in self.found:
            self.resolving.append(name)
            columns = tuple(self._columns(keys, data))
            names = [self._listed(keys, data, of, columns) for of in ("key", "place")]
            self.found[name] = PublicTable(name, _text(data.get("doc")), columns, *names)
            self.resolving.pop()
        return self.found[name]

    def _listed(
        self, keys: Keys, table: Mapping[str, Any], of: str, columns: tuple[PublicColumn, ...]
    ) -> tuple[str, ...]:
        """Columns that the key of a table lists: given ones, and no lists."""
        listed = table.get(of, [])
        known = {column.name for column in columns if not column.is_extra and not column.type.startswith("list<")}
        if not isinstance(listed, list) or not {*map(str, listed)} <= known:
            raise self.document.error((*keys, of), f"{of} must list columns of the table that are no lists or extras")
        return tuple(map(str, listed))

    def _columns(self, keys: Keys, table: Mapping[str, Any]) -> Iterator[PublicColumn]:
        names = set[str]()
        for section in ("columns", "extras"):
            listed = table.get(section, [])
            if not isinstance(listed, list):
                raise self.document.error((*keys, section), f"{section} must be a list of columns")
            for index, item in enumerate(listed):
                place = (*keys, section, index)
                data = self._mapping(place, item, COLUMN_KEYS)
                column = self._column(place, keys, data, is_extra=section == "extras")
                if column.name in names:
                    raise self.document.error(place, f"the table has a column {column.name} already")
                names.add(column.name)
                yield column

    def _column(self, place: Keys, table: Keys, data: Mapping[str, Any], *, is_extra: bool) -> PublicColumn:
        name, doc = data.get("id"), _text(data.get("doc"))
        if not isinstance(name, str) or not COLUMN.fullmatch(name):
            raise self.document.error(place, "a column needs an id, which is a word")
        if not doc:
            raise self.document.error(place, f"{name} needs a doc: what it means, in a sentence")
        given = [origin for origin in ORIGINS if origin in data]
        if len(given) != 1:
            raise self.document.error(place, f"{name} must have one of {', '.join(ORIGINS)}: where it comes from")
        reader = _Reader(self, place, table, data)
        return PublicColumn(
            name,
            reader.type(given[0]),
            doc,
            given[0],
            _text(data[given[0]]),
            reader.needed(given[0]),
            reader.null(),
            reader.timestamp(),
            reader.since(),
            "years" in data,
            is_extra,
        )

    def _mapping(self, keys: Keys, data: Any, known: set[str]) -> Mapping[str, Any]:
        if not isinstance(data, dict):
            raise self.document.error(keys, "must be a mapping")
        said = {"null" if key is None else str(key): value for key, value in data.items()}  # YAML reads null as None
        if unknown := sorted(said.keys() - known):
            raise self.document.error((*keys, unknown[0]), f"{unknown[0]} is none of {', '.join(sorted(known))}")
        return said

    def fields(self, name: str, place: Keys) -> Mapping[str, str]:
        """Types of the fields of a kernel's table, of a spec, or of another public table."""
        if name not in self.known:
            self.known[name] = self._fields(name, place)
        return self.known[name]

    def _fields(self, name: str, place: Keys) -> Mapping[str, str]:
        if name in self.document.data["tables"]:
            return {column.name: column.type for column in self.table(name).columns}
        if name in self.kernels:
            return {column.name: _kernel_type(column) for column in self._kernel_columns(name)}
        if name in self.specs:
            return dict(_spec_fields(TypeDef(self.specs[name], (), self.specs[name].data), self.specs, ()))
        raise self.document.error(place, f"there is no table and no spec {name}")

    def unit_fields(self, table: Keys) -> Mapping[str, str]:
        """Types of the fields on the wire of the unit around the rows of a table."""
        tables = self.document.data["tables"]
        unit = str(tables[table[1]].get("unit"))
        rows = self._mapping(("tables", unit), tables[unit], TABLE_KEYS).get("rows") if unit in tables else None
        return self.fields(str(rows), (*table, "unit")) if rows else {}

    def _kernel_columns(self, name: str) -> tuple[Column, ...]:
        return emit(lower(name, self.kernels[name], self.specs))[0].columns

    @cached_property
    def kernels(self) -> dict[str, TypeDef]:
        return dict(kernel_tables(self.specs))


@dataclass(frozen=True, slots=True)
class _Reader:
    """What a column says about itself."""

    declaration: _Declaration
    place: Keys
    table: Keys
    data: Mapping[str, Any]

    def _error(self, key: str, message: str) -> Exception:
        return self.declaration.document.error((*self.place, key), message)

    def _fields(self, key: str) -> Mapping[str, str]:
        """Types of the fields of the row, or of the columns of the unit around it."""
        data = self.declaration.document.data["tables"][self.table[1]]
        return self.declaration.fields(str(data[key]), (*self.table, key)) if key in data else {}

    def type(self, origin: Origin) -> str:
        """The type that follows from where it comes from, or the one that is stated."""
        follows = self._following(origin)
        stated = self._stated()
        if self.data.get("timestamp") is not None:
            if stated:
                raise self._error("type", "a timestamp has no other type")
            return "timestamp"
        if stated and stated == follows:
            raise self._error("type", f"{stated} follows from the {origin}; leave it out")
        if not stated and not follows:
            raise self._error(origin, "needs a type: none follows from it")
        return stated or follows

    def _following(self, origin: Origin) -> str:
        source = _text(self.data[origin])
        if origin == "value":
            return "int64"
        if origin not in {"field", "unit"}:
            return ""
        key = "rows" if origin == "field" else "unit"
        fields = self._fields(key)
        if fields and source not in fields:
            raise self._error(origin, f"there is no {source} in {self._named(key)}")
        return fields.get(source, "")

    def _named(self, key: str) -> str:
        return str(self.declaration.document.data["tables"][self.table[1]].get(key, "what is not stated"))

    def _stated(self) -> str:
        stated = _text(self.data.get("type"))
        if stated == "list":
            items = self.data.get("items")
            if not isinstance(items, dict) or not items or not set(map(str, items.values())) <= set(TYPES):
                raise self._error("items", "a list needs items: a type for each name")
            return f"list<{', '.join(f'{name}: {kind}' for name, kind in items.items())}>"
        if stated and stated not in TYPES and not DECIMAL.fullmatch(stated):
            raise self._error("type", f"{stated} is none of {', '.join(TYPES)}, decimal(20, 0), list")
        return stated

    def needed(self, origin: Origin) -> tuple[str, ...]:
        """The fields of the row that a sum or code needs."""
        fields = self._fields("rows")
        if origin == "value":
            return self._terms(_text(self.data["value"]), fields)
        listed = self.data.get("of", [])
        if not isinstance(listed, list) or (listed and origin != "made"):
            raise self._error("of", "of is a list of fields, for what is made")
        names = tuple(map(str, listed))
        if unknown := [name for name in names if fields and name not in fields]:
            raise self._error("of", f"there is no {unknown[0]} in {self._named('rows')}")
        return names

    def _terms(self, value: str, fields: Mapping[str, str]) -> tuple[str, ...]:
        if not SUM.fullmatch(value):
            raise self._error("value", "a value is a sum, such as base_offset + offset_delta")
        around = self.declaration.unit_fields(self.table)
        terms = [term for term in value.split(" + ") if not term.startswith("file.")]
        if unknown := [term for term in terms if term not in fields and term not in around]:
            raise self._error("value", f"there is no {unknown[0]} in {self._named('rows')}, nor in its unit")
        return tuple(term for term in terms if term in fields)

    def null(self) -> int | str | None:
        """The number or text that stands for none."""
        value: int | str | None = self.data.get("null")
        if value is not None and type(value) not in {int, str}:
            raise self._error("null", "null is the number or the text that stands for none")
        return value

    def timestamp(self) -> Any:
        """What a timestamp counts."""
        unit = self.data.get("timestamp", "")
        if unit not in ("", "ms", "s"):
            raise self._error("timestamp", "a timestamp counts ms or s")
        if "years" in self.data and (self.data["years"] != YEARS or not unit):
            raise self._error("years", f"years are {YEARS}, of a timestamp")
        return unit

    def since(self) -> int:
        """When a timestamp counts from, in seconds since 1970."""
        if "since" not in self.data:
            return 0
        try:
            day = datetime.fromisoformat(str(self.data["since"])).replace(tzinfo=UTC)
        except ValueError:
            raise self._error("since", "since is a day, such as 2010-01-01") from None
        if not self.data.get("timestamp") or "years" in self.data:
            raise self._error("since", "only a timestamp without years counts from another day")
        return int(day.timestamp())


def _text(value: Any) -> str:
    return "" if value is None else " ".join(str(value).split())


def _kernel_type(column: Column) -> str:
    """The type of a kernel's column."""
    if column.kind == "list":
        return f"list<{', '.join(f'{item.name}: {_kernel_type(item)}' for item in column.items)}>"
    return KINDS.get(column.kind, column.kind)


def _spec_fields(type_: TypeDef, specs: Mapping[str, Spec], above: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """Fields of a spec by their path, such as `header.version`, with their types; empty where none follows."""
    for attribute in attributes_of(type_, "seq"):
        path, name = (*above, attribute.name), attribute.data.get("type")
        nested = find_type(name, type_, specs) if isinstance(name, str) else None
        if nested and nested.spec.id == type_.spec.id and "repeat" not in attribute.data:
            yield from _spec_fields(nested, specs, path)
        else:
            yield ".".join(path), _spec_type(attribute.data)


def _spec_type(data: Mapping[str, Any]) -> str:
    name = str(data.get("type", "binary"))
    if "enum" in data:
        return "string"
    if number := NUMBER.fullmatch(name):
        bits = 8 * int(number[1]) * (2 if name[0] == "u" else 1)
        return f"int{bits}" if name[0] in "us" and f"int{bits}" in TYPES else ""
    return "" if BITS.fullmatch(name) else {"binary": "binary", "str": "string"}.get(name, "")
