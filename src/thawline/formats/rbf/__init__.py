"""RBF logs: frames between fences, with their length at both ends, readable from either end.

Layout: https://github.com/Atelia-org/atelia/blob/76f827f82ecd247db938c8754ca941811087a1d2/docs/Rbf/rbf-format.md

The rows of a file are the frames that the document's reverse scan finds (section 6).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass

import pyarrow as pa

from thawline.batches import first, last
from thawline.formats.contract import Ask, Claim, Depth, Format, Kind, Overview, Reading, Section, Table
from thawline.formats.rbf import salvage
from thawline.formats.rbf.findings import CODES
from thawline.formats.rbf.frame import FENCE, is_newer_layout
from thawline.formats.rbf.rows import Frames, first_frame, frames
from thawline.formats.rbf.walk import beginning, ending, fence_after, run_of, sections, tiles
from thawline.generated.tables.rbf import FRAMES
from thawline.model import Finding, Run, Span
from thawline.source import Source

SEARCHED = 1 << 16
"""Bytes at the start of a file that are searched for a fence, where the genesis fence is lost."""


@dataclass(frozen=True, slots=True)
class Rbf(Format):
    """RBF logs."""

    tag: tuple[int, ...] | None = None

    name = "rbf"
    title = "RBF log (Reversible Binary Framing)"
    codes = CODES

    @property
    def kinds(self) -> tuple[Kind, ...]:
        """Logs."""
        return (Log(self),)


@dataclass(frozen=True, slots=True)
class Log(Kind):
    """A log: the genesis fence, then frames, each followed by a fence."""

    rbf: Rbf

    name = "log"
    unit_name = "frame"
    overview = Overview(
        "frames",
        (
            Ask("addresses", "range", ("address",)),
            Ask("tags", "values", ("tag",)),
            Ask("tombstones", "sum", ("tombstone",)),
            Ask("frame bytes", "sum", ("length",)),
        ),
    )

    @property
    def tables(self) -> Mapping[str, Table]:
        """The frames."""
        return {"frames": Table.of(FRAMES)}

    def claim(self, source: Source) -> Claim | None:
        """A log starts with a fence; one that lost it is recognised by its name and its first fence."""
        head = bytes(source.view(0, min(source.size, len(FENCE))))
        if head == FENCE:
            if is_newer_layout(source):
                why = "starts with the fence RBF1, frames end as in layout 0.40"
                return Claim(self.rbf.name, "0.40", why, "certain")
            return Claim(self.rbf.name, "0.27", "starts with the fence RBF1", "certain")
        if not source.name.endswith(".rbf"):
            return None
        if source.size < len(FENCE):
            return Claim(self.rbf.name, "0.27", "named .rbf, and too short to hold even a fence", "possible")
        first = bytes(source.view(0, min(source.size, SEARCHED))).find(FENCE, len(FENCE))
        why = f"named .rbf, with a fence at {first:#x}, but none at its start"
        return Claim(self.rbf.name, "0.27", why, "possible") if first > 0 else None

    def walk(self, source: Source, depth: Depth) -> Iterator[Run | Finding]:
        """Intact frames and findings; nothing less than every checksum tells where frames are."""
        return tiles(source)

    are_sections_final = False
    """After damage, the end of the file tells which of the frames before it count."""

    def boundary(self, source: Source, position: int) -> int:
        """After the first fence that a frame seems to follow."""
        return fence_after(source, position)

    def sections(self, source: Source, depth: Depth, size: int, within: Span) -> Iterator[Section]:
        """Stretches between fences."""
        return sections(source, size, within)

    def rest(self, source: Source, depth: Depth, start: int) -> Iterator[Run | Finding]:
        """All of the file, unless all sections hold."""
        return tiles(source) if start < source.size else iter(())

    def rows(self, source: Source, items: Iterable[Run | Finding], table: str, columns: Collection[str]) -> Reading:
        """Runs with their frames; of frames with other tags than requested only the head is read."""
        return frames(source, items, self.rbf.tag, columns)

    def head(self, source: Source, rows: int, table: str, columns: Collection[str]) -> list[pa.RecordBatch] | None:
        """The first frames, read from the start of the file; None where damage comes before their end."""
        stretches = beginning(source, rows) if self.rbf.tag is None else None
        if stretches is None:
            return None
        runs = map(run_of, stretches)
        return list(first((batch for run in runs for batch in Frames.of(source, [run]).batches(columns)), rows))

    def tail(self, source: Source, rows: int, table: str, columns: Collection[str]) -> list[pa.RecordBatch] | None:
        """The last frames, found from the end of the file; None where damage makes a walk of the whole file necessary.

        Of a remote file only the end is fetched. There it goes unnoticed if the file was cut exactly after a fence in
        the payload of a torn frame.
        """
        stretches = ending(source, rows) if self.rbf.tag is None else None
        if stretches is None:
            return None
        start, found = len(stretches), 0
        while start and found < rows:
            start -= 1
            found += stretches[start].units
        runs = [run_of(stretch) for stretch in stretches[start:]]
        return last((batch for run in runs for batch in Frames.of(source, [run]).batches(columns)), rows)

    def units(self, source: Source, run: Run) -> Iterator[Span]:
        """The frames of a run, without their fences."""
        start = first_frame(run)
        for chunk in Frames.of(source, [run]).chunks([]):
            for begin, end in zip(chunk.starts.to_pylist(), chunk.ends.to_pylist(), strict=True):
                yield Span(start + begin, start + end - len(FENCE))

    def spec_at(self, source: Source, position: int) -> str:
        """A frame, at any position."""
        return "rbf_frame"

    def intact(self, source: Source) -> Iterator[Run | Finding]:
        """The items of a walk."""
        return tiles(source)

    def salvage(self, source: Source, items: Iterator[Run | Finding]) -> Iterator[bytes | memoryview]:
        """A log of the intact frames.

        Frames after lost bytes get new addresses. The layer that wrote the log has to update addresses in payloads.
        """
        return salvage.salvaged(source, items)

    def recover(self, source: Source, items: Iterator[Run | Finding]) -> Iterator[Run | Finding]:
        """The items, with runs for frames that are proven although a reader must reject them."""
        return salvage.recovered(source, items)

    def check_cut(self, source: Source, items: Iterator[Run | Finding], at: int) -> None:
        """Raise unless the file can be cut there, to a DataTail [R-DATATAIL-TRUNCATE]."""
        salvage.check_cut(source, items, at)
