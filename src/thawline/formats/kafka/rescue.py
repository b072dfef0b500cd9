"""What of a damaged segment goes into a new one, so that the new one is without damage."""

from __future__ import annotations

import tempfile
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from itertools import accumulate

from thawline.errors import SourceError
from thawline.formats.kafka.findings import DAMAGED_LENGTH, DAMAGED_MAGIC
from thawline.formats.kafka.heads import HEAD_SIZE, LATEST_MAGIC
from thawline.formats.kafka.segment import Segment, nowhere
from thawline.model import Finding, Run, Span
from thawline.source import LocalSource, RemoteSource, Source, open_source

PIECE = 4 << 20
"""Bytes that are copied in one go."""
PROVEN = (DAMAGED_LENGTH, DAMAGED_MAGIC)
"""Findings about a batch whose bytes are beyond doubt, although Kafka cannot read it."""
RECOVERED = "recovered"
ROUNDS = 16
"""How often units are left out because of what was left out before; then all is that is behind a doubtful one."""

Count = Callable[[Source, Span], Iterator[Run | Finding]]
"""Runs of the units of a span, with their rows counted."""


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
    for _ in range(ROUNDS):
        wrong = _wrong(source, [item for item in held if isinstance(item, Run) and item.units], first_offset)
        if not wrong:
            return iter(held)
        starts = [finding.span.start for finding in wrong]
        held = [
            part
            for item in held
            for part in _without(source, item, wrong[slice(*_within(starts, item.span))], given_up, count)
        ]
    worst = min(wrong, key=lambda finding: finding.span.start)
    rest = Finding(worst.code, Span(worst.span.start, source.size), worst.detail, worst.hint)
    return iter([*_before(source, held, worst.span.start, count), rest])


def _wrong(source: Source, runs: list[Run], first_offset: int) -> list[Finding]:
    """Units that are damage in the new file, whether it has the name of the old one or another."""
    if not runs:
        return []
    starts = list(accumulate((run.span.size for run in runs), initial=0))
    found: dict[Span, Finding] = {}
    with _copied(source, runs) as copy:
        for first in {first_offset, 0}:
            for item in Segment(copy, nowhere, first_offset=first).items(is_explained=False):
                if isinstance(item, Finding) and item.severity == "error":
                    at = bisect_right(starts, item.span.start) - 1
                    by = runs[at].span.start - starts[at]
                    span = Span(item.span.start + by, item.span.end + by)
                    found[span] = replace(item, span=span, hint=item.hint.replace(copy.name, source.name))
    return sorted(found.values(), key=lambda finding: finding.span)


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


def _before(source: Source, items: list[Run | Finding], end: int, count: Count) -> Iterator[Run | Finding]:
    """The items before a position, at which a unit starts."""
    for item in items:
        if item.span.end <= end:
            yield item
        elif item.span.start < end:
            yield from count(source, Span(item.span.start, end))
