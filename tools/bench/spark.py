"""Figures of Kafka segments on Spark: `python -m tools.bench.spark [--size 2000] [--repeat 3]`.

Writes an uncompressed segment and the same rows as Parquet, and reads both in sessions of their own: on two cores, and
on one. Ratios are those of the least times in one run; CPU time is that of Java, the driver and all workers. With
`binaryFile` and aiokafka a file is one task, since nothing can cut it; both sides count rows of the same columns.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from operator import attrgetter
from pathlib import Path
from typing import Any

import pyarrow as pa

from tools.bench.kafka_segment import write

COLUMNS = "key binary, value binary, topic string, partition int, offset bigint, timestamp timestamp, timestampType int"
COUNTED = (("offset",), ("offset", "timestamp", "key", "value"))
"""Columns that both sides are asked to give: what a count needs, and what a consumer gets."""
LONGS = {"offset", "timestamp"}
SMALL_FILES = 10_000


PINNED, BESIDE = "local[1] on one core", "local[2] beside aiokafka"
SESSIONS = {"local[2]": "local[2]", "local[1]": "local[1]", PINNED: "local[1]", BESIDE: "local[2]"}
"""Sessions by what is measured in them. Java and the Python worker of one task run side by side, so on two cores
`local[1]` has more than one of them; only where it is held to one core does the ratio say what a second one brings."""


def tree() -> list[int]:
    """This process and all that it has started, and they in turn."""
    parents = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            try:
                parents[int(entry.name)] = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            except OSError:
                continue
    found = [os.getpid()]
    for process in found:
        found += [child for child, parent in parents.items() if parent == process]
    return found


def cpu_seconds() -> float:
    """What the tree has used, with those of it that have ended."""
    ticks = 0
    for process in tree():
        try:
            ticks += sum(map(int, Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[11:15]))
        except OSError:
            continue
    return ticks / os.sysconf("SC_CLK_TCK")


def largest_worker() -> int:
    """The most memory that a Python process of the tree has had, other than this one, in bytes."""
    most = 0
    for process in tree()[1:]:
        try:
            status = Path(f"/proc/{process}/status").read_text()
        except OSError:
            continue
        if "Name:\tpython" in status:
            most = max(most, *(int(line.split()[1]) << 10 for line in status.splitlines() if line.startswith("VmHWM")))
    return most


def by_aiokafka(columns: Sequence[str]) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """What one would write without thawline: a file in one piece, its records one by one, checked like a consumer."""

    def decoded(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from aiokafka.record import MemoryRecords  # type: ignore[import-untyped]  # noqa: PLC0415 - in a worker

        values = attrgetter(*columns)
        for batch in batches:
            for content in batch["content"]:
                records = MemoryRecords(content.as_buffer().to_pybytes())
                rows: list[Any] = []
                while records.has_next():
                    found = records.next_batch()
                    if not found.validate_crc():
                        raise ValueError
                    rows += map(values, found)
                    if len(rows) >= 1 << 16:
                        yield _batch(rows, columns)
                        rows = []
                if rows:
                    yield _batch(rows, columns)

    return decoded


def _batch(rows: list[Any], columns: Sequence[str]) -> pa.RecordBatch:
    values = [rows] if len(columns) == 1 else list(zip(*rows, strict=True))
    kinds = [pa.int64() if name in LONGS else pa.binary() for name in columns]
    arrays = [pa.array(each, kind) for each, kind in zip(values, kinds, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, list(columns))


def measured(folder: Path, kind: str, repeat: int) -> dict[str, Any]:
    """The least wall and CPU time of each job, in a session of its own."""
    from thawline.spark import session  # noqa: PLC0415 - in a process of its own

    master = SESSIONS[kind]
    if kind == PINNED:
        os.sched_setaffinity(0, {0})
    spark = session(master, {"spark.log.level": "OFF", "spark.driver.memory": "8g"})
    segment, copy, out = str(folder / "orders-0"), str(folder / "parquet"), folder / "out"
    ours = spark.read.format("kafka_segment").schema(COLUMNS)
    if not Path(copy).exists():
        ours.load(segment).write.parquet(copy)
    small = folder / "small"
    jobs: dict[str, Callable[[], Any]] = {
        "segment to count": lambda: ours.load(segment).count(),
        "segment to Parquet": lambda: ours.load(segment).write.parquet(str(out)),
        "Parquet to Parquet": lambda: spark.read.parquet(copy).write.parquet(str(out)),
    }
    if kind == BESIDE:
        jobs.clear()  # aiokafka holds the whole file more than once, in the memory of Java, too
        piece = str(folder / "piece")
        files = spark.read.format("binaryFile").load(piece).select("content")
        for columns in COUNTED:
            named = ",".join(columns)
            kinds = ", ".join(f"{name} {'bigint' if name in LONGS else 'binary'}" for name in columns)
            theirs = files.mapInArrow(by_aiokafka(columns), kinds)
            same = spark.read.format("kafka_segment").option("columns", named)
            jobs[f"piece by aiokafka, {named}"] = lambda theirs=theirs: theirs.count()  # type: ignore[misc]
            jobs[f"piece, {named}"] = lambda same=same: same.load(piece).count()  # type: ignore[misc]
        jobs["plan of small files"] = lambda: _partitions(spark.read.format("rbf").load(str(small)))
    found: dict[str, Any] = {}
    for _ in range(repeat):  # in turn, so that what else the machine does hits all of them
        for name, job in jobs.items():
            used = _once(job, out)
            found[name] = [min(pair) for pair in zip(found.get(name, used), used, strict=True)]
    found["largest worker"] = Watch.most
    spark.stop()
    return found


def _partitions(frame: Any) -> int:
    """How many partitions a frame is planned to have; nothing of it is read."""
    return int(frame.rdd.getNumPartitions())


class Watch(threading.Thread):
    """Looks at the memory of workers while a job runs."""

    most = 0

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.over = threading.Event()

    def run(self) -> None:
        """Look twice a second."""
        while not self.over.wait(0.5):
            Watch.most = max(Watch.most, largest_worker())


def _once(job: Callable[[], Any], out: Path) -> tuple[float, float]:
    shutil.rmtree(out, ignore_errors=True)
    watch = Watch()
    watch.start()
    wall, cpu = time.perf_counter(), cpu_seconds()
    job()
    used = time.perf_counter() - wall, cpu_seconds() - cpu
    watch.over.set()
    watch.join()
    return used


def build(folder: Path, size: int) -> None:
    """The segment, a smaller one for what is slow, and many small files."""
    for name, bytes_ in (("orders-0", size), ("piece", size // 2)):
        (folder / name).mkdir()
        path = folder / name / "00000000000000000000.log"
        records = write(path, bytes_, "none")
        print(f"{name}: {path.stat().st_size:,} bytes, {records:,} records")
    (folder / "small").mkdir()
    log = Path("tests/golden/rbf/many-frames.rbf").read_bytes()
    for number in range(SMALL_FILES):
        (folder / "small" / f"{number:05}.rbf").write_bytes(log)


def _judged(what: str, value: float, bound: float, *, at_most: bool) -> None:
    is_reached = value <= bound if at_most else value >= bound
    print(
        f"{what}: {value:.2f} ({'at most' if at_most else 'at least'} {bound}: {'reached' if is_reached else 'MISSED'})"
    )


def main() -> None:
    """Build the files and print the figures."""
    parser = argparse.ArgumentParser(prog="python -m tools.bench.spark", description="Kafka segments on Spark.")
    parser.add_argument("--size", type=int, default=2000, metavar="MB", help="size of the segment")
    parser.add_argument("--repeat", type=int, default=3, metavar="N", help="times that each job is run")
    parser.add_argument("--child", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        print(json.dumps(measured(Path(options.child[0]), options.child[1], options.repeat)))
        return
    with tempfile.TemporaryDirectory(prefix="thawline-bench-") as name:
        build(Path(name), options.size * 1_000_000)
        found: dict[str, dict[str, Any]] = {}
        for kind in SESSIONS:
            command = [sys.executable, "-m", "tools.bench.spark", "--repeat", str(options.repeat)]
            command += ["--child", name, kind]
            done = subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
            found[kind] = json.loads(done.stdout.splitlines()[-1])
            for job, used in found[kind].items():
                print(
                    f"{kind} {job}: {used}"
                    if job == "largest worker"
                    else f"{kind} {job}: {used[0]:.2f} s, CPU {used[1]:.2f} s"
                )
    _judge(found)


def _judge(found: dict[str, dict[str, Any]]) -> None:
    two, beside = found["local[2]"], found[BESIDE]
    for index, clock in enumerate(("wall", "CPU")):
        to_parquet = two["segment to Parquet"][index] / two["Parquet to Parquet"][index]
        _judged(f"segment to Parquet / Parquet to Parquet, {clock}", to_parquet, 1.4, at_most=True)
        for columns in COUNTED:
            named = ",".join(columns)
            against = beside[f"piece by aiokafka, {named}"][index] / beside[f"piece, {named}"][index]
            _judged(f"binaryFile and aiokafka / ours, {named}, {clock}", against, 5, at_most=False)
    for kind in ("local[1]", PINNED):
        for job in ("segment to count", "segment to Parquet"):
            _judged(f"{kind} / local[2], {job}", found[kind][job][0] / two[job][0], 1.7, at_most=False)
    _judged(f"seconds to plan {SMALL_FILES} files", beside["plan of small files"][0], 10, at_most=True)
    _judged("largest worker, GB", two["largest worker"] / 1e9, 1, at_most=True)


if __name__ == "__main__":
    main()
