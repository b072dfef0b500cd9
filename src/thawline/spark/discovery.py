"""What a pipeline has to do: every file below its sources, and every folder whose files belong together."""

from __future__ import annotations

import glob
import hashlib
import os
import stat
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from thawline import formats
from thawline.errors import SourceError, ThawlineError
from thawline.folder import Folder
from thawline.spark.files import File, answering, file_of, filesystem_of, plain

PROBLEM = "problem: "
"""What the signature of a work begins with that is not looked at."""


@dataclass(frozen=True, slots=True)
class Work:
    """A file to take in, or a folder to give an account of."""

    file: File
    format: str = ""
    """The format of the folder; empty if the file is by itself and has to be recognised."""
    is_folder: bool = False
    beside: str = ""
    """The format of a folder that speaks for the file without reading rows of it, as for an index file."""
    problem: str = ""
    """Why it is not looked at; empty if it is."""
    is_failure: bool = False
    """Whether that is because it cannot be read; else it is left out for what it is."""

    @property
    def key(self) -> str:
        """What it is called in the journal."""
        return f"{'folder' if self.is_folder else 'file'}:{self.file.path}"

    @property
    def signature(self) -> str:
        """Changes when the file does, or what keeps it from being read."""
        if self.problem:
            return PROBLEM + self.problem
        etag = f":{self.file.etag}" if self.file.etag else ""
        return f"{self.file.size}:{self.file.modified}{etag}"


def discover(sources: Iterable[str]) -> Iterator[Work]:
    """The works of all sources, sorted by name below each; `SourceError` if one does not exist."""
    seen: set[str] = set()
    for source in sources:
        for work in _works(_listed(source)):
            if work.key not in seen:
                seen.add(work.key)
                yield work


class Listing:
    """Folders with their files, as they were at one moment; hidden ones are left out."""

    def __init__(self, folders: Iterable[tuple[str, list[File]]], unread: Iterable[Work] = ()) -> None:
        self.folders = list(folders)
        self.unread = unread  # what is found on the way, so it is complete once the folders are
        self.files = {file.path: file for _, files in self.folders for file in files}
        self._paths = sorted(self.files)

    def file(self, path: str, folder: str) -> File:
        """A file that a folder names; the task says what is wrong with one that is not there."""
        return replace(self.files.get(path, File(path, 0, is_named=True)), folder=folder)

    def signature(self, folder: str) -> float:
        """A number that changes when any file below a folder does."""
        digest = hashlib.sha256()
        first, end = (bisect_left(self._paths, folder + mark) for mark in ("/", "0"))  # 0 comes behind the slash
        for path in self._paths[first:end]:
            file = self.files[path]
            digest.update(f"{path}\0{file.size}\0{file.modified}\0{file.etag}\n".encode())
        return float(int.from_bytes(digest.digest()[:6], "big"))


def _listed(source: str) -> Listing:
    path = plain(source)
    if "://" in path:
        with answering(path):
            return Listing(_remote(path))
    path = os.path.abspath(path)  # noqa: PTH100 - a link keeps its name
    if not Path(path).exists():
        raise SourceError(f"{source}: no such file or folder")
    unread: list[Work] = []
    return Listing(_local(path, unread) if Path(path).is_dir() else [("", [_stat(path)])], unread)


def _local(path: str, unread: list[Work]) -> Iterator[tuple[str, list[File]]]:
    def fails(error: OSError) -> None:
        unread.append(_unread(str(error.filename), (error.strerror or str(error)).lower()))

    for folder, subfolders, names in os.walk(path, onerror=fails):
        subfolders[:] = sorted(filter(_is_shown, subfolders))
        paths = [os.path.join(folder, name) for name in sorted(filter(_is_shown, names))]  # noqa: PTH118 - many
        problems = {path: problem for path in paths if (problem := _problem(path))}
        unread += problems.values()
        yield folder, [_stat(file) for file in paths if file not in problems]


def _problem(path: str) -> Work | None:
    """A work that says why a file is not looked at; None if it is."""
    try:
        mode = os.stat(path).st_mode  # noqa: PTH116 - many of them
    except OSError as error:
        is_link = os.path.islink(path)  # noqa: PTH114 - as above
        reason = f"a broken link to {os.readlink(path)}" if is_link else (error.strerror or str(error)).lower()  # noqa: PTH115
        return _unread(path, reason)
    return None if stat.S_ISREG(mode) else replace(_unread(path, "no regular file"), is_failure=False)


def _unread(path: str, problem: str) -> Work:
    return Work(File(path, 0), problem=problem, is_failure=True)


def _stat(path: str) -> File:
    try:
        found = os.stat(path)  # noqa: PTH116 - many of them
    except OSError:
        return File(path, 0, is_named=True)  # the task says what is wrong with it
    return File(path, found.st_size, found.st_mtime, is_named=True)


def _remote(url: str) -> Iterator[tuple[str, list[File]]]:
    filesystem, path = filesystem_of(url)
    if glob.has_magic(path) and not filesystem.exists(path):
        matches = sorted(filesystem.glob(path))
        if not matches:
            raise SourceError(f"{url}: nothing there is called like that")
        for match in matches:
            yield from _remote(filesystem.unstrip_protocol(match))
    elif filesystem.isfile(path):
        yield "", [_named(filesystem.info(path), url)]
    elif filesystem.isdir(path):
        base = url.rstrip("/")
        for folder, subfolders, entries in filesystem.walk(path, detail=True):
            for name in [name for name in subfolders if not _is_shown(name)]:
                del subfolders[name]
            place = base + folder[len(path.rstrip("/")) :].rstrip("/")
            names = sorted(name for name in entries if name and _is_shown(name))
            yield place, [_named(entries[name], f"{place}/{name}") for name in names]
    else:
        raise SourceError(f"{url}: no such file or folder")


def _named(entry: dict[str, Any], url: str) -> File:
    return replace(file_of(entry, url), is_named=True)


def _is_shown(name: str) -> bool:
    return not name.startswith(".")


def _works(listing: Listing) -> Iterator[Work]:
    owned: set[str] = set()
    inside: set[str] = set()
    for folder, files in listing.folders:
        found = _as_whole(folder, listing) if folder and folder not in inside else []
        yield from found
        owned.update(work.file.path for work in found)
        inside.update(path for work in found for path in _between(folder, work.file.path))
        yield from (Work(file) for file in files if file.path not in owned)
    yield from listing.unread


def _between(folder: str, path: str) -> Iterator[str]:
    """The subfolders of a folder on the way to a file."""
    while (path := path.rpartition("/")[0]) and len(path) > len(folder):
        yield path


def _as_whole(path: str, listing: Listing) -> list[Work]:
    """The members of a folder whose files belong together, the folder itself, and files that it speaks for besides."""
    folder = Folder(path)
    try:
        claim = formats.identify_folder(folder)
        format_ = formats.get(claim.format) if claim else None
        members = [member.path for member in format_.members(folder)] if format_ else []
        held = sorted(set(format_.holdings(folder)).difference(members)) if format_ else []
    except (ThawlineError, OSError):
        return []  # its files are taken in one by one, and say themselves what is wrong
    if claim is None:
        return []
    found = [Work(listing.file(member, path), claim.format) for member in members]
    found.append(Work(File(path, 0, listing.signature(path), path), claim.format, is_folder=True))
    return found + [Work(listing.files[one], beside=claim.format) for one in held if one in listing.files]
