"""What hostile backups cost: time that grows with their size, and memory that does not grow with what they claim."""

from __future__ import annotations

import base64
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest
import zstandard
from backups import HEADER, Lines, numbered

import thawline
from thawline import native
from thawline.codecs import zstd_blocks
from thawline.engine import kernels
from thawline.formats.aerospike import text
from thawline.model import Report

MAGIC = bytes.fromhex("28b52ffd")
ODD_BINS = (b"- I a ", b"- N ", b"- D a 0x1p3", b"- S a 1 \xff")
BROKEN = {
    "a number that is none": numbered(1, b"- I a y"),
    "a generation that is none": Lines(generation=b"x").data(),
    "a header without bins": numbered(1).partition(b"+ g")[0],
    "more bins than counted": numbered(1) + b"- I b 1\n",
    "fewer bins than counted": numbered(1).replace(b"+ b 1", b"+ b 2"),
    "a value that is cut": numbered(1, b"- S a 500000 x"),
    "starts that are none": b"+ k \n",
}
MEASURED = """
import sys, thawline
thawline.open(sys.argv[1], "aerospike").verify()
peak = next(line for line in open("/proc/self/status") if line.startswith("VmHWM"))
print(int(peak.split()[1]) // 1024)
"""
MOST_MEMORY = 300
"""Megabytes, all libraries included."""


def verified(data: bytes) -> Report:
    return thawline.open(data, "aerospike").verify()


def seconds(data: bytes) -> float:
    """CPU time, the best of three, so that a noisy moment does not count."""
    return min(_seconds(data) for _ in range(3))


def _seconds(data: bytes) -> float:
    started = time.process_time()
    verified(data)
    return time.process_time() - started


def bomb(unit: bytes, megabytes: int, head: bytes = HEADER, *, checksum: bool = False) -> bytes:
    """Compressed text that repeats something."""
    packing = zstandard.ZstdCompressor(write_checksum=checksum).compressobj()
    block = (unit * ((1 << 20) // len(unit) + 1))[: 1 << 20]
    return b"".join([packing.compress(head), *(packing.compress(block) for _ in range(megabytes)), packing.flush()])


@pytest.mark.parametrize("kind", BROKEN)
def test_broken_entries_cost_time_by_their_number(kind: str) -> None:
    small = max(1, (64 << 10) // len(BROKEN[kind]))
    seconds(HEADER + BROKEN[kind] * small)
    assert seconds(HEADER + BROKEN[kind] * 4 * small) < 10 * max(seconds(HEADER + BROKEN[kind] * small), 0.02)


@pytest.mark.parametrize("kind", BROKEN)
def test_no_chunk_is_made_ready_for_one_broken_entry_after_another(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if not native.is_compiled:
        pytest.skip("the plain parsers make nothing ready")
    made: list[int] = []
    prepare = kernels._Reading.prepare

    def counted(reading: kernels._Reading) -> None:
        made.append(1)
        prepare(reading)

    monkeypatch.setattr(kernels._Reading, "prepare", counted)
    verified(HEADER + BROKEN[kind] * 500)
    assert len(made) < 10


@pytest.mark.parametrize("odd", ODD_BINS)
def test_odd_bins_of_one_record_cost_time_by_their_number(odd: bytes) -> None:
    few, many = (HEADER + numbered(1, *(odd, b"- N x") * count) for count in (2_000, 16_000))
    assert seconds(many) < 24 * max(seconds(few), 0.02)


@pytest.mark.parametrize("checksum", [False, True])
@pytest.mark.parametrize(("unit", "head"), [(b"\0", HEADER), (numbered(1), HEADER), (b"x", HEADER + b"+ n ")])
def test_compressed_text_ends_where_it_is_more_than_a_backup_has(
    unit: bytes,
    head: bytes,
    checksum: bool,  # noqa: FBT001 - a parameter of the test
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(text, "LEAST_ROOM", 4 << 20)
    data = bomb(unit, 64, head, checksum=checksum)
    report = verified(data)
    last = report.findings[-1]
    assert (last.code.id, last.span.end) == ("ASB110", len(data))
    assert "decompress to more than" in str(last.detail["reason"])
    assert report.intact_bytes + report.damaged_bytes == len(data)


LEAST = b"+ n \n+ d " + b"A" * 27 + b"=\n"
"""The least that is taken for the start of a record."""


def assert_is_stopped(data: bytes, most: int) -> None:
    """The rest of a file is one finding up to its end, whoever reads it."""
    cold = thawline.open(data, "aerospike", strict=False)
    report = cold.verify()
    last = report.findings[-1]
    assert len(report.findings) < most
    assert (last.code.id, last.span.end) == ("ASB110", len(data))
    assert "broken or odd entries" in str(last.detail["reason"])
    assert report.intact_bytes + report.damaged_bytes == len(data)
    assert sum(batch.num_rows for batch in cold.batches()) == report.rows


COSTLY = [
    pytest.param(LEAST, id="starts of records"),
    pytest.param(b"\n+ n \n", id="what is no start"),
    pytest.param(numbered(1, b"- D a 0x1p3"), id="what one tool refuses"),
    pytest.param(b"# namespace test\n", id="meta data"),
    pytest.param(b"* i test demo ix N 1 a N\n* u L a 1 x\n", id="indexes and UDFs by turns"),
    pytest.param(numbered(1) + b"* u L a 1 x\n", id="records and UDFs by turns"),
]


@pytest.mark.parametrize("unit", COSTLY)
def test_a_small_compressed_file_does_not_hold_broken_entries_without_end(unit: bytes) -> None:
    data = bomb(unit, 4)
    assert len(data) < 10_000
    assert_is_stopped(data, text.LEAST_BROKEN + 3)


@pytest.mark.parametrize("entry", [LEAST, numbered(1)])
def test_frames_that_break_off_after_an_entry_are_not_read_without_end(entry: bytes) -> None:
    block = b"\n" + entry
    broken = MAGIC + b"\x20" + bytes([len(block)]) + (len(block) << 3).to_bytes(3, "little") + block + b"\x06\0\0"
    assert_is_stopped(zstandard.compress(HEADER) + broken * 2_000, 10 * text.LEAST_BROKEN // text.BROKEN_IN_FRAME)


def test_a_compressed_file_of_nothing_but_different_broken_records_is_read_to_its_end() -> None:
    digests = (base64.b64encode(Random(number).randbytes(20)) for number in range(40_000))
    data = zstandard.compress(HEADER + b"".join(b"+ n \n+ d " + digest + b"\n" for digest in digests), 19)
    report = verified(data)
    assert len(report.findings) == 40_000
    assert {finding.code.id for finding in report.findings} == {"ASB101", "ASB102"}


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(bomb(b"\0", 1024), id="zeros"),
        pytest.param(bomb(b"a", 256, HEADER + numbered(1).replace(b"- I n 1\n", b"- S n 4000000000 ")), id="a value"),
        pytest.param(bomb(numbered(1), 256), id="records"),
        pytest.param(HEADER + b"# x\n" * (1 << 18), id="lines of meta data"),
        pytest.param(zstandard.compress(HEADER) + MAGIC * (1 << 16), id="frames without anything in them"),
    ],
)
def test_memory_is_bounded_whatever_a_file_of_a_megabyte_holds(data: bytes, tmp_path: Path) -> None:
    path = tmp_path / "hostile.asb"
    path.write_bytes(data)
    assert len(data) < 1.1 * (1 << 20)
    found = subprocess.run([sys.executable, "-c", MEASURED, path], capture_output=True, text=True, check=True)
    assert int(found.stdout) < MOST_MEMORY


def test_broken_frames_in_a_row_are_one_finding() -> None:
    data = zstandard.compress(HEADER + numbered(1)) + MAGIC * 1000 + zstandard.compress(numbered(2))
    report = verified(data)
    assert report.rows == 2
    assert [finding.code.id for finding in report.findings if finding.span.size] == ["ASB110"]


def test_lines_of_meta_data_that_nobody_knows_are_one_finding() -> None:
    report = verified(b"Version 3.1\n" + b"# a\n" * 1000 + b"# namespace test\n" + b"# b\n" + numbered(1))
    assert [(finding.code.id, finding.detail.get("lines")) for finding in report.findings] == [
        ("ASB111", 1000),
        ("ASB111", None),
    ]
    assert report.rows == 1


BREAKS_OFF = MAGIC + bytes.fromhex("20 02 08 00 00 0a 06 00 00")
"""A frame with a block of one byte that is not the last, and then a block of a type that does not exist."""


def test_a_frame_that_breaks_off_is_decompressed_once_and_takes_no_walk(monkeypatch: pytest.MonkeyPatch) -> None:
    decompressed: list[int] = []

    def watched(data: memoryview, at: int = 0) -> Iterator[tuple[int, bytes]]:
        decompressed.append(at)
        return zstd_blocks(data, at)

    monkeypatch.setattr(text, "zstd_blocks", watched)
    head = zstandard.compress(HEADER)
    report = verified(head + 100 * BREAKS_OFF)
    assert [finding.code.id for finding in report.findings] == 100 * ["ASB102", "ASB110"]
    assert [finding.span.start for finding in report.findings[3::2]] == [
        len(head) + number * len(BREAKS_OFF) + 10 for number in range(1, 100)
    ]
    again = [at for at in decompressed if at]  # the first frame is looked at to recognise the file, too
    assert len(again) == len(set(again)) == 100


def test_entries_in_a_frame_that_breaks_off_are_read() -> None:
    frame = MAGIC + b"\x00\x58" + (len(numbered(1)) << 3).to_bytes(3, "little") + numbered(1) + b"\x06\0\0"
    with thawline.open(zstandard.compress(HEADER) + 3 * BREAKS_OFF + frame + BREAKS_OFF, "aerospike") as cold:
        assert sum(batch.num_rows for batch in cold.batches()) == 1


def test_an_ordinary_udf_of_version_3_0_is_not_parsed_to_see_that_a_tool_refuses_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def parsed(_look: object) -> None:
        raise AssertionError("it was parsed")

    monkeypatch.setattr("thawline.formats.aerospike.entries.EntryReader.entry", parsed)
    report = verified(b"Version 3.0\n" + 100 * b"* u L a 1 x\n")
    assert [finding.code.id for finding in report.findings] == 100 * ["ASB103"]
    assert {finding.detail["reason"] for finding in report.findings} == {"global data in a file of version 3.0"}
