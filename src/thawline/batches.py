"""Streams of record batches: the first or the last rows, many small batches as one, and large ones in slices."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator

import pyarrow as pa

__all__ = ["Waiting", "first", "last", "slices"]

MOST_SMALL = 256
"""Small batches are joined at this number: each costs some kilobytes, however few rows it has."""
FEW = 64
"""Batches up to this many rows are measured after joining: measuring takes as long as reading them."""
UNMEASURED = 16 << 20
"""At most this many bytes wait unmeasured. For a slice, the whole of its parent's buffers counts."""


def first(batches: Iterable[pa.RecordBatch], rows: int) -> Iterator[pa.RecordBatch]:
    """The first `rows` rows; no batch is read beyond them."""
    for batch in batches if rows else ():
        yield batch.slice(0, min(rows, batch.num_rows))
        rows -= batch.num_rows
        if rows <= 0:
            return


def last(batches: Iterable[pa.RecordBatch], rows: int) -> list[pa.RecordBatch]:
    """The last `rows` rows; only the batches that may hold them are kept in memory.

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


class Waiting:
    """Batches of one schema that wait to be joined into one.

    >>> waiting = Waiting()
    >>> for number in range(1000):
    ...     waiting.add(pa.record_batch({"a": [number]}))
    >>> waiting.rows, waiting.take()["a"][999].as_py(), waiting.rows
    (1000, 999, 0)
    """

    __slots__ = ("_bound", "_joined", "_measured", "_small", "rows")

    def __init__(self) -> None:
        self._joined: list[pa.RecordBatch] = []
        self._small: list[pa.RecordBatch] = []
        self.rows = self._measured = self._bound = 0

    @property
    def size(self) -> int:
        """An upper bound of the bytes that wait."""
        return self._measured + self._bound

    def add(self, batch: pa.RecordBatch) -> None:
        """Add a batch."""
        self.rows += batch.num_rows
        if batch.num_rows > FEW:
            self._join()
            self._keep(batch)
            return
        self._small.append(batch)
        self._bound += batch.get_total_buffer_size()
        if len(self._small) == MOST_SMALL or self._bound > UNMEASURED:
            self._join()

    def filled(self, batch: pa.RecordBatch, rows: int, size: int) -> Iterator[list[pa.RecordBatch]]:
        """Add a batch; yields what waits whenever it has `rows` rows or about `size` bytes. The rest waits.

        >>> waiting, batch = Waiting(), pa.record_batch({"a": range(10)})
        >>> [sum(piece.num_rows for piece in group) for group in waiting.filled(batch, 4, 1000)], waiting.rows
        ([4, 4], 2)
        """
        while batch.num_rows:
            room = self._room(batch, rows, size)
            self.add(batch.slice(0, room))
            batch = batch.slice(room)
            if self.rows >= rows or self._has(size):
                yield self.taken()

    def _room(self, batch: pa.RecordBatch, rows: int, size: int) -> int:
        """How many rows of a batch there is room for, one at least."""
        room, left = min(rows - self.rows, int(batch.num_rows)), size - self.size
        if batch.num_rows > FEW and (whole := int(batch.nbytes)) > left:
            room = min(room, left * int(batch.num_rows) // whole)
        return max(room, 1)

    def _has(self, size: int) -> bool:
        if self.size >= size:
            self._join()
        return self._measured >= size

    def _join(self) -> None:
        if self._small:
            self._keep(pa.concat_batches(self._small))
            self._small, self._bound = [], 0

    def _keep(self, batch: pa.RecordBatch) -> None:
        self._joined.append(batch)
        self._measured += batch.nbytes

    def take(self) -> pa.RecordBatch:
        """All waiting batches as one, of which there must be at least one; none waits afterwards."""
        batches = self.taken()
        return batches[0] if len(batches) == 1 else pa.concat_batches(batches)

    def taken(self) -> list[pa.RecordBatch]:
        """All waiting batches; none waits afterwards."""
        batches = [*self._joined, *self._small]
        self._joined, self._small = [], []
        self.rows = self._measured = self._bound = 0
        return batches


def slices(batch: pa.RecordBatch, rows: int, size: int) -> Iterator[pa.RecordBatch]:
    """The same rows in slices of at most `rows` rows and `size` bytes; a larger row is a slice of its own.

    >>> batch = pa.record_batch({"a": ["x" * 50, "x" * 50, "", "x" * 500]})
    >>> [piece.num_rows for piece in slices(batch, 10, 100)]
    [1, 1, 1, 1]
    >>> [piece.num_rows for piece in slices(batch, 3, 1000)]
    [3, 1]
    """
    for start in range(0, batch.num_rows, rows):
        waiting = [batch.slice(start, rows)]
        while waiting:
            piece = waiting.pop()
            if piece.num_rows > 1 and piece.nbytes > size:
                half = piece.num_rows // 2
                waiting += [piece.slice(half), piece.slice(0, half)]
            else:
                yield piece
