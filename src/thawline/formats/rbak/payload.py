"""The records of a payload, decompressed and framed a window at a time, however large the payload is."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from thawline import columns
from thawline.chunks import Break, Chunk
from thawline.codecs import decompress_chunks, rbak_codec
from thawline.errors import CodecError
from thawline.formats.rbak.lz4_prefix import decoded_prefix
from thawline.formats.rbak.records import HEAD

WINDOW = 8 << 20
"""Bytes of decompressed payload that are framed in one go; more where a record is longer."""
MAX_ROWS = 1 << 16
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
    """What has been decompressed and not yet been framed."""

    def __init__(self, ending: Ending, *, resync: bool) -> None:
        self.ending, self.resync = ending, resync
        self.pieces: list[bytes | memoryview] = []
        self.held, self.needed, self.base = 0, WINDOW, 0

    def add(self, piece: bytes | memoryview) -> None:
        """Take what was decompressed next."""
        self.pieces.append(piece)
        self.held += len(piece)
        self.ending.size += len(piece)

    def frame(self, *, is_last: bool = False) -> Iterator[Documents]:
        """The whole records of what is held; what is left begins the next window, or is torn if there is none."""
        view = memoryview(self.pieces[0] if len(self.pieces) == 1 else b"".join(self.pieces))
        start = 0
        while start < len(view):
            window = view[start:]
            for item in columns.scan("rbak_records", window, columns=(), max_rows=MAX_ROWS, max_bytes=WINDOW):
                if isinstance(item, Break):
                    break
                yield Documents(window, item, self.base + start)
                start = len(view) - len(window) + item.ends[-1].as_py()
            if start == len(view) or not is_last:
                break
            behind = _next_record(view, start + 1) if self.resync else len(view)
            self.ending.torn.append((self.base + start, self.base + behind))
            start = behind
        self._keep(view[start:], start)

    def _keep(self, rest: memoryview, start: int) -> None:
        self.pieces, self.held, self.base = [rest], len(rest), self.base + start
        # Until a long record is there in full, nothing is gained by looking again.
        self.needed = max(WINDOW, HEAD + int.from_bytes(rest[:HEAD], "little"))


def _next_record(view: memoryview, start: int) -> int:
    """Where something that looks like a record begins, with a length before it that fits; the end if nowhere."""
    whole: bytes = view.obj if isinstance(view.obj, bytes) and len(view.obj) == len(view) else bytes(view)
    at = whole.find(FIRST_KEY, start + HEAD)
    while at >= 0:
        size = int.from_bytes(whole[at - HEAD : at], "little")
        if size >= len(FIRST_KEY) and whole[at + size - 1 : at + size] == b"}":
            return at - HEAD
        at = whole.find(FIRST_KEY, at + 1)
    return len(view)
