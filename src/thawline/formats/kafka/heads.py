"""Heads of batches and messages: a segment walked from unit to unit without looking into them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from thawline.engine import columns
from thawline.engine.chunks import Break, Chunk, Ranges
from thawline.generated.kernels.tables import TABLES
from thawline.model import Span
from thawline.source import Source

BATCHES, MESSAGES = "kafka_batches", "kafka_messages"
MAGIC_AT = 16
"""Where all versions have the magic byte; the length stands at byte 8 in all of them, too."""
LATEST_MAGIC = 2
HEAD_SIZE = TABLES[BATCHES].least_size
"""Bytes of a batch of magic 2 before its records."""
NO_TIMESTAMP = -1
FIRST_ROWS = 64
"""Units that are looked at in one go behind damage; four times as many as long as they are intact. What is read in
vain stays in proportion to what is not, however a hostile file mixes the two."""
STEP = 4

STRETCH_BYTES = 64 << 20
"""Bytes of a file whose units are taken together: each step costs the same however few units it takes, which counts for
more than that what went into a checksum is no longer in the cache when its records are read."""

HEADS = pa.schema(
    [
        ("position", pa.int64()),
        ("size", pa.int64()),
        ("magic", pa.int8()),
        ("base_offset", pa.int64()),
        ("last_offset", pa.int64()),
        ("num_records", pa.int32()),
        ("leader_epoch", pa.int32()),
        ("crc", pa.int64()),
        ("compression", pa.string()),
        ("timestamp_type", pa.string()),
        ("base_timestamp", pa.int64()),
        ("max_timestamp", pa.int64()),
        ("is_transactional", pa.bool_()),
        ("is_control", pa.bool_()),
        ("has_delete_horizon", pa.bool_()),
        ("producer_id", pa.int64()),
        ("producer_epoch", pa.int16()),
        ("base_sequence", pa.int32()),
        ("is_suspect", pa.bool_()),
    ]
)
"""What is known of a unit without looking into it. Of a wrapper, a compressed message of magic 0 or 1, first offset and
number of records are not: they are null. A suspect may lie inside of a broken wrapper."""
SUSPECT = "suspect"
"""The label of runs of such units."""


@dataclass(frozen=True, slots=True)
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
    def is_legacy(self) -> bool:
        """Whether these are messages of magic 0 or 1; asked of units that are all of a kind."""
        return bool(self.rows["magic"][0].as_py() < LATEST_MAGIC)

    @property
    def span(self) -> Span:
        """From the start of the first unit to the end of the last."""
        return Span(self.start, self.end)

    @property
    def labels(self) -> Mapping[str, object]:
        """What to say of a run of these units, which are all suspect or all not."""
        return {SUSPECT: True} if self.rows["is_suspect"][0].as_py() else {}

    def marked(self, is_suspect: pa.BooleanArray | None = None) -> Heads:
        """The same units, suspect where it is said; all of them if nothing is."""
        flags = _all(len(self), value=True) if is_suspect is None else is_suspect
        return Heads(self.rows.set_column(HEADS.get_field_index("is_suspect"), HEADS.field("is_suspect"), flags))

    def holes(self) -> list[int]:
        """Rows before which something else stands, or suspects begin or end, in rising order; mostly there is none."""
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

    def pieces(self) -> Iterator[Heads]:
        """The units in stretches that follow one another without a hole."""
        first = 0
        for end in (*self.holes(), len(self)):
            yield self.part(first, end)
            first = end

    def part(self, first: int, end: int) -> Heads:
        """Some of the units."""
        return Heads(self.rows.slice(first, end - first))


def walk(source: Source, start: int) -> Iterator[Heads | Break]:
    """Heads from a position on; a break where no unit can be read, which is the last item."""
    position = start
    while position < source.size:
        table = table_at(source, position)
        for item in _pieces(table, source, position):
            if isinstance(item, Break):
                if table_at(source, item.start) == table:
                    yield item
                    return
            else:
                yield Heads(unified(item, table))
                position = yielded_end(item)


def _pieces(table: str, source: Source, start: int) -> Iterator[Chunk | Break]:
    """Chunks of units of one kind, small ones first; a break unless they go on to the end of the file."""
    rows = FIRST_ROWS if start else STEP * FIRST_ROWS
    while rows < columns.MAX_ROWS and start < source.size:
        count = 0
        for item in _piece(table, source, start, rows):
            if isinstance(item, Break):
                end = item
                continue
            yield item
            start = yielded_end(item)
            count += len(item)
        if start == source.size:
            return
        if count < rows:
            if source.is_local:
                yield end
                return
            break  # the window may have ended before its time
        rows *= STEP
    yield from columns.scan_source(table, source, start, max_bytes=STRETCH_BYTES, checksums=False)


def _piece(table: str, source: Source, start: int, rows: int) -> Iterator[Chunk | Break]:
    """So many units, and a break: where there are fewer of them, or bytes behind them."""
    view = source.view(start, source.size if source.is_local else min(start + columns.WINDOW, source.size))
    ranges = Ranges.of([(0, len(view), rows)])
    found = columns.scan(table, view, ranges, max_rows=rows, max_bytes=STRETCH_BYTES, checksums=False)
    return (item.moved(start) for item in found)


def head_at(source: Source, position: int) -> Heads | Break:
    """The head of the unit that starts at a position; a break if none does."""
    table = table_at(source, position)
    view = source.view(position, min(position + _claimed(source, position), source.size))
    item = next(columns.scan(table, view, Ranges.of([(0, len(view), 1)]), checksums=False))
    return Heads(unified(item.moved(position), table)) if isinstance(item, Chunk) else item.moved(position)


def _claimed(source: Source, position: int) -> int:
    """Bytes to look at for one unit: as many as its length says, of a remote file not without bound."""
    if source.is_local or source.size - position < HEAD_SIZE:
        return source.size - position
    length = int.from_bytes(source.view(position + 8, position + 12), "big")
    return int(max(HEAD_SIZE, min(12 + length, columns.WINDOW)))


def yielded_end(chunk: Chunk) -> int:
    """Where the last unit of a chunk ends."""
    return int(chunk.ends[-1].as_py())


def table_at(source: Source, position: int) -> str:
    """The table of the unit that starts at a position; where the file ends before its magic it is the latest one."""
    at = position + MAGIC_AT
    is_legacy = at < source.size and source.view(at, at + 1)[0] in {0, 1}
    return MESSAGES if is_legacy else BATCHES


def unified(chunk: Chunk, table: str) -> pa.RecordBatch:
    """The rows of a table as those of heads."""
    made = _of_messages(chunk.batch) if table == MESSAGES else _of_batches(chunk.batch)
    made |= {"position": chunk.starts, "size": pc.subtract(chunk.ends, chunk.starts)}
    return pa.RecordBatch.from_arrays([made[name] for name in HEADS.names], schema=HEADS)


def _of_batches(batch: pa.RecordBatch) -> dict[str, pa.Array]:
    made = {name: batch[name] for name in batch.schema.names}
    return made | {
        "last_offset": pc.add(batch["base_offset"], batch["last_offset_delta"].cast(pa.int64())),
        "leader_epoch": batch["partition_leader_epoch"],
        "is_suspect": _all(batch.num_rows, value=False),
    }


def _of_messages(batch: pa.RecordBatch) -> dict[str, pa.Array]:
    rows = batch.num_rows
    is_plain, is_oldest = pc.equal(batch["compression"], "none"), pc.equal(batch["magic"], 0)
    timestamps = batch["timestamp"].fill_null(NO_TIMESTAMP)
    never, none = _all(rows, value=False), _all(rows, value=-1)
    return {
        "magic": batch["magic"],
        "crc": batch["crc"],
        "compression": batch["compression"],
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


def _all(rows: int, *, value: bool | int) -> pa.Array:
    return pa.repeat(pa.scalar(value), rows)
