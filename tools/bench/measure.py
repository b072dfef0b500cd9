"""CPU time of contenders that read the same data, taken in turns so that a noisy moment hits all of them."""

from __future__ import annotations

import gc
import importlib
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tools.bench.data import DataSet

RUNS = 9
RUNS_ON_SHARE = 2

Read = Callable[[bytes], int | None]
"""Reads all records of some bytes and returns how many there are; None where it does not look for records."""


@dataclass(frozen=True, slots=True)
class Contender:
    """A way to read a data set."""

    name: str
    prepare: Callable[[], Read]
    """Import what it needs; that takes no part in the measured time."""
    share: int = 1
    """It reads the first of this many parts of the data."""
    needs: str | None = None
    """The module without which it is listed as not installed."""
    note: str = ""

    @property
    def is_installed(self) -> bool:
        """Whether the module that it needs can be imported."""
        try:
            return self.needs is None or bool(importlib.import_module(self.needs))
        except ImportError:
            return False

    @property
    def runs(self) -> int:
        """How often it is measured; the best run counts."""
        return RUNS if self.share == 1 else RUNS_ON_SHARE


@dataclass(slots=True)
class Timing:
    """The best run of a contender, per record; no number where it is not installed."""

    contender: Contender
    records: int
    bytes_per_record: float
    ns_per_record: float | None = None

    def add(self, seconds: float) -> None:
        """Take another run into account."""
        found = seconds * 1e9 / self.records
        self.ns_per_record = min(found, self.ns_per_record or found)


def compare(contenders: Sequence[Contender], dataset: DataSet) -> list[Timing]:
    """The best time of each contender, in the given order."""
    parts = [dataset.first(contender.share) for contender in contenders]
    timings = [
        Timing(contender, part.records, len(part.data) / part.records)
        for contender, part in zip(contenders, parts, strict=True)
    ]
    reads = [contender.prepare() if contender.is_installed else None for contender in contenders]
    for turn in range(RUNS):
        for contender, read, part, timing in zip(contenders, reads, parts, timings, strict=True):
            if read is not None and turn < contender.runs:
                timing.add(cpu_time(read, part))
                _progress(f"{turn + 1}/{RUNS} {contender.name}")
    _progress("")
    return timings


def cpu_time(read: Read, dataset: DataSet) -> float:
    """Seconds of CPU time of one run; the garbage collector is on, as it is for users."""
    gc.collect()
    start = time.process_time()
    found = read(dataset.data)
    seconds = time.process_time() - start
    if found not in {None, dataset.records}:
        raise ValueError(f"{found} records were read, not {dataset.records}")
    return seconds


def _progress(text: str) -> None:
    if sys.stderr.isatty():
        sys.stderr.write(f"\r\x1b[K{text}")
        sys.stderr.flush()
