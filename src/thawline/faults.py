"""Bytes that a disk does not give: findings for them, and no rows that are made of what stands for them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, TypeVar

import pyarrow as pa

from thawline.model import Code, Finding, Run, Span
from thawline.source import Fault, Source

__all__ = ["UNREADABLE", "readable", "with_faults"]

UNREADABLE = Code(
    "SRC101",
    "bytes that could not be read",
    "error",
    "The disk did not give these bytes, or the file was cut while it was read. Zeros stand for them, so what the "
    "format finds there says nothing about the file's content. Everything else was read. Copy the file to a sound disk "
    "with a tool that goes on after errors, such as ddrescue, and verify the copy; of a file that is still being "
    "written, take a copy first.",
)
"""Of any format: it is about the disk, not about the file."""

Item = TypeVar("Item")


def with_faults(items: Iterable[Item], source: Source) -> Iterator[Item | Finding]:
    """The items of a scan or a reading; behind what overlaps bytes that could not be read, a finding says so.

    The finding has no bytes of its own, since those are the item's: spans tile the file as before.
    """
    told, end = 0, 0
    for item in items:
        yield item
        met: Any = item[0] if isinstance(item, tuple) else item
        end = max(end, met.span.end)
        for fault in source.faults()[told:]:
            if fault.start >= end:
                break
            told += 1
            yield _finding(fault, end)
    yield from (_finding(fault, end) for fault in source.faults()[told:])


def _finding(fault: Fault, end: int) -> Finding:
    return Finding(UNREADABLE, Span(end, end), {"bytes": str(Span(fault.start, fault.end)), "reason": fault.reason})


def readable(run: Run, batches: Iterable[pa.RecordBatch], source: Source) -> Iterator[pa.RecordBatch]:
    """The rows of a run, up to where a part of it could not be read: what stands for such bytes is no data."""
    for batch in batches:
        if any(fault.start < run.span.end and run.span.start < fault.end for fault in source.faults()):
            return
        yield batch
