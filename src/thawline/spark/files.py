"""The files that a read is about: named, matched by a glob, or found in folders; on disk or behind URLs."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from functools import cached_property
from pathlib import Path
from typing import Any

from thawline import source
from thawline.errors import SourceError, ThawlineError
from thawline.folder import Folder, file_of
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
        path = plain(path)
        try:
            with answering(path):
                found = list(self._remote(path) if "://" in path else self._local(path))
            yield from (file for file in found if self._is_wanted(file))
        except FileNotFoundError as error:
            if not self.settings.ignores_missing:
                raise SourceError(f"{path}: no such file or folder") from error

    def _local(self, path: str) -> Iterator[File]:
        path = os.path.abspath(path)  # noqa: PTH100 - a link keeps its name
        if Path(path).is_dir():
            yield from self._in_folder(path)
        elif Path(path).exists() or not glob.has_magic(path):
            yield replace(_stat(path), is_named=True)
        else:
            found = sorted(glob.glob(path, recursive=True))  # noqa: PTH207 - as a shell does it
            if not found:
                raise FileNotFoundError
            for match in found:
                yield from self._in_folder(match) if Path(match).is_dir() else [_stat(match)]

    def _in_folder(self, path: str) -> Iterator[File]:
        for folder, subfolders, names in os.walk(path):
            subfolders[:] = sorted(filter(_is_shown, subfolders)) if self.settings.recursive else []
            members = list(self._members(folder))
            if members:
                subfolders.clear()
                yield from members
            else:
                yield from (_stat(os.path.join(folder, name)) for name in sorted(filter(_is_shown, names)))  # noqa: PTH118

    def _members(self, path: str) -> Iterator[File]:
        """The files of a folder that is of the format as a whole."""
        folder, format_ = Folder(path), self.settings.format
        if isinstance(format_, Foldered) and format_.claim_folder(folder):
            for member in format_.members(folder):
                yield replace(_stat(member.path), folder=path, is_named=True)

    def _remote(self, url: str) -> Iterator[File]:
        filesystem, path = filesystem_of(url)
        if glob.has_magic(path):
            entries = filesystem.glob(path, detail=True)
            if not entries:
                raise FileNotFoundError
            yield from _entries(filesystem, entries.values())
        elif filesystem.isdir(path):
            members = list(self._members(url.rstrip("/")))
            depth = None if self.settings.recursive else 1
            listed = filesystem.find(path, maxdepth=depth, detail=True).values() if not members else []
            yield from members or _entries(filesystem, listed)
        else:
            yield from (replace(file, is_named=True) for file in _entries(filesystem, [filesystem.info(path)]))

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


@contextmanager
def answering(path: str) -> Iterator[None]:
    """Turn what a store says for itself, such as that it has no credentials, into `SourceError`."""
    try:
        yield
    except (FileNotFoundError, ThawlineError):
        raise
    except Exception as error:
        raise SourceError(f"{path}: {error}") from error


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


def _is_shown(name: str) -> bool:
    """As Spark has it: names that begin with a dot or an underscore are not data."""
    return not name.startswith((".", "_"))


def _stat(path: str) -> File:
    if "://" in path:
        filesystem, inner = filesystem_of(path)
        return next(_entries(filesystem, [filesystem.info(inner)]))
    found = os.stat(path)  # noqa: PTH116 - ten thousand of them
    return File(path, found.st_size, found.st_mtime)


def filesystem_of(url: str) -> tuple[Any, str]:
    """The file system of a URL, and the path there; what it has listed before is forgotten."""
    filesystem, path = source.filesystem_of(url)
    filesystem.invalidate_cache()
    return filesystem, path


def _entries(filesystem: Any, entries: Iterable[dict[str, Any]]) -> Iterator[File]:
    for entry in sorted(entries, key=lambda entry: str(entry["name"])):
        if entry["type"] == "file" and _is_shown(entry["name"].rpartition("/")[2]):
            found = file_of(entry, filesystem.unstrip_protocol(entry["name"]))
            yield File(found.path, found.size, found.modified, etag=found.etag)


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
