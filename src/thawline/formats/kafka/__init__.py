"""Kafka log segments: batches of every version, back to back, with the files of a partition beside them.

Layout: https://kafka.apache.org/documentation/#messageformat
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import deque
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import PurePath

import pyarrow as pa
import pyarrow.compute as pc

from thawline.batches import last
from thawline.errors import SourceError
from thawline.folder import Folder
from thawline.formats.contract import Claim, Content, Member, Reading
from thawline.formats.kafka import checkpoints, messages, partition, records, rescue, sidecars, tables
from thawline.formats.kafka.checks import Checksums
from thawline.formats.kafka.contents import content_of
from thawline.formats.kafka.control import broken_control
from thawline.formats.kafka.dense import kinds
from thawline.formats.kafka.findings import CODES, EPOCH_FALLS, PREALLOCATED
from thawline.formats.kafka.heads import MESSAGES, Heads, head_at, table_at, walk
from thawline.formats.kafka.indexes import build_indexes
from thawline.formats.kafka.lookup import find_start
from thawline.formats.kafka.rows import EXTRAS, RECORDS, Part, Request
from thawline.formats.kafka.segment import Segment, Stretch, in_order, nowhere, together
from thawline.formats.kafka.selection import Selection
from thawline.formats.kafka.transactions import Transactions
from thawline.formats.legacy import LegacyFormat as Format
from thawline.model import Finding, Report, Run, Span
from thawline.source import Source

SEGMENT_NAME = re.compile(r"(\d{20})(?:-\d{10})?\.(?:log|checkpoint)(?:\.deleted|\.swap|\.cleaned)?", re.ASCII)
LARGEST_OFFSET = (1 << 63) - 1
HARMLESS = (PREALLOCATED, EPOCH_FALLS)
"""Findings that leave no doubt about where units start and which offsets they have."""


@dataclass(frozen=True, slots=True)
class Kafka(Format):
    """Kafka log segments, magic 0 to 2."""

    name = "kafka"
    title = "Kafka log segment"
    table_names = ("records", "batches", "control", *sidecars.SCHEMAS)
    codes = CODES
    unit_name = "batch"
    has_heads = True

    since: int | None = None
    until: int | None = None
    offsets: tuple[int | None, int | None] = (None, None)
    isolation: str = "read_uncommitted"
    control: bool = False
    max_batch_bytes: int = 32 << 20
    topic: str | None = None
    partition: int | None = None
    transactions: Transactions | None = field(default=None, compare=False)
    """How the transactions of the whole partition ended; without it only the file itself tells."""
    is_salvaging: bool = False
    """Whether what is kept is put into a new file, in which it must be without damage."""

    def claim(self, source: Source) -> Claim | None:
        """A segment has no magic of its own: its first batch must be right, or its name that of a segment."""
        if beside := sidecars.claim(source):
            return beside
        head = head_at(source, 0) if source.size else None
        if isinstance(head, Heads) and Checksums(source).right(head)[0].as_py():
            magic = head.rows["magic"][0].as_py()
            why = f"starts with a batch of magic {magic} whose checksum is right"
            return Claim(self.name, str(magic), why, "certain")
        if SEGMENT_NAME.fullmatch(PurePath(source.name).name):
            return Claim(self.name, "2", "named like a segment, but does not start with an intact batch", "likely")
        return None

    def schema(self, table: str) -> pa.Schema:
        """The schema of a table."""
        return RECORDS if table == "records" else {**tables.SCHEMAS, **sidecars.SCHEMAS}[table]

    def extras(self, table: str) -> pa.Schema:
        """Columns of records that Spark's own Kafka source does not have."""
        return EXTRAS if table == "records" else tables.EXTRAS.get(table, pa.schema([]))

    def scan(self, source: Source) -> Iterator[Run | Finding]:
        """Intact batches and findings; every batch is decompressed and every record in it read."""
        if kind := sidecars.kind_of(source.name):
            yield from sidecars.scan(source, kind)
        elif self.is_salvaging:
            yield from rescue.judged_anew(
                source, replace(self, is_salvaging=False).scan(source), _first_offset(source), self._counted_anew
            )
        else:
            for stretch in self._segment(source).stretches():
                yield from in_order(_runs(source, stretch.heads, self._whole), stretch.findings)

    def outline(self, source: Source) -> Iterator[Run | Finding]:
        """The same by heads; only compressed messages of magic 0 and 1 are opened, whose heads do not count them."""
        if kind := sidecars.kind_of(source.name):
            yield from sidecars.scan(source, kind)
            return
        for stretch in Segment(source, nowhere, first_offset=_first_offset(source)).stretches(is_explained=False):
            runs = [self._outlined(source, part) for part in kinds(stretch.heads)] if stretch.heads else []
            yield from in_order(together(runs), stretch.findings)

    def _outlined(self, source: Source, heads: Heads) -> Iterator[Run | Finding]:
        return _runs(source, heads, self._whole) if heads.is_legacy else self._counted_pieces(heads)

    def read(self, source: Source, table: str, columns: Collection[str]) -> Reading:
        """Batches with their rows; what cannot hold a row that is asked for is neither checked nor decompressed."""
        if self._kind(source, table):
            yield from Format.read(self, source, table, columns)
            return
        request = self._request(source, columns)
        for stretch in self._stretches(source, request.selection):
            if isinstance(stretch, Run):
                yield stretch, ()
            else:
                rows = self._rows(source, stretch.heads, table, request) if stretch.heads else ()
                yield from in_order(rows, stretch.findings)

    def divide(self, source: Source, table: str) -> Iterator[Run | Finding]:
        """The same with the batches closed: their checksums are what makes each of them stand for itself."""
        if self._kind(source, table):
            yield from Format.divide(self, source, table)
            return
        for stretch in self._stretches(source, self._request(source, ()).selection):
            if isinstance(stretch, Run):
                yield stretch
            else:
                yield from in_order(self._counted_pieces(stretch.heads), stretch.findings)

    def read_run(self, source: Source, run: Run, table: str, columns: Collection[str]) -> Reading:
        """Rows of a run, and what is wrong inside batches whose checksums are right."""
        if self._kind(source, table):
            yield run, self.batches(source, run, table, columns)
            return
        request = self._request(source, columns)
        if not run.units:
            yield run, ()
            return
        for heads in _heads_of(source, run.span):
            yield from self._rows(source, heads, table, request)

    def batches(self, source: Source, run: Run, table: str, columns: Collection[str]) -> Iterator[pa.RecordBatch]:
        """Rows of a run."""
        if kind := self._kind(source, table):
            yield from sidecars.batches(source, run, kind, columns)
            return
        for item in self.read_run(source, run, table, columns):
            yield from () if isinstance(item, Finding) else item[1]

    def _stretches(self, source: Source, selection: Selection) -> Iterator[Stretch | Run]:
        """Intact batches and findings; a run without units where an index says that nothing asked for lies before."""
        start = find_start(source, _first_offset(source), selection) if selection.is_narrow else None
        first = start.rows["base_offset"][0].as_py() or 0 if start else _first_offset(source)
        if start:
            yield Run(Span(0, start.start), 0, 0, {"skipped": True})
        segment = Segment(source, selection.units, first_offset=first)
        yield from segment.stretches(start.start if start else 0, is_explained=False)

    def _rows(self, source: Source, heads: Heads, table: str, request: Request) -> Reading:
        if table != "records":
            yield from self._of_heads(source, heads, table, request)
            return
        for chosen, is_chosen in _chosen(heads, request.selection):
            yield from self._decoded(source, chosen, is_chosen, request)

    def _of_heads(self, source: Source, heads: Heads, table: str, request: Request) -> Reading:
        """Rows of a table that is made of heads and control records; only those are opened."""
        broken = broken_control(source, heads, self.max_batch_bytes) if table == "control" else ()
        first, positions = 0, heads.rows["position"].to_pylist()
        for finding in [*broken, None]:
            end = bisect_left(positions, finding.span.start) if finding else len(heads)
            if first < end:
                for part in heads.part(first, end).pieces():
                    yield self._counted(part), tables.batches(source, part, table, request.columns, request)
            if finding:
                yield finding
            first = end + 1

    def tail(self, source: Source, rows: int, table: str, columns: Collection[str]) -> list[pa.RecordBatch] | None:
        """The last records: heads tell which batches hold them, and only those are read."""
        if table != "records" or self._kind(source, table) or not source.is_local:
            return None
        if self._request(source, columns).selection.is_narrow:
            return None
        start = self._last_units(source, rows)
        return None if start is None else self._behind(source, start, rows, columns)

    def _behind(self, source: Source, start: int, rows: int, columns: Collection[str]) -> list[pa.RecordBatch] | None:
        """The last rows of the units from a position on; None if anything is wrong with one of them."""
        request = self._request(source, columns)
        found: list[pa.RecordBatch] = []
        for item in Segment(source, first_offset=_first_offset(source)).items(start, is_explained=False):
            for part in (item,) if isinstance(item, Finding) else self._decoded(source, item, True, request):  # noqa: FBT003
                if not isinstance(part, Finding):
                    found = last(chain(found, part[1]), rows)
                elif part.severity == "error":
                    return None
        return found

    def _last_units(self, source: Source, rows: int) -> int | None:
        """Where the units begin that hold the last rows; None where heads say that something is wrong before them.

        Which of the units behind damage count, and which of the offsets are wrong, only a look at all of them tells.
        """
        kept: deque[tuple[int, int]] = deque()
        count = 0
        for item in Segment(source, nowhere, first_offset=_first_offset(source)).items(is_explained=False):
            if isinstance(item, Finding):
                if item.code not in HARMLESS:
                    return None
            else:
                for unit in zip(item.rows["position"].to_pylist(), self._counts(item).to_pylist(), strict=True):
                    kept.append(unit)
                    count += unit[1]
                    while len(kept) > 1 and count - kept[0][1] >= rows:
                        count -= kept.popleft()[1]
        return kept[0][0] if kept else 0

    def units(self, source: Source, run: Run) -> Iterator[Span]:
        """The batches of a run, or the entries of a file beside a segment."""
        if kind := sidecars.kind_of(source.name):
            yield from sidecars.units(run, kind)
            return
        for heads in _heads_of(source, run.span):
            for start, size in zip(*(heads.rows[name].to_pylist() for name in ("position", "size")), strict=True):
                yield Span(start, start + size)

    def unit_of(self, source: Source) -> str:
        """A batch; of a file beside a segment what that is made of."""
        kind = sidecars.kind_of(source.name)
        return kind.unit_name if kind else checkpoints.UNIT_NAMES.get(PurePath(source.name).name, self.unit_name)

    def unit_at(self, source: Source, position: int) -> str:
        """A batch, a message of magic 0 or 1, or an entry of a file beside a segment."""
        if kind := sidecars.kind_of(source.name):
            return sidecars.unit_spec(kind)
        return "kafka_message" if table_at(source, position) == MESSAGES else "kafka_record_batch"

    def content(self, source: Source, span: Span) -> Content | None:
        """The records of a batch, or the messages inside a compressed one."""
        return None if sidecars.kind_of(source.name) else content_of(source, span, self.max_batch_bytes)

    def for_salvage(self) -> Format:
        """The same, but what is kept has to be without damage once the rest is gone."""
        return replace(self, is_salvaging=True)

    def salvage(self, source: Source, items: Iterator[Run | Finding]) -> Iterator[bytes | memoryview]:
        """The intact batches as they are, with the offsets that they have."""
        if sidecars.kind_of(source.name):
            raise SourceError(f"{source.name}: belongs to a segment; `thawline kafka index` builds it anew from that")
        yield from rescue.pieces(source, (item for item in items if isinstance(item, Run)))

    def indexes(self, source: Source) -> dict[str, bytes]:
        """The offset index and the time index of a segment, as Kafka builds them; damage in it is passed over."""
        if _named_offset(source) is None:
            why = "the entries of an index count from the offset that the segment is named after"
            raise SourceError(f"{source.name}: no index without a name like 00000000000000000362.log: {why}")
        items = self._segment(source).items(is_explained=False)
        heads = (item.rows for item in items if isinstance(item, Heads))
        made = build_indexes(heads, _first_offset(source))
        return {".index": made.offset_index, ".timeindex": made.time_index}

    def recover(self, source: Source, items: Iterator[Run | Finding]) -> Iterator[Run | Finding]:
        """The items, with batches whose checksum proves all but their length or magic as runs."""
        given = list(items)
        found = list(rescue.recovered(source, given, self._counted_anew))
        if found == given:
            return iter(given)
        return rescue.judged_anew(source, found, _first_offset(source), self._counted_anew, given)

    def claim_folder(self, folder: Folder) -> Claim | None:
        """The folder of a partition."""
        return partition.claim_folder(folder)

    def members(self, folder: Folder) -> Iterator[Member]:
        """The segments in the order of their offsets, each with what the partition says about it."""
        topic, number = partition.topic_partition(folder.name)
        known = replace(self, topic=topic, partition=number, transactions=partition.transactions_of(folder))
        same = {name: value for name, value in (("topic", topic), ("partition", number)) if value is not None}
        return (Member(folder.path_of(name), known, same) for name in partition.segments(folder))

    def holdings(self, folder: Folder) -> Iterator[str]:
        """Segments and snapshots, whatever has become of them, index files, and the text files of the partition."""
        return (folder.path_of(name) for name in folder.files() if partition.is_held(name))

    def accounts(self, folder: Folder) -> Iterator[Report]:
        """Reports of the files beside the segments, and of the partition as a whole."""
        return partition.accounts(folder)

    def _kind(self, source: Source, table: str) -> sidecars.Kind | None:
        """What kind of file beside a segment it is; None for a segment. Each kind holds one table."""
        kind = sidecars.kind_of(source.name)
        if (kind.table if kind else table) != table or (kind is None and table in sidecars.SCHEMAS):
            holds = kind.table if kind else ", ".join(("records", *tables.SCHEMAS))
            raise SourceError(f"{source.name}: holds the table {holds}, not {table}")
        return kind

    @property
    def _whole(self) -> Request:
        """All records, counted and not given."""
        return Request(selection=Selection(control=self.control), max_batch_bytes=self.max_batch_bytes)

    def _counted_anew(self, source: Source, span: Span) -> Iterator[Run | Finding]:
        """Runs of the units of a span."""
        return (item for heads in _heads_of(source, span) for item in _runs(source, heads, self._whole))

    def _segment(self, source: Source) -> Segment:
        return Segment(source, first_offset=_first_offset(source))

    def _request(self, source: Source, columns: Collection[str]) -> Request:
        topic, number = partition.topic_partition(PurePath(source.name).parent.name)
        is_committed = self.isolation == "read_committed"
        transactions = self.transactions
        if transactions is None and (is_committed or "transaction" in columns):
            transactions = Transactions.of(lambda: [source])
        selection = Selection(
            self.since, self.until, self.offsets, self.control, transactions if is_committed else None
        )
        return Request(
            tuple(columns),
            selection,
            self.topic if self.topic is not None else topic,
            self.partition if self.partition is not None else number,
            transactions,
            self.max_batch_bytes,
        )

    def _decoded(self, source: Source, heads: Heads, is_chosen: bool, request: Request) -> Reading:  # noqa: FBT001
        """Runs with their rows; batches that are not chosen have none."""
        if not is_chosen:
            yield from ((run, ()) for run in self._counted_pieces(heads))
            return
        yield from _decode(source, heads, request)

    def _counted_pieces(self, heads: Heads | None) -> Iterator[Run]:
        """Runs as heads count them, one for each stretch without a hole."""
        return (self._counted(piece) for piece in heads.pieces()) if heads else iter(())

    def _counted(self, heads: Heads) -> Run:
        """A run as its heads count it."""
        return Run(Span(heads.start, heads.end), len(heads), pc.sum(self._counts(heads)).as_py())

    def _counts(self, heads: Heads) -> pa.Int32Array:
        """Rows of each unit; none of one that only tells when it is opened."""
        counts, nothing = heads.rows["num_records"].fill_null(0), pa.scalar(0, pa.int32())
        return counts if self.control else pc.if_else(heads.rows["is_control"], nothing, counts)


def _decode(source: Source, heads: Heads, request: Request) -> Iterator[Part | Finding]:
    """Units of every kind with their records: each kind by itself, however often they take turns."""
    decoded = [(messages if part.is_legacy else records).decode(source, part, request) for part in kinds(heads)]
    return decoded[0] if len(decoded) == 1 else together(decoded)


def _runs(source: Source, heads: Heads | None, request: Request) -> Iterator[Run | Finding]:
    for item in _decode(source, heads, request) if heads else ():
        yield item if isinstance(item, Finding) else item[0]


def _chosen(heads: Heads, selection: Selection) -> Iterator[tuple[Heads, bool]]:
    """Stretches of units that may hold what is asked for, and of those that cannot."""
    mask = selection.units(heads)
    if mask is None:
        yield heads, True
        return
    first = 0
    chosen = mask.to_pylist()
    for row in range(1, len(heads) + 1):
        if row == len(heads) or chosen[row] != chosen[first]:
            yield heads.part(first, row), chosen[first]
            first = row


def _heads_of(source: Source, span: Span) -> Iterator[Heads]:
    """Heads of the units of a run."""
    for item in walk(source, span.start):
        if not isinstance(item, Heads) or item.start >= span.end:
            return
        positions = item.rows["position"].to_pylist()
        yield item if item.end <= span.end else item.part(0, sum(position < span.end for position in positions))


def _first_offset(source: Source) -> int:
    """The offset that a segment is named after; 0 where it has another name."""
    return (_named_offset(source) or 0) if ".log" in source.name else 0


def _named_offset(source: Source) -> int | None:
    """The offset in the name of a file; None where there is none, or a number that no record can have."""
    found = SEGMENT_NAME.fullmatch(PurePath(source.name).name)
    return int(found[1]) if found and int(found[1]) <= LARGEST_OFFSET else None
