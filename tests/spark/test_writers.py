"""What Spark writes is read back as it was, appears as a whole, and leaves nothing behind when a task fails."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql.functions import col, udf

import thawline

GOLDEN = Path(__file__).parents[1] / "golden"
LOG = GOLDEN / "rbf" / "many-frames.rbf"


def names(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


def test_frames_are_written_as_logs_that_hold_them(spark: SparkSession, tmp_path: Path) -> None:
    frame = spark.read.format("rbf").option("mode", "FAILFAST").load(str(LOG))
    frame.repartition(3).write.format("rbf").mode("append").save(str(tmp_path / "logs"))
    files = sorted((tmp_path / "logs").iterdir())
    assert [file.suffix for file in files] == [".rbf"] * 3
    for file in files:
        with thawline.open(file) as cold:
            assert cold.verify().ok
    again = spark.read.format("rbf").load(str(tmp_path / "logs"))
    columns = ["tag", "payload", "tombstone"]
    assert sorted(map(tuple, again.select(*columns).collect())) == sorted(map(tuple, frame.select(*columns).collect()))


def test_overwriting_takes_the_place_of_what_was_there(spark: SparkSession, tmp_path: Path) -> None:
    frame = spark.read.format("rbf").load(str(LOG)).coalesce(1)
    for count, mode in ((1, "append"), (2, "append"), (1, "overwrite")):
        frame.write.format("rbf").mode(mode).save(str(tmp_path / "logs"))
        assert len(names(tmp_path / "logs")) == count


def test_records_are_written_as_partitions_of_topics(spark: SparkSession, tmp_path: Path) -> None:
    source = tmp_path / "orders-3"
    source.mkdir()
    (source / "00000000000000000100.log").write_bytes((GOLDEN / "kafka" / "v2-none.log").read_bytes())
    frame = spark.read.format("kafka_segment").option("mode", "FAILFAST").load(str(source))
    frame.coalesce(1).write.format("kafka_segment").option("compression", "zstd").mode("append").save(
        str(tmp_path / "copy")
    )
    assert "orders-3/00000000000000000100.log" in names(tmp_path / "copy")
    again = spark.read.format("kafka_segment").option("recursiveFileLookup", "true").load(str(tmp_path / "copy"))
    assert again.select(frame.columns).collect() == frame.collect()
    with pytest.raises(PySparkException, match="is written twice"):
        frame.coalesce(1).write.format("kafka_segment").mode("append").save(str(tmp_path / "copy"))


def test_blobs_are_written_as_packs_that_are_named_by_their_content(spark: SparkSession, tmp_path: Path) -> None:
    reader = spark.read.format("borg_pack").option("columns", "chunk_id,version,mode,meta,data")
    frame = reader.load(str(GOLDEN / "borg" / "authenticated.pack"))
    frame.coalesce(1).write.format("borg_pack").mode("append").save(str(tmp_path / "packs"))
    assert [len(name) for name in names(tmp_path / "packs")] == [64]
    assert reader.load(str(tmp_path / "packs")).collect() == frame.collect()
    sealed = reader.load(str(GOLDEN / "borg" / "aes256-ocb-shape.pack"))
    with pytest.raises(PySparkException, match="a blob of mode aes256-ocb cannot be written"):
        sealed.write.format("borg_pack").mode("append").save(str(tmp_path / "packs"))


def test_messages_are_written_as_one_backup_with_one_manifest(spark: SparkSession, tmp_path: Path) -> None:
    reader = spark.read.format("rbak").option("mode", "DROPMALFORMED").option("pathGlobFilter", "*.rbak*")
    kept = ["vhost", "queue", "exchange", "routing_key", "delivery_tag", "backed_up_at", "body", "headers_json", "type"]
    frame = reader.load(str(GOLDEN / "rbak" / "*.rbak")).where(
        "queue is not null and body is not null and backed_up_at is not null"
    )
    frame.repartition(2).write.format("rbak").mode("append").save(str(tmp_path / "backup"))
    cold = thawline.open_folder(tmp_path / "backup")
    reports = list(cold.reports())
    assert [report.file for report in reports if not report.ok] == []
    assert not list((tmp_path / "backup").glob(".*"))
    again = spark.read.format("rbak").load(str(tmp_path / "backup"))
    assert sorted(map(repr, again.select(kept).collect())) == sorted(map(repr, frame.select(kept).collect()))


def test_records_are_written_as_a_backup_a_namespace(spark: SparkSession, tmp_path: Path) -> None:
    frame = spark.read.format("aerospike_backup").load(str(GOLDEN / "aerospike" / "document-sample.asb"))
    frame.coalesce(1).write.format("aerospike_backup").mode("append").save(str(tmp_path / "backup"))
    again = spark.read.format("aerospike_backup").load(str(tmp_path / "backup"))
    assert again.collect() == frame.collect()
    assert len(frame.collect()) > 0


def test_a_task_that_fails_leaves_nothing(spark: SparkSession, tmp_path: Path) -> None:
    @udf("binary")
    def fails(payload: bytes, tag: int) -> bytes:
        if tag == 258:
            raise ValueError("no more")
        return payload

    frame = spark.read.format("rbf").load(str(LOG)).repartition(2)
    with pytest.raises(PySparkException, match="no more"):
        frame.withColumn("payload", fails(col("payload"), col("tag"))).write.format("rbf").mode("append").save(
            str(tmp_path / "logs")
        )
    assert not (tmp_path / "logs").exists() or names(tmp_path / "logs") == []


def test_a_column_that_is_needed_is_named(spark: SparkSession, tmp_path: Path) -> None:
    frame = spark.read.format("rbf").load(str(LOG)).select("tag")
    with pytest.raises(PySparkException, match="rbf cannot be written without the column payload"):
        frame.write.format("rbf").mode("append").save(str(tmp_path / "logs"))
