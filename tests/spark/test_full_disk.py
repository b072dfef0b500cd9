"""A lake whose disk is full: one sentence, nothing half-written, and the next run makes it good."""

from __future__ import annotations

import resource
import shutil
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import BinaryIO

import deltalake
import pytest
from lakes import Alone, everything, leftovers
from pyspark.sql import SparkSession

from thawline.cli import run
from thawline.lake import LakeError, Place
from thawline.lake.lake import Lake
from thawline.lake.place import writing
from thawline.spark import pipeline

GOLDEN = Path(__file__).parents[1] / "golden"
LOG = GOLDEN / "rbf" / "many-frames.rbf"


@pytest.fixture
def cold(tmp_path: Path) -> Path:
    made = tmp_path / "cold"
    made.mkdir()
    for number in range(3):
        shutil.copy(LOG, made / f"log{number}.rbf")
    return made


@contextmanager
def no_file_larger_than(size: int) -> Iterator[None]:
    """As a disk that is full: what is written beyond is refused by the system."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def ingest(cold: Path, lake: Path) -> pipeline.Summary:
    return pipeline.ingest(Alone(), [str(cold)], lake)  # type: ignore[arg-type]


def test_a_full_disk_is_one_sentence_and_nothing_is_left(cold: Path, tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    Lake.open(lake)
    before = everything(lake)
    with no_file_larger_than(1000), pytest.raises(LakeError) as caught:
        ingest(cold, lake)
    assert str(caught.value) == (
        f"{lake}: cannot be written: File too large; what is done so far is kept, run it again to go on"
    )
    assert (caught.value.exit_code, leftovers(lake)) == (2, [])
    assert everything(lake) == before == {}


def test_what_a_full_disk_kept_from_the_lake_is_taken_in_by_the_next_run(cold: Path, tmp_path: Path) -> None:
    with no_file_larger_than(2500), pytest.raises(LakeError):
        ingest(cold, tmp_path / "lake")
    assert ingest(cold, tmp_path / "lake").unreadable == 0
    ingest(cold, tmp_path / "clean")
    assert everything(tmp_path / "lake") == everything(tmp_path / "clean")


@pytest.mark.parametrize("step", ["a table file", "what a commit does", "the log of a table"])
def test_a_disk_that_is_full_at_any_step_is_one_sentence(
    cold: Path, tmp_path: Path, step: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    lake = tmp_path / "lake"
    create = Place.create

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device", str(lake / "x"))

    def creates(place: Place, name: str) -> AbstractContextManager[BinaryIO]:
        if ("commits/" in name) == (step == "what a commit does"):
            with writing():
                full()
        return create(place, name)

    ingest(cold, lake)
    shutil.copy(LOG, cold / "new.rbf")
    with monkeypatch.context() as patched:
        patched.setattr("thawline.spark.session", lambda *_: Alone())
        if step == "the log of a table":
            patched.setattr(deltalake.DeltaTable, "create_write_transaction", full)
        else:
            patched.setattr(Place, "create", creates)
        assert run(["ingest", str(cold), "--to", str(lake)]) == 2
    said = capfd.readouterr().err
    assert said.startswith(f"thawline: {lake}: ")
    assert "No space left on device; what is done so far is kept" in said
    assert len(said.splitlines()) == 1
    ingest(cold, lake)
    ingest(cold, tmp_path / "clean")
    assert everything(lake) == everything(tmp_path / "clean")
    assert leftovers(lake) == []


def test_a_worker_whose_disk_is_full_is_the_same_sentence(
    spark: SparkSession, cold: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(_shares: object) -> None:
        raise LakeError("cannot be written: No space left on device")

    monkeypatch.setattr(pipeline, "Intake", lambda *_: SimpleNamespace(run="run", take=fails))
    with pytest.raises(LakeError) as caught:
        pipeline.ingest(spark, [str(cold)], tmp_path / "lake")
    assert str(caught.value).startswith(f"{tmp_path / 'lake'}: cannot be written: No space left on device; what is")
    assert "\n" not in str(caught.value)
