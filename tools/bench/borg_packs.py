"""Figures of Borg: `python -m tools.bench.borg_packs [--blobs 1000000] [--garbage 1000]`.

CPU time of one core: headers of small blobs in the kernel, their rows through the public interface, names of packs, and
the search for the next blob in bytes that hold none.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from random import Random

from thawline.generated.tables.borg import BLOBS

from thawline.checksums import blake3, sha256
from thawline.cold import open_cold
from thawline.engine import columns
from thawline.engine.chunks import Chunk
from thawline.formats.borg.blobs import pack_header
from thawline.formats.borg.rows import CONTENT

RUNS = 3
PACK_SIZE = 50_000_000
HEADER_COLUMNS = [name for name in BLOBS.schema.names if name not in CONTENT]
SESSION = bytes(range(24))


def sealed_blob(number: int) -> bytes:
    """The outside of a small encrypted blob."""
    slots = [b"\x10\0" + iv.to_bytes(6, "big") + SESSION + bytes(16 + 40) for iv in (2 * number + 1, 2 * number)]
    return pack_header(2, number.to_bytes(32, "big"), *map(len, slots)) + b"".join(slots)


def packs(blobs: int) -> list[bytes]:
    """Packs of this many blobs in all, each as large as borg makes them."""
    size = len(sealed_blob(0))
    each = max(PACK_SIZE // size, 1)
    ranges = [range(first, min(first + each, blobs)) for first in range(0, blobs, each)]
    return [b"".join(map(sealed_blob, numbers)) for numbers in ranges]


def best(work: Callable[[], int], expected: int) -> float:
    """Seconds of CPU time of the best run."""
    times = []
    for _ in range(RUNS):
        start = time.process_time()
        found = work()
        times.append(time.process_time() - start)
        if found != expected:
            raise ValueError(f"{found} were read, not {expected}")
    return min(times)


def in_kernel(data: Sequence[bytes]) -> int:
    """Headers read and checked by the kernel; one column, so that hardly anything else is measured."""
    chunks = (chunk for pack in data for chunk in columns.scan("borg_blobs", pack, columns=("version",)))
    return sum(len(chunk) for chunk in chunks if isinstance(chunk, Chunk))


def to_arrow(data: Sequence[bytes], names: Sequence[str] | None) -> int:
    """Rows of packs through the public interface: the walk, the checks of envelopes, the columns."""
    rows = 0
    for pack in data:
        with open_cold(pack, "borg") as cold:
            rows += sum(batch.num_rows for batch in cold.batches(names))
    return rows


def resync(garbage: bytes) -> int:
    """A pack without a blob, searched to its end."""
    with open_cold(garbage, "borg") as cold:
        return cold.verify().damaged_bytes


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(prog="python -m tools.bench.borg_packs", description="Figures of Borg.")
    parser.add_argument("--blobs", type=int, default=1_000_000, metavar="N", help="small blobs in all")
    parser.add_argument("--garbage", type=int, default=1000, metavar="MB", help="bytes without a blob")
    options = parser.parse_args()
    data = packs(options.blobs)
    size = sum(map(len, data))
    print(f"{options.blobs} blobs in {len(data)} packs, {size / 1e6:.0f} MB")
    for title, work in {
        "headers in the kernel": lambda: in_kernel(data),
        "header columns to Arrow": lambda: to_arrow(data, HEADER_COLUMNS),
        "all columns to Arrow": lambda: to_arrow(data, None),
    }.items():
        print(f"  {title:<26}{options.blobs / best(work, options.blobs) / 1e6:6.1f} M blobs/s")
    whole = memoryview(b"".join(data))
    for name, digest in (("blake3", blake3), ("sha256", sha256)):
        print(f"  {'name, ' + name:<26}{size / best(lambda: len(digest(whole)), 32) / 1e9:6.2f} GB/s")  # noqa: B023
    random = Random(0)  # noqa: S311 - no secret
    garbage = b"".join(random.randbytes(1_000_000) for _ in range(options.garbage))
    print(f"  {'resync over garbage':<26}{len(garbage) / best(lambda: resync(garbage), len(garbage)) / 1e9:6.2f} GB/s")


if __name__ == "__main__":
    main()
