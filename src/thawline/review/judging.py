"""The verdict on one fact of a field that changed, with its reason: a function for each aspect."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from thawline.ksy.attributes import Attribute, Facts, attributes_of, facts_of, words
from thawline.ksy.documents import Spec, TypeDef
from thawline.ksy.layouts import BITS, NUMBER, Extent, extent
from thawline.ksy.names import find_type
from thawline.review.matching import Renames
from thawline.review.model import Verdict
from thawline.review.rules import relation, same_words

SHIFTS = "what follows lies elsewhere"
WORDS = {"doc", "doc-ref", "-orig-id", "-columnar"}
"""Aspects that do not concern bytes."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """A verdict with its kind of change and its reason."""

    kind: str
    verdict: Verdict
    reason: str
    breaks_api: bool = False


@dataclass(frozen=True, slots=True)
class Case:
    """A field in both versions, and what judges need to know."""

    old: Attribute
    new: Attribute
    before: Facts
    after: Facts
    versions: tuple[Mapping[str, Spec], Mapping[str, Spec]]
    renames: Renames
    steers: bool
    """Whether the layout depends on its value."""
    rules: bool
    """Whether a rule depends on its value."""

    def same(self, aspect: str) -> bool:
        """Whether a fact is the same, apart from renamed names."""
        before, after = (words(facts.get(aspect, "")) for facts in (self.before, self.after))
        return same_words(before, after, self.renames)

    def extents(self) -> tuple[Extent | None, Extent | None]:
        """The size of one occurrence in both versions."""
        return (
            extent(self.old.data, self.old.owner, self.versions[0]),
            extent(self.new.data, self.new.owner, self.versions[1]),
        )

    @property
    def keeps_size(self) -> bool:
        """Whether it has the same number of bytes, whatever its type."""
        before, after = self.extents()
        if before is not None and after is not None and not before.terms and not after.terms:
            return before.bits == after.bits
        return self.same("size") and "size" in self.before


Judge = Callable[[Case, str, str], Judgement]

CODEC = Judgement("codec", Verdict.BREAKING, "the same bytes decode to something else")
POSITION = Judgement("position", Verdict.BREAKING, "reads other bytes")
SWITCH = Judgement("cases", Verdict.BREAKING, "another value decides what is read")
ARGUMENTS = Judgement("arguments", Verdict.BREAKING, "its type is told something else")
PARAMETER = Judgement("retyped", Verdict.API, "importers have to give it as another type", breaks_api=True)
DOCUMENTATION = Judgement("documentation", Verdict.DOCUMENTATION, "says something else, means the same bytes")


def judge(case: Case, aspect: str) -> Judgement:
    """The verdict on a fact that differs."""
    before, after = case.before.get(aspect, ""), case.after.get(aspect, "")
    if case.new.is_checksum_range and aspect in {"pos", "size", "-columnar", "type"}:
        return _checksum(case)
    if case.new.section == "params" and aspect in {"type", "enum"}:
        return PARAMETER
    found = JUDGES[aspect]
    return found if isinstance(found, Judgement) else found(case, before, after)


def _checksum(case: Case) -> Judgement:
    name = case.new.name.removesuffix("_input")
    reason = f"{name} covers other bytes, or is computed otherwise: intact files fail the check"
    return Judgement("checksum coverage", Verdict.BREAKING, reason)


def _type(case: Case, before: str, after: str) -> Judgement:
    numbers = NUMBER.fullmatch(before), NUMBER.fullmatch(after)
    if all(numbers) and case.keeps_size:
        reason = "the same bytes are other numbers where the highest bit is set"
        if "f" in {before[0], after[0]}:
            reason = "the same bytes are other numbers"
        return Judgement("retyped", Verdict.BREAKING, reason)
    if not case.keeps_size:
        return Judgement("retyped", Verdict.BREAKING, _resized(case), breaks_api=not all(numbers))
    return _same_bytes(case, before, after)


def _same_bytes(case: Case, before: str, after: str) -> Judgement:
    """Another type of the same size."""
    plain = {"bytes", "contents"}
    if (before, after) == ("bytes", "contents"):
        return Judgement("retyped", Verdict.STRICTER, "any bytes were accepted, now only these")
    if (before, after) == ("contents", "bytes"):
        return Judgement("retyped", Verdict.LOOSER, "only some bytes were accepted, now any")
    if before == "bytes" and not _is_number(after):
        reason = "bytes that were given as they are now have to read as what is in them"
        return Judgement("retyped", Verdict.STRICTER, reason, breaks_api=True)
    if after in plain and not _is_number(before):
        return Judgement("retyped", Verdict.LOOSER, "what is in the bytes is no longer looked at", breaks_api=True)
    if _is_number(before) != _is_number(after) and {before, after} & {"bytes"}:
        return Judgement("retyped", Verdict.API, "the same bytes, given as another type", breaks_api=True)
    if _same_structure(case, before, after):
        return Judgement("retyped", Verdict.API, "another type with the same layout", breaks_api=True)
    return Judgement("retyped", Verdict.BREAKING, "the same bytes are read as something else", breaks_api=True)


def _same_structure(case: Case, before: str, after: str) -> bool:
    old = find_type(before, case.old.owner, case.versions[0])
    new = find_type(after, case.new.owner, case.versions[1])
    return bool(old and new and _said(old) == _said(new))


def _said(type_: TypeDef) -> list[Facts]:
    """Everything that decides how a type is read, without the names of its own fields."""
    attributes = [it for section in ("params", "seq", "instances") for it in attributes_of(type_, section)]
    return [{key: text for key, text in facts_of(it).items() if key not in WORDS} for it in attributes]


def _is_number(type_: str) -> bool:
    return bool(NUMBER.fullmatch(type_) or BITS.fullmatch(type_))


def _resized(case: Case) -> str:
    before, after = case.extents()
    if before is None or after is None or before.terms or after.terms:
        return f"takes another number of bytes, so {SHIFTS}"
    difference = (after.bits - before.bits) / 8
    return f"takes {_bytes(after)} instead of {_bytes(before)}, so what follows moves by {difference:+g}"


def _bytes(size: Extent) -> str:
    if size.bits % 8:
        return f"{size.bits} bits"
    return f"{size.bits // 8} byte{'s' * (size.bits != 8)}"  # noqa: PLR2004


def _endian(case: Case, before: str, after: str) -> Judgement:
    return Judgement(
        "endianness", Verdict.BREAKING, f"read as {after or 'nothing'}, written as {before or 'nothing'}: other values"
    )


def _size(case: Case, before: str, after: str) -> Judgement:
    if before.isdigit() and after and not after.isdigit():
        reason = f"was always {before} bytes; files where `{after}` is anything else are laid out differently"
        return Judgement("resized", Verdict.BREAKING, reason)
    if after.isdigit() and before and not before.isdigit():
        reason = f"is always {after} bytes; files where `{before}` was anything else are laid out differently"
        return Judgement("resized", Verdict.BREAKING, reason)
    if before.isdigit() and after.isdigit():
        return Judgement("resized", Verdict.BREAKING, _resized(case))
    if not before and _is_structure(case):
        reason = "now read from a stretch of its own: it may not go beyond it, and what is left of it is skipped"
        return Judgement("resized", Verdict.BREAKING, reason)
    return Judgement("resized", Verdict.BREAKING, f"takes another number of bytes, so {SHIFTS}")


def _is_structure(case: Case) -> bool:
    return find_type(case.after["type"], case.new.owner, case.versions[1]) is not None


def _contents(case: Case, before: str, after: str) -> Judgement:
    if not before or not after:
        return Judgement("contents", Verdict.STRICTER if after else Verdict.LOOSER, "see its type")
    return Judgement("contents", Verdict.BREAKING, "files with the bytes that were expected are refused")


def _valid(case: Case, before: str, after: str) -> Judgement:
    match relation(case.old, case.new, case.versions, case.renames):
        case "stricter":
            return Judgement("valid", Verdict.STRICTER, "old files with other values are now refused")
        case "looser":
            return Judgement("valid", Verdict.LOOSER, "values that were refused are now accepted")
        case "disjoint":
            return Judgement(
                "valid", Verdict.BREAKING, "no value that was accepted still is: every old file is refused"
            )
        case "same":
            return Judgement("valid", Verdict.DOCUMENTATION, "the same values in other words")
    reason = "the rules cannot be compared: old files may be refused, and others accepted"
    return Judgement("valid", Verdict.STRICTER, reason)


def _condition(case: Case, before: str, after: str) -> Judgement:
    if case.new.section == "instances":
        return Judgement("condition", Verdict.API, "it is there in other cases", breaks_api=True)
    if not before:
        reason = f"was always there; where `{after}` is false, {SHIFTS}"
        return Judgement("condition", Verdict.BREAKING, reason, breaks_api=True)
    if not after:
        return Judgement("condition", Verdict.BREAKING, f"is now always there; where `{before}` is false, {SHIFTS}")
    old, new = words(before), words(after)
    if new[: len(old) + 1] == [*old, "or"]:
        reason = f"also there where `{' '.join(new[len(old) + 1 :])}`; where it was there before, it still is"
        return Judgement("condition", Verdict.EXTENSION, reason)
    return Judgement("condition", Verdict.BREAKING, f"is there in other cases; in those {SHIFTS}")


def _repeat(case: Case, before: str, after: str) -> Judgement:
    if bool(before) != bool(after):
        reason = "a list now" if after else "no list any more"
        return Judgement("repetition", Verdict.BREAKING, f"{reason}; {SHIFTS}", breaks_api=True)
    return Judgement("repetition", Verdict.BREAKING, f"ends elsewhere, so {SHIFTS}")


def _terminator(case: Case, before: str, after: str) -> Judgement:
    lenient = before.replace(", eos-error true", "") + ", eos-error false"
    if after == lenient:
        return Judgement("terminator", Verdict.LOOSER, "may now end with the data instead of its terminator")
    if before == after.replace(", eos-error true", "") + ", eos-error false":
        return Judgement("terminator", Verdict.STRICTER, "must now end with its terminator, not with the data")
    return Judgement("terminator", Verdict.BREAKING, f"ends elsewhere, so {SHIFTS}")


def _cases(case: Case, before: str, after: str) -> Judgement:
    old, new = (
        {line.partition(": ")[0]: line.partition(": ")[2] for line in text.split("\n")} for text in (before, after)
    )
    added, gone = sorted(new.keys() - old.keys()), sorted(old.keys() - new.keys())
    other = sorted(value for value in old.keys() & new.keys() if old[value] != new[value])
    if gone or [value for value in other if (old[value], new[value]) not in case.renames]:
        named = ", ".join([*gone, *other])
        return Judgement("cases", Verdict.BREAKING, f"{named}: read as something else, or not at all", breaks_api=True)
    if added and "_" in old:
        reason = f"{', '.join(added)}: was read as {old['_']} before"
        return Judgement("cases", Verdict.BREAKING, reason)
    if added:
        return Judgement("cases", Verdict.EXTENSION, f"{', '.join(added)}: had no structure before")
    return Judgement("cases", Verdict.DOCUMENTATION, "the same cases under other names")


def _value(case: Case, before: str, after: str) -> Judgement:
    if case.steers:
        reason = "the layout depends on it: fields lie elsewhere where it is another"
        return Judgement("value", Verdict.BREAKING, reason)
    if case.rules:
        reason = "rules depend on it: old files may be refused, and others accepted"
        return Judgement("value", Verdict.STRICTER, reason, breaks_api=True)
    return Judgement("value", Verdict.API, "importers get another value; no byte is read differently", breaks_api=True)


def _enum(case: Case, before: str, after: str) -> Judgement:
    reason = "numbers are now members of the enum" if after else "members of the enum are now numbers"
    if before and after:
        reason = "members of another enum"
    return Judgement("enum", Verdict.API, reason, breaks_api=True)


def _hint(case: Case, before: str, after: str) -> Judgement:
    reason = "no byte is read differently; see the derived outputs for the columns"
    is_dropped = "column: False" in after or "column: True" in before
    return Judgement("hint", Verdict.API if is_dropped else Verdict.ADDITION, reason, breaks_api=is_dropped)


JUDGES: dict[str, Judge | Judgement] = {
    "type": _type,
    "endian": _endian,
    "size": _size,
    "contents": _contents,
    "valid": _valid,
    "if": _condition,
    "repeat": _repeat,
    "terminator": _terminator,
    "switch-on": SWITCH,
    "cases": _cases,
    "arguments": ARGUMENTS,
    "value": _value,
    "process": CODEC,
    "encoding": CODEC,
    "pad-right": CODEC,
    "pos": POSITION,
    "io": POSITION,
    "enum": _enum,
    "-columnar": _hint,
    "-overlay": _hint,
    "doc": DOCUMENTATION,
    "doc-ref": DOCUMENTATION,
    "-orig-id": DOCUMENTATION,
}
"""The judge of each aspect, or its only verdict, in the order in which a reader would ask."""
