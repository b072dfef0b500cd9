"""RBF logs: frames between fences, with their length at both ends, readable from either end.

Layout: https://github.com/Atelia-org/atelia/blob/76f827f82ecd247db938c8754ca941811087a1d2/docs/Rbf/rbf-format.md

The rows of a file are the frames that the document's reverse scan finds (section 6).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

import pyarrow as pa

from thawline.batches import last
from thawline.formats.contract import Claim, Reading
from thawline.formats.legacy import LegacyFormat as Format
from thawline.formats.rbf import salvage
from thawline.formats.rbf.findings import CODES
from thawline.formats.rbf.frame import FENCE, is_newer_layout
from thawline.formats.rbf.rows import SCHEMA, Frames, bundles, first_frame
from thawline.formats.rbf.walk import ending, run_of, tiles
from thawline.model import Finding, Run, Span
from thawline.source import Source


@dataclass(frozen=True, slots=True)
class Rbf(Format):
    """RBF logs: frames between fences, with their length at both ends, readable from either end."""

    name = "rbf"
    title = "RBF log (Reversible Binary Framing)"
    table_names = ("frames",)
    codes = CODES
    unit_name = "frame"

    tag: tuple[int, ...] | None = None

    def claim(self, source: Source) -> Claim | None:
        """An RBF file starts with a fence; one that lost it is recognised by its name and its first fence."""
        head = bytes(source.view(0, min(source.size, 4)))
        if head == FENCE:
            if is_newer_layout(source):
                return Claim(self.name, "0.40", "starts with the fence RBF1, frames end as in layout 0.40", "certain")
            return Claim(self.name, "0.27", "starts with the fence RBF1", "certain")
        if source.size < len(FENCE) and source.name.endswith(".rbf"):
            return Claim(self.name, "0.27", "named .rbf, and too short to hold even a fence", "possible")
        first = bytes(source.view(0, min(source.size, 1 << 16))).find(FENCE, 4)
        if first > 0 and source.name.endswith(".rbf"):
            return Claim(
                self.name, "0.27", f"named .rbf, with a fence at {first:#x}, but none at its start", "possible"
            )
        return None

    def schema(self, table: str) -> pa.Schema:
        """The schema of `frames`."""
        return SCHEMA

    def scan(self, source: Source) -> Iterator[Run | Finding]:
        """Intact frames and findings, in file order."""
        return tiles(source)

    def read(self, source: Source, table: str, columns: Collection[str]) -> Reading:
        """Intact frames with their rows; of frames with other tags than requested only the head is read."""
        for items in bundles(self.scan(source)):
            runs = [item for item in items if isinstance(item, Run) and item.units]
            each = Frames.of(source, runs, self.tag).of_each(columns) if runs else iter(())
            for item in items:
                if isinstance(item, Finding):
                    yield item
                else:
                    yield next(each) if item.units else (item, iter(()))

    def read_run(self, source: Source, run: Run, table: str, columns: Collection[str]) -> Reading:
        """Rows of a run; frames with other tags are left out."""
        yield from Frames.of(source, [run], self.tag).of_each(columns) if run.units else [(run, iter(()))]

    def batches(self, source: Source, run: Run, table: str, columns: Collection[str]) -> Iterator[pa.RecordBatch]:
        """The frames of a run."""
        return Frames.of(source, [run], self.tag).batches(columns)

    def tail(self, source: Source, rows: int, table: str, columns: Collection[str]) -> list[pa.RecordBatch] | None:
        """The last frames, found from the end of the file; None where damage makes a walk of the whole file necessary.

        Of a remote file only the end is fetched. There it goes unnoticed if the file was cut exactly after a fence in
        the payload of a torn frame.
        """
        found_last = ending(source, rows) if self.tag is None else None
        if found_last is None:
            return None
        runs = [run_of(stretch) for stretch in found_last]
        first, found = len(runs), 0
        while first and found < rows:
            first -= 1
            found += runs[first].rows
        batches = [batch for run in runs[first:] for batch in self.batches(source, run, table, columns)]
        return last(batches, rows)

    def units(self, source: Source, run: Run) -> Iterator[Span]:
        """The frames of a run, without their fences."""
        start = first_frame(run)
        for chunk in Frames.of(source, [run]).chunks([]):
            for first, end in zip(chunk.starts.to_pylist(), chunk.ends.to_pylist(), strict=True):
                yield Span(start + first, start + end - len(FENCE))

    def unit_at(self, source: Source, position: int) -> str:
        """A frame, wherever it is."""
        return "rbf_frame"

    def salvage(self, source: Source, items: Iterator[Run | Finding]) -> Iterator[bytes | memoryview]:
        """A file of the intact frames: the genesis fence, then every run with its fences.

        Frames after lost bytes get new addresses. The layer that wrote the log has to update addresses in payloads.
        """
        return salvage.salvaged(source, items)

    def recover(self, source: Source, items: Iterator[Run | Finding]) -> Iterator[Run | Finding]:
        """The items of a scan, with runs for frames that are proven although a reader must reject them."""
        return salvage.recovered(source, items)

    def check_cut(self, source: Source, items: Iterator[Run | Finding], at: int) -> None:
        """Raise unless the file can be cut there, to a DataTail [R-DATATAIL-TRUNCATE]."""
        salvage.check_cut(source, items, at)
