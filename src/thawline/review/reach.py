"""The reach of a change of one spec: the specs that import it, and all that those need."""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from dataclasses import replace

from thawline.ksy.versions import Version
from thawline.review.matching import Matches


def touched(old: Version, new: Version, matches: Matches) -> tuple[frozenset[str], frozenset[str]]:
    """Ids of specs that differ, or that import one that does, directly or not."""
    pairs = [pair for pair in matches.specs if not (pair.old and pair.new and pair.old.data == pair.new.data)]
    before = importers(old, {pair.old.id for pair in pairs if pair.old})
    after = importers(new, {pair.new.id for pair in pairs if pair.new})
    return before, after


def importers(version: Version, names: AbstractSet[str]) -> frozenset[str]:
    """Specs, and those that import them, directly or not."""
    found = set(names)
    while more := {name for name, spec in version.specs.items() if found.intersection(spec.imports)} - found:
        found |= more
    return frozenset(found)


def reduced(version: Version, names: AbstractSet[str]) -> Version:
    """A version with only these specs and their imports."""
    found = set(names)
    while more := {item for name in found for item in version.specs[name].imports} & version.specs.keys() - found:
        found |= more
    return replace(version, specs={name: spec for name, spec in version.specs.items() if name in found})
