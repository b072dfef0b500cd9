"""Workers whose Python has no thawline, on a standalone cluster of two workers on loopback."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
import time
import zipfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pyspark
import pytest

from thawline import native
from thawline.formats.rbf.write import RbfWriter
from thawline.spark import shipping
from thawline.spark.java import find_java
from thawline.spark.worker import BadWorker, refuse_slow

PACKAGES = Path(pyspark.__file__).parents[1]
BESIDE = ("pyspark", "py4j", "pyarrow", "pandas", "numpy", "dateutil", "six.py")
"""What workers of other people's clusters have."""
PATIENCE = 60


@pytest.fixture
def python(tmp_path: Path) -> Path:
    """A Python that has no thawline where an executor runs it; elsewhere, it is this one."""
    packages = tmp_path / "packages"
    packages.mkdir()
    for item in PACKAGES.iterdir():
        if item.name.partition(".")[0] in BESIDE or item.name in BESIDE:
            (packages / item.name).symlink_to(item)
    made, this = tmp_path / "python", shlex.quote(sys.executable)
    bare = f'PYTHONPATH="$PYTHONPATH:{packages}" exec {this} -S "$@"'
    made.write_text(f'#!/bin/sh\ncase "$PWD" in */app-*) {bare};; esac\nexec {this} "$@"\n')
    made.chmod(0o755)
    return made


@pytest.fixture
def master(tmp_path: Path) -> Iterator[str]:
    """The address of a cluster of two workers of one core each."""
    home = find_java()
    environment = {**os.environ, "SPARK_LOCAL_IP": "127.0.0.1", **({"JAVA_HOME": home} if home else {})}
    with ExitStack() as started:

        def start(name: str, *arguments: str) -> Path:
            log = tmp_path / f"{name}.log"
            line = [str(Path(pyspark.__file__).parent / "bin" / "spark-class"), *arguments]
            process = subprocess.Popen(line, env=environment, stderr=started.enter_context(log.open("wb")))
            started.callback(process.wait, 30)
            started.callback(process.kill)
            return log

        address = ("--host", "127.0.0.1", "--webui-port", "0")
        log = start("master", "org.apache.spark.deploy.master.Master", *address, "--port", "0")
        url = waited_for(log, r"Starting Spark master at (spark://\S+)")[1]
        for name in ("first", "second"):
            size = ("--cores", "1", "--memory", "1g", "--work-dir", str(tmp_path / name))
            worker = start(name, "org.apache.spark.deploy.worker.Worker", *address, *size, url)
            waited_for(worker, "Successfully registered with master")
        yield url


def waited_for(log: Path, pattern: str) -> re.Match[str]:
    """What a log says, once it does."""
    deadline = time.monotonic() + PATIENCE
    while not (found := re.search(pattern, log.read_text())):
        assert time.monotonic() < deadline, log.read_text()
        time.sleep(0.1)
    return found


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    """A folder of two logs of ten frames each."""
    folder = tmp_path / "logs"
    folder.mkdir()
    for number in range(2):
        with RbfWriter(folder / f"{number}.rbf") as writer:
            for frame in range(10):
                writer.append(number, b"%d" % frame)
    return folder


def asked(master: str, python: Path, folder: Path) -> dict[str, Any]:
    """What the program beside this test prints."""
    line = [sys.executable, str(Path(__file__).with_name("shipped_workers.py")), master, str(python), str(folder)]
    done = subprocess.run(line, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr[-4000:]
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def ingested(master: str, python: Path, logs: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """`thawline ingest` on the cluster."""
    settings = ("--conf", f"spark.pyspark.python={python}", "--conf", "spark.task.maxFailures=1")
    to = ("--to", str(logs.parent / "lake"), "--master", master)
    line = [sys.executable, "-m", "thawline", "ingest", str(logs), *to, *settings, *options]
    return subprocess.run(line, capture_output=True, text=True, check=False, timeout=300)


def test_ingest_says_that_workers_have_no_thawline_and_brings_it_along(master: str, python: Path, logs: Path) -> None:
    without = ingested(master, python, logs)
    assert (without.returncode, without.stdout) == (2, "")
    assert "the Python of Spark's workers has no thawline" in without.stderr
    assert "--ship" in without.stderr
    shipped = ingested(master, python, logs, "--ship")
    assert shipped.returncode == 0, shipped.stderr
    assert json.loads(shipped.stdout)["tables"]["rbf_frames"] == 20


def test_a_worker_without_the_native_module_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(native, "is_compiled", False)
    refuse_slow(is_compiled=False)
    with pytest.raises(BadWorker, match="native module"):
        refuse_slow(is_compiled=True)


@pytest.mark.usefixtures("logs")
def test_workers_without_thawline_read_with_the_one_that_is_shipped(master: str, python: Path, tmp_path: Path) -> None:
    found = asked(master, python, tmp_path)
    assert found.get("frames") == 20, found
    assert all(one["is_compiled"] for one in found["told"])
    assert {Path(one["home"]).parts[-3] for one in found["told"]} == {shipping.FOLDER}


def test_an_archive_has_what_a_worker_needs_and_no_more(tmp_path: Path) -> None:
    with zipfile.ZipFile(shipping.pack(tmp_path / "thawline.zip")) as archive:
        names = archive.namelist()
    assert {"thawline/__init__.py", "thawline/generated/__init__.py", "kaitaistruct.py"} <= set(names)
    assert any(re.fullmatch(r"thawline/native/fast\..*so", name) for name in names)
    assert any(name.startswith("thawline/schemas/") and name.endswith(".ksy") for name in names)
    assert {name.partition("/")[0] for name in names} & {"pyarrow", "pyspark", "numpy", "click", "rich"} == set()
    assert not [name for name in names if name.startswith(("/", "..")) or "__pycache__" in name]


def test_the_same_package_is_the_same_archive(tmp_path: Path) -> None:
    first, second = (shipping.pack(tmp_path / name).read_bytes() for name in ("a.zip", "b.zip"))
    assert first == second


def test_a_package_without_its_native_module_is_not_shipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(native, "is_compiled", False)
    with pytest.raises(shipping.NotShippable, match="native module"):
        shipping.pack(tmp_path / "thawline.zip")
    assert not list(tmp_path.iterdir())
