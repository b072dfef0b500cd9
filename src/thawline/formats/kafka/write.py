"""KafkaSegmentWriter: records into log segments of magic 2, with the files that Kafka keeps beside them."""

from __future__ import annotations

import os
import re
from array import array
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, Self

import pyarrow as pa

from thawline import native
from thawline.engine.encoding import frame, function_of, new_state, refused
from thawline.errors import SourceError, ThawlineError
from thawline.formats.kafka.records import BadCompression, compressor
from thawline.formats.kafka.rows import (
    LONGEST_RECORD,
    NO_NUMBERS,
    BadRecord,
    Headers,
    RecordColumns,
    Row,
    Time,
    columns_of,
    record_columns,
    record_row,
)
from thawline.formats.kafka.salvage import INTERVAL, IndexBuilder
from thawline.formats.kafka.sidecars import LEADER_EPOCHS, checkpoint
from thawline.formats.kafka.transactions import Ending, OpenTransactions, Producer, marker, origin
from thawline.generated.encoders.inputs import ENCODERS
from thawline.native.constants.encoders import (
    ENCODE_FULL,
    ENCODE_REFUSED,
    ENCODED_AT,
    ENCODED_NEEDED,
    ENCODED_ROW,
)
from thawline.native.constants.kafka import (
    OPEN_BASE_OFFSET,
    OPEN_BASE_TIMESTAMP,
    OPEN_COUNT,
    OPEN_IS_APPEND_TIME,
    OPEN_LAST_OFFSET,
    OPEN_MAX_TIMESTAMP,
    OPEN_SLOTS,
)
from thawline.outputs import Output, replacing

if TYPE_CHECKING:
    from typing_extensions import Buffer  # collections.abc has it from Python 3.12 on

__all__ = ["BadCompression", "BadRecord", "KafkaSegmentWriter", "OutOfTurn", "Producer", "SegmentFull"]

PENDING_RECORDS, PENDING_BYTES = 1000, 1 << 20
"""Records that are appended one by one are held until there are as many, and then encoded together."""
LAST_OFFSET = (1 << 63) - 2
"""After the last record there has to be an offset for the next."""
LARGEST_SEGMENT = (1 << 31) - 1
"""Kafka keeps positions in 31 bits."""
LARGEST_RELATIVE_OFFSET = (1 << 31) - 1
SEGMENT_NAME = re.compile(r"\d{20}")
NO_CODEC = 0


class OutOfTurn(ThawlineError, RuntimeError):
    """A call that the state of the writer does not allow."""


class SegmentFull(ThawlineError, ValueError):
    """More than one segment can hold, where the target is one segment."""


class KafkaSegmentWriter:
    """Segments to append records to: in a folder, where they are rolled as they grow, or one at a path `*.log`.

    A folder has to be new or without segments; `orders-0` is partition 0 of the topic orders. Segments are named after
    their first offset. Files have temporary names until they are complete; the last gets its name when `close` returns.
    An exception in the `with` block, a full disk and `discard` remove all of them. With `overwrite`, files of the same
    names are replaced and no longer removed; others in the folder stay.

    Offsets go on from `base_offset`, or are given; they have to rise. A record without a timestamp has Kafka's -1. With
    `log_append_time` the records of a batch share one timestamp, so a batch ends where it changes.
    """

    def __init__(
        self,
        target: str | os.PathLike[str],
        *,
        base_offset: int | None = None,
        compression: str = "none",
        compression_level: int | None = None,
        timestamp_type: Literal["create_time", "log_append_time"] = "create_time",
        batch_records: int = 10_000,
        batch_bytes: int = 256 << 10,
        segment_bytes: int = 1 << 30,
        leader_epoch: int = 0,
        indexes: bool = True,
        index_interval_bytes: int = INTERVAL,
        leader_epoch_checkpoint: bool = False,
        overwrite: bool = False,
    ) -> None:
        _check_range("base_offset", base_offset or 0, 0, LAST_OFFSET)
        _check_range("batch_records", batch_records, 1, (1 << 31) - 1)
        _check_range("batch_bytes", batch_bytes, 1, LONGEST_RECORD)
        _check_range("segment_bytes", segment_bytes, 1, LARGEST_SEGMENT)
        _check_range("leader_epoch", leader_epoch, -1, (1 << 31) - 1)
        _check_range("index_interval_bytes", index_interval_bytes, 0, (1 << 31) - 1)
        if timestamp_type not in {"create_time", "log_append_time"}:
            raise BadRecord(f"there is no timestamp type {timestamp_type!r}, only create_time and log_append_time")
        self.path = Path(target)
        self.files: list[Path] = []
        """Complete files."""
        self._is_folder = self.path.is_dir() or self.path.suffix != ".log"
        self._base_offset = self._named_offset(base_offset)
        self._next_offset = self._base_offset or 0
        self._codec, self._compress = compressor(compression, compression_level)
        self._is_append_time = timestamp_type == "log_append_time"
        self._segment_bytes = segment_bytes if self._is_folder else LARGEST_SEGMENT
        self._indexes = index_interval_bytes if indexes else None
        self._has_checkpoint, self._overwrite = leader_epoch_checkpoint, overwrite
        self._batch = OpenBatch(most_records=batch_records, most_bytes=batch_bytes)
        self._pending: list[Row] = []
        self._pending_bytes = 0
        self._producer: Producer | None = None
        self._producer_epoch = -1
        self._transactions = OpenTransactions()
        self._leader_epoch = leader_epoch
        self._epochs: list[tuple[int, int]] = []
        self._segment: _Segment | None = None
        self._state: Literal["open", "closed", "discarded"] = "open"
        self._is_made = self._prepare_target()

    def append(
        self,
        *,
        key: Buffer | None = None,
        value: Buffer | None = None,
        headers: Headers = (),
        timestamp: Time | None = None,
        offset: int | None = None,
        producer: Producer | None = None,
    ) -> int:
        """Add a record; returns its offset. A record that is refused leaves the writer as it was."""
        self._check_open()
        row = record_row(key, value, self._offset(offset), timestamp, headers)
        self._use(producer)
        self._pending.append(row)
        self._pending_bytes += len(row[0] or b"") + len(row[1] or b"")
        self._next_offset = row[2] + 1
        if len(self._pending) == PENDING_RECORDS or self._pending_bytes >= PENDING_BYTES:
            self._drain()
        return row[2]

    def append_batch(self, batch: pa.RecordBatch, *, producer: Producer | None = None) -> int:
        """Add the rows of a batch with columns of the table `records`; returns the offset after the last of them.

        Any of `key`, `value`, `offset`, `timestamp`, `timestampType` and `headers` is used; `topic` and `partition` are
        ignored. A batch that is refused leaves the writer as it was.
        """
        self._check_open()
        rows = record_columns(batch)
        last_offset = self._last_offset(rows)
        self._use(producer)
        self._drain()
        self._encode(rows)
        self._next_offset = last_offset + 1
        return self._next_offset

    def commit(
        self,
        producer: Producer,
        *,
        coordinator_epoch: int = 0,
        timestamp: Time | None = None,
        offset: int | None = None,
    ) -> int:
        """End a producer's transaction with a marker that makes its records count; returns the marker's offset."""
        return self._end_transaction("commit", producer, coordinator_epoch, timestamp, offset)

    def abort(
        self,
        producer: Producer,
        *,
        coordinator_epoch: int = 0,
        timestamp: Time | None = None,
        offset: int | None = None,
    ) -> int:
        """End a producer's transaction with a marker that makes its records void; returns the marker's offset."""
        return self._end_transaction("abort", producer, coordinator_epoch, timestamp, offset)

    @property
    def next_offset(self) -> int:
        """The offset that the next record gets unless it brings its own."""
        return self._next_offset

    @property
    def leader_epoch(self) -> int:
        """The leader's epoch of the next batch. A new one begins a new batch, and may not be lower."""
        return self._leader_epoch

    @leader_epoch.setter
    def leader_epoch(self, epoch: int) -> None:
        _check_range("leader_epoch", epoch, self._leader_epoch, (1 << 31) - 1)
        self.flush()
        self._leader_epoch = epoch

    def flush(self) -> None:
        """End the open batch and write it to its temporary file."""
        self._check_open()
        self._drain()
        self._close_batch()

    def close(self) -> None:
        """Complete the last segment; an empty one where nothing was appended."""
        if self._state != "open":
            return
        self.flush()
        with self._discarding():
            segment = self._segment or self._begin_segment(self._next_offset)
            self.files += segment.publish()
            if self._has_checkpoint and self._is_folder:
                self._write_checkpoint()
        self._state = "closed"

    def discard(self) -> None:
        """Remove everything that was written, except what replaced older files."""
        if self._state != "open":
            return
        self._state = "discarded"
        if self._segment:
            self._segment.discard()
        _remove(self.files, overwritten=self._overwrite)
        self.files = []
        if self._is_made:
            with suppress(OSError):  # there is something else in it
                self.path.rmdir()

    def _prepare_target(self) -> bool:
        """Refuse to overwrite, and make the folder; returns whether it was made."""
        there = sorted(self.path.glob("*.log")) if self._is_folder else [self.path] * self.path.exists()
        if there and not self._overwrite:
            raise SourceError(f"{there[0]}: is there already and is not overwritten")
        if not self._is_folder or self.path.is_dir():
            return False
        try:
            self.path.mkdir()
        except OSError as error:
            raise SourceError(error.errno, f"{self.path}: {error.strerror}") from error
        return True

    def _named_offset(self, base_offset: int | None) -> int | None:
        """The base offset in the name of a single segment, which must not be contradicted."""
        if self._is_folder or not SEGMENT_NAME.fullmatch(self.path.stem):
            return base_offset
        named = int(self.path.stem)
        if base_offset not in {None, named}:
            raise BadRecord(f"{self.path} begins with offset {named} by its name, not with {base_offset}")
        return named

    def _check_open(self) -> None:
        if self._state != "open":
            raise OutOfTurn(f"{self.path}: the writer is {self._state}")

    def _offset(self, offset: int | None) -> int:
        """The offset of a record, which has to be above those that are written."""
        place = self._next_offset if offset is None else offset
        if not isinstance(place, int) or not self._next_offset <= place <= LAST_OFFSET:
            raise BadRecord(
                f"the offset {place} is not at least {self._next_offset}, the next, and {LAST_OFFSET} at most"
            )
        return place

    def _last_offset(self, rows: RecordColumns) -> int:
        """The offset of the last of some rows, whose offsets have to rise from the next one on."""
        if not len(rows.offsets):
            return self._offset(self._next_offset + rows.count - 1) if rows.count else self._next_offset - 1
        bad = native.functions.first_not_rising(rows.offsets, rows.count, self._next_offset - 1)
        if bad >= 0:
            before = rows.offsets[bad - 1] if bad else self._next_offset - 1
            raise BadRecord(
                f"row {bad}: the offset {rows.offsets[bad]} is not above {before}, that of the record before"
            )
        return self._offset(rows.offsets[rows.count - 1])

    def _use(self, producer: Producer | None) -> None:
        """Make the next records those of a producer; a batch has one producer, of one epoch."""
        epoch = producer.producer_epoch if producer else -1
        if producer is not self._producer or epoch != self._producer_epoch:
            self._drain()
            self._close_batch()
            self._producer, self._producer_epoch = producer, epoch

    def _drain(self) -> None:
        """Encode records that were appended one by one."""
        if self._pending:
            rows, self._pending, self._pending_bytes = columns_of(self._pending), [], 0
            self._encode(rows)

    def _encode(self, rows: RecordColumns) -> None:
        row = self._add(rows, 0)
        rows = rows.held() if row < rows.count else rows
        while row < rows.count:
            self._close_batch()
            row = self._add(rows, row)

    def _add(self, rows: RecordColumns, row: int) -> int:
        return self._batch.add(rows, row, self._next_offset, is_append_time=self._is_append_time)

    def _end_transaction(
        self, ending: Ending, producer: Producer, coordinator_epoch: int, timestamp: Time | None, offset: int | None
    ) -> int:
        """Write a marker, in a batch of its own."""
        self._check_open()
        if not producer.is_transactional:
            raise BadRecord(f"producer {producer.producer_id} is not transactional: it has no transaction to {ending}")
        key, value = marker(ending, coordinator_epoch)
        row = record_row(key, value, self._offset(offset), timestamp, ())
        self.flush()
        self._pending.append(row)
        self._drain()
        self._next_offset = row[2] + 1
        with self._discarding():
            self._put(self._batch.records, NO_CODEC, origin(producer), is_control=True)
        entry = self._transactions.end(producer, row[2], ending)
        if self._segment:
            self._segment.add_aborted(entry)
        return row[2]

    def _close_batch(self) -> None:
        """Write the open batch, which is the current producer's."""
        batch, producer = self._batch, self._producer
        if not batch.count:
            return
        sequence = producer.take_sequence(batch.last_offset - batch.base_offset + 1) if producer else -1
        # The producer's epoch may have been raised since, for the marker.
        fields = {**origin(producer, sequence), "producer_epoch": self._producer_epoch}
        if producer and producer.is_transactional:
            self._transactions.add(producer, batch.base_offset)
        with self._discarding():
            self._put(self._compress(batch.records), self._codec, fields)

    def _put(
        self, records: bytes | memoryview, codec: int, fields: dict[str, Any], *, is_control: bool = False
    ) -> None:
        """Write the open batch, and begin the next."""
        batch = self._batch
        (head,) = frame(
            "kafka_batches",
            **batch.fields,
            **fields,
            partition_leader_epoch=self._leader_epoch,
            has_delete_horizon=False,
            is_control=is_control,
            compression=codec,
            records=records,
        )
        segment = self._segment_for(len(head) + len(records))
        segment.add(head, records, batch.last_offset, batch.max_timestamp)
        self._note_epoch(batch.base_offset)
        batch.clear()

    def _segment_for(self, size: int) -> _Segment:
        """The segment that has room for the open batch."""
        batch = self._batch
        segment = self._segment or self._begin_segment(batch.base_offset)
        is_too_large = segment.size > 0 and segment.size + size > self._segment_bytes
        if not is_too_large and segment.can_hold(batch.last_offset):
            return segment
        if not self._is_folder:
            raise SegmentFull(
                f"{self.path}: offset {batch.base_offset} at byte {segment.size} is more than one segment holds; "
                "give a folder, where another can begin"
            )
        self.files += segment.publish()
        return self._begin_segment(batch.base_offset)

    def _begin_segment(self, offset: int) -> _Segment:
        is_first = self._segment is None
        base_offset = self._base_offset if is_first and self._base_offset is not None else offset
        path = self.path / f"{base_offset:020d}.log" if self._is_folder else self.path
        self._segment = _Segment(path, base_offset, index_interval=self._indexes, overwrite=self._overwrite)
        return self._segment

    def _note_epoch(self, base_offset: int) -> None:
        if self._leader_epoch >= 0 and (not self._epochs or self._epochs[-1][0] < self._leader_epoch):
            self._epochs.append((self._leader_epoch, base_offset))

    def _write_checkpoint(self) -> None:
        target = self.path / LEADER_EPOCHS.name
        with replacing(target, overwrite=self._overwrite) as file:
            file.write(checkpoint(self._epochs))
        self.files.append(target)

    @contextmanager
    def _discarding(self) -> Iterator[None]:
        """Discard everything where something fails: what is missing cannot be added later."""
        try:
            yield
        except BaseException:
            self.discard()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self.close()
        else:
            self.discard()


def _check_range(name: str, number: int, least: int, most: int) -> None:
    if not least <= number <= most:
        raise BadRecord(f"{name} is {number}, must be between {least} and {most}")


# A batch, and a segment, in the making.

RECORDS = ENCODERS["kafka_records"]
ROOM = 64 << 10
"""Bytes that an open batch has room for at first."""
PLACED = 512
"""Records that get their deltas at a time: the batch may end after any of them, and the next has deltas of its own."""


class OpenBatch:
    """A batch that records are added to until it is full, and its records encoded so far."""

    def __init__(self, *, most_records: int, most_bytes: int) -> None:
        self._most_records, self._most_bytes = most_records, most_bytes
        self._state, self._encoded = array("q", bytes(8 * OPEN_SLOTS)), new_state()
        self._out = bytearray(min(most_bytes, ROOM))
        self._encode_rows = function_of("kafka_records")
        self._placed = PLACED

    def add(self, rows: RecordColumns, row: int, first_offset: int, *, is_append_time: bool) -> int:
        """Add rows from `row` on; returns the first row that has to wait for the next batch, or the number of rows."""
        place: Callable[..., int] = native.functions.place_in_batch
        default = first_offset, is_append_time
        while row < rows.count and (room := self._most_records - self._state[OPEN_COUNT]):
            before = self._state[:]
            most = min(rows.count, row + (PLACED if before[OPEN_COUNT] else self._placed), row + room)
            end = place(row, most, *rows.places, *default, self._state, *rows.deltas)
            reached = self._encode(rows, row, end)
            if reached < end:  # it has no room for the others
                self._state[:] = before
                place(row, reached, *rows.places, *default, self._state, *rows.deltas)
            if reached < most:
                return reached
            row = reached
        return row

    def _encode(self, rows: RecordColumns, row: int, end: int) -> int:
        """Encode rows until the batch has as many bytes as it may have; returns the first row after them."""
        while row < end:
            status = self._run(rows, row, end, self._most_bytes)
            row, needed = self._encoded[ENCODED_ROW], self._encoded[ENCODED_NEEDED]
            if status == ENCODE_REFUSED:
                refusal = refused(RECORDS, self._encoded)
                raise BadRecord(str(refusal)) from refusal
            if status == ENCODE_FULL:
                is_first = not self._encoded[ENCODED_AT]
                if needed > self._most_bytes and not is_first:
                    break
                self._grow(needed if is_first else max(needed, min(2 * len(self._out), self._most_bytes)))
                if needed > self._most_bytes:  # a batch has one record at least, however long
                    self._run(rows, row, row + 1, needed)
                    return row + 1
        return row

    def _run(self, rows: RecordColumns, row: int, end: int, most: int) -> int:
        out = self._out if len(self._out) <= most else memoryview(self._out)[:most]
        run = self._encode_rows
        return run(row, end, self._encoded, NO_NUMBERS, False, out, *rows.columns)  # noqa: FBT003 - native code

    def _grow(self, size: int) -> None:
        self._out += bytes(max(size - len(self._out), 0))

    def clear(self) -> None:
        """Begin the next batch. It may have about as many records as this one, most of which are placed at once."""
        self._placed = max(PLACED, self.count - self.count // 16)
        self._state[OPEN_COUNT] = self._encoded[ENCODED_AT] = 0

    @property
    def records(self) -> memoryview:
        """The records encoded so far. Release it before more are added."""
        return memoryview(self._out)[: self._encoded[ENCODED_AT]]

    @property
    def count(self) -> int:
        """How many records it has."""
        return self._state[OPEN_COUNT]

    @property
    def base_offset(self) -> int:
        """Offset of the first record."""
        return self._state[OPEN_BASE_OFFSET]

    @property
    def last_offset(self) -> int:
        """Offset of the last record."""
        return self._state[OPEN_LAST_OFFSET]

    @property
    def max_timestamp(self) -> int:
        """The latest timestamp of a record."""
        return self._state[OPEN_MAX_TIMESTAMP]

    @property
    def fields(self) -> dict[str, Any]:
        """The fields of the head that follow from its records."""
        is_append_time = self._state[OPEN_IS_APPEND_TIME]
        return {
            "base_offset": self.base_offset,
            "timestamp_type": "log_append_time" if is_append_time else "create_time",
            "last_offset_delta": self.last_offset - self.base_offset,
            "base_timestamp": self._state[OPEN_BASE_TIMESTAMP],
            "max_timestamp": self.max_timestamp,
            "num_records": self.count,
        }


class _Segment:
    """A segment that batches are added to. `publish` gives its files their names, the log's own last."""

    def __init__(self, path: Path, base_offset: int, *, index_interval: int | None, overwrite: bool) -> None:
        self.path, self.base_offset, self.size = path, base_offset, 0
        self._overwrite = overwrite
        self._builder = None if index_interval is None else IndexBuilder(base_offset, interval=index_interval)
        self._aborted = bytearray()
        self._outputs: list[Output] = []
        try:
            for suffix in (".log", *((".index", ".timeindex") if self._builder else ())):
                self._outputs.append(Output(path.with_suffix(suffix), overwrite=overwrite))
        except BaseException:
            self.discard()
            raise

    def can_hold(self, last_offset: int) -> bool:
        """Whether an offset is near enough to the segment's own to be stored in 31 bits."""
        return last_offset - self.base_offset <= LARGEST_RELATIVE_OFFSET

    def add(self, head: Buffer, records: Buffer, last_offset: int, max_timestamp: int) -> None:
        """Write a batch after those that are there."""
        if self._builder:
            self._builder.note(self.size, last_offset, max_timestamp)
        log = self._outputs[0].file
        self.size += log.write(head) + log.write(records)

    def add_aborted(self, entry: bytes) -> None:
        """Add an entry to the .txnindex: a transaction whose marker is in this segment."""
        self._aborted += entry

    def publish(self) -> list[Path]:
        """Complete the files and give them their names; returns those."""
        log, *indexes = self._outputs
        published: list[Path] = []
        try:
            for output, data in zip(indexes, self._indexes(), strict=True):
                output.file.write(data)
            if self._builder and self._aborted:
                indexes.append(Output(self.path.with_suffix(".txnindex"), overwrite=self._overwrite))
                indexes[-1].file.write(self._aborted)
                self._outputs.append(indexes[-1])
            for output in (*indexes, log):
                output.publish()
                self._outputs.remove(output)
                published.append(output.path)
        except BaseException:
            _remove(published, overwritten=self._overwrite)
            self.discard()
            raise
        return published

    def discard(self) -> None:
        """Remove the files that have no name yet."""
        while self._outputs:
            self._outputs.pop().discard()

    def _indexes(self) -> tuple[bytes, ...]:
        if self._builder is None:
            return ()
        indexes = self._builder.finish()
        return indexes.offset_index, indexes.time_index


def _remove(paths: list[Path], *, overwritten: bool) -> None:
    """Remove files that were published before something failed, unless they replaced older ones."""
    for path in paths if not overwritten else ():
        path.unlink(missing_ok=True)
