"""The differences between two versions of the document specs, and the verdict on each.

A key is what a document has on the wire and what its column is called, so a renamed field is both.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from thawline.ksy.document_specs import Member, members_of, nesting_of
from thawline.ksy.documents import Spec
from thawline.ksy.versions import Version
from thawline.review.model import Change, Verdict

SAYS = "says something else, means the same documents"


def document_changes(old: Version, new: Version) -> Iterator[Change]:
    """Every difference, in the order of the new specs."""
    before, after = old.documents, new.documents
    if len(before) == len(after) == 1 and not before.keys() & after.keys():  # two files, which are compared
        before, after = {"": next(iter(before.values()))}, {"": next(iter(after.values()))}
    for name, spec in after.items():
        if name in before:
            yield from _Comparison(before[name], spec).changes()
        else:
            yield Change("added", name, "", "document", Verdict.ADDITION, "new; nothing read it", place=spec.place(()))
    for name, spec in before.items():
        if name not in after:
            reason, place = "what it described can no longer be read", spec.place(())
            yield Change("removed", name, "document", "", Verdict.BREAKING, reason, breaks_api=True, place=place)


@dataclass(frozen=True, slots=True)
class _Comparison:
    old: Spec
    new: Spec

    def changes(self) -> Iterator[Change]:
        yield from self.nesting()
        before, after = ({member.name: member for member in members_of(spec)} for spec in (self.old, self.new))
        gone = [member for key, member in before.items() if key not in after]
        for key, member in after.items():
            if key in before:
                yield from self.member(before[key], member)
            elif former := _former(member, gone, list(before.values()), list(after.values())):
                gone.remove(former)
                yield self.renamed(former, member)
            else:
                reason = "documents with this member give a new column; no other is read differently"
                yield self.change("added", member, "", member.type, Verdict.EXTENSION, reason)
        for member in gone:
            yield self.removed(member)

    def nesting(self) -> Iterator[Change]:
        before, after = nesting_of(self.old), nesting_of(self.new)
        if before != after:
            verdict = Verdict.STRICTER if after < before else Verdict.LOOSER
            reason = f"documents may have {'fewer' if after < before else 'more'} levels of arrays and objects"
            place = self.new.place(("nesting",))
            yield Change("nesting", self.new.id, str(before), str(after), verdict, reason, place=place)

    def member(self, old: Member, new: Member) -> Iterator[Change]:
        if old.type != new.type:
            reason = "a value of the old type is refused, and the column has another type"
            yield self.change("retyped", new, old.type, new.type, Verdict.BREAKING, reason, breaks_api=True)
        if old.presence != new.presence:
            verdict = Verdict.STRICTER if new.presence == "required" else Verdict.LOOSER
            reason = "whether a document without it is reported"
            yield self.change("presence", new, old.presence, new.presence, verdict, reason)
        if old.facts != new.facts:
            reason = "pairs of another shape or number have no known shape"
            yield self.change("pairs", new, old.facts, new.facts, Verdict.STRICTER, reason)
        if old.doc != new.doc:
            yield self.change("documentation", new, old.doc, new.doc, Verdict.DOCUMENTATION, SAYS)

    def renamed(self, old: Member, new: Member) -> Change:
        reason = f"documents have the key {old.name}, and are read as if they had no such member"
        return self.change("renamed", new, old.name, new.name, Verdict.BREAKING, reason, breaks_api=True)

    def removed(self, old: Member) -> Change:
        place, reason = self.old.place(old.keys), "documents that have it lose the column"
        return Change("removed", old.path, old.type, "", Verdict.BREAKING, reason, breaks_api=True, place=place)

    def change(
        self, kind: str, member: Member, before: str, after: str, verdict: Verdict, reason: str, *,
        breaks_api: bool = False,
    ) -> Change:  # fmt: skip
        return Change(kind, member.path, before, after, verdict, reason, breaks_api, self.new.place(member.keys))


def _former(member: Member, gone: list[Member], before: list[Member], after: list[Member]) -> Member | None:
    """The field that has lost its name where this one now is."""
    place = after.index(member)
    former = before[place] if place < len(before) else None
    return former if former in gone and former.type == member.type else None
