"""The native engine: kernels run over a buffer, and give chunks of Arrow columns.

A kernel is called with the buffer, the ranges to read, a limit in bytes, its state, how many items each list has room
for, and the arrays to fill. `thawline.native.constants.kernels` has the slots of the state and what a kernel returns.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

import pyarrow as pa

from thawline import native
from thawline.engine.arrays import Arrays, plan_of
from thawline.engine.assembly import Assembly
from thawline.engine.buffers import Pooled, numbers
from thawline.engine.chunks import Break, Chunk, Piece, Places, Ranges, Rows
from thawline.engine.tables import Column, Table
from thawline.native.constants.kernels import (
    SCAN_DONE,
    SCAN_FAILED,
    SCAN_FULL,
    SCAN_LIST_FULL,
    STATE_AT,
    STATE_FAILURE,
    STATE_FIRST,
    STATE_LISTS,
    STATE_POSITION,
    STATE_RANGE,
    STATE_ROWS,
    STATE_ROWS_IN_RANGE,
)

INT32 = pa.int32()

Made = TypeVar("Made")


def read(
    table: Table,
    view: memoryview,
    ranges: Ranges,
    wanted: Sequence[Column],
    limits: tuple[int, int],
    *,
    checksums: bool = True,
) -> Iterator[Chunk | Break]:
    """Chunks of rows, and a break for each range that cannot be read to its end."""
    if ranges.starts:
        yield from _Reading(table, view, ranges, wanted, limits, checksums=checksums).chunks()


def read_pieces(
    table: Table, pieces: Iterator[Piece], wanted: Sequence[Column], limits: tuple[int, int]
) -> Iterator[Rows | Break]:
    """The rows of one buffer after the other, which share chunks; a buffer is released when the next one comes."""
    if (first := next(pieces, None)) is not None:
        yield from _PieceReading(table, first, pieces, wanted, limits).rows()


def places(
    table: Table, view: memoryview, ranges: Ranges, wanted: Sequence[Column], limits: tuple[int, int]
) -> Iterator[Places | Break]:
    """Rows as the kernel leaves them, in memory that serves the next ones, too."""
    if ranges.starts:
        yield from _Reading(table, view, ranges, wanted, limits, checksums=False, is_kept=False).places()


def kernel_of(table: Table) -> Callable[..., int]:
    """The function that reads rows of a table."""
    found: Callable[..., int] = table.kernel or getattr(native.functions, f"scan_{table.name}")
    return found


class _Reading:
    """One run of a kernel over some ranges."""

    def __init__(
        self,
        table: Table,
        view: memoryview,
        ranges: Ranges,
        wanted: Sequence[Column],
        limits: tuple[int, int],
        *,
        checksums: bool,
        is_kept: bool = True,
    ) -> None:
        self.table, self.view, self.ranges, self.wanted = table, view, ranges, wanted
        self.has_checksums = checksums
        self.max_rows, self.max_bytes = limits
        self.kernel = kernel_of(table)
        plan = plan_of(table, wanted, is_gathered=is_kept)
        self.schema, self.lists, self.gathered = plan.schema, plan.lists, plan.gathered
        self.state = array("q", bytes(8 * (STATE_LISTS + len(self.lists))))
        self.state[STATE_POSITION] = ranges.starts[0]
        self.rows_due = sum(ranges.counts) if min(ranges.counts) >= 0 else None
        """How many rows can come at most, where every range has a count."""
        self.arrays = Arrays(plan, is_kept=is_kept)
        self.assembly = Assembly(view, self.arrays)

    def chunks(self) -> Iterator[Chunk | Break]:
        return self.made(self.chunk)

    def places(self) -> Iterator[Places | Break]:
        return self.made(self.place)

    def made(self, make: Callable[[], Made]) -> Iterator[Made | Break]:
        """What `make` gives for the rows of each chunk, and breaks."""
        status, is_taken = SCAN_FULL, True
        while status != SCAN_DONE:
            if is_taken:  # where every range is broken, new arrays for each would take most of the time
                self.prepare()
            status = self.run()
            is_taken = bool(self.state[STATE_ROWS])
            if is_taken:
                if self.rows_due is not None:
                    self.rows_due -= self.state[STATE_ROWS]
                yield make()
            if status == SCAN_FAILED:
                yield self.broken()
                status = SCAN_FULL if self.skip_range() else SCAN_DONE

    def prepare(self) -> None:
        """Make arrays for the next chunk, no larger than the rest of the buffer can fill."""
        bytes_left = self.ranges.ends[-1] - self.state[STATE_POSITION]
        rows = min(self.max_rows, max(min(bytes_left, self.max_bytes), 0) // self.table.least_size + 1)
        if self.rows_due is not None:
            rows = min(rows, max(self.rows_due, 1))
        most = [bytes_left // column.least_size + 1 for _, column in self.lists]
        self.arrays.renew(rows, most, max(min(bytes_left, self.max_bytes), 0))

    def run(self) -> int:
        """Fill the arrays from their start."""
        self.state[STATE_ROWS] = 0
        for index in range(len(self.lists)):
            self.state[STATE_LISTS + index] = 0
        return self.resume()

    def resume(self) -> int:
        """Fill the arrays. An array that is full is replaced by a larger one, and the kernel continues with its row."""
        status = self.call()
        while status >= SCAN_LIST_FULL:
            index = status - SCAN_LIST_FULL
            if index < len(self.lists):
                self.arrays.grow(index, self.state[STATE_LISTS + index])
            else:
                self.arrays.widen(self.gathered[index - len(self.lists)], self.state[STATE_AT])
            status = self.call()
        return status

    def call(self) -> int:
        ranges, arrays = self.ranges, self.arrays
        where = (ranges.starts, ranges.ends, ranges.counts, self.max_bytes)
        status: int = self.kernel(self.view, *where, self.state, arrays.rooms, *arrays.arguments)
        return status

    def batch(self) -> pa.RecordBatch:
        """The rows that the kernel has read, as Arrow."""
        self.assembly.items = self.items()
        self.arrays.read = self.state[STATE_POSITION] - self.state[STATE_FIRST]
        built = [self.assembly.column(column, (column.name,), self.state[STATE_ROWS]) for column in self.wanted]
        return pa.RecordBatch.from_arrays(built, schema=self.schema)

    def items(self) -> dict[tuple[str, ...], int]:
        """How many items the lists have, by their paths."""
        return {path: self.state[STATE_LISTS + index] for index, (path, _) in enumerate(self.lists)}

    def chunk(self) -> Chunk:
        """The rows that the kernel has read, with their places."""
        rows = self.state[STATE_ROWS]
        starts, ends, ranges = (place.column(rows) for place in self.arrays.places)
        return Chunk(self.batch(), starts, ends, ranges, self.checksums(rows))

    def place(self) -> Places:
        """The rows that the kernel has read, as it left them."""
        rows = self.state[STATE_ROWS]
        starts, ends, _ = self.arrays.places
        views = {key: column.view for key, column in self.arrays.columns.items()}
        return Places(rows, starts.view[0], ends.view[rows - 1], self.items(), views)

    def checksums(self, rows: int) -> pa.Int64Array | None:
        checksum = self.table.checksum
        if checksum is None or not self.has_checksums or checksum.column not in self.schema.names:
            return None
        computed = Pooled("q", rows)
        compute = getattr(native.functions, f"{checksum.algorithm}_ranges")
        starts, ends = (self.arrays.columns[(), part].view for part in ("checksum_start", "checksum_end"))
        compute(self.view, starts, ends, rows, computed.view)
        return computed.column(rows)

    def broken(self) -> Break:
        failure = self.table.failures[self.state[STATE_FAILURE]]
        return Break(failure, self.state[STATE_POSITION], self.state[STATE_AT], self.state[STATE_RANGE])

    def skip_range(self) -> bool:
        """Turn from the broken range to the next one; False if there is none."""
        self.state[STATE_RANGE] += 1
        self.state[STATE_ROWS_IN_RANGE] = 0
        if self.state[STATE_RANGE] == len(self.ranges.starts):
            return False
        self.state[STATE_POSITION] = self.ranges.starts[self.state[STATE_RANGE]]
        return True


class _PieceReading(_Reading):
    """One run of a kernel over several buffers, whose ranges are numbered consecutively. Places are not kept."""

    def __init__(
        self,
        table: Table,
        first: Piece,
        others: Iterator[Piece],
        wanted: Sequence[Column],
        limits: tuple[int, int],
    ) -> None:
        view, ranges = first
        own = Ranges(ranges.starts[:], ranges.ends[:], ranges.counts[:])  # since those of other pieces are added
        super().__init__(table, view, own, wanted, limits, checksums=False)
        self.pieces = others
        self.arrays.is_placed = False

    def rows(self) -> Iterator[Rows | Break]:
        return self.made(lambda: Rows(self.batch(), self.arrays.places[-1].column(self.state[STATE_ROWS])))

    def prepare(self) -> None:
        """Make arrays for a whole chunk of rows like those of this buffer, since the next buffers are not known."""
        size = max(self.ranges.ends[-1] - self.state[STATE_POSITION], 1)
        rows = min(max(sum(self.ranges.counts[self.state[STATE_RANGE] :]), 1), size // self.table.least_size + 1)
        most = min(self.max_rows, rows * (self.max_bytes // size + 1))
        items = [max(size, self.max_bytes) // column.least_size + 1 for _, column in self.lists]
        self.arrays.renew(most, items, min(size * most // rows, self.max_bytes))

    def made(self, make: Callable[[], Made]) -> Iterator[Made | Break]:
        """As for one buffer, but rows after a broken range share its chunk, which comes after its breaks."""
        is_more = True
        while is_more:
            self.prepare()
            status = self.run()
            while status != SCAN_FULL:
                if status == SCAN_FAILED:
                    yield self.broken()
                if not (status == SCAN_FAILED and self.skip_range()):
                    is_more = self.turn()
                    if not (is_more and self.fits()):
                        break
                status = self.resume()
            if self.state[STATE_ROWS]:
                yield make()

    def turn(self) -> bool:
        """Turn to the next buffer; False if there is none."""
        if (piece := next(self.pieces, None)) is None:
            return False
        read = self.state[STATE_POSITION] - self.state[STATE_FIRST]
        self.view, ranges = piece
        self.ranges.starts.extend(ranges.starts)
        self.ranges.ends.extend(ranges.ends)
        self.ranges.counts.extend(ranges.counts)
        self.state[STATE_POSITION] = ranges.starts[0]
        self.state[STATE_FIRST] = ranges.starts[0] - read
        return True

    def fits(self) -> bool:
        """Whether all of the buffer may go into the same chunk."""
        return self.ranges.ends[-1] - self.state[STATE_FIRST] <= self.max_bytes


def add_bases(bases: pa.Int64Array, ranges: pa.Int32Array, values: pa.Array) -> pa.Int64Array:
    """Numbers of 32 or 64 bits plus the base of the range that each row is from."""
    sums, is_short = Pooled("q", len(values)), values.type == INT32
    add = native.functions.add_bases_short if is_short else native.functions.add_bases
    add(numbers(bases), numbers(ranges, "i"), numbers(values, "i" if is_short else "q"), len(values), sums.view)
    return sums.column(len(values))
