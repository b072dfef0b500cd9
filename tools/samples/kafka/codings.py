"""Compressions of a batch's records or a wrapper's messages: attribute, framing and bytes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tools.samples import codecs


@dataclass(frozen=True, slots=True)
class Coding:
    """A name for files, the attribute's value, the framing as in `Content.codec`, and the function for the bytes."""

    name: str
    compression: str
    framing: str
    compress: Callable[[bytes], bytes]


def _halves(data: bytes) -> tuple[bytes, bytes]:
    """Two parts, cut inside a record."""
    return data[: len(data) // 2], data[len(data) // 2 :]


def _xerial_streams(data: bytes) -> bytes:
    return b"".join(codecs.snappy_xerial(half) for half in _halves(data))


def _xerial_little_endian(data: bytes) -> bytes:
    """Redpanda before February 2025 wrote version and compatible version in little endian (its issue 25091)."""
    stream = codecs.snappy_xerial(data)
    return stream[:8] + stream[11:7:-1] + stream[15:11:-1] + stream[16:]


def _lz4_of_magic_0(data: bytes) -> bytes:
    """KAFKA-3160: for magic 0 the header's checksum also covers the frame's magic, so it is 0x1a, not 0x82."""
    frame = codecs.lz4_frame_stored(data)
    if frame[4:7] != b"\x60\x40\x82":
        raise ValueError(f"0x1a belongs to a frame that begins 60 40 82 after its magic, not {frame[4:7].hex(' ')}")
    return frame[:6] + b"\x1a" + frame[7:]


def _zstd_frames(data: bytes) -> bytes:
    return b"".join(codecs.zstd_stored(half) for half in _halves(data))


NONE = Coding("none", "none", "none", lambda data: data)
GZIP = Coding("gzip", "gzip", "gzip", codecs.gzip_stored)
GZIP_MEMBERS = Coding("gzip-members", "gzip", "gzip", lambda data: codecs.gzip_stored(*_halves(data)))
SNAPPY = Coding("snappy", "snappy", "snappy", codecs.snappy_raw)
SNAPPY_XERIAL = Coding("snappy-xerial", "snappy", "snappy_xerial", lambda data: codecs.snappy_xerial(*_halves(data)))
SNAPPY_XERIAL_STREAMS = Coding("snappy-xerial-streams", "snappy", "snappy_xerial", _xerial_streams)
SNAPPY_XERIAL_LITTLE_ENDIAN = Coding("snappy-xerial-little-endian", "snappy", "snappy_xerial", _xerial_little_endian)
LZ4 = Coding("lz4", "lz4", "lz4", codecs.lz4_frame_stored)
LZ4_BLOCKS = Coding("lz4-blocks", "lz4", "lz4", lambda data: codecs.lz4_frame_stored(*_halves(data)))
LZ4_OF_MAGIC_0 = Coding("lz4", "lz4", "lz4_legacy_checksum", _lz4_of_magic_0)
ZSTD = Coding("zstd", "zstd", "zstd", codecs.zstd_stored)
ZSTD_BLOCKS = Coding("zstd-blocks", "zstd", "zstd", lambda data: codecs.zstd_stored(*_halves(data)))
ZSTD_FRAMES = Coding("zstd-frames", "zstd", "zstd", _zstd_frames)

CODECS = (NONE, GZIP, SNAPPY, SNAPPY_XERIAL, LZ4, ZSTD)
FRAMINGS = (
    GZIP_MEMBERS,
    SNAPPY_XERIAL_STREAMS,
    SNAPPY_XERIAL_LITTLE_ENDIAN,
    LZ4_BLOCKS,
    ZSTD_BLOCKS,
    ZSTD_FRAMES,
)
"""Variants that Kafka also reads: several members, streams, blocks or frames, and a head in the wrong byte order."""
