"""What a lake knows of files that are gone, that cannot be read, and that were damaged when it took them in."""

from __future__ import annotations

import json
import os
import shutil
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from lakes import Alone, everything, leftovers, table

import thawline.spark
from thawline.cli import run
from thawline.errors import SourceError
from thawline.spark import pipeline

GOLDEN = Path(__file__).parents[1] / "golden"
LOG = GOLDEN / "rbf" / "many-frames.rbf"
NOBODY = 65534


@pytest.fixture
def cold(tmp_path: Path) -> Path:
    """Three logs, one of them damaged, and a partition with an index beside its segment."""
    made = tmp_path / "cold"
    orders = made / "orders-0"
    orders.mkdir(parents=True)
    for name in ("a.rbf", "b.rbf"):
        shutil.copy(LOG, made / name)
    data = bytearray(LOG.read_bytes())
    data[500] ^= 1
    (made / "flipped.rbf").write_bytes(data)
    shutil.copy(GOLDEN / "kafka" / "v2-none.log", orders / f"{100:020}.log")
    (orders / f"{100:020}.index").write_bytes(b"")
    return made


def ingest(source: Path, lake: Path, **options: Any) -> pipeline.Summary:
    return pipeline.ingest(Alone(), [str(source)], lake, **options)  # type: ignore[arg-type]


def status(lake: Path) -> dict[str, str]:
    """The status of every file by its name; each is there once."""
    rows = table(lake, "files")
    found = {Path(row["path"]).name: row["status"] for row in rows}
    assert len(found) == len(rows)
    return found


def test_a_file_that_is_gone_keeps_its_rows_and_is_reported(cold: Path, tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    ingest(cold, lake)
    before = everything(lake)
    (cold / "b.rbf").unlink()
    found = ingest(cold, lake)
    assert [(one.path, one.status) for one in found.standings if one.status != "damaged"] == [
        (str(cold / "b.rbf"), "missing")
    ]
    assert status(lake)["b.rbf"] == "missing"
    after = everything(lake)
    assert (after["tables/rbf_frames"], after["findings"]) == (before["tables/rbf_frames"], before["findings"])
    again = ingest(cold, lake)
    assert [one.path for one in again.standings if one.status == "missing"] == [str(cold / "b.rbf")]
    assert everything(lake) == after


def test_missing_rows_are_taken_out_if_asked(cold: Path, tmp_path: Path) -> None:
    lake, clean = tmp_path / "lake", tmp_path / "clean"
    ingest(cold, lake)
    (cold / "flipped.rbf").unlink()
    shutil.rmtree(cold / "orders-0")
    ingest(cold, lake)
    assert {"flipped.rbf", "orders-0", f"{100:020}.log", f"{100:020}.index"} == {
        name for name, one in status(lake).items() if one == "missing"
    }
    done = ingest(cold, lake, prune_missing=True)
    assert (done.pruned, done.ingested, done.exit_code) == (3, 0, 0)
    ingest(cold, clean)
    assert everything(lake) == everything(clean)
    assert leftovers(lake) == []
    assert ingest(cold, lake, prune_missing=True).pruned == 0


def test_a_file_that_is_back_is_taken_in_anew(cold: Path, tmp_path: Path) -> None:
    lake, clean = tmp_path / "lake", tmp_path / "clean"
    ingest(cold, clean)
    ingest(cold, lake)
    (cold / "b.rbf").rename(tmp_path / "b.rbf")
    ingest(cold, lake)
    (tmp_path / "b.rbf").rename(cold / "b.rbf")
    assert ingest(cold, lake).ingested == 1
    assert everything(lake) == everything(clean)


def test_only_files_below_the_sources_of_a_run_are_judged(cold: Path, tmp_path: Path) -> None:
    lake, other = tmp_path / "lake", tmp_path / "cold-too"
    shutil.copytree(cold, other)
    pipeline.ingest(Alone(), [str(cold), str(other)], lake)  # type: ignore[arg-type]
    (cold / "b.rbf").unlink()
    (other / "b.rbf").unlink()
    found = ingest(cold, lake, prune_missing=True)
    assert found.pruned == 1
    rows = table(lake, "files")
    assert [row["status"] for row in rows if row["path"] == str(other / "b.rbf")] == ["intact"]


def test_a_source_that_is_not_mounted_takes_nothing_out(cold: Path, tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    ingest(cold, lake)
    before = everything(lake)
    cold.rename(tmp_path / "elsewhere")
    with pytest.raises(SourceError, match="no such file or folder"):
        ingest(cold, lake, prune_missing=True)
    cold.mkdir()
    with pytest.raises(SourceError, match=r"is empty, and the lake holds 5 files of it; nothing was taken out"):
        ingest(cold, lake, prune_missing=True)
    assert everything(lake) == before
    ingest(tmp_path / "cold", lake)
    assert set(status(lake).values()) == {"missing"}


def test_files_of_a_folder_that_is_whole_no_more_speak_for_themselves(cold: Path, tmp_path: Path) -> None:
    lake, clean = tmp_path / "lake", tmp_path / "clean"
    (cold / "orders-0" / "notes.txt").write_text("nothing of interest")
    ingest(cold, lake)
    (cold / "orders-0" / f"{100:020}.log").unlink()
    ingest(cold, lake, prune_missing=True)
    ingest(cold, clean)
    assert everything(lake) == everything(clean)


def test_a_file_that_was_damaged_is_missed_as_damaged(cold: Path, tmp_path: Path) -> None:
    ingest(cold, tmp_path / "lake")
    (cold / "flipped.rbf").unlink()
    found = ingest(cold, tmp_path / "lake")
    assert [(one.status, one.is_damaged) for one in found.standings] == [("missing", True)]


def test_damage_in_the_lake_is_said_as_long_as_it_is_there(cold: Path, tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    codes = [ingest(cold, lake).exit_code for _ in range(2)]
    (cold / "flipped.rbf").unlink()
    codes.append(ingest(cold, lake).exit_code)
    codes.append(ingest(cold, lake, prune_missing=True).exit_code)
    assert codes == [1, 1, 1, 0]
    (cold / "flipped.rbf").write_bytes(LOG.read_bytes()[:-3])
    assert ingest(cold, lake).exit_code == 1
    shutil.copy(LOG, cold / "flipped.rbf")
    assert ingest(cold, lake).exit_code == 0


@contextmanager
def without_rights() -> Iterator[None]:
    """Be somebody to whom permissions apply."""
    if os.geteuid():
        yield
        return
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that everybody may write to; pytest's own are closed to others."""
    with TemporaryDirectory() as made:
        Path(made).chmod(0o777)
        yield Path(made)


def test_every_file_that_was_not_looked_at_is_listed_with_the_reason(open_folder: Path) -> None:
    cold, lake = open_folder / "cold", open_folder / "lake"
    (cold / "closed").mkdir(parents=True)
    for name in ("a.rbf", "secret.rbf", "closed/b.rbf"):
        shutil.copy(LOG, cold / name)
    (cold / "notes.txt").write_text("nothing of interest")
    (cold / "loop").symlink_to("loop")
    (cold / "dangling").symlink_to("gone.rbf")
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(str(cold / "socket"))
    (cold / "secret.rbf").chmod(0)
    (cold / "closed").chmod(0)
    with without_rights():
        first = ingest(cold, lake)
        again = ingest(cold, lake)
    (cold / "closed").chmod(0o755)
    found = status(lake)
    assert found == {
        "a.rbf": "intact",
        "notes.txt": "unknown",
        "loop": "unreadable",
        "dangling": "unreadable",
        "socket": "left out",
        "secret.rbf": "unreadable",
        "closed": "unreadable",
    }
    reasons = {Path(one.path).name: one.reason.lower() for one in first.standings}
    assert set(reasons) == set(found) - {"a.rbf"}
    assert "gone.rbf" in reasons["dangling"]
    assert all("permission denied" in reasons[name] for name in ("secret.rbf", "closed"))
    assert (first.exit_code, again.exit_code) == (2, 2)
    assert again.standings == first.standings


def test_what_cannot_be_looked_at_for_a_while_is_not_missing(open_folder: Path) -> None:
    cold, lake, clean = (open_folder / name for name in ("cold", "lake", "clean"))
    (cold / "closed" / "deep").mkdir(parents=True)
    for name in ("a.rbf", "closed/b.rbf", "closed/deep/c.rbf"):
        shutil.copy(LOG, cold / name)
    with without_rights():
        ingest(cold, lake)
    before = everything(lake)["tables/rbf_frames"]
    (cold / "closed").chmod(0)
    with without_rights():
        found = ingest(cold, lake, prune_missing=True)
    (cold / "closed").chmod(0o755)
    assert (found.pruned, found.exit_code) == (0, 2)
    assert everything(lake)["tables/rbf_frames"] == before
    ingest(cold, clean)
    with without_rights():
        assert ingest(cold, lake, prune_missing=True).exit_code == 0
    assert everything(lake) == everything(clean)


def test_a_file_that_was_named_and_is_of_no_format_has_its_own_exit_code(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("nothing of interest")
    codes = [ingest(tmp_path / "notes.txt", tmp_path / "lake").exit_code for _ in range(2)]
    assert codes == [3, 3]


@pytest.fixture
def _alone(monkeypatch: pytest.MonkeyPatch) -> None:
    class Session(Alone):
        def stop(self) -> None:
            pass

    monkeypatch.setattr(thawline.spark, "session", lambda *_: Session())


@pytest.mark.usefixtures("_alone")
def test_the_command_says_what_became_of_files(cold: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def said(*options: str) -> tuple[int, str]:
        code = run(["ingest", str(cold), "--to", str(tmp_path / "lake"), *options])
        return code, capsys.readouterr().out

    (cold / "dangling").symlink_to("gone")
    assert said("--format", "table")[0] == 2
    (cold / "dangling").unlink()
    (cold / "b.rbf").unlink()
    (cold / "notes.txt").write_text("nothing of interest")
    code, text = said("--format", "table")
    assert code == 1
    assert "1 file taken in, 4 files unchanged since an earlier run" in text
    assert "damaged: 1 file in the lake\n" in text
    assert "missing: 1 file is gone from its source; --prune-missing takes the rows out\n" in text
    assert "not looked at: 1 file; -v says why\n" in text
    assert f"{cold}/notes.txt: no format recognises it" in said("--format", "table", "-v")[1]
    code, line = said("--format", "jsonl")
    told = json.loads(line)
    assert (code, told["damaged"], told["missing"], told["not_looked_at"], told["unreadable"]) == (1, 1, 1, 1, 0)
    assert {(Path(one["file"]).name, one["status"]) for one in told["listed"]} == {
        ("flipped.rbf", "damaged"),
        ("b.rbf", "missing"),
        ("notes.txt", "unknown"),
    }
    code, text = said("--format", "table", "--prune-missing")
    assert "0 files taken in, 5 files unchanged since an earlier run, 1 file taken out; " in text
    assert "missing" not in text
    assert said("--exit-zero")[0] == 0
