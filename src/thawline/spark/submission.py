"""Tasks of the pipeline on Spark: each is a job of its own, so that none waits for others or fails with them.

All goes through frames, which a session of Spark Connect has, too.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from threading import Thread
from typing import TYPE_CHECKING

import pyarrow as pa
from py4j.protocol import Py4JError, Py4JJavaError
from pyspark import cloudpickle
from pyspark.errors import PySparkException

from thawline.errors import ThawlineError
from thawline.formats.legs import are_joined
from thawline.lake.place import LakeError
from thawline.spark.bundles import Bundle, Task
from thawline.spark.connect import is_connect
from thawline.spark.intake import Account, Intake, Share, Taken, unread
from thawline.spark.tables import Output
from thawline.spark.worker import LACKING, SHIPPED, BadWorker, freeze

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["Done", "SparkEnded", "Submission", "cause", "warm_up"]

AGAIN = "what is done so far is kept, run it again to go on"
LOST = ("Python worker exited unexpectedly", "ExecutorLostFailure", "Python worker failed to connect back")
"""Spark's messages about a task whose process has ended."""
KILLED = (
    "the worker of Spark that read it has ended, also when it read nothing else, as happens where memory is short or "
    "where a mistake in native code is met; please report it"
)
AHEAD = 2
"""Tasks that are submitted per core: one runs, one waits."""
MOST_AHEAD = 512
OFTEN = 5.0
"""Seconds for which the number of cores is taken to be known, where a job has to ask for it."""
COUNTED = 1 << 16
"""Rows by whose partitions cores are counted."""
HOPELESS = 3
"""Shares that kill their worker before any task has succeeded, after which Spark is taken to be what fails."""


class SparkEnded(ThawlineError):
    """Spark does not start, or has ended or failed during a run; the next run resumes."""


class WorkerLost(Exception):
    """The worker that ran a task has ended."""


@dataclass(slots=True)
class Done:
    """A bundle and what its tasks gave."""

    bundle: Bundle
    taken: list[Taken] = field(default_factory=list)
    left: int = 0
    """Tasks that are not done yet."""
    dropped: list[Output] = field(default_factory=list)
    """What was written of files that had to be read another way."""
    _is_again: bool = False

    @property
    def written(self) -> Iterator[Output]:
        """All that its tasks have written."""
        return (output for some in (self.dropped, *(taken.outputs for taken in self.taken)) for output in some)

    def again(self) -> list[Task]:
        """The ranges of files whose legs do not join, each as a task; what was read of these files is dropped."""
        legs: dict[str, list[Share]] = {}
        for task in () if self._is_again else self.bundle.tasks:
            for share in task:
                if share.is_leg:
                    legs.setdefault(share.work.key, []).append(share)
        self._is_again = True
        return [(replace(share, is_leg=False),) for shares in legs.values() if self._drops(shares) for share in shares]

    def _drops(self, legs: list[Share]) -> bool:
        """Drop what was read of a file unless its legs join, or the file cannot be read."""
        key, size = legs[0].work.key, legs[0].work.file.size
        own = [taken for taken in self.taken if any(account.work == key for account in taken.accounts)]
        accounts = [account for taken in own for account in taken.accounts]
        if any(account.error for account in accounts):
            return False
        if len(accounts) == len(legs) and are_joined([account.joint for account in accounts], size):
            return False
        self.taken = [taken for taken in self.taken if taken not in own]
        self.dropped += [output for taken in own for output in taken.outputs]
        return True


@dataclass(slots=True)
class Submission:
    """Submits the tasks of bundles, some ahead of the cores."""

    spark: SparkSession
    intake: Intake
    on_task: Callable[[int], None]
    """Is told whenever tasks are done, how many are under way."""
    _pool: ThreadPoolExecutor | None = None
    _running: dict[Future[Taken], tuple[Task, Done]] = field(default_factory=dict)
    _lost: int = 0
    _has_succeeded: bool = False
    _cores: Cores | None = None

    def results(self, bundles: Iterator[Bundle]) -> Iterator[Done | None]:
        """Bundles whose tasks are all done, in the order in which they end; None now and then, while nothing ends."""
        group = f"thawline-{self.intake.run}"
        self._pool = ThreadPoolExecutor(MOST_AHEAD, "thawline-task")
        try:
            yield from self._results(bundles, group)
        except BaseException:
            with suppress(Py4JError, PySparkException, OSError, AttributeError):
                _cancel(self.spark, group)
            raise
        finally:
            self._pool.shutdown(wait=False, cancel_futures=True)

    def _results(self, bundles: Iterator[Bundle], group: str) -> Iterator[Done | None]:
        is_more = True
        while is_more or self._running:
            while is_more and len(self._running) < self._room():
                bundle = next(bundles, None)
                is_more = bundle is not None
                if bundle:
                    done = Done(bundle, left=len(bundle.tasks))
                    for task in bundle.tasks:
                        self._submit(task, done, group)
            over, _ = wait(self._running, 0.5, FIRST_COMPLETED)
            self.on_task(len(self._running) - len(over))
            if not over:
                yield None
            for future in over:
                yield from self._ended(future, group)

    def _room(self) -> int:
        """How many tasks may be under way: clusters grow and shrink, so it is asked again."""
        self._cores = self._cores or Cores(self.spark)
        with _translating_errors():
            return min(max(AHEAD * self._cores.count(), 2), MOST_AHEAD)

    def _submit(self, task: Task, done: Done, group: str) -> None:
        assert self._pool  # noqa: S101 - for mypy
        self._running[self._pool.submit(self._run, task, group)] = task, done

    def _run(self, task: Task, group: str) -> Taken:
        """Run a task as a job; in a thread of the pool."""
        with _translating_errors():
            _name(self.spark, group, _about(task))
            (row,) = self.spark.range(0, 1, 1, 1).mapInArrow(_Job(self.intake, task).run, "taken binary").collect()
            taken: Taken = cloudpickle.loads(bytes(row[0]))
            return taken

    def _ended(self, future: Future[Taken], group: str) -> Iterator[Done]:
        task, done = self._running.pop(future)
        try:
            done.taken.append(future.result())
            self._has_succeeded = True
        except WorkerLost:
            if len(task) > 1:  # which of its files was it?
                half = len(task) // 2
                done.left += 2
                self._submit(task[:half], done, group)
                self._submit(task[half:], done, group)
            else:
                done.taken.append(self._once_more(task, group))
        done.left -= 1
        if not done.left:
            again = done.again()
            done.left = len(again)
            for one in again:
                self._submit(one, done, group)
        if not done.left:
            yield done

    def _once_more(self, task: Task, group: str) -> Taken:
        """Run the task of a single share again, while nothing else begins; a second death makes its file unreadable."""
        try:
            return self._run(task, group)
        except WorkerLost as error:
            self._lost += 1
            if self._lost >= HOPELESS and not self._has_succeeded:
                why = "workers of Spark end as soon as they begin, as happens where memory is short"
                raise SparkEnded(f"{why}; {AGAIN}") from error
            return Taken([_killing(task)], [])


@dataclass(frozen=True, slots=True)
class _Job:
    """A task as a function of a frame, which gives what it has taken in as its only row."""

    intake: Intake
    task: Task

    def run(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """In the worker."""
        for _ in batches:
            pass
        taken = cloudpickle.dumps(self.intake.take(self.task))  # type: ignore[no-untyped-call]
        freeze()
        yield pa.RecordBatch.from_pydict({"taken": pa.array([taken], pa.binary())})


def warm_up(spark: SparkSession) -> None:
    """Let a worker on this machine start and import what tasks need, while the sources are still listed."""
    if not getattr(getattr(spark, "sparkContext", None), "master", "").startswith("local"):
        return  # a cluster may have to start machines for it

    def imported(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import thawline.spark.intake  # noqa: F401, PLC0415 - in the worker

        yield from batches

    def run() -> None:
        with suppress(Exception):  # what is wrong will be said by the first task
            spark.range(0, 1, 1, 1).mapInArrow(imported, "id bigint").collect()

    Thread(target=run, name="thawline-warm", daemon=True).start()


@dataclass(slots=True)
class Cores:
    """How many cores Spark has at present: clusters grow and shrink, so it is asked again."""

    spark: SparkSession
    _known: int = 0
    _at: float = 0.0

    def count(self) -> int:
        """Their number; through Spark Connect it is how Spark divides a frame of its own, asked now and then."""
        if not is_connect(self.spark):
            return int(self.spark.sparkContext.defaultParallelism)
        if not self._known or time.monotonic() - self._at > OFTEN:
            frame = self.spark.range(COUNTED).selectExpr("spark_partition_id() AS part").selectExpr("max(part)")
            self._known, self._at = int(frame.collect()[0][0]) + 1, time.monotonic()
        return self._known


def _name(spark: SparkSession, group: str, about: str) -> None:
    """Say what the jobs of this thread are, for Spark's own pages and for who wants to end them."""
    if is_connect(spark):
        spark.addTag(group)
    else:
        spark.sparkContext.setJobGroup(group, about)


def _cancel(spark: SparkSession, group: str) -> None:
    if is_connect(spark):
        spark.interruptTag(group)
    else:
        spark.sparkContext.cancelJobGroup(group)


def _about(task: Task) -> str:
    """What a task reads, in the words of Spark's own pages."""
    first = task[0]
    if len(task) > 1:
        return f"thawline ingest: {len(task)} files from {first.work.file.path}"
    span = f", bytes {first.part.range.start} to {first.part.range.end}" if first.part.range else ""
    return f"thawline ingest: {first.work.file.path}{span}"


def _killing(task: Task) -> Account:
    """The account of a file that ends the worker that reads it."""
    (share,) = task
    return unread(share.work.file.path, share.work.key, share.work.file.size, error=KILLED)


@contextmanager
def _translating_errors() -> Iterator[None]:
    """Raise errors of Spark as ours, with the end of a process distinct from a failed task."""
    try:
        yield
    except (Py4JJavaError, PySparkException) as error:
        if any(words in _text(error) for words in LOST):
            raise WorkerLost from error
        kind, _, why = cause(error).partition(": ")
        if kind.endswith(LakeError.__name__):
            raise LakeError(why) from error
        if LACKING in why:
            raise BadWorker(f"the Python of Spark's workers has no thawline, or an older one; {SHIPPED}") from error
        if kind.endswith(BadWorker.__name__):
            raise BadWorker(why) from error
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
