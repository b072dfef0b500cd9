from __future__ import annotations

import json
from pathlib import Path

import pytest
from test_cli import thawline

from thawline.ksy.lint import RULES, lint
from thawline.ksy.versions import load_version

SOUND = """\
meta:
  id: sample
  title: A sample
  license: CC0-1.0
  ks-version: '0.11'
  endian: le
doc: Something to change.
seq:
  - id: magic
    contents: SMPL
  - id: len_data
    -orig-id: DataLength
    type: u4
  - id: crc
    type: u4
    doc: Of `crc_input`.
  - id: kind
    type: u1
    enum: kind
    doc: What the data is.
  - id: data
    size: len_data
    type: data
instances:
  crc_input:
    pos: 12
    size-eos: true
types:
  data:
    seq:
      - id: num_items
        type: u2
        doc: How many follow.
      - id: items
        type: u2
        repeat: expr
        repeat-expr: num_items
        doc: The items.
enums:
  kind:
    1: plain
"""


RULED = """\
-tools:
  x:
    code: A1
    warning: W1
-refused-by:
  - tool: y
    longer-than: 9
    because: it is too long
"""


def write(folder: Path, text: str, name: str = "sample") -> Path:
    file = folder / f"{name}.ksy"
    file.write_bytes(text.encode())
    return file


def flaws(file: Path) -> list[tuple[str, str, str]]:
    version = load_version(str(file))
    found = [flaw for name in version.asked for flaw in lint(version.specs[name], version.specs)]
    return [(flaw.place.removeprefix(f"{file}:"), flaw.rule, flaw.message) for flaw in found]


def test_a_sound_spec_has_no_flaw(tmp_path: Path) -> None:
    assert flaws(write(tmp_path, SOUND)) == []


@pytest.mark.parametrize(
    ("rule", "place", "old", "new", "words"),
    [
        (
            "order",
            "5:3",
            "  license: CC0-1.0\n  ks-version: '0.11'\n",
            "  ks-version: '0.11'\n  license: CC0-1.0\n",
            "license stands before",
        ),
        (
            "order",
            "13:5",
            "    -orig-id: DataLength\n    type: u4\n",
            "    type: u4\n    -orig-id: DataLength\n",
            "-orig-id stands before type",
        ),
        ("order", "7:1", "doc: Something to change.\n", "endiann: le\n", "endiann is no key"),
        ("meta", "1:1", "  license: CC0-1.0\n", "", "has no license"),
        ("meta", "1:1", "  title: A sample\n", "", "has no title"),
        ("meta", "5:3", "'0.11'", "0.11", "quote it"),
        ("meta", "2:3", "id: sample", "id: other", "must be the file's name, sample"),
        ("doc", "1:1", "doc: Something to change.\n", "", "has no doc"),
        ("doc", "11:5", "    -orig-id: DataLength\n", "", "len_data has neither doc nor -orig-id"),
        ("name", "17:5", "id: kind", "id: Kind", "'Kind' is not in lower_snake_case"),
        ("name", "22:5", "len_data", "size_data", "size_data is a length, so its name starts with len_"),
        ("name", "37:9", "num_items", "count", "count is a count, so its name starts with num_"),
        ("reserved", "41:5", "1: plain", "1: lambda", "'lambda' is a reserved word of Python"),
        ("reserved", "17:5", "id: kind", "id: close", "'close' is a method of every parser"),
        ("unused", "29:3", "    type: data\n", "    doc: Bytes.\n", "nothing leads from the root to the type data"),
        ("unused", "39:3", "    enum: kind\n", "", "nothing uses the enum kind"),
        ("magic", "9:5", "    contents: SMPL\n", "    size: 4\n    doc: Any.\n", "magic accepts any bytes"),
        ("checksum", "14:5", "crc_input:", "covered:", "no instance crc_input says which bytes it covers"),
        ("sync", "9:3", "change.\n", "change.\n-sync:\n  magic: marker\n", "marker is no field of sample"),
        ("sync", "9:3", "change.\n", "change.\n-sync:\n  every: 4\n", "every is no key of -sync"),
        ("sync", "9:3", "change.\n", "change.\n-sync:\n  rising: other\n", "other is no field of sample"),
        ("refusal", "13:5", "change.\n", f"change.\n{RULED}", "y is a tool that no spec names under -tools"),
        (
            "refusal",
            "14:5",
            "DataLength\n    type: u4\n",
            "D\n    type: u4\n    -range: [9]\n",
            "the least and the most",
        ),
        (
            "order",
            "9:1",
            "doc: Something to change.\n",
            "-sync:\n  align: 4\ndoc: Something to change.\n",
            "doc stands before",
        ),
        ("text", "7:1", "doc: Something to change.", "doc: Something to change. ", "ends in blanks"),
        ("text", "41:1", "    1: plain\n", "    1: plain", "has no line feed at its end"),
        ("text", "1:1", "meta:\n  id", "---\nmeta:\n  id", "starts with ---"),
    ],
)
def test_a_flaw_is_found_at_its_place(tmp_path: Path, rule: str, place: str, old: str, new: str, words: str) -> None:
    assert SOUND.count(old) >= 1
    found = flaws(write(tmp_path, SOUND.replace(old, new)))
    matching = [flaw for flaw in found if flaw[1] == rule and words in flaw[2]]
    assert len(matching) == 1, found
    assert matching[0][0] == place


def test_an_unused_import_and_parameter_are_found(tmp_path: Path) -> None:
    write(tmp_path, SOUND.replace("id: sample", "id: other"), "other")
    text = SOUND.replace("  endian: le\n", "  imports:\n    - other\n  endian: le\n")
    text = text.replace("seq:\n  - id: magic", "params:\n  - id: depth\n    type: u1\nseq:\n  - id: magic")
    found = [message for _, rule, message in flaws(write(tmp_path, text)) if rule == "unused"]
    assert found == ["nothing uses the import other", "nothing uses the parameter depth"]


def test_every_rule_has_a_case_above() -> None:
    cases = {mark.args[1][index][0] for mark in test_a_flaw_is_found_at_its_place.pytestmark for index in range(26)}
    assert {*cases, "cost"} == {*RULES, "text"}  # of which the tests are below


def test_flaws_are_lines_and_exit_code_1(tmp_path: Path) -> None:
    file = write(tmp_path, SOUND.replace("  license: CC0-1.0\n", ""))
    run = thawline("spec", "lint", file)
    assert (run.returncode, run.stdout) == (1, f"{file}:1:1: meta: has no license: an SPDX expression\n")
    assert run.stderr == "1 spec, 1 flaw\n"
    found = json.loads(thawline("spec", "lint", "--format", "json", file).stdout)
    assert found == [{"place": f"{file}:1:1", "rule": "meta", "message": "has no license: an SPDX expression"}]


def test_without_a_path_the_specs_of_thawline_are_checked() -> None:
    run = thawline("spec", "lint")
    assert (run.returncode, run.stdout) == (0, "")
    assert run.stderr.endswith(" specs, 0 flaws\n")


COSTLY = """\
meta:
  id: costly
  endian: le
seq:
  - id: nodes
    type: node
    repeat: eos
types:
  node:
    -sync:
      checksum: crc
    seq:
      - id: crc
        type: u4
      - id: inner
        type: node
        if: crc == 0
      - id: table
        size: 33554432
    instances:
      rest:
        pos: 8
        size-eos: true
"""


def costs_of(tmp_path: Path, text: str) -> list[str]:
    (tmp_path / "costly.ksy").write_text(text, encoding="utf-8")
    version = load_version(str(tmp_path / "costly.ksy"))
    flaws = [flaw for flaw in lint(version.specs["costly"], version.specs) if flaw.rule == "cost"]
    return [f"{flaw.place.partition('costly.ksy:')[2]} {flaw.message}" for flaw in flaws]


def test_what_is_expensive_to_read_is_said_at_its_place(tmp_path: Path) -> None:
    assert costs_of(tmp_path, COSTLY) == [
        "9:3 costly::node may stand within itself: its inner levels are given as bytes",
        "10:5 a unit is looked for at every byte; name its `magic`, or an alignment",
        "19:9 33554432 bytes are a value of every row; leave out the column if you can",
        (
            "21:7 each costly::node reads on from rest to the end of the file; "
            "give it a size, or the repetition of costly::node"
        ),
    ]


def test_a_structure_with_bytes_of_its_own_reads_no_further(tmp_path: Path) -> None:
    sound = COSTLY.replace("    repeat: eos\n", "    repeat: eos\n    size: 64\n").replace("if: crc == 0", "size: 4")
    assert not any("reads on" in cost for cost in costs_of(tmp_path, sound))
