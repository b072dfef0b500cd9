"""A lake as others see it: whole while it grows, written by several at once, in a folder and in a bucket."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any

import deltalake
import duckdb
import polars as pl
import pyarrow as pa
import pytest
from lakes import Alone, everything, leftovers, table
from pyspark.sql import SparkSession

from thawline.cli import run
from thawline.errors import SourceError
from thawline.lake import upkeep
from thawline.lake.accounts import FILES
from thawline.lake.commits import Change
from thawline.lake.lake import Lake, snapshot
from thawline.lake.place import LakeError, Place
from thawline.spark import pipeline, read_lake

GOLDEN = Path(__file__).parents[1] / "golden"
LOG = GOLDEN / "rbf" / "many-frames.rbf"
FRAMES = 40
FILES_OF_A_RACE = 8


@pytest.fixture
def cold(tmp_path: Path) -> Path:
    """Logs, a damaged one among them, and a partition."""
    made = tmp_path / "cold"
    (made / "orders-0").mkdir(parents=True)
    for number in range(FILES_OF_A_RACE):
        shutil.copy(LOG, made / f"{number}.rbf")
    data = bytearray(LOG.read_bytes())
    data[500] ^= 1
    (made / "flipped.rbf").write_bytes(data)
    shutil.copy(GOLDEN / "kafka" / "v2-none.log", made / "orders-0" / f"{100:020}.log")
    return made


def ingest(source: Path, lake: Path | str, **options: Any) -> pipeline.Summary:
    return pipeline.ingest(Alone(), [str(source)], lake, **options)  # type: ignore[arg-type]


def racing(count: int, cold: Path, lake: str, folder: Path) -> Iterator[list[subprocess.Popen[str]]]:
    """Several runs, each a process, that begin at once; yields them until they have ended."""
    start = folder / "start"
    program = Path(__file__).with_name("racing.py")
    paths = {"PYTHONPATH": f"{os.environ.get('PYTHONPATH', '')}:{program.parents[1]}"}
    runs = [
        subprocess.Popen(
            [sys.executable, program, str(start), str(cold), lake],
            env={**os.environ, **paths},
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(count)
    ]
    while len(list(folder.glob("start.*"))) < count:
        assert all(one.poll() is None for one in runs)
        time.sleep(0.05)
    start.touch()
    while any(one.poll() is None for one in runs):
        yield runs
    assert [one.returncode for one in runs] == [0] * count


def frames_of(lake: Path) -> Counter[str]:
    """Frames of each file, as somebody sees them who reads that table alone."""
    return Counter(row["_file"] for row in table(lake, "tables/rbf_frames"))


def seen_by_others(lake: Path) -> Iterator[tuple[str, dict[str, int]]]:
    """Frames of each file, as others see them in that table alone."""
    yield "delta-rs", frames_of(lake)
    folder = str(lake / "tables" / "rbf_frames")
    if not deltalake.DeltaTable.is_deltatable(folder):
        return
    yield "Polars", dict(pl.scan_delta(folder).group_by("_file").len().collect().iter_rows())
    arrow = deltalake.DeltaTable(folder).to_pyarrow_dataset()
    assert arrow.schema.names
    yield "DuckDB", dict(duckdb.sql("SELECT _file, count(*) FROM arrow GROUP BY ALL").fetchall())


def whole_files(spark: SparkSession, lake: Path) -> int:
    """How many logs Spark finds in a lake, each of them whole."""
    if not deltalake.DeltaTable.is_deltatable(str(lake / "files")):
        return 0
    told = {row["path"]: row["rows"] for row in read_lake(spark, lake, "files").collect() if row["rows"]}
    frames = read_lake(spark, lake, "rbf_frames").groupBy("_file").count().collect() if told else []
    counts = {row["_file"]: row["count"] for row in frames}
    assert {number for path, number in counts.items() if "flipped" not in path} <= {FRAMES}
    assert {path: rows for path, rows in told.items() if path.endswith(".rbf")}.items() <= counts.items()
    return len(counts)


def test_spark_reads_whole_files_of_a_lake_while_runs_race_for_it(
    spark: SparkSession, cold: Path, tmp_path: Path
) -> None:
    lake, warm = tmp_path / "lake", tmp_path / "warm"
    ingest(cold / "0.rbf", warm)
    read_lake(spark, warm, "rbf_frames").groupBy("_file").count().collect()  # a first read takes as long as the race
    seen = {whole_files(spark, lake) for _ in chain(racing(2, cold, str(lake), tmp_path), ["after"])}
    assert len(seen) > 1


def test_runs_that_race_for_one_lake_take_each_file_in_once_and_readers_never_see_half_of_one(
    cold: Path, tmp_path: Path
) -> None:
    lake = tmp_path / "lake"
    for _ in racing(3, cold, str(lake), tmp_path):
        for reader, counts in seen_by_others(lake):
            assert {number for path, number in counts.items() if "flipped" not in path} <= {FRAMES}, reader
        if (lake / "files" / "_delta_log").exists():
            told = snapshot(lake, "files").delta.to_pyarrow_table().to_pylist()
            known = {row["path"]: row["rows"] for row in told if row["format"] == "rbf"}
            if known:
                frames = snapshot(lake, "rbf_frames").delta.to_pyarrow_table()["_file"].to_pylist()
                assert known.items() <= Counter(frames).items()
    ingest(cold, tmp_path / "clean")
    assert everything(lake) == everything(tmp_path / "clean")
    assert leftovers(lake) == []


def test_files_that_change_while_runs_race_are_in_the_lake_once(cold: Path, tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    ingest(cold, lake)
    for number in range(0, FILES_OF_A_RACE, 2):
        (cold / f"{number}.rbf").write_bytes(LOG.read_bytes()[:800])
    (cold / "1.rbf").unlink()
    for _ in racing(2, cold, str(lake), tmp_path):
        time.sleep(0.2)
    ingest(cold, lake, prune_missing=True)
    ingest(cold, tmp_path / "clean")
    assert everything(lake) == everything(tmp_path / "clean")


def test_a_lake_in_a_bucket_is_the_lake_in_a_folder(s3: Any, cold: Path, tmp_path: Path) -> None:
    s3.create_bucket(Bucket="lakes")
    first = ingest(cold, "s3a://lakes/cold")
    assert (first.ingested, first.damaged) == (FILES_OF_A_RACE + 2, 1)
    (cold / "3.rbf").write_bytes(LOG.read_bytes()[:800])
    second = ingest(cold, "s3://lakes/cold")
    assert (second.ingested, second.unchanged) == (1, FILES_OF_A_RACE + 1)
    ingest(cold, tmp_path / "clean")
    for name in ("rbf_frames", "kafka_records", "findings", "files"):
        assert rows_at("s3://lakes/cold", name) == rows_at(tmp_path / "clean", name)
    assert upkeep.forget("s3://lakes/cold", [str(cold / "3.rbf")]) == 1
    upkeep.vacuum("s3://lakes/cold", 0)
    assert f"{cold}/3.rbf" not in str(rows_at("s3://lakes/cold", "rbf_frames"))
    assert not s3.list_objects_v2(Bucket="lakes", Prefix="cold/_ingest/").get("Contents")


def test_runs_that_race_for_a_lake_in_a_bucket_take_each_file_in_once(s3: Any, cold: Path, tmp_path: Path) -> None:
    s3.create_bucket(Bucket="races")
    for _ in racing(2, cold, "s3://races/cold", tmp_path):
        time.sleep(0.2)
    ingest(cold, tmp_path / "clean")
    for name in ("rbf_frames", "kafka_records", "findings", "files"):
        assert rows_at("s3://races/cold", name) == rows_at(tmp_path / "clean", name)


def rows_at(lake: Path | str, name: str) -> list[str]:
    """The rows of a table of the last commit, as text."""
    return sorted(map(repr, snapshot(lake, name).delta.to_pyarrow_table().to_pylist()))


def test_spark_reads_a_lake_in_a_bucket_without_jars(spark: SparkSession, s3: Any, cold: Path) -> None:
    s3.create_bucket(Bucket="jarless")
    ingest(cold, "s3://jarless/lake", partition_by=["topic"])
    assert read_lake(spark, "s3://jarless/lake", "rbf_frames").count() == FRAMES * (FILES_OF_A_RACE + 1) - 1
    assert {row["topic"] for row in read_lake(spark, "s3://jarless/lake", "kafka_records").collect()} == {"orders"}


def test_other_engines_read_a_lake(spark: SparkSession, cold: Path, tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    ingest(cold, lake, partition_by=["topic"])
    frames = FRAMES * (FILES_OF_A_RACE + 1) - 1
    assert pl.scan_delta(str(lake / "tables/rbf_frames")).select(pl.len()).collect().item() == frames
    arrow = deltalake.DeltaTable(str(lake / "tables/kafka_records")).to_pyarrow_dataset()
    assert duckdb.sql("SELECT DISTINCT topic FROM arrow").fetchall() == [("orders",)]
    assert arrow.schema.names.count("topic") == 1
    assert read_lake(spark, lake, "rbf_frames").count() == frames
    records = read_lake(spark, lake, "kafka_records")
    assert {(row["topic"], row["partition"]) for row in records.collect()} == {("orders", 0)}
    assert read_lake(spark, lake, "files").where("status = 'damaged'").count() == 1


def test_a_lake_is_read_as_of_an_earlier_commit(cold: Path, tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    ingest(cold, lake)
    before = {name: rows_at(lake, name) for name in ("files", "rbf_frames", "findings")}
    (cold / "flipped.rbf").unlink()
    ingest(cold, lake, prune_missing=True)
    commits = upkeep.history_of(lake)
    assert [one.number for one in commits] == [2, 1]
    assert (commits[1].files, commits[1].did) == (FILES_OF_A_RACE + 2, "took in")
    for name, rows in before.items():
        found = snapshot(lake, name, 1).delta.to_pyarrow_table().to_pylist()
        assert sorted(map(repr, found)) == rows
    assert len(rows_at(lake, "findings")) < len(before["findings"])
    with pytest.raises(SourceError, match="has no commit 7"):
        snapshot(lake, "files", 7)


def test_what_is_just_being_committed_is_part_of_no_snapshot(
    cold: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake = tmp_path / "lake"
    ingest(cold / "orders-0", lake)
    before = rows_at(lake, "kafka_records")
    shutil.copytree(cold / "orders-0", cold / "orders-1")
    apply = pipeline.Lake._complete

    class Died(Exception):
        pass

    def dies(*_: object) -> None:
        raise Died

    with monkeypatch.context() as patched:
        patched.setattr("thawline.lake.lake.apply_to", dies)  # the last step, after all tables but `files`
        with pytest.raises(Died):
            ingest(cold / "orders-1", lake)
    assert apply is pipeline.Lake._complete
    assert len(table(lake, "tables/kafka_records")) == 2 * len(before)
    assert rows_at(lake, "kafka_records") == before
    assert ingest(cold / "orders-1", lake).unchanged == 1
    assert len(rows_at(lake, "kafka_records")) == 2 * len(before)


def test_a_commit_whose_content_somebody_has_removed_is_an_error_and_no_endless_wait(
    cold: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake = tmp_path / "lake"
    ingest(cold / "0.rbf", lake)

    def dies(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(Lake, "_complete", dies)
        with pytest.raises(KeyboardInterrupt):
            ingest(cold / "1.rbf", lake)
    shutil.rmtree(lake / "_ingest" / "commits")
    monkeypatch.setattr("thawline.lake.lake.time.sleep", lambda _: None)
    with pytest.raises(LakeError, match="commit 2 is announced, and nothing in _ingest/commits says any more"):
        ingest(cold / "1.rbf", lake)


def test_readers_are_told_what_they_may_skip(cold: Path, tmp_path: Path) -> None:
    ingest(cold, tmp_path / "lake")
    log = deltalake.DeltaTable(str(tmp_path / "lake" / "tables" / "rbf_frames"))
    rows = table(tmp_path / "lake", "tables/rbf_frames")
    facts = pa.table(log.get_add_actions(flatten=True)).to_pylist()
    assert sum(one["num_records"] for one in facts) == len(rows)
    for column in ("tag", "_file"):
        values = [row[column] for row in rows]
        assert min(one[f"min.{column}"] for one in facts) == min(values)
        assert max(one[f"max.{column}"] for one in facts) == max(values)
        assert {one[f"null_count.{column}"] for one in facts} == {0}


def test_tables_and_columns_say_what_they_mean(cold: Path, tmp_path: Path) -> None:
    ingest(cold, tmp_path / "lake")
    records = deltalake.DeltaTable(str(tmp_path / "lake" / "tables" / "kafka_records"))
    assert "Kafka source" in records.metadata().description
    comments = {one.name: one.metadata.get("comment") for one in records.schema().fields}
    assert comments["value"] == "null for a tombstone"
    assert comments["_file"] == "path or URL of the file that the row is from"


def test_partitions_are_for_good(cold: Path, tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    ingest(cold, lake, partition_by=["topic", "partition"])
    files = [path.parent.name for path in (lake / "tables" / "kafka_records").rglob("*.parquet")]
    assert files == ["partition=0"]
    shutil.copytree(cold / "orders-0", cold / "orders-1")
    ingest(cold, lake)
    found = table(lake, "tables/kafka_records")
    assert {(row["topic"], row["partition"]) for row in found} == {("orders", 0), ("orders", 1)}
    with pytest.raises(SourceError, match="its tables are by topic,partition, which is for good"):
        ingest(cold, lake, partition_by=["queue"])


def test_rows_of_a_changed_file_are_found_after_another_program_has_compacted_the_table(
    cold: Path, tmp_path: Path
) -> None:
    lake = tmp_path / "lake"
    for number in range(3):
        ingest(cold / f"{number}.rbf", lake)
    deltalake.DeltaTable(str(lake / "tables/rbf_frames")).optimize.compact()
    (cold / "1.rbf").write_bytes(LOG.read_bytes()[:800])
    ingest(cold / "1.rbf", lake)
    counts = frames_of(lake)
    assert counts[str(cold / "0.rbf")] == counts[str(cold / "2.rbf")] == FRAMES
    assert 0 < counts[str(cold / "1.rbf")] < FRAMES


def test_a_column_that_comes_with_a_release_is_added(tmp_path: Path) -> None:
    lake = Lake.open(tmp_path / "lake")
    old = pa.table({"tag": [1], "_file": ["/a"]})
    lake.commit(Change(tuple(lake.add("tables/rbf_frames", old))), {})
    new = pa.table({"tag": [2], "payload": [b"x"], "_file": ["/b"]})
    lake.commit(Change(tuple(lake.add("tables/rbf_frames", new))), {})
    found = {row["_file"]: row["payload"] for row in table(tmp_path / "lake", "tables/rbf_frames")}
    assert found == {"/a": None, "/b": b"x"}
    fields = deltalake.DeltaTable(str(tmp_path / "lake" / "tables" / "rbf_frames")).schema().fields
    assert next(one for one in fields if one.name == "payload").metadata["comment"]


def test_many_small_files_of_a_table_are_packed(cold: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(upkeep, "FEW", 3)
    for number in range(6):
        ingest(cold / f"{number}.rbf", tmp_path / "lake")
    found = {one.name: one for one in upkeep.status_of(tmp_path / "lake").tables}
    assert found["tables/rbf_frames"].files <= 3
    assert found["tables/rbf_frames"].rows == 6 * FRAMES
    assert found["files"].files <= 3


def test_a_lake_that_would_take_itself_in_is_refused_also_behind_a_link_or_a_glob(cold: Path, tmp_path: Path) -> None:
    (cold / "inner").mkdir()
    (tmp_path / "link").symlink_to(cold / "inner")
    with pytest.raises(SourceError, match="so nothing is written there"):
        ingest(cold, tmp_path / "link")
    with pytest.raises(SourceError, match="so nothing is written there"):
        ingest(tmp_path / "*", tmp_path / "lake")
    assert list((cold / "inner").iterdir()) == []


def test_a_lake_may_be_a_link(cold: Path, tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    ingest(cold, tmp_path / "link")
    assert ingest(cold, tmp_path / "real").ingested == 0


@pytest.mark.parametrize("name", ["100%25", "a%20b", "\udcff"])
def test_a_folder_that_delta_does_not_find_again_is_refused_in_a_sentence(
    cold: Path, tmp_path: Path, name: str
) -> None:
    with pytest.raises(SourceError, match="tables of Delta cannot lie in a folder whose name"):
        ingest(cold, tmp_path / name)
    assert ingest(cold, tmp_path / name, table_format="parquet").rows["rbf_frames"] > FRAMES


def test_a_lake_that_is_a_file_is_refused(cold: Path) -> None:
    with pytest.raises(SourceError, match="is a file, and a lake is a folder or a URL"):
        ingest(cold / "orders-0", LOG)


def test_a_lake_of_the_first_edition_is_refused(cold: Path, tmp_path: Path) -> None:
    (tmp_path / "lake" / "_ingest" / "journal").mkdir(parents=True)
    with pytest.raises(SourceError, match="is a lake of an earlier release") as caught:
        ingest(cold, tmp_path / "lake")
    assert "\n" not in str(caught.value)


def test_the_command_tells_of_a_lake_and_keeps_it_in_order(
    cold: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lake = tmp_path / "lake"

    def said(*arguments: str) -> tuple[int, list[str]]:
        code = run(["lake", *arguments])
        return code, capsys.readouterr().out.splitlines()

    ingest(cold, lake)
    lines = [json.loads(line) for line in said("status", str(lake))[1]]
    assert {"status": "damaged", "files": 1} in lines
    frames = next(line for line in lines if line.get("table") == "tables/rbf_frames")
    assert frames["rows"] == FRAMES * (FILES_OF_A_RACE + 1) - 1
    assert said("forget", str(lake), str(cold / "flipped.rbf")) == (0, ["1 file forgotten"])
    assert str(cold / "flipped.rbf") not in str(everything(lake))
    assert [json.loads(line)["did"] for line in said("history", str(lake))[1]] == ["forgot 1", "took in"]
    assert said("compact", str(lake))[0] == 0
    compacted = [json.loads(line) for line in said("status", str(lake))[1]]
    assert next(line for line in compacted if line.get("table") == "tables/rbf_frames")["files"] == 1
    before = everything(lake)
    assert said("vacuum", str(lake), "--older-than", "0")[0] == 0
    assert everything(lake) == before
    assert ingest(cold, lake).ingested == 1
    assert said("forget", str(lake), "/nowhere")[0] == 2
    assert said("status", str(tmp_path / "nothing"))[0] == 2
    assert not (tmp_path / "nothing").exists()


def test_a_file_of_a_lake_has_a_row_with_all_columns(cold: Path, tmp_path: Path) -> None:
    ingest(cold, tmp_path / "lake")
    assert set(table(tmp_path / "lake", "files")[0]) == set(FILES.names)


def test_a_file_is_never_seen_half_written_also_where_two_processes_write_it(tmp_path: Path) -> None:
    place = Place.of(tmp_path)
    with place.create("a") as first, place.create("a") as second:
        first.write(b"whole")
        second.write(b"who")
        assert not place.exists("a")
        second.write(b"le")
    assert place.read("a") == b"whole"
    with place.create("a") as third:
        third.write(b"wh")
        assert place.read("a") == b"whole"
        third.write(b"ole")
    assert place.listed("") == ["a"]
