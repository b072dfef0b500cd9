"""Segments of a file: where they are, what their header says, and which step of the reading procedure they fail.

Steps: https://rabbitmqbackup.com/architecture/segment-format, "Reading a Segment: Step by Step".
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, lru_cache
from heapq import merge
from pathlib import PurePath
from typing import Literal

from thawline import specs
from thawline.checksums import crc32, crc32c
from thawline.errors import FormatError
from thawline.formats.rbak import findings
from thawline.formats.rbak.proofs import meetings, places
from thawline.model import Finding, Span
from thawline.source import Source
from thawline.wording import counted, quoted

MAGIC, END_MAGIC = b"RBAK", b"KABR"
HEADER, FOOTER = 32, 8
CHECKSUM = FOOTER - len(END_MAGIC)
LEAST = HEADER + FOOTER
STEP = 16 << 20
"""Bytes whose checksum is computed in one go, so that a mapped file need not be in memory as a whole."""

Proof = Literal["crc32", "crc32c", ""]
CRC32: Proof = "crc32"
CRC32C: Proof = "crc32c"


@dataclass(frozen=True, slots=True)
class Header:
    """The 32 bytes that a segment starts with."""

    compression: str
    num_records: int
    first_timestamp: int
    last_timestamp: int
    reserved: bytes = bytes(2)

    @property
    def span(self) -> tuple[int, int]:
        """The time range that it claims, the smaller end first: clocks step."""
        return min(self.first_timestamp, self.last_timestamp), max(self.first_timestamp, self.last_timestamp)


@dataclass(frozen=True, slots=True)
class Segment:
    """A segment whose checksum is right, or what may be one."""

    span: Span
    proof: Proof
    """Which polynomial proves it; none for what is looked at all the same."""

    @property
    def payload(self) -> Span:
        """The bytes between header and footer."""
        return Span(self.span.start + HEADER, self.span.end - FOOTER)


@lru_cache(maxsize=1024)
def header_of(head: bytes) -> Header:
    """What a header says; `FormatError` names the field that breaks a rule."""
    parsed = specs.parse("rbak_segment::header", head)
    return Header(
        parsed.compression.name,
        parsed.num_records,
        parsed.first_timestamp,
        parsed.last_timestamp,
        bytes(parsed.reserved),
    )


def find(source: Source) -> Iterator[Segment | Span]:
    """Segments that their checksum proves, and the stretches between them, in file order."""
    position = 0
    for segment in _proven(source):
        if segment.span.start > position:
            yield Span(position, segment.span.start)
        yield segment
        position = segment.span.end
    if position < source.size:
        yield Span(position, source.size)


def _proven(source: Source) -> Iterator[Segment]:
    """Segments in file order: the file as a whole, which is how the backup tool reads it, or else those in it."""
    if source.size < LEAST:
        return
    if whole := _whole(source):
        yield whole
        return
    # An end magic before the end of the first header ends nothing; its checksum may lie before the file.
    marks = (at for at in places(source, END_MAGIC) if at >= HEADER + CHECKSUM)
    starts, ends = places(source, MAGIC), array("q", (at - CHECKSUM for at in marks))
    position = 0
    for start, proof, proving in merge(
        _by(CRC32, meetings(source, starts, ends, crc32)), _by(CRC32C, meetings(source, starts, ends, crc32c))
    ):
        first = bisect_left(proving, start + HEADER)
        if start >= position and first < len(proving):
            position = proving[first] + FOOTER
            yield Segment(Span(start, position), proof)


def _by(proof: Proof, found: Iterator[tuple[int, list[int]]]) -> Iterator[tuple[int, Proof, list[int]]]:
    return ((start, proof, proving) for start, proving in found)


def _whole(source: Source) -> Segment | None:
    """The file as one segment, if a checksum proves it."""
    footer = bytes(source.view(source.size - FOOTER, source.size))
    if source.view(0, len(MAGIC)) != MAGIC or not footer.endswith(END_MAGIC):
        return None
    stored, span = int.from_bytes(footer[:CHECKSUM], "little"), Span(0, source.size)
    if checksum(source, 0, source.size - FOOTER) == stored:
        return Segment(span, "crc32")
    return Segment(span, "crc32c") if checksum_castagnoli(source, 0, source.size - FOOTER) == stored else None


def checksum(source: Source, start: int, end: int) -> int:
    """CRC-32 of a stretch."""
    value = 0
    for at in range(start, end, STEP):
        value = crc32(source.view(at, min(at + STEP, end)), value=value)
    return value


def checksum_castagnoli(source: Source, start: int, end: int) -> int:
    """CRC-32C of a stretch."""
    value = 0
    for at in range(start, end, STEP):
        value = crc32c(source.view(at, min(at + STEP, end)), value=value)
    return value


def why_not(source: Source, span: Span) -> Finding:
    """The first step of the reading procedure that a stretch without a proven segment fails."""
    hint = salvage_hint(source)
    if span.size < LEAST:
        return Finding(findings.TOO_SHORT, span, {"size": span.size, "lost": "all that the segment held"}, hint)
    head = bytes(source.view(span.start, span.start + HEADER))
    if not head.startswith(MAGIC):
        return Finding(findings.NO_MAGIC, span, {"at": span.start, "lost": _lost(head)}, hint)
    footer = bytes(source.view(span.end - FOOTER, span.end))
    if not footer.endswith(END_MAGIC):
        cut = "an upload or a copy that broke off: the start is there, the end is not"
        return Finding(findings.NO_END, span, {"lost": _lost(head), "looks_like": cut}, hint)
    stored = int.from_bytes(footer[:4], "little")
    computed = checksum(source, span.start, span.end - FOOTER)
    copied = "a media or copy error: both ends are there, and some bytes between them are wrong"
    detail = {"crc32_stored": stored, "crc32_computed": computed, "lost": _lost(head), "looks_like": copied}
    return Finding(findings.BAD_CHECKSUM, span, detail, hint)


@cache
def _is_known(version: int, compression: int) -> bool:
    """Whether a header may name these; it is asked of the spec once, since to be told no takes long."""
    try:
        header_of(MAGIC + bytes([version, compression]) + bytes(HEADER - len(MAGIC) - 2))
    except FormatError:
        return False
    return True


def _lost(head: bytes) -> str:
    """What a header says about a segment that cannot be proven."""
    if not head.startswith(MAGIC) or not (_is_known(head[4], 0) and _is_known(head[4], head[5])):
        return "all records of the segment, unless salvage finds some"
    header = header_of(head)
    return f"{counted(header.num_records, 'record')} if its header is right; salvage copies those that still decode"


def header_at(source: Source, segment: Segment) -> Header | Finding:
    """The header of a proven segment, or why it cannot be used."""
    start = segment.span.start
    head = bytes(source.view(start, start + HEADER))
    version, compression = head[4], head[5]
    if not _is_known(version, 0):
        lost = {"at": start + 4, "version": version, "lost": "all records of the segment"}
        return Finding(findings.UNKNOWN_VERSION, segment.span, lost)
    if not _is_known(version, compression):
        lost = {"at": start + 5, "compression": compression, "lost": "all records of the segment"}
        return Finding(findings.UNKNOWN_COMPRESSION, segment.span, lost)
    return header_of(head)


def remarks(segment: Segment, header: Header) -> Iterator[Finding]:
    """What is worth knowing about a header, at the end of its segment."""
    here = Span(segment.span.end, segment.span.end)
    if segment.proof == "crc32c":
        yield Finding(findings.CASTAGNOLI, here, {"polynomial": "Castagnoli"})
    if any(header.reserved):
        yield Finding(findings.RESERVED, here, {"reserved": header.reserved.hex()})
    if header.last_timestamp < header.first_timestamp:
        times = {"first_timestamp": header.first_timestamp, "last_timestamp": header.last_timestamp}
        yield Finding(findings.STEPPED_BACK, here, times)


def salvage_hint(source: Source) -> str:
    """The command that copies what is left of a file."""
    name = PurePath(source.name)
    return f"thawline salvage {quoted(source.name)} -o {quoted(f'intact-{name.name}')}"
