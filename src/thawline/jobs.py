"""Work done side by side by threads, with results in the order of the work.

Kernels, codecs, checksums and Arrow's encoders release the interpreter's lock, so threads use several cores.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future
from contextlib import suppress
from functools import partial
from pathlib import Path
from queue import SimpleQueue
from threading import Condition, Thread
from typing import Generic, NoReturn, Self, TypeVar

__all__ = ["ALONE", "Crew", "Line", "usable_cores"]

Item = TypeVar("Item")
Result = TypeVar("Result")

AHEAD = 2
"""Results that may wait beyond one for each worker, so that none idles while the consumer is busy."""
HELD = 16 << 20
"""Bytes that a stream may be ahead of its consumer; it goes on to the end of the item that crosses them."""


class Crew:
    """Some workers. With one job there is no thread, and everything is done when its result is requested.

    >>> list(Crew(2).ordered(partial(pow, number, 2) for number in range(5)))
    [0, 1, 4, 9, 16]
    """

    def __init__(self, jobs: int) -> None:
        if jobs < 1:
            raise ValueError(f"jobs is {jobs}; it must be 1 or more")
        self.jobs = jobs

    @property
    def is_alone(self) -> bool:
        """Whether there is only one job."""
        return self.jobs == 1

    def ordered(self, tasks: Iterable[Callable[[], Result]]) -> Generator[Result, None, None]:
        """The results of tasks in their order. An error comes in its place, after the results before it."""
        if self.is_alone:
            yield from (task() for task in tasks)
            return
        with Line[Result](self) as line:
            for task in _with_error(tasks):
                line.add(task)
                while line.is_full:
                    yield line.take()
            while line:
                yield line.take()

    def streamed(
        self, streams: Iterable[Callable[[], Iterator[Item]]], weigh: Callable[[Item], int] = lambda _item: 0
    ) -> Generator[Item, None, None]:
        """The items of streams, one stream after the other. Each is read ahead, as far as `HELD` bytes allow."""
        if self.is_alone:
            for stream in streams:
                yield from stream()
            return
        with _Channels(self, weigh) as channels:
            for stream in _with_error(streams):
                channels.add(stream)
                while channels.are_full:
                    yield from channels.take()
            while channels:
                yield from channels.take()


def _with_error(tasks: Iterable[Callable[[], Result]]) -> Iterator[Callable[[], Result]]:
    """Tasks; if drawing the next one fails, a task that fails so, after which no other comes."""
    try:
        yield from tasks
    except Exception as error:  # noqa: BLE001 - it is raised in its place
        yield partial(_fail, error)


def _fail(error: Exception) -> NoReturn:
    raise error


ALONE = Crew(1)
"""One job: no threads."""


class Line(Generic[Result]):
    """Tasks in a line: workers take them from its front, and results are taken in the same order."""

    def __init__(self, crew: Crew) -> None:
        self._crew = crew
        self._tasks: SimpleQueue[_Task[Result] | None] = SimpleQueue()
        self._threads: list[Thread] = []
        self._waiting: deque[Future[Result]] = deque()

    def add(self, task: Callable[[], Result]) -> None:
        """Add a task at the end."""
        result = Future[Result]()
        self._waiting.append(result)
        self._tasks.put((result, task))
        if len(self._threads) < self._crew.jobs:
            # A daemon: an iterator that is never closed must not keep the process from ending.
            thread = Thread(target=_work, args=(self._tasks,), name="thawline", daemon=True)
            self._threads.append(thread)
            thread.start()

    def __len__(self) -> int:
        return len(self._waiting)

    @property
    def is_full(self) -> bool:
        """Whether a result should be taken before another task is added."""
        return len(self._waiting) >= self._crew.jobs + AHEAD

    def take(self) -> Result:
        """The result of the first task; waits for it."""
        return self._waiting.popleft().result()

    def close(self) -> None:
        """Forget all tasks that have not begun, and wait for the others."""
        for result in self._waiting:
            result.cancel()
        self._waiting.clear()
        for _ in self._threads:
            self._tasks.put(None)
        for thread in self._threads:
            thread.join()
        self._threads.clear()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()


_Task = tuple[Future[Result], Callable[[], Result]]


def _work(tasks: SimpleQueue[_Task[Result] | None]) -> None:
    """Do one task after the other, up to the end."""
    while (item := tasks.get()) is not None:
        result, task = item
        if result.set_running_or_notify_cancel():
            try:
                result.set_result(task())
            except BaseException as error:  # noqa: BLE001 - raised again when the result is taken
                result.set_exception(error)
        del item, result, task  # nothing is kept while the next task is awaited


class _Stopped(Exception):
    """Raised in a stream whose consumer is gone."""


class _Channel(Generic[Item]):
    """The items of one stream that its consumer has not taken yet."""

    def __init__(self, weigh: Callable[[Item], int]) -> None:
        self._weigh = weigh
        self._items: deque[tuple[Item, int]] = deque()
        self._held = 0
        self._is_done = self._is_stopped = False
        self._error: BaseException | None = None
        self._changed = Condition()

    def fill(self, stream: Callable[[], Iterator[Item]]) -> None:
        """Put in the items of a stream, waiting while there are too many."""
        error: BaseException | None = None
        try:
            for item in stream():
                self._put(item)
        except _Stopped:
            pass
        except BaseException as raised:  # noqa: BLE001 - the consumer raises it in its place
            error = raised
        with self._changed:
            self._is_done, self._error = True, error
            self._changed.notify_all()

    def _put(self, item: Item) -> None:
        size = self._weigh(item)
        with self._changed:
            while self._held >= HELD and not self._is_stopped:
                self._changed.wait()
            if self._is_stopped:
                raise _Stopped
            self._items.append((item, size))
            self._held += size
            self._changed.notify_all()

    def items(self) -> Iterator[Item]:
        """The items as they come; the error of the stream after those before it."""
        while True:
            with self._changed:
                while not (self._items or self._is_done):
                    self._changed.wait()
                if not self._items:
                    break
                item, size = self._items.popleft()
                self._held -= size
                self._changed.notify_all()
            yield item
        if self._error is not None:
            raise self._error

    def stop(self) -> None:
        """End the stream: its items are not wanted any more."""
        with self._changed:
            self._is_stopped = True
            self._changed.notify_all()


class _Channels(Generic[Item]):
    """Streams that are read ahead, in order."""

    def __init__(self, crew: Crew, weigh: Callable[[Item], int]) -> None:
        self._weigh = weigh
        # The first stream always has a thread: they begin in order. So a full channel never blocks all of them.
        self._line = Line[None](crew)
        self._open: deque[_Channel[Item]] = deque()

    def add(self, stream: Callable[[], Iterator[Item]]) -> None:
        """Begin a stream as soon as a worker is free."""
        channel = _Channel(self._weigh)
        self._open.append(channel)
        self._line.add(partial(channel.fill, stream))

    def __len__(self) -> int:
        return len(self._open)

    @property
    def are_full(self) -> bool:
        """Whether the first stream should be taken before another one is added."""
        return self._line.is_full

    def take(self) -> Iterator[Item]:
        """The items of the first stream."""
        yield from self._open[0].items()
        self._open.popleft()
        self._line.take()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        for channel in self._open:
            channel.stop()
        self._line.close()


def usable_cores() -> int:
    """The number of cores that this process may use: by its affinity, and by the quota of its container.

    >>> usable_cores() >= 1
    True
    """
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    with suppress(OSError, ValueError):
        quota, period = Path("/sys/fs/cgroup/cpu.max").read_text(encoding="ascii").split()
        cores = min(cores, -(-int(quota) // int(period)))
    return max(cores, 1)
