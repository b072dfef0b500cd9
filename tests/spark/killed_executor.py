"""A program that loses an executor in the middle of a job, twice, and says whether anyone could tell.

It runs by itself: a process has one Spark at a time, and this one brings a cluster of processes along, two executors
of one core each. Tasks wait for one another, so the executor that is killed is always in the middle of its work.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Thread
from typing import Any

import pyarrow as pa
from deltalake import DeltaTable
from pyspark.sql import SparkSession

from thawline.formats.rbf.write import RbfWriter
from thawline.spark import pipeline, session
from thawline.spark.intake import Intake, Share, Taken

EXECUTOR = b"org.apache.spark.executor.CoarseGrainedExecutorBackend"
LOGS, FRAMES = 8, 500
PATIENCE = 300
"""Seconds after which it is given up; on a machine with nothing else to do it takes a few."""


class Meeting:
    """Where tasks wait until an executor has been killed, seen from the driver and from the executors."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.killed = folder, folder / "killed"
        folder.mkdir()

    def attend(self) -> None:
        """In a task: be there, and wait."""
        (self.folder / f"task-{os.getpid()}").touch()
        wait_for(self.killed.exists)

    def kill(self) -> None:
        """In the driver: once a task of each executor is there, kill one of them."""
        wait_for(lambda: len(list(self.folder.glob("task-*"))) == len(executors()) == 2)
        os.kill(executors()[0], signal.SIGKILL)
        self.killed.touch()


class Interrupted:
    """What a task of the pipeline does, with a meeting behind it: its files are written, and nobody knows yet."""

    def __init__(self, meeting: Meeting, *given: Any) -> None:
        self.meeting, self.intake = meeting, Intake(*given)
        self.run = self.intake.run

    def take(self, shares: tuple[Share, ...]) -> Taken:
        """Take in some files."""
        taken = self.intake.take(shares)
        self.meeting.attend()
        return taken


def wait_for(condition: Callable[[], bool]) -> None:
    """Return when something holds."""
    deadline = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError
        time.sleep(0.02)


def executors() -> list[int]:
    """The executors that were started below this process."""
    parents: dict[int, int] = {}
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            try:
                parents[int(entry.name)] = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
                if EXECUTOR in (entry / "cmdline").read_bytes().split(b"\0"):
                    found.append(int(entry.name))
            except OSError:
                continue  # it has just ended
    return sorted(one for one in found if os.getpid() in _ancestors(one, parents))


def _ancestors(process: int, parents: dict[int, int]) -> Iterator[int]:
    while process := parents.get(process, 0):
        yield process


def lose_one_in_a_query(spark: SparkSession, cold: Path, meeting: Meeting) -> list[tuple[int, int]]:
    """Frames by tag, of a query whose tasks an executor has begun to read for and does not live to finish."""

    def held_up(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            yield batch
            meeting.attend()

    reader = spark.read.format("rbf").options(maxPartitionBytes=3 << 20, mode="DROPMALFORMED")
    logs = reader.load(str(cold))
    killer = Thread(target=meeting.kill)
    killer.start()
    counts = logs.mapInArrow(held_up, logs.schema).groupBy("tag").count().collect()
    killer.join()
    return sorted((row["tag"], row["count"]) for row in counts)


def lose_one_in_the_pipeline(spark: SparkSession, cold: Path, lake: Path, meeting: Meeting) -> None:
    """Take in the logs with a pipeline whose tasks an executor has done, and does not live to report."""
    unharmed = pipeline.Intake
    pipeline.Intake = lambda *given: Interrupted(meeting, *given)  # type: ignore[assignment, misc]
    killer = Thread(target=meeting.kill)
    killer.start()
    pipeline.ingest(spark, [str(cold)], lake)
    killer.join()
    pipeline.Intake = unharmed  # type: ignore[misc]


def everything(lake: Path) -> dict[str, Counter[str]]:
    """The rows of all tables below a lake, and how often each is there."""
    found: dict[str, Counter[str]] = {}
    for table in ("tables/rbf_frames", "files", "findings"):
        rows = DeltaTable(str(lake / table)).to_pyarrow_table().to_pylist()
        found[table] = Counter(json.dumps(row, sort_keys=True, default=str) for row in rows)
    return found


def build(cold: Path) -> None:
    """Logs of a tag each, the last of them damaged."""
    cold.mkdir()
    for number in range(LOGS):
        log = RbfWriter(cold / f"{number}.rbf")
        for frame in range(FRAMES):
            log.append(number + 1, b"%d" % frame * 1000)
        log.close()
    with (cold / f"{LOGS - 1}.rbf").open("r+b") as file:
        file.seek(-100, os.SEEK_END)
        file.write(b"?")


def main(folder: Path) -> dict[str, Any]:
    """What came out."""
    build(folder / "cold")
    settings = {"spark.log.level": "OFF", "spark.executor.memory": "700m", "spark.sql.shuffle.partitions": "2"}
    spark = session("local-cluster[2,1,1024]", settings)
    meetings = [Meeting(folder / "query"), Meeting(folder / "pipeline")]
    counts = lose_one_in_a_query(spark, folder / "cold", meetings[0])
    lose_one_in_the_pipeline(spark, folder / "cold", folder / "lake", meetings[1])
    pipeline.ingest(spark, [str(folder / "cold")], folder / "clean")
    spark.stop()
    lake, clean = everything(folder / "lake"), everything(folder / "clean")
    rows = {table: sum(counter.values()) for table, counter in clean.items()}
    killed = sum(meeting.killed.exists() for meeting in meetings)
    return {"killed": killed, "counts": counts, "rows": rows, "is_equal": lake == clean}


if __name__ == "__main__":
    sys.stdout.write(json.dumps(main(Path(sys.argv[1]))))
