"""The records of a payload, decompressed and framed a window at a time, however large the payload is."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from thawline import columns
from thawline.chunks import Break, Chunk
from thawline.codecs import decompress_chunks, rbak_codec
from thawline.errors import CodecError
from thawline.formats.rbak.lz4_prefix import decoded_prefix
from thawline.formats.rbak.records import HEAD
from thawline.inflow import Inflow, Pieces, decompressing

WINDOW = 8 << 20
"""Bytes of decompressed payload that are framed in one go; more where a record is longer."""
MAX_ROWS = 1 << 16
FIRST_STEP, LARGEST_STEP = 64 << 10, 256 << 20
"""How much more memory is taken when there is too little: twice as much, within these."""
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


def decompressed(compression: str, data: memoryview, max_bytes: int, *, is_damaged: bool = False) -> Inflow:
    """The payload; then `CodecError` if it is damaged. What is known to be so is decoded bit by bit."""
    if compression == "none":
        return Pieces(iter([data]))
    codec = rbak_codec(compression, data)
    if is_damaged and codec == "lz4_sized_block":
        return Pieces(decoded_prefix(data, max_bytes))
    if codec == "lz4":
        return Pieces(_lz4(data, max_bytes))
    return decompressing(codec, data, max_bytes=max_bytes)


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


def documents(inflow: Inflow, ending: Ending, *, resync: bool = False) -> Iterator[Documents]:
    """Records of a payload that comes bit by bit; `ending` tells what became of the rest.

    With `resync`, bytes that are no record are passed over up to the next place that looks like one; the payload is
    then held as a whole.
    """
    framing = _Framing(ending, resync=resync, buffer=_idle.pop() if _idle else bytearray())
    try:
        while framing.fill(inflow):
            if framing.held >= framing.needed and not resync:
                yield from framing.frame()
    except CodecError as error:
        ending.error = error
    yield from framing.frame(is_last=True)
    if len(framing.buffer) <= WINDOW:
        _idle.append(framing.buffer)


_idle: list[bytearray] = []
"""Windows that wait for the next payload: memory that is new to the process takes as long as what is done with it."""


class _Framing:
    """What has been decompressed and not yet been framed, in memory that serves one window after the other."""

    def __init__(self, ending: Ending, *, resync: bool, buffer: bytearray) -> None:
        self.ending, self.resync, self.buffer = ending, resync, buffer
        self.held, self.needed, self.base = 0, WINDOW, 0

    def fill(self, inflow: Inflow) -> bool:
        """Take what is decompressed next; False at the end."""
        if self.held == len(self.buffer):
            self.buffer += bytes(max(min(len(self.buffer), LARGEST_STEP), FIRST_STEP))
        with memoryview(self.buffer) as whole, whole[self.held :] as room:
            size = inflow.readinto(room)
        self.held += size
        self.ending.size += size
        return size > 0

    def frame(self, *, is_last: bool = False) -> Iterator[Documents]:
        """The whole records of what is held; what is left begins the next window, or is torn if there is none."""
        with memoryview(self.buffer) as whole, whole[: self.held] as view:
            start = 0
            while start < len(view):
                first = start
                with view[start:] as window:
                    for item in columns.scan("rbak_records", window, columns=(), max_rows=MAX_ROWS, max_bytes=WINDOW):
                        if isinstance(item, Break):
                            break
                        yield Documents(window, item, self.base + first)
                        start = first + item.ends[-1].as_py()
                if start == len(view) or not is_last:
                    break
                behind = _next_record(view, start + 1) if self.resync else len(view)
                self.ending.torn.append((self.base + start, self.base + behind))
                start = behind
        self._keep(start)

    def _keep(self, start: int) -> None:
        self.buffer[: self.held - start] = self.buffer[start : self.held]
        self.held, self.base = self.held - start, self.base + start
        # Until a long record is there in full, nothing is gained by looking again.
        claimed = int.from_bytes(self.buffer[:HEAD], "little") if self.held >= HEAD else 0
        self.needed = max(WINDOW, HEAD + claimed)


def _next_record(view: memoryview, start: int) -> int:
    """Where something that looks like a record begins, with a length before it that fits; the end if nowhere."""
    whole: Any = view.obj  # the bytes of `_Framing`, which can be searched
    at: int = whole.find(FIRST_KEY, start + HEAD, len(view))
    while at >= 0:
        size = int.from_bytes(whole[at - HEAD : at], "little")
        if len(FIRST_KEY) <= size <= len(view) - at and whole[at + size - 1] == CLOSING:
            return at - HEAD
        at = whole.find(FIRST_KEY, at + 1, len(view))
    return len(view)
