"""How far a compressed stream goes that stands somewhere in a segment, by its own marks.

The size of a wrapper stands in its head. Where that is destroyed, the stream in the wrapper still tells where it ends.
"""

from __future__ import annotations

import re
import struct
import zlib

GZIP, SNAPPY, LZ4 = b"\x1f\x8b\x08", b"\x82SNAPPY\0", b"\x04\x22\x4d\x18"
STREAMS = re.compile(b"|".join(re.escape(magic) for magic in (GZIP, SNAPPY, LZ4)))
LONGEST_MAGIC = len(SNAPPY)
SNAPPY_HEAD = 16
LZ4_CONTENT_SIZE, LZ4_CONTENT_CHECKSUM, LZ4_BLOCK_CHECKSUM = 8, 4, 16
"""Flags of an lz4 frame."""
LZ4_STORED = 1 << 31
LARGEST_BLOCK = 4 << 20
FIRST_PIECE, LAST_PIECE, MOST_OUTPUT = 1 << 6, 1 << 14, 1 << 16
MOST_TIMES = 16
"""What becomes so many times its size is compressed, and no message in it can be seen from outside."""


def gzip_end(view: memoryview) -> int:
    """Where a gzip stream ends; as many bytes below zero as were read of one that does not.

    >>> import gzip
    >>> gzip_end(memoryview(gzip.compress(b"a") + b"behind")), gzip_end(memoryview(gzip.compress(b"a")[:-1]))
    (21, -20)
    """
    stream, at, made, piece = zlib.decompressobj(zlib.MAX_WBITS + 16), 0, 0, FIRST_PIECE
    while at < len(view) and not stream.eof:
        data = bytes(view[at : at + piece])
        at, piece = at + len(data), min(4 * piece, LAST_PIECE)
        try:
            while data and not stream.eof:
                made += len(stream.decompress(data, MOST_OUTPUT))
                data = stream.unconsumed_tail
                if made > MOST_TIMES * at + MOST_OUTPUT:
                    return -at
        except zlib.error:
            return -at
    return at - len(stream.unused_data) if stream.eof else -at


def snappy_end(view: memoryview) -> int:
    r"""Where the blocks end that snappy's Java library writes behind its magic.

    >>> snappy_end(memoryview(SNAPPY + bytes(8) + b"\0\0\0\2ab" + bytes(9)))
    22
    """
    at = SNAPPY_HEAD
    while at + 4 <= len(view):
        size = int.from_bytes(view[at : at + 4], "big")
        if not 0 < size <= LARGEST_BLOCK or at + 4 + size > len(view):
            break
        at += 4 + size
    return at if at > SNAPPY_HEAD else -at


def lz4_end(view: memoryview) -> int:
    """Where an lz4 frame ends; as many bytes below zero as were read of one that does not.

    >>> import lz4.frame
    >>> lz4_end(memoryview(lz4.frame.compress(b"a" * 9) + b"behind")) == len(lz4.frame.compress(b"a" * 9))
    True
    """
    if len(view) < 7:  # noqa: PLR2004 - magic, flags, and the checksum of the head
        return -len(view)
    flags = view[4]
    at = 7 + (8 if flags & LZ4_CONTENT_SIZE else 0)
    while at + 4 <= len(view):
        size = struct.unpack_from("<I", view, at)[0] & ~LZ4_STORED
        at += 4
        if size == 0:
            return at + (4 if flags & LZ4_CONTENT_CHECKSUM else 0)
        if size > LARGEST_BLOCK:
            break
        at += size + (4 if flags & LZ4_BLOCK_CHECKSUM else 0)
    return -min(at, len(view))
