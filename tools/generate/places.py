"""Where the fields of a spec lie: distances from the start and from the end of a unit, as far as the spec fixes them.

A type that one field holds, once, lies in the unit around it. A type that several fields hold, or that is repeated, is
a unit of its own.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from thawline.ksy.attributes import Attribute, attributes_of
from thawline.ksy.documents import Spec, TypeDef, types_of
from thawline.ksy.layouts import BITS, constant_size, extent, is_optional
from thawline.ksy.names import find_type

BYTE = 8
FROM_END = re.compile(r"_io\.size - (\d+)")


@dataclass(frozen=True, slots=True)
class Place:
    """A field or an instance of a unit, in bits; None for what depends on the data."""

    field: Attribute
    at: int | None
    """From the start of the unit to the field."""
    size: int | None
    from_end: int | None
    """From the start of the field to the end of the unit, where that is not fixed."""
    rest: int | None = None
    """From the end of what a checksum covers to the end of the unit."""
    is_structure: bool = False
    """Whether its own fields have places, too."""
    is_certain: bool = True
    """Whether every such unit has it, once."""

    @property
    def is_bits(self) -> bool:
        """Whether it is a part of a number."""
        return bool(BITS.fullmatch(str(self.field.data.get("type"))))


@dataclass(frozen=True, slots=True)
class Unit:
    """A type that is read by itself, with the places of its fields and of those that are nested in it."""

    type: TypeDef
    places: tuple[Place, ...]
    size: int | None
    """In bits; None if it depends on the data."""


def units_of(spec: Spec, specs: Mapping[str, Spec]) -> Iterator[Unit]:
    """The root type, and every type that does not lie in another unit."""
    walk = _Walk(specs, _held(spec, specs))
    for type_ in types_of(spec):
        if type_.names not in walk.held:
            size = constant_size(type_, specs)
            places = walk.places(type_, 0, 0, ends_unit=size is None)
            yield Unit(type_, tuple(places), None if size is None else size.bits)


def _held(spec: Spec, specs: Mapping[str, Spec]) -> frozenset[tuple[str, ...]]:
    """The names of the types that one field holds, once."""
    fields = [field for type_ in types_of(spec) for field in attributes_of(type_, "seq")]
    holding = [(field, nested) for field in fields if (nested := _nested(field, specs))]
    counts = Counter(nested.names for _, nested in holding)
    return frozenset(
        nested.names
        for field, nested in holding
        if nested.names and counts[nested.names] == 1 and "repeat" not in field.data and nested != field.owner
    )


def _nested(field: Attribute, specs: Mapping[str, Spec]) -> TypeDef | None:
    """The type of the same spec that a field has; None if it has none, or one by its data."""
    name = field.data.get("type")
    found = find_type(name.partition("(")[0], field.owner, specs) if isinstance(name, str) else None
    return found if found and found.spec.id == field.owner.spec.id else None


@dataclass(frozen=True, slots=True)
class _Walk:
    specs: Mapping[str, Spec]
    held: frozenset[tuple[str, ...]]

    def places(self, type_: TypeDef, at: int | None, stream_at: int | None, *, ends_unit: bool) -> Iterator[Place]:
        """The places of a type that starts at a bit of its unit, in a stream that starts at another."""
        fields = attributes_of(type_, "seq")
        for field, from_end in zip(fields, self._from_end(fields), strict=True):
            size, nested, is_certain = self._size(field), _nested(field, self.specs), not is_optional(field.data)
            is_structure = nested is not None and nested.names in self.held
            yield Place(field, at, size, from_end if ends_unit else None, None, is_structure, is_certain)
            if nested and is_structure:
                inner_at = at if "size" in field.data or field.data.get("size-eos") else stream_at
                inside = self.places(nested, at, inner_at, ends_unit=ends_unit and field is fields[-1])
                yield from (replace(place, is_certain=place.is_certain and is_certain) for place in inside)
            at = at + size if at is not None and size is not None and is_certain else None
        for instance in attributes_of(type_, "instances"):
            yield from _placed(instance, stream_at, self._size(instance), ends_unit=ends_unit)

    def _from_end(self, fields: list[Attribute]) -> list[int | None]:
        """Bits from the start of each field to the end of the last."""
        found: list[int | None] = []
        after: int | None = 0
        for field in reversed(fields):
            size = self._size(field)
            after = None if after is None or size is None or is_optional(field.data) else after + size
            found.append(after)
        return found[::-1]

    def _size(self, field: Attribute) -> int | None:
        size = extent(field.data, field.owner, self.specs)
        return size.bits if size is not None and not size.terms else None


def _placed(instance: Attribute, stream_at: int | None, size: int | None, *, ends_unit: bool) -> Iterator[Place]:
    """The place of an instance at a fixed distance from the start or the end of its stream."""
    position = instance.data.get("pos")
    if isinstance(position, int) and stream_at is not None:
        is_range = instance.is_checksum_range and ends_unit
        rest = _rest(instance, BYTE * position) if is_range else None
        yield Place(instance, stream_at + BYTE * position, size, None, rest)
    elif ends_unit and (found := FROM_END.fullmatch(str(position))):
        yield Place(instance, None, size, BYTE * int(found[1]))


def _rest(instance: Attribute, position: int) -> int | None:
    """Bits from the end of a range to the end of its stream."""
    if instance.data.get("size-eos"):
        return 0
    found = FROM_END.fullmatch(str(instance.data.get("size")))
    return BYTE * int(found[1]) - position if found else None
