"""Files that a lake has ingested and that their sources do not hold any more."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from fsspec.utils import glob_translate

from thawline.errors import SourceError
from thawline.lake.lake import State
from thawline.lake.place import plain
from thawline.spark.discovery import PROBLEM, Work

MISSING = "missing"
"""The signature of a work that is gone. It matches no file, so a file that returns is ingested again."""


@dataclass(frozen=True, slots=True)
class Gone:
    """Keys of works that an earlier run has done and that do not exist any more."""

    missing: tuple[str, ...]
    void: tuple[str, ...]
    """Works that leave nothing to miss: files that were never readable, and folders that still exist but whose files
    do not form a group any more."""


def gone(works: Sequence[Work], state: State, sources: Sequence[str]) -> Gone:
    """The works of a lake that are gone from the sources; none below a folder that cannot be read."""
    present = {work.key for work in works}
    closed = _Paths(work.file.path for work in works if work.problem)
    places = _Paths(work.file.path for work in works)
    is_covered = covering(sources)
    missing: list[str] = []
    void: list[str] = []
    for key, entry in state.works.items():
        kind, _, path = key.partition(":")
        if key in present or not is_covered(path) or closed.has_above(path):
            continue
        was_read = entry.signature and not entry.signature.startswith(PROBLEM)
        is_void = places.has_below(path) if kind.startswith("folder") else not was_read and not entry.has_rows
        (void if is_void else missing).append(key)
    return Gone(tuple(missing), tuple(void))


class _Paths:
    """A set of paths, and all folders above them."""

    def __init__(self, paths: Iterable[str]) -> None:
        self.paths = {path.rstrip("/") for path in paths}  # the path of a folder may end with a slash
        self.folders = {folder for path in self.paths for folder in _above(path)}

    def has_above(self, path: str) -> bool:
        """Whether the path, or a folder above it, is in the set."""
        return path in self.paths or any(folder in self.paths for folder in _above(path))

    def has_below(self, path: str) -> bool:
        """Whether the set has a path below this one."""
        return path in self.folders


def _above(path: str) -> Iterator[str]:
    """The folders above a path, innermost first."""
    while path := path.rpartition("/")[0]:
        yield path


def covering(sources: Iterable[str]) -> Callable[[str], bool]:
    """A predicate: whether a path is one of the sources or lies below one."""
    rules = [re.compile(_pattern(source), re.DOTALL) for source in sources]
    return lambda path: any(rule.match(path) for rule in rules)


def _pattern(source: str) -> str:
    """A regular expression that matches the start of every path of a source."""
    path = plain(source)
    if "://" not in path:
        path = os.path.abspath(path)  # noqa: PTH100 - a link keeps its name
    if glob.has_magic(path) and ("://" in path or not os.path.lexists(path)):
        return re.sub(r"\\[Zz]$", "", glob_translate(path)) + "(/|$)"  # a match covers everything below it
    return re.escape(path.rstrip("/")) + "(/|$)"


def refuse_empty(works: Sequence[Work], known: Collection[str], sources: Iterable[str]) -> None:
    """Raise `SourceError` for a source that has lost all its files: it may not be mounted."""
    for source in sources:
        is_covered = covering([source])
        known_files = sum(key.startswith("file:") and is_covered(key.partition(":")[2]) for key in known)
        if known_files and not any(is_covered(work.file.path) for work in works):
            raise SourceError(
                f"{source}: is empty, and the lake holds {known_files} files of it; nothing was taken out, for it may "
                "not be mounted: if it is to be empty, name the folder above it"
            )


def size_of(signature: str) -> int:
    """The file size in a signature, 0 if it has none.

    >>> size_of("1628:1794830400.25"), size_of("")
    (1628, 0)
    """
    size = signature.partition(":")[0]
    return int(size) if size.isdecimal() else 0


def at_or_below(folders: Collection[str], works: Iterable[Work]) -> Mapping[str, Work]:
    """The works of some folders and of everything below them, by key."""
    places = _Paths(key.partition(":")[2] for key in folders)
    return {work.key: work for work in works if places.has_above(work.file.path)}
