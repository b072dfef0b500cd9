"""Records compressed as Kafka's own clients compress them, so that every client can read them."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import cramjam
import lz4.frame
import zstandard

from thawline.errors import ThawlineError

__all__ = ["COMPRESSIONS", "BadCompression", "compressor"]

Compress = Callable[[memoryview], bytes | memoryview]

XERIAL_HEAD = b"\x82SNAPPY\0" + (1).to_bytes(4, "big") * 2
"""Magic, version and compatible version of snappy-java's stream."""
XERIAL_BLOCK = 32 << 10


class BadCompression(ThawlineError, ValueError):
    """A compression or a level that Kafka does not have."""


@dataclass(frozen=True, slots=True)
class _Codec:
    """What the head of a batch calls it, and how it is made for a level."""

    number: int
    make: Callable[[int], Compress]
    default: int = 0
    levels: range = range(0)


def _gzip(level: int) -> Compress:
    def compress(data: memoryview) -> bytes:
        stream = zlib.compressobj(level, wbits=16 + zlib.MAX_WBITS)
        return stream.compress(data) + stream.flush()

    return compress


def _snappy(_level: int) -> Compress:
    return _xerial


def _xerial(data: memoryview) -> bytes:
    parts = [XERIAL_HEAD]
    for at in range(0, len(data), XERIAL_BLOCK):
        block = bytes(cramjam.snappy.compress_raw(data[at : at + XERIAL_BLOCK]))
        parts += (len(block).to_bytes(4, "big"), block)
    return b"".join(parts)


def _lz4(level: int) -> Compress:
    """Frames of independent blocks of 64 KB: Kafka refuses linked ones, and reads no checksum but the head's."""
    return partial(
        lz4.frame.compress,
        compression_level=level,
        block_size=lz4.frame.BLOCKSIZE_MAX64KB,
        block_linked=False,
        store_size=False,
    )


def _zstd(level: int) -> Compress:
    return zstandard.ZstdCompressor(level=level).compress


_CODECS = {
    "none": _Codec(0, lambda _level: lambda data: data),
    "gzip": _Codec(1, _gzip, 6, range(1, 10)),
    "snappy": _Codec(2, _snappy),
    "lz4": _Codec(3, _lz4, 0, range(17)),
    "zstd": _Codec(4, _zstd, 3, range(-(1 << 17), 23)),
}

COMPRESSIONS = tuple(_CODECS)


def compressor(compression: str, level: int | None = None) -> tuple[int, Compress]:
    r"""What the attributes of a batch call a compression, and the function that compresses.

    >>> number, compress = compressor("snappy")
    >>> number, compress(memoryview(b"hello"))
    (2, b'\x82SNAPPY\x00\x00\x00\x00\x01\x00\x00\x00\x01\x00\x00\x00\x07\x05\x10hello')
    """
    if compression not in _CODECS:
        raise BadCompression(f"Kafka has no compression {compression!r}; it has {', '.join(COMPRESSIONS)}")
    codec = _CODECS[compression]
    if level is not None and level not in codec.levels:
        known = f"has the levels {codec.levels[0]} to {codec.levels[-1]}" if codec.levels else "has no levels"
        raise BadCompression(f"{compression} {known}, not {level!r}")
    return codec.number, codec.make(codec.default if level is None else level)
