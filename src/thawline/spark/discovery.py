"""The works of a pipeline: every file below its sources, and every folder whose files form a group."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from thawline import folder as listing
from thawline.files import Group, Tree, places
from thawline.folder import Folder, Unread
from thawline.spark.files import File, absolute

PROBLEM = "problem: "
"""Prefix of the signature of a work that is not read."""
OPEN = ":open"
"""Suffix of the signature of a file that may still be written to."""


@dataclass(frozen=True, slots=True)
class Work:
    """A file to ingest, or a folder to report on."""

    file: File
    format: str = ""
    """The format of the folder; empty for a file outside of a group, which has to be identified."""
    is_folder: bool = False
    is_further: bool = False
    """Whether another format also reports on this folder, about other files of it."""
    beside: str = ""
    """The format of a folder whose report covers the file although no rows are read from it, such as an index file."""
    problem: str = ""
    """Why the file is not read; empty if it is."""
    is_failure: bool = False
    """Whether the problem is a read error; else the file is left out for its type."""
    is_open: bool = False
    """Whether the file may still be written to, so that what looks damaged at its end waits."""
    taken_to: int = 0
    """How much of an open file the lake has; the rest is added to that."""

    @property
    def key(self) -> str:
        """The name of the work in the journal."""
        kind = f"folder.{self.format}" if self.is_further else "folder" if self.is_folder else "file"
        return f"{kind}:{self.file.path}"

    @property
    def signature(self) -> str:
        """A text that changes when the file or its problem changes."""
        if self.problem:
            return PROBLEM + self.problem
        etag = f":{self.file.etag}" if self.file.etag else ""
        return f"{self.file.size}:{self.file.modified}{etag}{OPEN if self.is_open else ''}"


def discover(sources: Iterable[str]) -> Iterator[Work]:
    """The works of all sources, sorted by name below each; `SourceError` if one does not exist."""
    seen: set[str] = set()
    for source in sources:
        for place in _places(source):
            for work in [Work(place)] if isinstance(place, File) else _below(place):
                if work.key not in seen:
                    seen.add(work.key)
                    yield work


def _places(source: str) -> Iterator[File | Folder]:
    """The file or folder of a source, or all that a glob matches."""
    for place in places(absolute(source)):
        yield place if isinstance(place, Folder) else _named(place)


def _below(folder: Folder) -> Iterator[Work]:
    """The works of a folder and its subfolders."""
    grouped: set[str] = set()
    for item in Tree().below(folder):
        if isinstance(item, Unread):
            yield Work(File(item.path, 0), problem=item.reason, is_failure=item.is_failure)
        elif isinstance(item, listing.File):
            yield Work(_named(item))
        else:
            yield from _group_works(item, is_further=item.folder.path in grouped)
            grouped.add(item.folder.path)


def _group_works(group: Group, *, is_further: bool) -> Iterator[Work]:
    """The works of a group: its members, its folder, and the other files that its report covers."""
    path, name = group.folder.path, group.format.name
    members = [member.path for member in group.members]
    yield from (Work(_named(group.held[member], path), name) for member in members)
    whole = File(path, 0, _signature(group.held.values()), path)
    yield Work(whole, name, is_folder=True, is_further=is_further)
    yield from (Work(_named(group.held[one]), beside=name) for one in sorted(group.held.keys() - set(members)))


def _signature(files: Iterable[listing.File]) -> float:
    """A number that changes when any of the files changes."""
    digest = hashlib.sha256()
    for file in files:
        digest.update(f"{file.path}\0{file.size}\0{file.modified}\0{file.etag}\n".encode("utf-8", "surrogateescape"))
    return float(int.from_bytes(digest.digest()[:6], "big"))


def _named(file: listing.File, folder: str = "") -> File:
    return File(file.path, file.size, file.modified, folder, is_named=True, etag=file.etag)
