"""Files in a bucket: read through a real S3 server on loopback, in ranges, with credentials from the environment."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random
from typing import Any

import boto3
import lakes
import pytest
from in_process import on_pipe
from lakes import Alone
from pyspark.sql import SparkSession

from thawline.errors import SourceError
from thawline.formats.kafka.write import KafkaSegmentWriter
from thawline.source import RemoteSource, open_source
from thawline.spark import pipeline
from thawline.spark.files import Listing
from thawline.spark.planning import Part, Planner
from thawline.spark.sources import ColdReader, KafkaSource, RbfSource
from tools.bench import aerospike_verify

GOLDEN = Path(__file__).parents[1] / "golden"
LOG = GOLDEN / "rbf" / "many-frames.rbf"


@pytest.fixture(scope="module")
def bucket(s3: Any) -> str:
    """A bucket with three logs, one of them below a folder, and a partition of a topic."""
    s3.create_bucket(Bucket="cold")
    for key in ("logs/a.rbf", "logs/b.rbf", "logs/deep/c.rbf"):
        s3.put_object(Bucket="cold", Key=key, Body=LOG.read_bytes())
    segment = (GOLDEN / "kafka" / "v2-none.log").read_bytes()
    s3.put_object(Bucket="cold", Key="orders-0/00000000000000000100.log", Body=segment)
    return "s3://cold"


def test_workers_of_a_session_read_a_bucket(spark: SparkSession, bucket: str) -> None:
    assert spark.read.format("rbf").option("maxPartitionBytes", "700").load(f"{bucket}/logs/a.rbf").count() == 40
    records = spark.read.format("kafka_segment").load("s3a://cold/orders-0")
    assert {(row["topic"], row["partition"]) for row in records.collect()} == {("orders", 0)}


def reader(path: str, **options: str) -> ColdReader:
    source = RbfSource({"path": path, **options})
    return source.reader(source.schema())


def rows(made: ColdReader) -> int:
    return sum(batch.num_rows for portion in made.partitions() for batch in made.read(portion))


@pytest.mark.parametrize(
    "path, options, logs",
    [
        ("s3a://cold/logs/a.rbf", {}, 1),
        ("s3://cold/logs", {}, 2),
        ("s3://cold/logs/", {"recursiveFileLookup": "true"}, 3),
        ("s3://cold/logs/*.rbf", {"maxPartitionBytes": "500"}, 2),
        ("s3://cold/logs", {"pathGlobFilter": "b*"}, 1),
    ],
)
def test_logs_in_a_bucket_are_read(bucket: str, path: str, options: dict[str, str], logs: int) -> None:
    assert path.startswith((bucket, "s3a://cold"))
    assert rows(reader(path, **options)) == 40 * logs


def test_one_task_reads_an_object_whole_so_that_nothing_is_fetched_twice(bucket: str) -> None:
    files = Listing(reader(f"{bucket}/logs/a.rbf").settings).files
    assert Planner(200).plan(files) == [(Part(files[0]),)]


@pytest.mark.parametrize(("name", "count"), [("logs/a.rbf", 40), ("logs/*.rbf", 80), ("logs/", 120)])
def test_a_url_stands_in_from_of_a_query_and_a_function_reaches_none(
    bucket: str, tmp_path: Path, name: str, count: int
) -> None:
    asked = on_pipe(["sql", f"select count(tag) as n from '{bucket}/{name}'"], tmp_path)  # noqa: S608
    assert (asked.code, json.loads(asked.out)) == (0, {"n": count})
    assert on_pipe(["sql", f"select * from read_blob('{bucket}/{name}')"], tmp_path).code == 2  # noqa: S608


@pytest.fixture
def fetched(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
    """The ranges that are requested of objects."""
    ranges: list[tuple[int, int]] = []
    fetch = RemoteSource._fetch

    def recorded(self: RemoteSource, start: int, end: int) -> bytes:
        ranges.append((start, end))
        return fetch(self, start, end)

    monkeypatch.setattr(RemoteSource, "_fetch", recorded)
    return ranges


@pytest.fixture(scope="module")
def segment(s3: Any, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, bytes]:
    """A segment of 24 MB in a bucket of its own."""
    s3.create_bucket(Bucket="large")
    path = tmp_path_factory.mktemp("large") / "00000000000000000000.log"
    random = Random(1)
    with KafkaSegmentWriter(path, indexes=False) as writer:
        for number in range(24_000):
            writer.append(value=random.randbytes(1000), timestamp=number)
    s3.put_object(Bucket="large", Key=f"whole/{path.name}", Body=path.read_bytes())
    return f"s3://large/whole/{path.name}", path.read_bytes()


def kafka_reader(path: str) -> ColdReader:
    source = KafkaSource({"path": path})
    return source.reader(source.schema())


def test_a_whole_read_fetches_each_byte_once(segment: tuple[str, bytes], fetched: list[tuple[int, int]]) -> None:
    assert rows(kafka_reader(segment[0])) == 24_000
    assert sum(end - start for start, end in fetched) <= 1.1 * len(segment[1])
    assert len(fetched) < 40


def test_the_first_rows_of_a_segment_fetch_little_of_it(
    segment: tuple[str, bytes], fetched: list[tuple[int, int]]
) -> None:
    made = kafka_reader(segment[0])
    (portion,) = made.partitions()
    assert next(made.read(portion)).num_rows >= 5
    assert 0 < sum(end - start for start, end in fetched) <= 2 << 20


def test_a_damaged_object_is_fetched_once_too(segment: tuple[str, bytes], fetched: list[tuple[int, int]]) -> None:
    damaged = bytearray(segment[1])
    damaged[10 << 20 : (10 << 20) + 100] = bytes(100)
    boto3.client("s3").put_object(Bucket="large", Key="damaged/00000000000000000000.log", Body=bytes(damaged))
    assert 23_000 < rows(kafka_reader("s3://large/damaged/00000000000000000000.log")) < 24_000
    assert sum(end - start for start, end in fetched) <= 1.1 * len(damaged)


def test_an_ingest_of_a_bucket_fetches_each_byte_once_also_for_the_accounts_of_folders(
    s3: Any, tmp_path: Path, fetched: list[tuple[int, int]]
) -> None:
    s3.create_bucket(Bucket="budget")
    cold, random = tmp_path / "cold", Random(1)
    (cold / "backup").mkdir(parents=True)
    with KafkaSegmentWriter(cold / "orders-0", segment_bytes=6 << 20) as writer:
        for number in range(12_000):
            writer.append(value=random.randbytes(1000), timestamp=number)
    for number in range(2):
        aerospike_verify.write(cold / "backup" / f"shop_0000{number}.asb", 20_000, 0)
    sizes = {str(path.relative_to(cold)): path.stat().st_size for path in cold.rglob("*") if path.is_file()}
    for name in sizes:
        s3.upload_file(str(cold / name), "budget", name)
    summary = pipeline.ingest(Alone(), ["s3://budget"], tmp_path / "lake")  # type: ignore[arg-type]
    assert (summary.rows["kafka_records"], summary.rows["aerospike_records"]) == (12_000, 40_000)
    assert sum(size > 5 << 20 for size in sizes.values()) >= 3
    assert sum(end - start for start, end in fetched) <= 1.1 * sum(sizes.values())


def test_a_first_offset_fetches_about_what_is_after_it(s3: Any, tmp_path: Path, fetched: list[tuple[int, int]]) -> None:
    random, name = Random(1), "00000000000000000000"
    s3.create_bucket(Bucket="first")
    with KafkaSegmentWriter(tmp_path / "orders-1") as writer:
        for number in range(24_000):
            writer.append(value=random.randbytes(1000), timestamp=number)
    for path in (tmp_path / "orders-1").iterdir():
        s3.upload_file(str(path), "first", f"orders-1/{path.name}")
    source = KafkaSource({"path": f"s3://first/orders-1/{name}.log", "startingOffsets": "22000"})
    assert rows(source.reader(source.schema())) == 2000
    assert sum(end - start for start, end in fetched) <= 4 << 20  # a twelfth is asked for, of 24 MB


def test_an_object_that_is_replaced_while_it_is_read_is_an_error(segment: tuple[str, bytes]) -> None:
    client = boto3.client("s3")
    client.put_object(Bucket="large", Key="replaced.log", Body=segment[1])
    with open_source("s3://large/replaced.log") as source:
        assert bytes(source.view(0, 100)) == segment[1][:100]
        client.put_object(Bucket="large", Key="replaced.log", Body=segment[1][::-1])
        assert bytes(source.view(0, 100)) == segment[1][:100]
        with pytest.raises(SourceError, match=r"s3://large/replaced.log: the object was replaced while it was read"):
            source.view(20 << 20, 21 << 20)


def test_what_is_not_in_the_bucket_is_said(bucket: str) -> None:
    with pytest.raises(OSError, match=r"s3://cold/logs/gone.rbf: no such file or folder"):
        rows(reader(f"{bucket}/logs/gone.rbf"))


def taken_in(spark: SparkSession, source: str, lake: Path) -> dict[str, list[dict[str, object]]]:
    """What the pipeline makes of a source: rows of all tables, with paths that count from there."""
    pipeline.ingest(spark, [source], lake)
    found = {}
    for table in ("tables/rbf_frames", "tables/kafka_records", "tables/kafka_batches", "files", "findings"):
        rows = lakes.table(lake, table)
        texts = ("_file", "path", "_work", "file", "detail", "hint")
        for row in rows:
            row.pop("_signature", None)  # when the file was changed, which a copy was later
            row.update({name: str(row[name]).replace(source, "") for name in texts if name in row})
        found[table] = sorted(rows, key=repr)
    return found


def test_a_bucket_is_taken_in_as_the_same_files_on_disk_are(spark: SparkSession, bucket: str, tmp_path: Path) -> None:
    client = boto3.client("s3")
    damaged = bytearray(LOG.read_bytes())
    damaged[500] ^= 1
    client.put_object(Bucket="cold", Key="logs/flipped.rbf", Body=bytes(damaged))
    client.put_object(Bucket="cold", Key="notes.txt", Body=b"nothing of interest")
    cold = tmp_path / "cold"
    for entry in client.list_objects_v2(Bucket="cold")["Contents"]:
        (cold / entry["Key"]).parent.mkdir(parents=True, exist_ok=True)
        client.download_file("cold", entry["Key"], str(cold / entry["Key"]))
    remote = taken_in(spark, bucket, tmp_path / "from-bucket")
    assert remote == taken_in(spark, str(cold), tmp_path / "from-disk")
    assert [len(remote[table]) for table in ("tables/rbf_frames", "tables/kafka_records")] == [3 * 40 + 39, 7]
    client.delete_object(Bucket="cold", Key="logs/flipped.rbf")
    client.put_object(Bucket="cold", Key="logs/b.rbf", Body=bytes(damaged))
    again = pipeline.ingest(spark, ["s3a://cold"], tmp_path / "from-bucket")
    assert (again.ingested, again.damaged) == (1, 1)


def test_a_single_object_and_a_glob_can_be_taken_in(spark: SparkSession, bucket: str, tmp_path: Path) -> None:
    one = pipeline.ingest(spark, [f"{bucket}/logs/a.rbf"], tmp_path / "lake")
    assert (one.ingested, one.rows["rbf_frames"]) == (1, 40)
    more = pipeline.ingest(spark, [f"{bucket}/logs/*.rbf"], tmp_path / "lake")
    assert (more.ingested, more.unchanged) == (1, 1)
    boto3.client("s3").delete_object(Bucket="cold", Key="logs/b.rbf")
    missed = pipeline.ingest(spark, [f"{bucket}/logs/*.rbf"], tmp_path / "lake", prune_missing=True)
    assert (missed.pruned, missed.unchanged) == (1, 1)
    assert pipeline.ingest(spark, [f"{bucket}/logs/deep"], tmp_path / "lake", prune_missing=True).pruned == 0
    with pytest.raises(SourceError, match=r"s3://cold/gone: no such file or folder"):
        pipeline.ingest(spark, [f"{bucket}/gone"], tmp_path / "lake")
