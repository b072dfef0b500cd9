"""What a pipeline has to do: every file below its sources, and every folder whose files belong together."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from thawline import folder as listing
from thawline.files import Group, Tree, places
from thawline.folder import Folder, Unread
from thawline.spark.files import File, absolute

PROBLEM = "problem: "
"""What the signature of a work begins with that is not looked at."""


@dataclass(frozen=True, slots=True)
class Work:
    """A file to take in, or a folder to give an account of."""

    file: File
    format: str = ""
    """The format of the folder; empty if the file is by itself and has to be recognised."""
    is_folder: bool = False
    is_further: bool = False
    """Whether it is a folder of which another format gives an account, too, of other files."""
    beside: str = ""
    """The format of a folder that speaks for the file without reading rows of it, as for an index file."""
    problem: str = ""
    """Why it is not looked at; empty if it is."""
    is_failure: bool = False
    """Whether that is because it cannot be read; else it is left out for what it is."""

    @property
    def key(self) -> str:
        """What it is called in the journal."""
        kind = f"folder.{self.format}" if self.is_further else "folder" if self.is_folder else "file"
        return f"{kind}:{self.file.path}"

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
        for place in _places(source):
            for work in [Work(place)] if isinstance(place, File) else _below(place):
                if work.key not in seen:
                    seen.add(work.key)
                    yield work


def _places(source: str) -> Iterator[File | Folder]:
    """The file or the folder that a source is, or those that a glob matches."""
    for place in places(absolute(source)):
        yield place if isinstance(place, Folder) else _named(place)


def _below(folder: Folder) -> Iterator[Work]:
    """The works of a folder and its subfolders."""
    grouped: set[str] = set()
    for found in Tree().below(folder):
        if isinstance(found, Unread):
            yield Work(File(found.path, 0), problem=found.reason, is_failure=found.is_failure)
        elif isinstance(found, listing.File):
            yield Work(_named(found))
        else:
            yield from _as_whole(found, is_further=found.folder.path in grouped)
            grouped.add(found.folder.path)


def _as_whole(group: Group, *, is_further: bool) -> Iterator[Work]:
    """The members of a group, its folder, and the files that it speaks for besides."""
    path, name = group.folder.path, group.format.name
    members = [member.path for member in group.members]
    yield from (Work(_named(group.held[member], path), name) for member in members)
    whole = File(path, 0, _signature(group.held.values()), path)
    yield Work(whole, name, is_folder=True, is_further=is_further)
    yield from (Work(_named(group.held[one]), beside=name) for one in sorted(group.held.keys() - set(members)))


def _signature(files: Iterable[listing.File]) -> float:
    """A number that changes when any of some files does."""
    digest = hashlib.sha256()
    for file in files:
        digest.update(f"{file.path}\0{file.size}\0{file.modified}\0{file.etag}\n".encode("utf-8", "surrogateescape"))
    return float(int.from_bytes(digest.digest()[:6], "big"))


def _named(file: listing.File, folder: str = "") -> File:
    return File(file.path, file.size, file.modified, folder, is_named=True, etag=file.etag)
