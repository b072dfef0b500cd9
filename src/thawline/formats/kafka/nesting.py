"""Whether a unit that is found behind the start of a broken one lies inside of that one, and so is none of the log's.

A wrapper holds messages, and a record can hold anything, even batches. Where the unit around them is broken they would
pass for units of the log, with offsets and timestamps that they never had. What the head of a broken wrapper says tells
how far it goes; where that is destroyed, too, the compressed stream behind it does.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

from thawline.formats.kafka.checks import Checksums
from thawline.formats.kafka.heads import LATEST_MAGIC
from thawline.formats.kafka.streams import GZIP, LONGEST_MAGIC, LZ4, STREAMS, gzip_end, lz4_end, snappy_end
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
                self.until = max(self.until, self._stream_end(start, found[0]))
        self.searched = max(self.searched, position)

    def _stream_end(self, start: int, magic: bytes) -> int:
        """Where the stream ends that starts at a position; that position where it is none, or is broken itself."""
        view = self.source.view(start, self.source.size)
        if self.checksums.streams < 0:
            return start
        end = gzip_end(view) if magic == GZIP else (lz4_end if magic == LZ4 else snappy_end)(view)
        self.checksums.streams -= abs(end)
        return start + max(end, 0)

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
