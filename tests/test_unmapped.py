"""Files that nothing guards while they are mapped: they are read, and what cannot be read is a finding."""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest

import thawline
from thawline import unmapped
from thawline.cold import ColdFile
from thawline.faults import UNREADABLE
from thawline.formats import get
from thawline.model import Report
from thawline.native import functions
from thawline.source import FAILED, PAGE, SHRUNK, Fault, LocalSource, open_files, open_source
from thawline.unmapped import Reads, UnmappedSource
from thawline.verbs.salvage import salvage
from tools.bench.attack import file_of, frame

GOLDEN = Path(__file__).parent / "golden"
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


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "log.rbf"
    path.write_bytes(LOG)
    return path


@pytest.fixture(params=["held", "in blocks"])
def unguarded(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """No slot is free, so nothing guards a mapped file; those in blocks are too large to hold."""
    monkeypatch.setattr(functions, "guard", lambda *_: -1)
    if request.param == "in blocks":
        monkeypatch.setattr(unmapped, "HELD", 0)
        monkeypatch.setattr(UnmappedSource, "block", 2 * PAGE)
    return str(request.param)


def fail_at(monkeypatch: pytest.MonkeyPatch, *pages: int) -> None:
    """Let the disk refuse some pages, and every read that touches one."""
    pread = os.pread

    def reading(descriptor: int, size: int, at: int) -> bytes:
        if any(at < (page + 1) * PAGE and page * PAGE < at + size for page in pages):
            raise OSError(errno.EIO, "Input/output error")
        return pread(descriptor, size, at)

    monkeypatch.setattr(os, "pread", reading)


def unreadable(report: Report) -> list[tuple[object, object]]:
    return [(found.detail["bytes"], found.detail["reason"]) for found in report.findings if found.code is UNREADABLE]


@pytest.mark.parametrize("name", ONE_OF_EACH)
def test_a_file_that_is_not_mapped_reads_the_same(name: str, unguarded: str) -> None:
    path = GOLDEN / name
    with ColdFile(LocalSource(str(path), path.read_bytes()), get(name.partition("/")[0])) as held:
        expected, rows = held.verify(), pa.table(held)
    with thawline.open(path) as cold:
        assert isinstance(cold.source, LocalSource if unguarded == "held" else UnmappedSource)
        found = cold.verify()
        assert (list(found.findings), found.rows) == (list(expected.findings), expected.rows)
        assert repr(pa.table(cold).to_pylist()) == repr(rows.to_pylist())


@pytest.mark.parametrize("name", ONE_OF_EACH)
def test_nothing_that_the_disk_did_not_give_becomes_a_row(
    tmp_path: Path, name: str, unguarded: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / Path(name).name
    shutil.copy(GOLDEN / name, path)
    fail_at(monkeypatch, *range(path.stat().st_size // PAGE + 1))
    with thawline.open(path, name.partition("/")[0]) as cold:
        assert sum(batch.num_rows for batch in cold.batches()) == 0, unguarded
        report = cold.verify()
        assert (report.position, report.ok) == (cold.size, False)
        assert {reason for _, reason in unreadable(report)} == {FAILED}


@pytest.mark.usefixtures("unguarded")
def test_a_bad_page_is_a_finding_and_the_rest_is_read(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fail_at(monkeypatch, 4)
    with thawline.open(log) as cold:
        report = cold.verify()
    assert unreadable(report) == [(f"{4 * PAGE:#x}..{5 * PAGE:#x}", FAILED)]
    assert len(LOG) - 2 * PAGE < report.intact_bytes < len(LOG) - PAGE


def test_a_file_that_is_cut_while_it_is_read_is_read_up_to_there(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(functions, "guard", lambda *_: -1)
    monkeypatch.setattr(unmapped, "HELD", 0)
    monkeypatch.setattr(UnmappedSource, "block", PAGE)
    with thawline.open(log) as cold:
        os.truncate(log, 4 * PAGE)
        report = cold.verify()
    assert unreadable(report) == [(f"{4 * PAGE:#x}..{len(LOG):#x}", SHRUNK)]
    assert report.intact_bytes > 3 * PAGE


@pytest.mark.usefixtures("unguarded")
def test_salvage_of_a_failing_file_leaves_a_clean_file(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fail_at(monkeypatch, 4)
    with thawline.open(log) as cold:
        done = salvage(cold, log.with_name("intact.rbf"))
    assert any(found.code is UNREADABLE for found in done.lost)
    assert thawline.verify(log.with_name("intact.rbf").read_bytes()).ok


def test_faults_that_touch_are_one_and_a_second_read_adds_none(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fail_at(monkeypatch, 2, 3, 7)
    with log.open("rb") as file:
        reads = Reads(file)
        for start, end in ((7 * PAGE, 9 * PAGE), (0, 3 * PAGE), (0, len(LOG)), (5, len(LOG))):
            data = reads.read(start, end)
            readable = [at for at in range(start, end, PAGE) if at // PAGE not in {2, 3, 7}]
            assert all(data[at - start] == LOG[at] for at in readable)
        assert reads.faults() == (Fault(2 * PAGE, 4 * PAGE, FAILED), Fault(7 * PAGE, 8 * PAGE, FAILED))


@pytest.mark.usefixtures("unguarded")
def test_an_open_file_is_known_as_an_input_until_it_is_closed(log: Path) -> None:
    status = log.stat()
    with open_source(log):
        assert (status.st_dev, status.st_ino) in open_files()
    assert (status.st_dev, status.st_ino) not in open_files()


CUT = """
import os, sys
import thawline
from thawline import unmapped
path, unmapped.HELD, unmapped.UnmappedSource.block = sys.argv[1], int(sys.argv[2]), 4096
with thawline.open(path) as cold:
    os.truncate(path, 8192)
    report = cold.verify()
    rows = sum(batch.num_rows for batch in cold.batches())
print(report.ok, rows, sum(finding.code.id == "SRC101" for finding in report.findings))
"""


@pytest.mark.parametrize("held, told", [(1 << 20, "True 1000 0"), (0, "False 60 1")])
def test_without_the_native_module_a_file_that_is_cut_does_not_end_the_process(log: Path, held: int, told: str) -> None:
    ran = subprocess.run(
        [sys.executable, "-c", CUT, str(log), str(held)], capture_output=True, text=True, check=False,
        env=os.environ | {"THAWLINE_NATIVE": "0"},
    )  # fmt: skip
    assert (ran.returncode, ran.stdout.strip()) == (0, told), ran.stderr
