"""What a format offers: kinds of files, and for each kind how to claim, walk and decode a file.

A format is a frozen dataclass. Its fields are its options (`thawline.options`) and what a folder states about a file.
Its kinds do the work. Each optional ability is a small protocol of its own, further down; verbs test for it with
`isinstance`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import TYPE_CHECKING, Literal, Protocol, Self, runtime_checkable

import pyarrow as pa

from thawline.errors import CodecError, SourceError
from thawline.faults import readable, with_faults
from thawline.folder import Folder
from thawline.model import Code, Finding, Report, Run, Salvage, Span
from thawline.source import Source
from thawline.tables import Identity, PublicTable

if TYPE_CHECKING:
    from thawline.tracing import Trace

Confidence = Literal["certain", "likely", "possible"]
CONFIDENCE: tuple[Confidence, ...] = ("certain", "likely", "possible")

MOST_CONTENT = 64 << 20
"""At most this many bytes are decompressed to show the content of a unit."""

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
    """The default table of the file, where it is not the format's first."""


class Depth(Enum):
    """How much of a file a walk reads."""

    HEADS = "heads"
    """The heads of units. Payloads are neither read nor decompressed."""
    UNITS = "units"
    """As much as `rows` needs: runs are independent, and any process can read them in any order."""
    EVERYTHING = "everything"
    """Every byte: checksums are verified, payloads decompressed, records decoded."""


@dataclass(frozen=True, slots=True)
class Table:
    """The schema of rows that a kind of file gives."""

    schema: pa.Schema
    extras: pa.Schema = field(default_factory=lambda: pa.schema([]))
    """Further columns, given only when requested by name."""
    depth: Depth = Depth.UNITS
    """The depth of the walk that `rows` needs for this table: a table of heads needs only heads."""
    doc: str = ""
    """What its rows are, as far as it is declared."""
    meanings: Mapping[str, str] = field(default_factory=dict)
    """What columns mean, by name."""
    identity: Identity = field(default_factory=Identity)
    """What tells its rows from each other."""

    @classmethod
    def of(cls, declared: PublicTable, depth: Depth = Depth.UNITS) -> Table:
        """The table that a declaration describes."""
        meanings = {column.name: column.doc for column in declared.columns}
        return cls(declared.schema, declared.extras, depth, declared.doc, meanings, declared.identity)


@dataclass(frozen=True, slots=True)
class Ask:
    """One question about the rows of a table."""

    name: str
    """What is asked, in the words of the format's owner, such as `offsets`."""
    kind: Literal["range", "values", "distinct", "sum", "gaps"]
    columns: tuple[str, ...]
    """One column; of a range or of gaps the columns of the first and of the last."""
    usual: tuple[str, ...] = ()
    """Values that no part of thawline requests."""


@dataclass(frozen=True, slots=True)
class Overview:
    """What `info` asks of the rows of a table first."""

    table: str
    asks: tuple[Ask, ...]


class Kind(Protocol):
    """One kind of file of a format: a segment, an index, a pack.

    The spans that `walk` yields tile the file. A finding inside a unit that is intact as a whole has the empty span at
    the end of that unit; its detail gives the place inside.
    """

    name: str
    unit_name: str
    """The format's own word for a unit: a frame, a batch, a blob."""
    has_heads: bool = False
    """Whether a walk by heads reads less than the whole file."""
    overview: Overview | None = None
    """What is asked first of such a file; a walk by heads is enough to answer it."""

    @property
    def tables(self) -> Mapping[str, Table]:
        """The tables that a file of this kind holds, by name; the first is the default."""
        ...

    def claim(self, source: Source) -> Claim | None:
        """The claim that the file is of this kind, from its name and a few bytes; None if it is not."""
        ...

    def walk(self, source: Source, depth: Depth) -> Iterator[Run | Finding]:
        """Intact runs and findings, in file order, as far as `depth` shows them."""
        ...

    def rows(self, source: Source, items: Iterable[Run | Finding], table: str, columns: Collection[str]) -> Reading:
        """Items of a walk to the table's depth, each run with its rows, and findings that only decoding gives.

        Runs may be cut at the starts of their units. Rows have the requested columns, in the table's order, extras
        last. A run that is yielded before it has been read to its end has the number of rows from its head.
        """
        ...

    def units(self, source: Source, run: Run) -> Iterator[Span]:
        """The spans of a run's units, without separators that belong to no unit."""
        ...

    def spec_at(self, source: Source, position: int) -> str:
        """The spec of the unit that starts, or should start, at a position; `inspect` shows its fields."""
        ...


def read(
    kind: Kind, source: Source, table: str, columns: Collection[str], items: Iterable[Run | Finding] | None = None
) -> Reading:
    """The rows of a file with its findings, in one pass; with `items`, those of a part of the file.

    Rows from bytes that the disk did not give are left out. `SourceError` if a file of this kind has no such table.
    """
    if table not in kind.tables:
        raise SourceError(f"{source.name}: holds the table {', '.join(kind.tables)}, not {table}")
    walked = kind.walk(source, kind.tables[table].depth) if items is None else items
    return _readable(kind.rows(source, walked, table, columns), source)


def _readable(reading: Reading, source: Source) -> Reading:
    for item in with_faults(reading, source):
        yield item if isinstance(item, Finding) else (item[0], readable(*item, source))


class Format(Protocol):
    """The files that a system writes: its kinds, the most common one first."""

    name: str
    title: str
    codes: tuple[Code, ...]

    @property
    def kinds(self) -> tuple[Kind, ...]:
        """The kinds of files of this format, configured with its options."""
        ...

    @property
    def tables(self) -> dict[str, Table]:
        """The tables of all kinds by name; the first is the format's default."""
        tables: dict[str, Table] = {}
        for kind in self.kinds:
            tables |= {name: table for name, table in kind.tables.items() if name not in tables}
        return tables

    def kind_of(self, source: Source) -> Kind:
        """The kind that claims a file with the highest confidence; the first kind if none claims it."""
        if len(self.kinds) == 1:
            return self.kinds[0]  # nothing to fetch of a remote file
        best = _best_claim(self.kinds, source)
        return best[0] if best else self.kinds[0]

    def claim(self, source: Source) -> Claim | None:
        """The claim of the kind with the highest confidence; None if no kind claims the file."""
        best = _best_claim(self.kinds, source)
        return best[1] if best else None


def _best_claim(kinds: Iterable[Kind], source: Source) -> tuple[Kind, Claim] | None:
    claims = [(kind, claim) for kind in kinds if (claim := kind.claim(source))]
    return min(claims, key=lambda pair: CONFIDENCE.index(pair[1].confidence), default=None)


# Optional abilities of formats and kinds.


@dataclass(frozen=True, slots=True)
class Member:
    """A file of a folder, and its format, configured with what the folder states about the file."""

    path: str
    format: Format
    known: Mapping[str, object] = field(default_factory=dict)
    """Columns that have one value in all rows of the file, as far as the folder shows."""


@runtime_checkable
class Foldered(Format, Protocol):
    """A format whose files belong together in a folder: a partition, a backup, a repository."""

    def claim_folder(self, folder: Folder) -> Claim | None:
        """The claim that the files of a folder belong together; None if they do not."""
        ...

    def members(self, folder: Folder) -> Iterator[Member]:
        """The files of a folder that hold rows, in reading order."""
        ...

    def holdings(self, folder: Folder) -> Iterator[str]:
        """Paths of the files that `members` and `accounts` cover; every other file of the folder stands alone."""
        ...

    def accounts(self, folder: Folder) -> Iterator[Report]:
        """Reports besides those of the members: on their sidecars, and on the folder as a whole."""
        ...


@dataclass(frozen=True, slots=True)
class Chart:
    """The columns that say from where to where the rows of a unit go, in a table that is made of heads."""

    table: str
    size: str = ""
    """The column of stored bytes."""
    codec: str = ""
    earliest: str = ""
    latest: str = ""
    noun: str = ""
    """What positions are called, such as `offset`."""
    first: str = ""
    last: str = ""

    @property
    def columns(self) -> tuple[str, ...]:
        """All of its columns."""
        named = (self.size, self.codec, self.earliest, self.latest, self.first, self.last)
        return tuple(name for name in named if name)


@runtime_checkable
class Charted(Protocol):
    """A kind whose heads tell positions, times or codecs of their units."""

    @property
    def chart(self) -> Chart:
        """Where they are told."""
        ...


@runtime_checkable
class Specified(Format, Protocol):
    """A format that a spec of a user describes."""

    @property
    def spec_file(self) -> str:
        """The path of the spec."""
        ...


@runtime_checkable
class Learning(Protocol):
    """A format whose schema depends on the files."""

    def prepared(self, sources: Iterable[Source]) -> Self:
        """The format with the schema that these files give it."""
        ...


@runtime_checkable
class Undivided(Protocol):
    """A kind with files of which no part can be read without all that is before it, such as a compressed stream."""

    def is_undivided(self, source: Source) -> bool:
        """Whether one task reads the whole file."""
        ...


@dataclass(frozen=True, slots=True)
class Section:
    """A stretch of a file that begins and ends where units seem to."""

    span: Span
    items: Callable[[], Sequence[Run | Finding] | None]
    """What a walk gives of it, verified, if it is intact up to there; None unless its end proves to be the end of a
    unit, and nothing in it needs what is around it. Any thread may call it."""
    first: tuple[int, ...] = ()
    last: tuple[int, ...] = ()
    """Numbers that must not be below those that the section before ends with, and those that it ends with itself."""


@runtime_checkable
class Sectioned(Protocol):
    """A kind whose files are divided by heads alone, or by what the starts of units look like.

    A section counts if it holds, and all before it do. So nothing is verified but by whoever reads it.
    """

    are_sections_final: bool
    """Whether sections that hold count, whatever comes after them."""

    def boundary(self, source: Source, position: int) -> int:
        """Where a unit seems to start, from a position on; the end of the file if none does."""
        ...

    def sections(self, source: Source, depth: Depth, size: int, within: Span) -> Iterator[Section]:
        """Sections of about some size, one after the other within two boundaries, up to where heads show damage.

        None of a file, or for options, that leave no choice but a walk.
        """
        ...

    def rest(self, source: Source, depth: Depth, start: int) -> Iterator[Run | Finding]:
        """What a walk gives from the end of the last section that counts."""
        ...


@runtime_checkable
class Tailing(Protocol):
    """A kind whose last rows can be read from the end of the file."""

    def tail(self, source: Source, rows: int, table: str, columns: Collection[str]) -> list[pa.RecordBatch] | None:
        """The last rows of a table; None if only a walk can find them."""
        ...


@runtime_checkable
class Leading(Protocol):
    """A kind whose walk reads the whole file before it gives anything, and whose first rows need no walk."""

    def head(self, source: Source, rows: int, table: str, columns: Collection[str]) -> list[pa.RecordBatch] | None:
        """The first rows of a table; None if only a walk can find them."""
        ...


@dataclass(frozen=True, slots=True)
class Content:
    """The content of a unit's field, which another spec describes."""

    field: str
    spec: str
    params: tuple[object, ...]
    span: Span
    """The bytes of the file that store it."""
    data: bytes | None = None
    """The decompressed content, or its start; None if it is stored uncompressed."""
    codec: str = ""
    problem: str = ""
    """Why no more could be decompressed."""

    def decompressed(self, codec: str, chunks: Iterable[bytes], most: int = MOST_CONTENT) -> Content:
        """The content with its decompressed data, up to `most` bytes or the first error."""
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
        """The content of the unit at a span; None if it cannot be determined."""
        ...


@runtime_checkable
class Traced(Protocol):
    """A kind that tells where the fields of its units are, without a parser that was generated for them."""

    @property
    def context(self) -> int:
        """At most this many bytes before damage are shown with it."""
        ...

    def trace(self, source: Source, span: Span) -> Trace:
        """The fields of what lies at a span; positions count from its start."""
        ...


@runtime_checkable
class Salvaging(Protocol):
    """A kind whose intact units can be written to a new, valid file."""

    def intact(self, source: Source) -> Iterator[Run | Finding]:
        """The items of a walk over everything, with a run for all that goes into the new file."""
        ...

    def salvage(self, source: Source, items: Iterator[Run | Finding]) -> Iterator[bytes | memoryview]:
        """The bytes of the new file."""
        ...


@runtime_checkable
class Recovering(Protocol):
    """A kind that can prove units that readers of the format must reject."""

    def recover(self, source: Source, items: Iterator[Run | Finding]) -> Iterator[Run | Finding]:
        """The items of `Salvaging.intact` with proven units as runs; `Run.recovered` is the code of their finding."""
        ...


@runtime_checkable
class ContentNamed(Protocol):
    """A kind whose files are named by their content: the name proves a repair, and a new file has a new name."""

    def salvaged(self, source: Source, *, include_suspects: bool) -> Salvage:
        """The content of a new file with everything intact or proven."""
        ...


@runtime_checkable
class Cuttable(Protocol):
    """A kind whose files can be cut short and stay valid."""

    def check_cut(self, source: Source, items: Iterator[Run | Finding], at: int) -> None:
        """Raise a `ThawlineError` that names better places, unless the first `at` bytes are a valid file."""
        ...


@runtime_checkable
class Indexed(Protocol):
    """A kind with index files beside its files."""

    def indexes(self, source: Source) -> dict[str, bytes]:
        """The bytes of each index file of an intact file, by the suffix that replaces the file's own."""
        ...
