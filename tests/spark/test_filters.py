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
from thawline.formats.aerospike.write import AsbWriter, Bin, Key, Record, digest_of
from thawline.formats.kafka.write import KafkaSegmentWriter
from thawline.formats.rbak import rows
from thawline.formats.rbak.write import RbakWriter, record
from thawline.formats.rbf.write import RbfWriter
from thawline.spark.sources import SOURCES, KafkaSource

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
    assert "00000000000000000000.log: skipped 9 of 10 units, 1529 of 1699 bytes" in said


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A backup of two queues, two backups of a namespace each with two sets, and a log of two tags."""
    data = tmp_path_factory.mktemp("shop")
    with RbakWriter(data / "rbak", segment_max_bytes=2000) as writer:
        for number in range(60):
            writer.append(record(b"body", queue=("orders", "mail")[number % 2], backed_up_at=START + number))
    (data / "asb").mkdir()
    for namespace in ("shop", "logs"):
        with AsbWriter(data / "asb" / f"{namespace}.asb", namespace) as backup:
            for number in range(90):
                key, name = Key("I", number), b"orders" if number % 3 else b"users"
                bins = (Bin("I", b"number", number),)
                backup.write(Record(namespace.encode(), digest_of(name, key), bins, name, key))
    log = RbfWriter(data / "log.rbf")
    for number in range(40):
        log.append(1 + number % 4, b"payload %d" % number)
    log.close()
    return data


NEW_YEAR = dt.datetime(2024, 1, 1, tzinfo=dt.UTC)
TAG_2 = [In(("tag",), [1, 2]), EqualTo(("tag",), 2)]
USERS = EqualTo(("set",), "users")
CASES: list[tuple[str, str, str, list[Any], int, str]] = [
    ("rbak", "rbak", "queue = 'orders'", [EqualTo(("queue",), "orders")], 30, "skipped 6 of 12 files"),
    ("rbak", "rbak", "vhost in ('staging')", [In(("vhost",), ["staging"])], 0, "skipped 12 of 12 files"),
    (
        "rbak",
        "rbak",
        "backed_up_at > timestamp'2024-01-01 00:00:00Z'",
        [GreaterThan(("backed_up_at",), NEW_YEAR)],
        0,
        "skipped 1 of 1 units",
    ),
    ("aerospike_backup", "asb", "namespace = 'shop'", [EqualTo(("namespace",), "shop")], 90, "logs.asb: skipped 64 of"),
    ("aerospike_backup", "asb", "set = 'users'", [USERS], 60, "shop.asb: skipped 60 of 92 units"),
    (
        "aerospike_backup",
        "asb",
        "set = 'users' and namespace in ('shop')",
        [USERS, In(("namespace",), ["shop"])],
        30,
        "shop.asb: skipped 60 of 92 units",
    ),
    ("rbf", "log.rbf", "tag = 3", [EqualTo(("tag",), 3)], 10, "log.rbf: skipped 30 of 40 units"),
    ("rbf", "log.rbf", "tag in (1, 2) and tag = 2", TAG_2, 10, "log.rbf: skipped 30 of 40 units"),
    ("rbf", "log.rbf", "tag = 7", [EqualTo(("tag",), 7)], 0, "log.rbf: skipped 40 of 40 units"),
]


@pytest.mark.parametrize("source, path, condition, count", [(*case[:3], case[4]) for case in CASES])
@pytest.mark.usefixtures("pushdown")
def test_filters_of_every_format_give_the_same_rows_either_way(
    spark: SparkSession, shop: Path, source: str, path: str, condition: str, count: int
) -> None:
    assert spark.read.format(source).load(str(shop / path)).where(condition).count() == count


@pytest.mark.parametrize("name, path, filters, count, said", [(*case[:2], *case[3:]) for case in CASES])
@pytest.mark.parametrize("size", ["1", "1g"])
def test_what_a_filter_spares_is_in_the_log_however_files_are_cut(
    shop: Path,
    size: str,
    name: str,
    path: str,
    filters: list[Any],
    count: int,
    said: str,
    caplog: pytest.LogCaptureFixture,
) -> None:
    source = next(one for one in SOURCES if one.name() == name)({"path": str(shop / path), "maxpartitionbytes": size})
    reader = source.reader(source.schema())
    reader.pushFilters(filters)  # type: ignore[attr-defined]
    assert sum(batch.num_rows for portion in reader.partitions() for batch in reader.read(portion)) == count
    log = "\n".join(caplog.messages)
    assert (said if size == "1g" else "skipped") in log


@pytest.mark.usefixtures("pushdown")
def test_a_filter_on_a_column_of_another_type_means_that_type(spark: SparkSession, shop: Path, partition: Path) -> None:
    tags = spark.read.format("rbf").schema("tag string").load(str(shop / "log.rbf"))
    assert tags.where("tag = '3'").count() == 10
    assert tags.where("tag in ('1', '22')").count() == 10
    records = spark.read.format("kafka_segment").schema("timestamp bigint, offset string")
    segment = records.load(str(partition / "orders-0"))
    assert segment.where(f"timestamp >= {1000 * START}").count() == 100
    assert segment.where("offset = '42'").count() == 1


def test_a_segment_of_another_queue_is_not_decompressed(shop: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[int] = []
    original = rows.decompressed

    def counted(*given: Any, **named: Any) -> Any:
        opened.append(1)
        return original(*given, **named)

    monkeypatch.setattr(rows, "decompressed", counted)
    source = SOURCES[0]({"path": str(shop / "rbak")})
    reader = source.reader(source.schema())
    reader.pushFilters([EqualTo(("queue",), "orders")])  # type: ignore[attr-defined]
    assert sum(batch.num_rows for portion in reader.partitions() for batch in reader.read(portion)) == 30
    assert len(opened) == len(list((shop / "rbak").glob("queues/*/orders/*")))


@pytest.mark.parametrize(
    "words, count",
    [
        ("offset >= 95 and value like 'value 9_'", 10),
        ("partition = 1 and timestamp > '2023-11-14T22:14:50Z'", 9),
        ("batch_start = 0", 20),
        ("offset > 1000", 0),
    ],
)
def test_the_option_filter_is_the_filter_of_the_command_line(
    spark: SparkSession, partition: Path, words: str, count: int
) -> None:
    reader = spark.read.format("kafka_segment").option("recursiveFileLookup", "true").option("filter", words)
    assert reader.load(str(partition)).select("offset").count() == count


def test_a_filter_about_no_column_is_refused(spark: SparkSession, partition: Path) -> None:
    reader = spark.read.format("kafka_segment").option("filter", "ofset > 3")
    with pytest.raises(Exception, match="did you mean offset"):
        reader.load(str(partition / "orders-0")).count()
