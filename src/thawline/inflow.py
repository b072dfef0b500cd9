"""Payloads decompressed into memory that is allocated already, a buffer at a time.

The same bytes as from `codecs.decompress_chunks`, then the same error. Reusing memory saves allocations, which take as
long as the decompression itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Protocol

import zstandard

from thawline import codecs

if TYPE_CHECKING:
    from typing_extensions import Buffer


class Inflow(Protocol):
    """A stream that fills memory."""

    def readinto(self, room: memoryview) -> int:
        """Fill the start of `room`; returns the number of bytes, 0 at the end.

        Raises `CodecError` after everything that decodes.
        """
        ...


class Pieces:
    """A stream over pieces of bytes, in order."""

    def __init__(self, pieces: Iterator[bytes | memoryview]) -> None:
        self._pieces = pieces
        self._piece = memoryview(b"")

    def readinto(self, room: memoryview) -> int:
        """Fill `room` from one piece."""
        while not self._piece:
            piece = next(self._pieces, None)
            if piece is None:
                return 0
            self._piece = memoryview(piece)
        size = min(len(room), len(self._piece))
        room[:size] = self._piece[:size]
        self._piece = self._piece[size:]
        return size


def decompressing(codec: str, data: Buffer, *, max_bytes: int = codecs.DEFAULT_MAX_BYTES) -> Inflow:
    """A stream over the decompressed payload, of at most `max_bytes` bytes."""
    if codec == "zstd" and codecs.zstd_is_whole(data, max_bytes=max_bytes):
        return _Zstd(data, max_bytes)
    return Pieces(codecs.decompress_chunks(codec, data, max_bytes=max_bytes))


class _Zstd:
    """Frames that zstd decompresses straight into memory; after a failure they are read block by block.

    zstd does not report how much it wrote before damage, and all blocks before the damage must be given.
    """

    def __init__(self, data: Buffer, max_bytes: int) -> None:
        self._data, self._max_bytes = data, max_bytes
        decoder = codecs.take_zstd_decoder()
        self._decoder: zstandard.ZstdDecompressor | None = decoder
        self._stream = decoder.stream_reader(memoryview(data), read_across_frames=True)
        self._size = 0
        self._by_blocks: Inflow | None = None

    def readinto(self, room: memoryview) -> int:
        """Fill `room` by one call of zstd, or from its blocks after a failure."""
        if self._by_blocks is None:
            size = self._readinto(room[: self._max_bytes - self._size])
            if size is not None:
                self._size += size
                return size
            blocks = codecs.decompress_chunks("zstd", self._data, max_bytes=self._max_bytes)
            self._by_blocks = Pieces(_after(blocks, self._size))
        return self._by_blocks.readinto(room)

    def _readinto(self, room: memoryview) -> int | None:
        """The number of bytes that zstd wrote; None where it fails, or at the bound, where blocks show what follows."""
        if not room:
            return None
        try:
            size: int = self._stream.readinto(room)
        except zstandard.ZstdError:
            return None
        if not size and self._decoder:
            codecs.keep_zstd_decoder(self._decoder)
            self._decoder = None
        return size


def _after(pieces: Iterator[bytes], size: int) -> Iterator[bytes]:
    """The bytes after the first `size` bytes."""
    for piece in pieces:
        yield piece[size:]
        size = max(size - len(piece), 0)
