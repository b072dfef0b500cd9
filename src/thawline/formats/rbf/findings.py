"""What can be wrong with an RBF file, and which of it a stretch without frames is."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass

from thawline import native
from thawline.checksums import crc32c
from thawline.engine import columns
from thawline.engine.chunks import Break, Ranges
from thawline.formats.rbf.frames import FENCE, LEAST_FRAME, has_right_status
from thawline.generated.kernels.tables import TABLES
from thawline.model import Code, Finding, Span
from thawline.source import Source
from thawline.wording import counted, quoted

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
    "does not return it. That happens to the first frame when the genesis fence is lost, to the one behind a damaged "
    "fence, and to the first that is appended to a torn file.",
)
OVERLAPPED = Code(
    "RBF111",
    "a whole frame that another one hides",
    "error",
    "The frame is right in every way and has its fences, but a frame that starts inside its payload and ends behind it "
    "is right as well. The reverse scan comes to that one first and jumps from its start into the middle of this one. "
    "No writer does that; somebody made the file so.",
)
CODES = (
    GENESIS_LOST, TORN_TAIL, UNFENCED, BAD_CHECKSUM, NO_FRAME, DAMAGED_LENGTH, EXTRA_FENCE, NEWER_LAYOUT, TOO_SHORT,
    UNREACHABLE, OVERLAPPED,
)  # fmt: skip

LONGEST_TORN = 256 << 20
"""Writers make no frame of this size or more (SizedPtr), so a HeadLen beyond it says nothing."""


LEAST_TAIL = 12
"""TailLen, checksum and fence."""
SLACK = 1 << 12
"""How many bytes may have been put into a frame that is looked for by its TailLen."""
EXPLAIN_BUDGET = 2
"""How many times the file's size may go into checksums that only tell what is wrong with a frame."""
TOO_COSTLY = "broken frames lie in each other by the thousand; what is wrong with each was not looked into"
FENCES_AT_ONCE = 1 << 18


@dataclass(frozen=True, slots=True)
class Explained:
    """What is wrong with a stretch."""

    findings: list[Finding]


def explain(source: Source, span: Span) -> Explained:
    """What stands in a stretch without intact frames, looked at by itself."""
    return Explained(list(Gaps(source, [span]).explain(span)))


class Gaps:
    """The stretches of a file without intact frames, to be explained one after the other in file order."""

    def __init__(self, source: Source, gaps: Collection[Span]) -> None:
        self.source = source
        self.budget = EXPLAIN_BUDGET * source.size
        self.broken = Span(0, 0)
        """The last frame that is broken and whose extent is known."""
        self.doubt = 0
        """Up to where frames may be payload of one that is broken and whose extent is not known."""
        self.breaks: dict[tuple[bool, bool], Break] = {}
        self.probe = frame_probe()
        self.hint = f"thawline salvage {quoted(source.name)} -o intact.rbf"
        self.gaps = list(gaps)
        self.tails: dict[int, list[int]] = {}
        """What stands where TailLen should at the end of gaps, and where those end, rising."""
        for gap in gaps:
            if gap.size > LEAST_TAIL:
                self.tails.setdefault(self._u4(gap.end - LEAST_TAIL), []).append(gap.end)
        starts = {gap.start or len(FENCE) for gap in gaps}
        claims = [claim for gap in gaps if (claim := self._tail_claim(gap.end)) and claim.start in starts]
        self.claims = {claim.start: claim for claim in reversed(claims)}
        """Extents of broken frames as their TailLen tells, from the start of a gap to the end of this or another."""

    @property
    def nested_to(self) -> int:
        """Up to where frames may be payload of a broken one, by what has been explained so far."""
        return max(self.broken.end, self.doubt)

    def explain(self, gap: Span) -> Iterator[Finding]:
        """What stands in a gap instead of intact frames; the findings tile it."""
        position = gap.start
        if not position:
            position = min(len(FENCE), gap.end)
            yield self._found(GENESIS_LOST, Span(0, position))
        while position < gap.end:
            finding = self._first(Span(position, gap.end))
            yield finding
            position = finding.span.end

    def _first(self, rest: Span) -> Finding:
        """What stands at the start of what is left of a gap."""
        if rest.start < self.broken.end:
            # It lies behind nested frames, and belongs to the frame that was found broken before them.
            span = Span(rest.start, min(self.broken.end + len(FENCE), rest.end))
            reason = f"the rest of the broken frame at {self.broken.start:#x}"
            return self._found(NO_FRAME, span, {"at": rest.start, "reason": reason})
        if fences := self._fences(rest):
            return Finding(EXTRA_FENCE, Span(rest.start, rest.start + len(FENCE) * fences), {"fences": fences})
        claim = self.claims.get(rest.start) or self._tail_claim(rest.end)
        claim = claim if claim and claim.start == rest.start else None
        if claim and self._u4(claim.start) != claim.size and self._is_sound(claim):
            return self._lost(DAMAGED_LENGTH, rest, claim)
        return self._broken_frame(rest, claim)

    def _broken_frame(self, rest: Span, claim: Span | None) -> Finding:
        """What is wrong with the frame that should start here, and may end where its TailLen claims."""
        left = self.source.size - rest.start
        size = self._u4(rest.start) if left >= len(FENCE) else 0
        if size <= left and not self._can_afford(size):
            return self._no_frame(rest, claim or self._head_claim(rest.start, size), rest.start, {"reason": TOO_COSTLY})
        # The kernel gets the frame with its fence; of one that the file has no room for the head is enough.
        view = self.source.view(rest.start, rest.start + min(left, size + len(FENCE) if size <= left else LEAST_FRAME))
        item = self._broken(view, size)
        frame = Span(rest.start, rest.start + size)
        if item is None:
            return self._readable(rest, frame)
        if item.failure.spec == "rbf_file" and _has_right_checksum(view[:size]):
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
        """Where and why the kernel does not read a frame; about a HeadLen that cannot be it is asked only once."""
        is_length = len(view) >= len(FENCE)
        kind = (size < LEAST_FRAME or size % 4 != 0, size > len(view)) if is_length else (False, False)
        if kind in self.breaks:
            return self.breaks[kind]
        found = self.probe(view)
        if any(kind) and found:
            self.breaks[kind] = found
        return found

    def _readable(self, rest: Span, frame: Span) -> Finding:
        """A frame that breaks no rule of the layout: its checksum is wrong, or the reverse scan passes it by."""
        stored, computed = self._u4(frame.end - 4), crc32c(self.source.view(frame.start, frame.end), 4, frame.size - 4)
        if stored != computed:
            return self._lost(BAD_CHECKSUM, rest, frame, {"crc_stored": stored, "crc_computed": computed})
        has_fence = self.source.view(frame.start - len(FENCE), frame.start) == FENCE
        return self._lost(OVERLAPPED if has_fence else UNREACHABLE, rest, frame)

    def _no_frame(self, rest: Span, extent: Span | None, at: int, detail: Mapping[str, object]) -> Finding:
        """Bytes that are no frame, as far as its claimed extent goes, if it can be believed."""
        if extent:
            return self._lost(NO_FRAME, rest, extent, {"at": at, **detail})
        self.doubt = max(self.doubt, self._may_reach(rest))
        return self._found(NO_FRAME, rest, {"at": at, **detail})

    def _may_reach(self, rest: Span) -> int:
        """Up to where the frame that should start here may go, although nothing proves it.

        Where HeadLen can be right, the same number for TailLen near the place that it claims tells the end better than
        the claim: bytes were put in or taken out. Else what looks like the end of a frame ends it, and where nothing
        does the next gap, if that does not start like a frame: it is then what is left of this one.
        """
        if rest.start < self.doubt:
            return rest.end
        size = self._u4(rest.start) if rest.size >= len(FENCE) else 0
        if _is_length(size):
            ends = self.tails.get(size, [])
            index = bisect_right(ends, rest.start)
            is_near = index < len(ends) and ends[index] <= rest.start + size + SLACK
            return ends[index] if is_near else rest.start + size
        behind = bisect_right(self.gaps, rest.end, key=lambda gap: gap.start)
        if self._tail_claim(rest.end) or behind == len(self.gaps):
            return rest.end
        following = self.gaps[behind]
        starts_well = following.size >= LEAST_FRAME and _is_length(self._u4(following.start))
        return rest.end if starts_well else following.end

    def _lost(self, code: Code, rest: Span, frame: Span, detail: Mapping[str, object] | None = None) -> Finding:
        """A frame of known extent that cannot be returned, in the terms of whoever wrote it."""
        self.broken = frame
        tag = bytes(self.source.view(frame.start + 4, frame.start + 8))
        is_text = tag.isascii() and tag.decode("ascii").isprintable()
        shown = repr(tag.decode("ascii")) if is_text else "0x" + tag[::-1].hex()
        lost = f"1 frame with tag {shown}, {counted(frame.size, 'byte')}"
        span = Span(rest.start, min(frame.end + len(FENCE), rest.end))
        return self._found(code, span, {**(detail or {}), "lost": lost})

    def _found(self, code: Code, span: Span, detail: Mapping[str, object] | None = None) -> Finding:
        return Finding(code, span, detail or {}, self.hint)

    def _fences(self, rest: Span) -> int:
        """How many fences stand at the start of a stretch."""
        found, most = 0, 1
        while True:
            start = rest.start + found * len(FENCE)
            here = leading_fences(bytes(self.source.view(start, min(start + most * len(FENCE), rest.end))))
            found += here
            if here < most:
                return found
            # Most often there is none, so more is looked at only behind as many.
            most = min(2 * most, FENCES_AT_ONCE)

    def _tail_claim(self, end: int) -> Span | None:
        """The frame before the fence that ends at `end`, as long as its TailLen says, whether it is one or not."""
        fence = end - len(FENCE)
        if fence < len(FENCE) + LEAST_FRAME or self.source.view(fence, end) != FENCE:
            return None
        size = self._u4(fence - 8)
        is_possible = LEAST_FRAME <= size <= fence - len(FENCE) and not size % 4
        return Span(fence - size, fence) if is_possible else None

    def _head_claim(self, start: int, size: int) -> Span | None:
        """The frame that HeadLen claims, where a fence or the same TailLen at its end speaks for it."""
        end = start + size
        if size < LEAST_FRAME or size % 4 or end + len(FENCE) > self.source.size:
            return None
        has_fence = self.source.view(end, end + len(FENCE)) == FENCE
        return Span(start, end) if has_fence or self._u4(end - 8) == size else None

    def _is_sound(self, frame: Span) -> bool:
        """Whether all is right that the checksum covers, and the checksum itself."""
        if not self._can_afford(frame.size):
            return False
        view = self.source.view(frame.start, frame.end)
        return has_right_status(view, frame.size) and _has_right_checksum(view)

    def _is_whole(self, frame: Span) -> bool:
        """Whether a frame is right but for the fences around it."""
        return self._u4(frame.start) == frame.size and self._is_sound(frame)

    def _can_afford(self, size: int) -> bool:
        """Whether a checksum over so many bytes is within the budget, which it then takes."""
        if size > self.budget:
            return False
        self.budget -= size
        return True

    def _u4(self, at: int) -> int:
        return int.from_bytes(self.source.view(at, at + 4), "little")


def frame_probe() -> Callable[[memoryview], Break | None]:
    """What tells why the row that a buffer starts with is no frame."""
    if not native.is_compiled:
        return _broken_plain
    from thawline.engine import probes  # noqa: PLC0415 - needs the native module

    return probes.Probe(TABLES["rbf_frames"]).broken


def _broken_plain(view: memoryview) -> Break | None:
    item = next(columns.scan("rbf_frames", view, Ranges.of([(0, len(view), 1)]), columns=()))
    return item if isinstance(item, Break) else None


def leading_fences(part: bytes) -> int:
    """How many fences some bytes start with."""
    most = len(part) // len(FENCE)
    if part.startswith(FENCE * most):
        return most
    return next(index for index in range(most) if not part.startswith(FENCE, index * len(FENCE)))


def _has_right_checksum(frame: memoryview) -> bool:
    return crc32c(frame, 4, len(frame) - 4) == int.from_bytes(frame[-4:], "little")


def _is_length(claimed: int) -> bool:
    """Whether a frame that a writer makes can be so long."""
    return LEAST_FRAME <= claimed < LONGEST_TORN and not claimed % 4


def _is_torn(claimed: int, left: int) -> bool:
    return left < len(FENCE) or (
        left < claimed + len(FENCE) <= LONGEST_TORN and claimed >= LEAST_FRAME and not claimed % 4
    )
