"""The payload of a segment: decompressed, and framed into JSON documents a window at a time, whatever its size."""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pyarrow as pa

from thawline.codecs import LZ4_MAGIC, check_size, decompress_chunks, lz4_sized_block
from thawline.engine import columns
from thawline.engine.chunks import Break, Chunk
from thawline.errors import CodecError, FormatError, OutputTooLarge
from thawline.formats.contract import Content
from thawline.formats.rbak.records import FIRST_KEY, HEAD
from thawline.formats.rbak.walk import END_MAGIC, FOOTER, HEADER, LEAST, int64_array, parse_header
from thawline.inflow import Inflow, Pieces, decompressing
from thawline.model import Span
from thawline.source import Source
from thawline.wording import counted, grouped

if TYPE_CHECKING:
    from typing_extensions import Buffer  # collections.abc has it from Python 3.12 on

WINDOW = 8 << 20
"""Bytes of decompressed payload that are framed at once; more where a record is longer."""
MAX_ROWS = 1 << 16
FIRST_STEP, LARGEST_STEP = 64 << 10, 8 << 20
"""A window that is too small grows by its own size, within these bounds."""
RECORD_SHARE = 16
"""A record has at most this part of what a payload may decompress to: 64 MiB of 1 GiB. RabbitMQ accepts messages of
16 MiB by default, and a byte of a body takes up to four of JSON."""
LONGEST = 64 << 20
LARGEST_BLOCK = 130 << 20
"""A larger LZ4 block is decoded piece by piece. The tool ends a segment at the record that reaches 128 MiB."""
SMALL = 1 << 10
"""A payload of at most this size is framed in Python: that is faster than setting up a kernel."""
CLOSING = ord("}")

LZ4_SIZE = 4
LEAST_MATCH = 4
MORE = 15
"""An LZ4 length of this value continues in the bytes that follow."""
FARTHEST = 0xFFFF
"""The largest offset of an LZ4 match."""
PIECE = 1 << 20


def content_of(source: Source, span: Span, max_bytes: int) -> Content | None:
    """The decompressed payload of a segment, also of one without an end; None where the header cannot be read."""
    if span.size < LEAST:
        return None
    try:
        header = parse_header(bytes(source.view(span.start, span.start + HEADER)))
    except FormatError:
        return None
    is_closed = source.view(span.end - len(END_MAGIC), span.end) == END_MAGIC
    stored = Span(span.start + HEADER, span.end - FOOTER * is_closed)
    content = Content("payload", "rbak_payload", (), stored)
    if header.compression == "none":
        return content
    data = source.view(stored.start, stored.end)
    codec = codec_of(header.compression, data)
    opened = content.decompressed(header.compression, decompress_chunks(codec, data, max_bytes=max_bytes))
    if opened.problem and codec == "lz4_sized_block":  # the library decodes all of a block or nothing
        return content.decompressed(header.compression, lz4_prefix(data, max_bytes))
    return opened


# Decompression.


def codec_of(compression: str, data: Buffer) -> str:
    """The codec of a payload, from the compression of its segment."""
    if compression == "lz4":  # a block of exactly 0x184D2204 bytes would look like a frame
        return "lz4" if memoryview(data)[:4] == LZ4_MAGIC else "lz4_sized_block"
    if compression not in {"none", "zstd"}:
        raise CodecError(f"RBAK has no compression {compression!r}")
    return compression


def decompressed(compression: str, data: memoryview, max_bytes: int, *, is_damaged: bool = False) -> Inflow:
    """The payload, and after it `CodecError` if it is damaged; damaged LZ4 blocks are decoded sequence by sequence."""
    if compression == "none":
        return Pieces(iter([data]))
    codec = codec_of(compression, data)
    if codec == "lz4_sized_block":
        is_large = int.from_bytes(data[:LZ4_SIZE], "little") > LARGEST_BLOCK
        return Pieces(lz4_prefix(data, max_bytes) if is_damaged or is_large else _block(data, max_bytes))
    if codec == "lz4":
        return Pieces(_lz4(data, max_bytes))
    return decompressing(codec, data, max_bytes=max_bytes)


def _block(data: memoryview, max_bytes: int) -> Iterator[memoryview]:
    yield memoryview(lz4_sized_block(data, max_bytes=max_bytes))


def _lz4(data: memoryview, max_bytes: int) -> Iterator[bytes]:
    """LZ4 frames, or one block of exactly 0x184D2204 bytes, which begins like a frame (formats/rbak.md, section 2)."""
    pieces = decompress_chunks("lz4", data, max_bytes=max_bytes)
    try:
        first = next(pieces, b"")
    except CodecError:
        pieces = decompress_chunks("lz4_sized_block", data, max_bytes=max_bytes)
        first = next(pieces, b"")
    yield first
    yield from pieces


def lz4_prefix(data: memoryview, max_bytes: int) -> Iterator[bytes]:
    """What a size-prefixed LZ4 block holds, piece by piece; then `CodecError` unless all of it decodes.

    The libraries decode a block as a whole or not at all. This is for blocks that are cut, damaged or very large:
    https://github.com/lz4/lz4/blob/v1.10.0/doc/lz4_Block_format.md
    """
    if len(data) < LZ4_SIZE:
        raise CodecError("lz4_sized_block: ends inside its size")
    size, at = int.from_bytes(data[:LZ4_SIZE], "little"), LZ4_SIZE
    block = _Lz4Block(data, min(size, max_bytes))
    while block.left and at >= 0:
        at = block.copy_match(at) if block.match_left else block.sequence(at)
        if len(block.out) >= PIECE:
            yield block.take(FARTHEST)
    yield block.take(0)
    if block.left:
        decoded = f"{grouped(min(size, max_bytes) - block.left)} of {counted(size, 'byte')} decoded"
        raise CodecError(f"lz4_sized_block: is damaged from byte {~at} on, {decoded}")
    check_size("lz4_sized_block", size, max_bytes)


class _Lz4Block:
    """A block while it is decoded; of its output only as much is kept as a match can reach."""

    def __init__(self, data: memoryview, size: int) -> None:
        self.data, self.out = data, bytearray()
        self.left = size
        """Bytes that are still to be decoded."""
        self.taken = 0
        """How much of `out` has been taken."""
        self.offset = self.match_left = 0
        """How far back the current match begins, and how much of it is still to be copied."""

    def take(self, keep: int) -> bytes:
        """What has been decoded since the last call; the last `keep` bytes stay for matches."""
        piece = bytes(self.out[self.taken :])
        del self.out[: max(len(self.out) - keep, 0)]
        self.taken = len(self.out)
        return piece

    def sequence(self, at: int) -> int:
        """Decode one sequence, literals and a match; the next position, or ~position of the damage."""
        data = self.data
        if at >= len(data):
            return ~at
        token = data[at]
        literals, begin = _lz4_length(data, at + 1, token >> 4)
        self._add(data[begin : begin + min(literals, self.left)])
        at = begin + literals
        if not self.left or at + 2 > len(data):
            return min(at, len(data)) if not self.left else ~min(at, len(data))
        offset = data[at] | data[at + 1] << 8
        length, at = _lz4_length(data, at + 2, token & MORE)
        if not 0 < offset <= len(self.out):
            return ~at
        self.offset, self.match_left = offset, min(length + LEAST_MATCH, self.left)
        return self.copy_match(at)

    def copy_match(self, at: int) -> int:
        """Copy part of the match from earlier output; it may overlap itself, so that it repeats."""
        length = min(self.match_left, PIECE)
        match = bytes(self.out[-self.offset : len(self.out) - self.offset + length])
        self._add(match if len(match) == length else (match * (length // len(match) + 1))[:length])
        self.match_left -= length
        return at

    def _add(self, data: bytes | memoryview) -> None:
        self.out += data
        self.left -= len(data)


def _lz4_length(data: memoryview, at: int, value: int) -> tuple[int, int]:
    """A length that may continue after its token, and the position after it."""
    more = value == MORE
    while more and at < len(data):
        value += data[at]
        more = data[at] == 0xFF  # noqa: PLR2004 - the largest byte
        at += 1
    return value, at


# Framing.


@dataclass(frozen=True, slots=True)
class Documents:
    """Documents of a window, and where the window begins in the payload."""

    view: memoryview
    chunk: Chunk
    base: int


@dataclass(slots=True)
class Ending:
    """How a payload ended, once it has been read."""

    size: int = 0
    """Bytes that it decompressed to."""
    error: CodecError | None = None
    """Why decompression stopped."""
    torn: list[tuple[int, int]] = field(default_factory=list)
    """Stretches of the payload in which no record was found."""

    def stop(self, error: CodecError) -> None:
        """Note why decompression stopped, without the traceback: that keeps every buffer alive."""
        error.__cause__ = error.__context__ = None
        self.error = error.with_traceback(None)


def documents(inflow: Inflow, ending: Ending, longest: int = LONGEST, *, resync: bool = False) -> Iterator[Documents]:
    """The documents of a payload, of `longest` bytes at most each; `ending` says how the payload ended.

    With `resync`, bytes that are no record are skipped up to the next place that looks like one.
    """
    framing = _Framing(ending, longest, resync=resync, buffer=_buffer())
    try:
        while framing.fill(inflow):
            if framing.held >= framing.needed:
                yield from framing.frame()
    except CodecError as error:
        ending.stop(error)
    yield from framing.frame(is_last=True)
    framing.finish()
    if len(framing.buffer) <= WINDOW:
        _idle.append(framing.buffer)


_idle: list[bytearray] = []
"""Buffers for the next payload: memory that is new to the process costs as much as decompressing into it."""


def _buffer() -> bytearray:
    """A buffer that no other thread holds."""
    try:
        return _idle.pop()
    except IndexError:
        return bytearray()


class _Framing:
    """What has been decompressed and not yet framed, in one buffer for all windows."""

    def __init__(self, ending: Ending, longest: int, *, resync: bool, buffer: bytearray) -> None:
        self.ending, self.longest, self.resync, self.buffer = ending, longest, resync, buffer
        self.most = HEAD + longest
        """The most bytes that are held, so that a record that is too long is never in memory as a whole."""
        self.held, self.needed, self.base = 0, min(WINDOW, self.most), 0
        self.refused = 0
        """Bytes of a record that is too long; nothing after it is read."""

    def fill(self, inflow: Inflow) -> bool:
        """Take what is decompressed next; False at the end."""
        if self.refused:
            self.base, self.held = self.base + self.held, 0
        elif self.held == len(self.buffer):
            self.buffer += bytes(max(min(len(self.buffer), LARGEST_STEP), FIRST_STEP))
        with memoryview(self.buffer) as whole, whole[self.held : self.most] as room:
            size = inflow.readinto(room)
        self.held += size
        self.ending.size += size
        return size > 0

    def frame(self, *, is_last: bool = False) -> Iterator[Documents]:
        """The whole records of what is held; the rest begins the next window, or is torn if there is none."""
        if self.refused:
            return
        with memoryview(self.buffer) as whole, whole[: self.held] as view:
            start = 0
            while start < len(view):
                first = start
                with view[start:] as window:
                    for chunk in _framed(window):
                        yield Documents(window, chunk, self.base + first)
                        start = first + chunk.ends[-1].as_py()
                if start == len(view) or not (is_last or self._is_too_long(view, start)):
                    break
                if not self.resync:
                    self._give_up(view, start)
                    break
                following = self._next_record(view, start + 1, is_last=is_last)
                self._tear(start, following)
                start = following
        self._keep(start)

    def _is_too_long(self, view: memoryview, start: int) -> bool:
        return len(view) - start >= HEAD and int.from_bytes(view[start : start + HEAD], "little") > self.longest

    def _give_up(self, view: memoryview, start: int) -> None:
        """Frame no further. Whether the record here is torn or too long is known at the end of the payload."""
        self._tear(start, len(view))
        if self._is_too_long(view, start):
            self.refused = HEAD + int.from_bytes(view[start : start + HEAD], "little")

    def finish(self) -> None:
        """Report a record that was too long, if the payload has all of it."""
        if not self.refused:
            return
        start, _ = self.ending.torn.pop()
        self.ending.torn.append((start, self.ending.size))
        if self.ending.error is None and start + self.refused <= self.ending.size:
            size, most = counted(self.refused - HEAD, "byte"), grouped(self.longest)
            self.ending.error = OutputTooLarge(f"a record of {size}, and {most} are the most that are read of one")
            self.ending.size = start

    def _tear(self, start: int, end: int) -> None:
        """Note a stretch without a record; it may continue one of the previous window."""
        begin = self.base + start
        if self.ending.torn and self.ending.torn[-1][1] == begin:
            begin, _ = self.ending.torn.pop()
        self.ending.torn.append((begin, self.base + end))

    def _keep(self, start: int) -> None:
        with memoryview(self.buffer) as whole:
            whole[: self.held - start] = whole[start : self.held]
        self.held, self.base = self.held - start, self.base + start
        # Do not frame again before a long record is complete.
        claimed = int.from_bytes(self.buffer[:HEAD], "little") if self.held >= HEAD else 0
        self.needed = min(max(WINDOW, HEAD + claimed), self.most)

    def _next_record(self, view: memoryview, start: int, *, is_last: bool) -> int:
        """Where the next record seems to begin: a length that fits, then the first key of a record.

        If nowhere, the end; while more is to come, the last position where one may begin.
        """
        at = self.buffer.find(FIRST_KEY, start + HEAD, len(view))
        while at >= 0:
            size = int.from_bytes(view[at - HEAD : at], "little")
            is_there = size <= len(view) - at
            if len(FIRST_KEY) <= size <= self.longest and (view[at + size - 1] == CLOSING if is_there else not is_last):
                return at - HEAD
            at = self.buffer.find(FIRST_KEY, at + 1, len(view))
        return len(view) if is_last else max(start, len(view) - HEAD - len(FIRST_KEY))


def _framed(window: memoryview) -> Iterator[Chunk]:
    """The whole records at the start of a window."""
    if len(window) > SMALL:
        for item in columns.scan("rbak_records", window, columns=(), max_rows=MAX_ROWS, max_bytes=WINDOW):
            if isinstance(item, Break):
                return
            yield item
        return
    starts, ends = array("q"), array("q")
    place_records(window, 0, starts, ends)
    if starts:
        yield chunk_of(starts, ends)


def place_records(view: memoryview, at: int, starts: array[int], ends: array[int]) -> int:
    """Append the positions of the whole records from `at` on; where the last of them ends."""
    while at + HEAD <= len(view):
        end = at + HEAD + int.from_bytes(view[at : at + HEAD], "little")
        if end > len(view):
            break
        starts.append(at)
        ends.append(end)
        at = end
    return at


NO_COLUMNS = pa.RecordBatch.from_arrays([], [])


def chunk_of(starts: array[int], ends: array[int]) -> Chunk:
    """The records at these positions."""
    rows = len(starts)
    zeros = pa.Array.from_buffers(pa.int32(), rows, [None, pa.py_buffer(bytes(4 * rows))])
    return Chunk(NO_COLUMNS, int64_array(starts), int64_array(ends), zeros)
