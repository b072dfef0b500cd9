"""Specs that are hostile themselves, and checksums that a spec declares in vain."""

from __future__ import annotations

from pathlib import Path

import pytest
from test_described import LOG

import thawline
from thawline.compiler import kernel_cache
from thawline.formats.described import Described
from thawline.ksy.documents import SpecError

LEVELS = 60


@pytest.fixture(autouse=True)
def _plain(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel_cache, "missing", lambda: "tests compile nothing")


def doubling(mark: str) -> str:
    """A structure that stands in 2 ** LEVELS places."""
    types = [f"  t0: {{seq: [{{id: x, type: u1}}], instances: {{x_input: {{pos: 0, size: 1{mark}}}}}}}"]
    types += [
        f"  t{level}: {{instances: {{l: {{pos: 0, type: t{level - 1}}}, r: {{pos: 0, type: t{level - 1}}}}}}}"
        for level in range(1, LEVELS)
    ]
    head = f"meta: {{id: doubling}}\nseq: [{{id: a, type: u1}}]\ninstances: {{top: {{pos: 0, type: t{LEVELS - 1}}}}}\n"
    return head + "types:\n" + "\n".join(types) + "\n"


def spec_of(text: str, folder: Path, name: str) -> Path:
    (folder / f"{name}.ksy").write_text(text, encoding="utf-8")
    return folder / f"{name}.ksy"


def test_a_structure_in_exponentially_many_places_costs_nothing(tmp_path: Path) -> None:
    assert thawline.verify(bytes(100), spec=spec_of(doubling(""), tmp_path, "doubling")).ok


def test_a_checksum_in_exponentially_many_places_is_refused(tmp_path: Path) -> None:
    spec = spec_of(doubling(", -columnar: {checksum: crc32}"), tmp_path, "doubling")
    with pytest.raises(SpecError, match=r"doubling.ksy:\d+:\d+: what is marked stands in too many places"):
        thawline.verify(bytes(100), spec=spec)


def test_a_checksum_that_no_unit_has_is_told_of(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    switched = LOG.replace("        type: body\n", "        type: {switch-on: len_body, cases: {0: note, _: body}}\n")
    spec = spec_of(switched.replace("      checksum: crc\n", ""), tmp_path, "event_log")
    Described.of(spec)
    told = capsys.readouterr().err
    assert "event_log.ksy:" in told
    assert "this checksum is not checked: no unit has it, or only by way of a switch" in told
