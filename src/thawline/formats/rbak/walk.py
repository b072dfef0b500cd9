"""Segments in a file: where they are, what their headers say, and which rule other bytes break.

The rules are the steps of https://rabbitmqbackup.com/architecture/segment-format, "Reading a Segment: Step by Step".
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cache, lru_cache
from heapq import merge
from typing import Literal

import pyarrow as pa
import pyarrow.compute as pc

from thawline import specs
from thawline.checksums import crc32, crc32c
from thawline.engine.starts import Starts
from thawline.errors import FormatError
from thawline.formats.rbak import findings
from thawline.generated.kernels.constants import (
    RBAK_PAYLOAD_RECORD_HEAD_SIZE,
    RBAK_SEGMENT_COMPRESSION_AT,
    RBAK_SEGMENT_CRC32_SIZE,
    RBAK_SEGMENT_END_MAGIC,
    RBAK_SEGMENT_FOOTER_SIZE,
    RBAK_SEGMENT_HEADER_SIZE,
    RBAK_SEGMENT_MAGIC,
    RBAK_SEGMENT_VERSION_AT,
)
from thawline.generated.kernels.tables import SYNCS
from thawline.model import Finding, Payload, Span
from thawline.source import Source
from thawline.wording import counted, salvage_hint

MAGIC: bytes = RBAK_SEGMENT_MAGIC
END_MAGIC: bytes = RBAK_SEGMENT_END_MAGIC
HEADER, FOOTER = RBAK_SEGMENT_HEADER_SIZE, RBAK_SEGMENT_FOOTER_SIZE
VERSION_AT, COMPRESSION_AT = RBAK_SEGMENT_VERSION_AT, RBAK_SEGMENT_COMPRESSION_AT
CHECKSUM, RECORD_HEAD = RBAK_SEGMENT_CRC32_SIZE, RBAK_PAYLOAD_RECORD_HEAD_SIZE
LEAST = HEADER + FOOTER
STEP = 16 << 20
"""Bytes that are checked or searched at once, so that a mapped file need not be in memory as a whole."""
CLOCK_STEP = 3_600_000
"""Milliseconds that a clock may have stepped: a header is only a hint about the times of its records."""
ZSTD_MAGIC, LZ4_MAGIC = bytes.fromhex("28b52ffd"), bytes.fromhex("04224d18")
CRC_WIDTH, BYTE_VALUES = 32, 256
CRCS_AT_ONCE = 1 << 16

Proof = Literal["crc32", "crc32c", ""]
CRC32: Proof = "crc32"
CRC32C: Proof = "crc32c"
Checksum = Callable[..., int]
"""A 32-bit CRC with the signature that `thawline.checksums` gives it."""


@dataclass(frozen=True, slots=True)
class Header:
    """The 32 bytes that a segment starts with."""

    compression: str
    num_records: int
    first_timestamp: int
    last_timestamp: int
    reserved: bytes = bytes(2)

    @property
    def time_range(self) -> tuple[int, int]:
        """The range of times that it states, the smaller end first: clocks step back."""
        return min(self.first_timestamp, self.last_timestamp), max(self.first_timestamp, self.last_timestamp)


@dataclass(frozen=True, slots=True)
class Segment(Payload):
    """A segment whose checksum is right, or a stretch that is read as one; what the walk tells about a run."""

    span: Span
    proof: Proof
    """The polynomial that proves it; empty for a stretch that no checksum proves."""

    @property
    def payload(self) -> Span:
        """The bytes between header and footer."""
        return Span(self.span.start + HEADER, self.span.end - FOOTER)


# Where segments are.


def find_segments(source: Source) -> Iterator[Segment | Span]:
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
    """The whole file as one segment, which is how the backup tool reads it; else the segments inside it."""
    if source.size < LEAST:
        return
    if whole := _whole(source):
        yield whole
        return
    # An end magic before the end of the first header ends nothing; its checksum may lie before the file.
    starts = _positions(source, "header")
    ends = array("q", (at for at in _positions(source, "footer") if at >= HEADER))
    position = 0
    for start, proof, proving in merge(
        _proofs(CRC32, _join(source, starts, ends, crc32)), _proofs(CRC32C, _join(source, starts, ends, crc32c))
    ):
        first = bisect_left(proving, start + HEADER)
        if start >= position and first < len(proving):
            position = proving[first] + FOOTER
            yield Segment(Span(start, position), proof)


def _proofs(proof: Proof, found: Iterator[tuple[int, list[int]]]) -> Iterator[tuple[int, Proof, list[int]]]:
    return ((start, proof, proving) for start, proving in found)


def _whole(source: Source) -> Segment | None:
    """The file as one segment, if a checksum proves it."""
    footer = bytes(source.view(source.size - FOOTER, source.size))
    if source.view(0, len(MAGIC)) != MAGIC or not footer.endswith(END_MAGIC):
        return None
    stored, covered = int.from_bytes(footer[:CHECKSUM], "little"), Span(0, source.size - FOOTER)
    if _checksum(source, covered, crc32) == stored:
        return Segment(Span(0, source.size), CRC32)
    return Segment(Span(0, source.size), CRC32C) if _checksum(source, covered, crc32c) == stored else None


def _checksum(source: Source, span: Span, checksum: Checksum) -> int:
    value = 0
    for at in range(span.start, span.end, STEP):
        value = checksum(source.view(at, min(at + STEP, span.end)), value=value)
    return value


# Every segment of a file in one pass, however many places it may start and end at.
#
# A segment may start at any RBAK and end at any KABR. Computing the checksum of every pair takes time with the square
# of the file. Instead, starts and ends are joined on a key: one number depends on the start s alone, the other on the
# end e alone, and they are equal if, and only if, the checksum from s to e is right. CRCs of adjacent stretches combine
# (zlib's crc32_combine):
#
#     crc(0..e) = shifted(crc(0..s), e - s) ^ crc(s..e)
#
# where `shifted(value, n)` is linear: what n zero bytes do to a CRC. With the size L of the file, crc(s..e) is the
# checksum stored at e if shifted(crc(0..s), L - s) equals shifted(crc(0..e) ^ stored, L - e).


def _positions(source: Source, part: Literal["header", "footer"]) -> array[int]:
    """Where a part of a segment can start, ascending."""
    starts, found = Starts(SYNCS[f"rbak_segment__{part}"], source), array("q")
    for base in range(0, source.size, STEP):
        found.extend(starts.positions(base, min(base + STEP, source.size)))
        source.release(base)
    return found


def _join(source: Source, starts: array[int], ends: array[int], checksum: Checksum) -> Iterator[tuple[int, list[int]]]:
    """Starts that an end proves, ascending, each with all ends that prove it; some of those may lie before it.

    An end is the position of the stored checksum.
    """
    if not starts or not ends:
        return
    start_keys, end_keys = _keys(source, int64_array(starts), int64_array(ends), checksum)
    proving: dict[int, list[int]] = {}
    for key, end in _shared(end_keys, start_keys, int64_array(ends)):
        proving.setdefault(key, []).append(end)
    for key, start in _shared(start_keys, end_keys, int64_array(starts)):
        yield start, proving[key]


def _shared(keys: pa.Array, others: pa.Array, positions: pa.Array) -> Iterator[tuple[int, int]]:
    """Keys that are among the others, each with its position."""
    mask = pc.is_in(keys, value_set=others)
    return zip(keys.filter(mask).to_pylist(), positions.filter(mask).to_pylist(), strict=True)


def _keys(
    source: Source, starts: pa.Int64Array, ends: pa.Int64Array, checksum: Checksum
) -> tuple[pa.UInt32Array, pa.UInt32Array]:
    """The key of each start and of each end."""
    marks = pc.unique(pa.concat_arrays([starts, ends]))
    marks = marks.take(pc.array_sort_indices(marks))
    prefixes = _prefix_checksums(source, marks, checksum)
    words = (source.view(end, end + CHECKSUM) for end in ends.to_pylist())
    stored = pa.array((int.from_bytes(word, "little") for word in words), pa.uint32())
    from_starts = prefixes.take(pc.index_in(starts, value_set=marks))
    from_ends = pc.bit_wise_xor(prefixes.take(pc.index_in(ends, value_set=marks)), stored)
    size = pa.scalar(source.size, pa.int64())
    return (
        _shifted(from_starts, pc.subtract(size, starts), checksum),
        _shifted(from_ends, pc.subtract(size, ends), checksum),
    )


def _prefix_checksums(source: Source, marks: pa.Int64Array, checksum: Checksum) -> pa.UInt32Array:
    """The checksum of all bytes before each mark."""
    view, found = source.view(0, source.size), array("I")
    value, done, released = 0, 0, 0
    for mark in marks.to_pylist():
        value, done = checksum(view, done, mark, value=value), mark
        found.append(value)
        if done - released >= STEP:
            source.release(done)
            released = done
    return pa.Array.from_buffers(pa.uint32(), len(found), [None, pa.py_buffer(found)])


def _shifted(values: pa.UInt32Array, sizes: pa.Int64Array, checksum: Checksum) -> pa.UInt32Array:
    """Each CRC after as many zero bytes as its size says."""
    parts = [
        _shifted_part(values[at : at + CRCS_AT_ONCE], sizes[at : at + CRCS_AT_ONCE], checksum)
        for at in range(0, len(values), CRCS_AT_ONCE)
    ]
    return pa.concat_arrays(parts)


def _shifted_part(values: pa.UInt32Array, sizes: pa.Int64Array, checksum: Checksum) -> pa.UInt32Array:
    for bit in range(pc.max(sizes).as_py().bit_length()):
        is_set = pc.not_equal(pc.bit_wise_and(sizes, pa.scalar(1 << bit, pa.int64())), pa.scalar(0, pa.int64()))
        values = pc.if_else(is_set, _mapped(values, _tables(checksum, bit)), values)
    return values


def _mapped(values: pa.UInt32Array, tables: tuple[pa.UInt32Array, ...]) -> pa.UInt32Array:
    """A linear function of each value, looked up byte by byte."""
    made = None
    for index, table in enumerate(tables):
        byte = pc.bit_wise_and(pc.shift_right(values, pa.scalar(8 * index, pa.uint32())), pa.scalar(255, pa.uint32()))
        part = table.take(byte)
        made = part if made is None else pc.bit_wise_xor(made, part)
    return made


@cache
def _tables(checksum: Checksum, bit: int) -> tuple[pa.UInt32Array, ...]:
    """What 2 ** bit zero bytes do to a CRC: a table for each of its four bytes, by the byte's value."""
    columns = _columns(checksum, bit)
    return tuple(
        pa.array((_applied(columns[byte : byte + 8], value) for value in range(BYTE_VALUES)), pa.uint32())
        for byte in range(0, CRC_WIDTH, 8)
    )


@cache
def _columns(checksum: Checksum, bit: int) -> tuple[int, ...]:
    """The same as a matrix, a column for each bit of a CRC; its square is the function for twice as many zeros."""
    if bit:
        half = _columns(checksum, bit - 1)
        return tuple(_applied(half, column) for column in half)
    zero = bytes(1)
    return tuple(checksum(zero, value=1 << index) ^ checksum(zero) for index in range(CRC_WIDTH))


def _applied(columns: tuple[int, ...], value: int) -> int:
    made = 0
    for index, column in enumerate(columns):
        if value >> index & 1:
            made ^= column
    return made


def int64_array(values: array[int]) -> pa.Int64Array:
    """The numbers as Arrow has them, in the same memory."""
    return pa.Array.from_buffers(pa.int64(), len(values), [None, pa.py_buffer(values)])


# What headers say.


@lru_cache(maxsize=1024)
def parse_header(head: bytes) -> Header:
    """The fields of a header; `FormatError` names the field that breaks a rule."""
    parsed = specs.parse("rbak_segment::header", head)
    return Header(
        parsed.compression.name,
        parsed.num_records,
        parsed.first_timestamp,
        parsed.last_timestamp,
        bytes(parsed.reserved),
    )


def read_header(source: Source, segment: Segment) -> Header | Finding:
    """The header of a proven segment, or why it cannot be used."""
    start = segment.span.start
    head = bytes(source.view(start, start + HEADER))
    version, compression = head[VERSION_AT], head[COMPRESSION_AT]
    if not _is_known(version, 0):
        lost = {"at": start + VERSION_AT, "version": version, "lost": "all records of the segment"}
        return Finding(findings.UNKNOWN_VERSION, segment.span, lost)
    if not _is_known(version, compression):
        lost = {"at": start + COMPRESSION_AT, "compression": compression, "lost": "all records of the segment"}
        return Finding(findings.UNKNOWN_COMPRESSION, segment.span, lost)
    return parse_header(head)


def proven_header(source: Source, segment: Segment) -> Header:
    """The header of a segment that `read_header` accepts."""
    return parse_header(bytes(source.view(segment.span.start, segment.span.start + HEADER)))


def read_ends(source: Source) -> Header | Finding:
    """The header of a file that is a segment as far as its first and last bytes tell; else the rule they break."""
    whole = Span(0, source.size)
    if source.size < LEAST or source.view(0, len(MAGIC)) != MAGIC:
        return broken_rule(source, whole)
    if source.view(source.size - len(END_MAGIC), source.size) != END_MAGIC:
        return broken_rule(source, whole)
    return read_header(source, Segment(whole, ""))


def header_findings(segment: Segment, header: Header) -> Iterator[Finding]:
    """What is worth knowing about a header, at the end of its segment."""
    here = Span(segment.span.end, segment.span.end)
    if segment.proof == CRC32C:
        yield Finding(findings.CASTAGNOLI, here, {"polynomial": "Castagnoli"})
    if any(header.reserved):
        yield Finding(findings.RESERVED, here, {"reserved": header.reserved.hex()})
    if header.last_timestamp < header.first_timestamp:
        times = {"first_timestamp": header.first_timestamp, "last_timestamp": header.last_timestamp}
        yield Finding(findings.STEPPED_BACK, here, times)


@cache
def _is_known(version: int, compression: int) -> bool:
    """Whether the spec allows these in a header. Cached, since a refusal by the parser is slow."""
    try:
        parse_header(MAGIC + bytes([version, compression]) + bytes(HEADER - len(MAGIC) - 2))
    except FormatError:
        return False
    return True


@dataclass(frozen=True, slots=True)
class Window:
    """A range of times in milliseconds, both ends included; None for an open end."""

    since: int | None
    until: int | None

    def __str__(self) -> str:
        return f"{_shown(self.since)}..{_shown(self.until)}"


def _shown(milliseconds: int | None) -> str:
    """A time as a person reads it; its number where no calendar reaches."""
    if milliseconds is None:
        return ""
    try:
        return datetime.fromtimestamp(milliseconds / 1000, UTC).isoformat().replace("+00:00", "Z")
    except (ValueError, OverflowError, OSError):
        return str(milliseconds)


def is_outside(source: Source, window: Window, *, is_strict: bool) -> bool:
    """Whether a file's header says that no record lies in a window; unless strict, by more than clocks step."""
    if window == Window(None, None) or source.size < LEAST:
        return False
    try:
        first, last = parse_header(bytes(source.view(0, HEADER))).time_range
    except FormatError:
        return False
    margin = 0 if is_strict else CLOCK_STEP
    is_before = window.since is not None and last + margin < window.since
    return is_before or (window.until is not None and first - margin > window.until)


# Why a stretch is no segment, and what is known of it all the same.


def unproven(source: Source, span: Span) -> Finding:
    """What is wrong with a stretch that no checksum proves: beside a proven segment, it need not be one."""
    view = source.view(span.start, span.end)
    is_cut = view[: len(MAGIC)] == MAGIC or view[-len(END_MAGIC) :] == END_MAGIC
    if is_cut or span.size == source.size:
        return broken_rule(source, span)
    lost = {"lost": f"nothing of a segment; {counted(span.size, 'byte')}"}
    return Finding(findings.TRAILING, span, lost, salvage_hint(source.name))


def broken_rule(source: Source, span: Span) -> Finding:
    """The first step of the reading procedure that a stretch without a proven segment fails."""
    hint = salvage_hint(source.name)
    if span.size < LEAST:
        return Finding(findings.TOO_SHORT, span, {"size": span.size, "lost": "all that the segment held"}, hint)
    head = bytes(source.view(span.start, span.start + HEADER))
    if not head.startswith(MAGIC):
        return Finding(findings.NO_MAGIC, span, {"at": span.start, "lost": _lost(head)}, hint)
    footer = bytes(source.view(span.end - FOOTER, span.end))
    if not footer.endswith(END_MAGIC):
        cut = "an upload or a copy that broke off: the start is there, the end is not"
        return Finding(findings.NO_END, span, {"lost": _lost(head), "looks_like": cut}, hint)
    stored = int.from_bytes(footer[:CHECKSUM], "little")
    computed = _checksum(source, Span(span.start, span.end - FOOTER), crc32)
    copied = "a media or copy error: both ends are there, and some bytes between them are wrong"
    detail = {"crc32_stored": stored, "crc32_computed": computed, "lost": _lost(head), "looks_like": copied}
    return Finding(findings.BAD_CHECKSUM, span, detail, hint)


def _lost(head: bytes) -> str:
    """What is lost with a segment that no checksum proves, as its header states it."""
    version, compression = head[VERSION_AT], head[COMPRESSION_AT]
    if not head.startswith(MAGIC) or not (_is_known(version, 0) and _is_known(version, compression)):
        return "all records of the segment, unless salvage finds some"
    header = parse_header(head)
    return f"{counted(header.num_records, 'record')} if its header is right; salvage copies those that still decode"


def damaged_header(source: Source, span: Span) -> Header:
    """The header of a damaged segment as far as it can be trusted; the payload tells its compression."""
    head = bytes(source.view(span.start, min(span.start + HEADER, span.end))).ljust(HEADER, b"\0")
    start = damaged_payload(source, span).start
    content = bytes(source.view(start, min(start + 12, span.end)))
    try:
        header = parse_header(MAGIC + head[len(MAGIC) :])
    except FormatError:
        header = Header("lz4", 0, 0, 0)
    return replace(header, compression=_compression(content, header.compression))


def _compression(content: bytes, stated: str) -> str:
    """How a payload is compressed: its first bytes are better evidence than a header that may be damaged."""
    if content.startswith(ZSTD_MAGIC):
        return "zstd"
    if content.startswith(LZ4_MAGIC):
        return "lz4"
    return "none" if content[RECORD_HEAD : RECORD_HEAD + 1] == b"{" else stated


def damaged_payload(source: Source, span: Span) -> Span:
    """The payload of a damaged segment: up to the footer if there is one, else up to the end."""
    start = min(span.start + HEADER, span.end)
    has_footer = span.size >= HEADER + FOOTER and source.view(span.end - len(END_MAGIC), span.end) == END_MAGIC
    return Span(start, span.end - FOOTER if has_footer else span.end)
