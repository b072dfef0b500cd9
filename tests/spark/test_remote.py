"""Files in a bucket: read through a real S3 server on loopback, in ranges, with credentials from the environment."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import boto3
import lakes
import pytest
from pyspark.sql import SparkSession

from thawline.errors import SourceError
from thawline.spark import pipeline
from thawline.spark.files import Listing
from thawline.spark.planning import Part, Planner
from thawline.spark.sources import ColdReader, RbfSource

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
