"""KafkaSegmentWriter: records into log segments of magic 2, with the files that Kafka keeps beside them."""

from __future__ import annotations

import os
import re
import struct
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Literal, Self

import pyarrow as pa

from thawline import native
from thawline.checksums import crc32c
from thawline.errors import SourceError, ThawlineError
from thawline.formats.kafka.compression import BadCompression, compressor
from thawline.formats.kafka.encoding import OpenBatch
from thawline.formats.kafka.indexes import INTERVAL
from thawline.formats.kafka.producers import Ending, OpenTransactions, Producer, marker
from thawline.formats.kafka.record_columns import (
    LAST_OFFSET,
    LATEST_TIMESTAMP,
    LONGEST_RECORD,
    NO_TIMESTAMP,
    BadRecord,
    Rows,
    rows_of,
)
from thawline.formats.kafka.segment_output import LARGEST_SEGMENT, SegmentOutput, remove
from thawline.outputs import replacing

if TYPE_CHECKING:
    from typing_extensions import Buffer  # collections.abc has it from Python 3.12 on

__all__ = ["BadCompression", "BadRecord", "KafkaSegmentWriter", "OutOfTurn", "Producer", "SegmentFull"]

HEAD = struct.Struct(">qiibIhiqqqhii")
"""A batch's head by hand: the generated structure takes 30 us for it, as long as 200 records. A test compares both."""
LENGTH_END, CRC_AT, COVERED_AT = 12, 17, 21
MAGIC = 2
APPEND_TIME_BIT, TRANSACTIONAL_BIT, CONTROL_BIT = 1 << 3, 1 << 4, 1 << 5
PENDING_RECORDS, PENDING_BYTES = 1000, 1 << 20
"""As many records are taken one by one before they are encoded together."""
SEGMENT_NAME = re.compile(r"\d{20}")
COLUMNS = {
    "key": pa.binary(),
    "value": pa.binary(),
    "offset": pa.int64(),
    "timestamp": pa.int64(),
    "headers": pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())])),
}
START_OF_TIME = datetime(1970, 1, 1, tzinfo=UTC)

Time = int | datetime
"""Milliseconds since 1970, or a time that knows its zone."""
Headers = Iterable[tuple["str | Buffer", "Buffer | None"]] | Mapping[str, "Buffer | None"]
Row = tuple[bytes | None, bytes | None, int, int, list[tuple[str, bytes | None]]]


class OutOfTurn(ThawlineError, RuntimeError):
    """A call that the state of the writer does not allow."""


class SegmentFull(ThawlineError, ValueError):
    """More than one segment can hold, where only one was asked for."""


class KafkaSegmentWriter:
    """Segments to append records to: in a folder, where they are rolled as they grow, or one at a path `*.log`.

    A folder has to be new or without segments; `orders-0` is partition 0 of the topic orders. Segments are called by
    their first offset. What is written stands under a temporary name; a segment and its index files get their names
    when the segment is complete, the last when `close` returns. An exception in the `with` block, a disk that is full
    and `discard` remove them all, those that were complete too. With `overwrite`, files of the same names are replaced;
    others in the folder stay, and files that took another's place are not removed any more.

    Offsets count on from `base_offset`, or are given; they have to rise. A record without a timestamp has Kafka's -1,
    for none. With `log_append_time` the records of a batch share one timestamp, so a batch ends where it changes.
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
        """Files that are complete and have their names."""
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
        self._segment: SegmentOutput | None = None
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
        """Add a record; gives its offset. A record that is refused leaves the writer as it was."""
        self._check_open()
        row = _row(key, value, self._offset(offset), timestamp, headers)
        self._use(producer)
        self._pending.append(row)
        self._pending_bytes += len(row[0] or b"") + len(row[1] or b"")
        self._next_offset = row[2] + 1
        if len(self._pending) == PENDING_RECORDS or self._pending_bytes >= PENDING_BYTES:
            self._drain()
        return row[2]

    def append_batch(self, batch: pa.RecordBatch, *, producer: Producer | None = None) -> int:
        """Add the rows of a batch with columns of the table `records`; gives the offset behind the last of them.

        `key`, `value`, `offset`, `timestamp`, `timestampType` and `headers` may be there; `topic` and `partition` are
        not looked at. A batch that is refused leaves the writer as it was.
        """
        self._check_open()
        rows = rows_of(batch)
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
        """End a producer's transaction with the marker that makes its records count; gives the marker's offset."""
        return self._end_transaction("commit", producer, coordinator_epoch, timestamp, offset)

    def abort(
        self,
        producer: Producer,
        *,
        coordinator_epoch: int = 0,
        timestamp: Time | None = None,
        offset: int | None = None,
    ) -> int:
        """End a producer's transaction with the marker that makes its records void; gives the marker's offset."""
        return self._end_transaction("abort", producer, coordinator_epoch, timestamp, offset)

    @property
    def next_offset(self) -> int:
        """The offset that the next record gets unless it brings its own."""
        return self._next_offset

    @property
    def leader_epoch(self) -> int:
        """The leader's epoch that batches are written with; a new one begins a new batch, and may not be lower."""
        return self._leader_epoch

    @leader_epoch.setter
    def leader_epoch(self, epoch: int) -> None:
        _check_range("leader_epoch", epoch, self._leader_epoch, (1 << 31) - 1)
        self.flush()
        self._leader_epoch = epoch

    def flush(self) -> None:
        """End the open batch and hand it to its file, which has no name yet."""
        self._check_open()
        self._drain()
        self._close_batch()

    def close(self) -> None:
        """Complete the last segment and give it its name; an empty one where nothing was appended."""
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
        """Remove everything that was written, but for what took the place of older files."""
        if self._state != "open":
            return
        self._state = "discarded"
        if self._segment:
            self._segment.discard()
        remove(self.files, overwritten=self._overwrite)
        self.files = []
        if self._is_made:
            with suppress(OSError):  # somebody has put something else into it
                self.path.rmdir()

    def _prepare_target(self) -> bool:
        """Refuse what would be written over, and make the folder; gives whether it was made."""
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
        """The base offset that the name of a single segment gives; another may not contradict it."""
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
        """The offset of a record, which has to be behind those that are written."""
        place = self._next_offset if offset is None else offset
        if not isinstance(place, int) or not self._next_offset <= place <= LAST_OFFSET:
            raise BadRecord(
                f"the offset {place} is not at least {self._next_offset}, the next, and {LAST_OFFSET} at most"
            )
        return place

    def _last_offset(self, rows: Rows) -> int:
        """The offset of the last of some rows, which have to rise from the next offset on."""
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
        """Let the records that follow be those of a producer; a batch has but one, of one epoch."""
        epoch = producer.producer_epoch if producer else -1
        if producer is not self._producer or epoch != self._producer_epoch:
            self._drain()
            self._close_batch()
            self._producer, self._producer_epoch = producer, epoch

    def _drain(self) -> None:
        """Encode what was appended one by one."""
        if self._pending:
            columns = zip(zip(*self._pending, strict=True), COLUMNS.values(), strict=True)
            batch = pa.RecordBatch.from_arrays([pa.array(values, type_) for values, type_ in columns], list(COLUMNS))
            self._pending, self._pending_bytes = [], 0
            self._encode(rows_of(batch))

    def _encode(self, rows: Rows) -> None:
        row = 0
        while (row := self._batch.add(rows, row, self._next_offset, is_append_time=self._is_append_time)) < rows.count:
            self._close_batch()

    def _end_transaction(
        self, ending: Ending, producer: Producer, coordinator_epoch: int, timestamp: Time | None, offset: int | None
    ) -> int:
        """Write a marker, which is a batch of its own."""
        self._check_open()
        if not producer.is_transactional:
            raise BadRecord(f"producer {producer.producer_id} is not transactional: it has no transaction to {ending}")
        key, value = marker(ending, coordinator_epoch)
        row = _row(key, value, self._offset(offset), timestamp, ())
        self.flush()
        self._pending.append(row)
        self._drain()
        self._next_offset = row[2] + 1
        self._put(
            self._batch.records, CONTROL_BIT | TRANSACTIONAL_BIT, (producer.producer_id, producer.producer_epoch, -1)
        )
        aborted = self._transactions.end(producer, row[2], ending)
        if aborted and self._segment:
            self._segment.add_aborted(aborted)
        return row[2]

    def _close_batch(self) -> None:
        """Write the open batch as one of the producer whose turn it is."""
        batch, producer = self._batch, self._producer
        if not batch.count:
            return
        # The epoch may have been raised since, for the marker.
        identity = producer.producer_id if producer else -1, self._producer_epoch
        sequence = producer.take_sequence(batch.last_offset - batch.base_offset + 1) if producer else -1
        attributes = self._codec
        if producer and producer.is_transactional:
            attributes |= TRANSACTIONAL_BIT
            self._transactions.add(producer, batch.base_offset)
        with self._discarding():
            records = self._compress(batch.records)
        self._put(records, attributes, (*identity, sequence))

    def _put(self, records: bytes | memoryview, attributes: int, producer: tuple[int, int, int]) -> None:
        """Write the open batch, and begin the next; a producer is its number, its epoch and a sequence number."""
        with self._discarding():
            batch, head = self._batch, bytearray(HEAD.size)
            HEAD.pack_into(
                head,
                0,
                batch.base_offset,
                HEAD.size - LENGTH_END + len(records),
                self._leader_epoch,
                MAGIC,
                0,
                attributes | (APPEND_TIME_BIT if batch.is_append_time else 0),
                batch.last_offset - batch.base_offset,
                batch.base_timestamp,
                batch.max_timestamp,
                *producer,
                batch.count,
            )
            crc = crc32c(records, value=crc32c(head, COVERED_AT))
            head[CRC_AT:COVERED_AT] = crc.to_bytes(4, "big")
            segment = self._segment_for(HEAD.size + len(records))
            segment.add(head, records, batch.last_offset, batch.max_timestamp)
            self._note_epoch(batch.base_offset)
            del records
            batch.clear()

    def _segment_for(self, size: int) -> SegmentOutput:
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

    def _begin_segment(self, offset: int) -> SegmentOutput:
        is_first = self._segment is None
        base_offset = self._base_offset if is_first and self._base_offset is not None else offset
        path = self.path / f"{base_offset:020d}.log" if self._is_folder else self.path
        self._segment = SegmentOutput(path, base_offset, index_interval=self._indexes, overwrite=self._overwrite)
        return self._segment

    def _note_epoch(self, base_offset: int) -> None:
        if self._leader_epoch >= 0 and (not self._epochs or self._epochs[-1][0] < self._leader_epoch):
            self._epochs.append((self._leader_epoch, base_offset))

    def _write_checkpoint(self) -> None:
        """The file `leader-epoch-checkpoint`: version, number of entries, then epoch and first offset of each."""
        target = self.path / "leader-epoch-checkpoint"
        lines = ["0", str(len(self._epochs)), *(f"{epoch} {offset}" for epoch, offset in self._epochs)]
        with replacing(target, overwrite=self._overwrite) as file:
            file.write("".join(f"{line}\n" for line in lines).encode())
        self.files.append(target)

    @contextmanager
    def _discarding(self) -> Iterator[None]:
        """Give up all that was written where something fails: what is missing could not be added any more."""
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


def _row(key: Buffer | None, value: Buffer | None, offset: int, timestamp: Time | None, headers: Headers) -> Row:
    """A record as it is kept until it is encoded, once it is sure that a batch can hold it."""
    row = _bytes(key, "key"), _bytes(value, "value"), offset, _milliseconds(timestamp), _headers(headers)
    size = len(row[0] or b"") + len(row[1] or b"") + sum(len(name) + len(data or b"") for name, data in row[4])
    if size > LONGEST_RECORD:
        raise BadRecord(f"a record of {size} bytes is longer than {LONGEST_RECORD}, the most that is written")
    return row


def _bytes(data: Buffer | None, what: str) -> bytes | None:
    if data is None or isinstance(data, bytes):
        return data
    try:
        return bytes(memoryview(data))
    except TypeError as error:
        raise BadRecord(f"a {what} is bytes or None, not {type(data).__name__}") from error


def _headers(headers: Headers) -> list[tuple[str, bytes | None]]:
    pairs = headers.items() if isinstance(headers, Mapping) else headers
    try:
        return [(_header_key(name), _bytes(data, "header value")) for name, data in pairs]
    except (TypeError, ValueError) as error:
        if isinstance(error, BadRecord):
            raise
        raise BadRecord(f"headers are pairs of a key and a value: {error}") from error


def _header_key(name: str | Buffer) -> str:
    """Text, as Kafka's clients know header keys; those of other bytes could not be read back."""
    key = _bytes(name.encode() if isinstance(name, str) else name, "header key")
    if key is None:
        raise BadRecord("the key of a header is None: Kafka has no such headers")
    try:
        return key.decode()
    except UnicodeDecodeError as error:
        raise BadRecord(f"the key of a header is not UTF-8: {key!r}") from error


def _milliseconds(timestamp: Time | None) -> int:
    """Milliseconds since 1970; what is finer is cut off, None is -1, Kafka's word for none."""
    if isinstance(timestamp, datetime):
        if timestamp.tzinfo is None:
            raise BadRecord(f"the timestamp {timestamp} has no zone, so it could be any of a day's times")
        timestamp = (timestamp - START_OF_TIME) // timedelta(milliseconds=1)
    number = NO_TIMESTAMP if timestamp is None else timestamp
    if not isinstance(number, int) or not NO_TIMESTAMP <= number <= LATEST_TIMESTAMP:
        raise BadRecord(f"the timestamp {number!r} is neither -1, for none, nor milliseconds since 1970")
    return number


def _check_range(name: str, number: int, least: int, most: int) -> None:
    if not least <= number <= most:
        raise BadRecord(f"{name} is {number}, must be between {least} and {most}")
