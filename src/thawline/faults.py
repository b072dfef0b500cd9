"""Findings for bytes that the disk cannot read; rows from the zeros in their place are dropped."""

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
    "The disk could not read these bytes, or the file was cut while it was read. Zeros replace them, so findings of "
    "the format at this place are not about the file's content. Everything else was read. Copy the file to a sound "
    "disk with a tool that continues after errors, such as ddrescue, and verify the copy. If the file is still being "
    "written, copy it first.",
)
"""Shared by all formats: it concerns the disk, not the format."""

Item = TypeVar("Item")


def with_faults(items: Iterable[Item], source: Source) -> Iterator[Item | Finding]:
    """The items of a scan or a reading; a finding follows each item that overlaps unreadable bytes.

    The finding's span is empty, since the bytes belong to the item: spans still tile the file. Where the items are a
    part of the file's, bytes before and after them belong to other parts.
    """
    reported, start, end = 0, -1, 0
    for item in items:
        yield item
        tile: Any = item[0] if isinstance(item, tuple) else item
        start, end = tile.span.start if start < 0 else start, max(end, tile.span.end)
        for fault in source.faults()[reported:]:
            if fault.start >= end:
                break
            reported += 1
            if fault.start >= start:
                yield _finding(fault, end)
    yield from (_finding(fault, end) for fault in source.faults()[reported:] if start <= fault.start < end)


def _finding(fault: Fault, end: int) -> Finding:
    return Finding(UNREADABLE, Span(end, end), {"bytes": str(Span(fault.start, fault.end)), "reason": fault.reason})


def readable(run: Run, batches: Iterable[pa.RecordBatch], source: Source) -> Iterator[pa.RecordBatch]:
    """The rows of a run up to its first unreadable bytes: the zeros in their place are not data."""
    for batch in batches:
        if any(fault.start < run.span.end and run.span.start < fault.end for fault in source.faults()):
            return
        yield batch
