"""The pipeline: tables, findings and files; only what is new the second time; whole again after it was killed."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
from borg_repositories import kitchen
from lakes import Alone, everything, leftovers, rows, table
from py4j.protocol import Py4JNetworkError
from pyspark.sql import SparkSession

import thawline
from thawline.errors import SourceError
from thawline.lake import upkeep
from thawline.spark import bundles, pipeline

GOLDEN = Path(__file__).parents[1] / "golden"
LOG = GOLDEN / "rbf" / "many-frames.rbf"


@pytest.fixture
def cold(tmp_path: Path) -> Path:
    """Files of several formats, some of them damaged, in folders."""
    made = tmp_path / "cold"
    for number in range(6):
        folder = made / f"host{number % 2}"
        folder.mkdir(parents=True, exist_ok=True)
        shutil.copy(LOG, folder / f"log{number}.rbf")
    data = bytearray(LOG.read_bytes())
    data[500] ^= 1
    (made / "host0" / "flipped.rbf").write_bytes(data)
    (made / "notes.txt").write_text("nothing of interest")
    orders = made / "orders-0"
    orders.mkdir()
    shutil.copy(GOLDEN / "kafka" / "v2-none.log", orders / "00000000000000000100.log")
    shutil.copy(GOLDEN / "borg" / "authenticated.pack", made / "authenticated.pack")
    return made


def test_everything_below_a_folder_is_taken_in(spark: SparkSession, cold: Path, tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    summary = pipeline.ingest(spark, [str(cold)], lake)
    files = {row["path"]: row for row in table(lake, "files")}
    status = {Path(path).name: row["status"] for path, row in files.items()}
    assert status["flipped.rbf"] == "damaged"
    assert status["notes.txt"] == "unknown"
    assert status["log3.rbf"] == status["authenticated.pack"] == "intact"
    assert summary.damaged >= 1
    with thawline.open(cold / "host0" / "flipped.rbf") as flipped:
        report = flipped.verify()
    row = files[str(cold / "host0" / "flipped.rbf")]
    assert (row["rows"], row["damaged_bytes"], row["intact_bytes"]) == (
        report.rows,
        report.damaged_bytes,
        report.intact_bytes,
    )
    assert sum(rows(lake, "tables/rbf_frames").values()) == 6 * 40 + report.rows
    findings = table(lake, "findings")
    damage = next(row for row in findings if row["file"].endswith("flipped.rbf") and row["severity"] == "error")
    assert (damage["code"], damage["start"], damage["end"]) == (
        report.findings[0].code.id,
        report.findings[0].span.start,
        report.findings[0].span.end,
    )
    assert {row["topic"] for row in table(lake, "tables/kafka_records")} == {"orders"}


def test_a_second_run_takes_in_only_what_is_new_or_changed(spark: SparkSession, cold: Path, tmp_path: Path) -> None:
    lake, clean = tmp_path / "lake", tmp_path / "clean"
    first = pipeline.ingest(spark, [str(cold)], lake)
    again = pipeline.ingest(spark, [str(cold)], lake)
    assert (again.ingested, again.unchanged) == (0, first.ingested)
    (cold / "host1" / "log1.rbf").write_bytes(LOG.read_bytes()[:1000])
    shutil.copy(LOG, cold / "host1" / "new.rbf")
    third = pipeline.ingest(spark, [str(cold)], lake)
    with thawline.open(cold / "host1" / "log1.rbf") as changed:
        assert (third.ingested, third.rows) == (2, {"rbf_frames": changed.verify().rows + 40})
    pipeline.ingest(spark, [str(cold)], clean)
    assert everything(lake) == everything(clean)


def test_a_large_file_that_is_cut_is_one_file_all_the_same(
    spark: SparkSession, cold: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pipeline.ingest(spark, [str(cold)], tmp_path / "whole")
    monkeypatch.setattr(bundles, "MOST_PARTITION", 300)
    monkeypatch.setattr(bundles, "LEAST_PARTITION", 1)
    monkeypatch.setattr(bundles, "OPEN_COST", 8)
    pipeline.ingest(spark, [str(cold)], tmp_path / "cut")
    assert everything(tmp_path / "cut") == everything(tmp_path / "whole")


def test_a_file_that_cannot_be_read_is_said_and_tried_again(
    spark: SparkSession, cold: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake, clean, lost = tmp_path / "lake", tmp_path / "clean", cold / "host1" / "log1.rbf"
    found = list(pipeline.discover([str(cold)]))
    with monkeypatch.context() as patched:
        patched.setattr(pipeline, "discover", lambda _: found)
        lost.rename(tmp_path / "elsewhere")
        first = pipeline.ingest(spark, [str(cold)], lake)
    assert [one.path for one in first.standings if one.status == "unreadable"] == [str(lost)]
    (tmp_path / "elsewhere").rename(lost)
    assert pipeline.ingest(spark, [str(cold)], lake).ingested == 1
    pipeline.ingest(spark, [str(cold)], clean)
    assert everything(lake) == everything(clean)


def test_the_input_is_never_written_to(spark: SparkSession, cold: Path) -> None:
    for source, to in ((cold, cold / "lake"), (cold / "host0", cold)):
        with pytest.raises(SourceError, match="choose a folder beside it"):
            pipeline.ingest(spark, [str(source)], to)


def test_a_refused_command_leaves_nothing_behind(cold: Path, tmp_path: Path) -> None:
    before = sorted(tmp_path.rglob("*"))
    command = [sys.executable, "-m", "thawline", "ingest", str(cold), "--to", str(cold / "lake")]
    assert subprocess.run(command, cwd=tmp_path, check=False, capture_output=True).returncode == 2
    assert sorted(tmp_path.rglob("*")) == before


def test_a_driver_that_is_killed_in_front_of_a_step_is_made_good_by_the_next_run(tmp_path: Path) -> None:
    program = Path(__file__).with_name("killed_driver.py")
    done = subprocess.run(
        [sys.executable, program, str(tmp_path)],
        env={**os.environ, "PYTHONPATH": f"{os.environ.get('PYTHONPATH', '')}:{program.parents[1]}"},
        capture_output=True,
        text=True,
        check=False,
        timeout=900,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    for found in json.loads(done.stdout).values():
        assert (found["status"], found["wrong"]) == (0, {}), done.stderr[-4000:]
        assert found["steps"] > 20


@pytest.fixture
def partition(tmp_path: Path) -> Path:
    """A partition with files beside its segment, about which the folder speaks."""
    made = tmp_path / "cold" / "orders-0"
    made.mkdir(parents=True)
    shutil.copy(GOLDEN / "kafka" / "v2-none.log", made / f"{100:020}.log")
    for name in (f"{100:020}.index", f"{100:020}.timeindex", "notes.txt", "partition.metadata"):
        (made / name).write_bytes(bytes(24))
    return made


def test_where_a_commit_ends_makes_no_difference(
    partition: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copy(LOG, partition.parent / "a.rbf")
    pipeline.ingest(Alone(), [str(partition.parent)], tmp_path / "one")
    for name, value in {"OPEN_COST": 4, "MOST_PARTITION": 4}.items():
        monkeypatch.setattr(bundles, name, value)
    monkeypatch.setattr(pipeline, "OFTEN", -1.0)
    pipeline.ingest(Alone(), [str(partition.parent)], tmp_path / "many")
    assert everything(tmp_path / "many") == everything(tmp_path / "one")
    files = [row["path"] for row in table(tmp_path / "many", "files")]
    assert sorted(files) == sorted({str(partition), *map(str, partition.iterdir()), str(partition.parent / "a.rbf")})


def test_a_folder_that_can_be_read_again_speaks_for_the_files_beside_its_own(
    partition: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unreadable(*_: object) -> object:
        raise SourceError("gone for a moment")

    with monkeypatch.context() as patched:
        patched.setattr("thawline.formats.kafka.folder.accounts", unreadable)
        first = pipeline.ingest(Alone(), [str(partition)], tmp_path / "lake")
    assert first.unreadable == 1
    pipeline.ingest(Alone(), [str(partition)], tmp_path / "lake")
    pipeline.ingest(Alone(), [str(partition)], tmp_path / "clean")
    assert everything(tmp_path / "lake") == everything(tmp_path / "clean")


def test_the_files_of_a_repository_that_hold_no_data_are_its_own(tmp_path: Path) -> None:
    repo = kitchen(tmp_path)
    (repo / "keys").mkdir()
    (repo / "keys" / ("0f" * 32)).write_text(f"BORG_KEY {'0f' * 32}\nialhbGdvcml0aG2m\n")
    pipeline.ingest(Alone(), [str(repo)], tmp_path / "lake")
    status = {Path(row["path"]).relative_to(repo).parts[:1]: row["status"] for row in table(tmp_path / "lake", "files")}
    assert (status["keys",], status["config",], status["archives",]) == ("beside", "beside", "beside")
    assert set(status.values()) == {"beside", "intact"}


def test_the_end_of_spark_is_not_taken_for_a_mistake(
    cold: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spark = Alone()

    def ended(*_: object) -> None:
        raise Py4JNetworkError("Answer from Java side is empty")

    with monkeypatch.context() as patched:
        patched.setattr(spark, "range", ended)
        with pytest.raises(pipeline.SparkEnded, match="run it again"):
            pipeline.ingest(spark, [str(cold)], tmp_path / "lake")


def test_a_task_that_fails_is_a_sentence(
    spark: SparkSession, cold: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(_shares: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(pipeline, "Intake", lambda *_: SimpleNamespace(run="run", take=fails))
    with pytest.raises(pipeline.SparkEnded) as caught:
        pipeline.ingest(spark, [str(cold)], tmp_path / "lake")
    said = "a task of Spark has failed: OSError: [Errno 28] No space left on device; what is done so far is kept"
    assert str(caught.value).startswith(said)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "options, said",
    [
        (["--master", "bogus"], "Master must either be yarn or start with spark, k8s, or local; see "),
        (["--conf", "spark.driver.memory=much"], "Invalid maximum heap size: -Xmxmuch; see "),
    ],
)
def test_a_spark_that_does_not_start_is_a_sentence(cold: Path, tmp_path: Path, options: list[str], said: str) -> None:
    command = [sys.executable, "-m", "thawline", "ingest", str(cold), "--to", str(tmp_path / "lake"), *options]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"thawline: Spark does not start: {said}")
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize("victim", ["the driver", "all of its group"])
def test_the_command_survives_being_killed(cold: Path, tmp_path: Path, victim: str) -> None:
    """Workers are in a group of their own: in both cases some outlive the kill, and write on for a while."""
    for number in range(40):
        shutil.copy(LOG, cold / "host1" / f"more{number}.rbf")
    lake, clean = tmp_path / "lake", tmp_path / "clean"
    command = [sys.executable, "-m", "thawline", "ingest", str(cold), "--master", "local[1]", "--to", str(lake)]
    running = subprocess.Popen(command, start_new_session=True, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    deadline = time.monotonic() + 300
    while time.monotonic() < deadline and running.poll() is None and not staged(lake):
        time.sleep(0.02)
    assert running.poll() is None, "the run ended before it could be killed"
    (os.kill if victim == "the driver" else os.killpg)(running.pid, signal.SIGKILL)
    running.wait()
    again = subprocess.run(command, capture_output=True, text=True, check=False)
    once = pipeline.ingest(Alone(), [str(cold)], clean)
    assert everything(lake) == everything(clean), again.stderr
    told = json.loads(again.stdout)
    # How much was left to do depends on when the kill struck; the exit code is about that, not about what was done.
    assert (told["ingested"] + told["unchanged"], told["unreadable"]) == (once.ingested, 0)
    assert again.returncode == (1 if told["damaged"] else 0), again.stderr
    assert once.damaged == 1
    upkeep.vacuum(lake, 0)
    assert leftovers(lake) == []


def staged(lake: Path) -> bool:
    """Whether tasks have begun to write; folders may come and go while it looks."""
    return any(".parquet" in name for _, _, names in os.walk(lake / "tables") for name in names)
