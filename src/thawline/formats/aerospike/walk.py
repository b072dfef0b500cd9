"""The way through the text of a backup: from entry to entry, past what is damaged, with everything checked.

Kernels read the entries in chunks, `values` checks the chunks, and only what is odd is looked at one by one. Positions
are those of the text, which are those of the file unless that is compressed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from thawline import native
from thawline.engine import columns
from thawline.engine.chunks import Break, Chunk
from thawline.formats.aerospike.choice import HEADS, Choice
from thawline.formats.aerospike.findings import BROKEN, NO_HEADER, TRUNCATED, UNKNOWN_KIND
from thawline.formats.aerospike.judging import ChosenRecords, Globals, Judge, Records, nested
from thawline.formats.aerospike.losses import closes, described, lost_unit, moved, told
from thawline.formats.aerospike.mending import Mending
from thawline.formats.aerospike.parts import Part
from thawline.formats.aerospike.patches import CHECKED, LARGEST_PATCH, LONGEST_STRETCH, Patch, probe, reached
from thawline.formats.aerospike.rows import KERNELS, TABLES
from thawline.formats.aerospike.soundness import LOOKED_AT, Soundness
from thawline.formats.aerospike.strictness import LENIENTLY, Found, Strictness
from thawline.formats.aerospike.text import LONGEST_ENTRY, Text
from thawline.formats.aerospike.tolerant import ASRESTORE, Broken, Look, Note
from thawline.formats.aerospike.units import Unit, header
from thawline.model import Code, Finding, Span

HEADER = re.compile(rb"Version (\d)\.(\d)\n")
HEADER_SIZE = 12
VERSIONS = frozenset({"3.0", "3.1", "3.2"})
STARTS = re.compile(rb"\n(?=\+ [kn] |\* [eiu] )")
UNKNOWN_META = re.compile(rb"(?:#(?! namespace| first-file\n)[^\n]*+\n)*+")
BACKSLASH = re.compile(rb"\\")
"""Version 3.0 has no escapes, which the kernels do not know, so that entries with one are read by themselves."""
LARGEST_RECORD = 8 << 20
"""Bytes of the largest record that a server takes: how far text that looks like records may lie inside a broken one."""
FIRST_ROOM = LONGEST_STRETCH
"""Rows of a chunk after the kind of entry has changed; a file may change it with every line."""
ENTRIES = frozenset({b"+ ", b"* "})
"""What entries start with."""
BEHIND_HEAD = frozenset({b"+ g ", b"+ s "})
"""What the line behind the header of a record starts with; of one that is very long, the set may not be seen."""
MORE_BINS = b"- "
"""What the line of a bin starts with."""


@dataclass(slots=True)
class Walk:
    """One way through a text."""

    text: Text
    rules: Strictness = LENIENTLY
    hint: str = ""
    pos: int = 0
    version: str = "3.1"
    quick: Soundness | None = None
    """What passes over records that are intact beyond doubt; with it, parts are not asked for their rows."""
    table: str = ""
    room: int = FIRST_ROOM
    size: int = 0
    nested_to: int = 0
    """Up to where entries may be text inside of a record that is broken."""
    enclosing: int = -1
    head: tuple[int, Unit | None] = (-1, None)
    """Where an entry starts that the walk has come upon behind a broken one, and what it is; of a record its header."""
    behind_head: int = -1
    """Where that header ends; of an index or a UDF where it ends itself."""
    unread: int = -1
    """Where something starts that the kernel of records is known not to read."""
    last_complete: int = 0
    backslash: int = -1
    """Where the next one is, in a text of version 3.0."""
    choice: Choice | None = None
    """Which records are asked for."""
    namespace: str | None = None
    """What the meta data says."""
    is_behind_first: bool = False
    """Whether a record has been seen."""
    is_spared: bool = False
    """Whether the rest of the text holds nothing that is asked for."""
    is_patchy: bool = False
    """Whether few entries of a kind are likely to come here, since few came before."""
    seen: int = 0
    """Entries that kernels have read in one go."""
    is_written: bool = True
    """Whether the bytes that both tools read are wanted for entries that one of them refuses."""

    def items(self) -> Iterator[Found]:
        """Everything from the header line on."""
        yield from self._head()
        yield from self.entries()

    def entries(self) -> Iterator[Found]:
        """Everything behind the header and the meta data, or from anywhere in a text."""
        self.size = self.size or self.text.step
        while not self.is_spared:
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
        """The entries here that a kernel reads, or one that none does."""
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
            found = self._closer(view, self._judge.mending(), is_last=is_last)
            if found is None:
                self.size = min(4 * self.size, LONGEST_ENTRY)
            else:
                yield from found

    def _patch(self, view: memoryview, *, is_last: bool) -> Iterator[Found]:
        """Entries up to a long stretch of one kind, or as many as are told at a time."""
        patch, judge = Patch(view, self.pos), self._judge
        mending = judge.mending()
        while not patch.is_full(self.pos):
            rest = view[self.pos - patch.base :]
            if not len(rest) or (not is_last and 2 * len(rest) < len(view)):
                break
            rows = self._stretch(patch, rest, is_last=is_last)
            if rows == LONGEST_STRETCH:
                self.is_patchy = False
                break
            if not rows and not self._odd(patch, rest, mending, is_last=is_last):
                break
        quick = self.quick if self.quick and self.pos <= self.text.suspect_from else None
        yield from patch.found(judge, quick, self.choice)

    def _stretch(self, patch: Patch, view: memoryview, *, is_last: bool) -> int:
        """How many entries of a table come next that its kernel reads; they go into the patch unless they are many."""
        table = TABLES.get(bytes(view[:4]))
        if table is None:
            return 0
        self._prepare(table)
        if table == "records" and self.pos == self.unread:
            return 0
        plain, found = self._without_escapes(view), probe(table)
        rows = found.rows(plain)
        if table == "records" and rows and self.choice and not self.is_behind_first:
            return LONGEST_STRETCH  # the first records of a file tell whether to read on
        if rows == LONGEST_STRETCH or (rows and found.ends[rows - 1] > LARGEST_PATCH):
            return LONGEST_STRETCH
        if table == "records" and rows:
            rows -= _is_doubtful(plain, found.ends[rows - 1], is_last=is_last and len(plain) == len(view))
        if rows:
            span = Span(self.pos, self.pos + found.ends[rows - 1])
            patch.add(table, rows, span, self.nested_to)
            self.pos = self.last_complete = span.end
            self._grow()
        return rows

    def _odd(self, patch: Patch, view: memoryview, mending: Mending, *, is_last: bool) -> bool:
        """Whether an entry that no kernel reads is one that was seen to its end."""
        found = self._closer(view, mending, is_last=is_last)
        if found is not None:
            patch.steps.append(found)
        return found is not None

    @property
    def _judge(self) -> Judge:
        return Judge(self.rules, self.hint, self.version, self.is_written)

    def _without_escapes(self, view: memoryview) -> memoryview:
        """What the kernels may read of a window: in version 3.0 only what comes before the next backslash."""
        if self.version != "3.0":
            return view
        if self.backslash < self.pos:
            found = BACKSLASH.search(view)
            self.backslash = self.pos + (found.start() if found else len(view))
        return view[: self.backslash - self.pos]

    def lost_start(self) -> Iterator[Finding]:
        """What lies before the first entry, where a text starts in the middle of one."""
        view, _ = self.text.window(self.pos, self.text.step)
        if bytes(view[:4]) in TABLES:
            return
        start, self.pos = self.pos, self._resynced(self.pos, self.pos)
        yield self._found(BROKEN, Span(start, self.pos), rest_of_entry(start))

    # The header and the meta data.

    def _head(self) -> Iterator[Found]:
        view, _ = self.text.window(0, HEADER_SIZE)
        found = HEADER.fullmatch(view)
        version = f"{found[1].decode()}.{found[2].decode()}" if found else ""
        if version in VERSIONS:
            self.version = version
        elif not version or version > "3.2":
            yield from self._no_header(bytes(view))
            return
        self.pos = HEADER_SIZE
        old = version not in VERSIONS
        note = Note(0, f"version {version}, which asrestore does not know", ASRESTORE)
        yield from self._one(Span(0, HEADER_SIZE), [note] if old else [])
        yield from self._meta()

    def _one(self, span: Span, notes: list[Note], *, is_first_file: bool = False) -> Iterator[Found]:
        """A line that belongs to no table, and what one of the tools has against it.

        For a header that a tool refuses there is another, but none for meta data, which both can do without.
        """
        self.last_complete = span.end
        labels = {"header": not span.start, "first_file": is_first_file, "one_tool_only": bool(notes and span.start)}
        kept = {"version": self.version, **{label: True for label, on in labels.items() if on}}
        part = Part(span, 1, labels=kept, mended=header() if notes and not span.start else b"")
        yield from self._judge.refused(notes, span, lambda: part) if notes else [part]

    def _no_header(self, start: bytes) -> Iterator[Found]:
        view, is_last = self.text.window(0, 64)
        if is_last and any(header(version).startswith(bytes(view)) for version in VERSIONS):
            yield self._found(TRUNCATED, Span(0, len(view)), {"last_complete_record_ends_at": 0})
            self.pos = len(view)
            return
        line = bytes(view).find(b"\n") + 1
        starts = start.startswith(b"Version ") and line
        self.pos = line if starts else 0 if bytes(view[:4]) in TABLES else self._resynced(0, 0)
        reason = f"it starts with {bytes(view[:16])!r}"
        yield self._found(NO_HEADER, Span(0, self.pos), {"at": 0, "reason": reason})
        if starts:
            yield from self._meta()

    def _meta(self) -> Iterator[Found]:
        while True:
            view, _ = self.text.window(self.pos, 1 << 21)
            if bytes(view[:1]) != b"#":
                return
            look = Look(view, 0, self.version)
            try:
                meta = look.meta()
            except Broken as broken:
                if broken.is_cut:
                    yield self._broken(broken, view)
                    return
                more = UNKNOWN_META.match(view, broken.resume)
                start, self.pos = self.pos, self.pos + (more.end() if more else broken.resume)
                lines = {"lines": 1 + more[0].count(b"\n")} if more and more[0] else {}
                yield self._found(UNKNOWN_KIND, Span(start, self.pos), {**told(broken, start), **lines})
                continue
            span = Span(self.pos, self.pos + look.pos)
            self.pos = span.end
            self.namespace = self.namespace if meta.namespace is None else meta.namespace.decode("utf-8", "replace")
            yield from self._one(span, moved(look.notes, span.start), is_first_file=meta.namespace is None)

    # Entries that the kernels read.

    def _sound(self, quick: Soundness, view: memoryview, *, is_last: bool) -> Iterator[Part]:
        """Records that are intact beyond doubt, chunk by chunk, up to the first that needs a closer look."""
        base = self.pos
        self._prepare("records")
        for found in columns.places(KERNELS["records"], view, LOOKED_AT, self.room):
            if isinstance(found, Break):
                quick.misses(self.pos == base)
                return
            span = Span(base + found.start, base + found.end)
            is_whole = bytes(view[found.end : found.end + 2]) in ENTRIES or (is_last and found.end == len(view))
            if span.end > self.text.suspect_from or quick.misses(not is_whole or not quick.holds(view, found)):
                return
            yield Part(span, found.rows, "records", quick.kept(view, found), 0, nested(span, self.nested_to))
            self.pos = self.last_complete = span.end
            self.seen += found.rows
            if self._grow():
                return
            self.text.release(span.end)

    def _prepare(self, table: str) -> None:
        if table != self.table:
            self.table, self.room = table, FIRST_ROOM

    def _grow(self) -> bool:
        """Whether chunks were small, since the kind of entry had changed; the next ones are larger."""
        is_small = self.room < columns.MAX_ROWS
        self.room = min(16 * self.room, columns.MAX_ROWS)
        return is_small

    def _chunks(self, table: str, view: memoryview, *, is_last: bool) -> Iterator[Found]:
        base = self.pos
        wanted = None if table != "records" else HEADS if self.choice else CHECKED if self.quick else None
        self._prepare(table)
        for item in columns.scan(KERNELS[table], view, columns=wanted, max_rows=self.room):
            if isinstance(item, Break):
                return
            chunk, is_cut = _without_doubt(item, view, is_last=is_last) if table == "records" else (item, False)
            if not len(chunk):
                return
            end = base + chunk.ends[-1].as_py()
            yield from self._checked(table, chunk.moved(base), view, base)
            self.pos = self.last_complete = end
            self.seen += len(chunk)
            if self._grow() or is_cut or self.is_spared or (self.quick and self.quick.is_due()):
                return
            self.text.release(end)

    def _checked(self, table: str, chunk: Chunk, view: memoryview, base: int) -> Iterator[Found]:
        if table == "records" and self.choice:
            return self._chosen(chunk, view, base)
        if table == "records":
            return Records(self._judge, chunk, view, base).found(0, len(chunk), self.nested_to)
        return Globals(self._judge, table, chunk, view, base).found(0, len(chunk), self.nested_to)

    def _chosen(self, heads: Chunk, view: memoryview, base: int) -> Iterator[Found]:
        """Records that are requested, and how many are left out."""
        choice = self.choice or Choice()
        is_first, self.is_behind_first = not self.is_behind_first, True
        chosen = ChosenRecords(self._judge, choice, heads, view, base)
        if is_first and not chosen.taken(0, len(heads)):
            self.is_spared = choice.spares(self.namespace, heads.batch)
        yield from chosen.found(0, len(heads), self.nested_to)

    # Entries that they do not read.

    def _closer(self, view: memoryview, mending: Mending, *, is_last: bool) -> Iterator[Found] | None:
        """One entry that no kernel reads: as one tool reads it, or past it; None if more of the text is to be seen."""
        look = Look(view, 0, self.version)
        may_go_on = not is_last and len(view) < LONGEST_ENTRY
        try:
            unit = look.unit()
        except Broken as broken:
            return None if broken.is_cut and may_go_on else iter([self._broken(broken, view)])
        if may_go_on and look.pos + 2 > len(view):
            return None
        span, notes = Span(self.pos, self.pos + look.pos), moved(look.notes, self.pos)
        self.pos = self.last_complete = span.end
        return self._judge.alone(unit, span, notes, mending, self.nested_to)

    def _broken(self, broken: Broken, view: memoryview) -> Finding:
        """What is wrong with the entry that starts here; then the place is at the next one."""
        start = self.pos
        detail = told(broken, start)
        is_record = bytes(view[:2]) == b"+ "
        lost = self._described(view) if is_record else ""
        self.pos = self._resynced(start, start + broken.resume)
        ended = self.head[0] != self.pos
        if start < self.nested_to + 1 and not is_record and self.enclosing >= 0:
            detail["reason"] = f"the rest of the broken entry at {self.enclosing:#x}"
        elif is_record or (bytes(view[:1]) != b"*" and not closes(view, self.pos - start, self.version)):
            self.enclosing = start
        # A value that is cut may hold what looks like entries; a size that is damaged claims more than a record has.
        holds_rest = not ended and 0 < broken.claimed <= LARGEST_RECORD
        code = TRUNCATED if broken.is_cut and (ended or holds_rest) and not self.text.damage else BROKEN
        if code is TRUNCATED:
            detail["last_complete_record_ends_at"] = self.last_complete
        elif broken.is_unknown:
            code = UNKNOWN_KIND
        if self.text.damage and ended:
            detail["reason"] = f"the text ends here: {self.text.damage}"
        self.nested_to = 0 if ended else start + broken.resume + broken.claimed if holds_rest else self._nested()
        self.enclosing = start if holds_rest else self.enclosing if self.nested_to else -1
        return self._found(code, Span(start, self.pos), {**detail, **({"lost": lost} if lost else {})})

    def _described(self, view: memoryview) -> str:
        """The broken record here in the terms of whoever wrote it; its head may have been read to get here."""
        position, head = self.head
        return lost_unit(head) if position == self.pos else described(view, self.version)

    def _resynced(self, start: int, resume: int) -> int:
        """Where the next entry starts behind a broken one; the end of the text if there is none."""
        at = max(resume - 1, start)
        while True:
            view, is_last = self.text.window(at, max(self.size, self.text.step))
            for found in STARTS.finditer(view):
                look = Look(view, found.end(), self.version)
                if unit := _started(look):
                    self.head, self.behind_head = (at + found.end(), unit), at + look.pos
                    return at + found.end()
                if not is_last and found.end() > len(view) // 2:
                    break
            else:
                if is_last:
                    return at + len(view)
                at += max(len(view) - 8, 1)
                continue
            at += found.start()

    def _nested(self) -> int:
        """Up to where what follows may be text inside of the broken record; 0 if it is not.

        Records that lie in a value are followed by the rest of that value, which starts no entry.
        """
        if self.enclosing < 0 or self.pos - self.enclosing > LARGEST_RECORD:
            return 0
        view, is_last = self.text.window(self.pos, LARGEST_RECORD)
        behind = self.behind_head - self.pos
        # No kernel reads a record without a generation, which is quicker to see here.
        end = reached(view) if bytes(view[behind : behind + 4]) in BEHIND_HEAD else 0
        self.unread = -1 if end else self.pos
        is_cut = not is_last and len(view) - end < LARGEST_RECORD // 8
        if not end or end == len(view) or is_cut or bytes(view[end : end + 2]) in ENTRIES:
            return 0
        return self.pos + end

    def _found(self, code: Code, span: Span, detail: Mapping[str, object]) -> Finding:
        return Finding(code, span, detail, self.hint)


def _started(look: Look) -> Unit | None:
    """The entry that starts here: a record's header up to its set, or a whole index or UDF; else None."""
    try:
        return look.head() if look.text[look.pos] == ord("+") else look.unit()
    except Broken:
        return None


def has_entries(view: memoryview) -> bool:
    """Whether something in a text looks like the start of an entry."""
    return bytes(view[:4]) in TABLES or STARTS.search(view) is not None


def rest_of_entry(start: int) -> dict[str, object]:
    """What is said of text before the first entry, where it starts in the middle of one."""
    return {"at": start, "reason": "the rest of an entry"}


def _is_doubtful(view: memoryview, end: int, *, is_last: bool) -> bool:
    """Whether the record that ends here may have more bins than it counts."""
    behind = bytes(view[end : end + 2])
    return behind == MORE_BINS or (len(behind) < len(MORE_BINS) and not is_last)


def _without_doubt(chunk: Chunk, view: memoryview, *, is_last: bool) -> tuple[Chunk, bool]:
    """A chunk without its last record where that may have more bins than it counts, and whether it was left out."""
    if not _is_doubtful(view, chunk.ends[-1].as_py(), is_last=is_last):
        return chunk, False
    rows = len(chunk) - 1
    # A slice that starts at 0 has the same buffers.
    return Chunk(chunk.batch[:rows], chunk.starts[:rows], chunk.ends[:rows], chunk.ranges[:rows]), True
