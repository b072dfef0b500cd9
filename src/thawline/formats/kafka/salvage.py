"""New files from what is intact: a segment without damage, and the index files that belong to a segment."""

from __future__ import annotations

import tempfile
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import accumulate, repeat
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from thawline import native
from thawline.engine.buffers import column_of
from thawline.engine.encoding import encode, mended
from thawline.errors import SourceError, ThawlineError
from thawline.formats.kafka.findings import BAD_OFFSET, DAMAGED_LENGTH, DAMAGED_MAGIC, damage, lost_unit
from thawline.formats.kafka.units import (
    HEAD_SIZE,
    LARGEST_OFFSET,
    Heads,
    heads_from,
    integers,
)
from thawline.formats.kafka.walk import Walk, nowhere, rising
from thawline.model import Finding, Run, Span
from thawline.native.constants.kafka import OFFSET_ENTRIES, TIME_ENTRIES
from thawline.source import LocalSource, RemoteSource, Source, open_source

if TYPE_CHECKING:
    from typing_extensions import Buffer  # collections.abc has it from Python 3.12 on

PIECE = 4 << 20
"""Bytes that are copied in one go."""
PROVEN = (DAMAGED_LENGTH, DAMAGED_MAGIC)
"""Findings about a batch whose bytes are proven, although Kafka cannot read it."""
ROUNDS = 16
"""How often units are left out because of what was left out before. Then all are left out whose offsets do not rise."""
PLACES, BASE, LAST = ("position", "size", "base_offset", "last_offset", "num_records"), 2, 3

Count = Callable[[Source, Span], Iterator[Run | Finding]]
"""Runs of the units of a span, with their rows counted."""
Find = Callable[[Source, int], Iterable[Finding]]
"""Units that cannot be in a new file, by the offset that it is named after."""


def pieces(source: Source, runs: Iterable[Run]) -> Iterator[bytes | memoryview]:
    """The bytes of a new segment that holds the units of some runs."""
    for run in runs:
        start, end = run.span.start, run.span.end
        if run.recovered:
            yield proven_head(source, run.span)
            start += HEAD_SIZE
        yield from (source.view(at, min(at + PIECE, end)) for at in range(start, end, PIECE))
        source.release(end)


# Batches that are proven.


def recovered(source: Source, items: Iterable[Run | Finding], count: Count) -> Iterator[Run | Finding]:
    """The items, with runs for batches whose checksum proves all but length or magic, and whose records decode."""
    for item in items:
        yield _recovered(source, item, count) if isinstance(item, Finding) and item.code in PROVEN else item


def _recovered(source: Source, finding: Finding, count: Count) -> Run | Finding:
    span = finding.span
    whole = LocalSource("", b"".join((proven_head(source, span), source.view(span.start + HEAD_SIZE, span.end))))
    found = list(count(whole, Span(0, whole.size)))
    runs = [item for item in found if isinstance(item, Run)]
    if len(found) != 1 or len(runs) != 1 or runs[0].span.size != span.size:
        return finding
    return Run(span, 1, runs[0].rows, recovered=finding.code.id)


def proven_head(source: Source, span: Span) -> bytes:
    """The head of a batch with the length and the magic that its checksum proves."""
    head = source.view(span.start, span.start + HEAD_SIZE)
    return mended("kafka_batches", head, records=span.size - HEAD_SIZE)


# Units that do not fit a new file.


def judged_anew(
    source: Source, items: Iterable[Run | Finding], first_offset: int, count: Count, given: Iterable[Run | Finding] = ()
) -> Iterator[Run | Finding]:
    """The items, with findings for units whose offsets do not fit once the damage between them is gone.

    The offsets around a unit tell whether its own is wrong, and in the new file these are others. `given` has the
    findings about units that were recovered since. Suspects are not judged: they are left out by default.
    """
    held = list(items)
    if not any(isinstance(item, Finding) and item.severity == "error" for item in (*held, *given)):
        return iter(held)
    given_up = {item.span: item for item in given if isinstance(item, Finding)}
    for find in (*repeat(_wrong, ROUNDS), _not_rising):
        kept = [item for item in held if isinstance(item, Run) and item.units and not item.suspect]
        wrong = _found_in(source, kept, first_offset, find)
        if not wrong:
            break
        starts = [finding.span.start for finding in wrong]
        held = [
            part
            for item in held
            for part in _without(source, item, wrong[slice(*_within(starts, item.span))], given_up, count)
        ]
    return iter(held)


def _found_in(source: Source, runs: list[Run], first_offset: int, find: Find) -> list[Finding]:
    """What is found in the new file, with the positions that it has in the old one."""
    if not runs:
        return []
    starts = list(accumulate((run.span.size for run in runs), initial=0))
    found: dict[Span, Finding] = {}
    with _copied(source, runs) as copy:
        for item in find(copy, first_offset):
            at = bisect_right(starts, item.span.start) - 1
            by = runs[at].span.start - starts[at]
            span = Span(item.span.start + by, item.span.end + by)
            found[span] = replace(item, span=span, hint=item.hint.replace(copy.name, source.name))
    return sorted(found.values(), key=lambda finding: finding.span)


def _copied(source: Source, runs: list[Run]) -> LocalSource | RemoteSource:
    """The new file, in a temporary one."""
    with tempfile.TemporaryFile() as file:
        try:
            for piece in pieces(source, runs):
                file.write(piece)
            file.seek(0)
        except OSError as error:
            raise SourceError(error.errno, f"{source.name}: cannot be copied: {error.strerror}") from error
        return open_source(file)


def _wrong(copy: Source, first_offset: int) -> Iterator[Finding]:
    """Units that are damage in the new file, whether it has the name of the old one or another."""
    for first in {first_offset, 0}:
        for item in Walk(copy, nowhere, first_offset=first).items():
            if isinstance(item, Finding) and item.severity == "error":
                yield item


def _not_rising(copy: Source, first_offset: int) -> Iterator[Finding]:
    """All units but the longest series of rising offsets, which is right by itself."""
    units = [unit for heads in heads_from(copy, 0) if isinstance(heads, Heads) for unit in _places(heads)]
    lasts = [unit[LAST] for unit in units]
    firsts = [unit[LAST] if unit[BASE] is None else unit[BASE] for unit in units]
    # What starts before the first possible offset is in no series.
    kept = set(rising([first if first >= first_offset else LARGEST_OFFSET for first in firsts], lasts))
    before = first_offset - 1
    for row, (at, size, base, last, count) in enumerate(units):
        if row in kept:
            before = last
            continue
        detail = {"base_offset": base, "last_offset_before": before, "lost": lost_unit(count, base, last)}
        yield damage(copy, BAD_OFFSET, Span(at, at + size), detail)


def _places(heads: Heads) -> Iterator[tuple[Any, ...]]:
    return zip(*(heads.rows[name].to_pylist() for name in PLACES), strict=True)


def _without(
    source: Source, item: Run | Finding, wrong: list[Finding], given_up: dict[Span, Finding], count: Count
) -> Iterator[Run | Finding]:
    """An item without the units in it that are wrong."""
    if isinstance(item, Finding) or not wrong:
        yield item
    elif item.recovered:
        yield given_up[item.span]
    else:
        start = item.span.start
        for finding in wrong:
            yield from count(source, Span(start, finding.span.start)) if start < finding.span.start else ()
            yield finding
            start = finding.span.end
        yield from count(source, Span(start, item.span.end)) if start < item.span.end else ()


def _within(starts: list[int], span: Span) -> tuple[int, int]:
    return bisect_left(starts, span.start), bisect_left(starts, span.end)


# Index files.
#
# What Kafka does (LogSegment.append and LogSegment.recover in storage/internals/log): it looks at each batch before it
# counts the bytes of the batch. If more than `index.interval.bytes` lie between the last batch that got an entry (or
# the start of the segment) and this one, the offset index gets the last offset of the batch and its position, and the
# time index gets the latest timestamp so far with the last offset of the batch that had it first, unless that timestamp
# stands there already. So the first batch has no entry, and a timestamp of -1 is never indexed. When the segment is
# closed, the latest timestamp of all is added to the time index. Offsets are stored less the segment's base offset.
#
# https://github.com/apache/kafka/blob/1eb7644/storage/src/main/java/org/apache/kafka/storage/internals/log/LogSegment.java

INTERVAL = 4096
"""Kafka's default of `index.interval.bytes`."""
BATCHES_AT_ONCE = 4096
"""Batches that are noted before the indexes get their entries."""


class NotIndexable(ThawlineError, ValueError):
    """A batch whose position or offset does not fit the 31 bits that an index has for it."""


@dataclass(frozen=True, slots=True)
class Indexes:
    """The bytes of both index files of a closed segment."""

    offset_index: bytes
    time_index: bytes


class IndexBuilder:
    """Builds both indexes of a segment. Batches are added in file order."""

    def __init__(self, base_offset: int, *, interval: int = INTERVAL) -> None:
        self._base_offset, self._interval = base_offset, interval
        self._state = array("q", [0, -1, base_offset, -1, -1, 0, 0])
        self._entries = [array(code) for code in "iiqi"]
        """The offsets and positions of one index, the timestamps and offsets of the other."""
        self._noted = [array("q") for _ in range(3)]

    def note(self, position: int, last_offset: int, max_timestamp: int) -> None:
        """Add one batch."""
        for column, number in zip(self._noted, (position, last_offset, max_timestamp), strict=True):
            column.append(number)
        if len(self._noted[0]) == BATCHES_AT_ONCE:
            self._add_noted()

    def _add_noted(self) -> None:
        noted, self._noted = self._noted, [array("q") for _ in range(3)]
        self.add(*noted)

    def add(self, positions: Buffer, last_offsets: Buffer, max_timestamps: Buffer) -> None:
        """Add batches by three arrays of 64-bit numbers: where each starts, its last offset, its largest timestamp."""
        columns = [memoryview(column).cast("B").cast("q") for column in (positions, last_offsets, max_timestamps)]
        rows = len(columns[0])
        room = _room(rows)
        index: Callable[..., int] = native.functions.index_batches
        bad = index(*columns, rows, self._base_offset, self._interval, self._state, *room)
        self._take(room)
        if bad >= 0:
            position, offset = columns[0][bad], columns[1][bad]
            raise NotIndexable(
                f"the batch at byte {position} ends with offset {offset}; indexes hold 31 bits of the byte, and of "
                f"what the offset is above the segment's base offset {self._base_offset}"
            )

    def finish(self) -> Indexes:
        """Both indexes as Kafka leaves them when the segment is closed."""
        self._add_noted()
        room = _room(1)
        native.functions.index_end(self._base_offset, self._state, *room[2:])
        self._take(room)
        offsets, positions, times, time_offsets = map(column_of, self._entries)
        by_offset = pa.RecordBatch.from_pydict({"relative_offset": offsets, "position": positions})
        by_time = pa.RecordBatch.from_pydict({"timestamp": times, "relative_offset": time_offsets})
        indexes = encode("kafka_offset_index", by_offset), encode("kafka_time_index", by_time)
        return Indexes(*(index.data.to_pybytes() for index in indexes))

    def _take(self, room: list[array[int]]) -> None:
        """Keep the entries that were made."""
        counts = self._state[OFFSET_ENTRIES], self._state[TIME_ENTRIES]
        for kept, made, count in zip(self._entries, room, (counts[0], counts[0], counts[1], counts[1]), strict=True):
            kept.extend(made[:count])
        self._state[OFFSET_ENTRIES] = self._state[TIME_ENTRIES] = 0


def _room(rows: int) -> list[array[int]]:
    """Columns for an entry of each row in both indexes."""
    return [array(code, bytes(array(code).itemsize * rows)) for code in "iiqi"]


def build_indexes(batches: Iterable[pa.RecordBatch], base_offset: int, *, interval: int = INTERVAL) -> Indexes:
    """Both indexes of a segment, from one row for each of its batches or messages, in file order.

    The columns are `position`, where it starts in the segment that the indexes belong to; `last_offset`, which is the
    offset of a message of magic 0 and 1; and `max_timestamp` in milliseconds, -1 for magic 0.

    >>> heads = {"position": [0, 5000, 9000], "last_offset": [106, 113, 120], "max_timestamp": [7, 9, 8]}
    >>> indexes = build_indexes([pa.RecordBatch.from_pydict(heads)], base_offset=100)
    >>> indexes.offset_index.hex(" ", 4), indexes.time_index.hex(" ", 4)
    ('0000000d 00001388', '00000000 00000009 0000000d')
    """
    builder = IndexBuilder(base_offset, interval=interval)
    for batch in batches:
        builder.add(*(_numbers(batch.column(name)) for name in ("position", "last_offset", "max_timestamp")))
    return builder.finish()


def _numbers(column: pa.Array) -> memoryview:
    if column.null_count:
        raise ValueError("a batch whose position, last offset or timestamp is null cannot be indexed")
    return integers(column.cast(pa.int64()))
