from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from accounts import GOLDEN
from conftest import ROOT
from test_generate import needs_node
from transcripts import surroundings

from thawline.review.behaviour import differences

SCHEMAS = ROOT / "schemas"


@pytest.fixture
def schemas(tmp_path: Path) -> Path:
    """A copy of the specs, to be changed."""
    return Path(shutil.copytree(SCHEMAS, tmp_path / "schemas"))


def change(file: Path, before: str, after: str) -> None:
    text = file.read_text(encoding="utf-8")
    assert before in text
    file.write_text(text.replace(before, after, 1), encoding="utf-8")


def diff(*arguments: object, path: str | None = None) -> tuple[int, dict[str, Any], str]:
    """Exit code, the review as data, and stderr."""
    command = [sys.executable, "-m", "thawline", "spec", "diff", "--format", "json", *map(str, arguments)]
    around = surroundings() if path is None else surroundings(PATH=path)
    run = subprocess.run(command, capture_output=True, text=True, check=False, env=around)
    return run.returncode, json.loads(run.stdout) if run.stdout else {}, run.stderr


def of_golden(found: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {reading["file"]: reading for reading in found["behaviour"]["readings"]}


@needs_node
def test_a_pure_rename_reads_every_golden_file_the_same_and_shows_as_such(schemas: Path) -> None:
    change(schemas / "rbf_frame.ksy", "id: frame_tag", "id: tag_of_frame")
    code, found, _ = diff(SCHEMAS, schemas)
    assert code == 0
    behaviour = found["behaviour"]
    assert behaviour["files"] == len(list((GOLDEN / "rbf").glob("*.rbf")))
    assert behaviour["readings"] == []
    (rename,) = behaviour["renames"]
    assert (rename["before"], rename["after"]) == ("rbf_frame::body.frame_tag", "rbf_frame::body.tag_of_frame")
    assert rename["count"] > 64
    kinds = {(column["column"], column["kind"]) for column in found["derived"]["columns"]}
    assert kinds == {("frame_tag", "dropped"), ("tag_of_frame", "added")}


@needs_node
def test_a_field_inserted_in_the_middle_names_the_first_field_that_differs(schemas: Path) -> None:
    change(
        schemas / "borg_blob.ksy",
        "  - id: chunk_id\n",
        "  - id: flags\n    type: u1\n    doc: New.\n  - id: chunk_id\n",
    )
    code, found, _ = diff(SCHEMAS, schemas)
    assert code == 2
    reading = (
        of_golden(found)["borg/none.pack"]
        if "borg/none.pack" in of_golden(found)
        else next(iter(of_golden(found).values()))
    )
    data = (GOLDEN / reading["file"]).read_bytes()
    assert reading["outcome"] == "refused"
    assert reading["field"] == "blobs[0].chunk_id / blobs[0].flags at 0x9"
    assert f"chunk_id = 0x{data[9:25].hex()}… (32 bytes at 0x9)" in reading["before"]
    assert f"flags = {data[9]} (1 byte at 0x9)" in reading["after"]


@needs_node
def test_an_endianness_flip_shows_both_values(schemas: Path) -> None:
    change(schemas / "kafka_offset_index.ksy", "endian: be", "endian: le")
    code, found, _ = diff(SCHEMAS, schemas)
    assert code == 2
    readings = of_golden(found)
    assert readings
    for name, reading in readings.items():
        data = (GOLDEN / name).read_bytes()
        at = int(reading["field"].rpartition("0x")[2], 16)
        stored = data[at : at + 4]
        assert reading["outcome"] == "differs"
        assert f"= {int.from_bytes(stored, 'big', signed=True)} (4 bytes" in reading["before"]
        assert f"= {int.from_bytes(stored, 'little', signed=True)} (4 bytes" in reading["after"]


@needs_node
def test_a_rule_that_a_golden_file_breaks_is_breaking_and_one_that_none_breaks_is_not(schemas: Path) -> None:
    change(schemas / "rbak_segment.ksy", "        type: u1\n        valid: 1\n", "        type: u1\n        valid: 2\n")
    code, found, _ = diff(SCHEMAS, schemas)
    readings = of_golden(found)
    assert code == 2
    assert {reading["outcome"] for reading in readings.values()} == {"refused"}
    assert all("is 1, must be 2" in reading["after"] for reading in readings.values())
    assert {reading["field"] for reading in readings.values()} == {"header.version at 0x4"}
    change(schemas / "rbak_segment.ksy", "        valid: 2\n", "        valid:\n          max: 1\n          min: 1\n")
    code, found, _ = diff(SCHEMAS, schemas)
    assert (code, found["behaviour"]["readings"]) == (0, [])
    assert [change["verdict"] for change in found["changes"]] == ["documentation only"]


@needs_node
def test_a_file_of_the_corpus_that_a_looser_rule_lets_in_is_newly_accepted(schemas: Path, tmp_path: Path) -> None:
    corpus = tmp_path / "corpus"
    corpus.mkdir()
    changed = bytearray((GOLDEN / "rbak" / "codec-zstd-blocks.zst").read_bytes())
    changed[4] = 9
    (corpus / "future.zst").write_bytes(changed)
    (corpus / "notes.txt").write_text("nothing that a spec reads")
    (corpus / "notes.txt.json").write_text("{")
    change(schemas / "rbak_segment.ksy", "        valid: 1\n", "        valid:\n          any-of: [1, 9]\n")
    code, found, _ = diff(SCHEMAS, schemas, "--corpus", corpus)
    readings = of_golden(found)
    assert code == 1
    assert list(readings) == ["corpus/future.zst"]
    assert readings["corpus/future.zst"]["outcome"] == "accepted"
    assert "is 9, must be 1" in readings["corpus/future.zst"]["before"]
    assert [item["file"] for item in found["behaviour"]["left_out"]] == ["corpus/notes.txt", "corpus/notes.txt.json"]
    assert {item["reason"] for item in found["behaviour"]["left_out"]} == {"no spec is known to read it"}


@needs_node
def test_another_value_of_an_instance_is_shown_and_changes_nothing_on_the_wire(schemas: Path) -> None:
    change(schemas / "rbf_address.ksy", "value: offset == 0", "value: offset == 4")
    code, found, _ = diff(SCHEMAS, schemas)
    reading = of_golden(found)["rbf/null.address"]
    assert (code, found["breaks_api"]) == (0, True)
    assert (reading["outcome"], reading["field"]) == ("calculated", "is_null")
    assert (reading["before"], reading["after"]) == ("True", "False")


@needs_node
def test_what_is_inside_compressed_content_is_compared_too(schemas: Path) -> None:
    change(schemas / "rbak_payload.ksy", "endian: le", "endian: be")
    code, found, _ = diff(SCHEMAS, schemas)
    assert code == 2
    assert all(reading["unit"].endswith(", decompressed") for reading in of_golden(found).values())


@needs_node
def test_a_flag_taken_out_of_unused_bits_reads_every_golden_file_the_same(schemas: Path) -> None:
    change(
        schemas / "kafka_message.ksy",
        "      - id: unused\n        type: b4\n",
        "      - id: is_new\n        type: b1\n      - id: unused\n        type: b3\n",
    )
    code, found, _ = diff(SCHEMAS, schemas)
    assert {change["verdict"] for change in found["changes"]} == {"wire-compatible extension"}
    assert (code, found["behaviour"]["readings"]) == (1, [])
    assert found["behaviour"]["units"] > 48


@needs_node
def test_columns_kernels_and_layouts_that_change_are_listed(schemas: Path) -> None:
    file = schemas / "kafka_time_index.ksy"
    change(file, "      - id: timestamp\n        type: s8\n", "      - id: timestamp\n        type: s4\n")
    _, found, _ = diff(SCHEMAS, schemas)
    assert found["derived"]["columns"] == [
        {
            "table": "kafka_time_index",
            "column": "timestamp",
            "before": "int64 (bigint)",
            "after": "int32 (int)",
            "kind": "retyped",
        }
    ]
    assert [line.partition(":")[0] for line in found["derived"]["kernels"]] == ["`kafka_time_index`"]
    assert found["derived"]["layouts"] == ["kafka_time_index"]


@needs_node
def test_what_the_columnar_backend_refuses_is_said_with_its_place(schemas: Path) -> None:
    change(schemas / "kafka_record_batch.ksy", "bit-endian: be", "bit-endian: le")
    code, found, _ = diff(SCHEMAS, schemas)
    assert code == 2
    assert found["derived"]["refused"].startswith(f"{schemas}/kafka_record_batch.ksy:")


@needs_node
def test_a_spec_that_does_not_compile_gives_its_place_and_exit_code_2(schemas: Path) -> None:
    change(schemas / "rbf_frame.ksy", "size: len_payload", "size: len_nothing")
    code, _, stderr = diff(SCHEMAS, schemas)
    assert code == 2
    assert f"{schemas}/rbf_frame.ksy:38:15: /types/body/seq/1/size: error: unable to access 'len_nothing'" in stderr
    assert "Traceback" not in stderr


def looping() -> Iterator[tuple[str, str]]:
    yield "for ever", "seq:\n  - {id: a, size: 0, repeat: until, repeat-until: 'false'}\n"
    yield "with all memory", "seq:\n  - {id: a, type: t, repeat: expr, repeat-expr: 1 << 40}\ntypes: {t: {seq: []}}\n"
    yield "too deep", "seq:\n  - {id: a, type: t}\ntypes: {t: {seq: [{id: b, type: t}]}}\n"


@needs_node
@pytest.mark.parametrize("body", [body for _, body in looping()], ids=[name for name, _ in looping()])
def test_a_spec_that_would_never_end_is_stopped(tmp_path: Path, body: str) -> None:
    files = []
    for side, content in (("old", "seq:\n  - {id: a, type: u1}\n"), ("new", body)):
        (tmp_path / side).mkdir()
        files.append(tmp_path / side / "sample.ksy")
        files[-1].write_text(f"meta: {{id: sample, endian: le}}\n{content}", encoding="utf-8")
    (tmp_path / "corpus").mkdir()
    (tmp_path / "corpus" / "one.bin").write_bytes(b"123")
    started = time.monotonic()
    code, found, stderr = diff(*files, "--corpus", tmp_path / "corpus", "--seconds", 1)
    assert (code, stderr) == (2, "")
    assert [reading["outcome"] for reading in found["behaviour"]["readings"]] == ["refused"]
    assert time.monotonic() - started < 120


def test_without_node_the_structure_is_reviewed_and_the_rest_says_why_not(schemas: Path, tmp_path: Path) -> None:
    tools = tmp_path / "bin"
    tools.mkdir()
    change(schemas / "rbf_frame.ksy", "id: frame_tag", "id: tag_of_frame")
    change(schemas / "rbf.tables.yaml", "field: frame_tag", "field: tag_of_frame")
    change(schemas / "rbf.tables.yaml", "of: [frame_tag]", "of: [tag_of_frame]")
    code, found, stderr = diff(SCHEMAS, schemas, path=str(tools))
    assert (code, stderr) == (0, "")
    assert [change["kind"] for change in found["changes"]] == ["renamed"]
    assert found["behaviour"]["skipped"] == "the Kaitai Struct compiler needs Node.js with npm on the PATH"
    assert {column["column"] for column in found["derived"]["columns"]} == {"frame_tag", "tag_of_frame"}


# Fields matched by position.


def test_bytes_that_one_version_looks_into_are_no_difference() -> None:
    whole = [[0, 4, {"bytes": "00000001"}, "a", "x.a"], [4, 5, 7, "b", "x.b"]]
    parts = [[0, 2, 0, "a.p", "t.p"], [2, 4, 256, "a.q", "t.q"], [4, 5, 7, "b", "x.b"]]
    assert list(differences(whole, parts)) == list(differences(parts, whole)) == []


def test_a_field_inserted_before_bytes_that_shrink_is_a_difference() -> None:
    whole = [[0, 4, {"bytes": "00000001"}, "a", "x.a"]]
    shrunk = [[0, 2, 0, "b", "x.b"], [2, 4, {"bytes": "0001"}, "a", "x.a"]]
    assert list(differences(whole, shrunk)) == [(whole[0], shrunk[0])]


def test_parts_that_go_beyond_the_whole_are_a_difference() -> None:
    whole = [[0, 4, {"bytes": "00000001"}, "a", "x.a"]]
    parts = [[0, 2, 0, "a.p", "x.p"], [2, 6, 256, "a.q", "x.q"]]
    assert list(differences(whole, parts)) == [(whole[0], parts[0])]


def test_the_log_of_ci_has_the_spec_diff_and_never_fails(tmp_path: Path) -> None:
    shutil.copytree(ROOT / ".ci", tmp_path / ".ci")
    command = [tmp_path / ".ci" / "spec-diff"]
    around = {**os.environ, "GIT_CEILING_DIRECTORIES": str(tmp_path.parent)}
    run = subprocess.run(command, capture_output=True, text=True, check=False, env=around)
    assert (run.returncode, run.stdout) == (0, "spec-diff: not run, this is no git checkout\n")


def git(folder: Path, *arguments: str) -> None:
    who = ["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false"]
    subprocess.run(["git", *who, *arguments], cwd=folder, capture_output=True, check=True)


@needs_node
def test_ci_compares_with_the_parent_commit_where_there_is_one(tmp_path: Path) -> None:
    project, log = tmp_path / "project", []
    shutil.copytree(ROOT / ".ci", project / ".ci")
    (project / "schemas").mkdir()
    (project / ".venv" / "bin").mkdir(parents=True)
    (project / ".venv" / "bin" / "thawline").symlink_to(Path(sys.executable).parent / "thawline")
    (project / ".gitignore").write_text(".venv\n", encoding="utf-8")
    spec = project / "schemas" / "sample.ksy"
    git(tmp_path, "init", "--quiet", "project")
    for type_ in ("u1", "u2", None):
        if type_:
            spec.write_text(f"meta: {{id: sample, endian: le}}\nseq: [{{id: a, type: {type_}}}]\n", encoding="utf-8")
        else:
            (project / "other").write_text("", encoding="utf-8")
        git(project, "add", ".")
        git(project, "commit", "--quiet", "-m", "change")
        run = subprocess.run([".ci/spec-diff"], cwd=project, capture_output=True, text=True, check=False)
        assert run.returncode == 0
        log.append(run.stdout)
    assert log[0] == "spec-diff: not run, this checkout has no parent commit (a shallow clone, or the first commit)\n"
    assert "| **breaking** | retyped | `sample.a` | `u1` | `u2` |" in log[1]
    assert log[1].endswith("spec-diff: exit code 2 (0 no wire change, 1 compatible, 2 breaking)\n")
    assert log[2] == "spec-diff: schemas/ is as it was in the parent commit\n"
