"""The sidecars of a segment: offset, time and transaction index, and producer snapshot."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from crc32c import crc32c

from tools.samples.golden import Plain, Sample, Unit
from tools.samples.kafka import wire
from tools.samples.kafka.batches import MANY
from tools.samples.kafka.control import COORDINATOR_EPOCH, TRANSACTIONS

Entry = dict[str, int]

INDEXES = {
    "index": ("kafka_offset_index", wire.OFFSET_INDEX),
    "timeindex": ("kafka_time_index", wire.TIME_INDEX),
    "txnindex": ("kafka_transaction_index", wire.TRANSACTION_INDEX),
}
ACCOUNT_NAMES = {
    "version": "version",
    "timestamp": "timestamp",
    "relativeOffset": "relative_offset",
    "physicalPosition": "position",
    "producerId": "producer_id",
    "firstOffset": "first_offset",
    "lastOffset": "last_offset",
    "lastStableOffset": "last_stable_offset",
    "ProducerId": "producer_id",
    "Epoch": "producer_epoch",
    "LastSequence": "last_sequence",
    "LastOffset": "last_offset",
    "OffsetDelta": "offset_delta",
    "Timestamp": "timestamp",
    "CoordinatorEpoch": "coordinator_epoch",
    "CurrentTxnFirstOffset": "current_txn_first_offset",
}
"""The names of fields in the specs by their names in Kafka."""

PREALLOCATED: Entry = {"relativeOffset": 0, "physicalPosition": 0}
ABORTED: Entry = {"version": 0, "producerId": 1000, "firstOffset": 0, "lastOffset": 3, "lastStableOffset": 2}
ABORTED_LATE: Entry = {
    "version": 0,
    "producerId": 2**63 - 1,
    "firstOffset": 2**62,
    "lastOffset": 2**62 + 1,
    "lastStableOffset": 2**62 + 2,
}
# The state at offset 7, before the commit marker: producer 1000 is done, the transaction of 1001 is open.
PRODUCERS: list[Entry] = [
    {
        "ProducerId": 1000,
        "Epoch": 5,
        "LastSequence": 1,
        "LastOffset": 1,
        "OffsetDelta": 1,
        "Timestamp": TRANSACTIONS[2].latest,
        "CoordinatorEpoch": COORDINATOR_EPOCH,
        "CurrentTxnFirstOffset": -1,
    },
    {
        "ProducerId": 1001,
        "Epoch": 0,
        "LastSequence": 2,
        "LastOffset": 6,
        "OffsetDelta": 1,
        "Timestamp": TRANSACTIONS[4].latest,
        "CoordinatorEpoch": -1,
        "CurrentTxnFirstOffset": 2,
    },
]


def samples() -> Iterator[Sample]:
    """Yield indexes of `many-records.log`, index and snapshot of `transactions.log`, and empty ones."""
    positions, times = _positions(), _times()
    of_many: dict[str, Plain] = {"segment": "many-records.log", "base_offset": 0}
    yield _index("many-records.index", "where each batch but the first starts", positions, of_many)
    yield _index("many-records.timeindex", "the latest timestamp up to each batch", times, of_many)
    yield _index("preallocated.index", "three entries, then zeros not yet written", positions[:3] + [PREALLOCATED] * 5)
    yield _index("empty.index", "an offset index without entries", [])
    yield _index("empty.timeindex", "a time index without entries", [])
    of_transactions: dict[str, Plain] = {"segment": "transactions.log", "base_offset": 0}
    yield _index("transactions.txnindex", "the aborted transaction", [ABORTED], of_transactions)
    yield _index("several.txnindex", "two aborted transactions, one with large numbers", [ABORTED, ABORTED_LATE])
    yield _index("empty.txnindex", "a transaction index without entries", [])
    yield _snapshot("transactions.snapshot", "two producers", PRODUCERS, of_transactions | {"offset": 7})
    yield _snapshot("empty.snapshot", "no producer", [])


def _positions() -> list[Entry]:
    # A broker does not index the first batch: it indexes by the bytes since the last entry.
    entries: list[Entry] = []
    position = 0
    for batch in MANY:
        entries.append({"relativeOffset": batch.last_offset, "physicalPosition": position})
        position += len(batch.build())
    return entries[1:]


def _times() -> list[Entry]:
    return [{"timestamp": batch.latest, "relativeOffset": batch.last_offset} for batch in MANY[1:]]


def _index(name: str, what: str, entries: list[Entry], notes: Mapping[str, Plain] | None = None) -> Sample:
    spec, wire_spec = INDEXES[name.rpartition(".")[2]]
    data = bytes(wire_spec.build(entries))
    unit = Unit(spec, 0, len(data), {"entries": [_account(entry) for entry in entries]})
    return Sample(f"kafka/{name}", what, data, (unit,), file_spec=spec, notes=notes or {})


def _snapshot(name: str, what: str, producers: list[Entry], notes: Mapping[str, Plain] | None = None) -> Sample:
    covered = bytes(wire.PRODUCER_ENTRIES.build(producers))
    data = bytes(wire.PRODUCER_SNAPSHOT.build({"covered": covered}))
    fields: dict[str, Plain] = {
        "version": 1,
        "crc": crc32c(covered),
        "num_producers": len(producers),
        "producers": [_account(producer) for producer in producers],
    }
    spec = "kafka_producer_snapshot"
    unit = Unit(spec, 0, len(data), fields)
    return Sample(f"kafka/{name}", f"producers' state: {what}", data, (unit,), file_spec=spec, notes=notes or {})


def _account(entry: Entry) -> dict[str, Plain]:
    return {ACCOUNT_NAMES[name]: number for name, number in entry.items()}
