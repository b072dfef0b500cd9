"""A file divided between workers: threads here, tasks on Spark. Together they give what one reads by itself.

A walk gives runs and findings. Consecutive ones make a stretch, which any worker can read without the others.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from functools import partial
from itertools import chain, pairwise
from typing import TypeAlias

import pyarrow as pa

from thawline.errors import SourceError
from thawline.faults import readable, with_faults
from thawline.formats.contract import Depth, Kind, Portion, Portioned, Reading, read
from thawline.jobs import Crew
from thawline.model import Finding, Run, Span
from thawline.source import Source

LEAST_STRETCH, STRETCH = 256 << 10, 8 << 20
"""Bytes of a file that a thread reads at a time: enough that the fixed cost does not count, few enough to be held."""
A_JOB = 2
"""Stretches for each job, at least; a file too small for that is read without threads."""

OBJECT = 1024
"""Bytes that an object takes, about, and each column of a batch: where runs have few rows, these are what waits."""

Item = Run | Finding
Event: TypeAlias = Run | Finding | pa.RecordBatch
"""A finding; or a run, after which its rows come."""


def cut(kind: Kind, source: Source, run: Run, size: int) -> Iterator[Run]:
    """A run cut at the starts of units into runs of at most `size` bytes, or of one unit."""
    if run.span.size <= size or run.units <= 1:
        yield run.portable()
        return
    starts = [unit.start for unit in kind.units(source, run)]
    starts[:1] = [run.span.start]
    first, units = starts[0], 0
    for start, end in pairwise([*starts, run.span.end]):
        if units and end - first > size:
            yield run.cut(Span(first, start), units)
            first, units = start, 0
        units += 1
    yield run.cut(Span(first, run.span.end), units)


def grouped(items: Iterable[Item], size: int) -> Iterator[tuple[Item, ...]]:
    """Consecutive items in groups of at most `size` bytes; an item without bytes joins the one before it.

    A run without bytes stays with the finding about its rows, which count as damaged.
    """
    group: list[Item] = []
    weight = 0
    for item in items:
        is_with_rows = bool(group) and isinstance(group[-1], Run) and not group[-1].span.size
        if group and item.span.size and weight + item.span.size > size and not is_with_rows:
            yield tuple(group)
            group, weight = [], 0
        group.append(item)
        weight += item.span.size
    if group:
        yield tuple(group)


def read_together(kind: Kind, source: Source, table: str, columns: Collection[str], crew: Crew) -> Reading:
    """What `contract.read` gives of a file, in the same order, read ahead by a crew stretch by stretch."""
    size = min(STRETCH, source.size // (A_JOB * crew.jobs))
    if crew.is_alone or size < LEAST_STRETCH:
        return read(kind, source, table, columns)
    if table not in kind.tables:
        raise SourceError(f"{source.name}: holds the table {', '.join(kind.tables)}, not {table}")
    stretches = grouped(kind.walk(source, kind.tables[table].depth), size)
    tasks = (partial(_events, kind, source, stretch, table, columns) for stretch in stretches)
    return with_faults(_reading(crew.streamed(tasks, _size)), source)


def walk_together(kind: Kind, source: Source, depth: Depth, crew: Crew) -> Iterator[Item]:
    """What a walk gives, in the same order; by portions, where the kind has them."""
    is_small = source.size // (A_JOB * crew.jobs) < LEAST_STRETCH
    if crew.is_alone or is_small or depth is not Depth.EVERYTHING or not isinstance(kind, Portioned):
        return kind.walk(source, depth)
    return chain.from_iterable(crew.ordered(partial(_listed, portion) for portion in kind.portions(source)))


def _listed(portion: Portion) -> list[Item]:
    return list(portion())


def _events(
    kind: Kind, source: Source, stretch: tuple[Item, ...], table: str, columns: Collection[str]
) -> Iterator[Event]:
    """The findings of a stretch, and its runs, each followed by its rows."""
    for item in kind.rows(source, stretch, table, columns):
        if isinstance(item, Finding):
            yield item
        else:
            yield item[0]
            yield from readable(*item, source)


def _size(event: Event) -> int:
    return OBJECT * (1 + event.num_columns) + int(event.nbytes) if isinstance(event, pa.RecordBatch) else OBJECT


def _reading(events: Iterator[Event]) -> Reading:
    """Events as a reading: runs with their rows, and findings."""
    following = _Following(events)
    while (item := following.take()) is not None:
        if isinstance(item, Run):
            yield item, following.batches()
            following.skip()
        elif isinstance(item, Finding):
            yield item


class _Following:
    """Events, of which the next one is known."""

    def __init__(self, events: Iterator[Event]) -> None:
        self._events = events
        self._next: Event | None = None

    def take(self) -> Event | None:
        """The next event; None at the end."""
        taken, self._next = self._next, None
        return next(self._events, None) if taken is None else taken

    def batches(self) -> Iterator[pa.RecordBatch]:
        """The batches up to the next item."""
        while isinstance(event := self.take(), pa.RecordBatch):
            yield event
        self._next = event

    def skip(self) -> None:
        """Pass over the batches up to the next item that were not requested."""
        for _ in self.batches():
            pass
