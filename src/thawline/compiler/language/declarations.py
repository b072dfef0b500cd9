"""What a spec and its imports declare: types, fields, instances, parameters and enums, each with its place."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from thawline.errors import SourceError
from thawline.ksy.documents import SCHEMAS, Keys, Spec, SpecError, load_spec

SEQ_KEYS = {
    "id", "type", "size", "size-eos", "terminator", "include", "consume", "eos-error", "pad-right", "encoding",
    "contents", "enum", "process", "repeat", "repeat-expr", "repeat-until", "if", "valid", "parent", "doc", "doc-ref",
}  # fmt: skip
INSTANCE_KEYS = SEQ_KEYS | {"pos", "io", "value"}
VALUE_KEYS = {"id", "value", "type", "enum", "if", "valid", "doc", "doc-ref"}
TYPE_KEYS = {"meta", "doc", "doc-ref", "params", "seq", "instances", "types", "enums", "to-string"}
VALID_KEYS = {"eq", "min", "max", "any-of", "in-enum", "expr"}
MAX_SPECS = 200
WORD = re.compile(r"[a-z][a-z0-9_]*")


@dataclass(frozen=True, slots=True, eq=False)
class Enum:
    """Names of numbers."""

    ident: str
    labels: Mapping[int, str]

    def number(self, label: str) -> int | None:
        """The number of a name."""
        return next((number for number, name in self.labels.items() if name == label), None)


@dataclass(frozen=True, slots=True, eq=False)
class Field:
    """A field, an instance or a parameter of a type."""

    owner: Type
    keys: Keys
    name: str
    data: Mapping[str, Any]
    is_instance: bool = False

    @property
    def path(self) -> str:
        """Its path in the spec, as ksc writes it."""
        return "".join(f"/{key}" for key in self.keys)

    @property
    def is_value(self) -> bool:
        """Whether it is computed, not read."""
        return "value" in self.data

    def error(self, message: str, *keys: str | int) -> SpecError:
        """The refusal of one of its keys."""
        return self.owner.spec.error((*self.keys, *keys), message)


@dataclass(slots=True, eq=False)
class Type:
    """A type: the root of a spec, or one under `types`."""

    spec: Spec
    keys: Keys
    name: str
    ident: str
    data: Mapping[str, Any]
    outer: Type | None
    types: dict[str, Type] = field(default_factory=dict)
    enums: dict[str, Enum] = field(default_factory=dict)
    params: dict[str, Field] = field(default_factory=dict)
    seq: list[Field] = field(default_factory=list)
    instances: dict[str, Field] = field(default_factory=dict)
    around: Type | None = None
    """The type of `_parent`, if all structures of this type have a parent of the same type."""
    is_placed: bool = False
    """Whether a type was found that has structures of this one."""
    is_shared: bool = False
    """Whether its structures have parents of several types."""

    @property
    def top(self) -> Type:
        """The root of its spec."""
        found = self
        while found.outer is not None:
            found = found.outer
        return found

    def default(self, key: str) -> Any:
        """What `meta` says here or around."""
        meta = self.data.get("meta")
        if isinstance(meta, dict) and key in meta:
            return meta[key]
        return self.outer.default(key) if self.outer else None

    def switched_by(self) -> Type | None:
        """The type around, or this one, whose `endian` depends on what is read."""
        meta = self.data.get("meta")
        if isinstance(meta, dict) and "endian" in meta:
            return self if isinstance(meta["endian"], dict) else None
        return self.outer.switched_by() if self.outer else None

    def every(self) -> Iterator[Type]:
        """This type and all below it."""
        yield self
        for inner in self.types.values():
            yield from inner.every()


class Library:
    """A spec with everything that it imports. What is written for it has names that start with `prefix`."""

    def __init__(self, file: Path, spec: Spec | None = None, prefix: str = "") -> None:
        self.prefix = prefix
        self.specs: dict[Path, Spec] = {}
        self.tops: dict[str, Type] = {}
        self.root = self._load(file, spec)

    def types(self) -> Iterator[Type]:
        """All types of all specs."""
        for top in self.tops.values():
            yield from top.every()

    def _load(self, file: Path, spec: Spec | None = None) -> Type:
        spec = spec or _read(file)
        if len(self.specs) >= MAX_SPECS:
            raise spec.error((), f"more than {MAX_SPECS} specs are imported")
        self.specs[file.resolve()] = spec
        top = _declare(spec, (), spec.id, self.prefix + _ident(spec.id), spec.data, None)
        self.tops.setdefault(spec.id, top)
        meta = spec.data.get("meta")
        imports = meta.get("imports") if isinstance(meta, dict) else None
        for index, name in enumerate(imports or ()):
            place = _imported(spec, str(name), index)
            if place.resolve() not in self.specs:
                self._load(place)
        return top

    def type(self, owner: Type, names: list[str]) -> Type | None:
        """The type that a name stands for in another type."""
        found: Type | None = None
        here: Type | None = owner
        while here is not None and found is None:
            found = here.types.get(names[0])
            here = here.outer
        found = found or self.tops.get(names[0])
        for name in names[1:]:
            found = found.types.get(name) if found else None
        return found

    def opaque(self, owner: Type, names: list[str]) -> Type | None:
        """The type of an opaque name, from the spec beside that has this name."""
        place = Path(owner.spec.file).parent / f"{names[0]}.ksy"
        if len(names) > 1 or not owner.default("ks-opaque-types") or not place.is_file():
            return None
        return self._load(place)

    def enum(self, owner: Type, names: list[str]) -> Enum | None:
        """The enum that a name stands for in a type."""
        if len(names) > 1:
            holder = self.type(owner, names[:-1])
            return holder.enums.get(names[-1]) if holder else None
        here: Type | None = owner
        while here is not None:
            if names[0] in here.enums:
                return here.enums[names[0]]
            here = here.outer
        return None


def _read(file: Path) -> Spec:
    try:
        return load_spec(file)
    except OSError as error:
        raise SourceError(f"{file}: {error.strerror or error}") from error


def _imported(spec: Spec, name: str, index: int) -> Path:
    """The file of an import: beside the spec; with a slash at its start, in a folder above; or one of thawline's."""
    folder = Path(spec.file).parent
    relative = f"{name.lstrip('/')}.ksy"
    above = [*folder.resolve().parents] if name.startswith("/") else []
    places = [folder / relative, *(parent / relative for parent in above), SCHEMAS / relative]
    found = next((place for place in places if place.is_file()), None)
    if found is None:
        raise spec.error(("meta", "imports", index), f"there is no spec {name}")
    return found


def _ident(name: str) -> str:
    return re.sub(r"\W", "_", name)


def _declare(spec: Spec, keys: Keys, name: str, ident: str, data: Any, outer: Type | None) -> Type:
    if not isinstance(data, dict):
        data = {}
    made = Type(spec, keys, name, ident, data, outer)
    for key in data:
        if key not in TYPE_KEYS and not str(key).startswith("-"):
            raise spec.error((*keys, key), f"{key} is no key of a type")
    _check_word(made, name, keys)
    for inner, value in _section(made, "types").items():
        made.types[str(inner)] = _declare(
            spec, (*keys, "types", inner), str(inner), f"{ident}__{_ident(str(inner))}", value, made
        )
    for label, value in _section(made, "enums").items():
        made.enums[str(label)] = _enum(made, str(label), value)
    for index, value in enumerate(_items(made, "params")):
        param = Field(made, (*keys, "params", index), str(value.get("id")), value)
        made.params[param.name] = param
    made.seq = [_field(made, index, value) for index, value in enumerate(_items(made, "seq"))]
    for inner, value in _section(made, "instances").items():
        made.instances[str(inner)] = _instance(made, inner, value)
    _refuse_twice(made)
    return made


def _check_word(type_: Type, name: str, keys: Keys) -> None:
    if not WORD.fullmatch(name):
        raise type_.spec.error(keys, f"{name!r} is no name: a name has lower-case letters, digits and underscores")


def _section(type_: Type, key: str) -> dict[Any, Any]:
    section = type_.data.get(key) or {}
    if not isinstance(section, dict):
        raise type_.spec.error((*type_.keys, key), f"{key} holds names with what they stand for")
    return section


def _items(type_: Type, key: str) -> list[dict[str, Any]]:
    section = type_.data.get(key) or []
    if not isinstance(section, list):
        raise type_.spec.error((*type_.keys, key), f"{key} is a list")
    for index, item in enumerate(section):
        if not isinstance(item, dict):
            raise type_.spec.error((*type_.keys, key, index), "a field holds keys with values")
        _check_keys(type_, (*type_.keys, key, index), item, SEQ_KEYS)
    return section


def _check_keys(type_: Type, keys: Keys, data: Mapping[Any, Any], known: set[str]) -> None:
    for key in data:
        if key not in known and not str(key).startswith("-"):
            raise type_.spec.error((*keys, key), f"{key} has no meaning here")
    valid = data.get("valid")
    for key in valid if isinstance(valid, dict) else ():
        if key not in VALID_KEYS:
            raise type_.spec.error((*keys, "valid", key), f"{key} is no rule")


def _field(type_: Type, index: int, data: dict[str, Any]) -> Field:
    keys = (*type_.keys, "seq", index)
    name = data.get("id")
    if name is None:
        return Field(type_, keys, f"_unnamed{index}", data)
    name = _written(type_, (*keys, "id"), name)
    _check_word(type_, name, (*keys, "id"))
    return Field(type_, keys, name, data)


def _instance(type_: Type, name: Any, data: Any) -> Field:
    keys = (*type_.keys, "instances", name)
    if not isinstance(data, dict):
        raise type_.spec.error(keys, "an instance holds keys with values")
    _check_word(type_, str(name), keys)
    _check_keys(type_, keys, data, VALUE_KEYS if "value" in data else INSTANCE_KEYS)
    return Field(type_, keys, str(name), data, is_instance=True)


def _refuse_twice(type_: Type) -> None:
    seen: set[str] = set()
    for item in (*type_.params.values(), *type_.seq, *type_.instances.values()):
        if item.name in seen:
            raise item.error(f"the name {item.name} stands here twice")
        seen.add(item.name)


def _enum(type_: Type, name: str, data: Any) -> Enum:
    keys = (*type_.keys, "enums", name)
    if not isinstance(data, dict):
        raise type_.spec.error(keys, "an enum holds numbers with names")
    labels: dict[int, str] = {}
    for number, label in data.items():
        at = (*keys, number)
        value = _enum_number(type_, at, number)
        text = label.get("id") if isinstance(label, dict) else label
        labels[value] = _written(type_, at, text)
    return Enum(f"{type_.ident}__{_ident(name)}", labels)


def _enum_number(type_: Type, keys: Keys, number: Any) -> int:
    try:
        return int(number, 0) if isinstance(number, str) else int(number)
    except (TypeError, ValueError):
        raise type_.spec.error(keys, f"{number!r} is no number") from None


def _written(type_: Type, keys: Keys, value: Any) -> str:
    """A name as it is written: YAML takes `no` for false."""
    if not isinstance(value, bool):
        return str(value)
    line = type_.spec.text.splitlines()[int(type_.spec.place(keys).rsplit(":", 2)[1]) - 1]
    return line.split("#")[0].rpartition(":")[2].strip() or str(value).lower()
