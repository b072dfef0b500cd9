"""Segments by KafkaSegmentWriter, with what readers have to find in them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from thawline.formats.kafka.writer import KafkaSegmentWriter, Producer

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
