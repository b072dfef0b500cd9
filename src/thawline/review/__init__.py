"""Spec-diff reviews: what a change of the specs does to the wire, to importers and to real files.

`matching` pairs what both versions have, `structure` lists the differences, `judging` has the verdict on each;
`documents` does all of that for document specs, `tables` for public tables, and `refusals` for rules of tools;
`toolchain` compiles both versions, `behaviour` runs them over files, `derived` compares their outputs.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from thawline.ksy.versions import Version
from thawline.review import behaviour, derived
from thawline.review.documents import document_changes
from thawline.review.layout import layouts_of
from thawline.review.matching import Matches, match
from thawline.review.model import Behaviour, Derived, Review
from thawline.review.reach import reduced, touched
from thawline.review.recut import recuts_of
from thawline.review.refusals import refusal_changes
from thawline.review.structure import changes_of
from thawline.review.tables import table_changes
from thawline.review.toolchain import make

NOT_ASKED = "only the structure was requested"
SAME = "no .ksy file differs"


def compared(old: Version, new: Version) -> Review:
    """What follows from the specs themselves, without compiling them."""
    return _structure(old, new, match(old, new))


def review(old: Version, new: Version, corpus: Iterable[Path] = (), seconds: int = behaviour.SECONDS) -> Review:
    """Every difference between two versions of the specs, and what follows from it."""
    matches = match(old, new)
    found = _structure(old, new, matches)
    if all(pair.old and pair.new and pair.old.text == pair.new.text for pair in matches.specs):
        return replace(found, behaviour=Behaviour(skipped=SAME), derived=Derived(skipped=SAME))
    before, after = touched(old, new, matches)
    with tempfile.TemporaryDirectory(prefix="spec-diff-") as folder:
        made = make(reduced(old, before), Path(folder, "old")), make(reduced(new, after), Path(folder, "new"))
        run = behaviour.run(old, matches, made, before, recuts_of(old, new, matches), corpus, seconds)
        return replace(found, behaviour=run, derived=derived.compare(*made))


def _structure(old: Version, new: Version, matches: Matches) -> Review:
    changes = [*changes_of(old, new, matches), *refusal_changes(matches)]
    changes += [*document_changes(old, new), *table_changes(old, new, matches)]
    layouts = layouts_of(old, new, matches)
    skipped = Behaviour(skipped=NOT_ASKED), Derived(skipped=NOT_ASKED)
    return Review(old.name, new.name, tuple(changes), tuple(layouts), *skipped)
