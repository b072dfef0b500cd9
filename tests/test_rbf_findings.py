"""A finding about an RBF file says what is wrong, where, and what saves the rest."""

from __future__ import annotations

from pathlib import Path

import pytest
from accounts import GOLDEN
from rbf_logs import MINIMAL, Expected, check, findings_of, rows_of

import thawline
from thawline.formats.rbf.findings import CODES
from thawline.model import Span
from tools.bench.attack import FENCE


@pytest.mark.parametrize("data,expected", MINIMAL.values(), ids=MINIMAL)
def test_a_finding_says_what_is_wrong_and_where(data: bytes, expected: list[Expected]) -> None:
    found = findings_of(data)
    assert [(each.code.id, each.span.start, each.span.end) for each in found] == [each[:3] for each in expected]
    for finding, (*_, detail) in zip(found, expected, strict=True):
        assert {key: finding.detail.get(key) for key in detail} == detail
    check(data)


def test_every_code_is_produced_by_a_minimal_file() -> None:
    produced = {code for _, expected in MINIMAL.values() for code, *_ in expected}
    assert produced == {code.id for code in CODES}


def test_findings_of_damage_name_the_command_that_saves_the_rest(tmp_path: Path) -> None:
    without = {"RBF107", "RBF108", "RBF109"}  # nothing is lost, or nothing can be saved
    proven = {"RBF103", "RBF106", "RBF110"}  # `--recover` saves these, too
    for data, _ in MINIMAL.values():
        path = tmp_path / "my log.rbf"
        path.write_bytes(data)
        with thawline.open(path, "rbf") as cold:
            for finding in cold.findings():
                option = " --recover" if finding.code.id in proven else ""
                hint = f"thawline salvage '{path}' -o intact.rbf{option}"
                assert finding.hint == ("" if finding.code.id in without else hint)


def test_codes_are_unique_and_explained() -> None:
    assert len({code.id for code in CODES}) == len({code.message for code in CODES}) == len(CODES)
    for code in CODES:
        assert code.message[0].islower() or code.message.startswith("HeadLen")
        assert not code.message.endswith(".")
        assert code.explanation.endswith(".")


def test_a_new_file_is_clean() -> None:
    with thawline.open(FENCE, "rbf") as cold:
        assert rows_of(cold.batches()) == []
        report = cold.verify()
    assert (report.ok, report.findings, report.rows) == (True, [], 0)


def test_an_emptied_file_has_no_rows_and_is_not_called_clean() -> None:
    with thawline.open(b"", "rbf") as cold:
        assert rows_of(cold.batches()) == []
        report = cold.verify()
    assert [(finding.code.id, finding.span) for finding in report.findings] == [("RBF109", Span(0, 0))]
    assert not report.ok


@pytest.mark.parametrize("inserted", [1, 3, 5])
def test_frames_that_lie_off_the_alignment_are_not_called_crafted(inserted: int) -> None:
    """RBF111 says that another frame hides a whole one; after an insertion no frame does."""
    data = (GOLDEN / "rbf/many-frames.rbf").read_bytes()
    codes = {finding.code.id for finding in findings_of(data[:812] + bytes(inserted) + data[812:])}
    assert "RBF110" in codes
    assert "RBF111" not in codes
