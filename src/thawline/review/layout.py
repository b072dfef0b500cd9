"""Offsets and sizes before and after, side by side, for the types in which something moved."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from thawline.ksy.attributes import Attribute, attributes_of, facts_of, words
from thawline.ksy.documents import Spec, TypeDef
from thawline.ksy.layouts import BITS, NUMBER, rows_of
from thawline.ksy.versions import Version
from thawline.review.matching import Matches, Pair, Renames
from thawline.review.model import Layout, Line
from thawline.review.rules import same_words

Cells = tuple[str, str, str]


def layouts_of(old: Version, new: Version, matches: Matches) -> list[Layout]:
    """The tables in which a row differs."""
    made = (_layout(types, names, old, new, matches) for types, names in _pairs(matches))
    return [layout for layout in made if any(line.mark for line in layout.lines)]


def _pairs(matches: Matches) -> Iterator[tuple[Pair[TypeDef], list[tuple[str, str]]]]:
    """Types in both versions, with the names of their fields and instances before and after; empty if absent."""
    fields, instances = matches.attributes["seq"], matches.attributes["instances"]
    for (types, first), (_, second) in zip(fields, instances, strict=True):
        pairs = [*first, *second]
        yield types, [(pair.old.name if pair.old else "", pair.new.name if pair.new else "") for pair in pairs]


def _layout(types: Pair[TypeDef], names: list[tuple[str, str]], old: Version, new: Version, matches: Matches) -> Layout:
    before = _cells(types.old, old.specs)
    after = _cells(types.new, new.specs)
    title = types.new.title if types.new else ""
    renames = matches.renames(types.old, types.new) if types.old and types.new else frozenset()
    return Layout(title, tuple(_line(one, other, before.get(one), after.get(other), renames) for one, other in names))


def _cells(type_: TypeDef | None, specs: Mapping[str, Spec]) -> dict[str, Cells]:
    if type_ is None:
        return {}
    attributes = {it.name: it for section in ("seq", "instances") for it in attributes_of(type_, section)}
    return {row.name: (row.offset, row.size, _type(row.type, attributes[row.name])) for row in rows_of(type_, specs)}


def _type(text: str, attribute: Attribute) -> str:
    """The type, with its byte order if it has several bytes."""
    facts = facts_of(attribute)
    name, endian = facts["type"], facts.get("endian", "")
    is_bits = BITS.fullmatch(name) and endian == "be"
    if endian and not is_bits and (NUMBER.fullmatch(name) or BITS.fullmatch(name)):
        text = f"{name}{endian}" + text.removeprefix(str(attribute.data["type"]))
    return " ".join(text.split())


def _line(old: str, new: str, before: Cells | None, after: Cells | None, renames: Renames) -> Line:
    name = f"{old} → {new}" if old and new and old != new else new or old
    return Line(_mark(name, before, after, renames), name, before, after)


def _mark(name: str, before: Cells | None, after: Cells | None, renames: Renames) -> str:
    if before is None or after is None:
        return "+" if before is None else "-"
    is_same = [same_words(words(one), words(other), renames) for one, other in zip(before, after, strict=True)]
    if not (is_same[1] and is_same[2]):
        return "~"
    if not is_same[0]:
        return ">"
    return "=" if " → " in name else ""
