"""Figures of `thawline ingest`: `python -m tools.bench.ingest [--size 500] [--large 8] [--folder /tmp/x]`.

Four files (Kafka not compressed and zstd, RBF, Aerospike) through `convert --jobs 1`, one after the other, and through
the pipeline on all cores, in a session of its own. With `--large`, also RBF logs of 1 GB and of that many: what the
driver takes for each, and when the first task is handed out. Ratios are those of one run.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from tools.bench import aerospike_verify, data, kafka_segment
from tools.bench.jobs import Spent, run
from tools.bench.spark import Watch, cpu_seconds

MOST_WALL, MOST_CPU, MOST_MEMORY = 0.62, 1.15, 600 << 20
NAME = "00000000000000000000.log"


def build(folder: Path, size: int) -> list[Path]:
    """The four files, of about `size` bytes each."""
    made = [folder / "orders-0" / NAME, folder / "packed-0" / NAME, folder / "log.rbf", folder / "users.asb"]
    for path, compression in zip(made, ("none", "zstd"), strict=False):
        path.parent.mkdir()
        kafka_segment.write(path, size, compression)
    log(made[2], size)
    aerospike_verify.write(made[3], 1_000_000, size)
    return made


def log(path: Path, size: int) -> None:
    """An RBF log of at least some size: the same frames again and again."""
    block = data.rbf(200_000).data
    with path.open("wb") as file:
        file.write(b"RBF1")
        while file.tell() < size:
            file.write(block)


def ingested(folder: Path, lake: Path, *, is_watched: bool) -> dict[str, float]:
    """What a run takes, in this process, that starts a session for it."""
    from thawline.spark import pipeline, session, submission  # noqa: PLC0415 - in a process of its own
    from thawline.spark.launch import KEY, QUICK  # noqa: PLC0415 - as above

    start = time.perf_counter()
    spark = session(None, {KEY: QUICK, "spark.log.level": "OFF"})
    begun, cpu, driver, java = time.perf_counter(), cpu_seconds(), time.process_time(), _java_seconds()
    tasks: list[float] = []
    given = submission.Submission._run  # noqa: SLF001 - nothing public tells when a task is handed out

    def noted(self: Any, task: Any, group: str) -> Any:
        tasks.append(time.perf_counter() - begun)
        return given(self, task, group)

    submission.Submission._run = noted  # type: ignore[method-assign]  # noqa: SLF001 - as above
    watch = Watch()
    if is_watched:  # it takes time of the driver
        watch.start()
    pipeline.ingest(spark, [str(folder)], lake)
    found = {
        "session": begun - start,
        "wall": time.perf_counter() - begun,
        "first task": tasks[0],
        "tasks": len(tasks),
        "driver": time.process_time() - driver,
        "cpu": cpu_seconds() - cpu,
        "java": _java_seconds() - java,
        "largest worker": Watch.most,
    }
    watch.over.set()
    spark.stop()
    return found


def _java_seconds() -> float:
    """What Java has used; its processes are called so."""
    ticks = 0
    for entry in Path("/proc").iterdir():
        try:
            line = (entry / "stat").read_text() if entry.name.isdecimal() else ""
        except OSError:
            continue
        fields = line.rpartition(")")[2].split()
        if "(java)" in line and int(fields[1]) == os.getpid():
            ticks += sum(map(int, fields[11:13]))
    return ticks / os.sysconf("SC_CLK_TCK")


def _child(folder: Path, lake: Path, *, is_watched: bool = False) -> dict[str, float]:
    line = [sys.executable, "-m", "tools.bench.ingest", "--child", str(folder), str(lake)]
    line += ["--watched"] if is_watched else []
    done = subprocess.run(line, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def show_four(folder: Path, size: int) -> None:
    """Figures of the four files."""
    cold = folder / "cold"
    cold.mkdir()
    spent = [_converted(path, folder / "out.parquet") for path in build(cold, size)]
    wall, cpu = sum(each.wall for each in spent), sum(each.cpu for each in spent)
    print(f"convert --jobs 1: {wall:.1f} s, CPU {cpu:.1f} s")
    for attempt in ("first", "second"):  # the first one may leave Java's classes for the second
        found = _child(cold, folder / attempt, is_watched=True)
        workers = found["cpu"] - found["driver"] - found["java"]
        print(f"{attempt}: session {found['session']:.1f} s, wall {found['wall']:.1f} s: ", end="")
        print(f"{found['wall'] / wall:.2f} of convert (<= {MOST_WALL}); CPU of workers about {workers:.1f} s: ", end="")
        print(f"{workers / cpu:.2f} of convert (<= {MOST_CPU}); driver {found['driver']:.1f} s; ", end="")
        print(f"largest worker {found['largest worker']:,.0f} bytes (<= {MOST_MEMORY:,})")


def _converted(path: Path, out: Path) -> Spent:
    return run("convert", path, "-o", out, "--overwrite", "-q", "--jobs", 1)


def show_large(folder: Path, gigabytes: int) -> None:
    """What the driver takes for files of two sizes."""
    for size in (1, gigabytes):
        cold = folder / f"large-{size}"
        cold.mkdir()
        log(cold / "log.rbf", size * 1_000_000_000)
        found = _child(cold, folder / f"lake-{size}")
        print(f"{size} GB: driver {found['driver']:.2f} CPU-s for {found['tasks']:.0f} tasks, ", end="")
        print(f"the first after {found['first task']:.2f} s; wall {found['wall']:.1f} s")


def main() -> None:
    """Measure, and print what was found."""
    parser = argparse.ArgumentParser(prog="python -m tools.bench.ingest", description="Figures of ingest.")
    parser.add_argument("--size", type=int, default=500, metavar="MB", help="size of each of the four files")
    parser.add_argument("--large", type=int, default=0, metavar="GB", help="size of a large log; 0 for none")
    parser.add_argument("--folder", type=Path, default=None, metavar="PATH", help="where files are made and removed")
    parser.add_argument("--child", nargs=2, type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--watched", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        print(json.dumps(ingested(*options.child, is_watched=options.watched)))
        return
    with tempfile.TemporaryDirectory(prefix="thawline-bench-", dir=options.folder) as name:
        if options.size:
            show_four(Path(name), options.size * 1_000_000)
        if options.large:
            show_large(Path(name), options.large)


if __name__ == "__main__":
    main()
