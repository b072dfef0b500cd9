from __future__ import annotations

from pathlib import Path

import fsspec
import pytest

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
    with pytest.raises(SourceError, match="100 bytes, and 99 are the most"):
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
