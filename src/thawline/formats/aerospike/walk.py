"""The walk over a backup, entry by entry, and on after damage.

Kernels read entries in chunks, `checks` checks the chunks, and only entries that no kernel reads are parsed one by one.
After damage the walk resynchronises at the next record whose header is complete, or at the next index or UDF.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial

from thawline import native
from thawline.engine import columns
from thawline.engine.chunks import Break, Chunk
from thawline.formats.aerospike.checks import (
    CHECKED,
    HEADS,
    LARGEST_PATCH,
    LONGEST_STRETCH,
    QUICKLY_CHECKED,
    Globals,
    Judge,
    Patch,
    Records,
    SelectedRecords,
    Soundness,
    counter,
    nested,
    reached,
)
from thawline.formats.aerospike.entries import Broken, Entry, EntryReader, Note, verdict_on
from thawline.formats.aerospike.findings import (
    BROKEN,
    ENCRYPTED,
    LENIENTLY,
    NO_HEADER,
    OTHER_FORMAT,
    TRUNCATED,
    UNKNOWN_KIND,
    Found,
    Stretch,
    Strictness,
    lost_entry,
    reason_of,
    version_notes,
)
from thawline.formats.aerospike.rows import KERNELS, TABLES, Selection
from thawline.formats.aerospike.salvage import CanonicalEntries
from thawline.formats.aerospike.text import (
    HEADER,
    HEADER_SIZE,
    LATEST,
    LONGEST_ENTRY,
    VERSIONS,
    ZSTD_MAGIC,
    Entries,
    Frame,
    Frames,
    Item,
    PlainText,
    Text,
    ZstdText,
    first_bytes,
    is_asbx,
    is_noise,
    next_frame,
    plain_item,
    pruned_run,
    rest_of_entry,
    scrap_end,
    starts_in,
)
from thawline.formats.aerospike.write import header
from thawline.generated.kernels import constants, tolerant
from thawline.model import Code, Finding, Span
from thawline.source import Source
from thawline.wording import quoted

UNKNOWN_META = re.compile(rb"(?:#(?! namespace| first-file\n)[^\n]*+\n)*+")
BIN_COUNT = re.compile(re.escape(constants.AEROSPIKE_RECORD_LEAD_NUM_BINS) + rb"([0-9]{1,5})\n")
BACKSLASH = re.compile(rb"\\")
"""Version 3.0 has no escapes and kernels always decode them, so no kernel reads an entry of it with a backslash."""
LARGEST_RECORD = 8 << 20
"""The size of the largest record that a server accepts: how far text inside a broken record may look like records."""
FIRST_ROWS = LONGEST_STRETCH
"""Rows of the first chunk after the table has changed, as it may with every line; further chunks are larger."""
ENTRIES = frozenset({constants.AEROSPIKE_RECORD_LEAD, constants.AEROSPIKE_INDEX_LEAD})
"""The first bytes of entries."""
AFTER_HEAD = frozenset(tolerant.AEROSPIKE_RECORD_AFTER_HEAD)
"""The first bytes of the line after a record's header; the header of a very long record may end before its set."""


@dataclass(slots=True)
class Walk:
    """One walk over a text."""

    text: Text
    rules: Strictness = LENIENTLY
    hint: str = ""
    pos: int = 0
    version: str = LATEST
    quick: Soundness | None = None
    """Quick checks of records; with them, stretches have no rows."""
    selection: Selection | None = None
    """Which records are requested; None for all."""
    is_written: bool = True
    """Whether the bytes for salvage are requested, of entries that one tool refuses."""
    table: str = ""
    rows: int = FIRST_ROWS
    """Rows of the next chunk."""
    size: int = 0
    """The size of the next window."""
    nested_to: int = 0
    """The position up to which entries may be text inside a broken record."""
    enclosing: int = -1
    """Where that record starts."""
    head: tuple[int, Entry | None] = (-1, None)
    """Where the walk has resynchronised, and the entry there; of a record only its header."""
    after_head: int = -1
    """Where that header, index or UDF ends."""
    unread: int = -1
    """The position of an entry that the kernel of records is known not to read."""
    last_complete: int = 0
    """The end of the last entry that is complete."""
    backslash: int = -1
    """The position of the next backslash, in a text of version 3.0."""
    namespace: str | None = None
    """The namespace that the meta data states."""
    has_records: bool = False
    """Whether a record has been read."""
    is_pruned: bool = False
    """Whether the rest of the text holds no requested record."""
    is_patchy: bool = False
    """Whether stretches are likely to be short here, since the last one was."""
    seen: int = 0
    """The number of entries that kernels have read in the current window."""

    def items(self) -> Iterator[Found]:
        """Everything from the header line on."""
        yield from self._head()
        yield from self.entries()

    def entries(self) -> Iterator[Found]:
        """Everything after the header and the meta data, or from any position of a text."""
        self.size = self.size or self.text.step
        while not self.is_pruned:
            view, is_last = self.text.window(self.pos, self.size)
            if not len(view):
                return
            before = self.pos
            if self.is_patchy and self.size == self.text.step and native.is_compiled:
                yield from self._patch(view, is_last=is_last)
            if self.pos == before:
                yield from self._scanned(view, is_last=is_last)
            if self.pos > before:
                self.size = self.text.step
                self.text.release(self.pos)

    def _scanned(self, view: memoryview, *, is_last: bool) -> Iterator[Found]:
        """The entries here that a kernel reads, or one that no kernel reads."""
        before, self.seen = self.pos, 0
        plain = self._without_escapes(view)
        is_end = is_last and len(plain) == len(view)
        table = TABLES.get(bytes(view[:4]))
        if table == "records" and self.quick and not self.quick.left:
            yield from self._sound(self.quick, plain, is_last=is_end)
        if table and self.pos == before:
            yield from self._chunks(table, plain, is_last=is_end)
        self.is_patchy = self.seen < LONGEST_STRETCH
        if self.pos == before:
            found = self._parsed(view, self._judge.canonical_entries(), is_last=is_last)
            if found is None:
                self.size = min(4 * self.size, LONGEST_ENTRY)
            else:
                yield from found

    def _patch(self, view: memoryview, *, is_last: bool) -> Iterator[Found]:
        """Entries up to a long stretch of one table, or until the patch is full."""
        patch, judge = Patch(view, self.pos), self._judge
        entries = judge.canonical_entries()
        while not patch.is_full(self.pos):
            rest = view[self.pos - patch.base :]
            if not len(rest) or (not is_last and 2 * len(rest) < len(view)):
                break
            rows = self._step(patch, rest, is_last=is_last)
            if rows == LONGEST_STRETCH:
                self.is_patchy = False
                break
            if not rows:
                found = self._parsed(rest, entries, is_last=is_last)
                if found is None:
                    break
                patch.steps.append(found)
        quick = self.quick if self.quick and self.pos <= self.text.suspect_from else None
        yield from patch.found(judge, quick, self.selection)

    def _step(self, patch: Patch, view: memoryview, *, is_last: bool) -> int:
        """The number of entries here that a kernel reads. They join the patch unless they are many."""
        table = TABLES.get(bytes(view[:4]))
        if table is None:
            return 0
        self._prepare(table)
        if table == "records" and self.pos == self.unread:
            return 0
        plain, found = self._without_escapes(view), counter(table)
        rows = found.rows(plain)
        if table == "records" and rows and self.selection and not self.has_records:
            return LONGEST_STRETCH  # the first records of a file tell whether the rest can be pruned
        if rows == LONGEST_STRETCH or (rows and found.ends[rows - 1] > LARGEST_PATCH):
            return LONGEST_STRETCH
        if table == "records" and rows:
            rows -= _may_have_more(plain, found.ends[rows - 1], is_last=is_last and len(plain) == len(view))
        if rows:
            span = Span(self.pos, self.pos + found.ends[rows - 1])
            patch.add(table, rows, span, self.nested_to)
            self.pos = self.last_complete = span.end
            self._grow()
        return rows

    @property
    def _judge(self) -> Judge:
        return Judge(self.rules, self.hint, self.version, self.is_written)

    def _without_escapes(self, view: memoryview) -> memoryview:
        """What kernels may read of a window: in version 3.0 only the text before the next backslash."""
        if self.version != "3.0":
            return view
        if self.backslash < self.pos:
            found = BACKSLASH.search(view)
            self.backslash = self.pos + (found.start() if found else len(view))
        return view[: self.backslash - self.pos]

    def lost_start(self) -> Iterator[Finding]:
        """What is before the first entry, where a text starts inside one."""
        view, _ = self.text.window(self.pos, self.text.step)
        if bytes(view[:4]) in TABLES:
            return
        start, self.pos = self.pos, self._resynchronised(self.pos, self.pos)
        yield self._found(BROKEN, Span(start, self.pos), rest_of_entry(start))

    # The header and the meta data.

    def _head(self) -> Iterator[Found]:
        view, _ = self.text.window(0, HEADER_SIZE)
        found = HEADER.fullmatch(view)
        version = f"{found[1].decode()}.{found[2].decode()}" if found else ""
        if version in VERSIONS:
            self.version = version
        notes = version_notes(version.encode())
        if version not in VERSIONS and not notes:
            yield from self._no_header(bytes(view))
            return
        self.pos, self.last_complete, span = HEADER_SIZE, HEADER_SIZE, Span(0, HEADER_SIZE)
        line = Stretch(span, 1, canonical=header() if notes else b"", is_header=True)
        yield from self._judge.refused(notes, span, lambda: line) if notes else [line]
        yield from self._meta()

    def _no_header(self, start: bytes) -> Iterator[Found]:
        view, is_last = self.text.window(0, 64)
        if is_last and any(header(version).startswith(bytes(view)) for version in VERSIONS):
            yield self._found(TRUNCATED, Span(0, len(view)), {"last_complete_record_ends_at": 0})
            self.pos = len(view)
            return
        line = bytes(view).find(b"\n") + 1
        starts = start.startswith(constants.AEROSPIKE_HEADER_MAGIC) and line
        self.pos = line if starts else 0 if bytes(view[:4]) in TABLES else self._resynchronised(0, 0)
        yield self._found(NO_HEADER, Span(0, self.pos), {"at": 0, "reason": f"it starts with {bytes(view[:16])!r}"})
        if starts:
            yield from self._meta()

    def _meta(self) -> Iterator[Found]:
        """The lines of the meta data section."""
        while True:
            view, _ = self.text.window(self.pos, 1 << 21)
            if bytes(view[:1]) != b"#":
                return
            try:
                yield from self._meta_line(view)
            except Broken as broken:
                if broken.is_cut:
                    yield self._broken(broken, view)
                    return
                yield self._unknown_meta(broken, view)

    def _meta_line(self, view: memoryview) -> Iterator[Found]:
        """One line of meta data. Both tools can do without it, so a refused line has no canonical bytes."""
        reader = EntryReader(view, 0, self.version)
        meta, start = reader.meta(), self.pos
        self.pos = self.last_complete = start + reader.pos
        self.namespace = self.namespace if meta.namespace is None else meta.namespace.decode("utf-8", "replace")
        notes = [Note(start + note.at, note.reason, note.tool) for note in reader.notes]
        is_first_file, span = meta.namespace is None, Span(start, self.pos)
        line = Stretch(span, 1, is_first_file=is_first_file, is_lasting=bool(notes))
        yield from self._judge.refused(notes, span, lambda: line) if notes else [line]

    def _unknown_meta(self, broken: Broken, view: memoryview) -> Finding:
        """Lines of meta data that no tool knows, as one finding."""
        more = UNKNOWN_META.match(view, broken.resume)
        start, self.pos = self.pos, self.pos + (more.end() if more else broken.resume)
        lines = {"lines": 1 + more[0].count(b"\n")} if more and more[0] else {}
        return self._found(UNKNOWN_KIND, Span(start, self.pos), {**reason_of(broken, start), **lines})

    # Entries that kernels read.

    def _sound(self, quick: Soundness, view: memoryview, *, is_last: bool) -> Iterator[Stretch]:
        """Records that are intact beyond doubt, chunk by chunk, up to the first chunk that is not."""
        base = self.pos
        self._prepare("records")
        for found in columns.places(KERNELS["records"], view, QUICKLY_CHECKED, self.rows):
            if isinstance(found, Break):
                quick.misses(self.pos == base)
                return
            span = Span(base + found.start, base + found.end)
            is_whole = bytes(view[found.end : found.end + 2]) in ENTRIES or (is_last and found.end == len(view))
            if span.end > self.text.suspect_from or quick.misses(not is_whole or not quick.holds(view, found)):
                return
            yield Stretch(span, found.rows, "records", quick.kept(view, found), 0, nested(span, self.nested_to))
            self.pos = self.last_complete = span.end
            self.seen += found.rows
            if self._grow():
                return
            self.text.release(span.end)

    def _prepare(self, table: str) -> None:
        if table != self.table:
            self.table, self.rows = table, FIRST_ROWS

    def _grow(self) -> bool:
        """Enlarge the next chunk; whether the last one was smaller than the engine allows."""
        is_small = self.rows < columns.MAX_ROWS
        self.rows = min(16 * self.rows, columns.MAX_ROWS)
        return is_small

    def _chunks(self, table: str, view: memoryview, *, is_last: bool) -> Iterator[Found]:
        base = self.pos
        wanted = None if table != "records" else HEADS if self.selection else CHECKED if self.quick else None
        self._prepare(table)
        for item in columns.scan(KERNELS[table], view, columns=wanted, max_rows=self.rows):
            if isinstance(item, Break):
                return
            chunk, is_cut = _without_doubt(item, view, is_last=is_last) if table == "records" else (item, False)
            if not len(chunk):
                return
            end = base + chunk.ends[-1].as_py()
            yield from self._checked(table, chunk.moved(base), view, base)
            self.pos = self.last_complete = end
            self.seen += len(chunk)
            if self._grow() or is_cut or self.is_pruned or (self.quick and self.quick.is_due()):
                return
            self.text.release(end)

    def _checked(self, table: str, chunk: Chunk, view: memoryview, base: int) -> Iterator[Found]:
        if table == "records" and self.selection:
            return self._selected(self.selection, chunk, view, base)
        if table == "records":
            return Records(self._judge, chunk, view, base).found(0, len(chunk), self.nested_to)
        return Globals(self._judge, table, chunk, view, base).found(0, len(chunk), self.nested_to)

    def _selected(self, selection: Selection, heads: Chunk, view: memoryview, base: int) -> Iterator[Found]:
        """The requested records of a chunk. The first chunk tells whether the file can be pruned."""
        is_first, self.has_records = not self.has_records, True
        selected = SelectedRecords(self._judge, selection, heads, view, base)
        if is_first and not selected.requested(0, len(heads)):
            self.is_pruned = selection.prunes(self.namespace, heads.batch)
        yield from selected.found(0, len(heads), self.nested_to)

    # Entries that no kernel reads.

    def _parsed(self, view: memoryview, entries: CanonicalEntries, *, is_last: bool) -> Iterator[Found] | None:
        """What is found about one entry that no kernel reads; None if the window is too small for it."""
        may_grow = not is_last and len(view) < LONGEST_ENTRY
        try:
            verdict = verdict_on(view, 0, self.version, self.pos)
        except Broken as broken:
            return None if broken.is_cut and may_grow else iter([self._broken(broken, view)])
        if may_grow and verdict.end + 2 > len(view):
            return None
        span = Span(self.pos, self.pos + verdict.end)
        self.pos = self.last_complete = span.end
        return self._judge.odd(verdict, span, entries, nested(span, self.nested_to))

    def _broken(self, broken: Broken, view: memoryview) -> Finding:
        """The finding about the broken entry here; the walk resynchronises after it."""
        start = self.pos
        detail = reason_of(broken, start)
        is_record = bytes(view[: len(constants.AEROSPIKE_RECORD_LEAD)]) == constants.AEROSPIKE_RECORD_LEAD
        lost = self._described(view) if is_record else ""
        self.pos = self._resynchronised(start, start + broken.resume)
        ended = self.head[0] != self.pos
        if start < self.nested_to + 1 and not is_record and self.enclosing >= 0:
            detail["reason"] = f"the rest of the broken entry at {self.enclosing:#x}"
        elif is_record or (bytes(view[:1]) != b"*" and not _closes(view, self.pos - start, self.version)):
            self.enclosing = start
        # A value that is cut may hold text that looks like entries. A damaged size claims more than a record can have.
        holds_rest = not ended and 0 < broken.size <= LARGEST_RECORD
        code = TRUNCATED if broken.is_cut and (ended or holds_rest) and not self.text.damage else BROKEN
        if code is TRUNCATED:
            detail["last_complete_record_ends_at"] = self.last_complete
        elif broken.is_unknown:
            code = UNKNOWN_KIND
        if self.text.damage and ended:
            detail["reason"] = f"the text ends here: {self.text.damage}"
        self.nested_to = 0 if ended else start + broken.resume + broken.size if holds_rest else self._nested()
        self.enclosing = start if holds_rest else self.enclosing if self.nested_to else -1
        return self._found(code, Span(start, self.pos), {**detail, **({"lost": lost} if lost else {})})

    def _described(self, view: memoryview) -> str:
        """The broken record here in the user's terms. Resynchronisation may have read its header already."""
        position, head = self.head
        if position == self.pos:
            return lost_entry(head)
        try:
            return lost_entry(EntryReader(view, 0, self.version).head())
        except Broken:
            return "1 record, whose header is damaged"

    def _resynchronised(self, start: int, resume: int) -> int:
        """Where the next entry after a broken one starts; the end of the text if there is none."""
        at = max(resume - 1, start)
        while True:
            view, is_last = self.text.window(at, max(self.size, self.text.step))
            for found, _ in starts_in(view).within(0, len(view)):
                reader = EntryReader(view, found, self.version)
                if entry := started_entry(reader):
                    self.head, self.after_head = (at + found, entry), at + reader.pos
                    return at + found
                self.text.budget -= 1
                if self.text.budget < 0:
                    return at + len(view)
                if not is_last and found > len(view) // 2:
                    break
            else:
                if is_last:
                    return at + len(view)
                at += max(len(view) - 8, 1)
                continue
            at += found - 1

    def _nested(self) -> int:
        """The position up to which entries here may be text inside the broken record; 0 if they are not.

        Records inside a value are followed by the rest of that value, which starts no entry.
        """
        if self.enclosing < 0 or self.pos - self.enclosing > LARGEST_RECORD:
            return 0
        view, is_last = self.text.window(self.pos, LARGEST_RECORD)
        after = self.after_head - self.pos
        # No kernel reads a record without a generation, and this test is quicker.
        end = reached(view) if bytes(view[after : after + 4]) in AFTER_HEAD else 0
        self.unread = -1 if end else self.pos
        is_cut = not is_last and len(view) - end < LARGEST_RECORD // 8
        if not end or end == len(view) or is_cut or bytes(view[end : end + 2]) in ENTRIES:
            return 0
        return self.pos + end

    def _found(self, code: Code, span: Span, detail: Mapping[str, object]) -> Finding:
        return Finding(code, span, detail, self.hint)


def started_entry(reader: EntryReader) -> Entry | None:
    """The entry that starts here: the header of a record up to its set, or a whole index or UDF; else None."""
    try:
        return reader.head() if reader.text[reader.pos] == ord("+") else reader.entry()
    except Broken:
        return None


def _closes(view: memoryview, size: int, version: str) -> bool:
    """Whether the bins of a broken record end where the next entry starts, `size` bytes after the record's start.

    If they do not, that next entry may be text in one of its values.
    """
    found = BIN_COUNT.search(view, 0, size)
    if not found:
        return False
    reader = EntryReader(view, found.end(), version)
    try:
        reader.skip_bins(int(found[1]))
    except Broken:
        return False
    return reader.pos == size


def _may_have_more(view: memoryview, end: int, *, is_last: bool) -> bool:
    """Whether the record that ends here may have more bins than it states."""
    lead: bytes = constants.AEROSPIKE_RECORD_BIN_LEAD
    after = bytes(view[end : end + len(lead)])
    return after == lead or (len(after) < len(lead) and not is_last)


def _without_doubt(chunk: Chunk, view: memoryview, *, is_last: bool) -> tuple[Chunk, bool]:
    """A chunk without its last record if that may have more bins than it states, and whether it was left out."""
    if not _may_have_more(view, chunk.ends[-1].as_py(), is_last=is_last):
        return chunk, False
    rows = len(chunk) - 1
    # A slice that starts at 0 has the same buffers.
    return Chunk(chunk.batch[:rows], chunk.starts[:rows], chunk.ends[:rows], chunk.ranges[:rows]), True


# Files.


def items_of(
    source: Source,
    rules: Strictness,
    *,
    quick: Soundness | None = None,
    selection: Selection | None = None,
    is_written: bool = True,
) -> Iterator[Item]:
    """The runs and findings of a file, in file order; their spans tile it. With quick checks, runs have no rows.

    With `is_written`, entries that one tool refuses have their canonical bytes.
    """
    head, hint = first_bytes(source), f"thawline salvage {quoted(source.name)} -o intact.asb"
    started = partial(Walk, rules=rules, hint=hint, quick=quick, selection=selection, is_written=is_written)
    if not head:
        yield Item(Finding(TRUNCATED, Span(0, 0), {"reason": "the file is empty"}))
    elif head[:4] == ZSTD_MAGIC:
        yield from _compressed(Frames(source, hint), started)
    elif is_asbx(source, head):
        yield Item(Finding(OTHER_FORMAT, Span(0, source.size)))
    elif is_noise(head):
        yield Item(Finding(ENCRYPTED, Span(0, source.size), {"at": 0, "reason": "no text of a backup in it"}))
    else:
        walk = started(PlainText(source))
        for found in walk.items():
            yield plain_item(found, walk.version)
        if walk.is_pruned and walk.pos < source.size:
            yield Item(pruned_run(Span(walk.pos, source.size), Entries(version=walk.version)))


def _compressed(frames: Frames, started: Callable[..., Walk]) -> Iterator[Item]:
    """The runs and findings of a file of zstd frames: a walk for each segment, which ends at damage."""
    start, position, version = 0, 0, LATEST
    frame: Frame | None = None
    while start < len(frames.data):
        text = frames.text(start, position, frame)
        if start and (end := scrap_end(text, position)) is not None:
            yield frames.scrap(position, end)
            position = end
        else:
            walk = started(text, pos=position, version=version)
            yield from _segment(frames, walk, text, start)
            if text.budget < 0:
                yield frames.spent()
                return
            frames.budget = text.budget
            if walk.is_pruned:
                yield frames.pruned(walk.pos, text, walk.version)
                return
            position, version = walk.pos, walk.version
        start = text.reached
        yield from frames.rest(start)
        if text.damage:
            frame = None if text.is_full else next_frame(frames.data, start + 1)
            yield frames.broken(start, frame, text.damage)
            frame, position = yield from frames.stumps(frame, position)
            start = frames.position


def _segment(frames: Frames, walk: Walk, text: ZstdText, segment: int) -> Iterator[Item]:
    """The runs and findings of frames that follow one another without damage, from an offset on."""
    walk.is_patchy = segment > 0  # after damage, texts are likely to be short
    for finding in walk.lost_start() if segment else ():
        yield Item(frames.moved(finding))
    for found in walk.entries() if segment else walk.items():
        yield from frames.item(found, text, walk.version, segment)
        if text.budget < 0:
            return
