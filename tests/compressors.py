"""What real compressors write, for the tests of codecs."""

from __future__ import annotations

import gzip
import lzma
import random
import struct
import zlib
from collections.abc import Callable
from functools import partial

import cramjam
import lz4.block
import lz4.frame
import pytest
import zstandard

from thawline.codecs import decompress_chunks
from thawline.errors import CodecError

MIB = 1 << 20
KAFKA_COMPRESSION = ["none", "gzip", "snappy", "lz4", "zstd"]


def prose(size: int, seed: int = 1) -> bytes:
    """Compressible bytes without long repetitions."""
    rng = random.Random(seed)
    words = [rng.randbytes(rng.randint(2, 9)).hex().encode() for _ in range(400)]
    return b" ".join(rng.choices(words, k=size // 4))[:size]


TEXT = prose(700)
LONG = prose(600_000)


def snappy(data: bytes) -> bytes:
    return bytes(cramjam.snappy.compress_raw(data))


def xerial(data: bytes, *, chunk: int = 32 << 10, order: str = ">") -> bytes:
    blocks = (snappy(data[at : at + chunk]) for at in range(0, len(data), chunk))
    head = b"\x82SNAPPY\0" + struct.pack(order + "ii", 1, 1)
    return head + b"".join(struct.pack(">i", len(block)) + block for block in blocks)


def zstd(data: bytes, *, size: bool = False, checksum: bool = False) -> bytes:
    return zstandard.ZstdCompressor(write_content_size=size, write_checksum=checksum).compress(data)


def lz4_frame(
    data: bytes, *, linked: bool = False, size: bool = False, block_size: int = 4, checks: bool = False
) -> bytes:
    packed: bytes = lz4.frame.compress(
        data,
        block_linked=linked,
        store_size=size,
        block_size=block_size,
        content_checksum=checks,
        block_checksum=checks,
    )
    return packed


def lz4_v0(data: bytes) -> bytes:
    frame = lz4_frame(data)
    assert frame[:7].hex() == "04224d18604082"
    return frame[:6] + b"\x1a" + frame[7:]


def xz(data: bytes, check: int = lzma.CHECK_NONE) -> bytes:
    return lzma.compress(data, format=lzma.FORMAT_XZ, check=check, preset=1)


COMPRESS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": partial(gzip.compress, mtime=0),
    "zlib": zlib.compress,
    "lzma": xz,
    "zstd": zstd,
    "snappy": snappy,
    "snappy_xerial": xerial,
    "lz4": lz4_frame,
    "lz4_kafka": lz4_frame,
    "lz4_legacy_checksum": lz4_v0,
    "lz4_block": lambda data: lz4.block.compress(data, store_size=False),
    "lz4_sized_block": lz4.block.compress,
}
CODECS = pytest.mark.parametrize("codec", COMPRESS)


def salvage(codec: str, data: bytes | bytearray, max_bytes: int = 64 * MIB) -> tuple[bytes, CodecError | None]:
    """What comes before the error, and the error."""
    output = bytearray()
    try:
        for chunk in decompress_chunks(codec, data, max_bytes=max_bytes):
            output += chunk
    except CodecError as error:
        return bytes(output), error
    return bytes(output), None
