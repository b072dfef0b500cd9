from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from accounts import Golden, golden_files
from conftest import ROOT

from thawline.cold import open_cold
from thawline.errors import SourceError, ThawlineError
from thawline.formats.rbf import salvage as rbf_salvage
from thawline.formats.rbf.salvage import BadCut
from thawline.formats.rbf.writer import encode
from thawline.verbs.salvage import Salvaged, salvage, truncate
from tools.mutants import mutants

GOLDEN = [golden for golden in golden_files("rbf") if golden.file.suffix == ".rbf"]
MUTANTS = 60
FENCE = b"RBF1"

FIRST, SECOND, THIRD = (encode(number, b"payload of %d" % number) for number in (1, 2, 3))
LOG = FENCE + FIRST + SECOND + THIRD
OUTER = encode(50, LOG)
"""A frame that holds a log."""

Row = dict[str, Any]


@pytest.fixture(autouse=True)
def no_waiting_for_the_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "fsync", lambda _: None)


def rows(data: bytes | Path, *, suspects: bool = False) -> list[Row]:
    """What a frame says, without its address; suspects only on request."""
    with open_cold(data, "rbf") as cold:
        found = [row for batch in cold for row in batch.to_pylist()]
    kept = [row for row in found if suspects or not row["nested_suspect"]]
    return [{name: row[name] for name in ("tag", "payload", "tombstone")} for row in kept]


def salvaged(data: bytes | Path, target: Path, **options: bool) -> Salvaged:
    with open_cold(data, "rbf") as cold:
        return salvage(cold, target, **options)


def tags(data: bytes | Path) -> list[int]:
    return [row["tag"] for row in rows(data, suspects=True)]


def check(done: Salvaged, expected: list[Row]) -> None:
    """The new file is clean and holds what is expected, and the account of it is true."""
    with open_cold(done.target) as cold:
        report = cold.verify()
        assert report.ok
        assert not report.findings
        assert (report.units, report.rows, report.size) == (done.units, done.rows, done.bytes_written)
    assert rows(done.target, suspects=True) == expected


@pytest.mark.parametrize("golden", GOLDEN, ids=lambda golden: golden.name)
def test_an_intact_file_is_salvaged_byte_for_byte(golden: Golden, tmp_path: Path) -> None:
    done = salvaged(golden.file, tmp_path / "out.rbf", recover=True)
    assert done.target.read_bytes() == golden.data
    assert (done.lost, done.recovered, done.suspects) == ((), (), 0)


@pytest.mark.parametrize("golden", GOLDEN, ids=lambda golden: golden.name)
def test_a_damaged_file_is_salvaged_to_its_intact_frames(golden: Golden, tmp_path: Path) -> None:
    target = tmp_path / "out.rbf"
    count = MUTANTS if len(golden.data) < 1 << 16 else MUTANTS // 10
    for damaged in mutants(golden.data + golden.data[4:], seed=4, count=count):
        check(salvaged(damaged, target, overwrite=True), rows(damaged))
        check(salvaged(damaged, target, overwrite=True, include_suspects=True), rows(damaged, suspects=True))


def covered(row: Row) -> bytes:
    """What the checksum of a frame covers, and the checksum."""
    return encode(row["tag"], row["payload"], tombstone=row["tombstone"])[4:-4]


@pytest.mark.parametrize("golden", GOLDEN, ids=lambda golden: golden.name)
def test_recovery_only_adds_frames_that_were_written(golden: Golden, tmp_path: Path) -> None:
    target = tmp_path / "out.rbf"
    count = MUTANTS if len(golden.data) < 1 << 16 else MUTANTS // 10
    for damaged in mutants(golden.data + golden.data[4:], seed=5, count=count):
        done = salvaged(damaged, target, overwrite=True, recover=True)
        intact, held = rows(damaged), rows(target, suspects=True)
        check(done, held)
        assert len(held) == len(intact) + sum(run.units for run in done.recovered)
        assert all(row in held for row in intact)
        assert all(covered(row) in golden.data for row in held if row not in intact)


def damaged_log(at: int, patch: bytes) -> bytes:
    return LOG[:at] + patch + LOG[at + len(patch) :]


SECOND_AT = 4 + len(FIRST)
RECOVERABLE = {
    "genesis lost": (damaged_log(0, b"XXXX"), ["RBF110"]),
    "HeadLen damaged": (damaged_log(SECOND_AT, b"\x7f"), ["RBF106"]),
    "fence damaged": (damaged_log(SECOND_AT - 1, b"X"), ["RBF103", "RBF110"]),
    "two fences damaged": (
        damaged_log(SECOND_AT - 1, b"X")[: -len(THIRD) - 1] + b"X" + THIRD,
        ["RBF103", "RBF103", "RBF110"],
    ),
    "last fence missing": (LOG[:-4], ["RBF103"]),
    "last fence torn": (LOG[:-1], ["RBF103"]),
}


@pytest.mark.parametrize("case", RECOVERABLE)
def test_recovery_gives_back_a_frame_that_is_proven(case: str, tmp_path: Path) -> None:
    damaged, codes = RECOVERABLE[case]
    done = salvaged(damaged, tmp_path / "out.rbf", recover=True)
    assert done.target.read_bytes() == LOG
    assert [run.recovered for run in done.recovered] == codes
    check(done, rows(LOG))


@pytest.mark.parametrize("case", RECOVERABLE)
def test_without_recovery_a_frame_that_readers_reject_is_left_out(case: str, tmp_path: Path) -> None:
    damaged, codes = RECOVERABLE[case]
    done = salvaged(damaged, tmp_path / "out.rbf")
    assert done.units == 3 - len(codes)
    assert set(codes) <= {finding.code.id for finding in done.lost}
    assert done.recovered == ()


@pytest.mark.parametrize("at", [8, 20, len(OUTER) - 13])
def test_frames_inside_a_broken_frame_are_left_out_unless_they_are_asked_for(at: int, tmp_path: Path) -> None:
    broken = bytearray(OUTER)
    broken[at - 4] ^= 1
    damaged = FENCE + FIRST + bytes(broken) + THIRD
    done = salvaged(damaged, tmp_path / "without.rbf")
    assert tags(done.target) == [1, 3]
    assert done.suspects > 0
    asked_for = salvaged(damaged, tmp_path / "with.rbf", include_suspects=True)
    assert asked_for.suspects == 0
    assert asked_for.units == done.units + done.suspects
    check(asked_for, rows(damaged, suspects=True))


@pytest.mark.parametrize(
    "damaged",
    [FENCE + FIRST + OUTER[:-1] + b"X" + THIRD, FENCE + FIRST + b"\x7f" + OUTER[1:] + THIRD],
    ids=["fence damaged", "HeadLen damaged"],
)
def test_a_recovered_frame_takes_the_frames_in_its_payload_with_it(damaged: bytes, tmp_path: Path) -> None:
    for number, include_suspects in enumerate((False, True)):
        target = tmp_path / f"{number}.rbf"
        done = salvaged(damaged, target, recover=True, include_suspects=include_suspects)
        assert target.read_bytes() == FENCE + FIRST + OUTER + THIRD
        assert (done.suspects, done.lost) == (0, ())


def test_a_long_frame_is_copied_in_pieces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rbf_salvage, "PIECE", 7)
    for damaged, _ in RECOVERABLE.values():
        done = salvaged(damaged, tmp_path / "out.rbf", recover=True, overwrite=True)
        assert done.target.read_bytes() == LOG


@pytest.mark.parametrize("data", [b"R", b"RBF", FENCE])
def test_a_file_without_frames_gives_an_empty_log(data: bytes, tmp_path: Path) -> None:
    done = salvaged(data, tmp_path / "out.rbf", recover=True)
    assert done.target.read_bytes() == FENCE
    assert (done.units, done.bytes_written, len(done.lost)) == (0, 4, data != FENCE)


def test_the_input_is_never_the_output(tmp_path: Path) -> None:
    path = tmp_path / "log.rbf"
    path.write_bytes(LOG)
    (tmp_path / "link.rbf").symlink_to(path)
    for target in (path, tmp_path / "link.rbf"):
        with pytest.raises(SourceError, match="is an input, which is never written to"):
            salvaged(path, target, overwrite=True)
        with open_cold(path) as cold, pytest.raises(SourceError, match="is an input, which is never written to"):
            truncate(cold, target, 4, overwrite=True)
    assert path.read_bytes() == LOG


def test_an_output_that_is_there_is_kept_unless_it_may_be_overwritten(tmp_path: Path) -> None:
    target = tmp_path / "out.rbf"
    target.write_bytes(b"old")
    with pytest.raises(SourceError, match="is there already"):
        salvaged(LOG, target)
    assert target.read_bytes() == b"old"
    salvaged(LOG, target, overwrite=True)
    assert target.read_bytes() == LOG


def test_a_large_file_is_salvaged_in_bounded_memory(tmp_path: Path) -> None:
    path = tmp_path / "large.rbf"
    frame = encode(1, bytes(1 << 20))
    with path.open("wb") as file:
        file.write(FENCE)
        for number in range(400):
            file.write(frame if number != 200 else b"\xff" * (len(frame) - 4) + FENCE)
    code = """
import sys
from pathlib import Path
import thawline
from tools.bench.memory import peak
from thawline.verbs.salvage import salvage
with thawline.open(sys.argv[1]) as cold:
    done = salvage(cold, Path(sys.argv[2]))
print(done.units, peak())
"""
    command = [sys.executable, "-c", code, path, tmp_path / "out.rbf"]
    run = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT)
    units, peak = map(int, run.stdout.split())
    assert units == 399
    assert peak < 300 << 20


def cut(data: bytes, target: Path, at: int) -> bytes:
    with open_cold(data, "rbf") as cold:
        done = truncate(cold, target, at)
    assert (done.bytes_written, done.bytes_cut) == (at, len(data) - at)
    return done.target.read_bytes()


ENDS = [4, 4 + len(FIRST), 4 + len(FIRST) + len(SECOND), len(LOG)]


@pytest.mark.parametrize("at", ENDS)
def test_a_log_is_cut_to_its_data_tail(at: int, tmp_path: Path) -> None:
    assert cut(LOG + b"garbage", tmp_path / "out.rbf", at) == LOG[:at]


def test_everywhere_else_a_cut_is_refused_and_the_nearest_places_are_named(tmp_path: Path) -> None:
    for at in {*range(len(LOG))} - {*ENDS}:
        near = [max((end for end in ENDS if end < at), default=None), min(end for end in ENDS if end > at)]
        places = " and ".join(f"{place:#x}" for place in near if place is not None)
        with pytest.raises(BadCut, match=f"cannot be cut at {at:#x}: .*; the nearest frames end at {places}$"):
            cut(LOG, tmp_path / "out.rbf", at)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "at, reason",
    [
        (0, "the copy would not start with the genesis fence"),
        (-4, "the copy would not start with the genesis fence"),
        (6, "it is no multiple of four"),
        (8, "no fence lies right before it"),
        (16, "it lies inside an intact frame"),
        (1 << 20, "so an older DataTail is to be used; the nearest frames end at 0x8c$"),
    ],
)
def test_a_refused_cut_says_which_rule_it_breaks(at: int, reason: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=reason) as caught:
        cut(FENCE + OUTER + b"torn", tmp_path / "out.rbf", at)
    assert isinstance(caught.value, ThawlineError)
    assert caught.value.exit_code == 2


def test_damage_before_a_cut_is_copied_and_a_cut_behind_it_is_allowed(tmp_path: Path) -> None:
    damaged = damaged_log(SECOND_AT + 12, b"?")
    assert cut(damaged, tmp_path / "out.rbf", ENDS[2]) == damaged[: ENDS[2]]


def test_a_cut_inside_a_broken_frame_is_refused_though_a_frame_was_found_there(tmp_path: Path) -> None:
    broken = bytearray(FENCE + FIRST + OUTER + THIRD)
    broken[ENDS[1] + 4] ^= 1
    inside = ENDS[1] + 8 + ENDS[1]
    assert broken[inside - 4 : inside] == FENCE
    with pytest.raises(BadCut, match="it may lie in the payload of a broken frame"):
        cut(bytes(broken), tmp_path / "out.rbf", inside)


def test_a_log_without_genesis_is_not_cut(tmp_path: Path) -> None:
    with pytest.raises(BadCut, match="would not start with the genesis fence"):
        cut(b"XXXX" + LOG[4:], tmp_path / "out.rbf", ENDS[2])


def test_a_format_that_cannot_be_cut_or_recovered_says_so(tmp_path: Path) -> None:
    class Plain:
        """A kind that can only be copied."""

        intact = salvage = staticmethod(lambda *_: iter(()))

    with open_cold(LOG) as cold:
        cold.kind = Plain()  # type: ignore[assignment]
        with pytest.raises(SourceError, match="files have no places to cut at"):
            truncate(cold, tmp_path / "out", 4)
        with pytest.raises(SourceError, match="files have nothing to recover"):
            salvage(cold, tmp_path / "out", recover=True)
    assert list(tmp_path.iterdir()) == []
