"""What differs between two sides, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from thawline.rendering.words import counted, grouped, printable

if TYPE_CHECKING:
    from thawline.verbs.diff import Difference


def summary(found: Difference) -> str:
    """The counts, a line each, and in how many of the changed rows each column differs."""
    counts = found.counts
    lines = {
        "same": counts.same,
        "removed": counts.removed,
        "added": counts.added,
        "changed": counts.changed,
        "moved": counts.moved,
    }
    width = max(len(grouped(number)) for number in lines.values())
    changed = ", ".join(f"{printable(name)} {grouped(number)}" for name, number in counts.columns.items())
    remarks = {"removed": "only in A", "added": "only in B", "changed": changed, "moved": "the same, elsewhere"}
    return "\n".join(
        f"{name:<7}  {grouped(number):>{width}}" + (f"  {remarks[name]}" if number and name in remarks else "")
        for name, number in lines.items()
    )


def verdict(found: Difference, *, is_whole: bool) -> str:
    """One sentence: how many rows differ, by which key. With `is_whole`, every file was looked at."""
    counts, key = found.counts, ", ".join(map(printable, found.key)) or "place"
    if not counts.differences:
        compared = f"{counted(counts.same, 'row')}, compared by {key}"
        return (
            f"the same: {compared}"
            if found.is_same and is_whole
            else f"no difference in what could be read: {compared}"
        )
    kinds = {"removed": counts.removed, "added": counts.added, "changed": counts.changed, "moved": counts.moved}
    listed = ", ".join(f"{grouped(number)} {kind}" for kind, number in kinds.items() if number)
    return f"different by {key}: {listed}; {grouped(counts.same)} the same"
