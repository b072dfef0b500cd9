"""Fuzz: `python -m tools.fuzz [--seed N] [--count N] [--formats kafka,rbf] [--keep FOLDER]`.

Each mutant is judged in a process that is started for some hundred of them, so that a native crash ends that process
only and is a finding like any other. What breaks a promise is made smaller and kept as a file.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import re
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from thawline.formats import FORMATS
from tools.fuzz.judging import broken, kind_of
from tools.fuzz.making import Mutant, mutant
from tools.fuzz.samples import samples
from tools.fuzz.shrinking import shrunk

CHUNK = 200
"""Mutants of one process."""
MEMORY = "/dev/shm"  # noqa: S108 - salvage waits for the disk unless there is none


@dataclass(frozen=True, slots=True)
class Found:
    """A mutant that breaks a promise."""

    format: str
    how: str
    what: str
    data: bytes

    @property
    def kind(self) -> str:
        """What is broken, without the numbers, so that the same mistake is told once."""
        return f"{self.format}: {kind_of(self.what)}"


def scratch() -> Path:
    """A folder for what is written, in memory where there is such."""
    return Path(tempfile.mkdtemp(prefix="thawline-fuzz-", dir=MEMORY if Path(MEMORY).is_dir() else None))


def judged(work: tuple[tuple[str, ...], int, range]) -> list[Found]:
    """What some mutants break."""
    formats, seed, numbers = work
    folder, found = scratch(), []
    for number in numbers:
        made = mutant(samples(*formats), seed, number)
        if what := broken(made.format, made.data, folder):
            found.append(Found(made.format, made.how, what, made.data))
    folder.rmdir()
    return found


def _crashed(format_names: tuple[str, ...], seed: int, numbers: range) -> Found:
    """The mutant that ends its process, found by halves."""
    while len(numbers) > 1:
        middle = len(numbers) // 2
        numbers = numbers[:middle] if _ends(format_names, seed, numbers[:middle]) else numbers[middle:]
    made: Mutant = mutant(samples(*format_names), seed, numbers[0])
    return Found(made.format, made.how, "the process crashes", made.data)


def _ends(format_names: tuple[str, ...], seed: int, numbers: range) -> bool:
    process = multiprocessing.Process(target=judged, args=((format_names, seed, numbers),))
    process.start()
    process.join()
    return bool(process.exitcode)


def run(format_names: tuple[str, ...], seed: int, count: int, jobs: int, seconds: float) -> Iterator[list[Found]]:
    """What is found, a chunk at a time, until there are enough mutants or the time is over."""
    from concurrent.futures import ProcessPoolExecutor  # noqa: PLC0415 - only the command needs it
    from concurrent.futures.process import BrokenProcessPool  # noqa: PLC0415 - as above

    starts, end = iter(range(0, count, CHUNK)), time.monotonic() + seconds
    while time.monotonic() < end:
        chunks = [range(at, min(at + CHUNK, count)) for at, _ in zip(starts, range(jobs), strict=False)]
        if not chunks:
            return
        with ProcessPoolExecutor(jobs) as pool:
            futures = [pool.submit(judged, (format_names, seed, chunk)) for chunk in chunks]
            for chunk, future in zip(chunks, futures, strict=True):
                try:
                    yield future.result()
                except BrokenProcessPool:
                    yield [_crashed(format_names, seed, chunk)] if _ends(format_names, seed, chunk) else []


def main() -> int:
    """Judge mutants, keep what breaks a promise, say what was done; 1 if any does."""
    options = _options()
    seen: Counter[str] = Counter()
    done = 0
    print(f"seed {options.seed}: {options.count} mutants of {', '.join(options.formats)}", flush=True)
    for chunk in run(options.formats, options.seed, options.count, options.jobs, options.seconds):
        done += CHUNK
        for found in chunk:
            seen[found.kind] += 1
            if seen[found.kind] == 1:
                print(f"{found.kind}\n  {found.how}: {found.what}\n  {_kept(found, options.keep)}", flush=True)
    for kind, times in seen.most_common():
        print(f"{times:6} {kind}")
    print(f"{min(done, options.count)} mutants, {sum(seen.values())} break a promise, {len(seen)} kinds")
    return 1 if seen else 0


def _kept(found: Found, folder: Path) -> Path:
    """The mutant as a file, as small as it gets quickly."""
    data = found.data if "crash" in found.what else shrunk(found.format, found.data, found.what)
    path = folder / found.format / f"{re.sub(r'[^a-zA-Z0-9]+', '-', found.kind)[:80]}-{len(data)}.bin"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tools.fuzz", description="Mutants of files against the promises.")
    parser.add_argument("--seed", type=int, default=int(time.time()), help="the same seed gives the same mutants")
    parser.add_argument("--count", type=int, default=100_000, help="mutants in all (%(default)s)")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="stop after this time")
    parser.add_argument("--formats", type=lambda text: tuple(text.split(",")), default=tuple(FORMATS))
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--keep", type=Path, default=Path("build/fuzz"), help="where to keep what is found")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
