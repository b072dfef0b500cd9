"""What a format offers: kinds of files, and for each kind how to claim, walk and decode a file.

A format is a frozen dataclass. Its fields are its options (`thawline.options`) and what a folder says about a file. Its
kinds do the work. Everything else a format can do is a small protocol of its own, further down: verbs ask with
`isinstance` whether a kind or a format has it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Literal, Protocol, Self, runtime_checkable

import pyarrow as pa

from thawline.errors import CodecError, SourceError
from thawline.folder import Folder
from thawline.model import Code, Finding, Report, Run, Salvage, Span
from thawline.source import Source

Confidence = Literal["certain", "likely", "possible"]
CONFIDENCE: tuple[Confidence, ...] = ("certain", "likely", "possible")

MOST_CONTENT = 64 << 20
"""The most bytes that are decompressed to show what a unit holds."""

Reading = Iterator[tuple[Run, Iterable[pa.RecordBatch]] | Finding]
"""Runs with their rows, and findings, in file order."""


@dataclass(frozen=True, slots=True)
class Claim:
    """A format's statement that a file or a folder is its own."""

    format: str
    version: str
    why: str
    confidence: Confidence
    table: str = ""
    """The table that a file of this kind holds, where it is not the format's first."""


class Depth(Enum):
    """How far a walk looks."""

    HEADS = "heads"
    """The heads of units. Nothing that units hold is read or decompressed."""
    UNITS = "units"
    """As much as `rows` needs: every run stands for itself, and can be read in any order and by any process."""
    EVERYTHING = "everything"
    """Every byte: checksums are verified, payloads decompressed, records decoded."""


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of one schema that a kind of file gives."""

    schema: pa.Schema
    extras: pa.Schema = field(default_factory=lambda: pa.schema([]))
    """Further columns, given only when requested by name."""
    depth: Depth = Depth.UNITS
    """How far a walk must look for `rows` to read this table: a table of heads needs no more than heads."""


class Kind(Protocol):
    """One kind of file that a format has: a segment, an index, a pack.

    The spans that `walk` yields tile the file. A finding about something inside a unit that is intact as a whole has
    the empty span at the end of that unit; its detail says where inside.
    """

    name: str
    unit_name: str
    """What the format's owners call a unit: a frame, a batch, a blob."""
    has_heads: bool = False
    """Whether a walk by heads reads less than the whole file."""

    @property
    def tables(self) -> Mapping[str, Table]:
        """The tables that a file of this kind holds, by name; the first is the default."""
        ...

    def claim(self, source: Source) -> Claim | None:
        """Whether the file is of this kind, from a look at a few bytes."""
        ...

    def walk(self, source: Source, depth: Depth) -> Iterator[Run | Finding]:
        """Intact runs and findings, in file order, as far as the depth tells."""
        ...

    def rows(self, source: Source, items: Iterable[Run | Finding], table: str, columns: Collection[str]) -> Reading:
        """Items of a walk to the table's depth, each run with its rows, and findings that only decoding gives.

        Runs may be cut at the starts of their units. Rows have those of the table's columns that are requested, in the
        table's order, extras last. A run whose rows are passed on before it has been read to its end counts them as
        its head does.
        """
        ...

    def units(self, source: Source, run: Run) -> Iterator[Span]:
        """The spans of a run's units, without separators that belong to no unit."""
        ...

    def spec_at(self, source: Source, position: int) -> str:
        """The spec of the unit that starts, or should start, at a position: what `inspect` shows."""
        ...


def read(kind: Kind, source: Source, table: str, columns: Collection[str]) -> Reading:
    """The rows of a file with its findings, in one pass; `SourceError` if a file of this kind has no such table."""
    if table not in kind.tables:
        raise SourceError(f"{source.name}: holds the table {', '.join(kind.tables)}, not {table}")
    return kind.rows(source, kind.walk(source, kind.tables[table].depth), table, columns)


class Format(Protocol):
    """What a system writes: its kinds of files, the most common one first."""

    name: str
    title: str
    codes: tuple[Code, ...]

    @property
    def kinds(self) -> tuple[Kind, ...]:
        """The kinds of files of this format, which know its options."""
        ...

    @property
    def tables(self) -> dict[str, Table]:
        """The tables of all kinds by name; the first is the format's default."""
        found: dict[str, Table] = {}
        for kind in self.kinds:
            found |= {name: table for name, table in kind.tables.items() if name not in found}
        return found

    def kind_of(self, source: Source) -> Kind:
        """The kind that claims a file with the most confidence; the first where none does."""
        found = _surest(self.kinds, source)
        return found[0] if found else self.kinds[0]

    def claim(self, source: Source) -> Claim | None:
        """Whether a file is of this format."""
        found = _surest(self.kinds, source)
        return found[1] if found else None


def _surest(kinds: Iterable[Kind], source: Source) -> tuple[Kind, Claim] | None:
    claims = [(kind, claim) for kind in kinds if (claim := kind.claim(source))]
    return min(claims, key=lambda found: CONFIDENCE.index(found[1].confidence), default=None)


# What some formats offer besides.


@dataclass(frozen=True, slots=True)
class Member:
    """A file of a folder, and its format, which knows what the folder says about the file."""

    path: str
    format: Format
    known: Mapping[str, object] = field(default_factory=dict)
    """Columns whose value is the same in all rows of the file, as far as its folder tells."""


@runtime_checkable
class Foldered(Format, Protocol):
    """A format whose files belong together in a folder: a partition, a backup, a repository."""

    def claim_folder(self, folder: Folder) -> Claim | None:
        """Whether the files of a folder belong together."""
        ...

    def members(self, folder: Folder) -> Iterator[Member]:
        """The files of a folder that hold rows, in reading order."""
        ...

    def holdings(self, folder: Folder) -> Iterator[str]:
        """Paths of the files that `members` and `accounts` speak for; any other file of the folder is by itself."""
        ...

    def accounts(self, folder: Folder) -> Iterator[Report]:
        """Reports besides those of the members: of the files beside them, and of the folder as a whole."""
        ...


@runtime_checkable
class Learning(Protocol):
    """A format whose schema depends on the files."""

    def prepared(self, sources: Iterable[Source]) -> Self:
        """The format with what it learns from files before their schema is known."""
        ...


@runtime_checkable
class Tailing(Protocol):
    """A kind whose last rows can be read from the end of the file."""

    def tail(self, source: Source, rows: int, table: str, columns: Collection[str]) -> list[pa.RecordBatch] | None:
        """The last rows of a table; None where only a walk finds them."""
        ...


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
        """The same with what can be decompressed, up to a limit."""
        data, problem = bytearray(), ""
        try:
            for chunk in chunks:
                data += chunk
                if len(data) >= most:
                    break
        except CodecError as error:
            problem = error.message
        return replace(self, data=bytes(data), codec=codec, problem=problem)


@runtime_checkable
class Containing(Protocol):
    """A kind whose units hold records with fields of their own."""

    def content(self, source: Source, span: Span) -> Content | None:
        """What the unit of a span holds; None where nothing can be told."""
        ...


@runtime_checkable
class Salvaging(Protocol):
    """A kind of which a new, valid file can be made from what is intact."""

    def intact(self, source: Source) -> Iterator[Run | Finding]:
        """The items of a walk over everything, with runs for all that goes into a new file."""
        ...

    def salvage(self, source: Source, items: Iterator[Run | Finding]) -> Iterator[bytes | memoryview]:
        """The bytes of the new file."""
        ...


@runtime_checkable
class Recovering(Protocol):
    """A kind that can prove units which its readers must reject."""

    def recover(self, source: Source, items: Iterator[Run | Finding]) -> Iterator[Run | Finding]:
        """The items of `Salvaging.intact` with proven units as runs; `Run.recovered` is the code of their finding."""
        ...


@runtime_checkable
class ContentNamed(Protocol):
    """A kind whose files are named by their content: a repair is proven by the name, and a new file names itself."""

    def salvaged(self, source: Source, *, include_suspects: bool) -> Salvage:
        """A new file with what is intact or proven."""
        ...


@runtime_checkable
class Cuttable(Protocol):
    """A kind of which a start is a file by itself."""

    def check_cut(self, source: Source, items: Iterator[Run | Finding], at: int) -> None:
        """Raise a `ThawlineError` that names better places, unless the first `at` bytes are a file by themselves."""
        ...


@runtime_checkable
class Indexed(Protocol):
    """A kind with index files beside its files."""

    def indexes(self, source: Source) -> dict[str, bytes]:
        """The bytes of each index file of an intact file, by the suffix that takes the place of its own."""
        ...
