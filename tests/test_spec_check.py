"""`thawline spec check`: whether a spec compiles, and otherwise every reason."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from in_process import on_pipe
from test_cli import thawline

from thawline.ksy.documents import SCHEMAS

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


FROM_FILE = """meta:
  id: notes
  endian: be
seq:
  - id: notes
    type: note
    repeat: eos
types:
  note:
    -sync:
      magic: mark
    seq:
      - id: mark
        contents: NT
      - id: len_body
        type: u2
      - id: body
        size: len_body
      - id: crc
        type: u4
    instances:
      crc_input:
        pos: 0
        size: len_body
        -overlay: true
        -columnar:
          checksum: crc32
"""
REFUSED = {
    "a position of the file": (FROM_FILE, "23:9: this position counts from the start of the file"),
    "a magic that is no field": (FROM_FILE.replace("magic: mark", "magic: nothing"), ""),
    "a checksum that is none": (FROM_FILE.replace("-sync:", "-other:").replace("crc32", "crc99"), ""),
    "rows that nothing delimits": (
        "meta:\n  id: notes\nseq:\n  - id: a\n    type: u1\n-columnar:\n  rows: notes\n-sync:\n  magic: none\n",
        "",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_the_option_spec_refuses_is_refused_for_the_same_reason(tmp_path: Path, name: str) -> None:
    (tmp_path / "notes.ksy").write_text(REFUSED[name][0], encoding="utf-8")
    (tmp_path / "a").write_bytes(b"NT")
    checked = on_pipe(["spec", "check", "notes.ksy"], tmp_path)
    used = on_pipe(["--spec", "notes.ksy", "verify", "a"], tmp_path)
    assert (checked.code, used.code) == (1, 2)
    assert checked.out.splitlines()[0] == used.err.splitlines()[-1].removeprefix("thawline: ")
    assert checked.out.startswith(f"notes.ksy:{REFUSED[name][1]}")


def test_every_spec_of_thawline_is_accepted() -> None:
    assert on_pipe(["spec", "check", str(SCHEMAS)], Path.cwd()).code == 0


def test_parameters_of_a_root_are_no_reason_to_refuse_what_others_import(tmp_path: Path) -> None:
    text = "meta:\n  id: part\nparams:\n  - id: size\n    type: u4\nseq:\n  - id: body\n    size: size\n"
    (tmp_path / "part.ksy").write_text(text, encoding="utf-8")
    assert on_pipe(["spec", "check", "part.ksy"], tmp_path).code == 0


def test_json_lines_say_the_same(specs: Path) -> None:
    lines = thawline("spec", "check", str(specs), "--format", "jsonl").stdout.splitlines()
    bad, good = (json.loads(line) for line in lines)
    assert (bad["compiles"], len(bad["refusals"])) == (False, 2)
    assert (good["compiles"], good["refusals"]) == (True, [])
