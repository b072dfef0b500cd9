from __future__ import annotations

from pathlib import Path

import fsspec
import pytest
from accounts import GOLDEN
from partitions import (
    ABORT,
    COMMIT,
    batch,
    codes,
    findings,
    log,
    marker,
    named,
    reports,
    segment_files,
    snapshot,
    three_segments,
    transactional,
    txn_index,
    written,
)

import thawline
from thawline.errors import SourceError
from thawline.folder import Folder
from thawline.formats.kafka import folder as partition
from thawline.formats.kafka.findings import CODES

CHECKPOINT = "00000000000000000100-0000000004.checkpoint"


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("orders-0", ("orders", 0)),
        ("orders-by-day-12", ("orders-by-day", 12)),
        ("__consumer_offsets-49", ("__consumer_offsets", 49)),
        ("orders.v1-3", ("orders.v1", 3)),
        ("orders-0.67ae01a2b3c4d5e6f708192a3b4c5d6e-delete", ("orders", 0)),
        ("orders-0.67ae01a2b3c4d5e6f708192a3b4c5d6e-future", ("orders", 0)),
        ("orders-0.67ae01a2b3c4d5e6f708192a3b4c5d6e-stray", ("orders", 0)),
        ("orders-delete", (None, None)),
        ("orders-1x", (None, None)),
        ("-3", (None, None)),
        ("backup", (None, None)),
        ("orders-٣", (None, None)),
    ],
)
def test_topic_and_partition_come_from_the_folders_name(name: str, expected: tuple[str, int]) -> None:
    assert partition.topic_partition(name) == expected


def test_a_folder_is_claimed_by_a_segment_in_it(tmp_path: Path) -> None:
    claim = partition.claim_folder(written(tmp_path / "orders-0", {named(0, "log"): b""}))
    assert claim is not None
    assert (claim.confidence, claim.format) == ("certain", "kafka")
    other = partition.claim_folder(written(tmp_path / "backup", {named(0, "log.deleted"): b""}))
    assert other is not None
    assert other.confidence == "likely"
    assert partition.claim_folder(written(tmp_path / "x-0", {"readme.log": b"", named(0, "index"): b""})) is None


def test_segments_are_read_in_the_order_of_their_offsets(tmp_path: Path) -> None:
    folder = written(tmp_path / "orders-0", three_segments())
    assert partition.segments(folder) == [named(0, "log"), named(12, "log"), named(24, "log")]
    assert codes(folder) == []


def test_real_partitions_have_nothing_wrong(vectors: Path) -> None:
    for path in sorted((vectors / "kafka/pinterest-tiered-storage").iterdir()):
        folder = Folder(str(path))
        assert codes(folder) == []
        files = {name for name in folder.files() if not name.endswith(".log")}
        assert set(reports(folder)) == files | {""}


def test_a_partition_behind_a_url_is_the_same() -> None:
    files = fsspec.filesystem("memory")
    files.pipe({f"/logs/orders-0/{name}": data for name, data in three_segments().items()})
    files.pipe({"/logs/log-start-offset-checkpoint": b"0\n1\norders 0 15\n"})
    folder = Folder("memory://logs/orders-0")
    assert partition.segments(folder) == [named(base, "log") for base in (0, 12, 24)]
    assert codes(folder) == [("", "KAF305")]


def rows(folder: Folder, *names: str, **options: object) -> list[tuple[object, ...]]:
    found = thawline.open_folder(folder.path, **options)
    return [tuple(row[name] for name in names) for part in found.batches(names) for row in part.to_pylist()]


def test_transactions_are_those_of_the_whole_partition(tmp_path: Path) -> None:
    first = [transactional(0, 7), transactional(1, 8), batch(2, 1), transactional(3, 9)]
    files = segment_files(0, first) | segment_files(4, [marker(4, 7, ABORT), marker(5, 8, COMMIT), batch(6, 1)])
    folder = written(tmp_path / "orders-by-day-3", files)
    assert rows(folder, "topic", "partition", "offset", "transaction") == [
        ("orders-by-day", 3, offset, outcome)
        for offset, outcome in ((0, "aborted"), (1, "committed"), (2, "none"), (3, "open"), (6, "none"))
    ]
    assert rows(folder, "offset", isolation="read_committed") == [(1,), (2,)]


def test_verify_accounts_for_every_file_of_a_partition(tmp_path: Path) -> None:
    folder = written(tmp_path / "orders-0", three_segments())
    found = [report.file.rpartition("/")[2] for report in thawline.open_folder(folder.path).reports()]
    assert sorted(found) == sorted([*three_segments(), "orders-0"])


def test_side_files_are_tables_of_their_own(tmp_path: Path) -> None:
    folder = written(tmp_path / "orders-0", three_segments())
    with thawline.open(folder.path_of(named(12, "index"))) as cold:
        assert cold.table == "index"
        assert [row["offset"] for part in cold.batches() for row in part.to_pylist()] == [19, 23]
        assert cold.verify().rows == 2
        assert [row["offset"] for part in cold.tail(1) for row in part.to_pylist()] == [23]
    for name, table in ((named(12, "index"), "records"), (named(12, "log"), "index")):
        with (
            thawline.open(folder.path_of(name), table=table) as cold,
            pytest.raises(SourceError, match="holds the table"),
        ):
            list(cold.batches())


# Files in the middle of an operation.


def test_deleted_and_unfinished_files_are_named_and_not_read(tmp_path: Path) -> None:
    files = three_segments() | {named(0, "log.cleaned"): b"", named(36, "log.deleted"): log([batch(36)])}
    folder = written(tmp_path / "orders-0", files)
    assert partition.segments(folder) == [named(base, "log") for base in (0, 12, 24)]
    found = {finding.code.id: finding for _, finding in findings(folder)}
    assert found["KAF302"].detail["named"] == named(36, "log.deleted")
    assert named(36, "log.deleted") in found["KAF302"].hint
    assert (found["KAF207"].detail["named"], found["KAF207"].detail["read"]) == (named(0, "log.cleaned"), "no")


def test_a_swap_file_takes_the_place_of_the_segments_that_it_covers(tmp_path: Path) -> None:
    files = three_segments() | {named(0, "log.swap"): log([batch(0, 2), batch(20, 4)])}
    folder = written(tmp_path / "orders-0", files)
    assert partition.segments(folder) == [named(0, "log.swap"), named(24, "log")]
    ((_, finding),) = [item for item in findings(folder) if item[1].code.id == "KAF207"]
    assert finding.detail["read"] == "yes"
    assert finding.detail["instead_of"] == f"{named(0, 'log')}, {named(12, 'log')}"


def test_a_swap_file_that_ends_before_the_next_segment_leaves_that_alone(tmp_path: Path) -> None:
    files = three_segments() | {named(12, "log.swap"): log([batch(12, 4)])}
    assert partition.segments(written(tmp_path / "orders-0", files)) == [
        named(0, "log"), named(12, "log.swap"), named(24, "log"),
    ]  # fmt: skip


def test_a_swap_file_of_an_unfinished_split_is_not_read(tmp_path: Path) -> None:
    files = three_segments() | {named(12, "log.swap"): log([batch(12, 12)]), named(12, "log.cleaned"): b""}
    folder = written(tmp_path / "orders-0", files)
    assert partition.segments(folder) == [named(base, "log") for base in (0, 12, 24)]
    ((_, finding),) = [item for item in findings(folder) if item[1].code.id == "KAF207"]
    assert finding.detail["files"] == 2


def test_the_index_of_a_swap_file_is_compared_with_it(tmp_path: Path) -> None:
    merged = [batch(0, 12), batch(12, 12)]
    good = {f"{name}.swap": data for name, data in segment_files(0, merged).items()}
    folder = written(tmp_path / "orders-0", three_segments() | good)
    assert {code for _, code in codes(folder)} == {"KAF207"}
    wrong = {**good, named(0, "index.swap"): three_segments()[named(0, "index")]}
    assert (named(0, "index.swap"), "KAF120") in codes(written(tmp_path / "orders-1", three_segments() | wrong))


# Missing and left-over files.


def test_a_missing_segment_is_found(tmp_path: Path) -> None:
    files = {name: data for name, data in three_segments().items() if not name.startswith(f"{12:020}")}
    ((name, finding),) = findings(written(tmp_path / "orders-0", files))
    assert (name, finding.code.id, finding.detail["lost"]) == ("", "KAF111", "offsets 12 to 23")


def test_a_gap_that_compaction_may_have_left_is_no_loss(tmp_path: Path) -> None:
    files = segment_files(0, [batch(0, 1), batch(4)]) | segment_files(24, [batch(24)])
    assert codes(written(tmp_path / "orders-0", files)) == []


def test_a_lost_end_is_found_by_what_other_files_say(tmp_path: Path) -> None:
    files = {name: data for name, data in three_segments().items() if not name.startswith(f"{24:020}")}
    cases = {
        "epochs": ({"leader-epoch-checkpoint": b"0\n2\n0 0\n1 30\n"}, "offsets 24 to 29"),
        "snapshot": ({named(36, "snapshot"): snapshot()}, "offsets 24 to 35"),
    }
    for case, (more, lost) in cases.items():
        ((_, finding),) = findings(written(tmp_path / case / "orders-0", files | more))
        assert (finding.code.id, finding.detail["lost"], finding.detail["ends_at"]) == ("KAF111", lost, 24)
    folder = written(tmp_path / "watermark" / "orders-0", files)
    (tmp_path / "watermark" / "replication-offset-checkpoint").write_bytes(b"0\n2\norders 1 99\norders 0 25\n")
    ((_, finding),) = findings(folder)
    assert (finding.code.id, finding.detail["lost"]) == ("KAF111", "offset 24")
    (tmp_path / "watermark" / "replication-offset-checkpoint").write_bytes(b"0\n1\norders 0 24\n")
    assert findings(folder) == []


def test_a_torn_end_is_not_called_missing_a_second_time(tmp_path: Path) -> None:
    files = three_segments()
    files[named(24, "log")] = files[named(24, "log")][:-5]
    files[named(36, "snapshot")] = snapshot()
    assert "KAF111" not in {code for _, code in codes(written(tmp_path / "orders-0", files))}


def test_index_files_without_their_segment_are_named(tmp_path: Path) -> None:
    files = three_segments() | {named(5, "index"): b"", named(5, "timeindex"): b""}
    ((_, finding),) = findings(written(tmp_path / "orders-0", files))
    assert (finding.code.id, finding.detail["files"]) == ("KAF204", 2)


def test_segments_without_index_files_are_a_note(tmp_path: Path) -> None:
    files = {name: data for name, data in three_segments().items() if name.endswith(".log")}
    found = [finding for _, finding in findings(written(tmp_path / "orders-0", files))]
    assert [(item.code.id, item.severity, item.detail["missing"], item.detail["files"]) for item in found] == [
        ("KAF304", "note", ".index", 3),
        ("KAF304", "note", ".timeindex", 3),
    ]


def test_a_segment_under_a_wrong_name_is_found(tmp_path: Path) -> None:
    files = {named(100, "log"): log([batch(0), batch(4)]), named(100, "index"): b"", named(100, "timeindex"): b""}
    ((_, finding),) = findings(written(tmp_path / "orders-0", files))
    assert (finding.code.id, finding.detail["first_offset"]) == ("KAF203", 0)


# Transactions, and what the folder above says.


def test_a_transaction_without_an_end_is_a_note(tmp_path: Path) -> None:
    files = segment_files(0, [transactional(0, 7), transactional(1, 8), marker(2, 7, COMMIT), batch(3)])
    ((_, finding),) = findings(written(tmp_path / "orders-0", files))
    assert (finding.code.id, finding.severity) == ("KAF303", "note")
    assert finding.detail == {"transactions": 1, "producer_ids": "8", "last_stable_offset": 1}


def aborted(tmp_path: Path, **indexes: bytes) -> list[tuple[str, str, object]]:
    """Findings of two segments: a transaction of 7 begins in the first and is aborted in the second at offset 13."""
    files = segment_files(0, [transactional(0, 7), batch(1, 11)]) | segment_files(
        12, [batch(12, 1), marker(13, 7, ABORT)]
    )
    files |= {named(12, kind): data for kind, data in indexes.items()}
    found = findings(written(tmp_path / "orders-0", files))
    return [(name, finding.code.id, finding.detail.get("reason")) for name, finding in found]


def test_a_transaction_index_that_fits_has_no_finding(tmp_path: Path) -> None:
    assert aborted(tmp_path, txnindex=txn_index((7, 0, 13))) == []


def test_data_that_retention_took_is_no_misfit(tmp_path: Path) -> None:
    files = segment_files(12, [batch(12, 1), marker(13, 7, ABORT)]) | {named(12, "txnindex"): txn_index((7, 0, 13))}
    assert codes(written(tmp_path / "orders-0", files)) == []


def test_a_transaction_index_that_does_not_fit_is_found(tmp_path: Path) -> None:
    name = named(12, "txnindex")
    no_marker, no_entry = "there is no such abort marker in the segment", "an aborted transaction has no entry"
    assert aborted(tmp_path, txnindex=txn_index((7, 0, 13), (8, 5, 14))) == [(name, "KAF122", no_marker)]
    assert aborted(tmp_path, txnindex=b"") == [(name, "KAF122", no_entry)]
    late = [(name, "KAF122", "the transaction begins before the first offset")]
    assert aborted(tmp_path, txnindex=txn_index((7, 5, 13))) == late
    (tmp_path / "orders-0" / name).unlink()
    assert aborted(tmp_path) == [("", "KAF122", no_entry)]


def test_where_only_segments_were_copied_no_transaction_index_is_missed(tmp_path: Path) -> None:
    files = {named(0, "log"): log([transactional(0, 7), marker(1, 7, ABORT)])}
    assert {code for _, code in codes(written(tmp_path / "orders-0", files))} == {"KAF304"}


def test_records_below_the_log_start_offset_are_a_note(tmp_path: Path) -> None:
    folder = written(tmp_path / "orders-0", three_segments())
    (tmp_path / "log-start-offset-checkpoint").write_bytes(b"0\n1\norders 0 15\n")
    ((_, finding),) = findings(folder)
    assert (finding.code.id, finding.severity, finding.detail["below"]) == ("KAF305", "note", "offsets 0 to 14")
    assert "--offsets 15.." in finding.hint
    for harmless in (b"0\n1\norders 0 0\n", b"0\n1\nothers 0 15\n", b"damaged"):
        (tmp_path / "log-start-offset-checkpoint").write_bytes(harmless)
        assert findings(folder) == []


# KRaft.


def test_a_kraft_snapshot_is_checked_from_its_header_to_its_footer(tmp_path: Path) -> None:
    whole = (GOLDEN / "kafka" / CHECKPOINT).read_bytes()
    for name, data, expected in (
        ("whole", whole, []),
        ("cut", whole[:296], [(CHECKPOINT, "KAF126")]),
        ("empty", b"", [(CHECKPOINT, "KAF126")]),
    ):
        files = three_segments() | {CHECKPOINT: data}
        assert codes(written(tmp_path / name / "__cluster_metadata-0", files)) == expected


def test_a_kraft_snapshot_without_its_footer_is_damaged_wherever_it_lies_and_whoever_looks(tmp_path: Path) -> None:
    whole = (GOLDEN / "kafka" / CHECKPOINT).read_bytes()
    alone = tmp_path / CHECKPOINT
    alone.write_bytes(whole)
    assert thawline.verify(alone).ok
    alone.write_bytes(whole[:296])  # cut between two batches
    assert [finding.code.id for finding in thawline.verify(alone).findings] == ["KAF126"]
    with thawline.open(alone) as snapshot:
        rows = sum(batch.num_rows for batch in snapshot.batches())
        assert (rows, [finding.code.id for finding in snapshot.findings()]) == (1, ["KAF126"])


def test_a_kraft_snapshot_under_another_name_is_known_by_its_header_and_missed_by_its_footer(tmp_path: Path) -> None:
    whole = (GOLDEN / "kafka" / CHECKPOINT).read_bytes()
    copy = tmp_path / "copy.bin"
    for data, expected in ((whole, []), (whole[:296], ["KAF210"])):
        copy.write_bytes(data)
        report = thawline.verify(copy)
        assert (report.ok, [finding.code.id for finding in report.findings]) == (True, expected)
        assert [finding.code.id for finding in thawline.verify(data).findings] == expected


def test_unfinished_and_deleted_kraft_snapshots_are_named(tmp_path: Path) -> None:
    files = three_segments() | {f"{CHECKPOINT}.part": b"", f"{CHECKPOINT}.deleted": b""}
    found = {code for _, code in codes(written(tmp_path / "__cluster_metadata-0", files))}
    assert found == {"KAF302", "KAF207"}


def test_without_segments_the_latest_snapshot_is_read(tmp_path: Path) -> None:
    whole = (GOLDEN / "kafka" / CHECKPOINT).read_bytes()
    older = "00000000000000000050-0000000003.checkpoint"
    folder = written(tmp_path / "__cluster_metadata-0", {CHECKPOINT: whole, older: whole})
    assert partition.segments(folder) == [CHECKPOINT]
    assert set(reports(folder)) == {older, ""}


# Hostile folders.


def test_damage_to_any_file_of_a_folder_stops_nothing(tmp_path: Path) -> None:
    files = segment_files(0, [transactional(0, 7), batch(1, 11)]) | segment_files(
        12, [batch(12, 1), marker(13, 7, ABORT)]
    )
    files |= {named(12, "txnindex"): txn_index((7, 0, 13)), named(12, "snapshot"): snapshot({"LastOffset": 0})}
    files |= {"leader-epoch-checkpoint": b"0\n1\n0 0\n", "partition.metadata": b"version: 0\ntopic_id: " + b"p" * 22}
    for number, (name, data) in enumerate(files.items()):
        for kind, damaged in enumerate((b"", data[:-1], bytes(len(data)), b"\xff" * len(data), data * 2)):
            folder = written(tmp_path / f"{number}-{kind}", files | {name: damaged})
            assert set(reports(folder)) == {*(other for other in files if not other.endswith(".log")), ""}


def test_names_beyond_every_offset_are_no_trouble(tmp_path: Path) -> None:
    huge = "9" * 20
    files = {f"{huge}.log": log([batch(0)]), f"{huge}.index": b"\x7f" * 16, f"{huge}.snapshot": snapshot()}
    assert ("", "KAF203") in codes(written(tmp_path / "orders-0", files))


def test_codes_are_declared_once() -> None:
    assert len({code.id for code in CODES}) == len(CODES)
