from __future__ import annotations

import json
import re
from pathlib import Path

import fsspec
import pytest
from accounts import GOLDEN
from in_process import on_pipe

import thawline
from thawline.errors import SourceError
from thawline.folder import Folder


def test_a_folder_lists_its_files_with_sizes_and_leaves_hidden_ones_out(tmp_path: Path) -> None:
    for name, data in {"b.log": b"12", "a.log": b"1", ".hidden": b""}.items():
        (tmp_path / name).write_bytes(data)
    (tmp_path / "sub").mkdir()
    folder = Folder(str(tmp_path))
    assert list(folder.files().items()) == [("a.log", 1), ("b.log", 2)]
    assert folder.subfolders() == ["sub"]
    assert folder.has("a.log")
    assert not folder.has("sub")
    assert folder.read("b.log") == b"12"
    assert folder.name == tmp_path.name
    assert folder.folder("sub").files() == {}


def test_a_folder_behind_a_url_is_the_same() -> None:
    files = fsspec.filesystem("memory")
    files.pipe({"/topic-0/a.log": b"1", "/topic-0/sub/b.log": b"22"})
    folder = Folder("memory://topic-0")
    assert (folder.files(), folder.subfolders(), folder.name) == ({"a.log": 1}, ["sub"], "topic-0")
    assert folder.folder("sub").read("b.log") == b"22"


def test_a_file_that_is_larger_than_it_should_be_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "manifest.json").write_bytes(bytes(100))
    with pytest.raises(SourceError, match="has 100 bytes; at most 99 are read"):
        Folder(str(tmp_path)).read("manifest.json", 99)


def test_a_folder_that_is_not_there_is_an_error_of_ours(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="nowhere"):
        Folder(str(tmp_path / "nowhere")).files()


def test_a_folder_knows_the_one_above_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert Folder(str(tmp_path)).above() == Folder(str(tmp_path.parent))
    monkeypatch.chdir(tmp_path)
    assert Folder("orders-0/").above() == Folder(str(tmp_path))
    assert Folder("/orders-0").above() == Folder("/")
    assert Folder("s3://bucket/logs/orders-0").above() == Folder("s3://bucket/logs")
    assert Folder("memory://orders-0").above() is None


@pytest.fixture
def partition(tmp_path: Path) -> Path:
    """Three segments of a Kafka partition with an index; the second one is gone when it is opened."""
    made = tmp_path / "orders-0"
    made.mkdir()
    data = (GOLDEN / "kafka" / "v2-none.log").read_bytes()
    for number in (0, 100, 200):
        (made / f"{number:020}.log").write_bytes(data)
    (made / f"{0:020}.index").write_bytes(b"")
    return made


def test_a_member_that_cannot_be_opened_is_named_and_the_others_are_read(partition: Path) -> None:
    cold = thawline.open_folder(partition)
    lost = cold.members[1].path
    Path(lost).unlink()
    with pytest.warns(UserWarning, match=f"{lost}: not read: No such file"):
        names = [file.name for file in cold.files()]
    assert names == [cold.members[0].path, cold.members[2].path]
    raising = thawline.open_folder(partition, on_error="raise")
    Path(raising.members[1].path).unlink()
    with pytest.raises(SourceError, match=r"\.log: "):
        list(raising.files())


def test_a_member_that_cannot_be_opened_is_damage_of_its_folder(partition: Path) -> None:
    cold = thawline.open_folder(partition)
    lost = cold.members[1].path
    Path(lost).unlink()
    found = {report.file: report for report in cold.reports()}
    assert [finding.code.id for finding in found[lost].findings] == ["SRC101"]
    assert not found[lost].ok
    assert found[cold.members[2].path].units


@pytest.mark.parametrize("command", [["identify"], ["info"], []])
def test_members_of_a_folder_are_listed_before_the_files_beside_them(partition: Path, command: list[str]) -> None:
    ran = on_pipe([*command, "--format", "jsonl", "./orders-0"] if command else ["./orders-0"], partition.parent)
    suffixes = re.findall(r"\.(log|index)\b", ran.out)
    assert set(suffixes) == {"log", "index"}
    assert suffixes.index("index") > 0
    assert "log" not in suffixes[suffixes.index("index") :]


def test_a_side_file_is_called_what_it_is(partition: Path) -> None:
    name = next(path.name for path in sorted(partition.iterdir()) if path.suffix == ".index")
    told = json.loads(on_pipe(["info", "--format", "jsonl", name], partition).out)
    assert (told["title"], list(told["tables"])) == ("Kafka offset index", ["index"])
