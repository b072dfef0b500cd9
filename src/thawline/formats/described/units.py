"""Files of units that follow one another, each with its checksums, as a spec describes them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass

import pyarrow as pa

from thawline.errors import SourceError
from thawline.formats.contract import Claim, Depth, Kind, Reading, Table
from thawline.formats.described.findings import NO_HEAD, NO_UNIT, WRONG_CHECKSUM, broken, unproven
from thawline.formats.described.layout import MOST_UNITS, Layout, Units
from thawline.formats.described.traces import trace_unit
from thawline.model import Finding, Run, Span
from thawline.source import Source
from thawline.tracing import Trace

BUDGET, LEAST_BUDGET = 32, 1 << 20
"""A search reads at most this many times the file's size."""
LEAST_COST = 64
ROWS = "thawline cat {}"
"""What to run where a file has no head that a new file could start with."""
WINDOW = 1 << 20
"""Bytes in which the magic is looked for at a time."""


@dataclass(frozen=True, slots=True)
class UnitFile(Kind):
    """Files of units, after a head if the spec has one."""

    format: str
    layout: Layout

    @property
    def name(self) -> str:  # type: ignore[override]
        """The name of a unit."""
        return self.layout.unit_name

    @property
    def unit_name(self) -> str:  # type: ignore[override]
        """The spec's name for the type of a unit."""
        return self.layout.unit_name

    @property
    def has_heads(self) -> bool:  # type: ignore[override]
        """False: a unit is read to know where it ends."""
        return False

    @property
    def tables(self) -> Mapping[str, Table]:
        """A row a unit, then a table for each list in a unit."""
        return self.layout.tables

    def claim(self, source: Source) -> Claim | None:
        """A claim by an intact first unit, by its magic, or by the spec's file extension."""
        layout = self.layout
        if source.size and (layout.leads(source) or layout.is_named(source)):
            first = self._first(source)
            if first:
                sure = bool(layout.magic or layout.proofs)
                why = f"starts with {first}, as its spec says"
                return Claim(self.format, "", why, "certain" if sure else "possible")
            if layout.magic and layout.leads(source):
                return Claim(self.format, "", f"starts with a damaged {self.unit_name}", "likely")
        if layout.is_named(source):
            return Claim(self.format, "", "is named like one, but does not start with an intact unit", "possible")
        return None

    def _first(self, source: Source) -> str:
        """What the file starts with, if that is intact; else nothing."""
        start = self.layout.head_end(source)
        if isinstance(start, int) and start < source.size:
            return f"an intact {self.unit_name}" if Search(self.layout, source).is_unit(start) else ""
        return "an intact head" if start == source.size else ""

    def walk(self, source: Source, depth: Depth) -> Iterator[Run | Finding]:
        """Intact units and damage; the inside of an intact unit is not searched for units."""
        source = source.on_disk()
        search: Search | None = None
        head = self.layout.head_end(source)
        position = head if isinstance(head, int) else 0
        if position:
            yield Run(Span(0, position), 0, 0)
        why = None if isinstance(head, int) else broken(NO_HEAD, head, self.layout.parts)
        command = ROWS if why else ""
        while position < source.size:
            if why is None:
                for item in self.layout.units(source, Span(position, source.size)):
                    if not isinstance(item, Units):
                        why = broken(NO_UNIT, item, self.layout.parts)
                        break
                    yield from self._judged(item, source, command)
                    position = item.ends[-1]
                    source.release(position)
            if why is not None:
                search = search or Search(self.layout, source)
                end = search.following(position + 1)
                yield why.over(Span(position, end), source, command)
                position, why = end, None

    def _judged(self, found: Units, source: Source, command: str) -> Iterator[Run | Finding]:
        """Runs of the units that their checksums prove, and a finding for each of the others."""
        wrong = found.wrong(self.layout.proofs)
        first = 0
        for index, proof in wrong:
            if first < index:
                yield Run(Span(found.starts[first], found.starts[index]), index - first, index - first)
            span = Span(found.starts[index], found.ends[index])
            yield unproven(WRONG_CHECKSUM, proof, self.layout.spec.id).over(span, source, command)
            first = index + 1
        if first < len(found.starts):
            count = len(found.starts) - first
            yield Run(Span(found.starts[first], found.ends[-1]), count, count)

    def rows(self, source: Source, items: Iterable[Run | Finding], table: str, columns: Collection[str]) -> Reading:
        """Runs with their rows."""
        for item in items:
            yield item if isinstance(item, Finding) else (item, self._batches(source, item, table, columns))

    def _batches(self, source: Source, run: Run, table: str, columns: Collection[str]) -> Iterator[pa.RecordBatch]:
        """The rows of a run's units."""
        needed = self.layout.columns_for(table, columns)
        for found in self._units(source, run, needed) if run.units else ():
            yield self.layout.rows(found, table, columns)

    def _units(self, source: Source, run: Run, columns: Collection[str]) -> Iterator[Units]:
        most = min(run.units, MOST_UNITS)
        for item in self.layout.units(source.on_disk(), run.span, columns, most):
            if not isinstance(item, Units):
                raise SourceError(f"{source.name}: the {self.unit_name} changed while the file was read")
            yield item

    def units(self, source: Source, run: Run) -> Iterator[Span]:
        """The units of a run."""
        for found in self._units(source, run, ()) if run.units else ():
            yield from map(Span, found.starts, found.ends)

    def spec_at(self, source: Source, position: int) -> str:
        """The spec."""
        return self.layout.spec.id

    @property
    def context(self) -> int:
        """Damage starts where a unit should."""
        return 0

    def trace(self, source: Source, span: Span) -> Trace:
        """The fields of the unit that starts here."""
        return trace_unit(self.layout, source.on_disk(), span)

    def intact(self, source: Source) -> Iterator[Run | Finding]:
        """The items of a walk; refused where the head is damaged, since a new file would have none."""
        if not isinstance(self.layout.head_end(source.on_disk()), int):
            raise SourceError(
                f"{source.name}: what comes before the first {self.unit_name} is damaged, and a new file cannot be "
                "written without it; `thawline cat` and `thawline convert` give the rows"
            )
        return self.walk(source, Depth.EVERYTHING)

    def salvage(self, source: Source, items: Iterator[Run | Finding]) -> Iterator[bytes | memoryview]:
        """The head and the intact units, back to back."""
        return (source.view(item.span.start, item.span.end) for item in items if isinstance(item, Run))


class Search:
    """The next unit after damage: by its magic and its alignment, all rules of the spec, and its checksums.

    A candidate costs as many bytes as it makes the kernel read. The budget bounds them by the file's size, however a
    hostile file nests long candidates.
    """

    def __init__(self, layout: Layout, source: Source) -> None:
        self.layout, self.source = layout, source
        self.left = max(BUDGET * source.size, LEAST_BUDGET)

    def following(self, start: int) -> int:
        """Where the next intact unit starts; the end of the file if none is found."""
        position = self._candidate(start)
        while position < self.source.size and self.left > 0:
            if self.is_unit(position):
                return position
            position = self._candidate(position + 1)
        return self.source.size

    def is_unit(self, start: int) -> bool:
        """Whether an intact unit starts at a position."""
        end = self.layout.extent(self.source, start)
        self.left -= max((end if isinstance(end, int) else end.position) - start, LEAST_COST)
        if not isinstance(end, int) or end <= start:
            return False
        if not self.layout.proofs:
            return True
        found = next(self.layout.units(self.source, Span(start, end)), None)
        return isinstance(found, Units) and not found.wrong(self.layout.proofs)

    def _candidate(self, start: int) -> int:
        """The first position from here on where a unit may start; the end of the file if there is none."""
        layout, size = self.layout, self.source.size
        position = _aligned(start, layout.alignment)
        while layout.magic and position < size:
            found = self._magic(position)
            if found == _aligned(found, layout.alignment):
                return found
            position = _aligned(found, layout.alignment)
        return min(position, size)

    def _magic(self, start: int) -> int:
        """The first position from here on of a unit's magic; the end of the file if there is none."""
        magic, offset, size = self.layout.magic, self.layout.magic_at, self.source.size
        at = start + offset
        while at + len(magic) <= size:
            window = bytes(self.source.view(at, min(at + WINDOW, size)))
            found = window.find(magic)
            if found >= 0:
                return at + found - offset
            at += max(len(window) - len(magic) + 1, 1)
        return size


def _aligned(position: int, alignment: int) -> int:
    return -(-position // alignment) * alignment
