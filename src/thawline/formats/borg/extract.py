"""Files of an archive written to a folder: never outside of it, never through a link, never with a hole.

Archives are input like any other: an item's path may be absolute, climb out of the folder, be too long, be there twice,
or go through a link that an earlier item made. So a path is taken apart and each folder on it looked at before use;
links are made when all files are there, and only those that lead to somewhere below the folder. An item that cannot be
written is named, and the others are.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from thawline.formats.borg.archives import Gap, Item
from thawline.formats.borg.store import LostChunk, Store
from thawline.outputs import replacing

Outcome = Literal["written", "folder", "linked", "refused", "damaged", "skipped", "failed", "kept"]
"""`refused` is what may not be written, `failed` what cannot be, `kept` what was there before."""
PERMISSIONS = 0o777
"""Bits that are kept: set-user-id and its like do not belong on files that somebody else is to look at."""
LONGEST_PATH = 4096
"""Bytes of a path, as Linux has it."""
DISK = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EROFS})
"""Errors that are none of the item: with these, no other one can be written either."""
PROTECTED = frozenset({errno.EACCES, errno.EPERM, errno.EIO})


@dataclass(frozen=True, slots=True)
class Extracted:
    """What became of an item."""

    path: str
    outcome: Outcome
    size: int = 0
    why: str = ""
    is_denied: bool = False
    """Whether the system did not let us write it, so that it is no fault of the archive."""


class BadPath(ValueError):
    """A path that does not lead into the target folder."""


class NoPlace(ValueError):
    """A path that nothing can be written to."""


def extract(
    store: Store, items: Iterable[Item | Gap], target: Path, *, overwrite: bool = False, links: bool = False
) -> Iterator[Extracted]:
    """Write items below a folder, and say of each what became of it; `SourceError` if the disk takes no more."""
    yield from _Extraction(store, target, overwrite=overwrite, links=links).run(items)


@dataclass(slots=True)
class _Extraction:
    store: Store
    target: Path
    overwrite: bool
    links: bool
    made: set[Path] = field(default_factory=set)
    """What this extraction has written: a path that is there twice is not written twice."""
    folders: list[tuple[Path, Item]] = field(default_factory=list)
    waiting: list[Item] = field(default_factory=list)
    """Links, which are made last, so that no file is written through one."""

    def run(self, items: Iterable[Item | Gap]) -> Iterator[Extracted]:
        """Everything, files first."""
        for item in items:
            if isinstance(item, Gap):
                yield Extracted("", "damaged", why=f"some items are lost: {item.reason}")
            elif item.kind == "link" and self.links:
                self.waiting.append(item)
            else:
                yield self._done(item)
        for item in self.waiting:
            yield self._done(item)
        for place, item in reversed(self.folders):  # last, because whatever is written to a folder changes its time
            _restore(place, item)

    def _done(self, item: Item) -> Extracted:
        try:
            place = place_of(self.target, item.path, is_link=item.kind == "link")
            return self._extracted(item, place)
        except BadPath as error:
            return Extracted(item.path, "refused", why=str(error))
        except NoPlace as error:
            return Extracted(item.path, "failed", why=str(error))
        except LostChunk as error:
            return Extracted(item.path, "damaged", why=error.message)
        except OSError as error:
            if error.errno in DISK or error.errno is None:
                raise
            reason = (error.strerror or str(error)).removeprefix(f"{self.target / item.path}: ")
            return Extracted(item.path, "failed", why=reason, is_denied=error.errno in PROTECTED)

    def _extracted(self, item: Item, place: Path) -> Extracted:
        match item.kind:
            case "folder":
                _make_folder(self.target, place)
                self.folders.append((place, item))
                return Extracted(item.path, "folder")
            case "link" if not self.links:
                why = f"is a link to {item.target}; links are made with --links only"
                return Extracted(item.path, "refused", why=why)
            case "file" | "link":
                _make_folder(self.target, place.parent)
                if kept := self._kept(item, place):
                    return kept
                return self._write(item, place) if item.kind == "file" else self._link(item, place)
        return Extracted(item.path, "skipped", why=f"is a {item.kind}")

    def _kept(self, item: Item, place: Path) -> Extracted | None:
        """What becomes of an item whose place is taken; None if it is free, or may be."""
        if place in self.made:
            raise NoPlace("is in the archive twice; the first one is kept")
        if not os.path.lexists(place):
            return None
        if not place.is_symlink() and not place.is_file():
            raise NoPlace("is a folder already" if place.is_dir() else "is there already, and no regular file")
        if not self.overwrite:
            return Extracted(item.path, "kept", why="is there already and is not overwritten; --overwrite replaces it")
        return None

    def _write(self, item: Item, place: Path) -> Extracted:
        """The file, once all its chunks have been read and have the sizes that the item says."""
        with replacing(place, overwrite=self.overwrite) as file:
            for chunk_id, size in item.chunks:
                file.write(self.store.get_sized(chunk_id, size))
        self.made.add(place)
        _restore(place, item)
        return Extracted(item.path, "written", sum(size for _, size in item.chunks))

    def _link(self, item: Item, place: Path) -> Extracted:
        check_link(item.path, item.target)
        place.unlink(missing_ok=True)  # what is there may be overwritten
        place.symlink_to(item.target)
        self.made.add(place)
        return Extracted(item.path, "linked")


def place_of(target: Path, path: str, *, is_link: bool = False) -> Path:
    r"""Where an item belongs; `BadPath` unless that is below the target, by way of no link; it may be one, if it is.

    >>> place_of(Path("out"), "../etc/passwd")
    Traceback (most recent call last):
    ...
    thawline.formats.borg.extract.BadPath: leads out of the target folder
    """
    if "\0" in path:
        raise BadPath("holds a zero byte")
    if path.startswith(("/", "\\")) or Path(path).is_absolute() or path[1:2] == ":":
        raise BadPath("is absolute")
    if len(path) > LONGEST_PATH:
        raise NoPlace("is longer than any path may be")
    parts = parts_of(path)
    if ".." in parts:
        raise BadPath("leads out of the target folder")
    if not parts and path != ".":
        raise NoPlace("is a path without a name")
    place = target
    for number, part in enumerate(parts, 1):
        place /= part
        if place.is_symlink() and not (is_link and number == len(parts)):
            raise BadPath(f"goes through {place}, which is a link")
    return place


def parts_of(path: str) -> list[str]:
    """The names in a path."""
    return [part for part in path.replace(os.sep, "/").split("/") if part not in {"", "."}]


def check_link(path: str, target: str) -> None:
    """Raise `BadPath` unless a link leads to somewhere below the folder that its path is below.

    `..` may stand at its beginning only: behind a name, which may be a link itself, nobody knows where it leads.

    >>> check_link("a/b", "../c/d")
    >>> check_link("a/b", "../../c")
    Traceback (most recent call last):
    ...
    thawline.formats.borg.extract.BadPath: is a link to ../../c, which leads out of the target folder
    """
    parts = parts_of(target)
    up = next((number for number, part in enumerate(parts) if part != ".."), len(parts))
    if not target or "\0" in target:
        raise BadPath("is a link to nowhere")
    if Path(target).is_absolute() or up > len(parts_of(path)) - 1 or ".." in parts[up:]:
        raise BadPath(f"is a link to {target}, which leads out of the target folder")


def _make_folder(target: Path, place: Path) -> None:
    """A folder with those above it; `NoPlace` where one of them is a file."""
    try:
        place.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError) as error:
        above = (folder for folder in (*reversed(place.parents), place) if folder.is_file())
        blocking = next((folder.relative_to(target) for folder in above if folder.is_relative_to(target)), target)
        raise NoPlace(f"needs a folder where {blocking} is a file") from error


def _restore(place: Path, item: Item) -> None:
    """Permissions and time of a file or folder, where the system lets us."""
    if place.is_symlink():
        return
    with suppress(OSError):
        place.chmod((item.mode & PERMISSIONS) | (0o700 if item.kind == "folder" else 0o600))
    if item.mtime is not None:
        with suppress(OSError, OverflowError):
            os.utime(place, ns=(item.mtime, item.mtime))
