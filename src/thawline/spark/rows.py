"""The rows of a part as Arrow batches in the schema that Spark expects, with damage handled by the read mode."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import pyarrow as pa

from thawline.damage import kept
from thawline.errors import SourceError
from thawline.filters import BadFilter, Bound
from thawline.formats.contract import Format, Kind, Reading, read
from thawline.formats.division import cut
from thawline.formats.growth import Growth, gained
from thawline.formats.ranges import Range
from thawline.model import Finding, LeftOut, Run, Span
from thawline.options import BadOption
from thawline.source import LocalSource, RemoteSource, Source, open_source
from thawline.spark.files import File, Members
from thawline.spark.planning import Part, is_ours
from thawline.spark.settings import MODES, Settings
from thawline.spark.walks import LAST, as_listed
from thawline.wording import utf8

FILE, START, END = "_file", "_start", "_end"
METADATA = pa.schema([(FILE, pa.string()), (START, pa.int64()), (END, pa.int64())])
"""The origin of a row: its file, and the unit or the damaged stretch in it."""

Placed = Iterator[tuple[Span, pa.RecordBatch] | Finding]
"""Batches with their spans, and findings."""


def schema_of(settings: Settings) -> pa.Schema:
    """The columns of a read without a user's schema."""
    format_, table = settings.format, settings.table
    offered = every_column(settings)
    if settings.columns is not None:
        return pa.schema([_field(offered, name, settings) for name in settings.columns])
    names = [name for name in format_.tables[table].schema.names if name not in settings.without]
    names += METADATA.names if settings.has_metadata else []
    names += [settings.corrupt] if settings.mode == "PERMISSIVE" else []
    return pa.schema([offered.field(name) for name in names])


def every_column(settings: Settings) -> pa.Schema:
    """All columns that can be requested."""
    format_, table = settings.format, settings.table
    offered = format_.tables[table]
    return pa.schema([*offered.schema, *offered.extras, *METADATA, pa.field(settings.corrupt, pa.binary())])


def bound_of(settings: Settings) -> Bound:
    """The filter of the settings for the columns of the table; `BadOption` where it does not fit them."""
    try:
        return settings.filter.bound(every_column(settings), f"{settings.format.name}.{settings.table}")
    except BadFilter as error:
        raise BadOption(f"filter: {error}") from None


def _field(offered: pa.Schema, name: str, settings: Settings) -> pa.Field:
    if name not in offered.names:
        known = ", ".join(offered.names)
        raise BadOption(f"{settings.format.name}.{settings.table} has no column {name}; it has {known}")
    return offered.field(name)


@dataclass(frozen=True)
class Reader:
    """Reads parts into batches of a schema."""

    settings: Settings
    schema: pa.Schema
    log: Callable[[str], None] = lambda _: None

    @cached_property
    def bound(self) -> Bound:
        """The filter of the settings."""
        return bound_of(self.settings)

    @cached_property
    def wide(self) -> pa.Schema:
        """The schema, and the columns that only the filter looks at."""
        offered = every_column(self.settings)
        more = sorted(self.bound.columns - set(self.schema.names))
        if not more:
            return self.schema
        return pa.schema([*self.schema, *(offered.field(name) for name in more)])

    def __post_init__(self) -> None:
        """Refuse a schema with an unknown column."""
        offered = every_column(self.settings)
        for name in self.schema.names:
            _field(offered, name, self.settings)

    def read(self, part: Part, members: Members) -> Iterator[pa.RecordBatch]:
        """The wanted rows of a part, in file order."""
        return self._wanted(self._read(part, members))

    def _wanted(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in self.bound.matching(batches):
            yield batch if self.wide is self.schema else batch.select(self.schema.names)

    def _read(self, part: Part, members: Members) -> Iterator[pa.RecordBatch]:
        try:
            yield from self._whole(part, members) if part.range is None else self._ranged(part, part.range, members)
        except _Missing:
            self.log(f"{part.file.path}: is gone; passed over")

    def _whole(self, part: Part, members: Members) -> Iterator[pa.RecordBatch]:
        with self._opened(part.file) as source:
            yield from self._rows(members.format_of(part.file), source, part)

    def _ranged(self, part: Part, wanted: Range, members: Members) -> Iterator[pa.RecordBatch]:
        format_ = members.format_of(part.file)
        with LAST.over(part.file, format_, self.settings.table, wanted, self._opened) as walk:
            yield from self._rows(format_, walk.source, part, walk.take(wanted))

    def read_gained(self, file: File, growth: Growth, members: Members) -> Iterator[pa.RecordBatch]:
        """The wanted rows of what a file has gained, as large as it is said to be."""
        return self._wanted(self._gained(file, growth, members))

    def _gained(self, file: File, growth: Growth, members: Members) -> Iterator[pa.RecordBatch]:
        try:
            with self._opened(file) as opened:
                source, format_ = as_listed(opened, file), members.format_of(file)
                kind, table = format_.kind_of(source), self.settings.table
                items = gained(kind, source, kind.tables[table].depth, growth) if table in kind.tables else iter(())
                yield from self._rows(format_, source, Part(file, growth.range), items)
        except _Missing:
            self.log(f"{file.path}: is gone; passed over")

    def _rows(
        self, format_: Format, source: Source, part: Part, items: Iterator[Run | Finding] | None = None
    ) -> Iterator[pa.RecordBatch]:
        if part.file.is_named or is_ours(format_, source, self.settings.table):
            yield from self._shaped(source, self._placed(format_, source, part, items))
        elif part.is_first:
            self.log(f"{part.file.path}: is not {format_.title}; passed over")

    def _opened(self, file: File) -> LocalSource | RemoteSource:
        try:
            return open_source(file.path)
        except SourceError as error:
            if not isinstance(error.__cause__, FileNotFoundError):
                raise
            if self.settings.ignores_missing:
                raise _Missing from error
            raise SourceError(
                f"{file.path}: existed when the read was planned, but the machine of this task has no such file; "
                "it must lie where every worker can see it: in a shared folder, or at a URL such as s3://…"
            ) from error

    def _placed(self, format_: Format, source: Source, part: Part, items: Iterator[Run | Finding] | None) -> Placed:
        table = self.settings.table
        offered, kind = format_.tables[table], format_.kind_of(source)
        known = [*offered.schema.names, *offered.extras.names]
        columns = [name for name in known if name in self.wide.names]
        pruned = _Pruned()
        if START in self.wide.names or END in self.wide.names:
            walked = kind.walk(source, kind.tables[table].depth) if items is None else items
            yield from _by_unit(kind, source, walked, table, columns, pruned)
        else:
            yield from _by_run(read(kind, source, table, columns, items), pruned)
        if pruned.size:
            units = f"{pruned.units} of {pruned.seen} units"
            self.log(f"{source.name}: skipped {units}, {pruned.size} of {part.weight} bytes")

    def _shaped(self, source: Source, items: Placed) -> Iterator[pa.RecordBatch]:
        for item in items:
            if not isinstance(item, Finding):
                span, batch = item
                if batch.num_rows:
                    yield self._batch(source, span, {name: batch[name] for name in batch.schema.names}, batch.num_rows)
            elif (corrupt := kept(item, source, MODES[self.settings.mode])) is not None:
                damage = {self.settings.corrupt: pa.array([corrupt], pa.binary())}
                yield self._batch(source, item.span, damage, 1)

    def _batch(self, source: Source, span: Span, arrays: Mapping[str, pa.Array], rows: int) -> pa.RecordBatch:
        origin = {FILE: utf8(source.name), START: span.start, END: span.end}
        columns = []
        for field in self.wide:
            if field.name in origin:
                columns.append(pa.repeat(pa.scalar(origin[field.name], field.type), rows))
            elif field.name in arrays:
                columns.append(_cast(arrays[field.name], field, source.name))
            else:
                columns.append(pa.nulls(rows, field.type))
        return pa.RecordBatch.from_arrays(columns, schema=self.wide)


class _Missing(Exception):
    """A file that is gone, and may be: `ignoreMissingFiles` is true."""


def _cast(array: pa.Array, field: pa.Field, file: str) -> pa.Array:
    if array.type == field.type:
        return array
    try:
        return array.cast(field.type)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise BadOption(f"{file}: column {field.name} cannot be read as {field.type}: {error}") from error


@dataclass(slots=True)
class _Pruned:
    """How much of a part was not decoded because nothing in it was requested."""

    units: int = 0
    seen: int = 0
    size: int = 0

    def note(self, item: tuple[Run, Iterable[pa.RecordBatch]] | Finding) -> None:
        """Count an item."""
        if isinstance(item, Finding):
            if item.code.is_pruning:
                self.units, self.seen, self.size = self.units + 1, self.seen + 1, self.size + item.span.size
            return
        run = item[0]
        left = run.left_out or LeftOut(0, 0)
        self.units, self.seen, self.size = self.units + left.units, self.seen + run.units, self.size + left.size


def _by_run(items: Reading, pruned: _Pruned) -> Placed:
    """The batches of each run with the run's span."""
    for item in items:
        pruned.note(item)
        if isinstance(item, Finding):
            yield item
        else:
            yield from ((item[0].given or item[0].span, batch) for batch in item[1])


def _by_unit(
    kind: Kind, source: Source, items: Iterable[Run | Finding], table: str, columns: list[str], pruned: _Pruned
) -> Placed:
    """The batches of each unit with the unit's span."""
    for unit in _units(kind, source, items):
        first = unit[0]
        span = next(kind.units(source, first), first.span) if isinstance(first, Run) else first.span
        for piece in kind.rows(source, unit, table, columns):
            pruned.note(piece)
            if isinstance(piece, Finding):
                yield piece
            else:
                yield from ((span, batch) for batch in piece[1])


def _units(kind: Kind, source: Source, items: Iterable[Run | Finding]) -> Iterator[Sequence[Run | Finding]]:
    """Units and findings one by one; rows that count as damaged come with the finding about them."""
    damaged: list[Run | Finding] = []
    for item in items:
        if isinstance(item, Finding):
            yield [*damaged, item]
            damaged = []
        elif item.given:
            damaged = [item]
        else:
            yield from ([run] for run in cut(kind, source, item, 1))
