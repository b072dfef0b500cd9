"""Specs checked against the Kaitai style guide, and against this project's own rules.

https://doc.kaitai.io/ksy_style_guide.html
"""

from __future__ import annotations

import keyword
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from thawline.ksy.attributes import COVERED, Attribute, all_attributes, attributes_of, expression, facts_of, words
from thawline.ksy.costs import costs
from thawline.ksy.document_specs import members_of
from thawline.ksy.documents import Keys, Spec, TypeDef, types_of
from thawline.ksy.names import find_type
from thawline.ksy.refusals import all_refusals, is_range, refusals_for, tools_of
from thawline.ksy.shapes import SYNC_KEYS

ROOT = (
    "meta", "doc", "doc-ref", "-columnar", "-sync", "-tools", "-head", "-refused-by", "to-string", "params", "seq",
    "instances", "types", "enums",
)  # fmt: skip
META = (
    "id", "title", "application", "file-extension", "xref", "tags", "license", "ks-version", "ks-debug",
    "ks-opaque-types", "ks-zero-copy-substream", "imports", "encoding", "endian", "bit-endian",
)  # fmt: skip
ATTRIBUTE = (
    "id", "-orig-id", "value", "pos", "io", "size", "size-eos", "type", "enum", "encoding", "pad-right", "terminator",
    "consume", "include", "eos-error", "process", "contents", "valid", "repeat", "repeat-expr", "repeat-until", "if",
    "parent", "-overlay", "-columnar", "-affected-by", "-called", "-due", "-unknown", "-range", "-bytes", "-base64",
    "-refused-by", "doc", "doc-ref",
)  # fmt: skip
NESTED = ("title", "imports", "ks-version", "license")
"""Keys of `meta` that only the root may have."""
NAME = re.compile(r"[a-z][a-z0-9_]*")
PATH = re.compile(r"[a-z]\w*(\.[a-z]\w*)*")
MAGIC = re.compile(r"(\w+_)?(magic|signature)(_\w+)?")
CHECKSUM = re.compile(r"(crc|checksum)\w*")
RUNTIME = frozenset({"close", "from_bytes", "from_file", "from_io"})
"""Attributes of every parser; a field of such a name would hide them."""


@dataclass(frozen=True, slots=True)
class Flaw:
    """A rule that a spec breaks."""

    place: str
    """file:line:column."""
    rule: str
    message: str


def lint(spec: Spec, specs: Mapping[str, Spec]) -> list[Flaw]:
    """Every flaw of a spec in the order of the file; `specs` are those that it may import."""
    found = [
        Flaw(spec.place(keys), rule, message) for rule, check in RULES.items() for keys, message in check(spec, specs)
    ]
    return sorted([*found, *_text_flaws(spec)], key=lambda flaw: [int(part) for part in flaw.place.split(":")[-2:]])


Found = Iterator[tuple[Keys, str]]
Check = Callable[[Spec, Mapping[str, Spec]], Found]


def lint_document(spec: Spec) -> list[Flaw]:
    """Every flaw of a document spec, whose shape has been checked."""
    found = [("meta", f"has no {key}") for key in ("title", "license") if key not in spec.data["meta"]]
    flaws = [Flaw(spec.place(("meta",)), rule, message) for rule, message in found]
    flaws += [
        Flaw(spec.place(member.keys), "doc", f"{member.path} has no doc")
        for member in members_of(spec)
        if not member.doc
    ]
    return flaws + _text_flaws(spec)


def _text_flaws(spec: Spec) -> list[Flaw]:
    file = spec.place(()).removesuffix(":1:1")
    return [Flaw(f"{file}:{line}:1", "text", message) for line, message in _text(spec)]


def _text(spec: Spec) -> Iterator[tuple[int, str]]:
    """Lines as the style guide wants them."""
    for number, line in enumerate(spec.text.split("\n"), 1):
        if "\t" in line or "\r" in line:
            yield number, "has a tab or a carriage return; indent by two spaces, end lines by a line feed"
        elif line != line.rstrip():
            yield number, "ends in blanks"
        elif number == 1 and line.startswith("---"):
            yield number, "starts with ---, which a spec does not"
    if spec.text and not spec.text.endswith("\n"):
        yield spec.text.count("\n") + 1, "has no line feed at its end"


def _order(spec: Spec, _specs: Mapping[str, Spec]) -> Found:
    """Sections and keys are in the order of the style guide."""
    for type_ in types_of(spec):
        yield from _misplaced(type_.data, type_.keys, ROOT)
        yield from _misplaced(type_.data.get("meta") or {}, (*type_.keys, "meta"), META)
    for attribute in all_attributes(spec):
        yield from _misplaced(attribute.data, attribute.keys, ATTRIBUTE)


def _misplaced(data: Mapping[str, Any], keys: Keys, order: Sequence[str]) -> Found:
    for key in data:
        if key not in order and not str(key).startswith("-"):
            yield (*keys, key), f"{key} is no key that stands here"
    known = [key for key in data if key in order]
    for before, key in pairwise(known):
        if order.index(key) < order.index(before):
            yield (*keys, key), f"{key} stands before {before}"
            return


def _meta(spec: Spec, _specs: Mapping[str, Spec]) -> Found:
    """A spec says what it is, under which license, and for which compiler."""
    meta = spec.data.get("meta") or {}
    for key, what in (
        ("title", "what it describes"),
        ("license", "an SPDX expression"),
        ("ks-version", "the oldest compiler that takes it"),
    ):
        if key not in meta:
            yield ("meta",), f"has no {key}: {what}"
    if "ks-version" in meta and not isinstance(meta["ks-version"], str):
        yield ("meta", "ks-version"), f"quote it: unquoted, {meta['ks-version']} is a number, and 0.10 the same as 0.1"
    if meta.get("id") != spec.file.stem:
        yield ("meta", "id"), f"must be the file's name, {spec.file.stem}"
    for key in ("ks-debug", "ks-opaque-types"):
        if key in meta:
            yield ("meta", key), "is for experiments, not for a spec that others use"
    for type_ in types_of(spec):
        for key in type_.data.get("meta") or {}:
            if type_.names and key in NESTED:
                yield (*type_.keys, "meta", key), "belongs to the root of a spec"


def _doc(spec: Spec, _specs: Mapping[str, Spec]) -> Found:
    """A spec and each of its fields say what they are: in words, or by their name in the format's document."""
    if not str(spec.data.get("doc", "")).strip():
        yield ("meta",), "has no doc"
    for attribute in all_attributes(spec):
        if attribute.section == "seq" and not _explains_itself(attribute):
            yield attribute.keys, f"{attribute.name} has neither doc nor -orig-id"


def _explains_itself(attribute: Attribute) -> bool:
    """Whether a field says what it is, has fixed contents, or is a structure whose fields say what they are."""
    if {"doc", "-orig-id", "contents"} & attribute.data.keys():
        return True
    names = [name for name in _types_named(attribute) if name]
    return "switch" in names or all(find_type(name, attribute.owner, {}) for name in names)


def _names(spec: Spec, _specs: Mapping[str, Spec]) -> Found:
    """Names are lower_snake_case, and say whether a number is a length, a count or an offset."""
    for keys, name in names_of(spec):
        if not NAME.fullmatch(name):
            yield keys, f"{name!r} is not in lower_snake_case"
    for attribute in all_attributes(spec):
        yield from _roles(attribute)


def _roles(attribute: Attribute) -> Found:
    for key, prefix, what in (("size", "len_", "length"), ("repeat-expr", "num_", "count"), ("pos", "ofs_", "offset")):
        named = re.fullmatch(r"([a-z]\w*)(\.value)?", expression(attribute.data.get(key, "")))
        if named and not named[1].startswith(prefix):
            yield (*attribute.keys, key), f"{named[1]} is a {what}, so its name starts with {prefix}"


def _reserved(spec: Spec, _specs: Mapping[str, Spec]) -> Found:
    """No name is reserved by Python or by the runtime of the parsers."""
    for keys, name in names_of(spec):
        if keyword.iskeyword(name):
            yield keys, f"{name!r} is a reserved word of Python; give it another id and keep -orig-id"
        elif name in RUNTIME and "enums" not in keys:
            yield keys, f"{name!r} is a method of every parser; give it another id and keep -orig-id"


def names_of(spec: Spec) -> Iterator[tuple[Keys, str]]:
    """Every name that a spec defines, with its place."""
    for type_ in types_of(spec):
        yield from ((type_.keys, name) for name in type_.names[-1:])
        for section in ("params", "seq"):
            for index, attribute in enumerate(type_.data.get(section) or []):
                if "id" in attribute:
                    yield (*type_.keys, section, index, "id"), str(attribute["id"])
        yield from (((*type_.keys, "instances", name), name) for name in type_.data.get("instances") or {})
        for enum, members in (type_.data.get("enums") or {}).items():
            yield (*type_.keys, "enums", enum), enum
            for value, member in (members or {}).items():
                yield (*type_.keys, "enums", enum, value), str(member["id"] if isinstance(member, dict) else member)


def _reach(spec: Spec, specs: Mapping[str, Spec]) -> Found:
    """Every type, enum, import and parameter is used."""
    used = _used_types(spec, specs)
    for type_ in types_of(spec):
        if type_.names and type_.names not in used:
            yield type_.keys, f"nothing leads from the root to the type {type_.names[-1]}"
    spoken = _spoken(spec)
    for type_ in types_of(spec):
        for name in type_.data.get("enums") or {}:
            if name not in spoken and not _is_used_elsewhere(f"{spec.id}::{name}", specs):
                yield (*type_.keys, "enums", name), f"nothing uses the enum {name}"
        for attribute in attributes_of(type_, "params"):
            if attribute.name not in _spoken_in(type_, spec):
                yield attribute.keys, f"nothing uses the parameter {attribute.name}"
    for index, name in enumerate((spec.data.get("meta") or {}).get("imports") or []):
        if str(name).rpartition("/")[2] not in spoken:
            yield ("meta", "imports", index), f"nothing uses the import {name}"


def _used_types(spec: Spec, specs: Mapping[str, Spec]) -> set[tuple[str, ...]]:
    pending = [TypeDef(spec, (), spec.data)]
    seen: set[tuple[str, ...]] = {()}
    while pending:
        type_ = pending.pop()
        for attribute in (it for section in ("params", "seq", "instances") for it in attributes_of(type_, section)):
            for name in _types_named(attribute):
                found = find_type(name, type_, specs)
                if found and found.spec is spec and found.names not in seen:
                    seen.add(found.names)
                    pending.append(found)
    return seen


def _types_named(attribute: Attribute) -> Iterator[str]:
    facts = facts_of(attribute)
    yield facts["type"]
    yield from (line.partition(": ")[2].partition("(")[0] for line in facts.get("cases", "").split("\n"))
    yield from re.findall(r"\.as<([\w:]+)", " ".join(facts.values()))


def _spoken(spec: Spec) -> set[str]:
    """Every word that an attribute of a spec uses."""
    return {word for type_ in types_of(spec) for word in _spoken_in(type_, None)}


def _spoken_in(type_: TypeDef, spec: Spec | None) -> set[str]:
    """Every word that the attributes of a type use, and with a spec those of the types in it."""
    inner = [it for it in types_of(spec) if it.names[: len(type_.names)] == type_.names] if spec else [type_]
    said = [
        facts_of(it)
        for each in inner
        for section in ("params", "seq", "instances")
        for it in attributes_of(each, section)
    ]
    plain = {"doc", "doc-ref", "-orig-id", "-columnar"}
    return {word for facts in said for key, text in facts.items() if key not in plain for word in words(text)}


def _is_used_elsewhere(path: str, specs: Mapping[str, Spec]) -> bool:
    return any(path in spec.text for spec in specs.values())


def _magic(spec: Spec, _specs: Mapping[str, Spec]) -> Found:
    """What identifies a format is checked."""
    for attribute in all_attributes(spec):
        is_checked = {"contents", "valid"} & attribute.data.keys()
        if attribute.section == "seq" and MAGIC.fullmatch(attribute.name) and not is_checked:
            yield attribute.keys, f"{attribute.name} accepts any bytes; say which with contents or valid"


def _checksum(spec: Spec, _specs: Mapping[str, Spec]) -> Found:
    """Every checksum names the bytes that it covers."""
    instances = {it.name for it in all_attributes(spec) if it.section == "instances"}
    for attribute in all_attributes(spec):
        if (
            attribute.section == "seq"
            and CHECKSUM.fullmatch(attribute.name)
            and attribute.name + COVERED not in instances
        ):
            yield attribute.keys, f"no instance {attribute.name}{COVERED} says which bytes it covers"


def _sync(spec: Spec, specs: Mapping[str, Spec]) -> Found:
    """What a unit is found by after damage are fields of the unit."""
    for type_ in types_of(spec):
        sync = type_.data.get("-sync") or {}
        for key in sync:
            if key not in SYNC_KEYS:
                yield (*type_.keys, "-sync", key), f"{key} is no key of -sync"
        named = [*((key, sync[key]) for key in ("magic", "until", "rising", "checksum", "any") if key in sync)]
        named += [("plausible", item) for item in sync.get("plausible") or () if PATH.fullmatch(str(item))]
        for key, path in named:
            if not _leads_to_field(str(path), type_, specs):
                yield (*type_.keys, "-sync", key), f"{path} is no field of {type_.title}"


def _refusal(spec: Spec, specs: Mapping[str, Spec]) -> Found:
    """Every rule is about tools that a spec names, unless that spec is not at hand, and says why."""
    known = tools_of({**specs, spec.id: spec})
    for rule in all_refusals(spec):
        for tool in sorted(rule.against - known.keys() if known else ()):
            yield rule.keys, f"{tool} is a tool that no spec names under -tools"
    for attribute in all_attributes(spec):
        for rule in refusals_for(attribute, specs):
            if not rule.because:
                yield rule.keys, "says not why: because is missing"
        if "-range" in attribute.data and not is_range(attribute.data["-range"]):
            yield (*attribute.keys, "-range"), "must be the least and the most number"


def _leads_to_field(path: str, type_: TypeDef, specs: Mapping[str, Spec]) -> bool:
    at: TypeDef | None = type_
    for name in path.split("."):
        fields = {it.name: it for it in attributes_of(at, "seq")} if at else {}
        if name not in fields:
            return False
        at = find_type(str(fields[name].data.get("type")), fields[name].owner, specs)
    return True


RULES: dict[str, Check] = {
    "order": _order,
    "meta": _meta,
    "doc": _doc,
    "name": _names,
    "reserved": _reserved,
    "unused": _reach,
    "magic": _magic,
    "checksum": _checksum,
    "sync": _sync,
    "refusal": _refusal,
    "cost": costs,
}
"""The rules by name. Each yields places and what is wrong there."""
