"""Records of batches of magic 2, decompressed where they must be, many batches in one go."""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from thawline import codecs, columns
from thawline.chunks import Break, Chunk, Ranges
from thawline.errors import CodecError, OutputTooLarge
from thawline.formats.kafka import numbers
from thawline.formats.kafka.findings import BAD_CODEC, BAD_RECORDS, TOO_LARGE
from thawline.formats.kafka.heads import HEAD_SIZE, LATEST_MAGIC, Heads
from thawline.formats.kafka.plain import OWN_TIME
from thawline.formats.kafka.rows import Failure, Part, Records, Request, Units, engine, parts
from thawline.model import Finding
from thawline.source import Source

GROUP_BYTES = 8 << 20
"""Bytes of records that are decoded in one go: enough to make little of the cost of a call, and few enough that what
was decompressed is still in the cache when it is read."""
GROUP_ROWS = 1 << 16
"""Records in one go at most."""
WIRE = ("key", "value", "headers")


def decode(source: Source, heads: Heads, request: Request) -> Iterator[Part | Finding]:
    """Units with their records, and a finding for each whose records cannot be returned, in file order."""
    stretch = _Stretch(heads)
    room = _idle.pop() if _idle else codecs.Room(2 * GROUP_BYTES)
    first = 0
    while first < len(heads):
        if stretch.compressions[first] == "none":
            payload = _plain(source, stretch, first)
        else:
            payload = _decompressed(source, stretch, first, request.max_batch_bytes, room)
        yield from _decoded(payload, _Placing(stretch, first, first + len(payload.units.heads)), request)
        first += len(payload.units.heads)
    if room.size == 2 * GROUP_BYTES:
        _idle.append(room)


_idle: list[codecs.Room] = []
"""Rooms that wait for the next batches: memory that has been used before is quicker than new one."""


class _Stretch:
    """What is asked of heads again and again, taken out of Arrow once."""

    def __init__(self, heads: Heads) -> None:
        rows = heads.rows
        self.units = Units.of(heads)
        self.compressions: list[str] = rows["compression"].to_pylist()
        self.positions, self.sizes = (numbers.copied(rows[name]) for name in ("position", "size"))
        self.counts = numbers.copied(rows["num_records"].cast(pa.int64()))
        is_one = pc.equal(rows["timestamp_type"], "log_append_time")
        facts = (
            rows["base_offset"],
            pc.subtract(rows["last_offset"], rows["base_offset"]),
            rows["base_timestamp"],
            pc.if_else(is_one, rows["max_timestamp"], pa.scalar(OWN_TIME, pa.int64())),
        )
        self.places = array("q", bytes(32 * len(heads)))
        """Four numbers of each unit, as `place_records` takes them."""
        for index, values in enumerate(facts):
            self.places[index::4] = numbers.copied(values)


@dataclass(frozen=True, slots=True)
class Payload:
    """The records of some batches, not compressed, one behind the other."""

    units: Units
    data: memoryview | bytes
    ranges: Ranges
    failed: dict[int, Failure]
    """Batches that do not decompress, by their number."""


def _plain(source: Source, stretch: _Stretch, first: int) -> Payload:
    """Batches that are not compressed, as they lie in the file, until there is enough to decode."""
    positions, sizes = stretch.positions, stretch.sizes
    start, end = positions[first], first + 1
    while end < len(positions) and stretch.compressions[end] == "none" and positions[end] - start < GROUP_BYTES:
        end += 1
    starts = array("q", [position - start + HEAD_SIZE for position in positions[first:end]])
    ends = array(
        "q", [position - start + size for position, size in zip(positions[first:end], sizes[first:end], strict=True)]
    )
    view = source.view(start, start + ends[-1])
    return Payload(stretch.units.part(first, end), view, Ranges(starts, ends, stretch.counts[first:end]), {})


def _decompressed(source: Source, stretch: _Stretch, first: int, max_bytes: int, room: codecs.Room) -> Payload:
    """Compressed batches until there is enough to decode."""
    room.clear()
    starts, ends, counts = array("q"), array("q"), array("q")
    failed: dict[int, Failure] = {}
    row = first
    positions, sizes, compressions = stretch.positions, stretch.sizes, stretch.compressions
    while row < len(positions) and room.end < GROUP_BYTES and (compression := compressions[row]) != "none":
        start, count, position = room.end, stretch.counts[row], positions[row]
        stored = source.view(position + HEAD_SIZE, position + sizes[row])
        try:
            if stored:  # a payload of no bytes at all holds no records, whatever its codec
                room.add(codecs.kafka_codec(compression, LATEST_MAGIC, stored), stored, max_bytes=max_bytes)
        except CodecError as error:
            failed[row - first] = not_decompressed(compression, error, max_bytes)
            count = 0  # nothing of it is read
        starts.append(start)
        ends.append(room.end)
        counts.append(count)
        row += 1
    return Payload(stretch.units.part(first, row), room.view(), Ranges(starts, ends, counts), failed)


def not_decompressed(compression: str, error: CodecError, max_bytes: int) -> Failure:
    """What to say of a payload that does not decompress."""
    detail = {"codec": compression, "reason": error.message}
    if isinstance(error, OutputTooLarge):
        return Failure(TOO_LARGE, {**detail, "bound": max_bytes})
    return Failure(BAD_CODEC, detail)


def _decoded(payload: Payload, placing: _Placing, request: Request) -> Iterator[Part | Finding]:
    """Records of some batches; of one that cannot be read to its end nothing is returned."""
    failed = dict(payload.failed)
    wire = [name for name in WIRE if name in request.columns]
    groups = []
    wanted, size = [*wire, *_Placing.columns], min(len(payload.data), 2 * GROUP_BYTES)
    for item in columns.scan(
        "kafka_records", payload.data, payload.ranges, columns=wanted, max_rows=GROUP_ROWS, max_bytes=size
    ):
        if isinstance(item, Break):
            start = payload.ranges.starts[item.range_index]
            failed.setdefault(item.range_index, _unreadable(item, start))
        else:
            groups.append(placing.records(item, wire))
    for batch in placing.wrong():
        failed.setdefault(batch, Failure(BAD_RECORDS, {"reason": "offset deltas do not rise up to lastOffsetDelta"}))
    yield from parts(payload.units, groups, failed, request)


def _unreadable(item: Break, start: int) -> Failure:
    field = f"{item.failure.spec}: {item.failure.path}"
    return Failure(BAD_RECORDS, {"reason": item.failure.reason, "field": field, "payload_offset": item.at - start})


class _Placing:
    """The arithmetic that turns deltas into offsets and timestamps."""

    columns = ("offset_delta", "timestamp_delta")

    def __init__(self, stretch: _Stretch, first: int, end: int) -> None:
        self.heads = stretch.places[4 * first : 4 * end]
        self.last_deltas = array("q", [-1]) * (end - first)
        self.is_wrong = bytearray(end - first)

    def records(self, chunk: Chunk, wire: list[str]) -> Records:
        """Records of a chunk with their offsets and timestamps."""
        rows = len(chunk)
        offsets, timestamps = numbers.Room(rows), numbers.Room(rows)
        deltas = chunk.batch["offset_delta"], chunk.batch["timestamp_delta"]
        engine().place_records(
            numbers.view(chunk.ranges, "i"),
            numbers.view(deltas[0], "i"),
            numbers.view(deltas[1]),
            rows,
            self.heads,
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
