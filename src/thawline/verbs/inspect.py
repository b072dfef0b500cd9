"""inspect: which byte is which field, of one unit of a file or of one damaged stretch."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import chain, pairwise
from typing import Any

from thawline import checksums, specs
from thawline.cold import ColdFile
from thawline.engine import columns
from thawline.engine.chunks import Chunk, Ranges
from thawline.errors import FormatError
from thawline.formats.contract import Containing
from thawline.generated.kernels.tables import TABLES
from thawline.model import Finding, Run, Span
from thawline.tracing import MAX_FIELDS, Field, Trace, trace
from thawline.verbs.contents import Inside, inside
from thawline.verbs.stretches import Stretch, grouped_fields, name_of, shown_value, value_of
from thawline.wording import counted, grouped

LONGEST_UNIT = 64 << 20
"""Fields are read from this many bytes, which takes some four times as much memory; of a longer unit those before the
one that does not fit."""
RAW_ROWS = 64
"""Rows that are shown of a stretch that is no field."""
MOST_SEPARATORS = 1_024
SUSPECT_COLUMNS = ("nested_suspect", "suspect")
"""What tables call the column that marks suspects."""


@dataclass(frozen=True, slots=True)
class Inspection:
    """A unit or a damaged stretch of a file, field by field."""

    cold: ColdFile
    title: str
    """What it is, such as `frame 3`."""
    span: Span
    stretches: tuple[Stretch, ...]
    """Its bytes in file order, with the separators around them."""
    notes: tuple[str, ...]
    inside: Inside | None
    """The records that a unit holds, where the format knows of such."""
    focus: int | None
    """The byte that was named, if one was."""


def inspect(
    cold: ColdFile,
    *,
    at: int | None = None,
    unit: int | None = None,
    finding: int | None = None,
    spec_names: bool = False,
) -> Inspection:
    """The fields of the unit or the damage around byte `at`, of a unit, or of a finding.

    Units are counted from 0, findings from 1 as `verify` lists them. Without any of the three it is the first damage
    of the file, and where there is none its first unit. With `spec_names`, fields have the names that the format's own
    document gives them. `ValueError` if there is no such byte, unit or finding; no bytes are too broken to be shown.
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
    held = inside(content, cold.source, spec_names=spec_names) if content else None
    notes = (*view.notes, *_values(cold, target))
    return Inspection(cold, target.title, span, stretches, notes, held, at)


def _values(cold: ColdFile, target: _Target) -> Iterator[str]:
    """The columns of a unit, where no parser tells which byte is which field: those of a spec compiled at run time."""
    if target.is_finding or specs.has_structure(cold.kind.spec_at(cold.source, target.span.start)):
        return
    unit = Run(target.span, 1, 1)
    for item in cold.kind.rows(cold.source, [unit] if target.span.size else [], cold.table, cold.schema.names):
        for batch in () if isinstance(item, Finding) else item[1]:
            yield from (f"{name}: {shown_value(value)}" for row in batch.to_pylist() for name, value in row.items())


# Which bytes.


@dataclass(frozen=True, slots=True)
class _Target:
    """What is shown: a unit or a finding's stretch, and the separators around it."""

    title: str
    span: Span
    before: Span
    end: int
    """Behind the separator that follows a unit."""
    is_finding: bool = False


@dataclass(frozen=True, slots=True)
class _Item:
    """An item of a scan, the one before it, and how many units and findings there are before it."""

    item: Run | Finding
    previous: Run | Finding | None
    units: int
    findings: int

    @property
    def units_behind(self) -> int:
        """How many units there are up to its end."""
        return self.units + (self.item.units if isinstance(self.item, Run) else 0)


def _items(cold: ColdFile) -> Iterator[_Item]:
    previous: Run | Finding | None = None
    units = findings = 0
    for item in cold.scan():
        found = _Item(item, previous, units, findings)
        yield found
        previous, units = item, found.units_behind
        findings += isinstance(item, Finding)


def _at(cold: ColdFile, at: int) -> _Target:
    if not 0 <= at < cold.size:
        raise ValueError(f"{cold.name}: there is no byte {at:#x}; the file has {counted(cold.size, 'byte')}")
    found = next(found for found in _items(cold) if at in found.item.span)
    # A separator goes with the unit before it, or with the first unit where there is none before it.
    return _target(cold, found, lambda _, following: at < following)


def _unit(cold: ColdFile, number: int) -> _Target:
    found = next((found for found in _items(cold) if found.units <= number < found.units_behind), None)
    if found is None:
        name, count = cold.unit_name, cold.verify().units
        has = f"the file has {counted(count, name)}, counted from 0"
        raise ValueError(f"{cold.name}: there is no {name} {number}; {has}")
    before = found.units
    return _target(cold, found, lambda index, _: before + index == number)


def _finding(cold: ColdFile, number: int) -> _Target:
    findings = (found for found in _items(cold) if isinstance(found.item, Finding))
    found = next((found for found in findings if found.findings + 1 == number), None)
    if found is None:
        has = f"the file has {counted(len(cold.verify().findings), 'finding')}, counted from 1"
        raise ValueError(f"{cold.name}: there is no finding {number}; {has}")
    return _target(cold, found)


def _first(cold: ColdFile) -> _Target:
    """The first damage, else the first unit, else whatever the file starts with."""
    unit = anything = None
    for found in _items(cold):
        if isinstance(found.item, Finding) and found.item.severity == "error":
            return _target(cold, found)
        if isinstance(found.item, Run) and found.item.units:
            unit = unit or found
        anything = anything or found
    best = unit or anything
    return _target(cold, best) if best else _Target("empty", Span(0, 0), Span(0, 0), 0)


def _target(cold: ColdFile, found: _Item, is_wanted: Callable[[int, int], bool] = lambda *_: True) -> _Target:
    if isinstance(found.item, Run):
        return _unit_target(cold, found, found.item, is_wanted)
    start = found.item.span.start
    before = _last_separator(cold, found.previous) if isinstance(found.previous, Run) else Span(start, start)
    title = f"finding {found.findings + 1}: {found.item.code.id} {found.item.message}"
    return _Target(title, found.item.span, before, found.item.span.end, is_finding=True)


def _unit_target(cold: ColdFile, found: _Item, run: Run, is_wanted: Callable[[int, int], bool]) -> _Target:
    """The first unit of a run that is wanted, by its index in the run and by where the next unit starts.

    What a run holds besides its units are separators.
    """
    name = cold.unit_name
    previous = run.span.start
    units = cold.kind.units(cold.source, run) if run.units else iter(())
    for index, (unit, following) in enumerate(pairwise(chain(units, [Span(run.span.end, run.span.end)]))):
        if is_wanted(index, following.start):
            marks = [mark.replace("_", " ") for mark in SUSPECT_COLUMNS if run.suspect and mark in cold.schema.names]
            title = ", ".join([f"{name} {found.units + index}", *marks])
            return _Target(title, unit, Span(previous, unit.start), following.start)
        previous = unit.end
    return _Target(f"no {name}", Span(run.span.end, run.span.end), run.span, run.span.end)


def _last_separator(cold: ColdFile, run: Run) -> Span:
    end = run.span.start
    for unit in cold.kind.units(cold.source, run) if run.units else ():
        end = unit.end
    return Span(end, run.span.end)


# What they are.


class _View:
    """A target as stretches of bytes that each are one thing."""

    def __init__(self, cold: ColdFile, target: _Target, *, spec_names: bool) -> None:
        self.cold, self.target, self.spec_names = cold, target, spec_names
        self.notes: list[str] = []
        unit = cold.kind.spec_at(cold.source, target.span.start)
        self.unit = unit
        # The table whose rows are the units: rows of the unit's spec, or of one that adds the separator behind it.
        rows = [table for table in TABLES.values() if table.spec == unit]
        rows += [table for table in TABLES.values() if any(failure.spec == unit for failure in table.failures)]
        self.table = rows[0] if rows else None
        self.spec = self.table.spec if self.table else unit
        self.holder = self.separator = ""
        if self.spec != unit:
            self.holder, *_, self.separator = specs.structure(self.spec).SEQ_FIELDS

    def stretches(self) -> Iterator[Stretch]:
        """What is shown, in file order."""
        target, start = self.target, self._behind_separators()
        separator = self.separator or "separator"
        for stretch in (target.before, Span(target.span.start, start)):
            if stretch.size:
                yield Stretch(stretch.start, stretch.end, separator, role="separator", rows=RAW_ROWS)
        if start == 0 and self.separator and target.end:
            # A file of units with separators starts with one of those, so what is wrong at its first byte is no unit.
            yield Stretch(0, target.end, f"no {separator}", role="unread", rows=RAW_ROWS)
        elif start < target.end:
            yield from self._fields(start)

    def _behind_separators(self) -> int:
        """Where a damaged stretch goes on behind the separators that it starts with."""
        start, before = self.target.span.start, self.target.before
        if not (self.target.is_finding and before.size):
            return start
        view = self.cold.source.view
        separator = bytes(view(before.start, before.end))
        data = bytes(view(start, min(self.target.end, start + MOST_SEPARATORS * len(separator))))
        count = 0
        while data.startswith(separator, count * len(separator)):
            count += 1
        return start + count * len(separator)

    def _fields(self, start: int) -> Iterator[Stretch]:
        """The fields of what starts here, and between and behind them what lies in no field."""
        data, found = self._traced(Span(start, self.target.end), may_grow=self.target.is_finding)
        unit, position, failing = _Unit(self, start, data, found), start, found.failing
        for number, group in enumerate(grouped_fields(found.leaves)):
            stretch = unit.stretch(group)
            if position < stretch.start:
                yield _unread(position, stretch.start)
            reason = ""
            if failing and any(field.keys[: len(failing.keys)] == failing.keys for field in group):
                # Of a structure that failed as a whole, its first field is marked.
                reason, failing = f"{failing.reason} ({failing.spec}: {failing.path})", None
            yield replace(stretch, number=number, reason=reason)
            position = max(position, stretch.end)
        if position < self.target.end:
            yield _unread(position, self.target.end)
        self._remark(found, position)

    def _remark(self, found: Trace, end: int) -> None:
        if found.is_cut:
            self.notes.append(f"there are more fields than the {grouped(MAX_FIELDS)} that are listed")
        if end > self.target.end:
            self.notes.append(f"what starts here claims bytes up to {end:#x}, behind the finding")

    def _traced(self, span: Span, *, may_grow: bool) -> tuple[bytes, Trace]:
        """The fields of what starts here; of damage also with the bytes behind its stretch, if it claims them."""
        end = min(span.end, span.start + LONGEST_UNIT)
        data = bytes(self.cold.source.view(span.start, end))
        found = trace(self.spec, data)
        if found.is_truncated and may_grow and span.end < self.cold.size:
            return self._traced(Span(span.start, self.cold.size), may_grow=False)
        if found.is_truncated and end < span.end:
            found = replace(found, fields=tuple(self._too_long(field, span.start) for field in found.fields))
        return data, found

    def _too_long(self, field: Field, start: int) -> Field:
        """The field that does not fit into what is read: not the file is too short for it."""
        if not field.reason:
            return field
        reason = f"needs more than the {grouped(LONGEST_UNIT)} bytes that are read to show fields"
        return replace(field, reason=reason, end=max(self.target.end - start, field.start))


class _Unit:
    """A traced unit: its fields as a person reads them, with what can be said about their values."""

    def __init__(self, view: _View, start: int, data: bytes, found: Trace) -> None:
        self.view, self.start, self.data = view, start, data
        self.structures = {field.keys: field for field in found.fields if not field.is_leaf}
        unit = self.structures.get((view.holder,))
        self.end = unit.end if unit else found.end
        """Where the unit itself ends, in the data."""
        # In a unit that failed, its end is what a length says; where the damage ends tells whether to believe it.
        ends = {view.target.end, view.target.end - view.target.before.size}
        is_whole = not found.failing or found.failing.keys == (view.separator,)
        self.is_end_known = is_whole or start + self.end in ends

    def stretch(self, group: list[Field]) -> Stretch:
        """A field, or bit fields that share their bytes under the name of what holds them."""
        field, limit = group[0], self.view.cold.size  # an instance may have been looked for behind the end of the file
        start = min(self.start + field.start, limit)
        end = min(self.start + max(bits.end for bits in group), limit)
        if len(group) > 1:
            value = ", ".join(f"{self._name(bits)} {value_of(bits)}" for bits in group)
            return Stretch(start, end, self._label(self.structures[field.keys[:-1]]), value)
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
        """Whether a checksum is right, or where a length leads if that is the end of the unit."""
        if field.reason or not isinstance(field.value, int):
            return ""
        if self._is_checksum(field):
            computed = self._computed()
            return "" if computed is None else _compared(field.value, computed)
        is_length = field.name.startswith("len_") and self.end in {field.value, field.end + field.value}
        return f"-> {self.start + self.end:#x}" if is_length and self.is_end_known else ""

    def _computed(self) -> int | None:
        """What the checksum of the unit should be; None if the unit cannot be read."""
        table = self.view.table
        if table is None or table.checksum is None:
            return None
        stored = (table.checksum.column,)
        row = next(columns.scan(table.name, self.data, Ranges.of([(0, len(self.data), 1)]), columns=stored))
        if isinstance(row, Chunk) and row.checksums:
            return int(row.checksums[0].as_py())
        # The unit may be whole and the separator behind it not.
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
