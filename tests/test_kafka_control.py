from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from accounts import GOLDEN
from thawline.generated.tables.kafka import CONTROL

from thawline import specs
from thawline.formats.kafka.transactions import big_endian, control_batches, plain
from thawline.formats.kafka.units import Heads, heads_from
from thawline.formats.kafka.walk import Walk
from thawline.source import LocalSource
from tools.mutants import mutants
from tools.samples.kafka.codings import GZIP
from tools.samples.kafka.entries import START, Batch, Record

COMMIT_KEY = bytes([0, 0, 0, 1])


def control_rows(data: bytes, columns: Sequence[str] = tuple(CONTROL.schema.names)) -> list[dict[str, Any]]:
    source = LocalSource("x.log", data)
    heads = [item for item in Walk(source).items() if isinstance(item, Heads)]
    batches = [batch for item in heads for batch in control_batches(source, item, columns)]
    for batch in batches:
        batch.validate(full=True)
    return [row for batch in batches for row in batch.to_pylist()]


def of_key(key: bytes | None, value: bytes | None = bytes(6), **fields: Any) -> dict[str, Any]:
    batch = Batch(
        records=(Record(key, value),), producer_id=7, producer_epoch=2, is_control=True, is_transactional=True
    )
    (row,) = control_rows(replace(batch, **fields).build())
    return row


def golden(name: str) -> bytes:
    return (GOLDEN / "kafka" / name).read_bytes()


def test_markers_have_type_and_coordinator_epoch() -> None:
    rows = control_rows(golden("transactions.log"))
    assert [(row["offset"], row["type"], row["producer_id"], row["producer_epoch"]) for row in rows] == [
        (3, "abort", 1000, 5),
        (7, "commit", 1001, 1),
    ]
    assert {(row["version"], row["coordinator_epoch"], row["content"]) for row in rows} == {(0, 3, None)}
    assert [row["timestamp"].timestamp() for row in rows] == [(START + 3) / 1000, (START + 7) / 1000]
    assert [row["batch_start"] for row in rows] == [179, 435]


def test_a_leaders_first_batch_says_who_leads_and_who_votes() -> None:
    rows = control_rows(golden("kraft-control.log"))
    assert [(row["offset"], row["type"]) for row in rows] == [
        (0, "leader_change"), (1, "kraft_version"), (2, "kraft_voters"),
    ]  # fmt: skip
    leader, version, voters = (json.loads(row["content"]) for row in rows)
    assert leader == {
        "version": 0,
        "leader_id": 1,
        "voters": [{"voter_id": 1}, {"voter_id": 2}, {"voter_id": 3}],
        "granting_voters": [{"voter_id": 1}, {"voter_id": 3}],
    }
    assert version == {"version": 0, "kraft_version": 1}
    assert [voter["endpoints"] for voter in voters["voters"]] == [
        [{"name": "CONTROLLER", "host": f"controller-{n}", "port": 65535}] for n in (1, 2)
    ]
    # As Kafka's Uuid.toString writes 00 01 .. 0f.
    assert voters["voters"][0]["voter_directory_id"] == "AAECAwQFBgcICQoLDA0ODw"
    assert {row["producer_id"] for row in rows} == {None}
    assert {row["leader_epoch"] for row in rows} == {4}


def test_a_kraft_snapshot_has_header_and_footer() -> None:
    rows = control_rows(golden("00000000000000000100-0000000004.checkpoint"))
    assert [row["type"] for row in rows] == ["snapshot_header", "kraft_version", "kraft_voters", "snapshot_footer"]
    assert json.loads(rows[0]["content"])["last_contained_log_timestamp"] == START
    assert json.loads(rows[-1]["content"]) == {"version": 0}


@pytest.mark.parametrize(
    ("number", "value", "content"),
    [
        (
            2,
            "0001 00000005 02 00000005 00000000000000010000000000000002 00 01 00",
            {
                "version": 1,
                "leader_id": 5,
                "voters": [{"voter_id": 5, "voter_directory_id": "AAAAAAAAAAEAAAAAAAAAAg"}],
                "granting_voters": [],
            },
        ),
        (3, "0000 000000000000007b 00", {"version": 0, "last_contained_log_timestamp": 123}),
        (4, "0000 00", {"version": 0}),
        (5, "0000 0001 00", {"version": 0, "kraft_version": 1}),
        (
            6,
            "0000 02 00000005 00000000000000010000000000000002 02 0b434f4e54524f4c4c4552 0668c3b47374 2385 00"
            + "0000 0001 00 00 00",
            {
                "version": 0,
                "voters": [
                    {
                        "voter_id": 5,
                        "voter_directory_id": "AAAAAAAAAAEAAAAAAAAAAg",
                        "endpoints": [{"name": "CONTROLLER", "host": "hôst", "port": 9093}],
                        "kraft_version_feature": {"min_supported_version": 0, "max_supported_version": 1},
                    }
                ],
            },
        ),
    ],
)
def test_what_kafka_4_3_itself_serialises_is_read(number: int, value: str, content: dict[str, Any]) -> None:
    row = of_key(bytes([0, 0, 0, number]), bytes.fromhex(value))
    assert json.loads(row["content"]) == content


def test_tagged_fields_that_nobody_knows_are_shown() -> None:
    row = of_key(bytes([0, 0, 0, 2]), golden("control-value-leader-change-1.bin"))
    content = json.loads(row["content"])
    assert content["tagged_fields"] == {"fields": [{"tag": 300, "data": "bGF0ZXI"}]}
    assert [voter["voter_directory_id"] for voter in content["granting_voters"]] == ["AAECAwQFBgcICQoLDA0ODw"]


@pytest.mark.parametrize(
    ("key", "shown", "version"),
    [
        (bytes([0, 0, 0, 1]), "commit", 0),
        (bytes([0, 1, 0, 0]), "abort", 1),
        (bytes([0, 0, 0, 99]), "99", 0),
        (bytes([0, 0, 0xFF, 0xFE]), "-2", 0),
        (bytes([0, 0, 0, 1]) + b"later", "commit", 0),
        (bytes([0, 0, 0]), None, None),
        (bytes([0xFF, 0xFF, 0, 1]), None, None),
        (b"", None, None),
        (None, None, None),
    ],
)
def test_a_key_that_kafka_refuses_has_no_type(key: bytes | None, shown: str | None, version: int | None) -> None:
    row = of_key(key)
    assert (row["type"], row["version"]) == (shown, version)
    assert row["coordinator_epoch"] == (0 if shown in {"commit", "abort"} else None)


@pytest.mark.parametrize("value", [None, b"", bytes(5)])
def test_a_marker_with_a_short_value_has_no_epoch(value: bytes | None) -> None:
    row = of_key(COMMIT_KEY, value)
    assert (row["type"], row["coordinator_epoch"], row["value"]) == ("commit", None, value)


def test_epochs_are_signed() -> None:
    assert of_key(COMMIT_KEY, bytes.fromhex("0000 fffffffe"))["coordinator_epoch"] == -2


def test_content_that_breaks_its_spec_or_is_newer_is_null_and_the_bytes_are_there() -> None:
    voters = bytes([0, 0, 0, 6])
    for value in (golden("control-value-kraft-voters.bin")[:-9], b"\x00\x00\xff\xff\xff\xff\xff", b"\x00\x02\x01"):
        row = of_key(voters, value)
        assert (row["type"], row["content"], row["value"]) == ("kraft_voters", None, value)


def test_a_compressed_control_batch_is_read() -> None:
    assert of_key(COMMIT_KEY, coding=GZIP)["type"] == "commit"


def test_a_control_batch_without_records_has_no_rows() -> None:
    assert control_rows(golden("compacted-empty.log")) == []
    assert control_rows(golden("many-records.log")) == []


def test_a_batch_whose_records_do_not_fit_has_no_rows_and_the_others_do() -> None:
    good = Batch(records=(Record(COMMIT_KEY, bytes(6)),), producer_id=7, is_control=True, is_transactional=True)
    torn = replace(good, base_offset=1, records=(Record(COMMIT_KEY, bytes(6)), Record(COMMIT_KEY, bytes(6))))
    rows = control_rows(good.build() + torn.build() + replace(good, base_offset=9).build())
    assert [row["offset"] for row in rows] == [0, 9]  # both records of the second batch have the same delta


def test_only_columns_that_are_asked_for_are_there_in_the_tables_order() -> None:
    assert control_rows(golden("transactions.log"), ["type", "offset"]) == [
        {"offset": 3, "type": "abort"},
        {"offset": 7, "type": "commit"},
    ]


def test_integers_are_taken_from_slices_too() -> None:
    values = pa.array([b"skipped", b"\x00\x01\x02", None, b"\xff\xff", b"\x00"], pa.binary())
    assert big_endian(values.slice(1), 0, "h").to_pylist() == [1, None, -1, None]


def test_no_bytes_break_the_decoding_of_content() -> None:
    for name in ("kraft-voters", "leader-change-1"):
        number = 6 if name == "kraft-voters" else 2
        for mutant in mutants(golden(f"control-value-{name}.bin"), seed=5, count=150):
            root, error = specs.read("kafka_control_value", mutant, number)
            row = of_key(bytes([0, 0, 0, number]), mutant)
            assert row["value"] == mutant
            if row["content"] is not None:
                assert error is None
                assert json.loads(row["content"]) == {"version": root.version, **plain(root.message)}


def test_a_marker_that_a_broker_wrote_is_read(vectors: Path) -> None:
    # Its checksum is wrong (MANIFEST.json), so its head is walked to.
    source = LocalSource("x", (vectors / "kafka/kafka-python/control_batch_data_v2.bin").read_bytes())
    (heads,) = heads_from(source, 0)
    assert isinstance(heads, Heads)
    (batch,) = control_batches(source, heads, ["type", "version", "value"])
    assert batch.to_pylist() == [{"type": "abort", "version": 0, "value": b"opaque-control-message"}]
