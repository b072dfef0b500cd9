"""Records of batches and messages: decompressed and decoded, many units in one go; and encoded for new batches."""

from __future__ import annotations

import zlib
from array import array
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import groupby
from typing import TYPE_CHECKING, Protocol

import cramjam
import lz4.frame
import pyarrow as pa
import pyarrow.compute as pc
import zstandard

from thawline import codecs, native
from thawline.engine import columns
from thawline.engine.chunks import Break, Chunk, Piece, Ranges, Rows
from thawline.errors import CodecError, OutputTooLarge, ThawlineError
from thawline.formats.contract import Reading
from thawline.formats.kafka.findings import BAD_CODEC, BAD_RECORDS, BAD_WRAPPER, CUT_WRAPPER, TOO_LARGE
from thawline.formats.kafka.rows import Failure, Records, Request, runs_of
from thawline.formats.kafka.units import (
    HEAD_SIZE,
    LATEST_MAGIC,
    LEAST_LENGTHS,
    LENGTH_AT,
    LENGTH_END,
    MESSAGES,
    NO_TIMESTAMP,
    Heads,
    Integers,
    integers,
)
from thawline.formats.kafka.walk import together
from thawline.model import Finding, Run
from thawline.source import Source

if TYPE_CHECKING:
    from typing_extensions import Buffer  # collections.abc has it from Python 3.12 on

GROUP_BYTES = 16 << 20
"""Bytes of records that are decoded in one go: enough to make the fixed cost of a call small."""
GROUP_ROWS = 1 << 17
"""The most records in one go."""
MOST_ROWS = 1 << 18
"""The most records of a batch that are held until all of them are known to be right. Longer batches are read twice."""
GROUP_UNITS = 1 << 12
"""The most compressed batches in one go: batches without records cost time, too."""
PIECE_BYTES = 768 << 10
"""Bytes that are decompressed before they are decoded: few enough to stay in the cache of a core."""


def decode(source: Source, heads: Heads, request: Request) -> Reading:
    """Runs with their rows, and a finding for each unit whose records cannot be given, in file order."""
    decoded = [(_messages if some.is_legacy else _batches)(source, some, request) for some in heads.kinds()]
    return decoded[0] if len(decoded) == 1 else together(decoded)


def _not_decompressed(compression: str, error: CodecError, max_bytes: int) -> Failure:
    detail = {"codec": compression, "reason": error.message}
    if isinstance(error, OutputTooLarge):
        return Failure(TOO_LARGE, {**detail, "bound": max_bytes})
    return Failure(BAD_CODEC, detail)


# Batches of magic 2.

DISORDERED = Failure(BAD_RECORDS, {"reason": "offset deltas do not rise up to lastOffsetDelta"})
WIRE = ("key", "value", "headers")

_idle: list[codecs.Room] = []
"""Rooms for the next batches: memory that was used before is faster than new memory."""


def _batches(source: Source, heads: Heads, request: Request) -> Reading:
    first, room = 0, None
    while first < len(heads):
        payload: _Payload
        if heads.compressions[first] == "none":
            payload = _Plain(source, heads, first)
        else:
            room = room or _room()
            payload = _Compressed(source, heads, first, request.max_batch_bytes, room)
        is_long = payload.last == first + 1 and payload.rows > MOST_ROWS
        yield from _streamed(source, payload, request) if is_long else _decoded(payload, request)
        first = payload.end
    if room and room.size == GROUP_BYTES:
        _idle.append(room)


def _room() -> codecs.Room:
    """One that no other thread holds."""
    try:
        return _idle.pop()
    except IndexError:
        return codecs.Room(GROUP_BYTES)


class _Payload(Protocol):
    """Batches that are decoded in one go."""

    heads: Heads
    """Those of all batches."""
    first: int
    end: int
    """The first batch after them; known when the last piece is read."""
    last: int
    """The first batch that cannot be one of them."""
    rows: int
    """Records of the batches up to that, as their heads count them."""
    starts: array[int]
    """Where the records of each batch start in their piece."""
    failed: dict[int, Failure]
    """Batches that cannot be read, by their distance from the first; those that do not decompress come as pieces do."""

    def pieces(self) -> Iterator[Piece]:
        """Memory that holds their records, one batch after the other."""
        ...


class _Plain:
    """Batches that are not compressed, as they lie in the file."""

    def __init__(self, source: Source, heads: Heads, first: int) -> None:
        positions, sizes = heads.positions, heads.sizes
        start, end = positions[first], first + 1
        while end < len(positions) and heads.compressions[end] == "none" and positions[end] - start < GROUP_BYTES:
            end += 1
        self.heads, self.first, self.end, self.last = heads, first, end, end
        self.failed: dict[int, Failure] = {}
        self.starts = array("q", [position - start + HEAD_SIZE for position in positions[first:end]])
        ends = [at - start + size for at, size in zip(positions[first:end], sizes[first:end], strict=True)]
        self.ranges = Ranges(self.starts, array("q", ends), heads.counts[first:end])
        self.rows = sum(self.ranges.counts)
        self.view = source.view(start, start + ends[-1])

    def pieces(self) -> Iterator[Piece]:
        """All of them."""
        yield self.view, self.ranges


class _Compressed:
    """Compressed batches, a few of them at a time in memory."""

    def __init__(self, source: Source, heads: Heads, first: int, max_bytes: int, room: codecs.Room) -> None:
        self.source, self.heads, self.max_bytes, self.room = source, heads, max_bytes, room
        self.first = self.end = first
        self.failed: dict[int, Failure] = {}
        self.starts = array("q")
        counts = heads.counts
        self.rows, self.last = counts[first], first + 1
        most = min(len(counts), first + GROUP_UNITS)
        while self.last < most and self._goes_on():
            self.rows += counts[self.last]
            self.last += 1

    def _goes_on(self) -> bool:
        is_compressed = self.heads.compressions[self.last] != "none"
        return is_compressed and self.rows + self.heads.counts[self.last] <= GROUP_ROWS

    def pieces(self) -> Iterator[Piece]:
        """A few of them at a time, in the same memory."""
        done = 0
        while done < GROUP_BYTES and self.end < self.last:
            self.room.clear()
            ranges = Ranges(array("q"), array("q"), array("q"))
            while self.room.end < PIECE_BYTES and self.end < self.last:
                self._open(ranges)
            self.starts.extend(ranges.starts)
            done += self.room.end
            yield self.room.view(), ranges

    def _open(self, ranges: Ranges) -> None:
        """Decompress the next batch."""
        heads, row, start = self.heads, self.end, self.room.end
        position, count = heads.positions[row], heads.counts[row]
        stored = self.source.view(position + HEAD_SIZE, position + heads.sizes[row])
        compression = heads.compressions[row]
        try:
            if stored:  # an empty payload holds no records, whatever its codec
                codec = codec_of(compression, LATEST_MAGIC, stored)
                self.room.add(codec, stored, max_bytes=self.max_bytes)
        except CodecError as error:
            self.failed[row - self.first] = _not_decompressed(compression, error, self.max_bytes)
            count = 0  # nothing of it is read
        ranges.starts.append(start)
        ranges.ends.append(self.room.end)
        ranges.counts.append(count)
        self.end = row + 1


def _decoded(payload: _Payload, request: Request) -> Reading:
    """Rows of some batches. Of a batch that cannot be read to its end nothing is given."""
    wire = [name for name in WIRE if name in request.columns]
    placing = _Placing(payload)
    failed, groups = payload.failed, []
    for item in _scanned(payload, [*wire, *_Placing.columns]):
        if isinstance(item, Break):
            failed.setdefault(item.range_index, _unreadable(item, payload.starts[item.range_index]))
        else:
            groups.append(placing.records(item, wire))
    for batch in placing.wrong():
        failed.setdefault(batch, DISORDERED)
    yield from runs_of(payload.heads.slice(payload.first, payload.end), groups, failed, request)


def _streamed(source: Source, payload: _Payload, request: Request) -> Reading:
    """Rows of a very long batch: it is read once to see that all records are right, and again to give them."""
    placing, rows = _Placing(payload), 0
    for item in _scanned(payload, _Placing.columns):
        if isinstance(item, Break):
            payload.failed.setdefault(0, _unreadable(item, payload.starts[0]))
        else:
            placing.records(item, [])
            rows += len(item)
    for batch in placing.wrong():
        payload.failed.setdefault(batch, DISORDERED)
    heads = payload.heads.slice(payload.first, payload.end)
    if payload.failed:
        yield from runs_of(heads, [], payload.failed, request)
    else:
        is_given = request.selection.control or not heads.rows["is_control"][0].as_py()
        run = Run(heads.span, len(heads), rows if is_given else 0)
        yield run, _again(source, payload, request) if request.columns else ()


def _scanned(payload: _Payload, wanted: Sequence[str]) -> Iterator[Rows | Break]:
    most = max(min(payload.rows, GROUP_ROWS), 1)
    return columns.scan_pieces("kafka_records", payload.pieces(), wanted, most, GROUP_BYTES + PIECE_BYTES)


def _again(source: Source, payload: _Payload, request: Request) -> Iterator[pa.RecordBatch]:
    """Rows of a batch that is known to be right, in memory of their own."""
    heads, first = payload.heads, payload.first
    fresh: _Payload = (
        _Plain(source, heads, first)
        if isinstance(payload, _Plain)
        else _Compressed(source, heads, first, request.max_batch_bytes, codecs.Room(0))
    )
    wire = [name for name in WIRE if name in request.columns]
    placing = _Placing(fresh)
    for item in _scanned(fresh, [*wire, *_Placing.columns]):
        assert not isinstance(item, Break)  # noqa: S101 - all of it was read before
        for found in runs_of(heads.slice(first, payload.end), [placing.records(item, wire)], {}, request):
            yield from () if isinstance(found, Finding) else found[1]


def _unreadable(item: Break, start: int) -> Failure:
    field = f"{item.failure.spec}: {item.failure.path}"
    return Failure(BAD_RECORDS, {"reason": item.failure.reason, "field": field, "payload_offset": item.at - start})


class _Placing:
    """The arithmetic that turns deltas into offsets and timestamps."""

    columns = ("offset_delta", "timestamp_delta")

    def __init__(self, payload: _Payload) -> None:
        count = payload.last - payload.first
        self.places = payload.heads.places[4 * payload.first : 4 * payload.last]
        self.last_deltas = array("q", [-1]) * count
        self.is_wrong = bytearray(count)

    def records(self, chunk: Rows, wire: list[str]) -> Records:
        """Records of a chunk with their offsets and timestamps."""
        rows = len(chunk)
        offsets, timestamps = Integers(rows), Integers(rows)
        native.functions.place_records(
            integers(chunk.ranges, "i"),
            integers(chunk.batch["offset_delta"], "i"),
            integers(chunk.batch["timestamp_delta"]),
            rows,
            self.places,
            self.last_deltas,
            offsets.view,
            timestamps.view,
            self.is_wrong,
        )
        found = {name: chunk.batch[name] for name in wire}
        return Records(found, offsets.column(), timestamps.column(), chunk.ranges)

    def wrong(self) -> list[int]:
        """Batches whose deltas do not rise within their bounds."""
        return [batch for batch, is_wrong in enumerate(self.is_wrong) if is_wrong]


# Messages of magic 0 and 1: one record each, or a set of them in a compressed one, the wrapper.

FACTS = ("offset", "timestamp", "timestamp_type", "magic", "compression")
INNER = ("offset", "timestamp", "magic", "compression", "crc")
CHECKED = ("compression", "crc")
"""Columns of messages in a wrapper that are not needed once they are checked."""
MAGIC_1 = 1


def _messages(source: Source, heads: Heads, request: Request) -> Reading:
    first = 0
    for is_plain, rows in groupby(heads.compressions, lambda name: name == "none"):
        end = first + sum(1 for _ in rows)
        some = heads.slice(first, end)
        yield from _single(source, some, request) if is_plain else _wrapped(source, some, request)
        first = end


def _single(source: Source, heads: Heads, request: Request) -> Reading:
    """Messages that are one record each."""
    wire = [name for name in ("key", "value") if name in request.columns]
    groups, unit = [], 0
    for chunk in _chunks(source, heads, (*FACTS, *wire)):
        units = pa.array(range(unit, unit + len(chunk)), pa.int32())
        milliseconds = chunk.batch["timestamp"].fill_null(NO_TIMESTAMP)
        groups.append(Records({name: chunk.batch[name] for name in wire}, chunk.batch["offset"], milliseconds, units))
        unit += len(chunk)
    yield from runs_of(heads, groups, {}, request)


def _chunks(source: Source, heads: Heads, wanted: tuple[str, ...]) -> Iterator[Chunk]:
    starts = pc.subtract(heads.rows["position"], heads.start)
    ranges = Ranges.covering(starts, pc.add(starts, heads.rows["size"]))
    for item in columns.scan(MESSAGES, source.view(heads.start, heads.end), ranges, columns=wanted):
        assert isinstance(item, Chunk)  # noqa: S101 - the heads were read from the same bytes
        yield item


def _wrapped(source: Source, heads: Heads, request: Request) -> Reading:
    """Messages of wrappers, which are opened a few at a time."""
    row = 0
    for chunk in _chunks(source, heads, (*FACTS, "value")):
        first = 0
        while first < len(chunk):
            opened = _Opened(chunk.batch, first, request)
            some = heads.slice(row + first, row + opened.end)
            yield from runs_of(some, opened.records(), opened.failed, request, opened.cut)
            first = opened.end
        row += len(chunk)


class _Opened:
    """Some wrappers, decompressed one after the other, until there is enough to decode."""

    def __init__(self, wrappers: pa.RecordBatch, first: int, request: Request) -> None:
        self.request, self.failed, self.cut = request, dict[int, Failure](), dict[int, Failure]()
        pieces: list[bytes] = []
        stretches: list[tuple[int, int, int]] = []
        at, self.end = 0, first
        while self.end < wrappers.num_rows and at < GROUP_BYTES:
            data = self._opened(wrappers, self.end, self.end - first)
            pieces.append(data)
            stretches.append((at, at + len(data), -1))
            at, self.end = at + len(data), self.end + 1
        self.data, self.ranges = pieces[0] if len(pieces) == 1 else b"".join(pieces), Ranges.of(stretches)
        self.wrappers = wrappers.slice(first, self.end - first)

    def _opened(self, wrappers: pa.RecordBatch, row: int, index: int) -> bytes:
        """What a wrapper holds; nothing where it does not decompress."""
        stored = wrappers["value"][row].as_buffer()
        compression, magic = wrappers["compression"][row].as_py(), wrappers["magic"][row].as_py()
        if stored is None:
            return self._fail(index, "its value is null")
        value = memoryview(stored).cast("B")
        try:
            codec = codec_of(compression, magic, value)
            data = codecs.decompress(codec, value, max_bytes=self.request.max_batch_bytes)
        except CodecError as error:
            self.failed[index] = _not_decompressed(compression, error, self.request.max_batch_bytes)
            return b""
        return data or self._fail(index, "it holds no message")

    def _fail(self, index: int, reason: str, **detail: object) -> bytes:
        self.failed.setdefault(index, Failure(BAD_WRAPPER, {"reason": reason, **detail}))
        return b""

    def records(self) -> list[Records]:
        """The messages inside, with the offsets and timestamps that the wrappers give them."""
        wire = [name for name in ("key", "value") if name in self.request.columns]
        chunks = []
        for item in columns.scan(MESSAGES, self.data, self.ranges, columns=(*INNER, *wire)):
            if isinstance(item, Break):
                self._broken(item)
            else:
                self._check(item)
                kept = [name for name in item.batch.schema.names if name not in CHECKED]
                chunks.append(replace(item, batch=item.batch.select(kept), checksums=None))
        shifts = self._shifts(chunks)
        return [self._placed(chunk, shifts, wire) for chunk in chunks]

    def _broken(self, item: Break) -> None:
        """Take in a message that cannot be read: it breaks a rule, or it is the last one and not whole."""
        index, start = item.range_index, self.ranges.starts[item.range_index]
        left = self.ranges.ends[index] - item.start
        stated = self.data[item.start + LENGTH_AT : item.start + LENGTH_END]
        length = int.from_bytes(stated, "big", signed=True)
        if left < LENGTH_END or LEAST_LENGTHS[0] <= length > left - LENGTH_END:
            self.cut[index] = Failure(CUT_WRAPPER, {"payload_offset": item.start - start, "left": left})
            return
        self._fail(
            index,
            f"a message in it cannot be read: {item.failure.reason}",
            field=f"{item.failure.spec}: {item.failure.path}",
            payload_offset=item.at - start,
        )

    def _check(self, chunk: Chunk) -> None:
        """Find messages that are compressed again, or whose own checksum is wrong, which Kafka does not verify."""
        assert chunk.checksums is not None  # noqa: S101 - the stored one is requested
        wrong = pc.not_equal(chunk.batch["crc"], chunk.checksums)
        nested = pc.not_equal(chunk.batch["compression"], "none")
        for found, what in ((wrong, "has a wrong checksum"), (nested, "is compressed again")):
            for row in pc.indices_nonzero(found).to_pylist():
                self._fail(chunk.ranges[row].as_py(), f"a message in it {what}")

    def _shifts(self, chunks: list[Chunk]) -> pa.Int64Array:
        """What is to be added to the offsets inside of each wrapper.

        Magic 0 stores offsets as they are. Magic 1 counts them from the first message, and the wrapper has that of the
        last. A wrapper at offset 0 was never given another (old librdkafka).
        """
        lasts: dict[int, int] = {}
        for chunk in chunks:
            rows = len(chunk) - 1
            ends = pc.indices_nonzero(pc.not_equal(chunk.ranges.slice(1), chunk.ranges.slice(0, rows))).to_pylist()
            for row in (*ends, rows):
                lasts[chunk.ranges[row].as_py()] = chunk.batch["offset"][row].as_py()
        for index in self.cut.keys() - lasts.keys():
            self._fail(index, "it holds no whole message")
        shifts = []
        facts = zip(*(self.wrappers[name].to_pylist() for name in ("offset", "magic")), strict=True)
        for index, (offset, magic) in enumerate(facts):
            shift = offset - lasts.get(index, offset) if magic == MAGIC_1 and offset else 0
            if shift < 0:
                self._fail(index, f"its offset is {offset}, and that of its last message is {lasts[index]}")
            shifts.append(shift)
        return pa.array(shifts, pa.int64())

    def _placed(self, chunk: Chunk, shifts: pa.Int64Array, wire: list[str]) -> Records:
        """Messages with their offsets. LogAppendTime of a wrapper overrides the time of messages of magic 1."""
        facts, units, outer = chunk.batch, chunk.ranges, self.wrappers
        is_append = pc.and_(pc.equal(outer["magic"], MAGIC_1), pc.equal(outer["timestamp_type"], "log_append_time"))
        is_overridden = pc.and_(is_append.take(units), pc.equal(facts["magic"], MAGIC_1))
        times = pc.if_else(is_overridden, outer["timestamp"].take(units), facts["timestamp"]).fill_null(NO_TIMESTAMP)
        offsets = pc.add(facts["offset"], shifts.take(units))
        return Records({name: facts[name] for name in wire}, offsets, times, units)


# Compression, as Kafka's own clients do it, so that every client can read it.

Compress = Callable[[memoryview], bytes | memoryview]

XERIAL_HEAD = b"\x82SNAPPY\0" + (1).to_bytes(4, "big") * 2
"""Magic, version and compatible version of snappy-java's stream."""
XERIAL_BLOCK = 32 << 10


class BadCompression(ThawlineError, ValueError):
    """A compression or a level that Kafka does not have."""


def codec_of(compression: str, magic: int, data: Buffer) -> str:
    """The codec of a payload, from the compression and the magic of its batch."""
    if compression == "zstd" and magic in {0, 1}:
        raise CodecError(f"zstd in a message of magic {magic}: Kafka has it from magic 2 on (KIP-110)")
    if compression == "lz4":
        return "lz4_legacy_checksum" if magic == 0 else "lz4_kafka"
    if compression == "snappy":  # librdkafka writes raw blocks, snappy-java its own chunks
        return "snappy_xerial" if memoryview(data)[:8] == codecs.XERIAL_MAGIC else "snappy"
    if compression not in {"none", "gzip", "zstd"}:
        raise CodecError(f"Kafka has no compression {compression!r}")
    return compression


@dataclass(frozen=True, slots=True)
class _Codec:
    """The number of a compression in the attributes of a batch, and how it is made for a level."""

    number: int
    make: Callable[[int], Compress]
    default: int = 0
    levels: range = range(0)


def _gzip(level: int) -> Compress:
    def compress(data: memoryview) -> bytes:
        stream = zlib.compressobj(level, wbits=16 + zlib.MAX_WBITS)
        return stream.compress(data) + stream.flush()

    return compress


def _xerial(data: memoryview) -> bytes:
    parts = [XERIAL_HEAD]
    for at in range(0, len(data), XERIAL_BLOCK):
        block = bytes(cramjam.snappy.compress_raw(data[at : at + XERIAL_BLOCK]))
        parts += (len(block).to_bytes(4, "big"), block)
    return b"".join(parts)


def _lz4(level: int) -> Compress:
    """Frames of independent blocks of 64 KB: Kafka refuses linked ones, and reads no checksum but the head's."""
    return partial(
        lz4.frame.compress,
        compression_level=level,
        block_size=lz4.frame.BLOCKSIZE_MAX64KB,
        block_linked=False,
        store_size=False,
    )


CODECS = {
    "none": _Codec(0, lambda _level: lambda data: data),
    "gzip": _Codec(1, _gzip, 6, range(1, 10)),
    "snappy": _Codec(2, lambda _level: _xerial),
    "lz4": _Codec(3, _lz4, 0, range(17)),
    "zstd": _Codec(4, lambda level: zstandard.ZstdCompressor(level=level).compress, 3, range(-(1 << 17), 23)),
}


def compressor(compression: str, level: int | None = None) -> tuple[int, Compress]:
    r"""The number of a compression in the attributes of a batch, and the function that compresses.

    >>> number, compress = compressor("snappy")
    >>> number, compress(memoryview(b"hello"))
    (2, b'\x82SNAPPY\x00\x00\x00\x00\x01\x00\x00\x00\x01\x00\x00\x00\x07\x05\x10hello')
    """
    if compression not in CODECS:
        raise BadCompression(f"Kafka has no compression {compression!r}; it has {', '.join(CODECS)}")
    codec = CODECS[compression]
    if level is not None and level not in codec.levels:
        known = f"has the levels {codec.levels[0]} to {codec.levels[-1]}" if codec.levels else "has no levels"
        raise BadCompression(f"{compression} {known}, not {level!r}")
    return codec.number, codec.make(codec.default if level is None else level)
