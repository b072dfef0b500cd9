"""Aerospike backups (.asb): records, secondary indexes and UDFs in a text that is read by lengths, not by lines.

Format: https://github.com/aerospike/aerospike-tools-backup/blob/d70f671/README.md#backup-file-format

Two tools read these files, asrestore (C) and backup-go, and they differ. An entry is intact if both take it; leniently,
if one of them does. Version 3.2, which only backup-go reads, and `-nan`, which only asrestore reads and asbackup
writes, are fine either way.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Literal, Self

import pyarrow as pa

from thawline.errors import SourceError
from thawline.folder import Folder
from thawline.formats.aerospike import folder, salvage
from thawline.formats.aerospike.bins import BinColumns, Learning
from thawline.formats.aerospike.choice import Choice
from thawline.formats.aerospike.findings import CODES
from thawline.formats.aerospike.parts import GlobalRows, Part
from thawline.formats.aerospike.reading import (
    entries_of,
    given_too,
    items_of,
    parts_of,
    recognised,
    spared_parts,
    unit_spans,
)
from thawline.formats.aerospike.rows import PLACE, SCHEMAS, TABLES
from thawline.formats.aerospike.soundness import quick_look
from thawline.formats.aerospike.strictness import Strictness, strictness
from thawline.formats.aerospike.tally import Tally
from thawline.formats.aerospike.values import Decoded
from thawline.formats.contract import Claim, Depth, Format, Kind, Member, Reading, Table
from thawline.generated.tables.aerospike import TABLES as DECLARED
from thawline.model import Finding, LeftOut, Report, Run, Span
from thawline.source import Source

SPECS = {"records": "aerospike_record", "indexes": "aerospike_index", "udfs": "aerospike_udf"}


@dataclass(frozen=True, slots=True)
class Aerospike(Format):
    """Aerospike backups: records, secondary indexes and UDFs of a namespace."""

    name = "aerospike"
    title = "Aerospike backup"
    codes = CODES

    strict: bool | None = None
    """Whether an entry counts as intact only if both tools read it. True also leaves it out; by default it is given,
    with `suspect` set."""

    bins: Literal["list", "columns"] | BinColumns = "list"
    """Whether bins are a list in each record or columns of the table, which then have to be learned first."""

    namespace: tuple[str, ...] | None = None
    set: tuple[str, ...] | None = None
    prune: Literal["hint", "strict", "off"] = "hint"
    tally: Tally = field(default_factory=Tally, compare=False, repr=False)
    """No option: what scans of the members of a folder have told, for the account of the whole."""

    def prepared(self, sources: Iterable[Source]) -> Self:
        """The format that knows the names and types of the bins, if they are to be columns: a pass over the files.

        A file that cannot be read has nothing to say here; whoever reads it hears why.
        """
        if self.bins != "columns":
            return self
        learning = Learning()
        for source in sources:
            with suppress(SourceError):
                self._learn(learning, source)
        taken = [*SCHEMAS["records"].names, *PLACE.names]
        return replace(self, bins=learning.columns(name for name in taken if name != "bins"))

    def _learn(self, learning: Learning, source: Source) -> None:
        items = (given for item in items_of(source, self.rules) for given in item.given())
        for item in items:
            if item.part and isinstance(item.part.content, Decoded):
                learning.add(item.part.content, item.part.first, item.part.units)

    @property
    def bin_columns(self) -> BinColumns | None:
        """The names and types of bins, where they are columns."""
        return self.bins if isinstance(self.bins, BinColumns) else None

    @property
    def choice(self) -> Choice | None:
        """The requested namespaces and sets; None for all."""
        if self.namespace is None and self.set is None:
            return None
        return Choice(self.namespace, self.set, self.prune != "off")

    @property
    def kinds(self) -> tuple[Kind, ...]:
        """Backup files are of one kind, plain or compressed."""
        return (Backup(self),)

    @property
    def rules(self) -> Strictness:
        """What becomes of entries that only one of the two tools reads."""
        return strictness(self.strict)

    def claim_folder(self, found: Folder) -> Claim | None:
        """A folder with .asb files in it is one backup."""
        return folder.claim(found)

    def members(self, found: Folder) -> Iterator[Member]:
        """The .asb files of a backup, by name."""
        return folder.members(self, found, self.tally)

    def holdings(self, found: Folder) -> Iterator[str]:
        """The .asb files and the metadata of a backup."""
        return folder.holdings(found)

    def accounts(self, found: Folder) -> Iterator[Report]:
        """What holds for a backup as a whole: records once, one first file, the counts of metadata.yaml."""
        return folder.accounts(self, found, self.tally)


@dataclass(frozen=True, slots=True)
class Backup(Kind):
    """A file of a backup: text, or text in zstd frames."""

    format: Aerospike
    name = "backup"
    unit_name = "entry"

    @property
    def tables(self) -> dict[str, Table]:
        """Records, with bins as a list or as columns, indexes and UDFs; where an entry lies comes by name."""
        bins, given = self.format.bin_columns, {name: Table.of(table) for name, table in DECLARED.items()}
        records = given["records"]
        return {**given, "records": replace(records, schema=bins.schema(records.schema))} if bins else given

    def claim(self, source: Source) -> Claim | None:
        """A backup starts with its version, or with a zstd frame; an encrypted one has only its name."""
        return recognised(source)

    def walk(self, source: Source, depth: Depth) -> Iterator[Run | Finding]:
        """Intact entries and findings. Heads tell nothing: an entry is found by reading the one before it."""
        return self._shared(source) if depth is Depth.UNITS else self._checked(source)

    def _checked(self, source: Source) -> Iterator[Run | Finding]:
        tally, rules = self.format.tally, self.format.rules
        is_expected = tally.expects(source.name)
        items = items_of(source, rules, quick=quick_look(keeps_digests=is_expected), is_written=False)
        if is_expected:
            items = tally.watched(source.name, items, is_strict=rules.is_damage)
        return (item.shown for item in items)

    def _shared(self, source: Source) -> Iterator[Run | Finding]:
        """The same with entries that count as damaged and can be read, before the finding that is about them."""
        for item in items_of(source, self.format.rules, choice=self.format.choice, is_written=False):
            given = item.doubted() if isinstance(item.shown, Finding) else None
            if given and isinstance(given.shown, Run) and isinstance(item.shown, Finding):
                # What a finding is about does not count as intact, even if its rows are given.
                yield replace(given.shown, units=0)
                yield given_too(item.shown)
            else:
                yield item.shown

    def rows(self, source: Source, items: Iterable[Run | Finding], table: str, columns: Collection[str]) -> Reading:
        """Runs with their rows; entries of another table that count as damaged are lost to this one."""
        is_withheld = False
        for item in items:
            if isinstance(item, Finding):
                yield replace(item, is_given=False) if is_withheld else item
                is_withheld = False
            elif item.given and entries_of(item).table != table:
                is_withheld = True
            else:
                yield self._decoded(source, item, table, columns)

    def _decoded(
        self, source: Source, run: Run, table: str, columns: Collection[str]
    ) -> tuple[Run, Iterable[pa.RecordBatch]]:
        place, choice = entries_of(run), self.format.choice if table == "records" else None
        if choice and run.units and run.left_out and run.left_out.units == run.units:
            return run, ()
        if place.part and isinstance(place.part.content, Decoded | GlobalRows):
            return run, self._batches([place.part], table, columns)
        if run.left_out and not run.units:
            tail = spared_parts(source, run) if table != "records" else iter(())
            return run, self._batches(tail, table, columns)
        if choice is None:
            return run, self._batches(parts_of(source, run), table, columns)
        parts = list(parts_of(source, run, choice))
        chosen = [part for part in parts if part.taken is not None]
        units = sum(part.units - part.taken for part in chosen if part.taken is not None)
        left_out = LeftOut(units, sum(part.left_out_bytes for part in chosen))
        return replace(run, left_out=left_out), self._batches(parts, table, columns)

    def _batches(self, parts: Iterable[Part], table: str, columns: Collection[str]) -> Iterator[pa.RecordBatch]:
        for part in parts:
            if part.taken != 0:
                yield from part.batches(table, columns, self.format.bin_columns, self.format.choice)

    def units(self, source: Source, run: Run) -> Iterator[Span]:
        """The entries of a run; of a compressed file the run itself, since they have no bytes of their own there."""
        return unit_spans(source, run)

    def spec_at(self, source: Source, position: int) -> str:
        """The spec of the entry that starts at a position."""
        lead = bytes(source.view(position, min(position + 4, source.size)))
        if lead[:1] == b"#":
            return "aerospike_meta"
        return "aerospike_header" if position == 0 else SPECS[TABLES.get(lead, "records")]

    def intact(self, source: Source) -> Iterator[Run | Finding]:
        """The items of a walk, with entries that one tool reads as runs: they are written so that both do."""
        return (given.shown for item in items_of(source, self.format.rules) for given in item.given())

    def salvage(self, source: Source, items: Iterator[Run | Finding]) -> Iterator[bytes | memoryview]:
        """A backup that both tools read, of everything that is intact."""
        return salvage.rewritten(source, items)


__all__ = ["Aerospike", "Backup", "Part"]
