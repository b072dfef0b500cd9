"""What can be wrong with an RBF file, and which of it a stretch without frames is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from thawline import columns
from thawline.checksums import crc32c
from thawline.chunks import Chunk, Ranges
from thawline.formats.rbf_frames import FENCE, LEAST_FRAME, frame_before
from thawline.model import Code, Finding, Span
from thawline.source import Source

GENESIS_LOST = Code(
    "RBF101",
    "the genesis fence is lost",
    "error",
    "An RBF file starts with the fence RBF1 [F-GENESIS]. Without it the first frame has no fence before it and the "
    "reverse scan does not return it, although it may be whole; see RBF110. Everything behind it is not affected.",
)
TORN_TAIL = Code(
    "RBF102",
    "the file ends inside a frame",
    "error",
    "The last write did not finish: a crash, a full disk or a cut copy. Frames before it are not affected. A writer "
    "must cut the file behind the last good fence before it appends again; `salvage` writes such a copy.",
)
UNFENCED = Code(
    "RBF103",
    "a whole frame without the fence behind it",
    "error",
    "Length and checksum of the frame are right, but the fence that must follow it is missing or cut "
    "[F-FENCE-SEMANTICS], so a reader must not return it: its writer never got to the point of saying that it is "
    "complete.",
)
BAD_CHECKSUM = Code(
    "RBF104",
    "checksum mismatch",
    "error",
    "The frame's lengths are right, its bytes are not the ones that were written [F-CRC-FAIL-REJECT]. One frame is "
    "lost. Frames found inside it belong to its payload, not to this log; they are marked nested_suspect.",
)
NO_FRAME = Code(
    "RBF105",
    "these bytes are no frame",
    "error",
    "What stands behind a fence breaks a rule of the frame layout [F-FRAMING-FAIL-REJECT]. The detail names the field. "
    "Reading goes on at the next fence that ends a valid frame [R-RESYNC-BEHAVIOR].",
)
DAMAGED_LENGTH = Code(
    "RBF106",
    "HeadLen is damaged, the rest of the frame is proven intact",
    "error",
    "HeadLen is the one field that the checksum does not cover. TailLen repeats it and the checksum is right, so the "
    "payload is what was written; still a reader must reject the frame.",
)
EXTRA_FENCE = Code(
    "RBF107",
    "more than one fence in a row",
    "warning",
    "Nothing is lost. The reverse scan passes over it; a reader that walks forward would stop here.",
)
NEWER_LAYOUT = Code(
    "RBF108",
    "written in the newer layout 0.40",
    "error",
    "The file has the same fence but frames of another layout, with the tail length right before the fence. A reader "
    "of layout 0.27 finds no frame in it and would call it empty.",
)
TOO_SHORT = Code(
    "RBF109",
    "shorter than a fence",
    "error",
    "A valid file has at least the four bytes of its genesis fence [F-FILE-MINIMUM-LENGTH].",
)
UNREACHABLE = Code(
    "RBF110",
    "a whole frame without a fence before it",
    "error",
    "Lengths, checksum and the fence behind the frame are right, but no fence stands before it, so the reverse scan "
    "does not return it. That happens to the first frame when the genesis fence is lost.",
)
CODES = (
    GENESIS_LOST, TORN_TAIL, UNFENCED, BAD_CHECKSUM, NO_FRAME, DAMAGED_LENGTH, EXTRA_FENCE, NEWER_LAYOUT, TOO_SHORT,
    UNREACHABLE,
)  # fmt: skip

LONGEST_TORN = 256 << 20
"""Writers make no frame of this size or more (SizedPtr), so a HeadLen beyond it says nothing."""


@dataclass(frozen=True, slots=True)
class Explained:
    """What is wrong with a stretch, and how far the frame that it starts with claims to reach."""

    findings: list[Finding] = field(default_factory=list)
    extents: list[Span] = field(default_factory=list)


def explain(source: Source, span: Span) -> Explained:
    """Why a stretch between intact frames, or behind the last of them, holds none."""
    if span.start == 0:
        lost = Finding(GENESIS_LOST, Span(0, min(len(FENCE), span.end)))
        rest = explain(source, Span(lost.span.end, span.end)) if span.end > len(FENCE) else Explained()
        return Explained([lost, *rest.findings], rest.extents)
    data = source.view(span.start, span.end)
    if not len(data) % 4 and bytes(data) == FENCE * (len(data) // 4):
        return Explained([Finding(EXTRA_FENCE, span, {"fences": len(data) // 4})])
    if _is_proven_by_tail(source, span):
        return Explained([_found(source, DAMAGED_LENGTH, span, _lost_frame(source, span.start, span.end - len(FENCE)))])
    return _explain_frame(source, span)


def _explain_frame(source: Source, span: Span) -> Explained:
    """What is wrong with the frame that should start here."""
    view = source.view(span.start, source.size)
    item = next(columns.scan("rbf_frames", view, Ranges.of([(0, len(view), 1)]), columns=("crc32c",)))
    if isinstance(item, Chunk):
        return _explain_readable(source, span, item)
    claimed = int.from_bytes(view[:4], "little") if len(view) >= len(FENCE) else 0
    if item.failure.spec == "rbf_file" and _has_right_checksum(view[:claimed]):
        return Explained([_found(source, UNFENCED, span, _lost_frame(source, span.start, span.start + claimed))])
    if span.end == source.size and _is_torn(claimed, len(view)):
        detail = {
            "claimed": claimed,
            "left": len(view),
            "lost": f"the last frame, of which {len(view)} bytes are there",
        }
        return Explained([_found(source, TORN_TAIL, span, detail)], [Span(span.start, source.size)])
    detail = {
        "field": f"{item.failure.spec}: {item.failure.path}",
        "at": span.start + item.at,
        "reason": item.failure.reason,
    }
    return Explained([_found(source, NO_FRAME, span, detail)], _claimed_extent(source, span, claimed))


def _explain_readable(source: Source, span: Span, chunk: Chunk) -> Explained:
    """A frame that breaks no rule of the layout: its checksum is wrong, or nothing led the reverse scan to it."""
    stored, computed = chunk.batch["crc32c"][0].as_py(), chunk.checksums[0].as_py() if chunk.checksums else None
    end = span.start + chunk.ends[0].as_py() - len(FENCE)
    lost = _lost_frame(source, span.start, end)
    if stored == computed:
        return Explained([_found(source, UNREACHABLE, span, lost)])
    detail = {"crc_stored": stored, "crc_computed": computed, **lost}
    return Explained([_found(source, BAD_CHECKSUM, span, detail)], [Span(span.start, end)])


def _found(source: Source, code: Code, span: Span, detail: Mapping[str, object]) -> Finding:
    return Finding(code, span, detail, f"thawline salvage {source.name} -o intact.rbf")


def _lost_frame(source: Source, start: int, end: int) -> dict[str, object]:
    """A frame that cannot be returned, in the terms of whoever wrote it."""
    tag = bytes(source.view(start + 4, start + 8))
    shown = repr(tag.decode("ascii")) if tag.isascii() and tag.decode("ascii").isprintable() else "0x" + tag[::-1].hex()
    return {"lost": f"1 frame with tag {shown}, {end - start} bytes"}


def _is_proven_by_tail(source: Source, span: Span) -> bool:
    """Whether a stretch is one frame that only its HeadLen keeps from being valid."""
    size = span.size - len(FENCE)
    if size < LEAST_FRAME or size % 4 or source.view(span.end - len(FENCE), span.end) != FENCE:
        return False
    if source.view(span.start, span.start + 4) == size.to_bytes(4, "little"):
        return False
    mended = bytearray(FENCE) + source.view(span.start, span.end)
    mended[4:8] = size.to_bytes(4, "little")
    return frame_before(memoryview(mended), len(FENCE) + size) == len(FENCE)


def _has_right_checksum(frame: memoryview) -> bool:
    return crc32c(frame, 4, len(frame) - 4) == int.from_bytes(frame[-4:], "little")


def _is_torn(claimed: int, left: int) -> bool:
    return left < len(FENCE) or (
        left < claimed + len(FENCE) <= LONGEST_TORN and claimed >= LEAST_FRAME and not claimed % 4
    )


def _claimed_extent(source: Source, span: Span, claimed: int) -> list[Span]:
    """The extent that HeadLen claims, where a fence or the same TailLen at its end speaks for it."""
    end = span.start + claimed
    if claimed < LEAST_FRAME or claimed % 4 or end + len(FENCE) > source.size:
        return []
    has_fence = source.view(end, end + len(FENCE)) == FENCE
    has_tail = source.view(end - 8, end - 4) == claimed.to_bytes(4, "little")
    return [Span(span.start, end)] if has_fence or has_tail else []
