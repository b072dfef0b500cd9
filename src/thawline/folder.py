"""A folder of cold files, on disk or at a URL: its entries by name, listed on first use."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from thawline.errors import SourceError
from thawline.source import LocalSource, RemoteSource, filesystem_of, open_beside

__all__ = ["File", "Folder", "Unread"]

Status = Literal["unreadable", "unknown", "left out"]
"""Why a file was not read: it is unreadable, no format recognises it, or it is not data."""

LARGEST_READ = 16 << 20
SPECIAL = {stat.S_IFIFO: "a pipe", stat.S_IFSOCK: "a socket", stat.S_IFCHR: "a device", stat.S_IFBLK: "a device"}


@dataclass(frozen=True, slots=True)
class File:
    """A file as the listing of its folder describes it."""

    path: str
    size: int = 0
    modified: float | None = None
    """Seconds since 1970; None where the listing does not give it."""
    etag: str = ""
    """The store's identifier of its content; empty on disk."""


@dataclass(frozen=True, slots=True)
class Unread:
    """A file or folder that was not read, and why."""

    path: str
    reason: str
    status: Status = "unreadable"

    @property
    def is_failure(self) -> bool:
        """Whether it should have been read; otherwise it was left out on purpose."""
        return self.status == "unreadable"


@dataclass(frozen=True, slots=True)
class _Entries:
    """The entries of a folder, by name."""

    files: dict[str, File]
    folders: list[str]
    unread: list[Unread]


@dataclass(frozen=True)
class Folder:
    """A folder by its path or URL. Hidden files are not listed.

    >>> "schemas" in Folder(".").subfolders()
    True
    """

    path: str

    @property
    def name(self) -> str:
        """The last part of its path."""
        parts = os.path.abspath(self.path) if not self.is_remote else self.path  # noqa: PTH100 - a link keeps its name
        return parts.rstrip("/").rpartition("/")[2]

    @property
    def is_remote(self) -> bool:
        """Whether it is at a URL."""
        return "://" in self.path

    @property
    def is_link(self) -> bool:
        """Whether it is a link; following it may lead to a cycle."""
        return not self.is_remote and os.path.islink(self.path.rstrip("/"))  # noqa: PTH114 - faster for many folders

    def files(self) -> dict[str, int]:
        """Names of the files in it with their sizes, sorted by name."""
        return {name: file.size for name, file in self._entries.files.items()}

    def listed(self) -> Iterable[File]:
        """The same files with all facts of the listing."""
        return self._entries.files.values()

    def subfolders(self) -> list[str]:
        """Names of the folders in it, sorted."""
        return self._entries.folders

    def unread(self) -> list[Unread]:
        """Its other entries: hidden files, broken links, pipes and devices."""
        return self._entries.unread

    def folder(self, name: str) -> Folder:
        """A folder in this one, which need not exist."""
        return Folder(self.path_of(name))

    def above(self) -> Folder | None:
        """The parent folder, which need not be readable; None for the root."""
        path = self.path.rstrip("/") if self.is_remote else os.path.abspath(self.path)  # noqa: PTH100 - as in `name`
        parent = path.rpartition("/")[0] or ("" if self.is_remote else "/")
        return None if parent.endswith(("/", ":")) and self.is_remote else Folder(parent)

    def has(self, name: str) -> bool:
        """Whether it has a file of this name."""
        return name in self._entries.files

    def path_of(self, name: str) -> str:
        """The path or URL of a file in it."""
        return f"{self.path.rstrip('/')}/{name}" if self.is_remote else str(Path(self.path, name))

    def open(self, name: str) -> LocalSource | RemoteSource:
        """A file in it, opened for reading."""
        return open_beside(self.path_of(name))

    def read(self, name: str, most: int = LARGEST_READ) -> bytes:
        """All bytes of a small file in it; `SourceError` if it has more than `most` bytes."""
        with self.open(name) as source:
            if source.size > most:
                raise SourceError(f"{source.name}: has {source.size} bytes; at most {most} are read of it")
            return bytes(source.view(0, source.size))

    @cached_property
    def _entries(self) -> _Entries:
        try:
            return _listed_remote(self.path) if self.is_remote else _listed(self.path)
        except OSError as error:
            raise SourceError(error.errno, f"{self.path}: {error.strerror or error}") from error


def _listed(path: str) -> _Entries:
    listing = _Entries({}, [], [])
    with os.scandir(path) as entries:
        for entry in sorted(entries, key=lambda entry: entry.name):
            place = str(Path(path, entry.name))
            try:
                _add(listing, entry.name, place, entry.stat())
            except OSError as error:
                listing.unread.append(Unread(place, _broken_link(place) or (error.strerror or str(error)).lower()))
    return listing


def _add(listing: _Entries, name: str, path: str, status: os.stat_result) -> None:
    if name.startswith("."):
        mark = "/" if stat.S_ISDIR(status.st_mode) else ""
        listing.unread.append(Unread(path + mark, "hidden", "left out"))
    elif stat.S_ISDIR(status.st_mode):
        listing.folders.append(name)
    elif stat.S_ISREG(status.st_mode):
        listing.files[name] = File(path, status.st_size, status.st_mtime)
    else:
        kind = SPECIAL.get(stat.S_IFMT(status.st_mode), "no regular file")
        listing.unread.append(Unread(path, kind, "left out"))


def _broken_link(path: str) -> str:
    """The target of a broken link, in words; empty for anything else."""
    try:
        target = str(Path(path).readlink())
    except OSError:
        return ""
    return "a link to itself" if target in {path, Path(path).name} else f"a broken link to {target}"


def _listed_remote(url: str) -> _Entries:
    filesystem, path = filesystem_of(url)
    try:
        filesystem.invalidate_cache(path)  # Spark workers live long, and their caches grow stale
        entries: list[dict[str, Any]] = filesystem.ls(path, detail=True)
    except OSError:
        raise
    except Exception as error:  # stores raise errors of any class, such as for missing credentials
        raise SourceError(f"{url}: {error}") from error
    listing = _Entries({}, [], [])
    for entry in sorted(entries, key=lambda entry: str(entry["name"])):
        if name := entry["name"].rstrip("/").rpartition("/")[2]:
            _add_remote(listing, name, file_of(entry, f"{url.rstrip('/')}/{name}"), str(entry["type"]))
    return listing


def _add_remote(listing: _Entries, name: str, file: File, kind: str) -> None:
    if name.startswith("."):
        listing.unread.append(Unread(file.path, "hidden", "left out"))
    elif kind == "directory":
        listing.folders.append(name)
    elif kind == "file":
        listing.files[name] = file
    else:
        listing.unread.append(Unread(file.path, f"no file, but {kind}", "left out"))


def file_of(entry: dict[str, Any], url: str) -> File:
    """A file as the listing of a store describes it."""
    modified = entry.get("LastModified") or entry.get("mtime") or entry.get("last_modified") or entry.get("created")
    seconds = modified.timestamp() if isinstance(modified, datetime) else modified
    return File(url, int(entry["size"] or 0), seconds, str(entry.get("ETag") or entry.get("etag") or ""))
