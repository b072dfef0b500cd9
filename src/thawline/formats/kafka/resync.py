"""Resynchronisation: where the next intact unit of a segment starts after damage.

A unit counts if its head is possible, its checksum is right and its offset goes on from those before. It must not lie
inside of a broken unit: a wrapper holds messages, and a record can hold anything, even batches. Those would pass for
units of the log, with offsets and timestamps that they never had.
"""

from __future__ import annotations

import re
import struct
import zlib
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

import pyarrow as pa
import pyarrow.compute as pc

from thawline import native
from thawline.engine import columns
from thawline.engine.chunks import Chunk, Ranges
from thawline.formats.kafka.units import (
    BATCHES,
    CODEC,
    CRC_AT,
    LARGEST_OFFSET,
    LATEST_MAGIC,
    LEAST_LENGTHS,
    LEAST_SIZE,
    LENGTH_END,
    MAGIC_AT,
    MESSAGES,
    MOST_OFFSETS,
    Checksums,
    Heads,
    Places,
    RawHead,
    claimed_size,
    head_at,
    heads_of,
    integer_at,
    offset_at,
    places,
    raw_head_at,
)
from thawline.model import Span
from thawline.native.constants.kernels import PROBE_CELLS
from thawline.source import Source

CANDIDATES = 256
LONGEST_CHAIN = 64
"""Broken units in a row whose lengths are followed before the bytes between them are searched."""
ZEROS = 1 << 20
KINDS = ((False, BATCHES), (True, MESSAGES))


class Search:
    """The search for the next intact unit."""

    def __init__(self, checksums: Checksums) -> None:
        self.checksums = checksums
        self.intact: frozenset[int] = frozenset()
        """Where units start whose checksums are known to be right."""

    @property
    def source(self) -> Source:
        """The file."""
        return self.checksums.source

    def is_zero(self, start: int) -> bool:
        """Whether only zeros follow to the end of the file."""
        step = 64
        while start < self.source.size:
            block = bytes(self.source.view(start, min(start + step, self.source.size)))
            if block.count(0) != len(block):
                return False
            start, step = start + len(block), ZEROS
        return True

    def damaged(self, start: int, floor: int) -> list[Span]:
        """Broken units, or one stretch, from a position to the next intact unit or to the end of the file.

        `floor` is the last offset before.
        """
        return self._chain(start, floor) or [Span(start, self._next_unit(start + 1, floor))]

    def _chain(self, start: int, floor: int) -> list[Span]:
        """Broken units one after the other by their lengths, if these lead to an intact unit or the end of the file."""
        spans: list[Span] = []
        while len(spans) < LONGEST_CHAIN:
            size = claimed_size(self.source, start)
            if not size or start + size > self.source.size:
                return []
            spans.append(Span(start, start + size))
            start += size
            if start == self.source.size or self._is_intact(start, floor):
                return spans
        return []

    def _is_intact(self, position: int, floor: int) -> bool:
        """Whether an intact unit starts here, with an offset above those before it."""
        if position in self.intact:
            return (offset_at(self.source, position) or 0) > floor
        heads = head_at(self.source, position)
        return (
            isinstance(heads, Heads)
            and floor < heads.rows["last_offset"][0].as_py()
            and bool(self.checksums.right(heads)[0].as_py())
        )

    def any_unit(self, start: int) -> int:
        """Where the next unit starts whose checksum is right; the end of the file without any."""
        first = offset_at(self.source, 0) or 0
        for found in places(self.source, start, self.source.size, (first, first + MOST_OFFSETS), 1):  # mostly right
            for position in self._right_ones(found):
                return position
        return self.source.size

    def _next_unit(self, start: int, floor: int) -> int:
        """Where the next intact unit starts that is not inside of a broken one; the end of the file without any."""
        self.checksums.source = self.source.on_disk()
        size, nesting = self.source.size, Nesting(self.checksums, start - 1, floor)
        for found in places(self.source, start, size, (floor + 1, floor + MOST_OFFSETS), CANDIDATES):
            positions, seen = found[0], 0
            for position in self._right_ones(found):
                while seen < len(positions) and positions[seen] < position:
                    nesting.add_broken(positions[seen], floor)
                    seen += 1
                if not nesting.holds(position) and self._is_intact(position, floor):
                    return position
        return size

    def _right_ones(self, found: Places) -> Iterator[int]:
        """Those of some places where the checksum is right, in rising order.

        Mostly the first place is right. As long as none is, ever more are checked in one go.
        """
        first, step = 0, 1
        while first < len(found[0]):
            some = zip(*(numbers[first : first + step] for numbers in found), strict=True)
            yield from sorted(self.right_places(list(some)))
            first, step = first + step, 4 * step

    def right_places(self, found: list[tuple[int, int]]) -> Iterator[int]:
        """Those of some places, each with a size, where the checksum is right."""
        view = self.source.view(0, self.source.size)
        for is_legacy, _ in KINDS:
            some = [place for place in found if (view[place[0] + MAGIC_AT] < LATEST_MAGIC) is is_legacy]
            if some:
                starts = pa.array([at for at, _ in some], pa.int64())
                ends = pa.array([at + size for at, size in some], pa.int64())
                computed = self.checksums.of_units(starts, ends, is_legacy=is_legacy).to_pylist()
                crc_at = CRC_AT[is_legacy]
                for (at, _), value in zip(some, computed, strict=True):
                    if int.from_bytes(view[at + crc_at : at + crc_at + 4], "big") == value:
                        yield at


class Nesting:
    """What of a damaged stretch lies inside of a broken unit.

    The head of a broken wrapper says how far it goes. Where that is destroyed, the compressed stream in it does.
    """

    def __init__(self, checksums: Checksums, start: int, floor: int) -> None:
        self.source, self.checksums = checksums.source, checksums
        self.broken: list[RawHead] = []
        self.until = start
        """Everything before is known to be inside."""
        self.searched = start
        """Up to here streams were searched for."""
        self.add_broken(start, floor)

    def add_broken(self, start: int, floor: int) -> None:
        """Take in a head whose checksum is wrong; of wrappers, the one that goes farthest counts."""
        head = raw_head_at(self.source, start)
        if head is None or not floor < head.offset <= floor + MOST_OFFSETS:
            return  # garbage, or a head of which nothing can be trusted
        if not self.broken:
            self.broken.append(head)
        elif head.end > self.broken[-1].end and self._is_wrapper(head):
            self.broken[1:] = [head]

    def _is_wrapper(self, head: RawHead) -> bool:
        """Whether all lengths of a compressed message agree: bytes that only look like a head claim any size."""
        if not (head.is_legacy and head.is_compressed):
            return False
        at = head.start + LENGTH_END + LEAST_LENGTHS[head.magic] - 8
        key_size = integer_at(self.source, at)
        value_at = at + 8 + max(key_size, 0)
        return key_size >= -1 and head.end - value_at == integer_at(self.source, value_at - 4)

    def holds(self, position: int) -> bool:
        """Whether the unit at a position is inside."""
        if position < self.until or any(self._holds(head, position) for head in self.broken):
            return True
        found = raw_head_at(self.source, position)
        if found is None or not found.is_legacy or found.is_compressed:
            return False
        view = self.source.view(self.searched, min(position + LONGEST_MAGIC, self.source.size))
        for stream in STREAMS.finditer(view):
            if stream.start() < position - self.searched:
                end = stream_end(self.checksums, self.searched + stream.start(), stream[0])
                self.until = max(self.until, end)
        self.searched = max(self.searched, position)
        return position < self.until

    def _holds(self, head: RawHead, position: int) -> bool:
        found = raw_head_at(self.source, position)
        if found is None or not head.start < position < head.end:
            return False
        is_message = head.is_legacy and found.is_legacy and not found.is_compressed
        if not (is_message and found.offset <= head.offset) and self._leads_out(head, found):
            return False
        return not self._ends_at(head, position)

    def _leads_out(self, head: RawHead, found: RawHead) -> bool:
        """Whether the units that follow one another from here go on after the end that is claimed."""
        size, reached = self.source.size, found.start
        at: RawHead | None = found
        while at is not None and at.end < min(head.end, size):
            reached = at.end
            at = raw_head_at(self.source, reached)
        if (at is not None and at.end <= size) or (head.is_legacy and head.end > size):
            return True
        self.until = max(self.until, reached)
        return False

    def _ends_at(self, head: RawHead, position: int) -> bool:
        """Whether the checksum of a broken unit proves that it ends here, so that its length is what is damaged."""
        if position - head.start < LENGTH_END + LEAST_LENGTHS[head.magic]:
            return False
        return self.checksums.of_unit(head.start, position, is_legacy=head.is_legacy) == head.checksum


class Doubts:
    """Which messages after damage may lie in a wrapper of which nothing is left to see.

    Where both the head of a wrapper and that of its stream are destroyed, or the stream is raw snappy, which has no
    head, messages that it stores as literals pass for messages of the log. So in a segment that has wrappers, plain
    messages found by a search are suspect up to the next wrapper or batch, which cannot be inside of a wrapper. They
    are not where the damaged bytes are known to end right before them.
    """

    AHEAD = 1 << 20
    """How far after damage wrappers are searched for. Brokers refuse wrappers above 1 MB by default."""

    def __init__(self, checksums: Checksums) -> None:
        self.checksums = checksums
        self.damage: list[Span] = []
        """Since the last units."""
        self.is_open = False
        """Whether plain messages are suspect now."""
        self.has_wrappers = False
        """Whether there is a wrapper before."""
        self.searched, self.wrapper_at = 0, -1
        """Up to where wrappers were searched for, and the first that was found."""

    def marked(self, heads: Heads) -> Heads:
        """The units that follow the damage, with suspects marked."""
        counts = heads.rows["num_records"]
        if not self.damage and not self.is_open:
            self.has_wrappers = self.has_wrappers or counts.null_count > 0
            return heads
        is_plain = pc.and_(pc.less(heads.rows["magic"], LATEST_MAGIC), pc.is_valid(counts)).to_pylist()
        flags = bytearray(len(heads))
        damage, at = self.damage, 0
        for row, (position, count) in enumerate(zip(heads.positions, counts.to_pylist(), strict=True)):
            first = at
            while at < len(damage) and damage[at].end <= position:
                at += 1
            if not is_plain[row]:
                self.is_open = False
                self.has_wrappers = self.has_wrappers or count is None
            elif at > first and not self.is_open:
                self.is_open = self._is_doubtful(damage[at - 1], position)
            flags[row] = self.is_open
        self.damage = damage[at:]
        return heads.marked(pa.array(flags, pa.uint8()).cast(pa.bool_())) if any(flags) else heads

    def _is_doubtful(self, damage: Span, position: int) -> bool:
        if claimed_size(self.checksums.source, damage.start) == damage.size:
            return False
        return self._is_among_wrappers(position) and not self._is_ended(damage)

    def _is_ended(self, damage: Span) -> bool:
        """Whether a unit is known to end with the damage: by its checksum, or by the end of a stream."""
        source = self.checksums.source
        magic = source.view(damage.start, damage.end)[MAGIC_AT] if damage.size > MAGIC_AT else -1
        if magic in LEAST_LENGTHS and damage.size >= LENGTH_END + LEAST_LENGTHS[magic]:
            is_legacy = magic < LATEST_MAGIC
            stored = integer_at(source, damage.start + CRC_AT[is_legacy]) & 0xFFFFFFFF
            if self.checksums.of_unit(damage.start, damage.end, is_legacy=is_legacy) == stored:
                return True
        found = STREAMS.finditer(source.view(damage.start, damage.end))
        return any(stream_end(self.checksums, damage.start + at.start(), at[0]) == damage.end for at in found)

    def _is_among_wrappers(self, position: int) -> bool:
        """Whether there is a wrapper before a position, or soon after it."""
        if self.has_wrappers or self.wrapper_at >= position:
            return True
        size = self.checksums.source.size
        if self.searched < min(position + self.AHEAD, size):
            start, self.searched = max(position, self.searched), min(position + 2 * self.AHEAD, size)
            self.wrapper_at = next(self._wrappers(start, self.searched), -1)
        return self.wrapper_at >= position

    def _wrappers(self, start: int, end: int) -> Iterator[int]:
        """Where intact wrappers start."""
        source = self.checksums.source
        for found in places(source, start, end):
            for at, size in zip(*found, strict=True):
                magic, attributes = source.view(at + MAGIC_AT, at + MAGIC_AT + 2)
                if magic < LATEST_MAGIC and attributes & CODEC:
                    stored = integer_at(source, at + CRC_AT[True]) & 0xFFFFFFFF
                    if self.checksums.of_unit(at, at + size, is_legacy=True) == stored:
                        yield at


# Where compressed streams end.

GZIP, SNAPPY, LZ4 = b"\x1f\x8b\x08", b"\x82SNAPPY\0", b"\x04\x22\x4d\x18"
STREAMS = re.compile(b"|".join(re.escape(magic) for magic in (GZIP, SNAPPY, LZ4)))
LONGEST_MAGIC = len(SNAPPY)
SNAPPY_HEAD = 16
LZ4_CONTENT_SIZE, LZ4_CONTENT_CHECKSUM, LZ4_BLOCK_CHECKSUM = 8, 4, 16
"""Flags of an lz4 frame."""
LZ4_LEAST_HEAD = 7
LZ4_STORED = 1 << 31
LARGEST_BLOCK = 4 << 20
FIRST_PIECE, LAST_PIECE, MOST_OUTPUT = 1 << 6, 1 << 14, 1 << 16
MOST_TIMES = 16
"""What grows by more than this factor is compressed: no message in it can be seen from outside."""


def stream_end(checksums: Checksums, start: int, magic: bytes) -> int:
    """Where the stream ends that starts at a position; that position if it is none, or broken, or the budget spent."""
    if checksums.stream_budget < 0:
        return start
    measure = gzip_end if magic == GZIP else lz4_end if magic == LZ4 else snappy_end
    end = measure(checksums.source.view(start, checksums.source.size))
    checksums.stream_budget -= abs(end)
    return start + max(end, 0)


def gzip_end(view: memoryview) -> int:
    """Where a gzip stream ends; minus the number of bytes that were read if it does not.

    >>> import gzip
    >>> gzip_end(memoryview(gzip.compress(b"a") + b"after")), gzip_end(memoryview(gzip.compress(b"a")[:-1]))
    (21, -20)
    """
    stream, at, made, piece = zlib.decompressobj(zlib.MAX_WBITS + 16), 0, 0, FIRST_PIECE
    while at < len(view) and not stream.eof:
        data = bytes(view[at : at + piece])
        at, piece = at + len(data), min(4 * piece, LAST_PIECE)
        try:
            while data and not stream.eof:
                made += len(stream.decompress(data, MOST_OUTPUT))
                data = stream.unconsumed_tail
                if made > MOST_TIMES * at + MOST_OUTPUT:
                    return -at
        except zlib.error:
            return -at
    return at - len(stream.unused_data) if stream.eof else -at


def snappy_end(view: memoryview) -> int:
    r"""Where the blocks of snappy's Java library end.

    >>> snappy_end(memoryview(SNAPPY + bytes(8) + b"\0\0\0\2ab" + bytes(9)))
    22
    """
    at = SNAPPY_HEAD
    while at + 4 <= len(view):
        size = int.from_bytes(view[at : at + 4], "big")
        if not 0 < size <= LARGEST_BLOCK or at + 4 + size > len(view):
            break
        at += 4 + size
    return at if at > SNAPPY_HEAD else -at


def lz4_end(view: memoryview) -> int:
    """Where an lz4 frame ends; minus the number of bytes that were read if it does not.

    >>> import lz4.frame
    >>> lz4_end(memoryview(lz4.frame.compress(b"a" * 9) + b"after")) == len(lz4.frame.compress(b"a" * 9))
    True
    """
    if len(view) < LZ4_LEAST_HEAD:
        return -len(view)
    flags = view[4]
    at = LZ4_LEAST_HEAD + (8 if flags & LZ4_CONTENT_SIZE else 0)
    while at + 4 <= len(view):
        size = struct.unpack_from("<I", view, at)[0] & ~LZ4_STORED
        at += 4
        if size == 0:
            return at + (4 if flags & LZ4_CONTENT_CHECKSUM else 0)
        if size > LARGEST_BLOCK:
            break
        at += size + (4 if flags & LZ4_BLOCK_CHECKSUM else 0)
    return -min(at, len(view))


# Many gaps in a row.

WINDOW = 1 << 17
"""Bytes of a file in which units may start that are searched in one go."""
SHORT = 1 << 16
"""Longer units are checked by themselves, so that they do not use up the budget for checksums."""
MOST_SINGLE = 16
"""Places in a row that are checked one by one."""
WRONG, RIGHT = 1, 2

Hole = tuple[Span, int, int]
"""A stretch without a unit, the last offset before it, and the first one after it."""
Unit = tuple[int, int]
"""Start and end."""


@dataclass(slots=True)
class Found:
    """Units of a window, and what is between them."""

    end: int
    """Where the next window starts."""
    floor: int
    """The last offset."""
    units: list[Unit] = field(default_factory=list)
    holes: list[Hole] = field(default_factory=list)
    heads: Heads | None = None

    def add(self, head: RawHead) -> None:
        """Take the unit at the end."""
        self.units.append((head.start, head.end))
        self.end, self.floor = head.end, head.offset


def search_window(search: Search, start: int, floor: int, *, is_trusting: bool) -> Found:
    """Units and holes from a position on, as far as a window goes; nothing where that is not even one unit.

    Where good units and damage, or units of old and new magic, take turns, a step for each of them costs the same
    however small it is. Here all places of a window are found, checked and read in a few steps. With `is_trusting`,
    units right after a good one are taken without a look at their bytes.
    """
    window = _Window(search, start, is_trusting=is_trusting)
    while True:
        found = window.followed(floor)
        found.heads, refused = _read(search.source, found.units)
        if not refused:
            return found
        window.refuse(refused)


class _Window:
    """The places of a window where a unit may start, and those where one does."""

    def __init__(self, search: Search, start: int, *, is_trusting: bool) -> None:
        self.search, self.source, self.checksums = search, search.source, search.checksums
        self.start, self.end = start, min(start + WINDOW, self.source.size)
        self.is_trusting = is_trusting
        self.known = bytearray(self.end - start)
        """By distance from the start: which units are known to be intact, and which not."""

    @cached_property
    def places(self) -> Places:
        """Where units may start, and their sizes."""
        positions, sizes = array("q"), array("q")
        for some in places(self.source, self.start, self.end):
            positions.extend(some[0])
            sizes.extend(some[1])
        return positions, sizes

    def refuse(self, positions: set[int]) -> None:
        """Take in units that break a rule although their checksums are right."""
        for position in positions:
            self.known[position - self.start] = WRONG
        self.is_trusting = False

    def _is_right(self, head: RawHead) -> bool:
        at = head.start - self.start
        if not self.known[at]:
            positions, _ = self.places
            index = bisect_left(positions, head.start)
            is_place = index < len(positions) and positions[index] == head.start
            computed = self.checksums.of_unit(head.start, head.end, is_legacy=head.is_legacy) if is_place else -1
            self.known[at] = RIGHT if computed == head.checksum else WRONG
        return self.known[at] == RIGHT

    def followed(self, floor: int) -> Found:
        """Units one after the other, from hole to hole."""
        found = Found(self.start, floor)
        while found.end < self.end:
            self._follow(found)
            if found.end >= self.end:
                break
            head = raw_head_at(self.source, found.end)
            if head and head.end <= self.source.size and (self.is_trusting or self._is_right(head)):
                found.add(head)
                continue
            spans = self._hole(found.end, found.floor)
            if not spans:
                break
            after = raw_head_at(self.source, spans[-1].end)
            found.holes += [(span, found.floor, after.offset if after else found.floor) for span in spans]
            found.end = spans[-1].end
        return found

    def _follow(self, found: Found) -> None:
        """Go on as far as plain cases lead, in one native step."""
        if not native.is_compiled or self.checksums.is_spent:
            return
        state = array("q", (found.end, min(found.floor, LARGEST_OFFSET), self.checksums.budget, 0, 0))
        window, limits = array("q", (self.start, self.end)), array("q", (MOST_OFFSETS, LONGEST_CHAIN))
        units, holes = self.room
        view, probe = self.source.view(0, self.source.size), array("q", bytes(8 * PROBE_CELLS))
        native.functions.follow_units(view, window, limits, self.is_trusting, state, probe, self.known, units, holes)
        found.end, floor, self.checksums.budget, unit_count, hole_count = state
        found.floor = floor if unit_count else found.floor
        found.units += zip(*(units[index : 2 * unit_count : 2] for index in range(2)), strict=True)
        parts = (holes[index : 4 * hole_count : 4] for index in range(4))
        found.holes += [(Span(start, end), *offsets) for start, end, *offsets in zip(*parts, strict=True)]

    @cached_property
    def room(self) -> tuple[array[int], array[int]]:
        """Room for the units and holes of one native step."""
        most = (self.end - self.start) // LEAST_SIZE + 2
        return array("q", bytes(16 * most)), array("q", bytes(32 * most))

    def _hole(self, start: int, floor: int) -> list[Span]:
        """What stands before the next unit; nothing if that is not in the window."""
        if chain := self._chain(start, floor):
            return chain
        nesting = Nesting(self.checksums, start, floor)
        positions, _ = self.places
        for step, at in enumerate(range(bisect_right(positions, start), len(positions))):
            if step == MOST_SINGLE:
                self._check(at)
            head = self._following(positions[at], floor)
            if head and self._is_right(head) and not nesting.holds(head.start):
                return [Span(start, head.start)]
            nesting.add_broken(positions[at], floor)
        return []

    def _check(self, first: int) -> None:
        """Check all places from one on together: where many in a row are wrong, many more will be."""
        pairs = zip(*(numbers[first:] for numbers in self.places), strict=True)
        unknown = [(at, size) for at, size in pairs if not self.known[at - self.start]]
        for is_long in (False, True):
            some = [(at, size) for at, size in unknown if (size > SHORT) is is_long]
            right = set(self.search.right_places(some))
            for at, _ in some:
                self.known[at - self.start] = RIGHT if at in right else WRONG

    def _chain(self, start: int, floor: int) -> list[Span]:
        """Broken units one after the other by their lengths, if these lead to an intact one."""
        spans: list[Span] = []
        while len(spans) < LONGEST_CHAIN and start < self.end:
            size = claimed_size(self.source, start)
            if not size or start + size >= self.end:
                return []
            spans.append(Span(start, start + size))
            start += size
            if (head := self._following(start, floor)) and self._is_right(head):
                return spans
        return []

    def _following(self, position: int, floor: int) -> RawHead | None:
        """The head at a position, if its offset goes on from those before it."""
        head = raw_head_at(self.source, position)
        return head if head and floor < head.offset <= min(floor + MOST_OFFSETS, LARGEST_OFFSET) else None


def _read(source: Source, units: list[Unit]) -> tuple[Heads | None, set[int]]:
    """The heads of units, and the positions of those that break a rule."""
    read: list[pa.RecordBatch] = []
    refused: set[int] = set()
    view = source.view(0, source.size)
    for is_legacy, table in KINDS:
        chosen = [unit for unit in units if (view[unit[0] + MAGIC_AT] < LATEST_MAGIC) is is_legacy]
        if not chosen:
            continue
        first, end = chosen[0][0], chosen[-1][1]
        ranges = Ranges.of([(start - first, end - first, 1) for start, end in chosen])
        for item in columns.scan(table, view[first:end], ranges, checksums=False):
            if isinstance(item, Chunk):
                read.append(heads_of(item.moved(first), table).rows)
            else:
                refused.add(chosen[item.range_index][0])
    if not read or refused:
        return None, refused
    rows = pa.Table.from_batches(read).combine_chunks()
    if len(read) > 1:
        rows = rows.take(pc.sort_indices(rows["position"])).combine_chunks()
    return Heads(rows.to_batches()[0]), refused
