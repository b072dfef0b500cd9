"""The text of a backup, plain or in zstd frames, read forward in windows; and how findings in it map to the file.

A walk counts positions in the text. In a plain file these are offsets of the file. In a compressed file an entry has no
bytes of its own: a run ends where the block of its last entry starts, and findings about the text have an empty span.
"""

from __future__ import annotations

import re
import sys
from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import takewhile
from typing import Protocol

import zstandard

from thawline.codecs import zstd_blocks
from thawline.engine.starts import Starts
from thawline.errors import CodecError
from thawline.formats.aerospike.findings import BROKEN, BROKEN_FRAME, Doubted, Found, Making, Stretch, nothing
from thawline.formats.aerospike.rows import TABLES
from thawline.generated.kernels.constants import AEROSPIKE_BACKUP_HEADER_SIZE, AEROSPIKE_HEADER_MAGIC
from thawline.generated.kernels.tables import SYNCS
from thawline.generated.kernels.tolerant import AEROSPIKE_HEADER_VERSION_WORDS
from thawline.model import Code, Finding, LeftOut, Payload, Run, Span
from thawline.source import Source
from thawline.wording import counted, grouped

ZSTD_MAGIC = bytes.fromhex("28b52ffd")
FRAME = re.compile(
    re.escape(ZSTD_MAGIC)
    + rb"(?=[\x00-\x07\x10-\x17\x20-\x27\x30-\x37\x40-\x47\x50-\x57\x60-\x67\x70-\x77\x80-\x87\x90-\x97"
    rb"\xa0-\xa7\xb0-\xb7\xc0-\xc7\xd0-\xd7\xe0-\xe7\xf0-\xf7])"
)
"""The start of a frame: the magic, and a descriptor whose reserved bit is not set."""
LONGEST_HEAD = 18
"""The size of the longest zstd frame header."""
HEADER = re.compile(AEROSPIKE_HEADER_MAGIC + rb"(\d)\.(\d)\n")
HEADER_SIZE: int = AEROSPIKE_BACKUP_HEADER_SIZE
VERSIONS = frozenset(line.removeprefix(AEROSPIKE_HEADER_MAGIC).decode() for line in AEROSPIKE_HEADER_VERSION_WORDS)
LINES = re.compile(rb"(?:^|\n)\+ [kndsgtb] |\n- [A-Z]!? ")
ASBX_HEAD = re.compile(rb"\x01.{8}.{4}[!-~]{1,31}\0{0,30}", re.DOTALL)
ASBX_HEAD_SIZE = 44
FIRST_BYTES = 1 << 12
"""The first bytes of a file tell whether it can be a text."""
WINDOW = 8 << 20
LONGEST_ENTRY = 16 << 20
"""The size of a window where text is fetched or decompressed, and the largest window for one entry.

A server accepts records of up to 8 MiB; a longer one has a damaged length.
"""
LATEST = "3.1"
"""The version of a text without a header."""
LEAST_ROOM, MOST_RATIO = 64 << 20, 256
"""A file may decompress to 64 MiB, or to 256 times its size if that is more. Backups have a tenth of that ratio, a
decompression bomb a hundred times as much."""
LEAST_BROKEN, BYTES_OF_BROKEN, BROKEN_IN_FRAME = 1 << 14, 16, 32
"""Broken or odd entries that a compressed file may hold; bytes for each more (a digest is 20 random ones); how many a
broken frame counts for. Each costs the time of many kB of intact text: a bomb of them is stopped."""
LONGEST_STUMP, MOST_STUMP_BLOCKS = 1 << 12, 16
"""The search for a frame decompresses it up to a block of this size or this many blocks: most stumps end earlier."""


def first_bytes(source: Source) -> bytes:
    """The first bytes of a file."""
    return bytes(source.view(0, min(source.size, FIRST_BYTES)))


def is_asbx(source: Source, head: bytes) -> bool:
    """Whether a file is an XDR backup."""
    return source.name.endswith(".asbx") and bool(ASBX_HEAD.fullmatch(head[:ASBX_HEAD_SIZE]))


def is_noise(head: bytes) -> bool:
    """Whether the first bytes of a file contain no text of a backup."""
    if not head or HEADER.match(head) or LINES.search(head):
        return False
    printable = sum(0x20 <= byte < 0x7F or byte in b"\n\r\t" for byte in head)  # noqa: PLR2004 - ASCII
    return 4 * printable <= 3 * len(head)


def has_entries(view: memoryview) -> bool:
    """Whether anything in a text looks like the start of an entry."""
    return bytes(view[:4]) in TABLES or starts_in(view).following(0) < len(view)


def starts_in(view: memoryview) -> Starts:
    """Where entries can start in a text, after a line feed."""
    return Starts(SYNCS["aerospike_backup__item"], view)


def rest_of_entry(start: int) -> dict[str, object]:
    """The detail about text before the first entry, where a text starts inside one."""
    return {"at": start, "reason": "the rest of an entry"}


def room_of(size: int) -> int:
    """The most bytes of text that are read from a compressed file of this size."""
    return max(LEAST_ROOM, MOST_RATIO * size)


class Text(Protocol):
    """A text that is read forward: a window never starts before the one requested last."""

    step: int
    """The usual size of a window."""
    damage: str
    """Why the text ends early; empty if it does not."""
    suspect_from: int
    """The position from which the text is suspect: it decompresses, but the checksum of its frame is wrong."""
    budget: int
    """How many more entries may be broken, or none after all, or be read one by one."""

    def window(self, start: int, size: int) -> tuple[memoryview, bool]:
        """At most `size` bytes from `start` on, and whether the text ends with them."""
        ...

    def release(self, end: int) -> None:
        """Allow the text before `end` to be dropped."""
        ...


class PlainText:
    """The text of a plain file, up to an end."""

    damage = ""
    suspect_from = budget = sys.maxsize

    def __init__(self, source: Source, end: int | None = None) -> None:
        self.source = source
        self.end = source.size if end is None else end
        self.step = max(source.size, 1) if source.is_local else WINDOW

    def window(self, start: int, size: int) -> tuple[memoryview, bool]:
        """At most `size` bytes from `start` on. A view of a local file costs nothing."""
        end = min(start + size, self.end)
        return self.source.view(start, end), end == self.end

    def release(self, end: int) -> None:
        """Release mapped pages."""
        self.source.release(end)


Release = Callable[[int], None]
"""Allows the bytes of a file before an offset to be dropped."""
Blocks = Iterator[tuple[int, bytes]]
"""The offset after each block of a zstd frame, and the content of the block."""


def _keep(end: int) -> None:
    """Drop nothing: the bytes are in memory anyway."""


class ZstdText:
    """The text of consecutive zstd frames, from one of them up to damage or the end of the file."""

    step = WINDOW
    suspect_from = budget = sys.maxsize

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
        """The position at which reading stops, whatever follows."""
        self.damage = ""
        self.reached = frame
        """The offset of the file up to which it is decompressed."""
        self._frames = deque([(position, frame)])
        self._marks = deque([(position, frame)])
        self._start, self._end = position, position
        self._pieces: list[bytes | memoryview] = []
        self._blocks = self._decompressed(frame)
        self._is_done = False
        self.begun: Blocks | None = None
        """The blocks of the first frame, if the search for it has started to decompress them."""

    def window(self, start: int, size: int) -> tuple[memoryview, bool]:
        """At most `size` bytes from `start` on, decompressed on request."""
        if start < self._start:
            raise ValueError(f"text before {self._start:#x} was dropped")
        if self._end < start + size and not self._is_done:
            self._read(start, start + size)
        joined = memoryview(self._pieces[0] if len(self._pieces) == 1 else b"".join(self._pieces))
        if start > self._start:
            joined = joined[start - self._start :]
            self._start = min(start, self._end)
        self._pieces = [joined]
        return joined[:size], self._is_done and len(joined) <= size

    def _read(self, start: int, end: int) -> None:
        """Decompress up to `end`, or to the end of the text; drop what is before `start`."""
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
        """Whether it ends because there is no room for more."""
        return self._end >= self.room

    def release(self, end: int) -> None:
        """Forget the places of blocks and frames before `end`."""
        for marks in (self._frames, self._marks):
            while len(marks) > 1 and marks[1][0] <= end:
                marks.popleft()

    def located(self, position: int) -> int:
        """The offset of the block that a position of the text is in."""
        found = self._marks[0][1]
        for text, file in self._marks:
            if text > position:
                break
            found = file
        return found

    def frame_of(self, position: int) -> tuple[int, int]:
        """The start of the frame that a position of the text is in: its offset, and its position in the text."""
        found = self._frames[0]
        for frame in takewhile(lambda it: it[0] <= position, self._frames):
            found = frame
        return found[1], found[0]

    def _check(self, position: int) -> None:
        if position >= self.room:
            size = counted(len(self.data), "byte")
            raise CodecError(f"zstd: {size} decompress to more than {grouped(self.room)}")

    def _decompressed(self, frame: int) -> Iterator[bytes]:
        position = self._end
        try:
            while frame < len(self.data):
                if _wrong_checksum(self.data, frame, self._release, self.room - position):
                    self.suspect_from = position
                blocks, self.begun = self.begun or zstd_blocks(self.data, frame), None
                for after, block in blocks:
                    yield block
                    position += len(block)
                    self._check(position)
                    self.reached = after
                    self._marks.append((position, after))
                frame = self.reached
                self._frames.append((position, frame))
        except CodecError as error:
            self.damage = error.message


def _wrong_checksum(data: memoryview, frame: int, release: Release, room: int) -> str:
    """What is wrong with the checksum of a frame's content, if it has one. This decompresses the frame once more.

    A frame that exceeds the room is not read to its end, where the checksum is.
    """
    kept = frame
    try:
        if not zstandard.get_frame_parameters(data[frame : frame + LONGEST_HEAD]).has_checksum:
            return ""
        for after, block in zstd_blocks(data, frame):
            room -= len(block)
            if room <= 0:
                return ""
            if after - kept > WINDOW:
                release(after)
                kept = after
    except (CodecError, zstandard.ZstdError) as error:
        return str(error) if "checksum" in str(error) else ""
    return ""


@dataclass(frozen=True, slots=True)
class Frame:
    """A zstd frame that has content, and its first blocks."""

    start: int
    first: Sequence[tuple[int, bytes]]
    rest: Blocks
    damage: str
    """Why the frame ends after its first blocks; empty if it does not."""

    @property
    def reached(self) -> int:
        """The offset after its first blocks."""
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
    """The next zstd frame that has content, at or after an offset of the file; None if there is none."""
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


def scrap_end(text: ZstdText, start: int) -> int | None:
    """The end of a text in which no entry starts, so that it needs no walk; None for any other."""
    view, is_last = text.window(start, text.step)
    return start + len(view) if is_last and not has_entries(view) else None


# What a walk tells about the text, in terms of the file.


@dataclass(frozen=True, slots=True)
class Entries(Payload):
    """Where the entries of a run are, and what they are."""

    table: str = ""
    version: str = LATEST
    suspect: str = ""
    text: Span | None = None
    """Their span in the text of a compressed file."""
    frame: tuple[int, int] | None = None
    """The frame that they start in: its offset, and its position in the text."""
    segment: int = 0
    """The offset from which frames follow one another without damage."""
    canonical: bytes = b""
    """The bytes for salvage, where only one tool reads those in the file."""
    is_header: bool = False
    stretch: Stretch | None = field(default=None, compare=False, repr=False)
    """Their rows, as far as the walk has decoded them."""

    def portable(self) -> Entries:
        """The same without rows."""
        return replace(self, stretch=None)


def entries_of(run: Run) -> Entries:
    """The payload of a run."""
    return run.payload if isinstance(run.payload, Entries) else Entries()


def opened_at(source: Source, place: Entries) -> ZstdText:
    """The text of a compressed file from the frame on that a run starts in."""
    assert place.frame is not None  # noqa: S101 - `Frames` sets it
    (frame, position), found = place.frame, source.on_disk()
    return ZstdText(found.view(0, found.size), frame, position, found.release)


class ZstdPart(ZstdText):
    """A text in zstd frames up to an end."""

    def __init__(self, whole: ZstdText, end: int) -> None:
        self.whole, self.last, self.damage = whole, end, ""

    def window(self, start: int, size: int) -> tuple[memoryview, bool]:
        """At most `size` bytes from `start` on, up to the end of the part."""
        view, is_last = self.whole.window(start, min(size, self.last - start))
        return view, is_last or start + len(view) >= self.last

    def release(self, end: int) -> None:
        """Forget the places of blocks and frames before `end`."""
        self.whole.release(end)


@dataclass(frozen=True, slots=True)
class Item:
    """A run with the stretch that it is made of, or a finding."""

    shown: Run | Finding
    stretch: Stretch | None = None
    doubted: Callable[[], Item | None] = nothing
    """Of a finding: a run of the entries that count as damaged but are given. Call it before the next item is read."""

    def given(self) -> Iterator[Item]:
        """The run of doubted entries that are given, if any, and the item itself."""
        found = self.doubted()
        if found and isinstance(self.shown, Finding):
            yield found
            yield Item(given(self.shown))
        else:
            yield self


def given(finding: Finding, *, is_given: bool = True) -> Finding:
    """The finding, marked as one whose entries are given. `replace` would be slow for a finding on every line."""
    return Finding(finding.code, finding.span, finding.detail, finding.hint, is_given)


def plain_item(found: Found, version: str) -> Item:
    """What a walk has found in plain text."""
    place = Entries(version=version)
    match found:
        case Finding():
            return Item(found)
        case Doubted(finding, make):
            return Item(finding, doubted=partial(_doubted_run, finding, make, finding.span.start, place))
    return Item(_run(found, found.span, place), found)


def pruned_run(span: Span, place: Entries) -> Run:
    """The rest of a file that holds no requested record."""
    return Run(span, 0, 0, left_out=LeftOut(0, span.size), payload=place)


def _run(stretch: Stretch, span: Span, place: Entries, finding: Finding | None = None) -> Run:
    """The run of a stretch; `finding` is about it if it is doubted. `replace` would be slow for a run on every line."""
    suspect, requested = stretch.suspect or "", stretch.requested
    payload = Entries(
        stretch.table,
        place.version,
        suspect,
        place.text,
        place.frame,
        place.segment,
        stretch.canonical,
        stretch.is_header,
        stretch,
    )
    return Run(
        span,
        stretch.units,
        stretch.rows,
        suspect=suspect or ("one tool only" if stretch.is_lasting else ""),
        recovered=finding.code.id if finding else "",
        given=finding.span if finding else None,
        left_out=None if requested is None else LeftOut(stretch.units - requested, stretch.left_out_bytes),
        payload=payload,
    )


def _doubted_run(finding: Finding, make: Making, at: int, place: Entries) -> Item | None:
    """Entries that count as damaged but are given: a run with an empty span, since the bytes are the finding's."""
    stretch = make()
    return None if stretch is None else Item(_run(stretch, Span(at, at), place, finding), stretch)


def uncounted(run: Run) -> Run:
    """The run of doubted entries, which do not count as intact although their rows are given."""
    return Run(
        run.span,
        0,
        run.rows,
        suspect=run.suspect,
        recovered=run.recovered,
        given=run.given,
        left_out=run.left_out,
        payload=run.payload,
    )


class Frames:
    """The frames of a compressed file, tiled by the runs and findings of its text."""

    def __init__(self, source: Source, hint: str) -> None:
        self.source, self.hint = source.on_disk(), hint
        self.data = self.source.view(0, self.source.size)
        self.room, self.table = room_of(len(self.data)), ""
        self.position = 0
        """The offset up to which the file is tiled."""
        self.most_broken = self.budget = max(LEAST_BROKEN, len(self.data) // BYTES_OF_BROKEN)
        """How many entries may be broken or read one by one, and how many of them from the text that is read now on."""

    def item(self, found: Found, text: ZstdText, version: str, segment: int) -> Iterator[Item]:
        """What a walk has found in the text of a segment."""
        before, self.table = self.table, found.table if isinstance(found, Stretch) else ""
        text.budget -= self.table not in {before or "records", "records"}
        if isinstance(found, Finding):
            yield Item(self.moved(found))
            return
        place = Entries(version=version, segment=segment)
        if isinstance(found, Doubted):
            text.release(found.finding.span.start)
            yield self._doubted(found, text, place)
            return
        for stretch in _split(found, text.suspect_from):
            text.release(stretch.span.start)
            span = self._tiled(max(text.located(stretch.span.end), self.position))
            self.source.release(span.end)
            yield Item(_run(stretch, span, _placed(place, stretch.span, text)), stretch)

    def text(self, start: int, position: int, frame: Frame | None) -> ZstdText:
        """The text from an offset and its position on; `frame` is the one there, if it was searched for."""
        text = ZstdText(self.data, start, position, self.source.release)
        text.begun = frame.blocks() if frame else None
        text.budget = self.budget - (BROKEN_IN_FRAME if start else 0)
        return text

    def _tiled(self, end: int) -> Span:
        span, self.position = Span(self.position, end), end
        return span

    def _inside(self, code: Code, span: Span, detail: Mapping[str, object], hint: str) -> Finding:
        """A finding about the text. The frames are intact, so it covers none of their bytes."""
        detail = {**detail, "text_start": span.start, "text_end": span.end}
        return Finding(code, Span(self.position, self.position), detail, hint)

    def moved(self, finding: Finding) -> Finding:
        """A finding of a walk, whose span is one of the text."""
        return self._inside(finding.code, finding.span, finding.detail, finding.hint)

    def _doubted(self, found: Doubted, text: ZstdText, place: Entries) -> Item:
        """A finding about entries that count as damaged but are given."""
        inside = self.moved(found.finding)

        def make() -> Stretch | None:
            stretch = found.make()
            if stretch is None or stretch.span.end <= text.suspect_from:
                return stretch
            return replace(stretch, suspect=stretch.suspect or "frame")

        place = _placed(place, found.finding.span, text)
        return Item(inside, doubted=partial(_doubted_run, inside, make, self.position, place))

    def rest(self, end: int) -> Iterator[Item]:
        """The bytes of frames whose text is tiled already."""
        if self.position < end:
            yield Item(Run(self._tiled(end), 0, 0))

    def pruned(self, start: int, text: ZstdText, version: str) -> Item:
        """The rest of the file, from a position of its text, if no record there is requested."""
        place = _placed(Entries(version=version), Span(start, start), text)
        return Item(pruned_run(self._tiled(len(self.data)), place))

    def spent(self) -> Item:
        """The rest of a file after more broken entries than so few bytes can hold."""
        most = f"more than {grouped(self.most_broken)} broken or odd entries"
        return self.broken(self.position, None, f"{most} in {counted(len(self.data), 'byte')}")

    def scrap(self, start: int, end: int) -> Item:
        """Text in which no entry starts."""
        return Item(self._inside(BROKEN, Span(start, end), rest_of_entry(start), self.hint))

    def stumps(self, frame: Frame | None, position: int) -> Generator[Item, None, tuple[Frame | None, int]]:
        """Frames that break off early and in which no entry starts; then the next frame, and the position of its text.

        A file may hold one every few bytes. Each is decompressed once and needs no walk.
        """
        while frame and frame.damage and position + len(text := frame.text()) < self.room and not has_entries(text):
            end, reached = position + len(text), frame.reached
            yield self.scrap(position, end)
            yield Item(Run(Span(frame.start, reached), 0, 0))
            following = next_frame(self.data, reached + 1)
            yield self.broken(reached, following, frame.damage)
            frame, position = following, end
        return frame, position

    def broken(self, start: int, following: Frame | None, reason: str) -> Item:
        """The bytes from damage up to the next frame that can be read."""
        self.position = following.start if following else len(self.data)
        return Item(Finding(BROKEN_FRAME, Span(start, self.position), {"at": start, "reason": reason}))


def _placed(place: Entries, span: Span, text: ZstdText) -> Entries:
    """The payload of entries at a span of the text."""
    return replace(place, text=span, frame=text.frame_of(span.start))


def _split(stretch: Stretch, suspect_from: int) -> Iterator[Stretch]:
    """A stretch, or two if only its first entries are before text that is suspect."""
    if stretch.span.end <= suspect_from:
        yield stretch
        return
    suspect = stretch.suspect or "frame"
    if stretch.requested is not None:
        yield replace(stretch, suspect=suspect)
        return
    ends = [end for _, end in stretch.places()]
    sound = bisect_right(ends, suspect_from)
    middle = ends[sound - 1] if sound else stretch.span.start
    if sound:
        yield replace(stretch, span=Span(stretch.span.start, middle), units=sound)
    rest, first = Span(middle, stretch.span.end), stretch.first + sound
    yield replace(stretch, span=rest, first=first, units=stretch.units - sound, suspect=suspect)
