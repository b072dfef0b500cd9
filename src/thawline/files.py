"""Which files there are: the one lister of the command line, Python and Spark.

`places` says what a name stands for, `Tree` what lies below a folder. Every file is listed: as one of a group, as one
to be read by itself, or with the reason why it is not read.
"""

from __future__ import annotations

import errno
import glob
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from thawline import formats
from thawline.errors import SourceError, ThawlineError
from thawline.folder import File, Folder, Unread, file_of
from thawline.formats.contract import Foldered, Member
from thawline.options import BadOption
from thawline.source import filesystem_of

__all__ = ["Group", "Tree", "places"]


def places(name: str) -> Iterator[File | Folder]:
    """The file or the folder that a path or a URL names, or those that a glob matches, sorted by name.

    Raises `SourceError` if there is nothing of that name.
    """
    with _answering(name):
        yield from list(_remote(name) if "://" in name else _local(name))


@contextmanager
def _answering(name: str) -> Iterator[None]:
    """Turn what a store says for itself, such as that it has no credentials, into `SourceError`."""
    try:
        yield
    except ThawlineError:
        raise
    except FileNotFoundError as error:
        raise SourceError(errno.ENOENT, f"{name}: no such file or folder") from error
    except Exception as error:
        raise SourceError(f"{name}: {error}") from error


def _local(path: str) -> Iterator[File | Folder]:
    # A file of that very name comes first. Path.exists and Path.is_dir raise where nothing may be looked at.
    if os.path.lexists(path):
        yield _place(path)
    elif glob.has_magic(path) and (found := sorted(glob.glob(path, recursive=True))):  # noqa: PTH207 - as a shell does
        yield from map(_place, found)
    else:
        raise FileNotFoundError(path)


def _place(path: str) -> File | Folder:
    if os.path.isdir(path):  # noqa: PTH112 - as above
        return Folder(path)
    try:
        found = Path(path).stat()
    except OSError:
        return File(path)  # whoever opens it says what is wrong with it
    return File(path, found.st_size, found.st_mtime)


def _remote(url: str) -> Iterator[File | Folder]:
    filesystem, path = filesystem_of(url)
    filesystem.invalidate_cache()  # a worker of Spark lives long
    if filesystem.isfile(path):
        yield file_of(filesystem.info(path), url)
    elif glob.has_magic(path) and (found := sorted(filesystem.glob(path))):
        for match in found:
            yield from _remote(filesystem.unstrip_protocol(match))
    elif filesystem.isdir(path):
        yield Folder(url.rstrip("/"))
    else:
        raise FileNotFoundError(url)


@dataclass(frozen=True, slots=True)
class Group:
    """The files of a folder that belong together, such as those of a Kafka partition."""

    folder: Folder
    format: Foldered
    members: tuple[Member, ...]
    """The files that hold rows, in reading order."""
    held: Mapping[str, File]
    """All files that the format speaks for by their paths, those beside the members included."""


@dataclass(frozen=True, slots=True)
class Tree:
    """How the files below a folder are found."""

    is_recursive: bool = True
    format_name: str | None = None
    """The only format to ask; None for all of them."""
    settings: Mapping[str, object] = field(default_factory=dict)
    """What formats are told."""

    def below(self, folder: Folder) -> Iterator[Group | File | Unread]:
        """Everything in a folder and its subfolders, folder by folder, sorted by name."""
        held = _Held()
        waiting = [folder]  # not a recursion: folders may lie deeper than Python's stack reaches
        while waiting:
            here = waiting.pop()
            yield from self._in_folder(here, held)
            for sub in reversed(_subfolders(here)):
                if not (reason := self._why_not(sub)):
                    waiting.append(sub)
                elif sub.path not in held.folders:
                    yield Unread(_shown(sub), reason, "left out")

    def _in_folder(self, folder: Folder, held: _Held) -> Iterator[Group | File | Unread]:
        try:
            listed = list(folder.listed())
        except SourceError as error:
            yield Unread(_shown(folder), _reason(error, folder.path))
            return
        for group in self._groups(folder, held):
            held.add(group)
            yield group
        yield from (file for file in listed if file.path not in held.files)
        yield from folder.unread()

    def _why_not(self, folder: Folder) -> str:
        """Why a subfolder is not looked into; empty if it is."""
        if not self.is_recursive:
            return "a subfolder; --recursive looks into it"
        return "a link to a folder, which is not followed; name it to read it" if folder.is_link else ""

    def _groups(self, folder: Folder, held: _Held) -> Iterator[Group]:
        """The groups that a folder holds: of each format that speaks for files of which no other does."""
        if folder.path in held.folders:
            return  # it is part of a repository or backup
        taken: set[str] = set()
        for name in [self.format_name] if self.format_name else formats.FORMATS:
            group = self._group(folder, name)
            if group and taken.isdisjoint(group.held):
                taken.update(group.held)
                yield group

    def _group(self, folder: Folder, name: str) -> Group | None:
        try:
            known = formats.get(name)
            if not isinstance(known, Foldered) or known.claim_folder(folder) is None:
                return None
            found = formats.get(name, **self.settings)
            assert isinstance(found, Foldered)  # noqa: S101 - the same format as above
            members = tuple(found.members(folder))
            return Group(folder, found, members, _listed(folder, found.holdings(folder)))
        except BadOption:
            raise
        except ThawlineError:
            return None  # its files are read one by one, and say themselves what is wrong


@dataclass(slots=True)
class _Held:
    """Files that groups speak for, and the folders on the way to them."""

    files: set[str] = field(default_factory=set)
    folders: set[str] = field(default_factory=set)

    def add(self, group: Group) -> None:
        """Take in the files of a group."""
        self.files.update(group.held)
        for path in group.held:
            parent = path.rpartition("/")[0]
            while parent and parent != group.folder.path and parent not in self.folders:
                self.folders.add(parent)
                parent = parent.rpartition("/")[0]


def _listed(folder: Folder, paths: Iterable[str]) -> dict[str, File]:
    """Files of a folder and its subfolders with what their listings tell about them."""
    wanted = sorted(set(paths))
    parents = {path.rpartition("/")[0] for path in wanted}
    folders = [folder, *(Folder(parent) for parent in parents if parent and parent != folder.path.rstrip("/"))]
    known = {file.path: file for each in folders for file in each.listed()}
    return {path: known.get(path, File(path)) for path in wanted}


def _subfolders(folder: Folder) -> list[Folder]:
    try:
        return [folder.folder(name) for name in folder.subfolders()]
    except SourceError:
        return []  # its files could not be listed either, which has been said


def _shown(folder: Folder) -> str:
    """The path of a folder, which its end tells from that of a file."""
    return f"{folder.path.rstrip('/')}/"


def _reason(error: OSError, path: str) -> str:
    """What an error says, without the path that stands before it."""
    text = str(error.strerror or error)
    return text.removeprefix(f"{path}: ").lower()
