"""`thawline ingest --follow`: files that grow are in the lake as far as they are whole, each row once."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

import pytest
from lakes import Alone, everything, leftovers, table

from thawline.lake.lake import Overtaken
from thawline.spark import bundles, growing, pipeline

GOLDEN = Path(__file__).parents[1] / "golden"
FILES = [
    GOLDEN / "rbf" / "many-frames.rbf",
    GOLDEN / "kafka" / "v2-none.log",
    GOLDEN / "aerospike" / "bins.asb",
    GOLDEN / "borg" / "none-large.pack",
]


def follow(folder: Path, lake: Path) -> pipeline.Summary:
    return pipeline.ingest(Alone(), [str(folder)], lake, is_following=True)  # type: ignore[arg-type]


def ingest(folder: Path, lake: Path) -> pipeline.Summary:
    return pipeline.ingest(Alone(), [str(folder)], lake)  # type: ignore[arg-type]


def statuses(lake: Path) -> dict[str, str]:
    return {Path(row["path"]).name: row["status"] for row in table(lake, "files")}


def rows_of(lake: Path) -> Counter[str]:
    """All rows of all tables but those that tell of files."""
    tables = {name: rows for name, rows in everything(lake).items() if name.startswith("tables/")}
    return sum(tables.values(), Counter())


def flipped(data: bytes) -> bytes:
    """Data with a byte in its middle changed."""
    middle = len(data) // 2
    return data[:middle] + bytes([data[middle] ^ 1]) + data[middle + 1 :]


@pytest.mark.parametrize("damage", ["", "flipped"], ids=["intact", "damaged"])
@pytest.mark.parametrize("file", FILES, ids=lambda file: file.parent.name)
def test_a_file_that_is_written_piece_by_piece_is_in_the_lake_once(
    file: Path, damage: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bundles, "MOST_PARTITION", 5000)
    data, random = file.read_bytes(), Random(7)
    data = flipped(data) if damage else data
    folder, lake = tmp_path / "cold", tmp_path / "lake"
    folder.mkdir()
    grown = folder / ("0" * 20 + ".log" if file.suffix == ".log" else file.name)
    for size in (*sorted(random.randrange(len(data)) for _ in range(5)), len(data)):
        grown.write_bytes(data[:size])
        follow(folder, lake)
        follow(folder, lake)
        assert max(rows_of(lake).values(), default=1) == 1, size
    told = table(lake, "files")[0]
    ingest(folder, tmp_path / "clean")
    if not damage:
        assert statuses(lake)[grown.name] == "growing"
        assert rows_of(lake) == rows_of(tmp_path / "clean")
        assert told["intact_bytes"] == table(tmp_path / "clean", "files")[0]["intact_bytes"]
        assert told["rows"] == table(tmp_path / "clean", "files")[0]["rows"]
    os.utime(grown, (1, 1))
    follow(folder, lake)
    shutil.rmtree(tmp_path / "clean")
    ingest(folder, tmp_path / "clean")
    assert everything(lake) == everything(tmp_path / "clean")
    assert leftovers(lake) == []


def test_what_a_file_gains_is_added_and_what_was_there_is_not_read_into_the_tables_again(tmp_path: Path) -> None:
    folder, lake = tmp_path / "cold", tmp_path / "lake"
    folder.mkdir()
    data, log = FILES[0].read_bytes(), folder / "a.rbf"
    log.write_bytes(data[: len(data) // 2 + 3])
    first = follow(folder, lake)
    log.write_bytes(data)
    second = follow(folder, lake)
    assert first.rows["rbf_frames"] + second.rows["rbf_frames"] == 40
    assert first.rows["rbf_frames"] > 10 < second.rows["rbf_frames"]
    assert (first.exit_code, second.exit_code) == (0, 0)
    assert follow(folder, lake).unchanged == 1


def test_a_newer_file_closes_the_one_before_it(tmp_path: Path) -> None:
    folder, lake = tmp_path / "cold", tmp_path / "lake"
    folder.mkdir()
    data = FILES[0].read_bytes()
    (folder / "a.rbf").write_bytes(data[:-5])
    os.utime(folder / "a.rbf", (time.time() - 5,) * 2)
    assert follow(folder, lake).exit_code == 0
    assert statuses(lake) == {"a.rbf": "growing"}
    (folder / "b.rbf").write_bytes(data)
    assert follow(folder, lake).exit_code == 1
    assert statuses(lake) == {"a.rbf": "damaged", "b.rbf": "growing"}


def test_a_file_that_shrinks_or_is_replaced_is_taken_in_anew(tmp_path: Path) -> None:
    folder, lake = tmp_path / "cold", tmp_path / "lake"
    folder.mkdir()
    data = FILES[0].read_bytes()
    (folder / "a.rbf").write_bytes(data)
    follow(folder, lake)
    (folder / "a.rbf").write_bytes(data[:800])
    follow(folder, lake)
    assert 0 < len(table(lake, "tables/rbf_frames")) < 40


def test_two_runs_that_follow_the_same_file_add_its_gain_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, lake = tmp_path / "cold", tmp_path / "lake"
    folder.mkdir()
    data = FILES[0].read_bytes()
    (folder / "a.rbf").write_bytes(data[:900])
    follow(folder, lake)
    (folder / "a.rbf").write_bytes(data)
    commit = pipeline.Lake.commit
    overtaken = []

    def late(lake_: Any, *given: Any) -> None:
        monkeypatch.setattr(pipeline.Lake, "commit", commit)
        follow(folder, lake)
        try:
            commit(lake_, *given)
        except Overtaken as error:
            overtaken.append(error)
            raise

    monkeypatch.setattr(pipeline.Lake, "commit", late)
    follow(folder, lake)
    assert len(overtaken) == 1
    assert len(table(lake, "tables/rbf_frames")) == 40


def test_the_folder_of_a_partition_speaks_once_nothing_in_it_grows(tmp_path: Path) -> None:
    folder, lake = tmp_path / "cold", tmp_path / "lake"
    (folder / "orders-0").mkdir(parents=True)
    segment = folder / "orders-0" / f"{100:020}.log"
    shutil.copy(FILES[1], segment)
    (folder / "orders-0" / f"{100:020}.index").write_bytes(bytes(8))
    follow(folder, lake)
    assert statuses(lake) == {segment.name: "growing"}
    os.utime(segment, (time.time() - 2 * growing.STILL,) * 2)
    follow(folder, lake)
    ingest(folder, tmp_path / "clean")
    assert everything(lake) == everything(tmp_path / "clean")


def test_the_command_follows_until_it_is_ended(tmp_path: Path) -> None:
    folder, lake = tmp_path / "cold", tmp_path / "lake"
    folder.mkdir()
    shutil.copy(FILES[0], folder / "a.rbf")
    line = [sys.executable, "-m", "thawline", "ingest", str(folder), "--to", str(lake), "--follow", "--every", "0.2"]
    line += ["--master", "local[1]"]
    running = subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert running.stdout is not None
    assert running.stderr is not None
    assert json.loads(running.stdout.readline())["ingested"] == 1
    shutil.copy(FILES[0], folder / "b.rbf")
    assert json.loads(running.stdout.readline())["tables"]["rbf_frames"] >= 40
    running.send_signal(signal.SIGINT)
    assert running.wait(120) == 130, running.stderr.read()
    assert "Traceback" not in running.stderr.read()
    assert len(table(lake, "tables/rbf_frames")) == 80
