"""The parts that each task reads: small files are packed together, large ones are cut at the ends of units."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate

from thawline.errors import SourceError
from thawline.formats.contract import Depth, Format, Kind
from thawline.formats.division import cut, grouped
from thawline.model import Finding, Run
from thawline.source import Source, open_source
from thawline.spark.files import File, Members

LEAST_PARTITION, MOST_PARTITION = 32 << 20, 136 << 20
"""Bounds of a partition's size, which is chosen so that each core has a few partitions. Runs end with the unit that
crosses 64 MiB, so two of them fit."""
A_CORE = 4
"""Partitions per core."""
OPEN_COST = 1 << 20
"""The cost of opening a file, in bytes."""
ENOUGH = 64
"""Without a requested size, only a file with more than 1/64 of all bytes is cut: finding its units means reading it,
and many files keep all cores busy uncut."""

Item = Run | Finding


@dataclass(frozen=True, slots=True)
class Part:
    """A file, or some of the runs and findings of one, for a single task."""

    file: File
    items: tuple[Item, ...] | None = None
    """None if the task walks and reads the whole file."""

    @property
    def weight(self) -> int:
        """The approximate number of bytes to read."""
        return self.file.size if self.items is None else sum(item.span.size for item in self.items)

    @property
    def start(self) -> int:
        """The offset of its first byte in the file."""
        return self.items[0].span.start if self.items else 0

    @property
    def is_first(self) -> bool:
        """Whether it starts at the start of the file."""
        return self.items is None or (bool(self.items) and self.start == 0)


@dataclass(frozen=True, slots=True)
class Planner:
    """Cuts and packs files for the tasks of one read."""

    format: Format
    table: str
    size: int | None = None
    """The largest number of bytes for a task, exceeded only by a single larger unit; None to choose."""
    cores: int = 0

    def plan(self, files: Sequence[File]) -> list[tuple[Part, ...]]:
        """The parts of each task; together, in this order, they are what a single process would read."""
        size = self.size or self._fitting(files)
        worth = 0 if self.size else sum(file.size for file in files) // ENOUGH
        members = Members(self.format)
        parts: list[Part] = []
        for file in files:
            if file.size > size and file.size > worth and (self.size or "://" not in file.path):
                parts += self._cut(file, members.format_of(file), size)
            else:
                parts.append(Part(file))
        return list(_packed(parts, size))

    def _fitting(self, files: Sequence[File]) -> int:
        cores = self.cores or os.cpu_count() or 1
        total = sum(file.size + OPEN_COST for file in files)
        return min(max(total // (A_CORE * cores), LEAST_PARTITION), MOST_PARTITION)

    def _cut(self, file: File, format_: Format, size: int) -> Iterator[Part]:
        try:
            with open_source(file.path) as source:
                yield from self._pieces(file, format_, source, size)
        except SourceError:
            yield Part(file)  # the task reports the error

    def _pieces(self, file: File, format_: Format, source: Source, size: int) -> Iterator[Part]:
        kind = format_.kind_of(source)
        is_read = file.is_named or is_ours(format_, source, self.table)
        if not is_read or self.table not in kind.tables or _is_one(kind, source):
            yield Part(file)  # cannot be cut; the task reports any error
            return
        pieces = (
            piece
            for item in kind.walk(source, kind.tables[self.table].depth)
            for piece in (cut(kind, source, item, size) if isinstance(item, Run) else [item])
        )
        groups = list(grouped(pieces, size))
        yield from [Part(file)] if len(groups) == 1 else (Part(file, group) for group in groups)


def is_ours(format_: Format, source: Source, table: str) -> bool:
    """Whether a file from a folder is of the format and has the table."""
    claim = format_.claim(source)
    return claim is not None and (claim.table or table) == table


def _is_one(kind: Kind, source: Source) -> bool:
    """Whether heads show that the file is a single unit, such as an RBAK segment."""
    if not kind.has_heads:
        return False
    units = (item.units for item in kind.walk(source, Depth.HEADS) if isinstance(item, Run))
    return not any(total > 1 for total in accumulate(units))


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
