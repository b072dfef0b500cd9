"""One pass over the segments of a partition: where each begins and ends, and what files beside them say otherwise."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.compute as pc

from thawline.folder import Folder
from thawline.formats.kafka import sidecars
from thawline.formats.kafka.checkpoints import Epoch
from thawline.formats.kafka.comparisons import Comparison, Misfits, OffsetIndex, TimeIndex, index_entries
from thawline.formats.kafka.findings import EPOCHS_MISMATCH, SNAPSHOT_MISMATCH
from thawline.formats.kafka.heads import Heads
from thawline.formats.kafka.segment import Look, Segment, everywhere, nowhere
from thawline.formats.kafka.transactions import Transactions
from thawline.source import Source

COMPARED: dict[str, Callable[..., Comparison]] = {"index": OffsetIndex, "timeindex": TimeIndex}
IN_STATE = ("producer_id", "last_offset", "is_transactional")


@dataclass(slots=True)
class Extent:
    """A segment, and the offsets that it holds."""

    name: str
    base: int
    """The offset that it is named after."""
    first: int | None = None
    """Its first offset, or that of its first unit's last record where no more is known; None if it is empty."""
    last: int | None = None
    is_damaged: bool = False
    ends_damaged: bool = False

    @property
    def next(self) -> int:
        """The first offset behind it."""
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
        """The first offset behind all segments."""
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


def survey(folder: Folder, segments: Sequence[str], epochs: Sequence[Epoch], transactions: Transactions) -> Survey:
    """What a pass over the segments of a partition tells.

    It goes by heads alone. Only where something does not fit, which may be the heads' fault, all bytes are looked at.
    """
    found = _Pass(folder, epochs, transactions, nowhere).over(segments)
    return found if found.is_clean else _Pass(folder, epochs, transactions, everywhere).over(segments)


class _Pass:
    """The pass itself."""

    def __init__(self, folder: Folder, epochs: Sequence[Epoch], transactions: Transactions, look: Look) -> None:
        self.folder, self.look = folder, look
        self.survey = Survey()
        self.epochs = epochs
        self.starts = [item.start_offset for item in epochs]
        self.producers = _Producers(folder, transactions, self.survey)

    def over(self, segments: Sequence[str]) -> Survey:
        """What all of the segments tell."""
        for name in segments:
            self._segment(name)
        self.producers.compare_until(self.survey.end)
        return self.survey

    def _segment(self, name: str) -> None:
        base, _, suffix = name.partition(".log")
        extent = Extent(name, int(base))
        self.survey.extents.append(extent)
        with ExitStack() as opened:
            compared = self._comparisons(base, suffix, opened)
            source = self._opened(name, opened)
            for item in Segment(source, self.look).items(is_explained=False):
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
        """Comparisons with the index files of a segment, as far as they are there."""
        found = []
        for kind, compare in COMPARED.items():
            name = f"{base}.{kind}{suffix}"
            if self.folder.has(name):
                source = self._opened(name, opened)
                entries = index_entries(source, sidecars.KINDS[kind], int(base))
                comparison = compare(entries, sidecars.hint_for(source.name, sidecars.KINDS[kind]))
                self.survey.misfits[name] = comparison.misfits
                found.append(comparison)
        return found

    def _damage(self, extent: Extent, compared: list[Comparison]) -> None:
        extent.is_damaged = extent.ends_damaged = True
        self.producers.is_known = False
        for comparison in compared:
            comparison.damage()

    def _units(self, extent: Extent, rows: pa.RecordBatch, compared: list[Comparison]) -> None:
        firsts = pc.coalesce(rows["base_offset"], rows["last_offset"])
        self._gaps(extent, rows, firsts)
        if extent.first is None:
            extent.first = firsts[0].as_py()
        extent.last, extent.ends_damaged = rows["last_offset"][-1].as_py(), False
        for comparison in compared:
            comparison.units(rows)
        self._compare_epochs(rows)
        self.producers.add(rows)

    def _gaps(self, extent: Extent, rows: pa.RecordBatch, firsts: pa.Int64Array) -> None:
        lasts, count = rows["last_offset"], rows.num_rows - 1
        spread = pc.add(pc.subtract(lasts, firsts), 1)
        is_thinned = pc.any(pc.not_equal(rows["num_records"].cast(pa.int64()), spread)).as_py()
        is_spaced = pc.any(pc.not_equal(firsts.slice(1), pc.add(lasts.slice(0, count), 1))).as_py()
        is_apart = extent.last is not None and not extent.ends_damaged and firsts[0].as_py() != extent.last + 1
        # Of a wrapper the first offset is not known, so what lies before it is no gap.
        if is_thinned or ((is_spaced or is_apart) and not rows["base_offset"].null_count):
            self.survey.has_gaps = True

    def _compare_epochs(self, rows: pa.RecordBatch) -> None:
        """Batches against the epochs of leader-epoch-checkpoint, which may have forgotten the first ones."""
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


class _Producers:
    """What producers wrote last, against the snapshots of their state."""

    def __init__(self, folder: Folder, transactions: Transactions, found: Survey) -> None:
        self.folder, self.transactions, self.survey = folder, transactions, found
        names = [name for name in folder.files() if name.endswith(".snapshot")]
        offsets = {sidecars.base_offset(name): name for name in names}
        self.pending = sorted((offset, name) for offset, name in offsets.items() if offset is not None)
        self.last: dict[int, tuple[int, bool]] = {}
        """Last offset of each producer, and whether that is part of a transaction."""
        self.start: int | None = None
        self.is_known = True
        """Whether nothing is missing so far."""

    def add(self, rows: pa.RecordBatch) -> None:
        """Units that follow one another."""
        if not self.pending or not self.is_known:
            return
        if self.start is None:
            self.start = pc.coalesce(rows["base_offset"], rows["last_offset"])[0].as_py()
        data = rows.filter(pc.and_(pc.greater_equal(rows["producer_id"], 0), pc.invert(rows["is_control"])))
        while self.pending and self.pending[0][0] <= rows["last_offset"][-1].as_py():
            offset = self.pending[0][0]
            self._update(data.filter(pc.less(data["base_offset"], offset)))
            self.compare_until(offset)
            data = data.filter(pc.greater_equal(data["base_offset"], offset))
        self._update(data)

    def _update(self, data: pa.RecordBatch) -> None:
        ids, lasts, are_transactional = (data[name].to_pylist() for name in IN_STATE)
        self.last.update(zip(ids, zip(lasts, are_transactional, strict=True), strict=True))

    def compare_until(self, end: int) -> None:
        """Compare the snapshots of offsets up to this one with what was written before it."""
        while self.pending and self.pending[0][0] <= end:
            offset, name = self.pending.pop(0)
            if self.is_known and not self.survey.has_gaps and self.start is not None:
                self._compare(offset, name)

    def _compare(self, offset: int, name: str) -> None:
        kind = sidecars.KINDS["snapshot"]
        misfits = self.survey.misfits.setdefault(name, Misfits(SNAPSHOT_MISMATCH, ""))
        with self.folder.open(name) as source:
            for _, batch in sidecars.intact(source, kind):
                for row in batch.to_pylist():
                    if reason := self._differs(offset, row):
                        facts = {key: row[key] for key in ("producer_id", "last_offset", "current_txn_first_offset")}
                        misfits.add(reason, facts)

    def _differs(self, offset: int, row: dict[str, int]) -> str:
        id_, last, first = row["producer_id"], row["last_offset"], row["current_txn_first_offset"]
        found, is_transactional = self.last.get(id_, (None, False))
        if self.start is None or max(last, first) < self.start:
            return ""  # it wrote last before what is left of the partition
        if last >= offset:
            return "a producer's last offset is not before the snapshot's own"
        if last >= self.start and found != last:
            return "a producer's last offset is another"
        end = self.transactions.end(id_, last) if is_transactional else None
        is_open = is_transactional and (end is None or end.offset >= offset)
        if found == last and is_open != (first >= 0):
            return "a transaction is open, or has ended, other than the snapshot says"
        return ""
