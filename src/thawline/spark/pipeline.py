"""The pipeline of `thawline ingest`: everything below some sources, verified, decoded and written as tables.

Tasks are submitted as cores become free. What they have done is committed every now and then, so the run after a killed
one resumes after its last commit.
"""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from thawline.errors import FormatError, SourceError, UnknownFormat
from thawline.lake.accounts import column_of
from thawline.lake.commits import Change
from thawline.lake.files import new_name, without
from thawline.lake.lake import Entry, Lake, Overtaken
from thawline.lake.page import NAME as PAGE
from thawline.lake.page import leave_page
from thawline.lake.place import LakeError, Place, plain
from thawline.lake.table import TableFile
from thawline.lake.upkeep import pack
from thawline.spark.bundles import bundles, bytes_of, files_of
from thawline.spark.discovery import Work, discover
from thawline.spark.files import absolute
from thawline.spark.growing import opened
from thawline.spark.intake import Account, Intake, unread
from thawline.spark.ledger import Standing, ledgers, settled, standings, with_past
from thawline.spark.missing import MISSING, at_or_below, covering, gone, refuse_empty, size_of
from thawline.spark.submission import AGAIN, Cores, Done, SparkEnded, Submission, cause, warm_up
from thawline.spark.tables import Output
from thawline.wording import utf8

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["Progress", "SparkEnded", "Summary", "Tally", "cause", "ingest", "target"]

OFTEN = 20.0
"""Seconds after which what is done is committed."""
MUCH = 4 << 30
"""Bytes of sources that are committed at once, at the most."""
MANY = 20_000
"""Files that are committed at once, at the most."""


@dataclass(frozen=True, slots=True)
class Progress:
    """The progress of a run: committed files and bytes, each with its total, and tasks that are done, and under way."""

    done: int
    total: int
    bytes_done: int
    bytes_total: int
    tasks_done: int = 0
    tasks: int = 0


@dataclass(slots=True)
class Tally:
    """What a run took in of a format."""

    files: int = 0
    damaged: int = 0
    rows: int = 0
    intact_bytes: int = 0
    damaged_bytes: int = 0
    findings: int = 0

    def add(self, account: Account) -> None:
        """Add the account of a file or folder."""
        self.files += 1
        self.damaged += account.status in {"damaged", "unreadable"}
        self.rows += account.report.rows if account.work.startswith("file:") else 0
        self.intact_bytes += account.report.intact_bytes
        self.damaged_bytes += account.report.damaged_bytes
        self.findings += len(account.report.findings)


@dataclass(slots=True)
class Summary:
    """The result of a run."""

    to: str
    named: frozenset[str] = frozenset()
    """Paths of the sources."""
    ingested: int = 0
    """Files that this run ingested."""
    unchanged: int = 0
    """Files that an earlier run ingested and that have not changed since."""
    damaged: int = 0
    """Damaged files and folders that this run ingested."""
    formats: dict[str, Tally] = field(default_factory=dict)
    rows: Counter[str] = field(default_factory=Counter)
    """Rows written, by table."""
    pruned: int = 0
    """Files that are gone from their source, and whose rows were removed."""
    standings: list[Standing] = field(default_factory=list)
    """Every damaged or missing file of the lake, and the unread files of the sources."""

    def add(self, account: Account) -> None:
        """Count the account of a file or folder."""
        self.damaged += account.status == "damaged"
        self.formats.setdefault(account.report.format, Tally()).add(account)

    @property
    def unreadable(self) -> int:
        """The number of files of the sources that could not be read."""
        return sum(standing.status == "unreadable" for standing in self.standings)

    @property
    def exit_code(self) -> int:
        """0 clean, 1 the lake holds damaged files, 2 a file could not be read, 3 a file is of no known format.

        As for `verify`, a file of no known format is an error only if it was named, if it resembles a format, or if no
        file has a known format.
        """
        unknown = [standing for standing in self.standings if standing.status == "unknown"]
        if any(standing.is_suspect or standing.path in self.named for standing in unknown):
            return UnknownFormat.exit_code
        if unknown and len(unknown) == self.ingested + self.unchanged:
            return UnknownFormat.exit_code
        if self.unreadable:
            return SourceError.exit_code
        return FormatError.exit_code if any(standing.is_damaged for standing in self.standings) else 0


def ingest(
    spark: SparkSession,
    sources: Sequence[str],
    to: str | os.PathLike[str],
    *,
    partition_by: Sequence[str] | None = None,
    table_format: str | None = None,
    catalog: str | None = None,
    prune_missing: bool = False,
    is_following: bool = False,
    on_progress: Callable[[Progress], None] = lambda _: None,
) -> Summary:
    """Ingest everything that is new or has changed below some sources; returns a summary.

    A file that is gone since an earlier run keeps its rows and gets the status missing. With `prune_missing` its rows
    are removed.

    With `is_following`, of a file that is still written to only what is whole is taken in, and what it has gained since
    is added by the next run that is told so; any other run takes it as it is.

    Sources are folders, files, and URLs that fsspec supports. `to` is a folder or a URL, where tables grow, of Delta or
    as `table_format` says: `tables/<format>_<table>`, `findings` and `files`, and where `report.html` shows them. The
    driver and all workers must see it. A source inside of `to`, or `to` inside of a source, is refused: the lake would
    ingest itself. Several runs may write to one lake at once.
    """
    to = target(sources, to)
    with _explaining(to):
        warm_up(spark)
        works = list(discover(sources))
        lake = Lake.open(to, partition_by, table_format, catalog)
        before = lake.refresh().number
        summary = Summary(to, frozenset(map(absolute, sources)))
        try:
            summary.pruned = _settle(works, sources, lake, prune=prune_missing)
            works = [work for work in works if not work.problem]
            if is_following:
                works = list(opened(works, lake.state.works))
            pending = list(_pending(works, lake))
            summary.unchanged = files_of(works) - files_of(pending)
            works.clear()  # what comes needs the memory
            _Run(spark, lake, summary, on_progress, files_of(pending), bytes_of(pending)).take_in(pending)
            pending.clear()
        finally:
            lake.clear()
        pack(lake.place)
        if lake.refresh().number != before or not lake.place.exists(PAGE):
            leave_page(lake, sources)
        is_covered = covering(sources)
        summary.standings = [one for one in standings(lake) if not one.is_unread or is_covered(one.path)]
    return summary


@contextmanager
def _explaining(to: str) -> Iterator[None]:
    """Add to a `LakeError` the path of the lake, and that what is committed is kept."""
    try:
        yield
    except LakeError as error:
        raise LakeError(f"{to}: {error}; {AGAIN}") from error


def _settle(works: Sequence[Work], sources: Sequence[str], lake: Lake, *, prune: bool) -> int:
    """Record in the lake what is gone and what cannot be read; returns the number of files pruned."""
    while True:
        known = lake.refresh().works
        if prune:
            refuse_empty(works, known, sources)
        lost = gone(works, lake.state, sources)
        removed = {*lost.void, *(lost.missing if prune else ())}
        # Files of a folder that is not a group any more are ingested again, one by one.
        again = (at_or_below(lost.void, works).keys() & known.keys()) - removed
        again = {key for key in again if known[key].signature}
        marks = dict(_unread(works, lake))
        marks |= {} if prune else dict(_missing(lost.missing, lake))
        if removed or again or marks:
            touched = {*removed, *again, *marks}
            expected = {key: known[key].signature if key in known else None for key in touched}
            try:
                lake.commit(settled(lake, marks, again - marks.keys(), removed), expected)
            except Overtaken:
                continue  # another run has looked at the same sources
        return sum(key.startswith("file:") for key in lost.missing) if prune else 0


def _unread(works: Iterable[Work], lake: Lake) -> Iterator[tuple[str, tuple[Account, str]]]:
    """Accounts and signatures of works that are not read, unless the lake has them already."""
    known = lake.state.works
    for work in works:
        if work.problem and not (work.key in known and known[work.key].signature == work.signature):
            apart = "" if work.is_failure else "left out"
            yield work.key, (unread(work.file.path, work.key, error=work.problem, apart=apart), work.signature)


def _missing(keys: Iterable[str], lake: Lake) -> Iterator[tuple[str, tuple[Account, str]]]:
    """Accounts and signatures of works that are gone, unless the lake has them already."""
    for key in keys:
        signature = lake.state.works[key].signature
        if signature != MISSING:
            path = key.partition(":")[2]
            yield key, (unread(path, key, size_of(signature), apart="missing"), MISSING)


def target(sources: Sequence[str], to: str | os.PathLike[str]) -> str:
    """The folder or URL to write to, checked before anything is written; `SourceError` if it is not allowed."""
    to = plain(os.fspath(to))
    _refuse_itself(sources, to)
    return to


def _pending(works: Iterable[Work], lake: Lake) -> Iterator[Work]:
    """Works that are new or have changed, and the files beside a changed group, which its report covers."""
    known = lake.refresh().works
    is_folder_pending = False
    for work in works:
        is_pending = work.key not in known or known[work.key].signature != work.signature
        if work.is_folder:
            is_folder_pending = is_pending
        if is_pending or (work.beside and is_folder_pending):
            yield work


def _refuse_itself(sources: Iterable[str], to: str) -> None:
    target = Place.of(to).root
    for source in sources:
        path = Place.of(source).root
        if target.partition("://")[0] == path.partition("://")[0] or ("://" not in target + path):
            one, other = (Path(where if "://" in where else os.path.realpath(where)) for where in (target, path))
            if one.is_relative_to(other) or other.is_relative_to(one) or covering([source])(target):
                raise SourceError(f"{to}: {source} is read, so nothing is written there; choose a folder beside it")


@dataclass(slots=True)
class _Run:
    """One run of the pipeline."""

    spark: SparkSession
    lake: Lake
    summary: Summary
    on_progress: Callable[[Progress], None]
    total: int
    bytes_total: int
    bytes_done: int = 0
    tasks_done: int = 0
    _done: list[Done] = field(default_factory=list)
    _since: float = field(default_factory=time.monotonic)

    def take_in(self, works: Sequence[Work]) -> None:
        """Submit all works, and commit what is done."""
        if not works:
            return
        cores = Cores(self.spark).count()
        intake = Intake(self.lake.place, self.lake.run, self.lake.by)
        submission = Submission(self.spark, intake, self._show)
        for done in submission.results(bundles(works, cores)):
            if done:
                self._done.append(done)
                self.tasks_done += len(done.bundle.tasks)
                self.lake.written.update(_places(done.written))
            if self._is_time():
                self._commit()
        self._commit()

    def _is_time(self) -> bool:
        works = [work for done in self._done for work in done.bundle.works.values()]
        is_late = time.monotonic() - self._since > OFTEN
        return bool(works) and (is_late or len(works) > MANY or bytes_of(works) > MUCH)

    def _show(self, running: int) -> None:
        tasks = self.tasks_done + running
        done, total = self.summary.ingested, self.total
        self.on_progress(Progress(done, total, self.bytes_done, self.bytes_total, self.tasks_done, tasks))

    def _commit(self) -> None:
        """Commit the bundles that are done."""
        works = {key: work for done in self._done for key, work in done.bundle.works.items()}
        results = [taken for done in self._done for taken in done.taken]
        self._done = []
        accounts = _added_up(account for taken in results for account in taken.accounts)
        outputs = [output for taken in results for output in taken.outputs]
        while works:
            try:
                self._commit_of(works, accounts, outputs)
                break
            except Overtaken as error:  # another run has taken in some of them
                works = {key: work for key, work in works.items() if key not in error.works}
                accounts = [account for account in accounts if account.work not in error.works]
                outputs = list(self._without(outputs, error.works))
                self.total -= len(error.works)
        self._since = time.monotonic()
        self._show(0)

    def _commit_of(self, works: dict[str, Work], accounts: list[Account], outputs: list[Output]) -> None:
        """Commit works; of those that failed only that they have. What the lake has of them stays."""
        known = self.lake.refresh().works
        expected = {key: known[key].signature if key in known else None for key in works}
        self._check_new(works)
        failed = {account.work for account in accounts if account.status == "unreadable"}
        kept = {account.work: account for account in accounts if account.work in failed and _has_rows(known, account)}
        grown = {key for key, work in works.items() if work.taken_to and key not in failed}
        new = with_past(self.lake, [account for account in accounts if account.work not in kept], grown)
        # A failed work gets an empty signature, so the next run tries it again.
        signatures = {key: "" if key in failed else work.signature for key, work in works.items()}
        adds = [output.file for output in self._without(outputs, frozenset(failed))]
        adds += ledgers(self.lake, map(_without_rows, new), signatures)
        marks = settled(self.lake, {key: (account, "") for key, account in kept.items()}, (), ())
        stale = set(map(utf8, (works.keys() & known.keys()) - kept.keys() - grown))
        renewed = tuple(sorted({*marks.renewed, *map(utf8, grown)}))
        facts = {"run": self.lake.run, "files": files_of(list(works.values())), "rows": _rows_of(adds)}
        change = Change((*adds, *marks.adds), tuple(sorted(stale)), renewed, facts=facts)
        with_rows = {account.work for account in accounts if account.report.rows and account.work not in failed}
        with_rows |= {key for key in grown if known[key].has_rows} | kept.keys()
        after = {key: Entry(signature, key in with_rows) for key, signature in signatures.items()}
        self.lake.commit(change, expected, after)
        self._count(works, accounts, adds)

    def _check_new(self, works: dict[str, Work]) -> None:
        """Raise `Overtaken` for works that the lake has already as they are now."""
        known = self.lake.state.works
        same = {key for key, work in works.items() if key in known and known[key].signature == work.signature}
        done = {key for key in same if not works[key].beside}
        if done:
            raise Overtaken(frozenset(same))

    def _count(self, works: dict[str, Work], accounts: list[Account], adds: list[TableFile]) -> None:
        self.summary.rows.update(_rows_of(adds))
        for account in accounts:
            self.summary.add(account)
        self.summary.ingested += files_of(list(works.values()))
        self.bytes_done += bytes_of(list(works.values()))

    def _without(self, outputs: Iterable[Output], works: frozenset[str]) -> Iterator[Output]:
        """Output files without the rows of some works."""
        for output in outputs:
            bad = works.intersection(output.works)
            kept = tuple(work for work in output.works if work not in works)
            if bad and kept:
                names = {utf8(work.partition(":")[2]) for work in bad}
                file, table = output.file, output.file.table
                again = without(
                    self.lake.place, file, table, column_of(table), names, new_name(self.lake.run, [file.path])
                )
                if again:
                    made = Output(again, kept)
                    self.lake.written.update(_places([made]))
                    yield made
            elif kept:
                yield output


def _places(outputs: Iterable[Output]) -> Iterator[str]:
    return (output.file.name for output in outputs)


def _rows_of(adds: Iterable[TableFile]) -> dict[str, int]:
    rows: Counter[str] = Counter()
    for one in adds:
        if one.table.startswith("tables/"):
            rows[one.table.removeprefix("tables/")] += one.rows
    return dict(rows)


def _has_rows(known: Mapping[str, Entry], account: Account) -> bool:
    """Whether tables have rows of a file from an earlier run."""
    return account.work in known and known[account.work].has_rows


def _without_rows(account: Account) -> Account:
    """The account of a file that failed says nothing of what was read up to there: none of that is committed."""
    if account.status != "unreadable":
        return account
    report = account.report
    return replace(account, report=type(report)(report.file, report.format, report.size))


def _added_up(accounts: Iterable[Account]) -> list[Account]:
    """One account per file: parts are added up, and a folder's account of a file beside its group replaces its own."""
    sums: dict[tuple[str, str], Account] = {}
    for account in accounts:
        key = account.work, account.path
        if key in sums:
            sums[key].add(account)
        else:
            sums[key] = account
    return list(_replaced(list(sums.values())))


def _replaced(accounts: list[Account]) -> Iterator[Account]:
    own = {account.path: account for account in accounts if account.status in {"unknown", "beside"}}
    covering_ones = {one.path for one in accounts if one.work.startswith("folder") and not one.error}
    for account in accounts:
        if account.path in own and account.work.startswith("folder") and not account.error:
            account.report.rows = 0  # what an index holds is in no table
            yield replace(account, work=own[account.path].work)  # the file's row tells whether it has changed
        elif account is not own.get(account.path) or account.path not in covering_ones:
            yield account
