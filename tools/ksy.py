"""Specs as data: a `.ksy` file with the place of every key, for the tools that read it besides ksc."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

SCHEMAS = Path(__file__).parents[1] / "schemas"

Keys = tuple[str | int, ...]


class SpecError(Exception):
    """A spec that a tool refuses; the message starts with file:line:column."""


@dataclass(frozen=True, slots=True)
class Spec:
    """A parsed `.ksy`."""

    file: Path
    data: Mapping[str, Any]
    marks: Mapping[Keys, tuple[int, int]]
    """Line and column of every key and list item, by its path."""

    @property
    def id(self) -> str:
        """`meta/id`, which is also the file's name."""
        return self.file.stem

    def place(self, keys: Keys) -> str:
        """`file:line:column` of a path, or of its nearest ancestor that stands in the file."""
        while keys not in self.marks:
            keys = keys[:-1]
        line, column = self.marks[keys]
        return f"{shown(self.file)}:{line}:{column}"

    def error(self, keys: Keys, message: str) -> SpecError:
        """The exception to raise about a path."""
        return SpecError(f"{self.place(keys)}: {message}")


def shown(file: Path) -> str:
    """The path as a person in the project's folder would write it."""
    return str(file.relative_to(SCHEMAS.parent)) if file.is_relative_to(SCHEMAS.parent) else str(file)


def load_spec(file: Path) -> Spec:
    """Read one `.ksy`."""
    try:
        root = yaml.compose(file.read_text(encoding="utf-8"), Loader=yaml.SafeLoader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = f"{mark.line + 1}:{mark.column + 1}" if mark else "1:1"
        raise SpecError(f"{shown(file)}:{place}: {error.problem}") from None
    marks: dict[Keys, tuple[int, int]] = {(): (1, 1)}
    data = _plain(root, (), marks, yaml.SafeLoader(""))
    if not isinstance(data, dict):
        raise SpecError(f"{shown(file)}:1:1: not a Kaitai Struct spec")
    return Spec(file, data, marks)


def load_specs(folder: Path = SCHEMAS) -> dict[str, Spec]:
    """All specs below a folder by id, sorted."""
    specs = (load_spec(file) for file in folder.rglob("*.ksy"))
    return {spec.id: spec for spec in sorted(specs, key=lambda spec: spec.id)}


def _plain(node: yaml.Node | None, keys: Keys, marks: dict[Keys, tuple[int, int]], loader: yaml.SafeLoader) -> Any:
    """Plain data of a YAML node; fills in where each part of it stands."""
    if isinstance(node, yaml.MappingNode):
        items = {}
        for key_node, value_node in node.value:
            key = loader.construct_object(key_node)
            marks[(*keys, key)] = (key_node.start_mark.line + 1, key_node.start_mark.column + 1)
            items[key] = _plain(value_node, (*keys, key), marks, loader)
        return items
    if isinstance(node, yaml.SequenceNode):
        for index, item in enumerate(node.value):
            marks[(*keys, index)] = (item.start_mark.line + 1, item.start_mark.column + 1)
        return [_plain(item, (*keys, index), marks, loader) for index, item in enumerate(node.value)]
    return None if node is None else loader.construct_object(node, deep=True)


@dataclass(frozen=True, slots=True)
class TypeDef:
    """A type of a spec: the root or one under `types`."""

    spec: Spec
    names: tuple[str, ...]
    """Nesting: `()` for the root, `("body",)` for `types/body`."""
    data: Mapping[str, Any]

    @property
    def keys(self) -> Keys:
        """Where the type stands in its spec."""
        return tuple(key for name in self.names for key in ("types", name))

    @property
    def title(self) -> str:
        """The type's name as expressions write it."""
        return "::".join((self.spec.id, *self.names))


def types_of(spec: Spec) -> Iterator[TypeDef]:
    """The root type, then every type below it in the order of the file."""
    yield from _types_below(TypeDef(spec, (), spec.data))


def _types_below(parent: TypeDef) -> Iterator[TypeDef]:
    yield parent
    for name, data in (parent.data.get("types") or {}).items():
        yield from _types_below(TypeDef(parent.spec, (*parent.names, name), data))


def find_type(name: str, at: TypeDef, specs: Mapping[str, Spec]) -> TypeDef | None:
    """The type that a name in a spec refers to: one of the same spec, else another spec."""
    for candidate in types_of(at.spec):
        if candidate.names and candidate.names[-1] == name:
            return candidate
    return TypeDef(specs[name], (), specs[name].data) if name in specs else None


def contents_bytes(value: str | list[int | str]) -> bytes:
    """The bytes of a `contents` key."""
    if isinstance(value, str):
        return value.encode()
    return b"".join(item.encode() if isinstance(item, str) else bytes([item]) for item in value)
