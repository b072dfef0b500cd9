"""What a pipeline has to do: every file below its sources, and every folder whose files belong together."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from thawline import formats
from thawline.errors import SourceError, ThawlineError
from thawline.folder import Folder
from thawline.spark.files import File


@dataclass(frozen=True, slots=True)
class Work:
    """A file to take in, or a folder to give an account of."""

    file: File
    format: str = ""
    """The format of the folder; empty if the file is by itself and has to be recognised."""
    is_folder: bool = False
    beside: str = ""
    """The format of a folder that has the file in it, but not as one of its own: rows of it are the folder's affair."""

    @property
    def key(self) -> str:
        """What it is called in the journal."""
        return f"{'folder' if self.is_folder else 'file'}:{self.file.path}"

    @property
    def signature(self) -> str:
        """Changes when the file does."""
        return f"{self.file.size}:{self.file.modified}"


def discover(sources: Iterable[str]) -> Iterator[Work]:
    """The works of all sources, sorted by name below each; `SourceError` if one does not exist."""
    seen: set[str] = set()
    for source in sources:
        path = os.path.abspath(source)  # noqa: PTH100 - a link keeps its name
        if not Path(path).exists():
            raise SourceError(f"{source}: no such file or folder")
        for work in _below(path) if Path(path).is_dir() else [Work(_file(path))]:
            if work.key not in seen:
                seen.add(work.key)
                yield work


def _below(path: str) -> Iterator[Work]:
    owned: set[str] = set()
    within: dict[str, str] = {}
    for folder, subfolders, names in os.walk(path):
        subfolders[:] = sorted(name for name in subfolders if not name.startswith("."))
        beside = within.get(str(Path(folder).parent), "")
        found = [] if beside else _as_whole(folder)
        yield from found
        owned.update(work.file.path for work in found)
        within[folder] = beside or (found[-1].format if found else "")
        for name in sorted(names):
            file = os.path.join(folder, name)  # noqa: PTH118 - many of them
            if not name.startswith(".") and file not in owned and Path(file).is_file():
                yield Work(_file(file), beside=within[folder])


def _as_whole(path: str) -> list[Work]:
    """The members of a folder whose files belong together, and the folder itself."""
    folder = Folder(path)
    try:
        claim = formats.identify_folder(folder)
        members = list(formats.get(claim.format).members(folder)) if claim else []
    except (ThawlineError, OSError):
        return []  # its files are taken in one by one, and say themselves what is wrong
    if claim is None:
        return []
    found = [Work(_file(member.path, path), claim.format) for member in members]
    return [*found, Work(File(path, 0, _latest(path), path), claim.format, is_folder=True)]


def _file(path: str, folder: str = "") -> File:
    try:
        found = os.stat(path)  # noqa: PTH116 - many of them
    except OSError:
        return File(path, 0, None, folder, is_named=True)  # the task says what is wrong with it
    return File(path, found.st_size, found.st_mtime, folder, is_named=True)


def _latest(path: str) -> float:
    """A number that changes when any file below a folder does."""
    digest = hashlib.sha256()
    for folder, subfolders, names in os.walk(path):
        subfolders.sort()
        for name in sorted(names):
            file = _file(os.path.join(folder, name))  # noqa: PTH118 - many of them
            digest.update(f"{file.path}\0{file.size}\0{file.modified}\n".encode())
    return float(int.from_bytes(digest.digest()[:6], "big"))
