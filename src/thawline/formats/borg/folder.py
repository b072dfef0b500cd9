"""A repository: its configuration, packs, index and archives, and the check of all of them against each other.

Borg stores a pack first, then the index file that names its chunks, then the archive pointer. What a crash between two
of these steps leaves is harmless, and the check says so.
"""

from __future__ import annotations

import os
from bisect import bisect_right
from collections import deque
from collections.abc import Generator, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate
from pathlib import Path
from types import TracebackType
from typing import Self

import pyarrow as pa
import pyarrow.compute as pc

from thawline.errors import SourceError, ThawlineError
from thawline.folder import Folder
from thawline.formats.borg import findings as codes
from thawline.formats.borg.archives import Archive, Encrypted, Gap, Item, LostChunk, Store, read_archive, read_items
from thawline.formats.borg.blobs import HASH_RULES, HEX_ID, SEALED_NAMES, id_in
from thawline.formats.borg.index import PLACE, read_index, table_start
from thawline.formats.borg.rows import Ledger, Pack, Stretch, proven_pack, unproven_pack
from thawline.formats.borg.walk import Located, Walk
from thawline.formats.contract import Depth
from thawline.generated.tables.borg import INDEX
from thawline.model import Code, Finding, Span
from thawline.source import Source, open_source
from thawline.wording import counted, grouped, printable, quoted

PACKS, INDEXES, ARCHIVES, CONFIG, DATA, CACHE = "packs", "index", "archives", "config", "data", "cache"
KEYS, LOCKS = "keys", "locks"
"""Folders of files that hold no data: keys behind a passphrase, and who works on the repository."""
OLD_INDEX = "chunks."
"""Development versions of June 2026 kept the index in cache/, under this prefix."""
DELETED = ".del"
MANIFEST = "manifest"
BEFORE_PACKS = 3
MAKERS = {3: "2.0.0b21 and before", 4: "2.0.0b22 to b24", 5: "2.0.0b25"}
DEPTH = 2
"""Folders between a repository and a pack: packs/ab/PACK."""
LARGEST_CONFIG = 1 << 20
LONGEST_VALUE = 1 << 10
"""Characters that are taken of a value in the configuration."""
LATEST_VERSION = 999
NAMED_FILES, NAMED_ARCHIVES = 20, 50
"""How many files with lost chunks, or archives, a message names."""
SHORTEST_PREFIX = 4
"""Digits of an id that are enough to name an archive."""
WHOLE = Span(0, 0)
"""The span of findings about a repository as a whole."""


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
    """A repository; each part of it is read on first use."""

    folder: Folder

    @property
    def path(self) -> str:
        """Where it lies."""
        return self.folder.path

    @cached_property
    def config(self) -> dict[str, str]:
        """The values of the configuration; without `version` if it cannot be read."""
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
        """The repository version, and which borg writes it."""
        if self.version is None:
            return "of unknown version"
        if any(name.startswith(OLD_INDEX) for name in self.index_files()) and not self.is_old:
            return f"version {self.version} (a development version of June 2026)"
        return f"version {self.version} ({MAKERS.get(self.version, 'a borg that is not known here')})"

    @cached_property
    def packs(self) -> list[PackFile]:
        """Every file in packs/ and its subfolders, by name."""
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

    @property
    def paths(self) -> dict[str, str]:
        """Paths of the packs by id."""
        return {pack.name: pack.path for pack in self.packs if pack.is_placed}

    def index_files(self) -> dict[str, Folder]:
        """Names of the index files, each with its folder."""
        found: dict[str, Folder] = {}
        for name, prefix in ((INDEXES, ""), (CACHE, OLD_INDEX)):
            if name in self.folder.subfolders():
                folder = self.folder.folder(name)
                found |= {file: folder for file in folder.files() if file.startswith(prefix)}
        return found

    @cached_property
    def index(self) -> pa.Table:
        """All entries of all readable index files, each once, by pack and offset."""
        tables = []
        for name, folder in self.index_files().items():
            with folder.open(name) as source:
                if table_start(source) is not None:
                    tables.append(read_index(source))
        whole = pa.concat_tables(tables) if tables else INDEX.schema.empty_table()
        order = [(name, "ascending") for name in ("pack_id", "offset", "length", "chunk_id")]
        return whole.group_by(list(PLACE)).aggregate([]).sort_by(order)

    @cached_property
    def _rows(self) -> dict[bytes, tuple[int, int]]:
        """The rows of the index of each pack: the first, and how many."""
        counts = self.index["pack_id"].value_counts()
        sizes = dict(zip(counts.field("values").to_pylist(), counts.field("counts").to_pylist(), strict=True))
        names = sorted(sizes)
        firsts = accumulate((sizes[name] for name in names), initial=0)
        return {name: (first, sizes[name]) for name, first in zip(names, firsts, strict=False)}

    def located(self, pack_id: str) -> dict[int, Located]:
        """The blobs of a pack as the index has them, by offset."""
        mine = self.index.slice(*self._rows.get(bytes.fromhex(pack_id), (0, 0)))
        rows = zip(*(mine[name].to_pylist() for name in ("offset", "chunk_id", "length")), strict=True)
        return {offset: Located(chunk_id, length) for offset, chunk_id, length in rows}

    @cached_property
    def archives(self) -> dict[str, bool]:
        """Names of the archive pointers without the mark of deleted ones, and whether they are deleted."""
        if ARCHIVES not in self.folder.subfolders():
            return {}
        files = self.folder.folder(ARCHIVES).files()
        return {name.removesuffix(DELETED): name.endswith(DELETED) for name in files}

    def holdings(self) -> Iterator[str]:
        """Paths of the repository's own files: those that its check covers, and those that hold no data."""
        yield from (pack.path for pack in self.packs)
        for name in {CONFIG, INDEXES, CACHE, ARCHIVES, KEYS, LOCKS} & set(self.folder.subfolders()):
            inside = self.folder.folder(name)
            yield from map(inside.path_of, inside.files())

    def refuse_inside(self, target: Path) -> None:
        """Raise `SourceError` if a path lies in the repository, which is never written to."""
        if "://" not in self.path and Path(self.path).resolve() in (target.resolve(), *target.resolve().parents):
            raise SourceError(f"{target}: lies in the repository, which is never written to; choose another folder")


def is_repository(folder: Folder) -> bool:
    """Whether a folder looks like a Borg 2 repository, with packs or from before them."""
    subfolders = set(folder.subfolders())
    if CONFIG in subfolders and {PACKS, DATA, ARCHIVES} & subfolders:
        config = folder.folder(CONFIG)
        return config.has("version") or config.has("config")
    return {PACKS, ARCHIVES} <= subfolders


def repository_at(path: str | os.PathLike[str]) -> Repository:
    """The repository in a folder; `SourceError` if there is none that can be read."""
    folder = Folder(os.fspath(path))
    if not is_repository(folder):
        raise SourceError(f"{folder.path}: is no Borg 2 repository: it has no config/ with packs/ and archives/")
    repository = Repository(folder)
    if repository.is_old:
        raise SourceError(f"{folder.path}: is a repository from before packs, {repository.generation}; not read here")
    return repository


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
    """The text of a small file; empty if it cannot be read."""
    try:
        return folder.read(name, LARGEST_CONFIG).decode("utf-8", "replace")
    except SourceError:
        return ""


def _ini(text: str) -> dict[str, str]:
    """The section `repository` of a configuration.

    Not by configparser, which takes quadratic time for lines that it cannot read.
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


def walk_member(
    source: Source, repository: Repository, ledger: Ledger, pack: Pack, depth: Depth
) -> Iterator[Stretch | Finding]:
    """The walk over a pack of a repository, which uses its index and fills the ledger."""
    located = repository.located(pack.pack_id) if pack.pack_id else {}
    items = Walk(source, depth, pack.repository_version, located).items()
    return ledger.entered(source.name, items, pack, is_deep=depth is not Depth.HEADS)


def read_packs(repository: Repository, ledger: Ledger, depth: Depth, version: int | None = None) -> None:
    """Walk the packs that are not in the ledger; `version` is for a repository that does not state its own."""
    version = repository.version if repository.version in HASH_RULES else version
    for path in repository.paths.values():
        if path in ledger.places:
            continue
        with open_source(path) as source:
            if table_start(source) is not None:
                continue  # an index file that lies in packs/
            pack = (unproven_pack if depth is Depth.HEADS else proven_pack)(source, version)
            deque(walk_member(source, repository, ledger, pack, depth), maxlen=0)


class NoSuchArchive(ThawlineError):
    """No archive has that name, or more than one."""


@dataclass(frozen=True, slots=True)
class LostArchive:
    """A pointer in archives/ to an archive that cannot be read."""

    id: str
    reason: str


class Catalogue:
    """The archives of a repository and their items; `Encrypted` if they need the key.

    The heads of all packs are read first; the content of a chunk is checked when it is requested.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.repository = repository_at(path)
        ledger = Ledger()
        read_packs(self.repository, ledger, Depth.HEADS)
        if sealed := ledger.modes & SEALED_NAMES:
            mode = ", ".join(sorted(sealed))
            raise Encrypted(f"{self.repository.path}: is encrypted (mode {mode}); what archives hold needs the key")
        self.store = Store(ledger.table(), self.repository.paths, self.repository.version)

    def archives(self) -> Iterator[Archive | LostArchive]:
        """The archives that are not deleted, oldest first; those that cannot be read last."""
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
        """An archive by its name, its id or the first digits of the id; `NoSuchArchive` says what there is."""
        every = [archive for archive in self.archives() if isinstance(archive, Archive)]
        by_id = [archive for archive in every if len(name) >= SHORTEST_PREFIX and archive.id.startswith(name)]
        found = [archive for archive in every if archive.name == name] or by_id
        if len(found) == 1:
            return found[0]
        if found:
            ids = ", ".join(archive.id[:12] for archive in found[:NAMED_ARCHIVES])
            raise NoSuchArchive(f"{len(found)} archives are called {name!r}; name one by its id: {ids}")
        others = list(dict.fromkeys(archive.name for archive in every))
        names = ", ".join(map(printable, others[:NAMED_ARCHIVES])) + (", …" if len(others) > NAMED_ARCHIVES else "")
        raise NoSuchArchive(f"there is no archive {name!r}; there are {names or 'none that can be read'}")

    def items(self, archive: Archive) -> Iterator[Item | Gap]:
        """The items of an archive, and a gap for each lost part of their list."""
        return read_items(self.store, archive)

    def close(self) -> None:
        """Close the packs."""
        self.store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


@dataclass
class Check:
    """The check of a repository whose packs are in the ledger."""

    repository: Repository
    ledger: Ledger
    referenced: set[str] = field(default_factory=set)
    """Chunks that some archive needs."""
    is_complete: bool = True
    """Whether all archives could be followed to their chunks."""
    has_errors: bool = False

    def findings(self) -> Iterator[Finding]:
        """What is wrong with the repository as a whole, and what is proven."""
        if (yield from self._generation()):
            return
        yield from self._misplaced()
        yield from self._index()
        yield from self._packs()
        yield from self._archives()
        yield from self._unreferenced()
        yield self._found(codes.PROVEN, self._proven())

    def _generation(self) -> Generator[Finding, None, bool]:
        """Findings about the repository version; returns whether it is from before packs."""
        repository = self.repository
        if repository.is_old:
            yield self._found(codes.OLD_REPOSITORY, {"repository": repository.generation})
            return True
        if repository.version is None:
            yield self._found(codes.BAD_CONFIG, {"reason": "neither config/version nor config/config says a version"})
        return False

    def _misplaced(self) -> Iterator[Finding]:
        for pack in self.repository.packs:
            if not pack.is_placed:
                yield self._found(codes.MISPLACED, {"file": printable(pack.path)})

    @cached_property
    def blobs(self) -> pa.Table:
        """Where every intact blob lies, with the columns of the index."""
        return self.ledger.table().rename_columns({"size": "length"})

    @cached_property
    def known(self) -> frozenset[bytes]:
        """Chunks that some pack holds intact."""
        return frozenset(self.blobs["chunk_id"].to_pylist())

    @property
    def index(self) -> pa.Table:
        """The entries of the index."""
        return self.repository.index

    @property
    def is_sealed(self) -> bool:
        """Whether the content needs the key."""
        return bool(self.ledger.modes & SEALED_NAMES)

    def _has_sealed_index(self) -> bool:
        """Whether some index file needs the key."""
        for name, folder in self.repository.index_files().items():
            with folder.open(name) as source:
                if table_start(source) is None and self.is_sealed:
                    return True
        return False

    def _index(self) -> Iterator[Finding]:
        """Entries of the index that lead nowhere."""
        if self._has_sealed_index():
            yield self._found(codes.SEALED_INDEX, {"files": len(self.repository.index_files())})
        elif not self.index.num_rows and self.blobs.num_rows:
            yield self._found(codes.NO_INDEX, {"blobs": self.blobs.num_rows}, self._rebuild)
        there = pa.array(map(bytes.fromhex, self.repository.paths), pa.binary())
        is_there = pc.is_in(self.index["pack_id"], there)
        yield from self._missing(self.index.filter(pc.invert(is_there)))
        wrong = self.index.filter(is_there).join(self.blobs, list(PLACE), join_type="left anti")
        yield from self._wrong(wrong.filter(pa.array(self._unexplained(wrong), pa.bool_())))

    def _unexplained(self, entries: pa.Table) -> list[bool]:
        """Whether each entry points to a place that is not reported as damaged."""
        # Spans of a pack rise and do not overlap: only the last that starts before a place can hold it.
        damaged = {pack_id: (spans, [span.start for span in spans]) for pack_id, spans in self.ledger.damaged.items()}
        places = zip(entries["pack_id"].to_pylist(), entries["offset"].to_pylist(), strict=True)
        return [not _holds(*damaged.get(pack_id.hex(), ([], [])), offset) for pack_id, offset in places]

    def _missing(self, entries: pa.Table) -> Iterator[Finding]:
        for pack_id, chunks in _by_pack(entries):
            kept = sum(chunk_id in self.known for chunk_id in chunks)
            elsewhere = f"{grouped(kept)} {'is' if kept == 1 else 'are'} in other packs"
            lost = f"{counted(len(chunks), 'chunk')}, of which {elsewhere}"
            yield self._found(codes.MISSING_PACK, {"pack_id": pack_id, "lost": lost})

    def _wrong(self, entries: pa.Table) -> Iterator[Finding]:
        for pack_id, chunks in _by_pack(entries):
            detail = {"pack_id": pack_id, "entries": len(chunks), "first_chunk": chunks[0].hex()}
            yield self._found(codes.WRONG_LOCATION, detail, self._rebuild)

    def _packs(self) -> Iterator[Finding]:
        """Packs, and blobs of other packs, that are in no index."""
        if not self.index.num_rows:
            return
        indexed = set(self.index["pack_id"].unique().to_pylist())
        for pack_id in sorted(set(self.repository.paths) - {one.hex() for one in indexed}):
            yield self._found(codes.ORPHAN_PACK, {"pack_id": pack_id, "next": "borg compact removes it"})
        rest = self.blobs.filter(pc.is_in(self.blobs["pack_id"], pa.array(indexed, pa.binary())))
        unknown = rest.join(self.index.select(["chunk_id"]), ["chunk_id"], join_type="left anti")
        for pack_id, chunks in _by_pack(unknown):
            yield self._found(codes.UNINDEXED, {"pack_id": pack_id, "blobs": len(chunks)}, self._rebuild)

    def _archives(self) -> Iterator[Finding]:
        """Archive pointers, and in readable modes all chunks that they lead to."""
        paths, version = self.repository.paths, self.repository.version
        store = None if self.is_sealed else Store(self.ledger.table(), paths, version)
        for archive_id, is_deleted in self.repository.archives.items():
            if is_deleted:
                yield self._found(codes.DELETED, {"archive": printable(archive_id)})
            if not HEX_ID.fullmatch(archive_id):
                detail = {"archive": printable(archive_id), "reason": "its name is no chunk_id"}
                yield self._found(codes.LOST_ARCHIVE, detail)
            elif store is None:
                yield from self._pointer(archive_id)
            else:
                yield from self._archive(store, archive_id)
        if store:
            self.referenced |= store.requested
            store.close()

    def _pointer(self, archive_id: str) -> Iterator[Finding]:
        if bytes.fromhex(archive_id) not in self.known:
            yield self._lost_archive(archive_id, "no pack holds this chunk")

    def _lost_archive(self, archive_id: str, reason: str) -> Finding:
        return self._found(codes.LOST_ARCHIVE, {"archive": archive_id, "lost": "1 archive", "reason": reason})

    def _archive(self, store: Store, archive_id: str) -> Iterator[Finding]:
        """One archive, followed to the chunks of its files."""
        try:
            archive = read_archive(store, archive_id)
        except LostChunk as error:
            self.is_complete = False
            yield self._lost_archive(archive_id, error.message)
            return
        hit, gaps = self._follow(store, archive)
        if hit or gaps:
            lost = counted(len(hit), "file") + (f", and {counted(gaps, 'part')} of the list of items" if gaps else "")
            named = [printable(path) for path in hit[:NAMED_FILES]] + (["…"] if len(hit) > NAMED_FILES else [])
            name = printable(archive.name)
            detail = {"archive": name, "archive_id": archive_id, "lost": lost, "files": ", ".join(named)}
            rest = f"thawline borg extract {quoted(self.repository.path)} {archive_id[:12]} -o OUT"
            yield self._found(codes.DAMAGED_FILES, detail, rest)

    def _follow(self, store: Store, archive: Archive) -> tuple[list[str], int]:
        """Paths of the files of an archive that have lost chunks, and the number of gaps in its list of items."""
        hit, gaps = [], 0
        for item in read_items(store, archive):
            if isinstance(item, Gap):
                gaps, self.is_complete = gaps + 1, False
                continue
            chunks = [chunk_id for chunk_id, _ in item.chunks]
            self.referenced.update(chunks)
            if store.missing(chunks):
                hit.append(item.path)
        return hit, gaps

    def _unreferenced(self) -> Iterator[Finding]:
        """Chunks that no archive needs, if all archives could be followed."""
        if self.is_sealed or not self.is_complete or not self.index.num_rows:
            return
        needed = pc.is_in(self.index["chunk_id"], pa.array(map(bytes.fromhex, self.referenced), pa.binary()))
        spare = self.index.filter(pc.invert(needed))
        if spare.num_rows:
            in_use = set(self.index.filter(needed)["pack_id"].to_pylist())
            packs = len(set(spare["pack_id"].to_pylist()) - in_use)
            detail = {"chunks": spare.num_rows, "whole_packs": packs, "next": "borg compact removes them"}
            yield self._found(codes.UNCOMMITTED, detail)

    def _proven(self) -> dict[str, object]:
        """What this check proves of all that it does not report, and what it does not prove."""
        packs, archives = len(self.repository.paths), len(self.repository.archives)
        counts = {"packs": packs, "blobs": self.blobs.num_rows, "archives": archives}
        facts = {"repository": self.repository.generation, "mode": ", ".join(sorted(self.ledger.modes)), **counts}
        proven, unproven = self._words()
        rest = codes.UNREPORTED if self.has_errors or self.ledger.damaged else ""
        return {**facts, "proven": rest + proven, "not_proven": unproven}

    def _words(self) -> tuple[str, str]:
        """What is proven and what is not, by depth, mode and the names of packs."""
        if not self.ledger.is_deep:
            return codes.OF_HEADS
        is_keyed = any(mode.startswith("authenticated") for mode in self.ledger.modes)
        if not self.is_sealed and not is_keyed:
            return codes.OF_PLAIN
        proven, unproven = codes.OF_SEALED if self.is_sealed else codes.OF_KEYED
        return (proven if self.ledger.are_named else codes.BY_CHUNK_NAMES), unproven

    @property
    def _rebuild(self) -> str:
        return f"thawline borg index {quoted(self.repository.path)} --rebuild OUT"

    def _found(self, code: Code, detail: Mapping[str, object], hint: str = "") -> Finding:
        self.has_errors |= code.severity == "error"
        return Finding(code, WHOLE, detail, hint)


def _holds(spans: list[Span], starts: list[int], position: int) -> bool:
    """Whether one of some rising spans holds a position."""
    place = bisect_right(starts, position) - 1
    return place >= 0 and position in spans[place]


def _by_pack(entries: pa.Table) -> Iterator[tuple[str, list[bytes]]]:
    """The chunks of some entries in the order of their offsets, by the name of their pack."""
    ordered = entries.sort_by([("pack_id", "ascending"), ("offset", "ascending")])
    grouped = ordered.group_by("pack_id", use_threads=False).aggregate([("chunk_id", "list")])
    names = map(bytes.hex, grouped["pack_id"].to_pylist())
    yield from zip(names, grouped["chunk_id_list"].to_pylist(), strict=True)
