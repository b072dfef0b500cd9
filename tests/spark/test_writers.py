"""What Spark writes is read back as it was, appears as a whole, and leaves nothing behind when a task fails."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import col, udf

import thawline
from thawline.spark import writers
from thawline.spark.writers import Incoming, write_borg

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


WHOLE = "chunk_id,version,meta_slot,data_slot"
PAYLOADS = "chunk_id,version,mode,meta,data"


def test_blobs_are_written_as_packs_that_are_named_by_their_content(spark: SparkSession, tmp_path: Path) -> None:
    reader = spark.read.format("borg_pack").option("columns", WHOLE)
    packs = [str(GOLDEN / "borg" / f"{name}.pack") for name in ("aes256-ocb-shape", "versions-mixed", "none-blake3")]
    frame = reader.load(packs)
    frame.coalesce(1).write.format("borg_pack").mode("append").save(str(tmp_path / "packs"))
    assert [len(name) for name in names(tmp_path / "packs")] == [64]
    assert reader.load(str(tmp_path / "packs")).collect() == frame.collect()
    sealed = spark.read.format("borg_pack").option("columns", PAYLOADS).load(packs[0])
    with pytest.raises(PySparkException, match="of mode aes256-ocb and object version 1 cannot be written without"):
        sealed.write.format("borg_pack").mode("append").save(str(tmp_path / "packs"))


def rewritten(pack: Path, folder: Path, columns: str) -> bytes:
    """The pack that is written of the rows that a pack is read as."""
    with thawline.open(pack, "borg") as cold:
        write_borg(folder, "", Incoming(iter(list(cold.batches(columns.split(",")))), "borg"), "")
    return b"".join(file.read_bytes() for file in folder.iterdir())


@pytest.mark.parametrize("pack", sorted((GOLDEN / "borg").glob("*.pack")), ids=lambda pack: pack.stem)
def test_a_pack_of_any_mode_and_version_is_written_back_byte_for_byte(pack: Path, tmp_path: Path) -> None:
    assert rewritten(pack, tmp_path, WHOLE) == pack.read_bytes()


@pytest.mark.parametrize("name", ["authenticated", "none-sha256", "none-blake3", "none-compressions", "none-large"])
def test_envelopes_that_need_no_key_are_made_anew(name: str, tmp_path: Path) -> None:
    pack = GOLDEN / "borg" / f"{name}.pack"
    assert rewritten(pack, tmp_path, PAYLOADS) == pack.read_bytes()


def test_a_new_pack_is_begun_where_borg_begins_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writers, "LARGEST_PACK", 1)
    pack = GOLDEN / "borg" / "none-types.pack"
    with thawline.open(pack) as cold:
        blobs = cold.verify().units
    assert sorted(rewritten(pack, tmp_path, WHOLE)) == sorted(pack.read_bytes())
    assert len(names(tmp_path)) == blobs > 1


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


INTACT = {
    "rbak": "rbak/codec-none.rbak",
    "rbf": "rbf/many-frames.rbf",
    "aerospike_backup": "aerospike/document-sample.asb",
    "borg_pack": "borg/none-types.pack",
    "kafka_segment": "kafka/v2-none.log",
}
SLOTS = {"borg_pack": "chunk_id,version,meta_slot,data_slot,_corrupt_record"}


def read(spark: SparkSession, source: str, file: Path, **options: str) -> DataFrame:
    asked = {"columns": SLOTS[source]} if source in SLOTS and "columnNameOfCorruptRecord" not in options else {}
    return spark.read.format(source).options(**asked, **options).load(str(file)).coalesce(1)


def damaged_copy(source: str, folder: Path) -> Path:
    """A file of a source of which some rows can be read, and a stretch that cannot."""
    file = folder / Path(INTACT[source]).name
    data = (GOLDEN / INTACT[source]).read_bytes()
    file.write_bytes(data + b"torn" * 30)
    return file


@pytest.mark.parametrize("source", sorted(INTACT))
def test_what_was_read_is_written_as_it_is(spark: SparkSession, tmp_path: Path, source: str) -> None:
    frame = read(spark, source, GOLDEN / INTACT[source])
    assert frame.columns[-1] == "_corrupt_record"
    frame.write.format(source).mode("append").save(str(tmp_path / "copy"))
    options = {"recursiveFileLookup": "true"} if source == "kafka_segment" else {}
    again = read(spark, source, tmp_path / "copy", **options)
    assert again.count() == frame.count() > 0


@pytest.mark.parametrize("source", sorted(INTACT))
def test_damage_that_was_read_is_not_written_and_leaves_nothing(
    spark: SparkSession, tmp_path: Path, source: str
) -> None:
    frame = read(spark, source, damaged_copy(source, tmp_path))
    with pytest.raises(PySparkException, match=r"mode=DROPMALFORMED, or write only where _corrupt_record IS NULL"):
        frame.write.format(source).mode("append").save(str(tmp_path / "copy"))
    assert not (tmp_path / "copy").exists()
    sound = frame.where("_corrupt_record IS NULL")
    sound.write.format(source).mode("append").save(str(tmp_path / "copy"))
    assert sound.count() > 0


@pytest.mark.parametrize("source", ["rbf", "kafka_segment"])
def test_a_column_for_damage_of_another_name_is_named(spark: SparkSession, tmp_path: Path, source: str) -> None:
    named = {"columnNameOfCorruptRecord": "broken"}
    frame = read(spark, source, GOLDEN / INTACT[source], **named)
    frame.write.format(source).options(**named).mode("append").save(str(tmp_path / "copy"))
    damaged = read(spark, source, damaged_copy(source, tmp_path), **named)
    with pytest.raises(PySparkException, match=r"write only where broken IS NULL"):
        damaged.write.format(source).options(**named).mode("append").save(str(tmp_path / "other"))
    with pytest.raises(PySparkException, match=r"damaged stretch|no record has a column broken"):
        damaged.write.format(source).mode("append").save(str(tmp_path / "other"))
    assert not (tmp_path / "other").exists()


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
