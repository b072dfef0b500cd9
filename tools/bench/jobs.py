"""Figures of `--jobs`: `python -m tools.bench.jobs [--records 3000000] [--files 200] [--folder /tmp/x]`.

`convert` to Parquet with one and with two jobs, in processes of their own and in turns; `convert` with one job beside
decoding and pyarrow alone; and `verify` of many files. What a command takes for a tiny file is subtracted: that is the
start of the process. Figures are the best of some runs: whatever else the machine does makes wall times longer, and
more so with two jobs. `--memory` measures the peak over a file of 4 GB.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import zstandard
from pyarrow import parquet

from thawline.cold import open_cold
from thawline.parquet import Encoded, ParquetFile, ParquetSettings
from thawline.sinks import joined
from tools.bench import aerospike_verify, data, rbak_segment

RUNS = 5
RECORDS, FILES = 3_000_000, 200
MOST_WALL, MOST_CPU, MOST_CPU_ALONE, MOST_WALL_OF_FILES = 0.58, 1.1, 1.15, 0.55
FILE_SIZE = 20 << 20
LARGE = 4 << 30
MOST_MEMORY, MOST_FOR_A_JOB = 600_000_000, 150_000_000
NAME = "00000000000000000000.log"


@dataclass(frozen=True, slots=True)
class Spent:
    """What a process took."""

    wall: float
    cpu: float
    peak: int

    def best(self, other: Spent) -> Spent:
        """The least of both, each figure by itself."""
        return Spent(min(self.wall, other.wall), min(self.cpu, other.cpu), max(self.peak, other.peak))

    def after(self, start: Spent) -> Spent:
        """What it took after the start of the process."""
        return Spent(self.wall - start.wall, self.cpu - start.cpu, self.peak)


def run(*arguments: object) -> Spent:
    """Run a command of thawline to its end."""
    return at_once(arguments)


def at_once(*commands: tuple[object, ...]) -> Spent:
    """Run commands of thawline at the same time, to the end of the last one."""
    start, cpu, peak = time.perf_counter(), 0.0, 0
    lines = [[sys.executable, "-m", "thawline", *map(str, arguments)] for arguments in commands]
    for process in [subprocess.Popen(line, stdout=subprocess.DEVNULL) for line in lines]:
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            raise RuntimeError(f"{process.args!r}: exit code {process.returncode}")
        cpu, peak = cpu + usage.ru_utime + usage.ru_stime, max(peak, 1024 * usage.ru_maxrss)
    return Spent(time.perf_counter() - start, cpu, peak)


def in_turns(*works: Callable[[], Spent]) -> list[Spent]:
    """The best of some runs of each."""
    found = [work() for work in works]
    for _ in range(RUNS - 1):
        found = [before.best(work()) for before, work in zip(found, works, strict=True)]
    return found


def converted(path: Path, out: Path, jobs: int) -> Spent:
    """`convert` of a file, to a new one: to remove an old one takes as long as to write some of it."""
    out.unlink(missing_ok=True)
    return run(*_conversion(path, out, jobs))


def converted_twice(path: Path, out: Path) -> Spent:
    """The same of two files by two processes: what the machine gives at best."""
    other = out.with_suffix(".2.parquet")
    for each in (out, other):
        each.unlink(missing_ok=True)
    return at_once(_conversion(path, out, 1), _conversion(path, other, 1))


def _conversion(path: Path, out: Path, jobs: int) -> tuple[object, ...]:
    return "convert", path, "-o", out, "-q", "--jobs", jobs


def decoded_and_written(path: Path, out: Path) -> Spent:
    """The rows of a file, and pyarrow's own writer, in a process of their own."""
    start, child = time.perf_counter(), os.fork()
    if not child:
        with open_cold(path) as cold, parquet.ParquetWriter(out, cold.schema, compression="zstd") as writer:
            for batch in joined(cold.batches()):
                writer.write_batch(batch)
        os._exit(0)
    _, _, usage = os.wait4(child, 0)
    return Spent(time.perf_counter() - start, usage.ru_utime + usage.ru_stime, 1024 * usage.ru_maxrss)


def files(folder: Path, records: int) -> dict[str, Path]:
    """A file of each kind to convert."""
    made = {"kafka none": folder / "none" / NAME, "kafka zstd": folder / "zstd" / NAME}
    for name, path in made.items():
        path.parent.mkdir()
        path.write_bytes(data.kafka_segment(records, name.partition(" ")[2]).data)
    made |= {"aerospike": folder / "a.asb", "aerospike zstd": folder / "z.asb", "rbak zstd": folder / "a.rbak"}
    aerospike_verify.write(made["aerospike"], records // 5, 0)
    made["aerospike zstd"].write_bytes(zstandard.compress(made["aerospike"].read_bytes()))
    made["rbak zstd"].write_bytes(rbak_segment.build(min(records // 20, rbak_segment.MOST_RECORDS))[0])
    made["rbf"] = folder / "a.rbf"
    made["rbf"].write_bytes(b"RBF1" + data.rbf(records).data)
    return made


def show_conversions(folder: Path, records: int) -> dict[str, object]:
    """Figures of `convert`."""
    found: dict[str, object] = {}
    out, tiny = folder / "out.parquet", folder / "tiny.rbf"
    tiny.write_bytes(b"RBF1" + data.rbf(1).data)
    (start,) = in_turns(partial(converted, tiny, out, 1))
    for name, path in files(folder, records).items():
        works = (partial(converted, path, out, 1), partial(converted, path, out, 2))
        one, two, twice, plain = in_turns(
            *works, partial(converted_twice, path, out), partial(decoded_and_written, path, out)
        )
        one, two, twice = one.after(start), two.after(start), twice.after(start)
        best = twice.wall / (2 * one.wall)
        wall, cpu, alone = two.wall / one.wall, two.cpu / one.cpu, one.cpu / plain.cpu
        print(f"{name:15} {one.wall:6.2f} s -> {two.wall:6.2f} s: wall {wall:.2f} (<= {MOST_WALL}), ", end="")
        print(f"two processes {best:.2f}, ", end="")
        print(f"CPU {cpu:.2f} (<= {MOST_CPU}); one job: {alone:.2f} of decoding and pyarrow (<= {MOST_CPU_ALONE})")
        found[name] = {"wall": wall, "cpu": cpu, "alone": alone, "two_processes": best, "seconds": [one.wall, two.wall]}
    return found


@dataclass(frozen=True, slots=True)
class Shares:
    """CPU seconds of what `convert` does with a file."""

    walk: float
    decode: float
    encode: float
    write: float

    @classmethod
    def of(cls, path: Path) -> Shares:
        """Measured one after the other, in one thread."""
        with open_cold(path) as cold, tempfile.TemporaryFile() as out:
            walk = _cpu(lambda: deque(cold.kind.walk(cold.source, cold.kind.tables[cold.table].depth), maxlen=0))
            read = _cpu(lambda: deque(cold.batches(), maxlen=0))
            settings, encode, write = ParquetSettings(), 0.0, 0.0
            file = ParquetFile(out, cold.schema, settings)
            for group in joined(cold.batches()):
                encoded: list[Encoded] = []
                encode += _cpu(lambda: encoded.append(Encoded.of(cold.schema, [group], settings)))  # noqa: B023
                write += _cpu(lambda: file.add(encoded.pop()))  # noqa: B023 - called at once
        return cls(walk, max(read - walk, 0.0), encode, write)

    def serial(self, *, is_one_stream: bool) -> float:
        """The share of what only one thread does; of a single stream, that includes decoding."""
        alone = self.walk + self.write + (self.decode if is_one_stream else 0)
        return alone / (self.walk + self.decode + self.encode + self.write)


def _cpu(work: Callable[[], object]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


def show_shares(folder: Path, records: int) -> dict[str, object]:
    """What only one thread does, and what follows for 16 cores by Amdahl's law."""
    found: dict[str, object] = {}
    for name, path in files(folder, records).items():
        serial = min(Shares.of(path).serial(is_one_stream=name.startswith("rbak")) for _ in range(RUNS))
        at_16 = 1 / (serial + (1 - serial) / 16)
        print(f"{name:15} {serial:.1%} in one thread: 16 cores give {at_16:.1f} times, at best {1 / serial:.1f}")
        found[name] = {"serial": serial, "cores_16": at_16}
    return found


def show_files(folder: Path, count: int) -> dict[str, object]:
    """Figures of `verify` over many files."""
    found: dict[str, object] = {}
    for compression, record in {"none": 135, "zstd": 52}.items():
        whole = data.kafka_segment(FILE_SIZE // record, compression).data
        many = folder / f"many-{compression}"
        many.mkdir()
        for number in range(count):
            (many / f"{number:04}.log").write_bytes(whole)
        one, two = in_turns(partial(run, "verify", many, "-j", 1), partial(run, "verify", many, "-j", 2))
        wall, cpu = two.wall / one.wall, two.cpu / one.cpu
        print(f"verify {count} files, {compression}: {one.wall:.2f} s -> {two.wall:.2f} s: ", end="")
        print(f"{wall:.2f} (<= {MOST_WALL_OF_FILES}), CPU {cpu:.2f}")
        found[compression] = {"wall": wall, "cpu": cpu, "seconds": [one.wall, two.wall]}
    return found


def show_memory(folder: Path) -> dict[str, int]:
    """The peak of `convert` of a file of 4 GB, with two and with four jobs."""
    block, path = data.kafka_segment(1_000_000, "none").data, folder / "large.log"
    with path.open("wb") as file:
        while file.tell() < LARGE:
            file.write(block)
    peaks = {jobs: converted(path, folder / "large.parquet", jobs).peak for jobs in (2, 4)}
    more = (peaks[4] - peaks[2]) // 2
    print(f"memory with two jobs: {peaks[2]:,} bytes (<= {MOST_MEMORY:,}); ", end="")
    print(f"a further job: {more:,} (<= {MOST_FOR_A_JOB:,})")
    return {"two_jobs": peaks[2], "further_job": more}


def main() -> None:
    """Measure, and print what was found."""
    parser = argparse.ArgumentParser(prog="python -m tools.bench.jobs", description="Figures of --jobs.")
    parser.add_argument("--records", type=int, default=RECORDS, metavar="N", help="records of a file to convert")
    parser.add_argument("--files", type=int, default=FILES, metavar="N", help="files of 20 MB to verify; 0 for none")
    parser.add_argument("--memory", action="store_true", help="also measure memory, with a file of 4 GB")
    parser.add_argument("--folder", type=Path, default=None, metavar="PATH", help="where files are made and removed")
    parser.add_argument("--json", type=Path, default=Path("build/jobs.json"), metavar="PATH", help="where to save")
    options = parser.parse_args()
    found = show(options.records, options.files, is_with_memory=options.memory, folder=options.folder)
    options.json.parent.mkdir(parents=True, exist_ok=True)
    options.json.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")


def show(
    records: int, files_to_verify: int, *, is_with_memory: bool = False, folder: Path | None = None
) -> dict[str, object]:
    """Measure all of it, in a temporary folder."""
    found: dict[str, object] = {}
    with tempfile.TemporaryDirectory(dir=folder) as name:
        for part in ("convert", "shares"):
            Path(name, part).mkdir()
        if records:
            found["convert"] = show_conversions(Path(name, "convert"), records)
            found["shares"] = show_shares(Path(name, "shares"), records)
        found["verify"] = show_files(Path(name), files_to_verify) if files_to_verify else {}
        found["memory"] = show_memory(Path(name)) if is_with_memory else {}
    return found


if __name__ == "__main__":
    main()
