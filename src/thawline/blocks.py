"""The blocks of a remote file, each fetched once into a sparse file on disk, side by side and ahead of a reader."""

from __future__ import annotations

import mmap
import os
import tempfile
from collections.abc import Callable, Hashable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from contextvars import ContextVar
from threading import RLock
from typing import Protocol

PIECE = 8 << 20
"""At most this many bytes are fetched by one request."""
AT_ONCE = 8
"""Requests at the same time."""
LEAST_AHEAD, MOST_AHEAD = 4 << 20, 64 << 20
"""After this many bytes in file order, a quarter of what was read is fetched ahead, up to a bound."""


class Closed(Protocol):
    """What is kept of a file that was closed."""

    def close(self) -> None:
        """Let it go."""
        ...


_KEPT: ContextVar[dict[Hashable, Closed] | None] = ContextVar("kept", default=None)


@contextmanager
def keeping() -> Iterator[None]:
    """Until the end of this, what was fetched of files stays for whoever opens the same version of one again."""
    kept: dict[Hashable, Closed] = {}
    token = _KEPT.set(kept)
    try:
        yield
    finally:
        _KEPT.reset(token)
        for one in kept.values():
            one.close()


def keep(version: Hashable, closed: Closed) -> bool:
    """Whether something is kept, of a version of a file, for the next one who opens it."""
    kept = _KEPT.get()
    if kept is None or version in kept:
        return False
    kept[version] = closed
    return True


def taken(version: Hashable) -> Closed | None:
    """What is kept of a version of a file, which is not kept any more."""
    kept = _KEPT.get()
    return kept.pop(version, None) if kept else None


class Blocks:
    """A file on disk with those blocks of a remote file that were needed so far, or soon will be."""

    def __init__(self, size: int, block: int, fetch: Callable[[int, int], bytes]) -> None:
        self.size, self.block, self._fetch = size, block, fetch
        self._file = tempfile.TemporaryFile()  # noqa: SIM115 - `close` closes it
        try:
            self._file.truncate(size)
            self.data = mmap.mmap(self._file.fileno(), size, access=mmap.ACCESS_READ) if size else b""
        except BaseException:
            self._file.close()
            raise
        self._pool = ThreadPoolExecutor(AT_ONCE, "thawline-fetch")
        self._fetched: dict[int, Future[None]] = {}
        self._reached = self._in_order = 0
        """Where the last read ended, and how many bytes before that were read in file order."""
        self._lock = RLock()

    def need(self, start: int, end: int) -> None:
        """Fetch what is missing of `[start, end)`, and start to fetch what a reader in file order will need next."""
        with self._lock:
            waiting = self._started(start, end)
            self._in_order = self._in_order + max(end - self._reached, 0) if start <= self._reached <= end else 0
            self._reached = end
            if self._in_order >= LEAST_AHEAD:
                self._started(end, min(end + min(self._in_order // 4, MOST_AHEAD), self.size))
        try:
            for future in waiting:
                future.result()
        except BaseException:
            self._forget_failed()
            raise

    def _started(self, start: int, end: int) -> list[Future[None]]:
        """The requests that together bring some bytes, those already made included."""
        indexes = range(start // self.block, -(-end // self.block))
        for first, last in self._missing(indexes):
            future = self._pool.submit(self._bring, first * self.block, min(last * self.block, self.size))
            self._fetched.update(dict.fromkeys(range(first, last), future))
        return list(dict.fromkeys(self._fetched[index] for index in indexes))

    def _missing(self, indexes: range) -> Iterator[tuple[int, int]]:
        """Blocks in a row that were not requested yet, as many as one request may bring."""
        most, first = max(PIECE // self.block, 1), -1
        for index in indexes:
            if first >= 0 and (index in self._fetched or index - first == most):
                yield first, index
                first = -1
            if first < 0 and index not in self._fetched:
                first = index
        if first >= 0:
            yield first, indexes.stop

    def _bring(self, start: int, end: int) -> None:
        view = memoryview(self._fetch(start, end))
        while view:
            done = os.pwrite(self._file.fileno(), view, start)
            view, start = view[done:], start + done

    def rest(self) -> None:
        """Stop fetching ahead; what is there stays."""
        with self._lock:
            futures = set(self._fetched.values())
            for future in futures:
                future.cancel()
        wait(futures)
        with self._lock:
            self._fetched = {index: one for index, one in self._fetched.items() if not one.cancelled()}
        self._forget_failed()

    def resume(self, fetch: Callable[[int, int], bytes]) -> None:
        """Go on with another connection to the same file."""
        self._fetch = fetch
        self._reached = self._in_order = 0

    def _forget_failed(self) -> None:
        """Forget which blocks could not be fetched, so that they are requested again."""
        with self._lock:
            failed = [index for index, future in self._fetched.items() if future.done() and future.exception()]
            for index in failed:
                del self._fetched[index]

    def close(self) -> None:
        """Stop fetching, and remove the file."""
        self._pool.shutdown(wait=True, cancel_futures=True)
        self._file.close()
        if isinstance(self.data, mmap.mmap):
            try:
                self.data.close()
            except BufferError:
                return  # an Arrow column still refers to it, and unmaps it when it is freed
