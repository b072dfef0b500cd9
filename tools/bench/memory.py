"""Scan a large file and print the most memory that this process ever had: `python -m tools.bench.memory FILE`.

The file is mapped, and what has been read is given back to the system, so that pages of the file do not count.
"""

from __future__ import annotations

import json
import mmap
import sys
from pathlib import Path

from thawline.engine.chunks import Break, Ranges
from thawline.engine.columns import scan

GENESIS_SIZE = 4


def scan_file(path: Path) -> int:
    """Read the frames of an RBF file, compare their checksums, and return how many there are."""
    rows = 0
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
        done = 0
        for chunk in scan("rbf_frames", mapped, Ranges.of([(GENESIS_SIZE, len(mapped), -1)])):
            if isinstance(chunk, Break) or not chunk.batch["crc32c"].equals(chunk.checksums):
                raise ValueError("the file is damaged")
            rows += len(chunk)
            read = chunk.ends[-1].as_py() // mmap.PAGESIZE * mmap.PAGESIZE
            mapped.madvise(mmap.MADV_DONTNEED, done, read - done)
            done = read
            del chunk  # it holds on to the mapping
    return rows


def peak() -> int:
    """The most bytes of memory this process has had at one time.

    Not `ru_maxrss`: that one starts from the peak of the process that started this one.
    """
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return 1024 * int(next(line.split()[1] for line in lines if line.startswith("VmHWM:")))


if __name__ == "__main__":
    before = peak()
    found = scan_file(Path(sys.argv[1]))
    print(json.dumps({"rows": found, "peak_after_imports": before, "peak": peak()}))
