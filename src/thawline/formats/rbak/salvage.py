"""New files from what is intact: a segment of the records that still decode, and a manifest of existing segments."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, cast

import pyarrow as pa

from thawline.checksums import sha256
from thawline.errors import ThawlineError
from thawline.folder import Folder
from thawline.formats.contract import Depth
from thawline.formats.rbak import findings, manifest
from thawline.formats.rbak.folder import Backup
from thawline.formats.rbak.manifest import Listed
from thawline.formats.rbak.rows import SegmentReader
from thawline.formats.rbak.walk import LZ4_MAGIC, Segment, damaged_header, damaged_payload
from thawline.formats.rbak.write import Coding, SegmentBuilder
from thawline.model import Finding, Run
from thawline.source import Source, open_source

if TYPE_CHECKING:
    from thawline.formats.rbak import Rbak, SegmentFile

SALVAGEABLE = (findings.NO_MAGIC, findings.NO_END, findings.BAD_CHECKSUM, findings.TOO_SHORT)
COLUMNS = ("record_json", "backed_up_at_ms")
PLACE = ["vhost", "queue"]


# A new segment.


def intact(kind: SegmentFile, source: Source) -> Iterator[Run | Finding]:
    """The items of a walk, with a run for damage of which something still decodes, and findings for what is lost."""
    for item in kind.walk(source, Depth.EVERYTHING):
        if not isinstance(item, Finding) or item.code not in SALVAGEABLE or not item.span.size:
            yield item
            continue
        run = Run(item.span, 1, 0, recovered=item.code.id, payload=Segment(item.span, ""))
        reader = kind.reader(source, run, ())
        rows = sum(batch.num_rows for batch in reader.batches())
        if not rows:
            yield item
            continue
        yield replace(run, rows=rows)
        wrong = [finding for finding in reader.findings() if finding.severity == "error"]
        # A wrong count follows from the other damage.
        yield from (finding for finding in wrong if finding.code is not findings.WRONG_COUNT or len(wrong) == 1)


def salvaged(kind: SegmentFile, source: Source, items: Iterator[Run | Finding]) -> Iterator[bytes | memoryview]:
    """The bytes of one valid segment: an intact one as it is, else all records that can be read, in a new one.

    Where the records exceed what is read of one segment, another follows.
    """
    seen = list(items)
    runs = [item for item in seen if isinstance(item, Run) and item.span.size]
    wrong = {item.span.end for item in seen if isinstance(item, Finding) and not item.span.size and _is_refused(item)}
    is_part = kind.rbak.since is not None or kind.rbak.until is not None
    if len(runs) == 1 and not is_part and runs[0].span.end not in wrong and not runs[0].recovered:
        yield source.view(runs[0].span.start, runs[0].span.end)
        return
    builder = SegmentBuilder(_coding(source, runs))
    for document, time in _records(kind, source, runs):
        if builder.count and not builder.has_room(document, kind.rbak.max_payload):
            yield from builder.finish()
            builder = SegmentBuilder(builder.coding)
        builder.add(document, time)
    yield from builder.finish()


def _is_refused(finding: Finding) -> bool:
    """Whether the backup tool refuses the segment itself: not where only the manifest differs (RBK120 and up)."""
    return finding.code is findings.CASTAGNOLI or (finding.severity == "error" and finding.code.id < "RBK120")


def _coding(source: Source, runs: list[Run]) -> Coding:
    """The compression of the first segment that is copied from."""
    if not runs:
        return Coding()
    header = damaged_header(source, runs[0].span)
    start = damaged_payload(source, runs[0].span).start
    is_frame = source.view(start, min(start + 4, source.size)) == LZ4_MAGIC
    return Coding(header.compression, lz4_framing="frame" if is_frame else "block")


def _records(kind: SegmentFile, source: Source, runs: list[Run]) -> Iterator[tuple[bytes, int]]:
    """The JSON of each record, and its time. Findings are known from the walk; small segments are decoded together."""
    for found in kind.rows(source, runs, "messages", COLUMNS):
        for batch in () if isinstance(found, Finding) else found[1]:
            documents = batch["record_json"].cast(pa.binary()).to_pylist()
            times = (time or 0 for time in batch["backed_up_at_ms"].to_pylist())
            yield from zip(documents, times, strict=True)


# A new manifest.


@dataclass(slots=True)
class NewManifest:
    """A manifest made from segments, and what is worth knowing about it."""

    data: bytes = b""
    segments: list[Listed] = field(default_factory=list)
    left_out: list[tuple[str, str]] = field(default_factory=list)
    """Files that the backup tool refuses, and why."""
    mixed: list[str] = field(default_factory=list)
    """Segments with messages of several queues, listed under the queue of the first message."""


def new_manifest(rbak: Rbak, path: str, *, backup_id: str = "", completed_at: int | None = None) -> NewManifest:
    """The manifest of a folder of segments. What an old one states besides its list is kept."""
    folder, made = Folder(path), NewManifest()
    for member in rbak.members(folder):
        for kind in member.format.kinds:
            made.segments += _entries(member.path, cast("SegmentFile", kind), made)
    made.segments = list(_numbered(made.segments))
    old = Backup(folder).manifest
    known: dict[str, Any] = dict(old.raw) if old else {}
    times = [time for listed in made.segments for time in (listed.first_timestamp, listed.last_timestamp) if time]
    known["created_at"] = known.get("created_at") or min(times, default=None)
    known["backup_id"] = backup_id or known.get("backup_id") or folder.name
    if completed_at is not None:
        known["completed_at"] = completed_at
    made.data = manifest.compose(known, made.segments)
    return made


def _entries(path: str, kind: SegmentFile, made: NewManifest) -> Iterator[Listed]:
    """The entry of one file; none if the backup tool refuses it."""
    try:
        with open_source(path) as source:
            found = _only_segment(kind, source)
            if isinstance(found, Finding):
                made.left_out.append((kind.rbak.key, f"{found.code.id} {found.message}"))
            else:
                yield from _entry(source, kind.rbak, kind.reader(source, found, PLACE), made)
    except ThawlineError as error:
        made.left_out.append((kind.rbak.key, str(error)))


def _only_segment(kind: SegmentFile, source: Source) -> Run | Finding:
    """The segment of a file that is nothing else and proven by CRC-32; else why the backup tool refuses it."""
    found = next(iter(kind.walk(source, Depth.UNITS)))
    if isinstance(found, Finding):
        return found
    if found.payload == Segment(found.span, "crc32c"):
        return Finding(findings.CASTAGNOLI, found.span)
    return Finding(findings.TRAILING, found.span) if found.span.end != source.size else found


def _entry(source: Source, rbak: Rbak, reader: SegmentReader, made: NewManifest) -> Iterator[Listed]:
    queues = _queues(reader)
    problem: Finding | None = next((found for found in reader.findings() if found.severity == "error"), None)
    if problem is not None:
        made.left_out.append((rbak.key, f"{problem.code.id} {problem.message}"))
        return
    old = rbak.listed or Listed(rbak.key)
    if len(queues) > 1:
        made.mixed.append(rbak.key)
    vhost, queue = queues[0] if queues else (old.vhost, old.queue)
    header = reader.header
    yield Listed(
        old.key,
        vhost,
        queue,
        old.sequence,
        header.num_records,
        source.size,
        reader.ending.size,
        header.first_timestamp,
        header.last_timestamp,
        sha256(source.view(0, source.size)).hex(),
    )


def _queues(reader: SegmentReader) -> list[tuple[str, str]]:
    """Virtual hosts and queues of the messages, in order of their first message."""
    queues: dict[tuple[str, str], None] = {}
    for batch in reader.batches():
        found = pa.Table.from_batches([batch]).group_by(PLACE, use_threads=False).aggregate([])
        for row in found.to_pylist():
            queues.setdefault((row["vhost"] or "", row["queue"] or ""))
    return list(queues)


def _numbered(segments: list[Listed]) -> Iterator[Listed]:
    """The segments; those without a sequence number get the next one of their queue."""
    last: dict[tuple[str, str], int] = {}
    for listed in segments:
        queue = (listed.vhost, listed.queue)
        number = listed.sequence if listed.sequence is not None else last.get(queue, 0) + 1
        last[queue] = max(number, last.get(queue, 0))
        yield replace(listed, sequence=number)
