"""Borg packs: blobs back to back, each with a header that needs no key.

Layout: https://github.com/borgbackup/borg/blob/4d19b91a6/docs/internals/packs.rst, and what 2.0.0b22 to b25 write.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field, replace

import pyarrow as pa

from thawline.errors import SourceError
from thawline.folder import Folder
from thawline.formats.borg import proof
from thawline.formats.borg.check import Check, index_items
from thawline.formats.borg.findings import CODES
from thawline.formats.borg.header import MAGIC, first_header, header_at
from thawline.formats.borg.index import index_batches, scan_index, table_start
from thawline.formats.borg.ledger import Ledger
from thawline.formats.borg.naming import HASH_RULES, HASHES, id_in, pack_rule
from thawline.formats.borg.repository import CONFIG, MANIFEST, Repository, is_repository
from thawline.formats.borg.rescue import rescue, surviving
from thawline.formats.borg.rows import BLOBS, CONTENT, INDEX, PAYLOADS, SLOTS, Pack, blob_batches
from thawline.formats.borg.walk import Depth, Stretch, Walk
from thawline.formats.contract import Claim, Member, Reading
from thawline.formats.contract import Depth as WalkDepth
from thawline.formats.legacy import LegacyFormat as Format
from thawline.model import Finding, Report, Rescue, Run, Span, report
from thawline.source import LocalSource, Source, open_source

GENERATIONS = {rule: version for version, rule in HASH_RULES.items()}
"""Repository versions by what names of packs are."""
LOOKED_AT = 1 << 16
"""How much of a file's start is searched for a blob."""


@dataclass(frozen=True, slots=True)
class Borg(Format):
    """Borg packs, index files and repositories."""

    name = "borg"
    title = "Borg pack"
    table_names = ("blobs", "index")
    codes = CODES
    unit_name = "blob"
    has_heads = True

    repository_version: str = ""
    """4 for 2.0.0b22 to b24, 5 for b25; a repository says it itself, for a lone pack it may be given."""
    repository: Repository | None = field(default=None, repr=False, compare=False)
    """The repository that the file is read as a part of, which knows from its index what lies where."""
    ledger: Ledger = field(default_factory=Ledger, repr=False, compare=False)
    """Where the blobs of a repository lie, as far as its packs have been read; shared by all its members."""

    def claim(self, source: Source) -> Claim | None:
        """A pack starts with a magic, an index with another; a damaged pack has the magic further on."""
        if table_start(source) is not None:
            return Claim(self.name, "index", "starts as a table of borghash", "certain", "index")
        name = id_in(source.name)
        if not source.size and name in {made(memoryview(b"")).hex() for made in HASHES.values()}:
            return Claim(
                self.name, "unknown", "is empty and named by the hash of nothing, a pack without blobs", "likely"
            )
        head = bytes(source.view(0, min(source.size, LOOKED_AT)))
        if head.startswith(MAGIC):
            header = header_at(memoryview(head), 0)
            version = str(header.version) if header else "unknown"
            return Claim(self.name, version, "starts with BORG_OBJ", "certain")
        at = first_header(memoryview(head))
        if at is not None:
            is_named = name or source.name.endswith(".pack")
            why = f"has BORG_OBJ at {at:#x}, but not at its start"
            return Claim(self.name, "unknown", why, "likely" if is_named else "possible")
        return None

    def schema(self, table: str) -> pa.Schema:
        """The columns of `blobs` or `index`."""
        return INDEX if table == "index" else BLOBS

    def extras(self, table: str) -> pa.Schema:
        """Payloads of blobs, and their slots."""
        return pa.unify_schemas([PAYLOADS, SLOTS]) if table == "blobs" else pa.schema([])

    def scan(self, source: Source) -> Iterator[Run | Finding]:
        """Intact blobs and findings, in file order; every blob is read as far as its mode allows."""
        if table_start(source) is not None:
            return scan_index(source, self._version)
        return (item if isinstance(item, Finding) else item[0] for item in self._read(source, "contents"))

    def outline(self, source: Source) -> Iterator[Run | Finding]:
        """The same by headers and envelopes alone; neither content nor the pack's name is looked at."""
        if table_start(source) is not None:
            return scan_index(source, self._version)
        pack = self._nameless(source)
        items = self._walked(source, "heads", pack)
        return (item if isinstance(item, Finding) else self._run(item, pack) for item in items)

    def read(self, source: Source, table: str, columns: Collection[str]) -> Reading:
        """The items of `scan` with their rows; a blob is decompressed once."""
        is_index = table_start(source) is not None
        if is_index != (table == "index"):
            kind = "an index" if is_index else "a pack"
            raise SourceError(f"{source.name}: is {kind}, which has no table {table}")
        if is_index:
            for item in scan_index(source, self._version):
                yield (item, index_batches(source, item, columns)) if isinstance(item, Run) else item
            return
        for found in self._read(source, "contents"):
            if isinstance(found, Finding):
                yield found
            else:
                run, stretch, pack = found
                yield run, blob_batches(stretch, pack, columns, _view(source, columns))

    def _read(self, source: Source, depth: Depth) -> Iterator[tuple[Run, Stretch, Pack] | Finding]:
        pack = self._pack(source)
        evidence = proof.Evidence(pack)
        for item in self._walked(source, depth, pack):
            evidence.add(item)
            yield item if isinstance(item, Finding) else (self._run(item, pack), item, pack)
        yield from evidence.conclusions(source, is_member=self.repository is not None)

    def _walked(self, source: Source, depth: Depth, pack: Pack) -> Iterator[Stretch | Finding]:
        """The items of a walk, entered into the ledger on their way if the pack is read as part of its repository."""
        if self.repository is None:
            return Walk(source, depth, pack.repository_version).items()
        located = self.repository.located(pack.pack_id) if pack.pack_id else {}
        items = Walk(source, depth, pack.repository_version, located).items()
        return self.ledger.entries(source.name, items, pack, depth)

    @property
    def _version(self) -> int | None:
        return int(self.repository_version) if self.repository_version else None

    def _nameless(self, source: Source) -> Pack:
        return Pack(id_in(source.name), "none", self._version)

    def _pack(self, source: Source) -> Pack:
        """What the name of a pack tells about it, held against its bytes."""
        pack_id, version = id_in(source.name), self._version
        if pack_id is None:
            return Pack(None, "none", version)
        rule = pack_rule(source.on_disk().view(0, source.size), pack_id, version)
        return Pack(pack_id, rule, version or GENERATIONS.get(rule))

    def _run(self, stretch: Stretch, pack: Pack) -> Run:
        labels: dict[str, object] = {"rule": pack.rule, "repository": pack.repository_version}
        if stretch.doubt:
            labels |= {"nested_suspect": True, "doubt": stretch.doubt}
        return Run(stretch.span, len(stretch), len(stretch), labels)

    def batches(self, source: Source, run: Run, table: str, columns: Collection[str]) -> Iterator[pa.RecordBatch]:
        """The blobs of a run, or the entries of an index."""
        if table == "index":
            yield from index_batches(source, run, columns)
            return
        pack = Pack(id_in(source.name), run.labels["rule"], run.labels["repository"])  # type: ignore[arg-type]
        for stretch in self._stretches(source, run, "contents" if CONTENT & set(columns) else "heads", pack):
            yield from blob_batches(stretch, pack, columns, _view(source, columns))

    def _stretches(self, source: Source, run: Run, depth: Depth, pack: Pack) -> Iterator[Stretch]:
        """A run once more, with its blobs; what a blob of it is was found out by the scan."""
        part = LocalSource(source.name, source.on_disk().view(run.span.start, run.span.end))
        doubt = run.labels.get("doubt", "")
        for item in Walk(part, depth, pack.repository_version).items():
            if isinstance(item, Finding):
                at = run.span.start + item.span.start
                raise SourceError(f"{source.name}: the blob at {at:#x} changed while the file was read")
            judged = item.judged.moved(run.span.start)
            yield Stretch(judged, item.first, item.last, doubt)  # type: ignore[arg-type]

    def units(self, source: Source, run: Run) -> Iterator[Span]:
        """The blobs of a run, or an index without its envelope."""
        if "entries" in run.labels:
            yield Span(table_start(source) or 0, run.span.end)
            return
        for stretch in self._stretches(source, run, "heads", self._nameless(source)):
            for row in range(stretch.first, stretch.last):
                yield Span(stretch.judged.start(row), stretch.judged.end(row))

    def unit_at(self, source: Source, position: int) -> str:
        """A blob; an index file as a whole is one unit."""
        return "borg_blob" if table_start(source) is None else "borg_index"

    def salvage(self, source: Source, items: Iterator[Run | Finding]) -> Iterator[bytes | memoryview]:
        """The intact blobs one after the other, which is what a pack is; of an index, one of its whole entries."""
        if table_start(source) is not None:
            return iter(self.rescue(source, include_suspects=False).parts)
        return surviving(source, items)

    def rescue(self, source: Source, *, include_suspects: bool) -> Rescue:
        """A new pack under its right name: the old one where its name proves the repair, else what survived of it."""
        return rescue(source, self.repository, self._version, include_suspects=include_suspects)

    def claim_folder(self, folder: Folder) -> Claim | None:
        """A repository, told by its configuration and its folders."""
        if not is_repository(folder):
            return None
        repository = Repository(folder)
        return Claim(self.name, f"repository {repository.generation}", "has the folders of a repository", "certain")

    def members(self, folder: Folder) -> Iterator[Member]:
        """The packs of a repository."""
        repository = Repository(folder)
        version = str(repository.version) if repository.version in HASH_RULES else self.repository_version
        member = replace(self, repository_version=version, repository=repository)
        yield from (Member(pack.path, member) for pack in repository.packs if pack.is_placed)

    def _side_files(self, repository: Repository) -> Iterator[Report]:
        """Reports of what lies beside the packs: index files, and the manifest that repositories up to b24 have."""
        if repository.is_old:
            return
        for name, folder in repository.index_files().items():
            with folder.open(name) as source:
                yield report(source.name, self.name, source.size, index_items(source, repository.version))
        if repository.has_manifest:
            with repository.folder.folder(CONFIG).open(MANIFEST) as source:
                version = str(repository.version or "")
                member = replace(self, repository_version=version, ledger=Ledger(), repository=repository)
                yield report(source.name, self.name, source.size, member.scan(source))

    def holdings(self, folder: Folder) -> Iterator[str]:
        """Everything in the folders that make a repository."""
        return Repository(folder).holdings()

    def accounts(self, folder: Folder) -> Iterator[Report]:
        """Reports of index files and the manifest, and one of the repository as a whole."""
        repository = Repository(folder)
        for member in self.members(folder):
            if member.path not in self.ledger.places:
                with open_source(member.path) as source:
                    report(
                        member.path,
                        self.name,
                        source.size,
                        member.format.kind_of(source).walk(source, WalkDepth.EVERYTHING),
                    )
        yield from self._side_files(repository)
        paths = {pack.name: pack.path for pack in repository.packs if pack.is_placed}
        whole = report(folder.path, self.name, 0, Check(repository, self.ledger, paths).findings())
        whole.units = whole.rows = self.ledger.table().num_rows
        yield whole


def _view(source: Source, columns: Collection[str]) -> memoryview | None:
    """The whole pack, where a column needs it."""
    return source.on_disk().view(0, source.size) if set(SLOTS.names) & set(columns) else None


__all__ = ["Borg"]
