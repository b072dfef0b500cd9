"""A `.ksy` file with the place of every key, so that messages name file, line and column."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib import resources
from pathlib import Path, PurePath
from typing import Any

import yaml

from thawline.errors import ThawlineError

SCHEMAS = Path(str(resources.files("thawline.schemas")))
MAX_SIZE = 512 << 10
MAX_NODES = 100_000
"""The largest spec in bytes, and in parts after its aliases are expanded. Real specs are far smaller."""

Keys = tuple[str | int, ...]
Marks = dict[Keys, tuple[int, int]]


class SpecError(ThawlineError):
    """A spec that is refused; the message starts with file:line:column."""


@dataclass(frozen=True, slots=True)
class Spec:
    """A parsed `.ksy`."""

    file: PurePath
    data: Mapping[str, Any]
    marks: Mapping[Keys, tuple[int, int]]
    """Line and column of every key and list item, by its path."""
    text: str = ""

    @property
    def id(self) -> str:
        """`meta/id`, which should also be the file's name."""
        meta = self.data.get("meta")
        name = meta.get("id") if isinstance(meta, dict) else None
        return name if isinstance(name, str) else self.file.stem

    @property
    def imports(self) -> tuple[str, ...]:
        """The ids of what it imports."""
        meta = self.data.get("meta")
        listed = meta.get("imports") if isinstance(meta, dict) else None
        return tuple(str(item).rpartition("/")[2] for item in listed) if isinstance(listed, list) else ()

    def place(self, keys: Keys) -> str:
        """`file:line:column` of a path, or of its nearest ancestor that is in the file."""
        while keys not in self.marks:
            keys = keys[:-1]
        line, column = self.marks[keys]
        return f"{shown(self.file)}:{line}:{column}"

    def error(self, keys: Keys, message: str) -> SpecError:
        """The exception to raise about a path."""
        return SpecError(f"{self.place(keys)}: {message}")


def shown(file: PurePath) -> str:
    """The path as a person in the project's folder would write it."""
    return str(file.relative_to(SCHEMAS.parent)) if file.is_relative_to(SCHEMAS.parent) else str(file)


def load_spec(file: Path) -> Spec:
    """Read one `.ksy`."""
    return parse_spec(file.read_bytes(), file)


def load_specs(folder: Path = SCHEMAS) -> dict[str, Spec]:
    """All specs below a folder by id, sorted."""
    specs = (load_spec(file) for file in folder.rglob("*.ksy"))
    return {spec.id: spec for spec in sorted(specs, key=lambda spec: spec.id)}


def parse_spec(content: bytes, file: PurePath) -> Spec:
    """The spec in a file's bytes. Any bytes are read, or refused with a place."""
    place = f"{shown(file)}:1:1"
    if len(content) > MAX_SIZE:
        raise SpecError(f"{place}: has {len(content)} bytes; a spec has at most {MAX_SIZE}")
    try:
        text = content.decode("utf-8")
        root = yaml.compose(text, Loader=yaml.SafeLoader)
        marks: Marks = {(): (1, 1)}
        data = _Reader(marks).plain(root, ())
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise SpecError(f"{shown(file)}:{line}:1: is not UTF-8") from None
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = f"{shown(file)}:{mark.line + 1}:{mark.column + 1}" if mark else place
        raise SpecError(f"{place}: {error.problem}") from None
    except yaml.YAMLError as error:
        raise SpecError(f"{place}: {str(error).splitlines()[0]}") from None
    except RecursionError:
        raise SpecError(f"{place}: is nested too deeply") from None
    if not isinstance(data, dict):
        raise SpecError(f"{place}: not a Kaitai Struct spec")
    return Spec(file, data, marks, text)


class _Reader:
    """Plain data of a YAML document; `marks` gets the place of each part."""

    def __init__(self, marks: Marks) -> None:
        self.marks = marks
        self.scalars = yaml.SafeLoader("")

    def plain(self, node: yaml.Node | None, keys: Keys) -> Any:
        if len(self.marks) > MAX_NODES:
            raise yaml.MarkedYAMLError(problem=f"has more than {MAX_NODES} parts", problem_mark=_mark(node))
        if isinstance(node, yaml.MappingNode):
            return self.mapping(node, keys)
        if isinstance(node, yaml.SequenceNode):
            return [self.item(item, (*keys, index)) for index, item in enumerate(node.value)]
        return None if node is None else self.scalar(node)

    def mapping(self, node: yaml.MappingNode, keys: Keys) -> dict[Any, Any]:
        items: dict[Any, Any] = {}
        for key_node, value_node in node.value:
            if not isinstance(key_node, yaml.ScalarNode):
                raise yaml.MarkedYAMLError(problem="a key must be a word or a number", problem_mark=_mark(key_node))
            key = self.scalar(key_node)
            if key in items:
                raise yaml.MarkedYAMLError(problem=f"the key {key} stands here twice", problem_mark=_mark(key_node))
            self.mark(key_node, (*keys, key))
            items[key] = self.plain(value_node, (*keys, key))
        return items

    def item(self, node: yaml.Node, keys: Keys) -> Any:
        self.mark(node, keys)
        return self.plain(node, keys)

    def scalar(self, node: yaml.Node) -> Any:
        try:
            return self.scalars.construct_object(node, deep=True)
        except (ValueError, OverflowError) as error:
            raise yaml.MarkedYAMLError(problem=f"cannot be read: {error}", problem_mark=_mark(node)) from None

    def mark(self, node: yaml.Node, keys: Keys) -> None:
        self.marks[keys] = (node.start_mark.line + 1, node.start_mark.column + 1)


def _mark(node: yaml.Node | None) -> yaml.Mark | None:
    return node.start_mark if node else None


@dataclass(frozen=True, slots=True)
class TypeDef:
    """A type of a spec: the root or one under `types`."""

    spec: Spec
    names: tuple[str, ...]
    """Nesting: `()` for the root, `("body",)` for `types/body`."""
    data: Mapping[str, Any]

    @property
    def keys(self) -> Keys:
        """The place of the type in its spec."""
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
        yield from _types_below(TypeDef(parent.spec, (*parent.names, name), data or {}))


def contents_bytes(value: str | list[int | str]) -> bytes:
    """The bytes of a `contents` key."""
    if isinstance(value, str):
        return value.encode()
    return b"".join(item.encode() if isinstance(item, str) else bytes([item]) for item in value)
