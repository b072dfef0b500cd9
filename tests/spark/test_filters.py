"""Filters give the same rows whether Spark offers them or not, and spare what cannot match."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql.datasource import EqualTo, GreaterThan, GreaterThanOrEqual, In, LessThan, LessThanOrEqual

from thawline import codecs
from thawline.formats.kafka.writer import KafkaSegmentWriter
from thawline.spark.sources import KafkaSource

START = 1_700_000_000_000
PUSHDOWN = "spark.sql.python.filterPushdown.enabled"


@pytest.fixture(scope="module")
def partition(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two partitions of a topic; ten compressed batches of ten records in each, a second apart."""
    data = tmp_path_factory.mktemp("data")
    for number in range(2):
        folder = data / f"orders-{number}"
        folder.mkdir()
        with KafkaSegmentWriter(folder, compression="zstd", batch_records=10) as writer:
            for offset in range(100):
                writer.append(key=b"key", value=b"value %d" % offset, timestamp=START + 1000 * offset)
    return data


@pytest.fixture(params=["true", "false"])
def pushdown(spark: SparkSession, request: pytest.FixtureRequest) -> Iterator[str]:
    before = spark.conf.get(PUSHDOWN)
    spark.conf.set(PUSHDOWN, request.param)
    yield request.param
    spark.conf.set(PUSHDOWN, before)


@pytest.mark.parametrize(
    "condition, count",
    [
        ("offset >= 95", 10),
        ("offset = 42", 2),
        ("offset in (3, 77)", 4),
        ("partition = 1 and offset < 5", 5),
        ("partition in (0, 7)", 100),
        ("topic = 'orders'", 200),
        ("topic = 'invoices'", 0),
        ("timestamp > timestamp'2023-11-14 22:14:50Z'", 18),
        ("value = cast('value 7' as binary)", 2),
        ("offset = 42 or partition = 1", 101),
        ("key is null", 0),
    ],
)
@pytest.mark.usefixtures("pushdown")
def test_a_filter_gives_the_same_rows_either_way(
    spark: SparkSession, partition: Path, condition: str, count: int
) -> None:
    reader = spark.read.format("kafka_segment").option("recursiveFileLookup", "true")
    assert reader.load(str(partition)).where(condition).count() == count


def read(partition: Path, *filters: object) -> tuple[int, list[int]]:
    """How many files are left for some filters, and the offsets that are read."""
    source = KafkaSource({"path": str(partition), "recursivefilelookup": "true"})
    reader = source.reader(source.schema())
    assert list(reader.pushFilters(list(filters))) == list(filters)  # type: ignore[attr-defined]
    portions = reader.partitions()
    offsets = [row for part in portions for batch in reader.read(part) for row in batch["offset"].to_pylist()]
    return sum(len(portion.parts) for portion in portions), offsets


def test_a_batch_that_cannot_match_is_not_decompressed(partition: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[int] = []
    original = codecs.Room.add

    def counted(self: codecs.Room, *given: Any, **named: Any) -> None:
        opened.append(1)
        original(self, *given, **named)

    monkeypatch.setattr(codecs.Room, "add", counted)
    first = dt.datetime.fromtimestamp(START / 1000 + 42, dt.UTC)
    for filters, offsets, batches in (
        ([EqualTo(("partition",), 0)], list(range(100)), 10),
        ([EqualTo(("partition",), 0), EqualTo(("offset",), 42)], [42], 1),
        ([EqualTo(("partition",), 0), GreaterThan(("offset",), 84), LessThan(("offset",), 86)], [85], 1),
        ([In(("partition",), [1]), GreaterThanOrEqual(("timestamp",), first)], list(range(42, 100)), 6),
        ([EqualTo(("partition",), 1), LessThanOrEqual(("offset",), 9)], list(range(10)), 1),
    ):
        opened.clear()
        assert read(partition, *filters) == (1, offsets)
        assert len(opened) == batches


def test_what_was_skipped_is_in_the_log(partition: Path, caplog: pytest.LogCaptureFixture) -> None:
    read(partition, EqualTo(("partition",), 0), GreaterThanOrEqual(("offset",), 90))
    said = " ".join(caplog.messages)
    assert "skipped 1 of 2 files" in said
    assert "00000000000000000000.log: skipped 9 units" in said
