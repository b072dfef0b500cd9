"""What a session says on stderr: not what everybody knows, and an error is a sentence."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from thawline.formats.rbf.write import RbfWriter

SOURCES = Path(__file__).parents[2] / "src"
PROGRAM = """
import sys
from thawline.spark import register, session

spark = session("local[2]")
register(spark)
frame = spark.read.format("rbf").load(sys.argv[1])
for number in range(5):
    assert len(frame.limit(number + 1).collect()) == number + 1
flipped = spark.read.format("rbf").option("mode", "FAILFAST").load(sys.argv[2])
broken = spark.read.format("rbf").load(sys.argv[2])
for fails in (flipped.count, broken.write.format("rbf").mode("append").option("path", sys.argv[3]).save):
    try:
        fails()
    except Exception as error:
        print(error)
manager = spark._jsparkSession.sessionState().dataSourceManager()
print([manager.dataSourceExists(name) for name in ("rbf", "rbak", "borg_pack", "aerospike_backup", "kafka_segment")])
"""


@dataclass(frozen=True)
class Ran:
    """What a program has printed."""

    stdout: str
    stderr: str


@pytest.fixture(scope="module", params=["found by Spark itself", "registered"])
def ran(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Ran:
    """A session that reads the first rows of a large log, and makes mistakes."""
    folder = tmp_path_factory.mktemp("session")
    log = RbfWriter(folder / "log.rbf")
    for number in range(5000):
        log.append(number + 1, b"%d" % number * 500)
    log.close()
    data = bytearray((folder / "log.rbf").read_bytes())
    data[-40] ^= 1
    (folder / "flipped.rbf").write_bytes(data)
    # Spark looks for modules in the folders of the Python path: what is installed in place is not in one of them.
    path = {"PYTHONPATH": str(SOURCES)} if request.param != "registered" else {}
    arguments = [str(folder / name) for name in ("log.rbf", "flipped.rbf", "copy")]
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, *arguments],
        env={**os.environ, **path},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return Ran(done.stdout, done.stderr)


def test_no_source_is_registered_twice(ran: Ran) -> None:
    assert "replaced a" not in ran.stderr
    assert ran.stdout.splitlines()[-1] == "[True, True, True, True, True]"


@pytest.mark.parametrize("ran", ["found by Spark itself"], indirect=True)
def test_a_limit_leaves_no_traceback(ran: Ran) -> None:
    # Where Spark does not find us, the process with which it has looked for sources runs nothing of ours, and now and
    # then it tells of a pipe that Spark has closed before it was done.
    assert "BrokenPipe" not in ran.stderr
    assert "Traceback" not in ran.stderr


def test_an_error_is_a_sentence_without_a_trace_of_java(ran: Ran) -> None:
    assert "\tat " not in ran.stderr
    said = ran.stdout.splitlines()[:-1]
    assert [line for line in said if "flipped.rbf: byte" in line and "up to byte" in line]
    assert [line for line in said if "`thawline verify` says what is damaged" in line]
    assert len(said) <= 4
