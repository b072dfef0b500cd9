"""Spark Connect: a server in another process, and clients that have frames and nothing else of Spark."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pyspark
import pytest
from lakes import Alone, everything

from thawline.cli import run
from thawline.spark import pipeline
from thawline.spark.java import find_java

LOG = Path(__file__).parents[1] / "golden" / "rbf" / "many-frames.rbf"
PATIENCE = 120


@pytest.fixture
def cold(tmp_path: Path) -> Path:
    """Three logs, one of them damaged."""
    folder = tmp_path / "cold"
    folder.mkdir()
    for number in range(3):
        data = bytearray(LOG.read_bytes())
        data[500] ^= number == 1
        (folder / f"{number}.rbf").write_bytes(data)
    return folder


@pytest.fixture
def server(tmp_path: Path) -> Iterator[str]:
    """The address of a server on loopback."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    home = find_java()
    told = {"PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1", **({"JAVA_HOME": home} if home else {})}
    serving = ("--class", "org.apache.spark.sql.connect.service.SparkConnectServer")
    where = ("--conf", f"spark.connect.grpc.binding.port={port}", "--conf", "spark.ui.enabled=false")
    program = Path(pyspark.__file__).parent / "bin" / "spark-submit"
    log = (tmp_path / "server.log").open("wb")
    line = [program, *serving, "--master", "local[2]", *where, "spark-internal"]
    process = subprocess.Popen(line, env={**os.environ, **told}, stdout=log, stderr=log, cwd=tmp_path)
    deadline = time.monotonic() + PATIENCE
    while not _answers(port):
        assert process.poll() is None, (tmp_path / "server.log").read_text()
        assert time.monotonic() < deadline
        time.sleep(0.2)
    yield f"sc://127.0.0.1:{port}"
    process.kill()
    process.wait()
    log.close()


def _answers(port: int) -> bool:
    with socket.socket() as attempt:
        return attempt.connect_ex(("127.0.0.1", port)) == 0


def test_ingest_and_sources_work_through_spark_connect(server: str, cold: Path, tmp_path: Path) -> None:
    program = Path(__file__).with_name("connected.py")
    lake, clean = tmp_path / "lake", tmp_path / "clean"
    line = [sys.executable, str(program), server, str(cold), str(lake)]
    done = subprocess.run(line, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr[-4000:]
    told = json.loads(done.stdout)
    assert told == {"ingested": 3, "unchanged": 3, "rows": {"rbf_frames": 119}, "frames": 40, "lake": 119}
    pipeline.ingest(Alone(), [str(cold)], clean)  # type: ignore[arg-type]
    assert everything(lake) == everything(clean)
    shutil.copy(LOG, cold / "new.rbf")
    line = [sys.executable, "-m", "thawline", "ingest", str(cold), "--to", str(lake), "--master", server]
    command = subprocess.run(line, capture_output=True, text=True, check=False, timeout=300)
    assert command.returncode == 1, command.stderr
    assert json.loads(command.stdout)["ingested"] == 1
    assert command.stderr == ""
    refused = subprocess.run([*line, "--conf", "spark.executor.memory=1g"], capture_output=True, text=True, check=False)
    assert (refused.returncode, refused.stdout) == (2, "")
    assert "spark.executor.memory cannot be set through Spark Connect" in refused.stderr


@pytest.mark.parametrize(
    "address, options, said",
    [
        ("sc://127.0.0.1:1", [], "no server of Spark Connect answers: Connection refused"),
        ("sc://", [], "is no address of Spark Connect"),
        ("sc://host:many", [], "is no address of Spark Connect"),
        ("sc://127.0.0.1:1", ["--ship"], "--ship cannot bring thawline to a server of Spark Connect"),
    ],
)
def test_a_server_that_is_not_there_is_a_sentence(
    cold: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], address: str, options: list[str], said: str
) -> None:
    assert run(["ingest", str(cold), "--to", str(tmp_path / "lake"), "--master", address, *options]) == 2
    told = capsys.readouterr()
    assert said in told.err
    assert "Traceback" not in told.err
    assert told.out == ""
