"""The rows of an RBF file are the frames of the document's reverse scan, whatever the file looks like."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import fsspec
import pyarrow as pa
import pytest
from accounts import golden_files
from engines import calling, plainly
from rbf_logs import flipped, patched, suspects_of, u4

import thawline
from thawline.checksums import crc32c
from thawline.engine import columns
from thawline.errors import SourceError
from thawline.formats import rbf
from thawline.formats.rbf import findings as rbf_findings
from thawline.formats.rbf import frames as rbf_frames
from thawline.formats.rbf.frames import CHECKPOINT, CHECKSUM_BUDGET, ReverseScan, read_forward
from thawline.model import Finding, Run, Span
from thawline.native import fast, plain
from thawline.source import RemoteSource, open_source
from tools.bench import attack
from tools.bench.attack import FENCE, file_of, frame
from tools.damage import damages
from tools.mutants import mutants

MUTANTS = 30_000
SHARE = 5_000
"""Mutants of the normal run; the rest come with `make fuzz`."""
LONGEST_MUTATED = 4096


def reverse_scan(data: bytes) -> Iterator[int]:  # noqa: C901 - it is kept as the document has it
    """Section 6.1, line by line: the start of every frame that passes, from the tail to the head."""
    genesis_len, fence_len, min_frame_len = 4, 4, 20
    file_length = len(data)
    if file_length < genesis_len:
        return
    if file_length == genesis_len:
        return
    fence_pos = align_down_4(file_length - fence_len)
    while fence_pos >= 0:
        if fence_pos == 0:
            break
        if data[fence_pos : fence_pos + 4] != FENCE:
            fence_pos -= 4
            continue
        record_end = fence_pos
        if record_end < genesis_len + min_frame_len:
            fence_pos -= 4
            continue
        tail_len = u32(data, record_end - 8)
        stored_crc = u32(data, record_end - 4)
        frame_start = record_end - tail_len
        if frame_start < genesis_len or frame_start % 4 != 0:
            fence_pos -= 4
            continue
        prev_fence_pos = frame_start - fence_len
        if prev_fence_pos < 0 or data[prev_fence_pos : prev_fence_pos + 4] != FENCE:
            fence_pos -= 4
            continue
        head_len = u32(data, frame_start)
        if head_len != tail_len or head_len % 4 != 0 or head_len < min_frame_len:
            fence_pos -= 4
            continue
        computed_crc = crc32c(data, frame_start + 4, record_end - 4)
        if computed_crc != stored_crc:
            fence_pos -= 4
            continue
        status_byte_offset = frame_start + head_len - 9
        status_byte = data[status_byte_offset]
        status_len = (status_byte & 0x03) + 1
        if status_byte & 0x7C != 0:
            fence_pos -= 4
            continue
        if any(data[status_byte_offset - i] != status_byte for i in range(1, status_len)):
            fence_pos -= 4
            continue
        yield frame_start
        fence_pos = prev_fence_pos


def align_down_4(x: int) -> int:
    return x - x % 4


def u32(data: bytes, at: int) -> int:
    return int.from_bytes(data[at : at + 4], "little")


Row = tuple[int, int, int, bytes, bool]
"""Address, length, tag, payload and whether it is a tombstone."""


def row_at(data: bytes, start: int) -> Row:
    """The frame at a place that the reverse scan yielded [F-STATUSLEN-REVERSE-FORMULA]."""
    length = u32(data, start)
    status = data[start + length - 9]
    end = start + length - 8 - ((status & 3) + 1)
    return start, length, u32(data, start + 4), data[start + 8 : end], bool(status & 0x80)


def expected_rows(data: bytes) -> list[Row]:
    return [row_at(data, start) for start in reversed(list(reverse_scan(data)))]


def rows_of(batches: Iterator[pa.RecordBatch] | list[pa.RecordBatch]) -> list[Row]:
    names = ("address", "length", "tag", "payload", "tombstone")
    return [tuple(row[name] for name in names) for batch in batches for row in batch.to_pylist()]  # type: ignore[misc]


def rows_read(data: bytes) -> list[Row]:
    with thawline.open(data, "rbf") as cold:
        return rows_of(cold.batches())


def items_of(data: bytes) -> list[Run | Finding]:
    with thawline.open(data, "rbf") as cold:
        cold.verify()  # the spans tile the file
        return list(cold.scan())


def findings_of(data: bytes) -> list[Finding]:
    return [item for item in items_of(data) if isinstance(item, Finding)]


def codes_of(data: bytes) -> list[str]:
    return [finding.code.id for finding in findings_of(data)]


def straddling(behind: bytes = b"behind A", lead: bytes = b"") -> bytes:
    """A file whose frame F starts inside the payload of the intact frame A and ends behind A's fence."""
    around = 8 + len(lead)
    for_size = frame(lead + FENCE + bytes(4) + b"FTAG" + b"in A", tag=0xA)
    num_status = 4 - len(behind) % 4
    size = len(for_size) - around - 4 + 4 + len(behind) + num_status + 8
    a = frame(lead + FENCE + u4(size) + b"FTAG" + b"in A", tag=0xA)
    covered = a[around + 8 :] + FENCE + behind + bytes([num_status - 1]) * num_status + u4(size)
    return file_of(frame(b"before", 1), a) + covered[len(a) - around - 4 :] + u4(crc32c(covered)) + FENCE


ONE, TWO, DEAD = frame(b"one", 1), frame(b"second", 2), frame(b"gone!", 3, is_tombstone=True)
INNER = file_of(frame(b"inner one", 10), frame(b"inner two!!", 11))
OUTER = frame(b"payload " + INNER + b"end.", 5)
NESTED = file_of(ONE, OUTER, TWO)
OUTER_AT = 4 + len(ONE) + 4

CRAFTED = {
    "empty": b"",
    "1 byte": b"R",
    "3 bytes": b"RBF",
    "4 bytes": FENCE,
    "4 other bytes": b"????",
    "5 bytes": FENCE + b"?",
    "genesis twice": FENCE * 2,
    "many": file_of(*(frame(bytes(index), index, is_tombstone=index % 3 == 0) for index in range(40))),
    "double fences": FENCE * 3 + ONE + FENCE * 2 + TWO + FENCE * 4 + DEAD + FENCE * 2,
    "nested": NESTED,
    "nested twice": file_of(frame(file_of(frame(INNER, 6), ONE), 7), TWO),
    "nested, outer damaged": flipped(NESTED, OUTER_AT + 9),
    "nested, outer torn": NESTED[: OUTER_AT + len(OUTER) - 10],
    "nested, outer unfenced": NESTED[: OUTER_AT + len(OUTER)],
    "nested, cut behind an inner fence": NESTED[: OUTER_AT + 16 + len(INNER)],
    "nested, HeadLen damaged": flipped(NESTED, OUTER_AT),
    "nested, genesis lost": flipped(file_of(OUTER, TWO), 0),
    "straddling": straddling(),
    "straddling a second frame": straddling(TWO + FENCE),
    "straddling from further inside": straddling(b"?", lead=INNER),
    "straddling, then damage": straddling() + ONE + b"????" + TWO + FENCE,
    "misaligned garbage": file_of(ONE) + b"?????" + FENCE + TWO + FENCE,
    "misaligned, then aligned": file_of(ONE) + b"?????" + TWO + FENCE + b"???" + FENCE + DEAD + FENCE,
    "appended to a torn file": file_of(ONE, TWO)[:-12] + DEAD + FENCE + ONE + FENCE,
    "wrong fence in between": flipped(file_of(ONE, TWO, DEAD), 4 + len(ONE)),
    "nested pairs": attack.nested_pairs(500),
    "nested pairs, wrong status": attack.nested_pairs(500, attack.WRONG_STATUS),
    "nested pairs, no status": attack.nested_pairs(500, b""),
    "nested pairs around frames": attack.nested_around_frames(500),
    "long claims": attack.long_claims(500),
    "speckled": attack.speckled(500),
    "fences": FENCE * 200,
    "zeros": FENCE + bytes(800),
}
each_crafted = pytest.mark.parametrize("data", CRAFTED.values(), ids=CRAFTED)


@cache
def originals() -> list[bytes]:
    """What is mutated: crafted and golden files."""
    golden = [golden.data for golden in golden_files("rbf") if golden.file.suffix == ".rbf"]
    return [data for data in (*CRAFTED.values(), *golden) if len(data) <= LONGEST_MUTATED]


def mutated(seed: int, count: int) -> Iterator[bytes]:
    for index, data in enumerate(originals()):
        yield from mutants(data, 1000 * seed + index, -(-count // len(originals())))


def check(data: bytes) -> None:
    """Rows are those of the reverse scan, spans tile the file, and the report counts the same rows."""
    expected = expected_rows(data)
    with thawline.open(data, "rbf") as cold:
        assert rows_of(cold.batches()) == expected, data.hex()
        assert cold.verify().rows == len(expected)


def test_the_crafted_files_are_what_they_are_called() -> None:
    a_at = 4 + len(frame(b"before")) + 4
    assert [row[2] for row in expected_rows(straddling())] == [1, u32(b"FTAG", 0)]
    with open_source(straddling()) as source:
        assert a_at < read_forward(source)[-1].end  # the forward walk does find A
    assert [row[3] for row in expected_rows(NESTED)] == [b"one", b"payload " + INNER + b"end.", b"second"]
    broken = expected_rows(CRAFTED["nested, outer damaged"])
    assert [row[3] for row in broken] == [b"one", b"inner one", b"inner two!!", b"second"]
    assert expected_rows(CRAFTED["nested pairs"]) == []


@each_crafted
def test_rows_are_the_frames_of_the_reverse_scan(data: bytes) -> None:
    check(data)
    for seed in range(4):
        for damage in damages(data, seed):
            check(damage.data)


def test_rows_are_the_frames_of_the_reverse_scan_for_mutants() -> None:
    for mutant in mutated(0, SHARE):
        check(mutant)


@pytest.mark.fuzz
@pytest.mark.parametrize("seed", range(1, MUTANTS // SHARE))
def test_rows_are_the_frames_of_the_reverse_scan_for_all_mutants(seed: int) -> None:
    for mutant in mutated(seed, SHARE):
        check(mutant)


@pytest.mark.parametrize("block", [4, 32, 100])
@pytest.mark.parametrize("budget", [0, CHECKSUM_BUDGET])
def test_blocks_and_checkpoints_make_no_difference(block: int, budget: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rbf_frames, "BLOCK", block)
    monkeypatch.setattr(rbf_frames, "CHECKSUM_BUDGET", budget)
    for data in CRAFTED.values():
        check(data)
    for mutant in mutated(77, 250):
        check(mutant)


def test_checkpoints_give_the_checksum_of_any_range_with_and_without_the_instruction() -> None:
    data = attack.file_of(*(frame(bytes([size % 256]) * size) for size in (0, 1, 200, 511, 512, 5000, 70_000)))
    starts = list(reverse_scan(data))
    assert len(starts) == 7
    has_instruction = fast.uses_crc32c_instruction()
    try:
        for wanted in (has_instruction, False, has_instruction):
            fast.use_crc32c_instruction(wanted)
            for step in (8, 128, 1000):
                assert _starts_by_checkpoints(data, starts, step) == starts
                assert _starts_by_checkpoints(flipped(data, starts[0] + 40_000), starts, step) == [-1, *starts[1:]]
    finally:
        fast.use_crc32c_instruction(has_instruction)


def test_checkpoints_give_the_same_without_compiled_code() -> None:
    data = attack.file_of(*(frame(bytes([size % 256]) * size) for size in (0, 1, 200, 511, 512, 5000, 70_000)))
    starts = list(reverse_scan(data))
    for step in (8, 128, 1000):
        assert _starts_by_checkpoints(data, starts, step, plain) == starts
        assert _starts_by_checkpoints(flipped(data, starts[0] + 40_000), starts, step, plain) == [-1, *starts[1:]]


def _starts_by_checkpoints(data: bytes, starts: list[int], step: int, functions: Any = fast) -> list[int]:
    """The starts that are left once their checksums were compared."""
    from array import array  # noqa: PLC0415 - nowhere else

    states = array("I", bytes(4 * (len(data) // step + 1)))
    functions.crc32c_checkpoints(data, step, states)
    fences = array("q", [start + u32(data, start) for start in starts])
    left = array("q", starts)
    functions.check_checksums(data, fences, left, len(starts), states, step)
    return list(left)


def test_the_plain_engine_reads_the_same_rows() -> None:
    natively = [(rows_read(data), codes_of(data), suspects_of(data)) for data in CRAFTED.values()]
    with plainly():
        assert [(rows_read(data), codes_of(data), suspects_of(data)) for data in CRAFTED.values()] == natively
        for mutant in mutated(5, 300):
            check(mutant)


def test_the_native_module_can_be_switched_off() -> None:
    code = (
        "import sys, thawline\n"
        "from thawline import native\n"
        "with thawline.open(bytes.fromhex(sys.argv[1])) as cold:\n"
        "    rows = [row['address'] for batch in cold.batches() for row in batch.to_pylist()]\n"
        "    print(native.is_compiled, rows, [finding.code.id for finding in cold.findings()])\n"
    )
    data = CRAFTED["nested, outer damaged"]
    run = subprocess.run(
        [sys.executable, "-c", code, data.hex()],
        check=True, capture_output=True, text=True, env={**os.environ, "THAWLINE_NATIVE": "0"},
    )  # fmt: skip
    assert run.stdout == f"False {[row[0] for row in expected_rows(data)]} {codes_of(data)}\n"
    assert not run.stderr


# The vectors of the document and of its implementations.


def rbf_vectors(folder: Path) -> list[tuple[bytes, dict[str, Any]]]:
    """Every vector that is a file, and what is expected of it."""
    found = json.loads((folder / "rbf" / "vectors.json").read_text(encoding="utf-8"))["vectors"]
    return [(vector_data(vector), vector["expect"]) for vector in found if "reverse_scan" in vector["expect"]]


def vector_data(vector: dict[str, Any]) -> bytes:
    if vector["hex"] is not None:
        return bytes.fromhex(vector["hex"])
    # The one that is too long to be written out; `build` tells what it holds.
    large = bytes(i % 256 for i in range(262_144))
    data = file_of(frame(b"\x11\x22", 1), frame(large, 2), frame(b"\x33\x44", 3))
    assert crc32c(data) == int(vector["expect"]["file_crc32c"], 16)
    return data


def test_the_vectors_read_as_their_authors_say(vectors: Path) -> None:
    read = rbf_vectors(vectors)
    assert len(read) > 90
    for data, expect in read:
        check(data)
        found = rows_read(data)
        for row, expected in zip(reversed(found), expect["reverse_scan"], strict=True):
            assert row[:3] == (expected["offset"], expected["length"], expected["tag"])
            assert row[3].hex() == (expected["payload_hex"] if expected["payload_hex"] is not None else row[3].hex())
            assert row[4] is expected["tombstone"]


def test_the_forward_walk_stops_where_the_vectors_say(vectors: Path) -> None:
    for data, expect in rbf_vectors(vectors):
        walk = expect["forward_walk"]
        with open_source(data) as source:
            segments = read_forward(source)
        assert sum(segment.frames for segment in segments) == len(walk["frames"])
        if segments:
            assert (segments[0].start, segments[-1].end) == (walk["frames"][0], walk["stopped_at"])


# What is wrong with a file, and where.

Expected = tuple[str, int, int, dict[str, object]]


def whole(*expected: Expected) -> list[Expected]:
    return list(expected)


LOST_ONE = {"lost": r"1 frame with tag 0x00000001, 20 bytes"}


def torn(left: int) -> dict[str, object]:
    return {"left": left, "lost": f"the last frame, of which {left} bytes are there"}


FIRST, SECOND = 4, 4 + len(ONE) + 4
END = SECOND + len(TWO) + 4
PAIR = file_of(ONE, TWO)
V40 = FENCE + u4(24) + b"pay!" + u4(0) + u4(0x11223344) + u4(1) + u4(24) + FENCE

MINIMAL: dict[str, tuple[bytes, list[Expected]]] = {
    "genesis lost": (
        flipped(PAIR, 0),
        whole(("RBF101", 0, 4, {}), ("RBF110", 4, SECOND, LOST_ONE)),
    ),
    "torn tail": (
        PAIR[:-8],
        whole(("RBF102", SECOND, END - 8, {"claimed": len(TWO), **torn(20)})),
    ),
    "torn inside HeadLen": (
        file_of(ONE) + b"\x18\x00",
        whole(("RBF102", SECOND, SECOND + 2, {"claimed": 0, **torn(2)})),
    ),
    "unfenced": (PAIR[:-4], whole(("RBF103", SECOND, END - 4, {"lost": "1 frame with tag 0x00000002, 24 bytes"}))),
    "unfenced by one byte": (PAIR[:-1], whole(("RBF103", SECOND, END - 1, {}))),
    "fence damaged": (
        flipped(file_of(ONE, TWO, DEAD), SECOND - 2),
        whole(("RBF103", FIRST, SECOND, LOST_ONE), ("RBF110", SECOND, END, {})),
    ),
    "checksum": (
        flipped(PAIR, FIRST + 8),
        whole(("RBF104", FIRST, SECOND, {"crc_stored": u32(ONE, 16), **LOST_ONE})),
    ),
    "two checksums": (
        flipped(flipped(PAIR, FIRST + 8), SECOND + 8),
        whole(("RBF104", FIRST, SECOND, LOST_ONE), ("RBF104", SECOND, END, {})),
    ),
    "reserved status bits": (
        patched(PAIR, FIRST + 11, b"\x04"),
        whole(("RBF105", FIRST, SECOND, {"at": FIRST + 11, **LOST_ONE})),
    ),
    "TailLen": (
        flipped(PAIR, FIRST + 12),
        whole(("RBF105", FIRST, SECOND, {"at": FIRST + 12, **LOST_ONE})),
    ),
    "garbage behind a fence": (
        file_of(ONE) + b"garbage",
        whole(("RBF105", SECOND, SECOND + 7, {"at": SECOND})),
    ),
    "HeadLen": (flipped(PAIR, FIRST), whole(("RBF106", FIRST, SECOND, LOST_ONE))),
    "HeadLen of a frame that would then end at the next fence": (
        patched(file_of(ONE, ONE, ONE), FIRST, u4(2 * len(ONE) + 4)),
        whole(("RBF106", FIRST, SECOND, LOST_ONE)),
    ),
    "HeadLen beyond the end": (
        patched(PAIR, FIRST, u4(1 << 20)),
        whole(("RBF106", FIRST, SECOND, LOST_ONE)),
    ),
    "extra fences": (
        FENCE + PAIR + FENCE * 2,
        whole(("RBF107", 4, 8, {"fences": 1}), ("RBF107", END + 4, END + 12, {"fences": 2})),
    ),
    "fence and checksum": (
        flipped(FENCE + PAIR, 4 + FIRST + 8),
        whole(("RBF107", 4, 8, {"fences": 1}), ("RBF104", 8, 4 + SECOND, LOST_ONE)),
    ),
    "newer layout": (V40, whole(("RBF108", 4, len(V40), {}))),
    "too short": (b"RBF", whole(("RBF109", 0, 3, {}))),
    "appended to a torn file": (
        file_of(ONE, TWO)[:-12] + DEAD + FENCE,
        whole(("RBF105", SECOND, END - 12, {}), ("RBF110", END - 12, END - 8 + len(DEAD), {})),
    ),
    "hidden": (
        straddling(),
        whole(("RBF111", 4 + 24 + 4, 4 + 24 + 4 + 12, {"lost": "1 frame with tag 0x0000000a, 36 bytes"})),
    ),
}  # fmt: skip


@pytest.mark.parametrize("data,expected", MINIMAL.values(), ids=MINIMAL)
def test_a_finding_says_what_is_wrong_and_where(data: bytes, expected: list[Expected]) -> None:
    found = findings_of(data)
    assert [(each.code.id, each.span.start, each.span.end) for each in found] == [each[:3] for each in expected]
    for finding, (*_, detail) in zip(found, expected, strict=True):
        assert {key: finding.detail.get(key) for key in detail} == detail
    check(data)


def test_every_code_is_produced_by_a_minimal_file() -> None:
    produced = {code for _, expected in MINIMAL.values() for code, *_ in expected}
    assert produced == {code.id for code in rbf_findings.CODES}


def test_findings_of_damage_name_the_command_that_saves_the_rest(tmp_path: Path) -> None:
    without = {"RBF107", "RBF108", "RBF109"}  # nothing is lost, or nothing can be saved
    for data, _ in MINIMAL.values():
        path = tmp_path / "my log.rbf"
        path.write_bytes(data)
        with thawline.open(path, "rbf") as cold:
            for finding in cold.findings():
                hint = "" if finding.code.id in without else f"thawline salvage '{path}' -o intact.rbf"
                assert finding.hint == hint


def test_codes_are_unique_and_explained() -> None:
    codes = rbf_findings.CODES
    assert len({code.id for code in codes}) == len({code.message for code in codes}) == len(codes)
    for code in codes:
        assert code.message[0].islower() or code.message.startswith("HeadLen")
        assert not code.message.endswith(".")
        assert code.explanation.endswith(".")


def test_a_new_file_is_clean() -> None:
    with thawline.open(FENCE, "rbf") as cold:
        assert rows_of(cold.batches()) == []
        report = cold.verify()
    assert (report.ok, report.findings, report.rows) == (True, [], 0)


def test_an_emptied_file_has_no_rows_and_is_not_called_clean() -> None:
    with thawline.open(b"", "rbf") as cold:
        assert rows_of(cold.batches()) == []
        report = cold.verify()
    assert [(finding.code.id, finding.span) for finding in report.findings] == [("RBF109", Span(0, 0))]
    assert not report.ok


# Frames inside the claimed extent of a broken frame.

INSIDE = [(b"inner one", True), (b"inner two!!", True)]


def test_frames_inside_a_damaged_frame_are_suspects() -> None:
    data = CRAFTED["nested, outer damaged"]
    assert suspects_of(data) == [(b"one", False), *INSIDE, (b"second", False)]
    assert codes_of(data) == ["RBF104", "RBF105"]
    assert findings_of(data)[1].detail["reason"] == f"the rest of the broken frame at {OUTER_AT:#x}"


@pytest.mark.parametrize("missing", [1, 4, 8, 13, 16])
def test_frames_inside_a_torn_frame_are_suspects(missing: int) -> None:
    data = NESTED[: OUTER_AT + len(OUTER) - missing]
    assert suspects_of(data) == [(b"one", False), *INSIDE]
    assert codes_of(data)[0] == "RBF102"


def test_frames_inside_a_frame_torn_exactly_behind_their_fence_are_suspects() -> None:
    data = CRAFTED["nested, cut behind an inner fence"]
    assert data.endswith(FENCE)
    assert suspects_of(data) == [(b"one", False), *INSIDE]
    assert codes_of(data) == ["RBF102"]


def test_frames_inside_a_whole_frame_without_its_fence_are_suspects() -> None:
    assert suspects_of(CRAFTED["nested, outer unfenced"]) == [(b"one", False), *INSIDE]
    assert codes_of(CRAFTED["nested, outer unfenced"])[0] == "RBF103"


def test_frames_inside_the_first_frame_of_a_file_that_lost_its_genesis_are_suspects() -> None:
    data = CRAFTED["nested, genesis lost"]
    assert suspects_of(data) == [*INSIDE, (b"second", False)]
    assert codes_of(data)[:2] == ["RBF101", "RBF110"]


@pytest.mark.parametrize("length", [0, 24, len(OUTER) + 4 + len(TWO), 1 << 20, (1 << 32) - 4])
def test_frames_inside_a_frame_whose_head_len_is_damaged_are_suspects_and_others_not(length: int) -> None:
    data = patched(NESTED, OUTER_AT, u4(length))
    assert suspects_of(data) == [(b"one", False), *INSIDE, (b"second", False)]
    assert codes_of(data) == ["RBF106", "RBF105"]


@pytest.mark.parametrize("length", [0, 24, len(OUTER) + 4 + len(TWO), 1 << 20])
def test_a_tail_len_tells_the_extent_where_head_len_and_checksum_are_damaged(length: int) -> None:
    data = flipped(patched(NESTED, OUTER_AT, u4(length)), OUTER_AT + 9)
    assert suspects_of(data) == [(b"one", False), *INSIDE, (b"second", False)]
    assert codes_of(data) == ["RBF105", "RBF105"]


@pytest.mark.parametrize("length", [0, 20, 44, 68, 92, 1 << 12, 1 << 20])
def test_no_frame_is_a_suspect_because_of_a_damaged_head_len(length: int) -> None:
    frames = [frame(bytes([index]) * 3, index) for index in range(6)]
    for index in range(6):
        data = patched(file_of(*frames), 4 + 24 * index, u4(length))
        if length != 20:
            assert codes_of(data) == ["RBF106"]
        assert not any(marked for _, marked in suspects_of(data))


def test_only_the_frames_that_end_inside_the_broken_frame_are_suspects() -> None:
    # The second HeadLen claims itself and the next two frames, and a fence stands where it says they end.
    frames = [frame(bytes([index]) * 3, index) for index in range(6)]
    data = flipped(patched(file_of(*frames), 4 + 24, u4(20 + 2 * 24)), 4 + 24 + 12)
    data = flipped(data, 4 + 24 + 8)
    assert [marked for _, marked in suspects_of(data)] == [False, True, True, False, False]


def test_intact_files_in_payloads_are_no_suspects() -> None:
    assert not any(marked for _, marked in suspects_of(NESTED))
    assert codes_of(NESTED) == []


# The quadratic attack: work is counted, not timed.


class Counting:
    """The native module, which counts the bytes that go into checksums of candidates one by one, and candidates."""

    def __init__(self) -> None:
        self.covered = self.candidates = 0
        self.module = SimpleNamespace(**{name: getattr(fast, name) for name in dir(fast)})
        self.module.check_checksums = self.check_checksums

    def check_checksums(self, buf: Any, fences: Any, starts: Any, count: int, states: Any, step: int) -> None:
        assert step == CHECKPOINT
        self.candidates += sum(start >= 0 for start in starts[:count])
        if not len(states):
            self.covered += fast.covered_bytes(fences, starts, count)
        fast.check_checksums(buf, fences, starts, count, states, step)


@pytest.mark.parametrize("size", [1 << 16, 1 << 17, 1 << 20])
@pytest.mark.parametrize("build", [attack.nested_pairs, attack.nested_around_frames], ids=lambda build: build.__name__)
def test_checksums_of_nested_candidates_cost_linear_work(build: Any, size: int) -> None:
    data = build(size)
    counting = Counting()
    with calling(counting.module), open_source(data) as source:
        scan = ReverseScan(source, 4)
        while scan.is_open:
            scan.step(1 << 16)
        assert scan.budget < 0
        assert len(scan.checkpoints) == len(data) // CHECKPOINT + 1
    assert size // 60 <= counting.candidates <= size // 20
    assert counting.covered <= CHECKSUM_BUDGET * len(data)


def test_a_clean_file_is_checked_without_checkpoints() -> None:
    with open_source(attack.clean(1 << 18)) as source:
        scan = ReverseScan(source, 4)
        while scan.is_open:
            scan.step(1 << 14)
        assert scan.budget > 0
        assert not scan.checkpoints


@pytest.mark.parametrize("name", attack.ATTACKS)
def test_explaining_a_hostile_file_costs_linear_work(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    data = attack.ATTACKS[name](1 << 15)
    work: list[int] = []

    probe = rbf_findings.frame_probe()

    def counted_probe(view: memoryview) -> Any:
        work.append(len(view))
        return probe(view)

    def counted_crc32c(view: memoryview, start: int, end: int) -> int:
        work.append(end - start)
        return crc32c(view, start, end)

    monkeypatch.setattr(rbf_findings, "frame_probe", lambda: counted_probe)
    monkeypatch.setattr(rbf_findings, "crc32c", counted_crc32c)
    items = items_of(data)
    # A frame that breaks a rule early is within the budget but costs nothing; what is left are a few bytes a gap.
    assert sum(work) <= (2 * rbf_findings.EXPLAIN_BUDGET + 1) * len(data) + 24 * len(items)


@pytest.mark.parametrize("name", attack.ATTACKS)
def test_rows_of_a_hostile_file_are_the_frames_of_the_reverse_scan(name: str) -> None:
    check(attack.ATTACKS[name](1 << 13))


# The end of a file.


def last_rows(data: bytes, rows: int) -> list[dict[str, Any]]:
    with thawline.open(data, "rbf") as cold:
        return [row for batch in cold.tail(rows) for row in batch.to_pylist()]


def all_rows(data: bytes) -> list[dict[str, Any]]:
    with thawline.open(data, "rbf") as cold:
        return [row for batch in cold.batches() for row in batch.to_pylist()]


@pytest.mark.parametrize("rows", [0, 1, 2, 3, 5, 39, 40, 41, 10**9])
@pytest.mark.parametrize("window", [8, 64, rbf.FIRST_WINDOW])
def test_tail_is_the_end_of_all_rows(rows: int, window: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rbf, "FIRST_WINDOW", window)
    for name, data in CRAFTED.items():
        every = all_rows(data)
        assert last_rows(data, rows) == every[max(len(every) - rows, 0) :], name


def test_tail_is_the_end_of_all_rows_for_mutants() -> None:
    for index, mutant in enumerate(mutated(9, 1000)):
        rows = index % 4
        every = all_rows(mutant)
        assert last_rows(mutant, rows) == every[max(len(every) - rows, 0) :], mutant.hex()


def test_tail_marks_frames_that_only_the_start_of_the_file_shows_to_be_nested() -> None:
    data = CRAFTED["nested, cut behind an inner fence"]
    for rows in (1, 2, 3):
        assert [row["nested_suspect"] for row in last_rows(data, rows)] == [False, True, True][-rows:]


def test_tail_does_not_look_further_back_than_a_frame_can_reach(monkeypatch: pytest.MonkeyPatch) -> None:
    data = attack.clean(8 << 20)
    monkeypatch.setattr(rbf, "LOOKED_BACK", 1 << 20)
    seen: list[int] = []
    check_frames = fast.check_frames

    def watched(buf: Any, *rest: Any) -> None:
        seen.append(len(buf))
        check_frames(buf, *rest)

    module = SimpleNamespace(**{name: getattr(fast, name) for name in dir(fast)})
    module.check_frames = watched
    with calling(module):
        assert len(last_rows(data, 10)) == 10
    assert max(seen) <= rbf.LOOKED_BACK + rbf.FIRST_WINDOW


# Remote files.


@pytest.fixture
def fetched(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
    """The ranges that are fetched, in small blocks."""
    ranges: list[tuple[int, int]] = []
    fetch = RemoteSource._fetch

    def recorded(self: RemoteSource, start: int, end: int) -> bytes:
        ranges.append((start, end))
        return fetch(self, start, end)

    monkeypatch.setattr(RemoteSource, "_fetch", recorded)
    monkeypatch.setattr(RemoteSource, "block", 1 << 12)
    monkeypatch.setattr(columns, "WINDOW", 1 << 16)
    return ranges


def uploaded(data: bytes) -> str:
    url = "memory://thawline/log.rbf"
    with fsspec.open(url, "wb") as file:
        file.write(data)
    return url


def comparable(findings: Iterator[Finding]) -> list[tuple[object, ...]]:
    return [(finding.code.id, finding.span, finding.detail) for finding in findings]


def test_a_remote_file_reads_like_a_local_one(fetched: list[tuple[int, int]]) -> None:
    for name, data in {**CRAFTED, **{name: data for name, (data, _) in MINIMAL.items()}}.items():
        with thawline.open(uploaded(data), "rbf") as remote, thawline.open(data, "rbf") as local:
            assert isinstance(remote.source, RemoteSource)
            assert comparable(remote.findings()) == comparable(local.findings()), name
            assert rows_of(remote.batches()) == rows_of(local.batches()), name
            assert remote.verify().rows == local.verify().rows
            assert rows_of(remote.tail(2)) == rows_of(local.tail(2)), name
    assert fetched


def no_copy(_: RemoteSource) -> None:
    raise AssertionError("a clean file was copied")


def test_a_clean_remote_file_is_read_in_ranges(fetched: list[tuple[int, int]], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(RemoteSource, "on_disk", no_copy)
    data = attack.clean(1 << 20)
    with thawline.open(uploaded(data)) as cold:
        assert cold.verify().ok
        assert sum(end - start for start, end in fetched) < 1.1 * len(data)
        fetched.clear()
        assert rows_of(cold.batches()) == expected_rows(data)
    assert max(end - start for start, end in fetched) <= columns.WINDOW
    assert sum(end - start for start, end in fetched) < 2.2 * len(data)


def test_the_tail_of_a_clean_remote_file_is_fetched_without_the_rest(
    fetched: list[tuple[int, int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(RemoteSource, "on_disk", no_copy)
    data = attack.clean(2 << 20)
    with thawline.open(uploaded(data)) as cold:
        fetched.clear()
        assert rows_of(cold.tail(7)) == expected_rows(data)[-7:]
    assert sum(end - start for start, end in fetched) <= 3 * rbf.FIRST_WINDOW
    assert min(start for start, _ in fetched) >= len(data) - 2 * rbf.FIRST_WINDOW


def test_a_damaged_remote_file_is_copied_once_and_in_blocks(
    fetched: list[tuple[int, int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rbf, "LAST_REMOTE_WINDOW", columns.WINDOW)
    data = flipped(attack.clean(1 << 19), 1 << 18)
    with thawline.open(uploaded(data)) as cold:
        assert not cold.verify().ok
        fetched.clear()
        assert rows_of(cold.batches()) == expected_rows(data)
        assert comparable(cold.findings()) == comparable(iter(findings_of(data)))
        assert not fetched  # the copy serves
    with thawline.open(uploaded(data)) as cold:
        fetched.clear()
        assert rows_of(cold.tail(600)) == expected_rows(data)[-600:]
    assert max(end - start for start, end in fetched) <= columns.WINDOW


def test_a_remote_file_that_changes_while_it_is_copied_is_an_error(fetched: list[tuple[int, int]]) -> None:
    data = flipped(attack.clean(1 << 16), 1 << 15)
    with thawline.open(uploaded(data)) as cold:
        cold.source.size += 4096
        with pytest.raises(SourceError, match="changed while it was read"):
            cold.source.on_disk()
    assert fetched
