from __future__ import annotations

import errno
import os
import stat
import subprocess
import sys
from contextlib import ExitStack
from contextvars import copy_context
from pathlib import Path

import pytest

from thawline.errors import SourceError
from thawline.outputs import protect, replacing
from thawline.source import open_source


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def write_half(target: Path, error: type[BaseException], *, overwrite: bool) -> None:
    with replacing(target, overwrite=overwrite) as file:
        file.write(b"half")
        raise error


def test_an_output_appears_under_its_name_when_the_block_has_ended(tmp_path: Path) -> None:
    target = tmp_path / "out.rbf"
    with replacing(target) as file:
        file.write(b"whole")
        assert not target.exists()
    assert target.read_bytes() == b"whole"
    assert names(tmp_path) == ["out.rbf"]


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit])
@pytest.mark.parametrize("overwrite", [False, True])
def test_an_error_leaves_nothing_behind(tmp_path: Path, error: type[BaseException], *, overwrite: bool) -> None:
    with pytest.raises(error):
        write_half(tmp_path / "out", error, overwrite=overwrite)
    assert names(tmp_path) == []


def test_an_error_leaves_the_old_file_as_it_was(tmp_path: Path) -> None:
    target = tmp_path / "out"
    target.write_bytes(b"old")
    with pytest.raises(KeyError):
        write_half(target, KeyError, overwrite=True)
    assert target.read_bytes() == b"old"
    assert names(tmp_path) == ["out"]


def test_a_target_that_is_there_is_refused_before_a_byte_is_written(tmp_path: Path) -> None:
    target = tmp_path / "out"
    target.write_bytes(b"old")
    with pytest.raises(SourceError, match="is there already and is not overwritten") as caught, replacing(target):
        pytest.fail("the block must not be entered")
    assert caught.value.exit_code == 2
    assert target.read_bytes() == b"old"


def test_a_target_is_replaced_if_the_caller_says_so(tmp_path: Path) -> None:
    target = tmp_path / "out"
    target.write_bytes(b"old and longer")
    with replacing(target, overwrite=True) as file:
        file.write(b"new")
    assert target.read_bytes() == b"new"


@pytest.mark.parametrize("has_links", [True, False])
def test_a_target_that_another_process_made_meanwhile_is_not_overwritten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, has_links: bool
) -> None:
    if not has_links:
        monkeypatch.setattr(os, "link", _no_links)
    target = tmp_path / "out"
    with pytest.raises(SourceError, match="is there already"), replacing(target):
        target.write_bytes(b"theirs")
    assert target.read_bytes() == b"theirs"
    assert names(tmp_path) == ["out"]


def test_a_file_system_without_hard_links_will_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "link", _no_links)
    with replacing(tmp_path / "out") as file:
        file.write(b"whole")
    assert (tmp_path / "out").read_bytes() == b"whole"
    assert names(tmp_path) == ["out"]


def _no_links(*_: object) -> None:
    raise OSError(errno.EPERM, "Operation not permitted")


def test_an_output_has_the_mode_of_any_new_file(tmp_path: Path) -> None:
    (tmp_path / "plain").touch()
    with replacing(tmp_path / "out"):
        pass
    modes = {stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("plain", "out")}
    assert len(modes) == 1


def test_writing_to_a_link_writes_where_it_points(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    (tmp_path / "link").symlink_to("there/out")
    with pytest.raises(SourceError, match="a link to a file that does not exist"), replacing(tmp_path / "link"):
        pass
    with replacing(tmp_path / "link", overwrite=True) as file:
        file.write(b"new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "there" / "out").read_bytes() == b"new"


@pytest.mark.parametrize("overwrite", [False, True])
def test_folders_and_devices_are_never_replaced(tmp_path: Path, *, overwrite: bool) -> None:
    with pytest.raises(SourceError, match="is a folder"), replacing(tmp_path, overwrite=overwrite):
        pass
    with pytest.raises(SourceError, match="is not a regular file"), replacing(Path("/dev/null"), overwrite=overwrite):
        pass


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=r"there is no folder .*nowhere"), replacing(tmp_path / "nowhere" / "out"):
        pass


def test_a_full_disk_is_an_error_about_the_target(tmp_path: Path) -> None:
    code = """
import resource, signal, sys
from pathlib import Path
from thawline.errors import SourceError
from thawline.outputs import replacing
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))
try:
    with replacing(Path(sys.argv[1])) as file:
        for _ in range(8):
            file.write(bytes(1 << 19))
except SourceError as error:
    print(error.strerror)
"""
    target = tmp_path / "out"
    run = subprocess.run([sys.executable, "-c", code, target], capture_output=True, text=True, check=True)
    assert run.stdout == f"{target}: cannot be written: File too large\n"
    assert names(tmp_path) == []


NAMES_OF_AN_INPUT = ["in.rbf", "./in.rbf", "soft", "hard", "twice", "folder/in.rbf"]


@pytest.fixture
def linked(tmp_path: Path) -> Path:
    """A folder with an input that many names lead to."""
    (tmp_path / "in.rbf").write_bytes(b"RBF1")
    (tmp_path / "soft").symlink_to(tmp_path / "in.rbf")
    (tmp_path / "twice").symlink_to("soft")
    (tmp_path / "hard").hardlink_to(tmp_path / "in.rbf")
    (tmp_path / "folder").symlink_to(tmp_path)
    return tmp_path


@pytest.mark.parametrize("name", NAMES_OF_AN_INPUT)
@pytest.mark.parametrize("scheme", ["", "file://"])
def test_what_is_protected_is_never_written_by_any_of_its_names(linked: Path, name: str, scheme: str) -> None:
    def write() -> None:
        protect([f"{scheme}{linked / 'in.rbf'}"])
        with replacing(linked / name, overwrite=True) as file:
            file.write(b"new")

    with pytest.raises(SourceError, match="is an input, which is never written to"):
        copy_context().run(write)
    assert (linked / "in.rbf").read_bytes() == b"RBF1"


@pytest.mark.parametrize("name", NAMES_OF_AN_INPUT)
def test_what_is_open_for_reading_is_never_written_by_any_of_its_names(linked: Path, name: str) -> None:
    with open_source(linked / "in.rbf"):
        with pytest.raises(SourceError, match="is an input"), replacing(linked / name, overwrite=True):
            pass
        with pytest.raises(SourceError, match="is an input"), replacing(linked / "in.rbf"):
            pass
    with replacing(linked / "in.rbf", overwrite=True) as file:  # it was an input
        file.write(b"new")
    assert (linked / "in.rbf").read_bytes() == b"new"


def test_an_input_that_is_opened_while_the_output_is_written_is_not_written_either(linked: Path) -> None:
    target = linked / "soft"
    with ExitStack() as opened, pytest.raises(SourceError, match="is an input"), replacing(target, overwrite=True):
        opened.enter_context(open_source(linked / "in.rbf"))
    assert (linked / "in.rbf").read_bytes() == b"RBF1"


@pytest.mark.parametrize("source", ["<bytes>", "s3://bucket/in.rbf", "missing", "a\0b"])
def test_an_input_that_is_no_local_file_is_never_the_target(tmp_path: Path, source: str) -> None:
    def write() -> None:
        protect([source])
        for name in ("out", "new"):
            with replacing(tmp_path / name, overwrite=True) as file:
                file.write(b"new")

    (tmp_path / "out").touch()
    copy_context().run(write)
    assert (tmp_path / "out").read_bytes() == b"new"


def test_stdin_is_refused_as_a_target_where_it_is_that_file(tmp_path: Path) -> None:
    log = Path(__file__).parent / "golden" / "rbf" / "many-frames.rbf"
    (tmp_path / "in.jsonl").write_bytes(log.read_bytes())
    for name, code in (("in.jsonl", 2), ("other.jsonl", 0)):
        command = [sys.executable, "-m", "thawline", "convert", "-", "-o", tmp_path / name, "--overwrite"]
        with (tmp_path / "in.jsonl").open("rb") as stdin:
            assert subprocess.run(command, stdin=stdin, capture_output=True, check=False).returncode == code
    assert (tmp_path / "in.jsonl").read_bytes() == log.read_bytes()


def test_an_index_that_is_a_link_to_its_segment_does_not_empty_it(tmp_path: Path) -> None:
    segment = tmp_path / "00000000000000000100.log"
    segment.write_bytes((Path(__file__).parent / "golden" / "kafka" / "v2-none.log").read_bytes())
    before = segment.read_bytes()
    for suffix in (".index", ".timeindex"):
        segment.with_suffix(suffix).symlink_to(segment.name)
    command = [sys.executable, "-m", "thawline", "kafka", "index", segment, "--overwrite"]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (run.returncode, segment.read_bytes()) == (2, before)
    assert "is an input, which is never written to" in run.stderr


def test_a_manifest_does_not_replace_a_segment(tmp_path: Path) -> None:
    golden = Path(__file__).parent / "golden" / "rbak" / "many-records.lz4"
    (tmp_path / "backup").mkdir()
    segment = tmp_path / "backup" / "segment-0001.lz4"
    segment.write_bytes(golden.read_bytes())
    command = [sys.executable, "-m", "thawline", "rbak", "manifest", tmp_path / "backup", "-o", segment, "--overwrite"]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (run.returncode, segment.read_bytes()) == (2, golden.read_bytes())
    command[-2] = tmp_path / "backup" / "manifest.json"
    assert subprocess.run(command, capture_output=True, check=False).returncode == 0
