"""Payloads decompressed into memory that is there already, as much at a time as fits.

The same bytes as from `codecs.decompress_chunks`, and then the same error; but memory is not asked for again and again,
which takes as long as the decompression itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Protocol

import zstandard

from thawline import codecs

if TYPE_CHECKING:
    from typing_extensions import Buffer


class Inflow(Protocol):
    """Something that memory can be filled from."""

    def readinto(self, room: memoryview) -> int:
        """Fill the start of some room; how much of it, 0 at the end. `CodecError` behind all that decodes."""
        ...


class Pieces:
    """Pieces of bytes, one behind the other."""

    def __init__(self, pieces: Iterator[bytes | memoryview]) -> None:
        self._pieces = pieces
        self._piece = memoryview(b"")

    def readinto(self, room: memoryview) -> int:
        """Fill room from one piece."""
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
    """What a payload holds, at most `max_bytes` of it."""
    if codec == "zstd" and codecs.zstd_is_whole(data, max_bytes=max_bytes):
        return _Zstd(data, max_bytes)
    return Pieces(codecs.decompress_chunks(codec, data, max_bytes=max_bytes))


class _Zstd:
    """Frames that zstd writes into memory by itself; from where it fails on, they are read block by block.

    It does not tell how much it wrote before it found damage, and all blocks before that are to be given.
    """

    def __init__(self, data: Buffer, max_bytes: int) -> None:
        self._data, self._max_bytes = data, max_bytes
        decoder = codecs.take_zstd_decoder()
        self._decoder: zstandard.ZstdDecompressor | None = decoder
        self._stream = decoder.stream_reader(memoryview(data), read_across_frames=True)
        self._given = 0
        self._by_blocks: Inflow | None = None

    def readinto(self, room: memoryview) -> int:
        """Fill room by one call of zstd, if that goes well."""
        if self._by_blocks is None:
            size = self._readinto(room[: self._max_bytes - self._given])
            if size is not None:
                self._given += size
                return size
            blocks = codecs.decompress_chunks("zstd", self._data, max_bytes=self._max_bytes)
            self._by_blocks = Pieces(_behind(blocks, self._given))
        return self._by_blocks.readinto(room)

    def _readinto(self, room: memoryview) -> int | None:
        """How much zstd wrote; None where it fails, and where the bound is reached: blocks tell whether more follow."""
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


def _behind(pieces: Iterator[bytes], size: int) -> Iterator[bytes]:
    """What comes behind so many bytes."""
    for piece in pieces:
        yield piece[size:]
        size = max(size - len(piece), 0)
