"""Filters: which rows are wanted, in SQL's words.

A filter is the same for every command, for Python and for Spark. It is bound to the columns of a table, which checks
it, and then gives for each batch the rows that meet it.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.compute as pc

from thawline.filters.pushdown import Condition

__all__ = ["EVERY", "BadFilter", "Bound", "Condition", "Filter", "filter_of"]


class BadFilter(ValueError):
    """A filter that cannot be read, or that does not fit the columns of a table."""


@dataclass(frozen=True, slots=True)
class Bound:
    """A filter for the columns of one table."""

    columns: frozenset[str] = frozenset()
    """The columns that it looks at."""
    conditions: tuple[Condition, ...] = ()
    """Comparisons that each wanted row meets. Formats pass over units by them."""
    mask: Callable[[pa.RecordBatch], pa.Array] | None = field(default=None, compare=False)
    """Which rows of a batch are wanted; null where that is unknown. None if all are."""

    def matching(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The wanted rows; batches without one are left out."""
        if self.mask is None:
            yield from batches
            return
        for batch in batches:
            kept = self.kept(batch)
            if kept.num_rows:
                yield kept

    def kept(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """The wanted rows of a batch."""
        if self.mask is None:
            return batch
        mask = pc.fill_null(self.mask(batch), False)  # noqa: FBT003 - a value, not a flag
        return batch if mask.true_count == len(mask) else batch.filter(mask)


@dataclass(frozen=True, slots=True)
class Filter:
    """Expressions that a wanted row meets, all of them, and a pattern that occurs in its values."""

    expressions: tuple[str, ...] = ()
    """Boolean expressions of SQL, or `column=value`."""
    pattern: str = ""
    """A regular expression that matches in some text or bytes of the row."""
    zone: dt.tzinfo = dt.UTC
    """The zone of times that are written without one."""

    def __bool__(self) -> bool:
        """Whether it leaves out any row."""
        return bool(self.expressions or self.pattern)

    def check(self) -> None:
        """Raise `BadFilter` where it can be read for no table."""
        if not self:
            return
        from thawline.filters.patterns import check  # noqa: PLC0415 - a parser takes long to import
        from thawline.filters.reading import read  # noqa: PLC0415 - as above

        for expression in self.expressions:
            read(expression)
        check(self.pattern)

    def bound(self, schema: pa.Schema, table: str = "the table", given: Sequence[str] | None = None) -> Bound:
        """The filter for the columns of a table; `BadFilter` where it does not fit them.

        The pattern is looked for in the columns that are given; in all by default.

        >>> batch = pa.record_batch({"tag": [1, 2, 2], "name": ["a", "b", None]})
        >>> bound = Filter(("tag >= 2 and name like 'b%'",)).bound(batch.schema)
        >>> bound.kept(batch).to_pylist()
        [{'tag': 2, 'name': 'b'}]
        """
        if not self:
            return Bound()
        from thawline.filters.binding import bind  # noqa: PLC0415 - a parser takes long to import

        return bind(self, schema, table, schema.names if given is None else given)


EVERY = Filter()
"""The filter that every row meets."""


def filter_of(where: Filter | str | None) -> Filter:
    """A filter, from the text of one."""
    if isinstance(where, Filter):
        return where
    return Filter((where,)) if where else EVERY
