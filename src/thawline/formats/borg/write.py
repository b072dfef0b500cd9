"""New files: packs that name themselves, index files, and the files of an archive.

Nothing is written into a repository, nor outside of the target folder, nor through a link, nor a file with a hole.
Archives are hostile input: the path of an item may be absolute, climb out of the folder, be too long, occur twice, or
go through a link that an earlier item made. So every folder on a path is checked before use; links are made after all
files, and only those that lead below the target folder. An item that cannot be written is named; the others are.
"""

from __future__ import annotations

import errno
import hashlib
import os
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import IO, TYPE_CHECKING, Any, Literal, Self

import blake3

from thawline.errors import SourceError, ThawlineError
from thawline.formats.borg.archives import Gap, Item, LostChunk, Store
from thawline.formats.borg.blobs import (
    ENVELOPES,
    HASHES,
    HEADER_SIZE,
    HEX_ID,
    ID_SIZE,
    LARGEST_OBJECT,
    NONE_BLAKE3,
    NONE_SHA256,
    VERSION_1,
    VERSION_2,
    Mode,
    Rule,
    Slots,
    pack_header,
    tag_input,
)
from thawline.formats.borg.folder import Repository
from thawline.formats.borg.index import LARGEST_OFFSET, ChunkIndex, write_index
from thawline.outputs import replacing

if TYPE_CHECKING:
    from typing_extensions import Buffer  # collections.abc has it from Python 3.12 on

__all__ = ["KEYLESS", "BadBlob", "NeedsKey", "PackWriter", "Placed", "enveloped", "extract", "write_for_borg"]

IN_MEMORY = 64 << 20
"""Bytes of a pack that are held in memory before they go to a temporary file."""
KEYLESS: dict[tuple[int, str], tuple[int, Mode]] = {
    **{(1, mode.name): (key_type, mode) for key_type, mode in VERSION_1.items() if not mode.is_sealed},
    **{(2, mode.name): (kind, mode) for kind, mode in VERSION_2[4].items() if mode in (NONE_SHA256, NONE_BLAKE3)},
}
"""Key types by object version and name of the mode, where envelopes can be made without the key."""
NAMING: dict[str, Callable[[], Any]] = {"sha256": hashlib.sha256, "blake3": blake3.blake3}
"""The hash of a pack as it is written, by the rule that names it."""
PLAIN_INDEX = 4
"""The repository version whose index files are plain; version 5 keeps them in the envelope of the key."""


class BadBlob(ThawlineError, ValueError):
    """A blob that no pack can hold."""


@dataclass(frozen=True, slots=True)
class Placed:
    """Where a blob lies in the pack."""

    chunk_id: bytes
    offset: int
    size: int


class PackWriter:
    r"""A pack to add blobs to; it appears in its folder, under its name, when it is closed.

    The slots of a blob are given as they are to be stored, in the envelopes of their mode. The name follows from the
    rule: `blake3` (2.0.0b25) or `sha256` (b22 to b24) of the pack, the `chunk_id` of its only blob (development
    versions of June 2026), or, with `none`, a name that is given.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder, PackWriter(folder, rule="chunk_id", version=1) as pack:
    ...     placed = pack.add(bytes(32), b"\2meta", b"\2data")
    ...     path = pack.close()
    >>> placed.size, path.name == "00" * 32
    (59, True)
    """

    def __init__(
        self, folder: str | os.PathLike[str], *, rule: Rule = "blake3", version: int = 2, name: str | None = None
    ) -> None:
        _check_version(version)
        if (rule == "none") != (name is not None):
            raise BadBlob("rule none needs a name, and no other rule takes one")
        self.folder, self.rule, self.version, self.name = Path(folder), rule, version, name
        self.blobs: list[Placed] = []
        """What has been added, in order."""
        self.size = 0
        self._hash: Any = NAMING[rule]() if rule in NAMING else None
        self._file: IO[bytes] | None = tempfile.SpooledTemporaryFile(IN_MEMORY)  # noqa: SIM115 - closed by close
        self._path: Path | None = None

    def add(self, chunk_id: bytes, meta: Buffer, data: Buffer, *, version: int | None = None) -> Placed:
        """Add a blob, of the pack's object version unless another is given; where it lies in the pack."""
        slots = [memoryview(slot).cast("B") for slot in (meta, data)]
        version = self.version if version is None else version
        _check_version(version)
        self._check(chunk_id, *map(len, slots))
        header = pack_header(version, chunk_id, *map(len, slots))
        placed = Placed(chunk_id, self.size, HEADER_SIZE + sum(map(len, slots)))
        self._write(header)
        for slot in slots:
            self._write(slot)
        self.blobs.append(placed)
        return placed

    def _check(self, chunk_id: bytes, len_meta: int, len_data: int) -> None:
        if len(chunk_id) != ID_SIZE:
            raise BadBlob(f"a chunk_id has {ID_SIZE} bytes, not {len(chunk_id)}")
        if not len_meta or not len_data:
            raise BadBlob("a slot has at least the byte that names its mode")
        if HEADER_SIZE + len_meta + len_data > LARGEST_OBJECT:
            raise BadBlob(f"a blob may have {LARGEST_OBJECT} bytes, this one has {HEADER_SIZE + len_meta + len_data}")
        if self.size > LARGEST_OFFSET:
            raise BadBlob(f"a blob at {self.size:#x} cannot be indexed: an index has 32 bits for its offset")
        if self.rule == "chunk_id" and self.blobs:
            raise BadBlob("a pack that is named by its chunk_id holds one blob")

    def _write(self, part: bytes | memoryview) -> None:
        if self._file is None:
            raise BadBlob("the pack is closed")
        self._file.write(part)
        self.size += len(memoryview(part))
        if self._hash is not None:
            self._hash.update(part)

    def pack_id(self) -> str:
        """The name of a pack of what was added so far."""
        match self.rule:
            case "none":
                return str(self.name)
            case "chunk_id":
                if not self.blobs:
                    raise BadBlob("a pack that is named by its chunk_id holds one blob")
                return self.blobs[0].chunk_id.hex()
        digest: str = self._hash.hexdigest()
        return digest

    def close(self) -> Path:
        """Write the pack under its name; its path. An existing pack with the same bytes is left as it is."""
        if self._path is None:
            target = self.folder / self.pack_id()
            if not self._is_there(target):
                self._save(target)
            self._path = target
        self.discard()
        return self._path

    def _is_there(self, target: Path) -> bool:
        if self.rule not in HASHES or not HEX_ID.fullmatch(target.name):
            return False
        try:
            return HASHES[self.rule](memoryview(target.read_bytes())).hex() == target.name
        except OSError:
            return False

    def _save(self, target: Path) -> None:
        if self._file is None:
            raise SourceError(f"{target}: the pack was discarded")
        self._file.seek(0)
        with replacing(target) as file:
            shutil.copyfileobj(self._file, file, 1 << 20)

    def discard(self) -> None:
        """Drop what was added and is not written."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Write the pack, unless there was an error."""
        if kind is None:
            self.close()
        else:
            self.discard()


def _check_version(version: int) -> None:
    if version not in ENVELOPES:
        raise BadBlob(f"object version {version} is not known; there are 1 and 2")


def enveloped(version: int, mode_name: str, chunk_id: bytes, meta: bytes, data: bytes) -> tuple[bytes, bytes] | None:
    r"""The slots of a blob around their payloads; None where that needs the key.

    >>> enveloped(1, "none", bytes(32), b"meta", b"data")
    (b'\x02meta', b'\x02data')
    >>> enveloped(2, "aes256-ocb", bytes(32), b"meta", b"data") is None
    True
    """
    if (version, mode_name) not in KEYLESS:
        return None
    key_type, mode = KEYLESS[version, mode_name]
    if mode.tag_hash is None:
        return bytes([key_type]) + meta, bytes([key_type]) + data
    slots = Slots(version, chunk_id, key_type, None, meta, None, data)
    tags = (mode.tag_hash(tag_input(slots, slot) + payload) for slot, payload in ((b"M", meta), (b"D", data)))
    first, second = (bytes([key_type, 0]) + tag for tag in tags)
    return first + meta, second + data


class NeedsKey(ThawlineError):
    """An index file that only the holder of the key can write."""


def write_for_borg(repository: Repository, found: ChunkIndex, folder: Path) -> Path:
    """Write an index file that borg accepts, under the name that its content gives it, into another folder."""
    if repository.version != PLAIN_INDEX:
        raise NeedsKey(
            f"{repository.path}: is {repository.generation}, which keeps index files in the envelope of its key. "
            f"Borg itself rebuilds an index that is missing: move index/* and cache/* away and run borg check. "
            f"The same as data: --rebuild OUT.parquet or OUT.jsonl"
        )
    repository.refuse_inside(folder)
    return write_index(folder, found.places, repository.version)


Outcome = Literal["written", "folder", "linked", "refused", "damaged", "skipped", "failed", "kept"]
"""`refused`: may not be written. `failed`: cannot be written. `kept`: existed before."""
PERMISSIONS = 0o777
"""Mode bits that are restored; set-user-id and the like are not."""
LONGEST_PATH = 4096
"""Bytes of a path on Linux."""
DISK = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EROFS})
"""Errors that concern every item: no other one could be written either."""
PROTECTED = frozenset({errno.EACCES, errno.EPERM, errno.EIO})


@dataclass(frozen=True, slots=True)
class Extracted:
    """What became of an item."""

    path: str
    outcome: Outcome
    size: int = 0
    why: str = ""
    is_denied: bool = False
    """Whether the system refused to write it, so that the archive is not at fault."""


class BadPath(ValueError):
    """A path that does not lead into the target folder."""


class NoPlace(ValueError):
    """A path that nothing can be written to."""


def extract(
    store: Store, items: Iterable[Item | Gap], target: Path, *, overwrite: bool = False, links: bool = False
) -> Iterator[Extracted]:
    """Write items below a folder, and tell what became of each; `SourceError` if the disk takes no more."""
    yield from _Extraction(store, target, overwrite=overwrite, links=links).run(items)


@dataclass(slots=True)
class _Extraction:
    store: Store
    target: Path
    overwrite: bool
    links: bool
    made: set[Path] = field(default_factory=set)
    """What this extraction has written: a path that occurs twice is not written twice."""
    folders: list[tuple[Path, Item]] = field(default_factory=list)
    waiting: list[Item] = field(default_factory=list)
    """Links, which are made last, so that no file is written through one."""

    def run(self, items: Iterable[Item | Gap]) -> Iterator[Extracted]:
        """All items, files first."""
        for item in items:
            if isinstance(item, Gap):
                yield Extracted("", "damaged", why=f"some items are lost: {item.reason}")
            elif item.kind == "link" and self.links:
                self.waiting.append(item)
            else:
                yield self._done(item)
        for item in self.waiting:
            yield self._done(item)
        for place, item in reversed(self.folders):  # last: every file written to a folder changes its time
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
        """What becomes of an item whose place is taken; None if the place is free or may be overwritten."""
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
        """The file, after all its chunks have been read and have the sizes that the item says."""
        with replacing(place, overwrite=self.overwrite) as file:
            for chunk_id, size in item.chunks:
                file.write(self.store.get_sized(chunk_id, size))
        self.made.add(place)
        _restore(place, item)
        return Extracted(item.path, "written", sum(size for _, size in item.chunks))

    def _link(self, item: Item, place: Path) -> Extracted:
        check_link(item.path, item.target)
        place.unlink(missing_ok=True)  # _kept has found that it may be overwritten
        place.symlink_to(item.target)
        self.made.add(place)
        return Extracted(item.path, "linked")


def place_of(target: Path, path: str, *, is_link: bool = False) -> Path:
    r"""Where an item belongs; `BadPath` unless that is below the target and no folder on the way is a link.

    The place itself may be a link if the item is one.

    >>> place_of(Path("out"), "../etc/passwd")
    Traceback (most recent call last):
    ...
    thawline.formats.borg.write.BadPath: leads out of the target folder
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
    """Raise `BadPath` unless a link leads below the folder that its path is relative to.

    `..` may only come first: a name before it may be a link, and then the target is unknown.

    >>> check_link("a/b", "../c/d")
    >>> check_link("a/b", "../../c")
    Traceback (most recent call last):
    ...
    thawline.formats.borg.write.BadPath: is a link to ../../c, which leads out of the target folder
    """
    parts = parts_of(target)
    up = next((number for number, part in enumerate(parts) if part != ".."), len(parts))
    if not target or "\0" in target:
        raise BadPath("is a link to nowhere")
    if Path(target).is_absolute() or up > len(parts_of(path)) - 1 or ".." in parts[up:]:
        raise BadPath(f"is a link to {target}, which leads out of the target folder")


def _make_folder(target: Path, place: Path) -> None:
    """Make a folder and those above it; `NoPlace` where one of them is a file."""
    try:
        place.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError) as error:
        above = (folder for folder in (*reversed(place.parents), place) if folder.is_file())
        blocking = next((folder.relative_to(target) for folder in above if folder.is_relative_to(target)), target)
        raise NoPlace(f"needs a folder where {blocking} is a file") from error


def _restore(place: Path, item: Item) -> None:
    """Restore permissions and time of a file or folder, where the system allows it."""
    if place.is_symlink():
        return
    with suppress(OSError):
        place.chmod((item.mode & PERMISSIONS) | (0o700 if item.kind == "folder" else 0o600))
    if item.mtime is not None:
        with suppress(OSError, OverflowError):
            os.utime(place, ns=(item.mtime, item.mtime))
