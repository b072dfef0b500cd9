"""One reading of a segment's payload: its rows, and what is to be said about it when all of it has been seen."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace

import pyarrow as pa

from thawline.errors import CodecError, OutputTooLarge
from thawline.formats.rbak import findings, records
from thawline.formats.rbak.fields import FIELDS
from thawline.formats.rbak.messages import Context, batch_of, chosen, out_of_time, schema_of, wire_columns
from thawline.formats.rbak.payload import RECORD_SHARE, Documents, Ending, decompressed, documents
from thawline.formats.rbak.records import NAMED_FAULTS, Decoded, Fault, decoder
from thawline.formats.rbak.segment import Header, Segment
from thawline.inflow import Inflow
from thawline.model import Code, Finding, Span
from thawline.source import Source
from thawline.wording import counted, grouped

EXCERPT = 80
KINDS = {
    records.NOT_JSON: findings.NOT_JSON,
    records.NOT_A_BYTE: findings.NOT_A_BYTE,
    records.WRONG_TYPE: findings.WRONG_TYPE,
}


@dataclass(frozen=True, slots=True)
class Told:
    """What is to be said about some documents of a segment."""

    documents: int
    good: int
    """How many of them are records."""
    times: Sequence[int | None]
    """`backed_up_at` of the first record and of the last one."""
    beyond: int
    """Times that no calendar reaches."""
    incomplete: list[int]
    odd_headers: list[int]
    faults: list[Fault]


@dataclass(slots=True)
class Reading:
    """The payload of one segment, read once."""

    source: Source
    segment: Segment
    header: Header
    wanted: Collection[str]
    context: Context
    max_payload: int
    payload: Span
    resync: bool = False
    ending: Ending = field(default_factory=Ending)
    documents: int = 0
    rows: int = 0
    """Rows in the time window."""
    good: int = 0
    """Records that are rows, in the time window or not."""
    first: int | None = None
    last: int | None = None
    """`backed_up_at` of the first and of the last record."""
    beyond: int = 0
    odd: dict[Code, tuple[int, int]] = field(default_factory=dict)
    """By what is odd about records: the first of them, and how many there are."""
    faults: list[Finding] = field(default_factory=list)
    more_faults: Counter[Code] = field(default_factory=Counter)

    def batches(self) -> Iterator[pa.RecordBatch]:
        """The rows; afterwards `remarks` knows what is wrong."""
        schema, wire = schema_of(self.wanted), wire_columns(self.wanted, self.context.named)
        decode = decoder()
        for found in self.found():
            decoded = decode(found.view, found.chunk, wire)
            context = self.note(found, decoded)
            batch = batch_of(chosen(decoded.batch, context), schema, context)
            self.rows += batch.num_rows
            if batch.num_rows:
                yield batch

    def found(self) -> Iterator[Documents]:
        """The documents of the payload."""
        return documents(self.inflow(), self.ending, self.max_payload // RECORD_SHARE, resync=self.resync)

    def inflow(self) -> Inflow:
        """The payload, to be decompressed."""
        data = self.source.view(self.payload.start, self.payload.end)
        return decompressed(self.header.compression, data, self.max_payload, is_damaged=self.resync)

    def note(self, found: Documents, decoded: Decoded) -> Context:
        """Keep what is to be said about some documents; their place in the segment."""
        first = self.documents
        times = decoded.batch["backed_up_at"]
        ends = [times[0].as_py(), times[-1].as_py()] if len(times) else []
        told = Told(
            len(found.chunk),
            len(times),
            ends,
            out_of_time(times),
            decoded.incomplete,
            decoded.odd_headers,
            decoded.faults,
        )
        self.tell(told, found.view, found.base)
        for kind, count in decoded.more_faults.items():
            self.more_faults[KINDS[kind]] += count
        return replace(self.context, first_index=first)

    def tell(self, told: Told, view: memoryview, base: int = 0) -> None:
        """Keep what is to be said about documents in a view, which begins at `base` in the payload."""
        first = self.documents
        self.documents += told.documents
        self.good += told.good
        self.beyond += told.beyond
        if told.times:
            self.first = told.times[0] if self.first is None else self.first
            self.last = told.times[-1]
        self._odd(findings.FIELD_MISSING, told.incomplete, first)
        self._odd(findings.ODD_HEADERS, told.odd_headers, first)
        for fault in told.faults:
            self._fault(view, base, fault, first)

    def _odd(self, code: Code, indices: list[int], first: int) -> None:
        if indices:
            earliest, count = self.odd.get(code, (first + indices[0], 0))
            self.odd[code] = earliest, count + len(indices)

    def _fault(self, view: memoryview, base: int, fault: Fault, first: int) -> None:
        code = KINDS[fault.kind]
        if len(self.faults) >= NAMED_FAULTS:
            self.more_faults[code] += 1
            return
        near = bytes(view[fault.at : fault.at + EXCERPT])
        detail: dict[str, object] = {"record_index": first + fault.index, "payload_offset": base + fault.at}
        if fault.field < len(FIELDS):
            detail["field"] = FIELDS[fault.field]
        detail |= {"found": near.decode("utf-8", "replace"), "lost": "1 message"}
        self.faults.append(Finding(code, self.end, detail))

    @property
    def end(self) -> Span:
        """Where findings about the inside of the segment are."""
        return Span(self.segment.span.end, self.segment.span.end)

    def remarks(self) -> Iterator[Finding]:
        """Everything that is to be said about the payload."""
        yield from self.faults
        for code, count in self.more_faults.items():
            yield Finding(code, self.end, {"records": count, "lost": counted(count, "more message")})
        yield from self._about_the_end()
        yield from self._about_the_header()
        yield from self._about_fields()

    def _about_the_end(self) -> Iterator[Finding]:
        error = self.ending.error
        if error is not None:
            yield self._stopped(error)
        torn = sum(end - start for start, end in self.ending.torn)
        if torn and error is None:
            lost = self._missing() or "what these bytes held"
            detail = {"payload_offset": self.ending.torn[0][0], "trailing_bytes": torn, "lost": lost}
            yield Finding(findings.TORN_RECORD, self.end, detail)

    def _stopped(self, error: CodecError) -> Finding:
        lost = self._missing() or "unknown"
        detail = {"payload_offset": self.ending.size, "reason": error.message, "lost": lost}
        code = findings.TOO_LARGE if isinstance(error, OutputTooLarge) else findings.BAD_PAYLOAD
        return Finding(code, self.end, detail)

    def _missing(self) -> str:
        missing = self.header.num_records - self.documents
        counted_there = counted(self.header.num_records, "message")
        return f"{grouped(missing)} of {counted_there}, as its header counts them" if missing > 0 else ""

    def _about_the_header(self) -> Iterator[Finding]:
        header = self.header
        if self.documents != header.num_records:
            difference = header.num_records - self.documents
            key = "records_missing" if difference > 0 else "records_surplus"
            detail = {"record_count": header.num_records, "records": self.documents, key: abs(difference)}
            yield Finding(
                findings.WRONG_COUNT, self.end, detail | ({"lost": self._missing()} if difference > 0 else {})
            )
        expected = (header.first_timestamp, header.last_timestamp)
        is_whole = self.documents == self.good == header.num_records
        if is_whole and None not in (self.first, self.last) and (self.first, self.last) != expected:
            times = {"first_timestamp": expected[0], "last_timestamp": expected[1]}
            detail = times | {"first_backed_up_at": self.first or 0, "last_backed_up_at": self.last or 0}
            yield Finding(findings.OTHER_HEADER_TIMES, self.end, detail)

    def _about_fields(self) -> Iterator[Finding]:
        for code, (index, count) in self.odd.items():
            yield Finding(code, self.end, {"record_index": index, "records": count})
        if self.beyond:
            yield Finding(findings.OUT_OF_TIME, self.end, {"records": self.beyond})
