"""Rows of the tables `messages` and `segments`, and the findings that only decoding gives.

A segment is read once: `SegmentReader` yields its rows and then knows what is wrong with its records. Small segments
are decoded together, by `SmallSegments`.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from itertools import accumulate
from threading import local
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from thawline import specs
from thawline.engine.decoding import NAMED_FAULTS, Decoded, Fault
from thawline.errors import CodecError, OutputTooLarge
from thawline.formats.building import LARGEST, TICKS, Origins, batch_of, is_within
from thawline.formats.rbak import findings
from thawline.formats.rbak.payload import (
    RECORD_SHARE,
    Documents,
    Ending,
    chunk_of,
    decompressed,
    documents,
    place_records,
)
from thawline.formats.rbak.records import FIELDS, decode
from thawline.formats.rbak.walk import FOOTER, HEADER, Header, Segment, int64_array
from thawline.generated.tables.rbak import MESSAGES, SEGMENTS
from thawline.inflow import Inflow
from thawline.literals import integer, repeated
from thawline.model import Code, Finding, Run, Span
from thawline.native.constants.documents import NOT_A_BYTE, NOT_JSON, WRONG_TYPE
from thawline.source import Source
from thawline.wording import counted, grouped

MOST_MILLISECONDS = LARGEST // TICKS["ms"]
"""The largest number of them whose microseconds fit 64 bits."""

EXCERPT = 80
"""Bytes of a bad record that a finding shows."""
FAULTS = {NOT_JSON: findings.NOT_JSON, NOT_A_BYTE: findings.NOT_A_BYTE, WRONG_TYPE: findings.WRONG_TYPE}

LARGEST_SMALL, LARGEST_SMALL_PAYLOAD = 4 << 10, 16 << 10
"""A small segment has at most this size, and its payload decompresses to at most this."""
MOST_ITEMS, MOST_BYTES, MOST_DOCUMENTS = 1 << 10, 1 << 20, 1 << 14
"""What is decoded together at most: items of a file, and bytes and documents of payloads."""
OWNER = "owner"


@dataclass(frozen=True, slots=True)
class Context:
    """What holds for all rows of some documents, and which of these rows are requested."""

    segment: str
    first_index: int = 0
    """Number of the first document in its segment."""
    verified: bool = True
    since: int | None = None
    until: int | None = None
    queue: tuple[str, ...] | None = None
    vhost: tuple[str, ...] | None = None

    @property
    def named(self) -> dict[str, tuple[str, ...]]:
        """The wire columns by which rows are chosen, with the values that are requested."""
        requested = {"source_queue": self.queue, "source_vhost": self.vhost}
        return {name: values for name, values in requested.items() if values is not None}


# From wire columns to the table `messages`.


def _wire_columns(wanted: Collection[str], context: Context) -> frozenset[str]:
    """The wire columns that the wanted ones are made from, and those that every reader needs."""
    return frozenset({*MESSAGES.fields(wanted), "backed_up_at", "index", *context.named})


def _chosen(wire: pa.RecordBatch, context: Context) -> pa.RecordBatch:
    """The records that are requested: those in the time window, both ends included, and of some queues."""
    times = wire["backed_up_at"]
    if context.since is not None:
        wire = wire.filter(pc.greater_equal(times, context.since))  # the filter drops nulls
    if context.until is not None:
        wire = wire.filter(pc.less_equal(wire["backed_up_at"], context.until))
    for name, values in context.named.items():
        wire = wire.filter(pc.is_in(wire[name], value_set=pa.array(values, pa.string())))
    return wire


def _batch(wire: pa.RecordBatch, wanted: Collection[str], context: Context) -> pa.RecordBatch:
    """Rows of the table from wire columns."""
    origins = Origins(
        wire.num_rows,
        field=lambda column: wire[column.source],
        made=lambda _: pc.add(wire["index"], integer(context.first_index)),
        file={"segment": context.segment, "verified": context.verified},
    )
    return batch_of(MESSAGES, wanted, origins)


def _count_beyond(times: pa.Int64Array) -> int:
    """How many times do not fit a timestamp."""
    if is_within(times, MOST_MILLISECONDS):
        return 0
    beyond = pc.or_(pc.greater(times, MOST_MILLISECONDS), pc.less(times, -MOST_MILLISECONDS))
    return pc.sum(beyond).as_py() or 0


# One segment.


@dataclass(frozen=True, slots=True)
class Tally:
    """What was found in some documents of a segment."""

    documents: int
    records: int
    times: Sequence[int | None]
    """`backed_up_at` of the first record and of the last one."""
    beyond: int
    """Times that do not fit a timestamp."""
    incomplete: list[int]
    odd_headers: list[int]
    faults: list[Fault]


@dataclass(slots=True)
class SegmentReader:
    """Reads the payload of one segment once: its rows, then what is wrong with it."""

    source: Source
    segment: Segment
    header: Header
    wanted: Collection[str]
    context: Context
    max_payload: int
    payload: Span
    ending: Ending = field(default_factory=Ending)
    documents: int = 0
    rows: int = 0
    """Records that are requested."""
    records: int = 0
    """Records, requested or not."""
    first: int | None = None
    last: int | None = None
    """`backed_up_at` of the first and of the last record."""
    beyond: int = 0
    odd: dict[Code, tuple[int, int]] = field(default_factory=dict)
    """By what is odd about records: the first of them, and their number."""
    faults: list[Finding] = field(default_factory=list)
    more_faults: Counter[Code] = field(default_factory=Counter)

    def batches(self) -> Iterator[pa.RecordBatch]:
        """The rows; after the last of them, `findings` is complete."""
        wire = _wire_columns(self.wanted, self.context)
        share = self.max_payload // RECORD_SHARE
        for found in documents(self.inflow(), self.ending, share, resync=not self.segment.proof):
            decoded = decode(found.view, found.chunk, wire)
            context = replace(self.context, first_index=self.documents)
            self._note(found, decoded)
            batch = _batch(_chosen(decoded.batch, context), self.wanted, context)
            self.rows += batch.num_rows
            if batch.num_rows:
                yield batch

    def inflow(self) -> Inflow:
        """The payload, to be decompressed."""
        data = self.source.view(self.payload.start, self.payload.end)
        return decompressed(self.header.compression, data, self.max_payload, is_damaged=not self.segment.proof)

    def _note(self, found: Documents, decoded: Decoded) -> None:
        times = decoded.batch["backed_up_at"]
        ends = [times[0].as_py(), times[-1].as_py()] if len(times) else []
        tally = Tally(
            len(found.chunk),
            len(times),
            ends,
            _count_beyond(times),
            decoded.incomplete,
            decoded.odd_headers,
            decoded.faults,
        )
        self.add(tally, found.view, found.base)
        for kind, count in decoded.more_faults.items():
            self.more_faults[FAULTS[kind]] += count

    def add(self, tally: Tally, view: memoryview, base: int = 0) -> None:
        """Take what was found in the documents of a view, which begins at `base` in the payload."""
        first = self.documents
        self.documents += tally.documents
        self.records += tally.records
        self.beyond += tally.beyond
        if tally.times:
            self.first = tally.times[0] if self.first is None else self.first
            self.last = tally.times[-1]
        self._add_odd(findings.FIELD_MISSING, tally.incomplete, first)
        self._add_odd(findings.ODD_HEADERS, tally.odd_headers, first)
        for fault in tally.faults:
            self._add_fault(view, base, fault, first)

    def _add_odd(self, code: Code, indices: list[int], first: int) -> None:
        if indices:
            earliest, count = self.odd.get(code, (first + indices[0], 0))
            self.odd[code] = earliest, count + len(indices)

    def _add_fault(self, view: memoryview, base: int, fault: Fault, first: int) -> None:
        code = FAULTS[fault.kind]
        if len(self.faults) >= NAMED_FAULTS:
            self.more_faults[code] += 1
            return
        excerpt = bytes(view[fault.at : fault.at + EXCERPT])
        detail: dict[str, object] = {"record_index": first + fault.index, "payload_offset": base + fault.at}
        if fault.field < len(FIELDS):
            detail["field"] = FIELDS[fault.field]
        detail |= {"found": excerpt.decode("utf-8", "replace"), "lost": "1 message"}
        self.faults.append(Finding(code, self.end, detail))

    @property
    def end(self) -> Span:
        """The span of findings about the inside of the segment."""
        return Span(self.segment.span.end, self.segment.span.end)

    def findings(self) -> Iterator[Finding]:
        """What is wrong with the payload and its records, once all rows have been read."""
        yield from self.faults
        for code, count in self.more_faults.items():
            yield Finding(code, self.end, {"records": count, "lost": counted(count, "more message")})
        yield from self._ending_findings()
        yield from self._header_findings()
        for code, (index, count) in self.odd.items():
            yield Finding(code, self.end, {"record_index": index, "records": count})
        if self.beyond:
            yield Finding(findings.OUT_OF_TIME, self.end, {"records": self.beyond})

    def _ending_findings(self) -> Iterator[Finding]:
        """Why the payload ended too early."""
        error, torn = self.ending.error, sum(end - start for start, end in self.ending.torn)
        if error is not None:
            lost = self._missing() or "unknown"
            detail = {"payload_offset": self.ending.size, "reason": error.message, "lost": lost}
            code = findings.TOO_LARGE if isinstance(error, OutputTooLarge) else findings.BAD_PAYLOAD
            yield Finding(code, self.end, detail)
        elif torn:
            lost = self._missing() or "what these bytes held"
            detail = {"payload_offset": self.ending.torn[0][0], "trailing_bytes": torn, "lost": lost}
            yield Finding(findings.TORN_RECORD, self.end, detail)

    def _missing(self) -> str:
        missing = self.header.num_records - self.documents
        stated = counted(self.header.num_records, "message")
        return f"{grouped(missing)} of {stated}, as its header counts them" if missing > 0 else ""

    def _header_findings(self) -> Iterator[Finding]:
        """Where the header states what the records do not confirm."""
        header = self.header
        if self.documents != header.num_records:
            difference = header.num_records - self.documents
            key = "records_missing" if difference > 0 else "records_surplus"
            detail: dict[str, object] = {"record_count": header.num_records, "records": self.documents}
            detail |= {key: abs(difference)} | ({"lost": self._missing()} if difference > 0 else {})
            yield Finding(findings.WRONG_COUNT, self.end, detail)
        stated, found = (header.first_timestamp, header.last_timestamp), (self.first, self.last)
        is_whole = self.documents == self.records == header.num_records
        if is_whole and None not in found and found != stated:
            times = {"first_timestamp": stated[0], "last_timestamp": stated[1]}
            times |= {"first_backed_up_at": self.first or 0, "last_backed_up_at": self.last or 0}
            yield Finding(findings.OTHER_HEADER_TIMES, self.end, times)


# Small segments.


@dataclass(slots=True)
class SmallSegments:
    """Items of a file in its order. The payloads of its small segments are decoded together: each call has a cost.

    Items are readers of small segments, and findings.
    """

    wanted: Collection[str]
    items: list[SegmentReader | Finding] = field(default_factory=list)
    readers: list[SegmentReader] = field(default_factory=list)
    data: bytearray = field(default_factory=bytearray)
    """The payloads, end to end."""
    begins: list[int] = field(default_factory=list)
    """Where the payload of each reader begins."""
    starts: array[int] = field(default_factory=lambda: array("q"))
    ends: array[int] = field(default_factory=lambda: array("q"))
    """Where documents start and end."""

    @property
    def is_full(self) -> bool:
        """Whether it is time to decode."""
        is_long = len(self.data) >= MOST_BYTES or len(self.starts) >= MOST_DOCUMENTS
        return is_long or len(self.items) >= MOST_ITEMS

    def add(self, reader: SegmentReader) -> bool:
        """Take the payload of a proven segment; False if it is none or not small, and nothing is taken."""
        is_small = bool(reader.segment.proof) and reader.segment.span.size <= LARGEST_SMALL
        if not is_small or reader.max_payload // RECORD_SHARE < LARGEST_SMALL_PAYLOAD:
            return False
        payload = _small_payload(reader)
        if payload is None:
            return False
        begin, first = len(self.data), len(self.starts)
        self.data += payload
        with memoryview(self.data) as view:
            end = place_records(view, begin, self.starts, self.ends)
        if end < len(self.data):
            reader.ending.torn.append((end - begin, len(self.data) - begin))
        reader.ending.size, reader.documents = len(payload), len(self.starts) - first
        self.items.append(reader)
        self.readers.append(reader)
        self.begins.append(begin)
        return True

    def read(self) -> Iterator[tuple[SegmentReader | Finding, pa.RecordBatch | None]]:
        """The items, those that are readers with their rows, if any; the findings of these are then complete."""
        rows = self._rows() if self.starts else None
        done = 0
        for item in self.items:
            count = item.rows if isinstance(item, SegmentReader) else 0
            yield item, rows.slice(done, count) if rows is not None and count else None
            done += count

    def _rows(self) -> pa.RecordBatch:
        """The rows of all segments."""
        context = self.readers[0].context
        with memoryview(self.data) as view:
            chunk = chunk_of(self.starts, self.ends)
            decoded = decode(view, chunk, _wire_columns(self.wanted, context), len(self.starts))
            owners = self._distribute(decoded, view)
        counts = [reader.documents for reader in self.readers]
        chosen = _chosen(_owned(decoded.batch, owners, counts), context)
        for owner, count in Counter(chosen[OWNER].to_pylist()).items():
            self.readers[owner].rows = count
        return _batch(chosen, self.wanted, context)

    def _distribute(self, decoded: Decoded, view: memoryview) -> array[int]:
        """Give each reader what was found in its documents; the number of the reader of each row."""
        shares = _Shares(decoded)
        owners = array("q")
        for index, (reader, begin) in enumerate(zip(self.readers, self.begins, strict=True)):
            tally = shares.next(reader.documents, begin)
            owners.extend([index] * tally.records)
            reader.documents = 0
            reader.add(tally, view[begin : begin + reader.ending.size])
        return owners


class _Shares:
    """What was found in documents of several segments, taken apart segment by segment."""

    def __init__(self, decoded: Decoded) -> None:
        self.times: list[int | None] = decoded.batch["backed_up_at"].to_pylist()
        self.faults, self.incomplete = decoded.faults[::-1], decoded.incomplete[::-1]
        self.odd = decoded.odd_headers[::-1]
        self.documents = self.rows = 0

    def next(self, documents: int, begin: int) -> Tally:
        """What was found in the next documents, whose payload begins there."""
        first, self.documents = self.documents, self.documents + documents
        faults = []
        while self.faults and self.faults[-1].index < self.documents:
            fault = self.faults.pop()
            faults.append(Fault(fault.index - first, fault.kind, fault.field, fault.at - begin))
        good = documents - len(faults)
        times = self.times[self.rows : self.rows + good]
        self.rows += good
        beyond = sum(time is not None and abs(time) > MOST_MILLISECONDS for time in times)
        incomplete, odd = self._taken(self.incomplete, first), self._taken(self.odd, first)
        return Tally(documents, good, times[:1] + times[-1:], beyond, incomplete, odd, faults)

    def _taken(self, indices: list[int], first: int) -> list[int]:
        taken = []
        while indices and indices[-1] < self.documents:
            taken.append(indices.pop() - first)
        return taken


def _owned(wire: pa.RecordBatch, owners: array[int], counts: list[int]) -> pa.RecordBatch:
    """The rows with the number of the reader of each; `index` counts from the first document of that reader."""
    owner = int64_array(owners)
    first = int64_array(array("q", accumulate(counts[:-1], initial=0))).take(owner)
    at = wire.schema.get_field_index("index")
    return wire.set_column(at, "index", pc.subtract(wire["index"], first)).append_column(OWNER, owner)


class _Room(local):
    """Memory that small payloads are decompressed to; each thread has its own."""

    def __init__(self) -> None:
        self.memory = bytearray(LARGEST_SMALL_PAYLOAD + 1)


_ROOM = _Room()


def _small_payload(reader: SegmentReader) -> bytes | None:
    """A payload as far as it decompresses; None if it is not small."""
    inflow, held = reader.inflow(), 0
    with memoryview(_ROOM.memory) as room:
        try:
            while held < len(room) and (size := inflow.readinto(room[held:])):
                held += size
        except CodecError as error:
            reader.ending.stop(error)
        return bytes(room[:held]) if held < len(room) else None


# The table `segments`.


def segment_row(source: Source, run: Run, name: str, columns: Collection[str]) -> pa.RecordBatch:
    """The segment of a run as a row."""
    start, end = run.span.start, run.span.end
    parts = {
        "header": specs.parse("rbak_segment::header", bytes(source.view(start, start + HEADER))),
        "footer": specs.parse("rbak_segment::footer", bytes(source.view(end - FOOTER, end))),
    }
    made = {"size_bytes": run.span.size, "payload_bytes": run.span.size - HEADER - FOOTER}
    origins = Origins(
        1,
        field=lambda column: pa.array([_stated(parts, column.source)], column.stored_type),
        made=lambda column: repeated(made[column.name], column.stored_type, 1),
        file={"segment": name},
    )
    return batch_of(SEGMENTS, columns, origins)


def _stated(parts: Mapping[str, Any], path: str) -> object:
    """What a field of the header or the footer says."""
    part, _, name = path.partition(".")
    value = getattr(parts[part], name)
    return value.name if isinstance(value, Enum) else value
