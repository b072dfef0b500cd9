"""Decompressed bytes, never more than a stated bound: one registry of every codec the formats use.

`decompress` gives the whole output or an error. `decompress_chunks` streams, and gives what decodes before the
error: what a salvager wants. Codec names are ours; `kafka_codec` and `rbak_codec` turn the name that a file header
carries into the variant that its payload holds.

=====================  ==============================================================================
`none`                 the bytes as they are
`gzip`                 any number of members, zero padding after each
`zlib`                 one zlib stream (Borg)
`lzma`                 any number of xz streams, zero padding after each (Borg)
`zstd`                 any number of frames, with or without a content size, skippable frames
`snappy`               one raw block
`snappy_xerial`        snappy-java's chunks, any number of streams end to end
`lz4`                  any number of frames, all flags, skippable frames
`lz4_kafka`            what Kafka reads of a frame: independent blocks, up to the first EndMark
`lz4_legacy_checksum`  the same with any header checksum (Kafka magic 0)
`lz4_block`            one raw block of unknown size; where the size is known, pass it as `max_bytes` (Borg)
`lz4_sized_block`      uint32 LE size, then one raw block (RBAK)
=====================  ==============================================================================

Sizes that the payload declares are claims: each is held against the bound and against what so few input bytes can
possibly yield before anything is allocated for it. Frames are walked block by block, so one step yields at most one
block (zstd 128 KiB, lz4 4 MiB) and whatever precedes a damaged block is given.
"""

from __future__ import annotations

import io
import lzma
import zlib
from collections.abc import Callable, Generator, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import cramjam
import lz4.block
import lz4.frame
import zstandard

from thawline.errors import CodecError, OutputTooLarge

if TYPE_CHECKING:
    from typing_extensions import Buffer  # collections.abc has it from Python 3.12 on

__all__ = ["DEFAULT_MAX_BYTES", "decompress", "decompress_chunks", "kafka_codec", "rbak_codec"]

DEFAULT_MAX_BYTES = 256 << 20
"""The bound on one payload's output where the caller states none."""

Member = Generator[bytes, None, int]
"""Chunks of one gzip member, frame or stream; its return value is the byte after it."""

_LIBRARY_ERRORS = (
    zlib.error,
    lzma.LZMAError,
    zstandard.ZstdError,
    lz4.block.LZ4BlockError,
    cramjam.DecompressionError,
)

_CHUNK = 256 << 10
_FIRST_READ = 4 << 10  # small, because a stream's end hands back a copy of all that was read past it
_WINDOW_MAX = 128 << 20  # zstd's own default, hence what zstd-jni accepts; xz -9 needs half of it


def decompress(codec: str, data: Buffer, *, max_bytes: int = DEFAULT_MAX_BYTES) -> bytes:
    """All that `data` holds, at most `max_bytes`; `CodecError` if any of it is damaged.

    >>> decompress("snappy", bytes.fromhex("05 10 68 65 6c 6c 6f"))
    b'hello'
    """
    chunks = decompress_chunks(codec, data, max_bytes=max_bytes)
    whole = io.BytesIO(next(chunks, b""))  # one chunk is shared, not copied; so is the value at the end
    whole.seek(0, io.SEEK_END)
    for chunk in chunks:
        whole.write(chunk)
    return whole.getvalue()


def decompress_chunks(codec: str, data: Buffer, *, max_bytes: int = DEFAULT_MAX_BYTES) -> Iterator[bytes]:
    """What `data` holds, piece by piece: all that decodes, then `CodecError` where it is damaged or exceeds the bound."""
    if codec not in _CODECS:
        raise CodecError(f"unknown codec {codec!r}; known are {', '.join(_CODECS)}")
    return _bounded(codec, _CODECS[codec](memoryview(data).cast("B"), max_bytes), max_bytes)


def kafka_codec(compression: str, magic: int, data: Buffer) -> str:
    """Name of the codec that reads a Kafka payload, given its batch's compression and magic."""
    if compression == "zstd" and magic < _KAFKA_ZSTD_MAGIC:
        raise CodecError(f"zstd in a message of magic {magic}: Kafka allows it from magic 2 on (KIP-110)")
    if compression == "snappy":  # librdkafka writes raw blocks, snappy-java the chunked stream
        return "snappy_xerial" if _starts(data, _XERIAL_MAGIC) else "snappy"
    if compression == "lz4":
        return "lz4_legacy_checksum" if magic == 0 else "lz4_kafka"
    return _known(compression, {"none", "gzip", "zstd"}, "Kafka")


def rbak_codec(compression: str, data: Buffer) -> str:
    """Name of the codec that reads an RBAK payload, given its segment's compression."""
    if compression == "lz4":
        return "lz4" if _starts(data, _LZ4_MAGIC) and not _is_sized_block(data) else "lz4_sized_block"
    return _known(compression, {"none", "zstd"}, "RBAK")


def _known(compression: str, names: set[str], system: str) -> str:
    if compression not in names:
        raise CodecError(f"{system} has no compression {compression!r}")
    return compression


def _starts(data: Buffer, magic: bytes) -> bool:
    return memoryview(data).cast("B")[: len(magic)] == magic


# --- bounds ---------------------------------------------------------------------------------------------------------


def _bounded(codec: str, chunks: Iterator[bytes], max_bytes: int) -> Iterator[bytes]:
    """Yield `chunks` up to `max_bytes`, then raise; what the libraries raise becomes `CodecError`."""
    left = max_bytes
    try:
        for chunk in chunks:
            if chunk:
                yield chunk[:left]
            left -= len(chunk)
            if left < 0:
                raise _too_large(codec, max_bytes)
    except _LIBRARY_ERRORS as error:
        raise CodecError(f"{codec}: {error}") from error


def _too_large(codec: str, max_bytes: int) -> OutputTooLarge:
    return OutputTooLarge(f"{codec}: holds more than the {max_bytes} bytes allowed")


def _check_claim(codec: str, claim: int, possible: int, limit: int) -> None:
    """Refuse a declared size that the input cannot yield, or that the bound forbids."""
    if claim > possible:
        raise CodecError(f"{codec}: declares {claim} bytes, its input can yield {possible} at most")
    if claim > limit:
        raise _too_large(codec, limit)


def _span(codec: str, data: memoryview, at: int, size: int) -> memoryview:
    """Bytes [at, at + size) of the payload, all of them."""
    if at + size > len(data):
        raise CodecError(f"{codec}: ends inside a frame: {size} bytes due at {at}, {max(0, len(data) - at)} are left")
    return data[at : at + size]


def _uint32(codec: str, data: memoryview, at: int) -> int:
    return int.from_bytes(_span(codec, data, at, 4), "little")


# --- streams whose library bounds its own output: gzip, zlib, xz ------------------------------------------------------


def _reads(codec: str, data: memoryview, at: int) -> Iterator[memoryview]:
    """Slices of `data` from `at` on, growing; an error where the next one would be empty."""
    size = _FIRST_READ
    while at < len(data):
        yield data[at : at + size]
        at += size
        size = min(2 * size, _CHUNK)
    raise CodecError(f"{codec}: ends inside a frame, after {len(data)} bytes")


def _inflate(codec: str, wbits: int, data: memoryview, at: int) -> Member:
    decoder = zlib.decompressobj(wbits)
    for read in _reads(codec, data, at):
        at += len(read)
        chunk = decoder.decompress(read, _CHUNK)
        yield chunk
        while len(chunk) == _CHUNK:  # shorter means that all input is used up
            chunk = decoder.decompress(decoder.unconsumed_tail, _CHUNK)
            yield chunk
        if decoder.eof:
            break
    return at - len(decoder.unused_data)


def _unxz(codec: str, data: memoryview, at: int) -> Member:
    decoder = lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=_WINDOW_MAX)
    for read in _reads(codec, data, at):
        at += len(read)
        yield decoder.decompress(read, _CHUNK)
        while not (decoder.needs_input or decoder.eof):
            yield decoder.decompress(b"", _CHUNK)
        if decoder.eof:
            break
    return at - len(decoder.unused_data)


def _zlib(data: memoryview, _limit: int) -> Iterator[bytes]:
    end = yield from _inflate("zlib", zlib.MAX_WBITS, data, 0)
    if end != len(data):
        raise CodecError(f"zlib: {len(data) - end} bytes follow the end of the stream")


def _members(read_member: Callable[[memoryview, int], Member], data: memoryview, _limit: int) -> Iterator[bytes]:
    at = 0
    while at < len(data) or not at:
        at = yield from read_member(data, at)
        while padding := data[at : at + _FIRST_READ]:
            at += (zeros := len(padding) - len(bytes(padding).lstrip(b"\0")))
            if zeros < len(padding):
                break


# --- frames that are walked block by block: zstd, lz4 -----------------------------------------------------------------

_SKIPPABLE = 0x184D2A5  # 0x184D2A50 to 5F, in zstd and in lz4


def _frames(codec: str, read_frame: Callable[[memoryview, int], Member], data: memoryview) -> Iterator[bytes]:
    at = 0
    while at < len(data) or not at:
        if _uint32(codec, data, at) >> 4 == _SKIPPABLE:
            at += 8 + len(_span(codec, data, at + 8, _uint32(codec, data, at + 4)))
        else:
            at = yield from read_frame(data, at)


_ZSTD_BLOCK_MAX = 128 << 10
_ZSTD_RLE = 1
_ZSTD_KEEP = 16 << 20
_idle_zstd: list[zstandard.ZstdDecompressor] = []


def _zstd(data: memoryview, limit: int) -> Iterator[bytes]:
    # Making a decompressor takes longer than decoding a small batch, so one that ended well and stayed small waits
    # for the next payload. Nobody else holds it meanwhile: not another thread, not a second unfinished iterator.
    try:
        decoder = _idle_zstd.pop()
    except IndexError:
        decoder = zstandard.ZstdDecompressor(max_window_size=_WINDOW_MAX)
    yield from _frames("zstd", partial(_zstd_frame, decoder, limit), data)
    if decoder.memory_size() <= _ZSTD_KEEP:
        _idle_zstd.append(decoder)


def _zstd_frame(decoder: zstandard.ZstdDecompressor, limit: int, data: memoryview, at: int) -> Member:
    """One frame (RFC 8878, 3.1.1); the stream decoder gets one block at a time and so cannot overshoot."""
    stream = decoder.decompressobj()
    head = _zstd_head(data, at)
    frame = zstandard.get_frame_parameters(head)
    if frame.content_size not in {zstandard.CONTENTSIZE_UNKNOWN, zstandard.CONTENTSIZE_ERROR}:
        _check_claim("zstd", frame.content_size, frame.content_size, limit)
    yield stream.decompress(head)
    at += len(head)
    last = 0
    while not last:
        block = _zstd_block(data, at)
        last = block[0] & 1
        yield stream.decompress(block)
        at += len(block)
    if frame.has_checksum:
        yield stream.decompress(_span("zstd", data, at, 4))
        at += 4
    return at


def _zstd_head(data: memoryview, at: int) -> memoryview:
    """Magic and frame header; the library checks what it says."""
    flags = _span("zstd", data, at, 5)[4]
    single_segment = flags >> 5 & 1
    content_size = (single_segment, 2, 4, 8)[flags >> 6]
    dictionary_id = (0, 1, 2, 4)[flags & 3]
    return _span("zstd", data, at, 6 - single_segment + dictionary_id + content_size)


def _zstd_block(data: memoryview, at: int) -> memoryview:
    """A block with its 3-byte header: last (1 bit), type (2), size (21)."""
    head = int.from_bytes(_span("zstd", data, at, 3), "little")
    size = head >> 3
    if size > _ZSTD_BLOCK_MAX:
        raise CodecError(f"zstd: the block at byte {at} declares {size} bytes, {_ZSTD_BLOCK_MAX} are the most")
    return _span("zstd", data, at, 3 + (1 if head >> 1 & 3 == _ZSTD_RLE else size))


_LZ4_MAGIC = bytes.fromhex("04224d18")
_LZ4_DICTIONARY_ID, _LZ4_RESERVED = 1 << 0, 1 << 1
_LZ4_CONTENT_CHECKSUM, _LZ4_CONTENT_SIZE, _LZ4_BLOCK_CHECKSUM, _LZ4_INDEPENDENT = 1 << 2, 1 << 3, 1 << 4, 1 << 5


class _Lz4Head(NamedTuple):
    """Magic and frame descriptor of an lz4 frame, with what the walk over its blocks needs to know."""

    raw: bytes
    flags: int
    block_max: int
    block_checksum: int
    content_checksum: int


def _lz4_head(data: memoryview, at: int) -> _Lz4Head:
    if _span("lz4", data, at, 4) != _LZ4_MAGIC:
        raise CodecError(f"lz4: no frame starts at byte {at}")
    flags, sizes = _span("lz4", data, at + 4, 2)
    size = 7 + 8 * bool(flags & _LZ4_CONTENT_SIZE) + 4 * bool(flags & _LZ4_DICTIONARY_ID)
    return _Lz4Head(
        raw=bytes(_span("lz4", data, at, size)),
        flags=flags,
        block_max=1 << 8 + 2 * (sizes >> 4 & 7),
        block_checksum=4 * bool(flags & _LZ4_BLOCK_CHECKSUM),
        content_checksum=4 * bool(flags & _LZ4_CONTENT_CHECKSUM),
    )


def _lz4(data: memoryview, _limit: int) -> Iterator[bytes]:
    return _frames("lz4", _lz4_frame, data)


def _lz4_frame(data: memoryview, at: int) -> Member:
    """One frame with every check of the format: header, block and content checksums, content size."""
    context = lz4.frame.create_decompression_context()
    head = _lz4_head(data, at)
    at = yield from _lz4_blocks(context, head, data, at + len(head.raw))
    tail = _span("lz4", data, at, 4 + head.content_checksum)
    _lz4_feed(context, tail, 0)
    return at + len(tail)


def _lz4_kafka(data: memoryview, _limit: int, *, any_checksum: bool = False) -> Iterator[bytes]:
    """The first frame, as Kafka's Lz4BlockInputStream reads it: content size and content checksum are not compared."""
    context = lz4.frame.create_decompression_context()
    head = _lz4_head(data, 0)
    if not head.flags & _LZ4_INDEPENDENT or head.flags & (_LZ4_DICTIONARY_ID | _LZ4_RESERVED):
        raise CodecError(f"lz4_kafka: frame flags {head.flags:#04x}: Kafka refuses linked blocks and dictionaries")
    if any_checksum:  # KAFKA-3160, KIP-57: until magic 1 Kafka hashed the magic, too, and readers ignore the byte
        head = head._replace(raw=head.raw[:-1] + _lz4_header_checksum(head.raw))
    end = yield from _lz4_blocks(context, head, data, len(head.raw))
    _span("lz4", data, end, 4 + head.content_checksum)


def _lz4_blocks(context: Any, head: _Lz4Head, data: memoryview, at: int) -> Member:
    """Blocks from `at` on, each decoded by itself; returns where the EndMark is."""
    _lz4_feed(context, head.raw, 0)
    while size := _uint32("lz4", data, at) & 0x7FFFFFFF:  # the top bit marks a stored block
        if size > head.block_max:
            raise CodecError(f"lz4: the block at byte {at} declares {size} bytes, {head.block_max} are the most")
        block = _span("lz4", data, at, 4 + size + head.block_checksum)
        yield _lz4_feed(context, block, head.block_max)
        at += len(block)
    return at


def _lz4_feed(context: Any, piece: Buffer, room: int) -> bytes:
    try:
        output, used, _ended = lz4.frame.decompress_chunk(context, piece, max_length=room)
    except RuntimeError as error:  # the only exception this library has
        raise CodecError(f"lz4: {error}") from error
    if used != memoryview(piece).nbytes:
        raise CodecError("lz4: a block holds more than its frame allows")
    return bytes(output)


def _lz4_header_checksum(head: bytes) -> bytes:
    """The byte that ends a frame descriptor: second byte of the xxHash32 of what lies between it and the magic."""
    return bytes([_xxh32(head[4:-1]) >> 8 & 0xFF])


def _xxh32(data: bytes) -> int:
    """xxHash32, seed 0, of fewer than 16 bytes: all that a frame descriptor can have."""
    prime1, prime2, prime3, prime4, prime5 = 0x9E3779B1, 0x85EBCA77, 0xC2B2AE3D, 0x27D4EB2F, 0x165667B1
    mask, words = 0xFFFFFFFF, len(data) & ~3
    state = prime5 + len(data)
    for at in range(0, words, 4):
        state = (state + int.from_bytes(data[at : at + 4], "little") * prime3) & mask
        state = (state << 17 | state >> 15) * prime4 & mask
    for byte in data[words:]:
        state = (state + byte * prime5) & mask
        state = (state << 11 | state >> 21) * prime1 & mask
    state = (state ^ state >> 15) * prime2 & mask
    state = (state ^ state >> 13) * prime3 & mask
    return state ^ state >> 16


# --- blocks -----------------------------------------------------------------------------------------------------------

_XERIAL_MAGIC = b"\x82SNAPPY\0"
_XERIAL_HEAD = 16
_KAFKA_ZSTD_MAGIC = 2
_LZ4_RATIO = 255  # a match length grows by 255 with each further byte
_LZ4_OUTPUT_MAX = 0x7E000000  # LZ4_MAX_INPUT_SIZE


def _none(data: memoryview, limit: int) -> Iterator[bytes]:
    yield bytes(data[: limit + 1])


def _snappy(data: memoryview, limit: int) -> Iterator[bytes]:
    yield _snappy_block(data, limit)


def _snappy_block(block: memoryview, limit: int) -> bytes:
    claim = cramjam.snappy.decompress_raw_len(block)
    _check_claim("snappy", claim, len(block) * 64 // 3, limit)  # the densest element copies 64 bytes and takes 3
    return bytes(cramjam.snappy.decompress_raw(block))


def _snappy_xerial(data: memoryview, limit: int) -> Iterator[bytes]:
    """Chunks of one or more streams; a chunk length that reads as the magic begins the next stream (snappy-java)."""
    at = 0
    while at < len(data) or not at:
        if not at or data[at : at + 4] == _XERIAL_MAGIC[:4]:
            head = _span("snappy_xerial", data, at, _XERIAL_HEAD)
            if head[:8] != _XERIAL_MAGIC:
                raise CodecError(f"snappy_xerial: no stream starts at byte {at}")
            at += len(head)  # version and compatible version: Redpanda wrote them little endian, nobody checks
            continue
        size = int.from_bytes(_span("snappy_xerial", data, at, 4), "big")
        block = _snappy_block(_span("snappy_xerial", data, at + 4, size), limit)
        yield block
        limit -= len(block)
        at += 4 + size


def _lz4_block(data: memoryview, limit: int) -> Iterator[bytes]:
    ceiling = min(limit, _LZ4_RATIO * len(data), _LZ4_OUTPUT_MAX)
    room = min(4 * len(data), ceiling)
    while True:
        try:
            yield lz4.block.decompress(data, uncompressed_size=room)
        except lz4.block.LZ4BlockError as error:  # says the same of damage and of too little room
            if room == ceiling:
                raise CodecError(f"lz4_block: is damaged or cut short, or holds more than {room} bytes") from error
            room = min(8 * room, ceiling)
        else:
            return


def _lz4_sized_block(data: memoryview, limit: int) -> Iterator[bytes]:
    claim = _uint32("lz4_sized_block", data, 0)
    _check_claim("lz4_sized_block", claim, _LZ4_RATIO * (len(data) - 4), min(limit, _LZ4_OUTPUT_MAX))
    output: bytes = lz4.block.decompress(data[4:], uncompressed_size=claim)
    if len(output) != claim:
        raise CodecError(f"lz4_sized_block: declares {claim} bytes and holds {len(output)}")
    yield output


def _is_sized_block(data: Buffer) -> bool:
    """Whether a payload that starts like an lz4 frame is a block of 0x184D2204 bytes: long enough, and no frame head."""
    view = memoryview(data).cast("B")
    if _LZ4_RATIO * (len(view) - 4) < int.from_bytes(_LZ4_MAGIC, "little"):
        return False
    head = _lz4_head(view, 0).raw
    return head[-1:] != _lz4_header_checksum(head)


_CODECS: dict[str, Callable[[memoryview, int], Iterator[bytes]]] = {
    "none": _none,
    "gzip": partial(_members, partial(_inflate, "gzip", 16 + zlib.MAX_WBITS)),
    "zlib": _zlib,
    "lzma": partial(_members, partial(_unxz, "lzma")),
    "zstd": _zstd,
    "snappy": _snappy,
    "snappy_xerial": _snappy_xerial,
    "lz4": _lz4,
    "lz4_kafka": _lz4_kafka,
    "lz4_legacy_checksum": partial(_lz4_kafka, any_checksum=True),
    "lz4_block": _lz4_block,
    "lz4_sized_block": _lz4_sized_block,
}
