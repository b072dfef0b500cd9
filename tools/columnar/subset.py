"""The part of Kaitai Struct that the backend compiles: finding tables, reading hints, refusing the rest."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from tools.ksy import Keys, Spec, SpecError, TypeDef, types_of

INTEGER = re.compile(r"([us])([124])(le|be)?|(s)(8)(le|be)?")
BITS = re.compile(r"b(\d+)")
CALL = re.compile(r"(\w+)\((.*)\)")

ATTRIBUTE_KEYS = {
    "id", "type", "enum", "size", "size-eos", "terminator", "contents", "valid", "repeat", "repeat-expr", "if",
    "pos", "value", "doc",
}  # fmt: skip
TYPE_KEYS = {"meta", "doc", "doc-ref", "params", "seq", "instances", "types", "enums"}
HINTS = {
    "type": {"rows", "intrinsic", "bits", "terminator"},
    "attribute": {"column", "prefix", "text", "base64", "checksum"},
}
VALID_KEYS = {"eq", "min", "max", "any-of", "in-enum", "expr"}


@dataclass(frozen=True, slots=True)
class Attribute:
    """A field or an instance of a type, with its place in the spec."""

    owner: TypeDef
    keys: Keys
    name: str
    data: Mapping[str, Any]

    @property
    def path(self) -> str:
        """Its path in the spec, as ksc writes it."""
        return "".join(f"/{key}" for key in self.keys)

    @property
    def hints(self) -> Mapping[str, Any]:
        """What stands under `-columnar`."""
        hints: Mapping[str, Any] = self.data.get("-columnar") or {}
        return hints

    def error(self, message: str, *key: str) -> SpecError:
        """The refusal of this attribute, or of one of its keys."""
        return self.owner.spec.error((*self.keys, *key), message)


def fields(type_: TypeDef) -> list[Attribute]:
    """The fields of a type in their order, each checked against the subset."""
    _refuse_keys(type_.spec, type_.keys, type_.data, TYPE_KEYS, "type")
    named = enumerate(type_.data.get("seq") or [])
    return [_checked(Attribute(type_, (*type_.keys, "seq", i), item.get("id", ""), item)) for i, item in named]


def instances(type_: TypeDef) -> dict[str, Attribute]:
    """The instances of a type by name. They are checked when they are used: overlays may hold anything."""
    named = (type_.data.get("instances") or {}).items()
    return {name: Attribute(type_, (*type_.keys, "instances", name), name, item) for name, item in named}


def _checked(attribute: Attribute) -> Attribute:
    check_attribute(attribute)
    return attribute


def check_attribute(attribute: Attribute) -> None:
    """Refuse keys, types and hints that the backend does not know, at their place."""
    _refuse_keys(attribute.owner.spec, attribute.keys, attribute.data, ATTRIBUTE_KEYS, "attribute")
    if not attribute.name:
        raise attribute.error("a field needs an id to become a column")
    if isinstance(attribute.data.get("type"), dict):
        raise attribute.error("switch-on is not supported; use fields with `if`", "type")
    if attribute.data.get("type") in ("str", "strz", "u8", "u8le", "u8be", "f4", "f8"):
        raise attribute.error(f"type {attribute.data['type']} is not supported", "type")
    if attribute.data.get("repeat") not in (None, "expr"):
        raise attribute.error(f"repeat: {attribute.data['repeat']} is not supported inside a row", "repeat")
    rule = attribute.data.get("valid")
    for key in rule if isinstance(rule, dict) else ():
        if key not in VALID_KEYS:
            raise attribute.error(f"valid/{key} is not supported", "valid", key)


def _refuse_keys(spec: Spec, keys: Keys, data: Mapping[str, Any], known: set[str], what: str) -> None:
    for key in data:
        if key not in known and not str(key).startswith("-"):
            raise spec.error((*keys, key), f"{key} is not supported by the columnar backend")
    for hint in data.get("-columnar") or {}:
        if hint not in HINTS[what]:
            raise spec.error((*keys, "-columnar", hint), f"unknown hint {hint!r} for a {what}")


def tables(specs: Mapping[str, Spec]) -> Iterator[tuple[str, TypeDef]]:
    """Every type that `-columnar: rows` marks, with the name of its table, sorted by that name."""
    marked = [
        ((type_.data.get("-columnar") or {}).get("rows"), type_) for spec in specs.values() for type_ in types_of(spec)
    ]
    found = sorted(((name, type_) for name, type_ in marked if name), key=lambda pair: pair[0])
    for (name, type_), (following, _) in zip(found, [*found[1:], ("", None)], strict=True):
        if name == following:
            raise type_.spec.error((*type_.keys, "-columnar"), f"table {name} is defined twice")
        yield name, type_


def intrinsic(type_: TypeDef) -> Mapping[str, Any] | None:
    """The hint of a type that the backend reads with code of its own, such as a varint."""
    hints = type_.data.get("-columnar") or {}
    return hints if "intrinsic" in hints else None
