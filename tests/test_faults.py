"""A disk that lies while it is read: pages that cannot be read are findings, and everything else is read."""

from __future__ import annotations

import mmap
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest

import thawline
from thawline.cold import ColdFile
from thawline.faults import UNREADABLE
from thawline.formats import get
from thawline.model import Report
from thawline.native import is_compiled
from thawline.source import LocalSource
from thawline.verbs.salvage import salvage
from tools.bench.attack import file_of, frame

GOLDEN = Path(__file__).parent / "golden"
PAGE = mmap.PAGESIZE
LOG = file_of(*(frame(b"payload %06d" % index * 8, 0x41414141) for index in range(1000)))
ONE_OF_EACH = [
    "kafka/v2-none.log",
    "kafka/transactions.log",
    "rbf/many-frames.rbf",
    "rbak/many-records.lz4",
    "aerospike/bins.asb",
    "borg/none-types.pack",
    "borg/aes256-ocb-shape.pack",
]

pytestmark = pytest.mark.skipif(not is_compiled, reason="only the native module guards mapped files")


def unreadable(report: Report) -> list[tuple[object, object]]:
    return [(found.detail["bytes"], found.detail["reason"]) for found in report.findings if found.code is UNREADABLE]


def failing(path: Path, start: int) -> LocalSource:
    """A file that the disk gives up to `start` only.

    What is mapped is a copy that is cut; the file that is asked for its size is not, so the disk must have failed.
    """
    copy = path.with_suffix(".copy")
    shutil.copy(path, copy)
    with copy.open("rb") as file:
        mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    os.truncate(copy, start)
    return LocalSource(str(path), mapped, path.open("rb"))


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "log.rbf"
    path.write_bytes(LOG)
    return path


def test_a_file_that_is_cut_while_it_is_read_is_read_up_to_there(log: Path) -> None:
    with thawline.open(log) as cold:
        os.truncate(log, 4 * PAGE)
        report = cold.verify()
    assert unreadable(report) == [(f"{4 * PAGE:#x}..{len(LOG):#x}", "the file was cut while it was read")]
    assert report.intact_bytes > 3 * PAGE
    assert report.intact_bytes + report.damaged_bytes == len(LOG)


def test_rows_before_the_cut_are_given_and_none_behind_it(log: Path) -> None:
    with thawline.open(log) as cold:
        whole = pa.table(cold)["payload"].to_pylist()
        os.truncate(log, 4 * PAGE)
        rows = [payload for batch in cold.batches(["payload"]) for payload in batch["payload"].to_pylist()]
    assert 0 < len(rows) < len(whole)
    assert rows == whole[: len(rows)]


def test_an_input_output_error_is_a_finding_and_the_rest_is_read(log: Path) -> None:
    with ColdFile(failing(log, 4 * PAGE), get("rbf")) as cold:
        report = cold.verify()
    assert {reason for _, reason in unreadable(report)} == {"the disk gave an input/output error"}
    assert report.intact_bytes > 3 * PAGE
    assert not report


@pytest.mark.parametrize("name", ONE_OF_EACH)
def test_nothing_that_the_disk_did_not_give_becomes_a_row(tmp_path: Path, name: str) -> None:
    path = tmp_path / Path(name).name
    shutil.copy(GOLDEN / name, path)
    with thawline.open(path) as cold:
        os.truncate(path, 0)
        assert sum(batch.num_rows for batch in cold.batches()) == 0
        report = cold.verify()
        assert report.position == cold.size
        assert unreadable(report)
        assert not report


def test_salvage_of_a_failing_file_leaves_a_clean_file_and_nothing_else(log: Path) -> None:
    with thawline.open(log) as cold:
        os.truncate(log, 4 * PAGE)
        done = salvage(cold, log.with_name("intact.rbf"))
    assert thawline.verify(log.with_name("intact.rbf"))
    assert any(found.code is UNREADABLE for found in done.lost)
    assert sorted(path.name for path in log.parent.iterdir()) == ["intact.rbf", "log.rbf"]


def test_a_file_that_grows_is_read_to_the_size_seen_first(log: Path) -> None:
    with thawline.open(log) as cold:
        with log.open("ab") as file:
            file.write(LOG[4:])
        report = cold.verify()
    assert (report.ok, report.size) == (True, len(LOG))


def test_a_signal_that_is_not_about_a_mapped_file_is_left_to_others() -> None:
    script = "import thawline, os, signal; thawline.open(b'RBF1'); os.kill(os.getpid(), signal.SIGBUS)"
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == -7


def test_a_file_that_was_dropped_without_being_closed_does_not_hide_faults_of_the_next(log: Path) -> None:
    for _ in range(50):
        thawline.open(log).verify()  # nobody closes it, and the next one is mapped where it was
    with thawline.open(log) as cold:
        os.truncate(log, 4 * PAGE)
        assert unreadable(cold.verify()) == [(f"{4 * PAGE:#x}..{len(LOG):#x}", "the file was cut while it was read")]
