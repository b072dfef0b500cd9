"""The text of a backup, whether it lies in the file as it is or in zstd frames; read forward, a window at a time."""

from __future__ import annotations

import re
import sys
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Protocol

import zstandard

from thawline.codecs import zstd_blocks
from thawline.errors import CodecError
from thawline.source import Source
from thawline.wording import counted, grouped

ZSTD_MAGIC = bytes.fromhex("28b52ffd")
FRAME = re.compile(
    re.escape(ZSTD_MAGIC)
    + rb"(?=[\x00-\x07\x10-\x17\x20-\x27\x30-\x37\x40-\x47\x50-\x57\x60-\x67\x70-\x77\x80-\x87\x90-\x97"
    rb"\xa0-\xa7\xb0-\xb7\xc0-\xc7\xd0-\xd7\xe0-\xe7\xf0-\xf7])"
)
"""The start of a frame; the bit of its fourth byte that is reserved is not set."""
LONGEST_HEAD = 18
"""Bytes of the longest head of a zstd frame."""
WINDOW = 8 << 20
LONGEST_ENTRY = 16 << 20
"""Where text has to be fetched or decompressed: how much of it is looked at in one go, and the most for one entry.

A server takes records of up to 8 MiB; a longer one is a damaged length.
"""
LEAST_ROOM, MOST_RATIO = 64 << 20, 256
"""How much text a file may decompress to: so many bytes, or so many times its size. Backups have a tenth of that; one
that is made to decompress for ever has a hundred times as much."""


LONGEST_STUMP, MOST_STUMP_BLOCKS = 1 << 12, 16
"""Bytes of a block, and blocks, that are decompressed to see whether a frame breaks off early."""


def room_of(size: int) -> int:
    """Bytes of text that are read of a compressed file of this size."""
    return max(LEAST_ROOM, MOST_RATIO * size)


class Text(Protocol):
    """Text by positions in it. A window never starts before the one that was asked for last."""

    step: int
    """How large windows are."""
    damage: str
    """Why the text ends where it does, if that is not its end."""

    suspect_from: int
    """Where text starts that decompresses although a checksum says that it is not what was written."""

    def window(self, start: int, size: int) -> tuple[memoryview, bool]:
        """The bytes from `start` on, at most so many, and whether the text ends with them."""
        ...

    def release(self, end: int) -> None:
        """Say that nothing before `end` is needed any more."""
        ...


class PlainText:
    """Text as it lies in a file, or a part of it."""

    damage = ""
    suspect_from = sys.maxsize

    def __init__(self, source: Source, end: int | None = None) -> None:
        self.source = source
        self.end = source.size if end is None else end
        self.step = max(source.size, 1) if source.is_local else WINDOW

    def window(self, start: int, size: int) -> tuple[memoryview, bool]:
        """The bytes from `start` on; of a local file that costs nothing."""
        end = min(start + size, self.end)
        return self.source.view(start, end), end == self.end

    def release(self, end: int) -> None:
        """Give mapped pages back."""
        self.source.release(end)


Release = Callable[[int], None]
"""Says that the bytes of a file up to one are not needed for now."""
Blocks = Iterator[tuple[int, bytes]]
"""What each block of a zstd frame holds, with the byte of the file behind it."""


def _keep(end: int) -> None:
    """Let the bytes be: they are in memory anyway."""


class ZstdText:
    """Text in consecutive zstd frames, from one of them on up to the end of the file or to damage."""

    step = WINDOW

    def __init__(
        self,
        data: memoryview,
        frame: int = 0,
        position: int = 0,
        release: Release = _keep,
        room: int | None = None,
    ) -> None:
        self.data = data
        self._release = release
        self.room = room_of(len(data)) if room is None else room
        """Where in the text reading stops, whatever is behind it."""
        self.damage = ""
        self.reached = frame
        """The byte of the file up to which it is decompressed."""
        self._frames = deque([(position, frame)])
        self._marks = deque([(position, frame)])
        self._start, self._end = position, position
        self._pieces: list[bytes | memoryview] = []
        self._blocks = self._decompressed(frame)
        self._is_done = False
        self.begun: Blocks | None = None
        """The blocks of its first frame, where those were asked for to find it."""
        self.suspect_from = sys.maxsize
        """Where text of a frame starts whose checksum is wrong although it decompresses; it goes on to the end."""

    def window(self, start: int, size: int) -> tuple[memoryview, bool]:
        """The bytes from `start` on, decompressed as far as they are asked for."""
        if start < self._start:
            raise ValueError(f"text before {self._start:#x} was let go")
        if self._end < start + size and not self._is_done:
            self._read(start, start + size)
        joined = memoryview(self._pieces[0] if len(self._pieces) == 1 else b"".join(self._pieces))
        if start > self._start:
            joined = joined[start - self._start :]
            self._start = min(start, self._end)
        self._pieces = [joined]
        return joined[:size], self._is_done and len(joined) <= size

    def _read(self, start: int, end: int) -> None:
        """Decompress up to `end` if there is as much; what is before `start` need not be kept."""
        while self._end < end:
            block = next(self._blocks, None)
            if block is None:
                self._is_done = True
                return
            if block:
                self._pieces.append(block)
                self._end += len(block)
                if self._end <= start:
                    self._pieces, self._start = [], self._end

    @property
    def is_full(self) -> bool:
        """Whether it ends because it is too long."""
        return self._end >= self.room

    def release(self, end: int) -> None:
        """Forget where blocks and frames before it are."""
        for marks in (self._frames, self._marks):
            while len(marks) > 1 and marks[1][0] <= end:
                marks.popleft()

    def located(self, position: int) -> int:
        """The byte of the file where the block starts that a position of the text lies in."""
        found = self._marks[0][1]
        for text, file in self._marks:
            if text > position:
                break
            found = file
        return found

    def frame_of(self, position: int) -> tuple[int, int]:
        """Where the frame starts that a position of the text lies in: in the file, and in the text."""
        found = self._frames[0]
        for frame in takewhile(lambda it: it[0] <= position, self._frames):
            found = frame
        return found[1], found[0]

    def _check(self, position: int) -> None:
        if position >= self.room:
            size = counted(len(self.data), "byte")
            raise CodecError(f"zstd: {size} are made to decompress to more than {grouped(self.room)}")

    def _decompressed(self, frame: int) -> Iterator[bytes]:
        position = self._end
        try:
            while frame < len(self.data):
                if _wrong_checksum(self.data, frame, self._release, self.room - position):
                    self.suspect_from = position
                blocks, self.begun = self.begun or zstd_blocks(self.data, frame), None
                for behind, block in blocks:
                    yield block
                    position += len(block)
                    self._check(position)
                    self.reached = behind
                    self._marks.append((position, behind))
                frame = self.reached
                self._frames.append((position, frame))
        except CodecError as error:
            self.damage = error.message


def _wrong_checksum(data: memoryview, frame: int, release: Release, room: int) -> str:
    """What is wrong with the checksum of a frame's content, if it has one: a pass over the frame before it is used.

    A frame that is longer than the room for it is not read to its end, where the checksum is.
    """
    kept = frame
    try:
        if not zstandard.get_frame_parameters(data[frame : frame + LONGEST_HEAD]).has_checksum:
            return ""
        for behind, block in zstd_blocks(data, frame):
            room -= len(block)
            if room <= 0:
                return ""
            if behind - kept > WINDOW:
                release(behind)
                kept = behind
    except (CodecError, zstandard.ZstdError) as error:
        return str(error) if "checksum" in str(error) else ""
    return ""


@dataclass(frozen=True, slots=True)
class Frame:
    """A zstd frame that has something in it, and its first blocks."""

    start: int
    first: Sequence[tuple[int, bytes]]
    rest: Blocks
    damage: str
    """Why the frame ends after its first blocks, if it is damaged there."""

    @property
    def reached(self) -> int:
        """The byte of the file after its first blocks."""
        return self.first[-1][0]

    def text(self) -> memoryview:
        """The text of its first blocks."""
        return memoryview(self.first[0][1] if len(self.first) == 1 else b"".join(block for _, block in self.first))

    def blocks(self) -> Blocks:
        """All its blocks; `CodecError` after the last one that decompresses."""
        yield from self.first
        if self.damage:
            raise CodecError(self.damage)
        yield from self.rest


def next_frame(data: memoryview, start: int) -> Frame | None:
    """The next zstd frame with something in it, at or after a byte of the file; None if there is none."""
    for found in FRAME.finditer(data, start):
        first: list[tuple[int, bytes]] = []
        damage, blocks = "", zstd_blocks(data, found.start())
        try:
            for block in blocks:
                first.append(block)
                if len(block[1]) >= LONGEST_STUMP or len(first) == MOST_STUMP_BLOCKS:
                    break
        except CodecError as error:
            damage = error.message
        if first:
            return Frame(found.start(), first, blocks, damage)
    return None
