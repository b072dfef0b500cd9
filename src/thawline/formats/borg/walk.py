"""The walk over a pack, blob by blob, and on after damage.

The size of a blob counts if the pack ends or another magic stands where the blob ends, or if its meta map agrees. Else
the walk resynchronises: it searches from inside the broken blob for the next magic that starts a whole blob. Packs
nested in packs would be read once per level; after `REREAD_TIMES` the size of the file, broken blobs are skipped whole.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import groupby, pairwise

import pyarrow as pa
import pyarrow.compute as pc

from thawline.engine import columns
from thawline.engine.chunks import Break, Chunk, Ranges
from thawline.engine.starts import Starts
from thawline.formats.borg.blobs import (
    CHUNK_ID,
    ENVELOPES,
    HEADER_SIZE,
    IV,
    LEAST_SEALED,
    MAGIC,
    SEALED,
    SESSION,
    SIZES,
    Allowance,
    Flaw,
    Header,
    header_at,
    header_by_meta,
)
from thawline.formats.borg.findings import BAD_HEADER, BAD_ID, BAD_SIZE, BAD_SLOT, NO_BLOB, TORN
from thawline.formats.borg.rows import (
    CONTENT_COLUMNS,
    ENVELOPE_COLUMNS,
    Judged,
    Stretch,
    judge_contents,
    judge_envelopes,
)
from thawline.formats.contract import Depth
from thawline.generated.kernels.tables import SYNCS
from thawline.model import Code, Finding, Span
from thawline.source import Source
from thawline.wording import counted, quoted

TABLE = "borg_blobs"
REREAD_TIMES = 8
"""How many times the size of a pack is read after damage before broken blobs are skipped whole."""
LEAST_REACH, MOST_REACH = 1 << 12, 4 << 20
"""Bytes that are read ahead after damage. Start small: the walk may have to resynchronise elsewhere."""
MOST_LAYERS = 4
"""How many overlapping claims are read ahead."""

Step = Generator[Stretch | Finding, None, int]
"""Items of the walk; the return value is the position to go on at."""
Range = tuple[int, int, int]
"""Start, end, and how many blobs to read there; -1 for all."""


@dataclass(frozen=True, slots=True)
class Located:
    """A blob of this pack, as the index has it."""

    chunk_id: bytes
    size: int


@dataclass(frozen=True, slots=True)
class Suggested:
    """Headers that the bytes at a position suggest, damaged or not."""

    start: int
    header: Header | None
    """The header that stands there, with any magic."""
    by_meta: Header | None
    """The header that fits the meta map after it."""


class Walk:
    """One walk over a pack."""

    def __init__(
        self,
        source: Source,
        depth: Depth = Depth.EVERYTHING,
        repository_version: int | None = None,
        located: Mapping[int, Located] | None = None,
    ) -> None:
        self.source = source.on_disk()
        self.view = self.source.view(0, self.source.size)
        self.size = self.source.size
        self.reads_contents = depth is not Depth.HEADS
        self.repository_version, self.located = repository_version, located or {}
        self.offsets = sorted(self.located)
        self.owner = Span(0, 0)
        """The furthest extent that an unconfirmed broken blob claims."""
        self.uncertain = Span(0, 0)
        """The last blob whose end is not sure."""
        self.key_type = 0
        """The key type of the blobs before the first damage, so of the whole pack; 0 if there are none."""
        self.last_seal: tuple[bytes, int] | None = None
        """Session and counter of the last intact blob, if it is encrypted."""
        self.is_damaged = False
        """Whether damage was found before the current position."""
        self.allowance = Allowance()
        self.starts = Starts(SYNCS[TABLE], self.view)
        self.next_blob = NextBlob(self._find_blob)
        self.suggested = Suggested(-1, None, None)

    @cached_property
    def ahead(self) -> Ahead:
        """The reader of blobs after damage."""
        return Ahead(self.view, self.wanted, self._judge, self._find_blob)

    @property
    def wanted(self) -> tuple[str, ...]:
        """Columns that the kernel reads of each blob."""
        return CONTENT_COLUMNS if self.reads_contents else ENVELOPE_COLUMNS

    @property
    def is_spent(self) -> bool:
        """Whether no byte may be read again."""
        return self.is_damaged and self.ahead.read > REREAD_TIMES * self.size

    def items(self) -> Iterator[Stretch | Finding]:
        """Intact blobs and findings in file order; they tile the pack."""
        position = yield from self._from_start()
        while position < self.size:
            found = self.ahead.at(position)
            if isinstance(found, Break):
                position = yield from self._broken(position, found)
            else:
                position = yield from self._rows(found.judged, found.first, found.last)

    def _from_start(self) -> Step:
        """Blobs from the start of the pack, up to one that does not end where its header says."""
        position = 0
        for item in columns.scan_growing(TABLE, self.source, columns=self.wanted):
            if isinstance(item, Break):
                return (yield from self._broken(item.start, item))
            judged = self._judge(item)
            position = judged.end(len(judged) - 1)
            resumed = yield from self._rows(judged, 0, len(judged))
            if resumed != position:
                return resumed
        return position

    def _judge(self, chunk: Chunk) -> Judged:
        if self.reads_contents:
            return judge_contents(chunk, self.repository_version, self.allowance)
        return judge_envelopes(chunk)

    def _rows(self, judged: Judged, first: int, end: int) -> Step:
        """Blobs of a chunk that follow one another; flawed ones as findings."""
        last = end - 1
        is_ended = self._is_border(judged.end(last))
        for row in [row for row in range(first, end) if row in judged.flaws]:
            yield from self._stretches(judged, first, row)
            if row == last and not is_ended:
                return (yield from self._broken(judged.start(row), judged.flaws[row]))
            first, extent = row + 1, self._extent(judged.start(row))
            resumed = judged.end(row) if self.is_spent else extent or judged.end(row)
            yield self._flawed(judged, row, resumed)
            if resumed != judged.end(row):
                return resumed
        if first > last or is_ended or self._is_pinned(judged, last):
            yield from self._stretches(judged, first, end)
            return judged.end(last)
        yield from self._stretches(judged, first, last)
        return (yield from self._unconfirmed(judged, last))

    def _stretches(self, judged: Judged, first: int, last: int) -> Iterator[Stretch]:
        """Rows of a chunk, split where blobs may be content of a broken one."""
        if not self.is_damaged:
            yield from [self._kept(Stretch(judged, first, last))] if last > first else []
            return
        for is_nested, group in groupby(range(first, last), lambda row: self._is_nested(judged, row)):
            rows = list(group)
            stretch = Stretch(judged, rows[0], rows[-1] + 1, "nested" if is_nested else "")
            yield stretch if is_nested else self._kept(stretch)

    def _kept(self, stretch: Stretch) -> Stretch:
        """A stretch of the pack's own blobs. Later blobs are compared with its key type and seal."""
        if not self.is_damaged:
            self.key_type = stretch.judged.key_type(stretch.first)
        self.last_seal = stretch.judged.seal(stretch.last - 1)
        return stretch

    def _is_nested(self, judged: Judged, row: int) -> bool:
        """Whether a blob may be content of a broken one: within its claim, or of another key type than the pack.

        Encrypted content is random bytes, which hold no magic in practice.
        """
        if self.key_type and judged.key_type(row) != self.key_type:
            return True
        is_sealed = judged.is_sealed(row) and self.view[self.owner.start + HEADER_SIZE] in SEALED
        return judged.end(row) <= self.owner.end and not is_sealed

    def _is_border(self, position: int) -> bool:
        """Whether the pack ends here or a magic stands here."""
        return position == self.size or self.view[position : position + len(MAGIC)] == MAGIC

    def _is_pinned(self, judged: Judged, row: int) -> bool:
        """Whether the meta map of a blob or the index agrees with its header on its size."""
        start, end = judged.start(row), judged.end(row)
        if located := self.located.get(start):
            return located.size == end - start
        if self.reads_contents:
            return row in judged.contents
        by_meta = self._suggested(start).by_meta
        return by_meta is not None and by_meta.end == end

    def _unconfirmed(self, judged: Judged, row: int) -> Step:
        """A blob whose end only its header tells, and where it ends there is no border."""
        start, end = judged.start(row), judged.end(row)
        following = self.next_blob(start + HEADER_SIZE)
        if following < end and not self.is_spent:
            reason = f"it claims to end at {end:#x}, but a whole blob starts at {following:#x}"
            yield self._found(BAD_SIZE, Span(start, following), reason, self._lost(start))
            return following
        if self.is_damaged and self._is_nested(judged, row):
            yield Stretch(judged, row, row + 1, "nested")
            return end
        # The gap is too small for a blob, so either bytes were inserted or this blob is longer.
        if following - end < LEAST_SEALED:
            self.uncertain = Span(start, end)
        yield self._kept(Stretch(judged, row, row + 1, "uncertain" if self.uncertain.end == end else ""))
        return end

    def _broken(self, start: int, cause: Break | Flaw) -> Step:
        """A broken blob, or none: goes on where it ends, if something tells, else at the next whole blob."""
        code, reason, at = self._reason(start, cause)
        if extent := self._extent(start):
            yield self._found(code, Span(start, extent), reason, self._lost(start), at)
            return extent
        header = header_at(self.view, start)
        if self.is_spent and header and header.is_possible and header.end <= self.size:
            yield self._found(code, Span(start, header.end), reason, self._lost(start), at)
            return header.end
        following = self.next_blob(start + 1)
        if following == self.size and self._is_torn(start):
            yield self._found(TORN, Span(start, self.size), "", {"left": self.size - start, **self._lost(start)})
            return self.size
        self._claim(start)
        if header is None:
            yield self._found(NO_BLOB, Span(start, following), reason, self._doubt(start), at)
            return following
        yield self._found(code, Span(start, following), reason, self._lost(start), at)
        return following

    def _claim(self, start: int) -> None:
        """Note how far a broken blob may reach: blobs within may be its content."""
        header, by_meta = header_at(self.view, start), self._suggested(start).by_meta
        claim = by_meta or (header if header and header.is_possible else None)
        if claim and claim.end > self.owner.end:
            self.owner = Span(start, claim.end)

    def _suggested(self, start: int) -> Suggested:
        """The headers that a position suggests."""
        if self.suggested.start != start:
            any_magic = header_at(self.view, start, any_magic=True)
            self.suggested = Suggested(start, any_magic, any_magic and header_by_meta(self.view, start))
        return self.suggested

    def _doubt(self, start: int) -> dict[str, object]:
        """The two explanations for bytes after a blob whose end is not sure."""
        if self.uncertain.end != start:
            return {}
        return {"either": f"inserted bytes, or part of the blob at {self.uncertain.start:#x}, which is uncertain"}

    def _reason(self, start: int, cause: Break | Flaw) -> tuple[Code, str, int]:
        """Code, reason and position of what is wrong with a blob."""
        header, right = header_at(self.view, start), self._suggested(start).by_meta
        if header and right and self._is_border(right.end):
            for name, at in SIZES.items():
                said, meant = getattr(header, name), getattr(right, name)
                if said != meant:
                    return BAD_SIZE, f"{name} is {said}; by the meta map it is {meant}", start + at
        if isinstance(cause, Flaw):
            return cause.code, cause.reason, start + (CHUNK_ID if cause.code is BAD_ID else HEADER_SIZE)
        failure = cause.failure
        reason = f"{failure.reason} ({failure.spec}: {failure.path})"
        if failure.path in {"/seq/0", "/seq/1"}:
            return BAD_HEADER, reason, cause.at
        return BAD_SLOT if failure.path.startswith("/types/") else BAD_SIZE, reason, cause.at

    def _is_torn(self, start: int) -> bool:
        """Whether the rest of the pack is the start of a blob."""
        header = header_at(self.view, start)
        if header:
            return header.is_possible and header.end > self.size
        left = self.view[start : start + len(MAGIC)].tobytes()
        return self.size - start < HEADER_SIZE and MAGIC.startswith(left)

    def _extent(self, start: int) -> int:
        """Where a broken blob ends, if index, meta map or header lead to a border; else 0."""
        located, suggested = self.located.get(start), self._suggested(start)
        ends = [start + located.size] if located else []
        ends += [header.end for header in (suggested.by_meta, suggested.header) if header]
        return next((end for end in ends if start < end <= self.size and self._is_border(end)), 0)

    def _find_blob(self, start: int) -> int:
        """Where the next whole blob starts; the end of the pack if there is none."""
        while (start := self.starts.following(start)) < self.size and not self._is_whole(start):
            start += 1
        return start

    def _is_whole(self, start: int) -> bool:
        """Whether the blob that can start here seems to be one. The kernel has the last word.

        In encrypted modes both slots need one session. In the others the meta map must agree with the header on the
        size, unless a border follows.
        """
        header = header_at(self.view, start)
        if header is None:
            return False
        meta, data = start + HEADER_SIZE, start + HEADER_SIZE + header.len_meta
        if self.view[meta] in SEALED:
            return self.view[meta:][SESSION] == self.view[data:][SESSION]
        return _is_ended(self.view, header)

    def _flawed(self, judged: Judged, row: int, end: int) -> Finding:
        start = judged.start(row)
        code, reason, at = self._reason(start, judged.flaws[row])
        return self._found(code, Span(start, end), reason, self._lost(start), at)

    def _sealed_between(self, end: int) -> int:
        """How many blobs were sealed between the last intact one and the one at `end`; 0 if unknown.

        A key counts every slot that it seals, the data slot first. A pack as written leaves no number out.
        """
        header = header_at(self.view, end)
        data = end + HEADER_SIZE + header.len_meta if header else 0
        if not header or not self.last_seal or data + SESSION.stop > self.size or header.version not in ENVELOPES:
            return 0
        session, iv = self.last_seal
        if self.view[data] not in SEALED or self.view[data:][SESSION] != session:
            return 0
        return max(int.from_bytes(self.view[data:][IV], "big") - iv - 1, 0) // 2

    def _lost(self, start: int) -> dict[str, object]:
        known = self.located.get(start) or self._suggested(start).header
        if not known:
            return {"lost": "1 blob"}
        chunk_id = known.chunk_id.hex()
        return {"lost": f"1 blob, chunk {chunk_id[:12]}…", "chunk_id": chunk_id}

    def _found(
        self, code: Code, span: Span, reason: str, detail: Mapping[str, object], at: int | None = None
    ) -> Finding:
        self.is_damaged = True
        place: dict[str, object] = {"at": span.start if at is None else at, "reason": reason} if reason else {}
        several = bisect_left(self.offsets, span.end) - bisect_left(self.offsets, span.start)
        if several > 1:
            detail = {**detail, "lost": f"{counted(several, 'blob')}, as the index has it"}
        elif (sealed := self._sealed_between(span.end)) > 1:
            detail = {**detail, "lost": f"{counted(sealed, 'blob')}, as the counters around them tell"}
        return Finding(code, span, {**place, **detail}, f"thawline salvage {quoted(self.source.name)} -o .")


def _is_ended(view: memoryview, header: Header) -> bool:
    """Whether a border or the meta map confirms where a blob ends."""
    if header.end == len(view) or view[header.end : header.end + len(MAGIC)] == MAGIC:
        return True
    by_meta = header_by_meta(view, header.start)
    return by_meta is not None and by_meta.end == header.end


class NextBlob:
    """Where the next whole blob starts. For rising positions, no byte is searched twice."""

    def __init__(self, find: Callable[[int], int]) -> None:
        self.find, self.span = find, Span(0, 0)

    def __call__(self, start: int) -> int:
        """The offset of the first whole blob from a position on."""
        if not self.span.size or not self.span.start <= start <= self.span.end:
            self.span = Span(start, self.find(start))
        return self.span.end


class Ahead:
    """Blobs after damage, read some way ahead: a pack with damage at every blob costs no more than one without.

    Headers alone tell where blobs may lie; the kernel then reads all of these ranges at once. The walk decides where it
    goes on, so some of them are read for nothing.
    """

    def __init__(
        self, view: memoryview, wanted: tuple[str, ...], judge: Callable[[Chunk], Judged], find: Callable[[int], int]
    ) -> None:
        self.view, self.wanted, self.judge, self.next_blob = view, wanted, judge, NextBlob(find)
        self.found: dict[int, Stretch | Break] = {}
        """What was read and not yet requested, by where it starts."""
        self.reach = LEAST_REACH // 4
        self.covered = 0
        """Up to where ranges were read."""
        self.read = 0
        """Bytes read so far, with repetition."""

    def at(self, position: int) -> Stretch | Break:
        """The blobs from a position on, or why there is none."""
        if position + HEADER_SIZE <= len(self.view) and self.view[position : position + len(MAGIC)] != MAGIC:
            return _no_magic().moved(position)
        if position not in self.found:
            # The walk has left the ranges that were read: these were not what they seemed, so read less.
            is_used_up = not self.found and position >= self.covered
            self.reach = min(4 * self.reach, MOST_REACH) if is_used_up else LEAST_REACH
            self.found = dict(self._look(position))
        return self.found.pop(position)

    def _look(self, position: int) -> Iterator[tuple[int, Stretch | Break]]:
        ranges = list(self._ranges(position))
        self.covered = max((end for _, end, count in ranges if count < 0), default=position)
        self.read += sum(end - start for start, end, count in ranges if count < 0)
        for layer in _layers(ranges):
            yield from self._scanned(layer)

    def _scanned(self, ranges: list[Range]) -> Iterator[tuple[int, Stretch | Break]]:
        """What the kernel finds in ranges that do not overlap."""
        found = columns.scan(TABLE, self.view, Ranges.of(ranges), columns=())
        broken = {item.range_index: item for item in found if isinstance(item, Break)}
        yield from ((item.start, item) for item in broken.values())
        # A break ends a chunk. Intact ranges are read apart, so that there are not as many chunks as breaks.
        whole = [one for index, one in enumerate(ranges) if index not in broken]
        for chunk in columns.scan(TABLE, self.view, Ranges.of(whole), columns=self.wanted):
            assert isinstance(chunk, Chunk)  # noqa: S101 - broken ranges were taken out
            judged = self.judge(chunk)
            for first, last in _adjacent(chunk):
                yield judged.start(first), Stretch(judged, first, last)

    def _ranges(self, position: int) -> Iterator[Range]:
        """Where blobs may lie, one range each: the kernel gives up a range at its first break."""
        start, limit = position, min(position + self.reach, len(self.view))
        while start < limit:
            header = header_at(self.view, start)
            if header is None or not header.is_possible or header.end > len(self.view):
                if start == position:
                    yield start, len(self.view), 1  # the kernel tells what is wrong with the header
                    return
                start = self.next_blob(start)
                continue
            is_ended = _is_ended(self.view, header)
            if start > position and not is_ended and header.end - start > LEAST_REACH:
                return  # too much to read for a size that nothing confirms
            yield start, header.end, -1
            start = header.end if is_ended else self.next_blob(start + 1)


def _layers(ranges: Iterable[Range]) -> list[list[Range]]:
    """Ranges in a few lists without overlaps, up to the first range that would need one list more."""
    layers: list[list[Range]] = []
    for one in ranges:
        layer = next((layer for layer in layers if layer[-1][1] <= one[0]), None)
        if layer is None:
            if len(layers) == MOST_LAYERS:
                break
            layers.append(layer := [])
        layer.append(one)
    return layers


def _adjacent(chunk: Chunk) -> Iterator[tuple[int, int]]:
    """First row and end of each series of blobs that follow one another."""
    starts, rows = chunk.starts, len(chunk)
    is_apart = pc.not_equal(starts.slice(1), chunk.ends.slice(0, rows - 1))
    borders = [0, *pc.add(pc.indices_nonzero(is_apart).cast(pa.int64()), 1).to_pylist(), rows]
    return pairwise(borders)


@cache
def _no_magic() -> Break:
    """What the kernel finds where no magic stands."""
    (found,) = columns.scan(TABLE, bytes(HEADER_SIZE), columns=("version",))
    assert isinstance(found, Break)  # noqa: S101 - zeros are not a magic
    return found
