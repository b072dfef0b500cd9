"""Rows as text: the same Arrow table written as JSON lines and as CSV, one thread each, into a file."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, BinaryIO

import pyarrow as pa

from thawline.cold import open_cold
from thawline.sinks import FileKind, file_sink
from tools.bench import data
from tools.bench.data import DataSet
from tools.bench.measure import Contender, Read

DUCKDB, PYARROW = "DuckDB, COPY", "pyarrow.csv"
PAYLOAD = 64
Write = Callable[[pa.Table, Path], Any]


def rbf(records: int) -> DataSet:
    """RBF frames with a payload of 64 bytes of text."""
    table = pa.Table.from_batches(open_cold(b"RBF1" + data.rbf(records).data, "rbf").batches())
    texts = [value[:PAYLOAD] for batch in data.texts(records) for value in batch["value"].to_pylist()]
    return _stored(table.set_column(table.schema.get_field_index("payload"), "payload", pa.array(texts, pa.binary())))


def kafka(records: int) -> DataSet:
    """Kafka records with keys of 16 digits and values of 107 bytes of text."""
    return _stored(pa.Table.from_batches(open_cold(data.kafka_segment(records, "none").data, "kafka").batches()))


def flat_kafka(records: int) -> DataSet:
    """The same without the headers: Arrow's CSV has no lists."""
    table = _table(kafka(records).data)
    return _stored(table.drop_columns(["headers"]))


def _stored(table: pa.Table) -> DataSet:
    """A table as an Arrow stream; bytes are text in it, since others write bytes in their own ways."""
    fields = [pa.field(it.name, pa.string() if pa.types.is_binary(it.type) else it.type) for it in table.schema]
    out = pa.BufferOutputStream()
    with pa.ipc.new_stream(out, pa.schema(fields)) as writer:
        writer.write_table(table.cast(pa.schema(fields)))
    return DataSet(out.getvalue().to_pybytes(), table.num_rows, table.num_rows)


def _table(stored: bytes) -> pa.Table:
    """The table of an Arrow stream, without a copy."""
    return pa.ipc.open_stream(stored).read_all()


def _writing(prepare: Callable[[], Write], *, as_bytes: bool = False) -> Callable[[], Read]:
    """A contender that writes a table into a file."""

    def prepared() -> Read:
        write = prepare()

        def read(stored: bytes) -> int:
            table = _table(stored)
            if as_bytes:
                table = table.cast(pa.schema([(it.name, _binary(it.type)) for it in table.schema]))
            with TemporaryDirectory() as folder:
                write(table, Path(folder, "rows"))
            return int(table.num_rows)

        return read

    return prepared


def _binary(kind: pa.DataType) -> pa.DataType:
    return pa.binary() if pa.types.is_string(kind) else kind


def _ours(kind: FileKind) -> Callable[[], Write]:
    def write(table: pa.Table, path: Path) -> None:
        with path.open("wb") as file:
            _sink(kind, file, table)

    return lambda: write


def _sink(kind: FileKind, file: BinaryIO, table: pa.Table) -> None:
    with file_sink(kind, file, "auto") as sink:
        sink.add(table.schema, table.to_batches(), "rows")


def _duckdb() -> Write:
    import duckdb  # noqa: PLC0415 - optional

    connection = duckdb.connect()
    connection.execute("SET threads = 1")

    def write(table: pa.Table, path: Path) -> None:
        connection.register("rows", table)
        connection.execute(f"COPY rows TO '{path}' (FORMAT json)")
        connection.unregister("rows")

    return write


def _pyarrow() -> Write:
    from pyarrow import csv  # noqa: PLC0415 - slow to import

    write: Write = csv.write_csv
    return write


def _copied() -> Write:
    def write(table: pa.Table, path: Path) -> None:
        with path.open("wb") as file, pa.ipc.new_stream(file, table.schema) as writer:
            writer.write_table(table)

    return write


def contenders(kind: FileKind, ours: str) -> Iterator[Contender]:
    """Who writes a table as text: the floor first, ours second."""
    yield Contender("floor: Arrow stream", _writing(_copied))
    yield Contender(ours, _writing(_ours(kind)))
    note = "each value checked for UTF-8" if kind == "jsonl" else "and a column for what is not UTF-8"
    yield Contender(f"{ours}, columns of bytes", _writing(_ours(kind), as_bytes=True), note=note)
    if kind == "jsonl":
        yield Contender(DUCKDB, _writing(_duckdb), needs="duckdb", note="one thread")
    else:
        yield Contender(PYARROW, _writing(_pyarrow))
