"""Producers and their transactions: the markers that end them, what became of each, and what other files say of them.

Rules: formats/kafka.md 1.5; the Java consumer applies them in CompletedFetch. Markers and data are matched by producer
id only: since KIP-890 the epoch of a marker is one above that of the data.
"""

from __future__ import annotations

import base64
import re
import sys
from array import array
from bisect import bisect_left
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import PurePath
from threading import Lock
from typing import Any, Literal, NamedTuple
from weakref import WeakKeyDictionary, ref

import kaitaistruct
import orjson
import pyarrow as pa
import pyarrow.compute as pc

from thawline import codecs, specs
from thawline.engine.encoding import frame
from thawline.folder import Folder
from thawline.formats.building import Origins, batch_of
from thawline.formats.contract import Reading
from thawline.formats.kafka import records
from thawline.formats.kafka.findings import (
    BAD_CHECKPOINT,
    BAD_TRANSACTION_INDEX,
    NO_FOOTER,
    SNAPSHOT_MISMATCH,
    Misfits,
)
from thawline.formats.kafka.rows import SEQUENCES, BadRecord, Request, Selection
from thawline.formats.kafka.sidecars import PRODUCER_SNAPSHOT, TRANSACTION_INDEX, base_offset
from thawline.formats.kafka.units import Heads, head_at
from thawline.formats.kafka.walk import Walk, nowhere
from thawline.generated.kernels.constants import (
    KAFKA_CONTROL_KEY_CONTROL_TYPE_AT,
    KAFKA_CONTROL_KEY_HEAD_SIZE,
    KAFKA_CONTROL_KEY_VERSION_AT,
    KAFKA_CONTROL_VALUE_COORDINATOR_EPOCH_AT,
)
from thawline.generated.tables.kafka import CONTROL
from thawline.model import Finding, Span
from thawline.source import Source

# The table `control`: markers and the records that KRaft writes about itself.

ABORT, COMMIT = "abort", "commit"
LEAST_KEY = KAFKA_CONTROL_KEY_HEAD_SIZE
"""Kafka refuses a control record with a shorter key, and one with a negative version."""
EPOCH_AT = KAFKA_CONTROL_VALUE_COORDINATOR_EPOCH_AT
"""Where the coordinator's epoch stands in the value of a transaction marker."""
INTEGERS = {"h": pa.int16(), "i": pa.int32()}


def control_batches(
    source: Source, heads: Heads, columns: Collection[str], max_batch_bytes: int = codecs.DEFAULT_MAX_BYTES
) -> Iterator[pa.RecordBatch]:
    """Control records of some units, with the requested columns. Units that cannot be read are left out."""
    for item in _control(source, heads, (*CONTROL.fields(CONTROL.schema.names), "key"), max_batch_bytes):
        if not isinstance(item, Finding):
            yield from (_control_rows(batch, columns) for batch in item[1])


def broken_control(source: Source, heads: Heads, max_batch_bytes: int) -> Iterator[Finding]:
    """What is wrong with control records of some units: what `control_batches` leaves out."""
    return (item for item in _control(source, heads, (), max_batch_bytes) if isinstance(item, Finding))


def _control(source: Source, heads: Heads, columns: tuple[str, ...], max_batch_bytes: int) -> Reading:
    chosen = heads.rows.filter(heads.rows["is_control"])
    request = Request(columns, Selection(control=True), max_batch_bytes=max_batch_bytes)
    return records.decode(source, Heads(chosen), request) if chosen.num_rows else iter(())


def _control_rows(batch: pa.RecordBatch, columns: Collection[str]) -> pa.RecordBatch:
    made = _ControlColumns(batch)
    origins = Origins(
        batch.num_rows, field=lambda column: batch[column.source], made=lambda column: made.column(column.name)
    )
    return batch_of(CONTROL, columns, origins)


class _ControlColumns:
    """What keys and values of control records say."""

    def __init__(self, batch: pa.RecordBatch) -> None:
        self.values = batch["value"]
        is_whole = pc.fill_null(pc.greater_equal(pc.binary_length(batch["key"]), LEAST_KEY), False)  # noqa: FBT003
        versions = big_endian(batch["key"], KAFKA_CONTROL_KEY_VERSION_AT, "h")
        is_valid = pc.and_(is_whole, pc.fill_null(pc.greater_equal(versions, 0), False))  # noqa: FBT003 - a value
        self.versions = _where(is_valid, versions)
        self.numbers = _where(is_valid, big_endian(batch["key"], KAFKA_CONTROL_KEY_CONTROL_TYPE_AT, "h"))

    def column(self, name: str) -> pa.Array:
        """One column, by its name."""
        made: Callable[[], pa.Array] = getattr(self, f"_{name}")
        return made()

    def _version(self) -> pa.Array:
        return self.versions

    def _type(self) -> pa.Array:
        """The name of a type, its number if it has none; null where the key breaks Kafka's rule."""
        encoded = self.numbers.dictionary_encode()
        names = pa.array([types().get(number, str(number)) for number in encoded.dictionary.to_pylist()], pa.string())
        return names.take(encoded.indices)

    def _coordinator_epoch(self) -> pa.Array:
        return _where(self._is_end(), big_endian(self.values, EPOCH_AT, "i"))

    def _content(self) -> pa.Array:
        """JSON of what KRaft's records say; null for transaction markers."""
        if pc.all(self._is_end()).as_py():
            return pa.nulls(len(self.numbers), pa.string())
        pairs = zip(self.numbers.to_pylist(), self.values.to_pylist(), strict=True)
        return pa.array([_content(number, value) for number, value in pairs], pa.string())

    def _is_end(self) -> pa.BooleanArray:
        ends = pa.array([number for number, name in types().items() if name in {ABORT, COMMIT}], pa.int16())
        return pc.is_in(self.numbers, ends)


@cache
def types() -> Mapping[int, str]:
    """The types of control records that have a name."""
    return {int(kind): kind.name for kind in specs.parser("kafka_control_key").ControlType}


def big_endian(values: pa.BinaryArray, at: int, typecode: str) -> pa.Array:
    """The integer at a byte of each value; null where the value is too short."""
    size = array(typecode).itemsize
    stored = pc.binary_slice(values, at, at + size)
    is_there = pc.fill_null(pc.equal(pc.binary_length(stored), size), False)  # noqa: FBT003 - a value, not a flag
    whole = pc.if_else(is_there, stored, pa.scalar(bytes(size))).cast(pa.binary(size))
    found = array(typecode)
    found.frombytes(memoryview(whole.buffers()[1])[size * whole.offset : size * (whole.offset + len(whole))])
    if sys.byteorder == "little":
        found.byteswap()
    return _where(is_there, pa.Array.from_buffers(INTEGERS[typecode], len(found), [None, pa.py_buffer(found)]))


def _where(condition: pa.BooleanArray, values: pa.Array) -> pa.Array:
    return pc.if_else(condition, values, pa.scalar(None, values.type))


def _content(number: int | None, value: bytes | None) -> str | None:
    """What one of KRaft's records says; None for what the spec does not describe, and for what breaks it."""
    if number is None or value is None:
        return None
    root, error = specs.read("kafka_control_value", value, number)
    message = getattr(root, "message", None)
    if error or message is None:
        return None
    return orjson.dumps({"version": root.version, **plain(message)}).decode()


def plain(value: Any) -> Any:
    """A parsed structure as JSON has it: without lengths and counts, and with bytes in base 64, as Kafka writes ids."""
    if isinstance(value, bytes):
        return base64.urlsafe_b64encode(value).decode().rstrip("=")
    if isinstance(value, list):
        return [plain(item) for item in value]
    if not isinstance(value, kaitaistruct.KaitaiStruct):
        return value
    return value.value if hasattr(value, "value") else dict(_fields(value))


def _fields(structure: Any) -> Iterator[tuple[str, Any]]:
    for name in structure.SEQ_FIELDS:
        value = getattr(structure, name, None)
        is_nothing = value is None or (name == "tagged_fields" and not value.fields)
        if not is_nothing and not name.startswith(("len_", "num_")):
            yield name, plain(value)


# Outcomes.

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
    """Outcomes of the transactions of a partition. Its segments are read when the first outcome is requested."""

    def __init__(self, sources: Callable[[], Iterable[Source]]) -> None:
        self._sources = sources
        """The segments in the order of their offsets."""
        self._read: _Found | None = None

    def outcomes(self, heads: pa.RecordBatch) -> pa.StringArray:
        """How the transaction of each unit ended: none, committed, aborted or open.

        The first marker of its producer at or after the unit says so. A marker has its own outcome.
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

    @property
    def _found(self) -> _Found:
        with _READING:  # threads that share a file ask at the same time
            self._read = self._read or self._all()
            return self._read

    def _all(self) -> _Found:
        found = _Found()
        for source in self._sources():
            # A damaged producer id would open a transaction that never was, so members are verified.
            for item in Walk(source, lambda heads: heads.rows["is_transactional"]).items():
                if isinstance(item, Heads) and not item.is_legacy:
                    found.add(source, item)
        return found


_READING = Lock()
_OWN: WeakKeyDictionary[Source, Transactions] = WeakKeyDictionary()
"""Of single files, as long as they are open: a file that is read in parts is not read for each of them."""


def transactions_of(source: Source) -> Transactions:
    """The outcomes of transactions as far as a segment by itself tells."""
    held = ref(source)
    return _OWN.setdefault(source, Transactions(lambda: [found] if (found := held()) is not None else []))


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
    """Three numbers of each transaction: producer id, first offset, offset of the marker."""

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
        # As in the broker's index, a marker without data aborts nothing.
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


# What other files say.


def compared_transactions(
    source: Source | None, transactions: Transactions, offsets: tuple[int, int], hint: str, *, is_damaged: bool
) -> Misfits:
    """What of a .txnindex file does not fit the markers of its segment, which holds offsets from the first on.

    An entry stands in the file of the segment that holds the marker; the data may lie in segments before it.
    """
    misfits = Misfits(BAD_TRANSACTION_INDEX, hint)
    expected = {item[::2]: item for item in transactions.aborted() if offsets[0] <= item.last_offset < offsets[1]}
    for entry, at in _index_entries(source) if source else ():
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


def _index_entries(source: Source) -> Iterator[tuple[Aborted, int]]:
    """The intact entries of a .txnindex file, and where they stand."""
    for start, batch in TRANSACTION_INDEX.intact_entries(source):
        for row, values in enumerate(zip(*(batch[name].to_pylist() for name in Aborted._fields), strict=True)):
            yield Aborted(*values), start + row * TRANSACTION_INDEX.entry_size


class ProducerStates:
    """What producers wrote last, compared with the snapshots of their state."""

    def __init__(self, folder: Folder, transactions: Transactions) -> None:
        self.folder, self.transactions = folder, transactions
        offsets = {base_offset(name): name for name in folder.files() if name.endswith(".snapshot")}
        self.pending = sorted((offset, name) for offset, name in offsets.items() if offset is not None)
        self.misfits: dict[str, Misfits] = {}
        """By the name of the file."""
        self.last: dict[int, tuple[int, bool]] = {}
        """Last offset of each producer, and whether it is part of a transaction."""
        self.start: int | None = None
        self.is_known = True
        """Whether nothing is missing so far."""

    def add(self, rows: pa.RecordBatch, *, has_gaps: bool) -> None:
        """Take in units that follow one another. After gaps, which compaction leaves, nothing is compared."""
        if not self.pending or not self.is_known:
            return
        if self.start is None:
            self.start = pc.coalesce(rows["base_offset"], rows["last_offset"])[0].as_py()
        data = rows.filter(pc.and_(pc.greater_equal(rows["producer_id"], 0), pc.invert(rows["is_control"])))
        while self.pending and self.pending[0][0] <= rows["last_offset"][-1].as_py():
            offset = self.pending[0][0]
            self._update(data.filter(pc.less(data["base_offset"], offset)))
            self.compare_until(offset, has_gaps=has_gaps)
            data = data.filter(pc.greater_equal(data["base_offset"], offset))
        self._update(data)

    def _update(self, data: pa.RecordBatch) -> None:
        names = ("producer_id", "last_offset", "is_transactional")
        ids, lasts, are_transactional = (data[name].to_pylist() for name in names)
        self.last.update(zip(ids, zip(lasts, are_transactional, strict=True), strict=True))

    def compare_until(self, end: int, *, has_gaps: bool) -> None:
        """Compare the snapshots of offsets up to this one with what was written before it."""
        while self.pending and self.pending[0][0] <= end:
            offset, name = self.pending.pop(0)
            if self.is_known and not has_gaps and self.start is not None:
                self._compare(offset, name)

    def _compare(self, offset: int, name: str) -> None:
        misfits = self.misfits.setdefault(name, Misfits(SNAPSHOT_MISMATCH, ""))
        with self.folder.open(name) as source:
            for _, batch in PRODUCER_SNAPSHOT.intact_entries(source):
                for row in batch.to_pylist():
                    if reason := self._differs(offset, row):
                        facts = {key: row[key] for key in ("producer_id", "last_offset", "current_txn_first_offset")}
                        misfits.add(reason, facts)

    def _differs(self, offset: int, row: dict[str, int]) -> str:
        id_, last, first = row["producer_id"], row["last_offset"], row["current_txn_first_offset"]
        found, is_transactional = self.last.get(id_, (None, False))
        if self.start is None or max(last, first) < self.start:
            return ""  # its last batch is before what is left of the partition
        if last >= offset:
            return "a producer's last offset is not before the snapshot's own"
        if last >= self.start and found != last:
            return "a producer's last offset is another"
        end = self.transactions.end(id_, last) if is_transactional else None
        is_open = is_transactional and (end is None or end.offset >= offset)
        if found == last and is_open != (first >= 0):
            return "a transaction is open, or has ended, other than the snapshot says"
        return ""


# Snapshots of KRaft.

CHECKPOINT = re.compile(r"(\d{20})-(\d{10})\.checkpoint", re.ASCII)
FIRST_AND_LAST = ("snapshot_header", "snapshot_footer")


def unfinished(source: Source) -> Iterator[Finding]:
    """A finding unless a snapshot of KRaft begins with its header and ends with its footer.

    A snapshot is told by its name, under which KRaft trusts it, or by its header.
    """
    is_named = CHECKPOINT.fullmatch(PurePath(source.name).name) is not None
    if not is_named and not _has_header(source):
        return
    types: list[str | None] = []
    for item in Walk(source, nowhere).items():
        if isinstance(item, Heads):
            types = [*types[:1], *_first_and_last(source, item)]
    found = (types[0], types[-1]) if types else (None, None)
    if found != FIRST_AND_LAST:
        detail = {"first": found[0] or "no header", "last": found[1] or "no footer"}
        yield Finding(BAD_CHECKPOINT if is_named else NO_FOOTER, Span(source.size, source.size), detail)


def _has_header(source: Source) -> bool:
    """Whether a file begins with the header of a snapshot."""
    head = head_at(source, 0) if source.size else None
    if not isinstance(head, Heads) or head.is_legacy or not head.rows["is_control"][0].as_py():
        return False
    return _first_and_last(source, head)[0] == FIRST_AND_LAST[0]


def _first_and_last(source: Source, heads: Heads) -> list[str | None]:
    """Types of the first and of the last record of some units; None for data."""
    found: list[str | None] = []
    for index in (0, len(heads) - 1):
        one = heads.slice(index, index + 1)
        types = [name for batch in control_batches(source, one, ["type"]) for name in batch["type"].to_pylist()]
        found += [types[0 if index == 0 else -1]] if types else [None]
    return found


# Producers of new records.

Ending = Literal["commit", "abort"]
LARGEST_EPOCH = (1 << 31) - 1


@dataclass(slots=True)
class Producer:
    """A producer of records; `sequence` is the number of its next record.

    `KafkaSegmentWriter.commit` or `abort` ends the transaction of a transactional one. Kafka's newer brokers raise the
    epoch with every transaction, and write the marker with the new one (KIP-890): set `producer_epoch` before.
    """

    producer_id: int
    producer_epoch: int = 0
    sequence: int = 0
    is_transactional: bool = False

    def __post_init__(self) -> None:
        for name, limit in (("producer_id", 1 << 63), ("producer_epoch", 1 << 15), ("sequence", SEQUENCES)):
            if not 0 <= getattr(self, name) < limit:
                raise BadRecord(f"{name} is {getattr(self, name)}, must be at least 0 and below {limit}")

    def take_sequence(self, count: int) -> int:
        """The number of the next record; `count` records have numbers now.

        >>> producer = Producer(7, sequence=2**31 - 1)
        >>> producer.take_sequence(3), producer.sequence
        (2147483647, 2)
        """
        first = self.sequence
        self.sequence = (first + count) % SEQUENCES
        return first


def origin(producer: Producer | None, base_sequence: int = -1) -> dict[str, Any]:
    """The fields of a batch's head that tell whose it is, and where it stands among the producer's."""
    return {
        "producer_id": producer.producer_id if producer else -1,
        "producer_epoch": producer.producer_epoch if producer else -1,
        "base_sequence": base_sequence,
        "is_transactional": producer is not None and producer.is_transactional,
    }


class OpenTransactions:
    """The first offset of every transaction that has no marker yet."""

    def __init__(self) -> None:
        self._first_offsets: dict[int, int] = {}

    def add(self, producer: Producer, base_offset: int) -> None:
        """Take in a batch of a transactional producer."""
        self._first_offsets.setdefault(producer.producer_id, base_offset)

    def end(self, producer: Producer, offset: int, ending: Ending) -> bytes:
        """End a transaction whose marker is at an offset; returns its entry of the .txnindex, if it was aborted.

        Kafka keeps nothing of one without records (ProducerAppendInfo.appendEndTxnMarker).
        """
        first = self._first_offsets.pop(producer.producer_id, None)
        if ending == COMMIT or first is None:
            return b""
        (entry,) = frame(
            "kafka_transaction_index",
            producer_id=producer.producer_id,
            first_offset=first,
            last_offset=offset,
            last_stable_offset=min(self._first_offsets.values(), default=offset + 1),
        )
        return bytes(entry)


def marker(ending: Ending, coordinator_epoch: int) -> tuple[bytes, bytes]:
    """Key and value of the control record that ends a transaction.

    >>> key, value = marker("commit", 3)
    >>> key.hex(" ", 2), value.hex(" ", 2)
    ('0000 0001', '0000 0000 0003')
    """
    if not 0 <= coordinator_epoch <= LARGEST_EPOCH:
        raise BadRecord(f"the coordinator's epoch {coordinator_epoch} does not fit 31 bits")
    kind: dict[str, Any] = {"version": 0, "control_type": ending, "unknown": 0}
    (key,) = frame("kafka_control_key", **kind)
    value, _ = frame("kafka_control_value", **kind, coordinator_epoch=coordinator_epoch, message=0)
    return bytes(key), bytes(value)
