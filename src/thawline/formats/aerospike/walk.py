"""The way through the text of a backup: from entry to entry, past what is damaged, with everything checked.

Kernels read the entries in chunks, `values` checks the chunks, and only what is odd is looked at one by one. Positions
are those of the text, which are those of the file unless that is compressed.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from thawline import columns
from thawline.chunks import Break, Chunk
from thawline.formats.aerospike.choice import HEADS, Choice, rows_of
from thawline.formats.aerospike.findings import (
    BROKEN,
    BROKEN_CONTEXT,
    LENIENT,
    NO_HEADER,
    NOT_UTF8,
    REFUSED_BY,
    SUSPECT,
    TRUNCATED,
    UNKNOWN_KIND,
)
from thawline.formats.aerospike.losses import closes, described, lost_unit, moved, told
from thawline.formats.aerospike.marks import Mark, lost_record, marks_of, refusal, wrong_contents
from thawline.formats.aerospike.parts import Part
from thawline.formats.aerospike.rows import KERNELS, context_json
from thawline.formats.aerospike.soundness import LOOKED_AT, Soundness
from thawline.formats.aerospike.strictness import LENIENTLY, Found, Making, Strictness
from thawline.formats.aerospike.text import LONGEST_ENTRY, Text
from thawline.formats.aerospike.tolerant import ASRESTORE, Broken, Look, Note
from thawline.formats.aerospike.units import Unit, encode, header
from thawline.formats.aerospike.values import BAD_TEXT, Decoded
from thawline.generated.kernels.tables import TABLES as READ
from thawline.model import Code, Finding, Span

if TYPE_CHECKING:
    from thawline.kernels import Probe

HEADER = re.compile(rb"Version (\d)\.(\d)\n")
HEADER_SIZE = 12
VERSIONS = frozenset({"3.0", "3.1", "3.2"})
STARTS = re.compile(rb"\n(?=\+ [kn] |\* [eiu] )")
UNKNOWN_META = re.compile(rb"(?:#(?! namespace| first-file\n)[^\n]*+\n)*+")
BACKSLASH = re.compile(rb"\\")
"""Version 3.0 has no escapes, which the kernels do not know, so that entries with one are read by themselves."""
LARGEST_RECORD = 8 << 20
"""Bytes of the largest record that a server takes: how far text that looks like records may lie inside a broken one."""
FIRST_ROOM = 64
"""Rows of a chunk after the kind of entry has changed; a file may change it with every line."""
CHECKED = frozenset(
    {
        "namespace", "set", "digest", "key_letter", "key_integer", "key_double", "key_data", "key_is_compact",
        "expiration", "bins",
    }
)  # fmt: skip
"""Columns of records that are looked at; the kernel checks the others by itself."""
ENTRIES = frozenset({b"+ ", b"* "})
"""What entries start with."""
MORE_BINS = b"- "
"""What the line of a bin starts with."""
TABLES = {b"+ k ": "records", b"+ n ": "records", b"* i ": "indexes", b"* e ": "indexes", b"* u ": "udfs"}


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
    is_wary: bool = False
    """Whether the entry here is likely to be one that no kernel reads, since the last one was."""

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
            plain = self._without_escapes(view)
            table = TABLES.get(bytes(view[:4]))
            table = table if table and self._is_read(table, plain) else None
            if table == "records" and self.quick and not self.quick.left:
                yield from self._sound(self.quick, plain, is_last=is_last and len(plain) == len(view))
            if table and self.pos == before:
                yield from self._chunks(table, plain, is_last=is_last and len(plain) == len(view))
            if self.pos == before:
                yield from self._closer(view, is_last=is_last)
            if self.pos > before:
                self.size = self.text.step
                self.text.release(self.pos)

    def _is_read(self, table: str, view: memoryview) -> bool:
        """Whether to make ready for a chunk, which has its price: not for one more entry that no kernel reads."""
        if self.is_wary and columns.native() is not None:
            end = probe(KERNELS[table]).end(view)
            self.is_wary = not end or (table == "records" and bytes(view[end : end + 2]) == MORE_BINS)
        return not self.is_wary

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
        yield self._found(BROKEN, Span(start, self.pos), {"at": start, "reason": "the rest of an entry"})

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
        yield from self._refused(notes, span, lambda: part) if notes else [part]

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
                    yield from self._broken(broken, view)
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
            suspect = "nested" if span.start < self.nested_to else None
            yield Part(span, found.rows, "records", quick.kept(view, found), 0, suspect)
            self.pos = self.last_complete = span.end
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
            checked = self._globals if table != "records" else self._chosen if self.choice else self._records
            yield from checked(chunk.moved(base), view, base)
            self.pos = self.last_complete = end
            if self._grow() or is_cut or self.is_spared or (self.quick and self.quick.is_due()):
                return
            self.text.release(end)

    def _chosen(self, heads: Chunk, view: memoryview, base: int) -> Iterator[Found]:
        """Records that are asked for, and how many are left out; of those nothing but the head is decoded."""
        choice = self.choice or Choice()
        is_first, self.is_behind_first = not self.is_behind_first, True
        mask = choice.mask(heads.batch)
        taken = len(heads) if mask is None else pc.sum(mask).as_py()
        starts, ends = _positions(heads.starts), _positions(heads.ends)
        span = Span(starts[0], ends[-1])
        suspect = "nested" if span.start < self.nested_to else None
        if not taken:
            self.is_spared = is_first and choice.spares(self.namespace, heads.batch)
            yield Part(span, len(heads), "records", heads, suspect=suspect, taken=0)
            return
        every = pa.repeat(pa.scalar(True), len(heads))  # noqa: FBT003 - a value, not a flag
        chunk = rows_of(KERNELS["records"], heads, every if mask is None else mask, view, base)
        decoded = Decoded(chunk) if chunk else None
        if decoded is None or marks_of(decoded, view, base, self.version):
            whole = rows_of(KERNELS["records"], heads, every, view, base)
            yield from self._records(whole, view, base) if whole else [self._found(BROKEN, span, {"at": span.start})]
            return
        yield Part(span, len(heads), "records", decoded, suspect=suspect, taken=taken)
        yield from _not_utf8(decoded, starts, ends[-1])

    def _records(self, chunk: Chunk, view: memoryview, base: int) -> Iterator[Found]:
        decoded = Decoded(chunk)
        marks = marks_of(decoded, view, base, self.version)
        starts, ends = _positions(chunk.starts), _positions(chunk.ends)
        row = 0
        for mark in _grouped(marks):
            if row < mark.row:
                yield self._part(decoded, row, mark.row, starts, ends)
            yield from self._marked(mark, decoded, starts, ends)
            row = mark.row + mark.rows
        if row < decoded.rows:
            yield self._part(decoded, row, decoded.rows, starts, ends)
        yield from _not_utf8(decoded, starts, ends[-1])

    def _part(self, decoded: Decoded, first: int, end: int, starts: array[int], ends: array[int]) -> Part:
        span = Span(starts[first], ends[end - 1])
        suspect = "nested" if span.start < self.nested_to else None
        return Part(span, end - first, "records", decoded, first, suspect)

    def _marked(self, mark: Mark, decoded: Decoded, starts: array[int], ends: array[int]) -> Iterator[Found]:
        """Rows that are odd in the same way: lost, or shown with a remark."""
        span = Span(starts[mark.row], ends[mark.row + mark.rows - 1])
        detail = dict(mark.detail)
        if mark.rows > 1:
            detail["records"] = mark.rows
        lost = lost_record(decoded, mark.row, mark.rows)
        if mark.code not in LENIENT:
            yield self._found(mark.code, span, {**detail, "lost": lost})
            return

        def part() -> Part | None:
            if mark.mended:
                return self._mended(mark.mended, span, mark.code)
            made = self._part(decoded, mark.row, mark.row + mark.rows, starts, ends)
            return replace(made, suspect=made.suspect or SUSPECT.get(mark.code))

        yield from self.rules.judged(mark.code, span, part, detail, lost, self.hint)

    def _refused(self, notes: list[Note], span: Span, part: Making, lost: str = "") -> Iterator[Found]:
        """What becomes of an entry that one tool refuses."""
        detail = {"at": notes[0].at, "reason": notes[0].reason}
        return self.rules.judged(refusal(notes), span, part, detail, lost, self.hint)

    def _mended(self, canonical: bytes, span: Span, code: Code | None = None) -> Part | None:
        """An entry that only one tool reads, from the bytes that both would."""
        table = TABLES[canonical[:4]]
        chunk = next(columns.scan(KERNELS[table], canonical))
        if isinstance(chunk, Break):
            return None
        starts, ends = (pa.array([place], pa.int64()) for place in (span.start, span.end))
        chunk = replace(chunk, starts=starts, ends=ends)
        suspect = "nested" if span.start < self.nested_to else None
        refused_by = REFUSED_BY.get(code) if code else None
        written, labels = self._written(canonical)
        if table != "records":
            return Part(span, 1, table, chunk, 0, suspect, refused_by, written, labels)
        decoded = Decoded(chunk)
        wrong = [SUSPECT[code] for code in wrong_contents(decoded)]
        return Part(span, 1, table, decoded, 0, suspect or (wrong[0] if wrong else None), refused_by, written, labels)

    def _written(self, canonical: bytes) -> tuple[bytes, dict[str, object]]:
        """A mended entry in the words of the file's version, and its labels; not all can be mended, as long names."""
        written = encode(Look(memoryview(canonical), 0).unit(), self.version)
        look = Look(memoryview(written), 0, self.version)
        look.unit()
        return written, {"version": self.version, **({"one_tool_only": True} if look.notes else {})}

    def _globals(self, chunk: Chunk, view: memoryview, base: int) -> Iterator[Found]:
        """Indexes and UDFs, which are few, so that each gets a closer look."""
        table = "indexes" if "path" in chunk.batch.schema.names else "udfs"
        starts, ends = _positions(chunk.starts), _positions(chunk.ends)
        first = 0
        for row, (start, end) in enumerate(zip(starts, ends, strict=True)):
            look = Look(view[: end - base], start - base, self.version)
            odd = list(self._odd_global(look, table, chunk, row, base))
            if not odd:
                continue
            if first < row:
                yield self._global_part(table, chunk, first, row, starts, ends)
            first = row + 1
            yield from odd
        if first < len(chunk):
            yield self._global_part(table, chunk, first, len(chunk), starts, ends)

    def _odd_global(self, look: Look, table: str, chunk: Chunk, row: int, base: int) -> Iterator[Found]:
        """An index or a UDF that is not simply intact; nothing if it is."""
        span = Span(chunk.starts[row].as_py(), chunk.ends[row].as_py())
        try:
            unit = look.unit()
        except Broken as broken:
            yield self._found(BROKEN, span, told(broken, base))
            return
        notes, is_context_broken = moved(look.notes, base), _is_broken_context(chunk, row)
        suspect = "nested" if span.start < self.nested_to else None
        part = Part(span, 1, table, chunk, row, suspect)

        def mended() -> Part:
            written, labels = self._written(encode(unit))
            return replace(part, refused_by=REFUSED_BY[refusal(notes)], mended=written, labels=labels)

        if notes:
            yield from self._refused(notes, span, mended, lost_unit(unit))
        elif is_context_broken:
            yield part
        if is_context_broken:
            yield Finding(BROKEN_CONTEXT, Span(span.end, span.end), {"index": chunk.batch["name"][row].as_py()})

    def _global_part(
        self, table: str, chunk: Chunk, first: int, end: int, starts: array[int], ends: array[int]
    ) -> Part:
        suspect = "nested" if starts[first] < self.nested_to else None
        return Part(Span(starts[first], ends[end - 1]), end - first, table, chunk, first, suspect)

    # Entries that they do not read.

    def _closer(self, view: memoryview, *, is_last: bool) -> Iterator[Found]:
        """One entry that no kernel reads: as one tool reads it, or past it."""
        self.is_wary = True
        look = Look(view, 0, self.version)
        try:
            unit = look.unit()
        except Broken as broken:
            if broken.is_cut and not is_last and len(view) < LONGEST_ENTRY:
                self.size = min(4 * self.size, LONGEST_ENTRY)
                return
            yield from self._broken(broken, view)
            return
        if not is_last and look.pos + 2 > len(view) and len(view) < LONGEST_ENTRY:
            self.size = min(4 * self.size, LONGEST_ENTRY)
            return
        span, notes = Span(self.pos, self.pos + look.pos), moved(look.notes, self.pos)
        self.pos = self.last_complete = span.end
        yield from self._alone(unit, span, notes)

    def _alone(self, unit: Unit, span: Span, notes: list[Note]) -> Iterator[Found]:
        """An entry that a tool reads and the kernel does not."""
        canonical, lost = encode(unit), lost_unit(unit)
        if notes:
            yield from self._refused(notes, span, lambda: self._mended(canonical, span, refusal(notes)), lost)
            return
        mended = self._mended(canonical, span)
        if mended is None:
            yield self._found(BROKEN, span, {"at": span.start, "lost": lost})
            return
        part = replace(mended, mended=b"")
        wrong = wrong_contents(part.content) if isinstance(part.content, Decoded) else []
        if wrong:
            yield from self.rules.judged(wrong[0], span, lambda: part, {"at": span.start}, lost, self.hint)
        else:
            yield part

    def _broken(self, broken: Broken, view: memoryview) -> Iterator[Finding]:
        """What is wrong with the entry that starts here; then the place is at the next one."""
        start = self.pos
        detail = told(broken, start)
        is_record = bytes(view[:2]) == b"+ "
        lost = described(view, self.version) if is_record else ""
        self.pos = self._resynced(start, start + broken.resume)
        ended = self._is_at_end()
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
        yield self._found(code, Span(start, self.pos), {**detail, **({"lost": lost} if lost else {})})
        self.nested_to = 0 if ended else start + broken.resume + broken.claimed if holds_rest else self._nested()
        self.enclosing = start if holds_rest else self.enclosing if self.nested_to else -1

    def _resynced(self, start: int, resume: int) -> int:
        """Where the next entry starts behind a broken one; the end of the text if there is none."""
        at = max(resume - 1, start)
        while True:
            view, is_last = self.text.window(at, max(self.size, self.text.step))
            for found in STARTS.finditer(view):
                if self._is_start(view, found.end()):
                    return at + found.end()
                if not is_last and found.end() > len(view) // 2:
                    break
            else:
                if is_last:
                    return at + len(view)
                at += max(len(view) - 8, 1)
                continue
            at += found.start()

    def _is_start(self, view: memoryview, at: int) -> bool:
        """Whether an entry starts here: a record's header up to its digest, or a whole index or UDF."""
        look = Look(view, at, self.version)
        try:
            look.head() if view[at] == ord("+") else look.unit()
        except Broken:
            return False
        return True

    def _nested(self) -> int:
        """Up to where what follows may be text inside of the broken record; 0 if it is not.

        Records that lie in a value are followed by the rest of that value, which starts no entry.
        """
        if self.enclosing < 0 or self.pos - self.enclosing > LARGEST_RECORD:
            return 0
        view, is_last = self.text.window(self.pos, LARGEST_RECORD)
        if columns.native() is not None:  # most often the first of what follows tells
            end = probe(KERNELS["records"]).end(view)
            if not end or bytes(view[end : end + 2]) == MORE_BINS:
                return end and self.pos + end
        reached = 0
        for item in columns.scan("aerospike_records", view, columns=()):
            if isinstance(item, Break):
                is_cut = is_last is False and len(view) - item.start < LARGEST_RECORD // 8
                is_entry = bytes(view[item.start : item.start + 2]) in ENTRIES
                return 0 if is_cut or is_entry or not reached else self.pos + item.start
            reached = item.ends[-1].as_py()
        return 0

    def _is_at_end(self) -> bool:
        return not len(self.text.window(self.pos, 1)[0])

    def _found(self, code: Code, span: Span, detail: Mapping[str, object]) -> Finding:
        return Finding(code, span, detail, self.hint)


@cache
def probe(table: str) -> Probe:
    """What tells whether the kernel of a table reads an entry; it needs the native module."""
    from thawline import kernels  # noqa: PLC0415 - as above

    return kernels.Probe(READ[table])


def _without_doubt(chunk: Chunk, view: memoryview, *, is_last: bool) -> tuple[Chunk, bool]:
    """A chunk without its last record where that may have more bins than it counts, and whether it was left out."""
    end = chunk.ends[-1].as_py()
    behind = bytes(view[end : end + 2])
    if behind != MORE_BINS and (is_last or len(behind) == 2):  # noqa: PLR2004 - the lead of a line
        return chunk, False
    rows = len(chunk) - 1
    # A slice that starts at 0 has the same buffers.
    return Chunk(chunk.batch[:rows], chunk.starts[:rows], chunk.ends[:rows], chunk.ranges[:rows]), True


def _not_utf8(decoded: Decoded, starts: array[int], end: int) -> Iterator[Finding]:
    """One finding for all strings of a chunk that are not UTF-8."""
    found = [(row, index) for row, index, problem in decoded.problems() if problem & BAD_TEXT]
    if found:
        row, index = found[0]
        detail = {"bins": len(found), "position": starts[row], "bin": decoded.bin_name(row, index)}
        yield Finding(NOT_UTF8, Span(end, end), detail)


def _positions(values: pa.Int64Array) -> array[int]:
    found = array("q")
    found.frombytes(memoryview(values.buffers()[1])[8 * values.offset : 8 * (values.offset + len(values))])
    return found


def _grouped(marks: list[Mark]) -> Iterator[Mark]:
    """Marks in the order of rows; those of rows in a row that say the same joined into one."""
    current: Mark | None = None
    for mark in marks:
        if current and mark.row == current.row + current.rows and mark.says_same_as(current):
            current = replace(current, rows=current.rows + 1)
            continue
        if current:
            yield current
        current = mark
    if current:
        yield current


def _is_broken_context(chunk: Chunk, row: int) -> bool:
    if "context" not in chunk.batch.schema.names:
        return False
    text = chunk.batch["context"][row].as_py()
    return bool(text) and context_json(text) is None
