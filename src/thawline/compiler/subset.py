"""The part of Kaitai Struct that the backend compiles: it finds tables, reads hints and refuses the rest."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise, takewhile
from typing import Any

from thawline.engine.tables import Failure
from thawline.ksy.documents import Keys, Spec, SpecError, TypeDef, types_of

INTEGER = re.compile(r"([us])([124])(le|be)?|(s)(8)(le|be)?")
BITS = re.compile(r"b(\d+)")
CALL = re.compile(r"([\w:]+)\((.*)\)")

CONSTRUCTS = {
    "fixed contents": {"contents"},
    "an integer": {"type", "enum", "valid"},
    "a bit field": {"type", "enum", "valid"},
    "bytes by size": {"size", "size-eos", "valid"},
    "bytes up to a terminator": {"terminator", "valid"},
    "a number of its own type": {"type", "valid"},
    "an escaped token": {"type"},
    "a structure": {"type", "size", "size-eos", "valid"},
    "a calculated value": {"value", "enum"},
    "the range of a checksum": {"pos", "size", "size-eos"},
}
"""The kinds of attributes, and the keys that each understands. No key is ignored silently."""
ANYWHERE = {"id", "doc", "doc-ref"}
WRAPPINGS = {"if", "repeat", "repeat-expr"}
ATTRIBUTE_KEYS = ANYWHERE | WRAPPINGS | {"pos"} | set().union(*CONSTRUCTS.values())
TYPE_KEYS = {"meta", "doc", "doc-ref", "seq", "instances", "types", "enums"}
VALID_KEYS = {"eq", "min", "max", "any-of", "in-enum", "expr"}

IDENTIFIER = "[a-z][a-z0-9_]*"
TYPE_HINTS = {
    "rows": IDENTIFIER,
    "frame": IDENTIFIER,
    "intrinsic": "zigzag|decimal|escaped",
    "bits": "32|64",
    "terminator": r"\d+",
}
ATTRIBUTE_HINTS = {
    "column": "True|False",
    "prefix": IDENTIFIER,
    "part": "True",
    "text": "True",
    "base64": "True",
    "checksum": "crc32c?",
}
"""Hints and the values they may have."""
HINTS_OF = {
    "bytes by size": {"text", "base64"},
    "bytes up to a terminator": {"text", "base64"},
    "a structure": {"prefix", "part"},
    "the range of a checksum": {"checksum"},
}
"""Hints that only some constructs understand; `column` is for all."""
INTRINSIC_HINTS = {"zigzag": {"bits"}, "decimal": {"terminator"}, "escaped": set[str]()}


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
        """What is under `-columnar`."""
        hints: Mapping[str, Any] = self.data.get("-columnar") or {}
        return hints

    @property
    def is_instance(self) -> bool:
        """Whether it is under `instances`."""
        return self.keys[-2] == "instances"

    def error(self, message: str, *key: str) -> SpecError:
        """The refusal of this attribute, or of one of its keys."""
        return self.owner.spec.error((*self.keys, *key), message)

    def failure(self, reason: str) -> Failure:
        """What the kernel reports if this attribute cannot be read."""
        return Failure(self.owner.spec.id, self.path, reason)

    def without(self, *keys: str) -> Attribute:
        """The same attribute without keys that are done with."""
        left = {key: value for key, value in self.data.items() if key not in keys}
        return Attribute(self.owner, self.keys, self.name, left)

    def resized(self, size: int) -> Attribute:
        """The same attribute as bytes of which nothing is known but how many they are."""
        return Attribute(self.owner, self.keys, self.name, {"id": self.name, "size": size})

    def is_only(self, construct: str) -> None:
        """Refuse keys and hints that the attribute's kind does not understand."""
        for key in self.data:
            if key not in CONSTRUCTS[construct] | ANYWHERE and not key.startswith("-"):
                raise self.error(f"{key} is not supported for {construct}", key)
        for hint in self.hints:
            if hint not in HINTS_OF.get(construct, set()) | {"column"}:
                raise self.error(f"hint {hint} is not for {construct}", "-columnar", hint)


def fields(type_: TypeDef) -> list[Attribute]:
    """The fields of a type in their order, each checked against the subset."""
    _refuse_keys(type_.spec, type_.keys, type_.data, TYPE_KEYS)
    found = _fields(type_)
    for attribute in found:
        check_attribute(attribute)
    return found


def head_fields(type_: TypeDef) -> list[Attribute]:
    """The fields of a type before those that repeat to its end, which are rows of their own."""
    kept = takewhile(lambda attribute: attribute.data.get("repeat") != "eos", _fields(type_))
    found = list(kept)
    for attribute in found:
        check_attribute(attribute)
    return found


def _fields(type_: TypeDef) -> list[Attribute]:
    named = enumerate(type_.data.get("seq") or [])
    return [Attribute(type_, (*type_.keys, "seq", index), item.get("id", ""), item) for index, item in named]


def parameters(type_: TypeDef) -> list[Attribute]:
    """What a type has to be told to be read, and to be written."""
    named = enumerate(type_.data.get("params") or [])
    return [Attribute(type_, (*type_.keys, "params", index), item["id"], item) for index, item in named]


def instances(type_: TypeDef) -> dict[str, Attribute]:
    """The instances of a type by name. They are checked when they are used: overlays may have any keys."""
    named = (type_.data.get("instances") or {}).items()
    return {name: Attribute(type_, (*type_.keys, "instances", name), name, item) for name, item in named}


def check_attribute(attribute: Attribute) -> None:
    """Refuse keys, types and rules that the backend does not support, at their place."""
    _refuse_keys(attribute.owner.spec, attribute.keys, attribute.data, ATTRIBUTE_KEYS)
    if not attribute.name or not isinstance(attribute.name, str):
        raise attribute.error("a field needs an id to become a column")
    if "__" in attribute.name:
        raise attribute.error("an id with two underscores in a row is not supported")
    if isinstance(attribute.data.get("type"), dict) and not attribute.hints.get("part"):
        raise attribute.error("switch-on is not supported; use fields with `if`", "type")
    if attribute.data.get("repeat", "expr") != "expr":
        raise attribute.error(f"repeat: {attribute.data['repeat']} is not supported inside a row", "repeat")
    rule = attribute.data.get("valid")
    for key in rule if isinstance(rule, dict) else ():
        if key not in VALID_KEYS:
            raise attribute.error(f"valid/{key} is not supported", "valid", key)


def _refuse_keys(spec: Spec, keys: Keys, data: Mapping[str, Any], known: set[str]) -> None:
    for key in data:
        if key not in known and not str(key).startswith("-"):
            raise spec.error((*keys, key), f"{key} is not supported by the columnar backend")


def tables(specs: Mapping[str, Spec]) -> Iterator[tuple[str, TypeDef]]:
    """Every type that `-columnar: rows` marks, with the name of its table, sorted by that name."""
    types = [type_ for spec in specs.values() for type_ in types_of(spec)]
    for type_ in types:
        _check_hints(type_)
    found = sorted((type_.data["-columnar"]["rows"], type_.title, type_) for type_ in types if _is_table(type_))
    for (before, *_), (name, _, type_) in pairwise(found):
        if name == before:
            raise type_.spec.error((*type_.keys, "-columnar"), f"table {name} is defined twice")
    yield from ((name, type_) for name, _, type_ in found)


def frames(specs: Mapping[str, Spec]) -> Iterator[tuple[str, TypeDef]]:
    """Every type that is written by itself, as `-columnar: frame` or `rows` marks it, by its name."""
    types = [type_ for spec in specs.values() for type_ in types_of(spec)]
    hints = [(type_.data.get("-columnar") or {}, type_) for type_ in types]
    found = {str(it.get("frame") or it["rows"]): type_ for it, type_ in hints if it.keys() & {"frame", "rows"}}
    yield from ((name, found[name]) for name in sorted(found))


def _purpose(hints: Mapping[str, Any]) -> str:
    """What a type that is no intrinsic is marked for: the rows of a table, or a structure that is written by itself."""
    return "frame" if "frame" in hints else "rows"


def _is_table(type_: TypeDef) -> bool:
    return "rows" in type_.data.get("-columnar", {})


def _check_hints(type_: TypeDef) -> None:
    """Refuse hints that are unknown or have no meaning, also in types that no table reads."""
    _check_values(type_.spec, type_.keys, type_.data, TYPE_HINTS)
    for attribute in (*_fields(type_), *instances(type_).values()):
        _check_values(type_.spec, attribute.keys, attribute.data, ATTRIBUTE_HINTS)
    hints = type_.data.get("-columnar", {})
    wanted = {"intrinsic"} | INTRINSIC_HINTS[hints["intrinsic"]] if "intrinsic" in hints else {_purpose(hints)}
    if hints and hints.keys() != wanted:
        raise type_.spec.error((*type_.keys, "-columnar"), f"the hints here must be {', '.join(sorted(wanted))}")
    if "intrinsic" in hints and type_.names:
        raise type_.spec.error((*type_.keys, "-columnar"), "an intrinsic needs a spec of its own")


def _check_values(spec: Spec, keys: Keys, data: Mapping[str, Any], known: Mapping[str, str]) -> None:
    hints = data.get("-columnar", {})
    if not isinstance(hints, dict):
        raise spec.error((*keys, "-columnar"), "-columnar holds hints by name")
    for hint, value in hints.items():
        if hint not in known:
            raise spec.error((*keys, "-columnar", hint), f"unknown hint {hint!r}")
        if not re.fullmatch(known[hint], str(value)):
            raise spec.error((*keys, "-columnar", hint), f"hint {hint} cannot be {value!r}")


def intrinsic(type_: TypeDef) -> Mapping[str, Any] | None:
    """The hint of a type that the backend reads with its own code, such as a varint."""
    hints = type_.data.get("-columnar") or {}
    return hints if "intrinsic" in hints else None
