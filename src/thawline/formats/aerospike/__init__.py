"""Aerospike backups (.asb): records, secondary indexes and UDFs in a text whose values have lengths, not line ends.

Format: https://github.com/aerospike/aerospike-tools-backup/blob/d70f671/README.md#backup-file-format

Two tools read these files, asrestore (C) and backup-go, and they differ. An entry is intact if both accept it, or, in a
lenient reading, one of them. Two exceptions are always intact: version 3.2, which only backup-go reads, and `-nan`,
which asbackup writes and only asrestore reads.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Literal, Self

import pyarrow as pa

from thawline.engine import columns
from thawline.errors import SourceError, ThawlineError
from thawline.folder import Folder
from thawline.formats.aerospike import folder
from thawline.formats.aerospike.checks import Soundness, quick_check
from thawline.formats.aerospike.entries import EntryReader
from thawline.formats.aerospike.findings import (
    BROKEN,
    CODES,
    TRUNCATED,
    UNKNOWN_KIND,
    Stretch,
    Strictness,
    strictness,
    version_notes,
)
from thawline.formats.aerospike.folder import Tally
from thawline.formats.aerospike.rows import (
    KERNELS,
    TABLES,
    VALUE_KINDS,
    BinColumn,
    BinColumns,
    ChunkRows,
    Decoded,
    Selection,
)
from thawline.formats.aerospike.salvage import salvaged
from thawline.formats.aerospike.text import (
    HEADER,
    HEADER_SIZE,
    VERSIONS,
    ZSTD_MAGIC,
    Item,
    PlainText,
    ZstdPart,
    ZstdText,
    entries_of,
    first_bytes,
    given,
    is_asbx,
    is_noise,
    opened_at,
    plain_item,
    starts_in,
    uncounted,
)
from thawline.formats.aerospike.walk import Walk, items_of, started_entry
from thawline.formats.contract import Ask, Claim, Depth, Format, Kind, Member, Overview, Reading, Section, Table
from thawline.generated.kernels.constants import AEROSPIKE_RECORD_LEAD_NAMESPACE
from thawline.generated.tables.aerospike import TABLES as DECLARED
from thawline.model import Finding, LeftOut, Report, Run, Span
from thawline.source import Source
from thawline.wording import quoted

__all__ = ["Aerospike", "Backup", "LearnedBins", "TooManyBins"]

ANY_VERSION = re.compile(rb"Version [0-9][0-9.]*\n")
MOST_BINS = 4096
"""The most names of bins that become columns."""
CHUNKS_AT_ONCE = 4
"""The most chunks whose stretches may alternate."""
NAMESPACE: bytes = AEROSPIKE_RECORD_LEAD_NAMESPACE
RESYNCHRONISING = frozenset({BROKEN, TRUNCATED, UNKNOWN_KIND})
"""Findings after which a walk searches for the next entry, and what it finds depends on what was before."""
LARGEST = 2 << 20
"""Bytes of a section: all of its rows are held until its end proves that it holds, and memory is used once more."""
SPECS = {"records": "aerospike_record", "indexes": "aerospike_index", "udfs": "aerospike_udf"}

Shown = Callable[[Iterable[Item]], Iterator[Run | Finding]]


class TooManyBins(ThawlineError, ValueError):
    """The file has more names of bins than a table may have columns."""


class LearnedBins:
    """Names and kinds of the bins that have been seen."""

    def __init__(self) -> None:
        self.kinds: dict[str, set[str]] = {}
        self._seen: dict[Decoded, list[tuple[int, int]]] = {}
        """Records to learn from, by chunk, since many stretches may share one."""

    def add(self, decoded: Decoded, first: int, rows: int) -> None:
        """Learn the bins of some records."""
        if decoded not in self._seen and len(self._seen) >= CHUNKS_AT_ONCE:
            self._learn(next(iter(self._seen)))
        start, end = decoded.bin_offsets[first], decoded.bin_offsets[first + rows]
        self._seen.setdefault(decoded, []).append((start, end - start))

    def _learn(self, decoded: Decoded) -> None:
        seen = pa.table({"name": decoded.items.field("name"), "type": decoded.items.field("type")})
        seen = pa.concat_tables([seen.slice(*place) for place in self._seen.pop(decoded)])
        for row in seen.group_by(["name", "type"]).aggregate([]).to_pylist():
            kinds = self.kinds.setdefault(row["name"], set())
            if row["type"] != "nil":
                kinds.add(VALUE_KINDS.get(row["type"], "bytes"))
        if len(self.kinds) > MOST_BINS:
            raise TooManyBins(f"there are more than {MOST_BINS} names of bins; read them with --bins list")

    def columns(self, taken: Iterable[str]) -> BinColumns:
        """The columns, in the order of their names. A name that the table has already gets a prefix."""
        for decoded in list(self._seen):
            self._learn(decoded)
        names = set(taken)
        found = []
        for name, kinds in sorted(self.kinds.items()):
            shown = name
            while shown in names:
                shown = f"bin_{shown}"
            names.add(shown)
            found.append(BinColumn(shown, name, _kind(kinds)))
        return BinColumns(tuple(found))


def _kind(kinds: set[str]) -> str:
    if len(kinds) == 1:
        return next(iter(kinds))
    return "mixed_bytes" if "bytes" in kinds else "mixed" if kinds else "text"


@dataclass(frozen=True, slots=True)
class Aerospike(Format):
    """Aerospike backups: records, secondary indexes and UDFs of a namespace."""

    name = "aerospike"
    title = "Aerospike backup"
    codes = CODES

    strict: bool | None = None
    """True leaves out entries that only one tool reads, False accepts them. By default they count as damaged and are
    given, with `suspect` set."""

    bins: Literal["list", "columns"] | BinColumns = "list"
    """Whether bins are a list in each record or columns of the table, which takes a pass over the files first."""

    namespace: tuple[str, ...] | None = None
    set: tuple[str, ...] | None = None
    prune: Literal["hint", "strict", "off"] = "hint"
    tally: Tally = field(default_factory=Tally, compare=False, repr=False)
    """No option: what walks over the members of a folder have found, for the report on the whole."""

    def prepared(self, sources: Iterable[Source]) -> Self:
        """The format with the names and types of bins, if they become columns: a pass over the files.

        A file that cannot be read is skipped here; reading it later says why.
        """
        if self.bins != "columns":
            return self
        learning = LearnedBins()
        for source in sources:
            with suppress(SourceError):
                self._learn(learning, source)
        taken = [column.name for column in DECLARED["records"].columns if column.name != "bins"]
        return replace(self, bins=learning.columns(taken))

    def _learn(self, learning: LearnedBins, source: Source) -> None:
        items = (each for item in items_of(source, self.rules) for each in item.given())
        for item in items:
            if item.stretch and isinstance(item.stretch.content, Decoded):
                learning.add(item.stretch.content, item.stretch.first, item.stretch.units)

    @property
    def bin_columns(self) -> BinColumns | None:
        """The names and types of bins, if they are columns."""
        return self.bins if isinstance(self.bins, BinColumns) else None

    @property
    def selection(self) -> Selection | None:
        """The requested namespaces and sets; None for all."""
        if self.namespace is None and self.set is None:
            return None
        return Selection(self.namespace, self.set, self.prune != "off")

    @property
    def kinds(self) -> tuple[Kind, ...]:
        """The one kind of backup files, plain or compressed."""
        return (Backup(self),)

    @property
    def rules(self) -> Strictness:
        """What becomes of entries that only one of the tools reads."""
        return strictness(self.strict)

    def claim_folder(self, found: Folder) -> Claim | None:
        """The claim on a folder with .asb files."""
        return folder.claim(found)

    def members(self, found: Folder) -> Iterator[Member]:
        """The .asb files of a backup, by name."""
        return folder.members(self, found, self.tally)

    def holdings(self, found: Folder) -> Iterator[str]:
        """The .asb files and the metadata of a backup."""
        return folder.holdings(found)

    def accounts(self, found: Folder) -> Iterator[Report]:
        """The report on a backup as a whole: repeated records, the first file, the counts of metadata.yaml."""
        return folder.accounts(self, found, self.tally)


@dataclass(frozen=True, slots=True)
class Backup(Kind):
    """A file of a backup: text, or text in zstd frames."""

    format: Aerospike
    name = "backup"
    unit_name = "entry"
    overview = Overview(
        "records",
        (
            Ask("namespaces", "values", ("namespace",)),
            Ask("sets", "values", ("set",)),
            Ask("expirations", "range", ("expiration",)),
        ),
    )

    @property
    def tables(self) -> dict[str, Table]:
        """Records, with bins as a list or as columns, indexes and UDFs."""
        bins, given = self.format.bin_columns, {name: Table.of(table) for name, table in DECLARED.items()}
        return {**given, "records": replace(given["records"], schema=bins.table.schema)} if bins else given

    def claim(self, source: Source) -> Claim | None:
        """The claim on a backup by its version or a zstd frame; an encrypted one has only its name."""
        head, has_name = first_bytes(source), source.name.endswith(".asb")
        if found := HEADER.match(head):
            return Claim("aerospike", head[8:11].decode(), f"starts with {found[0][:-1].decode()!r}", "certain")
        if head[:4] == ZSTD_MAGIC:
            return _compressed_claim(source, has_name=has_name)
        if is_asbx(source, head):
            return Claim("aerospike", "asbx 1", "has the head of an XDR backup and is named .asbx", "likely")
        if has_name or ANY_VERSION.match(head):
            why = "named .asb, without a header" if has_name else "starts with 'Version' and an unknown version"
            if is_noise(head):
                why = "named .asb and looks like noise, as encrypted backups do"
            return Claim("aerospike", "", why, "possible")
        return None

    def walk(self, source: Source, depth: Depth) -> Iterator[Run | Finding]:
        """Intact entries and findings. There are no heads: an entry is found by reading the one before it."""
        if depth is Depth.UNITS:
            return _readable(items_of(source, self.format.rules, selection=self.format.selection, is_written=False))
        return self._checked(source)

    def is_undivided(self, source: Source) -> bool:
        """Whether the file is compressed: where its entries are, only the stream before them tells."""
        return first_bytes(source)[: len(ZSTD_MAGIC)] == ZSTD_MAGIC

    def _checked(self, source: Source) -> Iterator[Run | Finding]:
        tally, rules = self.format.tally, self.format.rules
        is_expected = tally.expects(source.name)
        items = items_of(source, rules, quick=quick_check(keeps_digests=is_expected), is_written=False)
        if is_expected:
            items = tally.watched(source.name, items, is_strict=rules.is_damage)
        return _shown(items)

    are_sections_final = True

    def boundary(self, source: Source, position: int) -> int:
        """Where an entry seems to start."""
        version = version_of(source)
        return entry_after(source, position, version) if version else source.size

    def sections(self, source: Source, depth: Depth, size: int, within: Span) -> Iterator[Section]:
        """Parts that seem to start with an entry; none where the first records decide about the others.

        Neither does a file have any of whose records the account of its folder is taken.
        """
        is_watched = self.format.selection if depth is Depth.UNITS else self.format.tally.expects(source.name)
        version = "" if is_watched else version_of(source)
        for span in _spans(source, version, size, within) if version else ():
            yield Section(span, partial(self._verified, Part(source, span, version, self.format.rules), depth))

    def _verified(self, part: Part, depth: Depth) -> Sequence[Run | Finding] | None:
        return part.items(None, _readable) if depth is Depth.UNITS else part.items(quick_check(), _shown)

    def rest(self, source: Source, depth: Depth, start: int) -> Iterator[Run | Finding]:
        """What a walk gives after sections."""
        if not start:
            return self.walk(source, depth)
        part = Part(source, Span(start, source.size), version_of(source), self.format.rules)
        return _readable(part.rest(None)) if depth is Depth.UNITS else _shown(part.rest(quick_check()))

    def rows(self, source: Source, items: Iterable[Run | Finding], table: str, columns: Collection[str]) -> Reading:
        """Runs with their rows. Doubted entries of another table are not given here."""
        is_withheld = False
        for item in items:
            if isinstance(item, Finding):
                yield given(item, is_given=False) if is_withheld else item
                is_withheld = False
            elif item.given and entries_of(item).table != table:
                is_withheld = True
            else:
                yield self._decoded(source, item, table, columns)

    def _decoded(
        self, source: Source, run: Run, table: str, columns: Collection[str]
    ) -> tuple[Run, Iterable[pa.RecordBatch]]:
        place, selection = entries_of(run), self.format.selection if table == "records" else None
        if selection and run.units and run.left_out and run.left_out.units == run.units:
            return run, ()
        if place.stretch and isinstance(place.stretch.content, ChunkRows):
            return run, self._batches([place.stretch], table, columns)
        if run.left_out and not run.units:
            tail = pruned_stretches(source, run) if table != "records" else iter(())
            return run, self._batches(tail, table, columns)
        if selection is None:
            return run, self._batches(stretches_of(source, run), table, columns)
        stretches = list(stretches_of(source, run, selection))
        return replace(run, left_out=_left_out(stretches)), self._batches(stretches, table, columns)

    def _batches(self, stretches: Iterable[Stretch], table: str, columns: Collection[str]) -> Iterator[pa.RecordBatch]:
        for stretch in stretches:
            if stretch.requested != 0:
                yield from stretch.batches(table, columns, self.format.bin_columns, self.format.selection)

    def units(self, source: Source, run: Run) -> Iterator[Span]:
        """The entries of a run; in a compressed file the run itself, since entries have no bytes of their own there."""
        return unit_spans(source, run)

    def spec_at(self, source: Source, position: int) -> str:
        """The spec of the entry that starts at a position."""
        lead = bytes(source.view(position, min(position + 4, source.size)))
        if lead[:1] == b"#":
            return "aerospike_meta"
        return "aerospike_header" if position == 0 else SPECS[TABLES.get(lead, "records")]

    def intact(self, source: Source) -> Iterator[Run | Finding]:
        """The items of a walk, with doubted entries as runs: salvage writes them so that both tools read them."""
        return (each.shown for item in items_of(source, self.format.rules) for each in item.given())

    def salvage(self, source: Source, items: Iterator[Run | Finding]) -> Iterator[bytes | memoryview]:
        """A backup that both tools read, of everything that is intact."""
        return salvaged(source, items)


def _shown(items: Iterable[Item]) -> Iterator[Run | Finding]:
    return (item.shown for item in items)


def _readable(items: Iterable[Item]) -> Iterator[Run | Finding]:
    """The same, with entries that count as damaged but can be read before the finding about them."""
    for item in items:
        doubted = item.doubted() if isinstance(item.shown, Finding) else None
        if doubted and isinstance(doubted.shown, Run) and isinstance(item.shown, Finding):
            yield uncounted(doubted.shown)
            yield given(item.shown)
        else:
            yield item.shown


def _compressed_claim(source: Source, *, has_name: bool) -> Claim | None:
    text, _ = ZstdText(source.view(0, min(source.size, 1 << 18)), room=1 << 18).window(0, HEADER_SIZE)
    if HEADER.fullmatch(text):
        version = bytes(text[8:11]).decode()
        return Claim("aerospike", version, f"zstd-compressed text that starts with 'Version {version}'", "certain")
    return Claim("aerospike", "", "named .asb, and zstd-compressed", "possible") if has_name else None


def _left_out(stretches: Iterable[Stretch]) -> LeftOut:
    """The entries of stretches that are not requested."""
    selected = [stretch for stretch in stretches if stretch.requested is not None]
    units = sum(stretch.units - (stretch.requested or 0) for stretch in selected)
    return LeftOut(units, sum(stretch.left_out_bytes for stretch in selected))


# Parts of a backup that are read by themselves: a file is divided where entries seem to start, and since nothing but a
# walk tells whether they do, each section has its own. The runs of an earlier walk are read again, to decode them.


def version_of(source: Source) -> str:
    """The version of a plain backup with a header that is as it should be; empty for any other file."""
    found = HEADER.match(first_bytes(source))
    version = f"{found[1].decode()}.{found[2].decode()}" if found else ""
    return version if version in VERSIONS and not version_notes(version.encode()) else ""


def _spans(source: Source, version: str, size: int, within: Span) -> Iterator[Span]:
    """Stretches of about some size, up to what looks like an entry."""
    size = min(size, LARGEST)
    start = within.start
    while start < within.end:
        end = min(entry_after(source, start + size, version), within.end)
        yield Span(start, end)
        start = end


def entry_after(source: Source, position: int, version: str) -> int:
    """Where an entry seems to start; the end of the file if none does."""
    view = source.view(0, source.size)
    starts = starts_in(view)
    at = starts.following(min(position, source.size))
    if view[at : at + len(NAMESPACE)] == NAMESPACE:
        # It may be the second line of a record, after its key. What starts next is an entry.
        at = starts.following(at + 1)
    while at < source.size and not started_entry(EntryReader(view, at, version)):
        at = starts.following(at + 1)
    return at


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a plain backup that starts with an entry, or with the header."""

    source: Source
    span: Span
    version: str
    rules: Strictness

    def walk(self, quick: Soundness | None) -> Walk:
        """A walk over it."""
        start, hint = self.span.start, f"thawline salvage {quoted(self.source.name)} -o intact.asb"
        text, rows = PlainText(self.source, self.span.end), columns.MAX_ROWS
        walk = Walk(text, self.rules, hint, start, self.version, quick, is_written=False, last_complete=start)
        walk.table, walk.rows = ("records", rows) if start else (walk.table, walk.rows)
        return walk

    def items(self, quick: Soundness | None, shown: Shown) -> Sequence[Run | Finding] | None:
        """What is found in it; None unless it consists of whole entries."""
        walk = self.walk(quick)
        items = list(shown(self._found(walk)))
        is_whole = walk.pos == self.span.end
        is_clear = all(isinstance(item, Run) or item.code not in RESYNCHRONISING for item in items)
        return items if is_whole and is_clear else None

    def rest(self, quick: Soundness | None) -> Iterator[Item]:
        """What is found in it, if it goes up to the end of the file."""
        return self._found(self.walk(quick))

    def _found(self, walk: Walk) -> Iterator[Item]:
        found = walk.entries() if self.span.start else walk.items()
        return (plain_item(item, walk.version) for item in found)


# Runs of an earlier walk.


def stretches_of(source: Source, run: Run, selection: Selection | None = None) -> Iterator[Stretch]:
    """The stretches of a run of an earlier walk."""
    place = entries_of(run)
    if place.table not in KERNELS:
        return
    span = place.text or run.given or run.span
    text = ZstdPart(opened_at(source, place), span.end) if place.text else PlainText(source, span.end)
    walk = Walk(text, pos=span.start, version=place.version, selection=selection, is_written=False)
    if place.suspect == "nested":
        walk.nested_to = span.end
    for found in walk.entries():
        if isinstance(found, Stretch):
            yield replace(found, suspect="frame") if place.suspect == "frame" and not found.suspect else found


def pruned_stretches(source: Source, run: Run) -> Iterator[Stretch]:
    """The stretches in the rest of a file that holds no requested record."""
    place = entries_of(run)
    text = opened_at(source, place) if place.text else PlainText(source)
    start = place.text.start if place.text else run.span.start
    walk = Walk(text, pos=start, version=place.version, is_written=False)
    return (found for found in walk.entries() if isinstance(found, Stretch))


def unit_spans(source: Source, run: Run) -> Iterator[Span]:
    """The entries of a run; in a compressed file the run itself."""
    if entries_of(run).text or run.given or run.units == 1:
        yield run.given or run.span
        return
    for stretch in stretches_of(source, run):
        yield from (Span(start, end) for start, end in stretch.places())
