# ruff: noqa: D102
# mypy: ignore-errors
"""Formats of the first edition as kinds. Each goes when its format has kinds of its own."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, ClassVar, Protocol

import pyarrow as pa

from thawline.folder import Folder
from thawline.formats.contract import Claim, Content, Depth, Format, Kind, Member, Reading, Table
from thawline.model import Finding, LeftOut, Report, Run, Span
from thawline.source import Source


class LegacyFormat(Format, Protocol):
    """What a format of the first edition offers."""

    table_names: ClassVar[tuple[str, ...]]
    unit_name: ClassVar[str]
    has_heads: ClassVar[bool] = False

    @property
    def kinds(self) -> tuple[Kind, ...]:
        return (LegacyKind(self),)

    def kind_of(self, source: Source) -> Kind:
        return LegacyKind(self, source)

    def claim(self, source: Source) -> Claim | None: ...
    def prepared(self, sources: Iterable[Source]) -> Any:
        return self

    def schema(self, table: str) -> pa.Schema: ...
    def extras(self, table: str) -> pa.Schema:
        return pa.schema([])

    def scan(self, source: Source) -> Iterator[Run | Finding]: ...
    def outline(self, source: Source) -> Iterator[Run | Finding]:
        return self.scan(source)

    def read(self, source: Source, table: str, columns: Collection[str]) -> Reading:
        for item in self.scan(source):
            yield (item, self.batches(source, item, table, columns)) if isinstance(item, Run) else item

    def batches(self, source: Source, run: Run, table: str, columns: Collection[str]) -> Iterator[pa.RecordBatch]: ...
    def divide(self, source: Source, table: str) -> Iterator[Run | Finding]:
        return (item if isinstance(item, Finding) else item[0] for item in self.read(source, table, ()))

    def read_run(self, source: Source, run: Run, table: str, columns: Collection[str]) -> Reading:
        yield run, self.batches(source, run, table, columns)

    def tail(self, source: Source, rows: int, table: str, columns: Collection[str]) -> list[pa.RecordBatch] | None:
        return None

    def units(self, source: Source, run: Run) -> Iterator[Span]: ...
    def unit_of(self, source: Source) -> str:
        return self.unit_name

    def unit_at(self, source: Source, position: int) -> str: ...
    def content(self, source: Source, span: Span) -> Content | None:
        return None

    def for_salvage(self) -> Any:
        return self

    def salvage(self, source: Source, items: Iterator[Run | Finding]) -> Iterator[bytes | memoryview]: ...
    def claim_folder(self, folder: Folder) -> Claim | None:
        return None

    def members(self, folder: Folder) -> Iterator[Member]:
        return iter(())

    def holdings(self, folder: Folder) -> Iterator[str]:
        return (member.path for member in self.members(folder))

    def accounts(self, folder: Folder) -> Iterator[Report]:
        return iter(())


class _Whole:
    """A file that has not been walked yet, so that its rows can be read in the same pass."""

    def __init__(self, items: Iterator[Run | Finding]) -> None:
        self.items = items

    def __iter__(self) -> Iterator[Run | Finding]:
        return self.items

    def __next__(self) -> Run | Finding:
        return next(self.items)


class LegacyKind:
    """All kinds of files of a format at once."""

    def __init__(self, format_: LegacyFormat, source: Source | None = None) -> None:
        self.format, self.name, self.has_heads = format_, format_.name, format_.has_heads
        self.unit_name = format_.unit_of(source) if source else format_.unit_name

    @property
    def tables(self) -> Mapping[str, Table]:
        made = self.format
        return {name: Table(made.schema(name), made.extras(name)) for name in made.table_names}

    def claim(self, source: Source) -> Claim | None:
        return self.format.claim(source)

    def walk(self, source: Source, depth: Depth) -> Iterator[Run | Finding]:
        if depth is Depth.UNITS:
            return _Whole(self._divided(source))
        return self.format.outline(source) if depth is Depth.HEADS else self.format.scan(source)

    def _divided(self, source: Source) -> Iterator[Run | Finding]:
        claim = self.format.claim(source)
        yield from self.format.divide(source, (claim.table if claim else "") or self.format.table_names[0])

    def rows(self, source: Source, items: Iterable[Run | Finding], table: str, columns: Collection[str]) -> Reading:
        for item in self._rows(source, items, table, columns):
            if isinstance(item, tuple) and item[1] == ():
                yield replace(item[0], left_out=LeftOut(item[0].units, item[0].span.size)), ()
            else:
                yield item

    def _rows(self, source: Source, items: Iterable[Run | Finding], table: str, columns: Collection[str]) -> Reading:
        if isinstance(items, _Whole):
            yield from self.format.read(source, table, columns)
            return
        for item in items:
            yield from (item,) if isinstance(item, Finding) else self.format.read_run(source, item, table, columns)

    def units(self, source: Source, run: Run) -> Iterator[Span]:
        return self.format.units(source, run)

    def spec_at(self, source: Source, position: int) -> str:
        return self.format.unit_at(source, position)

    def intact(self, source: Source) -> Iterator[Run | Finding]:
        held = self.format.for_salvage()
        return held.mend(source, held.scan(source)) if hasattr(held, "mend") else held.scan(source)

    def salvage(self, source: Source, items: Iterator[Run | Finding]) -> Iterator[bytes | memoryview]:
        return self.format.for_salvage().salvage(source, items)

    def __getattr__(self, name: str) -> Any:
        if name in {"tail", "content", "recover", "check_cut", "indexes"}:
            return getattr(self.format, name)
        if name == "salvaged":
            return self.format.rescue
        raise AttributeError(name)
