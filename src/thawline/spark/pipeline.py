"""The pipeline of `thawline ingest`: everything below some sources, verified, decoded and written as tables.

It works in rounds. Each round is one commit, so the run after a killed one resumes after its last round.
"""

from __future__ import annotations

import os
import re
import shutil
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from py4j.protocol import Py4JError, Py4JJavaError
from pyspark.errors import PySparkException

from thawline.errors import FormatError, SourceError, ThawlineError, UnknownFormat
from thawline.spark.discovery import Work, discover
from thawline.spark.files import absolute, plain
from thawline.spark.intake import Account, Intake, Share, Taken, unread
from thawline.spark.lake import Entry, Lake, LakeError
from thawline.spark.ledger import Standing, ledgers, mark, standings, supersede
from thawline.spark.missing import MISSING, at_or_below, covering, gone, refuse_empty, size_of
from thawline.spark.planning import LEAST_PARTITION, MOST_PARTITION, OPEN_COST, Part, Planner
from thawline.spark.tables import SUFFIXES

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["OUTPUT_FORMATS", "Progress", "SparkEnded", "Summary", "cause", "ingest", "target"]

OUTPUT_FORMATS = tuple(SUFFIXES)
A_CORE = 8
"""Tasks of a round per core."""
AGAIN = "what is done so far is kept, run it again to go on"
LOST = ("Python worker exited unexpectedly", "ExecutorLostFailure")
"""Spark's messages about a task whose process has ended."""


class SparkEnded(ThawlineError):
    """Spark does not start, or has ended or failed during a run; the next run resumes."""


@dataclass(frozen=True, slots=True)
class Progress:
    """The progress of a run: committed files and bytes, and completed tasks of the round, each with its total."""

    done: int
    total: int
    bytes_done: int
    bytes_total: int
    tasks_done: int = 0
    tasks: int = 0


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
    accounts: list[Account] = field(default_factory=list)
    rows: Counter[str] = field(default_factory=Counter)
    """Rows written, by table."""
    pruned: int = 0
    """Files that are gone from their source, and whose rows were removed."""
    standings: list[Standing] = field(default_factory=list)
    """Every damaged or missing file of the lake, and the unread files of the sources."""

    @property
    def damaged(self) -> int:
        """The number of damaged files and folders that this run ingested."""
        return sum(account.status == "damaged" for account in self.accounts)

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
    output_format: str = "parquet",
    prune_missing: bool = False,
    on_progress: Callable[[Progress], None] = lambda _: None,
) -> Summary:
    """Ingest everything that is new or has changed below some sources; returns a summary.

    A file that is gone since an earlier run keeps its rows and gets the status missing. With `prune_missing` its rows
    are removed.

    Sources are folders, files, and URLs that fsspec supports. Tables are below `to`: `tables/<format>_<table>`,
    `findings` and `files`. `to` must be a folder that the driver and all workers see, not a URL: commits depend on
    atomic renames. A source inside of `to`, or `to` inside of a source, is refused: the lake would ingest itself.
    """
    if output_format not in OUTPUT_FORMATS:
        raise SourceError(f"there is no output format {output_format!r}; there are {', '.join(OUTPUT_FORMATS)}")
    to = target(sources, to)
    lake = Lake(to, output_format)
    with _explaining(lake), lake.opened():
        works = list(discover(sources))
        summary = Summary(to, frozenset(map(absolute, sources)))
        summary.pruned = _settle(works, sources, lake, prune=prune_missing)
        readable = [work for work in works if not work.problem]
        pending = list(_pending(readable, lake))
        summary.unchanged = _files(readable) - _files(pending)
        run = _Run(spark, lake, summary, on_progress, _files(pending), _bytes(pending))
        cores = spark.sparkContext.defaultParallelism
        for tasks in _rounds(pending, cores):
            run.round(tasks)
        is_covered = covering(sources)
        summary.standings = [one for one in standings(lake) if not one.is_unread or is_covered(one.path)]
    return summary


@contextmanager
def _explaining(lake: Lake) -> Iterator[None]:
    """Add to a `LakeError` the path of the lake, and that committed rounds are kept."""
    try:
        yield
    except LakeError as error:
        raise LakeError(f"{lake.path}: {error}; {AGAIN}") from error


def _settle(works: Sequence[Work], sources: Sequence[str], lake: Lake, *, prune: bool) -> int:
    """Record in the lake what is gone and what cannot be read; returns the number of files pruned."""
    if prune:
        refuse_empty(works, lake.works, sources)
    lost = gone(works, lake, sources)
    removed = (*lost.void, *(lost.missing if prune else ()))
    if removed:
        # Files of a folder that is not a group any more are ingested again, one by one.
        again = at_or_below(lost.void, works)
        entry = Entry(dict.fromkeys(again.keys() & lake.works.keys(), ""), forgotten=list(removed))
        with _staged(lake) as staging:
            supersede(lake, entry, removed, staging)
            lake.commit(entry)
    marks = {account.work: account for account in _unread(works, lake)}
    marks |= {} if prune else {account.work: account for account in _missing(lost.missing, lake)}
    if marks:
        problems = {work.key: work.signature for work in works if work.problem}
        entry = Entry({key: problems.get(key, MISSING) for key in marks})
        with _staged(lake) as staging:
            mark(lake, entry, marks, staging)
            lake.commit(entry)
    return sum(key.startswith("file:") for key in lost.missing) if prune else 0


@contextmanager
def _staged(lake: Lake) -> Iterator[Path]:
    staging = lake.staging()
    yield staging
    shutil.rmtree(staging, ignore_errors=True)


def _unread(works: Iterable[Work], lake: Lake) -> Iterator[Account]:
    """Accounts of works that are not read, unless the lake has them already."""
    for work in works:
        if work.problem and lake.works.get(work.key) != work.signature:
            yield unread(work.file.path, work.key, error=work.problem, apart="" if work.is_failure else "left out")


def _missing(keys: Iterable[str], lake: Lake) -> Iterator[Account]:
    """Accounts of works that are gone, unless the lake has them already."""
    for key in keys:
        if lake.works[key] != MISSING:
            yield unread(key.partition(":")[2], key, size_of(lake.works[key]), apart="missing")


def target(sources: Sequence[str], to: str | os.PathLike[str]) -> str:
    """The folder to write to, checked before anything is written; `SourceError` if it is not allowed."""
    to = plain(os.fspath(to))
    if "://" in to:
        raise SourceError(
            f"{to}: tables are written to a folder that this machine and all workers see, not behind a URL, where "
            "files cannot be renamed; write them to a folder and copy that"
        )
    _refuse_itself(sources, Path(to))
    return to


def _pending(works: Iterable[Work], lake: Lake) -> Iterator[Work]:
    """Works that are new or have changed, and the files beside a changed group, which its report covers."""
    is_folder_pending = False
    for work in works:
        is_pending = lake.works.get(work.key) != work.signature
        if work.is_folder:
            is_folder_pending = is_pending
        if is_pending or (work.beside and is_folder_pending):
            yield work


def _refuse_itself(sources: Iterable[str], to: Path) -> None:
    target = to.absolute()
    for source in map(plain, sources):
        if "://" in source:
            continue
        path = Path(source).absolute()
        if target.is_relative_to(path) or path.is_relative_to(target):
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

    def round(self, tasks: list[tuple[Share, ...]]) -> None:
        """Run the tasks of a round, and commit their results."""
        staging = self.lake.staging()
        self._show(0, len(tasks))
        taken = self._ran(Intake(str(staging), self.lake.output_format), tasks)
        works = {share.work.key: share.work for shares in tasks for share in shares}
        accounts = _added_up(account for done in taken for account in done.accounts)
        outputs = [output for done in taken for output in done.outputs]
        failed = {account.work for account in accounts if account.status == "unreadable"}
        # A failed work gets an empty signature, so the next run tries it again.
        entry = Entry({key: "" if key in failed else work.signature for key, work in works.items()})
        entry.outputs = [*outputs, *ledgers(accounts, staging, self.lake)]
        supersede(self.lake, entry, entry.works.keys() & self.lake.works.keys(), staging)
        for output in outputs:
            self.summary.rows[output.place.split("/")[1]] += output.rows
        self.lake.commit(entry)
        shutil.rmtree(staging, ignore_errors=True)
        self.summary.accounts += accounts
        self.summary.ingested += _files(works.values())
        self.bytes_done += _bytes(works.values())
        self._show(0, 0)

    def _show(self, tasks_done: int, tasks: int) -> None:
        done = Progress(self.summary.ingested, self.total, self.bytes_done, self.bytes_total, tasks_done, tasks)
        self.on_progress(done)

    def _ran(self, intake: Intake, tasks: list[tuple[Share, ...]]) -> list[Taken]:
        """The results of the tasks; progress is shown while they run."""
        context = self.spark.sparkContext
        over = threading.Event()

        def watch() -> None:
            tracker = context.statusTracker()
            while not over.wait(0.5):
                with suppress(Py4JError, OSError):  # `_translating_errors` reports that Spark has ended
                    stages = [tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds()]
                    self._show(sum(stage.numCompletedTasks for stage in stages if stage), len(tasks))

        watcher = threading.Thread(target=watch, daemon=True)
        watcher.start()
        try:
            with _translating_errors():
                taken: list[Taken] = context.parallelize(tasks, len(tasks)).map(intake.take).collect()
        finally:
            over.set()
            watcher.join()
        return taken


@contextmanager
def _translating_errors() -> Iterator[None]:
    """Raise errors of Spark as `SparkEnded` or `LakeError`, with the end of a process distinct from a failed task."""
    try:
        yield
    except (Py4JJavaError, PySparkException) as error:
        if any(words in _text(error) for words in LOST):
            why = "a worker of Spark has ended during a task, as happens where memory is short"
            raise SparkEnded(f"{why}; {AGAIN}") from error
        kind, _, why = cause(error).partition(": ")
        if kind.endswith(LakeError.__name__):
            raise LakeError(why) from error
        raise SparkEnded(f"a task of Spark has failed: {cause(error)}; {AGAIN}") from error
    except (Py4JError, OSError) as error:
        why = "the Java that Spark runs in has ended, as happens where memory is short"
        raise SparkEnded(f"{why}; {AGAIN}") from error


def cause(error: Exception) -> str:
    r"""The line that matters among those of Java and Python.

    >>> cause(ValueError("Job aborted: Traceback:\n  File …\nOSError: no space left\n\n\tat org.x"))
    'OSError: no space left'
    """
    lines = [line.strip() for line in _text(error).partition("\n\tat ")[0].splitlines() if line.strip()]
    causes = [line for line in lines if re.match(r"[\w.]*(Error|Exception)\b", line)]
    return (causes or lines or [type(error).__name__])[-1 if causes else 0]


def _text(error: Exception) -> str:
    return str(error.java_exception) if isinstance(error, Py4JJavaError) else str(error)


def _added_up(accounts: Iterable[Account]) -> list[Account]:
    """One account per file: parts are added up, and a folder's account of a file beside its group replaces its own."""
    sums: dict[tuple[str, str], Account] = {}
    for account in accounts:
        key = account.work, account.path
        if key in sums:
            sums[key].add(account)
        else:
            sums[key] = account
    covered = {account.path for account in sums.values() if account.work.startswith("folder") and not account.error}
    replaceable = {"unknown", "beside"}
    return [account for account in sums.values() if account.status not in replaceable or account.path not in covered]


def _files(works: Iterable[Work]) -> int:
    return sum(not work.is_folder for work in works)


def _bytes(works: Iterable[Work]) -> int:
    return sum(work.file.size for work in works)


def _rounds(works: Sequence[Work], cores: int) -> Iterator[list[tuple[Share, ...]]]:
    """The tasks of each round; a work's shares are in one round, and so are a folder and the files beside its group.

    The ends of rounds depend on where an earlier run was killed. The result must not.
    """
    tasks: list[tuple[Share, ...]] = []
    group: list[Share] = []
    weight = 0
    size = max(min(_bytes(works) // (4 * cores), MOST_PARTITION), OPEN_COST)
    for work in works:
        if len(tasks) >= A_CORE * cores and not work.beside:
            yield [*tasks, tuple(group)] if group else tasks
            tasks, group, weight = [], [], 0
        shares = _shares(work, size)
        if len(shares) > 1 or work.file.size > size:
            tasks += [(share,) for share in shares]
        else:
            group, weight = [*group, *shares], weight + work.file.size + OPEN_COST // 4
        if weight >= size:
            tasks.append(tuple(group))
            group, weight = [], 0
    if group:
        tasks.append(tuple(group))
    if tasks:
        yield tasks


def _shares(work: Work, size: int) -> list[Share]:
    """The shares of a work: a whole file, or its ranges."""
    if work.is_folder or work.file.size <= max(size, LEAST_PARTITION):
        return [Share(work, Part(work.file))]
    return [Share(work, part) for group in Planner(size).plan([work.file]) for part in group]
