"""What each task reads, from listings alone: small files are packed together, large ones are cut into ranges."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from thawline.formats.contract import Format
from thawline.formats.ranges import Range, ranges_of
from thawline.source import Source
from thawline.spark.files import File

LEAST_PARTITION, MOST_PARTITION = 32 << 20, 128 << 20
"""Bounds of a partition's size, which is chosen so that each core has a few partitions."""
A_CORE = 4
"""Partitions per core."""
OPEN_COST = 1 << 20
"""The cost of opening a file, in bytes."""
ENOUGH = 64
"""Without a requested size, only a file with more than 1/64 of all bytes is cut: every worker that reads a range of it
walks over what is before that, and many files keep all cores busy uncut."""
MOST_SMALL = 1000
"""The most ranges of less than 32 MiB that a file is cut into, whatever size is requested: each is a task."""


@dataclass(frozen=True, slots=True)
class Part:
    """A file, or a range of one, for a single task."""

    file: File
    range: Range | None = None
    """None for the whole file."""

    @property
    def weight(self) -> int:
        """The approximate number of bytes to read."""
        return self.range.size if self.range else self.file.size

    @property
    def is_first(self) -> bool:
        """Whether it starts at the start of the file."""
        return self.range is None or self.range.is_first


@dataclass(frozen=True, slots=True)
class Planner:
    """Cuts and packs files for the tasks of one read. It opens none of them."""

    size: int | None = None
    """The largest number of bytes for a task, exceeded only by a single larger unit or file; None to choose."""
    cores: int = 0

    def plan(self, files: Sequence[File]) -> list[tuple[Part, ...]]:
        """The parts of each task; together, in this order, they are what a single process would read."""
        size = self.size or self._fitting(files)
        worth = 0 if self.size else sum(file.size for file in files) // ENOUGH
        return list(_packed((part for file in files for part in _parts(file, size, worth)), size))

    def _fitting(self, files: Sequence[File]) -> int:
        cores = self.cores or os.cpu_count() or 1
        total = sum(file.size + OPEN_COST for file in files)
        return min(max(total // (A_CORE * cores), LEAST_PARTITION), MOST_PARTITION)


def _parts(file: File, size: int, worth: int) -> Iterator[Part]:
    """A file, or its ranges. One at a URL is not cut: each worker would fetch what is before its range."""
    if file.size <= max(size, worth) or "://" in file.path:
        yield Part(file)
    else:
        least = min(-(-file.size // MOST_SMALL), LEAST_PARTITION)
        yield from (Part(file, each) for each in ranges_of(file.size, max(size, least)))


def is_ours(format_: Format, source: Source, table: str) -> bool:
    """Whether a file from a folder is of the format and has the table."""
    claim = format_.claim(source)
    return claim is not None and (claim.table or table) == table


def _packed(parts: Iterable[Part], size: int) -> Iterator[tuple[Part, ...]]:
    """The parts of each task, in order."""
    group: list[Part] = []
    weight = 0
    for part in parts:
        cost = part.weight + OPEN_COST
        if group and weight + cost > size:
            yield tuple(group)
            group, weight = [], 0
        group.append(part)
        weight += cost
    if group:
        yield tuple(group)
