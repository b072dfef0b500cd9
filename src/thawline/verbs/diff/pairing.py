"""Which row of one side belongs to which row of the other: those with the same key, each with one.

Rows are only numbers here: row `n` of a side is the nth value of each of its key columns.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

Contents = Callable[[pa.Array, pa.Array], tuple[pa.Array, pa.Array]]
"""Gives the contents of some rows of both sides, as values that are equal where the contents are."""
NONE = pa.array([], pa.int64())


@dataclass(frozen=True, slots=True)
class Pairs:
    """Rows that belong together, and rows of one side only, by number."""

    a: pa.Array
    b: pa.Array
    only_a: pa.Array
    only_b: pa.Array

    def of(self, rows_a: pa.Array, rows_b: pa.Array) -> Pairs:
        """The same, where the numbers were places in lists of rows."""
        return Pairs(rows_a.take(self.a), rows_b.take(self.b), rows_a.take(self.only_a), rows_b.take(self.only_b))

    def with_more(self, more: Pairs) -> Pairs:
        """These, and more of other rows."""
        return Pairs(
            pa.concat_arrays([self.a, more.a]),
            pa.concat_arrays([self.b, more.b]),
            pa.concat_arrays([self.only_a, more.only_a]),
            pa.concat_arrays([self.only_b, more.only_b]),
        )


@dataclass(frozen=True, slots=True)
class _Groups:
    """The rows of both sides, those with the same key next to each other: first those of A, then those of B."""

    rows: pa.Array
    """Numbers of rows; those of B follow on those of A."""
    group: pa.Array
    """The group of each."""
    nth: pa.Array
    """Which of its group each is."""
    in_a: pa.Array
    """How many of its group are of A, for each row."""
    in_b: pa.Array

    @classmethod
    def of(cls, a: Sequence[pa.Array], b: Sequence[pa.Array]) -> _Groups:
        names = [f"key{number}" for number in range(len(a))]
        columns = {name: pa.chunked_array(pair) for name, pair in zip(names, zip(a, b, strict=True), strict=True)}
        rows = numbers(len(a[0]) + len(b[0]))
        columns |= {"row": rows, "in_b": pc.greater_equal(rows, len(a[0])).cast(pa.int64())}
        found = pa.table(columns).group_by(names, use_threads=False).aggregate([("row", "list"), ("in_b", "sum")])
        lists, in_b = (_whole(found[name]) for name in ("row_list", "in_b_sum"))
        group = pc.list_parent_indices(lists)
        of_group = in_b.take(group)
        starts = lists.offsets.slice(0, len(lists)).cast(pa.int64()).take(group)
        nth = pc.subtract(numbers(len(rows)), pc.subtract(starts, lists.offsets[0].cast(pa.int64())))
        in_all = pc.list_value_length(lists).cast(pa.int64()).take(group)
        return cls(pc.list_flatten(lists), group, nth, pc.subtract(in_all, of_group), of_group)

    def pairs(self, first_b: int) -> Pairs:
        """The nth row of A in a group with the nth one of B."""
        least = pc.min_element_wise(self.in_a, self.in_b)
        is_a = pc.less(self.nth, self.in_a)
        is_first = pc.less(self.nth, least)
        is_pair = pc.and_(is_a, is_first)
        partner = pc.add(numbers(len(self.rows)), self.in_a).filter(is_pair)
        is_spare = pc.greater_equal(pc.subtract(self.nth, self.in_a), least)
        return Pairs(
            self.rows.filter(is_pair),
            pc.subtract(self.rows.take(partner), first_b),
            self.rows.filter(pc.and_not(is_a, is_first)),
            pc.subtract(self.rows.filter(pc.and_not(is_spare, is_a)), first_b),
        )

    def some(self, chosen: pa.Array) -> _Groups:
        """The rows of some groups."""
        return _Groups(*(values.filter(chosen) for values in (self.rows, self.group, self.nth, self.in_a, self.in_b)))


def numbers(count: int) -> pa.Array:
    """The numbers from 0 on.

    >>> numbers(3).to_pylist()
    [0, 1, 2]
    """
    return pc.indices_nonzero(pa.repeat(pa.scalar(value=True), count)).cast(pa.int64())


def paired(a: Sequence[pa.Array], b: Sequence[pa.Array], contents: Contents | None = None) -> Pairs:
    """Rows with the same key, nth with nth; with `contents`, those first whose contents are the same, too.

    >>> pairs = paired([pa.array(["x", "y", "x"])], [pa.array(["x", "z"])])
    >>> pairs.a.to_pylist(), pairs.b.to_pylist(), pairs.only_a.to_pylist(), pairs.only_b.to_pylist()
    ([0], [0], [2, 1], [1])
    """
    groups, first_b = _Groups.of(a, b), len(a[0])
    if contents is None:
        return groups.pairs(first_b)
    is_repeated = pc.greater(pc.max_element_wise(groups.in_a, groups.in_b), 1)
    repeated = groups.some(is_repeated)
    if not len(repeated.rows):
        return groups.pairs(first_b)
    return groups.some(pc.invert(is_repeated)).pairs(first_b).with_more(_by_content(repeated, first_b, contents))


def _by_content(repeated: _Groups, first_b: int, contents: Contents) -> Pairs:
    """Rows whose keys others of their side have, too: the same contents first, the rest in order."""
    is_b = pc.greater_equal(repeated.rows, first_b)
    rows_a, rows_b = repeated.rows.filter(pc.invert(is_b)), pc.subtract(repeated.rows.filter(is_b), first_b)
    group_a, group_b = repeated.group.filter(pc.invert(is_b)), repeated.group.filter(is_b)
    content_a, content_b = contents(rows_a, rows_b)
    same = paired([group_a, content_a], [group_b, content_b])
    rest = paired([group_a.take(same.only_a)], [group_b.take(same.only_b)]).of(same.only_a, same.only_b)
    return Pairs(same.a, same.b, NONE, NONE).with_more(rest).of(rows_a, rows_b)


def _whole(column: pa.ChunkedArray) -> pa.Array:
    return column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)
