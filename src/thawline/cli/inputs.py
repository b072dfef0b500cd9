"""The files that a command line names: paths, globs, folders, URLs, and `-` for stdin.

A folder whose files belong together, such as a Kafka partition, is read as its format says; any other as its files.
"""

from __future__ import annotations

import glob
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from thawline.errors import SourceError
from thawline.folder import Folder
from thawline.source import STDIN

if TYPE_CHECKING:
    from thawline.formats import Format


@dataclass(frozen=True, slots=True)
class Input:
    """A file to read, and whether it was named itself or found in a folder."""

    path: str
    is_named: bool = True
    format: Format | None = None
    """The format, with what the folder says about the file, where the folder is of that format as a whole."""


@dataclass(frozen=True, slots=True)
class Found:
    """A folder whose files belong together."""

    folder: Folder
    format: Format


class Inputs:
    """The inputs of a command, in the order given, those of a folder or a glob sorted by name."""

    def __init__(
        self,
        names: Iterable[str],
        *,
        recursive: bool = False,
        format_name: str | None = None,
        settings: Mapping[str, object] | None = None,
    ) -> None:
        self.recursive, self.format_name, self.settings = recursive, format_name, settings or {}
        self.folders: list[Found] = []
        self.files = [found for name in names for found in self._expand(name)]
        if sum(found.path == STDIN for found in self.files) > 1:
            raise SourceError("stdin (-) can be read only once")

    def _expand(self, name: str) -> Iterator[Input]:
        if name == STDIN:
            yield Input(name)
        elif "://" in name:
            yield from self._remote(name)
        elif Path(name).is_dir():
            yield from self._in_folder(name)
        elif glob.has_magic(name) and not Path(name).exists():
            # The shell has left the pattern as it is, or was told to; a file of that very name comes first.
            yield from self._matching(name)
        else:
            yield Input(name)

    def _remote(self, url: str) -> Iterator[Input]:
        if glob.has_magic(url):
            yield from map(Input, _remote_matches(url))
        elif not url.endswith("/"):
            yield Input(url)
        elif (members := self._members(Folder(url))) is not None:
            yield from members
        else:
            folder = Folder(url)
            yield from (Input(folder.path_of(file), is_named=False) for file in folder.files())

    def _in_folder(self, name: str) -> Iterator[Input]:
        """Files of a folder but for hidden ones."""
        for folder, subfolders, files in os.walk(name):
            subfolders[:] = sorted(sub for sub in subfolders if not sub.startswith(".")) if self.recursive else []
            if (members := self._members(Folder(folder))) is not None:
                subfolders.clear()
                yield from members
                continue
            for file in sorted(files):
                path = Path(folder, file)
                if not file.startswith(".") and path.is_file():
                    yield Input(str(path), is_named=False)

    def _members(self, folder: Folder) -> list[Input] | None:
        """The files of a folder that is of one format as a whole; else None."""
        from thawline.formats import get, identify_folder

        claim = get(self.format_name).claim_folder(folder) if self.format_name else identify_folder(folder)
        if claim is None:
            return None
        found = get(claim.format, **self.settings)
        self.folders.append(Found(folder, found))
        return [Input(member.path, is_named=False, format=member.format) for member in found.members(folder)]

    def _matching(self, pattern: str) -> Iterator[Input]:
        found = sorted(glob.glob(pattern, recursive=True))  # noqa: PTH207 - `**` and hidden files as in a shell
        if not found:
            raise SourceError(f"{pattern}: no file matches")
        for path in found:
            yield from self._in_folder(path) if Path(path).is_dir() else [Input(path)]


def _remote_matches(pattern: str) -> list[str]:
    import fsspec

    try:
        filesystem, path = fsspec.url_to_fs(pattern)
        found = [filesystem.unstrip_protocol(match) for match in sorted(filesystem.glob(path))]
    except (OSError, ImportError, ValueError) as error:
        raise SourceError(f"{pattern}: {error}") from error
    if not found:
        raise SourceError(f"{pattern}: no file matches")
    return found
