"""The first or the last rows of a stream of record batches."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator

import pyarrow as pa

__all__ = ["first", "last"]


def first(batches: Iterable[pa.RecordBatch], rows: int) -> Iterator[pa.RecordBatch]:
    """The first rows; nothing is read that is not needed for them."""
    for batch in batches if rows else ():
        yield batch.slice(0, min(rows, batch.num_rows))
        rows -= batch.num_rows
        if rows <= 0:
            return


def last(batches: Iterable[pa.RecordBatch], rows: int) -> list[pa.RecordBatch]:
    """The last rows; no more batches are kept at any time than are needed for them.

    >>> [batch.to_pydict() for batch in last([pa.record_batch({"a": [1, 2]}), pa.record_batch({"a": [3]})], 2)]
    [{'a': [2]}, {'a': [3]}]
    """
    kept: deque[pa.RecordBatch] = deque()
    count = 0
    for batch in batches:
        kept.append(batch)
        count += batch.num_rows
        while kept and count - kept[0].num_rows >= rows:
            count -= kept.popleft().num_rows
    if kept and count > rows:
        kept[0] = kept[0].slice(count - rows)
    return [batch for batch in kept if batch.num_rows]
