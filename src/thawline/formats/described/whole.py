"""Files that are one structure, as a spec describes them: a picture, an archive, an executable."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

import pyarrow as pa

from thawline.compiler.language import Failure
from thawline.errors import SourceError
from thawline.formats.contract import Claim, Depth, Kind, Reading, Table
from thawline.formats.described.findings import (
    BROKEN,
    MISSING_BYTES,
    MORE_BYTES,
    UNREAD_INSTANCE,
    WRONG_PART,
    Flaw,
    broken,
    unproven,
)
from thawline.formats.described.layout import Layout
from thawline.formats.described.traces import trace_whole
from thawline.model import Finding, Run, Span
from thawline.source import Source
from thawline.tracing import Trace
from thawline.wording import counted

CONTEXT = 64
"""Bytes before damage that are shown with it."""
CAUSE = "looks_like"
"""The detail that says what usually causes such damage."""
CUT = "an unfinished write or a cut copy, or a length in it that is wrong: a field needs more bytes than there are"
ENDED = frozenset({"end", "seek"})
"""Failures that ask for bytes beyond the end."""


@dataclass(frozen=True, slots=True)
class WholeFile(Kind):
    """Files that are one structure."""

    format: str
    layout: Layout

    @property
    def name(self) -> str:  # type: ignore[override]
        """The name of the spec."""
        return self.layout.unit_name

    @property
    def unit_name(self) -> str:  # type: ignore[override]
        """The name of the spec."""
        return self.layout.unit_name

    @property
    def has_heads(self) -> bool:  # type: ignore[override]
        """False: the structure is read to know whether it is intact."""
        return False

    @property
    def tables(self) -> Mapping[str, Table]:
        """The structure as a row, and a table for each of its lists."""
        return self.layout.tables

    def claim(self, source: Source) -> Claim | None:
        """A claim by the contents that the spec fixes at the start, or by its file extension."""
        layout = self.layout
        if layout.magic and layout.leads(source):
            return Claim(self.format, "", "starts with the bytes that its spec fixes", "certain")
        if layout.is_named(source):
            return Claim(self.format, "", "is named like one", "possible")
        if layout.magic or not source.size:
            return None
        can_be_read = isinstance(layout.program.extent(source.on_disk().view(0, source.size)), int)
        return Claim(self.format, "", "can be read as its spec says", "possible") if can_be_read else None

    def walk(self, source: Source, depth: Depth) -> Iterator[Run | Finding]:
        """The structure, or what can be read of it; then what is wrong with it."""
        source = source.on_disk()
        end, flaws = source.size, []
        for item in self.layout.whole(source) if source.size else ():
            flaws += self._flaws(item)
            if isinstance(item, Failure) and item.is_fatal:
                end = min(max(item.position, 0), source.size)
        is_whole = all(flaw.code is not BROKEN for flaw in flaws)
        if is_whole and (rest := self.layout.rest(source)):
            flaws.append(Flaw(MORE_BYTES, {"reason": f"{counted(rest, 'byte')} from {source.size - rest:#x} on"}))
        yield Run(Span(0, end), int(is_whole), int(is_whole))
        for flaw in flaws:
            yield flaw.over(Span(end, source.size if flaw.code is BROKEN else end), source, self._next(flaw, end))

    def _next(self, flaw: Flaw, end: int) -> str:
        """What to run: of a single structure no part is a file by itself, but what was read is there as rows."""
        table = next(iter(self.layout.program.streamed), "")
        if flaw.code is BROKEN and end and table:
            return f"thawline cat --table {table} {{}}"
        return "thawline inspect {}"

    def _flaws(self, item: pa.StructArray | Failure) -> list[Flaw]:
        """What is wrong with the structure."""
        layout = self.layout
        if not isinstance(item, Failure):
            return [unproven(WRONG_PART, proof, layout.spec.id) for proof in layout.proofs if len(proof.wrong(item))]
        if item.is_fatal:
            flaw = broken(BROKEN, item, layout.parts)
            return [replace(flaw, detail={**flaw.detail, CAUSE: CUT})] if item.kind in ENDED else [flaw]
        return [broken(MISSING_BYTES if item.kind in ENDED else UNREAD_INSTANCE, item, layout.parts)]

    def rows(self, source: Source, items: Iterable[Run | Finding], table: str, columns: Collection[str]) -> Reading:
        """The structure with its rows."""
        for item in items:
            yield item if isinstance(item, Finding) else (item, self._batches(source.on_disk(), table, columns))

    def _batches(self, source: Source, table: str, columns: Collection[str]) -> Iterator[pa.RecordBatch]:
        for item in self.layout.whole_rows(source, table, columns) if source.size else ():
            if not isinstance(item, Failure):
                yield item

    def units(self, source: Source, run: Run) -> Iterator[Span]:
        """The structure, if it is whole."""
        if run.units:
            yield run.span

    def spec_at(self, source: Source, position: int) -> str:
        """The spec."""
        return self.layout.spec.id

    @property
    def context(self) -> int:
        """What leads to damage is in the same structure."""
        return CONTEXT

    def trace(self, source: Source, span: Span) -> Trace:
        """The fields of the file that are here."""
        return trace_whole(self.layout, source.on_disk(), span)

    def intact(self, source: Source) -> Iterator[Run | Finding]:
        """The items of a walk; refused where the file can be read to its end, and is damaged all the same."""
        found = list(self.walk(source, Depth.EVERYTHING))
        is_read = any(isinstance(item, Run) and item.units for item in found)
        if is_read and any(isinstance(item, Finding) and item.severity == "error" for item in found):
            raise SourceError(f"{source.name}: is damaged, and of one structure no part is a file by itself")
        return iter(found)

    def salvage(self, source: Source, items: Iterator[Run | Finding]) -> Iterator[bytes | memoryview]:
        """The file as it is, if it is whole: of a single structure, no part is valid by itself."""
        for item in items:
            if isinstance(item, Run) and item.units:
                yield source.view(item.span.start, item.span.end)
