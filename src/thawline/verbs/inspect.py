"""Inspect: the fields of one unit or one damaged stretch of a file, byte by byte."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import chain, pairwise
from typing import TYPE_CHECKING, Any

from thawline import checksums, specs
from thawline.engine import columns
from thawline.engine.chunks import Chunk, Ranges
from thawline.errors import FormatError
from thawline.formats.contract import Containing, Traced
from thawline.generated.kernels.tables import TABLES
from thawline.model import Finding, Run, Span
from thawline.tracing import MAX_FIELDS, Field, Trace, trace
from thawline.verbs.contents import Inside, inside
from thawline.verbs.stretches import Stretch, grouped_fields, name_of, shown_value, value_of
from thawline.verbs.verify import verify
from thawline.wording import counted, grouped

if TYPE_CHECKING:
    from thawline.verbs.opened import OpenFile

LONGEST_UNIT = 64 << 20
"""Fields are read from at most this many bytes, which takes about four times as much memory. A longer unit shows the
fields that fit."""
RAW_ROWS = 64
"""At most this many rows are shown of a stretch that is no field."""
MOST_SEPARATORS = 1_024
SUSPECT_COLUMNS = ("nested_suspect", "suspect")
"""The names that tables have for the column that marks suspects."""


@dataclass(frozen=True, slots=True)
class Inspection:
    """A unit or a damaged stretch of a file, field by field."""

    cold: OpenFile
    title: str
    """Its description, such as `frame 3`."""
    span: Span
    stretches: tuple[Stretch, ...]
    """Its bytes in file order, with the separators around them."""
    notes: tuple[str, ...]
    inside: Inside | None
    """The records in the unit, if its kind has records with fields of their own."""
    focus: int | None
    """The requested byte, if one was."""


def inspect(
    cold: OpenFile,
    *,
    at: int | None = None,
    unit: int | None = None,
    finding: int | None = None,
    spec_names: bool = False,
) -> Inspection:
    """The fields of a unit, of a finding, or of the unit or damage around byte `at`.

    Units are counted from 0, findings from 1 as `verify` lists them. By default the first damage of the file is shown,
    or its first unit if it has no damage. With `spec_names`, fields have the names of the format's own document. Raises
    `ValueError` if no such byte, unit or finding exists; bytes of any damage can be shown.
    """
    if sum(choice is not None for choice in (at, unit, finding)) > 1:
        raise ValueError("at, unit and finding exclude each other")
    if at is not None:
        target = _at(cold, at)
    elif unit is not None:
        target = _unit(cold, unit)
    elif finding is not None:
        target = _finding(cold, finding)
    else:
        target = _first(cold)
    view = _View(cold, target, spec_names=spec_names)
    stretches = tuple(view.stretches())
    span = target.span if target.span.size else Span(target.before.start, target.end)
    content = cold.kind.content(cold.source, target.span) if isinstance(cold.kind, Containing) else None
    records = inside(content, cold.source, spec_names=spec_names) if content else None
    notes = (*view.notes, *_values(cold, target))
    return Inspection(cold, target.title, span, stretches, notes, records, at)


def inspect_finding(cold: OpenFile, number: int, finding: Finding, longest: int = 64 << 10) -> Iterator[Stretch]:
    """The bytes of a finding that a report has told: the file is not walked again, and at most `longest` are traced."""
    span = finding.span
    target = _Target(f"finding {number}", span, Span(span.start, span.start), span.end, finding)
    return _View(cold, target, spec_names=False, longest=longest).stretches()


def _values(cold: OpenFile, target: _Target) -> Iterator[str]:
    """The columns of a unit, where no parser gives the positions of fields: for a spec compiled at run time."""
    is_shown = isinstance(cold.kind, Traced) or specs.has_structure(cold.kind.spec_at(cold.source, target.span.start))
    if target.finding or is_shown:
        return
    unit = Run(target.span, 1, 1)
    for item in cold.kind.rows(cold.source, [unit] if target.span.size else [], cold.table, cold.schema.names):
        for batch in () if isinstance(item, Finding) else item[1]:
            yield from (f"{name}: {shown_value(value)}" for row in batch.to_pylist() for name, value in row.items())


@dataclass(frozen=True, slots=True)
class _Target:
    """The bytes to show: a unit or a finding's stretch, and the separators around it."""

    title: str
    span: Span
    before: Span
    end: int
    """The end of the separator that follows a unit."""
    finding: Finding | None = None
    """The finding whose bytes these are."""

    def objection(self, start: int, end: int) -> str:
        """What the finding says of bytes in which the place lies that it names; a rule need not be one of the spec."""
        at = self.finding.detail.get("at") if self.finding else None
        if self.finding is None or not isinstance(at, int) or not start <= at < end:
            return ""
        return str(self.finding.detail.get("reason") or self.finding.message)


@dataclass(frozen=True, slots=True)
class _Item:
    """An item of a scan, the item before it, and the numbers of units and findings before it."""

    item: Run | Finding
    previous: Run | Finding | None
    units: int
    findings: int

    @property
    def units_after(self) -> int:
        """The number of units up to its end."""
        return self.units + (self.item.units if isinstance(self.item, Run) else 0)


def _items(cold: OpenFile) -> Iterator[_Item]:
    previous: Run | Finding | None = None
    units = findings = 0
    for item in cold.scan():
        placed = _Item(item, previous, units, findings)
        yield placed
        previous, units = item, placed.units_after
        findings += isinstance(item, Finding)


def _at(cold: OpenFile, at: int) -> _Target:
    if not 0 <= at < cold.size:
        raise ValueError(f"{cold.name}: there is no byte {at:#x}; the file has {counted(cold.size, 'byte')}")
    placed = next(placed for placed in _items(cold) if at in placed.item.span)
    # A separator belongs to the unit before it, or to the first unit if it comes before all units.
    return _target(cold, placed, lambda _, following: at < following)


def _unit(cold: OpenFile, number: int) -> _Target:
    placed = next((placed for placed in _items(cold) if placed.units <= number < placed.units_after), None)
    if placed is None:
        name, count = cold.unit_name, verify(cold).units
        has = f"the file has {counted(count, name)}, counted from 0"
        raise ValueError(f"{cold.name}: there is no {name} {number}; {has}")
    before = placed.units
    return _target(cold, placed, lambda index, _: before + index == number)


def _finding(cold: OpenFile, number: int) -> _Target:
    findings = (placed for placed in _items(cold) if isinstance(placed.item, Finding))
    placed = next((placed for placed in findings if placed.findings + 1 == number), None)
    if placed is None:
        has = f"the file has {counted(len(verify(cold).findings), 'finding')}, counted from 1"
        raise ValueError(f"{cold.name}: there is no finding {number}; {has}")
    return _target(cold, placed)


def _first(cold: OpenFile) -> _Target:
    """The first damage, else the first unit, else the first item of the file."""
    unit = anything = None
    for placed in _items(cold):
        if isinstance(placed.item, Finding) and placed.item.severity == "error":
            return _target(cold, placed)
        if isinstance(placed.item, Run) and placed.item.units:
            unit = unit or placed
        anything = anything or placed
    best = unit or anything
    return _target(cold, best) if best else _Target("empty", Span(0, 0), Span(0, 0), 0)


def _target(cold: OpenFile, placed: _Item, is_wanted: Callable[[int, int], bool] = lambda *_: True) -> _Target:
    if isinstance(placed.item, Run):
        return _unit_target(cold, placed, placed.item, is_wanted)
    start = placed.item.span.start
    before = _last_separator(cold, placed.previous) if isinstance(placed.previous, Run) else Span(start, start)
    title = f"finding {placed.findings + 1}: {placed.item.code.id} {placed.item.message}"
    return _Target(title, placed.item.span, before, placed.item.span.end, placed.item)


def _unit_target(cold: OpenFile, placed: _Item, run: Run, is_wanted: Callable[[int, int], bool]) -> _Target:
    """The first wanted unit of a run; `is_wanted` gets its index in the run and the start of the next unit.

    Bytes of a run between its units are separators.
    """
    name = cold.unit_name
    previous = run.span.start
    units = cold.kind.units(cold.source, run) if run.units else iter(())
    for index, (unit, following) in enumerate(pairwise(chain(units, [Span(run.span.end, run.span.end)]))):
        if is_wanted(index, following.start):
            marks = [mark.replace("_", " ") for mark in SUSPECT_COLUMNS if run.suspect and mark in cold.schema.names]
            title = ", ".join([f"{name} {placed.units + index}", *marks])
            return _Target(title, unit, Span(previous, unit.start), following.start)
        previous = unit.end
    return _Target(f"no {name}", Span(run.span.end, run.span.end), run.span, run.span.end)


def _last_separator(cold: OpenFile, run: Run) -> Span:
    end = run.span.start
    for unit in cold.kind.units(cold.source, run) if run.units else ():
        end = unit.end
    return Span(end, run.span.end)


class _View:
    """A target as stretches of bytes: separators, fields, and what no field covers."""

    def __init__(self, cold: OpenFile, target: _Target, *, spec_names: bool, longest: int = 0) -> None:
        self.cold, self.target, self.spec_names = cold, target, spec_names
        self.longest = longest or LONGEST_UNIT
        self.notes: list[str] = []
        unit = cold.kind.spec_at(cold.source, target.span.start)
        self.unit = unit
        # The table whose rows are the units: of the unit's spec, or of a spec that adds the separator after it.
        rows = [table for table in TABLES.values() if table.spec == unit]
        rows += [table for table in TABLES.values() if any(failure.spec == unit for failure in table.failures)]
        self.table = rows[0] if rows else None
        self.spec = self.table.spec if self.table else unit
        self.holder = self.separator = ""
        if self.spec != unit:
            self.holder, *_, self.separator = specs.structure(self.spec).SEQ_FIELDS

    def stretches(self) -> Iterator[Stretch]:
        """The stretches of the target, in file order."""
        if isinstance(self.cold.kind, Traced):
            yield from self._fields(self._traced_from(self.cold.kind.context))
            return
        target, start = self.target, self._after_separators()
        separator = self.separator or "separator"
        for stretch in (target.before, Span(target.span.start, start)):
            if stretch.size:
                yield Stretch(stretch.start, stretch.end, separator, role="separator", rows=RAW_ROWS)
        if start == 0 and self.separator and target.end:
            # A file with separators starts with a separator, so damage at its first byte is no unit.
            yield Stretch(0, target.end, f"no {separator}", role="unread", rows=RAW_ROWS)
        elif start < target.end:
            yield from self._fields(start)

    def _traced_from(self, context: int) -> int:
        """Where the fields start that are shown: for damage, a little before it."""
        target = self.target
        if target.finding is not None:
            return max(target.before.start, target.span.start - context)
        return target.span.start if target.span.size else target.before.start

    def _after_separators(self) -> int:
        """The position after the separators at the start of a damaged stretch."""
        start, before = self.target.span.start, self.target.before
        if self.target.finding is None or not before.size:
            return start
        view = self.cold.source.view
        separator = bytes(view(before.start, before.end))
        data = bytes(view(start, min(self.target.end, start + MOST_SEPARATORS * len(separator))))
        count = 0
        while data.startswith(separator, count * len(separator)):
            count += 1
        return start + count * len(separator)

    def _fields(self, start: int) -> Iterator[Stretch]:
        """The fields from here on, and the bytes between and after them that no field covers."""
        data, traced = self._traced(Span(start, self.target.end), may_grow=self.target.finding is not None)
        unit, position, failing = _Unit(self, start, data, traced), start, traced.failing
        for number, group in enumerate(grouped_fields(traced.leaves)):
            stretch = unit.stretch(group)
            if position < stretch.start:
                yield _unread(position, stretch.start)
            reason = "" if traced.failing else self.target.objection(stretch.start, stretch.end)
            if failing and any(field.keys[: len(failing.keys)] == failing.keys for field in group):
                # If a structure failed as a whole, its first field is marked.
                reason, failing = f"{failing.reason} ({failing.spec}: {failing.path})", None
            yield replace(stretch, number=number, reason=reason)
            position = max(position, stretch.end)
        if position < self.target.end:
            yield _unread(position, self.target.end)
        self._add_notes(traced, position)

    def _add_notes(self, traced: Trace, end: int) -> None:
        if traced.is_cut:
            self.notes.append(f"there are more fields than the {grouped(MAX_FIELDS)} that are listed")
        if end > self.target.end:
            self.notes.append(f"what starts here claims bytes up to {end:#x}, beyond the finding")

    def _traced(self, span: Span, *, may_grow: bool) -> tuple[bytes, Trace]:
        """The fields from here on; damage that claims bytes after its stretch is traced with them."""
        end = min(span.end, span.start + self.longest)
        data = bytes(self.cold.source.view(span.start, end))
        kind = self.cold.kind
        if isinstance(kind, Traced):
            return data, kind.trace(self.cold.source, Span(span.start, end))
        traced = trace(self.spec, data)
        if traced.is_truncated and may_grow and span.end < self.cold.size:
            return self._traced(Span(span.start, self.cold.size), may_grow=False)
        if traced.is_truncated and end < span.end:
            traced = replace(traced, fields=tuple(self._too_long(field, span.start) for field in traced.fields))
        return data, traced

    def _too_long(self, field: Field, start: int) -> Field:
        """A field that exceeds the bytes that are read, with that as the reason: the file is not too short."""
        if not field.reason:
            return field
        reason = f"needs more than the {grouped(self.longest)} bytes that are read to show fields"
        return replace(field, reason=reason, end=max(self.target.end - start, field.start))


class _Unit:
    """A traced unit: its fields for display, with notes on checksums and lengths."""

    def __init__(self, view: _View, start: int, data: bytes, traced: Trace) -> None:
        self.view, self.start, self.data = view, start, data
        self.structures = {field.keys: field for field in traced.fields if not field.is_leaf}
        unit = self.structures.get((view.holder,))
        self.end = unit.end if unit else traced.end
        """The end of the unit itself, in the data."""
        # The end of a failed unit comes from a length field; it is trusted only if the damage ends there, too.
        ends = {view.target.end, view.target.end - view.target.before.size}
        is_whole = not traced.failing or traced.failing.keys == (view.separator,)
        self.is_end_known = is_whole or start + self.end in ends

    def stretch(self, group: list[Field]) -> Stretch:
        """A field, or bit fields that share bytes, under the name of their structure."""
        field, limit = group[0], self.view.cold.size  # an instance may point beyond the end of the file
        start = min(self.start + field.start, limit)
        end = min(self.start + max(bits.end for bits in group), limit)
        if len(group) > 1:
            value = ", ".join(f"{self._name(bits)} {value_of(bits)}" for bits in group)
            above = self.structures.get(field.keys[:-1])
            return Stretch(start, end, self._label(above) if above else ".".join(field.keys[:-1]) or "bits", value)
        if field.keys == (self.view.separator,) and not field.reason:
            return Stretch(start, end, self._label(field), role="separator")
        return Stretch(start, end, self._label(field), value_of(field), self._note(field))

    def _name(self, field: Field) -> str:
        return name_of(field, spec_names=self.view.spec_names)

    def _label(self, field: Field) -> str:
        above, dot, _ = field.label.removeprefix(f"{self.view.holder}.").rpartition(".")
        return above + dot + self._name(field)

    def _is_checksum(self, field: Field) -> bool:
        table = self.view.table
        if table is None or table.checksum is None:
            return False
        stored: tuple[str, ...] = {it.name: it.attributes for it in table.columns}[table.checksum.column]
        return field.keys == stored

    def _note(self, field: Field) -> str:
        """Whether a checksum is valid; for a length that gives the unit's end, that position."""
        if field.reason or not isinstance(field.value, int):
            return ""
        if self._is_checksum(field):
            computed = self._computed()
            return "" if computed is None else _compared(field.value, computed)
        is_length = field.name.startswith("len_") and self.end in {field.value, field.end + field.value}
        return f"-> {self.start + self.end:#x}" if is_length and self.is_end_known else ""

    def _computed(self) -> int | None:
        """The computed checksum of the unit; None if the unit cannot be read."""
        table = self.view.table
        if table is None or table.checksum is None:
            return None
        stored = (table.checksum.column,)
        row = next(columns.scan(table.name, self.data, Ranges.of([(0, len(self.data), 1)]), columns=stored))
        if isinstance(row, Chunk) and row.checksums:
            return int(row.checksums[0].as_py())
        # The unit may be intact and the separator after it broken.
        try:
            covered: Any = specs.parse(self.view.unit, self.data)
            for name in table.checksum.attributes[bool(self.view.holder) :]:
                covered = getattr(covered, name)
        except FormatError:
            return None
        return int(getattr(checksums, table.checksum.algorithm)(covered))


def _unread(start: int, end: int) -> Stretch:
    return Stretch(start, end, f"{counted(end - start, 'byte')} in no field", role="unread", rows=RAW_ROWS)


def _compared(stored: object, computed: int) -> str:
    return "valid" if stored == computed else f"invalid; computed {computed:#010x}"
