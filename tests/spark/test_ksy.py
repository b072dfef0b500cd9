"""The source `ksy`: the rows of a file of one's own format are the same on Spark, in as many tasks as one likes."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from pathlib import Path

import pytest
from leveldb_logs import BLOCK, SPEC, fragments, written
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A log of LevelDB's, and a copy with a flipped bit in its third block."""
    made = tmp_path_factory.mktemp("leveldb")
    chance = random.Random(5)
    log = written(made, {f"key{number}".encode(): chance.randbytes(500) for number in range(900)})
    (made / "logs").mkdir()
    (made / "logs" / "a.log").write_bytes(log)
    damaged = bytearray(log)
    damaged[2 * BLOCK + 500] ^= 4
    (made / "logs" / "b.log").write_bytes(damaged)
    return made / "logs"


def read(spark: SparkSession, path: Path, **options: str) -> DataFrame:
    return spark.read.format("ksy").options(spec=str(SPEC), **options).load(str(path))


def test_rows_are_those_of_the_log(spark: SparkSession, folder: Path) -> None:
    frame = read(spark, folder / "a.log", table="fragments", mode="FAILFAST")
    assert dict(frame.dtypes)["checksum"] == "bigint"
    rows = [(row["body"]["kind"], bytes(row["body"]["data"])) for row in frame.collect()]
    assert rows == [(one.kind, one.data) for one in fragments((folder / "a.log").read_bytes())]


def test_many_tasks_read_what_one_does(spark: SparkSession, folder: Path) -> None:
    frame = read(spark, folder, table="fragments", mode="DROPMALFORMED", maxPartitionBytes="100000")
    assert frame.rdd.getNumPartitions() > 4
    logs = [(folder / name).read_bytes() for name in ("a.log", "b.log")]
    whole = list(fragments(logs[0]))
    assert frame.count() == 2 * len(whole) - sum(one.block == 2 for one in whole)


def test_damage_is_a_row_with_its_bytes(spark: SparkSession, folder: Path) -> None:
    (row,) = read(spark, folder / "b.log").where("_corrupt_record is not null").collect()
    assert len(row["_corrupt_record"]) == BLOCK


def test_a_spec_is_asked_for(spark: SparkSession, folder: Path) -> None:
    with pytest.raises(AnalysisException, match="which format is it"):
        spark.read.format("ksy").load(str(folder)).collect()


def test_files_of_the_spec_are_taken_into_the_lake(folder: Path, tmp_path: Path) -> None:
    # In a process of its own: the command ends its session.
    arguments = ("--spec", str(SPEC), "ingest", str(folder), "--to", str(tmp_path / "lake"), "--format", "jsonl")
    line = [sys.executable, "-m", "thawline", *arguments]
    done = subprocess.run(line, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 1, done.stderr
    summary = json.loads(done.stdout)
    log = (folder / "a.log").read_bytes()
    whole = list(fragments(log))
    assert summary["tables"]["leveldb_log_fragments"] == 2 * len(whole) - sum(one.block == 2 for one in whole)
    assert summary["formats"]["leveldb_log"]["damaged_bytes"] == BLOCK
