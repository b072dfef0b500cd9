"""The example of docs/your-format.md: LevelDB's log in sixty lines of a spec, on logs that LevelDB wrote."""

from __future__ import annotations

import json
import random
import struct
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from in_process import on_pipe
from leveldb_logs import BLOCK, SPEC, fragments, written

import thawline
from thawline.compiler import kernel_cache

VALUES = {f"key{number:04}".encode(): random.Random(number).randbytes(number % 900) for number in range(700)}
VALUES[b"large"] = bytes(100_000)


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    return written(tmp_path_factory.mktemp("leveldb"), VALUES)


@pytest.fixture(autouse=True)
def _plain(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel_cache, "missing", lambda: "tests compile nothing")


@pytest.fixture
def folder(log: bytes, tmp_path: Path) -> Path:
    (tmp_path / "000003.log").write_bytes(log)
    damaged = bytearray(log)
    damaged[2 * BLOCK + 100] ^= 1
    (tmp_path / "damaged.log").write_bytes(damaged)
    return tmp_path


def test_it_is_a_spec_of_sixty_lines() -> None:
    assert len(SPEC.read_text(encoding="utf-8").splitlines()) <= 66


def test_every_fragment_is_a_row(log: bytes) -> None:
    with thawline.open(log, spec=SPEC, table="fragments") as cold:
        rows = [row for batch in cold.batches() for row in batch.to_pylist()]
    assert [(row["body"]["kind"], row["body"]["data"]) for row in rows] == [
        (one.kind, one.data) for one in fragments(log)
    ]
    joined = b"".join(row["body"]["data"] for row in rows)
    assert all(key in joined for key in VALUES)


def test_every_block_is_proven_by_the_checksums_in_it(folder: Path, log: bytes) -> None:
    ran = on_pipe(["--spec", str(SPEC), "verify", "000003.log", "damaged.log"], folder)
    whole, damaged = map(json.loads, ran.out.splitlines())
    assert (ran.code, whole["status"], whole["units"]) == (1, "ok", -(-len(log) // BLOCK))
    (finding,) = damaged["findings"]
    assert (finding["start"], finding["end"]) == (2 * BLOCK, 3 * BLOCK)


def test_a_flipped_bit_costs_its_block_wherever_it_is(log: bytes) -> None:
    chance = random.Random(3)
    for _ in range(20):
        at = chance.randrange(len(log) - 6)
        damaged = bytearray(log)
        damaged[at] ^= 1 << chance.randrange(8)
        (finding,) = thawline.verify(bytes(damaged), spec=SPEC).findings
        assert (finding.span.start, finding.span.end) == (
            at // BLOCK * BLOCK,
            min(at // BLOCK * BLOCK + BLOCK, len(log)),
        )


def test_what_is_salvaged_is_a_log_again(folder: Path, log: bytes) -> None:
    ran = on_pipe(["--spec", str(SPEC), "salvage", "damaged.log", "-o", "new.log"], folder)
    assert ran.code == 1
    new = (folder / "new.log").read_bytes()
    assert new == log[: 2 * BLOCK] + log[3 * BLOCK :]
    kept = [one.data for one in fragments(log) if one.block != 2]
    assert [one.data for one in fragments(new)] == kept
    assert on_pipe(["--spec", str(SPEC), "verify", "new.log"], folder).code == 0


def test_fragments_are_converted_to_parquet(folder: Path, log: bytes) -> None:
    ran = on_pipe(
        ["--spec", str(SPEC), "convert", "--table", "fragments", "000003.log", "-o", "fragments.parquet"], folder
    )
    assert ran.code == 0
    sizes = pq.read_table(folder / "fragments.parquet")["len_data"].to_pylist()
    assert sizes == [len(one.data) for one in fragments(log)]


def test_a_manifest_is_such_a_log_too(tmp_path: Path) -> None:
    written(tmp_path, {b"a": b"b"})
    (manifest,) = (tmp_path / "database").glob("MANIFEST-*")
    assert thawline.verify(manifest, spec=SPEC).units == 1


def test_a_length_that_runs_over_the_block_is_damage(log: bytes) -> None:
    damaged = bytearray(log)
    struct.pack_into("<H", damaged, 4, 0xFFFF)
    (finding,) = thawline.verify(bytes(damaged), spec=SPEC).findings
    assert (finding.span.start, finding.span.end) == (0, BLOCK)
