"""The catalogue of a repository: its archives by name or id, their items, and the chunks behind them."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from types import TracebackType
from typing import Self

from thawline.errors import SourceError, ThawlineError
from thawline.folder import Folder
from thawline.formats.borg import Borg
from thawline.formats.borg.archives import Archive, Gap, Item, read_archive, read_items
from thawline.formats.borg.check import SEALED_NAMES
from thawline.formats.borg.naming import HEX_ID
from thawline.formats.borg.repository import Repository, is_repository
from thawline.formats.borg.store import Encrypted, LostChunk, Store
from thawline.formats.contract import Depth
from thawline.source import open_source
from thawline.wording import printable

SHORTEST_PREFIX = 4
MOST_NAMES = 50


class NoSuchArchive(ThawlineError):
    """No archive is called that, or more than one is."""


@dataclass(frozen=True, slots=True)
class LostArchive:
    """A pointer in archives/ to an archive that cannot be read."""

    id: str
    reason: str


class Catalogue:
    """An open repository.

    The headers of all packs are read first, which is quick; what chunks hold is checked when they are asked for.
    `Encrypted` if only the key opens them.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.repository = repository_at(path)
        self.format = Borg()
        paths = locate(self.repository, self.format)
        sealed = self.format.ledger.modes & SEALED_NAMES
        if sealed:
            mode = ", ".join(sorted(sealed))
            raise Encrypted(f"{self.repository.path}: is encrypted (mode {mode}); what archives hold needs the key")
        self.store = Store(self.format.ledger.table(), paths, self.repository.version)

    def archives(self) -> Iterator[Archive | LostArchive]:
        """The archives that have not been deleted, oldest first; those that cannot be read last."""
        found, lost = [], []
        for archive_id, is_deleted in self.repository.archives.items():
            if is_deleted or not HEX_ID.fullmatch(archive_id):
                continue
            try:
                found.append(read_archive(self.store, archive_id))
            except LostChunk as error:
                lost.append(LostArchive(archive_id, error.message))
        yield from sorted(found, key=lambda archive: (str(archive.time), archive.name, archive.id))
        yield from lost

    def find(self, name: str) -> Archive:
        """The archive of a name, or of an id or the first digits of one; `NoSuchArchive` says what there is."""
        every = [archive for archive in self.archives() if isinstance(archive, Archive)]
        by_id = [archive for archive in every if len(name) >= SHORTEST_PREFIX and archive.id.startswith(name)]
        found = [archive for archive in every if archive.name == name] or by_id
        if len(found) == 1:
            return found[0]
        if found:
            ids = ", ".join(archive.id[:12] for archive in found[:MOST_NAMES])
            raise NoSuchArchive(f"{len(found)} archives are called {name!r}; name one by its id: {ids}")
        others = list(dict.fromkeys(archive.name for archive in every))
        names = ", ".join(map(printable, others[:MOST_NAMES])) + (", …" if len(others) > MOST_NAMES else "")
        raise NoSuchArchive(f"there is no archive {name!r}; there are {names or 'none that can be read'}")

    def items(self, archive: Archive) -> Iterator[Item | Gap]:
        """The items of an archive, and a gap for each part of their list that is lost."""
        return read_items(self.store, archive)

    def close(self) -> None:
        """Let go of the packs."""
        self.store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def repository_at(path: str | os.PathLike[str]) -> Repository:
    """The repository in a folder; `SourceError` if there is none that can be read."""
    folder = Folder(os.fspath(path))
    if not is_repository(folder):
        raise SourceError(f"{folder.path}: is no Borg 2 repository: it has no config/ with packs/ and archives/")
    repository = Repository(folder)
    if repository.is_old:
        raise SourceError(f"{folder.path}: is a repository from before packs, {repository.generation}; not read here")
    return repository


def locate(repository: Repository, borg: Borg, *, contents: bool = False) -> dict[str, str]:
    """Enter all packs into the ledger of a format; their paths by id."""
    for member in borg.members(repository.folder):
        with open_source(member.path) as source:
            deque(member.format.kind_of(source).walk(source, Depth.EVERYTHING if contents else Depth.HEADS), maxlen=0)
    return {pack.name: pack.path for pack in repository.packs if pack.is_placed}
