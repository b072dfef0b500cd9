"""What the owner of a format asks first of a file: from where to where, which codecs, how many producers, which gaps.

A kind declares what to ask of one of its tables (`contract.Overview`). The answers are a fold over its batches, in
bounded memory.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from thawline.formats.contract import Ask, Overview
from thawline.values import listed

MOST_VALUES = 10_000
"""Different values are counted up to this number."""
SHOWN = 10


class Answers:
    """The answers to the questions of an overview, as far as batches were added."""

    def __init__(self, overview: Overview) -> None:
        self._answers = [ANSWERS[ask.kind](ask) for ask in overview.asks]

    def add(self, batch: pa.RecordBatch) -> None:
        """Take in some rows."""
        if batch.num_rows:
            for answer in self._answers:
                answer.add(batch)

    def facts(self) -> dict[str, Any]:
        """The answers by their names; a question without an answer is left out."""
        return {answer.ask.name: told for answer in self._answers if (told := answer.told()) is not None}


class _Answer:
    def __init__(self, ask: Ask) -> None:
        self.ask = ask

    def add(self, batch: pa.RecordBatch) -> None:
        raise NotImplementedError

    def told(self) -> Any:
        raise NotImplementedError


class _Range(_Answer):
    """The least value of the first column, and the greatest one of the last."""

    def __init__(self, ask: Ask) -> None:
        super().__init__(ask)
        self.ends: pa.Array | None = None

    def add(self, batch: pa.RecordBatch) -> None:
        first, last = (batch.column(self.ask.columns[place]) for place in (0, -1))
        known, kind = self.ends, first.type
        if pa.types.is_timestamp(kind):
            first, last = first.view(pa.int64()), last.view(pa.int64())
            known = None if known is None else known.view(pa.int64())
        if known is not None:
            first = pa.concat_arrays([first, known.slice(0, 1)])
            last = pa.concat_arrays([last, known.slice(1)])
        ends = pa.array([pc.min(first).as_py(), pc.max(last).as_py()], first.type)
        self.ends = ends.view(kind) if pa.types.is_timestamp(kind) else ends

    def told(self) -> dict[str, Any] | None:
        if self.ends is None or self.ends.null_count:
            return None
        shown = listed(pa.record_batch({"ends": self.ends}), "auto")["ends"]
        return dict(zip(("from", "to"), shown, strict=True))


class _Values(_Answer):
    """How often each value occurs, the most frequent ones first."""

    def __init__(self, ask: Ask) -> None:
        super().__init__(ask)
        self.found: Counter[Any] = Counter()

    def add(self, batch: pa.RecordBatch) -> None:
        column = batch.column(self.ask.columns[0])
        counts = pc.value_counts(column.drop_null())
        for value, count in zip(counts.field(0).to_pylist(), counts.field(1).to_pylist(), strict=True):
            if str(value) not in self.ask.usual and (value in self.found or len(self.found) < MOST_VALUES):
                self.found[value] += count

    def told(self) -> dict[str, int] | None:
        return {str(value): count for value, count in self.found.most_common(SHOWN)} or None


class _Distinct(_Values):
    """The number of different values, or the largest number that is counted."""

    def told(self) -> Any:
        return {"at least": MOST_VALUES} if len(self.found) == MOST_VALUES else len(self.found) or None


class _Sum(_Answer):
    """The sum of a column."""

    sum = 0

    def add(self, batch: pa.RecordBatch) -> None:
        self.sum += int(pc.sum(batch.column(self.ask.columns[0])).as_py() or 0)

    def told(self) -> int | None:
        return self.sum


class _Gaps(_Answer):
    """How many numbers are missing between the last of one row and the first of the next, and in how many places."""

    last: int | None = None
    missing = places = 0

    def add(self, batch: pa.RecordBatch) -> None:
        first, last = (batch.column(name) for name in self.ask.columns)
        known = pc.and_(first.is_valid(), last.is_valid())
        first, last = first.filter(known), last.filter(known)
        if not len(first):
            return
        before = pa.concat_arrays([pa.array([self.last], last.type), last.slice(0, len(last) - 1)])
        steps = pc.subtract(pc.subtract(first, before), 1)
        gaps = steps.filter(pc.fill_null(pc.greater(steps, 0), fill_value=False))
        self.places += len(gaps)
        self.missing += int(pc.sum(gaps).as_py() or 0)
        self.last = last[-1].as_py()

    def told(self) -> dict[str, int] | None:
        return None if self.last is None else {"places": self.places, "missing": self.missing}


ANSWERS: dict[str, type[_Answer]] = {
    "range": _Range,
    "values": _Values,
    "distinct": _Distinct,
    "sum": _Sum,
    "gaps": _Gaps,
}
"""What answers each kind of question."""


def columns_of(overview: Overview) -> set[str]:
    """The columns that the questions are about."""
    return {name for ask in overview.asks for name in ask.columns}
