"""Mutants of files by number: the same seed and number give the same mutant in every process."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random

from tools import damage, mutants
from tools.fuzz.repairs import REPAIRS, Change, unchanged
from tools.fuzz.values import changed_msgpack

SHARES = (1.0, 0.5, 0.1)
"""How many of the units of a file are changed inside."""


@dataclass(frozen=True, slots=True)
class Sample:
    """A file that is intact, and of which format it is."""

    format: str
    name: str
    data: bytes


@dataclass(frozen=True, slots=True)
class Mutant:
    """A file that may be damaged, and how it was made."""

    format: str
    how: str
    data: bytes


def mutant(samples: Sequence[Sample], seed: int, number: int) -> Mutant:
    """The mutant of a number: of one of the samples, or of two of the same format."""
    random = Random(f"{seed} {number}")  # noqa: S311 - mutants are no secrets
    sample = random.choice(samples)
    how = random.choice(list(HOW))
    others = [other for other in samples if other.format == sample.format]
    data = HOW[how](random, sample, random.choice(others).data)
    return Mutant(sample.format, f"{sample.name}, {how}, seed {seed}, number {number}", data)


def mutate(random: Random, data: bytes) -> bytes:
    """One to three mutations."""
    for _ in range(random.choice((1, 1, 1, 2, 3))):
        data = random.choice(mutants.MUTATIONS)(random, data)
    return data


def _at_times(random: Random, work: Callable[[Random, bytes], bytes]) -> Change:
    """A change of some of what it is given."""
    share = random.choice(SHARES)
    return lambda data: work(random, data) if random.random() < share else data


def _plain(random: Random, sample: Sample, _other: bytes) -> bytes:
    return mutate(random, sample.data)


def _damaged(random: Random, sample: Sample, _other: bytes) -> bytes:
    return random.choice(list(damage.KINDS.values()))(random, sample.data)[0]


def _repaired(random: Random, sample: Sample, _other: bytes) -> bytes:
    return REPAIRS[sample.format](mutate(random, sample.data), unchanged)


def _deep(random: Random, sample: Sample, _other: bytes) -> bytes:
    return REPAIRS[sample.format](sample.data, _at_times(random, mutate))


def _structured(random: Random, sample: Sample, _other: bytes) -> bytes:
    return REPAIRS[sample.format](sample.data, _at_times(random, changed_msgpack))


def _spliced(random: Random, sample: Sample, other: bytes) -> bytes:
    return mutants.splice(random, sample.data, other)


def _spliced_and_repaired(random: Random, sample: Sample, other: bytes) -> bytes:
    return REPAIRS[sample.format](mutants.splice(random, sample.data, other), _at_times(random, mutate))


HOW: dict[str, Callable[[Random, Sample, bytes], bytes]] = {
    "mutated": _plain,
    "damaged": _damaged,
    "mutated and repaired": _repaired,
    "changed inside and repaired": _deep,
    "values changed and repaired": _structured,
    "spliced": _spliced,
    "spliced, changed inside and repaired": _spliced_and_repaired,
}
