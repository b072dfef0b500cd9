"""Kafka log segments: batches of every version, back to back, with the files of a partition beside them.

Layout: https://kafka.apache.org/documentation/#messageformat
"""

from __future__ import annotations

from bisect import bisect_left
from collections import deque
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain, pairwise
from pathlib import PurePath

import pyarrow as pa
import pyarrow.compute as pc

from thawline import codecs
from thawline.batches import last
from thawline.engine import columns as engine
from thawline.engine.chunks import Chunk
from thawline.errors import CodecError, SourceError
from thawline.folder import Folder
from thawline.formats.contract import (
    Ask,
    Chart,
    Claim,
    Content,
    Depth,
    Format,
    Kind,
    Member,
    Overview,
    Reading,
    Section,
    Table,
)
from thawline.formats.kafka import folder as partitions
from thawline.formats.kafka import records, salvage
from thawline.formats.kafka.findings import CODES, EPOCH_FALLS, PREALLOCATED
from thawline.formats.kafka.resync import Search
from thawline.formats.kafka.rows import (
    Request,
    Selection,
    batch_rows,
    counted_runs,
    counts_of,
)
from thawline.formats.kafka.sidecars import SIDECARS, TEXT_FILES
from thawline.formats.kafka.transactions import (
    Transactions,
    broken_control,
    control_batches,
    transactions_of,
    unfinished,
)
from thawline.formats.kafka.units import (
    HEAD_SIZE,
    LATEST_MAGIC,
    MESSAGES,
    Checksums,
    Heads,
    head_at,
    heads_within,
    offset_at,
    table_at,
)
from thawline.formats.kafka.walk import (
    SEGMENT_NAME,
    Walk,
    beyond,
    everywhere,
    explained,
    find_start,
    first_offset,
    in_order,
    named_offset,
    nowhere,
    together,
)
from thawline.generated.tables.kafka import BATCHES, CONTROL, RECORDS
from thawline.model import Finding, LeftOut, Payload, Report, Run, Span
from thawline.source import Beginning, Held, Source

TABLES = {
    "records": Table.of(RECORDS),
    "batches": Table.of(BATCHES),
    "control": Table.of(CONTROL),
}
CHART = Chart(
    "batches",
    size="size",
    codec="compression",
    earliest="base_timestamp",
    latest="max_timestamp",
    noun="offset",
    first="base_offset",
    last="last_offset",
)
LONGEST_RUN = 4 << 20
"""Bytes after which a run ends at the next unit."""
HARMLESS = (PREALLOCATED, EPOCH_FALLS)
"""Findings that leave no doubt about where units start and which offsets they have."""


@dataclass(frozen=True, slots=True)
class Kafka(Format):
    """What Kafka writes: the options of a read, the kinds of files, and the folder of a partition."""

    name = "kafka"
    title = "Kafka log segment"
    codes = CODES

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

    @property
    def kinds(self) -> tuple[Kind, ...]:
        """Segments, and the files beside them."""
        return (Segment(self), *SIDECARS, *TEXT_FILES)

    def kind_of(self, source: Source) -> Kind:
        """The kind that a file is named as; a segment by any other name."""
        named = (kind for kind in (*SIDECARS, *TEXT_FILES) if kind.is_named(source.name))
        return next(named, Segment(self))

    def claim(self, source: Source) -> Claim | None:
        """Whether a file is of the kind that it is named as, or a segment."""
        return self.kind_of(source).claim(source) or Segment(self).claim(source)

    def claim_folder(self, folder: Folder) -> Claim | None:
        """The folder of a partition."""
        return partitions.claim_folder(folder)

    def members(self, folder: Folder) -> Iterator[Member]:
        """The segments in the order of their offsets, each with what the partition says about it."""
        topic, number = partitions.topic_partition(folder.name)
        told = replace(self, topic=topic, partition=number, transactions=partitions.transactions_of(folder))
        same = {name: value for name, value in (("topic", topic), ("partition", number)) if value is not None}
        return (Member(folder.path_of(name), told, same) for name in partitions.segments(folder))

    def holdings(self, folder: Folder) -> Iterator[str]:
        """Segments and snapshots, whatever has become of them, index files, and the text files of the partition."""
        return (folder.path_of(name) for name in folder.files() if partitions.is_held(name))

    def accounts(self, folder: Folder) -> Iterator[Report]:
        """Reports of the files beside the segments, and of the partition as a whole."""
        return partitions.accounts(folder, Segment(self))

    def selection(self, transactions: Transactions | None) -> Selection:
        """Which records the options request."""
        return Selection(self.since, self.until, self.offsets, self.control, transactions)

    def request(self, source: Source, columns: Collection[str]) -> Request:
        """What the options request of a file."""
        topic, number = partitions.topic_partition(PurePath(source.name).parent.name)
        is_committed = self.isolation == "read_committed"
        transactions = self.transactions
        if transactions is None and (is_committed or "transaction" in columns):
            transactions = transactions_of(source)
        return Request(
            tuple(columns),
            self.selection(transactions if is_committed else None),
            self.topic if self.topic is not None else topic,
            self.partition if self.partition is not None else number,
            transactions,
            self.max_batch_bytes,
        )


@dataclass(frozen=True, slots=True)
class UnitsOfRun(Payload):
    """Heads of a run's units, as rows of a stretch. Rows are decoded by stretches: each step has a fixed cost."""

    stretch: Heads = field(compare=False)
    first: int
    end: int

    def portable(self) -> None:
        """Nothing: heads are read again."""


@dataclass(frozen=True, slots=True)
class Segment(Kind):
    """A log segment, or a snapshot of KRaft, which has the same layout."""

    format: Kafka
    name = "segment"
    unit_name = "batch"
    has_heads = True
    overview = Overview(
        "batches",
        (
            Ask("offsets", "range", ("base_offset", "last_offset")),
            Ask("gaps", "gaps", ("base_offset", "last_offset")),
            Ask("times", "range", ("base_timestamp", "max_timestamp")),
            Ask("codecs", "values", ("compression",)),
            Ask("producers", "distinct", ("producer_id",)),
            Ask("transactions", "values", ("transaction",), ("none",)),
        ),
    )
    chart = CHART

    @property
    def tables(self) -> Mapping[str, Table]:
        """Records, batches and control records."""
        return TABLES

    def claim(self, source: Source) -> Claim | None:
        """A segment has no magic of its own: its first batch must be intact, or its name that of a segment."""
        head = head_at(source, 0) if source.size else None
        if isinstance(head, Heads) and Checksums(source).right(head)[0].as_py():
            magic = head.rows["magic"][0].as_py()
            return Claim(
                "kafka", str(magic), f"starts with a batch of magic {magic} whose checksum is right", "certain"
            )
        if SEGMENT_NAME.fullmatch(PurePath(source.name).name):
            return Claim("kafka", "2", "named like a segment, but does not start with an intact batch", "likely")
        return None

    def walk(self, source: Source, depth: Depth) -> Iterator[Run | Finding]:
        """Intact batches and findings. By units, batches that cannot hold what is requested are not verified."""
        yield from self._headed(source) if depth is Depth.HEADS else self.rest(source, depth, 0)

    def _headed(self, source: Source) -> Iterator[Run | Finding]:
        for stretch in Walk(source, nowhere, first_offset=first_offset(source)).stretches():
            runs = [self._headed_runs(source, some) for some in stretch.heads.kinds()] if stretch.heads else []
            yield from in_order(together(runs), stretch.findings)
        yield from unfinished(source)

    are_sections_final = True

    def boundary(self, source: Source, position: int) -> int:
        """Where a unit starts whose checksum is right."""
        return Search(Checksums(source)).any_unit(position)

    def sections(self, source: Source, depth: Depth, size: int, within: Span) -> Iterator[Section]:
        """Stretches of units whose heads are as they should be; none where not all records are requested."""
        selection = self.format.request(source, ()).selection
        first = (offset_at(source, within.start) or 0) if within.start else first_offset(source)
        walk = Walk(Held(Beginning(source, within.end)), nowhere, first_offset=first)
        for stretch in () if selection.is_narrow else walk.stretches(within.start):
            if walk.takes_turns or stretch.findings:
                return
            for heads in _parts_of(stretch.heads, size) if stretch.heads else ():
                yield Section(heads.span, partial(self._verified, source, heads, depth), *heads.order)

    def _verified(self, source: Source, heads: Heads, depth: Depth) -> Sequence[Run | Finding] | None:
        """The runs of a section; None where a checksum is wrong."""
        for some in heads.kinds():
            if not pc.all(Checksums(source).right(some)).as_py():
                return None
        if depth is Depth.EVERYTHING:
            return list(self._decoded_runs(source, heads))
        return list(_runs_of(heads, self.format.selection(None)))

    def rest(self, source: Source, depth: Depth, start: int) -> Iterator[Run | Finding]:
        """What a walk gives after sections: it goes over their heads again, and verifies what is after them."""
        if start < source.size:
            yield from (self._everything if depth is Depth.EVERYTHING else self._units)(source, start)
        yield from unfinished(source)

    def _everything(self, source: Source, start: int) -> Iterator[Run | Finding]:
        for stretch in explained(source, start):
            yield from in_order(self._decoded_runs(source, stretch.after(start).heads), stretch.findings)

    def _decoded_runs(self, source: Source, heads: Heads | None) -> Iterator[Run | Finding]:
        """Runs of some units, with their records decoded and counted."""
        request = Request(selection=Selection(control=self.format.control), max_batch_bytes=self.format.max_batch_bytes)
        for item in records.decode(source, heads, request) if heads else ():
            yield item if isinstance(item, Finding) else item[0]

    def _headed_runs(self, source: Source, heads: Heads) -> Iterator[Run | Finding]:
        """Runs as heads count them. Messages of magic 0 and 1 are opened: the heads of wrappers do not count theirs."""
        if heads.is_legacy:
            return self._decoded_runs(source, heads)
        return counted_runs(heads, heads.ends(), self.format.selection(None))

    def _units(self, source: Source, start: int) -> Iterator[Run | Finding]:
        selection = self.format.request(source, ()).selection
        position, first = 0, first_offset(source)
        if selection.is_narrow and (head := find_start(source, selection.offsets[0], selection.since)):
            position, first = head.start, head.rows["base_offset"][0].as_py() or 0
            yield Run(Span(0, position), 0, 0, left_out=LeftOut(0, position))
        look = beyond(start) if start else selection.units
        for stretch in Walk(source, look, first_offset=first).stretches(position):
            heads = stretch.after(start).heads
            yield from in_order(_runs_of(heads, selection) if heads else (), stretch.findings)

    def rows(self, source: Source, items: Iterable[Run | Finding], table: str, columns: Collection[str]) -> Reading:
        """Runs with their rows, decoded by stretches where the walk left its heads."""
        request = self.format.request(source, columns)
        for heads, run, findings in _bundled(items):
            if heads is not None:
                yield from in_order(self._rows(source, heads, table, request), findings)
            elif run is None or not run.units:
                yield from () if run is None else ((run, ()),)
                yield from findings
            else:
                for some in heads_within(source, run.span):
                    yield from self._rows(source, some.marked() if run.suspect else some, table, request)

    def _rows(self, source: Source, heads: Heads, table: str, request: Request) -> Reading:
        if table != "records":
            yield from self._head_rows(source, heads, table, request)
            return
        for some, is_chosen in request.selection.stretches(heads):
            if is_chosen:
                yield from records.decode(source, some, request)
            else:
                for run in counted_runs(some, some.ends(), request.selection):
                    yield replace(run, left_out=LeftOut(run.units, run.span.size)), ()

    def _head_rows(self, source: Source, heads: Heads, table: str, request: Request) -> Reading:
        """Rows of a table that is made of heads and control records; only control batches are opened."""
        broken = broken_control(source, heads, self.format.max_batch_bytes) if table == "control" else ()
        lost = {bisect_left(heads.positions, finding.span.start): finding for finding in broken}
        whole = batch_rows(heads, request.columns, request) if table == "batches" else None
        ends, first = sorted({*heads.ends(), *lost, *(row + 1 for row in lost)} - {0}), 0
        for run, end in zip(counted_runs(heads, ends, request.selection), ends, strict=True):
            if first in lost:
                yield lost[first]
            elif whole is None:
                some = heads.slice(first, end)
                yield run, control_batches(source, some, request.columns, request.max_batch_bytes)
            else:
                yield run, [whole.slice(first, end - first)]
            first = end

    def units(self, source: Source, run: Run) -> Iterator[Span]:
        """The batches of a run."""
        return (span for heads in heads_within(source, run.span) for span in heads.spans())

    def spec_at(self, source: Source, position: int) -> str:
        """The spec of a batch, or of a message of magic 0 or 1."""
        return "kafka_message" if table_at(source, position) == MESSAGES else "kafka_record_batch"

    # What only some kinds offer.

    def tail(self, source: Source, rows: int, table: str, columns: Collection[str]) -> list[pa.RecordBatch] | None:
        """The last records: heads tell which batches hold them, and only those are read."""
        request = self.format.request(source, columns)
        if table != "records" or not source.is_local or request.selection.is_narrow:
            return None
        start = self._start_of_last(source, rows, request.selection)
        if start is None:
            return None
        found: list[pa.RecordBatch] = []
        for item in Walk(source, everywhere, first_offset=first_offset(source)).items(start):
            for part in (item,) if isinstance(item, Finding) else records.decode(source, item, request):
                if not isinstance(part, Finding):
                    found = last(chain(found, part[1]), rows)
                elif part.severity == "error":
                    return None
        return found

    def _start_of_last(self, source: Source, rows: int, selection: Selection) -> int | None:
        """Where the units begin that hold the last rows; None where heads show damage.

        After damage, only a walk over all units tells which of them count, and which offsets are wrong.
        """
        kept: deque[tuple[int, int]] = deque()
        count = 0
        for item in Walk(source, nowhere, first_offset=first_offset(source)).items():
            if isinstance(item, Finding):
                if item.code not in HARMLESS:
                    return None
                continue
            for unit in zip(item.positions, counts_of(item, selection).to_pylist(), strict=True):
                kept.append(unit)
                count += unit[1]
                while len(kept) > 1 and count - kept[0][1] >= rows:
                    count -= kept.popleft()[1]
        return kept[0][0] if kept else 0

    def content(self, source: Source, span: Span) -> Content | None:
        """The records of a batch, or the messages of a wrapper; None for a single message, and for a broken head."""
        head = head_at(source, span.start)
        if not isinstance(head, Heads):
            return None
        count, compression = (head.rows[name][0].as_py() for name in ("num_records", "compression"))
        if not head.is_legacy:
            stored = Span(head.start + HEAD_SIZE, head.end)
            made = Content("records", "kafka_records", (count,), stored)
            data = source.view(stored.start, stored.end)
            return made if compression == "none" else self._opened(made, compression, LATEST_MAGIC, data)
        message = next(engine.scan(MESSAGES, source.view(head.start, head.end), columns=("value",)))
        value = message.batch["value"][0].as_py() if isinstance(message, Chunk) else None
        if compression == "none" or not value:
            return None
        made = Content("value", "kafka_segment", (), head.span)
        return self._opened(made, compression, head.rows["magic"][0].as_py(), memoryview(value))

    def _opened(self, content: Content, compression: str, magic: int, data: memoryview) -> Content:
        try:
            codec = records.codec_of(compression, magic, data)
        except CodecError as error:
            return replace(content, data=b"", codec=compression, problem=error.message)
        chunks = codecs.decompress_chunks(codec, data, max_bytes=self.format.max_batch_bytes)
        return content.decompressed(compression, chunks)

    def intact(self, source: Source) -> Iterator[Run | Finding]:
        """The items of a walk, with runs only for batches that fit a file without the damage."""
        items = self.walk(source, Depth.EVERYTHING)
        return salvage.judged_anew(source, items, first_offset(source), self._counted_anew)

    def salvage(self, source: Source, items: Iterator[Run | Finding]) -> Iterator[bytes | memoryview]:
        """The intact batches as they are, with the offsets that they have."""
        return salvage.pieces(source, (item for item in items if isinstance(item, Run)))

    def recover(self, source: Source, items: Iterator[Run | Finding]) -> Iterator[Run | Finding]:
        """The items, with runs for batches whose checksum proves all but their length or magic."""
        given = list(items)
        found = list(salvage.recovered(source, given, self._counted_anew))
        if found == given:
            return iter(given)
        return salvage.judged_anew(source, found, first_offset(source), self._counted_anew, given)

    def _counted_anew(self, source: Source, span: Span) -> Iterator[Run | Finding]:
        """Runs of the units of a span."""
        return (item for heads in heads_within(source, span) for item in self._decoded_runs(source, heads))

    def indexes(self, source: Source) -> dict[str, bytes]:
        """The offset index and the time index of a segment, as Kafka builds them; damage is left out."""
        if named_offset(source) is None:
            why = "the entries of an index count from the offset that the segment is named after"
            raise SourceError(f"{source.name}: no index without a name like 00000000000000000362.log: {why}")
        base = first_offset(source)
        items = Walk(source, everywhere, first_offset=base).items()
        made = salvage.build_indexes((item.rows for item in items if isinstance(item, Heads)), base)
        return {".index": made.offset_index, ".timeindex": made.time_index}


def _runs_of(heads: Heads, selection: Selection) -> Iterator[Run]:
    """Runs of a stretch, as their heads count them, which know their heads."""
    ends = _ends(heads)
    for run, first, end in zip(counted_runs(heads, ends, selection), [0, *ends], ends, strict=False):
        yield replace(run, payload=UnitsOfRun(heads, first, end))


def _ends(heads: Heads) -> list[int]:
    """The rows after the last unit of each run; long runs are cut, so that workers can share them."""
    cuts = _cuts(heads, LONGEST_RUN)
    return sorted({*heads.ends(), *cuts}) if cuts else heads.ends()


def _cuts(heads: Heads, size: int) -> list[int]:
    """Rows at which a stretch that is longer than some size can be cut."""
    if heads.end - heads.start <= size:
        return []
    positions, cuts, row = heads.positions, [], 0
    while (row := max(bisect_left(positions, positions[row] + size), row + 1)) < len(heads):
        cuts.append(row)
    return cuts


def _parts_of(heads: Heads, size: int) -> Iterator[Heads]:
    """The units in parts of about some size."""
    for first, end in pairwise([0, *_cuts(heads, size), len(heads)]):
        yield heads.slice(first, end)


def _bundled(items: Iterable[Run | Finding]) -> Iterator[tuple[Heads | None, Run | None, Sequence[Finding]]]:
    """Heads of a stretch, with the findings between its runs; or a run that has no heads, or a finding."""
    held: list[UnitsOfRun] = []
    findings: list[Finding] = []
    for item in items:
        units = None if isinstance(item, Finding) else item.payload
        if held and not isinstance(item, Finding) and not _goes_on(held[-1], units):
            yield _heads_of(held), None, findings
            held, findings = [], []
        if isinstance(units, UnitsOfRun):
            held.append(units)
            if units.end == len(units.stretch):
                yield _heads_of(held), None, findings
                held, findings = [], []
        elif not isinstance(item, Finding):
            yield None, item, ()
        elif held:
            findings.append(item)
        else:
            yield None, None, (item,)
    if held:
        yield _heads_of(held), None, findings


def _goes_on(before: UnitsOfRun, after: Payload | None) -> bool:
    """Whether units follow others in the same stretch."""
    return isinstance(after, UnitsOfRun) and after.stretch is before.stretch and after.first == before.end


def _heads_of(held: Sequence[UnitsOfRun]) -> Heads:
    stretch, first, end = held[0].stretch, held[0].first, held[-1].end
    return stretch if end - first == len(stretch) else stretch.slice(first, end)
