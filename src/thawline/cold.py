"""ColdFile: a file of any known format, to be read as often as you like and never written to."""

from __future__ import annotations

import os
import warnings
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator
from dataclasses import replace
from functools import cached_property
from types import TracebackType
from typing import Any, NoReturn, Self, TypeVar

import pyarrow as pa

from thawline import formats
from thawline.batches import last
from thawline.damage import CORRUPT, OnError, kept
from thawline.errors import SourceError, UnknownFormat
from thawline.faults import UNREADABLE, readable, with_faults
from thawline.files import Group, Tree
from thawline.folder import File, Folder, Unread
from thawline.formats.contract import Claim, Depth, Foldered, Format, Member, Reading, Tailing, read
from thawline.formats.registry import claim_folder
from thawline.model import Finding, Report, Run, Span, report
from thawline.notebook import card
from thawline.source import Readable, Source, open_source
from thawline.wording import printable

Item = TypeVar("Item")
TOLD_A_FORMAT = ("thawline verify ", "thawline inspect ", "thawline salvage ", "thawline cat ")


class ArrowRows(ABC):
    """Something whose rows pyarrow, polars, pandas and duckdb read directly, as often as they like."""

    @property
    @abstractmethod
    def schema(self) -> pa.Schema:
        """The Arrow schema of what `batches` yields."""

    @abstractmethod
    def batches(self, columns: Collection[str] | None = None) -> Iterator[pa.RecordBatch]:
        """Rows, batch by batch."""

    def __arrow_c_schema__(self) -> Any:
        return self.schema.__arrow_c_schema__()

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        """A stream of all rows."""
        reader = pa.RecordBatchReader.from_batches(self.schema, self.batches())
        return reader.__arrow_c_stream__(requested_schema)

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        return self.batches()

    def __array__(self, *_dtype: Any, **_copy: Any) -> NoReturn:
        # `pd.DataFrame(cold)` asks for an array first; else it would make a frame of batches, each of them a row.
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
    ) -> None:
        self.source, self.format, self.claim = source, format, claim
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
        """What the file is called."""
        return self.source.name

    @property
    def size(self) -> int:
        """Its size in bytes."""
        return self.source.size

    @property
    def unit_name(self) -> str:
        """What a unit of it is called."""
        return self.kind.unit_name

    @property
    def schema(self) -> pa.Schema:
        """The Arrow schema of what `batches` yields."""
        return with_damage(self.format.tables[self.table].schema, self.on_error)

    @property
    def every_column(self) -> pa.Schema:
        """The schema with the columns that are only there when they are asked for by name."""
        return pa.unify_schemas([self.schema, self.format.tables[self.table].extras])

    def scan(self, depth: Depth = Depth.EVERYTHING) -> Iterator[Run | Finding]:
        """Intact runs and findings, in file order; their spans tile the file."""
        return self.watched(with_faults(self.kind.walk(self.source, depth), self.source))

    def watched(self, items: Iterator[Item]) -> Iterator[Item]:
        """The items of a scan on their way to whoever asked for them."""
        return items

    def findings(self) -> Iterator[Finding]:
        """Everything that is wrong, or worth knowing."""
        return (item for item in self.scan() if isinstance(item, Finding))

    def verify(self, *, heads_only: bool = False) -> Report:
        """The account of the file: every byte of it is intact, damaged, or named for what it is.

        With `heads_only`, intact means that the heads of units fit each other and the file.
        """
        items = self.scan(Depth.HEADS if heads_only else Depth.EVERYTHING)
        return report(self.name, self.format.name, self.size, items if self.claim else map(self._as_said, items))

    def _as_said(self, item: Run | Finding) -> Run | Finding:
        """An item whose hint works for a file that is not recognised, too: it has to be told the format again."""
        if not isinstance(item, Finding) or not item.hint.startswith(TOLD_A_FORMAT):
            return item
        return replace(item, hint=f"{item.hint} --input-format {self.format.name}")

    def batches(self, columns: Collection[str] | None = None) -> Iterator[pa.RecordBatch]:
        """Rows of the table; of its columns those that are asked for.

        What happens with damage is what `on_error` said: it is passed over, kept as a row of nulls with its bytes in
        `_corrupt_record`, or raised.
        """
        schema = self.projected(columns)
        wanted = [name for name in schema.names if name != CORRUPT]
        reading: Reading = self.watched(with_faults(read(self.kind, self.source, self.table, wanted), self.source))
        for item in reading:
            if not isinstance(item, Finding):
                for batch in readable(*item, self.source):
                    yield _widened(batch, schema)
            elif (corrupt := kept(item, self.source, self.on_error)) is not None:
                yield pa.RecordBatch.from_pylist([{CORRUPT: corrupt}], schema=schema)

    def projected(self, columns: Collection[str] | None) -> pa.Schema:
        """The schema of some columns, in the table's order; ValueError names those that there are."""
        if columns is None:
            return self.schema
        offered = self.every_column
        if unknown := set(columns) - set(offered.names):
            names = ", ".join(offered.names)
            raise ValueError(
                f"{self.format.name}.{self.table} has no column {', '.join(sorted(unknown))}; it has {names}"
            )
        return pa.schema([field for field in offered if field.name in columns])

    def tail(self, rows: int, columns: Collection[str] | None = None) -> list[pa.RecordBatch]:
        """The last rows of the table, as `batches` yields them, read from the end of the file where the format can.

        What to do with damage in the rest of the file is only known from looking for it, so other than with
        `on_error="skip"` the whole file is read.
        """
        if rows < 0:
            raise ValueError(f"the last {rows} rows: there are none before the first")
        if self.on_error == "skip" and isinstance(self.kind, Tailing):
            found = self.kind.tail(self.source, rows, self.table, self.projected(columns).names)
            if found is not None:
                return found
        return last(self.batches(columns), rows)

    def __repr__(self) -> str:
        version = f" {self.claim.version}" if self.claim and self.claim.version else ""
        return f"<{type(self).__name__} {self.name!r}: {self.format.name}{version}, {self.size} bytes, {self.table}>"

    def _repr_html_(self) -> str:
        facts = {
            "format": f"{self.format.title}, version {self.claim.version}" if self.claim else self.format.title,
            "size": f"{self.size} bytes",
            "because": self.claim.why if self.claim else "",
        }
        return card(self.name, facts, self.table, self.schema)

    def close(self) -> None:
        """Let go of the file; whoever reads from it afterwards is told so."""
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
    **options: object,
) -> ColdFile:
    """Open a path, `-` for stdin, a URL, bytes or a file object; the format is recognised unless it is given.

    Options are those of the format, such as `since`; `thawline help FORMAT` lists them. Raises `UnknownFormat` if no
    format claims the file and `SourceError` if it cannot be opened.
    """
    opened = open_source(source)
    try:
        found, claim = formats.resolve(opened, format, options)
        return ColdFile(opened, found, table, on_error, claim)
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
    ) -> None:
        self.folder, self.format, self.on_error = folder, format, on_error
        self.table = table or next(iter(format.tables))

    @property
    def name(self) -> str:
        """Where it lies."""
        return self.folder.path

    @cached_property
    def members(self) -> tuple[Member, ...]:
        """The files that hold rows, in reading order, each with what the folder says about it."""
        return tuple(self.format.members(self.folder)) if isinstance(self.format, Foldered) else ()

    @property
    def schema(self) -> pa.Schema:
        """The Arrow schema of what `batches` yields."""
        told = self.members[0].format if self.members else self.format
        return with_damage(told.tables[self.table].schema, self.on_error)

    def files(self) -> Iterator[ColdFile]:
        """Each file that holds rows, in reading order, open until the next one is asked for.

        One that cannot be opened is named by a warning; with `on_error="raise"` it is raised.
        """
        for found in self._opened():
            if isinstance(found, ColdFile):
                yield found
            elif self.on_error == "raise":
                raise SourceError(f"{found.path}: {found.reason}")
            else:
                warnings.warn(f"{printable(found.path)}: not read: {printable(found.reason)}", stacklevel=2)

    def _opened(self) -> Iterator[ColdFile | Unread]:
        """Each file that holds rows, or why it cannot be opened: the others can be read all the same."""
        for member in self.members:
            try:
                source = open_source(member.path)
            except SourceError as error:
                reason = str(error.strerror or error).removeprefix(f"{member.path}: ")
                yield Unread(member.path, reason)
                continue
            with source:
                yield ColdFile(source, member.format, self.table, self.on_error, member.format.claim(source))

    def batches(self, columns: Collection[str] | None = None) -> Iterator[pa.RecordBatch]:
        """Rows of all files, one after the other."""
        for cold in self.files():
            yield from cold.batches(columns)

    def reports(self) -> Iterator[Report]:
        """The account of each file, of the files beside them, and of the folder as a whole."""
        for found in self._opened():
            yield found.verify() if isinstance(found, ColdFile) else self._unread(found)
        try:
            yield from self.format.accounts(self.folder) if isinstance(self.format, Foldered) else ()
        except SourceError as error:  # of a folder with a file that cannot be read, there may be none as a whole
            yield self._unread(Unread(self.name, str(error)))

    def _unread(self, left: Unread) -> Report:
        """The account of what nobody could look at: an error, since it should have been read."""
        return report(left.path, self.format.name, 0, [Finding(UNREADABLE, Span(0, 0), {"reason": left.reason})])

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        """Nothing is open between two reads."""

    def others(self) -> Iterator[File | Unread]:
        """What else lies below the folder: files that are none of its own, and what cannot be read, with the reason."""
        for found in Tree(format_name=self.format.name).below(self.folder):
            if not isinstance(found, Group):
                yield found
            elif found.folder != self.folder:
                yield from map(File, sorted(found.held))

    def __repr__(self) -> str:
        files = f"{len(self.members)} file{'' if len(self.members) == 1 else 's'}"
        return f"<{type(self).__name__} {self.name!r}: {self.format.name}, {files}, {self.table}>"

    def _repr_html_(self) -> str:
        facts = {"format": self.format.title, "files": str(len(self.members))}
        return card(self.name, facts, self.table, self.schema)


def open_folder(
    path: str | os.PathLike[str],
    format: str | None = None,  # noqa: A002 - as above
    table: str | None = None,
    on_error: OnError = "skip",
    **options: object,
) -> ColdFolder:
    """Open a folder whose files belong together; `UnknownFormat` if no format says that of it."""
    folder = Folder(os.fspath(path))
    claim = claim_folder(formats.get(format), folder) if format else formats.identify_folder(folder)
    if claim is None:
        raise UnknownFormat(f"{folder.path}: the files of this folder belong to no known format as a whole")
    return ColdFolder(folder, formats.get(claim.format, **options), table, on_error)
