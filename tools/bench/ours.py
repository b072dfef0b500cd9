"""The columnar backend, from bytes to record batches that are dropped one by one, as the verbs do."""

from __future__ import annotations

from array import array
from collections.abc import Collection, Iterator

import pyarrow as pa
import pyarrow.compute as pc

from thawline.cold import open_cold
from thawline.engine import columns
from thawline.engine.chunks import Break, Chunk, Ranges
from tools.bench.measure import Read

BATCH_HEAD_SIZE = 61
HEADS = ("base_offset", "base_timestamp", "num_records", "crc")
BYTES_OF_BATCHES = 32 << 20
"""Batches whose records are read in one go."""


def reader(table: str, checksum: str | None = None, wanted: Collection[str] | None = None) -> Read:
    """Read a whole buffer as one table, and compare the checksums with those of the column that stores them."""

    def read(data: bytes) -> int:
        rows = 0
        for chunk in _chunks(table, data, wanted=wanted):
            if checksum is not None:
                _check(chunk, checksum)
            rows += chunk.batch.num_rows
        return rows

    return read


def kafka_records(data: bytes) -> int:
    """Read the records of a segment of magic 2."""
    return sum(batch.num_rows for batch in kafka_batches(data))


def kafka_records_kept(data: bytes) -> int:
    """Read the records of a segment of magic 2 and keep all of them in memory at once."""
    return int(pa.Table.from_batches(list(kafka_batches(data))).num_rows)


def kafka_batches(data: bytes) -> Iterator[pa.RecordBatch]:
    """Record batches of a segment of magic 2 whose checksums are right, with offset and timestamp of each record."""
    for heads in _chunks("kafka_batches", data, wanted=HEADS, max_bytes=BYTES_OF_BATCHES):
        _check(heads, "crc")
        records = Ranges(
            _int64s(pc.add(heads.starts, BATCH_HEAD_SIZE)),
            _int64s(heads.ends),
            _int64s(heads.batch["num_records"].cast(pa.int64())),
        )
        for chunk in _chunks("kafka_records", data, records):
            yield _absolute(chunk, heads.batch)


def kafka_segment(data: bytes) -> int:
    """Read the records of a segment through the public interface, which verifies everything on the way."""
    with open_cold(data, "kafka") as segment:
        return sum(batch.num_rows for batch in segment.batches())


def _absolute(chunk: Chunk, heads: pa.RecordBatch) -> pa.RecordBatch:
    names = ("attributes", "key", "value", "headers")
    offset, timestamp = (
        columns.add_bases(chunk, f"{name}_delta", heads[f"base_{name}"]) for name in ("offset", "timestamp")
    )
    return pa.RecordBatch.from_arrays(
        [offset, timestamp, *(chunk.batch[name] for name in names)], ["offset", "timestamp", *names]
    )


def _chunks(
    table: str,
    data: bytes,
    ranges: Ranges | None = None,
    wanted: Collection[str] | None = None,
    max_bytes: int = columns.MAX_BYTES,
) -> Iterator[Chunk]:
    for found in columns.scan(table, data, ranges, columns=wanted, max_bytes=max_bytes):
        if isinstance(found, Break):
            raise ValueError(f"{table}: {found}")  # noqa: TRY004 - the data is wrong, not its type
        yield found


def _check(chunk: Chunk, column: str) -> None:
    if not chunk.batch[column].equals(chunk.checksums):
        raise ValueError("a checksum is wrong")


def _int64s(values: pa.Int64Array) -> array[int]:
    numbers = array("q")
    numbers.frombytes(memoryview(values.buffers()[1])[8 * values.offset : 8 * (values.offset + len(values))])
    return numbers
