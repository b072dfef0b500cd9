"""A format from its spec alone: a self-delimiting unit, what it is found by after damage, a checksum to prove it.

>>> from thawline.formats.registry import FORMATS
>>> "mylog" in FORMATS
False

`registry.declare("mylog.ksy")` adds one. What a spec cannot express (nesting, transactions, the meaning of a folder)
needs a package of its own in `formats`, which uses what is here and overrides what it knows better.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Protocol

import pyarrow as pa
import pyarrow.compute as pc

from thawline.engine import columns as engine
from thawline.engine.chunks import Break, Chunk, Ranges, schema_of
from thawline.engine.starts import Starts
from thawline.engine.tables import Sync
from thawline.engine.tables import Table as Layout
from thawline.errors import SourceError
from thawline.formats.contract import Claim, Depth, Format, Kind, Reading, Section, Table
from thawline.model import Code, Finding, Run, Span
from thawline.source import Beginning, Held, Source
from thawline.wording import salvage_hint

__all__ = ["Broken", "Declared", "OneTable", "Stretch", "Units", "forward", "intact_chunks"]

NO_UNIT = Code(
    "DCL101",
    "these bytes are no unit",
    "error",
    "The spec cannot read these bytes. The next bytes that are a unit of the spec, with a right checksum where the "
    "spec has one, end the stretch. `thawline inspect` shows it; `thawline salvage` writes a file without it.",
)
WRONG_CHECKSUM = Code(
    "DCL102",
    "a unit whose checksum is wrong",
    "error",
    "The unit can be read, but its bytes are not those that its checksum was made of. Its rows are not given. "
    "`thawline salvage` writes a file without it.",
)
CODES = (NO_UNIT, WRONG_CHECKSUM)
BUDGET = 32
"""Resynchronisation reads at most this many times the file's size: a hostile file can nest long candidates."""
LEAST_BUDGET = 1 << 20


@dataclass(frozen=True, slots=True)
class Stretch:
    """Intact units that follow one another."""

    start: int
    end: int
    units: int


@dataclass(frozen=True, slots=True)
class Broken:
    """The position where the intact units end before the file does, and why."""

    start: int
    code: Code
    reason: str


def forward(layout: Layout | str, source: Source, start: int, checksum: str = "") -> Iterator[Stretch | Broken]:
    """The intact units from a position on; then, unless they reach the end of the file, what is broken.

    `checksum` is the column that stores the checksum of a unit; empty if the unit has none.
    """
    for item in engine.scan_source(layout, source, start, columns=(checksum,) if checksum else ()):
        if isinstance(item, Break):
            yield Broken(item.start, NO_UNIT, f"{item.failure.reason} at {item.at:#x}")
            return
        intact = first_mismatch(item, checksum)
        if intact:
            end = item.ends[intact - 1].as_py()
            yield Stretch(item.starts[0].as_py(), end, intact)
            source.release(end)
        if intact < len(item):
            yield Broken(item.starts[intact].as_py(), WRONG_CHECKSUM, "")
            return


def first_mismatch(chunk: Chunk, checksum: str) -> int:
    """The index of the first unit whose checksum is wrong; the number of units if all are right."""
    if not checksum or chunk.checksums is None:
        return len(chunk)
    index = pc.index(pc.not_equal(chunk.batch[checksum], chunk.checksums), True).as_py()
    return len(chunk) if index < 0 else int(index)


def intact_chunks(
    layout: Layout | str,
    source: Source,
    span: Span,
    unit_name: str,
    columns: Collection[str] | None = None,
    ranges: Ranges | None = None,
) -> Iterator[Chunk]:
    """The units of a span, or of some ranges of it, that a walk has found intact; `SourceError` if they changed.

    Positions count from the start of the span.
    """
    view = source.view(span.start, span.end)
    for item in engine.scan(layout, view, ranges, columns=columns, checksums=False):
        if isinstance(item, Break):
            at = span.start + item.start
            raise SourceError(f"{source.name}: the {unit_name} at {at:#x} changed while the file was read")
        yield item


class OneTable(Kind, Protocol):
    """A kind of file that holds the rows of one kernel."""

    def rows(self, source: Source, items: Iterable[Run | Finding], table: str, columns: Collection[str]) -> Reading:
        """Runs with their rows."""
        for item in items:
            yield item if isinstance(item, Finding) else (item, self.batches(source, item, columns))

    def batches(self, source: Source, run: Run, columns: Collection[str]) -> Iterator[pa.RecordBatch]:
        """The rows of a run."""
        ...


@dataclass(frozen=True, slots=True)
class Units(OneTable):
    """Files that consist of one spec's units, back to back."""

    format: str
    layout: Layout
    sync: Sync
    """How a unit is found after damage."""
    suffixes: tuple[str, ...] = ()

    @property
    def name(self) -> str:  # type: ignore[override]
        """The name of a unit."""
        return self.unit_name

    @property
    def unit_name(self) -> str:  # type: ignore[override]
        """The last word of the spec's name."""
        return self.layout.spec.rpartition("::")[2].rpartition("_")[2]

    @property
    def checksum(self) -> str:
        """The column that stores the checksum of a unit; empty if the unit has none."""
        return self.layout.checksum.column if self.layout.checksum else ""

    @property
    def tables(self) -> Mapping[str, Table]:
        """The rows of the spec."""
        return {self.layout.name: Table(schema_of(self.layout.columns))}

    def claim(self, source: Source) -> Claim | None:
        """A claim by an intact first unit, by its fixed contents, or by the spec's file extension."""
        magic = Span(self.sync.offset, self.sync.offset + len(self.sync.magic))
        if source.size and self._is_intact(source, 0):
            sure = bool(self.sync.magic or self.checksum)
            return Claim(self.format, "", f"starts with an intact {self.unit_name}", "certain" if sure else "possible")
        if magic.size and magic.end <= source.size and source.view(magic.start, magic.end) == self.sync.magic:
            return Claim(self.format, "", f"starts with a damaged {self.unit_name}", "likely")
        if source.name.endswith(self.suffixes or ("\0",)):
            return Claim(self.format, "", "is named like one, but does not start with an intact unit", "possible")
        return None

    def walk(self, source: Source, depth: Depth) -> Iterator[Run | Finding]:
        """Intact units and damage; the inside of an intact unit is not searched for units."""
        return self.rest(source, depth, 0)

    are_sections_final = True

    def boundary(self, source: Source, position: int) -> int:
        """Where a unit can start."""
        return self._starts(source).following(position)

    def sections(self, source: Source, depth: Depth, size: int, within: Span) -> Iterator[Section]:
        """Stretches up to where a unit seems to start."""
        start, starts = within.start, self._starts(source)
        while start < within.end:
            end = starts.following(start + size) if start + size < within.end else within.end
            end = min(end, within.end)
            yield Section(Span(start, end), partial(self._verified, source, Span(start, end)))
            start = end

    def _verified(self, source: Source, span: Span) -> Sequence[Run] | None:
        """The units of a section; None unless they are intact and end with it."""
        found = list(forward(self.layout, Held(Beginning(source, span.end)), span.start, self.checksum))
        runs = [Run(Span(item.start, item.end), item.units, item.units) for item in found if isinstance(item, Stretch)]
        return runs if len(runs) == len(found) and runs and runs[-1].span.end == span.end else None

    def _starts(self, source: Source) -> Starts:
        budget = max(BUDGET * source.size, LEAST_BUDGET)
        return Starts(self.sync, source, budget=budget, is_proven=bool(self.sync.checksum))

    def rest(self, source: Source, depth: Depth, start: int) -> Iterator[Run | Finding]:
        """What a walk gives after sections."""
        position, starts = start, self._starts(source)
        while position < source.size:
            broken: Broken | None = None
            for item in forward(self.layout, source, position, self.checksum):
                if isinstance(item, Broken):
                    broken = item
                else:
                    yield Run(Span(item.start, item.end), item.units, item.units)
                    position = item.end
            if broken:
                end = self._following(source, starts, broken.start + 1)
                yield _finding(broken, Span(position, end), source)
                position = end

    def batches(self, source: Source, run: Run, columns: Collection[str]) -> Iterator[pa.RecordBatch]:
        """The rows of a run."""
        return (chunk.batch for chunk in intact_chunks(self.layout, source, run.span, self.unit_name, columns))

    def units(self, source: Source, run: Run) -> Iterator[Span]:
        """The units of a run."""
        start = run.span.start
        for chunk in intact_chunks(self.layout, source, run.span, self.unit_name, ()):
            for first, end in zip(chunk.starts.to_pylist(), chunk.ends.to_pylist(), strict=True):
                yield Span(start + first, start + end)

    def spec_at(self, source: Source, position: int) -> str:
        """The spec."""
        return self.layout.spec

    def intact(self, source: Source) -> Iterator[Run | Finding]:
        """The items of a walk."""
        return self.walk(source, Depth.EVERYTHING)

    def salvage(self, source: Source, items: Iterator[Run | Finding]) -> Iterator[bytes | memoryview]:
        """The intact units, back to back."""
        return (source.view(item.span.start, item.span.end) for item in items if isinstance(item, Run))

    def _following(self, source: Source, starts: Starts, start: int) -> int:
        """Where the next intact unit starts; the end of the file if none is found."""
        while (start := starts.following(start)) < source.size and not self._is_intact(source, start):
            start += 1
        return start

    def _is_intact(self, source: Source, at: int) -> bool:
        """Whether an intact unit starts at a position."""
        view = source.view(at, source.size)
        wanted = (self.checksum,) if self.checksum else ()
        item = next(iter(engine.scan(self.layout, view, Ranges.of([(0, len(view), 1)]), columns=wanted)))
        return isinstance(item, Chunk) and first_mismatch(item, self.checksum) > 0


def _finding(broken: Broken, span: Span, source: Source) -> Finding:
    detail = {"reason": broken.reason} if broken.reason else {}
    return Finding(broken.code, span, detail, salvage_hint(source.name))


def states_rows(file: Path) -> bool:
    """Whether a spec states its rows itself, with `-columnar`; the columns of others follow from their structures."""
    try:
        if b"-columnar" not in file.read_bytes():
            return False
    except OSError as error:
        raise SourceError(f"{file}: {error.strerror or error}") from error
    from thawline.ksy.documents import load_spec, types_of  # noqa: PLC0415 - only specs of users are read
    from thawline.ksy.shapes import check_shape  # noqa: PLC0415 - as above

    spec = load_spec(file)
    check_shape(spec)
    return any("rows" in (type_.data.get("-columnar") or {}) for type_ in types_of(spec))


@dataclass(frozen=True, slots=True)
class Declared(Format):
    """A format of one kind of file, as a spec describes it."""

    name: str
    title: str
    units: Units
    spec_file: str

    @property
    def codes(self) -> tuple[Code, ...]:  # type: ignore[override]
        """The codes of all declared formats."""
        return CODES

    @property
    def kinds(self) -> tuple[Kind, ...]:
        """The units of the spec."""
        return (self.units,)

    @classmethod
    def of(cls, file: Path) -> Declared:
        """The format that a `.ksy` describes: the rows of its first table."""
        from thawline.compiler.loading import compiled, imported, probed  # noqa: PLC0415 - only these are compiled

        specs = imported(file)
        spec = next(iter(specs.values()))
        own = [table for table in compiled(specs).values() if table.spec.partition("::")[0] == spec.id]
        if not own:
            raise spec.error(("meta",), "no type has rows: mark one with `-columnar: {rows: <table>}`")
        meta = spec.data.get("meta") or {}
        suffixes = meta.get("file-extension") or ()
        endings = tuple(f".{suffix}" for suffix in ([suffixes] if isinstance(suffixes, str) else suffixes))
        units = Units(spec.id, own[0], probed(own[0].name, specs), endings)
        return cls(spec.id, str(meta.get("title") or spec.id), units, str(file))
