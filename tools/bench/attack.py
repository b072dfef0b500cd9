"""Hostile RBF files, and how much longer it takes to verify them than a clean one: `python -m tools.bench.attack`.

A reverse scan that computes the checksum of every candidate frame by itself is quadratic on `nested_pairs`: candidates
lie in each other, each costs 24 bytes of file and its checksum covers half of the file on average.
"""

from __future__ import annotations

import argparse
import gc
import time
from collections.abc import Callable
from random import Random

from thawline.checksums import crc32c
from thawline.cold import open_cold

FENCE = b"RBF1"
RUNS = 5
MOST_TIMES_CLEAN = 20
"""The bound of the promise: what `nested_pairs` may take, in units of the clean file."""
STATUS = b"\x03\x03\x03\x03"
WRONG_STATUS = b"\x07\x07\x07\x07"


def frame(payload: bytes = b"", tag: int = 1, *, is_tombstone: bool = False) -> bytes:
    """A valid frame, without fences [F-FRAME-LAYOUT].

    >>> frame().hex(" ", 4)
    '14000000 01000000 03030303 14000000 bc689997'
    """
    num_status = 4 - len(payload) % 4
    size = (16 + len(payload) + num_status).to_bytes(4, "little")
    status = bytes([num_status - 1 | is_tombstone << 7]) * num_status
    covered = tag.to_bytes(4, "little") + payload + status + size
    return size + covered + crc32c(covered).to_bytes(4, "little")


def file_of(*frames: bytes) -> bytes:
    """A file of frames, each with its fence.

    >>> file_of()
    b'RBF1'
    """
    return FENCE + b"".join(each + FENCE for each in frames)


def clean(size: int, len_payload: int = 1024) -> bytes:
    """A file without damage."""
    payload = Random(0).randbytes(len_payload)  # noqa: S311 - no secret
    one = frame(payload) + FENCE
    return FENCE + one * (size // len(one))


def nested_pairs(size: int, status: bytes = STATUS) -> bytes:
    """Candidates in each other, all of them right in everything but the checksum.

    With an empty `status` a pair takes 20 bytes only, and the last byte of a fence stands where the status should: a
    reader that checks the status first is not impressed.
    """
    count = size // (8 + len(status) + 12)
    heads, tails = [], []
    total = 8 * count + (len(status) + 12) * count
    for index in range(count):
        # The frame starts with its HeadLen, after `index` whole pairs of fence and HeadLen and one fence.
        length = (total - index * (8 + len(status) + 12) - 8).to_bytes(4, "little")
        heads.append(FENCE + length)
        tails.append(status + length + b"\xba\xad\xc3\xc3" + FENCE)
    return b"".join(heads) + b"".join(reversed(tails))


def nested_around_frames(size: int) -> bytes:
    """Nested pairs with an intact frame inside the head of each, so that there is a gap to be explained before each."""
    inner = FENCE + frame() + FENCE
    count = size // (8 + len(inner) + len(STATUS) + 12)
    heads, tails = [FENCE], []
    length = count * (8 + len(inner) + len(STATUS) + 12) - 4
    for _ in range(count):
        heads.append(length.to_bytes(4, "little") + b"tag." + inner)
        tails.append(STATUS + length.to_bytes(4, "little") + b"\xba\xad\xc3\xc3" + FENCE)
        length -= 8 + len(inner) + len(STATUS) + 12
    return b"".join(heads) + b"".join(reversed(tails))


def long_claims(size: int) -> bytes:
    """Intact frames between HeadLens that claim half of the file, where another fence and TailLen agree with them."""
    one = frame() + FENCE
    count = size // 2 // (12 + len(one) + 16)
    gap = 8 + len(FENCE) + len(one)
    length = size // 2 // 4 * 4
    heads = (length.to_bytes(4, "little") + b"tag." + FENCE + one) * count
    middle = bytes(max(length - len(heads), 0))
    tails = (STATUS + length.to_bytes(4, "little") + b"\xba\xad\xc3\xc3" + FENCE + bytes(gap - 16)) * count
    return FENCE + heads + middle + tails


def speckled(size: int) -> bytes:
    """As many gaps as fit between as many intact frames."""
    one = frame() + FENCE + b"gap!" + FENCE
    return FENCE + one * (size // len(one))


def by_turns(size: int, broken: bytes, good: int = 1) -> bytes:
    """Intact frames, with a broken one and its fence after every few of them."""
    part = (frame() + FENCE) * good + broken
    return FENCE + part * (size // len(part))


def changed(at: int, patch: bytes) -> bytes:
    """A frame with its fence, and other bytes at a place of it."""
    one = frame() + FENCE
    return one[:at] + patch + one[at + len(patch) :]


ATTACKS: dict[str, Callable[[int], bytes]] = {
    "nested pairs, wrong checksum": nested_pairs,
    "nested pairs, wrong status": lambda size: nested_pairs(size, WRONG_STATUS),
    "nested pairs, no status": lambda size: nested_pairs(size, b""),
    "nested pairs around frames": nested_around_frames,
    "long claims": long_claims,
    "nothing but fences": lambda size: FENCE * (size // 4),
    "zeros": lambda size: FENCE + bytes(size - 4),
    "random bytes": lambda size: FENCE + Random(1).randbytes(size - 4),  # noqa: S311 - no secret
    "speckled with gaps": speckled,
    "broken frames": lambda size: by_turns(size, changed(4, b"x"), 0),
    "every other frame broken": lambda size: by_turns(size, changed(4, b"x")),
    "every other status wrong": lambda size: by_turns(size, changed(8, WRONG_STATUS)),
    "every other HeadLen wrong": lambda size: by_turns(size, changed(0, b"\x18")),
    "every other TailLen wrong": lambda size: by_turns(size, changed(12, b"\x18")),
    "every other fence missing": lambda size: by_turns(size, frame()),
    "frames without fences": lambda size: by_turns(size, frame(), 0),
    "frames in a broken one, with gaps": lambda size: frame(speckled(size))[:-4] + bytes(4) + FENCE,
}


def cpu_seconds(data: bytes, runs: int = RUNS) -> float:
    """CPU time of the best of some runs of `verify`."""
    return min(_verify(data) for _ in range(runs))


def _verify(data: bytes) -> float:
    gc.collect()
    start = time.process_time()
    with open_cold(data, "rbf") as cold:
        cold.verify()
    return time.process_time() - start


def main() -> None:
    """Print the time of every attack, in milliseconds and as a multiple of the clean file's."""
    parser = argparse.ArgumentParser(prog="python -m tools.bench.attack", description="Hostile RBF files.")
    parser.add_argument("--size", type=int, default=16, metavar="MIB", help="size of each file, 16 MiB unless told")
    size = parser.parse_args().size << 20
    yardstick = cpu_seconds(clean(size))
    print(f"{'clean, payloads of 1 KB':<30} {1000 * yardstick:>8.1f} ms {1:>8.1f} x")
    for name, build in ATTACKS.items():
        taken = cpu_seconds(build(size), 2)
        print(f"{name:<30} {1000 * taken:>8.1f} ms {taken / yardstick:>8.1f} x")
    print(f"promised: nested pairs in at most {MOST_TIMES_CLEAN} x")


if __name__ == "__main__":
    main()
