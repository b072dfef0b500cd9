"""Entries that no kernel reads as they are, from the bytes that both tools read for them: many are read in one go."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate

import pyarrow as pa

from thawline.engine import columns
from thawline.engine.chunks import Break, Chunk, Ranges
from thawline.formats.aerospike.findings import REFUSED_BY, SUSPECT
from thawline.formats.aerospike.marks import wrong_contents
from thawline.formats.aerospike.parts import GlobalRows, Part
from thawline.formats.aerospike.rows import KERNELS, TABLES
from thawline.formats.aerospike.tolerant import Look
from thawline.formats.aerospike.units import encode
from thawline.formats.aerospike.values import Decoded
from thawline.model import Code, Span


@dataclass(frozen=True, slots=True)
class Mended:
    """An entry that is read from other bytes than those of the file."""

    table: str
    number: int
    """Which one it is of its table."""
    span: Span


@dataclass(frozen=True, slots=True)
class _Row:
    """Where it is once it was read."""

    content: Decoded | GlobalRows
    row: int
    wrong: Code | None
    """What is wrong inside of it."""


@dataclass(slots=True)
class Mending:
    """Such entries of one stretch of text. They are read when the first of them is asked for, and no more come."""

    version: str
    is_written: bool
    """Whether their bytes are wanted, too, for a new file."""
    _texts: dict[str, list[bytes]] = field(default_factory=dict)
    _spans: dict[str, list[Span]] = field(default_factory=dict)
    _rows: dict[str, dict[int, _Row]] = field(default_factory=dict)

    def add(self, canonical: bytes, span: Span) -> Mended:
        """Take an entry in: the bytes that both tools read for it, and where it is in the file."""
        table = TABLES[canonical[:4]]
        texts = self._texts.setdefault(table, [])
        texts.append(canonical)
        self._spans.setdefault(table, []).append(span)
        return Mended(table, len(texts) - 1, span)

    def part(self, mended: Mended, code: Code | None, suspect: str | None) -> Part | None:
        """The entry, which the tool of a code refuses; None if the kernel does not read these bytes, either."""
        found = self._found(mended)
        if found is None:
            return None
        written, labels = self._written(self._texts[mended.table][mended.number])
        suspect = suspect or (SUSPECT[found.wrong] if found.wrong else None)
        refused_by = REFUSED_BY.get(code) if code else None
        return Part(mended.span, 1, mended.table, found.content, found.row, suspect, refused_by, written, labels)

    def wrong(self, mended: Mended) -> Code | None:
        """What is wrong inside of an entry, if something is."""
        found = self._found(mended)
        return found.wrong if found else None

    def _found(self, mended: Mended) -> _Row | None:
        table = mended.table
        if table not in self._rows:
            self._rows[table] = dict(_read(table, self._texts[table], self._spans[table]))
        return self._rows[table].get(mended.number)

    def _written(self, canonical: bytes) -> tuple[bytes, dict[str, object]]:
        if not self.is_written:
            return b"", {"version": self.version}
        return written_anew(canonical, self.version)


def written_anew(canonical: bytes, version: str) -> tuple[bytes, dict[str, object]]:
    """A mended entry in the words of the file's version, and its labels; not all can be mended, as long names."""
    written = encode(Look(memoryview(canonical), 0).unit(), version)
    look = Look(memoryview(written), 0, version)
    look.unit()
    return written, {"version": version, **({"one_tool_only": True} if look.notes else {})}


def _read(table: str, texts: Sequence[bytes], spans: Sequence[Span]) -> Iterator[tuple[int, _Row]]:
    """The entries that the kernel reads, by their numbers."""
    ends = array("q", accumulate(map(len, texts)))
    ranges = Ranges(array("q", [0, *ends[:-1]]), ends, array("q", [-1]) * len(texts))
    whole = b"".join(texts)
    for item in columns.scan(KERNELS[table], whole, ranges, max_rows=len(texts), max_bytes=len(whole) + 1):
        if isinstance(item, Break):
            continue
        numbers = item.ranges.to_pylist()
        chunk = _placed(item, [spans[number] for number in numbers])
        content = Decoded(chunk) if table == "records" else GlobalRows(table, chunk)
        wrong = wrong_contents(content) if isinstance(content, Decoded) else {}
        for row, number in enumerate(numbers):
            yield number, _Row(content, row, wrong.get(row))


def _placed(chunk: Chunk, spans: Sequence[Span]) -> Chunk:
    """The chunk with its rows where they are in the file."""
    starts, ends = ([span.start for span in spans], [span.end for span in spans])
    return replace(chunk, starts=pa.array(starts, pa.int64()), ends=pa.array(ends, pa.int64()))
