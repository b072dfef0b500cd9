"""The files beside a segment: offset, time and transaction index, and the state of producers.

They have no magic of their own, and but for the state of producers no checksum: what can be checked is that entries
rise. Whether they fit their segment, `comparisons` tells.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from pathlib import PurePath

import pyarrow as pa
import pyarrow.compute as pc

from thawline import checksums, specs
from thawline.engine import columns
from thawline.engine.chunks import Break, Chunk, Ranges
from thawline.formats.contract import Claim
from thawline.formats.kafka.checks import rising
from thawline.formats.kafka.findings import (
    BAD_INDEX,
    BAD_SNAPSHOT,
    BAD_TIME_INDEX,
    BAD_TRANSACTION_INDEX,
    PREALLOCATED,
)
from thawline.formats.kafka.rows import MICROSECONDS, microseconds
from thawline.generated.kernels.tables import TABLES
from thawline.model import Code, Finding, Run, Span
from thawline.source import Source
from thawline.wording import counted, grouped, quoted

SCHEMAS = {
    "index": pa.schema([("offset", pa.int64()), ("relative_offset", pa.int32()), ("position", pa.int32())]),
    "timeindex": pa.schema([("timestamp", MICROSECONDS), ("offset", pa.int64()), ("relative_offset", pa.int32())]),
    "txnindex": pa.schema(
        [
            ("producer_id", pa.int64()),
            ("first_offset", pa.int64()),
            ("last_offset", pa.int64()),
            ("last_stable_offset", pa.int64()),
        ]
    ),
    "producers": pa.schema(
        [
            ("producer_id", pa.int64()),
            ("producer_epoch", pa.int16()),
            ("last_sequence", pa.int32()),
            ("last_offset", pa.int64()),
            ("offset_delta", pa.int32()),
            ("timestamp", MICROSECONDS),
            ("coordinator_epoch", pa.int32()),
            ("current_txn_first_offset", pa.int64()),
        ]
    ),
}
NAME = re.compile(r"(?:([0-9]{20})|.*)\.(index|timeindex|txnindex|snapshot)(?:\.deleted|\.swap|\.cleaned)?", re.DOTALL)
SNAPSHOT_HEAD = 10
"""Version, checksum and count; the checksum covers all that follows it."""
COVERED_FROM = 6
BLOCK = 1 << 20
NO_OFFSET, LARGEST_OFFSET = -1, (1 << 63) - 1


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of side file: its rows, and what holds for them in any file that Kafka wrote."""

    suffix: str
    table: str
    kernel: str
    code: Code
    rules: Callable[[pa.RecordBatch], pa.BooleanArray]
    """Whether each entry is possible by itself."""
    rises: tuple[str, ...] = ()
    """Columns that rise from entry to entry."""
    never_falls: tuple[str, ...] = ()
    is_preallocated: bool = False

    @property
    def unit_name(self) -> str:
        """What it is made of: entries, but for the state of producers, which one checksum covers."""
        return "snapshot" if self.code is BAD_SNAPSHOT else "entry"

    @property
    def entry_size(self) -> int:
        """Bytes of an entry."""
        return int(TABLES[self.kernel].least_size)


def _not_negative(*names: str) -> Callable[[pa.RecordBatch], pa.BooleanArray]:
    def rule(batch: pa.RecordBatch) -> pa.BooleanArray:
        found = pa.repeat(pa.scalar(True), batch.num_rows)  # noqa: FBT003 - a value, not a flag
        for name in names:
            found = pc.and_(found, pc.greater_equal(batch[name], 0))
        return found

    return rule


def _aborted(batch: pa.RecordBatch) -> pa.BooleanArray:
    is_there = _not_negative("producer_id", "first_offset")(batch)
    return pc.and_(is_there, pc.less(batch["first_offset"], batch["last_offset"]))


KINDS = {
    kind.suffix: kind
    for kind in (
        Kind(
            "index", "index", "kafka_offset_index", BAD_INDEX,
            rules=_not_negative("relative_offset", "position"), rises=("relative_offset", "position"),
            is_preallocated=True,
        ),
        Kind(
            "timeindex", "timeindex", "kafka_time_index", BAD_TIME_INDEX,
            rules=_not_negative("relative_offset"), rises=("timestamp",), never_falls=("relative_offset",),
            is_preallocated=True,
        ),
        Kind("txnindex", "txnindex", "kafka_transaction_index", BAD_TRANSACTION_INDEX, _aborted, ("last_offset",)),
        Kind("snapshot", "producers", "kafka_producers", BAD_SNAPSHOT, rules=_not_negative("producer_id")),
    )
}  # fmt: skip


def kind_of(name: str) -> Kind | None:
    """The kind of side file that a name stands for; None if it is no side file.

    >>> kind_of("orders-0/00000000000000000362.timeindex").table
    'timeindex'
    """
    found = NAME.fullmatch(PurePath(name).name)
    return KINDS[found[2]] if found else None


def base_offset(name: str) -> int | None:
    """The offset that a file is named after; None if it has another name."""
    found = NAME.fullmatch(PurePath(name).name)
    return int(found[1]) if found and found[1] and int(found[1]) <= LARGEST_OFFSET else None


def claim(source: Source) -> Claim | None:
    """Whether a file is a side file: its name says so, and unless that is a segment's, what is in it as well."""
    kind = kind_of(source.name)
    if kind is None:
        return None
    if kind.code is BAD_SNAPSHOT and not _wrong_snapshot(source):
        return Claim("kafka", "1", "named .snapshot, and its checksum is right", "certain", kind.table)
    if base_offset(source.name) is not None:
        return Claim("kafka", "0", f"named .{kind.suffix}, with the offset of a segment", "likely", kind.table)
    if source.size and all(isinstance(item, Run) or item.severity == "note" for item in scan(source, kind)):
        return Claim("kafka", "0", f"named .{kind.suffix}, and its entries rise", "possible", kind.table)
    return None


def scan(source: Source, kind: Kind) -> Iterator[Run | Finding]:
    """Stretches of intact entries, and findings; their spans tile the file."""
    if kind.code is BAD_SNAPSHOT:
        yield from _scan_snapshot(source, kind)
        return
    end = _used(source, kind.entry_size) if kind.is_preallocated else source.size
    yield from _Entries(source, kind, end).items()
    if end < source.size:
        yield Finding(PREALLOCATED, Span(end, source.size), {"size": source.size - end})


def batches(source: Source, run: Run, kind: Kind, wanted: Collection[str]) -> Iterator[pa.RecordBatch]:
    """Rows of a run: of the columns of its table those that are asked for."""
    start = SNAPSHOT_HEAD if kind.code is BAD_SNAPSHOT else run.span.start
    schema = pa.schema([field for field in SCHEMAS[kind.table] if field.name in wanted])
    base = base_offset(source.name)
    for item in _scanned(source, kind, start, run.span.end):
        if isinstance(item, Chunk):
            made = [_column(item.batch, field, base) for field in schema]
            yield pa.RecordBatch.from_arrays(made, schema=schema) if made else item.batch.select([])


def intact(source: Source, kind: Kind) -> Iterator[tuple[int, pa.RecordBatch]]:
    """The intact entries as the file has them, with the position of the first of each batch."""
    for run in scan(source, kind):
        if isinstance(run, Run):
            start = SNAPSHOT_HEAD if kind.code is BAD_SNAPSHOT else run.span.start
            for item in _scanned(source, kind, start, run.span.end):
                if isinstance(item, Chunk):
                    yield item.starts[0].as_py(), item.batch


def units(run: Run, kind: Kind) -> Iterator[Span]:
    """The entries of a run; the state of producers is one unit."""
    size = run.span.size if kind.code is BAD_SNAPSHOT else kind.entry_size
    return (Span(at, at + size) for at in range(run.span.start, run.span.end, size or 1))


def unit_spec(kind: Kind) -> str:
    """The spec of a unit."""
    return "kafka_producer_snapshot" if kind.code is BAD_SNAPSHOT else TABLES[kind.kernel].spec


def _column(batch: pa.RecordBatch, field: pa.Field, base: int | None) -> pa.Array:
    if field.name == "offset":
        absolute = pa.scalar(base, pa.int64())
        return pc.add(batch["relative_offset"].cast(pa.int64()), absolute)
    values = batch[field.name]
    if field.type == MICROSECONDS:
        return microseconds(values)
    is_none = field.name == "current_txn_first_offset"
    return pc.if_else(pc.equal(values, NO_OFFSET), pa.scalar(None, values.type), values) if is_none else values


def _scanned(source: Source, kind: Kind, start: int, end: int) -> Iterator[Chunk | Break]:
    """Entries between two positions, in blocks."""
    step = BLOCK // kind.entry_size * kind.entry_size
    for first in range(start, end, step):
        view = source.view(first, min(first + step, end))
        for item in columns.scan(kind.kernel, view, Ranges.of([(0, len(view), -1)])):
            yield item.moved(first)


def _used(source: Source, size: int) -> int:
    """Where the zeros begin that go on to the end of the file, at the end of an entry."""
    end = source.size
    while end:
        start = max(end - BLOCK, 0)
        if kept := bytes(source.view(start, end)).rstrip(b"\0"):
            return min(-(-(start + len(kept)) // size) * size, source.size)
        end = start
    return 0


def _found(source: Source, kind: Kind, span: Span, detail: dict[str, object]) -> Finding:
    return Finding(kind.code, span, detail, hint_for(source.name, kind))


def hint_for(name: str, kind: Kind) -> str:
    """What to do about a side file that is damaged or does not fit.

    >>> hint_for("orders-0/00000000000000000362.index", KINDS["index"])
    'thawline kafka index orders-0/00000000000000000362.log -o rebuilt'
    """
    stem, _, rest = name.rpartition(f".{kind.suffix}")
    segment = f"{stem}.log{rest}" if stem else name
    if kind.suffix in {"index", "timeindex"}:
        return f"thawline kafka index {quoted(segment)} -o rebuilt"
    if kind.suffix == "txnindex":  # outcomes are taken from the markers
        folder = segment.rpartition("/")[0] or "."
        return f"thawline cat {quoted(folder)} --isolation read_committed"
    return ""


# The state of producers.


def _scan_snapshot(source: Source, kind: Kind) -> Iterator[Run | Finding]:
    whole = Span(0, source.size)
    if wrong := _wrong_snapshot(source):
        yield _found(source, kind, whole, wrong)
    else:
        yield Run(whole, 1, (source.size - SNAPSHOT_HEAD) // kind.entry_size)


def _wrong_snapshot(source: Source) -> dict[str, object]:
    """What is wrong with the state of producers; empty if nothing is."""
    # Only its head goes through the parser, which would make an object of every producer.
    head, error = specs.read("kafka_producer_snapshot", bytes(source.view(0, min(SNAPSHOT_HEAD, source.size))))
    count = getattr(head, "num_producers", -1)
    if error and count < 0:
        return {"reason": f"its head {specs.reason_of(error)}"}
    size = SNAPSHOT_HEAD + count * KINDS["snapshot"].entry_size
    if size != source.size:
        due = counted(size, "byte")
        return {
            "reason": f"it counts {counted(count, 'producer')}, which would be {due} and not {grouped(source.size)}"
        }
    computed = checksums.crc32c(source.view(0, source.size), COVERED_FROM)
    return {} if head.crc == computed else {"crc_stored": head.crc, "crc_computed": computed}


# Indexes.


class _Entries:
    """One pass over the entries of an index."""

    def __init__(self, source: Source, kind: Kind, end: int) -> None:
        self.source, self.kind, self.end = source, kind, end
        self.ordered = (*kind.rises, *kind.never_falls)
        self.floors: dict[str, int] = {}
        """The last good value of each column that rises."""

    def items(self) -> Iterator[Run | Finding]:
        """Stretches of good and of bad entries."""
        start, position, reason = 0, 0, ""
        for end, why in self._stretches():
            if why != reason and position > start:
                yield self._item(Span(start, position), reason)
                start = position
            position, reason = end, why
        if position > start:
            yield self._item(Span(start, position), reason)

    def _item(self, span: Span, reason: str) -> Run | Finding:
        entries = -(-span.size // self.kind.entry_size)
        if not reason:
            return Run(span, entries, entries)
        return _found(self.source, self.kind, span, {"reason": reason, "entries": entries, "lost": _lost(entries)})

    def _stretches(self) -> Iterator[tuple[int, str]]:
        """Ends of stretches one behind the other, and what is wrong with each."""
        size, position = self.kind.entry_size, 0
        while position < self.end:
            held: Chunk | None = None
            for item in _scanned(self.source, self.kind, position, self.end):
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

    def _judged(self, chunk: Chunk, following: pa.RecordBatch | None) -> Iterator[tuple[int, str]]:
        """The entries of a chunk by whether they are good; the first one behind it tells about its last."""
        bad = self._bad_rows(chunk.batch, following)
        start, size = chunk.starts[0].as_py(), self.kind.entry_size
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
        possible = self.kind.rules(batch)
        if pc.all(possible).as_py() and all(self._is_risen(batch, name, following) for name in self.ordered):
            return []
        kept = set(pc.indices_nonzero(possible).to_pylist())
        for name in self.ordered:
            kept &= self._rising_rows(batch, name, following, kept)
        return [row for row in range(batch.num_rows) if row not in kept]

    def _is_risen(self, batch: pa.RecordBatch, name: str, following: pa.RecordBatch | None) -> bool:
        values, rows = batch[name], batch.num_rows - 1
        compare = pc.greater if name in self.kind.rises else pc.greater_equal
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
        if name in self.kind.never_falls:  # equal ones rise by their place
            values = [value * len(rows) + row for row, value in enumerate(rows)]
            floor = self.floors.get(name, min(rows)) * len(rows) - 1
        else:
            values, floor = rows, self.floors.get(name, min(rows) - 1)
        candidates = kept | {batch.num_rows}
        above = [row for row, value in enumerate(values) if value > floor and row in candidates]
        chosen = [values[row] for row in above]
        return {above[index] for index in rising(chosen, chosen)}


def _lost(entries: int) -> str:
    return f"{counted(entries, 'entry')} of the index, no record"
