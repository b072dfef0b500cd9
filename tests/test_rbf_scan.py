"""The rows of an RBF file are the frames of the document's reverse scan, whatever the file looks like."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from engines import plainly
from rbf_logs import (
    CRAFTED,
    INNER,
    NESTED,
    check,
    codes_of,
    expected_rows,
    flipped,
    mutated,
    reverse_scan,
    rows_read,
    straddling,
    suspects_of,
    u32,
)

from thawline.checksums import crc32c
from thawline.formats.rbf import walk as rbf_walk
from thawline.formats.rbf.walk import CHECKSUM_BUDGET, read_forward
from thawline.native import fast, plain
from thawline.source import open_source
from tools.bench import attack
from tools.bench.attack import file_of, frame
from tools.damage import damages

MUTANTS = 30_000
SHARE = 5_000
"""Mutants of the normal run; the rest come with `make fuzz`."""

each_crafted = pytest.mark.parametrize("data", CRAFTED.values(), ids=CRAFTED)


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
    monkeypatch.setattr(rbf_walk, "BLOCK", block)
    monkeypatch.setattr(rbf_walk, "CHECKSUM_BUDGET", budget)
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
            stretches = read_forward(source)
        assert sum(stretch.units for stretch in stretches) == len(walk["frames"])
        if stretches:
            assert (stretches[0].start, stretches[-1].end) == (walk["frames"][0], walk["stopped_at"])
