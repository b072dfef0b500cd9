"""A file divided between workers: threads here, tasks on Spark. Together they give what one reads by itself.

Many kinds say by heads alone where a file can be cut into sections. Whoever takes one verifies it and decodes it. From
the first that does not hold on, and in other kinds, one thread walks: it gives runs and findings, of which consecutive
ones make a stretch, which any worker can read without the others.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Sequence
from contextlib import closing
from functools import partial
from itertools import pairwise
from typing import TypeAlias

import pyarrow as pa

from thawline.errors import SourceError
from thawline.faults import readable, with_faults
from thawline.formats.contract import Depth, Kind, Reading, Section, Sectioned, read
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
Decoded = Callable[[Iterable[Item]], Iterator[Event]]
"""The events of consecutive items of a walk."""


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
    size = _size_of_stretches(source, crew)
    if size < LEAST_STRETCH:
        return read(kind, source, table, columns)
    if table not in kind.tables:
        raise SourceError(f"{source.name}: holds the table {', '.join(kind.tables)}, not {table}")
    depth, decoded = kind.tables[table].depth, partial(_events, kind, source, table, columns)
    return with_faults(_reading(_divided(kind, source, depth, decoded, crew, size)), source)


def walk_together(kind: Kind, source: Source, depth: Depth, crew: Crew) -> Iterator[Item]:
    """What a walk gives, in the same order, verified by a crew section by section where the kind has them."""
    size, sectioned = _size_of_stretches(source, crew), _sectioned(kind, source, depth)
    if size < LEAST_STRETCH or depth is not Depth.EVERYTHING or sectioned is None:
        return kind.walk(source, depth)
    return _walked(sectioned, source, depth, crew, size)


def _size_of_stretches(source: Source, crew: Crew) -> int:
    return 0 if crew.is_alone else min(STRETCH, source.size // (A_JOB * crew.jobs))


def _sectioned(kind: Kind, source: Source, depth: Depth) -> Sectioned | None:
    """The kind, if it divides this file. Sections of a file at a URL would be fetched in no order."""
    return kind if isinstance(kind, Sectioned) and source.is_local and depth is not Depth.HEADS else None


def _divided(kind: Kind, source: Source, depth: Depth, decoded: Decoded, crew: Crew, size: int) -> Iterator[Event]:
    """The events of a file: those of its sections as far as they count, then those of the stretches of a walk."""
    sectioned = _sectioned(kind, source, depth)
    if sectioned is None:
        rest = kind.walk(source, depth)
    elif sectioned.are_sections_final:
        at = yield from _of_sections(
            sectioned.sections(source, depth, size, Span(0, source.size)), source, decoded, crew
        )
        rest = sectioned.rest(source, depth, at)
    else:
        rest = _walked(sectioned, source, depth, crew, size)
    stretches = grouped(rest, size)
    yield from crew.streamed((partial(decoded, stretch) for stretch in stretches), _size)


def _of_sections(
    sections: Iterator[Section], source: Source, decoded: Decoded, crew: Crew
) -> Generator[Event, None, int]:
    """The events of the sections that count; returns where they end."""
    at = 0
    streams = (partial(_of_section, section, decoded) for section in sections)
    with closing(crew.streamed(streams, _size)) as events:
        for event in events:
            if event is None:
                break
            if isinstance(event, Span):
                at = event.end
                source.release(at)
            else:
                yield event
    return at


def _of_section(section: Section, decoded: Decoded) -> Iterator[Event | Span | None]:
    """The events of a section, then its span; only None of one that does not hold."""
    items = section.items()
    if items is None:
        yield None
        return
    yield from decoded(items)
    yield section.span


def _walked(kind: Sectioned, source: Source, depth: Depth, crew: Crew, size: int) -> Iterator[Item]:
    """The items of the sections that count, and then those of a walk."""
    at, held = 0, list[Item]()
    tasks = (partial(_verified, section) for section in kind.sections(source, depth, size, Span(0, source.size)))
    with closing(crew.ordered(tasks)) as found:
        for end, items in found:
            if items is None:
                break
            at = end
            source.release(at)
            if kind.are_sections_final:
                yield from items
            else:
                held += items
    if not kind.are_sections_final:
        at = at if at == source.size else 0
        yield from held if at else ()
    yield from kind.rest(source, depth, at)


def _verified(section: Section) -> tuple[int, Sequence[Item] | None]:
    return section.span.end, section.items()


def _events(
    kind: Kind, source: Source, table: str, columns: Collection[str], stretch: Iterable[Item]
) -> Iterator[Event]:
    """The findings of a stretch, and its runs, each followed by its rows."""
    for item in kind.rows(source, stretch, table, columns):
        if isinstance(item, Finding):
            yield item
        else:
            yield item[0]
            yield from readable(*item, source)


def _size(event: Event | Span | None) -> int:
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
