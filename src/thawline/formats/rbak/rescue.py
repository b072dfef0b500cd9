"""What can be read of segments that no checksum proves, and one valid segment made of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import pyarrow as pa

from thawline.errors import FormatError
from thawline.formats.rbak import findings, segment
from thawline.formats.rbak.encoding import Coding, SegmentBuilder
from thawline.formats.rbak.segment import END_MAGIC, FOOTER, HEADER, MAGIC, Header
from thawline.model import Finding, Run, Span
from thawline.source import Source

if TYPE_CHECKING:
    from thawline.formats.rbak import Rbak

RESCUABLE = (findings.NO_MAGIC, findings.NO_END, findings.BAD_CHECKSUM, findings.TOO_SHORT)
ZSTD_MAGIC, LZ4_MAGIC = bytes.fromhex("28b52ffd"), bytes.fromhex("04224d18")
COLUMNS = ("record_json", "backed_up_at_ms")


def header_of(source: Source, span: Span) -> Header:
    """What the header of a damaged segment says, as far as it can be believed; the payload tells its compression."""
    head = bytes(source.view(span.start, min(span.start + HEADER, span.end))).ljust(HEADER, b"\0")
    start = payload_of(source, span).start
    content = bytes(source.view(start, min(start + 12, span.end)))
    try:
        header = segment.header_of(MAGIC + head[4:])
    except FormatError:
        header = Header("lz4", 0, 0, 0)
    compression = _compression(content, header.compression)
    return replace(header, compression=compression)


def _compression(content: bytes, claimed: str) -> str:
    """How a payload is compressed: its first bytes know it better than a header that may be damaged."""
    if content.startswith(ZSTD_MAGIC):
        return "zstd"
    if content.startswith(LZ4_MAGIC):
        return "lz4"
    return "none" if content[4:5] == b"{" else claimed


def payload_of(source: Source, span: Span) -> Span:
    """The payload of a damaged segment: up to the footer if there is one, else up to the end."""
    start = min(span.start + HEADER, span.end)
    has_footer = span.size >= HEADER + FOOTER and source.view(span.end - len(END_MAGIC), span.end) == END_MAGIC
    return Span(start, span.end - FOOTER if has_footer else span.end)


def mended(rbak: Rbak, source: Source, items: Iterator[Run | Finding]) -> Iterator[Run | Finding]:
    """The items of a scan; damage of which something still decodes is a run, and what is lost of it a finding."""
    for item in items:
        if not isinstance(item, Finding) or item.code not in RESCUABLE or not item.span.size:
            yield item
            continue
        reading = rbak.rescue_reading(source, item.span)
        rows = sum(batch.num_rows for batch in reading.batches())
        if not rows:
            yield item
            continue
        yield Run(item.span, 1, rows, {"recovered": item.code.id})
        wrong = [remark for remark in reading.remarks() if remark.severity == "error"]
        # The count is wrong for the reason that the others give.
        yield from (remark for remark in wrong if remark.code is not findings.WRONG_COUNT or len(wrong) == 1)


def rewritten(rbak: Rbak, source: Source, items: Iterator[Run | Finding]) -> Iterator[bytes | memoryview]:
    """The bytes of one valid segment: a whole one as it is, else all records that can be read, written anew.

    Where they are more than is read of one segment, there is another behind it.
    """
    seen = list(items)
    runs = [item for item in seen if isinstance(item, Run) and item.span.size]
    wrong = {item.span.end for item in seen if isinstance(item, Finding) and not item.span.size and _is_wrong(item)}
    is_part = rbak.since is not None or rbak.until is not None
    if len(runs) == 1 and not is_part and runs[0].span.end not in wrong and "recovered" not in runs[0].labels:
        yield source.view(runs[0].span.start, runs[0].span.end)
        return
    builder = SegmentBuilder(_coding(source, runs))
    for document, time in _records(rbak, source, runs):
        if builder.count and not builder.has_room(document, rbak.max_payload):
            yield from builder.finish()
            builder = SegmentBuilder(builder.coding)
        builder.add(document, time)
    yield from builder.finish()


def _is_wrong(finding: Finding) -> bool:
    """Whether the segment itself would be refused: not where only the manifest says otherwise."""
    return finding.code is findings.CASTAGNOLI or (finding.severity == "error" and finding.code.id < "RBK120")


def _coding(source: Source, runs: list[Run]) -> Coding:
    """The compression of the first segment that is copied from."""
    if not runs:
        return Coding()
    header = header_of(source, runs[0].span)
    start = payload_of(source, runs[0].span).start
    is_frame = source.view(start, min(start + 4, source.size)) == LZ4_MAGIC
    return Coding(header.compression, lz4_framing="frame" if is_frame else "block")


def _records(rbak: Rbak, source: Source, runs: list[Run]) -> Iterator[tuple[bytes, int]]:
    """The JSON of each record, and its time."""
    for run in runs:
        for batch in rbak.batches(source, run, "messages", COLUMNS):
            documents = batch["record_json"].cast(pa.binary()).to_pylist()
            times = (time or 0 for time in batch["backed_up_at_ms"].to_pylist())
            yield from zip(documents, times, strict=True)
