"""Which shares a task gets, and which tasks are committed together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from thawline.formats.growth import growths
from thawline.spark.discovery import Work
from thawline.spark.intake import Share
from thawline.spark.planning import A_CORE, LEAST_PARTITION, MOST_PARTITION, OPEN_COST, Part, Planner

__all__ = ["Bundle", "bundles", "bytes_of", "files_of"]

Task = tuple[Share, ...]
MOST_BOUND = 1 << 30
"""Bytes of a folder behind a URL up to which one task reads all of it."""


@dataclass(frozen=True, slots=True)
class Bundle:
    """Tasks that are committed together: all shares of each work, and a folder with the files beside its group."""

    tasks: tuple[Task, ...]

    @property
    def works(self) -> dict[str, Work]:
        """The works of its tasks, by key."""
        return {share.work.key: share.work for task in self.tasks for share in task}


def bundles(works: Sequence[Work], cores: int) -> Iterator[Bundle]:
    """The bundles of some works. Where they end must not change the result."""
    group: list[Share] = []
    tasks: list[Task] = []
    weight = 0
    total = bytes_of(works) + len(works) * OPEN_COST // 4
    size = max(min(total // (A_CORE * cores), MOST_PARTITION), OPEN_COST)
    for some in _bound(works):
        if not some[0].beside and (weight >= size or tasks):
            yield Bundle((*tasks, tuple(group)) if group else tuple(tasks))
            tasks, group, weight = [], [], 0
        shares = [share for work in some for share in _shares(work, size)]
        if len(some) == 1 and (len(shares) > 1 or some[0].file.size > size):
            tasks += [(share,) for share in shares]
        else:
            group, weight = [*group, *shares], weight + bytes_of(some) + len(some) * OPEN_COST // 4
        if weight >= size:
            tasks.append(tuple(group))
            group, weight = [], 0
    if group:
        tasks.append(tuple(group))
    if tasks:
        yield Bundle(tuple(tasks))


def _bound(works: Iterable[Work]) -> Iterator[list[Work]]:
    """Works one by one; those of a folder behind a URL together, unless it is large.

    What a folder is accounted for by is in its files: whoever has fetched them does that, too.
    """
    for folder, found in groupby(works, _remote_folder):
        some = list(found)
        if folder and bytes_of(some) <= MOST_BOUND and not any(work.is_open for work in some):
            yield some
        else:
            yield from ([work] for work in some)


def _remote_folder(work: Work) -> str:
    """The folder behind a URL whose account a file or a folder is part of; empty for any other."""
    folder = work.file.folder or (work.file.path.rpartition("/")[0] if work.beside else "")
    return folder.rstrip("/") if "://" in folder else ""


def files_of(works: Sequence[Work]) -> int:
    """How many files they are."""
    return sum(not work.is_folder for work in works)


def bytes_of(works: Sequence[Work]) -> int:
    """How many bytes they are."""
    return sum(work.file.size for work in works)


def _shares(work: Work, size: int) -> list[Share]:
    """The shares of a work: a whole file, or its ranges."""
    if work.is_open:
        end, waiting = work.file.size, work.taken_to or None
        gains = growths(work.taken_to, end, MOST_PARTITION, is_open=True, waiting_at=waiting)
        return [Share(work, Part(work.file, one.range), one) for one in gains]
    if work.is_folder or work.file.size <= max(size, LEAST_PARTITION):
        return [Share(work, Part(work.file))]
    parts = [part for group in Planner(max(size, LEAST_PARTITION)).plan([work.file]) for part in group]
    return [Share(work, part, is_leg=part.range is not None) for part in parts]
