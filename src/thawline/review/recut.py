"""Bytes that are cut into other fields while nothing after them moves, such as a flag from reserved bits."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from thawline.ksy.attributes import Attribute
from thawline.ksy.documents import Spec, TypeDef
from thawline.ksy.layouts import Extent, is_optional, rows_of
from thawline.ksy.versions import Version
from thawline.review.matching import Matches, Pair
from thawline.review.model import Change, Verdict

RESERVED = re.compile(r"(.*_)?(unused|reserved|padding|pad|unknown)(_.*)?\d*")
KINDS = {"added", "removed", "retyped", "resized"}


@dataclass(frozen=True, slots=True)
class Recut:
    """A stretch of a type that both versions have, and its fields in each, by path."""

    old: frozenset[str]
    new: frozenset[str]

    @property
    def was_reserved(self) -> bool:
        """Whether the stretch meant nothing before."""
        return all(RESERVED.fullmatch(path.rpartition(".")[2]) for path in self.old)

    def judged(self, change: Change) -> Change:
        """A change of one of the fields, judged with nothing after it moving."""
        if change.verdict is not Verdict.BREAKING or change.kind not in KINDS:
            return change
        if self.was_reserved:
            names = ", ".join(sorted(path.rpartition(".")[2] for path in self.old))
            reason = f"part of {names}, which meant nothing; nothing after it moves"
            return replace(change, verdict=Verdict.EXTENSION, reason=reason)
        if change.kind in {"added", "removed"}:
            reason = "the same bytes cut into other fields; nothing after them moves"
            return replace(change, verdict=Verdict.API, reason=reason, breaks_api=True)
        return change


def recuts_of(old: Version, new: Version, matches: Matches) -> list[Recut]:
    """Every stretch that is cut differently."""
    return [
        found
        for types, pairs in matches.attributes["seq"]
        if types.old and types.new
        for found in _recuts(types.old, types.new, pairs, (old, new))
    ]


def union(recuts: Iterable[Recut]) -> Recut:
    """All fields that are cut differently."""
    found = list(recuts)
    return Recut(
        frozenset(path for recut in found for path in recut.old),
        frozenset(path for recut in found for path in recut.new),
    )


def judged(changes: list[Change], recuts: list[Recut]) -> Iterator[Change]:
    """Changes, with those of fields that are cut differently judged as such."""
    by_path = {path: recut for recut in recuts for path in (*recut.old, *recut.new)}
    for change in changes:
        yield by_path[change.path].judged(change) if change.path in by_path else change


Place = tuple[tuple[str, ...], int]


def _recuts(
    old: TypeDef, new: TypeDef, pairs: Sequence[Pair[Attribute]], versions: tuple[Version, Version]
) -> Iterator[Recut]:
    before, after = _places(old, versions[0].specs), _places(new, versions[1].specs)
    partners = {pair.old.name: pair.new.name for pair in pairs if pair.old and pair.new and not pair.is_moved}
    common = [place for place in before if place in after]
    for start, end in pairwise(common):
        first, second = _between(before, start, end), _between(after, start, end)
        is_fixed = start[0] == end[0]
        is_anchored = [partners.get(name) for name in before[end][:1]] == after[end][:1]
        stays_inside = all(partners[name] in second for name in first if name in partners)
        if is_fixed and is_anchored and stays_inside and len(first) != len(second):
            yield Recut(
                frozenset(f"{old.title}.{name}" for name in first), frozenset(f"{new.title}.{name}" for name in second)
            )


def _places(type_: TypeDef, specs: Mapping[str, Spec]) -> dict[Place, list[str]]:
    """The fields by their start, in file order; none at the end of the type."""
    found: dict[Place, list[str]] = {}
    fields = [row for row in rows_of(type_, specs) if row.kind == "field" and row.start is not None]
    for row in fields:
        assert row.start is not None  # noqa: S101 - filtered above
        found.setdefault((row.start.terms, row.start.bits), []).append(row.name)
    if fields and not is_optional(type_.data["seq"][-1]) and fields[-1].extent is not None:
        end = (fields[-1].start or Extent()) + fields[-1].extent
        found.setdefault((end.terms, end.bits), [])
    return found


def _between(places: Mapping[Place, list[str]], start: Place, end: Place) -> list[str]:
    order = list(places)
    return [name for place in order[order.index(start) : order.index(end)] for name in places[place]]
