"""Questions in SQL: what they give, what they leave closed, and what they cannot do."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import select
import signal
import struct
import subprocess
import sys
import termios
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


def test_columns_of_an_answer_are_named_as_they_are_written(partition: Path) -> None:
    query = "select headers['trace'], key like 'user-1%', key like 'user-2%' as two from 'orders-3/' where offset = 1"
    found = {"headers['trace']": None, "key LIKE 'user-1%'": True, "two": False}
    assert rows(query, partition.parent) == [found]


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


def test_filters_and_sql_have_the_same_words_for_bytes_and_headers(tmp_path: Path) -> None:
    with KafkaSegmentWriter(tmp_path / "t-0", batch_records=2) as log:
        for number, key in enumerate((b"user-1", b"user-\xff", b"other", None)):
            headers = [("trace", b"a%d" % number), ("trace", b"b%d" % number)] if number % 2 == 0 else []
            log.append(key=key, value=b"x", timestamp=number, headers=headers)
    where = "key like 'user-%' and headers['trace'] = 'b0'"
    assert [row["offset"] for row in rows(f"select * from 't-0/' where {where}", tmp_path)] == [0]  # noqa: S608
    shown = on_pipe(["cat", "t-0/", "--where", where, "--columns", "offset"], tmp_path).out
    assert json.loads(shown)["offset"] == 0
    texts = "with t as (select decode(value) as key from 't-0/') select count(*) as n from t where key like 'x'"
    assert rows(texts, tmp_path) == [{"n": 4}]


@pytest.mark.parametrize("shape", ["jsonl", "csv", "arrow"])
def test_no_column_of_an_answer_hides_another(tmp_path: Path, shape: str) -> None:
    out = ran("select 1 a, 2 a, 3 a_1", tmp_path, "--format", shape).out
    assert all(f"{name}" in out for name in ("a", "a_2", "a_1"))
    if shape == "jsonl":
        assert json.loads(out) == {"a": 1, "a_2": 2, "a_1": 3}


def test_an_answer_without_rows_is_said_to_be(partition: Path) -> None:
    done = ran("select * from 'orders-3/' where offset > 5000", partition.parent)
    assert (done.code, done.out, done.err) == (0, "", "thawline: the answer has no rows\n")


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("select ofset from 'orders-3/'", "no column ofset; did you mean offset?"),
        ("select o.nope from 'orders-3/' o", "no column nope; the files have batch_start, "),
        ("select * from orders", "there is no table orders; a file or folder stands in quotes: from 'orders'"),
        ("select * from it.log", "there is no table it.log; a file or folder stands in quotes: from 'it.log'"),
        ("select upper(key) from 'orders-3/'", "write decode(column) for their text"),
    ],
)
def test_a_mistake_is_told_in_words_of_files(partition: Path, query: str, words: str) -> None:
    done = ran(query, partition.parent)
    assert done.code == 2
    assert words in done.err
    assert "thawline_0" not in done.err


def test_a_file_whose_name_is_no_utf8_is_asked_like_any_other(partition: Path, tmp_path: Path) -> None:
    name = os.fsdecode(b"caf\xe9.log")
    (tmp_path / name).write_bytes(next(partition.rglob("*.log")).read_bytes())
    assert rows(f"select count(*) as n from '{name}'", tmp_path)[0]["n"] > 0  # noqa: S608 - a test


def test_a_file_that_cannot_be_read_is_named_and_the_others_answer(partition: Path, tmp_path: Path) -> None:
    (tmp_path / "00000000000000000000.log").write_bytes(next(partition.glob("*.log")).read_bytes())
    (tmp_path / "empty.log").write_bytes(b"")
    done = ran("select count(*) as n from '*.log'", tmp_path)
    assert (done.code, json.loads(done.out)) == (3, {"n": 1000})
    assert "empty.log: no format recognises this file; it is empty" in done.err


def test_files_with_other_columns_are_left_out_in_one_sentence(partition: Path, tmp_path: Path) -> None:
    (tmp_path / "a.log").write_bytes(next(partition.glob("*.log")).read_bytes())
    for number in range(5):
        with RbfWriter(tmp_path / f"b{number}.rbf") as log:
            log.append(1, b"x")
    done = ran("select count(*) as n from '*'", tmp_path)
    assert (done.code, json.loads(done.out)) == (2, {"n": 1000})
    assert "5 files have other columns than a.log: b0.rbf, b1.rbf, b2.rbf, …" in done.err


@pytest.mark.parametrize("jobs", ["1", "3"])
def test_the_answer_is_the_same_for_any_number_of_jobs(partition: Path, jobs: str) -> None:
    query = "select sum(offset) as s, count(distinct key) as k from 'orders-3/' where offset % 3 = 0"
    assert rows(query, partition.parent, "--jobs", jobs) == [{"s": 166_833, "k": 7}]


def test_without_the_extra_there_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "duckdb", None)
    done = ran("select 1", tmp_path)
    assert (done.code, done.out) == (2, "")
    assert done.err == "thawline: SQL needs DuckDB: pip install 'thawline[sql]'\n"


def test_a_prompt_answers_remembers_and_completes(partition: Path, tmp_path: Path) -> None:
    leader, follower = pty.openpty()
    fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 100, 0, 0))
    process = subprocess.Popen(
        [sys.executable, "-m", "thawline", "sql"],
        cwd=partition.parent,
        env={**os.environ, "XDG_STATE_HOME": str(tmp_path), "TERM": "xterm"},
        stdin=follower,
        stdout=follower,
        stderr=follower,
    )
    os.close(follower)
    try:
        seen = Screen(leader)
        seen.wait_for(b"sql>")
        seen.send(b"select ofset from 'orders-3/'\r")
        seen.wait_for(b"did you mean offset?")
        seen.wait_for(b"sql>")
        seen.send(b"selec")
        seen.wait_for(b" select ")
        seen.send(b"\t max(offset) as most from 'ord")
        seen.wait_for(b" orders-3/ ")
        seen.send(b"\t' where offset < 321\r")
        seen.wait_for(b"320")
        seen.wait_for(b"sql>")
        seen.send(b"\x1b[A\r")  # the last query again
        seen.wait_for(b"320")
        seen.wait_for(b"sql>")
        seen.send(b"\x04")
        assert process.wait(timeout=30) == 0
    finally:
        process.kill()
        os.close(leader)
    history = tmp_path / "thawline" / "sql_history"
    assert history.stat().st_mode & 0o777 == 0o600
    assert "select max(offset) as most from 'orders-3' where offset < 321" in history.read_text(encoding="utf-8")


class Screen:
    """What a program writes to a terminal."""

    def __init__(self, leader: int) -> None:
        self.leader, self.text = leader, b""

    def send(self, keys: bytes) -> None:
        """Press keys."""
        os.write(self.leader, keys)

    def wait_for(self, words: bytes) -> None:
        """Read until the words are there; an error after half a minute."""
        end = time.monotonic() + 30
        while words not in self.text:
            assert time.monotonic() < end, self.text
            if select.select([self.leader], [], [], 0.2)[0]:
                self.text += os.read(self.leader, 4096)
                if b"\x1b[6n" in self.text[-4096:]:
                    os.write(self.leader, b"\x1b[1;1R")  # where the cursor is
        self.text = self.text.partition(words)[2]
