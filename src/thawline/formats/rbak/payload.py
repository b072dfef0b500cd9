"""The records of a payload, decompressed and framed a window at a time, however large the payload is."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from thawline import columns
from thawline.chunks import Break, Chunk
from thawline.codecs import decompress_chunks, rbak_codec
from thawline.errors import CodecError
from thawline.formats.rbak.lz4_prefix import decoded_prefix
from thawline.formats.rbak.records import HEAD

WINDOW = 4 << 20
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


def decompressed(
    compression: str, data: memoryview, max_bytes: int, *, is_damaged: bool = False
) -> Iterator[bytes | memoryview]:
    """The payload piece by piece; then `CodecError` if it is damaged. What is known to be so is decoded bit by bit."""
    if compression == "none":
        yield from (data[at : at + WINDOW] for at in range(0, len(data), WINDOW))
        return
    codec = rbak_codec(compression, data)
    if is_damaged and codec == "lz4_sized_block":
        yield from decoded_prefix(data, max_bytes)
        return
    pieces = decompress_chunks(codec, data, max_bytes=max_bytes)
    first = None
    try:
        first = next(pieces, b"")
    except CodecError:
        if codec != "lz4":
            raise
        # A block of exactly 0x184D2204 bytes begins like a frame (formats/rbak.md, section 2).
        pieces = decompress_chunks("lz4_sized_block", data, max_bytes=max_bytes)
        first = next(pieces, b"")
    yield first
    yield from pieces


def documents(pieces: Iterable[bytes | memoryview], ending: Ending, *, resync: bool = False) -> Iterator[Documents]:
    """Records of a payload that comes in pieces; `ending` tells what became of the rest.

    With `resync`, bytes that are no record are passed over up to the next place that looks like one; the payload is
    then held as a whole.
    """
    framing = _Framing(ending, resync=resync)
    try:
        for piece in pieces:
            framing.add(piece)
            if framing.held >= framing.needed and not resync:
                yield from framing.frame()
    except CodecError as error:
        ending.error = error
    yield from framing.frame(is_last=True)


class _Framing:
    """What has been decompressed and not yet been framed, in memory that serves one window after the other."""

    def __init__(self, ending: Ending, *, resync: bool) -> None:
        self.ending, self.resync = ending, resync
        self.buffer = bytearray()
        self.held, self.needed, self.base = 0, WINDOW, 0

    def add(self, piece: bytes | memoryview) -> None:
        """Take what was decompressed next."""
        end = self.held + len(piece)
        if end > len(self.buffer):
            self.buffer += bytes(max(end - len(self.buffer), min(len(self.buffer), LARGEST_STEP), FIRST_STEP))
        self.buffer[self.held : end] = piece
        self.held = end
        self.ending.size += len(piece)

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
