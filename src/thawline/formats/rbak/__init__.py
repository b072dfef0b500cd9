"""RabbitMQ backups: RBAK segments of rabbitmq-backup, one by one or as a backup with its manifest.

Layout: https://rabbitmqbackup.com/architecture/segment-format

A segment is one unit: a header, one compressed payload of JSON records, and a checksum over both. A segment whose
checksum is wrong gives no rows, unless they are requested with `unverified`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import PurePath
from typing import Literal

import pyarrow as pa

from thawline.folder import Folder
from thawline.formats.contract import Ask, Chart, Claim, Content, Depth, Format, Kind, Member, Overview, Reading, Table
from thawline.formats.rbak import findings, salvage
from thawline.formats.rbak import folder as backup
from thawline.formats.rbak.manifest import Listed
from thawline.formats.rbak.payload import content_of
from thawline.formats.rbak.rows import Context, SegmentReader, SmallSegments, segment_row
from thawline.formats.rbak.walk import (
    CRC32,
    END_MAGIC,
    LEAST,
    MAGIC,
    Segment,
    Window,
    broken_rule,
    damaged_header,
    damaged_payload,
    find_segments,
    header_findings,
    is_outside,
    proven_header,
    read_ends,
    read_header,
    unproven,
)
from thawline.generated.tables.rbak import MESSAGES, SEGMENTS
from thawline.model import Finding, Report, Run, Span
from thawline.source import Source

HELD = 2
"""Batches that wait until their segment has been read. The rows of a longer segment are passed on at once, and its run
counts them as its header does."""


@dataclass(frozen=True, slots=True)
class Rbak(Format):
    """Backups of rabbitmq-backup."""

    since: int | None = None
    until: int | None = None
    queue: tuple[str, ...] | None = None
    vhost: tuple[str, ...] | None = None
    prune: Literal["hint", "strict", "off"] = "hint"
    unverified: bool = False
    max_payload: int = 1 << 30
    listed: Listed | None = None
    """The file as the manifest of its backup lists it."""
    key: str = ""
    """The path of the file within its backup."""

    name = "rbak"
    title = "RabbitMQ backup segment (RBAK)"
    codes = findings.CODES

    @property
    def kinds(self) -> tuple[Kind, ...]:
        """Segments."""
        return (SegmentFile(self),)

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
        """Reports about the manifest, the definitions, and what is missing or surplus in the backup."""
        return backup.accounts(folder)

    def known(self) -> dict[str, str]:
        """The queue and the virtual host of a file's messages, as far as the manifest is trusted.

        A manifest has no checksum. As a hint it counts only where the folders of the file have the same names.
        """
        if self.listed is None or self.prune == "off":
            return {}
        stated = {"queue": self.listed.queue, "vhost": self.listed.vhost}
        if self.prune == "hint":
            stated = {name: value for name, value in stated.items() if backup.folder_name(self.key, name) == value}
        return {name: value for name, value in stated.items() if value}

    def pruned(self, source: Source) -> Finding | None:
        """Why a file is not read: by its manifest or its header it holds nothing that is requested."""
        span = Span(0, source.size)
        for name, value in self.known().items():
            requested = self.queue if name == "queue" else self.vhost
            if requested is not None and value not in requested:
                return Finding(findings.OTHER_QUEUE, span, {name: value})
        window = Window(self.since, self.until)
        if self.prune != "off" and is_outside(source, window, is_strict=self.prune == "strict"):
            return Finding(findings.NOT_READ, span, {"window": str(window)})
        return None


@dataclass(frozen=True, slots=True)
class SegmentFile(Kind):
    """A file of segments, most often of one."""

    rbak: Rbak

    name = "segment"
    unit_name = "segment"
    has_heads = True
    overview = Overview(
        "segments",
        (
            Ask("times", "range", ("first_timestamp", "last_timestamp")),
            Ask("codecs", "values", ("compression",)),
            Ask("payload bytes", "sum", ("payload_bytes",)),
        ),
    )
    chart = Chart(
        "segments", size="size_bytes", codec="compression", earliest="first_timestamp", latest="last_timestamp"
    )

    @property
    def tables(self) -> Mapping[str, Table]:
        """The messages, and the segments themselves, which their headers describe."""
        return {"messages": Table.of(MESSAGES), "segments": Table.of(SEGMENTS, Depth.HEADS)}

    def claim(self, source: Source) -> Claim | None:
        """A segment starts with RBAK; one that lost its beginning still ends with KABR."""
        head = bytes(source.view(0, min(source.size, 6)))
        if head.startswith(MAGIC):
            version = str(head[4]) if len(head) > len(MAGIC) else ""
            return Claim(self.rbak.name, version, "starts with RBAK", "certain")
        if source.size >= LEAST and source.view(source.size - len(END_MAGIC), source.size) == END_MAGIC:
            return Claim(self.rbak.name, "1", "ends with KABR, but does not start with RBAK", "likely")
        return None

    def walk(self, source: Source, depth: Depth) -> Iterator[Run | Finding]:
        """Segments and findings: by their first and last bytes, by their checksums, or after decoding every record."""
        if depth is Depth.HEADS:
            yield from self._heads(source)
        elif depth is Depth.UNITS:
            yield from self._segments(source)
        else:
            for item in self._messages(source, self._segments(source), (), keep=False):
                yield item if isinstance(item, Finding) else item[0]

    def _heads(self, source: Source) -> Iterator[Run | Finding]:
        header = read_ends(source)
        if isinstance(header, Finding):
            yield header
        elif pruned := self.rbak.pruned(source):
            yield pruned
        else:
            segment = Segment(Span(0, source.size), "")
            yield Run(segment.span, 1, header.num_records)
            yield from header_findings(segment, header)
            yield from backup.compare_head(self.rbak.listed, segment, header)

    def _segments(self, source: Source) -> Iterator[Run | Finding]:
        """Segments that their checksum proves, and findings about all other stretches."""
        if pruned := self.rbak.pruned(source):
            yield pruned
            return
        source = source.on_disk()
        if not source.size:
            yield broken_rule(source, Span(0, 0))
        for found in find_segments(source):
            if isinstance(found, Span):
                yield from self._unproven(source, found)
            elif isinstance(header := read_header(source, found), Finding):
                yield header
            else:
                yield Run(found.span, 1, header.num_records, payload=found)

    def _unproven(self, source: Source, span: Span) -> Iterator[Run | Finding]:
        """A stretch that no checksum proves; before it, if requested, a run of what still decodes of it."""
        finding, segment = unproven(source, span), Segment(span, "")
        if self.rbak.unverified:
            yield Run(Span(span.start, span.start), 0, 0, recovered=finding.code.id, payload=segment)
        yield finding
        yield from backup.compare(self.rbak.listed, source, segment, None, 0)

    def rows(self, source: Source, items: Iterable[Run | Finding], table: str, columns: Collection[str]) -> Reading:
        """The messages of segments, or the segments themselves as rows."""
        if table == "messages":
            yield from self._messages(source, items, columns, keep=True)
            return
        for item in items:
            if isinstance(item, Finding):
                yield item
            else:
                yield item, [segment_row(source, item, self._name_of(source), columns)]

    def _messages(
        self, source: Source, items: Iterable[Run | Finding], columns: Collection[str], *, keep: bool
    ) -> Reading:
        """The items, each run with its messages if they are kept. Small segments are decoded together."""
        waiting, context, note = SmallSegments(columns), self._context(source), None
        for item in items:
            if isinstance(item, Finding):
                waiting.items += [item, note] if note else [item]
                note = None
            elif not waiting.add(reader := self.reader(source, item, columns, context)):
                yield from self._flush(waiting, keep=keep)
                waiting = SmallSegments(columns)
                if reader.segment.proof:
                    yield from self._alone(item, reader, keep=keep)
                elif (batches := [batch for batch in reader.batches() if keep]) or reader.records:
                    yield replace(item, rows=reader.rows), batches
                    # It follows the finding about the segment.
                    note = Finding(findings.UNPROVEN, reader.end, {"records": reader.records})
            if waiting.is_full:
                yield from self._flush(waiting, keep=keep)
                waiting = SmallSegments(columns)
        yield from self._flush(waiting, keep=keep)
        yield from [note] if note else []

    def _flush(self, waiting: SmallSegments, *, keep: bool) -> Reading:
        """What has waited, in file order."""
        for item, rows in waiting.read():
            if isinstance(item, Finding):
                yield item
            else:
                run = Run(item.segment.span, 1, item.rows, payload=item.segment)
                yield run, [rows] if keep and rows is not None else []
                yield from self._findings(item)

    def _alone(self, run: Run, reader: SegmentReader, *, keep: bool) -> Reading:
        """A proven segment with its rows, and what is wrong with it after them."""
        batches = reader.batches()
        first = deque(islice(batches, HELD + 1)) if keep else deque(batches, maxlen=0)
        rows = reader.rows if len(first) <= HELD else reader.header.num_records
        yield replace(run, rows=rows), _in_turn(first, batches)
        deque(batches, maxlen=0)  # the findings are complete after the last row
        yield from self._findings(reader)

    def _findings(self, reader: SegmentReader) -> Iterator[Finding]:
        """What is wrong with a proven segment that has been read."""
        yield from header_findings(reader.segment, reader.header)
        yield from reader.findings()
        yield from backup.compare(self.rbak.listed, reader.source, reader.segment, reader.header, reader.documents)

    def reader(
        self, source: Source, run: Run, columns: Collection[str], context: Context | None = None
    ) -> SegmentReader:
        """A reader of the segment of a run; of one that no checksum proves, it reads as much as still decodes."""
        source, context = source.on_disk(), context or self._context(source)
        segment = run.payload if isinstance(run.payload, Segment) else Segment(run.span, CRC32)
        if segment.proof:
            header, payload = proven_header(source, segment), segment.payload
        else:
            header, payload = damaged_header(source, segment.span), damaged_payload(source, segment.span)
            context = replace(context, verified=False)
        return SegmentReader(source, segment, header, columns, context, self.rbak.max_payload, payload)

    def _context(self, source: Source) -> Context:
        rbak = self.rbak
        return Context(self._name_of(source), since=rbak.since, until=rbak.until, queue=rbak.queue, vhost=rbak.vhost)

    def _name_of(self, source: Source) -> str:
        """The value of the column `segment`."""
        return self.rbak.key or PurePath(source.name).name

    def units(self, source: Source, run: Run) -> Iterator[Span]:
        """The segment."""
        if run.span.size:
            yield run.span

    def spec_at(self, source: Source, position: int) -> str:
        """A segment, at any position."""
        return "rbak_segment"

    def content(self, source: Source, span: Span) -> Content | None:
        """The records of a segment."""
        return content_of(source, span, self.rbak.max_payload)

    def intact(self, source: Source) -> Iterator[Run | Finding]:
        """Segments, and what still decodes of damaged ones."""
        return salvage.intact(replace(self, rbak=replace(self.rbak, unverified=False)), source)

    def salvage(self, source: Source, items: Iterator[Run | Finding]) -> Iterator[bytes | memoryview]:
        """One valid segment of all records that can be read."""
        return salvage.salvaged(self, source, items)


def _in_turn(first: deque[pa.RecordBatch], more: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Batches that were held, then those still to be read; none is kept longer than it takes to pass it on."""
    while first:
        yield first.popleft()
    yield from more
