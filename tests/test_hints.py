"""What a user is told to run next does run."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from accounts import Golden, golden_files
from in_process import on_pipe
from seeds import SEED

from tools.mutants import mutants

COMMAND = re.compile(r"(?:^|\s{2,}|help: )(thawline .*)$", re.MULTILINE)
FILES = [golden for golden in golden_files() if golden.file.suffix not in {".bin", ".address"}]
DID_ITS_WORK = {0, 1}


def suggested(file: str, folder: Path) -> list[str]:
    """The commands that `verify` suggests for a file."""
    found: list[str] = COMMAND.findall(on_pipe(["verify", "--format", "table", file], folder).out)
    return list(dict.fromkeys(found))


@pytest.mark.parametrize("golden", FILES, ids=lambda golden: golden.file.name)
def test_every_command_that_is_suggested_for_damage_does_its_work(golden: Golden, tmp_path: Path) -> None:
    for number, data in enumerate(mutants(golden.data, SEED, 2)):
        folder = tmp_path / str(number)
        folder.mkdir()
        (folder / golden.file.name).write_bytes(data)
        for at, command in enumerate(suggested(golden.file.name, folder)):
            fresh = folder / str(at)
            fresh.mkdir()
            (fresh / golden.file.name).write_bytes(data)
            ran = on_pipe(shlex.split(command)[1:], fresh)
            assert ran.code in DID_ITS_WORK, (command, ran.err)


def test_an_index_without_its_segment_is_not_to_be_rebuilt_from_it(tmp_path: Path) -> None:
    (golden,) = (golden for golden in FILES if golden.file.name == "many-records.index")
    name = "00000000000000000000.index"
    (tmp_path / name).write_bytes(golden.data[:8] + b"\xff" * 8 + golden.data[16:])
    assert [command.split()[1] for command in suggested(name, tmp_path)] == ["inspect", "explain"]
    (tmp_path / name).with_suffix(".log").write_bytes(b"")
    assert f"thawline kafka index {name.replace('.index', '.log')} -o rebuilt" in suggested(name, tmp_path)


def test_a_frame_that_only_recover_keeps_is_salvaged_with_it(tmp_path: Path) -> None:
    (golden,) = (golden for golden in FILES if golden.file.name == "many-frames.rbf")
    broken = bytearray(golden.data)
    broken[4] ^= 0x40  # HeadLen of the first frame, which no checksum covers
    (tmp_path / "x.rbf").write_bytes(broken)
    (command,) = (command for command in suggested("x.rbf", tmp_path) if "salvage" in command)
    assert on_pipe(shlex.split(command)[1:], tmp_path).code == 1
    (target,) = tmp_path.glob("*intact*")
    assert target.read_bytes() == golden.data


def test_nothing_is_to_be_verified_where_nothing_was_written(tmp_path: Path) -> None:
    (tmp_path / "00000000000000000000.log").write_bytes(b"\xff" * 100)
    ran = on_pipe(["salvage", "00000000000000000000.log", "-o", "out.log"], tmp_path)
    assert (tmp_path / "out.log").read_bytes() == b""
    assert "wrote 0 batches" in ran.err
    assert "now run" not in ran.err


def test_what_a_stream_held_is_to_be_saved_before_another_command_reads_it() -> None:
    (golden,) = (golden for golden in FILES if golden.file.name == "many-frames.rbf")
    ran = subprocess.run(
        [sys.executable, "-m", "thawline", "cat", "-"], input=golden.data[:-8], capture_output=True, check=False
    )
    assert ran.returncode == 1
    assert ran.stderr.rstrip().endswith(b"see: thawline verify FILE")
