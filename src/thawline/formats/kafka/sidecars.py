"""The kinds of files beside a segment: its indexes, the snapshot of producers, and the text files of a partition.

They have no magic, so they are told by their names. Only the snapshot has a checksum. Of an index, all that can be
checked by itself is that its entries rise.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path, PurePath

import pyarrow as pa
import pyarrow.compute as pc

from thawline import checksums, specs
from thawline.engine import columns as engine
from thawline.engine.chunks import Break, Chunk
from thawline.errors import SourceError
from thawline.folder import Folder
from thawline.formats.building import Origins, batch_of
from thawline.formats.contract import Claim, Depth, Kind, Reading, Table
from thawline.formats.declared import OneTable, intact_chunks
from thawline.formats.kafka.findings import (
    BAD_EPOCHS,
    BAD_INDEX,
    BAD_METADATA,
    BAD_SNAPSHOT,
    BAD_TIME_INDEX,
    BAD_TRANSACTION_INDEX,
    PREALLOCATED,
)
from thawline.formats.kafka.units import LARGEST_OFFSET
from thawline.formats.kafka.walk import rising
from thawline.generated.kernels.constants import (
    KAFKA_PRODUCER_SNAPSHOT_CRC_INPUT_AT,
    KAFKA_PRODUCER_SNAPSHOT_HEAD_SIZE,
)
from thawline.generated.kernels.tables import TABLES
from thawline.generated.tables.kafka import TABLES as DECLARED
from thawline.model import Code, Finding, Run, Span
from thawline.source import Source
from thawline.wording import counted, grouped, quoted

NAME = re.compile(r"(?:([0-9]{20})|.*)\.(index|timeindex|txnindex|snapshot)(?:\.deleted|\.swap|\.cleaned)?", re.DOTALL)
BLOCK = 1 << 20
Rule = Callable[[pa.RecordBatch], pa.BooleanArray]
"""Whether each entry is possible by itself."""


def base_offset(name: str) -> int | None:
    """The offset that a file is named after; None if it has another name."""
    found = NAME.fullmatch(PurePath(name).name)
    return int(found[1]) if found and found[1] and int(found[1]) <= LARGEST_OFFSET else None


@dataclass(frozen=True, slots=True)
class Sidecar(OneTable):
    """A file of entries beside a segment, which holds one table."""

    HEAD = 0
    """Bytes before the entries."""

    name: str
    unit_name: str
    suffix: str
    table: str
    kernel: str
    code: Code
    command: str = ""
    """What to do about damage."""

    @property
    def tables(self) -> Mapping[str, Table]:
        """The one table."""
        return {self.table: Table.of(DECLARED[self.table])}

    @property
    def entry_size(self) -> int:
        """Bytes of an entry."""
        return int(TABLES[self.kernel].least_size)

    def is_named(self, name: str) -> bool:
        """Whether a name is that of such a file."""
        found = NAME.fullmatch(PurePath(name).name)
        return bool(found) and found[2] == self.suffix  # type: ignore[index]

    def hint(self, name: str) -> str:
        """The command for a file that is damaged or does not fit its segment.

        >>> OFFSET_INDEX.hint("orders-0/00000000000000000362.index")
        'thawline kafka index orders-0/00000000000000000362.log -o rebuilt'
        """
        segment = self._segment(name)
        return self.command.format(segment=quoted(segment), folder=quoted(segment.rpartition("/")[0] or "."))

    def _segment(self, name: str) -> str:
        stem, _, rest = name.rpartition(f".{self.suffix}")
        return f"{stem}.log{rest}" if stem else name

    def batches(self, source: Source, run: Run, columns: Collection[str]) -> Iterator[pa.RecordBatch]:
        """The entries of a run."""
        base = base_offset(source.name)
        for chunk in self._entries(source, run):
            yield batch_of(DECLARED[self.table], columns, _origins(chunk.batch, base))

    def intact_entries(self, source: Source) -> Iterator[tuple[int, pa.RecordBatch]]:
        """The intact entries as the file has them, with the position of the first of each batch."""
        for run in self.walk(source, Depth.EVERYTHING):
            if isinstance(run, Run):
                for chunk in self._entries(source, run):
                    yield chunk.starts[0].as_py(), chunk.batch

    def _entries(self, source: Source, run: Run) -> Iterator[Chunk]:
        """The entries of a run."""
        entries = Span(run.span.start + self.HEAD, run.span.end)
        chunks = intact_chunks(self.kernel, source, entries, "entry")
        return (chunk.moved(entries.start) for chunk in chunks)

    def _found(self, source: Source, span: Span, detail: Mapping[str, object]) -> Finding:
        # Without its segment a file of the disk cannot be built anew.
        is_alone = source.is_local and not Path(self._segment(source.name)).exists()
        return Finding(self.code, span, detail, "" if is_alone else self.hint(source.name))


def _origins(batch: pa.RecordBatch, base: int | None) -> Origins:
    """Entries, whose offsets count from that of the file's name."""
    offsets = pa.scalar(base, pa.int64())
    return Origins(
        batch.num_rows,
        field=lambda column: batch[column.source],
        made=lambda _: pc.add(batch["relative_offset"].cast(pa.int64()), offsets),
    )


# Indexes.


@dataclass(frozen=True, slots=True, kw_only=True)
class Index(Sidecar):
    """An index of a segment: entries of one size, in rising order."""

    rule: Rule
    rises: tuple[str, ...]
    """Columns that rise from entry to entry."""
    never_falls: tuple[str, ...] = ()
    is_preallocated: bool = False

    def claim(self, source: Source) -> Claim | None:
        """By name; where that is not named after an offset, the entries must rise."""
        if not self.is_named(source.name):
            return None
        if base_offset(source.name) is not None:
            return Claim("kafka", "0", f"named .{self.suffix}, with the offset of a segment", "likely", self.table)
        items = self.walk(source, Depth.EVERYTHING)
        if source.size and all(isinstance(item, Run) or item.severity == "note" for item in items):
            return Claim("kafka", "0", f"named .{self.suffix}, and its entries rise", "possible", self.table)
        return None

    def walk(self, source: Source, depth: Depth) -> Iterator[Run | Finding]:
        """Stretches of intact entries, and findings. Every entry is read, whatever the depth."""
        end = _used(source, self.entry_size) if self.is_preallocated else source.size
        start, position, reason = 0, 0, ""
        for reached, why in _Judging(self, source, end).stretches():
            if why != reason and position > start:
                yield self._item(source, Span(start, position), reason)
                start = position
            position, reason = reached, why
        if position > start:
            yield self._item(source, Span(start, position), reason)
        if end < source.size:
            yield Finding(PREALLOCATED, Span(end, source.size), {"size": source.size - end})

    def _item(self, source: Source, span: Span, reason: str) -> Run | Finding:
        entries = -(-span.size // self.entry_size)
        if not reason:
            return Run(span, entries, entries)
        lost = f"{counted(entries, 'entry')} of the index, no record"
        return self._found(source, span, {"reason": reason, "entries": entries, "lost": lost})

    def units(self, source: Source, run: Run) -> Iterator[Span]:
        """The entries."""
        return (Span(at, at + self.entry_size) for at in range(run.span.start, run.span.end, self.entry_size))

    def spec_at(self, source: Source, position: int) -> str:
        """The spec of an entry."""
        return str(TABLES[self.kernel].spec)


def _used(source: Source, size: int) -> int:
    """Where the zeros begin that go on to the end of the file, at the end of an entry."""
    end = source.size
    while end:
        start = max(end - BLOCK, 0)
        if kept := bytes(source.view(start, end)).rstrip(b"\0"):
            return min(-(-(start + len(kept)) // size) * size, source.size)
        end = start
    return 0


class _Judging:
    """One pass over the entries of an index."""

    def __init__(self, index: Index, source: Source, end: int) -> None:
        self.index, self.source, self.end = index, source, end
        self.ordered = (*index.rises, *index.never_falls)
        self.floors: dict[str, int] = {}
        """The last good value of each column that rises."""

    def stretches(self) -> Iterator[tuple[int, str]]:
        """Ends of stretches one after the other, and what is wrong with each."""
        size, position = self.index.entry_size, 0
        while position < self.end:
            held: Chunk | None = None
            for item in self._blocks(position):
                if held:
                    yield from self._judged(held, item.batch if isinstance(item, Chunk) else None)
                    position, held = held.ends[-1].as_py(), None
                if isinstance(item, Break):
                    is_torn = self.end - item.start < size
                    position = min(item.start + size, self.end)
                    yield position, "the file ends inside an entry" if is_torn else "an entry of a version not known"
                    break
                held = item
            if held:
                yield from self._judged(held, None)
                position = held.ends[-1].as_py()

    def _blocks(self, start: int) -> Iterator[Chunk | Break]:
        """The entries from a position on, in blocks: order is judged within one, and with what is next to it."""
        size = self.index.entry_size
        for first in range(start, self.end, step := BLOCK // size * size):
            view = self.source.view(first, min(first + step, self.end))
            yield from (item.moved(first) for item in engine.scan(self.index.kernel, view))

    def _judged(self, chunk: Chunk, following: pa.RecordBatch | None) -> Iterator[tuple[int, str]]:
        """The entries of a chunk by whether they are good; the first one after it tells about its last."""
        bad = self._bad_rows(chunk.batch, following)
        start, size = chunk.starts[0].as_py(), self.index.entry_size
        row = 0
        for index in bad:
            if row < index:
                yield start + index * size, ""
            yield start + (index + 1) * size, "out of order with the entries around it, or not possible"
            row = index + 1
        if row < len(chunk):
            yield start + len(chunk) * size, ""
        is_bad = set(bad)
        last = next((index for index in range(len(chunk) - 1, -1, -1) if index not in is_bad), None)
        if last is not None:
            self.floors = {name: chunk.batch[name][last].as_py() for name in self.ordered}

    def _bad_rows(self, batch: pa.RecordBatch, following: pa.RecordBatch | None) -> list[int]:
        possible = self.index.rule(batch)
        if pc.all(possible).as_py() and all(self._is_rising(batch, name, following) for name in self.ordered):
            return []
        kept = set(pc.indices_nonzero(possible).to_pylist())
        for name in self.ordered:
            kept &= self._rising_rows(batch, name, following, kept)
        return [row for row in range(batch.num_rows) if row not in kept]

    def _is_rising(self, batch: pa.RecordBatch, name: str, following: pa.RecordBatch | None) -> bool:
        values, rows = batch[name], batch.num_rows - 1
        compare = pc.greater if name in self.index.rises else pc.greater_equal
        floor = self.floors.get(name)
        ends = [] if floor is None else [(values[0], floor)]
        ends += [] if following is None else [(following[name][0], values[-1])]
        if not all(compare(after, before).as_py() for after, before in ends):
            return False
        return rows == 0 or bool(pc.all(compare(values.slice(1), values.slice(0, rows))).as_py())

    def _rising_rows(
        self, batch: pa.RecordBatch, name: str, following: pa.RecordBatch | None, kept: set[int]
    ) -> set[int]:
        """The longest choice of some rows in which a column rises."""
        rows = [*batch[name].to_pylist(), *([] if following is None else following[name].slice(0, 1).to_pylist())]
        if name in self.index.never_falls:  # equal ones rise by their place
            values = [value * len(rows) + row for row, value in enumerate(rows)]
            floor = self.floors.get(name, min(rows)) * len(rows) - 1
        else:
            values, floor = rows, self.floors.get(name, min(rows) - 1)
        candidates = kept | {batch.num_rows}
        above = [row for row, value in enumerate(values) if value > floor and row in candidates]
        chosen = [values[row] for row in above]
        return {above[index] for index in rising(chosen, chosen)}


def _not_negative(*names: str) -> Rule:
    def rule(batch: pa.RecordBatch) -> pa.BooleanArray:
        found = pa.repeat(pa.scalar(True), batch.num_rows)  # noqa: FBT003 - a value, not a flag
        for name in names:
            found = pc.and_(found, pc.greater_equal(batch[name], 0))
        return found

    return rule


def _is_aborted(batch: pa.RecordBatch) -> pa.BooleanArray:
    is_there = _not_negative("producer_id", "first_offset")(batch)
    return pc.and_(is_there, pc.less(batch["first_offset"], batch["last_offset"]))


# The snapshot of producers.


@dataclass(frozen=True, slots=True)
class Snapshot(Sidecar):
    """The state of all producers at an offset: one unit, which one checksum covers."""

    HEAD = KAFKA_PRODUCER_SNAPSHOT_HEAD_SIZE
    """Bytes of version, checksum and count."""

    def claim(self, source: Source) -> Claim | None:
        """By name; where that is not named after an offset, the checksum must be right."""
        if not self.is_named(source.name):
            return None
        if not self._wrong(source):
            return Claim("kafka", "1", "named .snapshot, and its checksum is right", "certain", self.table)
        if base_offset(source.name) is not None:
            return Claim("kafka", "0", f"named .{self.suffix}, with the offset of a segment", "likely", self.table)
        return None

    def walk(self, source: Source, depth: Depth) -> Iterator[Run | Finding]:
        """One run or one finding. All of it is read, whatever the depth."""
        whole = Span(0, source.size)
        if wrong := self._wrong(source):
            yield self._found(source, whole, wrong)
        else:
            yield Run(whole, 1, (source.size - self.HEAD) // self.entry_size)

    def _wrong(self, source: Source) -> dict[str, object]:
        """What is wrong with it; empty if nothing is."""
        # Only the head goes through the parser, which would make an object of every producer.
        head, error = specs.read("kafka_producer_snapshot", bytes(source.view(0, min(self.HEAD, source.size))))
        count = getattr(head, "num_producers", -1)
        if error and count < 0:
            return {"reason": f"its head {specs.reason_of(error)}"}
        size = self.HEAD + count * self.entry_size
        if size != source.size:
            due = f"which would be {counted(size, 'byte')} and not {grouped(source.size)}"
            return {"reason": f"it counts {counted(count, 'producer')}, {due}"}
        computed = checksums.crc32c(source.view(0, source.size), KAFKA_PRODUCER_SNAPSHOT_CRC_INPUT_AT)
        return {} if head.crc == computed else {"crc_stored": head.crc, "crc_computed": computed}

    def units(self, source: Source, run: Run) -> Iterator[Span]:
        """All of it."""
        yield run.span

    def spec_at(self, source: Source, position: int) -> str:
        """The spec of the whole file."""
        return "kafka_producer_snapshot"


REBUILD = "thawline kafka index {segment} -o rebuilt"
OFFSET_INDEX = Index(
    "offset index", "entry", "index", "index", "kafka_offset_index", BAD_INDEX, REBUILD,
    rule=_not_negative("relative_offset", "position"), rises=("relative_offset", "position"), is_preallocated=True,
)  # fmt: skip
TIME_INDEX = Index(
    "time index", "entry", "timeindex", "timeindex", "kafka_time_index", BAD_TIME_INDEX, REBUILD,
    rule=_not_negative("relative_offset"), rises=("timestamp",), never_falls=("relative_offset",), is_preallocated=True,
)  # fmt: skip
TRANSACTION_INDEX = Index(
    "transaction index", "entry", "txnindex", "txnindex", "kafka_transaction_index", BAD_TRANSACTION_INDEX,
    "thawline cat {folder} --isolation read_committed",  # outcomes are taken from the markers
    rule=_is_aborted, rises=("last_offset",),
)  # fmt: skip
PRODUCER_SNAPSHOT = Snapshot(
    "producer snapshot", "snapshot", "snapshot", "producers", "kafka_producers", BAD_SNAPSHOT
)  # fmt: skip
SIDECARS = (OFFSET_INDEX, TIME_INDEX, TRANSACTION_INDEX, PRODUCER_SNAPSHOT)


def sidecar_of(name: str) -> Sidecar | None:
    """The kind of sidecar that a name stands for; None if it is no sidecar.

    >>> sidecar_of("orders-0/00000000000000000362.timeindex").table
    'timeindex'
    """
    return next((kind for kind in SIDECARS if kind.is_named(name)), None)


# Text files of a partition and of the folder above it, read as strictly as a broker reads them.

HIGH_WATERMARKS = "replication-offset-checkpoint"
LOG_STARTS = "log-start-offset-checkpoint"
LARGEST_TEXT = 16 << 20
HEAD_LINES = 2
EPOCH_LINE = re.compile(r"(\d{1,10}) (\d{1,19})", re.ASCII)
OFFSET_LINE = re.compile(r"(\S+) (\d{1,10}) (\d{1,19})", re.ASCII)
UUID_SIZE = 16


class BadText(ValueError):
    """A file that is not what Kafka writes; the message says why."""


@dataclass(frozen=True, slots=True)
class TextFile(Kind):
    """A text file of a partition. It holds facts about the partition and no rows."""

    name: str
    """That of the file."""
    code: Code
    read: Callable[[bytes], Collection[object]]
    """Its entries; raises `BadText`."""
    unit_name: str = "entry"

    @property
    def tables(self) -> Mapping[str, Table]:
        """The table of the partition that it belongs to."""
        return {"records": Table.of(DECLARED["records"])}

    def claim(self, source: Source) -> Claim | None:
        """Never by itself: any system may have a file of such a name."""
        return None

    def is_named(self, name: str) -> bool:
        """Whether a name is that of this file."""
        return PurePath(name).name == self.name

    def walk(self, source: Source, depth: Depth) -> Iterator[Run | Finding]:
        """One run or one finding."""
        whole = Span(0, source.size)
        try:
            entries = len(self.read(_limited(source)))
            yield Run(whole, entries, entries)
        except BadText as error:
            yield Finding(self.code, whole, {"reason": str(error)})

    def rows(self, source: Source, items: Iterable[Run | Finding], table: str, columns: Collection[str]) -> Reading:
        """No rows."""
        return (item if isinstance(item, Finding) else (item, ()) for item in items)

    def units(self, source: Source, run: Run) -> Iterator[Span]:
        """All of it: lines are no units of a spec."""
        yield run.span

    def spec_at(self, source: Source, position: int) -> str:
        """No spec describes text; that of a segment says so."""
        return "kafka_record_batch"


@dataclass(frozen=True, slots=True)
class Epoch:
    """A leader's epoch, and the offset of its first record."""

    epoch: int
    start_offset: int


def leader_epochs(data: bytes) -> list[Epoch]:
    r"""The epochs of a leader-epoch-checkpoint; `BadText` if it is none.

    >>> leader_epochs(b"0\n2\n0 0\n3 1500\n")[-1]
    Epoch(epoch=3, start_offset=1500)
    """
    found = [Epoch(*(int(part) for part in _matched(EPOCH_LINE, line))) for line in _lines(data)]
    for before, after in pairwise(found):
        if not (before.epoch < after.epoch and before.start_offset <= after.start_offset):
            raise BadText(f"epoch {after.epoch} from offset {after.start_offset} follows {before.epoch} from "
                          f"{before.start_offset}: they do not rise")  # fmt: skip
    return found


def partition_offsets(data: bytes) -> dict[tuple[str, int], int]:
    r"""The offsets of a checkpoint of the folder above, by topic and partition; `BadText` if it is none.

    >>> partition_offsets(b"0\n1\norders 0 362\n")
    {('orders', 0): 362}
    """
    parts = (_matched(OFFSET_LINE, line) for line in _lines(data))
    return {(topic, int(partition)): int(offset) for topic, partition, offset in parts}


def topic_id(data: bytes) -> str:
    r"""The topic's id in a partition.metadata; `BadText` if it is none.

    >>> topic_id(b"version: 0\ntopic_id: p59PN4qkR8y176nhuDDPPA")
    'p59PN4qkR8y176nhuDDPPA'
    """
    found = re.fullmatch(r"version: 0\ntopic_id: ([\w-]{22})\n?", _text(data), re.ASCII)
    if not found:
        raise BadText("it is not a version and a topic id, each on its line")
    try:
        decoded = base64.urlsafe_b64decode(f"{found[1]}==")
    except binascii.Error:
        decoded = b""
    if len(decoded) != UUID_SIZE or not any(decoded):
        raise BadText(f"{found[1]} is no topic id")
    return found[1]


def _lines(data: bytes) -> list[str]:
    """The lines of a checkpoint after its version and its count."""
    lines = _text(data).removesuffix("\n").split("\n")
    if lines[0] != "0":
        raise BadText(f"its version is {lines[0][:20]!r}, and 0 is known")
    if len(lines) < HEAD_LINES or not re.fullmatch(r"\d{1,10}", lines[1], re.ASCII):
        raise BadText("its second line is no count")
    if int(lines[1]) != len(lines) - HEAD_LINES:
        raise BadText(f"it counts {lines[1]} lines and has {len(lines) - HEAD_LINES}")
    return lines[HEAD_LINES:]


def _text(data: bytes) -> str:
    if not data:
        raise BadText("it is empty")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise BadText(f"it is no text: {error.reason} at byte {error.start:#x}") from None


def _matched(pattern: re.Pattern[str], line: str) -> tuple[str, ...]:
    found = pattern.fullmatch(line)
    if not found or int(found.groups()[-1]) > LARGEST_OFFSET:
        raise BadText(f"the line {line[:60]!r} is not what Kafka writes")
    return found.groups()


def _limited(source: Source) -> bytes:
    if source.size > LARGEST_TEXT:
        most = f"{grouped(LARGEST_TEXT)} are the most that are read of it"
        raise BadText(f"it has {counted(source.size, 'byte')}, and {most}")
    return bytes(source.view(0, source.size))


LEADER_EPOCHS = TextFile("leader-epoch-checkpoint", BAD_EPOCHS, leader_epochs)
METADATA = TextFile("partition.metadata", BAD_METADATA, lambda data: (topic_id(data),))
TEXT_FILES = (LEADER_EPOCHS, METADATA)


def read_epochs(folder: Folder) -> list[Epoch]:
    """The leaders' epochs of a partition; none where their file cannot be read as such."""
    if not folder.has(LEADER_EPOCHS.name):
        return []
    with folder.open(LEADER_EPOCHS.name) as source:
        try:
            return leader_epochs(_limited(source))
        except BadText:
            return []


def checkpoint(epochs: Sequence[tuple[int, int]]) -> bytes:
    """A leader-epoch-checkpoint: version, number of entries, then epoch and first offset of each."""
    lines = ["0", str(len(epochs)), *(f"{epoch} {offset}" for epoch, offset in epochs)]
    return "".join(f"{line}\n" for line in lines).encode()


def offset_above(folder: Folder, name: str, topic: str | None, partition: int | None) -> int | None:
    """What a checkpoint of the folder above says of a partition; None where it says nothing that can be read."""
    above = folder.above()
    try:
        if above is None or topic is None or partition is None or not above.has(name):
            return None
        with above.open(name) as source:
            return partition_offsets(_limited(source)).get((topic, partition))
    except (BadText, SourceError):
        return None
