"""Units of a segment, which are batches of magic 2 and messages of magic 0 and 1: their heads and their checksums.

Payloads stay closed, and nothing here judges whether units fit together.
"""

from __future__ import annotations

import struct
from array import array
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import pyarrow as pa
import pyarrow.compute as pc

from thawline import checksums, native
from thawline.engine import columns
from thawline.engine.chunks import Break, Chunk, Ranges
from thawline.engine.starts import Starts
from thawline.generated.kernels.constants import (
    KAFKA_MESSAGE_CRC_AT,
    KAFKA_MESSAGE_CRC_INPUT_AT,
    KAFKA_MESSAGE_HEAD_FORMAT,
    KAFKA_MESSAGE_LEN_BODY_MIN,
    KAFKA_MESSAGE_TIMESTAMP_SIZE,
    KAFKA_RECORD_BATCH_BODY_AT,
    KAFKA_RECORD_BATCH_COMPRESSION_MASK,
    KAFKA_RECORD_BATCH_CRC_AT,
    KAFKA_RECORD_BATCH_CRC_INPUT_AT,
    KAFKA_RECORD_BATCH_HEAD_FORMAT,
    KAFKA_RECORD_BATCH_HEAD_SIZE,
    KAFKA_RECORD_BATCH_LAST_OFFSET_DELTA_AT,
    KAFKA_RECORD_BATCH_LAST_OFFSET_DELTA_SIZE,
    KAFKA_RECORD_BATCH_LEN_BODY_AT,
    KAFKA_RECORD_BATCH_LEN_BODY_MIN,
    KAFKA_RECORD_BATCH_LEN_BODY_SIZE,
    KAFKA_RECORD_BATCH_MAGIC,
    KAFKA_RECORD_BATCH_MAGIC_AT,
)
from thawline.generated.kernels.tables import SYNCS
from thawline.generated.tables import kafka as tables
from thawline.literals import texts
from thawline.model import Span
from thawline.source import Source

BATCHES, MESSAGES = "kafka_batches", "kafka_messages"
LATEST_MAGIC: int = KAFKA_RECORD_BATCH_MAGIC
LENGTH_AT: int = KAFKA_RECORD_BATCH_LEN_BODY_AT
LENGTH_END: int = KAFKA_RECORD_BATCH_BODY_AT
MAGIC_AT: int = KAFKA_RECORD_BATCH_MAGIC_AT
"""The same in all versions."""
CRC_AT = {False: KAFKA_RECORD_BATCH_CRC_AT, True: KAFKA_MESSAGE_CRC_AT}
COVERED_FROM = {False: KAFKA_RECORD_BATCH_CRC_INPUT_AT, True: KAFKA_MESSAGE_CRC_INPUT_AT}
"""Where the checksum stands and where its coverage begins, for magic 2 and for older; it ends with the unit."""
LEAST_LENGTHS = {
    0: KAFKA_MESSAGE_LEN_BODY_MIN,
    1: KAFKA_MESSAGE_LEN_BODY_MIN + KAFKA_MESSAGE_TIMESTAMP_SIZE,
    2: KAFKA_RECORD_BATCH_LEN_BODY_MIN,
}
LEAST_SIZE = LENGTH_END + LEAST_LENGTHS[0]
HEAD_SIZE = KAFKA_RECORD_BATCH_HEAD_SIZE
"""Bytes of a batch of magic 2 before its records."""
CODEC = KAFKA_RECORD_BATCH_COMPRESSION_MASK
"""Bits of the attributes that name the compression."""
NO_TIMESTAMP = -1
OWN_TIMES = -(1 << 63)
"""Tells the native `place_records` that each record of a batch has a timestamp of its own."""
LARGEST_OFFSET = (1 << 63) - 1
MOST_OFFSETS = 1 << 32
"""How far offsets may jump at damage. A segment spans less than 2^31 of them (KAFKA-6264)."""

STRETCH_BYTES = 64 << 20
"""Bytes whose units are read together. Each step has a fixed cost, which outweighs a warm cache."""

NAMES = {"batch_start": "position", "suspect": "is_suspect"}
"""Columns of heads that users know by another name, by that."""
HEADS = pa.schema(
    [(NAMES.get(it.name, it.name), it.stored_type) for it in tables.BATCHES.columns if it.name != "transaction"]
)
"""What the head of a unit says. The head of a wrapper, a compressed message of magic 0 or 1, has no first offset and no
number of records: they are null. A suspect may lie inside of a broken wrapper."""
SUSPECT = "nested"
"""What `Run.suspect` says of suspects."""


@dataclass(frozen=True)
class Heads:
    """Heads of units in file order, a row each. There may be holes between them."""

    rows: pa.RecordBatch

    def __len__(self) -> int:
        return int(self.rows.num_rows)

    @property
    def start(self) -> int:
        """Where the first unit starts."""
        return int(self.rows["position"][0].as_py())

    @property
    def end(self) -> int:
        """Where the last unit ends."""
        return int(self.rows["position"][-1].as_py() + self.rows["size"][-1].as_py())

    @property
    def span(self) -> Span:
        """From the start of the first unit to the end of the last."""
        return Span(self.start, self.end)

    @property
    def order(self) -> tuple[tuple[int, int], tuple[int, int]]:
        """Offset and leader epoch that they start with, and the least ones that may follow."""
        first, epochs = pc.coalesce(self.rows["base_offset"], self.rows["last_offset"]), self.rows["leader_epoch"]
        return (first[0].as_py(), epochs[0].as_py()), (self.rows["last_offset"][-1].as_py() + 1, epochs[-1].as_py())

    @property
    def is_legacy(self) -> bool:
        """Whether the units are messages of magic 0 or 1; for units of one kind."""
        return bool(self.rows["magic"][0].as_py() < LATEST_MAGIC)

    @property
    def suspect(self) -> str:
        """What `Run.suspect` says of the units; for units that are all suspect or all not."""
        return SUSPECT if self.rows["is_suspect"][0].as_py() else ""

    @cached_property
    def positions(self) -> array[int]:
        """Where each unit starts."""
        return copied(self.rows["position"])

    @cached_property
    def sizes(self) -> array[int]:
        """Bytes of each unit."""
        return copied(self.rows["size"])

    @cached_property
    def compressions(self) -> list[str]:
        """The codec of each unit."""
        found: list[str] = self.rows["compression"].to_pylist()
        return found

    @cached_property
    def counts(self) -> array[int]:
        """Records of each unit; for batches of magic 2."""
        return copied(self.rows["num_records"].cast(pa.int64()))

    @cached_property
    def places(self) -> array[int]:
        """Four numbers of each unit, as the native `place_records` takes them; for batches of magic 2."""
        rows, own = self.rows, pa.scalar(OWN_TIMES, pa.int64())
        facts = (
            rows["base_offset"],
            pc.subtract(rows["last_offset"], rows["base_offset"]),
            rows["base_timestamp"],
            pc.if_else(pc.equal(rows["timestamp_type"], "log_append_time"), rows["max_timestamp"], own),
        )
        found = array("q", bytes(32 * len(self)))
        for index, values in enumerate(facts):
            found[index::4] = copied(values)
        return found

    def spans(self) -> Iterator[Span]:
        """The span of each unit."""
        return (Span(start, start + size) for start, size in zip(self.positions, self.sizes, strict=True))

    def marked(self, is_suspect: pa.BooleanArray | None = None) -> Heads:
        """The same units with suspects marked; all of them by default."""
        flags = pa.repeat(pa.scalar(True), len(self)) if is_suspect is None else is_suspect  # noqa: FBT003 - a value
        return Heads(self.rows.set_column(HEADS.get_field_index("is_suspect"), HEADS.field("is_suspect"), flags))

    def seams(self) -> list[int]:
        """Rows at which a new run starts: after a hole, and where suspects begin or end. Mostly there is none."""
        starts, sizes, suspects = self.rows["position"], self.rows["size"], self.rows["is_suspect"]
        if pc.sum(sizes).as_py() == self.end - self.start and suspects.true_count in {0, len(self)}:
            return []
        rows = len(self) - 1
        is_apart = pc.or_(
            pc.not_equal(starts.slice(1), pc.add(starts.slice(0, rows), sizes.slice(0, rows))),
            pc.not_equal(suspects.slice(1), suspects.slice(0, rows)),
        )
        found: list[int] = pc.add(pc.indices_nonzero(is_apart).cast(pa.int64()), 1).to_pylist()
        return found

    def ends(self) -> list[int]:
        """The rows after the last unit of each run."""
        return [*self.seams(), len(self)]

    def pieces(self) -> Iterator[Heads]:
        """The units of each run."""
        first = 0
        for end in self.ends():
            yield self.slice(first, end)
            first = end

    def slice(self, first: int, end: int) -> Heads:
        """The units of some rows."""
        return Heads(self.rows.slice(first, end - first))

    def kinds(self) -> Iterator[Heads]:
        """The units that decode alike: old or new, compressed or not."""
        rows = self.rows
        is_legacy, is_plain = pc.less(rows["magic"], LATEST_MAGIC), pc.equal(rows["compression"], "none")
        if pc.sum(is_legacy).as_py() in {0, len(self)} and pc.sum(is_plain).as_py() in {0, len(self)}:
            yield self  # almost always: nothing is copied
            return
        for legacy in (is_legacy, pc.invert(is_legacy)):
            for plain in (is_plain, pc.invert(is_plain)):
                chosen = rows.filter(pc.and_(legacy, plain))
                if chosen.num_rows:
                    yield Heads(chosen)


def heads_from(source: Source, start: int) -> Iterator[Heads | Break]:
    """Heads from a position on. A break, where no unit can be read, is the last item."""
    position = start
    while position < source.size:
        table = table_at(source, position)
        rows = columns.FIRST_ROWS if position else columns.GROWTH * columns.FIRST_ROWS
        for item in columns.scan_growing(
            table, source, position, first_rows=rows, max_bytes=STRETCH_BYTES, checksums=False
        ):
            if isinstance(item, Break):
                if table_at(source, item.start) == table:
                    yield item
                    return
            else:
                yield heads_of(item, table)
                position = int(item.ends[-1].as_py())


def heads_within(source: Source, span: Span) -> Iterator[Heads]:
    """Heads of the units of a run."""
    for item in heads_from(source, span.start):
        if not isinstance(item, Heads) or item.start >= span.end:
            return
        yield item if item.end <= span.end else item.slice(0, sum(at < span.end for at in item.positions))


def head_at(source: Source, position: int) -> Heads | Break:
    """The head of the unit that starts at a position; a break if none does."""
    table = table_at(source, position)
    view = source.view(position, min(position + _needed(source, position), source.size))
    item = next(columns.scan(table, view, Ranges.of([(0, len(view), 1)]), checksums=False)).moved(position)
    return heads_of(item, table) if isinstance(item, Chunk) else item


def _needed(source: Source, position: int) -> int:
    """Bytes to read for one unit: its length, with a bound for remote files."""
    if source.is_local or source.size - position < HEAD_SIZE:
        return source.size - position
    length = int.from_bytes(source.view(position + LENGTH_AT, position + LENGTH_END), "big")
    return int(max(HEAD_SIZE, min(LENGTH_END + length, columns.WINDOW)))


def table_at(source: Source, position: int) -> str:
    """The table of the unit that starts at a position; that of magic 2 where the file ends before its magic."""
    at = position + MAGIC_AT
    return MESSAGES if at < source.size and source.view(at, at + 1)[0] < LATEST_MAGIC else BATCHES


def heads_of(chunk: Chunk, table: str) -> Heads:
    """The heads of a chunk of either table."""
    made = _of_messages(chunk.batch) if table == MESSAGES else _of_batches(chunk.batch)
    made |= {"position": chunk.starts, "size": pc.subtract(chunk.ends, chunk.starts)}
    return Heads(pa.RecordBatch.from_arrays([made[name] for name in HEADS.names], schema=HEADS))


def _of_batches(batch: pa.RecordBatch) -> dict[str, pa.Array]:
    return {name: batch[name] for name in batch.schema.names} | {
        "last_offset": pc.add(batch["base_offset"], batch["last_offset_delta"].cast(pa.int64())),
        "leader_epoch": batch["partition_leader_epoch"],
        "is_suspect": _all(batch, value=False),
    }


def _of_messages(batch: pa.RecordBatch) -> dict[str, pa.Array]:
    is_plain, is_oldest = pc.equal(batch["compression"], "none"), pc.equal(batch["magic"], 0)
    timestamps = batch["timestamp"].fill_null(NO_TIMESTAMP)
    never, none = _all(batch, value=False), _all(batch, value=-1)
    return {name: batch[name] for name in ("magic", "crc", "compression")} | {
        "timestamp_type": pc.if_else(is_oldest, pa.scalar(None, pa.string()), batch["timestamp_type"]),
        "base_offset": pc.if_else(is_plain, batch["offset"], pa.scalar(None, pa.int64())),
        "last_offset": batch["offset"],
        "num_records": pc.if_else(is_plain, pa.scalar(1, pa.int32()), pa.scalar(None, pa.int32())),
        "leader_epoch": none.cast(pa.int32()),
        "base_timestamp": timestamps,
        "max_timestamp": timestamps,
        "is_transactional": never,
        "is_control": never,
        "has_delete_horizon": never,
        "producer_id": none,
        "producer_epoch": none.cast(pa.int16()),
        "base_sequence": none.cast(pa.int32()),
        "is_suspect": never,
    }


def _all(batch: pa.RecordBatch, *, value: bool | int) -> pa.Array:
    return pa.repeat(pa.scalar(value), batch.num_rows)


# A head as it stands in the file.

OLD_HEAD = struct.Struct(KAFKA_MESSAGE_HEAD_FORMAT)
"""Offset, length, checksum, magic and attributes of a message; offset, length and magic also of a batch."""
LATEST_HEAD_END = KAFKA_RECORD_BATCH_LAST_OFFSET_DELTA_AT + KAFKA_RECORD_BATCH_LAST_OFFSET_DELTA_SIZE
LATEST_HEAD = struct.Struct(KAFKA_RECORD_BATCH_HEAD_FORMAT[:8])
"""The byte order and the first seven numbers of a batch, up to the last offset less the first."""


@dataclass(frozen=True, slots=True)
class RawHead:
    """What a head says of its unit, true or not."""

    start: int
    end: int
    offset: int
    """The last one."""
    magic: int
    is_compressed: bool
    checksum: int

    @property
    def is_legacy(self) -> bool:
        """Whether it is a message of magic 0 or 1."""
        return self.magic < LATEST_MAGIC


def raw_head_at(source: Source, start: int) -> RawHead | None:
    """The head at a position; None where no unit can have such a head."""
    left = source.size - start
    if left < LEAST_SIZE:
        return None
    view = source.view(start, start + min(left, LATEST_HEAD_END))
    offset, length, checksum, magic, attributes = OLD_HEAD.unpack_from(view)
    if magic not in LEAST_LENGTHS or length < LEAST_LENGTHS[magic] or offset < 0:
        return None
    if magic == LATEST_MAGIC:
        if left < LATEST_HEAD_END:
            return None
        *_, checksum, attributes, delta = LATEST_HEAD.unpack_from(view)
        if delta < 0 or attributes >> 8:
            return None
        offset += delta
    return RawHead(start, start + LENGTH_END + length, offset, magic, bool(attributes & CODEC), checksum)


def offset_at(source: Source, position: int) -> int | None:
    """The offset at the start of the unit at a position; None where no unit can be."""
    if source.size - position < LEAST_SIZE:
        return None
    offset, length, *_ = OLD_HEAD.unpack(source.view(position, position + OLD_HEAD.size))
    return int(offset) if length >= LEAST_LENGTHS[0] else None


def claimed_size(source: Source, start: int) -> int:
    """The size of the unit that starts here by its length; 0 if that is impossible."""
    if source.size - start < LENGTH_END:
        return 0
    length = integer_at(source, start + LENGTH_AT)
    return LENGTH_END + length if length >= LEAST_LENGTHS[0] else 0


def integer_at(source: Source, at: int, size: int = KAFKA_RECORD_BATCH_LEN_BODY_SIZE) -> int:
    """A signed integer of the file; bytes after the end of the file are left out."""
    view = source.view(min(at, source.size), min(at + size, source.size))
    return int.from_bytes(view, "big", signed=True)


Places = tuple["array[int]", "array[int]"]
"""Positions and sizes."""


def places(
    source: Source, start: int, end: int, offsets: tuple[int, int] = (0, LARGEST_OFFSET), most: int = 1 << 12
) -> Iterator[Places]:
    """Where units with such offsets may start, at most `most` at a time: their lengths and magics are possible."""
    bounds = min(offsets[0], LARGEST_OFFSET), min(offsets[1], LARGEST_OFFSET)
    return Starts(SYNCS["kafka_segment__entry"], source, bounds=bounds).bundles(start, end, most)


# Checksums.

BUDGET, STREAM_BUDGET = 32, 4
"""How many times the size of the file may go into checksums one by one, and into the search for ends of streams. A
hostile file claims units that overlap. With the budget spent, checksums of magic 2 are computed from checkpoints, and
those of older messages count as wrong."""
CHECKPOINT = 128


class Checksums:
    """Checksums of units, at a cost that is linear whatever the file claims."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.budget, self.stream_budget = BUDGET * source.size, STREAM_BUDGET * source.size
        """Bytes that are left."""
        self.states = array("I")

    @property
    def is_spent(self) -> bool:
        """Whether checksums of old messages are no longer computed."""
        return self.budget < 0

    def right(self, heads: Heads) -> pa.BooleanArray:
        """Whether the checksum of each unit is right."""
        starts = heads.rows["position"]
        ends = pc.add(starts, heads.rows["size"])
        return pc.equal(heads.rows["crc"], self.of_units(starts, ends, is_legacy=heads.is_legacy))

    def of_units(self, starts: pa.Int64Array, ends: pa.Int64Array, *, is_legacy: bool) -> pa.Int64Array:
        """The checksum of each unit, computed; -1 where the budget is spent and there are no checkpoints."""
        covered = pc.add(starts, COVERED_FROM[is_legacy])
        self.budget -= pc.sum(pc.subtract(ends, covered)).as_py()
        if not self.is_spent:
            return column_of(self._one_by_one(covered, ends, is_legacy=is_legacy))
        if is_legacy or not self.source.is_local:
            return pa.repeat(pa.scalar(-1, pa.int64()), len(starts))
        return column_of(self._from_checkpoints(copied(covered), copied(ends)))

    def of_unit(self, start: int, end: int, *, is_legacy: bool) -> int:
        """The checksum of one unit; -1 where the budget is spent and there are no checkpoints."""
        covered = start + COVERED_FROM[is_legacy]
        self.budget -= end - covered
        if not self.is_spent:
            compute = checksums.crc32 if is_legacy else checksums.crc32c
            return compute(self.source.view(covered, end), 0, end - covered)
        if is_legacy or not self.source.is_local:
            return -1
        return self._from_checkpoints(array("q", [covered]), array("q", [end]))[0]

    def _one_by_one(self, starts: pa.Int64Array, ends: pa.Int64Array, *, is_legacy: bool) -> array[int]:
        base, last = starts[0].as_py(), pc.max(ends).as_py()
        spans = copied(pc.subtract(starts, base)), copied(pc.subtract(ends, base))
        made = array("q", bytes(8 * len(starts)))
        compute = native.functions.crc32_ranges if is_legacy else native.functions.crc32c_ranges
        compute(self.source.view(base, last), *spans, len(starts), made)
        return made

    def _from_checkpoints(self, starts: array[int], ends: array[int]) -> array[int]:
        whole = self.source.view(0, self.source.size)
        if not self.states:
            self.states = array("I", bytes(4 * (len(whole) // CHECKPOINT + 1)))
            native.functions.crc32c_checkpoints(whole, CHECKPOINT, self.states)
        made = array("q", bytes(8 * len(starts)))
        native.functions.crc32c_spans(whole, starts, ends, len(starts), self.states, CHECKPOINT, made)
        return made


# Timestamp types.

TIMESTAMP_TYPES, NO_TIMESTAMP_TYPE = texts(["create_time", "log_append_time"]), -1
"""Kafka's TimestampType in the order of their numbers; magic 0 has no timestamp."""


def timestamp_types(heads: Heads) -> pa.Int32Array:
    """Kafka's numbers for the timestamp types of units."""
    found = pc.index_in(heads.rows["timestamp_type"], value_set=TIMESTAMP_TYPES)
    return found.fill_null(NO_TIMESTAMP_TYPE) if found.null_count else found


# Numbers of Arrow columns without nulls, as native code takes them.

SIZES = {"q": 8, "i": 4}


def integers(values: pa.Array, typecode: str = "q") -> memoryview:
    """The numbers of a column, without a copy."""
    size = SIZES[typecode]
    data = memoryview(values.buffers()[1] or b"").cast("B")
    found: memoryview = data[size * values.offset : size * (values.offset + len(values))].cast(typecode)  # type: ignore[call-overload]
    return found


def copied(values: pa.Int64Array) -> array[int]:
    """The numbers of a 64-bit column as an array."""
    numbers = array("q")
    numbers.frombytes(integers(values).cast("B"))
    return numbers


def column_of(numbers: array[int]) -> pa.Int64Array:
    """A column over an array, without a copy."""
    return pa.Array.from_buffers(pa.int64(), len(numbers), [None, pa.py_buffer(numbers)])


class Integers:
    """64-bit numbers in Arrow's memory pool: native code fills them, then they become a column."""

    def __init__(self, rows: int) -> None:
        self.rows = rows
        self.buffer = pa.allocate_buffer(8 * rows)
        self.view = memoryview(self.buffer).cast("B").cast("q")

    def column(self, kind: pa.DataType | None = None, validity: pa.Buffer | None = None) -> pa.Array:
        """The numbers as a column of 64-bit integers, or of another type of that size."""
        return pa.Array.from_buffers(kind or pa.int64(), self.rows, [validity, self.buffer])
