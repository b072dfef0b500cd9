"""The files that a read is about: named, matched by a glob, or found in folders; on disk or behind URLs."""

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
from thawline.spark.settings import Settings

SCHEMES = re.compile(r"^s3[an]://")
"""Hadoop's names for what everyone else calls s3."""


@dataclass(frozen=True, slots=True)
class File:
    """A file to read."""

    path: str
    size: int
    modified: float | None = None
    """Seconds since 1970, where that is known."""
    folder: str = ""
    """The folder that says how to read it, where it is one of files that belong together."""
    is_named: bool = False
    """Whether it was named itself; if it was found in a folder, it need not be of the format."""
    etag: str = ""
    """What a store calls this very content of it."""


@dataclass(frozen=True)
class Listing:
    """The files that some settings ask for, those of a folder or a glob sorted by name."""

    settings: Settings

    @cached_property
    def files(self) -> list[File]:
        """All of them; `SourceError` if a path does not exist or there is nothing in it."""
        found = [file for path in self.settings.paths for file in self._expand(path)]
        if not found and not self.settings.ignores_missing:
            where = ", ".join(self.settings.paths) or "no path was given"
            raise SourceError(f"no file to read: {where}; recursiveFileLookup=true looks into subfolders, too")
        return found

    def _expand(self, path: str) -> Iterator[File]:
        try:
            found = [file for place in places(absolute(path)) for file in self._at(place, path)]
        except SourceError as error:
            if self.settings.ignores_missing and error.errno == errno.ENOENT:
                return
            raise
        yield from (file for file in found if self._is_wanted(file))

    def _at(self, place: listing.File | Folder, path: str) -> Iterator[File]:
        if isinstance(place, Folder):
            yield from self._in_folder(place)
        else:
            yield _planned(place, is_named=place.path == absolute(path))

    def _in_folder(self, folder: Folder) -> Iterator[File]:
        """Every file below a folder that Spark takes for data; members of a group know their folder."""
        for found in Tree(self.settings.recursive, self.settings.format.name).below(folder):
            if isinstance(found, Group):
                for member in found.members:
                    if _is_shown(member.path, folder.path):
                        yield _planned(found.held[member.path], folder=found.folder.path, is_named=True)
            elif _is_shown(found.path, folder.path):
                if isinstance(found, listing.File):
                    yield _planned(found)
                elif found.is_failure:
                    raise SourceError(f"{found.path}: {found.reason}")

    def _is_wanted(self, file: File) -> bool:
        settings = self.settings
        name = file.path.rpartition("/")[2]
        if settings.path_glob_filter and not any(fnmatchcase(name, one) for one in _braces(settings.path_glob_filter)):
            return False
        after, before = settings.modified_after, settings.modified_before
        if file.modified is None:
            return True
        return (after is None or file.modified > after) and (before is None or file.modified < before)


def plain(path: str) -> str:
    """A path or URL as everyone but Hadoop writes it.

    >>> plain("s3a://cold/logs"), plain("file:///mnt/cold")
    ('s3://cold/logs', '/mnt/cold')
    """
    return re.sub(r"^file:(//)?", "", SCHEMES.sub("s3://", path))


def absolute(path: str) -> str:
    """A path as every process sees it; a URL as it is."""
    path = plain(path)
    return path if "://" in path else os.path.abspath(path)  # noqa: PTH100 - a link keeps its name


def _braces(pattern: str) -> Iterable[str]:
    """A glob without alternatives for each choice of them: Hadoop's globs have `{a,b}`.

    >>> list(_braces("*.{log,rbf}"))
    ['*.log', '*.rbf']
    """
    found = re.search(r"\{([^{}]*)\}", pattern)
    if not found:
        return [pattern]
    return [
        whole
        for choice in found[1].split(",")
        for whole in _braces(pattern[: found.start()] + choice + pattern[found.end() :])
    ]


def _is_shown(path: str, above: str) -> bool:
    """As Spark has it: what lies below a name that begins with a dot or an underscore is no data."""
    return not any(part.startswith((".", "_")) for part in path.removeprefix(above).split("/"))


def _planned(file: listing.File, *, folder: str = "", is_named: bool = False) -> File:
    return File(file.path, file.size, file.modified, folder, is_named, file.etag)


class Members:
    """Formats of the files of folders, found out once a folder: what the folder says about a file is read from it."""

    def __init__(self, format_: Format) -> None:
        self.format = format_
        self._known: dict[str, dict[str, Member]] = {}

    def format_of(self, file: File) -> Format:
        """The format to read a file with."""
        return self._member(file).format

    def known_of(self, file: File) -> Mapping[str, object]:
        """Columns whose value is the same in all rows of a file."""
        return self._member(file).known

    def _member(self, file: File) -> Member:
        if file.folder not in self._known:
            if file.folder and isinstance(self.format, Foldered):
                members = self.format.members(Folder(file.folder))
                self._known[file.folder] = {member.path: member for member in members}
            else:
                self._known[file.folder] = {}
        return self._known[file.folder].get(file.path, Member(file.path, self.format))
