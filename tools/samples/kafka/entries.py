"""Record batches and messages: their values, their bytes, and their account."""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from dataclasses import dataclass, replace

from crc32c import crc32c

from tools.samples.golden import Content, Plain, Sample, Unit
from tools.samples.kafka import wire
from tools.samples.kafka.codings import NONE, Coding

START = 1_700_000_000_000
"""The first timestamp, to which the others are relative: 2023-11-14T22:13:20Z."""


@dataclass(frozen=True, slots=True)
class Record:
    """A record of magic 2. Each of its varints is `spare_groups` groups longer than needed, up to the longest form."""

    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[bytes, bytes | None], ...] = ()
    timestamp_delta: int = 0
    offset_delta: int = 0
    attributes: int = 0
    spare_groups: int = 0

    def build(self) -> bytes:
        """Return the record with its length."""
        return bytes(wire.RECORD.build(self._values(), spare_groups=self.spare_groups))

    def account(self) -> dict[str, Plain]:
        """Return the record as `kafka_records` names its fields."""
        body = wire.RECORD_BODY.build(self._values(), spare_groups=self.spare_groups)
        return {
            "len_record": len(body),
            "body": {
                "attributes": self.attributes,
                "timestamp_delta": self.timestamp_delta,
                "offset_delta": self.offset_delta,
                **_sized("key", self.key),
                **_sized("value", self.value),
                "num_headers": len(self.headers),
                "headers": [_sized("key", key) | _sized("value", value) for key, value in self.headers],
            },
        }

    def _values(self) -> dict[str, object]:
        return {
            "attributes": self.attributes,
            "timestampDelta": self.timestamp_delta,
            "offsetDelta": self.offset_delta,
            "key": self.key,
            "value": self.value,
            "Headers": [{"headerKey": key, "Value": value} for key, value in self.headers],
        }


def numbered(*records: Record) -> tuple[Record, ...]:
    """Return the records with 0, 1, 2 and so on for offset and timestamp delta."""
    return tuple(replace(record, offset_delta=n, timestamp_delta=n) for n, record in enumerate(records))


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """A record batch of magic 2. Values that are None follow from the records."""

    base_offset: int = 0
    records: tuple[Record, ...] = ()
    coding: Coding = NONE
    leader_epoch: int = 0
    unused: int = 0
    has_delete_horizon: bool = False
    is_control: bool = False
    is_transactional: bool = False
    timestamp_type: str = "create_time"
    last_offset_delta: int | None = None
    base_timestamp: int = START
    max_timestamp: int | None = None
    producer_id: int = -1
    producer_epoch: int = -1
    base_sequence: int = -1

    @property
    def last_delta(self) -> int:
        """The last offset delta; compaction keeps it, so it may exceed that of the last record."""
        if self.last_offset_delta is not None:
            return self.last_offset_delta
        return max(record.offset_delta for record in self.records)

    @property
    def last_offset(self) -> int:
        """The last offset, as in an offset index."""
        return self.base_offset + self.last_delta

    @property
    def latest(self) -> int:
        """The largest timestamp, as the head states it."""
        if self.max_timestamp is not None:
            return self.max_timestamp
        return self.base_timestamp + max(record.timestamp_delta for record in self.records)

    def build(self) -> bytes:
        """Return the bytes of the batch in the segment."""
        values = {
            "baseOffset": self.base_offset,
            "partitionLeaderEpoch": self.leader_epoch,
            "covered": self._covered(),
        }
        return bytes(wire.RECORD_BATCH.build(values))

    def unit(self, start: int) -> Unit:
        """Return the account of the batch, which begins at `start`, and of its records."""
        content = Content(
            field="body.records",
            codec=self.coding.framing,
            spec="kafka_records",
            fields={"records": [record.account() for record in self.records]},
            params=(len(self.records),),
        )
        end = start + len(self.build())
        return Unit("kafka_record_batch", start, end, self.account(), content=content)

    def account(self) -> dict[str, Plain]:
        """Return the batch as `kafka_record_batch` names its fields."""
        covered = self._covered()
        return {
            "base_offset": self.base_offset,
            "len_body": wire.BATCH_BYTES_BEFORE_COVERED + len(covered),
            "body": {
                "partition_leader_epoch": self.leader_epoch,
                "magic": 2,
                "crc": crc32c(covered),
                "attributes": self._attributes_account(),
                "last_offset_delta": self.last_delta,
                "base_timestamp": self.base_timestamp,
                "max_timestamp": self.latest,
                "producer_id": self.producer_id,
                "producer_epoch": self.producer_epoch,
                "base_sequence": self.base_sequence,
                "num_records": len(self.records),
                "records": self._stored_records().hex(),
            },
        }

    def _attributes_account(self) -> dict[str, Plain]:
        return {
            "unused": self.unused,
            "has_delete_horizon": self.has_delete_horizon,
            "is_control": self.is_control,
            "is_transactional": self.is_transactional,
            "timestamp_type": self.timestamp_type,
            "compression": self.coding.compression,
        }

    def _stored_records(self) -> bytes:
        return self.coding.compress(b"".join(record.build() for record in self.records))

    def _covered(self) -> bytes:
        values = {
            "attributes": {
                "unused": self.unused,
                "hasDeleteHorizonMs": self.has_delete_horizon,
                "isControlBatch": self.is_control,
                "isTransactional": self.is_transactional,
                "timestampType": self.timestamp_type,
                "compression": self.coding.compression,
            },
            "lastOffsetDelta": self.last_delta,
            "baseTimestamp": self.base_timestamp,
            "maxTimestamp": self.latest,
            "producerId": self.producer_id,
            "producerEpoch": self.producer_epoch,
            "baseSequence": self.base_sequence,
            "recordsCount": len(self.records),
            "records": self._stored_records(),
        }
        return bytes(wire.BATCH_COVERED.build(values))


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """A message of magic 0 or 1; with `inner` messages it wraps them, compressed by `coding`."""

    magic: int
    offset: int
    timestamp: int = START
    key: bytes | None = None
    value: bytes | None = None
    inner: tuple[Message, ...] = ()
    coding: Coding = NONE
    timestamp_type: str = "create_time"
    trailing: bytes = b""

    def build(self) -> bytes:
        """Return the bytes of the message in the segment."""
        return bytes(wire.MESSAGE.build({"offset": self.offset, "covered": self._covered()}))

    def unit(self, start: int) -> Unit:
        """Return the account of the message, which begins at `start`, and of those it wraps."""
        end = start + len(self.build())
        return Unit("kafka_message", start, end, self.account(), content=self._content() if self.inner else None)

    def account(self) -> dict[str, Plain]:
        """Return the message as `kafka_message` names its fields."""
        covered = self._covered()
        attributes: dict[str, Plain] = {
            "unused": 0,
            "timestamp_type": self.timestamp_type,
            "compression": self.coding.compression,
        }
        return {
            "offset": self.offset,
            "len_body": wire.MESSAGE_BYTES_BEFORE_COVERED + len(covered),
            "body": {
                "crc": zlib.crc32(covered),
                "magic": self.magic,
                "attributes": attributes,
                "timestamp": self.timestamp if self.magic == 1 else None,
                **_sized("key", self.key),
                **_sized("value", self._stored_value()),
                "trailing": self.trailing.hex(),
            },
        }

    def _content(self) -> Content:
        return Content(
            field="body.value",
            codec=self.coding.framing,
            spec="kafka_segment",
            fields={"entries": [{"unit": message.account()} for message in self.inner]},
        )

    def _stored_value(self) -> bytes | None:
        if self.inner:
            return self.coding.compress(b"".join(message.build() for message in self.inner))
        return self.value

    def _covered(self) -> bytes:
        values = {
            "magic_byte": self.magic,
            "attributes": {
                "unused": 0,
                "timestampType": self.timestamp_type,
                "compression": self.coding.compression,
            },
            "timestamp": self.timestamp if self.magic == 1 else None,
            "key": self.key,
            "value": self._stored_value(),
            "trailing": self.trailing,
        }
        return bytes(wire.MESSAGE_COVERED.build(values))


def segment(name: str, what: str, *entries: Batch | Message, notes: Mapping[str, Plain] | None = None) -> Sample:
    """Return a log segment of these entries; `name` is that of the file."""
    units: list[Unit] = []
    data = b""
    for entry in entries:
        units.append(entry.unit(len(data)))
        data += entry.build()
    return Sample(f"kafka/{name}", what, data, tuple(units), file_spec="kafka_segment", notes=notes or {})


def _sized(name: str, data: bytes | None) -> dict[str, Plain]:
    return {f"len_{name}": wire.size_of(data), name: None if data is None else data.hex()}
