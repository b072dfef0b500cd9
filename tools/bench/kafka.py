"""Contenders for Kafka's segments: the clients' own readers, ksc, construct and plain loops."""

from __future__ import annotations

import importlib
import io
import struct
import zlib
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import kaitaistruct
import pyarrow as pa
from crc32c import crc32c

from thawline import specs
from tools.bench.data import BATCH_COVERED, BATCH_HEAD
from tools.bench.measure import Contender, Read
from tools.bench.parsers import Compile, agree, at_end, by_construct, by_ksc, by_loop, counted

AIOKAFKA = "aiokafka.record._crecords"
"""Its C extension; the reader in plain Python is another module."""
KAFKA_PYTHON = "kafka.record.memory_records"


def contenders() -> list[Contender]:
    """Readers of magic 2."""
    return [
        Contender("aiokafka, C", lambda: _client(AIOKAFKA, _iterate), needs=AIOKAFKA, note="iterates; no checksum"),
        Contender(
            "aiokafka, C, attributes",
            lambda: _client(AIOKAFKA, _touch),
            needs=AIOKAFKA,
            note="checksum; offset, timestamp, key, value, headers",
        ),
        Contender("aiokafka, C -> Arrow", lambda: _to_arrow, 5, needs=AIOKAFKA, note="by way of Python lists"),
        Contender("kafka-python", lambda: _client(KAFKA_PYTHON, _touch), 10, needs=KAFKA_PYTHON, note="as above"),
        Contender("ksc parser", lambda: _ksc, 50, note="objects, dropped batch by batch"),
        by_construct(_compiled_records, 50),
        by_loop(_records_by_loop),
    ]


def segment_contenders() -> list[Contender]:
    """Readers of compressed segments of magic 2, which check the checksum and give every field of every record."""
    return [
        Contender(
            AIOKAFKA_TUPLES, lambda: _row_tuples(AIOKAFKA), needs=AIOKAFKA, note="a list of tuples for each batch"
        ),
        Contender("aiokafka, C, attributes", lambda: _client(AIOKAFKA, _touch), needs=AIOKAFKA),
    ]


AIOKAFKA_TUPLES = "aiokafka, C, row tuples"


def _row_tuples(module: str) -> Read:
    memory_records = importlib.import_module(module).MemoryRecords

    def read(data: bytes) -> int:
        records, count = memory_records(data), 0
        while (batch := records.next_batch()) is not None:
            if not batch.validate_crc():
                raise ValueError("a checksum is wrong")
            count += len([(row.offset, row.timestamp, row.key, row.value, row.headers) for row in batch])
        return count

    return read


def contenders_v1() -> list[Contender]:
    """Readers of magic 1."""
    return [
        Contender("aiokafka, C, attributes", lambda: _client(AIOKAFKA, _touch), needs=AIOKAFKA, note="checksum"),
        Contender("kafka-python", lambda: _client(KAFKA_PYTHON, _touch), 10, needs=KAFKA_PYTHON, note="checksum"),
        by_ksc("kafka_message", 20, lambda row: agree(zlib.crc32(row.body.crc_input), row.body.crc)),
        by_construct(_compiled_messages, 20),
        by_loop(_messages_by_loop),
    ]


def _client(module: str, rows: Callable[[Any], Iterable[object]]) -> Read:
    """Go through the batches of a client's MemoryRecords."""
    memory_records = importlib.import_module(module).MemoryRecords
    return counted(lambda data: rows(memory_records(data)))


def _iterate(records: Any) -> Iterator[object]:
    while (batch := records.next_batch()) is not None:
        yield from batch


def _touch(records: Any) -> Iterator[object]:
    while (batch := records.next_batch()) is not None:
        if not batch.validate_crc():
            raise ValueError("a checksum is wrong")
        for record in batch:
            yield record.offset, record.timestamp, record.key, record.value, record.headers


HEADERS = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))
COLUMNS = {"offset": pa.int64(), "timestamp": pa.int64(), "key": pa.binary(), "value": pa.binary(), "headers": HEADERS}


def _to_arrow(data: bytes) -> int:
    """Collect the attributes in lists and make a record batch of them."""
    records = importlib.import_module(AIOKAFKA).MemoryRecords(data)
    lists: tuple[list[object], ...] = tuple([] for _ in COLUMNS)
    for row in _touch(records):
        for values, value in zip(lists, row, strict=True):  # type: ignore[call-overload]
            values.append(value)
    built = [pa.array(values, type_) for values, type_ in zip(lists, COLUMNS.values(), strict=True)]
    return int(pa.RecordBatch.from_arrays(built, list(COLUMNS)).num_rows)


def _ksc(data: bytes) -> int:
    """Read `kafka_segment`, entry by entry so that memory stays small, and the values that it leaves for later."""
    entry = specs.parser("kafka_segment::entry")
    stream = kaitaistruct.KaitaiStream(kaitaistruct.BytesIO(data))
    rows = 0
    while not stream.is_eof():
        body = entry(stream.pos(), stream).unit.body
        agree(crc32c(body.crc_input), body.crc)
        for record in body.uncompressed_records.records:
            _ = record.body.offset_delta.value, record.body.timestamp_delta.value
            rows += 1
    return rows


def _compiled_records(compiled: Compile) -> Callable[[io.BytesIO], Iterator[object]]:
    batches, covered, records = (compiled(name) for name in ("kafka_batch", "kafka_covered", "kafka_record"))

    def rows(stream: io.BytesIO) -> Iterator[object]:
        while not at_end(stream):
            batch = batches.parse_stream(stream)
            agree(crc32c(batch.covered), batch.crc)
            head = covered.parse(batch.covered)
            inner = io.BytesIO(head.records)
            yield from (records.parse_stream(inner) for _ in range(head.num_records))

    return rows


def _compiled_messages(compiled: Compile) -> Callable[[io.BytesIO], Iterator[object]]:
    messages, covered = compiled("kafka_message"), compiled("kafka_message_covered")

    def rows(stream: io.BytesIO) -> Iterator[object]:
        while not at_end(stream):
            message = messages.parse_stream(stream)
            agree(zlib.crc32(message.covered), message.crc)
            yield covered.parse(message.covered)

    return rows


def _records_by_loop(data: bytes) -> Iterator[object]:
    position = 0
    while position < len(data):
        base_offset, size, _, _, crc = BATCH_HEAD.unpack_from(data, position)
        start, end = position + BATCH_HEAD.size, position + 12 + size
        agree(crc32c(memoryview(data)[start:end]), crc)
        _, _, base_timestamp, _, _, _, _, count = BATCH_COVERED.unpack_from(data, start)
        at = start + BATCH_COVERED.size
        for _ in range(count):
            length, at = _varint(data, at)
            yield _record(data, at, base_offset, base_timestamp)
            at += length
        position = end


def _record(data: bytes, at: int, base_offset: int, base_timestamp: int) -> tuple[object, ...]:
    attributes = data[at]
    timestamp, at = _varint(data, at + 1)
    offset, at = _varint(data, at)
    key, at = _sized(data, at)
    value, at = _sized(data, at)
    count, at = _varint(data, at)
    headers = []
    for _ in range(count):
        name, at = _sized(data, at)
        content, at = _sized(data, at)
        headers.append((name, content))
    return attributes, base_timestamp + timestamp, base_offset + offset, key, value, headers


def _varint(data: bytes, at: int) -> tuple[int, int]:
    byte = data[at]
    number = byte & 127
    shift = 7
    while byte > 127:  # noqa: PLR2004 - seven bits a byte
        at += 1
        byte = data[at]
        number |= (byte & 127) << shift
        shift += 7
    return (number >> 1) ^ -(number & 1), at + 1


def _sized(data: bytes, at: int) -> tuple[bytes | None, int]:
    length, at = _varint(data, at)
    return (None, at) if length < 0 else (data[at : at + length], at + length)


MESSAGE = struct.Struct(">qiIbbqi")
LENGTH = struct.Struct(">i")


def _messages_by_loop(data: bytes) -> Iterator[object]:
    position = 0
    while position < len(data):
        offset, size, crc, _, attributes, timestamp, len_key = MESSAGE.unpack_from(data, position)
        end = position + 12 + size
        agree(zlib.crc32(memoryview(data)[position + 16 : end]), crc)
        at = position + MESSAGE.size + max(len_key, 0)
        key = data[position + MESSAGE.size : at] if len_key >= 0 else None
        (len_value,) = LENGTH.unpack_from(data, at)
        yield offset, attributes, timestamp, key, data[at + 4 : at + 4 + len_value] if len_value >= 0 else None
        position = end
