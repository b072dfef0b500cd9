"""Questions in SQL: what they give, what they leave closed, and what they cannot do."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from accounts import GOLDEN
from in_process import Ran, on_pipe, on_terminal

import thawline
from thawline.formats.kafka import records
from thawline.formats.kafka.write import KafkaSegmentWriter
from thawline.formats.rbf.write import RbfWriter


@pytest.fixture(scope="module")
def partition(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A thousand records in a hundred batches."""
    folder = tmp_path_factory.mktemp("data") / "orders-3"
    with KafkaSegmentWriter(folder, compression="gzip", batch_records=10) as log:
        for offset in range(1000):
            log.append(key=b"user-%d" % (offset % 7), value=b"x" * offset, timestamp=1_700_000_000_000 + 1000 * offset)
    return folder


def ran(query: str, folder: Path, *options: str) -> Ran:
    return on_pipe(["sql", query, *options], folder)


def rows(query: str, folder: Path, *options: str) -> list[dict[str, Any]]:
    done = ran(query, folder, *options)
    assert done.code == 0, done.err
    return [json.loads(line) for line in done.out.splitlines()]


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """How many batches of each request were decoded."""
    counts: list[int] = []
    decode = records.decode

    def counted(source: Any, heads: Any, request: Any) -> Any:
        counts.append(len(heads.positions))
        return decode(source, heads, request)

    monkeypatch.setattr(records, "decode", counted)
    return counts


def test_a_folder_stands_in_from_as_it_is(partition: Path) -> None:
    query = "select cast(key as varchar) as k, count(*) as n from 'orders-3/' where offset < 21 group by k order by k"
    assert rows(query, partition.parent) == [{"k": f"user-{number}", "n": 3} for number in range(7)]


def test_other_tables_of_a_file_stand_behind_a_dot_or_in_a_call(partition: Path) -> None:
    for name in ("'orders-3/'.batches", "thawline('orders-3/', 'batches')"):
        assert rows(f"select count(*) as n, max(last_offset) as l from {name}", partition.parent) == [  # noqa: S608
            {"n": 100, "l": 999}
        ]


def test_files_of_several_formats_are_joined(partition: Path, tmp_path: Path) -> None:
    with RbfWriter(tmp_path / "tags.rbf") as log:
        for number in (3, 500):
            log.append(number, b"payload %d" % number)
    files = f"'{tmp_path}/tags.rbf' join 'orders-3/*.log' on tag = offset"
    query = f"select tag, octet_length(value) as n from {files} order by tag"  # noqa: S608
    assert rows(query, partition.parent) == [{"tag": 3, "n": 3}, {"tag": 500, "n": 500}]


@pytest.mark.parametrize(
    ("where", "count", "most"),
    [
        ("offset between 500 and 509", 10, 2),
        ("offset >= 990 and octet_length(value) > 0", 10, 2),
        ("timestamp >= '2023-11-14 22:29:50'", 10, 2),
        ("timestamp < '2023-11-14 23:13:30' and offset < 5", 5, 2),
    ],
)
def test_batches_that_hold_no_wanted_row_stay_closed(
    partition: Path, opened: list[int], where: str, count: int, most: int
) -> None:
    assert rows(f"select count(*) as n from 'orders-3/' where {where}", partition.parent, "-j", "1") == [{"n": count}]  # noqa: S608
    assert 1 <= sum(opened) <= most


def test_times_are_those_of_the_zone(partition: Path) -> None:
    query = "select count(*) as n from 'orders-3/' where timestamp < '2023-11-14 23:13:30'"
    assert rows(query, partition.parent, "--tz", "Europe/Berlin") == [{"n": 10}]


def test_a_limit_ends_the_reading(tmp_path: Path, opened: list[int]) -> None:
    for folder in ("a-0", "a-1", "a-2"):
        with KafkaSegmentWriter(tmp_path / folder, batch_records=10) as log:
            for number in range(100):
                log.append(value=b"%d" % number)
    assert len(rows("select offset from 'a-*/*.log' limit 3", tmp_path, "-j", "1")) == 3
    assert sum(opened) < 30


def test_rows_are_counted_by_heads_and_it_is_said(partition: Path, opened: list[int]) -> None:
    done = ran("select count(*) as n from 'orders-3/'", partition.parent)
    assert json.loads(done.out) == {"n": 1000}
    assert not opened
    assert "counted by heads; damage that only decoding shows was not looked for" in done.err


@pytest.mark.parametrize(
    "joined",
    [
        "left join 'orders-3/' b using (offset) where b.offset > 997",
        "semi join 'orders-3/' b using (offset) where a.offset > 997",
        "join 'orders-3/' b on a.offset = b.offset + 1 where a.offset > 997",
        "asof join 'orders-3/' b on a.offset > b.offset where b.offset > 996",
    ],
)
def test_what_is_passed_over_changes_no_answer(partition: Path, joined: str) -> None:
    query = f"select a.offset as o from 'orders-3/' a {joined} order by o"  # noqa: S608
    assert [row["o"] for row in rows(query, partition.parent)] == [998, 999]


def test_damage_is_said_and_ends_with_1(partition: Path, tmp_path: Path) -> None:
    data = bytearray(next(partition.glob("*.log")).read_bytes())
    data[len(data) // 2] ^= 1
    (tmp_path / "00000000000000000000.log").write_bytes(data)
    done = ran("select count(offset) as n, count(distinct key) from '*.log'", tmp_path)
    assert (done.code, json.loads(done.out)["n"]) == (1, 990)
    assert "skipped" in done.err
    assert "thawline verify" in done.err


@pytest.mark.parametrize(
    "query",
    [
        "copy (select 1) to 'x.csv'",
        "attach 'x.db'",
        "install httpfs",
        "load httpfs",
        "set threads = 9",
        "create table x (a int)",
        "select 1; select 2",
        "pragma version",
        "export database 'x'",
        "call pragma_version()",
        "insert into x values (1)",
        "select * from read_csv('/etc/passwd')",
        "select * from read_text('/etc/passwd')",
        "select * from glob('/*')",
        "from read_blob('/etc/passwd')",
        "select * from parquet_scan('https://localhost/x.parquet')",
        "explain select 1",
        "from query('copy (select 1) to ''x.csv''')",
        "select getenv('HOME')",
        "select * from opened",
        "(",
    ],
)
def test_a_query_can_only_read_what_stands_in_its_from(tmp_path: Path, query: str) -> None:
    done = ran(query, tmp_path)
    assert (done.code, done.out) == (2, "")
    assert "Traceback" not in done.err
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_is_not_there_or_of_no_known_format_is_named(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("nothing\n")
    assert "no-such.log" in ran("select * from 'no-such.log'", tmp_path).err
    assert ran("select * from 'notes.txt'", tmp_path).code == 3


def test_an_answer_is_written_to_a_file_that_appears_when_it_is_complete(partition: Path, tmp_path: Path) -> None:
    target = tmp_path / "answer.parquet"
    query = "select offset, timestamp from 'orders-3/' where offset < 5"
    assert ran(query, partition.parent, "-o", str(target)).code == 0
    assert pq.read_table(target)["offset"].to_pylist() == [0, 1, 2, 3, 4]
    assert ran(query, partition.parent, "-o", str(target)).code == 2
    assert ran("select offset/0, foo from 'orders-3/'", partition.parent, "-o", str(tmp_path / "b.csv")).code == 2
    assert sorted(path.name for path in tmp_path.iterdir()) == ["answer.parquet"]


def test_values_of_every_type_are_shown(tmp_path: Path) -> None:
    query = (
        "select date '2026-01-01' d, time '12:00' t, uuid() u, {'a': 1} s, [1, 2] l, 'a'::enum ('a', 'b') e, "
        "1.5 c, sum(2) h, 'x'::blob b, null n, interval '1 day' i"
    )
    row = rows(query, tmp_path)[0]
    assert (row["d"], row["s"], row["l"], row["e"], row["b"]) == ("2026-01-01", {"a": 1}, [1, 2], "a", "x")
    assert "2026-01-01" in on_terminal(["sql", query], tmp_path).out


def test_what_count_gives_is_what_reading_gives() -> None:
    for path in sorted(path for path in (GOLDEN / "kafka").glob("*.log") if path.stat().st_size):
        with thawline.open(path) as cold:
            if cold.table != "records" or not cold.verify().ok:
                continue
            expected = sum(batch.num_rows for batch in cold.batches(["offset"]))
        assert rows(f"select count(*) as n from '{path}'", GOLDEN)[0]["n"] == expected, path  # noqa: S608


def test_ctrl_c_ends_a_query_that_duckdb_is_busy_with(partition: Path, tmp_path: Path) -> None:
    four = "'orders-3/' a, 'orders-3/' b, 'orders-3/' c, 'orders-3/' d"
    query = f"select count(*) from {four} where a.key < b.key or c.key < d.key"  # noqa: S608
    process = subprocess.Popen(
        [sys.executable, "-m", "thawline", "sql", query],
        cwd=partition.parent,
        env={**os.environ, "TMPDIR": str(tmp_path)},
        stderr=subprocess.PIPE,
    )
    for _ in range(600):
        if list(tmp_path.iterdir()):
            break
        time.sleep(0.1)
    time.sleep(1)
    process.send_signal(signal.SIGINT)
    assert process.communicate(timeout=20)[1] == b"thawline: interrupted\n"
    assert process.returncode == 130
    assert list(tmp_path.iterdir()) == []
