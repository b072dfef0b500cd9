"""Damaged Kafka segments: what befalls files, mutants, and mutants whose checksums were repaired."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from random import Random

from accounts import golden_files

from thawline.checksums import crc32c
from tools.damage import damages
from tools.mutants import MUTATIONS

LATEST, MAGIC_AT = 2, 16
LARGEST = 20_000
"""Bytes of a golden file that is damaged again and again."""
CHECKSUM_AT = {False: 17, True: 12}
COVERED_FROM = {False: 21, True: 16}


def segments() -> dict[str, bytes]:
    """The golden segments, by name."""
    found = [golden for golden in golden_files("kafka") if golden.file.suffix == ".log"]
    return {golden.file.name: golden.data for golden in found if 0 < len(golden.data) < LARGEST}


def units(data: bytes) -> list[tuple[int, int]]:
    """Where the units of an intact segment start and end."""
    found, at = [], 0
    while at + 12 < len(data):
        end = at + 12 + int.from_bytes(data[at + 8 : at + 12], "big")
        found.append((at, end))
        at = end
    return found


def with_checksum(unit: bytes) -> bytes:
    """A unit with its length and its checksum made right, unless it is cut before its magic."""
    if len(unit) <= MAGIC_AT:
        return unit
    is_legacy = unit[MAGIC_AT] < LATEST
    at, covered = CHECKSUM_AT[is_legacy], unit[COVERED_FROM[is_legacy] :]
    checksum = zlib.crc32(covered) if is_legacy else crc32c(covered)
    head = unit[:8] + (len(unit) - 12).to_bytes(4, "big") + unit[12:]
    return head[:at] + checksum.to_bytes(4, "big") + head[at + 4 :]


def repaired(data: bytes, seed: int, count: int) -> Iterator[bytes]:
    """Segments of which some units are changed where their checksums cover them, and the checksums with them."""
    random = Random(seed)
    for _ in range(count):
        changed = {random.randrange(len(units(data))) for _ in range(random.choice((1, 1, 2)))}
        parts = [data[start:end] for start, end in units(data)]
        for index in changed:
            first = COVERED_FROM[parts[index][MAGIC_AT] < LATEST]
            mutant = random.choice(MUTATIONS)(random, parts[index][first:])
            parts[index] = with_checksum(parts[index][:first] + mutant)
        yield b"".join(parts)


def joined(data: bytes, seed: int, count: int) -> Iterator[bytes]:
    """Segments whose units stand in another order, twice or not at all, with garbage between some of them."""
    random = Random(seed)
    whole = [data[start:end] for start, end in units(data)]
    for _ in range(count):
        parts = [random.choice(whole) for _ in range(random.randint(1, 12))]
        parts = [part + random.choice((b"", b"", random.randbytes(random.randint(1, 70)))) for part in parts]
        yield b"".join(parts)


def renumbered(data: bytes, seed: int, count: int) -> Iterator[bytes]:
    """Segments some of whose offsets, which no checksum covers, are others; some lengths and magics, too."""
    random = Random(seed)
    for _ in range(count):
        made = bytearray(data * random.choice((1, 1, 2)))
        for start, _ in random.choices(units(bytes(made)), k=random.choice((1, 2, 3))):
            offset = random.choice((0, 1, 2, 5, 100, (1 << 63) - 1, -1, random.getrandbits(63), random.getrandbits(32)))
            made[start : start + 8] = offset.to_bytes(8, "big", signed=True)
            if not random.randrange(3):
                made[start + random.choice((8, 9, 10, 11, 16))] ^= 1 << random.randrange(8)
        yield bytes(made)


def every_kind(data: bytes, seed: int) -> Iterator[bytes]:
    """Some of each."""
    yield from (damage.data for damage in damages(data, seed))
    for damage in damages(data, seed + 1):
        yield from (again.data for again in damages(damage.data, seed) if not (seed + len(again.data)) % 5)
    yield from repaired(data, seed, 6)
    yield from joined(data, seed, 4)
    yield from renumbered(data, seed, 6)
