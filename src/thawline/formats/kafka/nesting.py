"""Whether a unit that is found behind the start of a broken one lies inside of that one, and so is none of the log's.

A wrapper holds messages, and a record can hold anything, even batches. Where the unit around them is broken they would
pass for units of the log, with offsets and timestamps that they never had. What the head of a broken wrapper says tells
how far it goes; where that is destroyed, too, the compressed stream behind it does.
"""

from __future__ import annotations

import struct
from array import array
from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from thawline import native
from thawline.formats.kafka.checks import Checksums
from thawline.formats.kafka.heads import LATEST_MAGIC, Heads
from thawline.formats.kafka.streams import GZIP, LONGEST_MAGIC, LZ4, STREAMS, gzip_end, lz4_end, snappy_end
from thawline.model import Span
from thawline.source import Source

HEAD = struct.Struct(">qiIbbb")
"""Offset, length, the checksum of old messages or the leader epoch, magic, and two bytes that it tells the use of."""
LEAST_LENGTHS = {0: 14, 1: 22, 2: 49}
BEFORE_LENGTH = 12
MOST_OFFSETS = 1 << 32
"""How far the offsets of a unit behind damage may be ahead: a segment spans less than 2^31 of them (KAFKA-6264)."""
CODEC = 7
"""The bits of the attributes that name the compression."""
LATEST_HEAD = struct.Struct(">Ihi")
"""Of the latest magic behind that byte: checksum, attributes, and the last offset less the first."""
LATEST_NEEDS = 27
"""Bytes up to there."""
MAGIC_AT = 16
CANDIDATES = 4096
AHEAD = 1 << 20
"""How far after damage wrappers are searched for; brokers take none above 1 MB unless they are told to."""


@dataclass(frozen=True, slots=True)
class Claim:
    """What the head of a unit says of it, whether it is true or not."""

    start: int
    end: int
    offset: int
    """Its last one."""
    magic: int
    is_compressed: bool
    checksum: int

    @property
    def is_legacy(self) -> bool:
        """Whether it is a message of magic 0 or 1."""
        return self.magic < LATEST_MAGIC


def claim_at(source: Source, start: int) -> Claim | None:
    """The claim of the head at a position; None where it is that of no unit."""
    left = source.size - start
    if left < BEFORE_LENGTH + LEAST_LENGTHS[0]:
        return None
    view = source.view(start, start + min(left, LATEST_NEEDS))
    offset, length, checksum, magic, attributes, _ = HEAD.unpack_from(view)
    if magic not in LEAST_LENGTHS or length < LEAST_LENGTHS[magic] or offset < 0:
        return None
    if magic == LATEST_MAGIC:
        if left < LATEST_NEEDS:
            return None
        checksum, attributes, more = LATEST_HEAD.unpack_from(view, 17)
        if more < 0 or attributes >> 8:
            return None
        offset += more
    return Claim(start, start + BEFORE_LENGTH + length, offset, magic, bool(attributes & CODEC), checksum)


class Nesting:
    """What of a gap is inside of a broken unit."""

    def __init__(self, source: Source, checksums: Checksums, start: int, floor: int) -> None:
        self.source, self.checksums = source, checksums
        self.claims: list[Claim] = []
        self.until = start
        """Up to here all is known to be inside."""
        self.searched = start
        """Up to here streams of wrappers were looked for whose heads are destroyed."""
        self.broken(start, floor)

    def broken(self, start: int, floor: int) -> None:
        """Take note of a head whose checksum is wrong; of wrappers the one that goes farthest counts."""
        claim = claim_at(self.source, start)
        if claim is None or not floor < claim.offset <= floor + MOST_OFFSETS:
            return  # garbage, or a head of which nothing can be believed
        if not self.claims:
            self.claims.append(claim)
        elif claim.end > self.claims[-1].end and self._is_wrapper(claim):
            self.claims[1:] = [claim]

    def _is_wrapper(self, claim: Claim) -> bool:
        """Whether all lengths of a compressed message agree: bytes that only look like a head would claim any size."""
        if not (claim.is_legacy and claim.is_compressed):
            return False
        at = claim.start + BEFORE_LENGTH + LEAST_LENGTHS[claim.magic] - 8
        key_size = self._integer(at)
        value_at = at + 8 + max(key_size, 0)
        return key_size >= -1 and claim.end - value_at == self._integer(value_at - 4)

    def _integer(self, at: int) -> int:
        view = self.source.view(min(at, self.source.size), min(at + 4, self.source.size))
        return int.from_bytes(view, "big", signed=True)

    def holds(self, position: int) -> bool:
        """Whether the unit at a position is inside."""
        if position < self.until or any(self._holds(claim, position) for claim in self.claims):
            return True
        found = claim_at(self.source, position)
        if found is None or not found.is_legacy or found.is_compressed:
            return False
        self._pass_streams(position)
        return position < self.until

    def _pass_streams(self, position: int) -> None:
        """Take note of how far the streams go that start before a position."""
        view = self.source.view(self.searched, min(position + LONGEST_MAGIC, self.source.size))
        for found in STREAMS.finditer(view):
            if found.start() < position - self.searched:
                start = self.searched + found.start()
                self.until = max(self.until, _stream_end(self.checksums, start, found[0]))
        self.searched = max(self.searched, position)

    def _holds(self, claim: Claim, position: int) -> bool:
        found = claim_at(self.source, position)
        if found is None or not claim.start < position < claim.end:
            return False
        is_message = claim.is_legacy and found.is_legacy and not found.is_compressed
        if not (is_message and found.offset <= claim.offset) and self._leads_out(claim, found):
            return False
        return not self._is_length_damaged(claim, position)

    def _leads_out(self, claim: Claim, found: Claim) -> bool:
        """Whether the units that follow one another from here go on behind the end that is claimed."""
        size, reached = self.source.size, found.start
        at: Claim | None = found
        while at is not None and at.end < min(claim.end, size):
            reached = at.end
            at = claim_at(self.source, reached)
        if (at is not None and at.end <= size) or (claim.is_legacy and claim.end > size):
            return True
        self.until = max(self.until, reached)
        return False

    def _is_length_damaged(self, claim: Claim, position: int) -> bool:
        """Whether the broken unit ends right here, as its checksum says."""
        if position - claim.start < BEFORE_LENGTH + LEAST_LENGTHS[claim.magic]:
            return False
        return self.checksums.of_unit(claim.start, position, is_legacy=claim.is_legacy) == claim.checksum


class Doubts:
    """Which messages after damage may lie in a wrapper of which nothing is left to see.

    Where both the head of a wrapper and that of its compressed stream are destroyed, or the stream is raw snappy, which
    has none, messages that it stores as they are pass for messages of the log. So in a segment that has wrappers, plain
    messages that were searched for after damage are suspect, up to the next wrapper or batch: neither of them can be
    inside of a wrapper. They are not where the damaged bytes are known to end right before them.
    """

    def __init__(self, checksums: Checksums) -> None:
        self.checksums = checksums
        self.gaps: list[Span] = []
        """Damage since the last units."""
        self.is_open = False
        """Whether plain messages are suspect now."""
        self.has_wrappers = False
        """Whether there was a wrapper before."""
        self.searched, self.wrapper_at = 0, -1
        """Up to where wrappers were searched for, and the last one that was found."""

    def marked(self, heads: Heads) -> Heads:
        """The units that follow the damage, with those marked that are suspect."""
        wrappers = heads.rows["num_records"].null_count
        if not self.gaps and not self.is_open:
            self.has_wrappers = self.has_wrappers or wrappers > 0
            return heads
        rows = heads.rows
        is_plain = pc.and_(pc.less(rows["magic"], LATEST_MAGIC), pc.is_valid(rows["num_records"]))
        flags = self._flags(rows["position"].to_pylist(), is_plain.to_pylist(), rows["num_records"].to_pylist())
        return heads.marked(pa.array(flags, pa.uint8()).cast(pa.bool_())) if any(flags) else heads

    def _flags(self, positions: list[int], is_plain: list[bool], counts: list[int | None]) -> bytearray:
        flags = bytearray(len(positions))
        gaps, at = self.gaps, 0
        for row, position in enumerate(positions):
            first = at
            while at < len(gaps) and gaps[at].end <= position:
                at += 1
            if not is_plain[row]:
                self.is_open = False
                self.has_wrappers = self.has_wrappers or counts[row] is None
            elif at > first and not self.is_open:
                self.is_open = self._is_doubtful(gaps[at - 1], position)
            flags[row] = self.is_open
        self.gaps = gaps[at:]
        return flags

    def _is_doubtful(self, gap: Span, position: int) -> bool:
        """Whether the unit that was found after a gap may be inside of a wrapper."""
        return not self._is_followed(gap) and self._has_wrappers(position) and not self._is_ended(gap)

    def _is_followed(self, gap: Span) -> bool:
        """Whether the length at the start of a gap leads to its end."""
        if gap.size < BEFORE_LENGTH:
            return False
        length = self.checksums.source.view(gap.start + BEFORE_LENGTH - 4, gap.start + BEFORE_LENGTH)
        return gap.size == BEFORE_LENGTH + int.from_bytes(length, "big")

    def _is_ended(self, gap: Span) -> bool:
        """Whether a unit is known to end with a gap: by its checksum, or by the end of a compressed stream."""
        head = bytes(self.checksums.source.view(gap.start, min(gap.start + LATEST_NEEDS, gap.end)))
        magic = head[MAGIC_AT] if len(head) > MAGIC_AT else -1
        if magic in LEAST_LENGTHS and gap.size >= BEFORE_LENGTH + LEAST_LENGTHS[magic]:
            at, is_legacy = (BEFORE_LENGTH, True) if magic < LATEST_MAGIC else (MAGIC_AT + 1, False)
            stored = int.from_bytes(head[at : at + 4], "big")
            if self.checksums.of_unit(gap.start, gap.end, is_legacy=is_legacy) == stored:
                return True
        found = STREAMS.finditer(self.checksums.source.view(gap.start, gap.end))
        return any(_stream_end(self.checksums, gap.start + at.start(), at[0]) == gap.end for at in found)

    def _has_wrappers(self, position: int) -> bool:
        """Whether there are wrappers before a position, or soon after it."""
        if self.has_wrappers or self.wrapper_at >= position:
            return True
        size = self.checksums.source.size
        if self.searched < min(position + AHEAD, size):
            start, self.searched = max(position, self.searched), min(position + 2 * AHEAD, size)
            self.wrapper_at = next(self._wrappers(start, self.searched), -1)
        return self.wrapper_at >= position

    def _wrappers(self, start: int, end: int) -> Iterator[int]:
        """Where intact wrappers start in a stretch."""
        source = self.checksums.source
        view, offsets = source.view(0, source.size), array("q", (0, (1 << 63) - 1))
        positions, sizes = (array("q", bytes(8 * CANDIDATES)) for _ in range(2))
        count = CANDIDATES
        while count == CANDIDATES:
            count, start = native.functions.find_units(view, start, end, offsets, positions, sizes)
            for at, size in zip(positions[:count], sizes[:count], strict=True):
                if view[at + MAGIC_AT] < LATEST_MAGIC and view[at + MAGIC_AT + 1] & CODEC:
                    stored = int.from_bytes(view[at + BEFORE_LENGTH : at + MAGIC_AT], "big")
                    if self.checksums.of_unit(at, at + size, is_legacy=True) == stored:
                        yield at


def _stream_end(checksums: Checksums, start: int, magic: bytes) -> int:
    """Where the stream ends that starts at a position; that position where it is none, or is broken itself."""
    view = checksums.source.view(start, checksums.source.size)
    if checksums.streams < 0:
        return start
    end = gzip_end(view) if magic == GZIP else (lz4_end if magic == LZ4 else snappy_end)(view)
    checksums.streams -= abs(end)
    return start + max(end, 0)
