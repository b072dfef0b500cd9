from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import zstandard
from rbak_segments import START, records, rows, segment

import thawline
from thawline.cli import run
from thawline.formats.rbak.write import BadRecord, Closed, RbakWriter, record
from thawline.model import Finding
from tools.samples.rbak import RECORD

HEADERS = [["Authorization", "Bearer x"], ["x-retry", 3]]


def written(path: Path, count: int = 30, **options: Any) -> Path:
    """A backup of two queues, with small segments."""
    options = {"segment_max_bytes": 4000, **options}
    with RbakWriter(path, "nightly", **options) as writer:
        for number in range(count):
            writer.append(
                record(
                    b"body %d" % number,
                    queue=("orders", "a/b %c")[number % 2],
                    vhost=("/", "_default")[number % 2],
                    delivery_tag=number,
                    backed_up_at=START + number,
                    headers=HEADERS,
                    properties={"message_id": f"m-{number}", "type": "t"},
                )
            )
    return path


def found(path: Path) -> dict[str, list[Finding]]:
    """Findings of a backup, by the name of the file."""
    reports = thawline.open_folder(path).reports()
    return {Path(report.file).name: report.findings for report in reports if report.findings}


def codes(path: Path) -> list[str]:
    return sorted(finding.code.id for report in thawline.open_folder(path).reports() for finding in report.findings)


def manifest_of(path: Path) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads((path / "manifest.json").read_bytes())
    return loaded


def edited(path: Path, change: Callable[[dict[str, Any]], object]) -> Path:
    manifest = manifest_of(path)
    change(manifest)
    (path / "manifest.json").write_text(json.dumps(manifest))
    return path


def segments_of(manifest: dict[str, Any]) -> list[dict[str, Any]]:
    return [entry for queue in manifest["queues"] for entry in queue["segments"]]


def messages(path: Path) -> list[dict[str, Any]]:
    found = [row for batch in thawline.open_folder(path).batches() for row in batch.to_pylist()]
    return sorted(found, key=lambda row: row["delivery_tag"])


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"level": 19},
        {"compression": "none"},
        {"compression": "lz4"},
        {"compression": "lz4", "lz4_framing": "frame"},
    ],
    ids=str,
)
def test_what_was_written_is_read_back_and_verified(options: dict[str, Any], tmp_path: Path) -> None:
    path = written(tmp_path / "backup", **options)
    assert codes(path) == []
    read = messages(path)
    assert [row["body"] for row in read] == [b"body %d" % number for number in range(30)]
    assert {(row["vhost"], row["queue"]) for row in read} == {("/", "orders"), ("_default", "a/b %c")}
    assert read[3]["type"] == "t"
    assert [entry["key"] for entry in read[0]["headers"]] == ["Authorization", "x-retry"]


def test_the_manifest_lists_every_segment_as_it_is(tmp_path: Path) -> None:
    path = written(tmp_path / "backup")
    manifest = manifest_of(path)
    entries = segments_of(manifest)
    assert (manifest["backup_id"], manifest["total_messages"], manifest["total_segments"]) == (
        "nightly",
        30,
        len(entries),
    )
    assert manifest["completed_at"] is not None
    for entry in entries:
        data = (path / entry["key"]).read_bytes()
        assert (entry["size_bytes"], entry["checksum"]) == (len(data), hashlib.sha256(data).hexdigest())
        assert int.from_bytes(data[8:16], "little") == entry["record_count"]
    assert {queue["vhost"] for queue in manifest["queues"]} == {"/", "_default"}


def test_segments_rotate_by_bytes(tmp_path: Path) -> None:
    entries = segments_of(manifest_of(written(tmp_path / "backup", segment_max_bytes=2000)))
    assert len(entries) > 4
    assert all(entry["uncompressed_bytes"] < 2000 + 700 for entry in entries)


def test_segments_rotate_by_time(tmp_path: Path) -> None:
    now = 100.0
    with RbakWriter(tmp_path / "b", segment_max_interval_ms=5000, clock=lambda: now) as writer:
        for _ in range(6):
            writer.append(record(b"x", queue="q", backed_up_at=1))
            now += 2
        assert len(writer.segments) == 1
    assert [entry["record_count"] for entry in segments_of(manifest_of(tmp_path / "b"))] == [4, 2]


def test_an_interrupted_writer_leaves_a_backup_that_is_named_so(tmp_path: Path) -> None:
    path = tmp_path / "backup"
    writer = RbakWriter(path, segment_max_bytes=1000)

    def interrupted() -> None:
        with writer:
            for number in range(10):
                writer.append(record(b"x" * 100, queue="q", backed_up_at=number))
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert codes(path) == ["RBK205"]
    assert manifest_of(path)["completed_at"] is None
    assert not list(path.rglob("*.partial"))
    with pytest.raises(Closed):
        writer.append(record(b"x", queue="q", backed_up_at=1))


def test_a_folder_that_is_not_empty_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x").write_text("")
    with pytest.raises(thawline.errors.SourceError, match="not empty"):
        RbakWriter(tmp_path)


def test_records_that_no_segment_can_hold_are_refused(tmp_path: Path) -> None:
    with RbakWriter(tmp_path / "b") as writer:
        with pytest.raises(BadRecord):
            writer.append({"body": None})
        with pytest.raises(BadRecord):
            writer.append(record(b"", queue="q", backed_up_at=1) | {"headers": object()})
    with pytest.raises(BadRecord):
        record(b"", queue="q", properties={"nosuch": 1})
    with pytest.raises(BadRecord):
        RbakWriter(tmp_path / "c", compression="gzip")


def test_no_name_of_a_queue_leads_out_of_the_backup(tmp_path: Path) -> None:
    path = tmp_path / "in" / "backup"
    with RbakWriter(path) as writer:
        for queue in ("..", ".", "", "../../x", "/etc", "a\0b", ".hidden", "_default"):
            writer.append(record(b"x", queue=queue, vhost=queue, backed_up_at=1))
    assert sorted(item.name for item in (tmp_path / "in").iterdir()) == ["backup"]
    assert codes(path) == []
    assert len(messages(path)) == 8


def test_every_difference_from_the_manifest_is_found(tmp_path: Path) -> None:
    def spoil(manifest: dict[str, Any]) -> None:
        first, second, third, fourth = segments_of(manifest)[:4]
        first["checksum"] = "0" * 64
        second["size_bytes"] += 1
        third["record_count"] += 1
        fourth["last_timestamp"] += 1

    path = edited(written(tmp_path / "backup"), spoil)
    assert codes(path) == ["RBK120", "RBK121", "RBK122", "RBK209", "RBK210", "RBK210"]


def test_missing_orphan_and_double_segments_are_found(tmp_path: Path) -> None:
    path = written(tmp_path / "backup")
    entries = segments_of(manifest_of(path))
    (path / entries[0]["key"]).rename(path / "queues" / "segment-9999.zst")
    copy = path / entries[1]["key"]
    copy.with_name("segment-0099.zst").write_bytes(copy.read_bytes())
    edited(path, lambda manifest: manifest["queues"][0]["segments"].append(manifest["queues"][0]["segments"][-1]))
    whole = found(path)
    copied = str(copy.with_name("segment-0099.zst").relative_to(path))
    assert {(finding.code.id, finding.detail["key"]) for finding in whole["backup"]} == {
        ("RBK124", entries[0]["key"]),
        ("RBK206", copied),
        ("RBK206", "queues/segment-9999.zst"),
        ("RBK207", entries[1]["key"]),
    }
    assert {finding.code.id for finding in whole["manifest.json"]} >= {"RBK125"}
    assert f"{entries[0]['record_count']} messages" in str(whole["backup"][0].detail["lost"])
    assert len(messages(path)) == 30 + entries[1]["record_count"]


def test_a_sequence_that_is_there_twice_is_found(tmp_path: Path) -> None:
    def same(manifest: dict[str, Any]) -> None:
        manifest["queues"][0]["segments"][1]["sequence"] = manifest["queues"][0]["segments"][0]["sequence"]

    assert codes(edited(written(tmp_path / "backup"), same)) == ["RBK125"]


@pytest.mark.parametrize("broken", [b"", b"{", b"[]", b'{"queues": 5}', b'{"queues": [{"segments": [{}]}]}'])
def test_a_broken_manifest_does_not_hide_the_segments(broken: bytes, tmp_path: Path) -> None:
    path = written(tmp_path / "backup")
    (path / "manifest.json").write_bytes(broken)
    assert codes(path) == ["RBK126"]
    assert len(messages(path)) == 30


def test_keys_with_the_prefix_of_the_storage_are_found(tmp_path: Path) -> None:
    def prefix(manifest: dict[str, Any]) -> None:
        for entry in segments_of(manifest):
            entry["key"] = f"bucket/prefix/nightly/{entry['key']}"

    assert codes(edited(written(tmp_path / "backup"), prefix)) == []


def test_unknown_keys_and_missing_facts_of_a_manifest_are_no_error(tmp_path: Path) -> None:
    def thin(manifest: dict[str, Any]) -> None:
        manifest["later"] = {"a": 1}
        for name in ("total_messages", "total_bytes", "total_segments", "backup_id"):
            del manifest[name]
        for queue in manifest["queues"]:
            queue["segments"] = [{"key": entry["key"], "new": None} for entry in queue["segments"]]

    assert codes(edited(written(tmp_path / "backup"), thin)) == []


def test_definitions_are_checked(tmp_path: Path) -> None:
    path = written(tmp_path / "backup")
    (path / "definitions").mkdir()
    file = path / "definitions" / "definitions.json.zst"
    file.write_bytes(zstandard.compress(b'{"queues": []}'))
    assert codes(path) == []
    file.write_bytes(file.read_bytes()[:-3])
    assert codes(path) == ["RBK128"]


def test_a_folder_of_segments_without_a_manifest_is_read_as_one(tmp_path: Path) -> None:
    for number in range(3):
        (tmp_path / f"segment-000{number}.rbak").write_bytes(segment(records(number + 1)))
    assert codes(tmp_path) == []
    assert len(messages(tmp_path)) == 6


def test_the_manifest_is_rebuilt_as_it_was(tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    path = written(tmp_path / "backup")
    before = manifest_of(path)
    assert run(["rbak", "manifest", str(path)]) == 0
    after = json.loads(capsysbinary.readouterr().out)
    assert after == before


def test_the_manifest_is_made_from_nothing_but_segments(tmp_path: Path) -> None:
    path = written(tmp_path / "backup")
    before = manifest_of(path)
    (path / "manifest.json").unlink()
    target = str(path / "manifest.json")
    assert run(["rbak", "manifest", str(path), "-o", target, "--completed-at", "2026-11-16T12:00:00Z", "-q"]) == 0
    after = manifest_of(path)

    def facts(manifest: dict[str, Any]) -> list[tuple[str, str, str]]:
        return sorted((entry["key"], entry["checksum"], str(entry["sequence"])) for entry in segments_of(manifest))

    assert facts(after) == facts(before)
    assert codes(path) == []


def test_damaged_segments_are_left_out_of_a_new_manifest(tmp_path: Path) -> None:
    path = written(tmp_path / "backup")
    entry = segments_of(manifest_of(path))[0]
    file = path / entry["key"]
    file.write_bytes(file.read_bytes()[:-5])
    assert run(["rbak", "manifest", str(path), "-o", str(tmp_path / "new.json"), "-q"]) == 1
    listed = segments_of(json.loads((tmp_path / "new.json").read_bytes()))
    assert entry["key"] not in [item["key"] for item in listed]


def test_a_rewritten_backup_has_what_was_asked_for_and_nothing_that_was_dropped(tmp_path: Path) -> None:
    path, part = written(tmp_path / "backup"), tmp_path / "part"
    arguments = ["--to", str(part), "--where", "queue=orders", "--drop-header", "authorization", "-q"]
    assert run(["rbak", "rewrite", str(path), *arguments]) == 0
    assert codes(part) == []
    before = [row for row in messages(path) if row["queue"] == "orders"]
    after = messages(part)
    assert [row["body"] for row in after] == [row["body"] for row in before]
    assert {entry["key"] for row in after for entry in row["headers"]} == {"x-retry"}
    data = b"".join(
        zstandard.ZstdDecompressor().decompressobj().decompress(file.read_bytes()[32:-8])
        for file in part.rglob("*.zst")
    )
    assert b"Bearer" not in data


def test_definitions_with_their_password_hashes_do_not_go_into_a_rewritten_backup_unasked(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    path, part = written(tmp_path / "backup"), tmp_path / "part"
    (path / "definitions").mkdir()
    (path / "definitions" / "definitions.json").write_bytes(b'{"users": [{"password_hash": "x"}]}')
    assert run(["rbak", "rewrite", str(path), "--to", str(part)]) == 0
    assert not (part / "definitions").exists()
    assert f"left out {path / 'definitions'}: it has users and password hashes" in capfd.readouterr().err


def test_records_that_lose_no_header_are_copied_byte_by_byte(tmp_path: Path) -> None:
    path, whole = written(tmp_path / "backup"), tmp_path / "whole"
    assert run(["rbak", "rewrite", str(path), "--to", str(whole), "--compression", "lz4", "-q"]) == 0

    def texts(folder: Path) -> list[str]:
        batches = thawline.open_folder(folder).batches(["record_json"])
        return sorted(row["record_json"] for batch in batches for row in batch.to_pylist())

    assert texts(whole) == texts(path)


@pytest.mark.parametrize(
    "headers",
    [
        [["Authorization", 1], ["b", {"x": [1]}], ["AUTHORIZATION", "\u00e9"]],
        [{"key": "authorization", "value": 1}, {"value": {"x": [1]}, "key": "b"}],
        {"authorization": {"LongString": "x"}, "b": {"x": [1]}},
    ],
    ids=["pairs", "objects", "object"],
)
def test_headers_of_every_shape_are_dropped_and_the_rest_stays(headers: Any, tmp_path: Path) -> None:
    source, target = tmp_path / "in.rbak", tmp_path / "out.rbak"
    source.write_bytes(segment([RECORD | {"headers": headers}, RECORD]))
    assert run(["rbak", "rewrite", str(source), "--to", str(target), "--drop-header", "auth*", "-q"]) == 0
    first, second = rows(target.read_bytes(), ["headers", "record_json"])
    assert [entry["key"] for entry in first["headers"]] == ["b"]
    kept = json.loads(first["record_json"])
    assert {key: value for key, value in kept.items() if key != "headers"} == {
        key: value for key, value in RECORD.items() if key != "headers"
    }
    assert json.loads(second["record_json"]) == RECORD


def test_headers_that_cannot_be_looked_into_are_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = tmp_path / "in.rbak"
    source.write_bytes(segment([RECORD | {"headers": [["authorization"]]}]))
    assert run(["rbak", "rewrite", str(source), "--to", str(tmp_path / "out"), "--drop-header", "authorization"]) == 1
    assert "unknown shape" in capsys.readouterr().err


def test_a_part_in_time_is_written(tmp_path: Path) -> None:
    path, part = written(tmp_path / "backup"), tmp_path / "part"
    window = ["--since", str(START + 10), "--until", str(START + 19)]
    assert run(["rbak", "rewrite", str(path), "--to", str(part), *window, "-q"]) == 0
    assert [row["delivery_tag"] for row in messages(part)] == list(range(10, 20))


def test_nothing_is_written_over(tmp_path: Path) -> None:
    path = written(tmp_path / "backup")
    before = {file: file.read_bytes() for file in path.rglob("*") if file.is_file()}
    assert run(["rbak", "rewrite", str(path), "--to", str(path), "-q"]) == 2
    file = next(path.rglob("*.zst"))
    assert run(["rbak", "rewrite", str(file), "--to", str(file), "--overwrite", "-q"]) == 2
    assert {file: file.read_bytes() for file in path.rglob("*") if file.is_file()} == before
