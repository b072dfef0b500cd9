from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from accounts import Golden, golden_files
from hypothesis import given, settings
from hypothesis import strategies as st
from partitions import (
    batch,
    codes,
    findings,
    index,
    log,
    named,
    positions,
    segment_files,
    snapshot,
    three_segments,
    time_index,
    transactional,
    txn_index,
    written,
)
from thawline.generated.tables.kafka import TABLES

from thawline.formats.contract import Depth
from thawline.formats.kafka import Kafka, sidecars
from thawline.formats.kafka.sidecars import SIDECARS, BadText, sidecar_of
from thawline.model import Finding, Run, report
from thawline.source import LocalSource
from tools.damage import damages
from tools.samples.kafka import wire
from tools.samples.kafka.entries import START, Message

INDEX, TIME_INDEX, TXN_INDEX, SNAPSHOT = SIDECARS
SIDE_FILES = [golden for golden in golden_files("kafka") if sidecar_of(golden.name)]
each_side_file = pytest.mark.parametrize("golden", SIDE_FILES, ids=lambda golden: golden.name)
FIELDS = {"index": "entries", "timeindex": "entries", "txnindex": "entries", "producers": "producers"}


def scanned(data: bytes, name: str) -> list[Run | Finding]:
    source = LocalSource(name, data)
    kind = sidecar_of(name)
    assert kind is not None
    items = list(kind.walk(source, Depth.EVERYTHING))
    assert report(name, "kafka", len(data), items).size == len(data)  # which refuses gaps and overlaps
    return items


def parts(data: bytes, name: str) -> list[pa.RecordBatch]:
    kind, source = sidecar_of(name), LocalSource(name, data)
    assert kind is not None
    runs = [item for item in kind.walk(source, Depth.EVERYTHING) if isinstance(item, Run)]
    reading = kind.rows(source, runs, kind.table, TABLES[kind.table].schema.names)
    return [part for item in reading if not isinstance(item, Finding) for part in item[1]]


def rows(data: bytes, name: str) -> list[dict[str, Any]]:
    return [row for part in parts(data, name) for row in part.to_pylist()]


def bad(data: bytes, name: str) -> list[tuple[str, int, int, int]]:
    """Code, span and number of entries of each finding."""
    return [
        (item.code.id, item.span.start, item.span.end, item.detail.get("entries", 0))  # type: ignore[misc]
        for item in scanned(data, name)
        if isinstance(item, Finding)
    ]


def offsets(*pairs: tuple[int, int]) -> bytes:
    return bytes(wire.OFFSET_INDEX.build([{"relativeOffset": a, "physicalPosition": b} for a, b in pairs]))


def times(*pairs: tuple[int, int]) -> bytes:
    return bytes(wire.TIME_INDEX.build([{"timestamp": a, "relativeOffset": b} for a, b in pairs]))


# Golden files, whole and damaged.


@each_side_file
def test_a_golden_side_file_has_the_rows_of_its_account(golden: Golden) -> None:
    kind = sidecar_of(golden.name)
    assert kind is not None
    expected = golden.account["units"][0]["fields"][FIELDS[kind.table]]
    found = rows(golden.data, golden.name)
    if golden.name == "kafka/preallocated.index":
        assert bad(golden.data, golden.name) == [("KAF301", 24, 64, 0)]
        expected = expected[:3]
    else:
        assert bad(golden.data, golden.name) == []
    assert len(found) == len(expected)
    for row, entry in zip(found, expected, strict=True):
        for name in row.keys() & entry.keys() - {"timestamp", "current_txn_first_offset"}:
            assert row[name] == entry[name]
        if "timestamp" in row:
            assert round(row["timestamp"].timestamp() * 1000) == entry["timestamp"]
        if "current_txn_first_offset" in row:
            assert (row["current_txn_first_offset"] or -1) == entry["current_txn_first_offset"]


@each_side_file
def test_every_byte_of_a_damaged_side_file_is_accounted_for(golden: Golden) -> None:
    for seed in range(6):
        for damage in damages(golden.data, seed):
            runs = [item for item in scanned(damage.data, golden.name) if isinstance(item, Run)]
            assert sum(part.num_rows for part in parts(damage.data, golden.name)) == sum(run.rows for run in runs)


@each_side_file
def test_units_tile_the_runs_and_their_spec_reads_them(golden: Golden) -> None:
    from thawline import specs  # noqa: PLC0415 - only here

    kind = sidecar_of(golden.name)
    assert kind is not None
    for run in scanned(golden.data, golden.name):
        if isinstance(run, Run):
            spans = list(kind.units(LocalSource(golden.name, golden.data), run))
            assert len(spans) == run.units
            assert sum(span.size for span in spans) == run.span.size
            for span in spans:
                specs.parse(
                    kind.spec_at(LocalSource(golden.name, golden.data), span.start), golden.data[span.start : span.end]
                )


# Names and claims.


def test_the_name_says_the_offset_that_entries_count_from() -> None:
    found = rows(offsets((3, 40)), "orders-0/00000000000000000362.index")
    assert found == [{"offset": 365, "relative_offset": 3, "position": 40}]
    assert rows(offsets((3, 40)), "some.index")[0]["offset"] is None
    assert rows(offsets((3, 40)), "00000000000000000362.index.deleted")[0]["offset"] == 365
    assert rows(offsets((3, 40)), "99999999999999999999.index")[0]["offset"] is None


@pytest.mark.parametrize(
    ("name", "data", "confidence", "table"),
    [
        ("00000000000000000362.index", b"", "likely", "index"),
        ("00000000000000000362.timeindex", times((5, 1)), "likely", "timeindex"),
        ("some.txnindex", txn_index((7, 1, 2)), "possible", "txnindex"),
        ("some.snapshot", snapshot(), "certain", "producers"),
        ("00000000000000000362.snapshot", snapshot()[:-1], "likely", "producers"),
    ],
)
def test_a_side_file_is_claimed_by_its_name(name: str, data: bytes, confidence: str, table: str) -> None:
    claim = Kafka().claim(LocalSource(name, data))
    assert claim is not None
    assert (claim.confidence, claim.table) == (confidence, table)


def test_other_names_are_not_claimed() -> None:
    for name in ("x.log", "index", "leader-epoch-checkpoint", "x.index.bak"):
        assert Kafka().claim(LocalSource(name, offsets((1, 2)))) is None
    for name in ("x.index", "x.timeindex", "x.txnindex", "x.snapshot"):
        assert Kafka().claim(LocalSource(name, b"somebody else's index, in text")) is None
        assert Kafka().claim(LocalSource(name, b"")) is None


# Damage to files by themselves.


def test_one_wrong_entry_costs_one_entry() -> None:
    good = [(n * 10, n * 500) for n in range(1, 8)]
    for row in range(1, 7):
        for wrong in ((2**31 - 1, good[row][1]), (good[row][0], 2**31 - 1), (0, 0), (-5, good[row][1])):
            is_possible = (row == 6 and wrong[1] >= 0 < wrong[0]) or (row == 1 and wrong == (0, 0))
            is_unwritten = row == 6 and wrong == (0, 0)
            if not is_possible and not is_unwritten:
                data = offsets(*good[:row], wrong, *good[row + 1 :])
                assert bad(data, "x.index") == [("KAF120", 8 * row, 8 * row + 8, 1)]


def test_the_last_entry_of_a_block_is_judged_by_the_one_behind_it() -> None:
    count = 20_000  # a kernel's chunk has 16,384
    entries = [(n, n * 100) for n in range(1, count)]
    entries[16_383] = (2**31 - 1, entries[16_383][1])
    assert bad(offsets(*entries), "x.index") == [("KAF120", 8 * 16_383, 8 * 16_384, 1)]


def test_a_file_that_ends_inside_an_entry_costs_that_entry() -> None:
    assert bad(offsets((1, 40), (2, 80))[:-3], "x.index") == [("KAF120", 8, 13, 1)]
    assert bad(times((5, 1), (6, 2))[:-3], "x.timeindex") == [("KAF121", 12, 21, 1)]
    assert bad(txn_index((7, 0, 3), (7, 4, 6))[:-1], "x.txnindex") == [("KAF122", 34, 67, 1)]


def test_zeros_behind_the_last_entry_are_preallocation_whatever_their_number() -> None:
    for zeros in (1, 7, 8, 80, 10_000_000):
        data = offsets((1, 256), (2, 65536))
        assert bad(data + bytes(zeros), "x.index") == [("KAF301", 16, 16 + zeros, 0)]
    assert bad(bytes(10_485_756), "x.timeindex") == [("KAF301", 0, 10_485_756, 0)]
    assert len(rows(offsets((0, 0), (2, 80)), "x.index")) == 2


def test_timestamps_rise_and_their_offsets_may_stay() -> None:
    assert bad(times((5, 1), (6, 1), (7, 4)), "x.timeindex") == []
    assert bad(times((5, 1), (5, 2), (7, 4), (8, 5)), "x.timeindex") != []
    assert bad(times((5, 1), (6, 900), (7, 4), (8, 5)), "x.timeindex") == [("KAF121", 12, 24, 1)]


def test_an_aborted_transaction_of_another_version_or_without_data_is_damage() -> None:
    data = bytearray(txn_index((7, 0, 3), (7, 4, 6), (8, 5, 9)))
    data[34 + 1] = 1
    assert bad(bytes(data), "x.txnindex") == [("KAF122", 34, 68, 1)]
    assert [row["last_offset"] for row in rows(bytes(data), "x.txnindex")] == [3, 9]
    assert bad(txn_index((7, 3, 3)), "x.txnindex") == [("KAF122", 0, 34, 1)]
    assert bad(txn_index((-1, 1, 3)), "x.txnindex") == [("KAF122", 0, 34, 1)]


def test_no_byte_of_a_snapshot_can_change_unnoticed() -> None:
    data = snapshot({"ProducerId": 7, "LastOffset": 5})
    for at in range(len(data)):
        damaged = data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]
        assert bad(damaged, "x.snapshot") == [("KAF123", 0, len(data), 0)]
        assert rows(damaged, "x.snapshot") == []
    for size in range(len(data)):
        assert [item[0] for item in bad(data[:size], "x.snapshot")] == ["KAF123"]


@given(st.lists(st.tuples(st.integers(1, 50), st.integers(1, 5000)), max_size=30), st.integers(0, 40))
@settings(max_examples=60, deadline=None)
def test_an_index_that_rises_is_intact(steps: list[tuple[int, int]], zeros: int) -> None:
    pairs, total = [], (0, 0)
    for step in steps:
        total = (total[0] + step[0], total[1] + step[1])
        pairs.append(total)
    data = offsets(*pairs)
    found = rows(data + bytes(zeros), "x.index")
    assert [(row["relative_offset"], row["position"]) for row in found] == pairs


# Text files.


@pytest.mark.parametrize(
    "data",
    [
        b"", b"1\n0\n", b"0\n", b"0\nx\n", b"0\n2\n0 0\n", b"0\n1\n0 0\n1 5\n", b"0\n1\n0\n", b"0\n1\n0 0 0\n",
        b"0\n1\n-1 0\n", b"0\n2\n1 0\n1 5\n", b"0\n2\n0 5\n1 4\n", b"0\n1\n0 0\n\n", b"0\n1\n0 \xff\n",
        b"0\n1\n0 9999999999999999999\n", b"0\n1\n 0 0\n", bytes(20),
    ],
)  # fmt: skip
def test_a_leader_epoch_checkpoint_that_kafka_would_not_write_is_refused(data: bytes) -> None:
    with pytest.raises(BadText):
        sidecars.leader_epochs(data)


def test_a_leader_epoch_checkpoint_is_read_with_and_without_its_last_line_feed() -> None:
    assert sidecars.leader_epochs(b"0\n0\n") == []
    assert sidecars.leader_epochs(b"0\n2\n0 0\n7 120") == sidecars.leader_epochs(b"0\n2\n0 0\n7 120\n")


@pytest.mark.parametrize(
    "data",
    [
        b"", b"version: 1\ntopic_id: p59PN4qkR8y176nhuDDPPA", b"version: 0\n", b"topic_id: p59PN4qkR8y176nhuDDPPA",
        b"version: 0\ntopic_id: p59PN4qkR8y176nhuDDPP", b"version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAAA",
        b"version: 0\ntopic_id: p59PN4qkR8y176nhuDDPP!", b"version: 0\ntopic_id: p59PN4qkR8y176nhuDDPPA\n\n",
    ],
)  # fmt: skip
def test_a_partition_metadata_that_kafka_would_not_write_is_refused(data: bytes) -> None:
    with pytest.raises(BadText):
        sidecars.topic_id(data)


# Against the segment.

BATCHES = [batch(0), batch(4), batch(8), batch(12)]


def with_files(folder: Path, **changed: bytes) -> Iterator[tuple[str, str, Any]]:
    files = {named(0, "log"): log(BATCHES), "leader-epoch-checkpoint": b"0\n1\n0 0\n"} | {
        named(0, "index"): index(0, BATCHES),
        named(0, "timeindex"): time_index(0, BATCHES),
    }
    files |= {named(0, kind): data for kind, data in changed.items()}
    for name, finding in findings(written(folder / "orders-0", files)):
        yield name, finding.code.id, finding.detail


def test_index_files_that_fit_have_no_finding(tmp_path: Path) -> None:
    assert list(with_files(tmp_path)) == []


def test_an_entry_that_points_between_batches_is_found(tmp_path: Path) -> None:
    at = positions(BATCHES)
    ((name, code, detail),) = with_files(tmp_path, index=offsets((7, at[1]), (11, at[2] + 1), (15, at[3] + 1)))
    assert (name, code, detail["entries"], detail["at"]) == (named(0, "index"), "KAF120", 2, 8)
    assert detail["reason"] == "no batch starts at its position"


def test_an_entry_whose_offset_would_make_readers_skip_records_is_found(tmp_path: Path) -> None:
    at = positions(BATCHES)
    ((_, code, detail),) = with_files(tmp_path, index=offsets((3, at[1]), (11, at[2])))
    assert (code, detail["offset"], detail["position"]) == ("KAF120", 3, at[1])


def test_an_entry_may_name_the_last_offset_of_several_batches(tmp_path: Path) -> None:
    at = positions(BATCHES)  # KAFKA-806: position of the first, offset of the last
    assert list(with_files(tmp_path, index=offsets((11, at[1]), (15, at[3])))) == []
    assert list(with_files(tmp_path, index=offsets((4, at[1]), (8, at[2])))) == []  # before 0.10.1: its first offset
    ((_, code, detail),) = with_files(tmp_path, index=offsets((11, at[1]), (16, at[3])))
    assert (code, detail["reason"]) == ("KAF120", "the segment has no such offset")


def test_an_index_tells_that_its_segment_was_cut(tmp_path: Path) -> None:
    found = list(with_files(tmp_path, log=log(BATCHES[:2])))
    reasons = {(code, detail["reason"]) for _, code, detail in found}
    assert ("KAF120", "it points beyond the end of the segment, which was cut") in reasons
    assert ("KAF121", "the segment has no such offset") in reasons


def test_a_timestamp_that_no_batch_has_is_found(tmp_path: Path) -> None:
    wrong = times((START + 3, 3), (START + 6, 7), (START + 15, 15))
    ((name, code, detail),) = with_files(tmp_path, timeindex=wrong)
    assert (name, code, detail["at"], detail["timestamp"]) == (named(0, "timeindex"), "KAF121", 12, START + 6)


def test_a_timestamp_may_be_that_of_a_record_or_of_the_whole_batch(tmp_path: Path) -> None:
    assert list(with_files(tmp_path, timeindex=times((START + 3, 1), (START + 7, 7), (START + 15, 12)))) == []


def test_messages_without_a_timestamp_have_an_empty_time_index(tmp_path: Path) -> None:
    old = [Message(magic=0, offset=n, value=b"old") for n in range(4)]
    data = b"".join(message.build() for message in old)
    assert list(with_files(tmp_path, log=data, index=b"", timeindex=b"")) == []


def test_damage_to_the_segment_is_not_held_against_its_index(tmp_path: Path) -> None:
    data, at = bytearray(log(BATCHES)), positions(BATCHES)
    for place in range(at[1], at[1] + 40):
        damaged = bytes(data[:place]) + bytes([data[place] ^ 0x55]) + bytes(data[place + 1 :])
        found = [code for _, code, _ in with_files(tmp_path, log=damaged)]
        assert found == (["KAF205"] if 12 <= place - at[1] < 16 else [])  # no checksum covers the leader epoch


def test_a_snapshot_of_what_producers_wrote_fits(tmp_path: Path) -> None:
    first = [transactional(0, 7, 4), batch(4, 4, producer_id=8, producer_epoch=0, base_sequence=0)]
    second = [batch(8)]
    files = segment_files(0, first) | segment_files(8, second) | {"leader-epoch-checkpoint": b"0\n1\n0 0\n"}
    right = snapshot({"ProducerId": 7, "LastOffset": 3, "CurrentTxnFirstOffset": 0}, {"ProducerId": 8, "LastOffset": 7})
    assert codes(written(tmp_path / "orders-0", {**files, named(8, "snapshot"): right})) == [("", "KAF303")]


@pytest.mark.parametrize(
    "producer",
    [
        {"ProducerId": 7, "LastOffset": 2, "CurrentTxnFirstOffset": 0},
        {"ProducerId": 7, "LastOffset": 3},
        {"ProducerId": 8, "LastOffset": 7, "CurrentTxnFirstOffset": 4},
        {"ProducerId": 9, "LastOffset": 5},
        {"ProducerId": 8, "LastOffset": 11},
    ],
)
def test_a_snapshot_of_what_nobody_wrote_is_found(tmp_path: Path, producer: dict[str, int]) -> None:
    first = [transactional(0, 7, 4), batch(4, 4, producer_id=8, producer_epoch=0, base_sequence=0)]
    files = segment_files(0, first) | segment_files(8, [batch(8)]) | {named(8, "snapshot"): snapshot(producer)}
    found = codes(written(tmp_path / "orders-0", files))
    assert (named(8, "snapshot"), "KAF206") in found


def test_a_snapshot_inside_a_segment_is_compared_with_what_lies_before_it(tmp_path: Path) -> None:
    log_ = [batch(n, 4, producer_id=8, producer_epoch=0, base_sequence=0) for n in (0, 4, 8)]
    right, wrong = ({"ProducerId": 8, "LastOffset": last} for last in (7, 3))
    for producer, expected in ((right, []), (wrong, [(named(8, "snapshot"), "KAF206")])):
        files = segment_files(0, log_) | {named(8, "snapshot"): snapshot(producer)}
        assert codes(written(tmp_path / "orders-0", files)) == expected


def test_compaction_takes_batches_and_no_snapshot_is_blamed(tmp_path: Path) -> None:
    thin = [batch(0, 1), batch(6, 2)]
    files = segment_files(0, thin) | segment_files(8, [batch(8)])
    files[named(8, "snapshot")] = snapshot({"ProducerId": 9, "LastOffset": 5})
    assert codes(written(tmp_path / "orders-0", files)) == []


def test_leader_epochs_are_compared_with_the_batches(tmp_path: Path) -> None:
    epochs = [batch(n, leader_epoch=n // 4) for n in (0, 4, 8)]
    files = segment_files(0, epochs)
    for text, expected in (
        (b"0\n3\n0 0\n1 4\n2 8\n", []),
        (b"0\n2\n1 4\n2 8\n", []),  # the first one forgotten
        (b"0\n3\n0 0\n1 4\n2 9\n", [("leader-epoch-checkpoint", "KAF205")]),
        (b"0\n4\n0 0\n1 4\n2 8\n3 12\n", []),  # a leader that has not written yet
        (b"0\n1\n0 x\n", [("leader-epoch-checkpoint", "KAF124")]),
    ):
        assert codes(written(tmp_path / "orders-0", {**files, "leader-epoch-checkpoint": text})) == expected


def test_a_damaged_partition_metadata_is_found(tmp_path: Path) -> None:
    files = {**three_segments(), "partition.metadata": b"version: 0\ntopic_id: short"}
    assert codes(written(tmp_path / "orders-0", files)) == [("partition.metadata", "KAF125")]
