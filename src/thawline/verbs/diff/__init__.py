"""What differs between two sides: files, or folders of files, whose rows have an identity."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from types import TracebackType
from typing import TYPE_CHECKING, Self

import pyarrow as pa
import pyarrow.compute as pc

from thawline.errors import ThawlineError
from thawline.formats.division import read_together
from thawline.model import Finding
from thawline.tables import Identity
from thawline.verbs.diff.comparing import TOLD, Comparison, Counts, schema_of
from thawline.verbs.diff.piles import sort_out, two_piles
from thawline.verbs.diff.shelves import Shelf, compartments, writing
from thawline.verbs.diff.windows import settle

if TYPE_CHECKING:
    from thawline.verbs.opened import OpenFile

__all__ = ["Counts", "Difference", "NotComparable", "diff", "diff_rows"]


class NotComparable(ThawlineError):
    """Two sides whose rows cannot be compared: other formats, other columns, or no key."""


@dataclass(slots=True)
class Side:
    """One side of a comparison, and what was met while it was read."""

    files: int = 0
    rows: int = 0
    findings: int = 0
    """Findings about damage: bytes that could not be compared."""
    facts: dict[str, set[object]] = field(default_factory=dict)
    """Values of columns that are facts of files: none, the only one, or two of several."""

    def batches(self, files: Iterable[OpenFile], expected: _Expected) -> Iterator[pa.RecordBatch]:
        """The rows of all files of the side."""
        for cold in files:
            self.files += 1
            expected.check(cold)
            read = read_together(cold.kind, cold.source, cold.table, expected.schema.names, cold.crew)
            for item in cold.watched(read):
                if isinstance(item, Finding):
                    self.findings += item.code.severity == "error" and not item.is_given
                    continue
                self.findings += item[0].given is not None
                for batch in item[1]:
                    self._note(batch, expected.identity)
                    yield batch.select(expected.schema.names)

    def _note(self, batch: pa.RecordBatch, identity: Identity) -> None:
        self.rows += batch.num_rows
        for name in identity.facts & {*batch.schema.names}:
            known = self.facts.setdefault(name, set())
            if len(known) < 2:  # noqa: PLR2004 - two are several
                known.update(pc.unique(batch.column(name)).slice(0, 2).to_pylist())


@dataclass(slots=True)
class _Expected:
    """What the first file is, and all others have to be."""

    key: tuple[str, ...]
    columns: tuple[str, ...]
    format: str = ""
    name: str = ""
    table: str = ""
    identity: Identity = field(default_factory=Identity)
    schema: pa.Schema = field(default_factory=lambda: pa.schema([]))

    @property
    def dividing(self) -> tuple[str, ...]:
        """The columns of the key by which rows are divided: none that turns out to be the same in all rows."""
        return tuple(name for name in self.identity.key if name not in self.identity.facts) or self.identity.key

    def check(self, cold: OpenFile) -> None:
        """Raise `NotComparable` unless a file has the same rows as the first one."""
        if not self.format:
            self._learn(cold)
        if cold.format.name != self.format:
            raise NotComparable(
                f"{self.name} is {self.format} and {cold.name} is {cold.format.name}; "
                "only files of one format are compared"
            )
        if cold.table != self.table:
            raise NotComparable(
                f"{self.name} holds {self.table} and {cold.name} holds {cold.table}; name one with --table"
            )
        names = {*self.schema.names}
        offered = cold.projected(names & {*cold.every_column.names})
        if not offered.equals(pa.schema([it for it in offered if it in self.schema])) or len(offered) < len(names):
            raise NotComparable(f"{cold.name} has other columns than {self.name}: {', '.join(offered.names)}")

    def _learn(self, cold: OpenFile) -> None:
        self.format, self.name, self.table = cold.format.name, cold.name, cold.table
        declared = cold.format.tables[cold.table].identity
        self.identity = declared.by(self.key) if self.key else declared
        if not self.identity.key:
            raise NotComparable(
                f"{cold.name}: nothing says which columns of {cold.format.name}.{cold.table} identify a row; "
                f"name them with --key; there are {', '.join(cold.schema.names)}"
            )
        self.schema = cold.projected({*(self.columns or cold.schema.names), *self.identity.key})
        if taken := [name for name in TOLD if name in self.schema.names]:
            raise NotComparable(
                f"{cold.name} has a column {taken[0]}, as differences have, too; leave it out with --columns"
            )
        for name in self.identity.key:
            if pa.types.is_nested(self.schema.field(name).type):
                raise NotComparable(f"{name} is a list, which identifies no row; --key takes other columns")


class Difference:
    """What differs between A and B: counts, and the rows. It owns files in a temporary folder until it is closed."""

    def __init__(
        self, folder: TemporaryDirectory[str], schema: pa.Schema, identity: Identity, a: Side, b: Side
    ) -> None:
        self._folder, self.schema, self.key = folder, schema, identity.key
        self.a, self.b = a, b
        self.counts = Counts()

    @property
    def is_same(self) -> bool:
        """Whether all rows are the same and every byte of both sides could be read."""
        return not self.counts.differences and not self.a.findings and not self.b.findings

    @property
    def path(self) -> Path:
        """Where the rows lie."""
        return Path(self._folder.name, "differences")

    def batches(self) -> Iterator[pa.RecordBatch]:
        """The rows that differ. Of a changed or moved one there are two: that of side a, and that of side b."""
        if self.path.exists():
            with pa.memory_map(str(self.path)) as file, pa.ipc.open_stream(file) as reader:
                yield from reader

    def close(self) -> None:
        """Remove the rows from the disk."""
        self._folder.cleanup()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        counts = self.counts
        return (
            f"<Difference: {counts.same} same, {counts.added} added, {counts.removed} removed, "
            f"{counts.changed} changed, {counts.moved} moved>"
        )


def diff(
    a: Iterable[OpenFile], b: Iterable[OpenFile], key: Sequence[str] = (), columns: Sequence[str] = ()
) -> Difference:
    """Compare the rows of two sides by the key of their table, or by another one.

    Rows that have the same key are compared in all other columns, or in `columns`. Where several rows of a side have
    the same key, those with the same contents belong together, and the others in order. Memory is bounded: many rows
    go to files in a temporary folder.
    """
    folder = TemporaryDirectory(prefix="thawline-diff-")
    try:
        return _compared(folder, a, b, _Expected(tuple(key), tuple(columns)))
    except BaseException:
        folder.cleanup()
        raise


def diff_rows(
    a: Iterable[pa.RecordBatch], b: Iterable[pa.RecordBatch], schema: pa.Schema, key: Sequence[str]
) -> Difference:
    """Compare rows that are in no file of their own, such as the items of two archives, by their key."""
    folder = TemporaryDirectory(prefix="thawline-diff-")
    try:
        expected = _Expected(tuple(key), (), identity=Identity(tuple(key)), schema=schema)
        return _settled(folder, iter(a), iter(b), (Side(), Side()), expected)
    except BaseException:
        folder.cleanup()
        raise


def _compared(
    folder: TemporaryDirectory[str], a: Iterable[OpenFile], b: Iterable[OpenFile], expected: _Expected
) -> Difference:
    sides = Side(), Side()
    rows_a, rows_b = (_begun(side.batches(files, expected)) for side, files in zip(sides, (a, b), strict=True))
    return _settled(folder, rows_a, rows_b, sides, expected)


def _settled(
    folder: TemporaryDirectory[str],
    a: Iterator[pa.RecordBatch],
    b: Iterator[pa.RecordBatch],
    sides: tuple[Side, Side],
    expected: _Expected,
) -> Difference:
    place = Path(folder.name)
    shelf_a, shelf_b = (Shelf(place / name, expected.schema, expected.dividing) for name in "ab")
    same = 0
    if expected.schema.names:
        piles = two_piles(place, expected.schema)
        same = settle(a, b, expected.identity.key, piles) + sort_out(*piles, (shelf_a, shelf_b))
    constant = _constant(*sides)
    identity = expected.identity.without(constant)
    schema = schema_of(expected.schema, identity.key)
    found = Difference(folder, schema, identity, *sides)
    found.counts.same = same
    comparison = Comparison(identity, schema, found.counts, constant)
    with writing(found.path), pa.OSFile(str(found.path), "wb") as file, pa.ipc.new_stream(file, schema) as writer:
        for pair in compartments(shelf_a, shelf_b):
            for table in comparison.differences(*pair):
                writer.write_table(table, max_chunksize=1 << 16)
    return found


def _begun(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The same batches; the first one has been read."""
    first = next(batches, None)
    return iter(()) if first is None else chain([first], batches)


def _constant(a: Side, b: Side) -> frozenset[str]:
    """Facts of files that are the same throughout each side: that two files have different names is no difference."""
    names = a.facts.keys() | b.facts.keys()
    return frozenset(name for name in names if all(len(side.facts.get(name, ())) < 2 for side in (a, b)))  # noqa: PLR2004
