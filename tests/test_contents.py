"""`inspect` shows what a unit holds, too: records as they lie in the file, or decompressed."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from accounts import golden_files
from rbak_segments import CODECS, records
from rbak_segments import segment as rbak_segment
from test_pieces import record

from thawline.checksums import crc32c
from thawline.cold import open_cold
from thawline.formats.kafka.write import KafkaSegmentWriter
from thawline.rendering.inspection import inspection_lines
from thawline.verbs.contents import FIRST_ITEMS, MOST_BYTES
from thawline.verbs.inspect import inspect
from tools.mutants import mutants
from tools.samples.rbak import Codec

LABEL = re.compile(r"\| (\w+\[(\d+)\](?:\.\w+(?:\[\d+\])?)*(?:: .*)?)$")
HEAD = 61


def shown(data: bytes, format_: str = "kafka", **choice: int) -> list[str]:
    with open_cold(data, format=format_) as cold:
        return [line.plain for line in inspection_lines(inspect(cold, **choice))]  # type: ignore[arg-type]


def labels(lines: list[str]) -> list[str]:
    return [found[1] for line in lines if (found := LABEL.search(line))]


def segment(tmp_path: Path, compression: str, values: list[bytes]) -> bytes:
    path = tmp_path / f"{compression}.log"
    with KafkaSegmentWriter(path, compression=compression, batch_bytes=1 << 20, indexes=False) as writer:  # type: ignore[arg-type]
        for value in values:
            writer.append(key=b"k", value=value, timestamp=0)
    return path.read_bytes()


def batch(payload: bytes, count: int, attributes: int = 0) -> bytes:
    """A batch whose checksum is right, whatever its records are."""
    covered = attributes.to_bytes(2, "big") + (count - 1).to_bytes(4, "big") + bytes(16)
    covered += b"\xff" * 14 + count.to_bytes(4, "big") + payload
    body = bytes(4) + b"\2" + crc32c(covered).to_bytes(4, "big") + covered
    return bytes(8) + len(body).to_bytes(4, "big") + body


RECORDS = [
    "records[0].len_record: 9",
    "records[0].attributes: 0",
    "records[0].timestamp_delta: 0",
    "records[0].offset_delta: 0",
    "records[0].len_key: 1",
    'records[0].key: "k"',
    "records[0].len_value: 2",
    'records[0].value: "v0"',
    "records[0].num_headers: 0",
]


@pytest.mark.parametrize("compression", ["gzip", "snappy", "lz4", "zstd"])
def test_records_of_a_compressed_batch_are_shown_decompressed(tmp_path: Path, compression: str) -> None:
    lines = shown(segment(tmp_path, compression, [b"v0"]))
    heading = next(line for line in lines if line.startswith("records  "))
    assert f"{compression}, 10 bytes decompressed; positions count from their start" in heading
    assert labels(lines) == RECORDS
    assert [line[:6] for line in lines[lines.index(heading) + 1 :]] == [
        f"0x{at:04x}" for at in (0, 1, 2, 3, 4, 5, 6, 7, 9)
    ]


def test_records_of_a_plain_batch_are_shown_where_they_lie_in_the_file(tmp_path: Path) -> None:
    lines = shown(segment(tmp_path, "none", [b"v0"]))
    heading = next(line for line in lines if line.startswith("records  "))
    assert heading == f"records  {HEAD:#x}..{HEAD + 10:#x} (10 bytes)"
    assert labels(lines) == RECORDS
    assert lines[lines.index(heading) + 1].startswith(f"0x{HEAD:04x}|")


def test_of_many_records_the_first_are_shown_and_the_others_counted(tmp_path: Path) -> None:
    lines = shown(segment(tmp_path, "zstd", [b"v"] * 50))
    assert {int(label[8]) for label in labels(lines)} == set(range(FIRST_ITEMS))
    assert lines[-1] == f"   = note: {50 - FIRST_ITEMS} items more"


def test_the_record_that_cannot_be_read_is_shown_and_marked_wherever_it_is() -> None:
    good = [record(delta, b"k", b"v", []) for delta in range(30)]
    bad = bytearray(good[20])
    bad[5] = 0x7E  # a key that is longer than its record
    data = batch(b"".join([*good[:20], bad, *good[21:]]), 30)
    lines = shown(data)
    assert "KAF108" in lines[0]
    assert {int(label.partition("]")[0][8:]) for label in labels(lines)} == {*range(FIRST_ITEMS), 20}
    at = next(index for index, line in enumerate(lines) if "records[20].key" in line)
    assert "^ needs" in lines[at + 1]
    assert f"   = note: {20 - FIRST_ITEMS} items not shown" in lines


def test_what_can_be_decompressed_of_a_damaged_payload_is_shown_with_the_reason_why_there_is_no_more() -> None:
    data = batch(b"this is no gzip at all", 1, attributes=1)
    lines = shown(data)
    assert "gzip, 0 bytes decompressed" in lines[-2]
    assert lines[-1].startswith("   = note: no more of it could be decompressed: gzip")


def test_of_a_large_payload_the_first_bytes_are_read(tmp_path: Path) -> None:
    lines = shown(segment(tmp_path, "zstd", [bytes(1000)] * (2 * MOST_BYTES // 1000)))
    assert re.fullmatch(r"   = note: fields are read from the first 262\s144 bytes only", lines[-1])
    assert not any("^" in line for line in lines)


@pytest.mark.parametrize("codec", CODECS.values(), ids=CODECS)
def test_records_of_an_rbak_segment_are_shown_whatever_compressed_them(codec: Codec) -> None:
    lines = shown(rbak_segment(records(5), codec), "rbak")
    heading = next(line for line in lines if line.startswith("payload  "))
    assert ("decompressed" in heading) == (codec.compression != "none")
    found = labels(lines)
    assert [label.partition(":")[0] for label in found] == [
        f"records[{number}].{name}" for number in range(FIRST_ITEMS) for name in ("len_json", "json")
    ]
    assert 'json: "{"body":[109,101,115,115,97,103,101,32,4' in found[1]
    assert lines[-1] == "   = note: 2 items more"


@pytest.mark.parametrize("format_", ["kafka", "rbak"])
def test_no_content_is_too_broken_to_be_shown(format_: str) -> None:
    for golden in golden_files(format_):
        for data in mutants(golden.data, 3, 20):
            with open_cold(data, format=format_) as cold:
                assert list(inspection_lines(inspect(cold)))
