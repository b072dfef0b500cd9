"""Files of an archive written to a folder: never outside of it, never through a link, never with a hole.

Archives are input like any other: an item's path may be absolute, climb out of the folder, or go through a link that an
earlier item made. So no link is ever made, and a path is taken apart and each folder on it looked at before use.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from thawline.errors import SourceError
from thawline.formats.borg.archives import Gap, Item
from thawline.formats.borg.store import LostChunk, Store
from thawline.outputs import replacing

Outcome = Literal["written", "folder", "refused", "damaged", "skipped"]
PERMISSIONS = 0o777
"""Bits that are kept: set-user-id and its like do not belong on files that somebody else is to look at."""


@dataclass(frozen=True, slots=True)
class Extracted:
    """What became of an item."""

    path: str
    outcome: Outcome
    size: int = 0
    why: str = ""


class BadPath(ValueError):
    """A path that does not lead into the target folder."""


def extract(store: Store, items: Iterable[Item | Gap], target: Path, *, overwrite: bool = False) -> Iterator[Extracted]:
    """Write items below a folder, and say of each what became of it."""
    folders: list[tuple[Path, Item]] = []
    for item in items:
        if isinstance(item, Gap):
            yield Extracted("", "damaged", why=f"some items are lost: {item.reason}")
            continue
        try:
            place = place_of(target, item.path)
            yield _extracted(store, item, place, overwrite=overwrite)
            folders += [(place, item)] if item.kind == "folder" else []
        except BadPath as error:
            yield Extracted(item.path, "refused", why=str(error))
    for place, item in reversed(folders):  # last, because every file that is written to a folder changes its time
        _restore(place, item)


def _extracted(store: Store, item: Item, place: Path, *, overwrite: bool) -> Extracted:
    match item.kind:
        case "folder":
            _make_folder(place)
            return Extracted(item.path, "folder")
        case "file":
            _make_folder(place.parent)
            return _write(store, item, place, overwrite=overwrite)
        case "link":
            return Extracted(item.path, "refused", why=f"is a link to {item.target}; links are not made")
    return Extracted(item.path, "skipped", why=f"is a {item.kind}")


def place_of(target: Path, path: str) -> Path:
    r"""Where an item belongs; `BadPath` unless that is below the target, by way of no link.

    >>> place_of(Path("out"), "../etc/passwd")
    Traceback (most recent call last):
    ...
    thawline.formats.borg.extract.BadPath: leads out of the target folder
    """
    if "\0" in path:
        raise BadPath("holds a zero byte")
    if path.startswith(("/", "\\")) or Path(path).is_absolute() or path[1:2] == ":":
        raise BadPath("is absolute")
    parts = [part for part in path.replace(os.sep, "/").split("/") if part not in {"", "."}]
    if ".." in parts:
        raise BadPath("leads out of the target folder")
    place = target
    for part in parts:
        place /= part
        if place.is_symlink():
            raise BadPath(f"goes through {place}, which is a link")
    return place


def _make_folder(place: Path) -> None:
    try:
        place.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise SourceError(error.errno, f"{place}: cannot be made: {error.strerror}") from error


def _write(store: Store, item: Item, place: Path, *, overwrite: bool) -> Extracted:
    """The file, once all its chunks have been read and have the sizes that the item says."""
    try:
        with replacing(place, overwrite=overwrite) as file:
            for chunk_id, size in item.chunks:
                file.write(store.get_sized(chunk_id, size))
    except LostChunk as error:
        return Extracted(item.path, "damaged", why=str(error))
    _restore(place, item)
    return Extracted(item.path, "written", sum(size for _, size in item.chunks))


def _restore(place: Path, item: Item) -> None:
    """Permissions and time of a file or folder, where the system lets us."""
    with suppress(OSError):
        place.chmod((item.mode & PERMISSIONS) | (0o700 if item.kind == "folder" else 0o600))
    if item.mtime is not None:
        with suppress(OSError, OverflowError):
            os.utime(place, ns=(item.mtime, item.mtime))
