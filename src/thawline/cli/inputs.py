"""The files that a command line names: paths, globs, folders, URLs, and `-` for stdin.

Files of a folder that form a group, such as those of a Kafka partition, are read as members of it. Every other file is
read singly, or listed with the reason why it is not read.
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
    """A file to read, and whether it was named or found in a folder."""

    path: str
    is_named: bool = True
    format: Format | None = None
    """The format of a member of a group, with the facts that its folder provides."""


class Inputs:
    """The inputs of a command in the order of its arguments; those of a folder or a glob are sorted by name."""

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
        """Files beside the members of groups, which have no rows in their tables."""
        self.files = [file for name in names for file in self._expand(name)]
        if sum(file.path == STDIN for file in self.files) > 1:
            raise SourceError("stdin (-) can be read only once")

    def _expand(self, name: str) -> Iterator[Input]:
        if name == STDIN:
            yield Input(name)
        elif "://" in name:
            yield from self._remote(name)
        elif os.path.isdir(name):  # noqa: PTH112 - Path.is_dir raises if permission is denied
            yield from self._in_folder(name)
        elif glob.has_magic(name) and not os.path.lexists(name):
            # The shell did not expand the pattern. A file with that exact name takes precedence.
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
        """Every file below a folder; adds groups, the files beside their members, and unread files to their lists."""
        from thawline.files import Tree

        tree = Tree(self.recursive, self.format_name, self.settings)
        for item in tree.below(Folder(name)):
            if isinstance(item, Unread):
                self.unread.append(item)
            elif isinstance(item, File):
                yield Input(item.path, is_named=False)
            else:
                self.groups.append(item)
                beside = item.held.keys() - {member.path for member in item.members}
                self.sides += [Input(path, is_named=False) for path in sorted(beside)]
                yield from (Input(member.path, is_named=False, format=member.format) for member in item.members)

    def _matching(self, pattern: str) -> Iterator[Input]:
        matches = sorted(glob.glob(pattern, recursive=True))  # noqa: PTH207 - `**` and hidden files as in a shell
        if not matches:
            raise SourceError(f"{pattern}: no file matches")
        for path in matches:
            yield from self._in_folder(path) if os.path.isdir(path) else [Input(path)]  # noqa: PTH112 - as above


def _remote_matches(pattern: str) -> list[str]:
    filesystem, path = filesystem_of(pattern)
    try:
        matches = [filesystem.unstrip_protocol(match) for match in sorted(filesystem.glob(path))]
    except Exception as error:  # stores raise errors of any type, for example about missing credentials
        raise SourceError(f"{pattern}: {error}") from error
    if not matches:
        raise SourceError(f"{pattern}: no file matches")
    return matches
