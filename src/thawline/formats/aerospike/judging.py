"""What is said of entries that a kernel has read: stretches of them that are intact, and findings about the others."""

from __future__ import annotations

import re
from array import array
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate

import pyarrow as pa

from thawline.engine.chunks import Chunk
from thawline.formats.aerospike.choice import Choice, rows_of
from thawline.formats.aerospike.findings import BROKEN, BROKEN_CONTEXT, LENIENT, NOT_UTF8, REFUSED_BY, SUSPECT
from thawline.formats.aerospike.losses import LOST_GLOBAL, lost_unit, moved, told
from thawline.formats.aerospike.marks import Mark, lost_record, marks_of, refusal
from thawline.formats.aerospike.mending import Mended, Mending, written_anew
from thawline.formats.aerospike.parts import GlobalRows, Part
from thawline.formats.aerospike.rows import KERNELS, contexts_json
from thawline.formats.aerospike.strictness import Found, Making, Strictness
from thawline.formats.aerospike.tolerant import (
    ASRESTORE,
    GLOBAL_IN_OLD_VERSION,
    LONGEST_TOKEN,
    Broken,
    Look,
    Note,
)
from thawline.formats.aerospike.units import Unit, encode
from thawline.formats.aerospike.values import BAD_TEXT, Decoded
from thawline.model import Code, Finding, Span

ORDINARY = re.compile(rb"\* [iu] [^\0]{0,%d}" % LONGEST_TOKEN)
"""An index or a UDF that the kernel has read, and in which one tool refuses nothing but, in version 3.0, all of it."""


@dataclass(frozen=True, slots=True)
class Judge:
    """What holds for the entries of a file that are not simply intact."""

    rules: Strictness
    hint: str
    version: str
    is_written: bool
    """Whether the bytes that both tools read are wanted for entries that one of them refuses."""

    def found(self, code: Code, span: Span, detail: Mapping[str, object]) -> Finding:
        """A finding about entries that are lost."""
        return Finding(code, span, detail, self.hint)

    def refused(self, notes: Sequence[Note], span: Span, part: Making, lost: str = "") -> Iterator[Found]:
        """What becomes of an entry that one tool refuses."""
        detail = {"at": notes[0].at, "reason": notes[0].reason}
        return self.rules.judged(refusal(notes), span, part, detail, lost, self.hint)

    def mending(self) -> Mending:
        """What reads entries from other bytes than those of the file."""
        return Mending(self.version, self.is_written)

    def alone(self, unit: Unit, span: Span, notes: Sequence[Note], mending: Mending, nested_to: int) -> Iterator[Found]:
        """An entry that a tool reads and the kernel does not. It joins the others at once, and is judged when asked."""
        return self._alone(unit, span, notes, mending, mending.add(encode(unit), span), nested(span, nested_to))

    def _alone(
        self, unit: Unit, span: Span, notes: Sequence[Note], mending: Mending, mended: Mended, suspect: str | None
    ) -> Iterator[Found]:
        lost = lost_unit(unit)
        if notes:
            code = refusal(notes)
            yield from self.refused(notes, span, lambda: mending.part(mended, code, suspect), lost)
            return
        part = mending.part(mended, None, suspect)
        if part is None:
            yield self.found(BROKEN, span, {"at": span.start, "lost": lost})
            return
        part = replace(part, mended=b"") if part.mended else part
        if wrong := mending.wrong(mended):
            yield from self.rules.judged(wrong, span, lambda: part, {"at": span.start}, lost, self.hint)
        else:
            yield part


def nested(span: Span, nested_to: int) -> str | None:
    """The mark of entries that may be text inside of a record that is broken."""
    return "nested" if span.start < nested_to else None


class Records:
    """Records of a chunk, decoded, and what is the matter with some of them."""

    def __init__(self, judge: Judge, chunk: Chunk, view: memoryview, base: int) -> None:
        self._judge, self.decoded = judge, Decoded(chunk)
        self.marks = marks_of(self.decoded, view, base, judge.version)
        self._starts, self._ends = positions(chunk.starts), positions(chunk.ends)
        self._mending = judge.mending()
        self._mended = {
            mark.row: self._mending.add(mark.mended, self._span(mark.row, mark.row + 1))
            for mark in self.marks
            if mark.mended
        }
        self._not_text = _not_text(self.decoded)

    def found(self, first: int, end: int, nested_to: int) -> Iterator[Found]:
        """What is said of the rows of one stretch."""
        row = first
        for mark in _grouped(_between(self.marks, first, end)):
            if row < mark.row:
                yield self._part(row, mark.row, nested_to)
            yield from self._marked(mark, nested_to)
            row = mark.row + mark.rows
        if row < end:
            yield self._part(row, end, nested_to)
        yield from self.not_utf8(first, end)

    def _span(self, first: int, end: int) -> Span:
        return Span(self._starts[first], self._ends[end - 1])

    def _part(self, first: int, end: int, nested_to: int) -> Part:
        span = self._span(first, end)
        return Part(span, end - first, "records", self.decoded, first, nested(span, nested_to))

    def _marked(self, mark: Mark, nested_to: int) -> Iterator[Found]:
        """Rows that are odd in the same way: lost, or shown with a remark."""
        span = self._span(mark.row, mark.row + mark.rows)
        detail = dict(mark.detail)
        if mark.rows > 1:
            detail["records"] = mark.rows
        lost = lost_record(self.decoded, mark.row, mark.rows)
        if mark.code not in LENIENT:
            yield self._judge.found(mark.code, span, {**detail, "lost": lost})
            return

        def part() -> Part | None:
            if mark.mended:
                return self._mending.part(self._mended[mark.row], mark.code, nested(span, nested_to))
            made = self._part(mark.row, mark.row + mark.rows, nested_to)
            return replace(made, suspect=made.suspect or SUSPECT.get(mark.code))

        yield from self._judge.rules.judged(mark.code, span, part, detail, lost, self._judge.hint)

    def not_utf8(self, first: int, end: int) -> Iterator[Finding]:
        """One finding for all strings of a stretch that are not UTF-8."""
        found = self._not_text[bisect_left(self._not_text, (first,)) : bisect_left(self._not_text, (end,))]
        return _not_utf8(self.decoded, found, self._starts, self._ends[end - 1])


class ChosenRecords:
    """Records of a chunk of which some are requested. Of the others nothing but the head is decoded."""

    def __init__(self, judge: Judge, choice: Choice, heads: Chunk, view: memoryview, base: int) -> None:
        self._judge, self._heads, self._view, self._base = judge, heads, view, base
        self._starts, self._ends = positions(heads.starts), positions(heads.ends)
        mask = choice.mask(heads.batch)
        self._mask = pa.repeat(pa.scalar(True), len(heads)) if mask is None else mask  # noqa: FBT003 - a value
        self._before = array("q", [0, *accumulate(map(bool, self._mask.to_pylist()))])
        """How many requested rows come before each row."""

    def taken(self, first: int, end: int) -> int:
        """How many rows of a stretch are requested."""
        return self._before[end] - self._before[first]

    def found(self, first: int, end: int, nested_to: int) -> Iterator[Found]:
        """What is said of the rows of one stretch. If one that is requested is odd, all of them are judged."""
        span, taken = Span(self._starts[first], self._ends[end - 1]), self.taken(first, end)
        suspect = nested(span, nested_to)
        if not taken:
            yield Part(span, end - first, "records", self._heads, suspect=suspect, taken=0)
            return
        chosen, row = self._chosen, self._before[first]
        if chosen and not any(_between(chosen.marks, row, row + taken)):
            yield Part(span, end - first, "records", chosen.decoded, row, suspect, taken=taken)
            yield from chosen.not_utf8(row, row + taken)
        elif self._all:
            yield from self._all.found(first, end, nested_to)
        else:
            yield self._judge.found(BROKEN, span, {"at": span.start})

    @cached_property
    def _chosen(self) -> Records | None:
        return self._read(self._mask)

    @cached_property
    def _all(self) -> Records | None:
        return self._read(pa.repeat(pa.scalar(True), len(self._heads)))  # noqa: FBT003 - a value, not a flag

    def _read(self, mask: pa.BooleanArray) -> Records | None:
        chunk = rows_of(KERNELS["records"], self._heads, mask, self._view, self._base)
        return Records(self._judge, chunk, self._view, self._base) if chunk else None


class Globals:
    """Indexes or UDFs of a chunk, of which few are there, so that each that is not ordinary gets a closer look."""

    def __init__(self, judge: Judge, table: str, chunk: Chunk, view: memoryview, base: int) -> None:
        self._judge, self._table, self._chunk = judge, table, chunk
        self._rows = GlobalRows(table, chunk)
        self._view, self._base = view, base
        self._starts, self._ends = positions(chunk.starts), positions(chunk.ends)
        self._broken_contexts = _broken_contexts(chunk)

    def found(self, first: int, end: int, nested_to: int) -> Iterator[Found]:
        """What is said of the rows of one stretch."""
        for row in range(first, end):
            odd = list(self._odd(row, nested_to))
            if not odd:
                continue
            if first < row:
                yield self._part(first, row, nested_to)
            first = row + 1
            yield from odd
        if first < end:
            yield self._part(first, end, nested_to)

    def _part(self, first: int, end: int, nested_to: int) -> Part:
        span = Span(self._starts[first], self._ends[end - 1])
        return Part(span, end - first, self._table, self._rows, first, nested(span, nested_to))

    def _odd(self, row: int, nested_to: int) -> Iterator[Found]:
        """An index or a UDF that is not simply intact; nothing if it is."""
        try:
            notes = self._notes(row)
        except Broken as broken:
            yield self._judge.found(BROKEN, Span(self._starts[row], self._ends[row]), told(broken, self._base))
            return
        has_broken_context = row in self._broken_contexts
        if notes:
            yield from self._refused(row, notes, nested_to)
        elif has_broken_context:
            yield self._part(row, row + 1, nested_to)
        if has_broken_context:
            end = self._ends[row]
            yield Finding(BROKEN_CONTEXT, Span(end, end), {"index": self._chunk.batch["name"][row].as_py()})

    def _notes(self, row: int) -> Sequence[Note]:
        """What one of the tools has against an entry; `Broken` if no tool reads it."""
        start = self._starts[row]
        if ORDINARY.fullmatch(self._view, start - self._base, self._ends[row] - self._base):
            return [Note(start, GLOBAL_IN_OLD_VERSION, ASRESTORE)] if self._judge.version == "3.0" else ()
        look = self._look(row)
        look.unit()
        return moved(look.notes, self._base)

    def _look(self, row: int) -> Look:
        return Look(self._view[: self._ends[row] - self._base], self._starts[row] - self._base, self._judge.version)

    def _refused(self, row: int, notes: Sequence[Note], nested_to: int) -> Iterator[Found]:
        span, version = Span(self._starts[row], self._ends[row]), self._judge.version

        def mended() -> Part:
            written: bytes = b""
            labels: dict[str, object] = {"version": version}
            if self._judge.is_written:
                written, labels = written_anew(encode(self._look(row).unit()), version)
            suspect, refused_by = nested(span, nested_to), REFUSED_BY[refusal(notes)]
            return Part(span, 1, self._table, self._rows, row, suspect, refused_by, written, labels)

        return self._judge.refused(notes, span, mended, LOST_GLOBAL)


def _broken_contexts(chunk: Chunk) -> set[int]:
    """Rows of indexes whose context cannot be decoded."""
    if "context" not in chunk.batch.schema.names or chunk.batch["context"].null_count == len(chunk):
        return set()
    texts = chunk.batch["context"].to_pylist()
    return {row for row, json in enumerate(contexts_json(texts)) if texts[row] and json is None}


def positions(values: pa.Int64Array) -> array[int]:
    """Numbers of a column without nulls."""
    found = array("q")
    found.frombytes(memoryview(values.buffers()[1])[8 * values.offset : 8 * (values.offset + len(values))])
    return found


def _not_text(decoded: Decoded) -> list[tuple[int, int]]:
    """Rows, and the index of the bin in it, of strings that are not UTF-8."""
    return [(row, index) for row, index, problem in decoded.problems() if problem & BAD_TEXT]


def _not_utf8(decoded: Decoded, found: list[tuple[int, int]], starts: array[int], end: int) -> Iterator[Finding]:
    if found:
        row, index = found[0]
        detail = {"bins": len(found), "position": starts[row], "bin": decoded.bin_name(row, index)}
        yield Finding(NOT_UTF8, Span(end, end), detail)


def _between(marks: Sequence[Mark], first: int, end: int) -> Iterable[Mark]:
    at = bisect_left(marks, first, key=lambda mark: mark.row)
    return marks[at : bisect_left(marks, end, at, key=lambda mark: mark.row)]


def _grouped(marks: Iterable[Mark]) -> Iterator[Mark]:
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
