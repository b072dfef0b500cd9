"""Blobs behind damage, read some way ahead: a pack with damage at every blob costs no more than one without."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache

from thawline import columns
from thawline.chunks import Break, Chunk, Ranges
from thawline.formats.borg.header import HEADER_SIZE, MAGIC, header_at
from thawline.formats.borg.judging import Judged
from thawline.model import Span

TABLE = "borg_blobs"
LEAST_REACH, MOST_REACH = 1 << 12, 4 << 20
"""Bytes that are read ahead; few at first, since reading may have to go on elsewhere."""


@dataclass(frozen=True, slots=True)
class Rows:
    """Blobs that follow one another, some rows of a chunk."""

    judged: Judged
    first: int
    last: int
    """The row behind the last."""


class Searched:
    """Where the next whole blob is, for questions that are asked in rising order: no byte is searched twice."""

    def __init__(self, find: Callable[[int], int]) -> None:
        self.find, self.span = find, Span(0, 0)

    def __call__(self, start: int) -> int:
        """Where the next whole blob starts, from a position on."""
        if not self.span.size or not self.span.start <= start <= self.span.end:
            self.span = Span(start, self.find(start))
        return self.span.end


class Ahead:
    """What was read ahead, by the position where it starts.

    Stretches of blobs are found by their headers alone, and what looks like a blob behind each of them; the kernel then
    reads all of them at once. The walk has the last word about where to go on.
    """

    def __init__(
        self, view: memoryview, wanted: tuple[str, ...], judge: Callable[[Chunk], Judged], find: Callable[[int], int]
    ) -> None:
        self.view, self.wanted, self.judge, self.next_blob = view, wanted, judge, Searched(find)
        self.found: dict[int, Rows | Break] = {}
        self.reach = LEAST_REACH // 4
        self.covered = 0
        """Up to where stretches were read."""
        self.read = 0
        """Bytes that were read in all, some of them more than once."""

    def at(self, position: int) -> Rows | Break:
        """The blobs from a position on, or why there is none."""
        if position + HEADER_SIZE <= len(self.view) and self.view[position : position + len(MAGIC)] != MAGIC:
            return _no_magic().moved(position)
        if position not in self.found:
            # What lies in a stretch that was read already was not taken for what it seemed: do not read far again.
            is_used_up = not self.found and position >= self.covered
            self.reach = min(4 * self.reach, MOST_REACH) if is_used_up else LEAST_REACH
            self.found = dict(self._look(position))
        return self.found.pop(position)

    def _look(self, position: int) -> Iterator[tuple[int, Rows | Break]]:
        stretches = list(self._stretches(position))
        self.covered = max((end for _, end, count in stretches if count < 0), default=position)
        self.read += sum(end - start for start, end, count in stretches if count < 0)
        for item in columns.scan(TABLE, self.view, Ranges.of(stretches), columns=self.wanted):
            if isinstance(item, Break):
                yield item.start, item
            else:
                judged = self.judge(item)
                for first, last in _runs(item.ranges.to_pylist()):
                    yield judged.start(first), Rows(judged, first, last)

    def _stretches(self, position: int) -> Iterator[tuple[int, int, int]]:
        """Where blobs may lie, from a position on, as ranges for the kernel."""
        start, limit = position, min(position + self.reach, len(self.view))
        while start < limit:
            end = self._end(start, limit)
            if end == start:
                if start == position:
                    yield start, len(self.view), 1  # the kernel says what is wrong with its header
                return
            yield start, end, -1
            start = self.next_blob(end)

    def _end(self, start: int, limit: int) -> int:
        """Where blobs end that follow one another; the first one may be larger than what is read ahead."""
        end = start
        while header := header_at(self.view, end):
            is_within = header.end <= (limit if end > start else len(self.view))
            if not header.is_possible or not is_within:
                break
            end = header.end
        return end


def _runs(ranges: list[int]) -> Iterator[tuple[int, int]]:
    """Rows that are from the same range."""
    first = 0
    for row in range(1, len(ranges) + 1):
        if row == len(ranges) or ranges[row] != ranges[first]:
            yield first, row
            first = row


@cache
def _no_magic() -> Break:
    """What the kernel says of bytes that start no blob."""
    (found,) = columns.scan(TABLE, bytes(HEADER_SIZE), columns=("version",))
    assert isinstance(found, Break)  # noqa: S101 - zeros are no magic
    return found
