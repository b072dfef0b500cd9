"""A spec that is ready to read files: its compiled parts, its tables, and how its units are found and proven."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import partial

import pyarrow as pa
import pyarrow.compute as pc

from thawline.compiler.language import Failure, Program
from thawline.formats.contract import Table
from thawline.formats.described.parts import END, START, UNIT, Parts
from thawline.formats.described.paths import ITEM, Path, without
from thawline.formats.described.proofs import Proof
from thawline.ksy.documents import Spec
from thawline.model import Span
from thawline.source import Source

ROOT = "root"
MOST_UNITS = 1 << 16
"""Units that are read at a time."""


@dataclass(frozen=True, slots=True)
class Units:
    """Units that follow one another, as they were read."""

    starts: list[int]
    ends: list[int]
    rows: pa.StructArray

    def wrong(self, proofs: Collection[Proof]) -> list[tuple[int, Proof]]:
        """The units with a wrong checksum, in file order, each with the first that is."""
        found: dict[int, Proof] = {}
        for proof in proofs:
            for index in proof.wrong(self.rows).to_pylist():
                found.setdefault(index, proof)
        return sorted(found.items(), key=lambda pair: pair[0])


@dataclass(frozen=True, slots=True, eq=False)
class Layout:
    """A spec that is ready to read files."""

    spec: Spec
    parts: Parts
    program: Program
    """Reads units with their places, or the whole file."""
    head: Program | None
    """Reads what is before the units."""
    tables: Mapping[str, Table]
    proofs: tuple[Proof, ...]
    magic: bytes
    """Bytes that mark a unit; empty if any position is a candidate."""
    magic_at: int
    first: bytes
    """The bytes that a file starts with; empty if the spec fixes none."""
    suffixes: tuple[str, ...]
    is_closed: bool
    """Whether no field is read from anywhere else: then bytes after the structure are in no field."""

    @property
    def unit_name(self) -> str:
        """The name of a unit's type; of a root, the last word of the spec's name."""
        type_ = self.parts.type
        return type_.names[-1] if type_.names else type_.spec.id.rpartition("_")[2]

    @property
    def alignment(self) -> int:
        """Units start at multiples of this."""
        return int(self.parts.sync.data.get("align", 1)) if self.parts.sync else 1

    def leads(self, source: Source) -> bool:
        """Whether a file starts as the spec says, as far as it fixes bytes."""
        size = len(self.first)
        return size <= source.size and source.view(0, size) == self.first

    def is_named(self, source: Source) -> bool:
        """Whether a file has the spec's file extension."""
        return source.name.endswith(self.suffixes or ("\0",))

    def head_end(self, source: Source) -> int | Failure:
        """Where the units start."""
        return self.head.extent(source.view(0, source.size)) if self.head else 0

    def extent(self, source: Source, start: int) -> int | Failure:
        """Where the unit that starts here ends."""
        item = next(self.units(source, Span(start, source.size), (), 1), None)
        if item is None:
            return start
        return item.ends[0] if isinstance(item, Units) else item

    def units(
        self, source: Source, span: Span, columns: Collection[str] | None = None, most: int = MOST_UNITS
    ) -> Iterator[Units | Failure]:
        """The units from a position on, as far as they can be read and start before the end of the span.

        At most `most` are read at a time. A unit without bytes is a failure: it would be followed by another for ever.
        """
        wanted = {START, END, *([UNIT] if columns is None else (f"{UNIT}.{name}" for name in columns))}
        view = source.view(0, source.size)
        for item in self.program.read(view, UNIT, wanted, start=span.start, max_rows=most) if span.size else ():
            if isinstance(item, Failure):
                if item.is_fatal:
                    yield item
                continue  # an instance that is null is no damage of a unit
            starts, ends = (item[name].to_pylist() for name in (START, END))
            count = bisect_left(starts, span.end)
            empty = next((index for index in range(count) if starts[index] == ends[index]), count)
            if empty:
                rows = item[UNIT] if UNIT in item.schema.names else _no_columns(empty)
                yield Units(starts[:empty], ends[:empty], rows.slice(0, empty))
            if empty < count:
                yield Failure(starts[empty], "", "a unit without bytes", "size", is_fatal=True)
            if empty < len(starts) or ends[-1] >= span.end:
                return

    def rows(self, found: Units, table: str, columns: Collection[str]) -> pa.RecordBatch:
        """Rows of a table from units."""
        rows = found.rows
        if table != next(iter(self.tables)):
            rows = pc.list_flatten(pc.struct_field(rows, table))
        return self._given(rows, table, columns)

    def columns_for(self, table: str, columns: Collection[str]) -> Collection[str]:
        """The columns of a unit that rows of a table need."""
        return columns if table == next(iter(self.tables)) else [f"{table}.{name}" for name in columns] or [table]

    def _given(self, rows: pa.StructArray, table: str, columns: Collection[str]) -> pa.RecordBatch:
        """The requested columns, without those that are read only for checksums."""
        offered = self.tables[table]
        wanted = [it for it in (*offered.schema, *offered.extras) if it.name in columns]
        made = [pc.struct_field(rows, it.name).cast(it.type) for it in wanted]
        if not wanted:
            return pa.RecordBatch.from_struct_array(_no_columns(len(rows)))
        return pa.RecordBatch.from_arrays(made, schema=pa.schema(wanted))

    def rest(self, source: Source) -> int:
        """How many bytes follow a structure that is whole, and that no field can have."""
        end = self.program.extent(source.view(0, source.size)) if self.is_closed and source.size else source.size
        return source.size - end if isinstance(end, int) else 0

    def whole(self, source: Source) -> Iterator[pa.StructArray | Failure]:
        """The file as one structure, and what is wrong with it."""
        for item in self.program.read(source.view(0, source.size)):
            yield item if isinstance(item, Failure) else item.to_struct_array()

    def whole_rows(self, source: Source, table: str, columns: Collection[str]) -> Iterator[pa.RecordBatch | Failure]:
        """Rows of a table of a file that is one structure."""
        for item in self.program.read(source.view(0, source.size), table, columns):
            yield item if isinstance(item, Failure) else self._given(item.to_struct_array(), table, columns)


def _no_columns(rows: int) -> pa.StructArray:
    return pa.array([{}] * rows, pa.struct([]))


def unit_tables(type_: pa.StructType, name: str, hidden: frozenset[Path]) -> dict[str, Table]:
    """The tables of a unit: itself, then each of its lists of structures."""
    shown = without(type_, hidden)
    tables = {name: Table(pa.schema(list(shown)))}
    for column in shown:
        if pa.types.is_list(column.type) and pa.types.is_struct(column.type.value_type):
            tables.setdefault(column.name, Table(pa.schema(list(column.type.value_type))))
    return tables


def whole_tables(program: Program, hidden: frozenset[Path]) -> dict[str, Table]:
    """The tables of a file that is one structure."""
    made = {}
    for name, schema in program.tables.items():
        below = hidden if name == ROOT else frozenset(map(partial(_below, name), hidden))
        shown = without(pa.struct(list(schema)), below)
        made[name] = Table(pa.schema(list(shown)))
    return made


def _below(name: str, path: Path) -> Path:
    """A path of the root as one of the items of a list in it."""
    return path[2:] if path[:2] == (name, ITEM) else ("",)
