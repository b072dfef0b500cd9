"""Commands with `--jobs` say and write what they do with one job, and end as quickly."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pyarrow as pa
import pytest
from accounts import GOLDEN, golden_files
from borg_repositories import run as command
from pyarrow import parquet

from thawline import sinks
from thawline.cli.progress import Progress, WatchedSource
from thawline.cold import open_cold
from thawline.formats import FORMATS, division
from thawline.source import LocalSource
from tools.damage import damages

JOBS = (2, 7)


@pytest.fixture(autouse=True)
def short_stretches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(division, "LEAST_STRETCH", 1)
    monkeypatch.setattr(division, "STRETCH", 200)
    monkeypatch.setattr(sinks, "A_TASK", 500)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Files of every format, some of them damaged, one unknown, one that cannot be read."""
    made = tmp_path_factory.mktemp("files")
    for name in FORMATS:
        for number, golden in enumerate(golden_files(name)):
            if golden.file.suffix not in {".bin", ".address"}:
                data = golden.data if number % 2 else next(damages(golden.data, number)).data
                (made / f"{name}-{number}{golden.file.suffix}").write_bytes(data)
    (made / "unknown.txt").write_text("nothing that we know\n", encoding="utf-8")
    (made / "gone.rbf").symlink_to(made / "nowhere")
    return made


@pytest.mark.parametrize("jobs", JOBS)
@pytest.mark.parametrize(
    "arguments",
    [
        ("verify", "--format", "jsonl"),
        ("verify", "--format", "table", "--color", "never"),
        ("verify", "--heads-only"),
        ("verify", "--format", "csv"),
        ("stats", "--format", "jsonl"),
        ("cat", "--format", "jsonl"),
        ("cat", "--limit", "20"),
        ("cat", "--format", "jsonl", "--on-error", "keep"),
    ],
    ids=" ".join,
)
def test_a_folder_gives_the_same_with_any_number_of_jobs(arguments: tuple[str, ...], jobs: int, folder: Path) -> None:
    alone = command(*arguments, folder, "--jobs", 1)
    assert alone[0] == 3  # the highest code: one file is of no known format
    assert command(*arguments, folder, "--jobs", jobs) == alone


@pytest.mark.parametrize("jobs", JOBS)
@pytest.mark.parametrize("name", ["kafka/transactions.log", "rbf/many-frames.rbf", "aerospike/keys.asb"])
def test_salvage_and_convert_write_the_same_with_any_number_of_jobs(name: str, jobs: int, tmp_path: Path) -> None:
    source, options = tmp_path / Path(name).name, ("--input-format", Path(name).parent)
    source.write_bytes(next(damages((GOLDEN / name).read_bytes(), 3)).data)
    for count in (1, jobs):
        assert command("salvage", source, "-o", tmp_path / f"{count}.new", "-j", count, *options)[0] == 1
        assert command("convert", source, "-o", tmp_path / f"{count}.parquet", "-j", count, *options)[0] == 1
    assert (tmp_path / "1.new").read_bytes() == (tmp_path / f"{jobs}.new").read_bytes()
    tables = [parquet.read_table(tmp_path / f"{count}.parquet") for count in (1, jobs)]
    assert tables[0].equals(tables[1])


def test_repeated_records_of_a_backup_are_named_alike_for_any_number_of_jobs(tmp_path: Path) -> None:
    for number in range(9):
        shutil.copy(GOLDEN / "aerospike" / "keys.asb", tmp_path / f"a{number}.asb")
    alone = command("verify", tmp_path, "--format", "jsonl", "-j", 1)
    assert "a0.asb, a1.asb" in alone[1]
    for jobs in JOBS:
        assert command("verify", tmp_path, "--format", "jsonl", "-j", jobs) == alone


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A segment of some megabytes of which every batch is the same."""
    path = tmp_path_factory.mktemp("large") / "a.log"
    path.write_bytes((GOLDEN / "kafka" / "many-records.log").read_bytes() * 2000)
    return path


def thawline(*arguments: object) -> subprocess.Popen[bytes]:
    line = ["env", "--default-signal=INT", sys.executable, "-m", "thawline", *map(str, arguments)]
    return subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def test_a_closed_pipe_ends_all_threads_in_silence(large: Path) -> None:
    with thawline("cat", large, "-j", 4) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        assert process.wait(60) == 0
        assert b"Traceback" not in process.stderr.read()


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_ends_all_threads_and_leaves_no_half_output(
    number: signal.Signals, code: int, large: Path, tmp_path: Path
) -> None:
    arguments = ("--compression", "zstd:19", "--row-group-bytes", "64KiB")
    with thawline("convert", large, large, "-o", f"{tmp_path}/out/", "-j", 4, *arguments) as process:
        deadline = time.monotonic() + 60
        while not list(tmp_path.glob("*/part-*")) and time.monotonic() < deadline:
            time.sleep(0.01)
        process.send_signal(number)
        assert process.wait(60) == code
        assert process.stderr is not None
        assert b"Traceback" not in process.stderr.read()
    assert list(tmp_path.iterdir()) == []


class Terminal:
    """Keeps what is written to it."""

    def __init__(self) -> None:
        self.text = ""

    def isatty(self) -> bool:
        return True

    def write(self, text: str) -> int:
        self.text += text
        return len(text)

    def flush(self) -> None:
        pass


def test_files_that_are_read_side_by_side_share_one_line_of_progress(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("thawline.cli.progress.DELAY", 0.0)
    monkeypatch.setenv("TERM", "xterm")
    for name in ("a", "b"):
        (tmp_path / name).write_bytes(bytes(1000))
    terminal = Terminal()
    progress = Progress("auto", terminal)  # type: ignore[arg-type]  # as much of a stream as it needs
    progress.join([str(tmp_path / "a"), str(tmp_path / "b")])
    first, second = (WatchedSource(LocalSource(name, bytes(1000)), progress) for name in ("a", "b"))
    first.release(400)
    second.release(600)
    progress.meet(1)
    progress.meet(1)
    assert (progress.position, progress.size, progress.findings) == (1000, 2000, 2)
    first.close()
    assert progress.position == 1600
    assert "2 files" in terminal.text
    assert "20 %" in terminal.text


def test_a_table_is_read_ahead_in_python_too() -> None:
    path = GOLDEN / "kafka" / "many-records.log"
    with open_cold(path) as one, open_cold(path, jobs=3) as three:
        assert pa.Table.from_batches(one.batches()).equals(pa.Table.from_batches(three.batches()))


@pytest.mark.parametrize("jobs", JOBS)
@pytest.mark.parametrize("suffix", ["jsonl", "csv"])
def test_text_that_several_threads_make_is_that_of_one(suffix: str, jobs: int, tmp_path: Path) -> None:
    source = tmp_path / "many.log"
    source.write_bytes(next(damages((GOLDEN / "kafka/many-records.log").read_bytes(), 5)).data)
    for count in (1, jobs):
        assert command("convert", source, "-o", tmp_path / f"{count}.{suffix}", "-j", count)[0] == 1
    assert (tmp_path / f"1.{suffix}").read_bytes() == (tmp_path / f"{jobs}.{suffix}").read_bytes()


@pytest.mark.parametrize("format_", ["jsonl", "csv", "json"])
def test_rows_before_an_error_are_given_by_any_number_of_jobs(format_: str, tmp_path: Path) -> None:
    source, data = tmp_path / "torn.log", bytearray((GOLDEN / "kafka/many-records.log").read_bytes())
    data[-40] ^= 0xFF
    source.write_bytes(data)
    arguments = ("cat", source, "--format", format_, "--on-error", "raise", "--jobs")
    alone = command(*arguments, 1)
    assert alone[0] == 1
    assert alone[1].count("\n") > 100
    assert command(*arguments, 7) == alone
