"""Records of batches of magic 2, decompressed where they must be, many batches in one go."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from typing import Protocol

import pyarrow as pa
import pyarrow.compute as pc

from thawline import codecs, native
from thawline.engine import columns
from thawline.engine.chunks import Break, Piece, Ranges, Rows
from thawline.errors import CodecError, OutputTooLarge
from thawline.formats.kafka import numbers
from thawline.formats.kafka.findings import BAD_CODEC, BAD_RECORDS, TOO_LARGE
from thawline.formats.kafka.heads import HEAD_SIZE, LATEST_MAGIC, Heads
from thawline.formats.kafka.rows import Failure, Part, Records, Request, Units, parts
from thawline.model import Finding, Run
from thawline.source import Source

GROUP_BYTES = 8 << 20
"""Bytes of records that are decoded in one go: enough to make little of the cost of a call."""
GROUP_ROWS = 1 << 16
"""Records in one go at most."""
MOST_ROWS = 1 << 18
"""Records of a batch that are kept until all of them are found to be right; of more, none is kept."""
GROUP_UNITS = 1 << 12
"""Compressed batches in one go at most: those without records cost time, too."""
PIECE_BYTES = 768 << 10
"""Bytes that are decompressed before they are read: few enough to be still in the core's own cache then."""
DISORDERED = Failure(BAD_RECORDS, {"reason": "offset deltas do not rise up to lastOffsetDelta"})
WIRE = ("key", "value", "headers")
OWN_TIME = -(1 << 63)
"""Tells `place_records` that each record of a batch has a timestamp of its own."""


def decode(source: Source, heads: Heads, request: Request) -> Iterator[Part | Finding]:
    """Units with their records, and a finding for each whose records cannot be returned, in file order."""
    stretch = _Stretch(heads)
    room = _idle_room()
    first = 0
    while first < len(heads):
        if stretch.compressions[first] == "none":
            payload: _Payload = _Plain(source, stretch, first)
        else:
            payload = _Compressed(source, stretch, first, request.max_batch_bytes, room)
        is_long = payload.last == first + 1 and payload.rows > MOST_ROWS
        yield from _streamed(source, payload, request) if is_long else _decoded(payload, request)
        first = payload.end
    if room.size == GROUP_BYTES:
        _idle.append(room)


_idle: list[codecs.Room] = []
"""Rooms that wait for the next batches: memory that has been used before is quicker than new one."""


def _idle_room() -> codecs.Room:
    """One that nobody else holds, in whatever thread."""
    try:
        return _idle.pop()
    except IndexError:
        return codecs.Room(GROUP_BYTES)


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


class _Payload(Protocol):
    """Batches that are decoded in one go."""

    stretch: _Stretch
    first: int
    end: int
    """The batch behind them; known when the last piece was read."""
    last: int
    """The batch that is behind them at the latest."""
    rows: int
    """How many records their heads claim, or those of batches that may be among them."""
    starts: array[int]
    """Where the records of each batch start in their piece."""
    failed: dict[int, Failure]
    """Batches that cannot be read, by their number: those that do not decompress are added as pieces are read."""

    def pieces(self) -> Iterator[Piece]:
        """Memory that holds their records, one batch behind the other."""
        ...


class _Plain:
    """Batches that are not compressed, as they lie in the file, until there is enough to decode."""

    def __init__(self, source: Source, stretch: _Stretch, first: int) -> None:
        positions, sizes = stretch.positions, stretch.sizes
        start, end = positions[first], first + 1
        while end < len(positions) and stretch.compressions[end] == "none" and positions[end] - start < GROUP_BYTES:
            end += 1
        self.stretch, self.first, self.end, self.last = stretch, first, end, end
        self.failed: dict[int, Failure] = {}
        self.starts = array("q", [position - start + HEAD_SIZE for position in positions[first:end]])
        ends = [at - start + size for at, size in zip(positions[first:end], sizes[first:end], strict=True)]
        self.ranges = Ranges(self.starts, array("q", ends), stretch.counts[first:end])
        self.rows = sum(self.ranges.counts)
        self.view = source.view(start, start + ends[-1])

    def pieces(self) -> Iterator[Piece]:
        """All of them."""
        yield self.view, self.ranges


class _Compressed:
    """Compressed batches until there is enough to decode, a few of them at a time in memory."""

    def __init__(self, source: Source, stretch: _Stretch, first: int, max_bytes: int, room: codecs.Room) -> None:
        self.source, self.stretch, self.max_bytes, self.room = source, stretch, max_bytes, room
        self.first = self.end = first
        self.failed: dict[int, Failure] = {}
        self.starts = array("q")
        self.rows, self.last = self._extent()

    def _extent(self) -> tuple[int, int]:
        """How many records there can be, and the batch that is behind them at the latest."""
        counts, compressions = self.stretch.counts, self.stretch.compressions
        rows, last = counts[self.first], self.first + 1
        most = min(len(counts), self.first + GROUP_UNITS)
        while last < most and compressions[last] != "none" and rows + counts[last] <= GROUP_ROWS:
            rows += counts[last]
            last += 1
        return rows, last

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
        stretch, row, start = self.stretch, self.end, self.room.end
        position, count = stretch.positions[row], stretch.counts[row]
        stored = self.source.view(position + HEAD_SIZE, position + stretch.sizes[row])
        compression = stretch.compressions[row]
        try:
            if stored:  # a payload of no bytes at all holds no records, whatever its codec
                codec = codecs.kafka_codec(compression, LATEST_MAGIC, stored)
                self.room.add(codec, stored, max_bytes=self.max_bytes)
        except CodecError as error:
            self.failed[row - self.first] = not_decompressed(compression, error, self.max_bytes)
            count = 0  # nothing of it is read
        ranges.starts.append(start)
        ranges.ends.append(self.room.end)
        ranges.counts.append(count)
        self.end = row + 1


def not_decompressed(compression: str, error: CodecError, max_bytes: int) -> Failure:
    """What to say of a payload that does not decompress."""
    detail = {"codec": compression, "reason": error.message}
    if isinstance(error, OutputTooLarge):
        return Failure(TOO_LARGE, {**detail, "bound": max_bytes})
    return Failure(BAD_CODEC, detail)


def _decoded(payload: _Payload, request: Request) -> Iterator[Part | Finding]:
    """Records of some batches; of one that cannot be read to its end nothing is returned."""
    wire = [name for name in WIRE if name in request.columns]
    placing = _Placing(payload.stretch, payload.first, payload.last)
    failed, groups = payload.failed, []
    for item in _scanned(payload, [*wire, *_Placing.columns]):
        if isinstance(item, Break):
            failed.setdefault(item.range_index, _unreadable(item, payload.starts[item.range_index]))
        else:
            groups.append(placing.records(item, wire))
    for batch in placing.wrong():
        failed.setdefault(batch, DISORDERED)
    yield from parts(payload.stretch.units.part(payload.first, payload.end), groups, failed, request)


def _streamed(source: Source, payload: _Payload, request: Request) -> Iterator[Part | Finding]:
    """A batch of very many records: it is read once to see that all are right, and again to give them."""
    placing, rows = _Placing(payload.stretch, payload.first, payload.last), 0
    for item in _scanned(payload, _Placing.columns):
        if isinstance(item, Break):
            payload.failed.setdefault(0, _unreadable(item, payload.starts[0]))
        else:
            placing.records(item, [])
            rows += len(item)
    for batch in placing.wrong():
        payload.failed.setdefault(batch, DISORDERED)
    units = payload.stretch.units.part(payload.first, payload.end)
    if payload.failed:
        yield from parts(units, [], payload.failed, request)
    else:
        is_given = request.selection.control or not units.heads.rows["is_control"][0].as_py()
        run = Run(units.heads.span, len(units.heads), rows if is_given else 0)
        yield run, _again(source, payload, request) if request.columns else ()


def _scanned(payload: _Payload, wanted: Sequence[str]) -> Iterator[Rows | Break]:
    most = max(min(payload.rows, GROUP_ROWS), 1)
    return columns.scan_pieces("kafka_records", payload.pieces(), wanted, most, GROUP_BYTES + PIECE_BYTES)


def _again(source: Source, payload: _Payload, request: Request) -> Iterator[pa.RecordBatch]:
    """Records of a batch that is known to be right, in memory of their own."""
    stretch, first = payload.stretch, payload.first
    fresh: _Payload = (
        _Plain(source, stretch, first)
        if isinstance(payload, _Plain)
        else _Compressed(source, stretch, first, request.max_batch_bytes, codecs.Room(0))
    )
    wire = [name for name in WIRE if name in request.columns]
    placing = _Placing(stretch, first, fresh.last)
    units = stretch.units.part(first, payload.end)
    for item in _scanned(fresh, [*wire, *_Placing.columns]):
        assert not isinstance(item, Break)  # noqa: S101 - all of it was read before
        for part in parts(units, [placing.records(item, wire)], {}, request):
            yield from () if isinstance(part, Finding) else part[1]


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

    def records(self, chunk: Rows, wire: list[str]) -> Records:
        """Records of a chunk with their offsets and timestamps."""
        rows = len(chunk)
        offsets, timestamps = numbers.Room(rows), numbers.Room(rows)
        deltas = chunk.batch["offset_delta"], chunk.batch["timestamp_delta"]
        native.functions.place_records(
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
