"""The differences between two versions of rules with provenance, and the verdict on each.

No byte is read differently. What differs is which lines count as damage, and what findings say about them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from thawline.ksy.attributes import Attribute
from thawline.ksy.documents import Keys, Spec, TypeDef
from thawline.ksy.refusals import TOOLS, Refusal, refusals_of
from thawline.review.matching import Matches
from thawline.review.model import Change, Verdict

WORDS = ("-called", "-due", "-unknown")
"""Keys that only findings repeat."""
READING = ("-range", "-bytes", "-base64", "-head")
"""Keys by which lines are read that not every tool reads."""
KIND = "refusal"


def refusal_changes(matches: Matches) -> Iterator[Change]:
    """Every difference, in the order of the new specs."""
    for specs in matches.specs:
        if specs.old and specs.new:
            yield from _tools(specs.old, specs.new)
    for types in matches.types:
        if types.old and types.new:
            yield from _Comparison(_of_type(types.old), _of_type(types.new)).changes()
    for pair in matches.each_attribute():
        if pair.old and pair.new:
            yield from _Comparison(_of_attribute(pair.old), _of_attribute(pair.new)).changes()


@dataclass(frozen=True, slots=True)
class _Owner:
    """A field or a type that may have rules."""

    path: str
    spec: Spec
    keys: Keys
    data: Mapping[str, Any]

    def rules(self) -> list[Refusal]:
        return refusals_of(self.spec, self.keys, self.data)


def _of_type(type_: TypeDef) -> _Owner:
    return _Owner(type_.title, type_.spec, type_.keys, type_.data)


def _of_attribute(attribute: Attribute) -> _Owner:
    return _Owner(attribute.path, attribute.owner.spec, attribute.keys, attribute.data)


def _tools(old: Spec, new: Spec) -> Iterator[Change]:
    before, after = (spec.data.get(TOOLS) or {} for spec in (old, new))
    for name in sorted(before.keys() | after.keys()):
        if before.get(name) != after.get(name):
            shown = _shown(before.get(name)), _shown(after.get(name))
            verdict = Verdict.API if name in before else Verdict.ADDITION
            reason = "findings about what the tool refuses have other codes or words"
            place, is_api = new.place((TOOLS, name)), verdict is Verdict.API
            yield Change("tools", f"{new.id} {name}", *shown, verdict, reason, breaks_api=is_api, place=place)


@dataclass(frozen=True, slots=True)
class _Comparison:
    old: _Owner
    new: _Owner

    def changes(self) -> Iterator[Change]:
        gone = self.old.rules()
        added: list[Refusal] = []
        for rule in self.new.rules():
            former = next((it for it in gone if _facts(it) == _facts(rule)), None)
            if former is None:
                added.append(rule)
                continue
            gone.remove(former)
            if former.because != rule.because:
                reason = "the finding has other words"
                yield self.change(rule, former.because, rule.because, Verdict.DOCUMENTATION, reason)
        for rule in added:
            former = next((it for it in gone if it.condition == rule.condition and it.case == rule.case), None)
            if former:
                gone.remove(former)
            yield self.replaced(former, rule) if former else self.added(rule)
        yield from map(self.removed, gone)
        yield from self.keys()

    def keys(self) -> Iterator[Change]:
        for key in (*WORDS, *READING):
            before, after = _shown(self.old.data.get(key)), _shown(self.new.data.get(key))
            if before != after:
                verdict = Verdict.DOCUMENTATION if key in WORDS else Verdict.RECOVERY
                reason = "findings have other words" if key in WORDS else "lines that not every tool reads may differ"
                place = self.new.spec.place((*self.new.keys, key))
                yield Change(KIND, f"{self.new.path} {key}", before, after, verdict, reason, place=place)

    def added(self, rule: Refusal) -> Change:
        if rule.is_tolerated:
            return self.change(rule, "", str(rule), Verdict.LOOSER, "lines that were damage may now count as intact")
        reason = f"lines that {_who(rule)} not read are now damage; with --lenient only if no other tool reads them"
        return self.change(rule, "", str(rule), Verdict.STRICTER, reason)

    def removed(self, rule: Refusal) -> Change:
        if rule.is_tolerated:
            return self.change(rule, str(rule), "", Verdict.STRICTER, "lines that counted as intact may now be damage")
        reason = f"that {_who(rule)} not read a line is no longer reported"
        return self.change(rule, str(rule), "", Verdict.LOOSER, reason)

    def replaced(self, old: Refusal, new: Refusal) -> Change:
        return self.change(new, str(old), str(new), *_verdict(old, new))

    def change(self, rule: Refusal, before: str, after: str, verdict: Verdict, reason: str) -> Change:
        """A change of a rule; one that is gone has the place of what it was about."""
        place = self.new.spec.place(rule.keys if after else self.new.keys)
        is_api = verdict is Verdict.API
        return Change(KIND, self.new.path, before, after, verdict, reason, breaks_api=is_api, place=place)


def _verdict(old: Refusal, new: Refusal) -> tuple[Verdict, str]:
    """What a rule with another limit, or about other tools, does to files."""
    if old.against < new.against:
        return Verdict.STRICTER, "fewer tools read such lines: if none does, they are damage with --lenient, too"
    if new.against < old.against:
        return Verdict.LOOSER, "more tools read such lines, so that --lenient may accept them"
    if (old.value, old.versions) == (new.value, new.versions) and old.is_tolerated == new.is_tolerated:
        return Verdict.API, "the same lines are reported, with the code of another tool"
    if _contains(old, new) and old.against == new.against:
        return Verdict.STRICTER, "more lines are reported as refused"
    if _contains(new, old) and old.against == new.against:
        return Verdict.LOOSER, "fewer lines are reported as refused"
    return Verdict.STRICTER, "the rules cannot be compared: other lines are reported as refused"


def _contains(old: Refusal, new: Refusal) -> bool:
    """Whether the new rule objects to all that the old one objects to."""
    if old.is_tolerated or new.is_tolerated or not set(old.versions) <= set(new.versions):
        return False
    if old.condition in ("longer-than", "written-longer-than"):
        return bool(new.value <= old.value)
    if old.condition == "outside":
        return bool(old.value[0] <= new.value[0] and new.value[1] <= old.value[1])
    return bool(old.value == new.value)


def _facts(rule: Refusal) -> tuple[object, ...]:
    return str(rule), rule.has_escapes


def _who(rule: Refusal) -> str:
    names = sorted(rule.against)
    return f"{' and '.join(names)} {'do' if len(names) > 1 else 'does'}"


def _shown(value: object) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key}: {item}" for key, item in value.items())
    return "" if value is None else str(value)
