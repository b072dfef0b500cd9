"""What of a damaged segment goes into a new one, so that the new one is without damage."""

from __future__ import annotations

import tempfile
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from itertools import accumulate, repeat
from typing import Any

from thawline.errors import SourceError
from thawline.formats.kafka.checks import Checksums, rising
from thawline.formats.kafka.findings import BAD_OFFSET, DAMAGED_LENGTH, DAMAGED_MAGIC
from thawline.formats.kafka.gaps import LARGEST_OFFSET, Gaps
from thawline.formats.kafka.heads import HEAD_SIZE, LATEST_MAGIC, SUSPECT, Heads, walk
from thawline.formats.kafka.losses import lost_unit
from thawline.formats.kafka.segment import Segment, nowhere
from thawline.model import Finding, Run, Span
from thawline.source import LocalSource, RemoteSource, Source, open_source

PIECE = 4 << 20
"""Bytes that are copied in one go."""
PROVEN = (DAMAGED_LENGTH, DAMAGED_MAGIC)
"""Findings about a batch whose bytes are beyond doubt, although Kafka cannot read it."""
RECOVERED = "recovered"
ROUNDS = 16
"""How often units are left out because of what was left out before; then all are whose offsets do not rise."""
PLACES, BASE, LAST = ("position", "size", "base_offset", "last_offset", "num_records"), 2, 3

Count = Callable[[Source, Span], Iterator[Run | Finding]]
"""Runs of the units of a span, with their rows counted."""
Find = Callable[[Source, int], Iterable[Finding]]
"""Units of a new file that cannot be in it, by the offset that it is named after."""


def recovered(source: Source, items: Iterable[Run | Finding], count: Count) -> Iterator[Run | Finding]:
    """The items, with batches as runs whose checksum proves all but their length or magic, and whose records parse."""
    for item in items:
        yield _recovered(source, item, count) if isinstance(item, Finding) and item.code in PROVEN else item


def _recovered(source: Source, finding: Finding, count: Count) -> Run | Finding:
    span = finding.span
    mended = LocalSource("", b"".join((mended_head(source, span), source.view(span.start + HEAD_SIZE, span.end))))
    found = list(count(mended, Span(0, mended.size)))
    runs = [item for item in found if isinstance(item, Run)]
    if len(found) != 1 or len(runs) != 1 or runs[0].span.size != span.size:
        return finding
    return Run(span, 1, runs[0].rows, {RECOVERED: finding.code.id})


def mended_head(source: Source, span: Span) -> bytes:
    """The head of a batch with the length and the magic that its checksum proves."""
    head = bytearray(source.view(span.start, span.start + HEAD_SIZE))
    head[8:12] = (span.size - 12).to_bytes(4, "big")
    head[16] = LATEST_MAGIC
    return bytes(head)


def pieces(source: Source, runs: Iterable[Run]) -> Iterator[bytes | memoryview]:
    """The bytes of a new segment that holds the units of some runs."""
    for run in runs:
        start, end = run.span.start, run.span.end
        if RECOVERED in run.labels:
            yield mended_head(source, run.span)
            start += HEAD_SIZE
        yield from (source.view(at, min(at + PIECE, end)) for at in range(start, end, PIECE))
        source.release(end)


def judged_anew(
    source: Source, items: Iterable[Run | Finding], first_offset: int, count: Count, given: Iterable[Run | Finding] = ()
) -> Iterator[Run | Finding]:
    """The items, but units as findings whose offsets do not fit any more once the damage between them is gone.

    Which offset is wrong is told by those around it, and in the new file these are others. `given` has the findings
    about units that were recovered since.
    """
    held = list(items)
    if not any(isinstance(item, Finding) and item.severity == "error" for item in (*held, *given)):
        return iter(held)
    given_up = {item.span: item for item in given if isinstance(item, Finding)}
    for find in (*repeat(_wrong, ROUNDS), _not_rising):
        kept = [item for item in held if isinstance(item, Run) and item.units and SUSPECT not in item.labels]
        wrong = _found_in(source, kept, first_offset, find)
        if not wrong:
            break
        starts = [finding.span.start for finding in wrong]
        held = [
            part
            for item in held
            for part in _without(source, item, wrong[slice(*_within(starts, item.span))], given_up, count)
        ]
    return iter(held)


def _found_in(source: Source, runs: list[Run], first_offset: int, find: Find) -> list[Finding]:
    """What is found in the new file, with the positions that it has in the old one."""
    if not runs:
        return []
    starts = list(accumulate((run.span.size for run in runs), initial=0))
    found: dict[Span, Finding] = {}
    with _copied(source, runs) as copy:
        for item in find(copy, first_offset):
            at = bisect_right(starts, item.span.start) - 1
            by = runs[at].span.start - starts[at]
            span = Span(item.span.start + by, item.span.end + by)
            found[span] = replace(item, span=span, hint=item.hint.replace(copy.name, source.name))
    return sorted(found.values(), key=lambda finding: finding.span)


def _wrong(copy: Source, first_offset: int) -> Iterator[Finding]:
    """Units that are damage in the new file, whether it has the name of the old one or another."""
    for first in {first_offset, 0}:
        for item in Segment(copy, nowhere, first_offset=first).items(is_explained=False):
            if isinstance(item, Finding) and item.severity == "error":
                yield item


def _not_rising(copy: Source, first_offset: int) -> Iterator[Finding]:
    """All units but the longest series of rising offsets, of which nobody can say that one does not fit."""
    units = [unit for heads in walk(copy, 0) if isinstance(heads, Heads) for unit in _places(heads)]
    lasts = [unit[LAST] for unit in units]
    firsts = [unit[LAST] if unit[BASE] is None else unit[BASE] for unit in units]
    # What starts before the first offset that there can be is in no series.
    kept = set(rising([first if first >= first_offset else LARGEST_OFFSET for first in firsts], lasts))
    gaps, before = Gaps(copy, Checksums(copy)), first_offset - 1
    for row, (at, size, base, last, count) in enumerate(units):
        if row in kept:
            before = last
            continue
        detail = {"base_offset": base, "last_offset_before": before, "lost": lost_unit(count, base, last)}
        yield gaps.found(BAD_OFFSET, Span(at, at + size), detail)


def _places(heads: Heads) -> Iterator[tuple[Any, ...]]:
    return zip(*(heads.rows[name].to_pylist() for name in PLACES), strict=True)


def _copied(source: Source, runs: list[Run]) -> LocalSource | RemoteSource:
    """The new file, to look at."""
    with tempfile.TemporaryFile() as file:
        try:
            for piece in pieces(source, runs):
                file.write(piece)
            file.seek(0)
        except OSError as error:
            raise SourceError(error.errno, f"{source.name}: cannot be copied: {error.strerror}") from error
        return open_source(file)


def _without(
    source: Source, item: Run | Finding, wrong: list[Finding], given_up: dict[Span, Finding], count: Count
) -> Iterator[Run | Finding]:
    """An item without the units in it that are wrong."""
    if isinstance(item, Finding) or not wrong:
        yield item
    elif RECOVERED in item.labels:
        yield given_up[item.span]
    else:
        start = item.span.start
        for finding in wrong:
            yield from count(source, Span(start, finding.span.start)) if start < finding.span.start else ()
            yield finding
            start = finding.span.end
        yield from count(source, Span(start, item.span.end)) if start < item.span.end else ()


def _within(starts: list[int], span: Span) -> tuple[int, int]:
    return bisect_left(starts, span.start), bisect_left(starts, span.end)
