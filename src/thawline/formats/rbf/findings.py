"""The codes of findings about RBF files, and the explanation of what lies in the gaps between intact frames."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Collection, Iterator, Mapping

from thawline.engine.chunks import Break
from thawline.engine.starts import Starts
from thawline.formats.rbf.frame import (
    ALIGNMENT,
    FENCE,
    LEAST_FRAME,
    LEAST_TAIL,
    LONGEST_WRITTEN,
    TAIL_BACK,
    can_be_length,
    computed_checksum,
    has_right_checksum,
    has_right_status,
    u4,
)
from thawline.generated.kernels.constants import (
    RBF_FRAME_CRC32C_BACK,
    RBF_FRAME_FRAME_TAG_AT,
    RBF_FRAME_FRAME_TAG_SIZE,
)
from thawline.generated.kernels.tables import SYNCS
from thawline.model import Code, Finding, Span
from thawline.source import Source
from thawline.wording import counted, quoted

GENESIS_LOST = Code(
    "RBF101",
    "the genesis fence is lost",
    "error",
    "An RBF file starts with the fence RBF1 [F-GENESIS]. Without it the first frame has no fence before it, and the "
    "reverse scan does not return it, although it may be whole; see RBF110. The frames after it are not affected.",
)
TORN_TAIL = Code(
    "RBF102",
    "the file ends inside a frame",
    "error",
    "The last write did not finish: a crash, a full disk or a cut copy. Frames before it are not affected. A writer "
    "must cut the file after the last good fence before it appends again; `salvage` writes such a copy.",
)
UNFENCED = Code(
    "RBF103",
    "a whole frame without the fence after it",
    "error",
    "Length and checksum of the frame are right, but the fence that must follow it is missing or cut "
    "[F-FENCE-SEMANTICS], so a reader must not return it: its writer did not mark it as complete.",
)
BAD_CHECKSUM = Code(
    "RBF104",
    "checksum mismatch",
    "error",
    "The frame's lengths are right, but its bytes are not the ones that were written [F-CRC-FAIL-REJECT]. One frame "
    "is lost. Frames found inside it belong to its payload, not to this log; they are marked nested_suspect.",
)
NO_FRAME = Code(
    "RBF105",
    "these bytes are no frame",
    "error",
    "The bytes after a fence break a rule of the frame layout [F-FRAMING-FAIL-REJECT]. The detail names the field. "
    "Reading resynchronises at the next fence that ends a valid frame [R-RESYNC-BEHAVIOR].",
)
DAMAGED_LENGTH = Code(
    "RBF106",
    "HeadLen is damaged, the rest of the frame is proven intact",
    "error",
    "HeadLen is the one field that the checksum does not cover. TailLen repeats it and the checksum is right, so the "
    "payload is what was written. Still, a reader must reject the frame.",
)
EXTRA_FENCE = Code(
    "RBF107",
    "more than one fence in a row",
    "warning",
    "Nothing is lost. The reverse scan skips it; a reader that walks forward stops here.",
)
NEWER_LAYOUT = Code(
    "RBF108",
    "written in the newer layout 0.40",
    "error",
    "The file has the same fence but frames of another layout, with the tail length right before the fence. A reader "
    "of layout 0.27 finds no frame in it and takes it for empty.",
)
TOO_SHORT = Code(
    "RBF109",
    "shorter than a fence",
    "error",
    "A valid file has at least the four bytes of its genesis fence [F-FILE-MINIMUM-LENGTH].",
)
UNREACHABLE = Code(
    "RBF110",
    "a whole frame that the reverse scan does not reach",
    "error",
    "Lengths, checksum and the fence after the frame are right, but there is no fence before it, or it does not start "
    "at a multiple of four, so the reverse scan does not return it. That happens to the first frame when the genesis "
    "fence is lost, to the frame after a damaged fence, to the first frame that is appended to a torn file, and to all "
    "frames after a place where bytes were inserted or removed. `salvage --recover` keeps it.",
)
OVERLAPPED = Code(
    "RBF111",
    "a whole frame that another one hides",
    "error",
    "The frame and its fences are right, but so is a frame that starts inside its payload and ends after it. The "
    "reverse scan reaches that one first and jumps from its start into the middle of this one. No writer does that: "
    "the file was crafted.",
)
CODES = (
    GENESIS_LOST, TORN_TAIL, UNFENCED, BAD_CHECKSUM, NO_FRAME, DAMAGED_LENGTH, EXTRA_FENCE, NEWER_LAYOUT, TOO_SHORT,
    UNREACHABLE, OVERLAPPED,
)  # fmt: skip

PROVEN = (UNFENCED, DAMAGED_LENGTH, UNREACHABLE)
"""Findings about frames whose content may be proven, although a reader must not return them."""
SLACK = 1 << 12
"""The most bytes that may have been inserted into a frame that is searched for by its TailLen."""
EXPLAIN_BUDGET = 2
"""Bytes that are checksummed only to explain damage, in multiples of the file's size."""
TOO_COSTLY = "thousands of broken frames are nested in each other; this one was not examined"
FENCES_AT_ONCE = 1 << 18


class Gaps:
    """The gaps between the intact frames of a file, to be explained in file order."""

    def __init__(self, source: Source, gaps: Collection[Span]) -> None:
        self.source = source
        self.budget = EXPLAIN_BUDGET * source.size
        self.broken = Span(0, 0)
        """The last broken frame of known extent."""
        self.doubt = 0
        """Up to where frames may be payload of a broken frame of unknown extent."""
        self.breaks: dict[tuple[bool, bool], Break] = {}
        self.probe = frame_probe()
        self.hint = f"thawline salvage {quoted(source.name)} -o intact.rbf"
        self.gaps = list(gaps)
        self.tails: dict[int, list[int]] = {}
        """By what lies where TailLen should at the end of a gap: the ends of such gaps, ascending."""
        for gap in gaps:
            if gap.size > LEAST_TAIL:
                self.tails.setdefault(u4(source, gap.end - LEAST_TAIL), []).append(gap.end)
        starts = {gap.start or len(FENCE) for gap in gaps}
        claims = [claim for gap in gaps if (claim := self._tail_claim(gap.end)) and claim.start in starts]
        self.claims = {claim.start: claim for claim in reversed(claims)}
        """Extents of broken frames by their TailLen: from the start of one gap to the end of the same or another."""

    @property
    def nested_to(self) -> int:
        """Up to where frames may be payload of a broken one, as far as gaps have been explained."""
        return max(self.broken.end, self.doubt)

    def explain(self, gap: Span) -> Iterator[Finding]:
        """What a gap holds; the findings tile it."""
        position = gap.start
        if not position:
            position = min(len(FENCE), gap.end)
            yield self._found(GENESIS_LOST, Span(0, position))
        while position < gap.end:
            finding = self._first(Span(position, gap.end))
            yield finding
            position = finding.span.end

    def _first(self, rest: Span) -> Finding:
        """What lies at the start of the rest of a gap."""
        if rest.start < self.broken.end:
            # It follows nested frames, and belongs to the broken frame that they lie in.
            span = Span(rest.start, min(self.broken.end + len(FENCE), rest.end))
            reason = f"the rest of the broken frame at {self.broken.start:#x}"
            return self._found(NO_FRAME, span, {"at": rest.start, "reason": reason})
        if fences := self._fences(rest):
            return Finding(EXTRA_FENCE, Span(rest.start, rest.start + len(FENCE) * fences), {"fences": fences})
        claim = self.claims.get(rest.start) or self._tail_claim(rest.end)
        claim = claim if claim and claim.start == rest.start else None
        if claim and u4(self.source, claim.start) != claim.size and self._is_sound(claim):
            return self._lost(DAMAGED_LENGTH, rest, claim)
        return self._broken_frame(rest, claim)

    def _broken_frame(self, rest: Span, claim: Span | None) -> Finding:
        """What is wrong with the frame that should start here, and that may end where its TailLen says."""
        left = self.source.size - rest.start
        size = u4(self.source, rest.start) if left >= len(FENCE) else 0
        if size <= left and not self._can_afford(size):
            return self._no_frame(rest, claim or self._head_claim(rest.start, size), rest.start, {"reason": TOO_COSTLY})
        # The kernel gets the frame with its fence; where the file is too short for it, its head is enough.
        view = self.source.view(rest.start, rest.start + min(left, size + len(FENCE) if size <= left else LEAST_FRAME))
        item = self._broken(view, size)
        frame = Span(rest.start, rest.start + size)
        if item is None:
            return self._readable(rest, frame)
        if item.failure.spec == "rbf_file" and has_right_checksum(view[:size]):
            return self._lost(UNFENCED, rest, frame)
        where = {"field": f"{item.failure.spec}: {item.failure.path}", "reason": item.failure.reason}
        if (last := self._tail_claim(rest.end)) and last.start > rest.start and self._is_whole(last):
            return self._no_frame(Span(rest.start, last.start), None, rest.start + item.at, where)
        if not claim and _is_torn(size, left):
            self.broken = Span(rest.start, self.source.size)
            lost = f"the last frame, of which {counted(left, 'byte')} {'is' if left == 1 else 'are'} there"
            return self._found(TORN_TAIL, rest, {"claimed": size, "left": left, "lost": lost})
        return self._no_frame(rest, claim or self._head_claim(rest.start, size), rest.start + item.at, where)

    def _broken(self, view: memoryview, size: int) -> Break | None:
        """Where and why the kernel rejects a frame. For an impossible HeadLen the answer is cached."""
        is_length = len(view) >= len(FENCE)
        kind = (size < LEAST_FRAME or size % ALIGNMENT != 0, size > len(view)) if is_length else (False, False)
        if kind in self.breaks:
            return self.breaks[kind]
        found = self.probe(view)
        if any(kind) and found:
            self.breaks[kind] = found
        return found

    def _readable(self, rest: Span, frame: Span) -> Finding:
        """A frame that breaks no rule of the layout: its checksum is wrong, or the reverse scan does not reach it."""
        stored = u4(self.source, frame.end - RBF_FRAME_CRC32C_BACK)
        computed = computed_checksum(self.source.view(frame.start, frame.end))
        if stored != computed:
            return self._lost(BAD_CHECKSUM, rest, frame, {"crc_stored": stored, "crc_computed": computed})
        has_fence = self.source.view(frame.start - len(FENCE), frame.start) == FENCE
        is_reached = has_fence and frame.start % ALIGNMENT == 0
        return self._lost(OVERLAPPED if is_reached else UNREACHABLE, rest, frame)

    def _no_frame(self, rest: Span, extent: Span | None, at: int, detail: Mapping[str, object]) -> Finding:
        """Bytes that are no frame, up to the end of its extent where that is known."""
        if extent:
            return self._lost(NO_FRAME, rest, extent, {"at": at, **detail})
        self.doubt = max(self.doubt, self._may_reach(rest))
        return self._found(NO_FRAME, rest, {"at": at, **detail})

    def _may_reach(self, rest: Span) -> int:
        """Up to where the frame that should start here may reach, although nothing proves it.

        If HeadLen is possible, an equal TailLen near the end that it claims is better evidence than the claim itself:
        bytes were inserted or removed. Otherwise the frame ends with what looks like the end of a frame; where nothing
        does, with the next gap, unless that starts like a frame of its own.
        """
        if rest.start < self.doubt:
            return rest.end
        size = u4(self.source, rest.start) if rest.size >= len(FENCE) else 0
        if can_be_length(size):
            ends = self.tails.get(size, [])
            index = bisect_right(ends, rest.start)
            is_near = index < len(ends) and ends[index] <= rest.start + size + SLACK
            return ends[index] if is_near else rest.start + size
        after = bisect_right(self.gaps, rest.end, key=lambda gap: gap.start)
        if self._tail_claim(rest.end) or after == len(self.gaps):
            return rest.end
        following = self.gaps[after]
        starts_well = following.size >= LEAST_FRAME and can_be_length(u4(self.source, following.start))
        return rest.end if starts_well else following.end

    def _lost(self, code: Code, rest: Span, frame: Span, detail: Mapping[str, object] | None = None) -> Finding:
        """A finding about a frame of known extent, with what is lost in the terms of its writer."""
        self.broken = frame
        at = frame.start + RBF_FRAME_FRAME_TAG_AT
        tag = bytes(self.source.view(at, at + RBF_FRAME_FRAME_TAG_SIZE))
        is_text = tag.isascii() and tag.decode("ascii").isprintable()
        shown = repr(tag.decode("ascii")) if is_text else "0x" + tag[::-1].hex()
        lost = f"1 frame with tag {shown}, {counted(frame.size, 'byte')}"
        span = Span(rest.start, min(frame.end + len(FENCE), rest.end))
        return self._found(code, span, {**(detail or {}), "lost": lost})

    def _found(self, code: Code, span: Span, detail: Mapping[str, object] | None = None) -> Finding:
        return Finding(code, span, detail or {}, f"{self.hint} --recover" if code in PROVEN else self.hint)

    def _fences(self, rest: Span) -> int:
        """The number of fences at the start of the rest of a gap."""
        found, most = 0, 1
        while True:
            start = rest.start + found * len(FENCE)
            here = leading_fences(bytes(self.source.view(start, min(start + most * len(FENCE), rest.end))))
            found += here
            if here < most:
                return found
            # Most often there is none, so the look-ahead doubles only while there are more.
            most = min(2 * most, FENCES_AT_ONCE)

    def _tail_claim(self, end: int) -> Span | None:
        """The frame before the fence that ends at `end`, as long as its TailLen says; it need not be intact."""
        fence = end - len(FENCE)
        if fence < len(FENCE) + LEAST_FRAME or self.source.view(fence, end) != FENCE:
            return None
        size = u4(self.source, fence - TAIL_BACK)
        is_possible = LEAST_FRAME <= size <= fence - len(FENCE) and not size % ALIGNMENT
        return Span(fence - size, fence) if is_possible else None

    def _head_claim(self, start: int, size: int) -> Span | None:
        """The frame as long as its HeadLen says, if a fence or an equal TailLen at its end confirms that."""
        end = start + size
        if size < LEAST_FRAME or size % ALIGNMENT or end + len(FENCE) > self.source.size:
            return None
        has_fence = self.source.view(end, end + len(FENCE)) == FENCE
        return Span(start, end) if has_fence or u4(self.source, end - TAIL_BACK) == size else None

    def _is_sound(self, frame: Span) -> bool:
        """Whether the checksum is right, and the status."""
        if not self._can_afford(frame.size):
            return False
        view = self.source.view(frame.start, frame.end)
        return has_right_status(view, frame.size) and has_right_checksum(view)

    def _is_whole(self, frame: Span) -> bool:
        """Whether a frame is intact, apart from the fences around it."""
        return u4(self.source, frame.start) == frame.size and self._is_sound(frame)

    def _can_afford(self, size: int) -> bool:
        """Whether the budget covers a checksum over this number of bytes; if so, it is charged."""
        if size > self.budget:
            return False
        self.budget -= size
        return True


def frame_probe() -> Callable[[memoryview], Break | None]:
    """A function that says why a buffer does not start with a frame; None if it does."""
    return lambda view: Starts(SYNCS["rbf_frames"], view).why_not(0)


def leading_fences(part: bytes) -> int:
    """The number of fences that some bytes start with."""
    most = len(part) // len(FENCE)
    if part.startswith(FENCE * most):
        return most
    return next(index for index in range(most) if not part.startswith(FENCE, index * len(FENCE)))


def _is_torn(claimed: int, left: int) -> bool:
    """Whether a frame of the claimed size does not fit what is left of the file."""
    return left < len(FENCE) or (can_be_length(claimed) and left < claimed + len(FENCE) <= LONGEST_WRITTEN)
