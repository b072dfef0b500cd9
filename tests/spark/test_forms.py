"""Lakes whose tables are of Iceberg, or plain folders of Parquet: what holds for Delta holds for them."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from lakes import Alone, everything, leftovers, table
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.exceptions import CommitFailedException

from thawline.cli import run
from thawline.errors import SourceError
from thawline.lake import upkeep
from thawline.lake.commits import Change
from thawline.lake.lake import Lake, snapshot
from thawline.lake.place import parquet_reader
from thawline.options import BadOption
from thawline.spark import pipeline
from thawline.spark.tables import Tables

GOLDEN = Path(__file__).parents[1] / "golden"
LOG = GOLDEN / "rbf" / "many-frames.rbf"
FRAMES = 40
BOTH = pytest.mark.parametrize("form", ["iceberg", "parquet"])


@pytest.fixture
def cold(tmp_path: Path) -> Path:
    """Logs, a damaged one among them, and a partition."""
    made = tmp_path / "cold"
    (made / "orders-0").mkdir(parents=True)
    for number in range(4):
        shutil.copy(LOG, made / f"{number}.rbf")
    data = bytearray(LOG.read_bytes())
    data[500] ^= 1
    (made / "flipped.rbf").write_bytes(data)
    shutil.copy(GOLDEN / "kafka" / "v2-none.log", made / "orders-0" / f"{100:020}.log")
    return made


@pytest.fixture
def catalog(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/catalog.db"


def of(form: str, catalog: str) -> dict[str, Any]:
    """The options of a lake of a form."""
    return {"table_format": form, "catalog": catalog if form == "iceberg" else None}


def ingest(source: Path, lake: Path | str, **options: Any) -> pipeline.Summary:
    return pipeline.ingest(Alone(), [str(source)], lake, **options)  # type: ignore[arg-type]


@BOTH
def test_a_lake_of_any_form_has_the_rows_of_one_of_delta(cold: Path, tmp_path: Path, catalog: str, form: str) -> None:
    lake = tmp_path / "lake"
    assert ingest(cold, lake, **of(form, catalog)).damaged == 1
    assert not list(lake.rglob("_delta_log"))
    (cold / "3.rbf").write_bytes(LOG.read_bytes()[:800])
    (cold / "0.rbf").unlink()
    assert ingest(cold, lake, prune_missing=True).ingested == 1
    ingest(cold, tmp_path / "clean")
    assert everything(lake) == everything(tmp_path / "clean")
    assert upkeep.forget(lake, [str(cold / "1.rbf")]) == 1
    assert str(cold / "1.rbf") not in str(everything(lake))
    before = everything(lake)
    upkeep.compact(lake)
    assert next(one.files for one in upkeep.status_of(lake).tables if one.name == "tables/rbf_frames") == 1
    upkeep.vacuum(lake, 0)
    assert everything(lake) == before
    assert leftovers(lake) == []
    assert ingest(cold, lake).ingested == 1
    assert everything(lake) == everything(tmp_path / "clean")


@pytest.mark.parametrize("form", ["delta", "iceberg", "parquet"])
def test_a_lake_that_was_packed_and_cleaned_up_is_read_as_of_its_last_commit(
    cold: Path, tmp_path: Path, catalog: str, form: str
) -> None:
    lake = tmp_path / "lake"
    for number in range(3):
        ingest(cold / f"{number}.rbf", lake, **(of(form, catalog) if not number else {}))
    assert upkeep.compact(lake) > 0
    assert read(lake) == {"rbf_frames": 3 * FRAMES, "files": 3}
    upkeep.vacuum(lake, 0)
    assert read(lake) == {"rbf_frames": 3 * FRAMES, "files": 3}
    ingest(cold / "orders-0", lake)
    assert read(lake) == {"rbf_frames": 3 * FRAMES, "files": 5}
    assert read(lake, upkeep.history_of(lake)[0].number) == {"rbf_frames": 3 * FRAMES, "files": 5}


def read(lake: Path, commit: int | None = None) -> dict[str, int]:
    """How many rows two tables have, by what their files hold."""
    found = {name: snapshot(lake, name, commit) for name in ("rbf_frames", "files")}
    return {
        name: sum(len(parquet_reader(one.place, f"{one.name}/{file.path}").read()) for file in one.files())
        for name, one in found.items()
    }


def test_an_earlier_commit_whose_files_were_removed_is_said_to_be_gone(cold: Path, tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    for number in range(3):
        ingest(cold / f"{number}.rbf", lake)
    assert read(lake, 2) == {"rbf_frames": 2 * FRAMES, "files": 2}
    upkeep.compact(lake)
    upkeep.vacuum(lake, 0)
    with pytest.raises(SourceError, match="rbf_frames cannot be read as of commit 2 any more"):
        snapshot(lake, "rbf_frames", 2)


@BOTH
def test_runs_that_race_take_each_file_in_once(cold: Path, tmp_path: Path, catalog: str, form: str) -> None:
    lake, start = tmp_path / "lake", tmp_path / "start"
    Lake.open(lake, None, *of(form, catalog).values())
    program = Path(__file__).with_name("racing.py")
    paths = {"PYTHONPATH": f"{os.environ.get('PYTHONPATH', '')}:{program.parents[1]}"}
    command = [sys.executable, program, str(start), str(cold), str(lake)]
    runs = [subprocess.Popen(command, env={**os.environ, **paths}, stdout=subprocess.PIPE) for _ in range(2)]
    while len(list(tmp_path.glob("start.*"))) < len(runs):
        assert all(one.poll() is None for one in runs)
        time.sleep(0.05)
    start.touch()
    assert [one.wait() for one in runs] == [0, 0]
    ingest(cold, tmp_path / "clean")
    assert everything(lake) == everything(tmp_path / "clean")
    assert leftovers(lake) == []


@BOTH
def test_a_driver_that_is_killed_is_made_good_by_the_next_run(tmp_path: Path, form: str) -> None:
    check_killed(tmp_path, FORM=form)


@pytest.mark.parametrize("form", ["delta", "parquet"])
def test_a_driver_that_is_killed_while_it_writes_to_a_bucket_is_made_good_by_the_next_run(
    s3: Any, tmp_path: Path, form: str
) -> None:
    s3.create_bucket(Bucket=f"killed-{form}")
    check_killed(tmp_path, FORM=form, BUCKET=f"killed-{form}")


def check_killed(folder: Path, **how: str) -> None:
    program = Path(__file__).with_name("killed_driver.py")
    paths = f"{os.environ.get('PYTHONPATH', '')}:{program.parents[1]}"
    environment = {"POINTS": "4", **os.environ, "PYTHONPATH": paths, **how}
    command = [sys.executable, str(program), str(folder)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=900)
    assert done.returncode == 0, done.stderr[-4000:]
    for name, told in json.loads(done.stdout).items():
        assert told["status"] == 0, (name, done.stderr[-4000:])
        assert told["steps"] > (8 if "BUCKET" in how else 20), name  # a bucket has no names to change
        assert told["wrong"] == {}, (name, done.stderr[-4000:])


def test_a_commit_of_another_does_not_stop_the_vacuum_of_an_iceberg_lake(
    cold: Path, tmp_path: Path, catalog: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake = tmp_path / "lake"
    ingest(cold, lake, **of("iceberg", catalog))
    (cold / "second.rbf").write_bytes(LOG.read_bytes())
    ingest(cold, lake)
    found = everything(lake)
    commit, refused = SqlCatalog.commit_table, []

    def commit_once_refused(self: SqlCatalog, *arguments: Any) -> Any:
        if not refused:
            refused.append(arguments)
            raise CommitFailedException("the table has been changed by another process")
        return commit(self, *arguments)

    monkeypatch.setattr(SqlCatalog, "commit_table", commit_once_refused)
    upkeep.vacuum(lake, 0)
    assert refused
    assert everything(lake) == found
    assert leftovers(lake) == []


@BOTH
def test_a_lake_of_any_form_lies_in_a_bucket(s3: Any, cold: Path, tmp_path: Path, catalog: str, form: str) -> None:
    s3.create_bucket(Bucket=f"forms-{form}")
    lake = f"s3://forms-{form}/cold"
    ingest(cold, lake, **of(form, catalog))
    (cold / "3.rbf").write_bytes(LOG.read_bytes()[:800])
    assert ingest(cold, lake).ingested == 1
    ingest(cold, tmp_path / "clean")
    counts = {one.name: one.rows for one in upkeep.status_of(lake).tables}
    assert counts == {one.name: one.rows for one in upkeep.status_of(tmp_path / "clean").tables}
    listed = [one["Key"] for one in s3.list_objects_v2(Bucket=f"forms-{form}")["Contents"]]
    assert not [key for key in listed if "_ingest/staged" in key or "_ingest/commits" in key]


@BOTH
def test_tables_of_any_form_are_partitioned(cold: Path, tmp_path: Path, catalog: str, form: str) -> None:
    lake = tmp_path / "lake"
    ingest(cold, lake, partition_by=["topic", "partition"], **of(form, catalog))
    (path,) = (lake / "tables" / "kafka_records").rglob("*.parquet")
    assert path.parent.name == "partition=0"
    assert {(row["topic"], row["partition"]) for row in table(lake, "tables/kafka_records")} == {("orders", 0)}
    assert {row["_file"] for row in table(lake, "tables/rbf_frames")} == set(map(str, cold.glob("*.rbf")))


SIGNS = ["a/b", "a b", "100%", "a%2Fb", "é", "x=y", "~", 'a:b*?"<>|', "it's", "a\nb", "..", "n" * 190]


@pytest.mark.parametrize("form", ["delta", "iceberg", "parquet"])
def test_rows_are_found_again_in_folders_whose_names_have_signs(tmp_path: Path, catalog: str, form: str) -> None:
    lake = Lake.open(tmp_path / "lake", ["queue", "again"], *of(form, catalog).values())
    for work in ("/a", "/b"):
        written = Tables(lake.place, lake.run, lake.by)
        rows = pa.record_batch({"queue": SIGNS, "again": [True] * len(SIGNS), "number": range(len(SIGNS))})
        written.add("rbak", f"file:{work}", work, "messages", rows)
        lake.commit(Change(tuple(one.file for one in written.close())), {})
    whole = Counter((queue, True, work) for queue in SIGNS for work in ("/a", "/b"))
    assert queues(tmp_path / "lake") == whole
    lake.commit(Change(stale=("file:/a",)), {})
    assert queues(tmp_path / "lake") == Counter((queue, True, "/b") for queue in SIGNS)
    for work in ("/a", "/c"):
        written = Tables(lake.place, lake.run, lake.by)
        written.add("rbak", f"file:{work}", work, "messages", rows)
        lake.commit(Change(tuple(one.file for one in written.close())), {})
    assert upkeep.compact(tmp_path / "lake") == 2 * len(SIGNS)
    lake.commit(Change(stale=("file:/c",)), {})
    upkeep.vacuum(tmp_path / "lake", 0)
    assert queues(tmp_path / "lake") == whole
    assert leftovers(tmp_path / "lake") == []


def queues(lake: Path) -> Counter[tuple[str, bool, str]]:
    found = table(lake, "tables/rbak_messages")
    return Counter((row["queue"], row["again"] in {True, "true"}, row["_file"]) for row in found)


def test_a_value_that_is_too_long_for_a_folder_is_never_cut(tmp_path: Path) -> None:
    place = Lake.open(tmp_path / "lake", ["queue"], "parquet").place
    written = Tables(place, "run", ["queue"])
    with pytest.raises(SourceError, match="its queue of 201 characters is too long for the name of a folder"):
        written.add("rbak", "file:/a", "/a", "messages", pa.record_batch({"queue": ["n" * 201]}))


@BOTH
def test_a_column_that_comes_with_a_release_is_added(tmp_path: Path, catalog: str, form: str) -> None:
    lake = Lake.open(tmp_path / "lake", None, *of(form, catalog).values())
    old = pa.table({"tag": [1], "_file": ["/a"]})
    lake.commit(Change(tuple(lake.add("tables/rbf_frames", old))), {})
    new = pa.table({"tag": [2], "payload": [b"x"], "_file": ["/b"]})
    lake.commit(Change(tuple(lake.add("tables/rbf_frames", new))), {})
    found = {row["_file"]: row["payload"] for row in table(tmp_path / "lake", "tables/rbf_frames")}
    assert found == {"/a": None, "/b": b"x"}
    upkeep.compact(tmp_path / "lake")
    assert {row["_file"]: row["payload"] for row in table(tmp_path / "lake", "tables/rbf_frames")} == found


def test_a_lake_of_iceberg_is_read_as_of_an_earlier_commit_and_says_what_columns_mean(
    cold: Path, tmp_path: Path, catalog: str
) -> None:
    lake = tmp_path / "lake"
    ingest(cold, lake, **of("iceberg", catalog))
    ingest(cold / "0.rbf", lake)
    shutil.copy(LOG, cold / "new.rbf")
    ingest(cold, lake)
    assert [one.number for one in upkeep.history_of(lake)] == [2, 1]
    before: Any = snapshot(lake, "rbf_frames", 1)
    assert sum(one.rows for one in before.files()) == 5 * FRAMES - 1
    now: Any = snapshot(lake, "rbf_frames")
    assert sum(one.rows for one in now.files()) == 6 * FRAMES - 1
    assert now.found.schema().find_field("_file").doc == "path or URL of the file that the row is from"
    assert now.found.properties["comment"]


def test_plain_folders_have_no_earlier_versions_and_say_so(cold: Path, tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    ingest(cold, lake, table_format="parquet")
    shutil.copy(LOG, cold / "new.rbf")
    ingest(cold, lake)
    with pytest.raises(SourceError, match="plain folders keep no earlier versions"):
        snapshot(lake, "rbf_frames", 1)


def test_the_form_of_a_lake_is_for_good_and_what_does_not_go_together_is_said(
    cold: Path, tmp_path: Path, catalog: str, capsys: pytest.CaptureFixture[str]
) -> None:
    ingest(cold, tmp_path / "lake", table_format="parquet")
    with pytest.raises(SourceError, match="its tables are parquet, which is for good"):
        ingest(cold, tmp_path / "lake", table_format="delta")
    with pytest.raises(BadOption, match="--catalog goes with"):
        ingest(cold, tmp_path / "other", catalog=catalog)
    with pytest.raises(BadOption, match="found by a catalog"):
        ingest(cold, tmp_path / "other", table_format="iceberg")
    with pytest.raises(BadOption, match="password"):
        ingest(cold, tmp_path / "other", table_format="iceberg", catalog="postgresql://me:secret@host/db")
    with pytest.raises(SourceError, match="is no catalog"):
        ingest(cold, tmp_path / "third", table_format="iceberg", catalog="oracle://host/db")
    assert run(["lake", "status", str(tmp_path / "lake")]) == 0
    assert "tables/rbf_frames" in capsys.readouterr().out


def test_a_catalog_that_has_such_tables_of_another_lake_is_refused(cold: Path, tmp_path: Path, catalog: str) -> None:
    ingest(cold, tmp_path / "a" / "lake", **of("iceberg", catalog))
    with pytest.raises(SourceError, match="give the lake another name"):
        ingest(cold, tmp_path / "b" / "lake", **of("iceberg", catalog))
