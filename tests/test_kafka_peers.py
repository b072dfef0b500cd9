"""kafka-python and aiokafka read what KafkaSegmentWriter wrote."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from kafka_written import BATCHES, CODECS, START, Written, append_all, numbered, write_everything

from thawline.formats.kafka.write import KafkaSegmentWriter

READERS = {
    "kafka-python": ("kafka.record.memory_records", "MemoryRecords"),
    "aiokafka": ("aiokafka.record._crecords", "MemoryRecords"),
    "aiokafka-python": ("aiokafka.record.memory_records", "_MemoryRecordsPy"),
}
"""aiokafka has a C extension, and a twin of it in Python for where that was not built."""


@pytest.fixture(params=READERS)
def batches(request: pytest.FixtureRequest) -> Callable[[Path], Iterator[Any]]:
    """A peer's batches of a file, each with its checksum right."""
    module, name = READERS[request.param]
    reader = getattr(importlib.import_module(module), name)

    def read(path: Path) -> Iterator[Any]:
        records = reader(path.read_bytes())
        while (batch := records.next_batch()) is not None:
            assert batch.validate_crc()
            yield batch

    return read


def record_of(record: Any) -> Written:
    return Written(record.offset, record.timestamp, record.key, record.value, tuple(map(tuple, record.headers)))


@pytest.mark.parametrize("compression", CODECS)
def test_peers_read_every_record_as_it_was_appended(
    batches: Callable[[Path], Iterator[Any]], compression: str, tmp_path: Path
) -> None:
    path = tmp_path / "00000000000000000000.log"
    written = write_everything(path, compression)
    read = [record_of(record) for batch in batches(path) for record in batch]
    assert read == list(written)


@pytest.mark.parametrize("compression", CODECS)
def test_peers_read_the_heads_as_they_were_meant(
    batches: Callable[[Path], Iterator[Any]], compression: str, tmp_path: Path
) -> None:
    path = tmp_path / "00000000000000000000.log"
    write_everything(path, compression)
    for batch, expected in zip(batches(path), BATCHES, strict=True):
        first, last = expected["offsets"]
        assert (batch.base_offset, batch.next_offset - 1) == (first, last)
        assert (batch.producer_id, batch.producer_epoch, batch.base_sequence) == expected["producer"]
        assert batch.is_transactional == expected.get("is_transactional", False)
        assert batch.is_control_batch == ("marker" in expected)
        assert batch.compression_type == (0 if batch.is_control_batch else CODECS.index(compression))
        assert batch.timestamp_type == 0


def test_peers_give_every_record_of_a_batch_the_brokers_time(
    batches: Callable[[Path], Iterator[Any]], tmp_path: Path
) -> None:
    path = tmp_path / "segment.log"
    with KafkaSegmentWriter(path, timestamp_type="log_append_time", compression="lz4") as writer:
        for offset in range(10):
            writer.append(value=b"%d" % offset, timestamp=START + offset // 4)
    read = list(batches(path))
    assert [batch.timestamp_type for batch in read] == [1, 1, 1]
    assert [(record.offset, record.timestamp) for batch in read for record in batch] == [
        (offset, START + offset // 4) for offset in range(10)
    ]


def test_peers_read_many_batches_of_many_records(batches: Callable[[Path], Iterator[Any]], tmp_path: Path) -> None:
    path = tmp_path / "segment.log"
    with KafkaSegmentWriter(path, compression="zstd", batch_bytes=2000) as writer:
        append_all(writer, numbered(50, 3000))
    read = list(batches(path))
    assert len(read) > 30
    assert [record_of(record) for batch in read for record in batch] == list(numbered(50, 3000))
