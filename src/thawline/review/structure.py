"""The differences between two versions of the specs, and the verdict on each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from thawline.ksy.attributes import SECTIONS, Attribute, Section, all_attributes, attributes_of, facts_of, words
from thawline.ksy.documents import Spec, TypeDef
from thawline.ksy.layouts import extent, sync_text, type_text
from thawline.ksy.versions import Version
from thawline.review.judging import JUDGES, SHIFTS, Case, judge
from thawline.review.matching import Enumeration, Matches, Pair, Renames
from thawline.review.model import Change, Verdict
from thawline.review.reach import importers
from thawline.review.recut import judged, recuts_of

SAYS = "says something else, means the same bytes"
STEERING = ("size", "repeat", "if", "pos", "switch-on", "arguments", "terminator", "io", "process")
"""Aspects whose expressions decide where bytes are read."""
META = ("title", "application", "file-extension", "xref", "tags", "license", "ks-version", "imports", "ks-opaque-types")
DEFAULTS = ("encoding", "endian", "bit-endian")


def changes_of(old: Version, new: Version, matches: Matches) -> list[Change]:
    """Every difference, in the order of the new specs."""
    steering = {name: _depended_on(name, new, STEERING) for name in new.specs}
    ruling = {name: _depended_on(name, new, ("valid",)) for name in new.specs}
    return list(_Comparison(old, new, matches, steering, ruling).changes())


@dataclass(frozen=True, slots=True)
class _Comparison:
    old: Version
    new: Version
    matches: Matches
    steering: Mapping[str, frozenset[str]]
    """Names on which the layout of a new spec, or of one that imports it, depends; by its id."""
    ruling: Mapping[str, frozenset[str]]
    """Names on which the rules depend; by its id."""

    def changes(self) -> Iterator[Change]:
        for specs in self.matches.specs:
            yield from self.spec(specs)
        for types in self.matches.types:
            yield from self.type(types)
        found = [change for section in SECTIONS for change in self.section(section)]
        yield from _grouped(list(judged(found, recuts_of(self.old, self.new, self.matches))))
        yield from self.defaults(found)
        for enums in self.matches.enums:
            yield from self.enum(enums)

    def spec(self, pair: Pair[Spec]) -> Iterator[Change]:
        if pair.old is None and pair.new is not None:
            reason = "new; nothing read it before"
            yield _change("added", pair.new.id, "", "spec", Verdict.ADDITION, reason, place=pair.new.place(()))
        elif pair.new is None and pair.old is not None:
            reason = "what it described can no longer be read"
            yield _change(
                "removed", pair.old.id, "spec", "", Verdict.BREAKING, reason, breaks_api=True, place=pair.old.place(())
            )
        elif pair.old and pair.new:
            if pair.old.id != pair.new.id:
                yield _renamed(
                    pair.new.id, pair.old.id, pair.new.id, "module and class", pair.new.place(("meta", "id"))
                )
            yield from _meta_changes(pair.old, pair.new, META)

    def defaults(self, found: list[Change]) -> Iterator[Change]:
        """Changed settings of a spec that no field depends on."""
        told = {_spec_of(change) for change in found if change.kind in {"endianness", "codec"}}
        for pair in self.matches.specs:
            if pair.old and pair.new and pair.new.id not in told:
                yield from _meta_changes(pair.old, pair.new, DEFAULTS)

    def type(self, pair: Pair[TypeDef]) -> Iterator[Change]:
        old, new = pair.old, pair.new
        if old is None and new is not None:
            reason = "a new type; what uses it is listed by itself"
            yield _change("added", new.title, "", "type", Verdict.ADDITION, reason, place=new.spec.place(new.keys))
        elif new is None and old is not None:
            reason = "its class is gone; what used it is listed by itself"
            yield _change(
                "removed", old.title, "type", "", Verdict.API, reason, breaks_api=True, place=old.spec.place(old.keys)
            )
        elif old and new:
            if old.names != new.names:
                names = "::".join(old.names), "::".join(new.names)
                yield _renamed(new.title, *names, "class", new.spec.place(new.keys))
            yield from _documentation_of(old, new)
            yield from _recovery_of(old, new)

    def section(self, section: Section) -> Iterator[Change]:
        for types, pairs in self.matches.attributes[section]:
            renames = self.matches.renames(types.old, types.new) if types.old and types.new else frozenset()
            for pair in pairs:
                yield from self.attribute(pair, renames)

    def attribute(self, pair: Pair[Attribute], renames: Renames) -> Iterator[Change]:
        old, new = pair.old, pair.new
        if old is None and new is not None:
            yield self.added(new)
        elif new is None and old is not None:
            yield self.removed(old)
        elif old and new:
            if old.name != new.name:
                yield self.renamed(old, new)
            if pair.is_moved:
                yield self.moved(old, new)
            yield from self.facts(old, new, renames)

    def renamed(self, old: Attribute, new: Attribute) -> Change:
        change = _renamed(new.path, old.name, new.name, "attribute", new.place)
        before, after = old.data.get("-orig-id"), new.data.get("-orig-id")
        if before and after and before != after:
            reason = f"{change.reason}; {after} was {before}, so it may mean something else"
            return _change(
                "renamed", new.path, old.name, new.name, Verdict.API, reason, breaks_api=True, place=new.place
            )
        return change

    def moved(self, old: Attribute, new: Attribute) -> Change:
        before, after = f"place {old.index + 1}", f"place {new.index + 1}"
        if new.section == "params" and _uses_of(new.owner, self.new.specs):
            reason = "the specs give the parameters in this order, so each has the value of another"
            return _change("moved", new.path, before, after, Verdict.BREAKING, reason, breaks_api=True, place=new.place)
        if new.section == "params":
            reason = "importers give the parameters in this order"
            return _change("moved", new.path, before, after, Verdict.API, reason, breaks_api=True, place=new.place)
        reason = "its bytes and those of the fields between lie elsewhere"
        return _change("moved", new.path, before, after, Verdict.BREAKING, reason, place=new.place)

    def added(self, new: Attribute) -> Change:
        verdict, reason, breaks_api = self.addition(new)
        return _change("added", new.path, "", _described(new), verdict, reason, breaks_api=breaks_api, place=new.place)

    def addition(self, new: Attribute) -> tuple[Verdict, str, bool]:
        if new.section == "params":
            return Verdict.API, "importers have to give it", True
        if new.section == "instances":
            return Verdict.ADDITION, "calculated or read on request; no byte is read differently", False
        size = extent(new.data, new.owner, self.new.specs)
        if size is not None and not size.terms and not size.bits:
            return Verdict.STRICTER, "takes no bytes: a rule that old files may break", False
        is_last = new.index == len(attributes_of(new.owner, "seq")) - 1
        if "if" in new.data:
            return Verdict.EXTENSION, f"read only where `{new.data['if']}`; elsewhere nothing moves", False
        takes_rest = new.data.get("size-eos") or new.data.get("repeat") == "eos"
        if is_last and takes_rest and _is_confined(new.owner, self.new.specs):
            return Verdict.EXTENSION, "takes what was left over before and skipped", False
        if is_last:
            return Verdict.BREAKING, "old files end before it, or have something else there", False
        return Verdict.BREAKING, f"old files do not have it, so {SHIFTS}", False

    def removed(self, old: Attribute) -> Change:
        verdict, reason = self.removal(old)
        return _change("removed", old.path, _described(old), "", verdict, reason, breaks_api=True, place=old.place)

    def removal(self, old: Attribute) -> tuple[Verdict, str]:
        if old.section == "params":
            return Verdict.API, "importers may no longer give it"
        if old.is_checksum_range:
            return Verdict.LOOSER, "what the checksum covers is no longer said, so nothing can check it"
        if old.section == "instances":
            return Verdict.API, "importers that use it fail; no byte is read differently"
        size = extent(old.data, old.owner, self.old.specs)
        if size is not None and not size.terms and not size.bits:
            return Verdict.LOOSER, "took no bytes: a rule that is no longer checked"
        is_last = old.index == len(attributes_of(old.owner, "seq")) - 1
        if is_last and _is_confined(old.owner, self.old.specs):
            return Verdict.LOOSER, "its bytes are still there and skipped"
        return Verdict.BREAKING, f"old files have it, so {SHIFTS}"

    def facts(self, old: Attribute, new: Attribute, renames: Renames) -> Iterator[Change]:
        spec = new.owner.spec.id
        steers, rules = new.name in self.steering[spec], new.name in self.ruling[spec]
        versions = (self.old.specs, self.new.specs)
        case = Case(old, new, facts_of(old), facts_of(new), versions, renames, steers, rules)
        for aspect in JUDGES:
            if case.same(aspect) or _is_told(case, aspect):
                continue
            found = judge(case, aspect)
            before, after = case.before.get(aspect, ""), case.after.get(aspect, "")
            yield _change(
                found.kind,
                new.path,
                before,
                after,
                found.verdict,
                found.reason,
                breaks_api=found.breaks_api,
                place=new.place,
            )

    def enum(self, pair: Pair[Enumeration]) -> Iterator[Change]:
        old, new = pair.old, pair.new
        if old is None and new is not None:
            reason = "a new enum; what uses it is listed by itself"
            yield _change("added", new.path, "", "enum", Verdict.ADDITION, reason, place=new.place)
        elif new is None and old is not None:
            reason = "importers that name its members fail"
            yield _change("removed", old.path, "enum", "", Verdict.API, reason, breaks_api=True, place=old.place)
        elif old and new:
            if old.name != new.name:
                yield _renamed(new.path, old.name, new.name, "enum", new.place)
            yield from self.members(old, new)

    def members(self, old: Enumeration, new: Enumeration) -> Iterator[Change]:
        places = {old.label(value): value for value in old.members}
        for value in sorted(old.members.keys() | new.members.keys()):
            before = old.label(value) if value in old.members else ""
            after = new.label(value) if value in new.members else ""
            path = f"{new.path}::{after or before}"
            shown = (f"{value}: {before}" if before else "", f"{value}: {after}" if after else "")
            if before != after:
                yield self.member(path, shown, new, is_other_value=not before and after in places)
            elif old.members[value] != new.members[value]:
                said = (_said(old.members[value]), _said(new.members[value]))
                yield _change("documentation", path, *said, Verdict.DOCUMENTATION, SAYS, place=new.place)

    def member(self, path: str, shown: tuple[str, str], enum: Enumeration, *, is_other_value: bool) -> Change:
        before, after = shown
        is_checked = _is_checked(enum, self.new.specs)
        if is_other_value:
            reason = "the name stands for another value: old files mean something else by it"
            return _change(
                "enum value", path, before, after, Verdict.BREAKING, reason, breaks_api=True, place=enum.place
            )
        if before and after:
            reason = "the same value under another name"
            return _change("enum value", path, before, after, Verdict.API, reason, breaks_api=True, place=enum.place)
        if after:
            known = "files with this value were refused" if is_checked else "this value had no name"
            return _change(
                "enum value",
                path,
                "",
                after,
                Verdict.EXTENSION,
                f"{known}; all others read as before",
                place=enum.place,
            )
        verdict = Verdict.STRICTER if is_checked else Verdict.API
        reason = "files with this value are now refused" if is_checked else "the value has no name any more"
        return _change("enum value", path, before, "", verdict, reason, breaks_api=True, place=enum.place)


def _depended_on(name: str, version: Version, aspects: tuple[str, ...]) -> frozenset[str]:
    """Names that some aspects of the fields of a spec, or of its importers, depend on."""
    expressions: dict[str, str] = {}
    found: set[str] = set()
    for importer in importers(version, {name}):
        for attribute in all_attributes(version.specs[importer]):
            facts = facts_of(attribute)
            expressions[attribute.name] = " ".join((expressions.get(attribute.name, ""), facts.get("value", "")))
            found.update(word for aspect in aspects for word in words(facts.get(aspect, "")))
    while more := {word for item in found for word in words(expressions.get(item, ""))} - found:
        found |= more
    return frozenset(found)


def _is_told(case: Case, aspect: str) -> bool:
    """Whether a difference follows from one that is already listed."""
    is_retyped = case.before["type"] != case.after["type"]
    if aspect == "type":
        return (case.before["type"], case.after["type"]) in case.renames
    if aspect in {"size", "contents", "endian", "value", "encoding", "terminator", "arguments"} and is_retyped:
        return aspect not in case.before or aspect not in case.after
    return False


def _grouped(changes: list[Change]) -> Iterator[Change]:
    """Fields of a spec that changed their endianness together, as one change."""
    flips: dict[tuple[str, str, str], list[Change]] = {}
    for change in changes:
        if change.kind == "endianness":
            flips.setdefault((_spec_of(change), change.before, change.after), []).append(change)
    for (spec, before, after), found in flips.items():
        if len(found) == 1:
            continue
        names = ", ".join(change.path.rpartition(".")[2] for change in found)
        reason = f"{len(found)} fields have other values: {names}"
        yield _change("endianness", spec, before, after, Verdict.BREAKING, reason, place=found[0].place)
    alone = {id(found[0]) for found in flips.values() if len(found) == 1}
    yield from (change for change in changes if change.kind != "endianness" or id(change) in alone)


def _spec_of(change: Change) -> str:
    return change.path.partition("::")[0].partition(".")[0]


def _change(
    kind: str,
    path: str,
    before: str,
    after: str,
    verdict: Verdict,
    reason: str,
    *,
    breaks_api: bool = False,
    place: str = "",
) -> Change:
    return Change(kind, path, before, after, verdict, reason, breaks_api, place)


def _renamed(path: str, before: str, after: str, what: str, place: str) -> Change:
    reason = f"the same bytes under another name; importers know the {what} as {before}"
    return Change("renamed", path, before, after, Verdict.API, reason, breaks_api=True, place=place)


def _meta_changes(old: Spec, new: Spec, keys: tuple[str, ...]) -> Iterator[Change]:
    before, after = ((spec.data.get("meta") or {}) for spec in (old, new))
    for key in keys:
        if before.get(key) != after.get(key):
            place = new.place(("meta", key))
            shown = (_shown(before.get(key)), _shown(after.get(key)))
            yield _change("documentation", f"{new.id} meta/{key}", *shown, Verdict.DOCUMENTATION, SAYS, place=place)


def _documentation_of(old: TypeDef, new: TypeDef) -> Iterator[Change]:
    for key in ("doc", "doc-ref"):
        before, after = (" ".join(_shown(type_.data.get(key)).split()) for type_ in (old, new))
        if before != after:
            place = new.spec.place((*new.keys, key))
            yield _change("documentation", new.title, before, after, Verdict.DOCUMENTATION, SAYS, place=place)
    before, after = (_shown(type_.data.get("-columnar")) for type_ in (old, new))
    if before != after:
        place, is_dropped = new.spec.place(new.keys), "'rows'" in before
        reason = "no byte is read differently; see the derived outputs for the tables"
        verdict = Verdict.API if is_dropped else Verdict.ADDITION
        yield _change("hint", new.title, before, after, verdict, reason, breaks_api=is_dropped, place=place)


def _recovery_of(old: TypeDef, new: TypeDef) -> Iterator[Change]:
    """A change of what units are found by after damage."""
    before, after = (sync_text(type_) for type_ in (old, new))
    if before != after:
        place = new.spec.place((*new.keys, "-sync"))
        reason = "intact files are read the same; in damaged ones, other units may be found, and other findings told"
        yield _change("sync", new.title, before, after, Verdict.RECOVERY, reason, place=place)


def _said(member: object) -> str:
    """The facts about a member of an enum besides its name."""
    return (
        ", ".join(f"{key}: {value}" for key, value in member.items() if key != "id") if isinstance(member, dict) else ""
    )


def _shown(value: object) -> str:
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return "" if value is None else str(value)


def _described(attribute: Attribute) -> str:
    if attribute.section == "instances" and "value" in attribute.data:
        return f"= {attribute.data['value']}"
    size = attribute.data.get("size", "to the end" if attribute.data.get("size-eos") else "")
    return f"{type_text(attribute.data)}{f', size {size}' if size != '' else ''}"


def _is_confined(type_: TypeDef, specs: Mapping[str, Spec]) -> bool:
    """Whether every use of a type gives it a size."""
    uses = _uses_of(type_, specs)
    return bool(uses) and all({"size", "size-eos"} & attribute.data.keys() for attribute in uses)


def _uses_of(type_: TypeDef, specs: Mapping[str, Spec]) -> list[Attribute]:
    return [attribute for spec in specs.values() for attribute in all_attributes(spec) if _uses(attribute, type_)]


def _uses(attribute: Attribute, type_: TypeDef) -> bool:
    facts = facts_of(attribute)
    named = [facts["type"], *(line.partition(": ")[2] for line in facts.get("cases", "").split("\n"))]
    name = type_.names[-1] if type_.names else type_.spec.id
    is_near = not type_.names or attribute.owner.spec.id == type_.spec.id
    return is_near and any(item.partition("(")[0].rpartition("::")[2] == name for item in named)


def _is_checked(enum: Enumeration, specs: Mapping[str, Spec]) -> bool:
    """Whether a field with the enum accepts only its members."""
    for spec in specs.values():
        for attribute in all_attributes(spec):
            rule, path = attribute.data.get("valid"), str(attribute.data.get("enum", "")).split("::")
            is_near = spec.id == enum.owner.spec.id or path[0] == enum.owner.spec.id
            if is_near and path[-1] == enum.name and isinstance(rule, dict) and rule.get("in-enum"):
                return True
    return False
