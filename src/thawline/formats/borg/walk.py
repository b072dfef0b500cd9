"""The forward walk over a pack: blob after blob, and on behind whatever is none.

A blob's size is believed when the pack or another blob's magic is at its end, or when its meta map says the same.
Else reading goes on at the next magic that starts a whole blob, looked for from inside the broken one. Packs inside of
packs inside of packs would be read as often as they are deep; after a few times the size of the file, broken blobs are
passed over as a whole.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Generator, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from typing import Literal

from thawline.engine import columns
from thawline.engine.chunks import Break, Chunk
from thawline.formats.borg.ahead import TABLE, Ahead, Searched
from thawline.formats.borg.contents import Allowance, Flaw
from thawline.formats.borg.findings import BAD_HEADER, BAD_ID, BAD_SIZE, BAD_SLOT, NO_BLOB, TORN
from thawline.formats.borg.header import (
    CHUNK_ID,
    ENVELOPES,
    HEADER_SIZE,
    IV,
    LEAST_SEALED,
    MAGIC,
    SESSION,
    SIZES,
    Header,
    header_at,
    header_by_meta,
    next_magic,
)
from thawline.formats.borg.judging import CONTENT_COLUMNS, ENVELOPE_COLUMNS, Judged, judge_contents, judge_envelopes
from thawline.formats.borg.modes import SEALED
from thawline.model import Code, Finding, Span
from thawline.source import Source
from thawline.wording import counted, quoted

FIRST_ROWS = 64
"""Blobs that are read in one go at first; four times as many the next time, up to what a chunk holds."""
PATIENCE = 8
"""How many times the size of a pack is read behind damage before broken blobs are passed over as a whole."""
Doubt = Literal["", "nested", "uncertain"]
Depth = Literal["heads", "contents"]


@dataclass(frozen=True, slots=True)
class Located:
    """Where the index says that a blob of this pack lies."""

    chunk_id: bytes
    size: int


@dataclass(frozen=True, slots=True)
class Stretch:
    """Blobs that follow one another and are intact, some rows of a chunk."""

    judged: Judged
    first: int
    last: int
    """The row behind the last."""
    doubt: Doubt = ""
    """`nested` if they may be content of a broken blob, `uncertain` if it is not sure where the blob ends."""

    @property
    def span(self) -> Span:
        """The bytes that they take."""
        return Span(self.judged.start(self.first), self.judged.end(self.last - 1))

    def kinds(self) -> dict[tuple[int, int], None]:
        """Object versions and key types of the blobs, each pair once."""
        batch = self.judged.chunk.batch.slice(self.first, len(self))
        pairs = zip(batch["version"].to_pylist(), batch["meta_key_type"].to_pylist(), strict=True)
        return dict.fromkeys(pairs)

    def __len__(self) -> int:
        return self.last - self.first


@dataclass(frozen=True, slots=True)
class Told:
    """What the bytes at a position tell about a blob there, whatever they are worth."""

    start: int
    header: Header | None
    """By its header, with any magic."""
    by_meta: Header | None
    """By its meta map."""


Step = Generator[Stretch | Finding, None, int]
"""What is found on the way; its value is where to go on."""


class Walk:
    """One walk over a pack, to the depth that is asked for."""

    def __init__(
        self,
        source: Source,
        depth: Depth = "contents",
        repository_version: int | None = None,
        located: Mapping[int, Located] | None = None,
    ) -> None:
        self.source = source.on_disk()
        self.view = self.source.view(0, self.source.size)
        self.size = self.source.size
        self.depth, self.repository_version, self.located = depth, repository_version, located or {}
        self.offsets = sorted(self.located)
        self.owner = Span(0, 0)
        """What the broken blob that reaches furthest claims to be its own, where nothing confirms it."""
        self.uncertain = Span(0, 0)
        """The last blob of which it is not sure where it ends."""
        self.key_type = 0
        """That of the blobs before the first damage, and so of all that belong to the pack; 0 if there are none."""
        self.last_seal: tuple[bytes, int] | None = None
        """Session and counter of the last intact blob, where it is encrypted."""
        self.damage = False
        """Whether something was broken before here."""
        self.allowance = Allowance()
        self.next_blob = Searched(self._find_blob)
        self.told = Told(-1, None, None)

    @cached_property
    def ahead(self) -> Ahead:
        """What is read behind damage."""
        return Ahead(self.view, self.wanted, self._judge, self._find_blob)

    @property
    def wanted(self) -> tuple[str, ...]:
        """Columns that are read of each blob."""
        return CONTENT_COLUMNS if self.depth == "contents" else ENVELOPE_COLUMNS

    @property
    def is_tired(self) -> bool:
        """Whether bytes were read so often that it is time to come to an end."""
        return self.damage and self.ahead.read > PATIENCE * self.size

    def items(self) -> Iterator[Stretch | Finding]:
        """Intact blobs and findings, in file order; they tile the pack."""
        position = yield from self._flow()
        while position < self.size:
            found = self.ahead.at(position)
            if isinstance(found, Break):
                position = yield from self._broken(position, found)
            else:
                position = yield from self._rows(found.judged, found.first, found.last)

    def _flow(self) -> Step:
        """Blobs from the start of the pack, up to one that ends elsewhere than its header says."""
        position = 0
        for item in self._chunks():
            if isinstance(item, Break):
                return (yield from self._broken(item.start, item))
            judged = self._judge(item)
            position = judged.end(len(judged) - 1)
            resumed = yield from self._rows(judged, 0, len(judged))
            if resumed != position:
                return resumed
        return position

    def _chunks(self) -> Iterator[Chunk | Break]:
        """Chunks of the pack, small ones first: what is behind a broken blob is read otherwise."""
        start, rows = 0, FIRST_ROWS
        while start < self.size:
            reading = columns.scan(TABLE, self.view[start:], columns=self.wanted, max_rows=rows)
            for item in reading:
                yield (moved := item.moved(start))
                if isinstance(moved, Chunk) and rows < columns.MAX_ROWS:
                    start, rows = moved.ends[-1].as_py(), min(4 * rows, columns.MAX_ROWS)
                    break
            else:
                return

    def _judge(self, chunk: Chunk) -> Judged:
        if self.depth == "contents":
            return judge_contents(chunk, self.repository_version, self.allowance)
        return judge_envelopes(chunk)

    def _rows(self, judged: Judged, first: int, end: int) -> Step:
        """Blobs of a chunk that follow one another; the flawed ones as findings."""
        last = end - 1
        is_ended = self._is_border(judged.end(last))
        for row in [row for row in range(first, end) if row in judged.flaws]:
            yield from self._stretches(judged, first, row)
            if row == last and not is_ended:
                return (yield from self._broken(judged.start(row), judged.flaws[row]))
            first, extent = row + 1, self._extent(judged.start(row))
            resumed = judged.end(row) if self.is_tired else extent or judged.end(row)
            yield self._flawed(judged, row, resumed)
            if resumed != judged.end(row):
                return resumed
        if first > last or is_ended or self._is_pinned(judged, last):
            yield from self._stretches(judged, first, end)
            return judged.end(last)
        yield from self._stretches(judged, first, last)
        return (yield from self._unconfirmed(judged, last))

    def _stretches(self, judged: Judged, first: int, last: int) -> Iterator[Stretch]:
        """Rows of a chunk, those apart that may be content of a broken blob."""
        if not self.damage:
            yield from [self._kept(Stretch(judged, first, last))] if last > first else []
            return
        for is_nested, group in groupby(range(first, last), lambda row: self._is_nested(judged, row)):
            rows = list(group)
            stretch = Stretch(judged, rows[0], rows[-1] + 1, "nested" if is_nested else "")
            yield stretch if is_nested else self._kept(stretch)

    def _kept(self, stretch: Stretch) -> Stretch:
        """A stretch of the pack's own blobs; what later ones are compared with is theirs."""
        if not self.damage:
            self.key_type = stretch.judged.key_type(stretch.first)
        self.last_seal = stretch.judged.seal(stretch.last - 1)
        return stretch

    def _is_nested(self, judged: Judged, row: int) -> bool:
        """Whether a blob may be content of a broken one: inside what that claims, or of another key than the pack.

        A magic inside encrypted bytes is one by chance, which no pack lives to see.
        """
        if self.key_type and judged.key_type(row) != self.key_type:
            return True
        is_sealed = judged.is_sealed(row) and self.view[self.owner.start + HEADER_SIZE] in SEALED
        return judged.end(row) <= self.owner.end and not is_sealed

    def _is_border(self, position: int) -> bool:
        """Whether the pack ends here or a magic stands here."""
        return position == self.size or self.view[position : position + len(MAGIC)] == MAGIC

    def _is_pinned(self, judged: Judged, row: int) -> bool:
        """Whether something besides its header says how large a blob is: its meta map, or the index."""
        start, end = judged.start(row), judged.end(row)
        if located := self.located.get(start):
            return located.size == end - start
        if self.depth == "contents":
            return row in judged.contents
        by_meta = self._told(start).by_meta
        return by_meta is not None and by_meta.end == end

    def _unconfirmed(self, judged: Judged, row: int) -> Step:
        """A blob of which only its header says where it ends, and nothing is there."""
        start, end = judged.start(row), judged.end(row)
        following = self.next_blob(start + HEADER_SIZE)
        if following < end and not self.is_tired:
            reason = f"it claims to end at {end:#x}, but a whole blob starts at {following:#x}"
            yield self._found(BAD_SIZE, Span(start, following), reason, self._lost(start))
            return following
        if self.damage and self._is_nested(judged, row):
            yield Stretch(judged, row, row + 1, "nested")
            return end
        # In a gap that has no room for a blob there was none: either bytes were put in, or the blob is longer.
        if following - end < LEAST_SEALED:
            self.uncertain = Span(start, end)
        yield self._kept(Stretch(judged, row, row + 1, "uncertain" if self.uncertain.end == end else ""))
        return end

    def _broken(self, start: int, cause: Break | Flaw) -> Step:
        """No blob, or one whose end is not known from its header; goes on where it ends, or at the next whole one."""
        code, reason, at = self._reason(start, cause)
        if extent := self._extent(start):
            yield self._found(code, Span(start, extent), reason, self._lost(start), at)
            return extent
        header = header_at(self.view, start)
        if self.is_tired and header and header.is_possible and header.end <= self.size:
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
        """Take in how far a broken blob may reach: what lies within may be its content."""
        header, by_meta = header_at(self.view, start), self._told(start).by_meta
        claim = by_meta or (header if header and header.is_possible else None)
        if claim and claim.end > self.owner.end:
            self.owner = Span(start, claim.end)

    def _told(self, start: int) -> Told:
        """What is told about a blob at a position."""
        if self.told.start != start:
            any_magic = header_at(self.view, start, any_magic=True)
            self.told = Told(start, any_magic, any_magic and header_by_meta(self.view, start))
        return self.told

    def _doubt(self, start: int) -> dict[str, object]:
        """What it means for the blob before that its end could not be confirmed."""
        if self.uncertain.end != start:
            return {}
        doubt = f"these bytes were put in, or they belong to the blob at {self.uncertain.start:#x}, marked uncertain"
        return {"either": doubt}

    def _reason(self, start: int, cause: Break | Flaw) -> tuple[Code, str, int]:
        """What kind of damage a refusal is, and where."""
        header, right = header_at(self.view, start), self._told(start).by_meta
        if header and right and self._is_border(right.end):
            for name, at in SIZES.items():
                if getattr(header, name) != getattr(right, name):
                    said, meant = getattr(header, name), getattr(right, name)
                    return BAD_SIZE, f"{name} is {said}; by the meta map it is {meant}", start + at
        if isinstance(cause, Flaw):
            return cause.code, cause.reason, start + (CHUNK_ID if cause.code is BAD_ID else HEADER_SIZE)
        failure = cause.failure
        reason = f"{failure.reason} ({failure.spec}: {failure.path})"
        if failure.path in {"/seq/0", "/seq/1"}:
            return BAD_HEADER, reason, cause.at
        return BAD_SLOT if failure.path.startswith("/types/") else BAD_SIZE, reason, cause.at

    def _is_torn(self, start: int) -> bool:
        """Whether what is left of the pack is the beginning of a blob."""
        header = header_at(self.view, start)
        if header:
            return header.is_possible and header.end > self.size
        left = self.view[start : start + len(MAGIC)].tobytes()
        return self.size - start < HEADER_SIZE and MAGIC.startswith(left)

    def _extent(self, start: int) -> int:
        """Where a broken blob ends, if the index, its meta map or its sizes lead to another blob; else 0."""
        located = self.located.get(start)
        ends = [start + located.size] if located else []
        told = self._told(start)
        ends += [header.end for header in (told.by_meta, told.header) if header]
        return next((end for end in ends if start < end <= self.size and self._is_border(end)), 0)

    def _find_blob(self, start: int) -> int:
        """Where the next whole blob starts; the end of the pack if there is none."""
        while (start := next_magic(self.view, start)) < self.size:
            if self._is_whole(start):
                break
            start += 1
        return start

    def _is_whole(self, start: int) -> bool:
        """Whether a blob starts here, by what can be seen at once: a hostile pack has a magic every eight bytes.

        Both slots start with the same key type, and in encrypted modes with the same session; in the others a meta map
        says how large the blob is, unless another one stands right behind it. The walk then asks the kernel.
        """
        header = header_at(self.view, start)
        if header is None or not header.is_possible or header.end > self.size or not header.len_data:
            return False
        meta, data = start + HEADER_SIZE, start + HEADER_SIZE + header.len_meta
        if not header.len_meta or self.view[meta] != self.view[data]:
            return False
        if self.view[meta] in SEALED:
            return self.view[meta:][SESSION] == self.view[data:][SESSION]
        by_meta = header_by_meta(self.view, start)
        return self._is_border(header.end) or (by_meta is not None and by_meta.end == header.end)

    def _flawed(self, judged: Judged, row: int, end: int) -> Finding:
        start = judged.start(row)
        code, reason, at = self._reason(start, judged.flaws[row])
        return self._found(code, Span(start, end), reason, self._lost(start), at)

    def _sealed_between(self, end: int) -> int:
        """How many blobs were sealed between the last intact one and the one at `end`, by their counters; 0 if unknown.

        A key counts on with each slot it seals, the data slot first; inside one pack as it was written nothing is left
        out.
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
        located = self.located.get(start)
        header = self._told(start).header
        known = located.chunk_id if located else header.chunk_id if header else b""
        if not known:
            return {"lost": "1 blob"}
        return {"lost": f"1 blob, chunk {known.hex()[:12]}…", "chunk_id": known.hex()}

    def _found(
        self, code: Code, span: Span, reason: str, detail: Mapping[str, object], at: int | None = None
    ) -> Finding:
        self.damage = True
        told: dict[str, object] = {"at": span.start if at is None else at, "reason": reason} if reason else {}
        several = bisect_left(self.offsets, span.end) - bisect_left(self.offsets, span.start)
        if several > 1:
            detail = {**detail, "lost": f"{counted(several, 'blob')}, as the index has it"}
        elif (sealed := self._sealed_between(span.end)) > 1:
            detail = {**detail, "lost": f"{counted(sealed, 'blob')}, as the counters around them tell"}
        return Finding(code, span, {**told, **detail}, f"thawline salvage {quoted(self.source.name)} -o .")


__all__ = ["Depth", "Doubt", "Located", "Stretch", "Walk"]
