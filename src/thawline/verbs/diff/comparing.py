"""The differences between the rows of two tables, as rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial, reduce
from typing import Literal

import pyarrow as pa
import pyarrow.compute as pc

from thawline.rowtext import json_rows
from thawline.tables import Identity
from thawline.verbs.diff.pairing import Pairs, paired
from thawline.verbs.diff.unequal import named_items, unequal, unequal_items

Change = Literal["added", "removed", "changed", "moved"]
TOLD = CHANGE, SIDE, COLUMNS = "change", "side", "columns"
"""What a row of differences has before the columns of its table: what happened to the row, of which side this is (a or
b), and which columns differ."""
ORDER = "order"
Columns = Mapping[str, pa.Array]


@dataclass(slots=True)
class Counts:
    """How many rows are the same, and how many are not."""

    same: int = 0
    added: int = 0
    removed: int = 0
    changed: int = 0
    moved: int = 0
    columns: dict[str, int] = field(default_factory=dict)
    """In how many of the changed rows a column differs."""

    @property
    def differences(self) -> int:
        """Rows that are not the same."""
        return self.added + self.removed + self.changed + self.moved


def schema_of(rows: pa.Schema, key: Sequence[str]) -> pa.Schema:
    """The columns of differences: what happened, the key, and the rest of the row."""
    texts = [pa.field(name, pa.string()) for name in TOLD]
    return pa.schema([*texts, *(rows.field(name) for name in key), *(it for it in rows if it.name not in key)])


@dataclass(frozen=True, slots=True)
class Comparison:
    """How rows are compared, and what was counted."""

    identity: Identity
    schema: pa.Schema
    """Of differences."""
    counts: Counts
    ignored: frozenset[str] = frozenset()
    """Columns that are not compared: facts of files, of which each side has one."""

    def differences(self, a: pa.Table, b: pa.Table) -> Iterator[pa.Table]:
        """The rows that differ: those of A in its order, then those that only B has."""
        columns = [_columns(side) for side in (a, b)]
        keys = [[side[name] for name in self.identity.key] for side in columns]
        keys = [key or [_constant(table.num_rows)] for key, table in zip(keys, (a, b), strict=True)]
        pairs = paired(keys[0], keys[1], partial(self._contents, *columns))
        self.counts.removed += len(pairs.only_a)
        self.counts.added += len(pairs.only_b)
        found = [
            *self._pairs(columns[0], columns[1], pairs),
            self._rows(columns[0], pairs.only_a, "removed", "a", pairs.only_a),
            self._rows(columns[1], pairs.only_b, "added", "b", pc.add(pairs.only_b, len(a))),
        ]
        rows = pa.concat_tables(found)
        if rows.num_rows:
            yield rows.take(pc.sort_indices(rows, [(ORDER, "ascending"), (SIDE, "ascending")])).drop_columns([ORDER])

    def _contents(self, a: Columns, b: Columns, rows_a: pa.Array, rows_b: pa.Array) -> tuple[pa.Array, pa.Array]:
        """The compared columns of some rows, as text."""
        return _texts(a, self._compared, rows_a), _texts(b, self._compared, rows_b)

    @property
    def _compared(self) -> list[str]:
        left = {*self.identity.key, *self.identity.place, *self.ignored, *TOLD}
        return [name for name in self.schema.names if name not in left]

    def _pairs(self, a: Columns, b: Columns, pairs: Pairs) -> Iterator[pa.Table]:
        """The rows of pairs that differ: changed ones, and those that only lie elsewhere."""
        changes = {name: unequal(a[name].take(pairs.a), b[name].take(pairs.b)) for name in self._compared}
        is_changed = _any(changes.values(), len(pairs.a))
        moves = {
            name: unequal(a[name].take(pairs.a), b[name].take(pairs.b))
            for name in self.schema.names
            if name in self.identity.place.difference(self.identity.key)
        }
        is_moved = pc.and_not(_any(moves.values(), len(pairs.a)), is_changed)
        for name, differs in changes.items():
            if number := pc.sum(differs).as_py():
                self.counts.columns[name] = self.counts.columns.get(name, 0) + number
        yield from self._both(a, b, pairs, changes, is_changed, "changed")
        yield from self._both(a, b, pairs, moves, is_moved, "moved")
        changed, moved = (pc.sum(which, min_count=0).as_py() for which in (is_changed, is_moved))
        self.counts.changed += changed
        self.counts.moved += moved
        self.counts.same += len(pairs.a) - changed - moved

    def _both(
        self, a: Columns, b: Columns, pairs: Pairs, differs: Columns, chosen: pa.Array, change: Change
    ) -> Iterator[pa.Table]:
        """Both rows of some pairs."""
        rows_a, rows_b = pairs.a.filter(chosen), pairs.b.filter(chosen)
        texts = [_names(name, a, b, rows_a, rows_b, which.filter(chosen)) for name, which in differs.items()]
        if not texts or not len(rows_a):
            return
        text = pc.binary_join_element_wise(*texts, pa.scalar(", "), null_handling="skip")
        yield self._rows(a, rows_a, change, "a", rows_a, text)
        yield self._rows(b, rows_b, change, "b", rows_a, text)

    def _rows(
        self, side: Columns, rows: pa.Array, change: Change, letter: str, order: pa.Array, text: pa.Array | None = None
    ) -> pa.Table:
        """Some rows of a side, with what happened to them."""
        told = {CHANGE: change, SIDE: letter, COLUMNS: None}
        columns = {name: pa.repeat(pa.scalar(value, pa.string()), len(rows)) for name, value in told.items()}
        columns |= {COLUMNS: text} if text is not None else {}
        columns |= {name: side[name].take(rows) for name in self.schema.names if name not in columns}
        return pa.table(columns, schema=self.schema).append_column(ORDER, order)


def _columns(table: pa.Table) -> Columns:
    """The columns of a table, each in one piece."""
    return {name: table[name].combine_chunks() for name in table.schema.names}


def _constant(rows: int) -> pa.Array:
    return pa.repeat(pa.scalar(0, pa.int64()), rows)


def _any(columns: Iterable[pa.Array], rows: int) -> pa.Array:
    """Whether any column is true, for each row."""
    return reduce(pc.or_, columns, pa.repeat(pa.scalar(value=False), rows))


def _names(name: str, a: Columns, b: Columns, rows_a: pa.Array, rows_b: pa.Array, differs: pa.Array) -> pa.Array:
    """The name of a column for each row in which it differs, or those of its items; else null."""
    none = pa.scalar(None, pa.string())
    if not named_items(a[name].type):
        return pc.if_else(differs, name, none)
    items = unequal_items(name, a[name].take(rows_a.filter(differs)), b[name].take(rows_b.filter(differs)))
    return pc.replace_with_mask(pa.repeat(none, len(differs)), differs, items)


def _texts(side: Columns, names: Sequence[str], rows: pa.Array) -> pa.Array:
    """Some rows as JSON, one value each."""
    if not names or not len(rows):
        return pa.repeat(pa.scalar(b"", pa.large_binary()), len(rows))
    batch = pa.record_batch({name: side[name].take(rows) for name in names})
    whole = b"".join(json_rows(batch, "hex", after=b"\n"))
    lines = pc.split_pattern(pa.array([whole[:-1]], pa.large_binary()), b"\n")
    return pc.list_flatten(lines)
