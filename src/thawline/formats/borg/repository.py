"""A Borg repository as a folder: which generation it is, its packs, and what its index says."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from pathlib import Path

import pyarrow as pa

from thawline.errors import SourceError
from thawline.folder import Folder
from thawline.formats.borg.index import read_index, table_start
from thawline.formats.borg.naming import HEX_ID, id_in
from thawline.formats.borg.rows import INDEX
from thawline.formats.borg.walk import Located

PACKS, INDEXES, ARCHIVES, CONFIG, DATA, CACHE = "packs", "index", "archives", "config", "data", "cache"
OLD_INDEX = "chunks."
"""Development versions of June 2026 kept the index in cache/, under this prefix."""
DELETED = ".del"
MANIFEST = "manifest"
BEFORE_PACKS = 3
DEPTH = 2
"""Folders between a repository and a pack: packs/ab/PACK."""
LARGEST_CONFIG = 1 << 20
LONGEST_VALUE = 1 << 10
"""Letters of what is taken from a configuration: a version, an id."""
LATEST_VERSION = 999


@dataclass(frozen=True, slots=True)
class PackFile:
    """A file in packs/."""

    name: str
    path: str
    size: int
    is_placed: bool
    """Whether it is named by an id and lies in the folder of that id's first two digits."""


@dataclass(frozen=True)
class Repository:
    """A repository, looked at as little as is needed."""

    folder: Folder

    @property
    def path(self) -> str:
        """Where it lies."""
        return self.folder.path

    @cached_property
    def config(self) -> dict[str, str]:
        """What the configuration says; without `version` if there is none that can be read."""
        folder = self.folder.folder(CONFIG)
        if CONFIG not in self.folder.subfolders():
            return {}
        if folder.has("config"):
            return _ini(_text(folder, "config"))
        return {name: _text(folder, name).strip()[:LONGEST_VALUE] for name in ("version", "id") if folder.has(name)}

    @property
    def version(self) -> int | None:
        """The repository version: 4 for 2.0.0b22 to b24, 5 for b25."""
        text = self.config.get("version", "")
        is_number = text.isascii() and text.isdecimal() and len(text) <= len(str(LATEST_VERSION))
        return int(text) if is_number else None

    @property
    def is_old(self) -> bool:
        """Whether it is from before packs."""
        subfolders = self.folder.subfolders()
        return (self.version or BEFORE_PACKS + 1) <= BEFORE_PACKS or (DATA in subfolders and PACKS not in subfolders)

    @property
    def has_manifest(self) -> bool:
        """Whether there is a manifest, as up to b24."""
        return CONFIG in self.folder.subfolders() and self.folder.folder(CONFIG).has(MANIFEST)

    @property
    def generation(self) -> str:
        """The repository version and who writes such."""
        makers = {3: "2.0.0b21 and before", 4: "2.0.0b22 to b24", 5: "2.0.0b25"}
        if self.version is None:
            return "of unknown version"
        if any(name.startswith(OLD_INDEX) for name in self.index_files()) and not self.is_old:
            return f"version {self.version} (a development version of June 2026)"
        return f"version {self.version} ({makers.get(self.version, 'a borg that is not known here')})"

    @cached_property
    def packs(self) -> list[PackFile]:
        """Every file in packs/ and the folders in it, by name."""
        if PACKS not in self.folder.subfolders():
            return []
        packs = self.folder.folder(PACKS)
        found = [
            PackFile(name, sub.path_of(name), size, bool(HEX_ID.fullmatch(name)) and name.startswith(digits))
            for digits in packs.subfolders()
            for sub in [packs.folder(digits)]
            for name, size in sub.files().items()
        ]
        return found + [
            PackFile(name, packs.path_of(name), size, is_placed=False) for name, size in packs.files().items()
        ]

    def index_files(self) -> dict[str, Folder]:
        """Names of the index files, with the folder that each is in."""
        found: dict[str, Folder] = {}
        for name, prefix in ((INDEXES, ""), (CACHE, OLD_INDEX)):
            if name in self.folder.subfolders():
                folder = self.folder.folder(name)
                found |= {file: folder for file in folder.files() if file.startswith(prefix)}
        return found

    @cached_property
    def index(self) -> pa.Table:
        """All entries of all index files that can be read, each once."""
        tables = []
        for name, folder in self.index_files().items():
            with folder.open(name) as source:
                if table_start(source) is not None:
                    tables.append(read_index(source))
        whole = pa.concat_tables(tables) if tables else INDEX.empty_table()
        return whole.group_by(["chunk_id", "pack_id", "offset", "length"]).aggregate([]).sort_by("pack_id")

    @cached_property
    def _rows(self) -> dict[bytes, tuple[int, int]]:
        """The rows of the index that each pack has: the first, and how many."""
        counts = self.index["pack_id"].value_counts()
        sizes = dict(zip(counts.field("values").to_pylist(), counts.field("counts").to_pylist(), strict=True))
        names = sorted(sizes)
        firsts = accumulate((sizes[name] for name in names), initial=0)
        return {name: (first, sizes[name]) for name, first in zip(names, firsts, strict=False)}

    def located(self, pack_id: str) -> dict[int, Located]:
        """What the index says about one pack, by offset."""
        mine = self.index.slice(*self._rows.get(bytes.fromhex(pack_id), (0, 0)))
        rows = zip(*(mine[name].to_pylist() for name in ("offset", "chunk_id", "length")), strict=True)
        return {offset: Located(chunk_id, length) for offset, chunk_id, length in rows}

    def holdings(self) -> Iterator[str]:
        """Paths of the files that the check of a repository is about."""
        yield from (pack.path for pack in self.packs)
        for name in {CONFIG, INDEXES, CACHE, ARCHIVES} & set(self.folder.subfolders()):
            inside = self.folder.folder(name)
            yield from map(inside.path_of, inside.files())

    def refuse_inside(self, target: Path) -> None:
        """Raise `SourceError` if a path lies in the repository: that is never written to."""
        if "://" not in self.path and Path(self.path).resolve() in (target.resolve(), *target.resolve().parents):
            raise SourceError(f"{target}: lies in the repository, which is never written to; choose another folder")

    @cached_property
    def archives(self) -> dict[str, bool]:
        """Names of the files in archives/ without the mark of deleted ones, and whether they are deleted."""
        if ARCHIVES not in self.folder.subfolders():
            return {}
        files = self.folder.folder(ARCHIVES).files()
        return {name.removesuffix(DELETED): name.endswith(DELETED) for name in files}


def is_repository(folder: Folder) -> bool:
    """Whether a folder looks like a Borg 2 repository, from before packs or since."""
    subfolders = set(folder.subfolders())
    if CONFIG in subfolders and {PACKS, DATA, ARCHIVES} & subfolders:
        config = folder.folder(CONFIG)
        return config.has("version") or config.has("config")
    return {PACKS, ARCHIVES} <= subfolders


def repository_of(name: str) -> Repository | None:
    """The repository that a pack lies in, by its path; None if it lies in none."""
    if id_in(name) is None:
        return None
    path = Path(name)
    parents = path.parents if len(path.parents) > DEPTH else path.absolute().parents
    if "://" in name or len(parents) <= DEPTH or parents[1].name != PACKS:
        return None
    folder = Folder(str(parents[DEPTH]))
    try:
        return Repository(folder) if is_repository(folder) else None
    except SourceError:
        return None


def _text(folder: Folder, name: str) -> str:
    """What a small file says; nothing if it is none."""
    try:
        return folder.read(name, LARGEST_CONFIG).decode("utf-8", "replace")
    except SourceError:
        return ""


def _ini(text: str) -> dict[str, str]:
    """The section `repository` of a configuration: names and values, a line each.

    Not by configparser: it collects the lines that it cannot read in a text, which costs their number squared.
    """
    found: dict[str, str] = {}
    section = ""
    for line in map(str.strip, text.splitlines()):
        if line.startswith("[") and line.endswith("]"):
            section = line[1:-1]
        elif section == "repository" and "=" in line and not line.startswith(("#", ";")):
            name, _, value = line.partition("=")
            found[name.strip()[:LONGEST_VALUE].lower()] = value.strip()[:LONGEST_VALUE]
    return found
