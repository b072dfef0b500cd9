"""Seeded damage to whole files, as disks, cut copies and careless editors do it: `python -m tools.damage --help`.

It is the same for every format. Mutants of single structures, with lengths that are wrong on purpose, are made by
`tools.mutants`, from which the damage that both have in common is taken.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random

from tools import mutants

FLIP = "flip"
CUT = "cut"
INSERT = "insert"
DELETE = "delete"
ZERO = "zero"
DUPLICATE = "duplicate"
SWAP = "swap"
HEAD = "head"
TAIL = "tail"

SECTOR = 512
SIZES = (1, 2, 3, 4, 7, 8, 16, 64, SECTOR, 4096)
"""Bytes of a block that is damaged; most are not multiples of four, so that what follows is misaligned."""


@dataclass(frozen=True, slots=True)
class Damage:
    """A damaged file, and what was done to it."""

    kind: str
    data: bytes
    at: int
    """Byte of the damaged file at which it starts to differ from the whole one, at the earliest."""
    what: str


Done = tuple[bytes, int, str]
"""The damaged bytes, where, and in words."""


def flip(random: Random, data: bytes) -> Done:
    """One bit turned over, anywhere."""
    at = _place(random, data)
    bit = random.randrange(8)
    return mutants.patched(data, at, bytes(byte ^ 1 << bit for byte in data[at : at + 1])), at, f"bit {bit} turned over"


def cut(random: Random, data: bytes) -> Done:
    """The end missing: often at the end of a sector, as a crash leaves it."""
    at = random.choice((_place(random, data), _place(random, data) // SECTOR * SECTOR, max(len(data) - 1, 0)))
    return data[:at], at, f"{len(data) - at} bytes missing at the end"


def insert(random: Random, data: bytes) -> Done:
    """Random bytes put in."""
    at, size = _place(random, data), random.choice(SIZES)
    return data[:at] + random.randbytes(size) + data[at:], at, f"{size} bytes put in"


def delete(random: Random, data: bytes) -> Done:
    """A block taken out."""
    at, end = _block(random, data)
    return data[:at] + data[end:], at, f"{end - at} bytes taken out"


def zero(random: Random, data: bytes) -> Done:
    """A block of zeros, as a lost write leaves it."""
    at, end = _block(random, data)
    return mutants.patched(data, at, bytes(end - at)), at, f"{end - at} bytes are zeros"


def duplicate(random: Random, data: bytes) -> Done:
    """A block twice in a row."""
    at, end = _block(random, data)
    return data[:end] + data[at:], end, f"{end - at} bytes twice"


def swap(random: Random, data: bytes) -> Done:
    """Two blocks in each other's place, neighbours or not."""
    first, second = sorted((_block(random, data), _block(random, data)))
    second = (max(first[1], second[0]), max(first[1], second[1]))
    swapped = data[: first[0]] + data[slice(*second)] + data[first[1] : second[0]] + data[slice(*first)]
    return swapped + data[second[1] :], first[0], f"{first[1] - first[0]} bytes swapped with those at {second[0]:#x}"


def head(random: Random, data: bytes) -> Done:
    """Garbage before the first byte."""
    size = random.choice(SIZES)
    return random.randbytes(size) + data, 0, f"{size} bytes of garbage before the start"


def tail(random: Random, data: bytes) -> Done:
    """Garbage after the last byte."""
    size = random.choice(SIZES)
    return data + random.randbytes(size), len(data), f"{size} bytes of garbage after the end"


KINDS: dict[str, Callable[[Random, bytes], Done]] = {
    FLIP: flip, CUT: cut, INSERT: insert, DELETE: delete, ZERO: zero, DUPLICATE: duplicate, SWAP: swap, HEAD: head,
    TAIL: tail,
}  # fmt: skip


def damaged(data: bytes, kind: str, seed: int) -> Damage:
    """A file with damage of one kind; the same seed does the same.

    >>> damaged(b"RBF1", "tail", 0).data[:4]
    b'RBF1'
    """
    # The kind is part of the seed, so that not all kinds of damage befall the same place.
    random = Random(f"{kind} {seed}")  # noqa: S311 - damage is no secret
    done, at, what = KINDS[kind](random, data)
    return Damage(kind, done, at, what)


def damages(data: bytes, seed: int) -> Iterator[Damage]:
    """A file with each kind of damage.

    >>> [damage.kind for damage in damages(b"RBF1", 0)][:3]
    ['flip', 'cut', 'insert']
    """
    return (damaged(data, kind, seed) for kind in KINDS)


def _place(random: Random, data: bytes) -> int:
    return random.randrange(len(data)) if data else 0


def _block(random: Random, data: bytes) -> tuple[int, int]:
    """Start and end of a block; every other one starts with a sector."""
    at, size = _place(random, data), random.choice(SIZES)
    if random.randrange(2):
        at = at // SECTOR * SECTOR
    return at, min(len(data), at + size)


def main() -> None:
    """Write a damaged copy of a file and say what was done."""
    parser = argparse.ArgumentParser(prog="python -m tools.damage", description="Write a damaged copy of a file.")
    parser.add_argument("file", type=Path, help="the file, which is left alone")
    parser.add_argument("--kind", choices=KINDS, default=FLIP, help="what to do to it (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="another number is another place (default: %(default)s)")
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="OUT", help="the damaged copy")
    options = parser.parse_args()
    if options.output.exists() and options.output.samefile(options.file):
        sys.exit(f"{options.output} is the file itself; damage is done to a copy only")
    found = damaged(options.file.read_bytes(), options.kind, options.seed)
    options.output.write_bytes(found.data)
    print(f"{options.output}: {found.kind} at {found.at:#x}: {found.what}")


if __name__ == "__main__":
    main()
