"""Aerospike backups (.asb): records, secondary indexes and UDFs in a text that is read by lengths, not by lines.

Format: https://github.com/aerospike/aerospike-tools-backup/blob/d70f671/README.md#backup-file-format

Two tools read these files, asrestore (C) and backup-go, and they differ. An entry is intact if both take it; leniently,
if one of them does. Version 3.2, which only backup-go reads, and `-nan`, which only asrestore reads and asbackup
writes, are fine either way.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field, fields, replace
from typing import Literal, Self

import pyarrow as pa

from thawline.errors import SourceError
from thawline.folder import Folder
from thawline.formats.aerospike import folder, salvage
from thawline.formats.aerospike.bins import BinColumns, Learning
from thawline.formats.aerospike.choice import Choice
from thawline.formats.aerospike.findings import CODES
from thawline.formats.aerospike.parts import Part
from thawline.formats.aerospike.reading import Item, items_of, parts_of, recognised, unit_spans
from thawline.formats.aerospike.rows import DOUBTED, PLACE, SCHEMAS, TABLES
from thawline.formats.aerospike.soundness import quick_look
from thawline.formats.aerospike.strictness import Strictness, strictness
from thawline.formats.aerospike.tally import Tally
from thawline.formats.aerospike.values import Decoded
from thawline.formats.contract import Claim, Member, Reading
from thawline.formats.legacy import LegacyFormat as Format
from thawline.model import Finding, Report, Run, Span
from thawline.source import Source

SPECS = {"records": "aerospike_record", "indexes": "aerospike_index", "udfs": "aerospike_udf"}


@dataclass(frozen=True, slots=True)
class Aerospike(Format):
    """Aerospike backups: records, secondary indexes and UDFs of a namespace."""

    name = "aerospike"
    title = "Aerospike backup"
    table_names = ("records", "indexes", "udfs")
    codes = CODES
    unit_name = "entry"

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
        for item in self._items(source):
            if item.part and isinstance(item.part.content, Decoded):
                learning.add(item.part.content, item.part.first, item.part.units)

    @property
    def _columns(self) -> BinColumns | None:
        return self.bins if isinstance(self.bins, BinColumns) else None

    @property
    def _choice(self) -> Choice | None:
        if self.namespace is None and self.set is None:
            return None
        return Choice(self.namespace, self.set, self.prune != "off")

    def claim(self, source: Source) -> Claim | None:
        """A backup starts with its version, or with a zstd frame; one that is encrypted has only its name."""
        return recognised(source)

    def schema(self, table: str) -> pa.Schema:
        """The schema of a table."""
        is_wide = table == "records" and self._columns
        return self._columns.schema(SCHEMAS[table]) if is_wide and self._columns else SCHEMAS[table]

    def extras(self, table: str) -> pa.Schema:
        """Where an entry lies in the text; of an index or a UDF also whether it is to be trusted."""
        return PLACE if table == "records" else DOUBTED

    @property
    def _rules(self) -> Strictness:
        return strictness(self.strict)

    def _items(self, source: Source) -> Iterator[Item]:
        """Everything in a file; before each finding the entries that are given although it is about them."""
        return (given for item in items_of(source, self._rules) for given in item.given())

    def scan(self, source: Source) -> Iterator[Run | Finding]:
        """Intact entries and findings, in file order."""
        is_expected = self.tally.expects(source.name)
        items = items_of(source, self._rules, quick=quick_look(keeps_digests=is_expected), is_written=False)
        if is_expected:
            items = self.tally.watched(source.name, items, is_strict=self._rules.is_damage)
        return (item.shown for item in items)

    def read(self, source: Source, table: str, columns: Collection[str]) -> Reading:
        """The same with rows, those of entries that count as damaged and can be read among them."""
        choice = self._choice if table == "records" else None
        for item in items_of(source, self._rules, choice=choice, is_written=False):
            if isinstance(item.shown, Run):
                yield item.shown, self._batches(item.part, table, columns)
                continue
            given = item.doubted()
            run, part = (given.shown, given.part) if given else (None, None)
            if isinstance(run, Run) and part and part.table == table:
                # What a finding is about is not counted as intact, also where its rows are given.
                yield replace(run, units=0), self._batches(part, table, columns)
                yield replace(item.shown, is_given=True)
            else:
                yield item.shown

    def _batches(self, part: Part | None, table: str, columns: Collection[str]) -> Iterable[pa.RecordBatch]:
        return () if part is None or part.taken == 0 else part.batches(table, columns, self._columns, self._choice)

    def read_run(self, source: Source, run: Run, table: str, columns: Collection[str]) -> Reading:
        """Rows of a run; what it says is left out are entries of other namespaces and sets."""
        if "skipped" in run.labels:
            yield run, ()
            return
        if self._choice is None or table != "records":
            yield run, self.batches(source, run, table, columns)
            return
        parts = list(parts_of(source, run, self._choice))
        units = sum(part.units - part.taken for part in parts if part.taken is not None)
        size = sum(part.left_out_bytes for part in parts if part.taken is not None)
        yield replace(run, labels={**run.labels, "left_out": (units, size)}), self._rows(parts, table, columns)

    def batches(self, source: Source, run: Run, table: str, columns: Collection[str]) -> Iterator[pa.RecordBatch]:
        """Rows of a run."""
        return self._rows(parts_of(source, run, self._choice if table == "records" else None), table, columns)

    def _rows(self, parts: Iterable[Part], table: str, columns: Collection[str]) -> Iterator[pa.RecordBatch]:
        for part in parts:
            yield from self._batches(part, table, columns)

    def units(self, source: Source, run: Run) -> Iterator[Span]:
        """The entries of a run; of a compressed file the run itself, since they have no bytes of their own there."""
        return unit_spans(source, run)

    def unit_at(self, source: Source, position: int) -> str:
        """The spec of the entry that starts at a position."""
        lead = bytes(source.view(position, min(position + 4, source.size)))
        if lead[:1] == b"#":
            return "aerospike_meta"
        return "aerospike_header" if position == 0 else SPECS[TABLES.get(lead, "records")]

    def for_salvage(self) -> Salvaging:
        """The same, with what one tool reads as runs of their own: it is written so that both do."""
        told = {option.name: getattr(self, option.name) for option in fields(Aerospike)}
        return Salvaging(**told)

    def salvage(self, source: Source, items: Iterator[Run | Finding]) -> Iterator[bytes | memoryview]:
        """A backup that both tools read, of everything that is intact."""
        return salvage.rewritten(source, items)

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
class Salvaging(Aerospike):
    """Backups as they are read to make new ones of them."""

    def scan(self, source: Source) -> Iterator[Run | Finding]:
        """The items of a scan, with what is given although it counts as damaged."""
        return (item.shown for item in self._items(source))


__all__ = ["Aerospike", "Part"]
