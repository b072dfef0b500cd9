"""DuckDB without files, network, extensions or settings: it sees the rows that it is given, and nothing else."""

from __future__ import annotations

import datetime as dt
import os
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from contextvars import copy_context
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from thawline.errors import MissingExtra, ThawlineError
from thawline.queries.mistakes import told

MOST_SPILLED = "16GiB"
"""What a query may write to its temporary folder."""
LOOK = 0.2
"""Seconds after which the main thread looks for signals."""
SETTINGS = ("set ieee_floating_point_ops = false", "set error_on_division_by_zero = false")


class QueryError(ThawlineError):
    """DuckDB cannot answer a query."""


class Rows:
    """Rows that DuckDB reads as often as it needs them."""

    def __init__(
        self, schema: pa.Schema, read: Callable[[], Iterable[pa.RecordBatch]], offered: Sequence[str] = ()
    ) -> None:
        self.schema, self._read = schema, read
        self.offered = tuple(offered)
        """All columns that a query could name."""
        self.failure: BaseException | None = None
        """What went wrong when they were read; DuckDB passes on its text only."""

    def __arrow_c_schema__(self) -> Any:
        return self.schema.__arrow_c_schema__()

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        """A stream of all rows."""
        return pa.RecordBatchReader.from_batches(self.schema, self._watched()).__arrow_c_stream__(requested_schema)

    def _watched(self) -> Iterator[pa.RecordBatch]:
        try:
            yield from self._read()
        except GeneratorExit:
            raise
        except BaseException as error:
            self.failure = error
            raise


def half_of_memory() -> int:
    """Half of the memory of the machine, in bytes."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2


@contextmanager
def answered(
    sql: str, views: dict[str, Rows], *, threads: int = 1, memory: int | None = None, zone: dt.tzinfo = dt.UTC
) -> Iterator[tuple[pa.Schema, Iterator[pa.RecordBatch]]]:
    """The schema and the rows of an answer; they are computed while they are read.

    Threads and bytes of memory are bounded; beyond its memory the query spills to a temporary folder of its
    own, which is gone afterwards.
    """
    folder = tempfile.mkdtemp(prefix="thawline-sql-")
    connection = None
    try:
        connection = _connected(folder, threads, memory or half_of_memory(), zone)
        for name, rows in views.items():
            connection.register(name, rows)
        with _said(views):
            reader = _interruptible(connection, lambda: connection.sql(sql).to_arrow_reader(65_536))
        names = distinct(reader.schema.names)
        schema = pa.schema(
            [pa.field(name, _plain(field.type)) for name, field in zip(names, reader.schema, strict=True)]
        )
        yield schema, _batches(connection, reader, schema, views)
    finally:
        if connection is not None:
            connection.close()
        shutil.rmtree(folder, ignore_errors=True)


def distinct(names: Sequence[str]) -> list[str]:
    """Names of columns of which no two are the same, as rows in JSON and Parquet need them.

    >>> distinct(["key", "offset", "key", "key_1"])
    ['key', 'offset', 'key_2', 'key_1']
    """
    taken, found = set(names), list[str]()
    for name in names:
        new, number = name, 0
        while new in found or (number and new in taken):
            number += 1
            new = f"{name}_{number}"
        found.append(new)
    return found


def _connected(folder: str, threads: int, memory: int, zone: dt.tzinfo) -> Any:
    try:
        import duckdb  # noqa: PLC0415 - an extra
    except ImportError:
        raise MissingExtra("SQL needs DuckDB: pip install 'thawline[sql]'") from None
    connection = duckdb.connect(
        ":memory:",
        config={
            "enable_external_access": "false",
            "autoinstall_known_extensions": "false",
            "autoload_known_extensions": "false",
            "python_enable_replacements": "false",  # a name stands for no variable of ours
            "temp_directory": str(Path(folder) / "spilled"),
            "max_temp_directory_size": MOST_SPILLED,
            "memory_limit": f"{max(memory >> 20, 64)}MiB",
            "threads": str(threads),
        },
    )
    for setting in (*SETTINGS, f"set TimeZone = '{getattr(zone, 'key', 'UTC')}'", "set lock_configuration = true"):
        connection.execute(setting)
    return connection


@contextmanager
def _said(views: dict[str, Rows]) -> Iterator[None]:
    """What goes wrong, in words for people: our own errors as they are, DuckDB's in one line."""
    try:
        yield
    except ThawlineError:
        raise
    except Exception as error:
        for rows in views.values():
            if rows.failure is not None:
                raise rows.failure from None
        if type(error).__module__.split(".")[0] not in {"duckdb", "_duckdb", "pyarrow"}:
            raise
        raise QueryError(
            told(_sentence(str(error)), {name for rows in views.values() for name in rows.offered})
        ) from None


def _sentence(text: str) -> str:
    lines = (line.strip() for line in text.split("\n\nLINE ", maxsplit=1)[0].splitlines())
    return "; ".join(line for line in lines if line)


def _interruptible(connection: Any, work: Callable[[], Any]) -> Any:
    """The result of work that DuckDB does; Ctrl-C ends it. The main thread, which is told of Ctrl-C, only waits."""
    with ThreadPoolExecutor(1) as worker:
        doing = worker.submit(copy_context().run, work)
        try:
            while not doing.done():
                wait([doing], LOOK)
            return doing.result()
        except BaseException:
            connection.interrupt()
            raise


def _batches(connection: Any, reader: Any, schema: pa.Schema, views: dict[str, Rows]) -> Iterator[pa.RecordBatch]:
    while True:
        with _said(views):
            batch = _interruptible(connection, lambda: next(reader, None))
        if batch is None:
            return
        columns = [_cast(column, field.type) for column, field in zip(batch.columns, schema, strict=True)]
        yield pa.RecordBatch.from_arrays(columns, schema=schema)


def _plain(kind: pa.DataType) -> pa.DataType:
    """The type in which a column of DuckDB is written, in any kind of output."""
    types = pa.types
    if types.is_dictionary(kind):
        return _plain(kind.value_type)
    if types.is_large_binary(kind) or types.is_binary_view(kind) or types.is_fixed_size_binary(kind):
        return pa.binary()
    if types.is_string_view(kind) or types.is_large_string(kind) or isinstance(kind, pa.BaseExtensionType):
        return pa.string()
    is_time = types.is_date(kind) or types.is_time(kind) or types.is_duration(kind) or types.is_interval(kind)
    return pa.string() if is_time else kind


def _cast(column: pa.Array, kind: pa.DataType) -> pa.Array:
    if column.type == kind:
        return column
    try:
        return pc.cast(column.storage if isinstance(column.type, pa.BaseExtensionType) else column, kind)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return pa.array([None if value is None else str(value) for value in column.to_pylist()], kind)
