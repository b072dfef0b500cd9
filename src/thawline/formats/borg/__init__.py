"""Borg: packs, which are blobs back to back, index files and repositories. No key is needed to read a header.

Layout: https://github.com/borgbackup/borg/blob/4d19b91a6/docs/internals/packs.rst, and what 2.0.0b22 to b25 write.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

import pyarrow as pa

from thawline.errors import SourceError
from thawline.folder import Folder
from thawline.formats.borg.blobs import HASH_RULES, HASHES, MAGIC, first_header, header_at, id_in
from thawline.formats.borg.findings import CODES
from thawline.formats.borg.folder import (
    CONFIG,
    MANIFEST,
    Check,
    Repository,
    is_repository,
    read_packs,
    walk_member,
)
from thawline.formats.borg.index import IndexKind
from thawline.formats.borg.rows import (
    CONTENT,
    SLOTS,
    Blobs,
    Evidence,
    Ledger,
    Pack,
    Stretch,
    blob_batches,
    proven_pack,
    unproven_pack,
)
from thawline.formats.borg.salvage import salvaged_pack
from thawline.formats.borg.walk import Walk
from thawline.formats.contract import Ask, Claim, Depth, Format, Kind, Member, Overview, Reading, Table
from thawline.generated.tables.borg import BLOBS
from thawline.model import Finding, Report, Run, Salvage, Span, report
from thawline.source import LocalSource, Source

__all__ = ["Borg", "IndexKind", "PackKind"]

SEARCHED = 1 << 16
"""Bytes at the start of a file in which a blob is searched for."""
EMPTY_NAMES = frozenset(made(memoryview(b"")).hex() for made in HASHES.values())
"""The names of an empty pack."""
TABLES = {"blobs": Table.of(BLOBS)}


@dataclass(frozen=True, slots=True)
class PackKind(Kind):
    """Packs: blobs back to back. As a member of a repository, a pack is walked with the help of its index."""

    name = "pack"
    unit_name = "blob"
    has_heads = True
    overview = Overview(
        "blobs",
        (
            Ask("modes", "values", ("mode",)),
            Ask("data bytes", "sum", ("len_data",)),
        ),
    )

    version: int | None = None
    """The repository version, where it is known."""
    repository: Repository | None = None
    ledger: Ledger = field(default_factory=Ledger)

    @property
    def tables(self) -> Mapping[str, Table]:
        """The blobs."""
        return TABLES

    def claim(self, source: Source) -> Claim | None:
        """The claim on a pack by its magic, which comes later where the start is damaged."""
        name = id_in(source.name)
        if not source.size and name in EMPTY_NAMES:
            why = "is empty and named by the hash of nothing, a pack without blobs"
            return Claim("borg", "unknown", why, "likely")
        head = bytes(source.view(0, min(source.size, SEARCHED)))
        if head.startswith(MAGIC):
            header = header_at(memoryview(head), 0)
            return Claim("borg", str(header.version) if header else "unknown", "starts with BORG_OBJ", "certain")
        at = first_header(head)
        if at is None:
            return None
        is_named = name or source.name.endswith(".pack")
        why = f"has BORG_OBJ at {at:#x}, but not at its start"
        return Claim("borg", "unknown", why, "likely" if is_named else "possible")

    def walk(self, source: Source, depth: Depth) -> Iterator[Run | Finding]:
        """Intact blobs and findings. By heads, neither contents nor the name of the pack are checked.

        Units need contents, too: after a broken blob, others may be its content.
        """
        if depth is Depth.HEADS:
            pack = unproven_pack(source, self.version)
            for item in self._items(source, depth, pack):
                yield item if isinstance(item, Finding) else _run(item, Blobs(pack))
            return
        pack = proven_pack(source, self.version)
        evidence = Evidence(pack)
        for item in self._items(source, depth, pack):
            evidence.add(item)
            if isinstance(item, Finding):
                yield item
            else:
                yield _run(item, Blobs(pack, item if depth is Depth.UNITS else None))
        yield from evidence.conclusions(Span(source.size, source.size), is_member=self.repository is not None)

    def _items(self, source: Source, depth: Depth, pack: Pack) -> Iterator[Stretch | Finding]:
        if self.repository is None:
            return Walk(source, depth, pack.repository_version).items()
        return walk_member(source, self.repository, self.ledger, pack, depth)

    def rows(self, source: Source, items: Iterable[Run | Finding], table: str, columns: Collection[str]) -> Reading:
        """The runs with their blobs; a blob that the walk has read is not read again."""
        for item in items:
            yield item if isinstance(item, Finding) else (item, self._batches(source, item, columns))

    def _batches(self, source: Source, run: Run, columns: Collection[str]) -> Iterator[pa.RecordBatch]:
        view = source.on_disk().view(0, source.size) if SLOTS & set(columns) else None
        depth = Depth.UNITS if CONTENT & set(columns) else Depth.HEADS
        pack = self._payload(source, run).pack
        for stretch in self._stretches(source, run, depth):
            yield from blob_batches(stretch, pack, columns, view)

    def _stretches(self, source: Source, run: Run, depth: Depth) -> Iterator[Stretch]:
        """The blobs of a run: those that the walk has read, or walked again."""
        payload = self._payload(source, run)
        if payload.stretch:
            yield payload.stretch
            return
        part = LocalSource(source.name, source.on_disk().view(run.span.start, run.span.end))
        for item in Walk(part, depth, payload.pack.repository_version).items():
            if isinstance(item, Finding):
                at = run.span.start + item.span.start
                raise SourceError(f"{source.name}: the blob at {at:#x} changed while the file was read")
            yield replace(item, judged=item.judged.moved(run.span.start), doubt=run.suspect)

    def _payload(self, source: Source, run: Run) -> Blobs:
        return run.payload if isinstance(run.payload, Blobs) else Blobs(proven_pack(source, self.version))

    def units(self, source: Source, run: Run) -> Iterator[Span]:
        """The blobs of a run."""
        for stretch in self._stretches(source, run, Depth.HEADS):
            for row in range(stretch.first, stretch.last):
                yield Span(stretch.judged.start(row), stretch.judged.end(row))

    def spec_at(self, source: Source, position: int) -> str:
        """The spec of a blob."""
        return "borg_blob"

    def salvaged(self, source: Source, *, include_suspects: bool) -> Salvage:
        """A new pack under its right name: the original if the name proves it, else what survived."""
        return salvaged_pack(source, self.repository, self.version, include_suspects=include_suspects)


def _run(stretch: Stretch, payload: Blobs) -> Run:
    return Run(stretch.span, len(stretch), len(stretch), suspect=stretch.doubt, payload=payload)


@dataclass(frozen=True, slots=True)
class Borg(Format):
    """Borg packs, index files and repositories."""

    name = "borg"
    title = "Borg pack"
    codes = CODES

    repository_version: str = ""
    """4 for 2.0.0b22 to b24, 5 for b25. A repository states it; for a lone pack it may be given."""
    repository: Repository | None = field(default=None, repr=False, compare=False)
    """The repository that the file is a member of; its index tells what lies where."""
    ledger: Ledger = field(default_factory=Ledger, repr=False, compare=False)
    """Where the blobs of a repository lie, as far as its packs have been walked; shared by all its members."""

    @property
    def kinds(self) -> tuple[Kind, ...]:
        """Packs and index files."""
        return PackKind(self.version, self.repository, self.ledger), IndexKind(self.version)

    @property
    def version(self) -> int | None:
        """The repository version, where it is known."""
        return int(self.repository_version) if self.repository_version else None

    def claim_folder(self, folder: Folder) -> Claim | None:
        """The claim on a repository by its configuration and its folders."""
        if not is_repository(folder):
            return None
        repository = Repository(folder)
        return Claim(self.name, f"repository {repository.generation}", "has the folders of a repository", "certain")

    def members(self, folder: Folder) -> Iterator[Member]:
        """The packs of a repository."""
        repository = Repository(folder)
        version = str(repository.version) if repository.version in HASH_RULES else self.repository_version
        member = replace(self, repository_version=version, repository=repository)
        yield from (Member(path, member) for path in repository.paths.values())

    def holdings(self, folder: Folder) -> Iterator[str]:
        """Everything in the folders that make a repository."""
        return Repository(folder).holdings()

    def accounts(self, folder: Folder) -> Iterator[Report]:
        """Reports of index files and the manifest, and one of the repository as a whole."""
        repository = Repository(folder)
        read_packs(repository, self.ledger, Depth.EVERYTHING, self.version)
        if not repository.is_old:
            yield from self._index_reports(repository)
            yield from self._manifest_report(repository)
        whole = report(folder.path, self.name, 0, Check(repository, self.ledger).findings())
        whole.units = whole.rows = self.ledger.table().num_rows
        yield whole

    def _index_reports(self, repository: Repository) -> Iterator[Report]:
        for name, folder in repository.index_files().items():
            with folder.open(name) as source:
                items = IndexKind(repository.version).walk(source, Depth.EVERYTHING)
                yield report(source.name, self.name, source.size, items)

    def _manifest_report(self, repository: Repository) -> Iterator[Report]:
        """The report of the manifest, a blob in config/ of repositories up to b24."""
        if repository.has_manifest:
            with repository.folder.folder(CONFIG).open(MANIFEST) as source:
                version = str(repository.version or "")
                format_ = replace(self, repository_version=version, repository=repository, ledger=Ledger())
                items = format_.kind_of(source).walk(source, Depth.EVERYTHING)
                yield report(source.name, self.name, source.size, items)
