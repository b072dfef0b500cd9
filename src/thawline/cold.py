"""ColdFile and ColdFolder: a file or a folder of any known format, opened for reading only."""

from __future__ import annotations

import os
import warnings
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator
from functools import cached_property
from types import TracebackType
from typing import TYPE_CHECKING, Any, NoReturn, Self, TypeVar

import pyarrow as pa

from thawline import formats
from thawline.batches import first, last
from thawline.damage import CORRUPT, OnError, kept
from thawline.errors import NoSuchColumn, SourceError, UnknownFormat
from thawline.faults import with_faults
from thawline.files import Group, Tree
from thawline.filters import Bound, Filter, filter_of
from thawline.filters.pushdown import narrowed
from thawline.folder import File, Folder, Unread
from thawline.formats.contract import Claim, Depth, Foldered, Format, Kind, Leading, Member, Tailing
from thawline.formats.division import read_together, walk_together
from thawline.formats.registry import claim_folder
from thawline.jobs import ALONE, Crew
from thawline.model import Finding, Report, Run
from thawline.notebook import file_card, folder_card
from thawline.source import Readable, Source, open_source
from thawline.verbs.verify import verify, verify_folder
from thawline.wording import printable

if TYPE_CHECKING:
    import polars as pl
    import pyarrow.dataset as ds

Item = TypeVar("Item")


class ArrowRows(ABC):
    """Rows that pyarrow, polars, pandas and duckdb read directly and repeatedly."""

    @property
    @abstractmethod
    def schema(self) -> pa.Schema:
        """The Arrow schema of what `batches` yields."""

    @abstractmethod
    def batches(
        self, columns: Collection[str] | None = None, where: Filter | str | None = None
    ) -> Iterator[pa.RecordBatch]:
        """Rows, batch by batch."""

    @abstractmethod
    def pruned(self, columns: Collection[str] | None, bound: Bound) -> Iterator[pa.RecordBatch]:
        """Rows of what may hold a row that meets a filter; the filter is not applied to them."""

    def lazy(self) -> pl.LazyFrame:
        """The rows as a lazy frame of Polars, which reads the columns and units that a query needs."""
        from thawline.lazily import lazy_frame  # noqa: PLC0415 - few need it, and datasets take long to import

        return lazy_frame(self)

    def dataset(self) -> ds.Dataset:
        """The rows as a dataset of pyarrow: `duckdb.sql` over it reads the columns and units that the query needs."""
        from thawline.lazily import RowsDataset  # noqa: PLC0415 - as above

        return RowsDataset(self)

    def __arrow_c_schema__(self) -> Any:
        return self.schema.__arrow_c_schema__()

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        """A stream of all rows."""
        reader = pa.RecordBatchReader.from_batches(self.schema, self.batches())
        return reader.__arrow_c_stream__(requested_schema)

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        return self.batches()

    def __array__(self, *_dtype: Any, **_copy: Any) -> NoReturn:
        # `pd.DataFrame(cold)` tries this first; without it, pandas would build a frame with a row for each batch.
        raise TypeError("rows are no array; write pd.DataFrame.from_arrow(…), pl.DataFrame(…) or pyarrow.table(…)")


class ColdFile(ArrowRows):
    r"""An open file: its rows as Arrow, its findings, its report.

    >>> frame = bytes.fromhex("14000000 41424344 03030303 14000000")
    >>> from thawline.checksums import crc32c
    >>> log = b"RBF1" + frame + crc32c(frame, 4).to_bytes(4, "little") + b"RBF1"
    >>> with open_cold(log) as cold:
    ...     print(cold.format.name, [row["tag_text"] for batch in cold.batches() for row in batch.to_pylist()])
    rbf ['ABCD']
    >>> with open_cold(log + b"torn") as cold:
    ...     for finding in cold.findings():
    ...         print(finding.code.id, finding.span, finding.message)
    RBF105 0x1c..0x20 these bytes are no frame
    """

    def __init__(
        self,
        source: Source,
        format: Format,  # noqa: A002 - the word that every caller expects
        table: str | None = None,
        on_error: OnError = "skip",
        claim: Claim | None = None,
        crew: Crew = ALONE,
    ) -> None:
        self.source, self.format, self.claim, self.crew = source, format, claim, crew
        self.kind = format.kind_of(source)
        self.table = table or (claim.table if claim else "") or next(iter(self.kind.tables))
        if self.table not in format.tables:
            known = ", ".join(format.tables)
            raise ValueError(f"{format.name} has no table {self.table!r}; there are {known}")
        if on_error not in ("skip", "keep", "raise"):
            raise ValueError(f"on_error is {on_error!r}; it is one of skip, keep, raise")
        self.on_error = on_error

    @property
    def name(self) -> str:
        """The name of the file."""
        return self.source.name

    @property
    def size(self) -> int:
        """Its size in bytes."""
        return self.source.size

    @property
    def unit_name(self) -> str:
        """The name of its units, such as `batch`."""
        return self.kind.unit_name

    @property
    def schema(self) -> pa.Schema:
        """The Arrow schema of what `batches` yields."""
        return with_damage(self.format.tables[self.table].schema, self.on_error)

    @property
    def every_column(self) -> pa.Schema:
        """The schema with the columns that are only given when they are requested by name."""
        return pa.unify_schemas([self.schema, self.format.tables[self.table].extras])

    def scan(self, depth: Depth = Depth.EVERYTHING) -> Iterator[Run | Finding]:
        """Intact runs and findings, in file order; their spans tile the file."""
        return self.watched(with_faults(walk_together(self.kind, self.source, depth, self.crew), self.source))

    def watched(self, items: Iterator[Item]) -> Iterator[Item]:
        """The items of a scan; subclasses override this to count them."""
        return items

    def findings(self) -> Iterator[Finding]:
        """Findings of all severities, in file order."""
        return (item for item in self.scan() if isinstance(item, Finding))

    def verify(self, *, heads_only: bool = False) -> Report:
        """The report on the file: every byte is intact, damaged, or described by a finding.

        With `heads_only`, intact means that the heads of the units are consistent with each other and with the file.
        """
        return verify(self, heads_only=heads_only)

    def batches(
        self, columns: Collection[str] | None = None, where: Filter | str | None = None
    ) -> Iterator[pa.RecordBatch]:
        """Rows of the table with the requested columns that meet a filter, such as `offset >= 100 and key is not null`.

        What cannot hold a wanted row is passed over where the format can tell. `on_error` decides about damage: it is
        skipped, kept as a row of nulls with its bytes in `_corrupt_record`, or raised.
        """
        bound, schema = self.bound(where, columns), self.projected(columns)
        needed = self.projected({*schema.names, *bound.columns})
        rows = bound.matching(self._read(needed, self._narrowed(bound)))
        yield from rows if len(needed) == len(schema) else (batch.select(schema.names) for batch in rows)

    def pruned(self, columns: Collection[str] | None, bound: Bound) -> Iterator[pa.RecordBatch]:
        """Rows of what may hold a row that meets a filter; the filter is not applied to them."""
        yield from self._read(self.projected(columns), self._narrowed(bound))

    @property
    def counts_by_heads(self) -> bool:
        """Whether the heads of units tell how many rows the table has, without damage that only decoding shows."""
        return self.kind.has_heads and self.table == next(iter(self.format.tables)) and self.on_error == "skip"

    def bound(self, where: Filter | str | None, columns: Collection[str] | None = None) -> Bound:
        """A filter for the table; `BadFilter` where it does not fit. A pattern is looked for in `columns`."""
        given = self.projected(columns).names
        return filter_of(where).bound(self.every_column, f"{self.format.name}.{self.table}", given)

    def _narrowed(self, bound: Bound) -> Kind:
        """The kind of the file, with options by which it passes over what the filter leaves out."""
        narrow = narrowed(self.format, self.table, bound.conditions)
        return self.kind if narrow is self.format else narrow.kind_of(self.source)

    def _read(self, schema: pa.Schema, kind: Kind) -> Iterator[pa.RecordBatch]:
        wanted = [name for name in schema.names if name != CORRUPT]
        for item in self.watched(read_together(kind, self.source, self.table, wanted, self.crew)):
            if not isinstance(item, Finding):
                yield from (_widened(batch, schema) for batch in item[1])
            elif (corrupt := kept(item, self.source, self.on_error)) is not None:
                yield pa.RecordBatch.from_pylist([{CORRUPT: corrupt}], schema=schema)

    def projected(self, columns: Collection[str] | None) -> pa.Schema:
        """The schema of some columns, in the table's order; `NoSuchColumn` for an unknown one lists them all."""
        if columns is None:
            return self.schema
        offered = self.every_column
        if unknown := set(columns) - set(offered.names):
            names = ", ".join(offered.names)
            raise NoSuchColumn(
                f"{self.format.name}.{self.table} has no column {', '.join(sorted(unknown))}; it has {names}"
            )
        return pa.schema([field for field in offered if field.name in columns])

    def head(self, rows: int, columns: Collection[str] | None = None) -> Iterator[pa.RecordBatch]:
        """The first rows of the table, as `batches` yields them; no more of the file is read than they need.

        Damage after them goes unnoticed. Unless `on_error` is "skip", files whose walk starts with all of them are read
        as a whole.
        """
        if self.on_error == "skip" and isinstance(self.kind, Leading):
            batches = self.kind.head(self.source, rows, self.table, self.projected(columns).names)
            if batches is not None:
                return iter(batches)
        return first(self.batches(columns), rows)

    def tail(self, rows: int, columns: Collection[str] | None = None) -> list[pa.RecordBatch]:
        """The last rows of the table, as `batches` yields them, read from the end of the file where the format can.

        Unless `on_error` is "skip" the whole file is read, since damage anywhere in it counts.
        """
        if rows < 0:
            raise ValueError(f"rows is {rows}; it must be 0 or more")
        if self.on_error == "skip" and isinstance(self.kind, Tailing):
            batches = self.kind.tail(self.source, rows, self.table, self.projected(columns).names)
            if batches is not None:
                return batches
        return last(self.batches(columns), rows)

    def __repr__(self) -> str:
        version = f" {self.claim.version}" if self.claim and self.claim.version else ""
        return f"<{type(self).__name__} {self.name!r}: {self.format.name}{version}, {self.size} bytes, {self.table}>"

    def _repr_html_(self) -> str:
        return file_card(self)

    def close(self) -> None:
        """Close the file; reading from it afterwards raises `SourceError`."""
        self.source.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def with_damage(schema: pa.Schema, on_error: OnError) -> pa.Schema:
    """A schema with the column for damaged bytes, where they are kept."""
    return schema.append(pa.field(CORRUPT, pa.binary())) if on_error == "keep" else schema


def _widened(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """The batch with a column of nulls where the schema has one for damage."""
    if batch.num_columns == len(schema):
        return batch
    return batch.append_column(schema.field(CORRUPT), pa.nulls(batch.num_rows, pa.binary()))


def open_cold(
    source: Readable,
    format: str | None = None,  # noqa: A002 - the word that every caller expects
    table: str | None = None,
    on_error: OnError = "skip",
    jobs: int = 1,
    *,
    spec: str | os.PathLike[str] | None = None,
    **options: object,
) -> ColdFile:
    """Open a path, `-` for stdin, a URL, bytes or a file object; the format is recognised unless `format` names it.

    `spec` is the path of a Kaitai spec (`.ksy`) that describes a format of one's own.
    With `jobs`, that many threads read rows ahead; the rows and their order are the same. Options are those of the
    format, such as `since`; `thawline help FORMAT` lists them. Raises `UnknownFormat` if no format claims the file and
    `SourceError` if it cannot be opened.
    """
    if spec is not None and format is not None:
        raise ValueError("a spec describes a format of its own; give either the spec or the format")
    opened = open_source(source)
    try:
        resolved, claim = formats.resolve(opened, format, options, spec)
        return ColdFile(opened, resolved, table, on_error, claim, Crew(jobs))
    except BaseException:
        opened.close()
        raise


class ColdFolder(ArrowRows):
    """Files that belong together: a Kafka partition, a backup in several files, a repository."""

    def __init__(
        self,
        folder: Folder,
        format: Format,  # noqa: A002 - as above
        table: str | None = None,
        on_error: OnError = "skip",
        crew: Crew = ALONE,
    ) -> None:
        self.folder, self.format, self.on_error, self.crew = folder, format, on_error, crew
        self.table = table or next(iter(format.tables))

    @property
    def name(self) -> str:
        """Its path or URL."""
        return self.folder.path

    @cached_property
    def members(self) -> tuple[Member, ...]:
        """The files that hold rows, in reading order, each with its format as the folder configures it."""
        return tuple(self.format.members(self.folder)) if isinstance(self.format, Foldered) else ()

    @property
    def schema(self) -> pa.Schema:
        """The Arrow schema of what `batches` yields."""
        configured = self.members[0].format if self.members else self.format
        return with_damage(configured.tables[self.table].schema, self.on_error)

    def files(self) -> Iterator[ColdFile]:
        """Each file that holds rows, in reading order, open until the next one is requested.

        A file that cannot be opened gives a warning, or an error with `on_error="raise"`.
        """
        for file in self.opened():
            if isinstance(file, ColdFile):
                yield file
            elif self.on_error == "raise":
                raise SourceError(f"{file.path}: {file.reason}")
            else:
                warnings.warn(f"{printable(file.path)}: not read: {printable(file.reason)}", stacklevel=2)

    def opened(self) -> Iterator[ColdFile | Unread]:
        """Each file that holds rows, or why it cannot be opened, which does not affect the others."""
        for member in self.members:
            try:
                source = open_source(member.path)
            except SourceError as error:
                reason = str(error.strerror or error).removeprefix(f"{member.path}: ")
                yield Unread(member.path, reason)
                continue
            with source:
                claim = member.format.claim(source)
                yield ColdFile(source, member.format, self.table, self.on_error, claim, self.crew)

    def batches(
        self, columns: Collection[str] | None = None, where: Filter | str | None = None
    ) -> Iterator[pa.RecordBatch]:
        """Rows of all files that meet a filter, in reading order."""
        for cold in self.files():
            yield from cold.batches(columns, where)

    def pruned(self, columns: Collection[str] | None, bound: Bound) -> Iterator[pa.RecordBatch]:
        """Rows of what may hold a row that meets a filter, in reading order; the filter is not applied to them."""
        for cold in self.files():
            yield from cold.pruned(columns, bound)

    def reports(self) -> Iterator[Report]:
        """The report on each file, on its sidecars, and on the folder as a whole."""
        return verify_folder(self)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        """Close nothing: no file stays open between two reads."""

    def others(self) -> Iterator[File | Unread]:
        """Files below the folder that do not belong to it, and what cannot be read, with the reason."""
        for item in Tree(format_name=self.format.name).below(self.folder):
            if not isinstance(item, Group):
                yield item
            elif item.folder != self.folder:
                yield from map(File, sorted(item.held))

    def __repr__(self) -> str:
        files = f"{len(self.members)} file{'' if len(self.members) == 1 else 's'}"
        return f"<{type(self).__name__} {self.name!r}: {self.format.name}, {files}, {self.table}>"

    def _repr_html_(self) -> str:
        return folder_card(self)


def open_folder(
    path: str | os.PathLike[str],
    format: str | None = None,  # noqa: A002 - as above
    table: str | None = None,
    on_error: OnError = "skip",
    jobs: int = 1,
    **options: object,
) -> ColdFolder:
    """Open a folder whose files belong together; `UnknownFormat` if no format claims the folder.

    With `jobs`, that many threads read rows ahead.
    """
    folder = Folder(os.fspath(path))
    claim = claim_folder(formats.get(format), folder) if format else formats.identify_folder(folder)
    if claim is None:
        raise UnknownFormat(f"{folder.path}: the files of this folder belong to no known format as a whole")
    return ColdFolder(folder, formats.get(claim.format, **options), table, on_error, Crew(jobs))
