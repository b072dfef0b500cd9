"""What a worst case is, and how its bytes are put together: for `hostile_files` and `hostile_kafka`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from random import Random

Files = dict[str, bytes]


@dataclass(frozen=True, slots=True)
class Hostile:
    """A worst case: what it is called, its files for a size, and what the commands are given."""

    format: str
    name: str
    build: Callable[[int], Files]
    at: str
    decoded: float = 1
    """How many times its size comes out of it: time is counted for these bytes."""

    @property
    def is_folder(self) -> bool:
        """Whether commands are given a folder."""
        return "." not in self.at


def single(format_name: str, name: str, at: str, build: Callable[[int], bytes], decoded: float = 1) -> Hostile:
    """A worst case of one file."""
    return Hostile(format_name, name, lambda size: {at: build(size)}, at, decoded)


def repeated(part: bytes, size: int) -> bytes:
    """A part as often as it fits, once at least."""
    return part * max(size // len(part), 1)


def noise(size: int, seed: int = 0) -> bytes:
    """Random bytes, the same each time."""
    return Random(seed).randbytes(size)  # noqa: S311 - no secret


def numbered(make: Callable[[int], bytes], size: int) -> bytes:
    """Parts one after another, each made for its number, up to a size."""
    parts: list[bytes] = []
    at = 0
    while at < size:
        parts.append(make(len(parts)))
        at += len(parts[-1])
    return b"".join(parts)
