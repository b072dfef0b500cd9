"""Figures of large Kafka segments: `python -m tools.bench.kafka_segment [--size 4000] [--compression zstd]`.

Writes a segment of 134-byte records to a temporary folder and measures, each in a process of its own: `batches`,
`verify` and `verify --heads-only`, with the peak of memory. CPU time is what one core needs; wall time depends on what
else the machine does.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from thawline.cold import ColdFile, open_cold
from tools.bench import data
from tools.bench.memory import peak

MOST_MEMORY = 500_000_000
LEAST_HEADS_RATE = 3_000_000_000
RECORDS_AT_ONCE = 200_000

MEASURED: dict[str, Callable[[ColdFile], int]] = {
    "batches": lambda segment: sum(batch.num_rows for batch in segment.batches()),
    "verify": lambda segment: segment.verify().rows,
    "verify --heads-only": lambda segment: segment.verify(heads_only=True).rows,
}


def write(path: Path, size: int, compression: str) -> int:
    """A segment of at least this size, of which no broker would write more than 2 GB; gives the number of its records.

    The same batches come again and again with other base offsets, which no checksum covers.
    """
    block = bytearray(data.kafka_segment(RECORDS_AT_ONCE, compression).data)
    starts = _starts(block)
    records = 0
    with path.open("wb") as file:
        while file.tell() < size:
            file.write(block)
            records += RECORDS_AT_ONCE
            for start in starts:
                offset = int.from_bytes(block[start : start + 8], "big") + RECORDS_AT_ONCE
                block[start : start + 8] = offset.to_bytes(8, "big")
    return records


def _starts(block: bytearray) -> list[int]:
    starts, at = [], 0
    while at < len(block):
        starts.append(at)
        at += 12 + int.from_bytes(block[at + 8 : at + 12], "big")
    return starts


def measure(path: Path, what: str) -> dict[str, float]:
    """Read a file in this process."""
    before = peak()
    wall, cpu = time.perf_counter(), time.process_time()
    with open_cold(str(path), "kafka") as segment:
        found = MEASURED[what](segment)
    used = {"wall": time.perf_counter() - wall, "cpu": time.process_time() - cpu}
    return {**used, "rows": found, "peak_after_imports": before, "peak": peak()}


def _measured_apart(path: Path, what: str) -> dict[str, float]:
    command = [sys.executable, "-m", "tools.bench.kafka_segment", "--file", str(path), "--measure", what]
    found: dict[str, float] = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    return found


def _show(what: str, size: int, found: dict[str, float]) -> None:
    rates = ", ".join(f"{size / found[clock] / 1e9:.2f} GB/s {clock}" for clock in ("cpu", "wall"))
    print(f"{what}: {found['rows']} records, {rates}")
    limit = "below" if found["peak"] < MOST_MEMORY else "NOT BELOW"
    imports = f"{found['peak_after_imports'] / 1e6:.0f} of them imports"
    print(f"  peak of memory {found['peak'] / 1e6:.0f} MB, {imports}: {limit} {MOST_MEMORY / 1e6:.0f}")
    if what == "verify --heads-only":
        reached = "reached" if size / found["cpu"] >= LEAST_HEADS_RATE else "MISSED"
        print(f"  {reached}: at least {LEAST_HEADS_RATE / 1e9:.0f} GB/s")


def main() -> None:
    """Write the segment and print the figures."""
    parser = argparse.ArgumentParser(prog="python -m tools.bench.kafka_segment", description="Large Kafka segments.")
    parser.add_argument("--size", type=int, default=4000, metavar="MB", help="size of the segment")
    parser.add_argument("--compression", default="none", help="of its batches")
    parser.add_argument("--only", choices=MEASURED, help="one of the figures")
    parser.add_argument("--file", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--measure", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.file:
        print(json.dumps(measure(options.file, options.measure)))
        return
    with tempfile.TemporaryDirectory(prefix="thawline-bench-") as folder:
        path = Path(folder, "00000000000000000000.log")
        records = write(path, options.size * 1_000_000, options.compression)
        print(f"{path.stat().st_size:,} bytes, {options.compression}, {records:,} records")
        for what in [options.only] if options.only else MEASURED:
            _show(what, path.stat().st_size, _measured_apart(path, what))


if __name__ == "__main__":
    main()
