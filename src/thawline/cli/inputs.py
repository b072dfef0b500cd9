"""The files that a command line names: paths, globs, folders, URLs, and `-` for stdin.

Files of a folder that belong together, such as those of a Kafka partition, are read as their format says; every other
file of it is read by itself, or kept with the reason why it is not.
"""

from __future__ import annotations

import glob
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from thawline.errors import SourceError
from thawline.folder import File, Folder, Unread
from thawline.source import STDIN, filesystem_of

if TYPE_CHECKING:
    from thawline.files import Group
    from thawline.formats import Format


@dataclass(frozen=True, slots=True)
class Input:
    """A file to read, and whether it was named itself or found in a folder."""

    path: str
    is_named: bool = True
    format: Format | None = None
    """The format, with what the folder says about the file, where it is one of a group."""


class Inputs:
    """The inputs of a command, in the order given, those of a folder or a glob sorted by name."""

    def __init__(
        self,
        names: Iterable[str],
        *,
        recursive: bool = True,
        format_name: str | None = None,
        settings: Mapping[str, object] | None = None,
    ) -> None:
        self.recursive, self.format_name, self.settings = recursive, format_name, settings or {}
        self.groups: list[Group] = []
        self.unread: list[Unread] = []
        self.sides: list[Input] = []
        """Files beside the members of groups, which hold no rows of theirs."""
        self.files = [found for name in names for found in self._expand(name)]
        if sum(found.path == STDIN for found in self.files) > 1:
            raise SourceError("stdin (-) can be read only once")

    def _expand(self, name: str) -> Iterator[Input]:
        if name == STDIN:
            yield Input(name)
        elif "://" in name:
            yield from self._remote(name)
        elif os.path.isdir(name):  # noqa: PTH112 - Path.is_dir raises where nothing may be looked at
            yield from self._in_folder(name)
        elif glob.has_magic(name) and not os.path.lexists(name):
            # The shell has left the pattern as it is, or was told to; a file of that very name comes first.
            yield from self._matching(name)
        else:
            yield Input(name)

    def _remote(self, url: str) -> Iterator[Input]:
        if glob.has_magic(url):
            yield from map(Input, _remote_matches(url))
        elif url.endswith("/"):
            yield from self._in_folder(url)
        else:
            yield Input(url)

    def _in_folder(self, name: str) -> Iterator[Input]:
        """Every file below a folder; what is not to be read is kept apart."""
        from thawline.files import Tree

        tree = Tree(self.recursive, self.format_name, self.settings)
        for found in tree.below(Folder(name)):
            if isinstance(found, Unread):
                self.unread.append(found)
            elif isinstance(found, File):
                yield Input(found.path, is_named=False)
            else:
                self.groups.append(found)
                beside = found.held.keys() - {member.path for member in found.members}
                self.sides += [Input(path, is_named=False) for path in sorted(beside)]
                yield from (Input(member.path, is_named=False, format=member.format) for member in found.members)

    def _matching(self, pattern: str) -> Iterator[Input]:
        found = sorted(glob.glob(pattern, recursive=True))  # noqa: PTH207 - `**` and hidden files as in a shell
        if not found:
            raise SourceError(f"{pattern}: no file matches")
        for path in found:
            yield from self._in_folder(path) if os.path.isdir(path) else [Input(path)]  # noqa: PTH112 - as above


def _remote_matches(pattern: str) -> list[str]:
    filesystem, path = filesystem_of(pattern)
    try:
        found = [filesystem.unstrip_protocol(match) for match in sorted(filesystem.glob(path))]
    except Exception as error:  # a store raises what it likes, such as that it has no credentials
        raise SourceError(f"{pattern}: {error}") from error
    if not found:
        raise SourceError(f"{pattern}: no file matches")
    return found
