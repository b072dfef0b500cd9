"""Java is launched with the classes that an earlier session has left, where that is possible; nobody waits for it."""

from __future__ import annotations

from pathlib import Path

import pytest

from thawline.spark import launch


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A Java that has an archive of its own classes, and a cache that is empty."""
    monkeypatch.setenv("THAWLINE_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("SPARK_CONF_DIR", raising=False)
    server = tmp_path / "java" / "lib" / "server"
    server.mkdir(parents=True)
    (server / "libjvm.so").write_bytes(b"machine")
    (server / "classes.jsa").touch()
    return tmp_path / "java"


def left(options: str) -> Path:
    """The archive that is to be left."""
    return Path(options.partition("=")[2].partition('"')[0])


def test_the_first_session_of_a_machine_costs_nothing_and_the_second_one_leaves_the_classes(home: Path) -> None:
    assert launch.options(str(home)) == ""
    second = launch.options(str(home))
    assert second.startswith('"-XX:ArchiveClassesAtExit=')
    left(second).write_bytes(launch.MAGIC + b"classes")
    third = launch.options(str(home))
    assert third.startswith('"-XX:SharedArchiveFile=')
    assert left(third) == left(second)


def test_an_archive_that_is_not_complete_is_made_again(home: Path) -> None:
    launch.options(str(home))
    left(launch.options(str(home))).write_bytes(bytes(4096))  # Java writes the magic last
    assert "ArchiveClassesAtExit" in launch.options(str(home))


def test_another_java_in_the_same_place_does_not_get_the_classes(home: Path) -> None:
    launch.options(str(home))
    before = left(launch.options(str(home)))
    before.write_bytes(launch.MAGIC)
    (home / "lib" / "server" / "libjvm.so").write_bytes(b"another machine")
    assert launch.options(str(home)) == ""
    assert left(launch.options(str(home))) != before


def test_a_java_without_an_archive_of_its_own_and_a_cache_that_cannot_be_written_to_are_no_error(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (home / "file").touch()
    monkeypatch.setenv("THAWLINE_CACHE", str(home / "file"))
    assert launch.options(str(home)) == launch.options(str(home)) == ""
    monkeypatch.setenv("THAWLINE_CACHE", str(home / "cache"))
    (home / "lib" / "server" / "classes.jsa").unlink()
    assert launch.options(str(home)) == launch.options(str(home)) == ""


def test_options_of_the_user_come_last_so_that_they_count(home: Path) -> None:
    launch.options(str(home))
    settings = launch.with_options({launch.KEY: "-XX:TieredStopAtLevel=4"}, str(home))
    assert settings[launch.KEY].endswith(" -XX:TieredStopAtLevel=4")


def test_classes_are_code_so_a_cache_that_others_can_write_to_is_not_used(home: Path) -> None:
    launch.options(str(home))
    folder = left(launch.options(str(home))).parent
    folder.chmod(0o777)
    assert launch.options(str(home)) == ""
    folder.chmod(0o700)
    assert launch.options(str(home)) != ""
