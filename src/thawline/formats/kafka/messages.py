"""Records of messages of magic 0 and 1: one each, or a set of them inside a compressed one, the wrapper."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import groupby

import pyarrow as pa
import pyarrow.compute as pc

from thawline import codecs
from thawline.engine import columns
from thawline.engine.chunks import Break, Chunk, Ranges
from thawline.errors import CodecError
from thawline.formats.kafka.findings import BAD_WRAPPER, CUT_WRAPPER
from thawline.formats.kafka.gaps import BEFORE_LENGTH, LEAST_LENGTH, LENGTH_AT
from thawline.formats.kafka.heads import MESSAGES, NO_TIMESTAMP, Heads
from thawline.formats.kafka.records import GROUP_BYTES, not_decompressed
from thawline.formats.kafka.rows import Failure, Part, Records, Request, Units, parts
from thawline.model import Finding
from thawline.source import Source

FACTS = ("offset", "timestamp", "timestamp_type", "magic", "compression")
INNER = ("offset", "timestamp", "magic", "compression", "crc")
CHECKED = ("compression", "crc")
"""Columns of messages in a wrapper that are not needed once they are checked."""
MAGIC_1 = 1


def decode(source: Source, heads: Heads, request: Request) -> Iterator[Part | Finding]:
    """Units with their records, and a finding for each whose records cannot be returned, in file order."""
    first = 0
    for is_plain, rows in groupby(heads.rows["compression"].to_pylist(), lambda name: name == "none"):
        end = first + sum(1 for _ in rows)
        part = heads.part(first, end)
        yield from _plain(source, part, request) if is_plain else _wrapped(source, part, request)
        first = end


def _plain(source: Source, heads: Heads, request: Request) -> Iterator[Part | Finding]:
    """Messages that are a record each."""
    wire = [name for name in ("key", "value") if name in request.columns]
    groups, unit = [], 0
    for chunk in _chunks(source, heads, (*FACTS, *wire)):
        units = pa.array(range(unit, unit + len(chunk)), pa.int32())
        milliseconds = chunk.batch["timestamp"].fill_null(NO_TIMESTAMP)
        groups.append(Records({name: chunk.batch[name] for name in wire}, chunk.batch["offset"], milliseconds, units))
        unit += len(chunk)
    yield from parts(Units.of(heads), groups, {}, request)


def _chunks(source: Source, heads: Heads, wanted: tuple[str, ...]) -> Iterator[Chunk]:
    starts = pc.subtract(heads.rows["position"], heads.start)
    ranges = Ranges.covering(starts, pc.add(starts, heads.rows["size"]))
    for item in columns.scan(MESSAGES, source.view(heads.start, heads.end), ranges, columns=wanted):
        assert isinstance(item, Chunk)  # noqa: S101 - the heads were read from the same bytes
        yield item


def _wrapped(source: Source, heads: Heads, request: Request) -> Iterator[Part | Finding]:
    """Wrappers, opened a few at a time."""
    row = 0
    for chunk in _chunks(source, heads, (*FACTS, "value")):
        wrappers = chunk.batch
        first = 0
        while first < len(chunk):
            opened = _Opened(wrappers, first, request)
            part = heads.part(row + first, row + opened.end)
            yield from parts(Units.of(part), opened.records(), opened.failed, request, opened.cut)
            first = opened.end
        row += len(chunk)


class _Opened:
    """Some wrappers, decompressed one behind the other, until there is enough to decode."""

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
            codec = codecs.kafka_codec(compression, magic, value)
            data = codecs.decompress(codec, value, max_bytes=self.request.max_batch_bytes)
        except CodecError as error:
            self.failed[index] = not_decompressed(compression, error, self.request.max_batch_bytes)
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
        """Take note of a message that cannot be read: it breaks a rule, or it is the last one and not all there."""
        index, start = item.range_index, self.ranges.starts[item.range_index]
        left = self.ranges.ends[index] - item.start
        if left < BEFORE_LENGTH or LEAST_LENGTH <= self._length(item.start) > left - BEFORE_LENGTH:
            self.cut[index] = Failure(CUT_WRAPPER, {"payload_offset": item.start - start, "left": left})
            return
        self._fail(
            index,
            f"a message in it cannot be read: {item.failure.reason}",
            field=f"{item.failure.spec}: {item.failure.path}",
            payload_offset=item.at - start,
        )

    def _length(self, start: int) -> int:
        """The length of the message that starts here, as it says itself."""
        return int.from_bytes(self.data[start + LENGTH_AT : start + BEFORE_LENGTH], "big", signed=True)

    def _check(self, chunk: Chunk) -> None:
        """Find messages that are compressed again, or whose own checksum is wrong, which Kafka does not look at."""
        assert chunk.checksums is not None  # noqa: S101 - the stored one is asked for
        wrong = pc.not_equal(chunk.batch["crc"], chunk.checksums)
        nested = pc.not_equal(chunk.batch["compression"], "none")
        for found, what in ((wrong, "has a wrong checksum"), (nested, "is compressed again")):
            for row in pc.indices_nonzero(found).to_pylist():
                self._fail(chunk.ranges[row].as_py(), f"a message in it {what}")

    def _shifts(self, chunks: list[Chunk]) -> pa.Int64Array:
        """What is to be added to the offsets inside of each wrapper.

        Magic 0 stores offsets as they are. Magic 1 counts them from the first message, and the wrapper has that of the
        last; one at offset 0 was never given another (old librdkafka).
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
        for index, (offset, magic) in enumerate(
            zip(self.wrappers["offset"].to_pylist(), self.wrappers["magic"].to_pylist(), strict=True)
        ):
            shift = offset - lasts.get(index, offset) if magic == MAGIC_1 and offset else 0
            if shift < 0:
                self._fail(index, f"its offset is {offset}, and that of its last message is {lasts[index]}")
            shifts.append(shift)
        return pa.array(shifts, pa.int64())

    def _placed(self, chunk: Chunk, shifts: pa.Int64Array, wire: list[str]) -> Records:
        """Messages with their offsets; LogAppendTime of the wrapper overrides the time of messages of magic 1."""
        facts, units, outer = chunk.batch, chunk.ranges, self.wrappers
        is_append = pc.and_(pc.equal(outer["magic"], MAGIC_1), pc.equal(outer["timestamp_type"], "log_append_time"))
        is_overridden = pc.and_(is_append.take(units), pc.equal(facts["magic"], MAGIC_1))
        times = pc.if_else(is_overridden, outer["timestamp"].take(units), facts["timestamp"]).fill_null(NO_TIMESTAMP)
        offsets = pc.add(facts["offset"], shifts.take(units))
        return Records({name: facts[name] for name in wire}, offsets, times, units)
