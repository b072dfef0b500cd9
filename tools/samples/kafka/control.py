"""Transactions, KRaft's control batches, and control keys and values on their own."""

from __future__ import annotations

import re
from collections.abc import Iterator

from construct import Struct

from tools.samples.golden import Plain, Sample, Unit
from tools.samples.kafka import wire
from tools.samples.kafka.codings import LZ4
from tools.samples.kafka.entries import START, Batch, Record, numbered, segment

CONTROL_TYPES = {
    "abort": 0,
    "commit": 1,
    "leader_change": 2,
    "snapshot_header": 3,
    "snapshot_footer": 4,
    "kraft_version": 5,
    "kraft_voters": 6,
}
COORDINATOR_EPOCH = 3
DIRECTORY_IDS = (bytes(range(16)), bytes(range(16, 32)))

KRAFT_VALUES: dict[str, tuple[Struct, dict[str, object]]] = {
    "leader_change": (
        wire.LEADER_CHANGE_MESSAGE,
        {
            "LeaderId": 1,
            "Voters": [{"VoterId": 1}, {"VoterId": 2}, {"VoterId": 3}],
            "GrantingVoters": [{"VoterId": 1}, {"VoterId": 3}],
        },
    ),
    "snapshot_header": (wire.SNAPSHOT_HEADER_RECORD, {"LastContainedLogTimestamp": START}),
    "snapshot_footer": (wire.SNAPSHOT_FOOTER_RECORD, {}),
    "kraft_version": (wire.KRAFT_VERSION_RECORD, {"KRaftVersion": 1}),
    "kraft_voters": (
        wire.VOTERS_RECORD,
        {
            "Voters": [
                {
                    "VoterId": n,
                    "VoterDirectoryId": id_,
                    "Endpoints": [{"Name": b"CONTROLLER", "Host": b"controller-%d" % n, "Port": 65535}],
                    "KRaftVersionFeature": {"MinSupportedVersion": 0, "MaxSupportedVersion": 1},
                }
                for n, id_ in enumerate(DIRECTORY_IDS, 1)
            ]
        },
    ),
}


def samples() -> Iterator[Sample]:
    """Yield segments with control batches, a KRaft snapshot, and each control key and value as a file."""
    yield _transactions()
    yield _open_transactions()
    yield _kraft_control()
    yield _kraft_snapshot()
    yield from _keys()
    yield from _values()


def _transactions() -> Sample:
    # The segment of the sidecars `transactions.txnindex` and `transactions.snapshot`.
    return segment(
        "transactions.log",
        "two transactions: one aborted, one committed; between them a record of a plain producer",
        *TRANSACTIONS,
        notes={
            "aborted": [{"producer_id": 1000, "first_offset": 0, "last_offset": 3}],
            "committed": [{"producer_id": 1001, "first_offset": 2, "last_offset": 7}],
        },
    )


def _data(base_offset: int, producer_id: int, epoch: int, sequence: int, *values: bytes) -> Batch:
    return Batch(
        base_offset=base_offset,
        records=numbered(*(Record(b"key", value) for value in values)),
        base_timestamp=START + base_offset,
        producer_id=producer_id,
        producer_epoch=epoch,
        base_sequence=sequence,
        is_transactional=True,
    )


def _marker(base_offset: int, producer_id: int, epoch: int, kind: str) -> Batch:
    return Batch(
        base_offset=base_offset,
        records=(Record(_key(kind), _value(kind)),),
        base_timestamp=START + base_offset,
        producer_id=producer_id,
        producer_epoch=epoch,
        is_transactional=True,
        is_control=True,
    )


def _key(kind: str) -> bytes:
    return bytes(wire.CONTROL_KEY.build({"version": 0, "type": CONTROL_TYPES[kind], "unknown": b""}))


def _value(kind: str) -> bytes:
    if kind in KRAFT_VALUES:
        spec, values = KRAFT_VALUES[kind]
        return bytes(spec.build(values))
    return bytes(wire.END_TXN_MARKER.build({"version": 0, "coordinatorEpoch": COORDINATOR_EPOCH}))


TRANSACTIONS = (
    _data(0, 1000, 5, 0, b"aborted", b"aborted too"),
    _data(2, 1001, 0, 0, b"committed"),
    _marker(3, 1000, 5, "abort"),
    Batch(base_offset=4, records=(Record(b"key", b"plain"),), base_timestamp=START + 4),
    _data(5, 1001, 0, 1, b"committed too", b"and this"),
    # KIP-890: the marker's epoch is one above that of the data.
    _marker(7, 1001, 1, "commit"),
)


def _open_transactions() -> Sample:
    # Reading committed data ends at the first open transaction, even for plain records.
    return segment(
        "transactions-open.log",
        "a committed transaction, one whose start lies in an earlier segment, and one that is still open",
        _marker(100, 2000, 0, "commit"),
        _data(101, 2001, 0, 0, b"open", b"open"),
        _data(103, 2002, 0, 0, b"committed"),
        _marker(104, 2002, 0, "commit"),
        Batch(base_offset=105, records=(Record(b"key", b"plain"),), coding=LZ4, base_timestamp=START + 105),
        notes={
            "committed": [{"producer_id": 2002, "first_offset": 103, "last_offset": 104}],
            "open": [{"producer_id": 2001, "first_offset": 101}],
            "last_stable_offset": 101,
        },
    )


def _kraft_batch(base_offset: int, *kinds: str) -> Batch:
    records = numbered(*(Record(_key(kind), _value(kind)) for kind in kinds))
    return Batch(base_offset=base_offset, records=records, leader_epoch=4, is_control=True)


def _kraft_control() -> Sample:
    # The document allows one record in a control batch; KRaft writes several (apache/kafka PR 19729).
    return segment(
        "kraft-control.log",
        "a control batch of three records, as a KRaft leader begins its epoch",
        _kraft_batch(0, "leader_change", "kraft_version", "kraft_voters"),
        Batch(base_offset=3, records=numbered(Record(None, b"\x01\x02\x00\x00")), leader_epoch=4),
    )


def _kraft_snapshot() -> Sample:
    return segment(
        "00000000000000000100-0000000004.checkpoint",
        "a KRaft snapshot: header, state, footer",
        _kraft_batch(0, "snapshot_header", "kraft_version", "kraft_voters"),
        Batch(base_offset=3, records=numbered(Record(None, b"\x01\x02\x00\x00")), leader_epoch=4),
        _kraft_batch(4, "snapshot_footer"),
    )


def _keys() -> Iterator[Sample]:
    for name in CONTROL_TYPES:
        fields: dict[str, Plain] = {"version": 0, "control_type": name, "unknown": ""}
        yield _piece("kafka_control_key", name, _key(name), fields)
    # Consumers skip unknown types, and bytes that a later version adds.
    later = bytes(wire.CONTROL_KEY.build({"version": 1, "type": 99, "unknown": b"later"}))
    yield _piece("kafka_control_key", "unknown", later, {"version": 1, "control_type": 99, "unknown": b"later".hex()})


def _values() -> Iterator[Sample]:
    for name, number in CONTROL_TYPES.items():
        yield _piece("kafka_control_value", name, _value(name), _value_account(name), number)
    yield _leader_change_with_directories()
    later = bytes(wire.END_TXN_MARKER.build({"version": 0, "coordinatorEpoch": COORDINATOR_EPOCH})) + b"later"
    fields = _value_account("commit") | {"unknown": b"later".hex()}
    yield _piece("kafka_control_value", "later_commit", later, fields, CONTROL_TYPES["commit"])
    unknown: dict[str, Plain] = {"version": 2, "coordinator_epoch": None, "message": None, "unknown": "0102"}
    yield _piece("kafka_control_value", "later_voters", bytes([0, 2, 1, 2]), unknown, CONTROL_TYPES["kraft_voters"])


def _leader_change_with_directories() -> Sample:
    # Version 1 (KIP-853), and a tagged field that no reader knows, with a tag of two bytes.
    voters = [{"VoterId": n, "VoterDirectoryId": id_, "TaggedFields": []} for n, id_ in enumerate(DIRECTORY_IDS, 1)]
    tagged: list[dict[str, object]] = [{"Tag": 300, "Data": b"later"}]
    values = {"LeaderId": 2, "Voters": voters, "GrantingVoters": voters[:1], "TaggedFields": tagged}
    accounts: list[Plain] = [
        {"voter_id": n, "voter_directory_id": id_.hex(), "tagged_fields": NO_FIELDS}
        for n, id_ in enumerate(DIRECTORY_IDS, 1)
    ]
    message: dict[str, Plain] = {
        "leader_id": 2,
        "num_voters": 3,
        "voters": accounts,
        "num_granting_voters": 2,
        "granting_voters": accounts[:1],
        "tagged_fields": {"num_fields": 1, "fields": [{"tag": 300, "len_data": 5, "data": b"later".hex()}]},
    }
    fields: dict[str, Plain] = {"version": 1, "coordinator_epoch": None, "message": message, "unknown": ""}
    data = bytes(wire.LEADER_CHANGE_MESSAGE_1.build(values))
    return _piece("kafka_control_value", "leader_change_1", data, fields, CONTROL_TYPES["leader_change"])


NO_FIELDS: dict[str, Plain] = {"num_fields": 0, "fields": []}


def _value_account(name: str) -> dict[str, Plain]:
    epoch = None if name in KRAFT_VALUES else COORDINATOR_EPOCH
    message = _named(KRAFT_VALUES[name][1]) if name in KRAFT_VALUES else None
    return {"version": 0, "coordinator_epoch": epoch, "message": message, "unknown": ""}


def _named(values: dict[str, object]) -> dict[str, Plain]:
    """Return the fields of a structure as `kafka_control_value` names them."""
    account: dict[str, Plain] = {}
    for name, value in values.items():
        ours = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()
        if isinstance(value, list):
            account |= {f"num_{ours}": len(value) + 1, ours: [_named(item) for item in value]}
        elif isinstance(value, dict):
            account[ours] = _named(value)
        elif isinstance(value, bytes) and name in {"Name", "Host"}:
            account |= {f"len_{ours}": len(value) + 1, ours: value.decode()}
        else:
            account[ours] = value.hex() if isinstance(value, bytes) else value  # type: ignore[assignment]
    return account | {"tagged_fields": NO_FIELDS}


def _piece(spec: str, name: str, data: bytes, fields: dict[str, Plain], *params: int) -> Sample:
    """Return a control key or value in a file of its own, which Kafka never writes."""
    part = spec.rpartition("_")[2]
    unit = Unit(spec, 0, len(data), fields, params=params)
    path = f"kafka/control-{part}-{name.replace('_', '-')}.bin"
    return Sample(path, f"the {part} of a control record of type {name}", data, (unit,))
