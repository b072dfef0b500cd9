"""Bounded decompression: one registry of every codec that the formats use.

`decompress` gives the whole output or an error. `decompress_chunks` streams, and gives what decodes before the error,
which salvage keeps. `kafka_codec` and `rbak_codec` turn the compression that a header names into one of these:

=====================  ===============================================================================
`none`                 the bytes as they are
`gzip` `zlib` `lzma`   any number of members (lzma: xz streams), zero padding after each
`zstd`                 any number of frames, with or without a content size, skippable frames
`snappy`               one raw block
`snappy_xerial`        snappy-java's chunks, any number of streams end to end
`lz4`                  any number of frames, all flags, skippable frames
`lz4_kafka`            what Kafka reads of a frame: independent blocks, up to the first EndMark
`lz4_legacy_checksum`  the same with any header checksum (Kafka magic 0)
`lz4_block`            one raw block of unknown size; where the size is known, pass it as `max_bytes` (Borg)
`lz4_sized_block`      uint32 LE size, then one raw block (RBAK)
=====================  ===============================================================================

A size that a payload declares is a claim: it is checked against the bound, and against what the input can yield at
most, before memory is allocated for it. Frames are walked block by block, so that all blocks before a damaged one are
given.
"""

from __future__ import annotations

import io
import lzma
import re
import struct
import sys
import zlib
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager, suppress
from functools import cache, partial
from threading import local
from typing import TYPE_CHECKING, Any

import cramjam
import lz4.block
import lz4.frame
import pyarrow as pa
import zstandard

from thawline.errors import CodecError, OutputTooLarge
from thawline.wording import counted, grouped

if TYPE_CHECKING:
    from typing_extensions import Buffer  # collections.abc has it from Python 3.12 on

__all__ = [
    "DEFAULT_MAX_BYTES",
    "Room",
    "check_size",
    "decompress",
    "decompress_chunks",
    "keep_zstd_decoder",
    "lz4_sized_block",
    "take_zstd_decoder",
    "zstd_blocks",
    "zstd_is_whole",
]

DEFAULT_MAX_BYTES = 256 << 20
"""The bound on the output of one payload, unless the caller states one."""

Frame = Generator[bytes, None, int]
"""Chunks of one frame; its return value is the byte after it."""

_CHUNK = 256 << 10
_FIRST_READ, _LAST_READ = 4 << 10, 64 << 10  # small: the end of a stream returns a copy of all input after it
_NOT_ZERO = re.compile(rb"[^\0]")
_WINDOW_MAX = 128 << 20  # zstd's default, which zstd-jni accepts; xz -9 needs half of it
_ZSTD_MAGIC = bytes.fromhex("28b52ffd")
_ZSTD_LONGEST_HEAD = 18  # ZSTD_FRAMEHEADERSIZE_MAX
_UINT32 = struct.Struct("<I")
LZ4_MAGIC = bytes.fromhex("04224d18")
_LZ4_DICTIONARY, _LZ4_RESERVED, _LZ4_CONTENT_CHECKSUM, _LZ4_CONTENT_SIZE = 1, 2, 4, 8  # bits of FLG
_LZ4_BLOCK_CHECKSUM, _LZ4_INDEPENDENT = 16, 32
_LZ4_LEAST = 11  # a head and the EndMark
_LZ4_RATIO = 255  # a match length grows by 255 with each further byte
_LZ4_OUTPUT_MAX = 0x7E000000  # LZ4_MAX_INPUT_SIZE
XERIAL_MAGIC = b"\x82SNAPPY\0"
_SKIPPABLE_MAGIC = 0x184D2A5  # and four more bits, for zstd and lz4

_idle_zstd: list[zstandard.ZstdDecompressor] = []
_last_zstd: list[tuple[tuple[int, int], zstandard.ZstdDecompressor]] = []  # one at most, with what it has read last
_LIBRARY_ERRORS = (zlib.error, lzma.LZMAError, zstandard.ZstdError, lz4.block.LZ4BlockError, cramjam.DecompressionError)


def decompress(codec: str, data: Buffer, *, max_bytes: int = DEFAULT_MAX_BYTES) -> bytes:
    """All decompressed bytes, at most `max_bytes`; `CodecError` if `data` is damaged.

    >>> decompress("snappy", bytes.fromhex("05 10 68 65 6c 6c 6f"))
    b'hello'
    """
    chunks = decompress_chunks(codec, data, max_bytes=max_bytes)
    whole = io.BytesIO(next(chunks, b""))  # unlike a join, it never holds the output twice
    whole.seek(0, io.SEEK_END)
    whole.writelines(chunks)
    return whole.getvalue()


def decompress_chunks(codec: str, data: Buffer, *, max_bytes: int = DEFAULT_MAX_BYTES) -> Iterator[bytes]:
    """All that decodes, in chunks; then `CodecError` if `data` is damaged, cut short or exceeds the bound."""
    if codec not in _CODECS:
        raise CodecError(f"unknown codec {codec!r}; known are {', '.join(_CODECS)}")
    return _bounded(codec, _CODECS[codec](memoryview(data).cast("B"), max_bytes), max_bytes)


class Room:
    """Payloads decompressed one after the other, in memory that is reused after `clear`.

    That is up to twice as quick as `decompress`, which allocates memory each time.
    """

    def __init__(self, size: int) -> None:
        self._memory = memoryview(bytearray(size))
        self.end = 0
        """Bytes that are filled."""

    def add(self, codec: str, data: Buffer, *, max_bytes: int = DEFAULT_MAX_BYTES) -> None:
        """Append a decompressed payload. `CodecError` as by `decompress`; what was added before remains."""
        view = memoryview(data).cast("B")
        try:
            fill = _FILLS.get(codec, _fill_nothing)
            size = fill(view, self._memory[self.end : self.end + max_bytes])
        except (CodecError, cramjam.DecompressionError, zstandard.ZstdError, OSError, struct.error):  # OSError: Arrow's
            size = None
        self.end += self._copy(decompress_chunks(codec, view, max_bytes=max_bytes)) if size is None else size

    def _copy(self, chunks: Iterator[bytes]) -> int:
        """Append all chunks, or none if one raises; returns their size."""
        found = list(chunks)
        size, at = sum(map(len, found)), self.end
        self._grow(size)
        for chunk in found:
            self._memory[at : at + len(chunk)] = chunk
            at += len(chunk)
        return size

    @property
    def size(self) -> int:
        """Bytes that fit before it has to grow."""
        return len(self._memory)

    def view(self) -> memoryview:
        """All that was added; what is added after `clear` overwrites it."""
        return self._memory[: self.end]

    def clear(self) -> None:
        """Reuse the memory for the next payloads."""
        self.end = 0

    def _grow(self, size: int) -> None:
        if self.end + size > len(self._memory):
            larger = memoryview(bytearray(self.end + size))
            larger[: self.end] = self._memory[: self.end]
            self._memory = larger


def _fill_zstd(data: memoryview, room: memoryview) -> int | None:
    """Decompress one frame with a content size in one call, which refuses what follows, except empty frames."""
    frame = zstandard.get_frame_parameters(data)
    size = frame.content_size
    if size == zstandard.CONTENTSIZE_UNKNOWN:
        return _stream_zstd(data, room)
    if frame.window_size > _WINDOW_MAX or not 0 < size <= len(room):
        return None
    room[:size] = memoryview(_AT_ONCE.zstd.decompress(data, size)).cast("B")  # quicker than a stream
    return int(size)


def _stream_zstd(data: memoryview, room: memoryview) -> int | None:
    """Frames that do not say how large they are. Not by cramjam: Rust ends the process where memory ends."""
    if not zstd_is_whole(data):  # a stream takes a frame that is cut short for its end
        return None
    filled = 0
    with _zstd_decoder() as decoder, decoder.stream_reader(data, len(data), read_across_frames=True) as stream:
        while more := stream.readinto(room[filled:]):
            filled += more
    return filled if filled < len(room) else None  # a room that is full may be too small


class _AtOnce(local):
    """Arrow's zstd, which is the quickest, but has no limit; one for each thread."""

    def __init__(self) -> None:
        self.zstd = pa.Codec("zstd")


_AT_ONCE = _AtOnce()


def _fill_lz4(data: memoryview, room: memoryview) -> int | None:
    """Decompress a frame of independent blocks with a call for each, without the state of a stream."""
    if len(data) < _LZ4_LEAST or (most := _lz4_plain_heads().get(bytes(data[:7]))) is None:
        return None
    at, filled, last = 7, 0, len(room) - most
    decompress, word_at = cramjam.lz4.decompress_block_into, _UINT32.unpack_from
    while word := word_at(data, at)[0]:
        start = at + 4
        at = start + (word & 0x7FFFFFFF)
        if filled > last or word >> 31:  # little room, or a stored block: rare, so the slower way reads it
            return None
        filled += decompress(data[start:at], room[filled : filled + most], output_len=most)
    return filled if at + 4 == len(data) else None


@cache
def _lz4_plain_heads() -> dict[bytes, int]:
    """Heads of frames without checksums and sizes, with the largest size of their blocks."""
    flags = 0x40 | _LZ4_INDEPENDENT  # version 01
    heads = {size: bytes([flags, size << 4]) for size in (4, 5, 6, 7)}
    return {LZ4_MAGIC + head + bytes([_xxh32(head) >> 8 & 0xFF]): 1 << 8 + 2 * size for size, head in heads.items()}


def _fill_nothing(_data: memoryview, _room: memoryview) -> None:
    """Fill nothing: this codec has no quicker way than its chunks."""


_FILLS: dict[str, Callable[[memoryview, memoryview], int | None]] = {"zstd": _fill_zstd, "lz4_kafka": _fill_lz4}
"""Quick ways to fill memory, which return the size; None if the payload may be damaged or too large."""


def _bounded(codec: str, chunks: Iterator[bytes], max_bytes: int) -> Iterator[bytes]:
    """At most `max_bytes` of `chunks`; errors of the libraries are translated."""
    total = 0
    try:
        for chunk in chunks:
            if kept := chunk[: max_bytes - total]:
                yield kept
            total += len(chunk)
            check_size(codec, total, max_bytes)
    except _LIBRARY_ERRORS as error:
        raise _failed(codec, error) from error


def _failed(codec: str, error: Exception) -> CodecError | MemoryError:
    """What an error of a library means: damage, unless memory ran out."""
    text = f"{codec}: {error}"
    # The messages of zstd, lz4 and zlib for that.
    is_full = "not enough memory" in text or "ERROR_allocation_failed" in text or "Error -4 " in text
    return MemoryError(text) if is_full else CodecError(text)


def check_size(codec: str, size: int, limit: int, possible: int | None = None) -> None:
    """Refuse a size that exceeds the bound, or that the input cannot yield."""
    if possible is not None and size > possible:
        raise CodecError(f"{codec}: declares {counted(size, 'byte')}, its input yields {grouped(possible)} at most")
    if size > limit:
        raise OutputTooLarge(
            f"{codec}: {counted(size, 'byte')} are more than the {grouped(limit)} that the bound leaves"
        )


def _span(codec: str, data: memoryview, at: int, size: int) -> memoryview:
    """Bytes [at, at + size) of the payload, all of them."""
    if at + size > len(data):
        raise CodecError(
            f"{codec}: ends inside a frame: {counted(size, 'byte')} due at {at}, {grouped(max(0, len(data) - at))} left"
        )
    return data[at : at + size]


def _uint32(codec: str, data: memoryview, at: int) -> int:
    return int.from_bytes(_span(codec, data, at, 4), "little")


def _expect(codec: str, data: memoryview, at: int, magic: bytes) -> None:
    if _span(codec, data, at, len(magic)) != magic:
        raise CodecError(f"{codec}: no frame starts at byte {at}")


def _members(codec: str, make_decoder: Callable[[], Any], data: memoryview, _limit: int) -> Iterator[bytes]:
    at = 0
    while at < len(data) or not at:
        decoder, size = make_decoder(), _FIRST_READ
        while not decoder.eof:
            if at == len(data):
                raise CodecError(f"{codec}: ends inside a frame, after {counted(at, 'byte')}")
            piece = data[at : at + size]
            yield from _read(decoder, piece)
            at, size = at + len(piece), min(2 * size, _LAST_READ)
        padding_end = _NOT_ZERO.search(data, at - len(decoder.unused_data))
        at = padding_end.start() if padding_end else len(data)


def _read(decoder: Any, data: Buffer) -> Iterator[bytes]:
    """Output of a zlib or lzma decoder in chunks; it stops when a chunk is full."""
    full = True
    while full and not decoder.eof:  # the input ends with a chunk that is not full
        spare: Any = decoder.copy() if hasattr(decoder, "copy") else None  # zlib's has it
        try:
            chunk = decoder.decompress(data, _CHUNK)
        except zlib.error:  # the output of this call is lost: decode it again, up to the byte that fails
            with suppress(zlib.error):
                yield from (spare.decompress(bytes([byte])) for byte in memoryview(data))
            raise
        yield chunk
        full = len(chunk) == _CHUNK
        data = getattr(decoder, "unconsumed_tail", b"")  # zlib returns it, lzma keeps it


def _frames(codec: str, read_frame: Callable[..., Frame], data: memoryview, _limit: int) -> Iterator[bytes]:
    """Output of zstd or lz4 frames, decoded block by block: no step yields more than a block."""
    at = 0
    while at < len(data) or not at:
        if _uint32(codec, data, at) >> 4 == _SKIPPABLE_MAGIC:
            at += 8 + len(_span(codec, data, at + 8, _uint32(codec, data, at + 4)))
        else:
            at = yield from read_frame(data, at)


def _zstd(data: memoryview, limit: int) -> Iterator[bytes]:
    with _zstd_decoder() as decoder:
        yield from _frames("zstd", partial(_zstd_frame, decoder, limit), data, limit)


@contextmanager
def _zstd_decoder() -> Iterator[zstandard.ZstdDecompressor]:
    # A new one: what others have read before would change the reason that it gives for damage.
    yield zstandard.ZstdDecompressor(max_window_size=_WINDOW_MAX)


def take_zstd_decoder() -> zstandard.ZstdDecompressor:
    """A decompressor that no other thread and no unfinished iterator uses."""
    try:
        return _idle_zstd.pop()
    except IndexError:
        return zstandard.ZstdDecompressor(max_window_size=_WINDOW_MAX)


def keep_zstd_decoder(decoder: zstandard.ZstdDecompressor) -> None:
    """Keep it for the next payload if it is small: making one takes longer than decoding a small batch."""
    if decoder.memory_size() < _WINDOW_MAX >> 3:
        _idle_zstd.append(decoder)


def _zstd_frame(decoder: zstandard.ZstdDecompressor, limit: int, data: memoryview, at: int) -> Frame:
    """Blocks of one frame."""
    end = at
    head, frame = _zstd_head(limit, data, at)
    for end, block in _zstd_steps(decoder, head, frame, data, at):  # noqa: B007 - the last one is the frame's end
        yield block
    return end


def zstd_blocks(data: Buffer, at: int = 0) -> Iterator[tuple[int, bytes]]:
    """The content of each block of the frame at `at`, with the position after the block; `CodecError` at damage.

    The last position is after the frame. A skippable frame has no content.
    """
    view = memoryview(data).cast("B")
    try:
        if view[at : at + 4] != _ZSTD_MAGIC and _uint32("zstd", view, at) >> 4 == _SKIPPABLE_MAGIC:
            yield at + 8 + len(_span("zstd", view, at + 8, _uint32("zstd", view, at + 4))), b""
            return
        head, frame = _zstd_head(sys.maxsize, view, at)
        sizes = frame.window_size, frame.content_size
        decoder = _zstd_decoder_like_new(sizes)
        try:
            yield from _zstd_steps(decoder, head, frame, view, at)
        finally:
            if not _last_zstd and decoder.memory_size() < _WINDOW_MAX >> 3:
                _last_zstd.append((sizes, decoder))
    except zstandard.ZstdError as error:
        raise _failed("zstd", error) from error


def _zstd_decoder_like_new(sizes: tuple[int, int]) -> zstandard.ZstdDecompressor:
    """A decompressor that refuses a frame of these window and content sizes for the same reason as a new one.

    A decompressor keeps its buffers, and a larger buffer changes the reason. Frames of equal sizes need equal buffers.
    Making a decompressor takes longer than reading a small frame.
    """
    try:
        last, decoder = _last_zstd.pop()
    except IndexError:
        last = None
    return decoder if last == sizes else zstandard.ZstdDecompressor(max_window_size=_WINDOW_MAX)


def zstd_is_whole(data: Buffer, *, max_bytes: int = DEFAULT_MAX_BYTES) -> bool:
    """Whether a payload is exactly whole frames, by the lengths of their blocks, and claims at most `max_bytes`."""
    view, at = memoryview(data).cast("B"), 0
    try:
        while at < len(view) or not at:
            _expect("zstd", view, at, _ZSTD_MAGIC)
            frame = zstandard.get_frame_parameters(view[at : at + _ZSTD_LONGEST_HEAD])
            is_sized = frame.content_size != zstandard.CONTENTSIZE_UNKNOWN
            if frame.window_size > _WINDOW_MAX or (is_sized and frame.content_size > max_bytes):
                return False
            at = _after_zstd_blocks(view, at + zstandard.frame_header_size(view[at:])) + 4 * frame.has_checksum
    except (CodecError, zstandard.ZstdError):
        return False
    return at == len(view)


def _after_zstd_blocks(data: memoryview, at: int) -> int:
    """Position after the blocks that start here, by their heads."""
    head, last = 0, len(data) - 3
    while not head & 1:
        if at > last:
            raise CodecError(f"zstd: ends inside a frame, before the block at byte {at}")
        head = data[at] | data[at + 1] << 8 | data[at + 2] << 16
        at += _zstd_block_size(head)
    return at


def _zstd_head(limit: int, data: memoryview, at: int) -> tuple[memoryview, zstandard.FrameParameters]:
    """The head of a frame (RFC 8878, section 3.1.1.1), and what it says."""
    _expect("zstd", data, at, _ZSTD_MAGIC)
    head = _span("zstd", data, at, zstandard.frame_header_size(_span("zstd", data, at, 5)))
    frame = zstandard.get_frame_parameters(head)
    if frame.content_size != zstandard.CONTENTSIZE_UNKNOWN:
        check_size("zstd", frame.content_size, limit)
    return head, frame


def _zstd_steps(
    decoder: zstandard.ZstdDecompressor, head: memoryview, frame: zstandard.FrameParameters, data: memoryview, at: int
) -> Iterator[tuple[int, bytes]]:
    """The byte after each step through a frame, and what it yields (RFC 8878, section 3.1.1)."""
    stream = decoder.decompressobj()
    stream.decompress(head)
    at, last, size = at + len(head), 0, len(data)
    while not last:
        if at + 3 > size:
            _span("zstd", data, at, 3)
        block_head = data[at] | data[at + 1] << 8 | data[at + 2] << 16  # 1 bit last, 2 bits type, 21 bits size
        last, end = block_head & 1, at + _zstd_block_size(block_head)
        block = data[at:end] if end <= size else _span("zstd", data, at, end - at)
        at = end
        yield at, stream.decompress(block)
    if frame.has_checksum:
        stream.decompress(_span("zstd", data, at, 4))
        yield at + 4, b""


def _zstd_block_size(head: int) -> int:
    repeats_one_byte = head >> 1 & 3 == 1  # its size is that of the output
    return 3 + (1 if repeats_one_byte else head >> 3)


def _lz4_frame(data: memoryview, at: int) -> Frame:
    """Blocks of one frame, with every check of the format: checksums and content size."""
    context = lz4.frame.create_decompression_context()
    head = _lz4_head(data, at)
    at = yield from _lz4_blocks(context, head, data, at + len(head))
    end_mark_and_checksum = _span("lz4", data, at, 4 + (head[4] & _LZ4_CONTENT_CHECKSUM))
    _lz4_feed(context, end_mark_and_checksum, 0)
    return at + len(end_mark_and_checksum)


def _lz4_kafka(data: memoryview, _limit: int, *, any_checksum: bool = False) -> Iterator[bytes]:
    """Blocks of the first frame, as Kafka's Lz4BlockInputStream reads it, without content size and checksum."""
    head = _lz4_head(data, 0)
    if head[4] & (_LZ4_INDEPENDENT | _LZ4_RESERVED | _LZ4_DICTIONARY) != _LZ4_INDEPENDENT:
        raise CodecError(f"lz4_kafka: frame flags {head[4]:#04x}: Kafka refuses linked blocks and dictionaries")
    if any_checksum:  # KAFKA-3160, KIP-57: before magic 1 Kafka hashed the frame's magic, too; readers ignore the byte
        head = head[:-1] + bytes([_xxh32(head[4:-1]) >> 8 & 0xFF])
    end = yield from _lz4_blocks(lz4.frame.create_decompression_context(), head, data, len(head))
    _span("lz4_kafka", data, end, 4 + (head[4] & _LZ4_CONTENT_CHECKSUM))


def _lz4_head(data: memoryview, at: int) -> bytes:
    """The head: magic, flags, block size, content size and dictionary id if the flags say so, checksum byte."""
    _expect("lz4", data, at, LZ4_MAGIC)
    flags = _span("lz4", data, at, 5)[4]
    return bytes(_span("lz4", data, at, 7 + (flags & _LZ4_CONTENT_SIZE) + 4 * (flags & _LZ4_DICTIONARY)))


def _lz4_blocks(context: Any, head: bytes, data: memoryview, at: int) -> Frame:
    """Blocks from `at` on, then the position of the EndMark."""
    _lz4_feed(context, head, 0)
    most, checksum = 1 << 8 + 2 * (head[5] >> 4), (head[4] & _LZ4_BLOCK_CHECKSUM) >> 2
    while word := _uint32("lz4", data, at):
        size = word & 0x7FFFFFFF  # the top bit marks a stored block
        if size > most:
            raise CodecError(
                f"lz4: the block at byte {at} declares {counted(size, 'byte')}, {grouped(most)} are the most"
            )
        block = _span("lz4", data, at, 4 + size + checksum)
        yield _lz4_feed(context, block, most)
        at += len(block)
    return at


def _lz4_feed(context: Any, piece: memoryview | bytes, room: int) -> bytes:
    try:
        output, used, _ended = lz4.frame.decompress_chunk(context, piece, max_length=room)
    except RuntimeError as error:  # the only exception of this library
        raise _failed("lz4", error) from error
    if used != len(piece):
        raise CodecError(f"lz4: past its end a block has {counted(len(piece) - used, 'byte')}")
    return bytes(output)


def _xxh32(data: bytes) -> int:
    """xxHash32 (seed 0) of fewer than 16 bytes: the head of a frame has at most 14."""
    prime1, prime2, prime3, prime4, prime5 = 0x9E3779B1, 0x85EBCA77, 0xC2B2AE3D, 0x27D4EB2F, 0x165667B1
    state, mask, words = prime5 + len(data), 0xFFFFFFFF, len(data) & ~3
    for at in range(0, words, 4):
        state = (state + int.from_bytes(data[at : at + 4], "little") * prime3) & mask
        state = (state << 17 | state >> 15) * prime4 & mask
    for byte in data[words:]:
        state = (state + byte * prime5) & mask
        state = (state << 11 | state >> 21) * prime1 & mask
    state = (state ^ state >> 15) * prime2 & mask
    state = (state ^ state >> 13) * prime3 & mask
    return state ^ state >> 16


def _none(data: memoryview, limit: int) -> Iterator[bytes]:
    yield bytes(data[: limit + 1])


def _snappy(data: memoryview, limit: int) -> Iterator[bytes]:
    size = cramjam.snappy.decompress_raw_len(data)
    check_size("snappy", size, limit, len(data) * 64 // 3)  # the densest element takes 3 bytes and copies 64
    output = bytearray(size)  # Python says where memory ends; cramjam, which is Rust, would end the process
    cramjam.snappy.decompress_raw_into(data, output)
    yield bytes(output)


def _snappy_xerial(data: memoryview, limit: int) -> Iterator[bytes]:
    """Chunks of every stream. As in snappy-java, a chunk length that equals the magic starts the next stream."""
    at = 0
    while at < len(data) or not at:
        if not at or data[at : at + 4] == XERIAL_MAGIC[:4]:
            _expect("snappy_xerial", data, at, XERIAL_MAGIC)
            at += 8 + len(_span("snappy_xerial", data, at + 8, 8))  # two versions, which Redpanda wrote little-endian
            continue
        size = int.from_bytes(_span("snappy_xerial", data, at, 4), "big")
        for block in _snappy(_span("snappy_xerial", data, at + 4, size), limit):
            yield block
            limit -= len(block)
        at += 4 + size


def _lz4_block(data: memoryview, limit: int) -> Iterator[bytes]:
    most = min(limit, _LZ4_RATIO * len(data), _LZ4_OUTPUT_MAX)
    for room in sorted({min(times * len(data), most) for times in (4, 32, _LZ4_RATIO)}):
        with suppress(lz4.block.LZ4BlockError):  # it reports damage and too little room alike
            yield lz4.block.decompress(data, uncompressed_size=room)
            return
    raise CodecError(f"lz4_block: is damaged or cut short, or holds more than {counted(most, 'byte')}")


def _lz4_sized_block(data: memoryview, limit: int) -> Iterator[bytes]:
    yield bytes(lz4_sized_block(data, max_bytes=limit))


def lz4_sized_block(data: memoryview, *, max_bytes: int = DEFAULT_MAX_BYTES) -> bytearray:
    """The content of one raw block, in memory that is allocated once: it may be 255 times as large as the block."""
    size = _uint32("lz4_sized_block", data, 0)
    check_size("lz4_sized_block", size, min(max_bytes, _LZ4_OUTPUT_MAX), _LZ4_RATIO * (len(data) - 4))
    output = bytearray(size)
    try:
        held = cramjam.lz4.decompress_block_into(data, output)
    except cramjam.DecompressionError as error:
        raise CodecError(f"lz4_sized_block: {error}") from error
    if held != size:
        raise CodecError(f"lz4_sized_block: declares {counted(size, 'byte')} and holds {grouped(held)}")
    return output


_CODECS: dict[str, Callable[[memoryview, int], Iterator[bytes]]] = {
    "none": _none,
    "gzip": partial(_members, "gzip", partial(zlib.decompressobj, 16 + zlib.MAX_WBITS)),
    "zlib": partial(_members, "zlib", zlib.decompressobj),
    "lzma": partial(_members, "lzma", partial(lzma.LZMADecompressor, lzma.FORMAT_XZ, memlimit=_WINDOW_MAX)),
    "zstd": _zstd,
    "snappy": _snappy,
    "snappy_xerial": _snappy_xerial,
    "lz4": partial(_frames, "lz4", _lz4_frame),
    "lz4_kafka": _lz4_kafka,
    "lz4_legacy_checksum": partial(_lz4_kafka, any_checksum=True),
    "lz4_block": _lz4_block,
    "lz4_sized_block": _lz4_sized_block,
}
