"""Figures of Aerospike backups: `python -m tools.bench.aerospike_verify [--records 500000] [--size 4000]`.

Writes a backup of records with a key, a set and six bins (integer, string, double, boolean, compact bytes, list) to a
temporary folder and measures, each in a process of its own: `verify`, and all rows as Arrow. With `--size`, also the
peak of memory over a file of a given number of megabytes. CPU time is what one core needs; wall time depends on what
else the machine does.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from base64 import b64encode
from collections.abc import Iterator
from pathlib import Path
from random import Random

from thawline.cold import open_cold
from thawline.ripemd160 import ripemd160
from tools.bench.memory import peak

HEADER = b"Version 3.1\n# namespace test\n# first-file\n"
RECORDS_IN_BLOCK = 50_000


def records(count: int) -> Iterator[bytes]:
    """Records as asbackup writes them, with digests that are right."""
    random = Random(0)  # noqa: S311 - no secret
    for number in range(count):
        key = b"user-%08d" % number
        tags = bytes([0x93, number % 100, 0xA4, 3, 97, 98, 99, 0xCD]) + (256 + number % 65_000).to_bytes(2, "big")
        text = random.randbytes(12).hex().encode()
        lines = (
            b"+ k S %d %s" % (len(key), key),
            b"+ n test",
            b"+ d " + b64encode(ripemd160(b"users\3" + key)),
            b"+ s users",
            b"+ g %d" % (1 + number % 90),
            b"+ t %d" % (400_000_000 + number),
            b"+ b 6",
            b"- I visits %d" % (number * 7),
            b"- S name %d %s" % (len(text), text),
            b"- D score %.17g" % random.random(),
            b"- Z active " + (b"T" if number % 3 else b"F"),
            b"- B! photo 32 " + random.randbytes(32),
            b"- L tags %d %s" % (len(b64encode(tags)), b64encode(tags)),
            b"",
        )
        yield b"\n".join(lines)


def write(path: Path, count: int, size: int) -> None:
    """A backup of some records; the first of them are repeated until it has the size."""
    block = b"".join(records(min(count, RECORDS_IN_BLOCK) if size else count))
    with path.open("wb") as file:
        file.write(HEADER)
        file.write(block)
        while file.tell() < size:
            file.write(block)


def measure(path: Path, what: str) -> dict[str, float]:
    """Verify a file, or read all of its rows, in this process."""
    before = peak()
    wall, cpu = time.perf_counter(), time.process_time()
    with open_cold(str(path), "aerospike") as cold:
        if what == "verify":
            report = cold.verify()
            if report.findings:
                raise ValueError(f"the file is not intact: {report.findings[0]}")
            found = report.rows
        else:
            found = sum(batch.num_rows for batch in cold.batches())
    used = {"wall": time.perf_counter() - wall, "cpu": time.process_time() - cpu}
    return {**used, "rows": found, "peak_after_imports": before, "peak": peak()}


def _measured_apart(path: Path, what: str) -> dict[str, float]:
    command = [sys.executable, "-m", "tools.bench.aerospike_verify", "--file", str(path), "--what", what]
    found: dict[str, float] = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    return found


def _show(path: Path) -> None:
    megabytes = path.stat().st_size / 1e6
    for what in ("verify", "decode"):
        best = min((_measured_apart(path, what) for _ in range(3)), key=lambda found: found["cpu"])
        rates = ", ".join(f"{megabytes / best[clock]:.0f} MB/s {clock}" for clock in ("cpu", "wall"))
        memory = f"peak of memory {best['peak'] / 1e6:.0f} MB, of which imports {best['peak_after_imports'] / 1e6:.0f}"
        print(f"{what}, {megabytes:.0f} MB, {best['rows']} records: {rates}; {memory}")


def main() -> None:
    """Write the files and print the figures."""
    parser = argparse.ArgumentParser(prog="python -m tools.bench.aerospike_verify", description="Figures of Aerospike.")
    parser.add_argument("--records", type=int, default=500_000, help="records of the file that speed is measured with")
    parser.add_argument("--size", type=int, default=0, metavar="MB", help="size of a second file, for memory")
    parser.add_argument("--file", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--what", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.file:
        print(json.dumps(measure(options.file, options.what)))
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "records.asb")
        write(path, options.records, 0)
        _show(path)
        if options.size:
            write(path, options.records, options.size * 1_000_000)
            _show(path)


if __name__ == "__main__":
    main()
