"""The units of a file that hold a wanted row: what a salvage with a filter copies."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import islice, pairwise
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from thawline.errors import SourceError
from thawline.filters import Bound, Filter
from thawline.model import Finding, Run, Span

if TYPE_CHECKING:
    from thawline.verbs.opened import OpenFile

__all__ = ["Choice"]

TOGETHER = 4096
"""Units that are decided on at once."""
PARTS = 16
"""The number of parts that units are divided into when only some hold a wanted row."""


class Choice:
    """Leaves out the units of one file whose rows are all unwanted. The others stay whole."""

    def __init__(self, cold: OpenFile, where: Filter) -> None:
        self.kind, self.source = cold.kind, cold.source
        self.table = next(iter(cold.kind.tables))
        if cold.table != self.table or cold.kind.unit_name == "segment":
            raise SourceError(
                f"{cold.name}: its rows choose no units; thawline {cold.format.name} rewrite chooses rows"
            )
        self.bound: Bound = cold.bound(where)
        self.columns = sorted(self.bound.columns)
        self.units = self.rows = 0
        """What is left out."""

    def of(self, items: Iterable[Run | Finding]) -> Iterator[Run | Finding]:
        """The items, with runs only for units that stay."""
        for item in items:
            if not isinstance(item, Run) or not item.units or item.given:
                yield item
                continue
            for part in self._portions(item):
                yield from self._kept(part)

    def _portions(self, run: Run) -> Iterator[Run]:
        """A run in portions of a few units, so that their places need little memory."""
        if run.units <= TOGETHER:
            yield run
            return
        starts = (unit.start for unit in self.kind.units(self.source, run))
        start, left = run.span.start, run.units
        next(starts)
        while left > TOGETHER:
            end = next(islice(starts, TOGETHER - 1, None))
            yield run.cut(Span(start, end), TOGETHER)
            start, left = end, left - TOGETHER
        yield run.cut(Span(start, run.span.end), left)

    def _kept(self, run: Run) -> Iterator[Run]:
        mask = self._mask(run)
        wanted = pc.sum(mask).as_py() or 0
        if wanted == len(mask):
            yield run if run.rows else replace(run, rows=len(mask))
        elif run.units == 1 and wanted:
            yield replace(run, rows=len(mask))
        elif run.units == 1 or (not wanted and run.units == len(mask)):
            self.units += run.units
            self.rows += len(mask)
        else:
            for part in self._divided(run, mask):
                yield from self._kept(part)

    def _mask(self, run: Run) -> pa.Array:
        """Which rows of a run are wanted."""
        found: list[pa.Array] = []
        assert self.bound.mask is not None  # noqa: S101 - a choice has a filter
        for item in self.kind.rows(self.source, [run], self.table, self.columns):
            if isinstance(item, Finding):
                continue
            for batch in item[1]:
                mask = pc.fill_null(self.bound.mask(batch), False)  # noqa: FBT003 - a value, not a flag
                found.append(mask.combine_chunks() if isinstance(mask, pa.ChunkedArray) else mask)
        return pa.concat_arrays(found) if found else pa.array([], pa.bool_())

    def _divided(self, run: Run, mask: pa.Array) -> Iterator[Run]:
        """A run in parts: wanted and unwanted ones by turns where a unit is a row, else parts of equally many units."""
        spans = list(self.kind.units(self.source, run))
        edges = [run.span.start, *(span.start for span in spans[1:]), run.span.end]
        if len(mask) == len(spans):
            changes = pc.indices_nonzero(pc.xor(mask[1:], mask[:-1])).to_pylist()
            places = [0, *(place + 1 for place in changes), len(spans)]
        else:
            places = sorted({len(spans) * number // PARTS for number in range(PARTS + 1)})
        for first, last in pairwise(places):
            yield run.cut(Span(edges[first], edges[last]), last - first)
