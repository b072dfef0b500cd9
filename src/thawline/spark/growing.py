"""Works of a run that follows its sources: files that may still be written to are taken in as far as they are whole.

A file is open while it is the newest of its folder and has changed lately. What it gains is added to what the lake has
of it. Once it is closed it is taken in again as a whole, so that the lake says of it what any run would say.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from thawline.lake.lake import Entry
from thawline.spark.discovery import OPEN, Work
from thawline.spark.missing import size_of

__all__ = ["STILL", "opened"]

STILL = 600.0
"""Seconds without a change after which a file counts as closed."""


def opened(works: Sequence[Work], known: Mapping[str, Entry], now: float | None = None) -> Iterator[Work]:
    """The works, with those that are open marked as such; a folder with an open file waits, and what is beside it."""
    newest = _newest(works)
    now = time.time() if now is None else now
    is_busy: set[str] = set()
    marked = []
    for work in works:
        is_open = work.key in newest and not work.beside and _changes(work, now)
        marked.append(_grown(work, known) if is_open else work)
        if is_open:
            is_busy.add(work.file.path.rpartition("/")[0])
    for work in marked:
        folder = work.file.path if work.is_folder else work.file.path.rpartition("/")[0]
        if work.is_open or folder.rstrip("/") not in is_busy or not (work.is_folder or work.beside):
            yield work


def _newest(works: Sequence[Work]) -> set[str]:
    """The keys of the files that are the newest of their folders, and of their format there."""
    found: dict[tuple[str, str], Work] = {}
    for work in works:
        if not work.is_folder and not work.problem and not work.beside:
            group = work.file.path.rpartition("/")[0], work.format
            if group not in found or _age(work) > _age(found[group]):
                found[group] = work
    return {work.key for work in found.values()}


def _age(work: Work) -> tuple[float, str]:
    """What rises from file to file: the name of Kafka's segments, of others the time of the last change."""
    return (0.0 if work.format == "kafka" else work.file.modified or 0.0), work.file.path


def _changes(work: Work, now: float) -> bool:
    """Whether a file has changed lately; one whose time is not known counts as closed."""
    return work.file.modified is not None and now - work.file.modified < STILL


def _grown(work: Work, known: Mapping[str, Entry]) -> Work:
    """An open file, of which the lake may have the start."""
    entry = known.get(work.key)
    had = size_of(entry.signature) if entry and entry.has_rows and entry.signature.endswith(OPEN) else 0
    return replace(work, is_open=True, taken_to=had if had <= work.file.size else 0)
