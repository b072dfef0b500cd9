"""Whatever befalls a file, a scan accounts for every byte of it: the spans of runs and findings tile the file."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from accounts import Golden, golden_files

import thawline
from thawline.formats import FORMATS
from thawline.model import Report
from tools.damage import CUT, FLIP, HEAD, KINDS, SWAP, TAIL, Damage, damaged, damages

SEEDS = range(6)
MORE_SEEDS = range(len(SEEDS), 40)
PARTS_OF_FILES = (".address", ".bin", ".index", ".timeindex", ".txnindex", ".snapshot")
"""Golden files that are not files of their format, but what payloads or files beside them hold."""


SAME_RULES: dict[str, dict[str, object]] = {"aerospike": {"strict": False}}
"""Options under which a format verifies by the rules that it reads by."""
REMARKS = {"aerospike/hostile-values.asb": {"ASB201"}, "aerospike/odd-names.asb": {"ASB203"}}
"""What golden files have in them on purpose that is worth a word."""


def whole_files() -> list[Golden]:
    found = [golden for name in FORMATS for golden in golden_files(name)]
    return [golden for golden in found if golden.file.suffix not in PARTS_OF_FILES]


each_file = pytest.mark.parametrize("golden", whole_files(), ids=lambda golden: golden.name)


def accounted(golden: Golden, data: bytes) -> Report:
    """The report of a file; `Report` itself refuses spans that leave a gap or overlap."""
    name = golden.name.partition("/")[0]
    with thawline.open(data, name, **SAME_RULES.get(name, {})) as cold:
        report = cold.verify()
        rows = sum(batch.num_rows for batch in cold.batches())
    assert rows == report.rows
    remarks = sum(finding.span.size for finding in report.findings if finding.severity != "error")
    assert report.intact_bytes + report.damaged_bytes + remarks == report.size == len(data)
    # What is wrong inside a unit that is intact as a whole takes no bytes, but its detail says where it is.
    assert all(finding.span.size or finding.detail for finding in report.findings) or not data
    return report


@each_file
def test_a_golden_file_is_intact_from_its_first_byte_to_its_last(golden: Golden) -> None:
    report = accounted(golden, golden.data)
    assert report.ok
    expected_remarks = {*golden.account.get("notes", {}).get("findings", []), *REMARKS.get(golden.name, ())}
    remarks = [found for found in report.findings if found.severity != "note" and found.code.id not in expected_remarks]
    assert (remarks, report.intact_bytes, report.units) == ([], len(golden.data), len(golden.account["units"]))


@each_file
def test_every_byte_of_a_damaged_file_is_accounted_for(golden: Golden) -> None:
    for seed in SEEDS:
        for damage in damages(golden.data, seed):
            report = accounted(golden, damage.data)
            assert report.ok or report.damaged_bytes or not damage.data, damage.what


@pytest.mark.fuzz
@each_file
def test_every_byte_is_accounted_for_after_many_kinds_of_damage(golden: Golden) -> None:
    for seed in MORE_SEEDS:
        for damage in damages(golden.data, seed):
            accounted(golden, damage.data)
            for again in damages(damage.data, seed):
                accounted(golden, again.data)


LONG = b"".join(bytes([index % 251]) * 7 for index in range(3000))


@pytest.mark.parametrize("kind", KINDS)
def test_damage_is_the_same_for_the_same_seed_and_another_for_another(kind: str) -> None:
    assert damaged(LONG, kind, 7) == damaged(LONG, kind, 7)
    assert len({damaged(LONG, kind, seed).data for seed in range(20)}) > 3


@pytest.mark.parametrize("kind", KINDS)
def test_damage_starts_where_it_says(kind: str) -> None:
    for seed in range(50):
        damage = damaged(LONG, kind, seed)
        assert damage.data[: damage.at] == LONG[: damage.at]


@pytest.mark.parametrize("data", [b"", b"R", b"RBF1"])
def test_the_shortest_files_can_be_damaged(data: bytes) -> None:
    for seed in range(20):
        assert [damage.kind for damage in damages(data, seed)] == list(KINDS)


def test_damage_does_what_its_kind_says() -> None:
    def made(kind: str) -> list[Damage]:
        return [damaged(LONG, kind, seed) for seed in range(30)]

    for damage in made(FLIP):
        differing = [a ^ b for a, b in zip(damage.data, LONG, strict=True) if a != b]
        assert [bits.bit_count() for bits in differing] == [1]
    assert all(LONG.startswith(damage.data) and len(damage.data) < len(LONG) for damage in made(CUT))
    assert all(damage.data.endswith(LONG) and damage.data != LONG for damage in made(HEAD))
    assert all(damage.data.startswith(LONG) and damage.data != LONG for damage in made(TAIL))
    assert all(sorted(damage.data) == sorted(LONG) for damage in made(SWAP))


def test_the_command_writes_a_damaged_copy_and_leaves_the_file_alone(tmp_path: Path) -> None:
    file, copy = tmp_path / "whole.bin", tmp_path / "damaged.bin"
    file.write_bytes(LONG)
    command = [sys.executable, "-m", "tools.damage", file, "--kind", "flip", "--seed", "7", "-o"]
    run = subprocess.run([*command, copy], check=True, capture_output=True, text=True, cwd=Path(__file__).parents[1])
    expected = damaged(LONG, FLIP, 7)
    assert (copy.read_bytes(), file.read_bytes()) == (expected.data, LONG)
    assert run.stdout == f"{copy}: flip at {expected.at:#x}: {expected.what}\n"
    again = subprocess.run([*command, file], check=False, capture_output=True, cwd=Path(__file__).parents[1])
    assert again.returncode == 1
    assert file.read_bytes() == LONG
