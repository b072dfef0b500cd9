"""Blobs behind damage, read some way ahead: a pack with damage at every blob costs no more than one without."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import pairwise

import pyarrow as pa
import pyarrow.compute as pc

from thawline.engine import columns
from thawline.engine.chunks import Break, Chunk, Ranges
from thawline.formats.borg.header import HEADER_SIZE, MAGIC, Header, header_at, header_by_meta
from thawline.formats.borg.judging import Judged
from thawline.model import Span

TABLE = "borg_blobs"
LEAST_REACH, MOST_REACH = 1 << 12, 4 << 20
"""Bytes that are read ahead; few at first, since reading may have to go on elsewhere."""
MOST_LAYERS = 4
"""How many claims that overlap are read ahead."""
Stretch = tuple[int, int, int]
"""Start, end, and how many blobs to read: below zero as many as there are."""


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
        for layer in _layers(stretches):
            yield from self._scanned(layer)

    def _scanned(self, stretches: list[Stretch]) -> Iterator[tuple[int, Rows | Break]]:
        """What the kernel makes of stretches that do not overlap."""
        found = columns.scan(TABLE, self.view, Ranges.of(stretches), columns=())
        broken = {item.range_index: item for item in found if isinstance(item, Break)}
        yield from ((item.start, item) for item in broken.values())
        # A break ends a chunk, so the others are read by themselves: as many chunks as breaks would cost too much.
        whole = [stretch for index, stretch in enumerate(stretches) if index not in broken]
        for chunk in columns.scan(TABLE, self.view, Ranges.of(whole), columns=self.wanted):
            assert isinstance(chunk, Chunk)  # noqa: S101 - the others were sorted out
            judged = self.judge(chunk)
            for first, last in _runs(chunk):
                yield judged.start(first), Rows(judged, first, last)

    def _stretches(self, position: int) -> Iterator[Stretch]:
        """Where blobs may lie, from a position on, one each: the kernel leaves a stretch that is broken."""
        start, limit = position, min(position + self.reach, len(self.view))
        while start < limit:
            header = header_at(self.view, start)
            if header is None or not header.is_possible or header.end > len(self.view):
                if start == position:
                    yield start, len(self.view), 1  # the kernel says what is wrong with its header
                    return
                start = self.next_blob(start)
                continue
            is_sure = self._is_sure(header)
            if start > position and not is_sure and header.end - start > LEAST_REACH:
                return  # much would be read for nothing
            yield start, header.end, -1
            start = header.end if is_sure else self.next_blob(start + 1)

    def _is_sure(self, header: Header) -> bool:
        """Whether something else says where a blob ends: the walk else goes on inside of it, if there is another."""
        if header.end == len(self.view) or self.view[header.end : header.end + len(MAGIC)] == MAGIC:
            return True
        by_meta = header_by_meta(self.view, header.start)
        return by_meta is not None and by_meta.end == header.end


def _layers(stretches: Iterable[Stretch]) -> list[list[Stretch]]:
    """Stretches in a few lists without overlaps; those behind one that would need another list are left out."""
    layers: list[list[Stretch]] = []
    for stretch in stretches:
        layer = next((layer for layer in layers if layer[-1][1] <= stretch[0]), None)
        if layer is None:
            if len(layers) == MOST_LAYERS:
                break
            layers.append(layer := [])
        layer.append(stretch)
    return layers


def _runs(chunk: Chunk) -> Iterator[tuple[int, int]]:
    """Rows of blobs that follow one another."""
    starts, rows = chunk.starts, len(chunk)
    is_apart = pc.not_equal(starts.slice(1), chunk.ends.slice(0, rows - 1))
    borders = [0, *pc.add(pc.indices_nonzero(is_apart).cast(pa.int64()), 1).to_pylist(), rows]
    return pairwise(borders)


@cache
def _no_magic() -> Break:
    """What the kernel says of bytes that start no blob."""
    (found,) = columns.scan(TABLE, bytes(HEADER_SIZE), columns=("version",))
    assert isinstance(found, Break)  # noqa: S101 - zeros are no magic
    return found
