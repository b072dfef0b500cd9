"""Who wrote records: producers that are idempotent or transactional, and the markers that end their transactions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from thawline import specs
from thawline.formats.kafka.record_columns import BadRecord

__all__ = ["AbortedTransaction", "Ending", "OpenTransactions", "Producer", "marker"]

Ending = Literal["commit", "abort"]

SEQUENCES = 1 << 31
"""Sequence numbers begin again with 0 behind the largest."""
LARGEST_EPOCH = (1 << 31) - 1
KEY_SIZE, VALUE_SIZE, INDEX_ENTRY_SIZE = 4, 6, 34


@dataclass(slots=True)
class Producer:
    """A producer of records; `sequence` is the number of its next record, and goes on with every batch.

    A transactional one has its transaction ended by `KafkaSegmentWriter.commit` or `abort`. Kafka's newer brokers raise
    the epoch with every transaction, and write the marker with the new one (KIP-890): set `producer_epoch` before.
    """

    producer_id: int
    producer_epoch: int = 0
    sequence: int = 0
    is_transactional: bool = False

    def __post_init__(self) -> None:
        for name, limit in (("producer_id", 1 << 63), ("producer_epoch", 1 << 15), ("sequence", SEQUENCES)):
            if not 0 <= getattr(self, name) < limit:
                raise BadRecord(f"{name} is {getattr(self, name)}, must be at least 0 and below {limit}")

    def take_sequence(self, count: int) -> int:
        """The number of the next record, where so many follow.

        >>> producer = Producer(7, sequence=2**31 - 1)
        >>> producer.take_sequence(3), producer.sequence
        (2147483647, 2)
        """
        first = self.sequence
        self.sequence = (first + count) % SEQUENCES
        return first


@dataclass(frozen=True, slots=True)
class AbortedTransaction:
    """An entry of the `.txnindex`: where a transaction began, its marker, and up to where all was stable then."""

    producer_id: int
    first_offset: int
    last_offset: int
    last_stable_offset: int

    def encoded(self) -> bytes:
        """Its bytes."""
        return specs.build(
            "kafka_transaction_index::entry",
            INDEX_ENTRY_SIZE,
            version=0,
            producer_id=self.producer_id,
            first_offset=self.first_offset,
            last_offset=self.last_offset,
            last_stable_offset=self.last_stable_offset,
        )


class OpenTransactions:
    """The first offset of every transaction that has no marker yet."""

    def __init__(self) -> None:
        self._first_offsets: dict[int, int] = {}

    def add(self, producer: Producer, base_offset: int) -> None:
        """Take note of a batch of a transactional producer."""
        self._first_offsets.setdefault(producer.producer_id, base_offset)

    def end(self, producer: Producer, offset: int, ending: Ending) -> AbortedTransaction | None:
        """Forget a transaction whose marker is at an offset; gives what the index keeps of it, if it was aborted.

        Kafka keeps nothing of one without records (ProducerAppendInfo.appendEndTxnMarker).
        """
        first = self._first_offsets.pop(producer.producer_id, None)
        if ending == "commit" or first is None:
            return None
        stable = min(self._first_offsets.values(), default=offset + 1)
        return AbortedTransaction(producer.producer_id, first, offset, stable)


def marker(ending: Ending, coordinator_epoch: int) -> tuple[bytes, bytes]:
    """Key and value of the control record that ends a transaction.

    >>> key, value = marker("commit", 3)
    >>> key.hex(" ", 2), value.hex(" ", 2)
    ('0000 0001', '0000 0000 0003')
    """
    if not 0 <= coordinator_epoch <= LARGEST_EPOCH:
        raise BadRecord(f"the coordinator's epoch {coordinator_epoch} does not fit 31 bits")
    kind = specs.structure("kafka_control_key").ControlType[ending]
    key = specs.build("kafka_control_key", KEY_SIZE, version=0, control_type=kind, unknown=b"")
    fields = {"version": 0, "coordinator_epoch": coordinator_epoch, "unknown": b""}
    return key, specs.build("kafka_control_value", VALUE_SIZE, kind, **fields)
