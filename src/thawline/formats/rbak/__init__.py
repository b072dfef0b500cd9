"""RabbitMQ backups: RBAK segments of rabbitmq-backup, one by one or as a backup with its manifest.

Layout: https://rabbitmqbackup.com/architecture/segment-format

A segment is one unit: a header, one compressed payload of JSON records, and a checksum over both. Nothing in it is
believed before the checksum is right, and nothing of it is a row if it is not.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice
from pathlib import PurePath
from typing import Literal

import pyarrow as pa

from thawline.errors import FormatError
from thawline.folder import Folder
from thawline.formats.contract import Claim, Content, Member, Reading
from thawline.formats.legacy import LegacyFormat as Format
from thawline.formats.rbak import backup, findings, messages, rescue, segments
from thawline.formats.rbak.contents import content_of
from thawline.formats.rbak.manifest import Listed
from thawline.formats.rbak.messages import Context
from thawline.formats.rbak.reading import Reading as PayloadReading
from thawline.formats.rbak.segment import (
    END_MAGIC,
    FOOTER,
    HEADER,
    LEAST,
    MAGIC,
    Header,
    Segment,
    find,
    header_at,
    header_of,
    remarks,
    salvage_hint,
    why_not,
)
from thawline.formats.rbak.small import Together
from thawline.model import Finding, Report, Run, Span
from thawline.source import Source
from thawline.wording import counted

CLOCK_STEP = 3_600_000
"""Milliseconds that a clock may have stepped: a header is a hint, not more, about the times of its records."""
HELD = 2
"""Batches that wait until their segment has been read; the rows of a longer one are passed on at once, and its run says
how many there are by its header."""


@dataclass(frozen=True, slots=True)
class Rbak(Format):
    """Segments of rabbitmq-backup."""

    since: int | None = None
    until: int | None = None
    queue: tuple[str, ...] | None = None
    vhost: tuple[str, ...] | None = None
    prune: Literal["hint", "strict", "off"] = "hint"
    unverified: bool = False
    max_payload: int = 1 << 30
    listed: Listed | None = None
    """What the manifest of the backup says about the file."""
    key: str = ""
    """What the file is called within its backup."""

    name = "rbak"
    title = "RabbitMQ backup segment (RBAK)"
    table_names = ("messages", "segments")
    codes = findings.CODES
    unit_name = "segment"
    has_heads = True

    def claim(self, source: Source) -> Claim | None:
        """A segment starts with RBAK; one that lost its beginning still ends with KABR."""
        head = bytes(source.view(0, min(source.size, 6)))
        if head.startswith(MAGIC):
            version = str(head[4]) if len(head) > len(MAGIC) else ""
            return Claim(self.name, version, "starts with RBAK", "certain")
        if source.size >= LEAST and source.view(source.size - len(END_MAGIC), source.size) == END_MAGIC:
            return Claim(self.name, "1", "ends with KABR, but does not start with RBAK", "likely")
        return None

    def schema(self, table: str) -> pa.Schema:
        """The schema of `messages` or `segments`."""
        return segments.SCHEMA if table == "segments" else messages.SCHEMA

    def extras(self, table: str) -> pa.Schema:
        """Columns of `messages` that few need."""
        return pa.schema([]) if table == "segments" else messages.EXTRAS

    def scan(self, source: Source) -> Iterator[Run | Finding]:
        """Proven segments and findings, in file order, after every record has been read."""
        for item in self._read(source, ()):
            yield item if isinstance(item, Finding) else item[0]

    def read(self, source: Source, table: str, columns: Collection[str]) -> Reading:
        """The same with rows, in one pass. The table `segments` is that of headers, so only those are read for it."""
        if table != "segments":
            yield from self._read(source, columns, keep=True)
            return
        for item in self.outline(source):
            yield item if isinstance(item, Finding) else (item, self.batches(source, item, table, columns))

    def outline(self, source: Source) -> Iterator[Run | Finding]:
        """The segment as its first 32 and its last 8 bytes describe it."""
        span = Span(0, source.size)
        segment = Segment(span, "")
        header = _head(source, segment)
        if isinstance(header, Finding):
            yield header
            return
        if spared := self._spared(source):
            yield spared
            return
        yield Run(span, 1, header.num_records)
        yield from remarks(segment, header)
        yield from backup.compare_head(self.listed, segment, header)

    def _read(self, source: Source, columns: Collection[str], *, keep: bool = False) -> Reading:
        if spared := self._spared(source):
            yield spared
            return
        source = source.on_disk()
        if not source.size:
            yield why_not(source, Span(0, 0))
        waiting, context = Together(columns), self._context(source)
        for found in find(source):
            item = self._item(source, found, columns, context)
            if isinstance(item, PayloadReading) and not waiting.add(item):
                yield from self._flush(source, waiting, keep=keep)
                yield from self._segment(source, item, keep=keep)
                waiting = Together(columns)
            elif not isinstance(item, PayloadReading):
                waiting.items.append(item)
            if waiting.is_full:
                yield from self._flush(source, waiting, keep=keep)
                waiting = Together(columns)
        yield from self._flush(source, waiting, keep=keep)

    def _item(
        self, source: Source, found: Segment | Span, columns: Collection[str], context: Context
    ) -> PayloadReading | Finding | Span:
        """A segment to be read, why it cannot be, or a stretch that is none."""
        if isinstance(found, Span):
            return found
        header = header_at(source, found)
        return header if isinstance(header, Finding) else self._reading(source, found, header, columns, context)

    def _flush(self, source: Source, waiting: Together, *, keep: bool) -> Reading:
        """What has waited, in the order of the file."""
        for item, rows in waiting.read():
            if isinstance(item, Finding):
                yield item
            elif isinstance(item, Span):
                yield from self._unproven(source, item, waiting.wanted, keep=keep)
            else:
                yield Run(item.segment.span, 1, item.rows), [rows] if keep and rows is not None else []
                yield from self._remarks(source, item)

    def _segment(self, source: Source, reading: PayloadReading, *, keep: bool) -> Reading:
        segment, header = reading.segment, reading.header
        batches = reading.batches()
        first = _consumed(islice(batches, HELD + 1) if keep else batches, keep=keep)
        rows = reading.rows if len(first) <= HELD else header.num_records
        yield Run(segment.span, 1, rows), _in_turn(first, batches)
        deque(batches, maxlen=0)  # only behind the last row it is known what is to be said
        yield from self._remarks(source, reading)

    def _remarks(self, source: Source, reading: PayloadReading) -> Iterator[Finding]:
        """What is to be said about a segment that has been read."""
        yield from remarks(reading.segment, reading.header)
        yield from reading.remarks()
        yield from backup.compare(self.listed, source, reading.segment, reading.header, reading.documents)

    def _unproven(self, source: Source, span: Span, columns: Collection[str], *, keep: bool) -> Reading:
        """A stretch that no checksum proves: damage, and if it is asked for what decodes of it all the same."""
        is_beside = span.start > 0 and source.view(span.start, span.end)[: len(MAGIC)] != MAGIC
        lost = {"lost": f"nothing of a segment; {counted(span.size, 'byte')}"}
        finding = Finding(findings.TRAILING, span, lost, salvage_hint(source)) if is_beside else why_not(source, span)
        if not self.unverified:
            yield finding
        else:
            yield from self._rescued(source, finding, columns, keep=keep)
        yield from backup.compare(self.listed, source, Segment(span, ""), None, 0)

    def _rescued(self, source: Source, finding: Finding, columns: Collection[str], *, keep: bool) -> Reading:
        reading = self._rescue_reading(source, finding.span, columns)
        batches = _consumed(reading.batches(), keep=keep)
        start = Span(finding.span.start, finding.span.start)
        if reading.good:
            yield Run(start, 0, reading.rows, {"recovered": finding.code.id, "span": finding.span}), batches
        yield finding
        if reading.good:
            yield Finding(findings.UNPROVEN, reading.end, {"records": reading.good})

    def _reading(
        self, source: Source, segment: Segment, header: Header, columns: Collection[str], context: Context
    ) -> PayloadReading:
        return PayloadReading(source, segment, header, columns, context, self.max_payload, segment.payload)

    def _rescue_reading(self, source: Source, span: Span, columns: Collection[str]) -> PayloadReading:
        """A reading of a stretch that no checksum proves, as far as it goes."""
        header, payload = rescue.header_of(source, span), rescue.payload_of(source, span)
        context = self._context(source, is_proven=False)
        return PayloadReading(
            source, Segment(span, ""), header, columns, context, self.max_payload, payload, resync=True
        )

    def _context(self, source: Source, *, is_proven: bool = True) -> Context:
        """What holds for all records of a segment of the file."""
        name = self.key or PurePath(source.name).name
        return Context(name, 0, is_proven, self.since, self.until, self.queue, self.vhost)

    def batches(self, source: Source, run: Run, table: str, columns: Collection[str]) -> Iterator[pa.RecordBatch]:
        """The messages of a segment, or the segment itself as a row."""
        if table == "segments":
            yield segments.batch_of(source, run, self.key or PurePath(source.name).name, columns)
            return
        source = source.on_disk()
        if "recovered" in run.labels:
            span = run.labels.get("span", run.span)
            reading = self._rescue_reading(source, span if isinstance(span, Span) else run.span, columns)
        else:
            header = header_of(bytes(source.view(run.span.start, run.span.start + HEADER)))
            reading = self._reading(source, Segment(run.span, "crc32"), header, columns, self._context(source))
        yield from reading.batches()

    def units(self, source: Source, run: Run) -> Iterator[Span]:
        """The segment."""
        if run.span.size:
            yield run.span

    def unit_at(self, source: Source, position: int) -> str:
        """A segment, wherever it is."""
        return "rbak_segment"

    def content(self, source: Source, span: Span) -> Content | None:
        """The records of a segment."""
        return content_of(source, span, self.max_payload)

    def salvage(self, source: Source, items: Iterator[Run | Finding]) -> Iterator[bytes | memoryview]:
        """One valid segment of all records that can be read."""
        return rescue.rewritten(self, source, items)

    def mend(self, source: Source, items: Iterator[Run | Finding]) -> Iterator[Run | Finding]:
        """The items of a scan, with what still decodes of damaged segments as runs."""
        return rescue.mended(self, source, items)

    def rescue_reading(self, source: Source, span: Span) -> PayloadReading:
        """What still decodes of a stretch that no checksum proves."""
        return self._rescue_reading(source.on_disk(), span, ())

    def reading(self, source: Source, columns: Collection[str]) -> PayloadReading | Finding:
        """The payload of a file that is one proven segment and nothing else, to be read; or why it is none."""
        source = source.on_disk()
        found = next(find(source), Span(0, source.size))
        if not isinstance(found, Segment) or found.span.end != source.size or found.proof != "crc32":
            span = found.span if isinstance(found, Segment) else found
            code = findings.CASTAGNOLI if isinstance(found, Segment) and found.proof == "crc32c" else findings.TRAILING
            return Finding(code, span) if isinstance(found, Segment) else why_not(source, span)
        header = header_at(source, found)
        if isinstance(header, Finding):
            return header
        return self._reading(source, found, header, columns, self._context(source))

    def claim_folder(self, folder: Folder) -> Claim | None:
        """A backup has a manifest, or at least segments."""
        return backup.claim(folder)

    def members(self, folder: Folder) -> Iterator[Member]:
        """The segments of a backup: those that the manifest lists in its order, then the others."""
        return backup.members(self, folder)

    def holdings(self, folder: Folder) -> Iterator[str]:
        """Segments, the manifest, and definitions."""
        return backup.holdings(folder)

    def accounts(self, folder: Folder) -> Iterator[Report]:
        """What the manifest is like, the definitions, and what is missing or too much in the backup."""
        return backup.accounts(folder)

    def known(self) -> dict[str, object]:
        """The queue and the virtual host of the segment, as the manifest has them.

        A manifest has no checksum, so as a hint it counts only where the folders of the file are called the same.
        """
        if self.listed is None or self.prune == "off":
            return {}
        told = {"queue": self.listed.queue, "vhost": self.listed.vhost}
        if self.prune == "hint":
            told = {name: value for name, value in told.items() if backup.folder_of(self.key, name) == value}
        return {name: value for name, value in told.items() if value}

    def _spared(self, source: Source) -> Finding | None:
        """Why the segment need not be read: the header or the manifest says that it has nothing that is asked for."""
        span = Span(0, source.size)
        for name, value in self.known().items():
            asked = self.queue if name == "queue" else self.vhost
            if asked is not None and value not in asked:
                return Finding(findings.OTHER_QUEUE, span, {name: value})
        return Finding(findings.NOT_READ, span, {"window": self._window()}) if self._is_pruned(source) else None

    def _is_pruned(self, source: Source) -> bool:
        """Whether the header says that no record lies in the time window."""
        if self.prune == "off" or (self.since is None and self.until is None) or source.size < LEAST:
            return False
        try:
            first, last = header_of(bytes(source.view(0, HEADER))).span
        except FormatError:
            return False
        margin = CLOCK_STEP if self.prune == "hint" else 0
        is_before = self.since is not None and last + margin < self.since
        return is_before or (self.until is not None and first - margin > self.until)

    def _window(self) -> str:
        return f"{_shown(self.since)}..{_shown(self.until)}"


def _shown(milliseconds: int | None) -> str:
    """A time as a person reads it; its number where no calendar reaches."""
    if milliseconds is None:
        return ""
    try:
        return datetime.fromtimestamp(milliseconds / 1000, UTC).isoformat().replace("+00:00", "Z")
    except (ValueError, OverflowError, OSError):
        return str(milliseconds)


def _consumed(batches: Iterator[pa.RecordBatch], *, keep: bool) -> list[pa.RecordBatch]:
    """Batches read to the end, since only then it is known what is to be said; kept if someone wants their rows."""
    return [batch for batch in batches if keep]


def _in_turn(first: list[pa.RecordBatch], more: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Batches that wait, and then those that are still to be read; none is held longer than it takes to pass it on."""
    while first:
        yield first.pop(0)
    yield from more


def _head(source: Source, segment: Segment) -> Header | Finding:
    """The header of a file that is a segment as far as both ends tell; else what they tell against it."""
    if source.size < LEAST or source.view(0, len(MAGIC)) != MAGIC:
        return why_not(source, segment.span)
    if source.view(source.size - FOOTER, source.size)[4:] != END_MAGIC:
        return why_not(source, segment.span)
    return header_at(source, segment)
