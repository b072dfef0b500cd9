"""A file that fails in the middle, or that kills the worker that reads it, costs its own rows and nothing else."""

from __future__ import annotations

import errno
import os
import shutil
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest
from lakes import Alone, everything, leftovers, table
from pyspark import cloudpickle
from pyspark.sql import SparkSession

from thawline.formats.rbf.write import RbfWriter
from thawline.spark import bundles, intake, pipeline, submission
from thawline.spark.bundles import Task
from thawline.spark.intake import Intake, Taken

LOG = Path(__file__).parents[1] / "golden" / "rbf" / "many-frames.rbf"


@pytest.fixture
def cold(tmp_path: Path) -> Path:
    """Five logs, the third of which can be made to fail."""
    made = tmp_path / "cold"
    made.mkdir()
    for name in ("a", "b", "bad", "c", "d"):
        shutil.copy(LOG, made / f"{name}.rbf")
    return made


def statuses(lake: Path) -> dict[str, str]:
    return {Path(row["path"]).name: row["status"] for row in table(lake, "files")}


def counts(lake: Path) -> dict[str, int]:
    """Rows of each file in the table of frames."""
    names = [Path(row["_file"]).name for row in table(lake, "tables/rbf_frames")]
    return {name: names.count(name) for name in names}


def failing_in_the_middle(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the disk fail in the log `bad`, after half of its rows have gone to the table."""
    load = intake.load

    def fails(kind: Any, source: Any, sink: Any, report: Any, items: Any = None) -> None:
        def half(name: str, batch: pa.RecordBatch) -> None:
            sink(name, batch.slice(0, batch.num_rows // 2))
            if "bad" in source.name:
                raise OSError(errno.EIO, "Input/output error")
            sink(name, batch.slice(batch.num_rows // 2))

        load(kind, source, half, report, items)

    monkeypatch.setattr(intake, "load", fails)


def test_no_row_of_a_file_that_fails_in_the_middle_is_taken_in(
    cold: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake = tmp_path / "lake"
    with monkeypatch.context() as patched:
        failing_in_the_middle(patched)
        summary = pipeline.ingest(Alone(), [str(cold)], lake)  # type: ignore[arg-type]
    assert counts(lake) == dict.fromkeys(("a.rbf", "b.rbf", "c.rbf", "d.rbf"), 40)
    assert statuses(lake) == {**dict.fromkeys(("a.rbf", "b.rbf", "c.rbf", "d.rbf"), "intact"), "bad.rbf": "unreadable"}
    assert (summary.exit_code, summary.rows) == (2, {"rbf_frames": 160})
    (bad,) = (row for row in table(lake, "files") if row["status"] == "unreadable")
    assert (bad["rows"], bad["intact_bytes"]) == (0, 0)
    assert "Input/output error" in bad["error"]
    assert leftovers(lake) == []
    pipeline.ingest(Alone(), [str(cold)], lake)  # type: ignore[arg-type]
    pipeline.ingest(Alone(), [str(cold)], tmp_path / "clean")  # type: ignore[arg-type]
    assert everything(lake) == everything(tmp_path / "clean")


@pytest.mark.parametrize("happens", ["written over", "cut", "appended to", "removed"])
def test_a_file_that_changes_while_it_is_read_is_taken_in_as_it_was_listed_or_not_at_all(
    happens: str, cold: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake, load, bad = tmp_path / "lake", intake.load, cold / "bad.rbf"
    data = bad.read_bytes()
    ways: dict[str, Any] = {
        "written over": lambda: bad.write_bytes(data[::-1]),
        "cut": lambda: os.truncate(bad, 100),
        "appended to": lambda: bad.write_bytes(data + data[8:]),
        "removed": bad.unlink,
    }

    def meanwhile(kind: Any, source: Any, sink: Any, report: Any, items: Any = None) -> None:
        load(kind, source, sink, report, items)
        if "bad" in source.name:
            ways[happens]()

    with monkeypatch.context() as patched:
        patched.setattr(intake, "load", meanwhile)
        pipeline.ingest(Alone(), [str(cold)], lake)  # type: ignore[arg-type]
    is_whole = happens in {"appended to", "removed"}
    assert counts(lake).get("bad.rbf") == (40 if is_whole else None)
    assert statuses(lake)["bad.rbf"] == ("intact" if is_whole else "unreadable")
    assert leftovers(lake) == []
    pipeline.ingest(Alone(), [str(cold)], lake, prune_missing=True)  # type: ignore[arg-type]
    pipeline.ingest(Alone(), [str(cold)], tmp_path / "clean")  # type: ignore[arg-type]
    assert everything(lake) == everything(tmp_path / "clean")


def test_rows_of_an_earlier_run_stay_while_a_file_cannot_be_read(
    cold: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake = tmp_path / "lake"
    pipeline.ingest(Alone(), [str(cold)], lake)  # type: ignore[arg-type]
    os.utime(cold / "bad.rbf", (1, 1))
    with monkeypatch.context() as patched:
        failing_in_the_middle(patched)
        pipeline.ingest(Alone(), [str(cold)], lake)  # type: ignore[arg-type]
    assert (counts(lake)["bad.rbf"], statuses(lake)["bad.rbf"]) == (40, "unreadable")
    pipeline.ingest(Alone(), [str(cold)], lake)  # type: ignore[arg-type]
    assert set(statuses(lake).values()) == {"intact"}


def test_no_row_of_a_large_file_is_taken_in_if_one_of_its_parts_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cold, lake = tmp_path / "cold", tmp_path / "lake"
    cold.mkdir()
    log = RbfWriter(cold / "large.rbf")
    for number in range(300):
        log.append(number + 1, b"%d" % number * 20)
    log.close()
    for name, value in {"OPEN_COST": 8, "MOST_PARTITION": 2000, "LEAST_PARTITION": 1}.items():
        monkeypatch.setattr(bundles, name, value)
    load = intake.load

    def fails(kind: Any, source: Any, sink: Any, report: Any, items: Any = None) -> None:
        load(kind, source, sink, report, items)
        if items and items[0].span.start > 4000:
            raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(intake, "load", fails)
    pipeline.ingest(Alone(), [str(cold)], lake)  # type: ignore[arg-type]
    assert (counts(lake), statuses(lake)) == ({}, {"large.rbf": "unreadable"})
    assert leftovers(lake) == []


def poisoned(marker: Path, given: Intake) -> Any:
    """What a task does, killed by a signal at the log `bad`. Workers are given this module as a whole."""

    def take(task: Task) -> Taken:
        if any("bad" in share.work.file.path for share in task):
            with marker.open("a") as file:
                file.write(f"{len(task)}\n")
            os.kill(os.getpid(), signal.SIGKILL)
        return given.take(task)

    cloudpickle.register_pickle_by_value(sys.modules[__name__])
    return SimpleNamespace(run=given.run, take=take)


def test_a_file_that_kills_its_worker_is_tried_alone_and_the_rest_goes_on(
    spark: SparkSession, cold: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake, marker = tmp_path / "lake", tmp_path / "deaths"
    monkeypatch.setattr(bundles, "OPEN_COST", 1 << 20)
    with monkeypatch.context() as patched:
        patched.setattr(pipeline, "Intake", lambda *given: poisoned(marker, Intake(*given)))
        summary = pipeline.ingest(spark, [str(cold)], lake)
    assert counts(lake) == dict.fromkeys(("a.rbf", "b.rbf", "c.rbf", "d.rbf"), 40)
    assert (statuses(lake)["bad.rbf"], summary.exit_code) == ("unreadable", 2)
    (reason,) = (one.reason for one in summary.standings)
    assert "the worker of Spark that read it has ended" in reason
    deaths = marker.read_text().split()
    assert deaths[-1] == "1"
    pipeline.ingest(spark, [str(cold)], lake)
    assert set(statuses(lake).values()) == {"intact"}


def test_workers_that_all_end_are_a_sentence_and_no_file_is_blamed(
    cold: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def ends(*_: object) -> Iterator[None]:
        raise submission.WorkerLost

    monkeypatch.setattr(submission.Submission, "_run", ends)
    with pytest.raises(pipeline.SparkEnded, match="workers of Spark end as soon as they begin"):
        pipeline.ingest(Alone(), [str(cold)], tmp_path / "lake")  # type: ignore[arg-type]
    assert statuses(tmp_path / "lake") == {}
