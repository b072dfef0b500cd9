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
from thawline.formats.kafka.rows import Failure, Part, Records, Request, engine, parts
from thawline.model import Finding
from thawline.source import Source

GROUP_BYTES = 2 << 20
"""Bytes of records that are decoded in one go: enough to make little of the cost of a call, and few enough that what
was decompressed is still in the cache when it is read."""
WIRE = ("key", "value", "headers")


def decode(source: Source, heads: Heads, request: Request) -> Iterator[Part | Finding]:
    """Units with their records, and a finding for each whose records cannot be returned, in file order."""
    compressions = heads.rows["compression"].to_pylist()
    room = codecs.Room(2 * GROUP_BYTES if any(compression != "none" for compression in compressions) else 0)
    first = 0
    while first < len(heads):
        payload = _payload(source, heads, first, compressions, request, room)
        yield from _decoded(payload, request)
        first += len(payload.heads)


@dataclass(frozen=True, slots=True)
class Payload:
    """The records of some batches, not compressed, one behind the other."""

    heads: Heads
    data: memoryview | bytes
    ranges: Ranges
    failed: dict[int, Failure]
    """Batches that do not decompress, by their number."""


def _payload(
    source: Source, heads: Heads, first: int, compressions: list[str], request: Request, room: codecs.Room
) -> Payload:
    if compressions[first] == "none":
        return _plain(source, heads, first, compressions)
    return _decompressed(source, heads, first, compressions, request, room)


def _plain(source: Source, heads: Heads, first: int, compressions: list[str]) -> Payload:
    """Batches that are not compressed, as they lie in the file."""
    positions = heads.rows["position"]
    start = positions[first].as_py()
    end = next((row for row in range(first, len(heads)) if compressions[row] != "none"), len(heads))
    while end - first > 1 and positions[end - 1].as_py() - start > GROUP_BYTES:
        end -= (end - first) // 2
    part = heads.part(first, end)
    starts = pc.subtract(part.rows["position"], start - HEAD_SIZE)
    ends = pc.subtract(pc.add(part.rows["position"], part.rows["size"]), start)
    counts = part.rows["num_records"].cast(pa.int64())
    ranges = Ranges(numbers.copied(starts), numbers.copied(ends), numbers.copied(counts))
    return Payload(part, source.view(start, part.end), ranges, {})


def _decompressed(
    source: Source, heads: Heads, first: int, compressions: list[str], request: Request, room: codecs.Room
) -> Payload:
    """Compressed batches until there is enough to decode."""
    room.clear()
    stretches: list[tuple[int, int, int]] = []
    failed: dict[int, Failure] = {}
    row = first
    facts = heads.part(first, len(heads)).rows.select(["position", "size", "num_records"])
    for position, size, count in zip(*(column.to_pylist() for column in facts.columns), strict=True):
        if compressions[row] == "none" or room.end >= GROUP_BYTES:
            break
        start = room.end
        try:
            _open(compressions[row], source.view(position + HEAD_SIZE, position + size), request.max_batch_bytes, room)
        except CodecError as error:
            failed[row - first] = not_decompressed(compressions[row], error, request.max_batch_bytes)
            count = 0  # noqa: PLW2901 - nothing of it is read
        stretches.append((start, room.end, count))
        row += 1
    return Payload(heads.part(first, row), room.view(), Ranges.of(stretches), failed)


def _open(compression: str, stored: memoryview, max_bytes: int, room: codecs.Room) -> None:
    """Decompress a payload; one of no bytes at all holds no records, whatever its codec."""
    if len(stored):
        room.add(codecs.kafka_codec(compression, LATEST_MAGIC, stored), stored, max_bytes=max_bytes)


def not_decompressed(compression: str, error: CodecError, max_bytes: int) -> Failure:
    """What to say of a payload that does not decompress."""
    detail = {"codec": compression, "reason": error.message}
    if isinstance(error, OutputTooLarge):
        return Failure(TOO_LARGE, {**detail, "bound": max_bytes})
    return Failure(BAD_CODEC, detail)


def _decoded(payload: Payload, request: Request) -> Iterator[Part | Finding]:
    """Records of some batches; of one that cannot be read to its end nothing is returned."""
    failed = dict(payload.failed)
    wire = [name for name in WIRE if name in request.columns]
    placing = _Placing(payload.heads)
    groups = []
    for item in columns.scan("kafka_records", payload.data, payload.ranges, columns=[*wire, *_Placing.columns]):
        if isinstance(item, Break):
            start = payload.ranges.starts[item.range_index]
            failed.setdefault(item.range_index, _unreadable(item, start))
        else:
            groups.append(placing.records(item, wire))
    for batch in placing.wrong():
        failed.setdefault(batch, Failure(BAD_RECORDS, {"reason": "offset deltas do not rise up to lastOffsetDelta"}))
    yield from parts(payload.heads, groups, failed, request)


def _unreadable(item: Break, start: int) -> Failure:
    field = f"{item.failure.spec}: {item.failure.path}"
    return Failure(BAD_RECORDS, {"reason": item.failure.reason, "field": field, "payload_offset": item.at - start})


class _Placing:
    """The arithmetic that turns deltas into offsets and timestamps."""

    columns = ("offset_delta", "timestamp_delta")

    def __init__(self, heads: Heads) -> None:
        rows = heads.rows
        is_one = pc.equal(rows["timestamp_type"], "log_append_time")
        facts = (
            rows["base_offset"],
            pc.subtract(rows["last_offset"], rows["base_offset"]),
            rows["base_timestamp"],
            pc.if_else(is_one, rows["max_timestamp"], pa.scalar(OWN_TIME, pa.int64())),
        )
        self.heads = array("q", bytes(32 * len(heads)))
        for index, values in enumerate(facts):
            self.heads[index::4] = numbers.copied(values)
        self.last_deltas = array("q", [-1]) * len(heads)
        self.is_wrong = bytearray(len(heads))

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
