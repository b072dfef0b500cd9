"""What an LZ4 block holds before the byte at which it stops making sense.

The libraries decode a block as a whole or not at all; this is for blocks that are cut or damaged. Block format:
https://github.com/lz4/lz4/blob/v1.10.0/doc/lz4_Block_format.md
"""

from __future__ import annotations

from collections.abc import Iterator

from thawline.errors import CodecError
from thawline.wording import counted, grouped

LEAST_MATCH = 4
MORE = 15
"""A length of so much goes on in the bytes that follow."""


def decoded_prefix(data: memoryview, max_bytes: int) -> Iterator[bytes]:
    """The start of a size-prefixed block; then `CodecError` unless it is the whole of it."""
    if len(data) < LEAST_MATCH:
        raise CodecError("lz4_sized_block: ends inside its size")
    size = min(int.from_bytes(data[:4], "little"), max_bytes)
    out, at = bytearray(), 4
    while len(out) < size:
        at, is_good = _sequence(data, at, out, size)
        if not is_good:
            break
    yield bytes(out[:size])
    if len(out) < size:
        raise CodecError(
            f"lz4_sized_block: makes no sense from byte {at} on, {grouped(len(out))} of {counted(size, 'byte')} decoded"
        )


def _sequence(data: memoryview, at: int, out: bytearray, size: int) -> tuple[int, bool]:
    """Decode one sequence: literals, and a copy of what came before. The next position, and whether it makes sense."""
    if at >= len(data):
        return at, False
    token = data[at]
    literals, begin = _length(data, at + 1, token >> 4)
    out += data[begin : begin + min(literals, size - len(out))]
    at = begin + literals
    if at + 2 > len(data) or len(out) >= size:
        return min(at, len(data)), len(out) >= size
    offset = data[at] | data[at + 1] << 8
    length, at = _length(data, at + 2, token & MORE)
    if not 0 < offset <= len(out):
        return at, False
    length = min(length + LEAST_MATCH, size - len(out))
    match = bytes(out[-offset : len(out) - offset + length])
    out += (match * (length // len(match) + 1))[:length]
    return at, True


def _length(data: memoryview, at: int, value: int) -> tuple[int, int]:
    """A length that may go on in the bytes behind its token, and the position behind those."""
    more = value == MORE
    while more and at < len(data):
        value += data[at]
        more = data[at] == 0xFF  # noqa: PLR2004 - the largest byte
        at += 1
    return value, at
