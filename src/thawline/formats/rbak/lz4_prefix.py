"""What an LZ4 block holds, piece by piece, up to the byte at which it stops making sense.

The libraries decode a block as a whole or not at all; this is for blocks that are cut, damaged or very large. Format:
https://github.com/lz4/lz4/blob/v1.10.0/doc/lz4_Block_format.md
"""

from __future__ import annotations

from collections.abc import Iterator

from thawline.codecs import check_size
from thawline.errors import CodecError
from thawline.wording import counted, grouped

SIZE = 4
LEAST_MATCH = 4
MORE = 15
"""A length of so much goes on in the bytes that follow."""
FARTHEST = 0xFFFF
"""How far back a copy can reach."""
PIECE = 1 << 20


def decoded_prefix(data: memoryview, max_bytes: int) -> Iterator[bytes]:
    """What a size-prefixed block holds, piece by piece; then `CodecError` unless that is the whole of it."""
    if len(data) < SIZE:
        raise CodecError("lz4_sized_block: ends inside its size")
    size, at = int.from_bytes(data[:SIZE], "little"), SIZE
    block = _Block(data, min(size, max_bytes))
    while block.left and at >= 0:
        at = block.repeat(at) if block.repeats else block.sequence(at)
        if len(block.out) >= PIECE:
            yield block.taken(FARTHEST)
    yield block.taken(0)
    if block.left:
        decoded = f"{grouped(min(size, max_bytes) - block.left)} of {counted(size, 'byte')} decoded"
        raise CodecError(f"lz4_sized_block: makes no sense from byte {~at} on, {decoded}")
    check_size("lz4_sized_block", size, max_bytes)


class _Block:
    """A block on its way out; of what has been given only as much is kept as a copy can reach."""

    def __init__(self, data: memoryview, size: int) -> None:
        self.data, self.out = data, bytearray()
        self.left = size
        """Bytes that are still to come."""
        self.given = 0
        """How much of `out` has been given."""
        self.offset = self.repeats = 0
        """How far back the copy that is under way begins, and how much of it is to come."""

    def taken(self, keep: int) -> bytes:
        """What has been decoded and not yet been given."""
        piece = bytes(self.out[self.given :])
        del self.out[: max(len(self.out) - keep, 0)]
        self.given = len(self.out)
        return piece

    def sequence(self, at: int) -> int:
        """Decode one sequence, literals and a copy of what came before; the next position, ~position of nonsense."""
        data = self.data
        if at >= len(data):
            return ~at
        token = data[at]
        literals, begin = _length(data, at + 1, token >> 4)
        self._add(data[begin : begin + min(literals, self.left)])
        at = begin + literals
        if not self.left or at + 2 > len(data):
            return min(at, len(data)) if not self.left else ~min(at, len(data))
        offset = data[at] | data[at + 1] << 8
        length, at = _length(data, at + 2, token & MORE)
        if not 0 < offset <= len(self.out):
            return ~at
        self.offset, self.repeats = offset, min(length + LEAST_MATCH, self.left)
        return self.repeat(at)

    def repeat(self, at: int) -> int:
        """Copy some of what stands further back; what is copied may be part of it, over and over."""
        length = min(self.repeats, PIECE)
        match = bytes(self.out[-self.offset : len(self.out) - self.offset + length])
        self._add(match if len(match) == length else (match * (length // len(match) + 1))[:length])
        self.repeats -= length
        return at

    def _add(self, data: bytes | memoryview) -> None:
        self.out += data
        self.left -= len(data)


def _length(data: memoryview, at: int, value: int) -> tuple[int, int]:
    """A length that may go on in the bytes behind its token, and the position behind those."""
    more = value == MORE
    while more and at < len(data):
        value += data[at]
        more = data[at] == 0xFF  # noqa: PLR2004 - the largest byte
        at += 1
    return value, at
