"""Segments by KafkaSegmentWriter, with what readers have to find in them, and a reader by the specs alone."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from thawline import codecs, specs
from thawline.checksums import crc32c
from thawline.formats.kafka.records import codec_of
from thawline.formats.kafka.write import KafkaSegmentWriter, Producer

FIRST = "00000000000000000000"
HEADERS = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))
START = 1_700_000_000_000
CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
LONG = bytes(range(256)) * 300
"""More than a block of snappy's or lz4's framing."""

Header = tuple[str, bytes | None]


@dataclass(frozen=True, slots=True)
class Written:
    """A record as it was given to the writer."""

    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: tuple[Header, ...] = ()


EVERY_KIND = (
    Written(0, START, b"key", b"value"),
    Written(1, START + 5, None, b"null key", (("h", b""),)),
    Written(2, START - 1000, b"", b"", (("h", None), ("h", b"again"))),
    Written(3, START + 5, b"null value", None, (("", b"empty header key"), ("größe", "ß".encode()))),
    Written(4, -1, None, None),
    Written(5, START + 10**11, b"k" * 200, LONG, tuple((f"header {n}", bytes([n]) * n) for n in range(130))),
)
"""Null and empty where Kafka allows them; times before and far behind the first, and none; more than one block."""


def append_all(writer: KafkaSegmentWriter, records: tuple[Written, ...], **options: Any) -> None:
    for record in records:
        writer.append(
            key=record.key,
            value=record.value,
            headers=record.headers,
            timestamp=record.timestamp,
            offset=record.offset,
            **options,
        )


def numbered(first: int, count: int, text: bytes = b"record") -> tuple[Written, ...]:
    return tuple(Written(first + n, START + first + n, b"%d" % n, b"%s %d" % (text, n)) for n in range(count))


BATCHES = (
    {"offsets": (0, 3), "producer": (-1, -1, -1)},
    {"offsets": (4, 5), "producer": (-1, -1, -1)},
    {"offsets": (6, 9), "producer": (7, 3, 2**31 - 2)},
    {"offsets": (10, 12), "producer": (7, 3, 2)},
    {"offsets": (13, 15), "producer": (8, 0, 0), "is_transactional": True},
    {"offsets": (16, 16), "producer": (8, 0, -1), "is_transactional": True, "marker": (1, 21)},
    {"offsets": (17, 19), "producer": (8, 0, 3), "is_transactional": True},
    {"offsets": (20, 20), "producer": (8, 0, -1), "is_transactional": True, "marker": (0, 22)},
    {"offsets": (1000, 1001), "producer": (-1, -1, -1), "leader_epoch": 6},
)
"""What `write_everything` writes, batch by batch; a marker is its type and the coordinator's epoch."""


def write_everything(path: Path, compression: str) -> tuple[Written, ...]:
    """A segment of all that batches can be: plain, idempotent, transactional, markers, after a gap, of a new leader."""
    idempotent = Producer(7, 3, sequence=2**31 - 2)
    transactional = Producer(8, is_transactional=True)
    with KafkaSegmentWriter(path, compression=compression, leader_epoch=5, batch_records=4) as writer:
        append_all(writer, EVERY_KIND)
        append_all(writer, numbered(6, 7), producer=idempotent)
        append_all(writer, numbered(13, 3), producer=transactional)
        writer.commit(transactional, coordinator_epoch=21, timestamp=START + 16)
        append_all(writer, numbered(17, 3), producer=transactional)
        writer.abort(transactional, coordinator_epoch=22, timestamp=START + 20)
        writer.leader_epoch = 6
        append_all(writer, numbered(1000, 2))
    markers = tuple(
        Written(offset, START + offset, bytes([0, 0, 0, kind]), bytes([0, 0, 0, 0, 0, epoch]))
        for offset, kind, epoch in ((16, 1, 21), (20, 0, 22))
    )
    rest = (*numbered(6, 7), *numbered(13, 3), markers[0], *numbered(17, 3), markers[1], *numbered(1000, 2))
    return (*EVERY_KIND, *rest)


def batches(path: Path) -> Iterator[Any]:
    """The batches of a segment by the plain parser of its spec, their checksums right."""
    data, at = path.read_bytes(), 0
    while at < len(data):
        size = 12 + int.from_bytes(data[at + 8 : at + 12], "big")
        batch = specs.parse("kafka_record_batch", data[at : at + size], file=path.name, base=at)
        assert batch.body.crc == crc32c(batch.body.crc_input)
        yield batch
        at += size


def records(path: Path) -> list[Written]:
    return [record for batch in batches(path) for record in records_of(batch)]


def records_of(batch: Any) -> Iterator[Written]:
    body = batch.body
    codec = codec_of(body.attributes.compression.name, 2, body.records)
    for record in specs.parse("kafka_records", codecs.decompress(codec, body.records), body.num_records).records:
        fields = record.body
        is_append_time = body.attributes.timestamp_type.name == "log_append_time"
        yield Written(
            batch.base_offset + fields.offset_delta.value,
            body.max_timestamp if is_append_time else body.base_timestamp + fields.timestamp_delta.value,
            getattr(fields, "key", None),
            getattr(fields, "value", None),
            tuple((header.key.decode(), getattr(header, "value", None)) for header in fields.headers),
        )


def one_column(name: str, column: pa.Array) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([column], [name])


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())
