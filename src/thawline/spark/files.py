"""The files of a read: named, matched by a glob, or found in folders; local or at URLs."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cached_property

from thawline import folder as listing
from thawline.errors import SourceError
from thawline.files import Group, Tree, places
from thawline.folder import Folder
from thawline.formats.contract import Foldered, Format, Member
from thawline.lake.place import plain
from thawline.spark.settings import Settings


@dataclass(frozen=True, slots=True)
class File:
    """A file to read."""

    path: str
    size: int
    modified: float | None = None
    """Seconds since 1970, if known."""
    folder: str = ""
    """The folder that determines how to read the file, if it is a member of a group."""
    is_named: bool = False
    """Whether it is read as the format without being recognised: it was named, or it is a member of a group."""
    etag: str = ""
    """The object store's identifier of this version of the content."""


@dataclass(frozen=True)
class Listing:
    """The files that settings request; those of a folder or a glob are sorted by name."""

    settings: Settings

    @cached_property
    def files(self) -> list[File]:
        """All of them; `SourceError` if a path does not exist or no file is found."""
        files = [file for path in self.settings.paths for file in self._expand(path)]
        if not files and not self.settings.ignores_missing:
            where = ", ".join(self.settings.paths) or "no path was given"
            raise SourceError(f"no file to read: {where}; recursiveFileLookup=true looks into subfolders, too")
        return files

    def _expand(self, path: str) -> Iterator[File]:
        try:
            files = [file for place in places(absolute(path)) for file in self._at(place, path)]
        except SourceError as error:
            if self.settings.ignores_missing and error.errno == errno.ENOENT:
                return
            raise
        yield from (file for file in files if self._is_requested(file))

    def _at(self, place: listing.File | Folder, path: str) -> Iterator[File]:
        if isinstance(place, Folder):
            yield from self._in_folder(place)
        else:
            yield _planned(place, is_named=place.path == absolute(path))

    def _in_folder(self, folder: Folder) -> Iterator[File]:
        """Every file below a folder that Spark treats as data; members of a group have its folder set."""
        for item in Tree(self.settings.recursive, self.settings.format.name).below(folder):
            if isinstance(item, Group):
                # Names inside a group are the format's: RBAK's folder for the virtual host / starts with an underscore.
                if _is_data(item.folder.path, folder.path):
                    for member in item.members:
                        yield _planned(item.held[member.path], folder=item.folder.path, is_named=True)
            elif _is_data(item.path, folder.path):
                if isinstance(item, listing.File):
                    yield _planned(item)
                elif item.is_failure:
                    raise SourceError(f"{item.path}: {item.reason}")

    def _is_requested(self, file: File) -> bool:
        settings = self.settings
        name = file.path.rpartition("/")[2]
        if settings.path_glob_filter and not any(fnmatchcase(name, one) for one in _braces(settings.path_glob_filter)):
            return False
        after, before = settings.modified_after, settings.modified_before
        if file.modified is None:
            return True
        return (after is None or file.modified > after) and (before is None or file.modified < before)


def absolute(path: str) -> str:
    """An absolute path; a URL is returned unchanged except for Hadoop's schemes."""
    path = plain(path)
    return path if "://" in path else os.path.abspath(path)  # noqa: PTH100 - a link keeps its name


def _braces(pattern: str) -> Iterable[str]:
    """The globs without alternatives that a Hadoop glob with `{a,b}` expands to.

    >>> list(_braces("*.{log,rbf}"))
    ['*.log', '*.rbf']
    """
    match = re.search(r"\{([^{}]*)\}", pattern)
    if not match:
        return [pattern]
    return [
        whole
        for choice in match[1].split(",")
        for whole in _braces(pattern[: match.start()] + choice + pattern[match.end() :])
    ]


def _is_data(path: str, above: str) -> bool:
    """Whether Spark treats a path as data: no name in it begins with a dot or an underscore."""
    return not any(part.startswith((".", "_")) for part in path.removeprefix(above).split("/"))


def _planned(file: listing.File, *, folder: str = "", is_named: bool = False) -> File:
    return File(file.path, file.size, file.modified, folder, is_named, file.etag)


class Members:
    """The formats of the files of folders; each folder is listed once."""

    def __init__(self, format_: Format) -> None:
        self.format = format_
        self._known: dict[str, dict[str, Member]] = {}

    def format_of(self, file: File) -> Format:
        """The format to read a file with."""
        return self._member(file).format

    def known_of(self, file: File) -> Mapping[str, object]:
        """Columns with the same value in all rows of a file, and that value."""
        return self._member(file).known

    def _member(self, file: File) -> Member:
        if file.folder not in self._known:
            if file.folder and isinstance(self.format, Foldered):
                members = self.format.members(Folder(file.folder))
                self._known[file.folder] = {member.path: member for member in members}
            else:
                self._known[file.folder] = {}
        return self._known[file.folder].get(file.path, Member(file.path, self.format))
