"""Rows of a part as Arrow batches of exactly the schema that Spark expects, with damage as its mode says."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

import pyarrow as pa

from thawline.damage import kept
from thawline.errors import SourceError
from thawline.faults import readable, with_faults
from thawline.formats.contract import Format, Kind, Reading, read
from thawline.model import Finding, LeftOut, Run, Span
from thawline.options import BadOption
from thawline.source import LocalSource, RemoteSource, Source, open_source
from thawline.spark.files import File, Members
from thawline.spark.planning import Part, cut, is_ours
from thawline.spark.settings import MODES, Settings
from thawline.wording import utf8

FILE, START, END = "_file", "_start", "_end"
METADATA = pa.schema([(FILE, pa.string()), (START, pa.int64()), (END, pa.int64())])
"""Where a row is from: the file, and the unit or the damaged stretch in it."""

Placed = Iterator[tuple[Span, pa.RecordBatch] | Finding]
"""Batches with where they are from, and findings."""


def schema_of(settings: Settings) -> pa.Schema:
    """The columns that a read gives unless the user has a schema."""
    format_, table = settings.format, settings.table
    offered = every_column(settings)
    if settings.columns is not None:
        return pa.schema([_field(offered, name, settings) for name in settings.columns])
    names = [name for name in format_.tables[table].schema.names if name not in settings.without]
    names += METADATA.names if settings.has_metadata else []
    names += [settings.corrupt] if settings.mode == "PERMISSIVE" else []
    return pa.schema([offered.field(name) for name in names])


def every_column(settings: Settings) -> pa.Schema:
    """All columns that can be asked for."""
    format_, table = settings.format, settings.table
    offered = format_.tables[table]
    return pa.schema([*offered.schema, *offered.extras, *METADATA, pa.field(settings.corrupt, pa.binary())])


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

    def __post_init__(self) -> None:
        """Refuse a schema with a column that there is not."""
        offered = every_column(self.settings)
        for name in self.schema.names:
            _field(offered, name, self.settings)

    def read(self, part: Part, members: Members) -> Iterator[pa.RecordBatch]:
        """The rows of a part, in file order."""
        try:
            with self._opened(part.file) as source:
                format_ = members.format_of(part.file)
                if part.file.is_named or part.items is not None or is_ours(format_, source, self.settings.table):
                    yield from self._shaped(source, self._placed(format_, source, part))
                else:
                    self.log(f"{part.file.path}: is not {format_.title}; passed over")
        except _Missing:
            self.log(f"{part.file.path}: is gone; passed over")

    def _opened(self, file: File) -> LocalSource | RemoteSource:
        try:
            return open_source(file.path)
        except SourceError as error:
            if not isinstance(error.__cause__, FileNotFoundError):
                raise
            if self.settings.ignores_missing:
                raise _Missing from error
            raise SourceError(
                f"{file.path}: was there when the read was planned, but the machine of this task has no such file; "
                "it must lie where every worker can see it: in a shared folder, or behind a URL such as s3://…"
            ) from error

    def _placed(self, format_: Format, source: Source, part: Part) -> Placed:
        table = self.settings.table
        offered, kind = format_.tables[table], format_.kind_of(source)
        wanted = [*offered.schema.names, *offered.extras.names]
        columns = [name for name in wanted if name in self.schema.names]
        spared = _Spared()
        if START in self.schema.names or END in self.schema.names:
            yield from _by_unit(kind, source, part, table, columns, spared)
        else:
            yield from _by_run(items_of(kind, source, part, table, columns), spared)
        if spared.size:
            units = f"{spared.units} of {spared.seen} units"
            self.log(f"{source.name}: skipped {units}, {spared.size} of {part.weight} bytes")

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
        where = {FILE: utf8(source.name), START: span.start, END: span.end}
        made = []
        for field in self.schema:
            if field.name in where:
                made.append(pa.repeat(pa.scalar(where[field.name], field.type), rows))
            elif field.name in arrays:
                made.append(_cast(arrays[field.name], field, source.name))
            else:
                made.append(pa.nulls(rows, field.type))
        return pa.RecordBatch.from_arrays(made, schema=self.schema)


class _Missing(Exception):
    """A file that is gone, and need not be there."""


def _cast(array: pa.Array, field: pa.Field, file: str) -> pa.Array:
    if array.type == field.type:
        return array
    try:
        return array.cast(field.type)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise BadOption(f"{file}: column {field.name} cannot be read as {field.type}: {error}") from error


def items_of(kind: Kind, source: Source, part: Part, table: str, columns: list[str]) -> Reading:
    """Runs with their rows, and findings, of a part; rows of what could not be read are left out."""
    if part.items is None:
        reading = read(kind, source, table, columns)
    else:
        reading = kind.rows(source, part.items, table, columns)
    for item in with_faults(reading, source):
        yield item if isinstance(item, Finding) else (item[0], readable(*item, source))


@dataclass(slots=True)
class _Spared:
    """What of a part was not decoded because nothing in it was requested."""

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


def _by_run(items: Reading, spared: _Spared) -> Placed:
    """Run by run: each row comes with the place of its run."""
    for item in items:
        spared.note(item)
        if isinstance(item, Finding):
            yield item
        else:
            yield from ((item[0].given or item[0].span, batch) for batch in item[1])


def _by_unit(kind: Kind, source: Source, part: Part, table: str, columns: list[str], spared: _Spared) -> Placed:
    """Unit by unit, so that each row comes with the place of its own."""
    items = kind.walk(source, kind.tables[table].depth) if part.items is None else part.items
    for item in items:
        if isinstance(item, Finding):
            spared.note(item)
            yield item
            continue
        for run in cut(kind, source, item, 1):
            span = next(kind.units(source, run), run.span)
            for found in kind.rows(source, [run], table, columns):
                spared.note(found)
                if isinstance(found, Finding):
                    yield found
                else:
                    yield from ((span, batch) for batch in found[1])
