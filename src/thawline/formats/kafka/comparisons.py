"""Whether index files fit their segment. Each comparison is shown the segment's units, and says what does not fit."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import pyarrow as pa

from thawline.formats.kafka import numbers, sidecars
from thawline.formats.kafka.findings import BAD_INDEX, BAD_TIME_INDEX, BAD_TRANSACTION_INDEX
from thawline.formats.kafka.transactions import ABORTED, Aborted, Transactions
from thawline.model import Code, Finding, Span
from thawline.source import Source


@dataclass(slots=True)
class Misfits:
    """Entries that do not fit, by the reason: how many, and where the first is."""

    code: Code
    hint: str
    found: dict[str, tuple[int, Mapping[str, object]]] = field(default_factory=dict)

    def add(self, reason: str, facts: Mapping[str, object]) -> None:
        """One more."""
        count, first = self.found.get(reason, (0, facts))
        self.found[reason] = count + 1, first

    def findings(self, end: int) -> Iterator[Finding]:
        """A finding for each reason, at the end of the file: entries that do not fit are intact as such."""
        for reason, (count, facts) in self.found.items():
            yield Finding(self.code, Span(end, end), {"reason": reason, "entries": count, **facts}, self.hint)


class Comparison(Protocol):
    """Something that looks at the units of a segment in file order."""

    misfits: Misfits

    def units(self, rows: pa.RecordBatch) -> None:
        """Units that follow one another."""
        ...

    def damage(self) -> None:
        """Say that something is missing before the next units, or at the end."""
        ...

    def end(self, size: int) -> None:
        """Say that the segment has ended, and how many bytes it has."""
        ...


@dataclass(slots=True)
class Entry:
    """An entry of an index: its two numbers, and where it stands."""

    first: int
    second: int
    at: int


class OffsetIndex:
    """The entries of an .index file: each points at the start of a batch, and no record before that is later."""

    def __init__(self, entries: Iterable[Entry], hint: str) -> None:
        self.misfits = Misfits(BAD_INDEX, hint)
        self.entries = _Ahead(entries)
        self.last = -1
        """The last offset so far."""
        self.latest: Entry | None = None
        """The last entry that points at a batch."""
        self.is_damaged = False

    def units(self, rows: pa.RecordBatch) -> None:
        """Compare the entries that point into some units."""
        positions, lasts = numbers.view(rows["position"]), numbers.view(rows["last_offset"])
        end = positions[-1] + rows["size"][-1].as_py()
        list(self.entries.until(lambda entry: entry.second >= positions[0]))  # into damage, which no unit vouches for
        for entry in self.entries.until(lambda entry: entry.second >= end):
            row = bisect_left(positions, entry.second)
            if row == len(positions) or positions[row] != entry.second:
                self._misfit("no batch starts at its position", entry)
            elif entry.first <= (lasts[row - 1] if row else self.last):
                self._misfit("its offset lies before the batch at its position", entry)
            else:
                self.latest = entry
        self.last = lasts[-1]

    def damage(self) -> None:
        """Units are missing."""
        self.is_damaged = True

    def end(self, size: int) -> None:
        """Judge the entries behind the last unit."""
        for entry in self.entries.until(lambda _: False):
            if entry.second >= size:
                self._misfit("it points behind the end of the segment, which was cut", entry)
        # A follower's entry may name the last offset of several batches (KAFKA-806), but never one that is not there.
        if self.latest and self.latest.first > self.last and not self.is_damaged:
            self._misfit("the segment has no such offset", self.latest)

    def _misfit(self, reason: str, entry: Entry) -> None:
        self.misfits.add(reason, {"at": entry.at, "offset": entry.first, "position": entry.second})


class TimeIndex:
    """The entries of a .timeindex file: each has the largest timestamp of the batch that holds its offset.

    Kafka of 2023 names the record that has it, Kafka of 2025 the last one of its batch; both are right.
    """

    def __init__(self, entries: Iterable[Entry], hint: str) -> None:
        self.misfits = Misfits(BAD_TIME_INDEX, hint)
        self.entries = _Ahead(entries)
        self.last = -1
        self.is_damaged = False

    def units(self, rows: pa.RecordBatch) -> None:
        """Compare the entries whose offsets lie in some units."""
        lasts, times = numbers.view(rows["last_offset"]), numbers.view(rows["max_timestamp"])
        first = rows["base_offset"][0].as_py()
        if first is not None and self.is_damaged:
            list(self.entries.until(lambda entry: entry.second >= first))  # what had them may be lost
        for entry in self.entries.until(lambda entry: entry.second > lasts[-1]):
            row = bisect_left(lasts, entry.second)
            if entry.second <= self.last:
                self._misfit("the segment has no such offset", entry)
            elif times[row] != entry.first:
                self._misfit("the batch of its offset has another largest timestamp", entry)
        self.last, self.is_damaged = lasts[-1], False

    def damage(self) -> None:
        """Units are missing."""
        self.is_damaged = True

    def end(self, size: int) -> None:
        """Judge the entries behind the last unit."""
        for entry in self.entries.until(lambda _: self.is_damaged):
            self._misfit("the segment has no such offset", entry)

    def _misfit(self, reason: str, entry: Entry) -> None:
        self.misfits.add(reason, {"at": entry.at, "offset": entry.second, "timestamp": entry.first})


class _Ahead:
    """Entries in rising order, taken from the front."""

    def __init__(self, entries: Iterable[Entry]) -> None:
        self.entries = iter(entries)
        self.next = next(self.entries, None)

    def until(self, is_behind: Callable[[Entry], bool]) -> Iterator[Entry]:
        """The next entries up to the first of which this holds."""
        while self.next is not None and not is_behind(self.next):
            yield self.next
            self.next = next(self.entries, None)


def compared_transactions(
    entries: Sequence[tuple[Aborted, int]],
    transactions: Transactions,
    offsets: tuple[int, int],
    hint: str,
    *,
    is_damaged: bool,
) -> Misfits:
    """What of a .txnindex file does not fit the markers of its segment, which holds offsets from the first on.

    An entry stands in the file of the segment that holds the marker; the data may lie in segments before it.
    """
    misfits = Misfits(BAD_TRANSACTION_INDEX, hint)
    expected = {item[::2]: item for item in transactions.aborted() if offsets[0] <= item.last_offset < offsets[1]}
    for entry, at in entries:
        end = transactions.end(entry.producer_id, entry.last_offset)
        found = expected.pop(entry[::2], None)
        facts = {"at": at, **entry._asdict()}
        if end is None or end.offset != entry.last_offset or end.outcome != ABORTED:
            if not is_damaged:
                misfits.add("there is no such abort marker in the segment", facts)
        elif found and entry.first_offset > found.first_offset:
            misfits.add("the transaction begins before the first offset", {**facts, "begins": found.first_offset})
    for missing in expected.values():
        misfits.add("an aborted transaction has no entry", missing._asdict())
    return misfits


def index_entries(source: Source, kind: sidecars.Kind, base: int) -> Iterator[Entry]:
    """The intact entries of an .index or .timeindex file, with absolute offsets."""
    names = ("relative_offset", "position") if kind.table == "index" else ("timestamp", "relative_offset")
    for start, batch in sidecars.intact(source, kind):
        for row, (first, second) in enumerate(zip(*(batch[name].to_pylist() for name in names), strict=True)):
            at = start + row * kind.entry_size
            yield Entry(base + first, second, at) if kind.table == "index" else Entry(first, base + second, at)


def transaction_entries(source: Source, kind: sidecars.Kind) -> Iterator[tuple[Aborted, int]]:
    """The intact entries of a .txnindex file, and where they stand."""
    for start, batch in sidecars.intact(source, kind):
        for row, values in enumerate(zip(*(batch[name].to_pylist() for name in Aborted._fields), strict=True)):
            yield Aborted(*values), start + row * kind.entry_size
