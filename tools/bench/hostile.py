"""What worst cases cost: `python -m tools.bench --only hostile`, or `python -m tools.bench.hostile --help`.

Each is verified and read in a process of its own, at 1, 2, 4 and 8 MB. Seconds are those of the CPU, without the start
of Python. Beyond the bounds that SECURITY.md states, a line says so.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tools.bench.hostile_files import HOSTILE
from tools.bench.memory import peak
from tools.bench.worst_cases import Hostile

MEGABYTE = 1_000_000
SIZES = (1, 2, 4, 8)
SLOWEST, LARGEST, STEEPEST = 2.0, 300 * MEGABYTE, 2.5
"""Seconds a megabyte, bytes of memory, and growth for twice the size."""
TOO_QUICK = 0.1
"""Growth of what takes less is noise."""
GIVEN_UP, MOST_MEMORY = 20, 6 << 30
COMMANDS = {"verify": ["verify", "{at}"], "cat": ["cat", "{at}", "--format", "arrow"]}
ON_FOLDERS = {"verify": COMMANDS["verify"]}
MORE = {
    "borg": {"items": ["borg", "items", "{at}", "arc"]},
    "rbak": {"manifest": ["rbak", "manifest", "{at}", "-o", "{at}/../new.json"]},
}
"""Commands that folders of a format are given to, besides."""


@dataclass(frozen=True, slots=True)
class Cost:
    """What a command took for one size."""

    seconds: float
    memory: int
    ended: bool = True
    """Whether it ended by itself, with an exit code of its own."""


@dataclass(frozen=True, slots=True)
class Row:
    """What a command took for each size."""

    hostile: Hostile
    command: str
    costs: dict[int, Cost]

    def flags(self) -> list[str]:
        """Bounds that it breaks."""
        found = []
        if not all(cost.ended for cost in self.costs.values()):
            found.append("did not end well")
        if any(cost.seconds > SLOWEST * size * max(self.hostile.decoded / 10, 1) for size, cost in self.costs.items()):
            found.append(f"> {SLOWEST:g} s/MB")
        if any(cost.memory > LARGEST for cost in self.costs.values()):
            found.append("> 300 MB")
        if self.growth() > STEEPEST:
            found.append(f"grows > {STEEPEST:g} x")
        return found

    def growth(self) -> float:
        """The largest factor from one size to twice that size."""
        pairs = [
            (self.costs[size].seconds, self.costs[2 * size].seconds) for size in self.costs if 2 * size in self.costs
        ]
        return max(
            (later / earlier for earlier, later in pairs if later > TOO_QUICK and earlier > TOO_QUICK / 4), default=0.0
        )


def rows(
    cases: Sequence[Hostile], sizes: Sequence[int], wanted: Callable[[Hostile, str], bool] = lambda *_: True
) -> Iterator[Row]:
    """What each case costs, as it is measured."""
    for hostile in cases:
        for command, arguments in commands(hostile).items():
            if wanted(hostile, command):
                yield Row(hostile, command, measured(hostile, arguments, sizes))


def commands(hostile: Hostile) -> dict[str, list[str]]:
    """The commands that a case is given to."""
    return ON_FOLDERS | MORE.get(hostile.format, {}) if hostile.is_folder else COMMANDS


def measured(hostile: Hostile, arguments: Sequence[str], sizes: Sequence[int]) -> dict[int, Cost]:
    """The cost for each size; larger ones are not tried once one is given up."""
    costs: dict[int, Cost] = {}
    for size in sizes:
        with tempfile.TemporaryDirectory(prefix="thawline-hostile-") as folder:
            for name, data in hostile.build(size * MEGABYTE).items():
                path = Path(folder, name)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(data)
            given = [part.format(at=Path(folder, hostile.at)) for part in arguments]
            costs[size] = cost(given if hostile.is_folder else [*given, "--input-format", hostile.format])
        if not costs[size].ended:
            break
    return costs


def cost(arguments: Sequence[str]) -> Cost:
    """What a command of thawline takes in a process of its own."""
    command = [sys.executable, "-m", "tools.bench.hostile", "--child", *arguments]
    root = Path(__file__).parents[2]
    run = subprocess.run(command, cwd=root, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False)
    try:
        found = json.loads(run.stderr.splitlines()[-1])
    except (ValueError, IndexError):
        return Cost(GIVEN_UP, 0, ended=False)
    return Cost(found["seconds"], found["memory"], found["code"] in {0, 1, 2, 3} and "Traceback" not in run.stderr)


def child(arguments: list[str]) -> None:
    """Run a command here, under limits, and say on stderr what it took."""
    from thawline.cli import run  # noqa: PLC0415 - the limits are set first

    resource.setrlimit(resource.RLIMIT_CPU, (GIVEN_UP, GIVEN_UP))
    resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))
    start = time.process_time()
    code = run(arguments)
    taken = {"code": code, "seconds": time.process_time() - start, "memory": peak()}
    os.write(2, f"\n{json.dumps(taken)}\n".encode())


def show(found: Iterator[Row], sizes: Sequence[int]) -> int:
    """Print a table as it comes; how many rows break a bound."""
    heads = "".join(f"{f'{size} MB':>8}" for size in sizes)
    print(f"{'format':<10}{'worst case':<42}{'command':<9}{heads}{'growth':>8}{'memory':>9}  beyond the bounds")
    broken = 0
    for row in found:
        seconds = "".join(f"{row.costs[size].seconds:8.2f}" if size in row.costs else f"{'':>8}" for size in sizes)
        memory = max(cost.memory for cost in row.costs.values()) // MEGABYTE
        growth = f"{row.growth():7.1f}x" if row.growth() else f"{'':>8}"
        flags = row.flags()
        broken += bool(flags)
        name = f"{row.hostile.format:<10}{row.hostile.name:<42}{row.command:<9}"
        print(f"{name}{seconds}{growth}{memory:6} MB  {', '.join(flags)}", flush=True)
    print(f"seconds are CPU; {broken} rows are beyond {SLOWEST:g} s a MB, 300 MB or {STEEPEST:g} x for twice the size")
    return broken


def main() -> int:
    """Measure and print; 1 if a row breaks a bound."""
    if sys.argv[1:2] == ["--child"]:
        child(sys.argv[2:])
        return 0
    parser = argparse.ArgumentParser(prog="python -m tools.bench.hostile", description="What worst cases cost.")
    parser.add_argument("--sizes", type=lambda text: [int(size) for size in text.split(",")], default=list(SIZES))
    parser.add_argument("--formats", type=lambda text: text.split(","), help="some of the formats")
    parser.add_argument("--case", default="", help="those with this in their name")
    options = parser.parse_args()
    cases = [
        case
        for case in HOSTILE
        if (not options.formats or case.format in options.formats) and options.case in case.name
    ]
    return int(bool(show(rows(cases, options.sizes), options.sizes)))


if __name__ == "__main__":
    sys.exit(main())
