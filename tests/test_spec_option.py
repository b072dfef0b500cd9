"""`--spec` and `spec=`: a file of one's own format is read with one word more."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from in_process import on_pipe
from test_declared import FILE, SPEC, TOYS, UNITS

import thawline
from thawline import formats
from thawline.ksy.documents import SpecError

DAMAGED = FILE[: len(UNITS[0])] + b"?" + FILE[len(UNITS[0]) :]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "toy_log.ksy").write_text(SPEC, encoding="utf-8")
    (tmp_path / "toys").mkdir()
    (tmp_path / "toys" / "a.toy").write_bytes(FILE)
    (tmp_path / "toys" / "b.toy").write_bytes(DAMAGED)
    (tmp_path / "toys" / "readme.txt").write_text("no toys", encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize("arguments", [("--spec", "toy_log.ksy", "cat"), ("cat", "--spec", "toy_log.ksy")])
def test_the_spec_stands_before_or_after_the_command(folder: Path, arguments: tuple[str, ...]) -> None:
    ran = on_pipe([*arguments, "toys/a.toy"], folder)
    assert (ran.code, ran.err) == (0, "")
    assert [(row["name"], row["count"]) for row in map(json.loads, ran.out.splitlines())] == TOYS


def test_a_folder_is_read_with_the_spec_and_names_what_is_not_of_it(folder: Path) -> None:
    ran = on_pipe(["--spec", "toy_log.ksy", "verify", "toys"], folder)
    verdicts = [json.loads(line) for line in ran.out.splitlines()]
    assert [(one["file"], one["status"]) for one in verdicts] == [
        ("toys/a.toy", "ok"),
        ("toys/b.toy", "damaged"),
        ("toys/readme.txt", "unknown"),
    ]
    assert ran.code == 1


def test_a_named_file_is_of_the_spec_whatever_is_left_of_it(folder: Path) -> None:
    (folder / "c").write_bytes(b"nothing of a toy")
    ran = on_pipe(["--spec", "toy_log.ksy", "verify", "c"], folder)
    assert (ran.code, json.loads(ran.out)["damaged_bytes"]) == (1, 16)


def test_stdin_is_read_with_the_spec(folder: Path) -> None:
    ran = on_pipe(["--spec", "toy_log.ksy", "cat", "--where", "count=7", "-"], folder, folder / "toys/a.toy")
    assert [json.loads(line)["name"] for line in ran.out.splitlines()] == ["train"]


def test_the_columns_are_shown_before_a_byte_is_read(folder: Path) -> None:
    ran = on_pipe(["schema", "--spec", "toy_log.ksy"], folder)
    assert [json.loads(line)["column"] for line in ran.out.splitlines()] == ["count", "name", "crc"]


def test_a_spec_that_cannot_be_compiled_is_refused_with_its_place(folder: Path) -> None:
    (folder / "bad.ksy").write_text("meta:\n  id: bad\nseq:\n  - id: a\n    type: nothing\n", encoding="utf-8")
    ran = on_pipe(["--spec", "bad.ksy", "cat", "toys/a.toy"], folder)
    assert ran.code == 2
    assert ran.out == ""
    assert ran.err.startswith("thawline: bad.ksy:")


def test_a_spec_that_is_not_there_is_said(folder: Path) -> None:
    ran = on_pipe(["--spec", "gone.ksy", "cat", "toys/a.toy"], folder)
    assert (ran.code, ran.err) == (2, "thawline: gone.ksy: No such file or directory\n")


def test_nothing_of_a_spec_is_left_after_the_command(folder: Path) -> None:
    before = dict(formats.FORMATS)
    on_pipe(["--spec", "toy_log.ksy", "cat", "toys/a.toy"], folder)
    assert before == formats.FORMATS


def test_python_reads_verifies_and_salvages_with_a_spec(folder: Path) -> None:
    spec = folder / "toy_log.ksy"
    with thawline.open(folder / "toys/a.toy", spec=spec) as cold:
        assert [row["name"] for batch in cold.batches() for row in batch.to_pylist()] == [name for name, _ in TOYS]
    report = thawline.verify(DAMAGED, spec=spec)
    assert (report.ok, report.damaged_bytes) == (False, 1)
    thawline.salvage(DAMAGED, folder / "new.toy", spec=spec)
    assert (folder / "new.toy").read_bytes() == FILE
    assert thawline.identify(FILE, spec=spec).format == "toy_log"


def test_a_spec_and_a_format_exclude_each_other(folder: Path) -> None:
    with pytest.raises(ValueError, match="either the spec or the format"):
        thawline.open(FILE, "rbf", spec=folder / "toy_log.ksy")


def test_python_is_told_the_place_of_what_is_refused(tmp_path: Path) -> None:
    (tmp_path / "bad.ksy").write_text("meta:\n  id: bad\nseq: 5\n", encoding="utf-8")
    with pytest.raises(SpecError, match=r"bad\.ksy:\d+:\d+: "):
        thawline.open(FILE, spec=tmp_path / "bad.ksy")


@pytest.mark.parametrize("command", ["cat", "info"])
def test_a_command_to_copy_names_the_spec(folder: Path, command: str) -> None:
    whole = (folder / "toys/a.toy").read_bytes()
    (folder / "cut.toy").write_bytes(whole[:-1])
    shape = ["--format", "table"] if command == "info" else []
    ran = on_pipe(["--spec", "toy_log.ksy", command, *shape, "cut.toy"], folder)
    assert "thawline verify cut.toy --spec toy_log.ksy" in ran.out + ran.err
