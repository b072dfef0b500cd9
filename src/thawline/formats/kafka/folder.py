"""The folder of a partition: its segments in the order of their offsets, and an account of everything beside them."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import chain

import pyarrow as pa
import pyarrow.compute as pc

from thawline.folder import Folder
from thawline.formats.contract import Claim, Depth, Kind
from thawline.formats.kafka.findings import (
    BELOW_START,
    DELETED_FILE,
    EPOCHS_MISMATCH,
    INDEX_LEFT_OVER,
    MISSING_INDEX,
    MISSING_SEGMENT,
    NAME_MISMATCH,
    OPEN_TRANSACTION,
    UNFINISHED_FILE,
    Comparison,
    Entry,
    Misfits,
    OffsetIndex,
    TimeIndex,
)
from thawline.formats.kafka.sidecars import (
    HIGH_WATERMARKS,
    LEADER_EPOCHS,
    LOG_STARTS,
    METADATA,
    OFFSET_INDEX,
    TEXT_FILES,
    TIME_INDEX,
    TRANSACTION_INDEX,
    Epoch,
    Sidecar,
    TextFile,
    base_offset,
    offset_above,
    read_epochs,
    sidecar_of,
)
from thawline.formats.kafka.transactions import (
    CHECKPOINT,
    ProducerStates,
    Transactions,
    compared_transactions,
)
from thawline.formats.kafka.units import Heads
from thawline.formats.kafka.walk import Look, Walk, everywhere, nowhere
from thawline.model import Code, Finding, Report, Span, report
from thawline.source import Source
from thawline.wording import numbered, quoted

SEGMENT = re.compile(r"(\d{20})\.log(|\.swap|\.cleaned|\.deleted)", re.ASCII)
DELETED_CHECKPOINT = re.compile(r"\d{20}-\d{10}\.checkpoint\.(deleted|part)", re.ASCII)
REMOVED = re.compile(r"(.+)\.[^.]+-(?:delete|future|stray)", re.DOTALL)
"""A folder that the broker is about to delete or to move: the partition's name, an id, and what becomes of it."""
MOST_NAMED = 8
MARK = Span(0, 0)


def topic_partition(name: str) -> tuple[str | None, int | None]:
    """Topic and partition by the name of a folder. In that of a folder to be deleted, the topic may be cut short.

    >>> topic_partition("orders-by-day-7")
    ('orders-by-day', 7)
    >>> topic_partition("orders-0.67ae01a2b3c4d5e6f708192a3b4c5d6e-delete")
    ('orders', 0)
    >>> topic_partition("backup")
    (None, None)
    """
    removed = REMOVED.fullmatch(name)
    topic, _, partition = (removed[1] if removed else name).rpartition("-")
    if not topic or not re.fullmatch(r"\d{1,9}", partition, re.ASCII):
        return None, None
    return topic, int(partition)


def claim_folder(folder: Folder) -> Claim | None:
    """Whether a folder is that of a partition: it holds a segment, or a snapshot of KRaft."""
    found = [name for name in folder.files() if SEGMENT.fullmatch(name)]
    snapshots = [name for name in folder.files() if CHECKPOINT.fullmatch(name)]
    if not found and not snapshots:
        return None
    topic, partition = topic_partition(folder.name)
    if topic is not None and found:
        return Claim("kafka", "2", f"holds segments, and is named for partition {partition} of {topic}", "certain")
    return Claim("kafka", "2", f"holds files named like {'segments' if found else 'snapshots of KRaft'}", "likely")


def segments(folder: Folder) -> list[str]:
    """Names of the segments in reading order; without segments, that of the latest snapshot of KRaft.

    A .swap file takes the place of the segments that it covers, unless the .cleaned file of an unfinished split says
    that it is part of one (K:log/LogLoader).
    """
    found = _by_suffix(folder)
    least = min(found[".cleaned"], default=1 << 63)
    swaps = {base: name for base, name in found[".swap"].items() if base < least}
    first, end = min(swaps, default=0), max((_next_offset(folder, name) for name in swaps.values()), default=0)
    names = {base: name for base, name in found[""].items() if not first <= base < end} | swaps
    if not names:
        return [name for name in folder.files() if CHECKPOINT.fullmatch(name)][-1:]
    return [names[base] for base in sorted(names)]


def is_held(name: str) -> bool:
    """Whether a file is one of a partition's, by its name.

    >>> [is_held(name) for name in ("00000000000000000362.log", "leader-epoch-checkpoint", "notes.txt")]
    [True, True, False]
    """
    if any(pattern.fullmatch(name) for pattern in (SEGMENT, CHECKPOINT, DELETED_CHECKPOINT)):
        return True
    return base_offset(name) is not None or any(kind.name == name for kind in TEXT_FILES)


def _by_suffix(folder: Folder) -> dict[str, dict[int, str]]:
    """Names of the .log files by what follows, and by their offset."""
    found: dict[str, dict[int, str]] = {"": {}, ".swap": {}, ".cleaned": {}, ".deleted": {}}
    for name in folder.files():
        if match := SEGMENT.fullmatch(name):
            found[match[2]][int(match[1])] = name
    return found


def _next_offset(folder: Folder, name: str) -> int:
    end = int(name.partition(".")[0])
    with folder.open(name) as source:
        for item in Walk(source, nowhere).items():
            if isinstance(item, Heads):
                end = max(end, item.rows["last_offset"][-1].as_py() + 1)
    return end


def transactions_of(folder: Folder, names: Sequence[str] | None = None) -> Transactions:
    """How the transactions of a partition ended."""
    return Transactions(lambda: _opened(folder, segments(folder) if names is None else names))


def _opened(folder: Folder, names: Sequence[str]) -> Iterator[Source]:
    """The files, each open until the next one is requested."""
    for name in names:
        with folder.open(name) as source:
            yield source


# One pass over the segments: where each begins and ends, and what files beside them say otherwise.


@dataclass(slots=True)
class Extent:
    """A segment, and the offsets that it holds."""

    name: str
    base: int
    """The offset that it is named after."""
    first: int | None = None
    """Its first offset, or the last one of its first unit if that is a wrapper; None if it is empty."""
    last: int | None = None
    is_damaged: bool = False
    ends_damaged: bool = False

    @property
    def next(self) -> int:
        """The first offset after it."""
        return self.base if self.last is None else self.last + 1


@dataclass(slots=True)
class Survey:
    """What the segments of a partition hold, and which entries of the files beside them do not fit."""

    extents: list[Extent] = field(default_factory=list)
    misfits: dict[str, Misfits] = field(default_factory=dict)
    """By the name of the file."""
    epochs: Misfits = field(default_factory=lambda: Misfits(EPOCHS_MISMATCH, ""))
    has_gaps: bool = False
    """Whether offsets are missing inside of segments, as compaction leaves them."""

    @property
    def end(self) -> int:
        """The first offset after all segments."""
        return max((extent.next for extent in self.extents), default=0)

    @property
    def is_clean(self) -> bool:
        """Whether everything fits."""
        if self.epochs.found or any(item.found for item in self.misfits.values()):
            return False
        return not any(extent.is_damaged for extent in self.extents) and not list(self.breaks())

    def breaks(self) -> Iterator[tuple[Extent, Extent]]:
        """Neighbours between which offsets are missing."""
        for before, after in zip(self.extents, self.extents[1:], strict=False):
            if before.next < (after.base if after.first is None else min(after.base, after.first)):
                yield before, after


def survey(folder: Folder, names: Sequence[str], epochs: Sequence[Epoch], transactions: Transactions) -> Survey:
    """What a pass over the segments of a partition tells.

    It goes by heads alone. Only where something does not fit, which may be the heads' fault, all bytes are verified.
    """
    found = _Pass(folder, epochs, transactions, nowhere).over(names)
    return found if found.is_clean else _Pass(folder, epochs, transactions, everywhere).over(names)


class _Pass:
    """The pass itself."""

    def __init__(self, folder: Folder, epochs: Sequence[Epoch], transactions: Transactions, look: Look) -> None:
        self.folder, self.look = folder, look
        self.survey = Survey()
        self.epochs = epochs
        self.starts = [item.start_offset for item in epochs]
        self.producers = ProducerStates(folder, transactions)

    def over(self, names: Sequence[str]) -> Survey:
        """What all of the segments tell."""
        for name in names:
            self._segment(name)
        self.producers.compare_until(self.survey.end, has_gaps=self.survey.has_gaps)
        self.survey.misfits |= self.producers.misfits
        return self.survey

    def _segment(self, name: str) -> None:
        base, _, suffix = name.partition(".log")
        extent = Extent(name, int(base))
        self.survey.extents.append(extent)
        with ExitStack() as opened:
            compared = self._comparisons(base, suffix, opened)
            source = self._opened(name, opened)
            for item in Walk(source, self.look).items():
                if isinstance(item, Heads):
                    self._units(extent, item.rows, compared)
                elif item.severity == "error":
                    self._damage(extent, compared)
            for comparison in compared:
                comparison.end(source.size)

    def _opened(self, name: str, opened: ExitStack) -> Source:
        source = self.folder.open(name)
        opened.callback(source.close)
        return source

    def _comparisons(self, base: str, suffix: str, opened: ExitStack) -> list[Comparison]:
        """Comparisons with the index files of a segment that are there."""
        found: list[Comparison] = []
        for kind in (OFFSET_INDEX, TIME_INDEX):
            name = f"{base}.{kind.suffix}{suffix}"
            if self.folder.has(name):
                source = self._opened(name, opened)
                made: type[OffsetIndex | TimeIndex] = OffsetIndex if kind is OFFSET_INDEX else TimeIndex
                comparison = made(_index_entries(source, kind, int(base)), kind.hint(source.name))
                self.survey.misfits[name] = comparison.misfits
                found.append(comparison)
        return found

    def _damage(self, extent: Extent, compared: list[Comparison]) -> None:
        extent.is_damaged = extent.ends_damaged = True
        self.producers.is_known = False
        for comparison in compared:
            comparison.add_damage()

    def _units(self, extent: Extent, rows: pa.RecordBatch, compared: list[Comparison]) -> None:
        firsts = pc.coalesce(rows["base_offset"], rows["last_offset"])
        self._gaps(extent, rows, firsts)
        if extent.first is None:
            extent.first = firsts[0].as_py()
        extent.last, extent.ends_damaged = rows["last_offset"][-1].as_py(), False
        for comparison in compared:
            comparison.add_units(rows)
        self._compare_epochs(rows)
        self.producers.add(rows, has_gaps=self.survey.has_gaps)

    def _gaps(self, extent: Extent, rows: pa.RecordBatch, firsts: pa.Int64Array) -> None:
        lasts, count = rows["last_offset"], rows.num_rows - 1
        spread = pc.add(pc.subtract(lasts, firsts), 1)
        is_thinned = pc.any(pc.not_equal(rows["num_records"].cast(pa.int64()), spread)).as_py()
        is_spaced = pc.any(pc.not_equal(firsts.slice(1), pc.add(lasts.slice(0, count), 1))).as_py()
        is_apart = extent.last is not None and not extent.ends_damaged and firsts[0].as_py() != extent.last + 1
        # The head of a wrapper has no first offset, so there is no telling whether offsets are missing before it.
        if is_thinned or ((is_spaced or is_apart) and not rows["base_offset"].null_count):
            self.survey.has_gaps = True

    def _compare_epochs(self, rows: pa.RecordBatch) -> None:
        """Compare batches with the epochs of leader-epoch-checkpoint, which may have forgotten the first ones."""
        kept = rows.filter(pc.greater_equal(rows["leader_epoch"], 0))
        if not self.epochs or not kept.num_rows:
            return
        bases, epochs = kept["base_offset"], kept["leader_epoch"]
        ends = self._epoch_at(bases[0].as_py()), self._epoch_at(bases[-1].as_py())
        if ends[0] == ends[1] and pc.all(pc.equal(epochs, ends[0])).as_py():
            return
        for base, epoch in zip(bases.to_pylist(), epochs.to_pylist(), strict=True):
            expected = self._epoch_at(base)
            if expected not in {-1, epoch}:
                facts = {"offset": base, "leader_epoch": epoch, "leader_epoch_of_file": expected}
                self.survey.epochs.add("a batch carries another leader epoch", facts)

    def _epoch_at(self, offset: int) -> int:
        """The epoch of an offset; -1 before the first."""
        index = bisect_right(self.starts, offset)
        return self.epochs[index - 1].epoch if index else -1


def _index_entries(source: Source, kind: Sidecar, base: int) -> Iterator[Entry]:
    """The intact entries of an .index or .timeindex file, with absolute offsets."""
    names = ("relative_offset", "position") if kind is OFFSET_INDEX else ("timestamp", "relative_offset")
    for start, batch in kind.intact_entries(source):
        for row, (first, second) in enumerate(zip(*(batch[name].to_pylist() for name in names), strict=True)):
            at = start + row * kind.entry_size
            yield Entry(base + first, second, at) if kind is OFFSET_INDEX else Entry(first, base + second, at)


# Accounts.


def accounts(folder: Folder, segment: Kind) -> Iterator[Report]:
    """A report of every file beside the segments, and one of the folder itself; `segment` is the kind of segments."""
    partition = _Partition(folder)
    yield from partition.of_sidecars()
    yield from partition.of_text_files()
    yield from partition.of_checkpoints(segment)
    yield report(folder.path, "kafka", 0, partition.findings())


def _named(names: Sequence[str]) -> dict[str, object]:
    """How many files a finding is about, and the first of them by name."""
    more = len(names) - MOST_NAMED
    shown = ", ".join(names[:MOST_NAMED])
    return {"files": len(names), "named": f"{shown} and {more} more" if more > 0 else shown}


class _Partition:
    """A folder with what a pass over its segments tells."""

    def __init__(self, folder: Folder) -> None:
        self.folder = folder
        self.topic, self.partition = topic_partition(folder.name)
        self.names = [name for name in segments(folder) if SEGMENT.fullmatch(name)]
        self.transactions = transactions_of(folder, self.names)
        self.epochs = read_epochs(folder)
        self.survey: Survey = survey(folder, self.names, self.epochs, self.transactions)

    # Files beside the segments.

    def of_sidecars(self) -> Iterator[Report]:
        """Reports of index files and snapshots that belong to a segment, or to none."""
        extents = {extent.base: extent for extent in self.survey.extents}
        for name in self.folder.files():
            kind, base = sidecar_of(name), base_offset(name)
            if kind is not None and base is not None and not name.endswith((".deleted", ".cleaned")):
                yield self._of_sidecar(name, kind, extents.get(base))

    def _of_sidecar(self, name: str, kind: Sidecar, extent: Extent | None) -> Report:
        with self.folder.open(name) as source:
            misfits = self.survey.misfits.get(name)
            # In the middle of a swap, a file belongs to the segment with the same suffix.
            if kind is TRANSACTION_INDEX and extent and name.endswith(".swap") == extent.name.endswith(".swap"):
                misfits = self._compared_transactions(source, extent)
            found = misfits.findings(source.size) if misfits else ()
            items = chain(kind.walk(source, Depth.EVERYTHING), found)
            return report(source.name, "kafka", source.size, items)

    def _compared_transactions(self, source: Source | None, extent: Extent) -> Misfits:
        following = [other.base for other in self.survey.extents if other.base > extent.base]
        offsets = (extent.base, min(following, default=1 << 63))
        hint = TRANSACTION_INDEX.hint(source.name if source else self.folder.path_of(extent.name))
        return compared_transactions(source, self.transactions, offsets, hint, is_damaged=extent.is_damaged)

    def of_text_files(self) -> Iterator[Report]:
        """Reports of leader-epoch-checkpoint and partition.metadata."""
        yield from self._of_text_file(LEADER_EPOCHS, self.survey.epochs)
        yield from self._of_text_file(METADATA)

    def _of_text_file(self, kind: TextFile, misfits: Misfits | None = None) -> Iterator[Report]:
        if self.folder.has(kind.name):
            with self.folder.open(kind.name) as source:
                found = misfits.findings(source.size) if misfits else ()
                items = chain(kind.walk(source, Depth.EVERYTHING), found)
                yield report(source.name, "kafka", source.size, items)

    def of_checkpoints(self, segment: Kind) -> Iterator[Report]:
        """Reports of KRaft's snapshots."""
        for name in self.folder.files():
            if CHECKPOINT.fullmatch(name) and (self.names or name != segments(self.folder)[0]):
                with self.folder.open(name) as source:
                    items = segment.walk(source, Depth.EVERYTHING)
                    yield report(source.name, "kafka", source.size, items)

    # The folder itself.

    def findings(self) -> Iterator[Finding]:
        """What is wrong with the folder as a whole, or worth knowing."""
        yield from self._missing()
        yield from self._misnamed()
        yield from self._without_transaction_index()
        yield from self._left_over()
        yield from self._renamed()
        yield from self._without_index()
        yield from self._open_transactions()
        yield from self._below_start()

    def _found(self, code: Code, detail: Mapping[str, object], command: str = "", name: str = "") -> Finding:
        hint = f"thawline {command} {quoted(self.folder.path_of(name) if name else self.folder.path)}"
        return Finding(code, MARK, detail, hint if command else "")

    def _missing(self) -> Iterator[Finding]:
        for before, after in self.survey.breaks():
            if not self.survey.has_gaps and not before.ends_damaged:
                lost = numbered("offset", before.next, after.base - 1)
                yield self._found(MISSING_SEGMENT, {"between": f"{before.name} and {after.name}", "lost": lost})
        extents = self.survey.extents
        if extents and not extents[-1].ends_damaged and (proof := max(self._named_ends(), default=None)):
            end = self.survey.end
            lost = numbered("offset", end, proof[0] - 1)
            yield self._found(MISSING_SEGMENT, {"proof": proof[1], "ends_at": end, "lost": lost})

    def _named_ends(self) -> Iterator[tuple[int, str]]:
        """Ends of the partition that other files name, where they lie after its last record."""
        above = offset_above(self.folder, HIGH_WATERMARKS, self.topic, self.partition)
        named = [(above, f"the high watermark is {above}")] if above is not None else []
        named += [
            (item.start_offset, f"leader epoch {item.epoch} starts at {item.start_offset}") for item in self.epochs
        ]
        for name in self.folder.files():
            offset = base_offset(name)
            if name.endswith(".snapshot") and offset is not None:
                named.append((offset, f"{name} holds the state of producers at its offset"))
        return (item for item in named if item[0] > self.survey.end)

    def _misnamed(self) -> Iterator[Finding]:
        for extent in self.survey.extents:
            if extent.first is not None and extent.first < extent.base and not extent.is_damaged:
                yield self._found(NAME_MISMATCH, {"file": extent.name, "first_offset": extent.first})

    def _without_transaction_index(self) -> Iterator[Finding]:
        """Aborted transactions of segments that have an .index file and no .txnindex file.

        A broker that finds no .index file rebuilds all of them, but it does not miss a .txnindex file by itself.
        """
        for extent in self.survey.extents:
            base, _, suffix = extent.name.partition(".log")
            name = f"{base}.txnindex{suffix}"
            if self.folder.has(f"{base}.index{suffix}") and not self.folder.has(name):
                for finding in self._compared_transactions(None, extent).findings(0):
                    yield Finding(finding.code, MARK, {"file": f"{name} is missing", **finding.detail}, finding.hint)

    def _left_over(self) -> Iterator[Finding]:
        bases = {extent.base for extent in self.survey.extents} | set(_by_suffix(self.folder)[""])
        left = [
            name
            for name in self.folder.files()
            if name.endswith((".index", ".timeindex", ".txnindex")) and base_offset(name) not in {None, *bases}
        ]
        if left:
            yield self._found(INDEX_LEFT_OVER, _named(left))

    def _renamed(self) -> Iterator[Finding]:
        """Segments that were about to be deleted or replaced."""
        found = _by_suffix(self.folder)
        checkpoints = [name for name in self.folder.files() if DELETED_CHECKPOINT.fullmatch(name)]
        deleted = [*found[".deleted"].values(), *(name for name in checkpoints if name.endswith(".deleted"))]
        if deleted:
            yield self._found(DELETED_FILE, _named(deleted), "cat", deleted[0])
        parts = [name for name in checkpoints if name.endswith(".part")]
        ignored = set(found[".swap"].values()) - set(self.names)
        if unfinished := [*found[".cleaned"].values(), *sorted(ignored), *parts]:
            yield self._found(UNFINISHED_FILE, {**_named(unfinished), "read": "no"})
        if swapped := [name for name in self.names if name.endswith(".swap")]:
            replaced = [name for name in found[""].values() if name not in self.names]
            detail = {**_named(swapped), "read": "yes", "instead_of": ", ".join(replaced[:MOST_NAMED])}
            yield self._found(UNFINISHED_FILE, detail)

    def _without_index(self) -> Iterator[Finding]:
        for kind in (OFFSET_INDEX, TIME_INDEX):
            named = ((name, name.replace(".log", f".{kind.suffix}", 1)) for name in self.names)
            without = [name for name, index in named if not self.folder.has(index)]
            if without:
                yield self._found(MISSING_INDEX, {"missing": f".{kind.suffix}", **_named(without)})

    def _open_transactions(self) -> Iterator[Finding]:
        unended = self.transactions.open()
        if not unended:
            return
        ids = [str(item.producer_id) for item in unended]
        more = f" and {len(ids) - MOST_NAMED} more" if len(ids) > MOST_NAMED else ""
        detail = {
            "transactions": len(ids),
            "producer_ids": ", ".join(ids[:MOST_NAMED]) + more,
            "last_stable_offset": unended[0].first_offset,
        }
        yield self._found(OPEN_TRANSACTION, detail, "cat --columns offset,transaction")

    def _below_start(self) -> Iterator[Finding]:
        start = offset_above(self.folder, LOG_STARTS, self.topic, self.partition)
        first = next((extent.first for extent in self.survey.extents if extent.first is not None), None)
        if start is not None and first is not None and first < start:
            detail = {"log_start_offset": start, "below": numbered("offset", first, min(start, self.survey.end) - 1)}
            yield self._found(BELOW_START, detail, f"cat --offsets {start}..")
