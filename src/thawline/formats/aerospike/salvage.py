"""What goes into a new backup: canonical bytes for entries that one tool refuses, and the text of everything else.

An entry that no kernel reads is read once, by `entries.verdict_on`. Its canonical bytes serve twice: a kernel makes its
row from them, many entries in one scan, and salvage writes them.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate

import pyarrow as pa

from thawline.engine import columns
from thawline.engine.chunks import Break, Chunk, Ranges
from thawline.filters import Bound
from thawline.formats.aerospike.entries import Verdict
from thawline.formats.aerospike.findings import REFUSED_BY, SUSPECT, Stretch, wrong_content
from thawline.formats.aerospike.rows import KERNELS, TABLES, ChunkRows, Decoded
from thawline.formats.aerospike.text import Entries, Item, ZstdText, entries_of, opened_at
from thawline.formats.aerospike.write import encode, header
from thawline.model import Code, Finding, Run, Span
from thawline.source import Source

PIECE = 4 << 20
"""Bytes that are copied at a time."""

Pieces = Iterator[bytes | memoryview]


# One entry.


@dataclass(frozen=True, slots=True)
class Canonical:
    """An entry that is read from its canonical bytes instead of those in the file."""

    table: str
    number: int
    """Its index among the entries of its table."""
    span: Span
    written: bytes
    """The bytes for salvage; empty unless requested."""
    is_lasting: bool
    """Whether one tool also refuses these bytes."""


@dataclass(frozen=True, slots=True)
class _Row:
    """The row of such an entry."""

    content: ChunkRows
    row: int
    wrong: Code | None
    """What is wrong with its content."""


@dataclass(slots=True)
class CanonicalEntries:
    """Such entries of one window of the text. The first request for a row reads all of them; none is added later."""

    version: str
    is_written: bool
    """Whether their bytes are requested, for salvage."""
    _texts: dict[str, list[bytes]] = field(default_factory=dict)
    _spans: dict[str, list[Span]] = field(default_factory=dict)
    _rows: dict[str, dict[int, _Row]] = field(default_factory=dict)

    def add(self, verdict: Verdict, span: Span) -> Canonical:
        """Add an entry and its span in the text."""
        canonical = encode(verdict.entry)
        table = TABLES[canonical[:4]]
        number = len(self._texts.setdefault(table, []))
        self._texts[table].append(canonical)
        self._spans.setdefault(table, []).append(span)
        if not self.is_written:
            return Canonical(table, number, span, b"", is_lasting=False)
        written = encode(verdict.entry, self.version) if self.version == "3.0" else canonical
        return Canonical(table, number, span, written, verdict.is_lasting)

    def stretch(self, entry: Canonical, code: Code | None, suspect: str | None) -> Stretch | None:
        """The entry, which the tool of a code refuses; None if the kernel does not read its canonical bytes either."""
        found = self._row(entry)
        if found is None:
            return None
        return Stretch(
            entry.span,
            1,
            entry.table,
            found.content,
            found.row,
            suspect or (SUSPECT[found.wrong] if found.wrong else None),
            REFUSED_BY.get(code) if code else None,
            entry.written,
            is_lasting=entry.is_lasting,
        )

    def wrong(self, entry: Canonical) -> Code | None:
        """What is wrong with the content of an entry, if anything."""
        found = self._row(entry)
        return found.wrong if found else None

    def _row(self, entry: Canonical) -> _Row | None:
        table = entry.table
        if table not in self._rows:
            self._rows[table] = dict(_read(table, self._texts[table], self._spans[table]))
        return self._rows[table].get(entry.number)


def _read(table: str, texts: Sequence[bytes], spans: Sequence[Span]) -> Iterator[tuple[int, _Row]]:
    """The rows of the entries that the kernel reads, by number."""
    ends = array("q", accumulate(map(len, texts)))
    ranges = Ranges(array("q", [0, *ends[:-1]]), ends, array("q", [-1]) * len(texts))
    whole = b"".join(texts)
    for item in columns.scan(KERNELS[table], whole, ranges, max_rows=len(texts), max_bytes=len(whole) + 1):
        if isinstance(item, Break):
            continue
        numbers = item.ranges.to_pylist()
        chunk = _placed(item, [spans[number] for number in numbers])
        content = Decoded(chunk) if table == "records" else ChunkRows(table, chunk)
        wrong = wrong_content(content) if isinstance(content, Decoded) else {}
        for row, number in enumerate(numbers):
            yield number, _Row(content, row, wrong[row][0] if row in wrong else None)


def _placed(chunk: Chunk, spans: Sequence[Span]) -> Chunk:
    """The chunk with the positions that its rows have in the text of the file."""
    starts, ends = ([span.start for span in spans], [span.end for span in spans])
    return replace(chunk, starts=pa.array(starts, pa.int64()), ends=pa.array(ends, pa.int64()))


# A whole file.


def salvaged(source: Source, items: Iterable[Run | Finding]) -> Pieces:
    """The bytes of a backup with the entries of all runs, with a new header if the old one is lost.

    The new backup is not compressed.
    """
    texts = RunTexts(source)
    has_header = False
    for item in items:
        if isinstance(item, Run) and item.units:
            if not has_header and not entries_of(item).is_header:
                yield header()
            has_header = True
            yield from texts.of(item)
            texts.source.release(item.span.end)
    if not has_header:
        yield header()


def filtered(source: Source, items: Iterable[Item], where: Bound, kept: list[int]) -> Pieces:
    """The bytes of a backup with the records that meet conditions, and all that is no record. `kept` counts records."""
    texts = RunTexts(source)
    has_header = False
    for item in items:
        run, stretch = item.shown, item.stretch
        if not isinstance(run, Run) or stretch is None or stretch.suspect or stretch.is_lasting:
            continue
        if not has_header and not stretch.is_header:
            yield header()
        has_header = True
        if stretch.table != "records":
            yield from texts.of(run)
            continue
        spans = _matching_spans(stretch, where)
        kept[0] += len(spans)
        for span in _joined(spans):
            yield from texts.of(run, span)
        source.release(run.span.end)
    if not has_header:
        yield header()


def _matching_spans(stretch: Stretch, where: Bound) -> list[Span]:
    """The records of a stretch that meet conditions."""
    batches = stretch.batches("records", {*where.columns, "position", "length"})
    return [
        Span(start, start + length)
        for batch in where.matching(batches)
        for start, length in zip(batch["position"].to_pylist(), batch["length"].to_pylist(), strict=True)
    ]


def _joined(spans: Iterable[Span]) -> Iterator[Span]:
    """Spans, with those that touch joined."""
    current: Span | None = None
    for span in spans:
        if current and span.start == current.end:
            current = Span(current.start, span.end)
            continue
        if current:
            yield current
        current = span
    if current:
        yield current


class RunTexts:
    """The text of runs, requested in file order."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self._segment: int | None = None
        self._text: ZstdText | None = None

    def of(self, run: Run, span: Span | None = None) -> Pieces:
        """The bytes of a run's entries, or of those in a span of the text, so that both tools read them."""
        place = entries_of(run)
        if place.canonical:
            yield place.canonical
            return
        wanted = span or place.text or run.given or run.span
        for at in range(wanted.start, wanted.end, PIECE):
            end = min(at + PIECE, wanted.end)
            yield self._opened(place).window(at, end - at)[0] if place.text else self.source.view(at, end)

    def _opened(self, place: Entries) -> ZstdText:
        """The text of a segment, decompressed once for all its runs."""
        if self._text is None or self._segment != place.segment:
            self._segment = place.segment
            self._text = opened_at(self.source, place)
        return self._text
