"""Parts of a backup that are read by themselves.

A file is divided where entries seem to start. Nothing but a walk tells whether they do, so each section has its own.
The runs of an earlier walk are read again, to decode them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from thawline.engine import columns
from thawline.formats.aerospike.checks import Soundness
from thawline.formats.aerospike.entries import EntryReader
from thawline.formats.aerospike.findings import (
    BROKEN,
    TRUNCATED,
    UNKNOWN_KIND,
    Stretch,
    Strictness,
    version_notes,
)
from thawline.formats.aerospike.rows import KERNELS, Selection
from thawline.formats.aerospike.text import (
    HEADER,
    VERSIONS,
    Item,
    PlainText,
    ZstdPart,
    entries_of,
    first_bytes,
    opened_at,
    plain_item,
    starts_in,
)
from thawline.formats.aerospike.walk import Walk, started_entry
from thawline.generated.kernels.constants import AEROSPIKE_RECORD_LEAD_NAMESPACE
from thawline.model import Finding, Run, Span
from thawline.source import Source
from thawline.wording import quoted

NAMESPACE: bytes = AEROSPIKE_RECORD_LEAD_NAMESPACE
RESYNCHRONISING = frozenset({BROKEN, TRUNCATED, UNKNOWN_KIND})
"""Findings after which a walk searches for the next entry, and what it finds depends on what was before."""
LARGEST = 2 << 20
"""Bytes of a section: all of its rows are held until its end proves that it holds, and memory is used once more."""

Shown = Callable[[Iterable[Item]], Iterator[Run | Finding]]


def version_of(source: Source) -> str:
    """The version of a plain backup with a header that is as it should be; empty for any other file."""
    found = HEADER.match(first_bytes(source))
    version = f"{found[1].decode()}.{found[2].decode()}" if found else ""
    return version if version in VERSIONS and not version_notes(version.encode()) else ""


def spans(source: Source, version: str, size: int, within: Span) -> Iterator[Span]:
    """Stretches of about some size, up to what looks like an entry."""
    size = min(size, LARGEST)
    start = within.start
    while start < within.end:
        end = min(entry_after(source, start + size, version), within.end)
        yield Span(start, end)
        start = end


def entry_after(source: Source, position: int, version: str) -> int:
    """Where an entry seems to start; the end of the file if none does."""
    view = source.view(0, source.size)
    starts = starts_in(view)
    at = starts.following(min(position, source.size))
    if view[at : at + len(NAMESPACE)] == NAMESPACE:
        # It may be the second line of a record, after its key. What starts next is an entry.
        at = starts.following(at + 1)
    while at < source.size and not started_entry(EntryReader(view, at, version)):
        at = starts.following(at + 1)
    return at


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a plain backup that starts with an entry, or with the header."""

    source: Source
    span: Span
    version: str
    rules: Strictness

    def walk(self, quick: Soundness | None) -> Walk:
        """A walk over it."""
        start, hint = self.span.start, f"thawline salvage {quoted(self.source.name)} -o intact.asb"
        text, rows = PlainText(self.source, self.span.end), columns.MAX_ROWS
        walk = Walk(text, self.rules, hint, start, self.version, quick, is_written=False, last_complete=start)
        walk.table, walk.rows = ("records", rows) if start else (walk.table, walk.rows)
        return walk

    def items(self, quick: Soundness | None, shown: Shown) -> Sequence[Run | Finding] | None:
        """What is found in it; None unless it consists of whole entries."""
        walk = self.walk(quick)
        items = list(shown(self._found(walk)))
        is_whole = walk.pos == self.span.end
        is_clear = all(isinstance(item, Run) or item.code not in RESYNCHRONISING for item in items)
        return items if is_whole and is_clear else None

    def rest(self, quick: Soundness | None) -> Iterator[Item]:
        """What is found in it, if it goes up to the end of the file."""
        return self._found(self.walk(quick))

    def _found(self, walk: Walk) -> Iterator[Item]:
        found = walk.entries() if self.span.start else walk.items()
        return (plain_item(item, walk.version) for item in found)


# Runs of an earlier walk.


def stretches_of(source: Source, run: Run, selection: Selection | None = None) -> Iterator[Stretch]:
    """The stretches of a run of an earlier walk."""
    place = entries_of(run)
    if place.table not in KERNELS:
        return
    span = place.text or run.given or run.span
    text = ZstdPart(opened_at(source, place), span.end) if place.text else PlainText(source, span.end)
    walk = Walk(text, pos=span.start, version=place.version, selection=selection, is_written=False)
    if place.suspect == "nested":
        walk.nested_to = span.end
    for found in walk.entries():
        if isinstance(found, Stretch):
            yield replace(found, suspect="frame") if place.suspect == "frame" and not found.suspect else found


def pruned_stretches(source: Source, run: Run) -> Iterator[Stretch]:
    """The stretches in the rest of a file that holds no requested record."""
    place = entries_of(run)
    text = opened_at(source, place) if place.text else PlainText(source)
    start = place.text.start if place.text else run.span.start
    walk = Walk(text, pos=start, version=place.version, is_written=False)
    return (found for found in walk.entries() if isinstance(found, Stretch))


def unit_spans(source: Source, run: Run) -> Iterator[Span]:
    """The entries of a run; in a compressed file the run itself."""
    if entries_of(run).text or run.given or run.units == 1:
        yield run.given or run.span
        return
    for stretch in stretches_of(source, run):
        yield from (Span(start, end) for start, end in stretch.places())
