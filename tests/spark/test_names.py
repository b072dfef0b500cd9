"""Names of files that are no UTF-8, and folders that are of two formats, in a lake."""

from __future__ import annotations

import json
import os
import shutil
from base64 import b64decode
from pathlib import Path
from typing import Any

import pytest
from lakes import Alone, everything, table
from pyspark.sql import SparkSession

from thawline.cli import run
from thawline.spark import pipeline

GOLDEN = Path(__file__).parents[1] / "golden"
LOG = GOLDEN / "rbf" / "many-frames.rbf"
ODD = os.fsdecode(b"caf\xe9")


@pytest.fixture
def cold(tmp_path: Path) -> Path:
    """A sound and a damaged log with names that are no UTF-8, in such a folder, beside one whose name is plain."""
    made = tmp_path / "cold"
    (made / ODD).mkdir(parents=True)
    shutil.copy(LOG, made / "plain.rbf")
    shutil.copy(LOG, made / ODD / f"{ODD}.rbf")
    data = bytearray(LOG.read_bytes())
    data[500] ^= 1
    (made / ODD / f"{ODD}-flipped.rbf").write_bytes(data)
    return made


def exact(row: dict[str, Any], name: str) -> str:
    """The name of a file, as the README says that it is to be had."""
    return os.fsdecode(b64decode(row[f"{name}_b64"])) if row[f"{name}_b64"] else str(row[name])


def check(cold: Path, lake: Path) -> None:
    files = table(lake, "files")
    paths = sorted(str(path) for path in cold.rglob("*.rbf"))
    assert sorted(exact(row, "path") for row in files) == paths
    (damaged,) = (row for row in table(lake, "findings") if row["severity"] == "error")
    assert exact(damaged, "file") == str(cold / ODD / f"{ODD}-flipped.rbf")
    rows = table(lake, "tables/rbf_frames")
    known = {row["path"]: row["rows"] for row in files}
    assert {name: sum(row["_file"] == name for row in rows) for name in known} == known


def test_names_that_are_no_utf8_come_back_from_a_lake(spark: SparkSession, cold: Path, tmp_path: Path) -> None:
    summary = pipeline.ingest(spark, [str(cold)], tmp_path / "lake")
    assert (summary.ingested, summary.exit_code) == (3, 1)
    check(cold, tmp_path / "lake")
    again = pipeline.ingest(spark, [str(cold)], tmp_path / "lake")
    assert (again.ingested, again.unchanged) == (0, 3)
    assert [one.path for one in again.standings] == [str(cold / ODD / f"{ODD}-flipped.rbf")]


def test_a_source_whose_name_is_no_utf8_is_known_again(cold: Path, tmp_path: Path) -> None:
    source, lake = str(cold / ODD), tmp_path / "lake"
    (Path(source) / f"{ODD}.sock").mkdir()
    os.mkfifo(Path(source) / f"{ODD}.pipe")
    for _ in range(2):
        summary = pipeline.ingest(Alone(), [source], lake)  # type: ignore[arg-type]
        unread = [one.path for one in summary.standings if one.is_unread]
        assert unread == [f"{source}/{ODD}.pipe"]


def test_the_summary_is_json_without_lone_surrogates(
    cold: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("thawline.spark.session", lambda *_: Alone())
    assert run(["ingest", str(cold), "--to", str(tmp_path / "lake"), "--format", "jsonl"]) == 1
    (listed,) = json.loads(capfd.readouterr().out)["listed"]
    assert listed["file"].encode("utf-8")
    assert exact(listed, "file") == str(cold / ODD / f"{ODD}-flipped.rbf")


def test_a_file_that_changes_takes_the_place_of_itself_whatever_its_name(cold: Path, tmp_path: Path) -> None:
    def ingest(lake: Path, **how: bool) -> pipeline.Summary:
        return pipeline.ingest(Alone(), [str(cold)], lake, **how)  # type: ignore[arg-type]

    ingest(tmp_path / "lake")
    shutil.copy(LOG, cold / ODD / f"{ODD}-flipped.rbf")
    (cold / ODD / f"{ODD}.rbf").unlink()
    assert [one.status for one in ingest(tmp_path / "lake").standings] == ["missing"]
    assert ingest(tmp_path / "lake", prune_missing=True).pruned == 1
    ingest(tmp_path / "clean")
    assert everything(tmp_path / "lake") == everything(tmp_path / "clean")


# Two formats in one folder.


@pytest.fixture
def both(tmp_path: Path) -> Path:
    """A folder that is a Kafka partition with a segment missing, and an Aerospike backup."""
    made = tmp_path / "cold" / "orders-0"
    made.mkdir(parents=True)
    shutil.copy(GOLDEN / "kafka" / "v2-none.log", made / f"{100:020}.log")
    (made / f"{100:020}.index").write_bytes(bytes(24))
    shutil.copy(next((GOLDEN / "aerospike").glob("*.asb")), made / "test_00000.asb")
    return made


def test_a_folder_of_two_formats_has_an_account_of_each(both: Path, tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    first = pipeline.ingest(Alone(), [str(both.parent)], lake)  # type: ignore[arg-type]
    wholes = [row["format"] for row in table(lake, "files") if row["path"] == str(both)]
    assert sorted(wholes) == ["aerospike", "kafka"]
    again = pipeline.ingest(Alone(), [str(both.parent)], lake)  # type: ignore[arg-type]
    assert (first.ingested, again.ingested, again.unchanged) == (3, 0, 3)


@pytest.mark.parametrize("gone", ["*.asb", "*0100.*"])
def test_a_folder_that_is_left_to_one_of_its_formats_has_one_account(both: Path, tmp_path: Path, gone: str) -> None:
    lake, clean = tmp_path / "lake", tmp_path / "clean"
    pipeline.ingest(Alone(), [str(both.parent)], lake)  # type: ignore[arg-type]
    for path in both.glob(gone):
        path.unlink()
    pipeline.ingest(Alone(), [str(both.parent)], lake, prune_missing=True)  # type: ignore[arg-type]
    pipeline.ingest(Alone(), [str(both.parent)], clean)  # type: ignore[arg-type]
    forget = lambda rows: [{**row, "_work": ""} for row in rows]  # noqa: E731 - which of two comes first is not told
    key = lambda row: (row["path"], row["format"] or "")  # noqa: E731
    assert sorted(forget(table(lake, "files")), key=key) == sorted(forget(table(clean, "files")), key=key)
