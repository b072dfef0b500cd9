"""The check of a repository as a whole: packs, index and archives held against each other.

Borg stores a pack first, then the index file that names its chunks, then the archive pointer: what a crash between two
of these steps leaves behind is harmless, and is called by its name.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Generator, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

import pyarrow as pa
import pyarrow.compute as pc

from thawline.formats.borg.archives import Archive, Gap, read_archive, read_items
from thawline.formats.borg.findings import (
    BAD_CONFIG,
    DAMAGED_FILES,
    DELETED,
    LOST_ARCHIVE,
    MISPLACED,
    MISSING_PACK,
    NO_INDEX,
    OLD_REPOSITORY,
    ORPHAN_PACK,
    PROVEN,
    SEALED_INDEX,
    UNCOMMITTED,
    UNINDEXED,
    WRONG_LOCATION,
)
from thawline.formats.borg.index import check_name, scan_index, table_start
from thawline.formats.borg.ledger import Ledger
from thawline.formats.borg.modes import SEALED
from thawline.formats.borg.naming import HEX_ID
from thawline.formats.borg.repository import Repository
from thawline.formats.borg.store import LostChunk, Store
from thawline.model import Code, Finding, Run, Span
from thawline.source import Source
from thawline.wording import counted, grouped, printable, quoted

NAMED = 20
"""Files of an archive that are named one by one."""
HERE = Span(0, 0)
SEALED_PROVEN = (
    "packs are the bytes that were stored under their names, blobs fill them, every archive pointer leads to a chunk"
)
SEALED_UNPROVEN = (
    "that the content can be decrypted, which chunks an archive needs, who wrote it: "
    "borg check --verify-data, with the key"
)
KEYED_PROVEN = (
    "packs are the bytes that were stored under their names, every chunk decompresses, archives lead to all chunks of "
    "their files"
)
KEYED_UNPROVEN = "who wrote it; ids and tags are keyed: borg check --verify-data, with the key"
PLAIN_PROVEN = "every chunk hashes to its id, and archives lead to all chunks of their files"
PLAIN_UNPROVEN = "who wrote it; in this mode anybody can"
UNNAMED_PROVEN = "headers and envelopes fit each other; packs are named by their chunk, which proves nothing about them"
HEADS_PROVEN = "headers fit each other and fill the packs, and archives lead to chunks that are there"
HEADS_UNPROVEN = "that any content is unchanged; without --heads-only it is looked at"
SEALED_BYTES = frozenset(bytes([key_type]) for key_type in SEALED)
SEALED_NAMES = frozenset(mode.name for mode in SEALED.values())


@dataclass
class Check:
    """One repository, its packs already read into the ledger."""

    repository: Repository
    ledger: Ledger
    paths: Mapping[str, str]
    """Paths of the packs by id."""
    referenced: set[str] = field(default_factory=set)
    """Chunks that some archive needs."""
    is_complete: bool = True
    """Whether all archives could be followed to their chunks."""
    has_errors: bool = False

    def findings(self) -> Iterator[Finding]:
        """What is wrong with the repository as a whole, and what is worth knowing."""
        if (yield from self._generation()):
            return
        yield from self._misplaced()
        yield from self._index()
        yield from self._packs()
        yield from self._archives()
        yield from self._unreferenced()
        yield self._found(PROVEN, self.proven())

    def _generation(self) -> Generator[Finding, None, bool]:
        """Whether it is a repository from before packs, after saying so."""
        repository = self.repository
        if repository.is_old:
            yield self._found(OLD_REPOSITORY, {"repository": repository.generation})
            return True
        if repository.version is None:
            yield self._found(BAD_CONFIG, {"reason": "neither config/version nor config/config says a version"})
        return False

    def _misplaced(self) -> Iterator[Finding]:
        for pack in self.repository.packs:
            if not pack.is_placed:
                yield self._found(MISPLACED, {"file": printable(pack.path)})

    @cached_property
    def blobs(self) -> pa.Table:
        """Where every intact blob lies."""
        return self.ledger.table().rename_columns(["pack_id", "offset", "length", "chunk_id"])

    @cached_property
    def index(self) -> pa.Table:
        """What the index says."""
        return self.repository.index

    @cached_property
    def has_sealed_index(self) -> bool:
        """Whether some index file needs the key."""
        for name, folder in self.repository.index_files().items():
            with folder.open(name) as source:
                if table_start(source) is None and self.is_sealed:
                    return True
        return False

    def _index(self) -> Iterator[Finding]:
        """Entries of the index that lead nowhere."""
        if self.has_sealed_index:
            yield self._found(SEALED_INDEX, {"files": len(self.repository.index_files())})
        elif not self.index.num_rows and self.blobs.num_rows:
            yield self._found(NO_INDEX, {"blobs": self.blobs.num_rows}, self._rebuild)
        there = pa.array(map(bytes.fromhex, self.paths), pa.binary())
        is_there = pc.is_in(self.index["pack_id"], there)
        yield from self._missing(self.index.filter(pc.invert(is_there)))
        wrong = self.index.filter(is_there).join(
            self.blobs, ["chunk_id", "pack_id", "offset", "length"], join_type="left anti"
        )
        yield from self._wrong(wrong.filter(pa.array(self._unexplained(wrong), pa.bool_())))

    def _unexplained(self, entries: pa.Table) -> list[bool]:
        """Whether each entry points to a place that is not reported as damaged anyway."""
        # Spans of a pack rise and do not overlap, so only the last that starts before a place can hold it.
        damaged = {pack_id: (spans, [span.start for span in spans]) for pack_id, spans in self.ledger.damaged.items()}
        places = zip(entries["pack_id"].to_pylist(), entries["offset"].to_pylist(), strict=True)
        return [not _holds(*damaged.get(pack_id.hex(), ([], [])), offset) for pack_id, offset in places]

    def _missing(self, entries: pa.Table) -> Iterator[Finding]:
        for pack_id, chunks in _by_pack(entries):
            kept = sum(chunk_id in self.known for chunk_id in chunks)
            elsewhere = f"{grouped(kept)} {'is' if kept == 1 else 'are'} in other packs"
            lost = f"{counted(len(chunks), 'chunk')}, of which {elsewhere}"
            yield self._found(MISSING_PACK, {"pack_id": pack_id, "lost": lost})

    def _wrong(self, entries: pa.Table) -> Iterator[Finding]:
        for pack_id, chunks in _by_pack(entries):
            detail = {"pack_id": pack_id, "entries": len(chunks), "first_chunk": chunks[0].hex()}
            yield self._found(WRONG_LOCATION, detail, self._rebuild)

    @cached_property
    def known(self) -> frozenset[bytes]:
        """Chunks that some pack holds intact."""
        return frozenset(self.blobs["chunk_id"].to_pylist())

    def _packs(self) -> Iterator[Finding]:
        """Packs that no index knows, and blobs that it does not."""
        if not self.index.num_rows:
            return
        indexed = set(self.index["pack_id"].unique().to_pylist())
        for pack_id in sorted(set(self.paths) - {one.hex() for one in indexed}):
            yield self._found(ORPHAN_PACK, {"pack_id": pack_id, "next": "borg compact removes it"})
        rest = self.blobs.filter(pc.is_in(self.blobs["pack_id"], pa.array(indexed, pa.binary())))
        unknown = rest.join(self.index.select(["chunk_id"]), ["chunk_id"], join_type="left anti")
        for pack_id, chunks in _by_pack(unknown):
            yield self._found(UNINDEXED, {"pack_id": pack_id, "blobs": len(chunks)}, self._rebuild)

    def _archives(self) -> Iterator[Finding]:
        """Archive pointers, and in readable modes what they lead to."""
        store = None if self.is_sealed else Store(self.ledger.table(), self.paths, self.repository.version)
        for archive_id, is_deleted in self.repository.archives.items():
            if is_deleted:
                yield self._found(DELETED, {"archive": printable(archive_id)})
            if not HEX_ID.fullmatch(archive_id):
                yield self._found(LOST_ARCHIVE, {"archive": printable(archive_id), "reason": "its name is no chunk_id"})
            elif store is None:
                yield from self._pointer(archive_id)
            else:
                yield from self._archive(store, archive_id)
        if store:
            self.referenced |= store.asked
            store.close()

    def _pointer(self, archive_id: str) -> Iterator[Finding]:
        if bytes.fromhex(archive_id) not in self.known:
            reason = "no pack holds this chunk"
            yield self._found(LOST_ARCHIVE, {"archive": archive_id, "lost": "1 archive", "reason": reason})

    def _archive(self, store: Store, archive_id: str) -> Iterator[Finding]:
        """One archive, followed to the chunks of its files."""
        try:
            archive = read_archive(store, archive_id)
        except LostChunk as error:
            self.is_complete = False
            yield self._found(LOST_ARCHIVE, {"archive": archive_id, "lost": "1 archive", "reason": error.message})
            return
        hit, gaps = self._follow(store, archive)
        if hit or gaps:
            lost = counted(len(hit), "file") + (f", and {counted(gaps, 'part')} of the list of items" if gaps else "")
            named = [printable(path) for path in hit[:NAMED]] + (["…"] if len(hit) > NAMED else [])
            detail = {
                "archive": printable(archive.name),
                "archive_id": archive_id,
                "lost": lost,
                "files": ", ".join(named),
            }
            rest = f"thawline borg extract {quoted(self.repository.path)} {archive_id[:12]} -o OUT"
            yield self._found(DAMAGED_FILES, detail, rest)

    def _follow(self, store: Store, archive: Archive) -> tuple[list[str], int]:
        """Paths of the files of an archive that have lost chunks, and how many gaps its list of items has."""
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
        """Chunks that no archive needs, where all archives could be followed."""
        if self.is_sealed or not self.is_complete or not self.index.num_rows:
            return
        needed = pc.is_in(self.index["chunk_id"], pa.array(map(bytes.fromhex, self.referenced), pa.binary()))
        spare = self.index.filter(pc.invert(needed))
        if spare.num_rows:
            in_use = set(self.index.filter(needed)["pack_id"].to_pylist())
            packs = len(set(spare["pack_id"].to_pylist()) - in_use)
            detail = {"chunks": spare.num_rows, "whole_packs": packs, "next": "borg compact removes them"}
            yield self._found(UNCOMMITTED, detail)

    @property
    def is_sealed(self) -> bool:
        """Whether the content needs the key."""
        return bool(self.ledger.modes & SEALED_NAMES)

    def proven(self) -> dict[str, object]:
        """What this check has proven, and what it has not; of what is reported it has not."""
        counts = {"packs": len(self.paths), "blobs": self.blobs.num_rows, "archives": len(self.repository.archives)}
        told = {"repository": self.repository.generation, "mode": ", ".join(sorted(self.ledger.modes)), **counts}
        proven, unproven = self._words()
        rest = "of all that is not reported: " if self.has_errors or self.ledger.damaged else ""
        return {**told, "proven": rest + proven, "not_proven": unproven}

    def _words(self) -> tuple[str, str]:
        """What holds and what need not, by how far the mode and the names of packs let anybody look."""
        if not self.ledger.is_deep:
            return HEADS_PROVEN, HEADS_UNPROVEN
        if self.is_sealed:
            return (SEALED_PROVEN if self.ledger.are_named else UNNAMED_PROVEN), SEALED_UNPROVEN
        if any(mode.startswith("authenticated") for mode in self.ledger.modes):
            return (KEYED_PROVEN if self.ledger.are_named else UNNAMED_PROVEN), KEYED_UNPROVEN
        return PLAIN_PROVEN, PLAIN_UNPROVEN

    @property
    def _rebuild(self) -> str:
        return f"thawline borg index {quoted(self.repository.path)} --rebuild OUT"

    def _found(self, code: Code, detail: Mapping[str, object], hint: str = "") -> Finding:
        self.has_errors |= code.severity == "error"
        return Finding(code, HERE, detail, hint)


def _holds(spans: list[Span], starts: list[int], position: int) -> bool:
    """Whether one of some spans, which rise, holds a position."""
    place = bisect_right(starts, position) - 1
    return place >= 0 and position in spans[place]


def _by_pack(entries: pa.Table) -> Iterator[tuple[str, list[bytes]]]:
    """The chunks of some entries, by the name of the pack that they should be in."""
    grouped = entries.group_by("pack_id").aggregate([("chunk_id", "list")]).sort_by("pack_id")
    names = map(bytes.hex, grouped["pack_id"].to_pylist())
    yield from zip(names, grouped["chunk_id_list"].to_pylist(), strict=True)


def index_items(source: Source, version: int | None) -> Iterator[Run | Finding]:
    """What an index file holds; of one that needs the key, only whether its name is right."""
    if table_start(source) is None and source.view(0, min(source.size, 1)).tobytes()[:1] in SEALED_BYTES:
        yield Run(Span(0, source.size), 1, 0)
        yield from check_name(source, version)
    else:
        yield from scan_index(source, version)
