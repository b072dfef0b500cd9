"""Rows of a table from bytes, as Arrow record batches.

`scan` runs the table's kernel over a buffer in chunks of bounded size, `scan_pieces` over one buffer after the other.
The kernel writes integers and the bytes of values into arrays in Arrow's memory pool, which become columns as they are;
values with escapes or in base-64 are gathered afterwards. Without the native module, `parsed` takes the same rows from
the plain parsers.
"""

from __future__ import annotations

from array import array
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cache
from mmap import mmap
from typing import Protocol

import pyarrow as pa
import pyarrow.compute as pc

from thawline import native
from thawline.engine.chunks import Break, Chunk, Piece, Places, Ranges, Rows, schema_of
from thawline.engine.tables import GATHERED, SLICES, Column, Table, arrays
from thawline.generated.kernels.tables import TABLES
from thawline.source import Source

Buffer = bytes | bytearray | memoryview | mmap

MAX_ROWS = 32_768
MAX_BYTES = 4 << 20
"""A chunk ends after this many rows, or with the row that crosses this many bytes of input: few enough that the input
is still in the processor's cache when it is copied, and enough that the fixed cost of a chunk does not count."""
MAX_ARRAYS = 3 << 20
"""A table of many columns has fewer rows in a chunk, so that its arrays stay in the cache, too."""
ITEMS_IN_LIST = 4
"""How many items a list is assumed to have."""


class Engine(Protocol):
    """Something that reads rows: the native kernels or the plain parsers."""

    def __call__(
        self,
        table: Table,
        view: memoryview,
        ranges: Ranges,
        wanted: Sequence[Column],
        limits: tuple[int, int],
        *,
        checksums: bool,
    ) -> Iterator[Chunk | Break]:
        """Chunks of rows, and a break for each range that cannot be read to its end."""
        ...


def scan(
    table: str | Table,
    buffer: Buffer,
    ranges: Ranges | None = None,
    *,
    columns: Collection[str] | None = None,
    max_rows: int | None = None,
    max_bytes: int = MAX_BYTES,
    checksums: bool = True,
) -> Iterator[Chunk | Break]:
    """Read rows of a table from a buffer, or from some ranges of it.

    A table is given by its name; one that was compiled at run time is given itself.
    A column of a list's items, such as `bins.name`, gives the list with the requested columns only.
    Checksums are computed if the stored ones are requested, unless `checksums` is false.

    >>> chunk, end = scan("kafka_offset_index", bytes([0, 0, 0, 7, 0, 0, 0, 42, 0]))
    >>> chunk.batch.to_pylist()
    [{'relative_offset': 7, 'position': 42}]
    >>> end.failure.path, end.start
    ('/types/entry/seq/0', 8)
    """
    view = memoryview(buffer).cast("B")
    found = table if isinstance(table, Table) else TABLES[table]
    if ranges is None:
        ranges = Ranges.of([(0, len(view), -1)])
    ranges.check(len(view))
    wanted = list(_chosen(found.columns, columns))
    names = tuple(column.name for column in wanted)
    fitting = rows_in_cache(found, names) if found.kernel else _rows_in_cache(found.name, names)
    return engine(found)(found, view, ranges, wanted, (max_rows or fitting, max_bytes), checksums=checksums)


def scan_pieces(
    table: str, pieces: Iterable[Piece], columns: Collection[str], max_rows: int, max_bytes: int = MAX_BYTES
) -> Iterator[Rows | Break]:
    """Read rows of a table from one buffer after the other; ranges are numbered consecutively over all buffers.

    A buffer is not read after the next one is requested, so both may be the same memory, which stays in the cache.
    """
    found = TABLES[table]
    wanted = list(_chosen(found.columns, columns))
    if any(column.kind in SLICES - GATHERED for column in _deep(wanted)):
        raise ValueError(f"{table}: columns with escapes or base-64 need the whole buffer")
    if native.is_compiled:
        from thawline.engine import kernels  # noqa: PLC0415 - needs the native module

        yield from kernels.read_pieces(found, _sound(pieces), wanted, (max_rows, max_bytes))
        return
    before = 0
    for view, ranges in _sound(pieces):
        for item in engine(found)(found, view, ranges, wanted, (max_rows, max_bytes), checksums=False):
            if isinstance(item, Break):
                yield replace(item, range_index=item.range_index + before)
            else:
                yield Rows(item.batch, pc.add(item.ranges, pa.scalar(before, pa.int32())))
        before += len(ranges.starts)


def _sound(pieces: Iterable[Piece]) -> Iterator[Piece]:
    """The pieces that have ranges, which must be within their buffers."""
    for view, ranges in pieces:
        ranges.check(len(view))
        if ranges.starts:
            yield view, ranges


def _deep(columns: Iterable[Column]) -> Iterator[Column]:
    for column in columns:
        yield column
        yield from _deep(column.items)


def _chosen(offered: Iterable[Column], names: Collection[str] | None, above: str = "") -> Iterator[Column]:
    """The requested columns; of a list, the requested columns of its items, such as `bins.name`."""
    for column in offered:
        name = above + column.name
        if names is None or name in names:
            yield column
        elif column.items and (items := tuple(_chosen(column.items, names, f"{name}."))):
            yield replace(column, items=items)


def places(
    table: str,
    buffer: Buffer,
    names: Collection[str],
    max_rows: int,
    max_bytes: int = MAX_BYTES,
    ranges: Ranges | None = None,
) -> Iterator[Places | Break]:
    """Rows as the kernel leaves them, for native code to read. It needs the native module."""
    from thawline.engine import kernels  # noqa: PLC0415 - as above

    view = memoryview(buffer).cast("B")
    wanted = list(_chosen(TABLES[table].columns, names))
    ranges = ranges or Ranges.of([(0, len(view), -1)])
    ranges.check(len(view))
    return kernels.places(TABLES[table], view, ranges, wanted, (max_rows, max_bytes))


@cache
def _rows_in_cache(table: str, names: tuple[str, ...]) -> int:
    return rows_in_cache(TABLES[table], names)


def rows_in_cache(table: Table, names: tuple[str, ...]) -> int:
    """How many rows a chunk may have for its arrays to stay in the processor's cache."""
    sizes = (
        array(it.typecode).itemsize * it.width * ITEMS_IN_LIST ** (len(it.path) - 1)
        for it in arrays(table)
        if it.path and it.path[0] in names
    )
    size: int = SIZE_OF_PLACES + sum(sizes)
    return min(MAX_ROWS, MAX_ARRAYS // size)


SIZE_OF_PLACES = 20
"""Bytes of a row's start, end and range."""
FIRST_WINDOW, WINDOW = 512 << 10, 64 << 20
LONGEST_ROW = 1 << 30
"""Bytes of a remote file that are read at a time, at first and later, and the longest row there that does not count as
damage."""


FIRST_ROWS, GROWTH = 64, 4
"""Rows of the first chunk where damage may follow, and the factor from one chunk to the next. What is read in vain
stays in proportion to what is not, however a hostile file mixes the two."""


def scan_source(
    table: str | Table,
    source: Source,
    start: int = 0,
    *,
    columns: Collection[str] | None = None,
    max_bytes: int = MAX_BYTES,
    checksums: bool = True,
) -> Iterator[Chunk | Break]:
    """Read rows of a table from a file, from a position to its end. Positions are those in the file.

    A local file is one buffer. A remote one is read in windows, which overlap by the row that did not fit.
    """
    size = source.size - start if source.is_local else min(FIRST_WINDOW, WINDOW)
    while start < source.size:
        end = min(start + size, source.size)
        reached = start
        for item in scan(table, source.view(start, end), columns=columns, max_bytes=max_bytes, checksums=checksums):
            if isinstance(item, Break) and end < source.size and size < LONGEST_ROW:
                reached = start + item.start
                break
            yield item.moved(start)
            reached = source.size if isinstance(item, Break) else item.ends[-1].as_py() + start
        size = min(4 * size, WINDOW) if reached > start else 4 * size
        start = reached


def scan_growing(
    table: str | Table,
    source: Source,
    start: int = 0,
    *,
    columns: Collection[str] | None = None,
    first_rows: int = FIRST_ROWS,
    max_bytes: int = MAX_BYTES,
    checksums: bool = True,
) -> Iterator[Chunk | Break]:
    """Read rows as `scan_source` does, small chunks first: if damage follows, the rest of a chunk is read in vain."""
    rows, window = first_rows, min(FIRST_WINDOW, WINDOW)
    while rows < MAX_ROWS and start < source.size:
        view = source.view(start, source.size if source.is_local else min(start + window, source.size))
        found = scan(table, view, columns=columns, max_rows=rows, max_bytes=max_bytes, checksums=checksums)
        item = next(found).moved(start)
        if isinstance(item, Break):
            break  # in a remote file, the window may have ended too early
        yield item
        start, rows, window = item.ends[-1].as_py(), GROWTH * rows, min(GROWTH * window, WINDOW)
    yield from scan_source(table, source, start, columns=columns, max_bytes=max_bytes, checksums=checksums)


def add_bases(chunk: Chunk, column: str, bases: pa.Int64Array) -> pa.Int64Array:
    """A column of integers plus the base of the range that each row is from, such as offsets in a batch.

    >>> index = Ranges.of([(0, 16, -1), (16, 24, -1)])
    >>> [chunk] = scan("kafka_offset_index", bytes([0, 0, 0, 7, 0, 0, 0, 42] * 3), index)
    >>> add_bases(chunk, "relative_offset", pa.array([100, 5000])).to_pylist()
    [107, 107, 5007]
    """
    numbers = chunk.batch[column]
    if not native.is_compiled:
        return pc.add(bases.take(chunk.ranges), numbers)
    from thawline.engine import kernels  # noqa: PLC0415 - needs the native module

    return kernels.add_bases(bases, chunk.ranges, numbers)


def engine(table: Table) -> Engine:
    """The engine that reads a table: the plain one has only the parsers that were generated."""
    if not native.is_compiled and table.kernel is None:
        from thawline.engine import parsed  # noqa: PLC0415 - not needed where there is the native module

        return parsed.read
    from thawline.engine import kernels  # noqa: PLC0415 - needs the native module

    return kernels.read


def schema(table: str, columns: Collection[str] | None = None) -> pa.Schema:
    """The Arrow schema of a table, or of some of its columns in the table's order."""
    kept = (column for column in TABLES[table].columns if columns is None or column.name in columns)
    return schema_of(kept)
