"""The formats, in the order in which they are asked whether a file is theirs.

Adding one is a line in `FORMATS`. A format's module is imported when it is first needed.
"""

from __future__ import annotations

import importlib
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, fields, replace
from functools import cache
from typing import Any, ClassVar, Literal, Protocol

import pyarrow as pa

from thawline import options
from thawline.errors import CodecError, UnknownFormat
from thawline.folder import Folder
from thawline.model import Code, Finding, Report, Run, Span
from thawline.source import Source

Confidence = Literal["certain", "likely", "possible"]
CONFIDENCE: tuple[Confidence, ...] = ("certain", "likely", "possible")

FORMATS = {
    "rbf": "thawline.formats.rbf:Rbf",
    "borg": "thawline.formats.borg:Borg",
    "rbak": "thawline.formats.rbak:Rbak",
    "kafka": "thawline.formats.kafka:Kafka",
    "aerospike": "thawline.formats.aerospike:Aerospike",
}
"""Self-describing formats first, those that only a name or a valid first checksum gives away last."""

MOST_CONTENT = 64 << 20
"""Bytes that are decompressed for a look at what a unit holds."""

Reading = Iterator[tuple[Run, Iterable[pa.RecordBatch]] | Finding]
"""Runs with their rows, and findings, in file order."""


@dataclass(frozen=True, slots=True)
class Claim:
    """A format's word that a file or a folder is its own."""

    format: str
    version: str
    why: str
    confidence: Confidence
    table: str = ""
    """The table that a file of this kind holds, where it is not the format's first."""


@dataclass(frozen=True, slots=True)
class Content:
    """What a field of a unit holds, of which another spec tells the fields."""

    field: str
    spec: str
    params: tuple[object, ...]
    span: Span
    """Where it is stored."""
    data: bytes | None = None
    """Decompressed, or the first of it; None where it is stored as it is."""
    codec: str = ""
    problem: str = ""
    """Why no more could be decompressed."""

    def decompressed(self, codec: str, chunks: Iterable[bytes], most: int = MOST_CONTENT) -> Content:
        """The same, with all that can be decompressed, or a good part of it."""
        data, problem = bytearray(), ""
        try:
            for chunk in chunks:
                data += chunk
                if len(data) >= most:
                    break
        except CodecError as error:
            problem = error.message
        return replace(self, data=bytes(data), codec=codec, problem=problem)


@dataclass(frozen=True, slots=True)
class Member:
    """A file of a folder, and its format, which knows what the folder says about it."""

    path: str
    format: Format


class Format(Protocol):
    """What a format offers. It is a frozen dataclass, and its fields are the options of `thawline.options`.

    The spans that `scan` yields tile the file. A finding about something inside a unit that is intact as a whole has
    the empty span at the end of that unit; its detail says where inside.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    tables: ClassVar[tuple[str, ...]]
    """Names of its tables; the first is the default."""
    codes: ClassVar[tuple[Code, ...]]
    unit_name: ClassVar[str]
    """What its owners call a unit: a frame, a batch, a blob."""
    has_heads: ClassVar[bool] = False
    """Whether `outline` tells what is in a file without reading all of it."""

    spared: ClassVar[tuple[Code, ...]] = ()
    """Codes of findings about what was not read because nothing in it was asked for."""

    def claim(self, source: Source) -> Claim | None:
        """Whether the file is of this format, from a look at a few bytes."""
        ...

    def known(self) -> Mapping[str, object]:
        """Columns whose value is the same in all rows of a file, as far as its folder has told."""
        told = {field.name for field in fields(self)} - options.names(self.name)  # type: ignore[arg-type]
        columns = {name for table in self.tables for name in self.schema(table).names}
        held = {name: getattr(self, name) for name in sorted(told & columns)}
        return {name: value for name, value in held.items() if value is not None}

    def prepared(self, sources: Iterable[Source]) -> Format:
        """The format with what it has to learn from files before their schema is known."""
        return self

    def schema(self, table: str) -> pa.Schema:
        """The Arrow schema of a table."""
        ...

    def extras(self, table: str) -> pa.Schema:
        """Further columns of a table, which are there when they are asked for by name."""
        return pa.schema([])

    def scan(self, source: Source) -> Iterator[Run | Finding]:
        """Intact runs and findings, in file order, after a look at every byte."""
        ...

    def outline(self, source: Source) -> Iterator[Run | Finding]:
        """The same as far as the heads of units tell; what they hold is neither read nor decompressed."""
        return self.scan(source)

    def read(self, source: Source, table: str, columns: Collection[str]) -> Reading:
        """The items of `scan`, each run with its rows: one pass, so that nothing is decompressed twice.

        A run whose rows are passed on before it has been read to its end counts them as its head does.
        """
        for item in self.scan(source):
            yield (item, self.batches(source, item, table, columns)) if isinstance(item, Run) else item

    def batches(self, source: Source, run: Run, table: str, columns: Collection[str]) -> Iterator[pa.RecordBatch]:
        """Rows of a run; of the table's columns those that are asked for, in the table's order, extras last."""
        ...

    def divide(self, source: Source, table: str) -> Iterator[Run | Finding]:
        """The items of `read`, as far as they must be known so that each run can be read by itself, with `read_run`.

        A run may be cut at the starts of its units, too. This is what tasks of Spark share a file by.
        """
        return (item if isinstance(item, Finding) else item[0] for item in self.read(source, table, ()))

    def read_run(self, source: Source, run: Run, table: str, columns: Collection[str]) -> Reading:
        """Rows of a run of `divide`, or of a part of one, with findings that only a look into its units gives."""
        yield run, self.batches(source, run, table, columns)

    def tail(
        self,
        source: Source,
        rows: int,
        table: str,
        columns: Collection[str],
    ) -> list[pa.RecordBatch] | None:
        """The last rows of a table, read from the end; None where only a scan finds them."""
        return None

    def units(self, source: Source, run: Run) -> Iterator[Span]:
        """The unit spans of a run, without separators that belong to no unit."""
        ...

    def unit_of(self, source: Source) -> str:
        """What a unit of this very file is called, where a format has files of several kinds."""
        return self.unit_name

    def unit_at(self, source: Source, position: int) -> str:
        """The spec of the unit that starts, or should start, at a position: what `inspect` shows."""
        ...

    def content(self, source: Source, span: Span) -> Content | None:
        """What the unit of a span holds, where that has fields of its own; None where nothing can be told."""
        return None

    def for_salvage(self) -> Format:
        """The format as it reads a file to salvage what is in it."""
        return self

    def salvage(self, source: Source, items: Iterator[Run | Finding]) -> Iterator[bytes | memoryview]:
        """The bytes of a new, valid file that holds what is intact."""
        ...

    def claim_folder(self, folder: Folder) -> Claim | None:
        """Whether the files of a folder belong together, as those of a backup or a repository do."""
        return None

    def members(self, folder: Folder) -> Iterator[Member]:
        """The files of a folder that hold rows, in the order in which they are read."""
        return iter(())

    def holdings(self, folder: Folder) -> Iterator[str]:
        """Paths of the files that `members` and `accounts` speak for; any other file of the folder is by itself."""
        return (member.path for member in self.members(folder))

    def accounts(self, folder: Folder) -> Iterator[Report]:
        """Reports besides those of the members: of files beside them, and of the folder as a whole."""
        return iter(())


@cache
def _class(name: str) -> Any:
    if name not in FORMATS:
        raise UnknownFormat(f"no format is called {name!r}; there are {', '.join(FORMATS)}")
    module, _, attribute = FORMATS[name].partition(":")
    return getattr(importlib.import_module(module), attribute)


def get(name: str, /, **given: object) -> Format:
    """A format by name, told some options; `UnknownFormat` names those that there are."""
    made = _class(name)
    found: Format = made(**options.check(name, given))
    return found


def identify(source: Source) -> Claim:
    """Which format a file is of; `UnknownFormat` if none claims it."""
    found: Claim | None = None
    for name in FORMATS:
        claim = get(name).claim(source)
        if claim and (found is None or CONFIDENCE.index(claim.confidence) < CONFIDENCE.index(found.confidence)):
            found = claim
        if found and found.confidence == CONFIDENCE[0]:
            return found
    if found is None:
        raise UnknownFormat(f"{source.name}: no format recognises this file; `thawline formats` lists what is known")
    return found


def identify_folder(folder: Folder) -> Claim | None:
    """Which format the files of a folder belong to as a whole; None if each is by itself."""
    return next((claim for name in FORMATS if (claim := get(name).claim_folder(folder))), None)


def resolve(source: Source, name: str | None, given: Mapping[str, object]) -> tuple[Format, Claim | None]:
    """The format to read a file with, which is recognised unless it is named, and what speaks for it."""
    if name is None:
        try:
            claim = identify(source)
        except UnknownFormat as error:
            from thawline.formats.recognition import unrecognised  # noqa: PLC0415 - it imports formats

            raise unrecognised(source) from error
        return get(claim.format, **given).prepared([source]), claim
    found = get(name, **given)
    return found.prepared([source]), found.claim(source)
