"""Pairs of what both versions have: matched by name, and if a name is gone, by place and shape."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import SequenceMatcher
from typing import Any, Generic, TypeVar

from thawline.ksy.attributes import SECTIONS, Attribute, Section, attributes_of, facts_of
from thawline.ksy.documents import Spec, TypeDef, types_of
from thawline.ksy.layouts import BITS, NUMBER
from thawline.ksy.versions import Version

ALIKE = 0.6
"""The part of two types, enums or specs that must be equal for one to be the other under a new name."""

T = TypeVar("T")
Renames = frozenset[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Pair(Generic[T]):
    """The same thing in both versions; None if it is absent."""

    old: T | None
    new: T | None
    is_moved: bool = False


@dataclass(frozen=True, slots=True)
class Enumeration:
    """An enum of a type."""

    name: str
    owner: TypeDef
    members: Mapping[int, Any]

    @property
    def path(self) -> str:
        """Its name as expressions write it."""
        return f"{self.owner.title}::{self.name}"

    @property
    def place(self) -> str:
        """file:line:column."""
        return self.owner.spec.place((*self.owner.keys, "enums", self.name))

    def label(self, value: int) -> str:
        """The name of a value."""
        member = self.members[value]
        return str(member["id"] if isinstance(member, dict) else member)


@dataclass(frozen=True, slots=True)
class Matches:
    """Everything that both versions have, and what only one of them has."""

    specs: tuple[Pair[Spec], ...]
    types: tuple[Pair[TypeDef], ...]
    enums: tuple[Pair[Enumeration], ...]
    attributes: Mapping[Section, tuple[tuple[Pair[TypeDef], tuple[Pair[Attribute], ...]], ...]]

    types_renamed: Renames = frozenset()
    """Specs, types, enums and their members that have another name: before, after."""
    fields_renamed: Mapping[str, Renames] = field(default_factory=dict)
    """Parameters, fields and instances that have another name, by the new id of their spec."""

    def renames(self, old: TypeDef, new: TypeDef) -> Renames:
        """Renamed names in the expressions of a type.

        If a type has a field of a name that is renamed elsewhere, the name means its own field.
        """
        own = _names(old), _names(new)
        found = self.fields_renamed.get(new.spec.id, frozenset())
        clear = {(one, other) for one, other in found if not (one in own[1] or other in own[0])}
        return self.types_renamed | clear

    def each_attribute(self) -> Iterator[Pair[Attribute]]:
        """Every parameter, field and instance."""
        for section in SECTIONS:
            for _, pairs in self.attributes[section]:
                yield from pairs


def match(old: Version, new: Version) -> Matches:
    """Pair what is the same."""
    specs = tuple(_specs(old, new))
    types = tuple(pair for item in specs if item.old and item.new for pair in _types(item.old, item.new))
    enums = tuple(pair for item in types if item.old and item.new for pair in _enums(item.old, item.new))
    both = [item for item in types if item.old and item.new]
    attributes = {
        section: tuple(
            (item, tuple(_attributes(item.old, item.new, section))) for item in both if item.old and item.new
        )
        for section in SECTIONS
    }
    made = Matches(specs, types, enums, attributes)
    return replace(made, types_renamed=_types_renamed(made), fields_renamed=_fields_renamed(made))


def _types_renamed(matches: Matches) -> Renames:
    found = {(pair.old.id, pair.new.id) for pair in matches.specs if pair.old and pair.new}
    types = [(pair.old.names, pair.new.names) for pair in matches.types if pair.old and pair.new]
    found |= {(old[-1], new[-1]) for old, new in types if old and new}
    for pair in matches.enums:
        if pair.old and pair.new:
            common = pair.old.members.keys() & pair.new.members.keys()
            found |= {(pair.old.name, pair.new.name)}
            found |= {(pair.old.label(value), pair.new.label(value)) for value in common}
    return frozenset((old, new) for old, new in found if old != new)


def _fields_renamed(matches: Matches) -> dict[str, Renames]:
    found: dict[str, set[tuple[str, str]]] = {}
    for pair in matches.each_attribute():
        if pair.old and pair.new and pair.old.name != pair.new.name:
            found.setdefault(pair.new.owner.spec.id, set()).add((pair.old.name, pair.new.name))
    return {name: frozenset(pairs) for name, pairs in found.items()}


def _names(type_: TypeDef) -> set[str]:
    return {it.name for section in SECTIONS for it in attributes_of(type_, section)}


def _specs(old: Version, new: Version) -> Iterator[Pair[Spec]]:
    gone = {name: spec for name, spec in old.specs.items() if name not in new.specs}
    come = {name: spec for name, spec in new.specs.items() if name not in old.specs}
    yield from (Pair(spec, new.specs[name]) for name, spec in old.specs.items() if name in new.specs)
    if len(old.asked) == len(new.asked) == 1 and old.asked[0] in gone and new.asked[0] in come:
        yield Pair(gone.pop(old.asked[0]), come.pop(new.asked[0]))
    yield from _alike(list(gone.values()), list(come.values()), _shape_of_spec)


def _types(old: Spec, new: Spec) -> Iterator[Pair[TypeDef]]:
    before, after = ({type_.names: type_ for type_ in types_of(spec)} for spec in (old, new))
    yield from (Pair(type_, after[names]) for names, type_ in before.items() if names in after)
    gone = [type_ for names, type_ in before.items() if names not in after]
    come = [type_ for names, type_ in after.items() if names not in before]
    yield from _alike(gone, come, shape_of_type)


def _enums(old: TypeDef, new: TypeDef) -> Iterator[Pair[Enumeration]]:
    before, after = (
        {name: Enumeration(name, type_, members or {}) for name, members in (type_.data.get("enums") or {}).items()}
        for type_ in (old, new)
    )
    yield from (Pair(enum, after[name]) for name, enum in before.items() if name in after)
    gone = [enum for name, enum in before.items() if name not in after]
    come = [enum for name, enum in after.items() if name not in before]
    yield from _alike(gone, come, lambda enum: [(value, enum.label(value)) for value in enum.members])


def _alike(gone: list[T], come: list[T], shape: Callable[[T], list[Any]]) -> Iterator[Pair[T]]:
    """Pairs of what is most alike; the rest remains single."""
    left = list(come)
    for item in gone:
        found = max(left, key=lambda other: _likeness(shape(item), shape(other)), default=None)
        if found is not None and _likeness(shape(item), shape(found)) >= ALIKE:
            left.remove(found)
            yield Pair(item, found)
        else:
            yield Pair(item, None)
    yield from (Pair(None, item) for item in left)


def _likeness(old: list[Any], new: list[Any]) -> float:
    return SequenceMatcher(None, old, new, autojunk=False).ratio() if old and new else 0.0


def _shape_of_spec(spec: Spec) -> list[Any]:
    return [shape for type_ in types_of(spec) for shape in shape_of_type(type_)]


def shape_of_type(type_: TypeDef) -> list[Any]:
    """The kinds of a type's fields and instances, without their names."""
    return [shape_of(attribute) for section in ("seq", "instances") for attribute in attributes_of(type_, section)]


def shape_of(attribute: Attribute) -> Hashable:
    """An attribute without its own name and without those of others."""
    facts = facts_of(attribute)
    type_ = facts["type"]
    is_given = bool(NUMBER.fullmatch(type_) or BITS.fullmatch(type_)) or type_ in SHAPES
    size = facts.get("size", "")
    return (
        attribute.section,
        type_ if is_given else "structure",
        facts.get("endian"),
        facts.get("contents"),
        size if size.isdigit() or size == "to the end" else bool(size),
        facts.get("terminator"),
        facts.get("value") if attribute.section == "instances" else None,
        facts.get("pos") if attribute.section == "instances" else None,
        facts.get("repeat", "").partition(" ")[0] == "until",
        "repeat" in facts,
        "if" in facts,
    )


SHAPES = {"bytes", "str", "strz", "contents", "switch", "value"}


def _attributes(old: TypeDef, new: TypeDef, section: Section) -> Iterator[Pair[Attribute]]:
    """Fields in the order of the new version, with those that are gone at their old place."""
    before, after = attributes_of(old, section), attributes_of(new, section)
    if section == "instances":
        yield from _by_name(before, after)
        return
    names = SequenceMatcher(None, [it.name for it in before], [it.name for it in after], autojunk=False)
    moved = _moved(before, after, names)
    for tag, start, end, first, last in names.get_opcodes():
        if tag == "equal":
            yield from (Pair(one, other) for one, other in zip(before[start:end], after[first:last], strict=True))
        else:
            gone = [it for it in before[start:end] if it.name not in moved]
            come = after[first:last]
            yield from _gap(gone, come, moved)


def _moved(
    before: Sequence[Attribute], after: Sequence[Attribute], names: SequenceMatcher[str]
) -> dict[str, Attribute]:
    """Names, in the old order, of fields whose order changed."""
    stayed = {
        before[index].name for start, _, size in names.get_matching_blocks() for index in range(start, start + size)
    }
    common = {it.name for it in before} & {it.name for it in after}
    return {it.name: it for it in before if it.name in common - stayed}


def _gap(gone: list[Attribute], come: list[Attribute], moved: Mapping[str, Attribute]) -> Iterator[Pair[Attribute]]:
    """Fields between two that are in both versions: of the same shape in the same order they are renamed."""
    new = [it for it in come if it.name not in moved]
    alike = SequenceMatcher(None, [shape_of(it) for it in gone], [shape_of(it) for it in new], autojunk=False)
    renamed = {
        new[second + index].name: gone[first + index]
        for first, second, size in alike.get_matching_blocks()
        for index in range(size)
    }
    if len(gone) == len(new) == 1 and not renamed and _same_size(gone[0], new[0]):
        renamed = {new[0].name: gone[0]}
    kept = {it.name for it in renamed.values()}
    yield from (Pair(it, None) for it in gone if it.name not in kept)
    for it in come:
        yield Pair(moved.get(it.name) or renamed.get(it.name), it, is_moved=it.name in moved)


def _same_size(old: Attribute, new: Attribute) -> bool:
    """Whether two numbers have the same size, such as u4 and s4."""
    before, after = (facts_of(it)["type"] for it in (old, new))
    return bool(NUMBER.fullmatch(before) and NUMBER.fullmatch(after) and before[1] == after[1])


def _by_name(before: list[Attribute], after: list[Attribute]) -> Iterator[Pair[Attribute]]:
    old, new = ({it.name: it for it in side} for side in (before, after))
    yield from (Pair(it, new[it.name]) for it in before if it.name in new)
    gone, come = [it for it in before if it.name not in new], [it for it in after if it.name not in old]
    for it in gone:
        found = next((other for other in come if shape_of(other) == shape_of(it)), None)
        if found:
            come.remove(found)
        yield Pair(it, found)
    yield from (Pair(None, it) for it in come)
