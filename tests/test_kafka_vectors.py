"""Kafka segments that others wrote, against what Kafka 4.3.0 itself reads from them."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import thawline
from thawline.model import Finding

VECTORS = Path(os.environ.get("THAWLINE_VECTORS") or Path(__file__).parents[2] / "shared" / "vectors") / "kafka"
FOLDERS = ("java-kafka-clients-4.3.0", "crafted-codec-framing", "crafted-legacy")
TYPES = {"CreateTime": 0, "LogAppendTime": 1, "NoTimestampType": -1}
REFUSED = {
    "damage_magic3_batch1": {"KAF105": "Kafka's file reader takes any magic above 1 for 2; no checksum covers it"},
    "v1_wrapper_inner_bad_crc": {"KAF110": "Kafka does not look at the checksums of messages in a wrapper"},
}
"""Where Kafka reads records that we do not return, and why."""


def cases(*folders: str) -> list[Any]:
    found = [path for folder in folders for path in sorted((VECTORS / folder).glob("*.log"))]
    return [pytest.param(path, id=path.stem) for path in found]


def read(path: Path) -> tuple[list[dict[str, Any]], list[Finding]]:
    with thawline.open(path, "kafka", control=True) as cold:
        names = [*cold.schema.names, "sequence", "batch_start", "timestamp_ms"]
        rows = [row for batch in cold.batches(names) for row in batch.to_pylist()]
        return rows, list(cold.findings())


def as_kafka_tells(row: dict[str, Any]) -> dict[str, Any]:
    return {
        "offset": row["offset"],
        "timestamp": row["timestamp_ms"],
        "sequence": -1 if row["sequence"] is None else row["sequence"],
        "key": _hex(row["key"]),
        "value": _hex(row["value"]),
        "headers": [[header["key"], _hex(header["value"])] for header in row["headers"]],
    }


def _hex(value: bytes | None) -> str | None:
    return None if value is None else value.hex()


def batches(path: Path, expected: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Batches of which Kafka reads the records, and we should."""
    for batch in expected["batches"]:
        is_right = batch["valid"] and "recordError" not in batch
        if is_right and not (path.stem in REFUSED and batch["position"] in _refused(path)):
            yield batch


def _refused(path: Path) -> list[int]:
    return [finding.span.start for finding in read(path)[1] if finding.code.id in REFUSED[path.stem]]


@pytest.mark.parametrize("path", cases(*FOLDERS))
def test_records_are_those_that_kafka_reads(path: Path) -> None:
    expected = json.loads(path.with_suffix(".expected.json").read_text())
    rows, findings = read(path)
    told = list(batches(path, expected))
    for batch in told:
        found = [row for row in rows if row["batch_start"] == batch["position"]]
        assert [as_kafka_tells(row) for row in found] == batch["records"]
        assert {row["timestampType"] for row in found} <= {TYPES[batch["timestampType"]]}
    bad = {finding.span.start for finding in findings if finding.severity == "error"}
    assert bad.isdisjoint(batch["position"] for batch in told)


@pytest.mark.parametrize("path", cases(*FOLDERS))
def test_what_kafka_refuses_is_a_finding(path: Path) -> None:
    expected = json.loads(path.with_suffix(".expected.json").read_text())
    findings = read(path)[1]
    refused = [batch for batch in expected["batches"] if not batch["valid"] or "recordError" in batch]
    for batch in refused:
        assert batch["position"] in [finding.span.start for finding in findings if finding.severity == "error"]
    if expected["error"] or expected["validBytes"] < expected["fileBytes"]:
        assert findings


def test_every_difference_to_kafka_is_one_that_is_listed(vectors: Path) -> None:
    for name, codes in REFUSED.items():
        (path,) = (path for folder in FOLDERS for path in (vectors / "kafka" / folder).glob(f"{name}.log"))
        assert {finding.code.id for finding in read(path)[1]} == set(codes)


def test_damage_costs_one_batch_where_kafka_loses_the_rest(vectors: Path) -> None:
    folder = vectors / "kafka" / FOLDERS[0]
    whole = [row["offset"] for row in read(folder / "damage_none.log")[0]]
    assert whole == list(range(15))
    for name in ("bitflip_batch1_payload", "magic3_batch1", "zeroed_header_batch1"):
        rows, findings = read(folder / f"damage_{name}.log")
        assert [row["offset"] for row in rows] == [*range(5), *range(10, 15)]
        (finding,) = findings
        assert (finding.span.start, finding.span.end) == (332, 486)
        assert finding.detail["broker"] == "would truncate here and lose 1 intact batch, offsets 10 to 14"


def test_zeros_to_the_end_are_a_note_and_a_torn_batch_is_an_error(vectors: Path) -> None:
    folder = vectors / "kafka" / FOLDERS[0]
    codes = {}
    for path in folder.glob("damage_*.log"):
        codes[path.stem] = [(finding.code.id, finding.severity) for finding in read(path)[1]]
    assert codes["damage_zero_tail_preallocated"] == [("KAF301", "note")]
    for cut in ("mid_header", "mid_record", "prefix"):
        assert codes[f"damage_truncated_{cut}"] == [("KAF102", "error")]


CLIENTS = {
    "kafka-python/control_batch_data_v2.bin": ["KAF101"],  # its stored checksum is wrong
    "kafka-python/record_batch_data_v2.bin": ["KAF201", "KAF202"],  # batches of several logs, one behind the other
    "sarama/overflowMessageFetchResponse.records.bin": ["KAF102"],  # fetch responses end in the middle of a message
    "sarama/partialFetchResponse.records.bin": ["KAF102"],
    "kafka-rust/fetch2.mytopic.nocompression.invalid_crc.kafka.0900.records.bin": ["KAF101"],
    "kafkajs/recordBatch_v0_recordbatch_zstd.bin": ["KAF108"],  # zstd under codec bits that say none
}
"""Files of other clients' test suites that are not clean, and what is found in them."""


def clients() -> list[Any]:
    listed = json.loads((VECTORS / "MANIFEST.json").read_text()) if VECTORS.is_dir() else []
    return [pytest.param(entry, id=entry["file"]) for entry in listed if entry["kind"] == "records"]


@pytest.mark.parametrize("entry", clients())
def test_record_sets_of_other_clients_are_read(entry: dict[str, Any]) -> None:
    rows, findings = read(VECTORS / entry["file"])
    assert sorted(finding.code.id for finding in findings) == CLIENTS.get(entry["file"], [])
    if "expect" in entry:
        assert [[_text(row["key"]), _text(row["value"])] for row in rows] == entry["expect"]


def _text(value: bytes | None) -> str | None:
    return None if value is None else value.decode()
