"""Files that a lake has taken in and that are gone from their sources since."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from fsspec.utils import glob_translate

from thawline.errors import SourceError
from thawline.spark.discovery import PROBLEM, Work
from thawline.spark.files import plain
from thawline.spark.lake import Lake

MISSING = "missing"
"""Stands for the signature of a work that is gone: should it come back, it is taken in anew."""


@dataclass(frozen=True, slots=True)
class Gone:
    """Works that an earlier run has done, by their keys, and that are not there any more."""

    missing: tuple[str, ...]
    void: tuple[str, ...]
    """Those that there is nothing to miss of: nobody could ever read them, or they are folders that are there, but
    whose files do not belong together any more, so that each is by itself."""


def gone(works: Sequence[Work], lake: Lake, sources: Sequence[str]) -> Gone:
    """What of the works of a lake is gone, as far as the sources are known: nothing is where nobody could look."""
    there = {work.key for work in works}
    closed = _Paths(work.file.path for work in works if work.problem)
    places = _Paths(work.file.path for work in works)
    is_covered = covering(sources)
    with_rows = {key for place, output in lake.outputs.items() if place.startswith("tables/") for key in output.works}
    missing: list[str] = []
    void: list[str] = []
    for key, signature in lake.works.items():
        kind, _, path = key.partition(":")
        if key in there or not is_covered(path) or closed.has_above(path):
            continue
        was_read = signature and not signature.startswith(PROBLEM)
        is_void = places.has_below(path) if kind.startswith("folder") else not was_read and key not in with_rows
        (void if is_void else missing).append(key)
    return Gone(tuple(missing), tuple(void))


class _Paths:
    """Paths, with those of all folders that they lie in."""

    def __init__(self, paths: Iterable[str]) -> None:
        self.paths = {path.rstrip("/") for path in paths}  # that of a folder may end with a slash
        self.folders = {folder for path in self.paths for folder in _above(path)}

    def has_above(self, path: str) -> bool:
        """Whether the path, or a folder that it lies in, is one of them."""
        return path in self.paths or any(folder in self.paths for folder in _above(path))

    def has_below(self, path: str) -> bool:
        """Whether one of them lies below the path."""
        return path in self.folders


def _above(path: str) -> Iterator[str]:
    """The folders that a path lies in, from the innermost on."""
    while path := path.rpartition("/")[0]:
        yield path


def covering(sources: Iterable[str]) -> Callable[[str], bool]:
    """Whether a path is one of the sources or lies below one."""
    rules = [re.compile(_pattern(source), re.DOTALL) for source in sources]
    return lambda path: any(rule.match(path) for rule in rules)


def _pattern(source: str) -> str:
    """What paths begin with that are of a source."""
    path = plain(source)
    if "://" not in path:
        path = os.path.abspath(path)  # noqa: PTH100 - a link keeps its name
    elif glob.has_magic(path):
        return re.sub(r"\\[Zz]$", "", glob_translate(path)) + "(/|$)"  # what lies below a match is of the source, too
    return re.escape(path.rstrip("/")) + "(/|$)"


def refuse_empty(works: Sequence[Work], known: Collection[str], sources: Iterable[str]) -> None:
    """Raise `SourceError` for a source that holds nothing at all of what it held: it may just not be mounted."""
    for source in sources:
        is_covered = covering([source])
        held = sum(key.startswith("file:") and is_covered(key.partition(":")[2]) for key in known)
        if held and not any(is_covered(work.file.path) for work in works):
            raise SourceError(
                f"{source}: is empty, and the lake holds {held} files of it; nothing was taken out, for it may not be "
                "mounted: if it is to be empty, name the folder above it"
            )


def size_of(signature: str) -> int:
    """The size that a signature tells, 0 if it tells none.

    >>> size_of("1628:1794830400.25"), size_of("")
    (1628, 0)
    """
    size = signature.partition(":")[0]
    return int(size) if size.isdecimal() else 0


def at_or_below(folders: Collection[str], works: Iterable[Work]) -> Mapping[str, Work]:
    """The works of some folders and of what lies in them, by their keys."""
    places = _Paths(key.partition(":")[2] for key in folders)
    return {work.key: work for work in works if places.has_above(work.file.path)}
