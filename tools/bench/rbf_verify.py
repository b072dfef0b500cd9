"""Figures of RBF: `python -m tools.bench.rbf_verify [--size 1000] [--damaged]`.

Writes a file of frames with payloads of 1 KB to a temporary folder and measures, each in a process of its own: `verify`
with its peak of memory, and `tail`. CPU time is what one core needs; wall time depends on what else the machine does.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from random import Random

from thawline.cold import open_cold
from tools.bench.attack import FENCE, frame
from tools.bench.memory import peak

FRAMES_AT_ONCE = 16_384


def write(path: Path, size: int) -> None:
    """A file of at least this size."""
    random = Random(0)  # noqa: S311 - no secret
    block = b"".join(frame(random.randbytes(1024), index) + FENCE for index in range(FRAMES_AT_ONCE))
    with path.open("wb") as file:
        file.write(FENCE)
        while file.tell() < size:
            file.write(block)


def measure(path: Path, rows: int | None) -> dict[str, float]:
    """Verify a file, or read its last rows, in this process."""
    before = peak()
    wall, cpu = time.perf_counter(), time.process_time()
    with open_cold(str(path)) as cold:
        found = cold.verify().rows if rows is None else sum(batch.num_rows for batch in cold.tail(rows))
    used = {"wall": time.perf_counter() - wall, "cpu": time.process_time() - cpu}
    return {**used, "rows": found, "peak_after_imports": before, "peak": peak()}


def _measured_apart(path: Path, *options: str) -> dict[str, float]:
    command = [sys.executable, "-m", "tools.bench.rbf_verify", "--file", str(path), *options]
    found: dict[str, float] = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    return found


def main() -> None:
    """Write the file and print the figures."""
    parser = argparse.ArgumentParser(prog="python -m tools.bench.rbf_verify", description="Figures of RBF.")
    parser.add_argument("--size", type=int, default=1000, metavar="MB", help="size of the file")
    parser.add_argument("--damaged", action="store_true", help="with a wrong byte near its start")
    parser.add_argument("--file", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--rows", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.file:
        print(json.dumps(measure(options.file, options.rows)))
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "frames.rbf")
        write(path, options.size * 1_000_000)
        if options.damaged:
            with path.open("r+b") as file:
                file.seek(5000)
                file.write(b"?")
        megabytes = path.stat().st_size / 1e6
        found = _measured_apart(path)
        rates = ", ".join(f"{megabytes / found[clock]:.0f} MB/s {clock}" for clock in ("cpu", "wall"))
        print(f"verify, {megabytes:.0f} MB, {found['rows']} frames: {rates}")
        print(
            f"  peak of memory {found['peak'] / 1e6:.0f} MB, of which imports {found['peak_after_imports'] / 1e6:.0f}"
        )
        found = _measured_apart(path, "--rows", "10")
        print(f"tail, 10 frames: {found['wall']:.3f} s wall, {found['cpu']:.3f} s cpu")


if __name__ == "__main__":
    main()
