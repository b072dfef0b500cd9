"""A backup in several files: one table, and what holds for all of them together."""

from __future__ import annotations

import errno
import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from backups import HEADER, numbered
from engines import plainly

import thawline
from thawline.errors import SourceError
from thawline.formats import aerospike
from thawline.formats.aerospike import folder as folder_module
from thawline.model import Finding
from thawline.source import Source

FIRST = b"Version 3.1\n# namespace test\n# first-file\n"


@pytest.fixture
def backup(tmp_path: Path) -> Path:
    """Three files with 30 records and an index."""
    for file in range(3):
        head = FIRST + b"* i test demo idx N 1 a N\n" if file == 0 else HEADER
        records = b"".join(numbered(number) for number in range(10 * file, 10 * file + 10))
        (tmp_path / f"test_0000{file}.asb").write_bytes(head + records)
    return tmp_path


def findings(folder: Path) -> list[Finding]:
    return list(thawline.open_folder(folder).reports())[-1].findings


def test_the_files_of_a_backup_are_one_table(backup: Path) -> None:
    (backup / "readme.txt").write_text("not a part of it")
    rows = [row for batch in thawline.open_folder(backup).batches() for row in batch.to_pylist()]
    assert [row["bins"][0]["integer"] for row in rows] == list(range(30))


def test_a_complete_backup_has_no_findings(backup: Path) -> None:
    reports = list(thawline.open_folder(backup).reports())
    assert [report.rows for report in reports] == [10, 10, 10, 0]
    assert all(report.findings == [] for report in reports)


def test_records_that_are_in_two_files_are_found(backup: Path) -> None:
    (backup / "test_00007.asb").write_bytes(HEADER + numbered(5) + numbered(100) + numbered(25))
    (finding,) = findings(backup)
    assert (finding.code.id, finding.detail["records"]) == ("ASB113", 2)
    assert "test_00007.asb" in str(finding.detail["files"])


def test_records_of_other_namespaces_are_others(backup: Path) -> None:
    other = numbered(5).replace(b"+ n test", b"+ n more")
    (backup / "test_00007.asb").write_bytes(HEADER + other + numbered(77))
    assert findings(backup) == []


def test_repeated_records_are_found_also_where_they_do_not_fit_into_memory(
    backup: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(folder_module, "KEPT", 24)
    (backup / "test_00007.asb").write_bytes(HEADER + numbered(5) + numbered(25))
    assert [finding.detail["records"] for finding in findings(backup)] == [2]


def test_a_second_first_file_is_found(backup: Path) -> None:
    (backup / "test_00009.asb").write_bytes(FIRST)
    (finding,) = findings(backup)
    assert (finding.code.id, finding.detail["files"]) == ("ASB114", "test_00000.asb, test_00009.asb")


def metadata(folder: Path, records: int = 30) -> str:
    size = sum(path.stat().st_size for path in folder.glob("*.asb"))
    return (
        "created: 2024-05-01T10:00:00Z\nfrom: 0001-01-01T00:00:00Z\nnamespace: test\n"
        f"record-count: {records}\nbyte-count: {size}\nfile-count: 3\nsecondary-index-count: 1\nudf-count: 0\n"
    )


def test_the_counts_of_the_backup_service_are_compared(backup: Path) -> None:
    (backup / "metadata.yaml").write_text(metadata(backup))
    assert findings(backup) == []
    (backup / "metadata.yaml").write_text(metadata(backup, records=31))
    (finding,) = findings(backup)
    assert finding.code.id == "ASB115"
    detail = {key: finding.detail[key] for key in ("count", "stated", "found")}
    assert detail == {"count": "record-count", "stated": 31, "found": 30}


def test_a_cut_between_records_shows_in_the_counts(backup: Path) -> None:
    text = metadata(backup)
    last = backup / "test_00002.asb"
    last.write_bytes(last.read_bytes()[: -len(numbered(29))])
    (backup / "metadata.yaml").write_text(text)
    assert {finding.detail["count"] for finding in findings(backup)} == {"record-count", "byte-count"}


@pytest.mark.parametrize("text", ["{{{", "just text", "record-count: many", "", "a: [" * 5000])
def test_metadata_that_cannot_be_read_is_a_remark(backup: Path, text: str) -> None:
    (backup / "metadata.yaml").write_text(text)
    assert [finding.code.id for finding in findings(backup)] == ["ASB208"]


def test_metadata_above_the_files_is_found(backup: Path) -> None:
    inner = backup / "data" / "test"
    inner.mkdir(parents=True)
    for path in backup.glob("*.asb"):
        path.rename(inner / path.name)
    (backup / "metadata.yaml").write_text(metadata(inner, records=99))
    assert [finding.code.id for finding in findings(inner)] == ["ASB115"]


def test_files_that_are_intact_are_read_once(backup: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []
    items_of = aerospike.items_of

    def watched(source: Source, *rules: Any, **options: Any) -> Iterator[Any]:
        read.append(Path(source.name).name)
        return items_of(source, *rules, **options)

    monkeypatch.setattr(aerospike, "items_of", watched)
    monkeypatch.setattr(folder_module, "items_of", watched)
    (backup / "test_00007.asb").write_bytes(HEADER + numbered(5, b"- I n "))
    reports = list(thawline.open_folder(backup).reports())
    assert read == ["test_00000.asb", "test_00001.asb", "test_00002.asb", "test_00007.asb", "test_00007.asb"]
    assert [finding.code.id for finding in reports[-2].findings] == ["ASB104"]
    assert [finding.code.id for finding in reports[-1].findings] == ["ASB113"], "a record that one tool reads counts"


def test_a_file_that_is_looked_at_twice_counts_once(backup: Path) -> None:
    opened = thawline.open_folder(backup)
    for _ in range(2):
        for cold in opened.files():
            cold.verify()
            next(iter(cold.scan()))  # and a look that nobody goes on with
        (report,) = opened.format.accounts(opened.folder)
        assert report.findings == []


def test_the_account_of_a_folder_is_the_same_without_the_native_module(backup: Path) -> None:
    (backup / "test_00007.asb").write_bytes(HEADER + numbered(5) + numbered(25).replace(b"+ n test", rb"+ n a\ b"))
    native = [report.findings for report in thawline.open_folder(backup).reports()]
    with plainly():
        assert [report.findings for report in thawline.open_folder(backup).reports()] == native
    assert native[-1][0].detail["records"] == 1


def test_namespaces_in_one_file_are_told_apart(backup: Path) -> None:
    mixed = [
        numbered(number).replace(b"+ n test", b"+ n more") if number % 2 else numbered(number)
        for number in range(90, 190)
    ]
    (backup / "test_00007.asb").write_bytes(HEADER + b"".join(mixed) + numbered(91))
    assert findings(backup) == []


def test_a_backup_without_its_first_file_is_remarked(backup: Path) -> None:
    (backup / "test_00000.asb").unlink()
    (finding,) = findings(backup)
    assert (finding.code.id, finding.severity, finding.detail["files"]) == ("ASB209", "warning", 2)


def test_a_copy_of_the_format_in_another_process_starts_anew(backup: Path) -> None:
    opened = thawline.open_folder(backup)
    for cold in opened.files():
        cold.verify()
    copy = pickle.loads(pickle.dumps(opened.format))  # noqa: S301 - our own
    assert copy == opened.format
    assert copy.tally.accounts == {}


@pytest.fixture
def broken(backup: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file of the backup that can be listed and not opened."""
    path, opened = backup / "test_00000.asb", folder_module.open_source

    def refusing(source: Any, *arguments: Any) -> Any:
        if Path(str(source)).name == path.name:
            raise SourceError(errno.EIO, f"{source}: Input/output error")
        return opened(source, *arguments)

    monkeypatch.setattr(folder_module, "open_source", refusing)
    monkeypatch.setattr("thawline.folder.open_beside", refusing)


@pytest.mark.usefixtures("broken")
def test_a_file_that_cannot_be_read_costs_itself_only(backup: Path) -> None:
    (backup / "metadata.yaml").write_text(metadata(backup, records=99))
    opened = thawline.open_folder(backup, bins="columns")
    members = opened.members
    assert [Path(member.path).name for member in members] == sorted(path.name for path in backup.glob("*.asb"))
    with thawline.open(members[1].path, "aerospike", bins=members[1].format.bins) as cold:
        assert "n" in cold.schema.names
    (report,) = opened.format.accounts(opened.folder)
    assert report.findings == [], "neither its records nor the mark of the first file are missed"


@pytest.mark.usefixtures("broken")
def test_a_copy_among_files_that_can_be_read_is_found_all_the_same(backup: Path) -> None:
    (backup / "test_00007.asb").write_bytes((backup / "test_00001.asb").read_bytes())
    opened = thawline.open_folder(backup)
    (report,) = opened.format.accounts(opened.folder)
    assert [finding.code.id for finding in report.findings] == ["ASB113"]
