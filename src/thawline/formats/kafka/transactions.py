"""How the transactions of a partition ended, from the markers in its segments.

Rules: formats/kafka.md 1.5; what the Java consumer does with them stands in its CompletedFetch. Markers and data are
matched by producer id only: since KIP-890 a marker's epoch is one above that of the data.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from thawline.formats.kafka.control import ABORT, COMMIT, control_batches
from thawline.formats.kafka.heads import Heads
from thawline.formats.kafka.segment import Segment
from thawline.source import Source

NONE, COMMITTED, ABORTED, OPEN = "none", "committed", "aborted", "open"
IN_TRANSACTION = ("base_offset", "producer_id", "is_control", "position")


class Aborted(NamedTuple):
    """A transaction that was aborted; `last_offset` is that of its marker."""

    producer_id: int
    first_offset: int
    last_offset: int


class Unended(NamedTuple):
    """A transaction without an end."""

    producer_id: int
    first_offset: int


class Marker(NamedTuple):
    """The end of a transaction."""

    offset: int
    outcome: str


class Transactions:
    """Outcomes of the transactions of a partition. Its segments are looked at when one is first asked for."""

    def __init__(self, sources: Callable[[], Iterable[Source]]) -> None:
        self._sources = sources

    @classmethod
    def of(cls, sources: Callable[[], Iterable[Source]]) -> Transactions:
        """The transactions in some segments, which are given in the order of their offsets."""
        return cls(sources)

    def outcomes(self, heads: pa.RecordBatch) -> pa.StringArray:
        """How the transaction of each unit ended: none, committed, aborted or open.

        It is what the first marker of its producer says that is not before the unit. A marker has its own outcome.
        """
        is_member = _is_member(heads)
        if not pc.any(is_member).as_py():
            return pa.repeat(pa.scalar(NONE), heads.num_rows)
        rows = zip(is_member.to_pylist(), *(heads[name].to_pylist() for name in IN_TRANSACTION[:2]), strict=True)
        return pa.array([self._outcome(id_, base) if is_in else NONE for is_in, base, id_ in rows], pa.string())

    def _outcome(self, producer_id: int, offset: int) -> str:
        end = self.end(producer_id, offset)
        return end.outcome if end else OPEN

    @property
    def last_stable_offset(self) -> int | None:
        """Where a consumer with read_committed stops: the first offset of an open transaction; None without one."""
        return min((first for _, first in self.open()), default=None)

    def aborted(self) -> Iterator[Aborted]:
        """Aborted transactions that hold data, in the order of their markers."""
        found = self._found.aborted
        return (Aborted(*found[at : at + 3]) for at in range(0, len(found), 3))

    def open(self) -> list[Unended]:
        """Transactions without an end, by their first offset."""
        return sorted((Unended(*item) for item in self._found.open.items()), key=lambda item: item.first_offset)

    def end(self, producer_id: int, offset: int) -> Marker | None:
        """The marker that ends what a producer wrote at an offset; None if there is none."""
        ended = self._found.ended.get(producer_id)
        at = bisect_left(ended.offsets, offset) if ended else 0
        if ended is None or at == len(ended.offsets):
            return None
        return Marker(ended.offsets[at], COMMITTED if ended.are_commits[at] else ABORTED)

    @cached_property
    def _found(self) -> _Found:
        found = _Found()
        for source in self._sources():
            # A damaged producer id would open a transaction that never was, so members are checked to their end.
            for item in Segment(source, lambda heads: heads.rows["is_transactional"]).items(is_explained=False):
                if isinstance(item, Heads) and not item.is_legacy:
                    found.add(source, item)
        return found


def _is_member(heads: pa.RecordBatch) -> pa.BooleanArray:
    """Whether units belong to a transaction. Kafka looks at the bit only where there is a producer.

    A batch that compaction has emptied does not: the cleaner stops before the first open transaction, so its own had
    ended, and the marker may be gone.
    """
    has_producer = pc.greater_equal(heads["producer_id"], 0)
    has_records = pc.fill_null(pc.greater(heads["num_records"], 0), False)  # noqa: FBT003 - a value, not a flag
    return pc.and_(heads["is_transactional"], pc.and_(has_producer, has_records))


@dataclass(slots=True)
class _Ended:
    """Markers of one producer by offset, rising."""

    offsets: array[int] = field(default_factory=lambda: array("q"))
    are_commits: bytearray = field(default_factory=bytearray)

    def add(self, offset: int, *, is_commit: bool) -> None:
        at = len(self.offsets)
        if at and self.offsets[-1] > offset:
            at = bisect_left(self.offsets, offset)
        self.offsets.insert(at, offset)
        self.are_commits.insert(at, is_commit)


@dataclass(slots=True)
class _Found:
    """What the segments so far say."""

    ended: dict[int, _Ended] = field(default_factory=dict)
    open: dict[int, int] = field(default_factory=dict)
    """First offset of each producer's transaction that has no end yet."""
    aborted: array[int] = field(default_factory=lambda: array("q"))
    """Three numbers a transaction: producer id, first offset, offset of the marker."""

    def add(self, source: Source, heads: Heads) -> None:
        """Take in units that follow those so far."""
        rows = heads.rows.filter(_is_member(heads.rows))
        if not rows.num_rows:
            return
        markers = _markers(source, Heads(rows))
        for base, producer_id, is_control, position in zip(
            *(rows[name].to_pylist() for name in IN_TRANSACTION), strict=True
        ):
            if not is_control:
                self.open.setdefault(producer_id, base)
            elif marker := markers.get(position):
                self._end(producer_id, *marker)

    def _end(self, producer_id: int, offset: int, kind: str) -> None:
        first = self.open.pop(producer_id, None)
        # Like the broker's index: a marker without data aborts nothing.
        if kind == ABORT and first is not None:
            self.aborted.extend((producer_id, first, offset))
        self.ended.setdefault(producer_id, _Ended()).add(offset, is_commit=kind == COMMIT)


def _markers(source: Source, heads: Heads) -> dict[int, tuple[int, str]]:
    """Offset and type of the marker in each control batch, by where the batch starts; it is the first record."""
    found: dict[int, tuple[int, str]] = {}
    for batch in control_batches(source, heads, ("batch_start", "offset", "type")):
        ends = batch.filter(pc.is_in(batch["type"], pa.array([ABORT, COMMIT])))
        for start, offset, kind in zip(*(column.to_pylist() for column in ends.columns), strict=True):
            found.setdefault(start, (offset, kind))
    return found
