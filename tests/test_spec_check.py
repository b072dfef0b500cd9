"""`thawline spec check`: whether a spec compiles, and otherwise every reason."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from test_cli import thawline

GOOD = "meta:\n  id: good\n  endian: le\nseq:\n  - id: size\n    type: u4\n  - id: body\n    size: size\n"
BAD = """meta:
  id: bad
seq:
  - id: size
    type: u4
  - id: body
    type: nowhere
  - id: more
    size: body.size + 1
"""


@pytest.fixture
def specs(tmp_path: Path) -> Path:
    (tmp_path / "good.ksy").write_text(GOOD, encoding="utf-8")
    (tmp_path / "bad.ksy").write_text(BAD, encoding="utf-8")
    return tmp_path


def test_a_spec_that_compiles_is_0_and_one_that_does_not_is_1(specs: Path) -> None:
    assert thawline("spec", "check", str(specs / "good.ksy")).returncode == 0
    assert thawline("spec", "check", str(specs)).returncode == 1


def test_every_reason_is_said_once_with_its_place_and_nothing_that_only_follows(specs: Path) -> None:
    told = thawline("spec", "check", str(specs / "bad.ksy")).stdout.splitlines()
    assert told == [
        f"{specs}/bad.ksy:5:5: u4 needs le or be, or a default endian in meta",
        f"{specs}/bad.ksy:7:5: there is no type nowhere",
    ]


def test_json_lines_say_the_same(specs: Path) -> None:
    lines = thawline("spec", "check", str(specs), "--format", "jsonl").stdout.splitlines()
    bad, good = (json.loads(line) for line in lines)
    assert (bad["compiles"], len(bad["refusals"])) == (False, 2)
    assert (good["compiles"], good["refusals"]) == (True, [])
