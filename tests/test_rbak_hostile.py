"""Hostile RBAK segments and the files beside them: a finding with the reason, in time, in bounded memory."""

from __future__ import annotations

import json
import random
import time
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import lz4.block
import pytest
import zstandard
from crc32c import crc32c
from engines import plainly
from rbak_segments import CODECS, START, codes, document, head, only, records, rows, sealed, segment, stored, verified

import thawline
from thawline.cli import run
from thawline.errors import CodecError
from thawline.formats.rbak import folder as rbak_folder
from thawline.formats.rbak import manifest as rbak_manifest
from thawline.formats.rbak import payload
from thawline.formats.rbak.payload import PIECE, lz4_prefix
from thawline.formats.rbak.walk import Segment, find_segments
from thawline.model import Finding
from thawline.source import open_source
from tools.samples.rbak import RECORD

# Segments wherever they are in a file.


def castagnoli(covered: bytes) -> bytes:
    return covered + crc32c(covered).to_bytes(4, "little") + b"KABR"


def found_in(data: bytes) -> list[tuple[int, int, str]]:
    with open_source(data) as source:
        return [
            (item.span.start, item.span.end, item.proof) for item in find_segments(source) if isinstance(item, Segment)
        ]


def test_every_segment_is_found_whatever_stands_between_them() -> None:
    chance = random.Random(3)
    garbage = (b"", b"RBAK", b"KABR", b"RBAKKABR" * 3, b"?" * 50, segment(records(1))[:-2])
    for _ in range(60):
        data, expected = b"start", []
        for number in range(chance.randrange(1, 30)):
            data += chance.choice(garbage)
            proof = chance.choice(("crc32", "crc32c"))
            covered = head(0, 1, (number, chance.randrange(1 << 40))) + b"\2\0\0\0{}"
            made = sealed(covered) if proof == "crc32" else castagnoli(covered)
            expected.append((len(data), len(data) + len(made), proof))
            data += made
        assert found_in(data + chance.choice(garbage)) == expected


def test_a_file_that_is_a_segment_as_a_whole_is_that_one_whatever_it_holds() -> None:
    inner = segment(records(1))
    outer = sealed(head(0, 1) + inner)
    assert found_in(outer) == [(0, len(outer), "crc32")]


def seconds(data: bytes) -> float:
    begun = time.process_time()
    verified(data)
    return time.process_time() - begun


@pytest.mark.parametrize(
    "one",
    [stored(b"{}"), stored(b"{}")[:-1] + b"?", b"RBAK", b"KABR", b"RBAKKABR", sealed(head(0, 0))],
    ids=["whole", "without an end", "starts", "ends", "starts and ends", "empty"],
)
def test_time_grows_with_the_file_and_not_with_its_square(one: bytes) -> None:
    small, large = (seconds(one * (size // len(one))) for size in (1 << 15, 1 << 18))
    assert large < 24 * small + 1  # eight times the bytes; the square is 64 times as long


# Payloads.


def zipped(payload: bytes, count: int = 1) -> bytes:
    return sealed(head(1, count) + zstandard.ZstdCompressor().compress(payload))


def framed(*documents: bytes) -> bytes:
    return b"".join(len(one).to_bytes(4, "little") + one for one in documents)


def test_a_record_longer_than_a_sixteenth_of_the_bound_is_refused_and_those_before_it_are_rows() -> None:
    data = zipped(framed(document(), document(routing_key="k" * 70_000), document()), 3)
    report = verified(data, max_payload=1 << 20)
    assert codes(report) == ["RBK114", "RBK109"]
    assert "a record of 70" in str(report.findings[0].detail["reason"])
    assert report.rows == 1
    assert verified(data, max_payload=2 << 20).ok


def test_a_length_that_the_payload_has_not_got_is_torn_however_long() -> None:
    for length in (1 << 17, 0xFFFF_FFFF):
        data = zipped(framed(document()) + length.to_bytes(4, "little") + b"x" * 100, 1)
        finding = only(verified(data, max_payload=1 << 20))
        assert (finding.code.id, finding.detail["trailing_bytes"]) == ("RBK108", 104)


@pytest.mark.parametrize("window", [64, 1000, 1 << 20])
def test_records_behind_damage_are_found_in_windows_of_any_size(window: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(payload, "WINDOW", window)
    monkeypatch.setattr(payload, "FIRST_STEP", 64)
    data = bytearray(segment(records(40)))
    at = 32
    for number in range(30):
        size = int.from_bytes(data[at : at + 4], "little")
        if number in (3, 4, 20):
            data[at : at + 4] = b"\xff\xff\xff\x7f"
        at += 4 + size
    read = rows(bytes(data), ["delivery_tag"], unverified=True)
    assert [int(row["delivery_tag"]) for row in read] == [n for n in range(40) if n not in (3, 4, 20)]


def test_more_headers_than_a_message_can_have_are_no_headers() -> None:
    for shape in ([["k", 1]], [{"key": "k", "value": 1}]):
        made = segment([RECORD | {"headers": shape * 65_536}, RECORD | {"headers": shape * 65_537}])
        for engine in (nullcontext, plainly):
            with engine():
                assert [row["headers"] and len(row["headers"]) for row in rows(made, ["headers"])] == [65_536, None]
                assert codes(verified(made)) == ["RBK204"]


@pytest.mark.parametrize("size", [0, 1, 100, PIECE - 1, PIECE, 3 * PIECE + 7])
def test_a_large_block_decodes_piece_by_piece_to_what_it_holds(size: int) -> None:
    chance = random.Random(size)
    data = (chance.randbytes(70_000) + b"abc" * 40_000)[:size].ljust(size, b"x")
    pieces = list(lz4_prefix(memoryview(lz4.block.compress(data)), 1 << 30))
    assert b"".join(pieces) == data
    assert max(map(len, pieces)) < 2 * PIECE


def test_a_block_that_yields_more_than_the_bound_gives_what_fits_and_says_so() -> None:
    pieces = lz4_prefix(memoryview(lz4.block.compress(bytes(5000))), 1000)
    assert next(pieces) == bytes(1000)
    with pytest.raises(CodecError, match="more than the 1"):
        next(pieces)


def test_rows_of_a_block_are_the_same_however_it_is_decoded(monkeypatch: pytest.MonkeyPatch) -> None:
    data = segment(records(2000), CODECS["lz4 block"])
    at_once = rows(data)
    monkeypatch.setattr(payload, "LARGEST_BLOCK", 0)
    assert rows(data) == at_once
    assert verified(data).ok


# Files beside segments.


def a_backup(folder: Path, manifest: object, **definitions: bytes) -> Path:
    """A folder with one segment and a manifest of any bytes, or of any value."""
    place = folder / "queues" / "_default" / "orders"
    place.mkdir(parents=True)
    (place / "segment-0001.rbak").write_bytes(segment(records(2)))
    (folder / "manifest.json").write_bytes(manifest if isinstance(manifest, bytes) else json.dumps(manifest).encode())
    for name, data in definitions.items():
        (folder / "definitions").mkdir(exist_ok=True)
        (folder / "definitions" / name.replace("_", ".")).write_bytes(data)
    return folder


def findings(folder: Path) -> list[Finding]:
    return [finding for report in thawline.open_folder(folder).reports() for finding in report.findings]


def reasons(folder: Path, code: str) -> list[str]:
    return [str(finding.detail["reason"]) for finding in findings(folder) if finding.code.id == code]


def listing(**changes: object) -> dict[str, Any]:
    entry = {"key": "queues/_default/orders/segment-0001.rbak", **changes}
    queue = {"name": "orders", "vhost": "/", "segments": [entry]}
    return {"backup_id": "b", "completed_at": START, "queues": [queue]}


ODD = [None, True, -1, 0.5, 2**63, 2**64 - 1, 10**30, "", "x", "\x1b[31m", [], {}, [[]], {"a": []}, "k" * 100_000]


@pytest.mark.parametrize("value", ODD, ids=lambda value: repr(value)[:20])
def test_any_value_anywhere_in_a_manifest_is_used_or_named(value: object, tmp_path: Path) -> None:
    places = ["backup_id", "completed_at", "created_at", "queues", "total_segments", "total_messages", "definitions"]
    manifests = [listing() | {place: value} for place in places]
    fields = ("key", "sequence", "record_count", "size_bytes", "first_timestamp", "end_timestamp", "checksum")
    manifests += [listing(**{name: value}) for name in fields]
    for name in ("name", "vhost", "segments"):
        manifests.append(listing())
        manifests[-1]["queues"][0][name] = value
    for number, manifest in enumerate(manifests):
        folder = a_backup(tmp_path / str(number), manifest)
        target = str(tmp_path / f"{number}.json")
        for command in (["verify"], ["cat"], ["identify"], ["rbak", "manifest", "-o", target]):
            assert run([*command, str(folder)]) in {0, 1, 2, 3}


def test_a_value_of_the_wrong_type_is_named_with_its_place_and_not_used(tmp_path: Path) -> None:
    folder = a_backup(tmp_path / "b", listing(record_count="2", size_bytes=True, sequence=-1))
    assert reasons(folder, "RBK211") == [
        "queues[0].segments[0].sequence is not within 0 and 9007199254740992: -1",
        'queues[0].segments[0].record_count is no whole number of 64 bits: "2"',
        "queues[0].segments[0].size_bytes is no whole number of 64 bits: true",
    ]
    assert {finding.code.id for finding in findings(folder)} == {"RBK211"}


def test_a_key_that_stands_twice_is_named(tmp_path: Path) -> None:
    text = json.dumps(listing()).replace('"queues"', '"queues": [], "queues"', 1)
    assert reasons(a_backup(tmp_path / "b", text.encode()), "RBK211") == ['a key stands twice in an object: "queues"']


def test_counts_that_add_up_beyond_64_bits_are_told_of_in_every_form(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    manifest = listing(record_count=2**63 - 1, size_bytes=2**63 - 1) | {"total_messages": 3, "total_bytes": 2**63 - 1}
    manifest["queues"].append(manifest["queues"][0])
    assert run(["verify", str(a_backup(tmp_path / "b", manifest)), "--format", "jsonl"]) == 1
    assert "RBK125" in capsys.readouterr().out


def test_a_manifest_that_nests_too_deeply_or_holds_too_much_cannot_be_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for levels, is_read in ((125, True), (130, False), (900, False), (100_000, False)):
        nested = json.dumps(listing()).encode()[:-1] + b',"x":' + b"[" * levels + b"]" * levels + b"}"
        assert (reasons(a_backup(tmp_path / str(levels), nested), "RBK126") == []) is is_read
    monkeypatch.setattr(rbak_manifest, "MOST_VALUES", 100)
    crowded = listing() | {"x": [0] * 100}
    assert "100 are the most" in reasons(a_backup(tmp_path / "crowded", crowded), "RBK126")[0]
    monkeypatch.setattr(rbak_folder, "LARGEST", 100)
    assert "100 are the most" in reasons(a_backup(tmp_path / "large", listing()), "RBK126")[0]


def test_a_key_of_many_parts_takes_no_longer_than_its_length(tmp_path: Path) -> None:
    begun = time.process_time()
    folder = a_backup(tmp_path / "b", listing(key="a/" * 400_000))
    assert "4 096 are the most" in reasons(folder, "RBK211")[0]
    assert time.process_time() - begun < 5
    found = findings(a_backup(tmp_path / "deep", listing(key="x/" * 2000 + "queues/_default/orders/segment-0001.rbak")))
    assert found == []


def test_missing_segments_are_named_up_to_a_bound_and_then_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rbak_folder, "NAMED", 3)
    manifest = listing()
    manifest["queues"][0]["segments"] = [{"key": f"gone-{number}"} for number in range(10)]
    missing = [finding for finding in findings(a_backup(tmp_path / "b", manifest)) if finding.code.id == "RBK124"]
    assert [finding.detail.get("more") for finding in missing] == [None, None, None, 7]


@pytest.mark.parametrize(
    ("name", "data", "reason"),
    [
        ("definitions_json", b"[]", "is no JSON object"),
        ("definitions_json", b"{" * 5000, "is not JSON"),
        ("definitions_json", b'{"a":' + b"[" * 300 + b"]" * 300 + b"}", "nested more than 128 levels"),
        ("definitions_json", b'{"a":"\xff"}', "is not JSON"),
        ("definitions_json_zst", zstandard.ZstdCompressor().compress(bytes(40 << 20)), "more than the 33 554 432"),
        ("definitions_json_zst", zstandard.ZstdCompressor().compress(b"{" + b"[]," * (5 << 20)), "are the most"),
    ],
)
def test_hostile_definitions_are_a_finding_with_the_reason(name: str, data: bytes, reason: str, tmp_path: Path) -> None:
    folder = a_backup(tmp_path / "b", listing(), **{name: data})
    (found,) = reasons(folder, "RBK128")
    assert reason in found
