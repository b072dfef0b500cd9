"""A folder of cold files, on disk or behind a URL: what is in it by name; nothing is read before it is asked for."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from thawline.errors import SourceError
from thawline.source import LocalSource, RemoteSource, open_source

__all__ = ["Folder"]

LARGEST_READ = 16 << 20


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
        """Whether it lies behind a URL."""
        return "://" in self.path

    def files(self) -> dict[str, int]:
        """Names of the files in it with their sizes, sorted by name."""
        return self._entries[0]

    def subfolders(self) -> list[str]:
        """Names of the folders in it, sorted."""
        return self._entries[1]

    def folder(self, name: str) -> Folder:
        """A folder in this one, which need not be there."""
        return Folder(self.path_of(name))

    def above(self) -> Folder | None:
        """The folder that this one lies in, which need not be readable; None where there is none."""
        path = self.path.rstrip("/") if self.is_remote else os.path.abspath(self.path)  # noqa: PTH100 - as in `name`
        parent = path.rpartition("/")[0] or ("" if self.is_remote else "/")
        return None if parent.endswith(("/", ":")) and self.is_remote else Folder(parent)

    def has(self, name: str) -> bool:
        """Whether there is a file of this name."""
        return name in self.files()

    def path_of(self, name: str) -> str:
        """The path or URL of a file in it."""
        return f"{self.path.rstrip('/')}/{name}" if self.is_remote else str(Path(self.path, name))

    def open(self, name: str) -> LocalSource | RemoteSource:
        """A file in it."""
        return open_source(self.path_of(name))

    def read(self, name: str, most: int = LARGEST_READ) -> bytes:
        """All bytes of a small file in it; `SourceError` if it is larger than that."""
        with self.open(name) as source:
            if source.size > most:
                raise SourceError(
                    f"{source.name}: has {source.size} bytes, and {most} are the most that are read of it"
                )
            return bytes(source.view(0, source.size))

    @cached_property
    def _entries(self) -> tuple[dict[str, int], list[str]]:
        try:
            return _listed_remote(self.path) if self.is_remote else _listed(self.path)
        except OSError as error:
            raise SourceError(error.errno, f"{self.path}: {error.strerror or error}") from error


def _listed(path: str) -> tuple[dict[str, int], list[str]]:
    files: dict[str, int] = {}
    folders: list[str] = []
    with os.scandir(path) as entries:
        for entry in sorted(entries, key=lambda entry: entry.name):
            if entry.name.startswith("."):
                continue
            if entry.is_dir():
                folders.append(entry.name)
            elif entry.is_file():
                files[entry.name] = entry.stat().st_size
    return files, folders


def _listed_remote(url: str) -> tuple[dict[str, int], list[str]]:
    import fsspec  # noqa: PLC0415 - only URLs need it

    try:
        filesystem, path = fsspec.url_to_fs(url)
        filesystem.invalidate_cache(path)  # a worker of Spark lives long
        found: list[dict[str, Any]] = filesystem.ls(path, detail=True)
    except (ImportError, ValueError) as error:
        raise SourceError(f"{url}: {error}") from error
    named = sorted((entry["name"].rstrip("/").rpartition("/")[2], entry) for entry in found)
    shown = [(name, entry) for name, entry in named if name and not name.startswith(".")]
    files = {name: int(entry["size"] or 0) for name, entry in shown if entry["type"] == "file"}
    return files, [name for name, entry in shown if entry["type"] == "directory"]
