"""The records of a payload, decompressed and framed a window at a time, however large the payload is."""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from dataclasses import dataclass, field

import pyarrow as pa

from thawline.codecs import decompress_chunks, lz4_sized_block, rbak_codec
from thawline.engine import columns
from thawline.engine.chunks import Break, Chunk
from thawline.errors import CodecError, OutputTooLarge
from thawline.formats.rbak.lz4_prefix import decoded_prefix
from thawline.formats.rbak.records import HEAD
from thawline.inflow import Inflow, Pieces, decompressing
from thawline.wording import counted, grouped

WINDOW = 8 << 20
"""Bytes of decompressed payload that are framed in one go; more where a record is longer."""
MAX_ROWS = 1 << 16
FIRST_STEP, LARGEST_STEP = 64 << 10, 8 << 20
"""How much more memory is taken when there is too little: twice as much, within these."""
RECORD_SHARE = 16
"""A record is at most this part of what a payload may decompress to: 64 MiB of 1 GiB. RabbitMQ takes messages of 16 MiB
unless told otherwise, and a byte of a body takes up to four of JSON."""
LONGEST = 64 << 20
LARGEST_BLOCK = 130 << 20
"""A larger LZ4 block is decoded piece by piece. The tool ends a segment at the record that reaches 128 MiB."""
SMALL = 1 << 10
"""A payload of so few bytes is framed before a kernel would have been set up."""
CLOSING = ord("}")
FIRST_KEY = b'{"body":'
"""How rabbitmq-backup begins a record: where framing is lost, it goes on at one of these with a length that fits."""


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
    """Why it stopped."""
    torn: list[tuple[int, int]] = field(default_factory=list)
    """Stretches of the payload in which no record was found."""

    def stop(self, error: CodecError) -> None:
        """Note why it stopped, and not where in the code: a traceback holds all that was being read."""
        error.__cause__ = error.__context__ = None
        self.error = error.with_traceback(None)


def decompressed(compression: str, data: memoryview, max_bytes: int, *, is_damaged: bool = False) -> Inflow:
    """The payload; then `CodecError` if it is damaged. What is known to be so is decoded bit by bit."""
    if compression == "none":
        return Pieces(iter([data]))
    codec = rbak_codec(compression, data)
    if codec == "lz4_sized_block":
        is_large = int.from_bytes(data[:HEAD], "little") > LARGEST_BLOCK
        return Pieces(decoded_prefix(data, max_bytes) if is_damaged or is_large else _block(data, max_bytes))
    if codec == "lz4":
        return Pieces(_lz4(data, max_bytes))
    return decompressing(codec, data, max_bytes=max_bytes)


def _block(data: memoryview, max_bytes: int) -> Iterator[memoryview]:
    yield memoryview(lz4_sized_block(data, max_bytes=max_bytes))


def _lz4(data: memoryview, max_bytes: int) -> Iterator[bytes]:
    """Blocks of frames, or a block of exactly 0x184D2204 bytes, which begins like one (formats/rbak.md, section 2)."""
    pieces = decompress_chunks("lz4", data, max_bytes=max_bytes)
    try:
        first = next(pieces, b"")
    except CodecError:
        pieces = decompress_chunks("lz4_sized_block", data, max_bytes=max_bytes)
        first = next(pieces, b"")
    yield first
    yield from pieces


def documents(inflow: Inflow, ending: Ending, longest: int = LONGEST, *, resync: bool = False) -> Iterator[Documents]:
    """Records of a payload that comes bit by bit, of `longest` bytes at most; `ending` tells what became of the rest.

    With `resync`, bytes that are no record are passed over up to the next place that looks like one.
    """
    framing = _Framing(ending, longest, resync=resync, buffer=_idle.pop() if _idle else bytearray())
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
"""Windows that wait for the next payload: memory that is new to the process takes as long as what is done with it."""


class _Framing:
    """What has been decompressed and not yet been framed, in memory that serves one window after the other."""

    def __init__(self, ending: Ending, longest: int, *, resync: bool, buffer: bytearray) -> None:
        self.ending, self.longest, self.resync, self.buffer = ending, longest, resync, buffer
        self.most = HEAD + longest
        """Bytes that are held at most, so that a record that is too long is never there as a whole."""
        self.held, self.needed, self.base = 0, min(WINDOW, self.most), 0
        self.refused = 0
        """Bytes of a record that is longer than is read, and behind which nothing is."""

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
        """The whole records of what is held; what is left begins the next window, or is torn if there is none."""
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
                behind = self._next_record(view, start + 1, is_last=is_last)
                self._tear(start, behind)
                start = behind
        self._keep(start)

    def _is_too_long(self, view: memoryview, start: int) -> bool:
        return len(view) - start >= HEAD and int.from_bytes(view[start : start + HEAD], "little") > self.longest

    def _give_up(self, view: memoryview, start: int) -> None:
        """Read no further; whether the record here is torn or too long is known when the rest has gone by."""
        self._tear(start, len(view))
        if self._is_too_long(view, start):
            self.refused = HEAD + int.from_bytes(view[start : start + HEAD], "little")

    def finish(self) -> None:
        """Say so if the payload has all of a record that was too long to be read."""
        if not self.refused:
            return
        start, _ = self.ending.torn.pop()
        self.ending.torn.append((start, self.ending.size))
        if self.ending.error is None and start + self.refused <= self.ending.size:
            size, most = counted(self.refused - HEAD, "byte"), grouped(self.longest)
            self.ending.error = OutputTooLarge(f"a record of {size}, and {most} are the most that are read of one")
            self.ending.size = start

    def _tear(self, start: int, end: int) -> None:
        """Note a stretch without a record, which may go on from the window before."""
        begin = self.base + start
        if self.ending.torn and self.ending.torn[-1][1] == begin:
            begin, _ = self.ending.torn.pop()
        self.ending.torn.append((begin, self.base + end))

    def _keep(self, start: int) -> None:
        with memoryview(self.buffer) as whole:
            whole[: self.held - start] = whole[start : self.held]
        self.held, self.base = self.held - start, self.base + start
        # Until a long record is there in full, nothing is gained by looking again.
        claimed = int.from_bytes(self.buffer[:HEAD], "little") if self.held >= HEAD else 0
        self.needed = min(max(WINDOW, HEAD + claimed), self.most)

    def _next_record(self, view: memoryview, start: int, *, is_last: bool) -> int:
        """Where something that looks like a record begins, with a length before it that fits.

        If nowhere, the end; or, while more is to come, the last place where one may begin.
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
    """The whole records at the start of some bytes."""
    if len(window) <= SMALL:
        yield from _framed_small(window)
        return
    for item in columns.scan("rbak_records", window, columns=(), max_rows=MAX_ROWS, max_bytes=WINDOW):
        if isinstance(item, Break):
            return
        yield item


def _framed_small(window: memoryview) -> Iterator[Chunk]:
    starts, ends = array("q"), array("q")
    place_records(window, 0, starts, ends)
    if starts:
        yield chunk_of(starts, ends)


def place_records(view: memoryview, at: int, starts: array[int], ends: array[int]) -> int:
    """Add the places of the whole records from a position on; where the last of them ends."""
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
    """Records at some places."""
    rows = len(starts)
    nothing = pa.Array.from_buffers(pa.int32(), rows, [None, pa.py_buffer(bytes(4 * rows))])
    return Chunk(NO_COLUMNS, _numbers(starts), _numbers(ends), nothing)


def _numbers(values: array[int]) -> pa.Int64Array:
    return pa.Array.from_buffers(pa.int64(), len(values), [None, pa.py_buffer(values)])
