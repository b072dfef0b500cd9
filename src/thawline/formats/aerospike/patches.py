"""Stretches of a few entries each, of one kind and another and with broken ones between them, as a patch of the text.

A scan has its price, however few entries it is for. So a walk first goes over a patch, where kernels only tell how far
they read; then one scan for each table reads all of its stretches together, and what is in them is told in file order.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING

from thawline import native
from thawline.engine import columns
from thawline.engine.chunks import Break, Chunk, Places, Ranges
from thawline.formats.aerospike.choice import HEADS, Choice
from thawline.formats.aerospike.judging import ChosenRecords, Globals, Judge, Records, nested
from thawline.formats.aerospike.parts import Part
from thawline.formats.aerospike.rows import KERNELS
from thawline.formats.aerospike.soundness import LOOKED_AT, Soundness
from thawline.formats.aerospike.strictness import Found
from thawline.generated.kernels.tables import TABLES as READ
from thawline.model import Span

if TYPE_CHECKING:
    from thawline.engine.probes import Probe

LONGEST_STRETCH = 64
"""Entries of a stretch that is worth a scan of its own."""
MOST_ENTRIES, LARGEST_PATCH = 4096, 1 << 20
"""Stretches and broken entries of a patch, and its bytes, the entry that crosses them included."""
CHECKED = frozenset(
    {
        "namespace", "set", "digest", "key_letter", "key_integer", "key_double", "key_data", "key_is_compact",
        "expiration", "bins",
    }
)  # fmt: skip
"""Columns of records that are looked at; the kernel checks the others by itself."""


@cache
def probe(table: str) -> Probe:
    """What tells how far the kernel of a table reads; it needs the native module."""
    from thawline.engine import probes  # noqa: PLC0415 - as above

    return probes.Probe(READ[KERNELS[table]], LONGEST_STRETCH)


def reached(view: memoryview) -> int:
    """Up to where records come one behind the other that the kernel reads."""
    end = 0
    if native.is_compiled:
        found = probe("records")
        while rows := found.rows(view[end:]):
            end += found.ends[rows - 1]
        return end
    for item in columns.scan(KERNELS["records"], view, columns=()):
        end = item.start if isinstance(item, Break) else item.ends[-1].as_py()
    return end


@dataclass(frozen=True, slots=True)
class Stretch:
    """Entries of one table, one behind the other, that its kernel reads."""

    table: str
    first: int
    """How many rows of the table are before it in the patch."""
    rows: int
    span: Span
    nested_to: int
    """Up to where entries may be text inside of a record that is broken."""


Told = Callable[[Stretch], Iterator[Found]]
"""What is said of a stretch."""


@dataclass(slots=True)
class Patch:
    """What a walk has passed over, to be told afterwards."""

    view: memoryview
    base: int
    """Where in the text the view starts."""
    steps: list[Stretch | Iterator[Found]] = field(default_factory=list)
    rows: dict[str, int] = field(default_factory=dict)

    def is_full(self, position: int) -> bool:
        """Whether a walk that got as far should tell what it has seen."""
        return len(self.steps) >= MOST_ENTRIES or position - self.base >= LARGEST_PATCH

    def add(self, table: str, rows: int, span: Span, nested_to: int) -> None:
        """Take a stretch in."""
        first = self.rows.get(table, 0)
        self.steps.append(Stretch(table, first, rows, span, nested_to))
        self.rows[table] = first + rows

    def found(self, judge: Judge, quick: Soundness | None, choice: Choice | None = None) -> Iterator[Found]:
        """Everything that is said of the patch, in file order."""
        held: Part | None = None
        for item in self._found(judge, quick, choice):
            if held and isinstance(item, Part) and held.touches(item):
                held = held.with_next(item)
                continue
            if held:
                yield held
            held = item if isinstance(item, Part) else None
            if held is None:
                yield item
        if held:
            yield held

    def _found(self, judge: Judge, quick: Soundness | None, choice: Choice | None) -> Iterator[Found]:
        told: dict[str, Told] = {}
        for step in self.steps:
            if not isinstance(step, Stretch):
                yield from step
                continue
            if step.table not in told:
                told[step.table] = self._told(step.table, judge, quick, choice)
            yield from told[step.table](step)

    def _told(self, table: str, judge: Judge, quick: Soundness | None, choice: Choice | None) -> Told:
        if table == "records" and choice:
            heads = self._read(table, HEADS).moved(self.base)
            chosen = ChosenRecords(judge, choice, heads, self.view, self.base)
            return lambda it: chosen.found(it.first, it.first + it.rows, it.nested_to)
        if table == "records" and quick and (sound := self._sound(quick)):
            return sound
        chunk = self._read(table, CHECKED if quick and table == "records" else None).moved(self.base)
        if table == "records":
            records = Records(judge, chunk, self.view, self.base)
            return lambda it: records.found(it.first, it.first + it.rows, it.nested_to)
        others = Globals(judge, table, chunk, self.view, self.base)
        return lambda it: others.found(it.first, it.first + it.rows, it.nested_to)

    def _sound(self, quick: Soundness) -> Told | None:
        """What is said of records if all of them are intact beyond doubt."""
        ranges, size = self._ranges("records"), len(self.view) + 1
        found = next(columns.places(KERNELS["records"], self.view, LOOKED_AT, self.rows["records"], size, ranges))
        if not isinstance(found, Places) or not quick.holds(self.view, found):
            return None
        kept = quick.kept(self.view, found)

        def told(it: Stretch) -> Iterator[Found]:
            content = kept.rows(it.first, it.rows) if kept else None
            yield Part(it.span, it.rows, "records", content, 0, nested(it.span, it.nested_to))

        return told

    def _read(self, table: str, names: frozenset[str] | None) -> Chunk:
        ranges, rows = self._ranges(table), self.rows[table]
        item = next(
            columns.scan(KERNELS[table], self.view, ranges, columns=names, max_rows=rows, max_bytes=len(self.view) + 1)
        )
        if isinstance(item, Break) or len(item) != rows:
            raise AssertionError(f"{table}: a kernel reads what it has read before")
        return item

    def _ranges(self, table: str) -> Ranges:
        spans = [step.span for step in self.steps if isinstance(step, Stretch) and step.table == table]
        starts, ends = (
            array("q", (at - self.base for at in found))
            for found in zip(*((s.start, s.end) for s in spans), strict=True)
        )
        return Ranges(starts, ends, array("q", [-1]) * len(starts))
