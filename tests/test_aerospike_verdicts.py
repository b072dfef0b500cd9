"""A backup has one verdict, whoever looks at it; what is given although it counts as damaged is marked, and said."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet as pq
import pytest
import zstandard
from backups import HEADER, Lines, keyed, numbered
from test_cli import THAWLINE, surroundings

import thawline
from thawline.damage import CORRUPT
from thawline.errors import FormatError
from thawline.formats.aerospike import Aerospike, Backup
from thawline.formats.contract import Depth, read
from thawline.formats.ranges import Range
from thawline.lake import Place
from thawline.model import Finding, Run
from thawline.source import LocalSource
from thawline.spark.discovery import Work
from thawline.spark.files import File
from thawline.spark.intake import Intake, Share
from thawline.spark.planning import Part

DOUBTS = {
    "digest": (keyed(1).replace(b"user1", b"user2"), "ASB105", "digest"),
    "list": (numbered(1, b"- L a 4 kQGh"), "ASB106", "value"),
    "sketch": (numbered(1, b"- Y a 4 AAAA"), "ASB107", "value"),
    "asrestore": (numbered(1, b"- I a234567890123456 1"), "ASB103", "asrestore"),
    "backup-go": (numbered(1, b"- I a "), "ASB104", "backup-go"),
    "set": (Lines(found_set=b"s" * 64).data(), "ASB103", "asrestore"),
    "base-64": (numbered(1, b"- B b 5 YQ\n=="), "ASB103", "asrestore"),
}
"""Records that can be read and are not fine: what is found, and what the column `suspect` says."""
PACKED: dict[str, Callable[[bytes], bytes]] = {"plain": bytes, "zstd": zstandard.compress}

each_doubt = pytest.mark.parametrize("doubt", DOUBTS)
each_packing = pytest.mark.parametrize("packed", PACKED)


def backup(doubt: str, packed: str = "plain") -> bytes:
    """Three records, of which the second is doubted."""
    return PACKED[packed](HEADER + numbered(0) + DOUBTS[doubt][0] + numbered(2))


def run(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [*THAWLINE, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, env=surroundings())


@each_doubt
@each_packing
def test_rows_that_count_as_damaged_are_given_and_marked(doubt: str, packed: str) -> None:
    cold = thawline.open(backup(doubt, packed), "aerospike")
    _, code, suspect = DOUBTS[doubt]
    assert [(found.code.id, found.severity) for found in cold.findings()] == [(code, "error")]
    assert [row["suspect"] for batch in cold.batches() for row in batch.to_pylist()] == [None, suspect, None]
    assert cold.verify().rows == 2


@each_doubt
@each_packing
def test_strictly_such_rows_are_left_out_and_leniently_they_are_no_damage(doubt: str, packed: str) -> None:
    data = backup(doubt, packed)
    for strict, rows, is_ok in ((True, 2, False), (False, 3, True)):
        cold = thawline.open(data, "aerospike", strict=strict)
        assert (sum(batch.num_rows for batch in cold.batches()), cold.verify().ok) == (rows, is_ok)


@each_doubt
def test_whoever_wants_damage_raised_has_it_raised(doubt: str) -> None:
    cold = thawline.open(backup(doubt), "aerospike", on_error="raise")
    with pytest.raises(FormatError, match=DOUBTS[doubt][1]):
        list(cold.batches())


@each_doubt
def test_bytes_of_a_row_that_is_given_are_not_kept_a_second_time(doubt: str) -> None:
    cold = thawline.open(backup(doubt) + b"+ n broken", "aerospike", on_error="keep")
    rows = [row for batch in cold.batches() for row in batch.to_pylist()]
    assert [row[CORRUPT] for row in rows] == [None, None, None, b"+ n broken"]


COMMANDS = ("verify", "info", "stats", "cat", "head", "tail", "convert", "salvage")


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("doubt", ["digest", "asrestore"])
def test_every_command_exits_alike(command: str, doubt: str, tmp_path: Path) -> None:
    path, out = tmp_path / "a.asb", tmp_path / "out"
    path.write_bytes(backup(doubt))
    output = {"convert": ["-o", out.with_suffix(".parquet")], "salvage": ["-o", out.with_suffix(".asb")]}
    done = run(command, path, *output.get(command, []))
    assert done.returncode == 1, done.stderr
    if command in {"cat", "head", "tail", "convert"}:
        told = f"thawline: {path}: gave 1 row that verify counts as damaged; see: thawline verify {path}"
        assert told in done.stderr.splitlines()
    if command == "convert":
        assert pq.read_table(out.with_suffix(".parquet"))["suspect"].to_pylist() == [None, DOUBTS[doubt][2], None]


@pytest.mark.parametrize("command", [command for command in COMMANDS if command not in {"convert", "salvage"}])
def test_leniently_every_command_exits_alike(command: str, tmp_path: Path) -> None:
    path = tmp_path / "a.asb"
    path.write_bytes(backup("digest"))
    done = run(command, path, "--lenient")
    assert (done.returncode, done.stderr) == (0, "")


def test_rows_and_bytes_that_are_lost_are_told_apart(tmp_path: Path) -> None:
    path = tmp_path / "a.asb"
    path.write_bytes(backup("digest") + b"+ n broken")
    told = (
        f"gave 1 row that verify counts as damaged, skipped 10 damaged bytes (1 finding); see: thawline verify {path}"
    )
    assert run("cat", path).stderr == f"thawline: {path}: {told}\n"


def test_head_says_so_as_soon_as_it_gives_such_a_row_and_not_before(tmp_path: Path) -> None:
    path = tmp_path / "a.asb"
    path.write_bytes(backup("digest"))
    done = run("head", "-n", 1, path)
    assert (done.returncode, done.stderr) == (0, "")
    done = run("head", "-n", 2, path)
    assert done.returncode == 1
    assert "gave 1 row" in done.stderr


@each_doubt
def test_ingest_counts_such_a_file_as_damaged(doubt: str, tmp_path: Path) -> None:
    path, lake = tmp_path / "a.asb", tmp_path / "lake"
    path.write_bytes(backup(doubt))
    file = File(str(path), path.stat().st_size)
    for part in (Part(file), Part(file, Range(0, file.size))):
        taken = Intake(Place(str(lake)), "run").take((Share(Work(file), part),))
        (account,) = taken.accounts
        report = thawline.open(path).verify()
        assert (account.status, account.report.rows) == ("damaged", 3)
        assert [finding.code.id for finding in account.report.findings] == [DOUBTS[doubt][1]]
        assert (account.report.units, account.report.intact_bytes) == (report.units, report.intact_bytes)
        assert account.report.damaged_bytes == report.damaged_bytes == len(DOUBTS[doubt][0])


@each_doubt
@each_packing
def test_rows_can_be_read_again_run_by_run(doubt: str, packed: str) -> None:
    source, kind = LocalSource("a.asb", backup(doubt, packed)), Backup(Aerospike())
    names = ["suspect", "digest", "bins", "position"]
    whole = [item[1] for item in read(kind, source, "records", names) if not isinstance(item, Finding)]
    again = [
        item[1]
        for run in kind.walk(source, Depth.UNITS)
        if isinstance(run, Run)
        for item in kind.rows(source, [run.portable()], "records", names)
        if not isinstance(item, Finding)
    ]
    expected = [row for batches in whole for batch in batches for row in batch.to_pylist()]
    assert [row for batches in again for batch in batches for row in batch.to_pylist()] == expected
    assert len(expected) == 3


def test_a_run_of_version_3_0_is_read_again_without_escapes() -> None:
    data = b"Version 3.0\n" + numbered(0) + Lines(found_set=b"a\\b").data() + numbered(1)
    source, kind = LocalSource("a.asb", data), Backup(Aerospike())
    found = [
        row["set"]
        for run in kind.walk(source, Depth.UNITS)
        if isinstance(run, Run)
        for item in kind.rows(source, [run.portable()], "records", ["set"])
        if not isinstance(item, Finding)
        for batch in item[1]
        for row in batch.to_pylist()
    ]
    assert found == ["demo", "a\\b", "demo"]


def test_a_sketch_is_called_a_sketch_however_its_record_is_read() -> None:
    sketch = Lines(bins=(b"- Y a 4 AAAA",), found_set=b"a\\b").data()
    cold = thawline.open(b"Version 3.0\n" + sketch, "aerospike")
    assert [finding.code.id for finding in cold.findings()] == ["ASB107"]


def test_indexes_that_one_tool_refuses_are_given_and_marked(tmp_path: Path) -> None:
    lines = b"* i test s i N 1 b N\n* e test s j N 1  N ZXhw\n* i test s k N 1 b N\n"
    path = tmp_path / "a.asb"
    path.write_bytes(HEADER + lines + numbered(0))
    done = run("cat", path, "--table", "indexes", "--columns", "name,suspect", "--format", "jsonl")
    given = [tuple(json.loads(line).values()) for line in done.stdout.splitlines()]
    assert given == [("i", None), ("j", "asrestore"), ("k", None)]
    assert (done.returncode, thawline.open(path).verify().ok) == (1, False)


def test_salvage_says_what_it_wrote_anew(tmp_path: Path) -> None:
    path, out = tmp_path / "a.asb", tmp_path / "out.asb"
    path.write_bytes(backup("backup-go"))
    done = run("salvage", path, "-o", out, "--json")
    told = json.loads(done.stdout)
    assert (done.returncode, told["recovered"], told["lost"], told["suspects"], told["rows"]) == (1, 1, [], 0, 3)
    start, end = len(HEADER + numbered(0)), len(HEADER + numbered(0)) + len(DOUBTS["backup-go"][0])
    assert f"recovered at {start:#x}..{end:#x}: 1 entry (ASB104 " in done.stderr
    assert thawline.open(out).verify().ok
    assert out.read_bytes() == HEADER + numbered(0) + numbered(1, b"- I a 0") + numbered(2)
