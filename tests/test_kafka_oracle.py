"""Kafka's own reader against what KafkaSegmentWriter wrote, and against the golden files and vectors: `make oracle`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from accounts import Golden, golden_files
from kafka_oracle import Oracle, oracle, oracle_records, unhex
from kafka_written import BATCHES, CODECS, START, Written, append_all, numbered, write_everything

import thawline
from thawline.formats.kafka.write import KafkaSegmentWriter
from thawline.verbs.salvage import salvage
from tools.samples.kafka.batches import MANY

TIMESTAMP_TYPES = {"create_time": "CreateTime", "log_append_time": "LogAppendTime"}
SEGMENTS = [golden for golden in golden_files("kafka") if golden.account["file_spec"] == "kafka_segment"]
STREAMS_END_TO_END = "xerial_concatenated_streams", "snappy-xerial-streams"


@pytest.fixture(scope="session")
def kafka() -> Oracle:
    return oracle()


def records_of(path: Path) -> list[Written]:
    return [
        Written(record["offset"], record["timestamp"], record["key"], record["value"], tuple(record["headers"]))
        for record in oracle_records(path)
    ]


@pytest.mark.parametrize("compression", CODECS)
def test_kafka_reads_every_record_as_it_was_appended(kafka: Oracle, compression: str, tmp_path: Path) -> None:
    path = tmp_path / "00000000000000000000.log"
    written = write_everything(path, compression)
    assert records_of(path) == list(written)
    size = path.stat().st_size
    assert kafka.verify(path) == {"batches": len(BATCHES), "validBytes": size, "fileBytes": size, "error": None}


@pytest.mark.parametrize("compression", CODECS)
def test_kafka_reads_the_heads_as_they_were_meant(kafka: Oracle, compression: str, tmp_path: Path) -> None:
    path = tmp_path / "00000000000000000000.log"
    write_everything(path, compression)
    read = kafka.read(path)["batches"]
    for batch, expected in zip(read, BATCHES, strict=True):
        assert batch["valid"]
        assert (batch["baseOffset"], batch["lastOffset"]) == expected["offsets"]
        assert (batch["producerId"], batch["producerEpoch"], batch["baseSequence"]) == expected["producer"]
        assert batch["transactional"] == expected.get("is_transactional", False)
        assert batch["control"] == ("marker" in expected)
        assert batch["leaderEpoch"] == expected.get("leader_epoch", 5)
        assert batch["codec"] == ("none" if batch["control"] else compression)
        assert batch["count"] == len(batch["records"]) == batch["lastOffset"] - batch["baseOffset"] + 1
    sequences = [record["sequence"] for batch in read[2:4] for record in batch["records"]]
    assert sequences == [2**31 - 2, 2**31 - 1, 0, 1, 2, 3, 4]


@pytest.mark.parametrize("compression", CODECS)
def test_kafka_gives_every_record_of_a_batch_the_brokers_time(kafka: Oracle, compression: str, tmp_path: Path) -> None:
    path = tmp_path / "segment.log"
    options: Any = {"timestamp_type": "log_append_time", "compression": compression}
    with KafkaSegmentWriter(path, **options) as writer:
        for offset in range(10):
            writer.append(value=b"%d" % offset, timestamp=START + offset // 4)
    assert [batch["timestampType"] for batch in kafka.read(path)["batches"]] == ["LogAppendTime"] * 3
    assert [record.timestamp for record in records_of(path)] == [START + offset // 4 for offset in range(10)]


@pytest.mark.parametrize("compression", CODECS)
def test_kafka_reads_many_batches_of_many_records(kafka: Oracle, compression: str, tmp_path: Path) -> None:
    path = tmp_path / "segment.log"
    with KafkaSegmentWriter(path, compression=compression, batch_bytes=200_000) as writer:
        append_all(writer, numbered(50, 20_000, b"x" * 40))
    assert kafka.verify(path)["batches"] > 3
    assert records_of(path) == list(numbered(50, 20_000, b"x" * 40))


def test_kafka_sees_a_flipped_bit(kafka: Oracle, tmp_path: Path) -> None:
    path = tmp_path / "segment.log"
    with KafkaSegmentWriter(path, batch_records=10) as writer:
        append_all(writer, numbered(0, 30))
    data = bytearray(path.read_bytes())
    start = kafka.read(path)["batches"][1]["position"]
    data[start + 100] ^= 1
    path.write_bytes(data)
    found = kafka.verify(path)
    assert (found["batches"], found["validBytes"]) == (1, start)
    assert "Record is corrupt" in found["error"]


@pytest.mark.parametrize("golden", SEGMENTS, ids=lambda golden: golden.name)
def test_kafka_reads_the_golden_files_as_their_accounts_say(kafka: Oracle, golden: Golden) -> None:
    read = kafka.read(golden.file)
    assert read["error"] is None
    for batch, unit in zip(read["batches"], golden.account["units"], strict=True):
        assert (batch["position"], batch["position"] + batch["size"]) == (unit["start"], unit["end"])
        assert batch["valid"]
        assert batch | head_of(unit) == batch
        if not is_unreadable(kafka, golden.name):
            assert batch["records"] == list(contents_of(unit)), batch.get("recordError")


def is_unreadable(kafka: Oracle, name: str) -> bool:
    return not kafka.reads_streams_end_to_end and any(part in name for part in STREAMS_END_TO_END)


def head_of(unit: dict[str, Any]) -> dict[str, Any]:
    """What an account says of a batch's head, as Kafka calls it."""
    body = unit["fields"]["body"]
    attributes = body["attributes"]
    head = {"magic": body["magic"], "crc": body["crc"], "codec": attributes["compression"]}
    if unit["spec"] == "kafka_message":
        return head
    base_offset, horizon = (
        unit["fields"]["base_offset"],
        body["base_timestamp"] if attributes["has_delete_horizon"] else None,
    )
    return head | {
        "baseOffset": base_offset,
        "lastOffset": base_offset + body["last_offset_delta"],
        "count": body["num_records"],
        "timestampType": TIMESTAMP_TYPES[attributes["timestamp_type"]],
        "maxTimestamp": body["max_timestamp"],
        "producerId": body["producer_id"],
        "producerEpoch": body["producer_epoch"],
        "baseSequence": body["base_sequence"],
        "transactional": attributes["is_transactional"],
        "control": attributes["is_control"],
        "leaderEpoch": body["partition_leader_epoch"],
        "deleteHorizonMs": horizon,
    }


def contents_of(unit: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The records of a batch, or the messages of a wrapper, as Kafka shows them."""
    fields, body = unit["fields"], unit["fields"]["body"]
    if unit["spec"] == "kafka_record_batch":
        yield from (
            _record(fields["base_offset"], body, record["body"]) for record in unit["content"]["fields"]["records"]
        )
    elif "content" in unit:
        inner = [entry["unit"] for entry in unit["content"]["fields"]["entries"]]
        # Magic 1 stores offsets that count from the first; 0 was written by clients that left the rest to the broker.
        shift = fields["offset"] - inner[-1]["offset"] if body["magic"] == 1 and fields["offset"] else 0
        yield from (_message(message, message["offset"] + shift, body) for message in inner)
    else:
        yield _message(fields, fields["offset"], body)


def _record(base_offset: int, batch: dict[str, Any], record: dict[str, Any]) -> dict[str, Any]:
    is_append_time = batch["attributes"]["timestamp_type"] == "log_append_time"
    sequence = batch["base_sequence"]
    return {
        "offset": base_offset + record["offset_delta"],
        "timestamp": batch["max_timestamp"] if is_append_time else batch["base_timestamp"] + record["timestamp_delta"],
        "sequence": sequence if sequence < 0 else (sequence + record["offset_delta"]) % 2**31,
        "key": record["key"],
        "value": record["value"],
        "headers": [
            [(unhex(header["key"]) or b"").decode(errors="replace"), header["value"]] for header in record["headers"]
        ],
    }


def _message(message: dict[str, Any], offset: int, outer: dict[str, Any]) -> dict[str, Any]:
    body = message["body"]
    is_append_time = outer["attributes"]["timestamp_type"] == "log_append_time" and body["magic"] == 1
    timestamp = (outer if is_append_time else body)["timestamp"] if body["magic"] == 1 else -1
    common = {"sequence": -1, "key": body["key"], "value": body["value"], "headers": []}
    return {"offset": offset, "timestamp": timestamp} | common


def test_kafka_reads_the_vectors_as_recorded(kafka: Oracle, vectors: Path) -> None:
    expected_files = sorted((vectors / "kafka").rglob("*.expected.json"))
    assert len(expected_files) > 50
    for file in expected_files:
        if is_unreadable(kafka, file.name):
            continue
        expected = json.loads(file.read_text(encoding="utf-8"))
        read = kafka.read(file.with_name(file.name.removesuffix(".expected.json") + ".log"))
        for key in ("batches", "validBytes", "fileBytes", "error"):
            assert read[key] == expected[key], (file.name, key)


def test_kafka_reads_a_salvaged_segment_where_it_gave_up_on_the_damaged_one(kafka: Oracle, tmp_path: Path) -> None:
    whole = [batch.build() for batch in MANY]
    damaged, kept, recovered = (tmp_path / f"{name}.log" for name in ("damaged", "kept", "recovered"))
    torn = whole[2][:100] + whole[2][150:]
    longer = whole[4][:8] + b"\x7f" + whole[4][9:]
    damaged.write_bytes(b"".join([*whole[:2], torn, whole[3], longer, *whole[5:]]))
    assert kafka.read(damaged)["validBytes"] < len(damaged.read_bytes())
    for target, recover in ((kept, False), (recovered, True)):
        with thawline.open(damaged, "kafka") as cold:
            salvage(cold, target, recover=recover)
        lost = {2} if recover else {2, 4}
        assert kafka.verify(target) == {
            "batches": len(whole) - len(lost),
            "validBytes": target.stat().st_size,
            "fileBytes": target.stat().st_size,
            "error": None,
        }
        offsets = [record.offset for record in records_of(target)]
        assert offsets == [
            batch.base_offset + n for number, batch in enumerate(MANY) if number not in lost for n in range(143)
        ]
