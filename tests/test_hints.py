"""What a user is told to run next does run."""

from __future__ import annotations

import re
import shlex
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
