"""New files from a damaged one: of its intact frames, also of those that can be proven, or of all up to a cut."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from thawline.engine.encoding import mended
from thawline.errors import ThawlineError
from thawline.formats.rbf.findings import PROVEN
from thawline.formats.rbf.frame import (
    ALIGNMENT,
    FENCE,
    LEAST_FRAME,
    TAIL_BACK,
    has_right_checksum,
    has_right_status,
    payload_at,
    u4,
)
from thawline.model import Finding, Payload, Run, Span
from thawline.source import Source

PIECE = 4 << 20
"""Bytes that are copied at once."""


@dataclass(frozen=True, slots=True)
class Proven(Payload):
    """A frame that is proven although readers reject it."""

    size: int
    """Its size without fences."""


class BadCut(ThawlineError, ValueError):
    """The file cannot be cut there; the message names the nearest places where it can."""


def salvaged(source: Source, items: Iterable[Run | Finding]) -> Iterator[bytes | memoryview]:
    """The bytes of a new file: the genesis fence, then the frames of all runs with their fences [F-FENCE-SEMANTICS].

    The new file has no gap, so its reverse scan goes from fence to fence and finds exactly these frames.
    """
    yield FENCE
    for item in items:
        if isinstance(item, Run) and item.units:
            yield from _proven_frame(source, item) if item.recovered else _copied(source, item)
            source.release(item.span.end)


def _copied(source: Source, run: Run) -> Iterator[memoryview]:
    return _pieces(source, next(_borders(source, run)), run.span.end)


def _proven_frame(source: Source, run: Run) -> Iterator[bytes | memoryview]:
    """One proven frame, with the HeadLen that its payload gives it, and the fence that it may have lost."""
    assert isinstance(run.payload, Proven)  # noqa: S101 - `recovered` sets it
    start, end = run.span.start, run.span.start + run.payload.size
    payload = payload_at(source, start, end)
    yield mended("rbf_frames", source.view(start, payload.start), payload=payload.size)
    yield from _pieces(source, payload.start, end)
    yield FENCE


def _pieces(source: Source, start: int, end: int) -> Iterator[memoryview]:
    return (source.view(at, min(at + PIECE, end)) for at in range(start, end, PIECE))


def recovered(source: Source, items: Iterable[Run | Finding]) -> Iterator[Run | Finding]:
    """The items, with every proven frame as a run of its own, `recovered` from the finding's code.

    A frame is proven if TailLen is its size, and its status and its checksum are right. The checksum covers all but
    HeadLen and the fences around the frame [F-CRC32C-COVERAGE].
    """
    stream = iter(items)
    for item in stream:
        if isinstance(item, Finding) and item.code in PROVEN:
            yield from _recover(source, item, stream)
        else:
            yield item


def _recover(source: Source, finding: Finding, rest: Iterator[Run | Finding]) -> Iterator[Run | Finding]:
    """The frame that a finding is about, as a run, if it is proven; what lies inside it is payload and is dropped."""
    start = finding.span.start
    end = _end_by_head(source, start) or _end_by_tail(source, start, finding)
    reached: list[Run | Finding] = [finding]
    while (not end or reached[-1].span.end < end) and _may_be_payload(reached[-1]):
        if (item := next(rest, None)) is None:
            break
        reached.append(item)
        end = end or _end_by_tail(source, start, item)
    if _may_be_payload(reached[-1]) and _is_proven(source, start, end - start):
        span = Span(start, reached[-1].span.end)
        yield Run(span, 1, 1, recovered=finding.code.id, payload=Proven(end - start))
    else:
        yield from reached


def _may_be_payload(item: Run | Finding) -> bool:
    return isinstance(item, Finding) or bool(item.suspect)


def _end_by_head(source: Source, start: int) -> int:
    """Where a proven frame ends by its HeadLen; 0 if it is not proven."""
    size = u4(source, start)
    return start + size if _is_proven(source, start, size) else 0


def _end_by_tail(source: Source, start: int, item: Run | Finding) -> int:
    """Where a frame ends if an item ends with its fence, and the TailLen before that leads to its start; else 0."""
    end = item.span.end - len(FENCE)
    if isinstance(item, Run) or end - start < LEAST_FRAME or source.view(end, item.span.end) != FENCE:
        return 0
    return end if u4(source, end - TAIL_BACK) == end - start else 0


def _is_proven(source: Source, start: int, size: int) -> bool:
    if size < LEAST_FRAME or size % ALIGNMENT or start + size > source.size:
        return False
    frame = source.view(start, start + size)
    if u4(source, start + size - TAIL_BACK) != size or not has_right_status(frame, size):
        return False
    return has_right_checksum(frame)


def check_cut(source: Source, items: Iterable[Run | Finding], at: int) -> None:
    """Raise `BadCut` unless the first `at` bytes are a file by themselves [R-DATATAIL-TRUNCATE].

    A cut is a multiple of four, right after a fence. A fence inside an intact frame is payload, and one inside the
    claimed extent of a broken frame may be, so cuts after these are refused.
    """
    runs = [item for item in items if isinstance(item, Run)]
    if reason := _forbidding(source, runs, at):
        trusted = [run for run in runs if not run.suspect]
        raise BadCut(f"{source.name}: cannot be cut at {at:#x}: {reason}{_nearest(source, trusted, at)}")


def _forbidding(source: Source, runs: list[Run], at: int) -> str:
    """Why a file cannot be cut at a place; empty if it can."""
    if at > source.size:
        return f"the file has {source.size:#x} bytes, so an older DataTail is to be used"
    if at < len(FENCE) or source.view(0, len(FENCE)) != FENCE:
        return "the copy would not start with the genesis fence"
    if at % ALIGNMENT:
        return "it is no multiple of four"
    if source.view(at - len(FENCE), at) != FENCE:
        return "no fence lies right before it"
    run = next((run for run in runs if at - 1 in run.span), None)
    if run and run.suspect:
        return "it may lie in the payload of a broken frame"
    if run and at not in _borders(source, run):
        return "it lies inside an intact frame"
    return ""


def _nearest(source: Source, runs: list[Run], at: int) -> str:
    """The last good cut before a place and the first one after it, in words."""
    before = max((run.span.end for run in runs if run.span.end <= at), default=None)
    after = min((next(_borders(source, run)) for run in runs if run.span.start >= at), default=None)
    for run in runs:
        if run.span.start <= at < run.span.end:
            borders = list(_borders(source, run))
            before = max((border for border in borders if border <= at), default=before)
            after = min((border for border in borders if border >= at), default=after)
    places = [f"{place:#x}" for place in (before, after) if place is not None]
    return f"; the nearest frames end at {' and '.join(places)}" if places else "; no place in it is good for a cut"


def _borders(source: Source, run: Run) -> Iterator[int]:
    """Where the frames of an intact run start and end, fences included."""
    position = run.span.start or len(FENCE)
    yield position
    while position < run.span.end:
        position += u4(source, position) + len(FENCE)
        yield position
