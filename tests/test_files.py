"""Every file below a path that was given is read, or named with the reason why not."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from thawline.files import Group, Tree
from thawline.folder import File, Folder, Unread

GOLDEN = Path(__file__).parent / "golden"
RBF = GOLDEN / "rbf" / "many-frames.rbf"
ASB = GOLDEN / "aerospike" / "bins.asb"
LOG = GOLDEN / "kafka" / "v2-none.log"
MANY = GOLDEN / "kafka" / "transactions.log"
SEGMENT = "00000000000000000100.log"
AS_ANYONE = ["setpriv", "--inh-caps=-dac_override,-dac_read_search", "--bounding-set=-dac_override,-dac_read_search"]
"""Root reads what it may not; without these rights it does not."""


def thawline(*arguments: str, folder: Path, before: tuple[str, ...] = ()) -> subprocess.CompletedProcess[str]:
    command = [*before, sys.executable, "-m", "thawline", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=120)


def verified(folder: Path, *arguments: str) -> tuple[dict[str, dict[str, Any]], int]:
    """What `verify` says of each file, and its exit code."""
    run = thawline("verify", "--format", "jsonl", *arguments, folder=folder)
    return {found["file"]: found for found in map(json.loads, run.stdout.splitlines())}, run.returncode


def flip(path: Path, position: int) -> None:
    data = bytearray(path.read_bytes())
    data[position] ^= 0xFF
    path.write_bytes(data)


@pytest.fixture
def cold(tmp_path: Path) -> Path:
    """A folder in the folder of the test, with a file named like a segment in it."""
    folder = tmp_path / "cold"
    folder.mkdir()
    shutil.copy(LOG, folder / SEGMENT)
    return folder


def test_a_segment_does_not_swallow_its_damaged_neighbours(cold: Path) -> None:
    shutil.copy(RBF, cold / "x.rbf")
    shutil.copy(ASB, cold / "x.asb")
    flip(cold / "x.rbf", 1000)
    flip(cold / "x.asb", 20)
    found, code = verified(cold.parent, "cold")
    assert code == 1
    statuses = {name: found[f"cold/{name}"]["status"] for name in (SEGMENT, "x.rbf", "x.asb")}
    assert statuses == {SEGMENT: "ok", "x.rbf": "damaged", "x.asb": "damaged"}


@pytest.mark.parametrize("name", ["x.rbf", "many.log", "other.pack"])
def test_a_backup_does_not_swallow_its_neighbours_either(tmp_path: Path, name: str) -> None:
    source = {"x.rbf": RBF, "many.log": MANY, "other.pack": GOLDEN / "borg" / "none-types.pack"}[name]
    (tmp_path / "backup").mkdir()
    shutil.copy(ASB, tmp_path / "backup")
    shutil.copy(source, tmp_path / "backup" / name)
    flip(tmp_path / "backup" / name, 300)
    found, code = verified(tmp_path, "backup")
    assert (found[f"backup/{name}"]["status"], code) == ("damaged", 1)


def test_files_of_two_formats_are_two_groups(cold: Path) -> None:
    shutil.copy(ASB, cold / "one.asb")
    found = list(Tree().below(Folder(str(cold))))
    assert [(item.format.name, len(item.members)) for item in found if isinstance(item, Group)] == [
        ("kafka", 1),
        ("aerospike", 1),
    ]
    assert not any(isinstance(item, File) for item in found)


def test_a_segment_by_another_name_is_read_beside_those_of_the_partition(cold: Path) -> None:
    shutil.copy(MANY, cold / "copy.log")
    flip(cold / "copy.log", 300)
    found, code = verified(cold.parent, "cold")
    assert (found["cold/copy.log"]["status"], code) == ("damaged", 1)


def test_files_in_the_folders_of_a_repository_are_read_too(tmp_path: Path) -> None:
    for name in ("packs/ab", "archives", "config", "exported"):
        (tmp_path / "repo" / name).mkdir(parents=True)
    (tmp_path / "repo" / "config" / "version").write_text("5")
    shutil.copy(RBF, tmp_path / "repo" / "exported" / "log.rbf")
    flip(tmp_path / "repo" / "exported" / "log.rbf", 1000)
    found, _ = verified(tmp_path, "repo")
    assert found["repo/exported/log.rbf"]["status"] == "damaged"
    assert found["repo"]["format"] == "borg"
    assert "repo/config/version" not in found  # the check of the repository is about it


def test_what_is_no_data_is_named_with_the_reason(cold: Path) -> None:
    (cold / ".hidden").write_bytes(b"")
    (cold / "notes.txt").write_text("hello")
    os.mkfifo(cold / "pipe")
    with socket.socket(socket.AF_UNIX) as server:
        here = Path.cwd()
        os.chdir(cold)
        server.bind("socket")
        os.chdir(here)
    (cold / "elsewhere").symlink_to(cold.parent)
    found, code = verified(cold.parent, "cold")
    told = {name.removeprefix("cold/"): item["reason"] for name, item in found.items() if "reason" in item}
    assert code == 0
    assert told.pop("notes.txt").startswith("no format recognises this file")
    assert told == {
        ".hidden": "hidden",
        "pipe": "a pipe",
        "socket": "a socket",
        "elsewhere/": "a link to a folder, which is not followed; name it to read it",
    }
    text = thawline("verify", "--format", "table", "cold", folder=cold.parent)
    assert "not looked at: 4 files, 1 folder" in text.stderr
    assert text.stdout.splitlines()[-1] == "6 files: 1 ok, 5 not looked at"


@pytest.mark.parametrize("target, reason", [("loop", "a link to itself"), ("gone", "a broken link to gone")])
def test_a_link_that_leads_nowhere_is_named_and_the_rest_is_read(cold: Path, target: str, reason: str) -> None:
    (cold / "loop").symlink_to(target)
    found, code = verified(cold.parent, "cold")
    assert found["cold/loop"] == {"file": "cold/loop", "status": "unreadable", "reason": reason}
    assert (found[f"cold/{SEGMENT}"]["status"], code) == ("ok", 2)
    for verb in ("identify", "info", "stats", "cat"):
        assert thawline(verb, "cold", folder=cold.parent).returncode == 2


def test_a_closed_folder_is_named_for_what_it_is(cold: Path) -> None:
    (cold / "closed").mkdir()
    (cold / "closed").chmod(0)
    before = tuple(AS_ANYONE) if os.geteuid() == 0 else ()
    try:
        inside = thawline("verify", "cold", folder=cold.parent, before=before)
        named = thawline("verify", "cold/closed", folder=cold.parent, before=before)
    finally:
        (cold / "closed").chmod(0o700)
    assert (named.returncode, named.stderr.splitlines()[0]) == (2, "thawline: cold/closed/: permission denied")
    assert inside.returncode == 2
    assert [json.loads(line)["status"] for line in inside.stdout.splitlines()] == ["ok", "ok", "unreadable"]


def test_a_file_that_may_not_be_read_costs_itself_only(cold: Path) -> None:
    shutil.copy(ASB, cold / "one.asb")
    shutil.copy(ASB, cold / "two.asb")
    shutil.copy(LOG, cold / "00000000000000000200.log")
    closed = (cold / "one.asb", cold / "00000000000000000200.log")
    for path in closed:
        path.chmod(0)
    before = tuple(AS_ANYONE) if os.geteuid() == 0 else ()
    run = thawline("verify", "cold", folder=cold.parent, before=before)
    found = {item["file"]: item["status"] for item in map(json.loads, run.stdout.splitlines())}
    assert run.returncode == 2
    assert all(found[f"cold/{path.name}"] == "unreadable" for path in closed)
    assert found["cold/two.asb"] == found[f"cold/{SEGMENT}"] == "ok"


def test_subfolders_are_read_unless_they_are_not_asked_for(cold: Path) -> None:
    (cold / "sub").mkdir()
    shutil.copy(RBF, cold / "sub" / "x.rbf")
    flip(cold / "sub" / "x.rbf", 1000)
    assert verified(cold.parent, "cold")[1] == 1
    found, code = verified(cold.parent, "--no-recursive", "cold")
    assert (found["cold/sub/"]["status"], code) == ("left out", 0)


def test_folders_may_lie_deeper_than_the_stack_reaches(tmp_path: Path) -> None:
    here = os.open(tmp_path, os.O_RDONLY)
    for _ in range(1500):
        os.mkdir("d", dir_fd=here)
        below = os.open("d", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = below
    os.close(here)
    try:
        found = list(Tree().below(Folder(str(tmp_path))))
    finally:
        subprocess.run(["rm", "-rf", tmp_path / "d"], check=True)  # deeper than shutil.rmtree reaches, too
    assert all(isinstance(item, Unread) for item in found)  # a path has an end, which is said


def test_convert_leaves_out_what_has_other_columns_and_says_so(cold: Path) -> None:
    shutil.copy(RBF, cold / "x.rbf")
    run = thawline("convert", "cold", "-o", "out.parquet", folder=cold.parent)
    assert run.returncode == 2
    assert "cold/x.rbf: its rows have other columns" in run.stderr
    assert (cold.parent / "out.parquet").exists()
    assert thawline("convert", "cold", "-o", "out.jsonl", folder=cold.parent).returncode == 0


def test_rows_of_a_folder_name_their_file_however_many_there_are(cold: Path) -> None:
    first = json.loads(thawline("cat", "cold", folder=cold.parent).stdout.splitlines()[0])
    assert first["file"] == f"cold/{SEGMENT}"
    alone = json.loads(thawline("cat", f"cold/{SEGMENT}", folder=cold.parent).stdout.splitlines()[0])
    assert "file" not in alone


def test_quiet_is_quiet_about_what_is_fine(cold: Path) -> None:
    shutil.copy(RBF, cold / "x.rbf")
    assert thawline("verify", "-q", "--format", "table", "cold", folder=cold.parent).stdout == ""
    flip(cold / "x.rbf", 1000)
    run = thawline("verify", "-q", "--format", "table", "cold", folder=cold.parent)
    assert "cold/x.rbf" in run.stdout
    assert "ok" not in run.stdout.split()


def test_a_pipe_that_is_named_like_an_index_is_not_waited_for(cold: Path) -> None:
    os.mkfifo(cold / "00000000000000000100.timeindex")
    os.mkfifo(cold / "00000000000000000100.index")
    run = thawline("cat", "cold", "--since", "2020-01-01", folder=cold.parent)
    assert (run.returncode, len(run.stdout.splitlines())) == (0, 7)


def test_a_link_in_a_backup_does_not_lead_out_of_it(tmp_path: Path) -> None:
    queue = tmp_path / "backup" / "queues" / "_default" / "orders"
    queue.mkdir(parents=True)
    shutil.copy(GOLDEN / "rbak" / "many-records.lz4", queue / "segment-0001.lz4")
    (tmp_path / "elsewhere").mkdir()
    shutil.copy(GOLDEN / "rbak" / "many-records.lz4", tmp_path / "elsewhere" / "segment-0002.lz4")
    (queue / "out").symlink_to(tmp_path / "elsewhere")
    (queue / "up").symlink_to(tmp_path)
    found, _ = verified(tmp_path, "backup")
    assert {name for name, item in found.items() if item["status"] == "left out"} == {
        f"backup/queues/_default/orders/{name}/" for name in ("out", "up")
    }
    assert not any("elsewhere" in name or "/out/s" in name for name in found)
