"""From where to where the rows of a file go: offsets, times, codecs and gaps, as the heads of its units state them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from thawline.formats.contract import Chart, Charted
from thawline.model import Finding, Run

if TYPE_CHECKING:
    from thawline.verbs.opened import OpenFile

__all__ = ["Extent", "Meter", "Use"]

TOGETHER = 256
"""Runs whose heads are read in one go: each go has a fixed cost, and damage makes many small runs."""
MOST_RUNS = 4096
"""At most this many runs of a file are measured; a hostile file has a run every few bytes."""
MOST_GAPS = 20


@dataclass(slots=True)
class Use:
    """How often a codec is used, and for how many stored bytes."""

    units: int = 0
    size: int = 0


@dataclass(slots=True)
class Extent:
    """The ranges of one file."""

    noun: str = ""
    """What its positions are called, such as `offset`; empty if its units have none."""
    first: int | None = None
    last: int | None = None
    earliest: int | None = None
    """The earliest time, in microseconds since 1970."""
    latest: int | None = None
    codecs: dict[str, Use] = field(default_factory=dict)
    gaps: list[tuple[int, int]] = field(default_factory=list)
    """The first and the last position that no intact unit holds, for the first of the gaps."""
    gap_count: int = 0
    is_partial: bool = False
    """Whether only the first runs of the file were measured."""

    def to_dict(self) -> dict[str, Any]:
        """The extent as a JSON object. Keys may be added, never changed or removed."""
        from thawline.values import iso_time  # noqa: PLC0415 - a report without JSON needs none

        times = [time if time is None else iso_time(time, "us") for time in (self.earliest, self.latest)]
        return {
            "positions": self.noun or None,
            "first": self.first,
            "last": self.last,
            "earliest": times[0],
            "latest": times[1],
            "codecs": {name: {"units": use.units, "bytes": use.size} for name, use in self.codecs.items()},
            "gaps": [list(gap) for gap in self.gaps],
            "gap_count": self.gap_count,
            "partial": self.is_partial,
        }


class Meter:
    """Measures the intact runs of a file as a walk gives them."""

    def __init__(self, cold: OpenFile) -> None:
        self.cold = cold
        self.chart = cold.kind.chart if isinstance(cold.kind, Charted) else Chart("")
        self.extent = Extent(self.chart.noun)
        self._waiting: list[Run] = []
        self._runs = 0

    def add(self, item: Run | Finding) -> None:
        """Measure a run; findings and suspects hold nothing that counts."""
        if not self.chart.table or not isinstance(item, Run) or not item.units or item.suspect or not item.span.size:
            return
        if self._runs >= MOST_RUNS:
            self.extent.is_partial = True
            return
        self._runs += 1
        self._waiting.append(item.portable())
        if len(self._waiting) == TOGETHER:
            self._measure()

    def result(self) -> Extent:
        """The extent of everything that was added."""
        self._measure()
        return self.extent

    def _measure(self) -> None:
        for batch in self._heads():
            rows = {name: batch.column(name) for name in batch.schema.names}
            self._add_times(rows)
            self._add_positions(rows)
            self._add_codecs(rows)
        self._waiting = []

    def _heads(self) -> Iterator[pa.RecordBatch]:
        kind = self.cold.kind
        columns = [name for name in self.chart.columns if name in kind.tables[self.chart.table].schema.names]
        for item in kind.rows(self.cold.source, self._waiting, self.chart.table, columns) if self._waiting else ():
            if not isinstance(item, Finding):
                yield from item[1]

    def _add_times(self, rows: dict[str, pa.Array]) -> None:
        found = [
            value
            for name in (self.chart.earliest, self.chart.latest)
            if name in rows
            for value in pc.min_max(rows[name].cast(pa.timestamp("us", "UTC")).view(pa.int64())).as_py().values()
            if value is not None
        ]
        if found:
            self.extent.earliest = min(found if self.extent.earliest is None else [*found, self.extent.earliest])
            self.extent.latest = max(found if self.extent.latest is None else [*found, self.extent.latest])

    def _add_positions(self, rows: dict[str, pa.Array]) -> None:
        firsts, lasts = rows.get(self.chart.first), rows.get(self.chart.last)
        if firsts is None or lasts is None or not len(firsts) or firsts.null_count or lasts.null_count:
            return
        extent = self.extent
        firsts, lasts = firsts.cast(pa.int64()), lasts.cast(pa.int64())
        before = pa.concat_arrays([pa.array([extent.last], pa.int64()), lasts[:-1]])
        is_gap = pc.fill_null(pc.greater(firsts, pc.add(before, 1)), fill_value=False)
        count = pc.sum(is_gap).as_py() or 0
        if count:
            extent.gap_count += count
            edges = zip(before.filter(is_gap).to_pylist(), firsts.filter(is_gap).to_pylist(), strict=True)
            extent.gaps += [(left + 1, right - 1) for left, right in edges][: MOST_GAPS - len(extent.gaps)]
        least, most = pc.min(firsts).as_py(), pc.max(lasts).as_py()
        extent.first = least if extent.first is None else min(least, extent.first)
        extent.last = most if extent.last is None else max(most, extent.last)

    def _add_codecs(self, rows: dict[str, pa.Array]) -> None:
        if self.chart.codec not in rows:
            return
        sizes = rows.get(self.chart.size)
        for entry in pc.value_counts(rows[self.chart.codec]).to_pylist():
            use = self.extent.codecs.setdefault(str(entry["values"] or "none"), Use())
            use.units += entry["counts"]
            if sizes is not None:
                chosen = pc.equal(rows[self.chart.codec], pa.scalar(entry["values"], rows[self.chart.codec].type))
                use.size += pc.sum(sizes.filter(chosen)).as_py() or 0
