"""ColdFile: a file of any known format, to be read as often as you like and never written to."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable, Iterator
from types import TracebackType
from typing import Any, Literal, Self

import pyarrow as pa

from thawline import formats
from thawline.errors import FormatError
from thawline.model import Finding, Report, Run, report
from thawline.source import Readable, Source, open_source

OnError = Literal["skip", "keep", "raise"]

CORRUPT = "_corrupt_record"
LONGEST_CORRUPT = 1 << 20
"""With `on_error="keep"`, at most this much of a damaged stretch goes into its row."""


class ColdFile:
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

    def __init__(self, source: Source, format_name: str | None, table: str | None, on_error: OnError) -> None:
        self.source = source
        self.claim = None if format_name else formats.identify(source)
        self.format = formats.get(format_name or self.claim.format)  # type: ignore[union-attr]
        self.table = table or self.format.tables[0]
        if self.table not in self.format.tables:
            known = ", ".join(self.format.tables)
            raise ValueError(f"{self.format.name} has no table {self.table!r}; there are {known}")
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
    def schema(self) -> pa.Schema:
        """The Arrow schema of what `batches` yields."""
        schema = self.format.schema(self.table)
        return schema.append(pa.field(CORRUPT, pa.binary())) if self.on_error == "keep" else schema

    def scan(self) -> Iterator[Run | Finding]:
        """Intact runs and findings, in file order; their spans tile the file."""
        return self.format.scan(self.source)

    def findings(self) -> Iterator[Finding]:
        """Everything that is wrong, or worth knowing."""
        return (item for item in self.scan() if isinstance(item, Finding))

    def verify(self) -> Report:
        """The account of the file: every byte of it is intact, damaged, or named for what it is."""
        return report(self.name, self.format.name, self.size, self.scan())

    def batches(self, columns: Collection[str] | None = None) -> Iterator[pa.RecordBatch]:
        """Rows of the table; of its columns those that are asked for.

        What happens with damage is what `on_error` said: it is passed over, kept as a row of nulls with its bytes in
        `_corrupt_record`, or raised.
        """
        schema = self._projected(columns)
        wanted = [name for name in schema.names if name != CORRUPT]
        for item in self.scan():
            if isinstance(item, Run):
                for batch in self.format.batches(self.source, item, self.table, wanted):
                    yield _widened(batch, schema)
            elif item.severity == "error":
                yield from self._damage(item, schema)

    def _projected(self, columns: Collection[str] | None) -> pa.Schema:
        if columns is None:
            return self.schema
        if unknown := set(columns) - set(self.schema.names):
            names = ", ".join(self.schema.names)
            raise ValueError(
                f"{self.format.name}.{self.table} has no column {', '.join(sorted(unknown))}; it has {names}"
            )
        return pa.schema([field for field in self.schema if field.name in columns])

    def _damage(self, finding: Finding, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        if self.on_error == "raise":
            message = f"{finding.code.id} {finding.message}, up to byte {finding.span.end:#x}"
            raise FormatError(message, file=self.name, offset=finding.span.start)
        if self.on_error == "keep":
            end = min(finding.span.end, finding.span.start + LONGEST_CORRUPT)
            corrupt = {CORRUPT: bytes(self.source.view(finding.span.start, end))}
            yield pa.RecordBatch.from_pylist([corrupt], schema=schema)

    def tail(self, rows: int) -> list[pa.RecordBatch]:
        """The last rows of the table, as `batches` yields them, read from the end of the file where the format can.

        What to do with damage in the rest of the file is only known from looking for it, so other than with
        `on_error="skip"` the whole file is read.
        """
        if rows < 0:
            raise ValueError(f"the last {rows} rows: there are none before the first")
        if self.table == self.format.tables[0] and self.on_error == "skip":
            found = self.format.tail(self.source, rows)
            if found is not None:
                return found
        return last(self.batches(), rows, self.schema)

    def __arrow_c_schema__(self) -> Any:
        return self.schema.__arrow_c_schema__()

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        """A stream of all rows, which pyarrow, polars, pandas and duckdb read directly."""
        reader = pa.RecordBatchReader.from_batches(self.schema, self.batches())
        return reader.__arrow_c_stream__(requested_schema)

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        return self.batches()

    def close(self) -> None:
        """Let go of the file."""
        self.source.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def last(batches: Iterable[pa.RecordBatch], rows: int, schema: pa.Schema) -> list[pa.RecordBatch]:
    """The last rows of some batches; no more of them are kept than are needed."""
    kept: deque[pa.RecordBatch] = deque()
    count = 0
    for batch in batches:
        kept.append(batch)
        count += batch.num_rows
        while kept and count - kept[0].num_rows >= rows:
            count -= kept.popleft().num_rows
    table = pa.Table.from_batches(kept, schema)
    ending: list[pa.RecordBatch] = table.slice(max(table.num_rows - rows, 0)).to_batches()
    return ending


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
) -> ColdFile:
    """Open a path, `-` for stdin, a URL, bytes or a file object; the format is recognised unless it is given.

    Raises `UnknownFormat` if no format claims the file and `SourceError` if it cannot be opened.
    """
    opened = open_source(source)
    try:
        return ColdFile(opened, format, table, on_error)
    except BaseException:
        opened.close()
        raise
