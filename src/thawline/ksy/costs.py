"""What is expensive to read by a spec: what a reader does again for each occurrence, or at each byte after damage."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from thawline.ksy.attributes import Attribute, all_attributes, attributes_of
from thawline.ksy.documents import SCHEMAS, Keys, Spec, TypeDef, contents_bytes, types_of
from thawline.ksy.names import find_type

Found = Iterator[tuple[Keys, str]]
OWN_BYTES = {"size", "size-eos", "terminator"}
"""A structure with one of these has a stream of its own."""
LARGE = 16 << 20
"""Bytes that a single field of a fixed size may have."""


def costs(spec: Spec, specs: Mapping[str, Spec]) -> Found:
    """The places of what is expensive, each with why; none in specs of thawline, which code of their own reads."""
    if spec.file.is_relative_to(SCHEMAS):
        return
    yield from _to_the_end(spec, specs)
    yield from _nested(spec, specs)
    yield from _searched(spec)
    for attribute in all_attributes(spec):
        size = attribute.data.get("size")
        if isinstance(size, int) and size > LARGE and "-overlay" not in attribute.data:
            yield (*attribute.keys, "size"), f"{size} bytes are a value of every row; leave out the column if you can"


def _to_the_end(spec: Spec, specs: Mapping[str, Spec]) -> Found:
    """Each occurrence of a repeated structure reads all that follows it: the square of the file's size."""
    repeated = set(_sharing(spec, specs))
    for type_ in types_of(spec):
        for attribute in attributes_of(type_, "instances") if type_.title in repeated else ():
            data = attribute.data
            reads_on = data.get("size-eos") or data.get("repeat") in {"eos", "until"}
            if reads_on and "value" not in data and "io" not in data:
                what = f"each {type_.title} reads on from {attribute.name} to the end of the file"
                yield attribute.keys, f"{what}; give it a size, or the repetition of {type_.title}"


def _sharing(spec: Spec, specs: Mapping[str, Spec]) -> Iterator[str]:
    """The types that repeat without bytes of their own, with those in them."""
    waiting = [it for it in all_attributes(spec) if "repeat" in it.data and not OWN_BYTES & it.data.keys()]
    seen: set[str] = set()
    while waiting:
        for type_ in _types_of(waiting.pop(), specs):
            if type_.title not in seen:
                seen.add(type_.title)
                yield type_.title
                waiting += [it for it in attributes_of(type_, "seq") if not OWN_BYTES & it.data.keys()]


def _nested(spec: Spec, specs: Mapping[str, Spec]) -> Found:
    """A structure within itself has no columns of its own from some depth on; the first is named."""
    for type_ in types_of(spec):
        if any(type_.title in _below(it, specs) for it in attributes_of(type_, "seq")):
            yield type_.keys, f"{type_.title} may stand within itself: its inner levels are given as bytes"
            return


def _below(attribute: Attribute, specs: Mapping[str, Spec]) -> set[str]:
    """The types in a field, however deep."""
    seen: set[str] = set()
    waiting = [attribute]
    while waiting:
        for type_ in _types_of(waiting.pop(), specs):
            if type_.title not in seen:
                seen.add(type_.title)
                waiting += attributes_of(type_, "seq")
    return seen


def _searched(spec: Spec) -> Found:
    """After damage, every byte is tried where a unit has neither a magic nor an alignment."""
    for type_ in types_of(spec):
        sync = type_.data.get("-sync")
        if isinstance(sync, dict) and "align" not in sync and "magic" not in sync and not _leads(type_):
            yield (*type_.keys, "-sync"), "a unit is looked for at every byte; name its `magic`, or an alignment"


def _leads(type_: TypeDef) -> bool:
    """Whether a structure starts with fixed contents."""
    fields = attributes_of(type_, "seq")
    return bool(fields) and len(contents_bytes(fields[0].data.get("contents", ""))) > 1


def _types_of(attribute: Attribute, specs: Mapping[str, Spec]) -> list[TypeDef]:
    """The structures that a field can be."""
    named = attribute.data.get("type")
    names = named.get("cases", {}).values() if isinstance(named, dict) else [named]
    found = [find_type(str(name).partition("(")[0], attribute.owner, specs) for name in names if name]
    return [type_ for type_ in found if type_]
