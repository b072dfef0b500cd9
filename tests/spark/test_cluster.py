"""A cluster on this machine, of two executors in processes of their own, one of which is killed in mid-job."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

SCRIPT = """
import os, signal, subprocess, sys, threading, time
from pathlib import Path
from thawline.formats.rbf.writer import RbfWriter
from thawline.spark import pipeline, session

def executors():
    listed = subprocess.run(["ps", "-eo", "pid,ppid,args"], capture_output=True, text=True).stdout.splitlines()
    split = (line.split(None, 2) for line in listed[1:])
    parents = {int(pid): (int(parent), arguments) for pid, parent, arguments in split}
    mine = [os.getpid()]
    for process in mine:
        mine += [pid for pid, (parent, _) in parents.items() if parent == process]
    return [pid for pid in mine if "CoarseGrainedExecutorBackend" in parents.get(pid, (0, ""))[1]]

folder = Path(sys.argv[1])
(folder / "cold").mkdir()
for number in range(40):
    log = RbfWriter(folder / "cold" / f"{number}.rbf")
    for frame in range(2000):
        log.append(number + 1, b"frame %d" % frame)
    log.close()
spark = session("local-cluster[2,1,1024]", {"spark.log.level": "OFF", "spark.executor.memory": "700m"})
source = spark.read.format("rbf").option("maxPartitionBytes", "40000").load(str(folder / "cold"))

def slowly(batches):
    for batch in batches:
        time.sleep(0.2)
        yield batch

spark.range(1000).repartition(8).count()
deadline = time.monotonic() + 90
while len(before := executors()) < 2 and time.monotonic() < deadline:
    time.sleep(0.5)
assert len(before) == 2, before
killed = threading.Timer(4, lambda: os.kill(before[0], signal.SIGKILL))
killed.start()
rows = source.mapInArrow(slowly, source.schema).selectExpr("tag", "cast(payload as string) as frame")
counts = rows.groupBy("tag").count().collect()
assert not killed.is_alive(), "the job was over before the executor was killed"
assert sorted((row["tag"], row["count"]) for row in counts) == [(number + 1, 2000) for number in range(40)]
summary = pipeline.ingest(spark, [str(folder / "cold")], folder / "lake")
assert (summary.ingested, summary.rows["rbf_frames"]) == (40, 80000)
print("as if nothing had happened")
spark.stop()
"""


@pytest.mark.cluster
def test_a_job_loses_no_row_and_doubles_none_when_an_executor_is_killed(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(SCRIPT), str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.stdout == "as if nothing had happened\n", done.stderr[-4000:]
