"""What of a damaged RBF file goes into a new one: the intact frames, those that can be proven, or all up to a cut."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from thawline.checksums import crc32c
from thawline.errors import ThawlineError
from thawline.formats.rbf.findings import DAMAGED_LENGTH, UNFENCED, UNREACHABLE
from thawline.formats.rbf.frames import FENCE, LEAST_FRAME, has_right_status
from thawline.model import Finding, Run, Span
from thawline.source import Source

PROVEN = (UNFENCED, DAMAGED_LENGTH, UNREACHABLE)
"""Findings about a frame whose content is beyond doubt, although a reader must not return it."""
PIECE = 4 << 20
"""Bytes that are copied in one go."""


class BadCut(ThawlineError, ValueError):
    """The file cannot be cut there; the message names the nearest places where it can."""


def rewritten(source: Source, items: Iterable[Run | Finding]) -> Iterator[bytes | memoryview]:
    """The bytes of a file with the frames of all runs, each with its fence behind it [F-FENCE-SEMANTICS].

    Its forward walk has no gap, so its reverse scan goes from fence to fence and yields exactly these frames.
    """
    yield FENCE
    for item in items:
        if isinstance(item, Run) and item.units:
            yield from _mended(source, item) if "recovered" in item.labels else _copied(source, item)
            source.release(item.span.end)


def _copied(source: Source, run: Run) -> Iterator[memoryview]:
    return _pieces(source, next(_borders(source, run)), run.span.end)


def _mended(source: Source, run: Run) -> Iterator[bytes | memoryview]:
    """One proven frame, with the HeadLen that its TailLen repeats and the fence that it may have lost."""
    size = run.labels["size"]
    assert isinstance(size, int)  # noqa: S101 - `recovered` sets it
    yield size.to_bytes(4, "little")
    yield from _pieces(source, run.span.start + 4, run.span.start + size)
    yield FENCE


def _pieces(source: Source, start: int, end: int) -> Iterator[memoryview]:
    return (source.view(at, min(at + PIECE, end)) for at in range(start, end, PIECE))


def recovered(source: Source, items: Iterable[Run | Finding]) -> Iterator[Run | Finding]:
    """The items, with every frame that is proven as a run of its own, labelled `recovered` with the finding's code.

    Proven is a frame whose TailLen is its size, whose status is right and whose checksum, which covers tag, payload,
    status and TailLen, is right: all but HeadLen and the fences around it [F-CRC32C-COVERAGE].
    """
    stream = iter(items)
    for item in stream:
        if isinstance(item, Finding) and item.code in PROVEN:
            yield from _recover(source, item, stream)
        else:
            yield item


def _recover(source: Source, finding: Finding, rest: Iterator[Run | Finding]) -> Iterator[Run | Finding]:
    """The frame that a finding is about, as a run; what lies inside it is its payload and is passed over."""
    start = finding.span.start
    end = _end_by_head(source, start) or _end_by_tail(source, start, finding)
    reached: list[Run | Finding] = [finding]
    while (not end or reached[-1].span.end < end) and _may_be_payload(reached[-1]):
        if (item := next(rest, None)) is None:
            break
        reached.append(item)
        end = end or _end_by_tail(source, start, item)
    if _may_be_payload(reached[-1]) and _is_proven(source, start, end - start):
        yield Run(Span(start, reached[-1].span.end), 1, 1, {"recovered": finding.code.id, "size": end - start})
    else:
        yield from reached


def _may_be_payload(item: Run | Finding) -> bool:
    return isinstance(item, Finding) or bool(item.labels.get("nested_suspect"))


def _end_by_head(source: Source, start: int) -> int:
    """Where a proven frame ends by its HeadLen; or 0."""
    size = _u4(source, start)
    return start + size if _is_proven(source, start, size) else 0


def _end_by_tail(source: Source, start: int, item: Run | Finding) -> int:
    """Where a frame ends if an item ends with its fence and the TailLen before that leads back to its start; or 0."""
    end = item.span.end - len(FENCE)
    if isinstance(item, Run) or end - start < LEAST_FRAME or source.view(end, item.span.end) != FENCE:
        return 0
    return end if _u4(source, end - 8) == end - start else 0


def _is_proven(source: Source, start: int, size: int) -> bool:
    if size < LEAST_FRAME or size % 4 or start + size > source.size:
        return False
    frame = source.view(start, start + size)
    if _u4(source, start + size - 8) != size or not has_right_status(frame, size):
        return False
    return crc32c(frame, 4, size - 4) == _u4(source, start + size - 4)


def _u4(source: Source, at: int) -> int:
    return int.from_bytes(source.view(at, at + 4), "little")


def check_cut(source: Source, items: Iterable[Run | Finding], at: int) -> None:
    """Raise `BadCut` unless the first `at` bytes are a file by themselves [R-DATATAIL-TRUNCATE].

    A cut is a multiple of four behind a fence. A fence inside an intact frame is payload, and one inside the claimed
    extent of a broken frame may be; behind those no record ends, so they are refused too.
    """
    runs = [item for item in items if isinstance(item, Run)]
    if reason := _forbidding(source, runs, at):
        trusted = [run for run in runs if not run.labels.get("nested_suspect")]
        raise BadCut(f"{source.name}: cannot be cut at {at:#x}: {reason}{_nearest(source, trusted, at)}")


def _forbidding(source: Source, runs: list[Run], at: int) -> str:
    """Why a file cannot be cut at a place; nothing if it can."""
    if at > source.size:
        return f"the file has {source.size:#x} bytes, so an older DataTail is to be used"
    if at < len(FENCE) or source.view(0, len(FENCE)) != FENCE:
        return "the copy would not start with the genesis fence"
    if at % 4:
        return "it is no multiple of four"
    if source.view(at - len(FENCE), at) != FENCE:
        return "no fence lies right before it"
    run = next((run for run in runs if at - 1 in run.span), None)
    if run and run.labels.get("nested_suspect"):
        return "it may lie in the payload of a broken frame"
    if run and at not in _borders(source, run):
        return "it lies inside an intact frame"
    return ""


def _nearest(source: Source, runs: list[Run], at: int) -> str:
    """The last good cut before a place and the first one behind it, in words."""
    before = max((run.span.end for run in runs if run.span.end <= at), default=None)
    behind = min((next(_borders(source, run)) for run in runs if run.span.start >= at), default=None)
    for run in runs:
        if run.span.start <= at < run.span.end:
            borders = list(_borders(source, run))
            before = max((border for border in borders if border <= at), default=before)
            behind = min((border for border in borders if border >= at), default=behind)
    places = [f"{place:#x}" for place in (before, behind) if place is not None]
    return f"; the nearest frames end at {' and '.join(places)}" if places else "; no place in it is good for a cut"


def _borders(source: Source, run: Run) -> Iterator[int]:
    """Where the frames of an intact run begin and end, their fences included."""
    position = run.span.start or len(FENCE)
    yield position
    while position < run.span.end:
        position += _u4(source, position) + len(FENCE)
        yield position
