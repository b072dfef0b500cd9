"""Which entries are intact: checks of the entries that kernels read, and verdicts on the others.

`Soundness` passes whole chunks of records that are intact beyond doubt, natively and without columns. In other chunks,
`Records` marks the rows that are not. Only rows that a tool may refuse are read by `entries.verdict_on`, each once.
`Judge` turns marks and verdicts into stretches and findings.

A scan has a fixed cost, however few entries it reads. So in a text of short stretches a walk collects a `Patch`:
counters tell how far kernels read, one scan per table then reads all stretches, and the results are told in file order.
"""

from __future__ import annotations

import re
from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import accumulate
from threading import local
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from thawline import native
from thawline.engine import columns
from thawline.engine.buffers import copied_numbers
from thawline.engine.chunks import Break, Chunk, Places, Ranges
from thawline.formats.aerospike.entries import LONGEST_TOKEN, Broken, Note, Verdict, verdict_on
from thawline.formats.aerospike.findings import (
    BROKEN,
    BROKEN_CONTEXT,
    LENIENT,
    LOST_GLOBAL,
    NOT_UTF8,
    REFUSED_BY,
    SUSPECT,
    UNKNOWN_KIND,
    Found,
    Making,
    Sound,
    Stretch,
    Strictness,
    lost_entry,
    lost_rows,
    reason_of,
    refusal,
    wrong_content,
)
from thawline.formats.aerospike.rows import BAD_TEXT, KERNELS, ChunkRows, Decoded, Selection, contexts_json
from thawline.formats.aerospike.salvage import Canonical, CanonicalEntries
from thawline.formats.aerospike.write import encode
from thawline.generated.kernels.tables import TABLES as KERNEL_TABLES
from thawline.generated.kernels.tolerant import AEROSPIKE_UDF
from thawline.model import Code, Finding, Span
from thawline.native.constants.aerospike import DIGEST_SIZE
from thawline.provenance import unescaped

if TYPE_CHECKING:
    from thawline.engine.counting import RowCounter

HEADS = frozenset({"namespace", "set"})
"""Columns that tell whether a record is requested."""
CHECKED = frozenset(
    {
        "namespace", "set", "digest", "key_letter", "key_integer", "key_double", "key_data", "key_is_compact",
        "expiration", "bins",
    }
)  # fmt: skip
"""Columns of records that are checked here; the kernel checks the others."""
QUICKLY_CHECKED = frozenset(
    {
        "namespace", "set", "digest", "key_letter", "key_integer", "key_data", "key_is_compact", "expiration",
        "bins.letter", "bins.name", "bins.double", "bins.data", "bins.is_compact",
    }
)  # fmt: skip
"""Columns of records that `Soundness` checks."""
ORDINARY = re.compile(rb"\* [iu] [^\0]{0,%d}" % LONGEST_TOKEN)
"""An index or a UDF that the kernel reads and both tools accept, except in version 3.0, where asrestore refuses all."""
LONGEST_STRETCH = 64
"""A stretch with this many entries gets a scan of its own."""
MOST_STEPS, LARGEST_PATCH = 4096, 1 << 20
"""The most steps of a patch, and the most bytes, including the entry that exceeds them."""
LONGEST_VALUE = 1 << 20
"""The longest base-64 value that `Soundness` decodes: a server's block, which most records fit."""
LONGEST_WAIT = 16
"""After misses, at most this many chunks are read without trying `Soundness`."""
MESSAGES, HASHES = 8 << 10, 160
"""Sizes of the memory that `Soundness` hashes keys in."""


# Records that are intact beyond doubt.


class Soundness:
    """Memory for quick checks of one chunk of records after the other, and how often to try them."""

    def __init__(self, *, keeps_digests: bool = False) -> None:
        self._keeps_digests = keeps_digests
        self._room, self._digests = memoryview(bytearray(LONGEST_VALUE)), bytearray()
        self._messages, self._hashes, self._places = bytearray(MESSAGES), bytearray(HASHES), array("q", bytes(8 * 24))
        self._place = array("q", [0])
        self._wait = 0
        self.left = 0
        """The number of chunks to read without a quick check; doubled by each miss."""

    def holds(self, view: memoryview, found: Places) -> bool:
        """Whether both tools read all records of a chunk and their content is right."""
        if len(self._digests) <= DIGEST_SIZE * found.rows:
            self._digests = bytearray(DIGEST_SIZE * found.rows + 1)
        is_sound = self._are_heads_sound(view, found) and self._are_bins_sound(view, found)
        return is_sound and (not self._keeps_digests or self._has_one_namespace(view, found))

    def _has_one_namespace(self, view: memoryview, found: Places) -> bool:
        places = (found.arrays[("namespace",), part] for part in ("start", "length"))
        is_one: bool = native.functions.have_one_namespace(found.rows, view, *places)
        return is_one

    def kept(self, view: memoryview, found: Places) -> Sound | None:
        """What the account of a folder needs of a chunk that holds."""
        if not self._keeps_digests:
            return None
        start, size = (found.arrays[("namespace",), part][0] for part in ("start", "length"))
        name = bytes(view[start : start + (size if size >= 0 else -2 - size)])
        if size < 0:  # the kernel's mark for a name with escapes
            name = unescaped(name)
        return Sound(name.decode("utf-8", "replace"), bytes(self._digests[: DIGEST_SIZE * found.rows]))

    def misses(self, is_miss: bool) -> bool:  # noqa: FBT001 - it is what is counted
        """Count a quick check, which was in vain or not."""
        self._wait = min(max(2 * self._wait, 1), LONGEST_WAIT) if is_miss else 0
        self.left = self._wait
        return is_miss

    def is_due(self) -> bool:
        """Count a chunk that was read without a quick check; whether the next one gets it."""
        self.left = max(self.left - 1, 0)
        return not self.left

    def _are_heads_sound(self, view: memoryview, found: Places) -> bool:
        def part(name: str, of: str = "value") -> memoryview:
            return found.arrays[(name,), of]

        slices = (part(name, of) for name in ("namespace", "digest", "set") for of in ("start", "length"))
        check: Callable[..., bool] = native.functions.are_sound_heads
        return check(
            found.rows, view, *slices, part("key_letter", "valid"), part("key_letter"), part("key_is_compact"),
            part("key_integer"), part("key_data", "start"), part("key_data", "length"), part("expiration"),
            self._digests, self._messages, self._places, self._hashes,
        )  # fmt: skip

    def _are_bins_sound(self, view: memoryview, found: Places) -> bool:
        def part(name: str, of: str = "value") -> memoryview:
            return found.arrays[("bins", name), of]

        slices = (part(name, of) for name in ("name", "double", "data") for of in ("start", "length"))
        check: Callable[..., bool] = native.functions.are_sound_bins
        return check(found.items["bins",], view, part("letter"), part("is_compact"), *slices, self._room, self._place)


def quick_check(*, keeps_digests: bool = False) -> Soundness | None:
    """Quick checks; None without the native module."""
    return Soundness(keeps_digests=keeps_digests) if native.is_compiled else None


# Entries that are not intact, or not beyond doubt.


@dataclass(frozen=True, slots=True)
class Judge:
    """Turns what is known about entries of a file into stretches and findings."""

    rules: Strictness
    hint: str
    version: str
    is_written: bool
    """Whether the bytes for salvage are requested."""

    def found(self, code: Code, span: Span, detail: Mapping[str, object]) -> Finding:
        """A finding about entries that are lost."""
        return Finding(code, span, detail, self.hint)

    def refused(self, notes: Sequence[Note], span: Span, make: Making, lost: str = "") -> Iterator[Found]:
        """What becomes of an entry that one tool refuses."""
        detail = {"at": notes[0].at, "reason": notes[0].reason}
        return self.rules.judged(refusal(notes), span, make, detail, lost, self.hint)

    def canonical_entries(self) -> CanonicalEntries:
        """A collection for entries that no kernel reads."""
        return CanonicalEntries(self.version, self.is_written)

    def odd(self, verdict: Verdict, span: Span, entries: CanonicalEntries, suspect: str | None) -> Iterator[Found]:
        """An entry that a tool reads and the kernel does not. It joins the others now and is judged when iterated."""
        return self._odd(verdict, entries, entries.add(verdict, span), suspect)

    def _odd(
        self, verdict: Verdict, entries: CanonicalEntries, entry: Canonical, suspect: str | None
    ) -> Iterator[Found]:
        span, lost = entry.span, lost_entry(verdict.entry)
        if verdict.notes:
            code = refusal(verdict.notes)
            yield from self.refused(verdict.notes, span, lambda: entries.stretch(entry, code, suspect), lost)
            return
        stretch = entries.stretch(entry, None, suspect)
        if stretch is None:
            yield self.found(BROKEN, span, {"at": span.start, "lost": lost})
            return
        stretch = replace(stretch, canonical=b"") if stretch.canonical else stretch
        if wrong := entries.wrong(entry):
            yield from self.rules.judged(wrong, span, lambda: stretch, {"at": span.start}, lost, self.hint)
        else:
            yield stretch


def nested(span: Span, nested_to: int) -> str | None:
    """The value of `suspect` for entries that may be text inside a broken record."""
    return "nested" if span.start < nested_to else None


@dataclass(frozen=True, slots=True)
class Mark:
    """What is wrong with a row, or with rows that follow one another."""

    row: int
    code: Code
    detail: Mapping[str, object]
    canonical: Canonical | None = None
    """The entry to give instead, where only one tool reads the bytes in the file."""
    rows: int = 1

    def says_same_as(self, other: Mark) -> bool:
        """Whether two rows can share one finding."""
        return self.code == other.code and not self.canonical and not other.canonical


class Records:
    """Records of a chunk, decoded, with marks on those that are not intact."""

    def __init__(self, judge: Judge, chunk: Chunk, view: memoryview, base: int) -> None:
        self._judge, self.decoded, self._entries = judge, Decoded(chunk), judge.canonical_entries()
        self._starts, self._ends = copied_numbers(chunk.starts), copied_numbers(chunk.ends)
        marks = {row: Mark(row, *wrong) for row, wrong in wrong_content(self.decoded).items()}
        refusals = (self._refusal(row, view, base) for row in sorted(self.decoded.refusable()))
        marks |= {mark.row: mark for mark in refusals if mark}
        self.marks = [marks[row] for row in sorted(marks)]
        """At most one for each row, in the order of rows."""
        self._not_text = [(row, index) for row, index, problem in self.decoded.problems() if problem & BAD_TEXT]

    def _refusal(self, row: int, view: memoryview, base: int) -> Mark | None:
        """The mark of a row that a tool refuses; None if both tools read it."""
        span = self._span(row, row + 1)
        try:
            verdict = verdict_on(view[: span.end - base], span.start - base, self._judge.version, base)
        except Broken as broken:
            return Mark(row, UNKNOWN_KIND if broken.is_unknown else BROKEN, reason_of(broken, base))
        if not verdict.notes:
            return None
        first = verdict.notes[0]
        detail = {"at": first.at, "reason": first.reason}
        return Mark(row, refusal(verdict.notes), detail, self._entries.add(verdict, span))

    def found(self, first: int, end: int, nested_to: int) -> Iterator[Found]:
        """Stretches and findings of some rows."""
        row = first
        for mark in _grouped(marks_between(self.marks, first, end)):
            if row < mark.row:
                yield self._stretch(row, mark.row, nested_to)
            yield from self._marked(mark, nested_to)
            row = mark.row + mark.rows
        if row < end:
            yield self._stretch(row, end, nested_to)
        yield from self.not_utf8(first, end)

    def _span(self, first: int, end: int) -> Span:
        return Span(self._starts[first], self._ends[end - 1])

    def _stretch(self, first: int, end: int, nested_to: int) -> Stretch:
        span = self._span(first, end)
        return Stretch(span, end - first, "records", self.decoded, first, nested(span, nested_to))

    def _marked(self, mark: Mark, nested_to: int) -> Iterator[Found]:
        """Rows with the same mark: lost, or given with a finding."""
        span = self._span(mark.row, mark.row + mark.rows)
        detail = {**mark.detail, **({"records": mark.rows} if mark.rows > 1 else {})}
        lost = lost_rows(self.decoded, mark.row, mark.rows)
        if mark.code not in LENIENT:
            yield self._judge.found(mark.code, span, {**detail, "lost": lost})
            return

        def make() -> Stretch | None:
            if mark.canonical:
                return self._entries.stretch(mark.canonical, mark.code, nested(span, nested_to))
            made = self._stretch(mark.row, mark.row + mark.rows, nested_to)
            return replace(made, suspect=made.suspect or SUSPECT.get(mark.code))

        yield from self._judge.rules.judged(mark.code, span, make, detail, lost, self._judge.hint)

    def not_utf8(self, first: int, end: int) -> Iterator[Finding]:
        """One finding for all strings of some rows that are not UTF-8."""
        found = self._not_text[bisect_left(self._not_text, (first,)) : bisect_left(self._not_text, (end,))]
        if found:
            row, index = found[0]
            detail = {"bins": len(found), "position": self._starts[row], "bin": self.decoded.bin_name(row, index)}
            yield Finding(NOT_UTF8, Span(self._ends[end - 1], self._ends[end - 1]), detail)


def marks_between(marks: Sequence[Mark], first: int, end: int) -> Sequence[Mark]:
    """The marks of some rows."""
    at = bisect_left(marks, first, key=lambda mark: mark.row)
    return marks[at : bisect_left(marks, end, at, key=lambda mark: mark.row)]


def _grouped(marks: Iterable[Mark]) -> Iterator[Mark]:
    """Marks in the order of rows; equal marks of rows that follow one another are joined."""
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


class SelectedRecords:
    """Records of a chunk of which some are requested. Of the others only the head is decoded."""

    def __init__(self, judge: Judge, selection: Selection, heads: Chunk, view: memoryview, base: int) -> None:
        self._judge, self._heads, self._view, self._base = judge, heads, view, base
        self._starts, self._ends = copied_numbers(heads.starts), copied_numbers(heads.ends)
        mask = selection.mask(heads.batch)
        self._mask = pa.repeat(pa.scalar(True), len(heads)) if mask is None else mask  # noqa: FBT003 - a value
        self._before = array("q", [0, *accumulate(map(bool, self._mask.to_pylist()))])
        """The number of requested rows before each row."""

    def requested(self, first: int, end: int) -> int:
        """The number of requested rows among some."""
        return self._before[end] - self._before[first]

    def found(self, first: int, end: int, nested_to: int) -> Iterator[Found]:
        """Stretches and findings of some rows. If a requested one is not intact, all of them are decoded."""
        span, requested = Span(self._starts[first], self._ends[end - 1]), self.requested(first, end)
        suspect = nested(span, nested_to)
        if not requested:
            yield Stretch(span, end - first, "records", self._heads, suspect=suspect, requested=0)
            return
        selected, row = self._selected, self._before[first]
        if selected and not marks_between(selected.marks, row, row + requested):
            yield Stretch(span, end - first, "records", selected.decoded, row, suspect, requested=requested)
            yield from selected.not_utf8(row, row + requested)
        elif self._all:
            yield from self._all.found(first, end, nested_to)
        else:
            yield self._judge.found(BROKEN, span, {"at": span.start})

    @cached_property
    def _selected(self) -> Records | None:
        return self._read(self._mask)

    @cached_property
    def _all(self) -> Records | None:
        return self._read(pa.repeat(pa.scalar(True), len(self._heads)))  # noqa: FBT003 - a value, not a flag

    def _read(self, mask: pa.BooleanArray) -> Records | None:
        """Some rows with all their columns; None if the kernel does not read them in one scan."""
        starts, ends = self._heads.starts.filter(mask), self._heads.ends.filter(mask)
        ranges = Ranges.covering(pc.subtract(starts, self._base), pc.subtract(ends, self._base))
        size = len(self._view) + 1
        read = list(columns.scan(KERNELS["records"], self._view, ranges, max_rows=len(self._heads), max_bytes=size))
        if len(read) == 1 and isinstance(read[0], Chunk) and len(read[0]) == len(starts):
            return Records(self._judge, read[0].moved(self._base), self._view, self._base)
        return None


class Globals:
    """Indexes or UDFs of a chunk. A backup has few of them, so each that is not ordinary gets a verdict."""

    def __init__(self, judge: Judge, table: str, chunk: Chunk, view: memoryview, base: int) -> None:
        self._judge, self._rows = judge, ChunkRows(table, chunk)
        self._view, self._base = view, base
        self._starts, self._ends = copied_numbers(chunk.starts), copied_numbers(chunk.ends)
        self._broken_contexts = _broken_contexts(chunk)

    def found(self, first: int, end: int, nested_to: int) -> Iterator[Found]:
        """Stretches and findings of some rows."""
        for row in range(first, end):
            odd = list(self._odd(row, nested_to))
            if not odd:
                continue
            if first < row:
                yield self._stretch(first, row, nested_to)
            first = row + 1
            yield from odd
        if first < end:
            yield self._stretch(first, end, nested_to)

    def _span(self, first: int, end: int) -> Span:
        return Span(self._starts[first], self._ends[end - 1])

    def _stretch(self, first: int, end: int, nested_to: int) -> Stretch:
        span = self._span(first, end)
        return Stretch(span, end - first, self._rows.table, self._rows, first, nested(span, nested_to))

    def _odd(self, row: int, nested_to: int) -> Iterator[Found]:
        """What is found about an index or a UDF that is not intact; nothing if it is."""
        span, has_broken_context = self._span(row, row + 1), row in self._broken_contexts
        try:
            verdict = None if self._is_ordinary(span) else self._verdict(span)
        except Broken as broken:
            yield self._judge.found(BROKEN, span, reason_of(broken, self._base))
            return
        if notes := self._notes(span) if verdict is None else verdict.notes:
            yield from self._judge.refused(
                notes, span, lambda: self._refused(row, notes, verdict, nested_to), LOST_GLOBAL
            )
        elif has_broken_context:
            yield self._stretch(row, row + 1, nested_to)
        if has_broken_context:
            detail = {"index": self._rows.batch["name"][row].as_py()}
            yield Finding(BROKEN_CONTEXT, Span(span.end, span.end), detail)

    def _is_ordinary(self, span: Span) -> bool:
        return bool(ORDINARY.fullmatch(self._view, span.start - self._base, span.end - self._base))

    def _notes(self, span: Span) -> tuple[Note, ...]:
        """What one of the tools has against an ordinary entry, an index or a UDF: the version of the file."""
        refusals = (rule for rule in AEROSPIKE_UDF if self._judge.version in rule.condition.versions)
        return tuple(Note(span.start, rule.because, *rule.tools) for rule in refusals)

    def _verdict(self, span: Span) -> Verdict:
        text = self._view[: span.end - self._base]
        return verdict_on(text, span.start - self._base, self._judge.version, self._base)

    def _refused(self, row: int, notes: Sequence[Note], verdict: Verdict | None, nested_to: int) -> Stretch:
        """An entry that one tool refuses. An ordinary one is parsed only if its bytes are requested."""
        span, refused_by = self._span(row, row + 1), REFUSED_BY[refusal(notes)]
        stretch = Stretch(span, 1, self._rows.table, self._rows, row, nested(span, nested_to), refused_by)
        if not self._judge.is_written:
            return stretch
        verdict = verdict or self._verdict(span)
        written = encode(verdict.entry, self._judge.version)
        return replace(stretch, canonical=written, is_lasting=verdict.is_lasting)


def _broken_contexts(chunk: Chunk) -> set[int]:
    """Rows of indexes whose context cannot be decoded."""
    if "context" not in chunk.batch.schema.names or chunk.batch["context"].null_count == len(chunk):
        return set()
    texts = chunk.batch["context"].to_pylist()
    return {row for row, json in enumerate(contexts_json(texts)) if texts[row] and json is None}


# Short stretches.


_COUNTERS = local()
"""The counters of each thread: what one has found stands in its memory until it is used again."""


def counter(table: str) -> RowCounter:
    """The counter that tells how far the kernel of a table reads. It needs the native module."""
    from thawline.engine import counting  # noqa: PLC0415 - as above

    if not hasattr(_COUNTERS, table):
        setattr(_COUNTERS, table, counting.RowCounter(KERNEL_TABLES[KERNELS[table]], LONGEST_STRETCH))
    found: RowCounter = getattr(_COUNTERS, table)
    return found


def reached(view: memoryview) -> int:
    """How far records that the kernel reads follow one another."""
    end = 0
    if native.is_compiled:
        found = counter("records")
        while rows := found.rows(view[end:]):
            end += found.ends[rows - 1]
        return end
    for item in columns.scan(KERNELS["records"], view, columns=()):
        end = item.start if isinstance(item, Break) else item.ends[-1].as_py()
    return end


@dataclass(frozen=True, slots=True)
class Step:
    """Entries of one table that follow one another and that its kernel reads."""

    table: str
    first: int
    """The number of rows of the table before it in the patch."""
    rows: int
    span: Span
    nested_to: int
    """The position up to which entries may be text inside a broken record."""


Telling = Callable[[int, int, int], Iterator[Found]]
"""Tells the stretches and findings of some rows: the first, the end, and `nested_to`."""


@dataclass(slots=True)
class Patch:
    """What a walk has passed, to be told afterwards."""

    view: memoryview
    base: int
    """The position of the view's first byte."""
    steps: list[Step | Iterator[Found]] = field(default_factory=list)
    rows: dict[str, int] = field(default_factory=dict)

    def is_full(self, position: int) -> bool:
        """Whether a walk that has come to a position should tell what it has passed."""
        return len(self.steps) >= MOST_STEPS or position - self.base >= LARGEST_PATCH

    def add(self, table: str, rows: int, span: Span, nested_to: int) -> None:
        """Add entries that a kernel reads."""
        first = self.rows.get(table, 0)
        self.steps.append(Step(table, first, rows, span, nested_to))
        self.rows[table] = first + rows

    def found(self, judge: Judge, quick: Soundness | None, selection: Selection | None = None) -> Iterator[Found]:
        """Stretches and findings of the patch, in file order."""
        held: Stretch | None = None
        for item in self._found(judge, quick, selection):
            if held and isinstance(item, Stretch) and held.touches(item):
                held = held.with_next(item)
                continue
            if held:
                yield held
            held = item if isinstance(item, Stretch) else None
            if held is None:
                yield item
        if held:
            yield held

    def _found(self, judge: Judge, quick: Soundness | None, selection: Selection | None) -> Iterator[Found]:
        telling: dict[str, Telling] = {}
        for step in self.steps:
            if not isinstance(step, Step):
                yield from step
                continue
            if step.table not in telling:
                telling[step.table] = self._telling(step.table, judge, quick, selection)
            yield from telling[step.table](step.first, step.first + step.rows, step.nested_to)

    def _telling(self, table: str, judge: Judge, quick: Soundness | None, selection: Selection | None) -> Telling:
        if table != "records":
            return Globals(judge, table, self._read(table, None), self.view, self.base).found
        if selection:
            return SelectedRecords(judge, selection, self._read(table, HEADS), self.view, self.base).found
        if quick and (sound := self._sound(quick)):
            return sound
        return Records(judge, self._read(table, CHECKED if quick else None), self.view, self.base).found

    def _sound(self, quick: Soundness) -> Telling | None:
        """The telling of records that are all intact beyond doubt; None if they are not."""
        ranges, size = self._ranges("records"), len(self.view) + 1
        found = next(columns.places(KERNELS["records"], self.view, QUICKLY_CHECKED, self.rows["records"], size, ranges))
        if not isinstance(found, Places) or not quick.holds(self.view, found):
            return None
        kept = quick.kept(self.view, found)
        spans = {step.first: step.span for step in self.steps if isinstance(step, Step) and step.table == "records"}

        def tell(first: int, end: int, nested_to: int) -> Iterator[Found]:
            span, content = spans[first], kept.rows(first, end - first) if kept else None
            yield Stretch(span, end - first, "records", content, 0, nested(span, nested_to))

        return tell

    def _read(self, table: str, names: frozenset[str] | None) -> Chunk:
        ranges, rows = self._ranges(table), self.rows[table]
        size = len(self.view) + 1
        item = next(columns.scan(KERNELS[table], self.view, ranges, columns=names, max_rows=rows, max_bytes=size))
        if isinstance(item, Break) or len(item) != rows:
            raise AssertionError(f"{table}: a kernel does not read what its counter has read")
        return item.moved(self.base)

    def _ranges(self, table: str) -> Ranges:
        spans = [step.span for step in self.steps if isinstance(step, Step) and step.table == table]
        starts = array("q", (span.start - self.base for span in spans))
        ends = array("q", (span.end - self.base for span in spans))
        return Ranges(starts, ends, array("q", [-1]) * len(starts))
