"""Document specs, `<id>.document.yaml`: which members a JSON document has, checked and turned into its fields.

A document spec has `meta`, `doc`, `nesting` (levels of arrays and objects), `unknown: kept` (members that it does not
list are no fault) and `fields`; `types` has the fields of its objects. A field has `id` (its key), `type`, `optional`
(it may be null or absent) and `doc`; one of type `pairs` also has `members` and `most`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast, get_args

from thawline.engine.documents import Document, Field, FieldKind
from thawline.ksy.documents import SCHEMAS, Keys, Spec, load_spec
from thawline.native.constants.documents import DEEPEST_JSON, LONGEST_KEY, MOST_FIELDS

SUFFIX = ".document.yaml"
KINDS = frozenset(get_args(FieldKind)) - {"object"}
ROOT = frozenset({"meta", "doc", "doc-ref", "nesting", "unknown", "fields", "types"})
TYPE = frozenset({"doc", "fields"})
FIELD = frozenset({"id", "type", "optional", "doc"})
PAIRS = frozenset({"members", "most"})
PAIR = ("key", "value")
PAIRS_ARE = '`[["k", v]]`, `[{{"{}": "k", "{}": v}}]` or `{{"k": v}}`; at most {}.'
NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
LONGEST_NAME = LONGEST_KEY // len("\\u0000")
MOST_PAIRS = 1 << 24
LEAST_NESTING = 2
"""A document, and an object in it."""
SINGLE = ("bytes", "pairs")
"""Kinds that a reader has room for only once."""


def load_documents(folder: Path = SCHEMAS) -> dict[str, Spec]:
    """All document specs below a folder by id, sorted."""
    specs = (load_spec(file) for file in folder.rglob(f"*{SUFFIX}"))
    return {spec.id: spec for spec in sorted(specs, key=lambda spec: spec.id)}


def document_of(spec: Spec) -> Document:
    """What a document spec describes; `SpecError` at the first thing that no reader can be made for."""
    _check_root(spec)
    fields = tuple(_fields(spec, ("fields",), "", _types(spec)))
    _check_fields(spec, fields)
    pairs: Mapping[str, Any] = next((it for it in spec.data["fields"] if it["type"] == "pairs"), {})
    return Document(spec.id, fields, tuple(pairs.get("members", ())), pairs.get("most", 0))


@dataclass(frozen=True, slots=True)
class Member:
    """A field of a document spec, as a person reads it."""

    path: str
    """`rbak_record.properties.priority`."""
    keys: Keys
    type: str
    presence: str
    """`required`, or `optional` if it may be null or absent."""
    facts: str
    doc: str

    @property
    def name(self) -> str:
        """Its path in the document."""
        return self.path.partition(".")[2]

    @property
    def meaning(self) -> str:
        """Documentation, and what else the spec says."""
        return f"{self.doc} {self.facts}".strip()


def members_of(spec: Spec) -> list[Member]:
    """The fields of a document, each object's after the object."""
    return list(_members(spec, ("fields",), spec.data["fields"], spec.id))


def _members(spec: Spec, keys: Keys, listed: list[dict[str, Any]], above: str) -> Iterator[Member]:
    for index, data in enumerate(listed):
        path, presence = f"{above}.{data['id']}", "optional" if data.get("optional") else "required"
        facts = PAIRS_ARE.format(*data["members"], data["most"]) if "most" in data else ""
        nested = spec.data.get("types", {}).get(data["type"])
        doc = " ".join(str(data.get("doc", "")).split())
        yield Member(path, (*keys, index), "object" if nested else data["type"], presence, facts, doc)
        if nested:
            yield from _members(spec, ("types", data["type"], "fields"), nested["fields"], path)


def nesting_of(spec: Spec) -> int:
    """How many levels of arrays and objects a document may have."""
    levels: int = spec.data["nesting"]
    return levels


def _check_root(spec: Spec) -> None:
    _check_keys(spec, (), spec.data, ROOT)
    meta = spec.data.get("meta")
    if not isinstance(meta, dict) or meta.get("id") != spec.file.name.removesuffix(SUFFIX):
        raise spec.error(("meta", "id"), f"meta/id must be the file's name, {spec.file.name.removesuffix(SUFFIX)}")
    if meta.get("encoding") != "json":
        raise spec.error(("meta", "encoding"), "encoding must be json")
    nesting = spec.data.get("nesting")
    if type(nesting) is not int or not LEAST_NESTING <= nesting <= DEEPEST_JSON:
        raise spec.error(("nesting",), f"nesting must be a number from {LEAST_NESTING} to {DEEPEST_JSON}")
    if spec.data.get("unknown") != "kept":
        raise spec.error(("unknown",), "unknown must be kept: a reader passes over members that it does not know")


def _types(spec: Spec) -> Mapping[str, Any]:
    types = spec.data.get("types", {})
    if not isinstance(types, dict):
        raise spec.error(("types",), "types must be a mapping")
    for name, data in types.items():
        _check_keys(spec, ("types", name), data, TYPE)
        if name in KINDS:
            raise spec.error(("types", name), f"{name} is a type that every document has")
    return types


def _fields(spec: Spec, keys: Keys, parent: str, types: Mapping[str, Any]) -> Iterator[Field]:
    """The fields of an object, then those of the objects in it."""
    listed = spec.data["types"][keys[1]].get("fields") if parent else spec.data.get("fields")
    if not isinstance(listed, list) or not listed:
        raise spec.error(keys, "fields must be a list of fields")
    for index, data in enumerate(listed):
        yield _field(spec, (*keys, index), data, parent, types)
    for index, data in enumerate(listed):
        if data["type"] in types:
            if parent:
                raise spec.error((*keys, index, "type"), "an object in an object is not read into fields")
            yield from _fields(spec, ("types", data["type"], "fields"), data["id"], types)


def _field(spec: Spec, keys: Keys, data: Any, parent: str, types: Mapping[str, Any]) -> Field:
    kind: Any = data.get("type") if isinstance(data, dict) else None
    _check_keys(spec, keys, data, FIELD | PAIRS if kind == "pairs" else FIELD)
    name, optional = data.get("id"), data.get("optional", False)
    if not isinstance(name, str) or not NAME.fullmatch(name) or len(name) > LONGEST_NAME:
        raise spec.error((*keys, "id"), f"id must be a word of at most {LONGEST_NAME} letters, digits and _")
    if not isinstance(kind, str) or (kind not in KINDS and kind not in types):
        raise spec.error((*keys, "type"), f"type must be one of {', '.join(sorted([*KINDS, *types]))}")
    if kind in SINGLE and parent:
        raise spec.error((*keys, "type"), f"only the document itself can have {kind}")
    if not isinstance(optional, bool):
        raise spec.error((*keys, "optional"), "optional must be true or false")
    if kind == "pairs":
        _check_pairs(spec, keys, data)
    return Field(name, cast(FieldKind, "object" if kind in types else kind), optional, parent)


def _check_pairs(spec: Spec, keys: Keys, data: Mapping[str, Any]) -> None:
    members, most = data.get("members"), data.get("most")
    names = members if isinstance(members, list) else []
    if len(names) != len(PAIR) or not all(isinstance(it, str) and NAME.fullmatch(it) for it in names):
        raise spec.error((*keys, "members"), "members must be two words: what the key is called, and the value")
    if type(most) is not int or not 1 <= most <= MOST_PAIRS:
        raise spec.error((*keys, "most"), f"most must be a number from 1 to {MOST_PAIRS}")


def _check_fields(spec: Spec, fields: tuple[Field, ...]) -> None:
    names = [field.name for field in fields]
    if again := next((name for name in names if names.count(name) > 1), None):
        raise spec.error(("fields",), f"two fields are called {again}; they become columns, so names differ")
    if len(fields) > MOST_FIELDS:
        raise spec.error(("fields",), f"there are {len(fields)} fields; a reader has room for {MOST_FIELDS}")
    for kind in SINGLE:
        if sum(field.kind == kind for field in fields) > 1:
            raise spec.error(("fields",), f"two fields are {kind}; a reader has room for one")


def _check_keys(spec: Spec, keys: Keys, data: Any, known: frozenset[str]) -> None:
    if not isinstance(data, dict):
        raise spec.error(keys, "must be a mapping")
    for key in data:
        if key not in known:
            raise spec.error((*keys, key), f"{key} is no key that stands here; there are {', '.join(sorted(known))}")
