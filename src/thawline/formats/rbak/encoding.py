"""Segments as bytes: records in, header, payload and footer out.

Header and footer are written with the generated structures, so that they are what the spec says.
"""

from __future__ import annotations

import io
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal, Protocol

import kaitaistruct
import lz4.block
import lz4.frame
import zstandard

from thawline import specs
from thawline.checksums import crc32
from thawline.errors import ThawlineError
from thawline.formats.rbak.segment import END_MAGIC, FOOTER, HEADER, MAGIC

Compression = Literal["none", "zstd", "lz4"]
Framing = Literal["block", "frame"]
SUFFIXES: dict[str, str] = {"none": "", "zstd": ".zst", "lz4": ".lz4"}
DEFAULT_LEVEL = 3
LONGEST_RECORD = 0xFFFF_FFFF
LONGEST_BLOCK = 0x7E00_0000
"""LZ4_MAX_INPUT_SIZE: what one block can hold."""
PIECE = 1 << 20


class BadRecord(ThawlineError, ValueError):
    """Something that no segment can hold."""


@dataclass(frozen=True, slots=True)
class Coding:
    """How payloads are compressed. `lz4_framing` is `block` as the tool writes it, or `frame` as its page says."""

    compression: str = "zstd"
    level: int = DEFAULT_LEVEL
    lz4_framing: Framing = "block"

    def __post_init__(self) -> None:
        if self.compression not in SUFFIXES:
            raise BadRecord(f"compression is {self.compression!r}; it is one of {', '.join(SUFFIXES)}")
        if self.lz4_framing not in ("block", "frame"):
            raise BadRecord(f"lz4_framing is {self.lz4_framing!r}; it is block or frame")
        if not 1 <= self.level <= zstandard.MAX_COMPRESSION_LEVEL:
            raise BadRecord(f"level is {self.level}; it is 1 to {zstandard.MAX_COMPRESSION_LEVEL}")

    def compressor(self) -> Compressor:
        """What compresses a payload, piece by piece."""
        if self.compression == "zstd":
            # As the tool does it: one frame without content size or checksum (formats/rbak.md, section 2).
            stream: Compressor = zstandard.ZstdCompressor(self.level, write_content_size=False).compressobj()
            return stream
        if self.compression == "lz4":
            return _Lz4Frame() if self.lz4_framing == "frame" else _Whole(partial(lz4.block.compress, store_size=True))
        return _Whole(bytes)


class Compressor(Protocol):
    """Takes a payload in pieces and gives it compressed in others."""

    def compress(self, data: bytes, /) -> bytes:
        """Take a piece."""
        ...

    def flush(self) -> bytes:
        """What is left at the end."""
        ...


class _Lz4Frame:
    """One LZ4 frame."""

    def __init__(self) -> None:
        self._frame = lz4.frame.LZ4FrameCompressor()
        self._begin: bytes = self._frame.begin()

    def compress(self, data: bytes, /) -> bytes:
        begin, self._begin = self._begin, b""
        return begin + bytes(self._frame.compress(data))

    def flush(self) -> bytes:
        return self._begin + bytes(self._frame.flush())


class _Whole:
    """A payload that is compressed as a whole, or not at all."""

    def __init__(self, compress: Callable[[bytes], bytes]) -> None:
        self._compress_all, self._held = compress, bytearray()

    def compress(self, data: bytes, /) -> bytes:
        self._held += data
        return b""

    def flush(self) -> bytes:
        return bytes(self._compress_all(bytes(self._held)))


@dataclass(slots=True)
class SegmentBuilder:
    """A segment in the making. It holds what is compressed already, and of an LZ4 block all of it."""

    coding: Coding = field(default_factory=Coding)
    count: int = 0
    uncompressed_bytes: int = 0
    first_timestamp: int = 0
    last_timestamp: int = 0

    _compressor: Compressor = field(init=False, repr=False)
    _parts: list[bytes] = field(init=False, repr=False, default_factory=list)
    _waiting: bytearray = field(init=False, repr=False, default_factory=bytearray)

    def __post_init__(self) -> None:
        self._compressor = self.coding.compressor()

    @property
    def _most(self) -> int:
        """Bytes that the payload may have before it is compressed."""
        is_block = self.coding.compression == "lz4" and self.coding.lz4_framing == "block"
        return LONGEST_BLOCK if is_block else sys.maxsize

    def has_room(self, document: bytes, most: int) -> bool:
        """Whether the payload stays within so many bytes, and within what it can have, with one more record."""
        return self.uncompressed_bytes + 4 + len(document) <= min(most, self._most)

    def add(self, document: bytes, backed_up_at: int) -> None:
        """Append one record, given as its JSON."""
        if len(document) > LONGEST_RECORD:
            raise BadRecord(f"a record of {len(document)} bytes does not fit a length of 32 bits")
        size = self.uncompressed_bytes + 4 + len(document)
        if size > self._most:
            raise BadRecord(f"an LZ4 block holds {LONGEST_BLOCK} bytes; rotate earlier, or write frames")
        if not self.count:
            self.first_timestamp = backed_up_at
        self.last_timestamp = backed_up_at
        self.count, self.uncompressed_bytes = self.count + 1, size
        self._waiting += len(document).to_bytes(4, "little")
        self._waiting += document
        if len(self._waiting) >= PIECE:
            self._flush()

    def _flush(self) -> None:
        self._parts.append(self._compressor.compress(bytes(self._waiting)))
        self._waiting.clear()

    def finish(self) -> Iterator[bytes]:
        """The bytes of the segment, piece by piece."""
        self._flush()
        self._parts.append(self._compressor.flush())
        crc = 0
        for part in (self._header(), *self._parts):
            crc = crc32(part, value=crc)
            yield part
        yield _written("footer", FOOTER, {"crc32": crc, "end_magic": END_MAGIC})

    def _header(self) -> bytes:
        compressions = specs.structure("rbak_segment").Compression
        return _written(
            "header",
            HEADER,
            {
                "magic": MAGIC,
                "version": 1,
                "compression": compressions[self.coding.compression],
                "reserved": bytes(2),
                "num_records": self.count,
                "first_timestamp": self.first_timestamp,
                "last_timestamp": self.last_timestamp,
            },
        )


def _written(part: str, size: int, values: dict[str, Any]) -> bytes:
    """A part of a segment as the spec lays it out."""
    made = specs.structure(f"rbak_segment::{part}")(None, None, None)
    for name, value in values.items():
        setattr(made, name, value)
    made._check()  # noqa: SLF001 - what ksc calls it
    stream = kaitaistruct.KaitaiStream(io.BytesIO(bytes(size)))
    made._write(stream)  # noqa: SLF001 - as above
    return bytes(stream.to_byte_array())
