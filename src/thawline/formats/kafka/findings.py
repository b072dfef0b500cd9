"""What can be wrong with a Kafka segment and with the files beside it: the codes, and the findings about each."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import pyarrow as pa

from thawline.engine import columns
from thawline.engine.chunks import Break, Chunk, Ranges
from thawline.formats.kafka.units import (
    BATCHES,
    CRC_AT,
    HEAD_SIZE,
    LATEST_MAGIC,
    LENGTH_AT,
    MAGIC_AT,
    MOST_OFFSETS,
    Checksums,
    RawHead,
    claimed_size,
    integer_at,
    integers,
    raw_head_at,
    table_at,
)
from thawline.generated.kernels.constants import (
    KAFKA_RECORD_BATCH_BASE_OFFSET_SIZE,
    KAFKA_RECORD_BATCH_LAST_OFFSET_DELTA_AT,
    KAFKA_RECORD_BATCH_NUM_RECORDS_AT,
)
from thawline.model import Code, Finding, Span
from thawline.source import Source
from thawline.wording import counted, numbered, quoted

BAD_CHECKSUM = Code(
    "KAF101",
    "checksum mismatch",
    "error",
    "The batch is where its length says, but its bytes are not the ones that were written. One batch is lost. A broker "
    "that recovers this segment cuts the file here and loses every batch after it as well; this reader goes on with "
    "the next one.",
)
TORN_TAIL = Code(
    "KAF102",
    "the file ends inside a batch",
    "error",
    "The last write did not finish: a crash, a full disk or a cut copy. Batches before it are not affected. A broker "
    "cuts the file here when it recovers; `salvage` writes such a copy.",
)
NO_BATCH = Code(
    "KAF103",
    "these bytes are no batch",
    "error",
    "What stands here breaks a rule of the batch layout; the detail names the field. Reading goes on at the next place "
    "where length, head and checksum of a batch agree and its offsets follow those before it. Kafka's own tools stop "
    "here.",
)
DAMAGED_LENGTH = Code(
    "KAF104",
    "the batch length is damaged, the rest of the batch is proven intact",
    "error",
    "No checksum covers batchLength. The checksum is right for the bytes up to where the next batch starts, so the "
    "records are what was written; Kafka cannot read them. `salvage --recover` writes the right length.",
)
DAMAGED_MAGIC = Code(
    "KAF105",
    "the magic byte is damaged, the rest of the batch is proven intact",
    "error",
    "No checksum covers the magic byte. The checksum is that of a batch of magic 2, so the records are what was "
    "written. `salvage --recover` writes the right magic.",
)
BAD_OFFSET = Code(
    "KAF106",
    "the base offset cannot be right",
    "error",
    "No checksum covers baseOffset. The batch is intact otherwise, but its offset lies outside of those of the batches "
    "around it, so its records would come out with offsets that they never had.",
)
AS_SENT = "a fault of the producer, not of the disk: the checksum is right"
BAD_CODEC = Code(
    "KAF107",
    "the records do not decompress",
    "error",
    "The checksum is right, so the batch is what a producer sent, but its payload is not what its codec says, or is "
    "framed in a way that Kafka refuses. Every consumer of this batch fails on it.",
    cause=AS_SENT,
)
BAD_RECORDS = Code(
    "KAF108",
    "the records do not fit their batch",
    "error",
    "The checksum is right, but the records cannot be read as the head counts them: a field that breaks its rule, a "
    "count, an offset delta that does not rise, or bytes after the last record. No record of the batch is returned.",
    cause=AS_SENT,
)
TOO_LARGE = Code(
    "KAF109",
    "the records decompress to more than the bound",
    "error",
    "Decompression was stopped, as a few bytes can be made to yield gigabytes. If the batch is to be trusted, read it "
    "with a larger --max-batch-bytes.",
)
BAD_WRAPPER = Code(
    "KAF110",
    "the compressed message set breaks a rule",
    "error",
    "A compressed message of magic 0 or 1 holds messages. These do not add up: there is none that is whole, one is "
    "compressed again, breaks a rule or has a wrong checksum of its own, or their offsets do not lead to that of the "
    "wrapper.",
)
MISSING_SEGMENT = Code(
    "KAF111",
    "records are missing from the partition",
    "error",
    "Offsets run on without a gap everywhere but between two segments, where a file is missing; or the high watermark, "
    "a producer snapshot or the leader epochs name offsets beyond the last record that is there; the detail says "
    "which. Gaps that compaction leaves are no loss and not reported.",
)
BAD_INDEX = Code(
    "KAF120",
    "the offset index does not fit its segment",
    "error",
    "An entry of the .index file points at a place where no batch starts, or at a batch after its offset, or breaks "
    "the rising order, or the file ends inside one. Readers that trust it skip records. The segment itself is not "
    "affected, unless entries point beyond its end: then the segment was cut. Kafka rebuilds an index that is deleted.",
)
BAD_TIME_INDEX = Code(
    "KAF121",
    "the time index does not fit its segment",
    "error",
    "An entry of the .timeindex file breaks the rising order, or names an offset or a timestamp that the segment "
    "does not have, or the file ends inside one. Lookups by time go wrong. The segment itself is not affected; Kafka "
    "rebuilds an index that is deleted.",
)
BAD_TRANSACTION_INDEX = Code(
    "KAF122",
    "the transaction index does not fit the markers",
    "error",
    "An entry of the .txnindex file is damaged or has no abort marker in the segment, or an abort marker has no entry. "
    "Consumers with read_committed would get aborted records, or miss committed ones; thawline goes by the markers.",
)
BAD_SNAPSHOT = Code(
    "KAF123",
    "the producer snapshot is damaged",
    "error",
    "The .snapshot file cannot be read or its checksum is wrong. A broker rebuilds it from the segments; no record is "
    "lost.",
)
BAD_EPOCHS = Code(
    "KAF124",
    "leader-epoch-checkpoint is damaged",
    "error",
    "The file is not what Kafka writes: a version, a count, and lines of epoch and start offset, both rising.",
)
BAD_METADATA = Code(
    "KAF125",
    "partition.metadata is damaged",
    "error",
    "The file is not what Kafka writes: version and topic id. No record depends on it.",
)
BAD_CHECKPOINT = Code(
    "KAF126",
    "the KRaft snapshot is not whole",
    "error",
    "A .checkpoint file begins with a snapshot header and ends with a snapshot footer. One of them is missing, so that "
    "it was not written to its end or has been cut. Controllers refuse it and go back to an older one.",
)
EPOCH_FALLS = Code(
    "KAF201",
    "the leader epoch falls",
    "warning",
    "No checksum covers partitionLeaderEpoch, which never falls within a partition. Records are not affected; the "
    "column leader_epoch of these batches cannot be relied on.",
)
OFFSETS_RESTART = Code(
    "KAF202",
    "offsets do not rise",
    "warning",
    "Offsets start again or repeat, more than damage to a single batch explains: the file was put together from "
    "several, or never was a segment of a log. All records are returned, with the offsets that they carry.",
)
NAME_MISMATCH = Code(
    "KAF203",
    "the segment holds offsets below its name",
    "warning",
    "A segment is named after its base offset, and no record in it can be smaller: the file was renamed or belongs to "
    "another partition. Offsets are taken from the batches; its index files count from its name and do not fit.",
)
INDEX_LEFT_OVER = Code(
    "KAF204",
    "a file without its segment",
    "warning",
    "An index file belongs to the segment of the same name, which is not in the folder: it was deleted, or lost.",
)
EPOCHS_MISMATCH = Code(
    "KAF205",
    "leader-epoch-checkpoint does not fit the batches",
    "warning",
    "Batches carry a leader epoch that the file does not have at their offset, or the other way round.",
)
SNAPSHOT_MISMATCH = Code(
    "KAF206",
    "the producer snapshot does not fit the batches",
    "warning",
    "A producer's last offset or open transaction in the snapshot is not what the segments before it say. Not looked "
    "at where compaction or damage has taken batches before it.",
)
UNFINISHED_FILE = Code(
    "KAF207",
    "left behind by an unfinished operation",
    "warning",
    "A .cleaned file is the unfinished output of the log cleaner or of a split: a broker throws it away, and so does "
    "this reader. A .swap file is complete and takes the place of the segments that it covers.",
)
CUT_WRAPPER = Code(
    "KAF208",
    "the compressed message set ends inside a message",
    "warning",
    "A compressed message of magic 0 or 1 holds messages, and the last of them is not whole. The checksum is right, so "
    "the producer sent it like this. Kafka gives the whole messages and ignores the rest without a word, and this "
    "reader gives the same. With magic 1, offsets count back from the last message that is whole, in Kafka as here, so "
    "that those of the set are higher by as many as are cut.",
)
SUSPECTS = Code(
    "KAF209",
    "messages that may be part of a broken compressed set",
    "warning",
    "These messages of magic 0 or 1 were found by a search after damage, in a segment that has compressed message "
    "sets. They are intact, but the damaged bytes may be the head of such a set that stores them as they are, and then "
    "their offsets are not those of the log. They are given with the column `suspect` set, up to the next compressed "
    "set or batch; `salvage` leaves them out unless it is told to --include-suspects.",
)
NO_FOOTER = Code(
    "KAF210",
    "a KRaft snapshot without its footer",
    "warning",
    "The file begins with the header of a snapshot and does not end with its footer, so records may be missing from "
    "its end. Under the name of a snapshot, which ends in .checkpoint, it is damaged (KAF126).",
)
PREALLOCATED = Code(
    "KAF301",
    "zeros to the end of the file",
    "note",
    "Space that was allocated ahead (log.preallocate; index files of the segment that is written to always have it) "
    "and never written to. Nothing is lost, although Kafka's own tools call it corrupt.",
)
DELETED_FILE = Code(
    "KAF302",
    "marked for deletion",
    "note",
    "The broker renames a file before it removes it: a segment past its retention, or replaced by compaction. Its "
    "records are whole; read the file by itself to get them.",
)
OPEN_TRANSACTION = Code(
    "KAF303",
    "a transaction without an end",
    "note",
    "The segments hold records of a transaction and no marker that ends it: it was open when the files were copied, or "
    "what follows is lost. Consumers with read_committed get nothing from its first offset on.",
)
MISSING_INDEX = Code(
    "KAF304",
    "segments without an index file",
    "note",
    "The .index or .timeindex file of a segment is not in the folder. No record is lost: Kafka rebuilds index files "
    "when it starts, and this reader does without.",
)
BELOW_START = Code(
    "KAF305",
    "records below the log start offset",
    "note",
    "The folder above says in log-start-offset-checkpoint that the partition starts at a later offset: records before "
    "it were deleted by DeleteRecords or by retention, and no consumer gets them. They are still in the file, and this "
    "reader returns them; `--offsets` leaves them out.",
)
CODES = (
    BAD_CHECKSUM, TORN_TAIL, NO_BATCH, DAMAGED_LENGTH, DAMAGED_MAGIC, BAD_OFFSET, BAD_CODEC, BAD_RECORDS, TOO_LARGE,
    BAD_WRAPPER, MISSING_SEGMENT, BAD_INDEX, BAD_TIME_INDEX, BAD_TRANSACTION_INDEX, BAD_SNAPSHOT, BAD_EPOCHS,
    BAD_METADATA, BAD_CHECKPOINT, EPOCH_FALLS, OFFSETS_RESTART, NAME_MISMATCH, INDEX_LEFT_OVER, EPOCHS_MISMATCH,
    SNAPSHOT_MISMATCH, UNFINISHED_FILE, CUT_WRAPPER, SUSPECTS, NO_FOOTER, PREALLOCATED, DELETED_FILE, OPEN_TRANSACTION,
    MISSING_INDEX, BELOW_START,
)  # fmt: skip


# Damaged stretches.


def damage(source: Source, code: Code, span: Span, detail: Mapping[str, object]) -> Finding:
    """A finding about damage to a segment, with the command that comes next."""
    return Finding(code, span, detail, f"thawline salvage {quoted(source.name)} -o intact.log")


def lost_batch(records: int, base: int, last: int) -> str:
    """A batch that is lost with its records.

    >>> lost_batch(1, 3692, 3692), lost_batch(2, 0, 9)
    ('1 batch of 1 record, offset 3692', '1 batch of 2 records, offsets 0 to 9')
    """
    return f"1 batch of {counted(records, 'record')}, {numbered('offset', base, last)}"


def lost_unit(records: int | None, base: int | None, last: int) -> str:
    """A unit that is lost, as its head tells; the head of a wrapper does not tell what is in it."""
    if records is None or base is None:
        return f"1 compressed message set, offsets up to {last}"
    return lost_batch(records, base, last)


class Explanations:
    """Findings about stretches of a segment that hold no intact unit."""

    def __init__(self, checksums: Checksums) -> None:
        self.checksums = checksums

    @property
    def source(self) -> Source:
        """The file."""
        return self.checksums.source

    def of(self, span: Span, floor: int, following: int | None, *, is_last: bool) -> Finding:
        """What is wrong with one broken unit, or with bytes that are none.

        `floor` is the last offset before it, `following` the first one after it. `is_last` says that no unit follows.
        """
        table = table_at(self.source, span.start)
        facts: dict[str, Any] = {"lost": self._lost(span, table, floor, following)}
        if proven := self._proven(span):
            at, name = (LENGTH_AT, "batchLength") if proven is DAMAGED_LENGTH else (MAGIC_AT, "magic")
            found = damage(self.source, proven, span, {"at": span.start + at, "reason": name, **facts})
            return replace(found, hint=f"{found.hint} --recover")
        claimed, left = claimed_size(self.source, span.start), self.source.size - span.start
        item = self._read(span, table, claimed)
        if isinstance(item, Chunk):
            computed = item.checksums[0].as_py() if item.checksums else None
            stored = {"crc_stored": item.batch["crc"][0].as_py(), "crc_computed": computed}
            return damage(self.source, BAD_CHECKSUM, span, {**stored, **facts})
        if is_last and span.end == self.source.size and self._is_torn(span.start, claimed, left):
            return damage(self.source, TORN_TAIL, span, {"claimed": claimed, "left": left, **facts})
        where = {"at": span.start + item.at, "field": f"{item.failure.spec}: {item.failure.path}"}
        return damage(self.source, NO_BATCH, span, {**where, "reason": item.failure.reason, **facts})

    def of_many(self, holes: Sequence[tuple[Span, int, int]]) -> list[Finding]:
        """Shorter findings about many stretches, each with the last offset before it and the first one after it."""
        heads = [raw_head_at(self.source, span.start) for span, _, _ in holes]
        computed: dict[int, int] = {}
        for is_legacy in (False, True):
            spans = [
                span
                for (span, _, _), head in zip(holes, heads, strict=True)
                if head is not None and head.is_legacy is is_legacy and head.end == span.end
            ]
            if spans:
                starts = pa.array([span.start for span in spans], pa.int64())
                ends = pa.array([span.end for span in spans], pa.int64())
                found = self.checksums.of_units(starts, ends, is_legacy=is_legacy).to_pylist()
                computed |= {span.start: value for span, value in zip(spans, found, strict=True)}
        return [self._short(*hole, head, computed) for hole, head in zip(holes, heads, strict=True)]

    def _short(
        self, span: Span, floor: int, following: int, head: RawHead | None, computed: Mapping[int, int]
    ) -> Finding:
        facts = {"lost": self._lost(span, table_at(self.source, span.start), floor, following)}
        if head and span.start in computed:
            stored = {"crc_stored": head.checksum, "crc_computed": computed[span.start]}
            return damage(self.source, BAD_CHECKSUM, span, {**stored, **facts})
        if self._proven(span):
            return self.of(span, floor, following, is_last=False)
        return damage(self.source, NO_BATCH, span, {"at": span.start, "reason": "no batch is here", **facts})

    def _read(self, span: Span, table: str, claimed: int) -> Chunk | Break:
        """What the kernel makes of a unit, in the extent that its length or else the span gives it."""
        view = self.source.view(span.start, min(max(span.start + claimed, span.end), self.source.size))
        return next(iter(columns.scan(table, view, Ranges.of([(0, len(view), 1)]), columns=("crc",))))

    def _is_torn(self, start: int, claimed: int, left: int) -> bool:
        """Whether what is left of the file is the start of a unit."""
        if left < HEAD_SIZE:
            return True
        return claimed > left and self.source.view(start + MAGIC_AT, start + MAGIC_AT + 1)[0] <= LATEST_MAGIC

    def _proven(self, span: Span) -> Code | None:
        """What of a batch of magic 2 is damaged where its checksum proves the rest."""
        if span.size < HEAD_SIZE:
            return None
        starts, ends = pa.array([span.start], pa.int64()), pa.array([span.end], pa.int64())
        stored = integer_at(self.source, span.start + CRC_AT[False]) & 0xFFFFFFFF
        if self.checksums.of_units(starts, ends, is_legacy=False)[0].as_py() != stored:
            return None
        if claimed_size(self.source, span.start) != span.size:
            return DAMAGED_LENGTH
        is_latest = self.source.view(span.start + MAGIC_AT, span.start + MAGIC_AT + 1)[0] == LATEST_MAGIC
        return None if is_latest else DAMAGED_MAGIC

    def _lost(self, span: Span, table: str, floor: int, following: int | None) -> str:
        """What is lost, in offsets as far as the units around it tell."""
        if table == BATCHES and span.size >= HEAD_SIZE:
            base = integer_at(self.source, span.start, KAFKA_RECORD_BATCH_BASE_OFFSET_SIZE)
            count = integer_at(self.source, span.start + KAFKA_RECORD_BATCH_NUM_RECORDS_AT)
            last = base + integer_at(self.source, span.start + KAFKA_RECORD_BATCH_LAST_OFFSET_DELTA_AT)
            fits = floor < base <= last and (following is None or last < following) and 0 < count <= last - base + 1
            if fits and last - floor < MOST_OFFSETS:
                is_more = HEAD_SIZE <= claimed_size(self.source, span.start) < span.size and not self._proven(span)
                after = _between(last, following) if is_more else ""
                return lost_batch(count, base, last) + (f", and {after} after it" if after else "")
        return _between(floor, following) or "nothing: the offsets continue after it"


def _between(last: int, following: int | None) -> str:
    """Records that may have been between two offsets that are there; empty if there are none."""
    if following is None or following <= last:
        return f"records in offsets {last + 1} to the end of the segment"
    return f"records in {numbered('offset', last + 1, following - 1)}" if following > last + 1 else ""


# Entries of index files that do not fit their segment.


@dataclass(slots=True)
class Misfits:
    """Entries that do not fit, by the reason: how many, and where the first one is."""

    code: Code
    hint: str
    found: dict[str, tuple[int, Mapping[str, object]]] = field(default_factory=dict)

    def add(self, reason: str, facts: Mapping[str, object]) -> None:
        """Count one more."""
        count, first = self.found.get(reason, (0, facts))
        self.found[reason] = count + 1, first

    def findings(self, end: int) -> Iterator[Finding]:
        """A finding for each reason, at the end of the file: the entries are intact as such."""
        for reason, (count, facts) in self.found.items():
            yield Finding(self.code, Span(end, end), {"reason": reason, "entries": count, **facts}, self.hint)


class Comparison(Protocol):
    """Compares the units of a segment, in file order, with something."""

    misfits: Misfits

    def add_units(self, rows: pa.RecordBatch) -> None:
        """Compare units that follow one another."""
        ...

    def add_damage(self) -> None:
        """Take in that units may be missing here."""
        ...

    def end(self, size: int) -> None:
        """Take in that the segment has ended, and its size in bytes."""
        ...


@dataclass(slots=True)
class Entry:
    """An entry of an index: its two numbers, and where it stands."""

    first: int
    second: int
    at: int


class OffsetIndex:
    """The entries of an .index file. Each points at the start of a batch, and its offset is above all before that."""

    def __init__(self, entries: Iterable[Entry], hint: str) -> None:
        self.misfits = Misfits(BAD_INDEX, hint)
        self.entries = _Ahead(entries)
        self.last = -1
        """The last offset so far."""
        self.latest: Entry | None = None
        """The last entry that points at a batch."""
        self.is_damaged = False

    def add_units(self, rows: pa.RecordBatch) -> None:
        """Compare the entries that point into some units."""
        positions, lasts = integers(rows["position"]), integers(rows["last_offset"])
        end = positions[-1] + rows["size"][-1].as_py()
        list(self.entries.until(lambda entry: entry.second >= positions[0]))  # they point into damage
        for entry in self.entries.until(lambda entry: entry.second >= end):
            row = bisect_left(positions, entry.second)
            if row == len(positions) or positions[row] != entry.second:
                self._misfit("no batch starts at its position", entry)
            elif entry.first <= (lasts[row - 1] if row else self.last):
                self._misfit("its offset lies before the batch at its position", entry)
            else:
                self.latest = entry
        self.last = lasts[-1]

    def add_damage(self) -> None:
        """Units may be missing."""
        self.is_damaged = True

    def end(self, size: int) -> None:
        """Judge the entries after the last unit."""
        for entry in self.entries.until(lambda _: False):
            if entry.second >= size:
                self._misfit("it points beyond the end of the segment, which was cut", entry)
        # A follower's entry may name the last offset of several batches (KAFKA-806), but never one that is not there.
        if self.latest and self.latest.first > self.last and not self.is_damaged:
            self._misfit("the segment has no such offset", self.latest)

    def _misfit(self, reason: str, entry: Entry) -> None:
        self.misfits.add(reason, {"at": entry.at, "offset": entry.first, "position": entry.second})


class TimeIndex:
    """The entries of a .timeindex file. Each has the largest timestamp of the batch that holds its offset.

    Kafka of 2023 names the record that has it, Kafka of 2025 the last one of its batch; both are right.
    """

    def __init__(self, entries: Iterable[Entry], hint: str) -> None:
        self.misfits = Misfits(BAD_TIME_INDEX, hint)
        self.entries = _Ahead(entries)
        self.last = -1
        self.is_damaged = False

    def add_units(self, rows: pa.RecordBatch) -> None:
        """Compare the entries whose offsets lie in some units."""
        lasts, times = integers(rows["last_offset"]), integers(rows["max_timestamp"])
        first = rows["base_offset"][0].as_py()
        if first is not None and self.is_damaged:
            list(self.entries.until(lambda entry: entry.second >= first))  # their units may be lost
        for entry in self.entries.until(lambda entry: entry.second > lasts[-1]):
            row = bisect_left(lasts, entry.second)
            if entry.second <= self.last:
                self._misfit("the segment has no such offset", entry)
            elif times[row] != entry.first:
                self._misfit("the batch of its offset has another largest timestamp", entry)
        self.last, self.is_damaged = lasts[-1], False

    def add_damage(self) -> None:
        """Units may be missing."""
        self.is_damaged = True

    def end(self, size: int) -> None:
        """Judge the entries after the last unit."""
        for entry in self.entries.until(lambda _: self.is_damaged):
            self._misfit("the segment has no such offset", entry)

    def _misfit(self, reason: str, entry: Entry) -> None:
        self.misfits.add(reason, {"at": entry.at, "offset": entry.second, "timestamp": entry.first})


class _Ahead:
    """Entries in rising order, taken from the front."""

    def __init__(self, entries: Iterable[Entry]) -> None:
        self.entries = iter(entries)
        self.next = next(self.entries, None)

    def until(self, is_after: Callable[[Entry], bool]) -> Iterator[Entry]:
        """The next entries up to the first of which this holds."""
        while self.next is not None and not is_after(self.next):
            yield self.next
            self.next = next(self.entries, None)
