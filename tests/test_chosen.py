"""Salvage of wanted rows: units stay whole, and those that hold no wanted row are left out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from accounts import GOLDEN
from in_process import on_pipe

import thawline
from thawline.errors import SourceError
from thawline.formats.kafka.write import KafkaSegmentWriter
from thawline.formats.rbf.write import RbfWriter
from thawline.verbs import chosen


def rows(path: Path, where: str | None = None) -> list[dict[str, Any]]:
    with thawline.open(path) as cold:
        columns = [name for name in cold.schema.names if name not in {"address", "topic", "partition"}]
        return [row for batch in cold.batches(columns, where) for row in batch.to_pylist()]


@pytest.mark.parametrize("where", ["offset % 37 = 5", "offset between 100 and 349", "key = 'k7' or offset > 990"])
@pytest.mark.parametrize("together", [4096, 7])
def test_the_batches_of_wanted_records_are_copied_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str, together: int
) -> None:
    monkeypatch.setattr(chosen, "TOGETHER", together)
    source, target = tmp_path / "00000000000000000000.log", tmp_path / "out.log"
    with KafkaSegmentWriter(tmp_path / "t-0", batch_records=10, compression="gzip") as log:
        for number in range(1000):
            log.append(key=b"k%d" % (number % 100), value=b"v", timestamp=number)
    data = bytearray(next((tmp_path / "t-0").glob("*.log")).read_bytes())
    data[len(data) // 2] ^= 1
    source.write_bytes(data)
    done = thawline.salvage(source, target, where=where)
    wanted = {row["offset"] // 10 for row in rows(source, where)}
    assert {row["offset"] for row in rows(target)} == {10 * batch + at for batch in wanted for at in range(10)}
    assert (done.units, done.rows, done.unwanted, len(done.lost)) == (
        len(wanted),
        10 * len(wanted),
        99 - len(wanted),
        1,
    )
    assert thawline.verify(target).ok


def test_the_frames_of_a_log_are_chosen_one_by_one(tmp_path: Path) -> None:
    with RbfWriter(tmp_path / "a.rbf") as log:
        for number in range(10_000):
            log.append(number % 3, b"%d" % number)
    done = thawline.salvage(tmp_path / "a.rbf", tmp_path / "b.rbf", where="tag = 1")
    assert (done.units, done.unwanted) == (3333, 6667)
    assert rows(tmp_path / "b.rbf") == rows(tmp_path / "a.rbf", "tag = 1")
    assert thawline.verify(tmp_path / "b.rbf").ok


def test_entries_without_rows_stay(tmp_path: Path) -> None:
    for path in sorted((GOLDEN / "aerospike").glob("*.asb")):
        if not thawline.verify(path).ok:
            continue
        target = tmp_path / path.name
        thawline.salvage(path, target, where="generation = 1")
        assert [row["digest"] for row in rows(target)] == [row["digest"] for row in rows(path, "generation = 1")], path
        for table in ("indexes", "udfs"):
            with thawline.open(path, table=table) as old, thawline.open(target, table=table) as new:
                assert sum(b.num_rows for b in old.batches()) == sum(b.num_rows for b in new.batches()), path


def test_nothing_that_is_wanted_is_said_and_makes_an_empty_file(tmp_path: Path) -> None:
    source = GOLDEN / "rbf/many-frames.rbf"
    ran = on_pipe(["salvage", str(source), "-o", "x.rbf", "--where", "tag = 999"], tmp_path)
    assert ran.code == 0
    assert "no row meets the conditions" in ran.err
    assert "left out 40 frames of which no row meets the conditions" in ran.err
    assert thawline.verify(tmp_path / "x.rbf").rows == 0


@pytest.mark.parametrize(
    ("file", "more", "words"),
    [
        ("rbak/one-record.rbak", {}, "thawline rbak rewrite chooses rows"),
        ("borg/none-types.pack", {}, "is named by its content"),
        ("rbf/many-frames.rbf", {"recover": True}, "what is recovered has no rows to choose by"),
    ],
)
def test_where_units_cannot_be_chosen_it_says_what_can_be_done(
    tmp_path: Path, file: str, more: dict[str, Any], words: str
) -> None:
    with pytest.raises(SourceError, match=words):
        thawline.salvage(GOLDEN / file, tmp_path / "out", where="1 = 1", **more)
    assert list(tmp_path.iterdir()) == []
