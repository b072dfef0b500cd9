"""Rows that both sides have in the same order: compared at once and dropped.

Two backups of one system are mostly alike. What is the same in both is found a window at a time, without moving a row;
only the rest has to be kept until all is read.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce

import pyarrow as pa
import pyarrow.compute as pc

from thawline.sinks import MOST_ROWS, joined
from thawline.verbs.diff.pairing import numbers, paired
from thawline.verbs.diff.piles import Pile
from thawline.verbs.diff.unequal import unequal

MOST_STRETCHES = 64
"""A window that falls into more stretches than these is in another order than the other side."""
PATIENCE = 3
"""After this many windows in another order, the rest is not tried."""


class Window:
    """The next rows of a side that are not paired yet."""

    def __init__(self, batches: Iterable[pa.RecordBatch]) -> None:
        self._coming = joined(batches)
        self.rows: pa.RecordBatch | None = None

    def fill(self) -> bool:
        """Add rows unless there are enough; returns whether there are any."""
        if self.rows is None or self.rows.num_rows < MOST_ROWS:
            batch = next(self._coming, None)
            if batch is not None:
                self.rows = batch if self.rows is None else pa.concat_batches([self.rows, batch])
        return self.rows is not None

    def pass_over(self, rows: int) -> None:
        """Drop the first rows."""
        assert self.rows is not None  # noqa: S101 - what is passed over was there
        self.rows = self.rows.slice(rows) if rows < self.rows.num_rows else None

    def rest(self) -> Iterator[pa.RecordBatch]:
        """All rows from here on."""
        if self.rows is not None:
            yield self.rows
        yield from self._coming


@dataclass(frozen=True, slots=True)
class _Stretch:
    """Rows of both sides with the same keys, one after the other."""

    a: int
    b: int
    rows: int


def settle(a: Iterable[pa.RecordBatch], b: Iterable[pa.RecordBatch], key: Sequence[str], piles: Sequence[Pile]) -> int:
    """Compare two sides as far as they are in the same order; returns how many rows are equal. Others go to piles."""
    windows, same, failures = (Window(a), Window(b)), 0, 0
    while failures < PATIENCE and all(window.fill() for window in windows):
        rows_a, rows_b = (window.rows for window in windows)
        stretches = list(_stretches(rows_a, rows_b, key))
        failures = 0 if stretches else failures + 1
        left: tuple[list[tuple[int, pa.RecordBatch]], ...] = ([], [])
        for it in stretches:
            same += _compare(it, (rows_a, rows_b), left)
        _finish(windows, [(it.a, it.rows) for it in stretches], left[0], piles[0], 0)
        _finish(windows, [(it.b, it.rows) for it in stretches], left[1], piles[1], 1)
    for window, pile in zip(windows, piles, strict=True):
        pile.fill(window.rest())
    return same


def _compare(
    stretch: _Stretch, rows: Sequence[pa.RecordBatch], left: Sequence[list[tuple[int, pa.RecordBatch]]]
) -> int:
    """How many rows of a stretch are the same; `left` gets the others of each side with their places."""
    starts = stretch.a, stretch.b
    a, b = (batch.slice(start, stretch.rows) for batch, start in zip(rows, starts, strict=True))
    differs = reduce(pc.or_, (unequal(*pair) for pair in zip(a.columns, b.columns, strict=True)))
    different = pc.sum(differs).as_py()
    if different:
        for side, start, found in zip((a, b), starts, left, strict=True):
            found.append((start, side.filter(differs)))
    return stretch.rows - int(different)


def _finish(
    windows: Sequence[Window],
    spans: list[tuple[int, int]],
    left: list[tuple[int, pa.RecordBatch]],
    pile: Pile,
    side: int,
) -> None:
    """Put unpaired rows on the pile, in order. Rows after the last stretch may have their pairs in the next window."""
    rows = windows[side].rows
    assert rows is not None  # noqa: S101 - only full windows are compared
    end = 0
    for start, size in sorted(spans):
        if start > end:
            left.append((end, rows.slice(end, start - end)))
        end = start + size
    if not spans:
        end = rows.num_rows
        left.append((0, rows))
    windows[side].pass_over(end)
    pile.fill(batch for _, batch in sorted(left, key=lambda found: found[0]))


def _stretches(a: pa.RecordBatch, b: pa.RecordBatch, key: Sequence[str]) -> Iterator[_Stretch]:
    """Where both windows have the same keys in the same order; nothing if they are in another order."""
    least = min(a.num_rows, b.num_rows)
    keys = [[side.column(name) for name in key] for side in (a, b)]
    if all(one.slice(0, least).equals(other.slice(0, least)) for one, other in zip(*keys, strict=True)):
        yield _Stretch(0, 0, least)
        return
    pairs = paired(keys[0], keys[1])
    order = pc.sort_indices(pairs.a)
    rows_a, rows_b = pairs.a.take(order), pairs.b.take(order)
    starts = _starts(rows_a, rows_b)
    if not 0 < len(starts) <= MOST_STRETCHES:
        return
    ends = [*starts.to_pylist()[1:], len(rows_a)]
    for start, end in zip(starts.to_pylist(), ends, strict=True):
        yield _Stretch(rows_a[start].as_py(), rows_b[start].as_py(), end - start)


def _starts(rows_a: pa.Array, rows_b: pa.Array) -> pa.Array:
    """Where pairs do not follow on the ones before."""
    if not len(rows_a):
        return numbers(0)
    steps = [pc.not_equal(pc.subtract(rows.slice(1), rows.slice(0, len(rows) - 1)), 1) for rows in (rows_a, rows_b)]
    return pc.indices_nonzero(pa.concat_arrays([pa.array([True]), pc.or_(*steps)]))
