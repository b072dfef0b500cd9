"""The folder of a partition: its segments in the order of their offsets, and an account of everything beside them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

from thawline import formats
from thawline.folder import Folder
from thawline.formats.contract import Claim, Depth
from thawline.formats.kafka import checkpoints, sidecars
from thawline.formats.kafka.comparisons import Misfits, compared_transactions, transaction_entries
from thawline.formats.kafka.control import control_batches
from thawline.formats.kafka.findings import (
    BAD_CHECKPOINT,
    BELOW_START,
    DELETED_FILE,
    INDEX_LEFT_OVER,
    MISSING_INDEX,
    MISSING_SEGMENT,
    NAME_MISMATCH,
    OPEN_TRANSACTION,
    UNFINISHED_FILE,
)
from thawline.formats.kafka.heads import Heads
from thawline.formats.kafka.segment import Segment, nowhere
from thawline.formats.kafka.survey import Extent, Survey, survey
from thawline.formats.kafka.transactions import Transactions
from thawline.model import Code, Finding, Report, Run, Span, report
from thawline.source import Source
from thawline.wording import numbered, quoted

SEGMENT = re.compile(r"(\d{20})\.log(|\.swap|\.cleaned|\.deleted)", re.ASCII)
CHECKPOINT = re.compile(r"(\d{20})-(\d{10})\.checkpoint", re.ASCII)
DELETED_CHECKPOINT = re.compile(r"\d{20}-\d{10}\.checkpoint\.(deleted|part)", re.ASCII)
REMOVED = re.compile(r"(.+)\.[^.]+-(?:delete|future|stray)", re.DOTALL)
"""A folder that the broker is about to delete or to move: the partition's name, an id, and what is to become of it."""
MOST_NAMED = 8
MARK = Span(0, 0)
FIRST_AND_LAST = ("snapshot_header", "snapshot_footer")


def topic_partition(name: str) -> tuple[str | None, int | None]:
    """Topic and partition that the name of a folder stands for; of a folder to be deleted the topic may be cut short.

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
    """Whether a folder is that of a partition: it holds a segment, or a snapshot of KRaft's."""
    found = [name for name in folder.files() if SEGMENT.fullmatch(name)]
    snapshots = [name for name in folder.files() if CHECKPOINT.fullmatch(name)]
    if not found and not snapshots:
        return None
    topic, partition = topic_partition(folder.name)
    if topic is not None and found:
        return Claim("kafka", "2", f"holds segments, and is named for partition {partition} of {topic}", "certain")
    return Claim("kafka", "2", f"holds files named like {'segments' if found else 'snapshots of KRaft'}", "likely")


def segments(folder: Folder) -> list[str]:
    """Names of the segments in reading order; where there are none, that of the latest snapshot of KRaft.

    A .swap file takes the place of the segments that it covers, unless the .cleaned file of an unfinished split says
    that it is part of one (K:log/LogLoader).
    """
    found = _by_suffix(folder)
    swaps = _valid_swaps(found)
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
    patterns = (SEGMENT, CHECKPOINT, DELETED_CHECKPOINT)
    is_named = any(pattern.fullmatch(name) for pattern in patterns) or name in checkpoints.UNIT_NAMES
    return is_named or sidecars.base_offset(name) is not None


def _by_suffix(folder: Folder) -> dict[str, dict[int, str]]:
    """Names of the .log files by what follows, and by their offset."""
    found: dict[str, dict[int, str]] = {"": {}, ".swap": {}, ".cleaned": {}, ".deleted": {}}
    for name in folder.files():
        if match := SEGMENT.fullmatch(name):
            found[match[2]][int(match[1])] = name
    return found


def _valid_swaps(found: dict[str, dict[int, str]]) -> dict[int, str]:
    least = min(found[".cleaned"], default=1 << 63)
    return {base: name for base, name in found[".swap"].items() if base < least}


def _next_offset(folder: Folder, name: str) -> int:
    end = int(name.partition(".")[0])
    with folder.open(name) as source:
        for item in Segment(source, nowhere).items(is_explained=False):
            if isinstance(item, Heads):
                end = max(end, item.rows["last_offset"][-1].as_py() + 1)
    return end


def opened(folder: Folder, names: Sequence[str]) -> Iterator[Source]:
    """The files, each open until the next one is asked for."""
    for name in names:
        with folder.open(name) as source:
            yield source


def transactions_of(folder: Folder) -> Transactions:
    """How the transactions of a partition ended."""
    return Transactions.of(lambda: opened(folder, segments(folder)))


def accounts(folder: Folder) -> Iterator[Report]:
    """A report for every file beside the segments, and one for the folder itself."""
    partition = _Partition(folder)
    yield from partition.of_side_files()
    yield from partition.of_text_files()
    yield from partition.of_checkpoints()
    yield report(folder.path, "kafka", 0, partition.findings())


@dataclass(frozen=True, slots=True)
class _Named:
    """Files that one finding is about."""

    names: list[str]

    def facts(self) -> dict[str, object]:
        """How many there are, and the first of them by name."""
        shown = ", ".join(self.names[:MOST_NAMED])
        more = len(self.names) - MOST_NAMED
        return {"files": len(self.names), "named": f"{shown} and {more} more" if more > 0 else shown}


class _Partition:
    """A folder with what a pass over its segments tells."""

    def __init__(self, folder: Folder) -> None:
        self.folder = folder
        self.topic, self.partition = topic_partition(folder.name)
        self.names = [name for name in segments(folder) if SEGMENT.fullmatch(name)]
        self.transactions = Transactions.of(lambda: opened(folder, self.names))
        self.epochs, self.epochs_account = checkpoints.read_epochs(folder)
        self.survey: Survey = survey(folder, self.names, self.epochs, self.transactions)

    # Files beside the segments.

    def of_side_files(self) -> Iterator[Report]:
        """Reports of index files and snapshots that belong to a segment, or to none."""
        extents = {extent.base: extent for extent in self.survey.extents}
        for name in self.folder.files():
            kind, base = sidecars.kind_of(name), sidecars.base_offset(name)
            if kind is None or base is None or name.endswith((".deleted", ".cleaned")):
                continue
            yield self._of_side_file(name, kind, extents.get(base))

    def _of_side_file(self, name: str, kind: sidecars.Kind, extent: Extent | None) -> Report:
        with self.folder.open(name) as source:
            misfits = self.survey.misfits.get(name)
            if kind.suffix == "txnindex" and extent and self._is_beside(name, extent):
                misfits = self._compared_transactions(source, kind, extent)
            found = misfits.findings(source.size) if misfits else ()
            return report(source.name, "kafka", source.size, chain(sidecars.scan(source, kind), found))

    def _is_beside(self, name: str, extent: Extent) -> bool:
        """Whether a side file belongs to this very segment, be it in the middle of a swap or not."""
        return name.endswith(".swap") == extent.name.endswith(".swap")

    def _compared_transactions(self, source: Source | None, kind: sidecars.Kind, extent: Extent) -> Misfits:
        following = [other.base for other in self.survey.extents if other.base > extent.base]
        offsets = (extent.base, min(following, default=1 << 63))
        entries = list(transaction_entries(source, kind)) if source else []
        hint = sidecars.hint_for(source.name if source else self.folder.path_of(extent.name), kind)
        return compared_transactions(entries, self.transactions, offsets, hint, is_damaged=extent.is_damaged)

    def of_text_files(self) -> Iterator[Report]:
        """Reports of leader-epoch-checkpoint and partition.metadata."""
        if self.epochs_account is not None:
            for finding in self.survey.epochs.findings(self.epochs_account.size):
                self.epochs_account.add(finding)
            yield self.epochs_account
        if (account := checkpoints.read_metadata(self.folder)) is not None:
            yield account

    def of_checkpoints(self) -> Iterator[Report]:
        """Reports of KRaft's snapshots."""
        for name in self.folder.files():
            if CHECKPOINT.fullmatch(name) and (self.names or name != segments(self.folder)[0]):
                with self.folder.open(name) as source:
                    items: Iterable[Run | Finding] = formats.get("kafka").kind_of(source).walk(source, Depth.EVERYTHING)
                    yield report(source.name, "kafka", source.size, chain(items, _unfinished(source)))

    # The folder itself.

    def findings(self) -> Iterator[Finding]:
        """What is to be said about the folder as a whole."""
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
        """Ends of the partition that other files name, where they lie behind its last record."""
        above = checkpoints.offset_above(self.folder, checkpoints.HIGH_WATERMARKS, self.topic, self.partition)
        named = [(above, f"the high watermark is {above}")] if above is not None else []
        named += [
            (item.start_offset, f"leader epoch {item.epoch} starts at {item.start_offset}") for item in self.epochs
        ]
        for name in self.folder.files():
            offset = sidecars.base_offset(name)
            if name.endswith(".snapshot") and offset is not None:
                named.append((offset, f"{name} holds the state of producers at its offset"))
        return (item for item in named if item[0] > self.survey.end)

    def _misnamed(self) -> Iterator[Finding]:
        for extent in self.survey.extents:
            if extent.first is not None and extent.first < extent.base and not extent.is_damaged:
                detail = {"file": extent.name, "first_offset": extent.first}
                yield self._found(NAME_MISMATCH, detail)

    def _without_transaction_index(self) -> Iterator[Finding]:
        """Aborted transactions of segments that have an .index file and no .txnindex file.

        A broker that finds no .index file rebuilds all of them, but it does not miss a .txnindex file by itself.
        """
        for extent in self.survey.extents:
            base, _, suffix = extent.name.partition(".log")
            name = f"{base}.txnindex{suffix}"
            if self.folder.has(f"{base}.index{suffix}") and not self.folder.has(name):
                misfits = self._compared_transactions(None, sidecars.KINDS["txnindex"], extent)
                for finding in misfits.findings(0):
                    yield Finding(finding.code, MARK, {"file": f"{name} is missing", **finding.detail}, finding.hint)

    def _left_over(self) -> Iterator[Finding]:
        bases = {extent.base for extent in self.survey.extents} | set(_by_suffix(self.folder)[""])
        left = [
            name
            for name in self.folder.files()
            if name.endswith((".index", ".timeindex", ".txnindex")) and sidecars.base_offset(name) not in {None, *bases}
        ]
        if left:
            yield self._found(INDEX_LEFT_OVER, _Named(left).facts())

    def _renamed(self) -> Iterator[Finding]:
        """Segments that were about to be deleted or replaced."""
        found = _by_suffix(self.folder)
        checkpoints_gone = [name for name in self.folder.files() if DELETED_CHECKPOINT.fullmatch(name)]
        deleted = [*found[".deleted"].values(), *(name for name in checkpoints_gone if name.endswith(".deleted"))]
        if deleted:
            yield self._found(DELETED_FILE, _Named(deleted).facts(), "cat", deleted[0])
        parts = [name for name in checkpoints_gone if name.endswith(".part")]
        ignored = set(found[".swap"].values()) - set(self.names)
        if unfinished := [*found[".cleaned"].values(), *sorted(ignored), *parts]:
            yield self._found(UNFINISHED_FILE, {**_Named(unfinished).facts(), "read": "no"})
        if swapped := [name for name in self.names if name.endswith(".swap")]:
            replaced = [name for name in found[""].values() if name not in self.names]
            detail = {**_Named(swapped).facts(), "read": "yes", "instead_of": ", ".join(replaced[:MOST_NAMED])}
            yield self._found(UNFINISHED_FILE, detail)

    def _without_index(self) -> Iterator[Finding]:
        for kind in ("index", "timeindex"):
            named = ((name, name.replace(".log", f".{kind}", 1)) for name in self.names)
            without = [name for name, index in named if not self.folder.has(index)]
            if without:
                yield self._found(MISSING_INDEX, {"missing": f".{kind}", **_Named(without).facts()})

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
        start = checkpoints.offset_above(self.folder, checkpoints.LOG_STARTS, self.topic, self.partition)
        first = next((extent.first for extent in self.survey.extents if extent.first is not None), None)
        if start is not None and first is not None and first < start:
            detail = {"log_start_offset": start, "below": numbered("offset", first, min(start, self.survey.end) - 1)}
            yield self._found(BELOW_START, detail, f"cat --offsets {start}..")


def _unfinished(source: Source) -> Iterator[Finding]:
    """A finding unless a snapshot of KRaft's begins with its header and ends with its footer."""
    types: list[str | None] = []
    for item in Segment(source, nowhere).items(is_explained=False):
        if isinstance(item, Heads):
            types = [*types[:1], *_ends(source, item)]
    found = (types[0], types[-1]) if types else (None, None)
    if found != FIRST_AND_LAST:
        detail = {"first": found[0] or "no header", "last": found[1] or "no footer"}
        yield Finding(BAD_CHECKPOINT, Span(source.size, source.size), detail)


def _ends(source: Source, heads: Heads) -> list[str | None]:
    """Types of the first and of the last record of some units; None where it is data."""
    found: list[str | None] = []
    for index in (0, len(heads) - 1):
        one = heads.part(index, index + 1)
        types = [name for batch in control_batches(source, one, ["type"]) for name in batch["type"].to_pylist()]
        found += [types[0 if index == 0 else -1]] if types else [None]
    return found
