from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from spec_pairs import BREAKING, PAIRS, A, B, C, Pair, enum, field, seq
from test_cli import thawline

from thawline.ksy.documents import MAX_SIZE, SpecError
from thawline.ksy.versions import load_version
from thawline.rendering.review import markdown, record
from thawline.review import compared
from thawline.review.model import Change, Review, Verdict


def write(folder: Path, body: str, meta: str = "endian: le", name: str = "sample") -> Path:
    folder.mkdir(exist_ok=True)
    file = folder / f"{name}.ksy"
    file.write_text(f"meta: {{id: {name}, {meta}}}\n{body}", encoding="utf-8")
    return file


def review(folder: Path, before: str, after: str, meta: tuple[str, str] = ("endian: le", "endian: le")) -> Review:
    files = write(folder / "old", before, meta[0]), write(folder / "new", after, meta[1])
    return compared(*(load_version(str(file)) for file in files))


def gravest(changes: tuple[Change, ...]) -> Change | None:
    return max(changes, key=lambda change: list(Verdict).index(change.verdict), default=None)


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: pair.name)
def test_a_change_has_its_verdict(tmp_path: Path, pair: Pair) -> None:
    found = review(tmp_path, pair.before, pair.after, pair.meta)
    if not pair.kind:
        assert found.changes == ()
        return
    assert [change.kind for change in found.changes] == [pair.kind]
    (change,) = found.changes
    assert (change.verdict, change.breaks_api) == (pair.verdict, pair.breaks_api)
    assert change.reason
    assert change.place.startswith(str(tmp_path / ("old" if pair.kind == "removed" else "new")))


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: pair.name)
def test_every_review_can_be_told_as_markdown_and_as_json(tmp_path: Path, pair: Pair) -> None:
    found = review(tmp_path, pair.before, pair.after, pair.meta)
    text = markdown(found)
    widths = {line.count(" | ") for line in text.splitlines() if line.startswith("| ")}
    assert widths <= {5, 7}, "every row of a table has as many cells as its head"
    assert json.loads(json.dumps(record(found)))["exit_code"] == found.exit_code


def test_both_sides_of_a_layout_are_shown_with_what_moved_marked(tmp_path: Path) -> None:
    (layout,) = review(tmp_path, seq(A, C), seq(A, B, C)).layouts
    assert [(line.mark, line.name, line.before, line.after) for line in layout.lines] == [
        ("", "a", ("0", "4", "u4le"), ("0", "4", "u4le")),
        ("+", "b", None, ("4", "2", "u2le")),
        (">", "c", ("4", "4", "u4le"), ("6", "4", "u4le")),
    ]


def test_a_rename_moves_nothing_in_the_layout(tmp_path: Path) -> None:
    before = seq("- {id: len_a, type: u4}", "- {id: x, size: len_a}", A)
    (layout,) = review(tmp_path, before, before.replace("len_a", "len_b")).layouts
    assert [line.mark for line in layout.lines] == ["=", "", ""]


def test_a_value_that_moves_to_another_name_of_an_enum_is_breaking(tmp_path: Path) -> None:
    found = review(tmp_path, enum("1: one, 2: two"), enum("1: one, 3: two"))
    change = gravest(found.changes)
    assert change is not None
    assert (change.verdict, change.after) == (BREAKING, "3: two")


def test_another_meaning_under_another_name_is_pointed_out(tmp_path: Path) -> None:
    before = seq("- {id: a, type: u4, -orig-id: Length}")
    (change, _) = review(tmp_path, before, seq("- {id: b, type: u4, -orig-id: Flags}")).changes
    assert "Flags was Length, so it may mean something else" in change.reason


@pytest.mark.parametrize(
    ("before", "after", "verdicts"),
    [
        (seq("- {id: unused, type: b7}", "- {id: a, type: b1}"),
         seq("- {id: unused, type: b6}", "- {id: b, type: b1}", "- {id: a, type: b1}"), {Verdict.EXTENSION}),
        (seq("- {id: reserved, size: 8}", C), seq("- {id: a, type: u4}", "- {id: reserved, size: 4}", C),
         {Verdict.EXTENSION}),
        (seq("- {id: stamp, type: u8}", C), seq("- {id: high, type: u4}", "- {id: low, type: u4}", C), {Verdict.API}),
        (seq("- {id: stamp, type: u4}", C), seq("- {id: stamp, type: u2}", "- {id: low, type: u2}", C),
         {Verdict.API, BREAKING}),
        (seq("- {id: p, type: u2}", "- {id: q, type: u2}", C), seq("- {id: z, type: u4}", C), {Verdict.API}),
        (seq("- {id: reserved, size: 8}", C), seq("- {id: a, type: u4}", "- {id: reserved, size: 8}", C), {BREAKING}),
        (seq("- {id: p, type: u2}", "- {id: q, type: u2}", C),
         seq("- {id: z, type: u4}", "- {id: p, type: u2}", "- {id: q, type: u2}", C), {BREAKING}),
        (seq(A, "- {id: data, size: a}", C), seq(A, B, "- {id: data, size: a}", C), {BREAKING}),
        (seq(A, "- {id: data, terminator: 0}", C), seq(A, B, "- {id: data, terminator: 0}", C), {BREAKING}),
    ],
)  # fmt: skip
def test_bytes_cut_into_other_fields_are_told_from_bytes_that_move(
    tmp_path: Path, before: str, after: str, verdicts: set[Verdict]
) -> None:
    assert {change.verdict for change in review(tmp_path, before, after).changes} == verdicts


@pytest.mark.parametrize(("use", "verdict"), [("size: a.value", BREAKING), ("size: 1", Verdict.API)])
def test_a_value_that_another_spec_depends_on_is_judged_by_what_it_does_there(
    tmp_path: Path, use: str, verdict: Verdict
) -> None:
    for side, value in (("old", "raw"), ("new", "raw + 1")):
        body = f"seq: [{{id: raw, type: u1}}]\ninstances: {{value: {{value: {value}}}}}\n"
        write(tmp_path / side, body, name="inner")
        write(tmp_path / side, seq("- {id: a, type: inner}", f"- {{id: b, {use}}}"), "imports: [inner]", "outer")
    found = compared(*(load_version(str(tmp_path / side)) for side in ("old", "new")))
    assert [(change.path, change.verdict) for change in found.changes] == [("inner.value", verdict)]


def test_a_value_that_a_rule_depends_on_may_refuse_old_files(tmp_path: Path) -> None:
    before = seq(A, "- {id: b, type: u4, valid: {expr: _ < x}}") + "instances: {x: {value: a + 1}}\n"
    (change,) = review(tmp_path, before, before.replace("a + 1", "a + 2")).changes
    assert (change.kind, change.verdict) == ("value", Verdict.STRICTER)


def test_parameters_that_change_places_are_breaking_where_the_spec_gives_them(tmp_path: Path) -> None:
    before = "seq: [{id: a, type: 't(1, 2)'}]\ntypes: {t: {params: [{id: p, type: u4}, {id: q, type: u4}]}}\n"
    after = before.replace("{id: p, type: u4}, {id: q, type: u4}", "{id: q, type: u4}, {id: p, type: u4}")
    assert {change.verdict for change in review(tmp_path, before, after).changes} == {BREAKING}
    swapped = review(tmp_path, *(text.partition("types: {t: {")[2].replace("}}\n", "\n") for text in (before, after)))
    assert {change.verdict for change in swapped.changes} == {Verdict.API}


def test_a_rename_in_one_type_does_not_hide_a_change_in_another(tmp_path: Path) -> None:
    before = (
        "seq: [{id: x, type: s}, {id: y, type: t}]\ntypes:\n  s: {seq: [{id: len_a, type: u4}]}\n"
        "  t: {seq: [{id: len_a, type: u4}, {id: len_b, type: u4}, {id: d, size: len_a}]}\n"
    )
    after = before.replace("s: {seq: [{id: len_a", "s: {seq: [{id: len_b").replace("size: len_a", "size: len_b")
    found = {change.kind: change.verdict for change in review(tmp_path, before, after).changes}
    assert found == {"renamed": Verdict.API, "resized": BREAKING}


# Exit codes.


@pytest.mark.parametrize(
    ("before", "after", "code"),
    [
        (seq(A), seq(A), 0),
        (seq(A), seq("- {id: a, type: u4, doc: New}"), 0),
        (seq(A), seq("- {id: z, type: u4}"), 0),
        (enum("1: one"), enum("1: one, 2: two"), 1),
        (field("type: u4"), field("type: u4, valid: 7"), 1),
        (seq(A, C), seq(A, B, C), 2),
    ],
)
def test_the_exit_code_is_about_the_wire(tmp_path: Path, before: str, after: str, code: int) -> None:
    old, new = write(tmp_path / "old", before), write(tmp_path / "new", after)
    run = thawline("spec", "diff", "--structure", old, new)
    assert (run.returncode, run.stderr) == (code, "")


def test_with_api_a_rename_is_breaking_too(tmp_path: Path) -> None:
    old, new = write(tmp_path / "old", seq(A)), write(tmp_path / "new", seq("- {id: z, type: u4}"))
    assert thawline("spec", "diff", "--structure", "--api", old, new).returncode == 2
    assert thawline("spec", "diff", "--structure", "--api", old, old).returncode == 0


def test_the_json_of_a_review_has_its_keys(tmp_path: Path) -> None:
    old, new = write(tmp_path / "old", seq(A, C)), write(tmp_path / "new", seq(A, B, C))
    found = json.loads(thawline("spec", "diff", "--structure", "--format", "json", old, new).stdout)
    assert (found["exit_code"], found["outcome"], found["breaks_api"]) == (2, "breaking", False)
    (change,) = found["changes"]
    assert change == {
        "kind": "added",
        "path": "sample.b",
        "before": "",
        "after": "u2",
        "verdict": "breaking",
        "reason": "old files do not have it, so what follows lies elsewhere",
        "breaks_api": False,
        "place": f"{new}:4:5",
    }
    assert found["layouts"][0]["lines"][1] == {
        "mark": "+", "name": "b", "before": None, "after": {"offset": "4", "size": "2", "type": "u2le"},
    }  # fmt: skip
    assert found["behaviour"]["skipped"] == found["derived"]["skipped"] == "only the structure was requested"


# Versions: files, folders, commits.


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """Two commits of a folder of specs, one of which imports the other, and a working tree that is dirty."""
    folder = tmp_path / "project"
    folder.mkdir()
    git(folder, "init", "--quiet", "--initial-branch", "main")
    write(folder / "specs", seq("- {id: a, type: inner}"), "endian: le, imports: [inner]", "outer")
    write(folder / "specs", seq(A), name="inner")
    git(folder, "add", ".")
    git(folder, "commit", "--quiet", "-m", "first")
    write(folder / "specs", seq(A, B), name="inner")
    git(folder, "commit", "--quiet", "-am", "second")
    write(folder / "specs", seq(A, B, C), name="inner")
    return folder


def git(folder: Path, *arguments: str) -> str:
    who = ["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false"]
    return subprocess.run(["git", *who, *arguments], cwd=folder, capture_output=True, text=True, check=True).stdout


def test_commits_are_compared_without_touching_the_working_tree(repository: Path) -> None:
    before = git(repository, "status", "--porcelain")
    run = thawline("spec", "diff", "--structure", "HEAD~1:specs", "HEAD:specs", folder=repository)
    assert run.returncode == 2
    assert "| **breaking** | added | `inner.b` |" in run.stdout
    assert "`inner.c`" not in run.stdout
    assert git(repository, "status", "--porcelain") == before


def test_a_file_of_a_commit_brings_what_it_imports(repository: Path) -> None:
    run = thawline("spec", "diff", "--structure", "HEAD:specs/outer.ksy", "specs/outer.ksy", folder=repository)
    assert "added | `inner.c`" in run.stdout


def test_a_commit_can_be_read_from_a_subfolder(repository: Path) -> None:
    run = thawline("spec", "diff", "--structure", "HEAD~1:specs", "HEAD:specs", folder=repository / "specs")
    assert "added | `inner.b`" in run.stdout


def test_a_spec_that_only_one_side_has_is_added_or_removed(repository: Path) -> None:
    write(repository / "specs", seq("- {id: q, type: str, size: 3, encoding: UTF-8}"), name="third")
    (repository / "specs" / "outer.ksy").unlink()
    run = thawline("spec", "diff", "--structure", "HEAD:specs", "specs", folder=repository)
    assert "| **breaking**, API | removed | `outer` |" in run.stdout
    assert "| API addition | added | `third` |" in run.stdout


def test_two_files_are_compared_whatever_they_are_called(tmp_path: Path) -> None:
    old, new = write(tmp_path, seq(A), name="one"), write(tmp_path, seq(A), name="two")
    run = thawline("spec", "diff", "--structure", old, new)
    assert "| API-breaking | renamed | `two` | `one` | `two` |" in run.stdout


@pytest.mark.parametrize(
    ("argument", "message"),
    [
        ("nowhere.ksy", "no such file or folder"),
        ("nowhere:specs", "git knows no commit 'nowhere'"),
        ("HEAD:nowhere", "HEAD has no nowhere"),
        ("--output=x:specs", "No such option"),
        ("empty", "there is no .ksy file in it"),
    ],
)
def test_a_version_that_is_not_there_is_named(repository: Path, argument: str, message: str) -> None:
    (repository / "empty").mkdir()
    run = thawline("spec", "diff", argument, "specs", folder=repository)
    assert run.returncode == 2
    assert message in run.stderr
    assert "Traceback" not in run.stderr


def test_an_import_that_is_not_there_is_named_with_its_place(tmp_path: Path) -> None:
    file = write(tmp_path, seq(A), "endian: le, imports: [nowhere]")
    run = thawline("spec", "diff", file, file)
    assert (run.returncode, run.stderr) == (2, f"thawline: {file}:1:42: there is no {tmp_path}/nowhere.ksy to import\n")


# Specs that are none.


def hostile() -> Iterator[tuple[str, bytes]]:
    yield "no YAML", b"seq:\n  - id: [\n"
    yield "a list", b"- 1\n"
    yield "nothing", b""
    yield "not UTF-8", b"meta:\n  id: \xff\n"
    yield "control characters", b"meta: \x00\n"
    yield "a number for seq", b"seq: 5\n"
    yield "a number for a field", b"seq:\n  - 5\n"
    yield "a list for a type", b"seq:\n  - {id: a, type: [u4]}\n"
    yield "a switch without a value", b"seq:\n  - {id: a, type: {cases: {1: x}}}\n"
    yield "a mapping for a size", b"seq:\n  - {id: a, size: {x: 1}}\n"
    yield "bytes out of range", b"seq:\n  - {id: a, contents: [300]}\n"
    for name, rule in {
        "no list of rules": "5",
        "a rule that is none": "[5]",
        "a rule without a tool": "[{longer-than: 5}]",
        "a rule that never holds": "[{tool: x}]",
        "a rule with two conditions": "[{tool: x, longer-than: 5, holding: 0}]",
        "a rule with an unknown key": "[{tool: x, shorter-than: 5}]",
        "a limit that is none": "[{tool: x, longer-than: [5]}]",
        "a range that is none": "[{tool: x, outside: [9, 1]}]",
        "a pattern that is none": "[{tool: x, written: '('}]",
        "a pattern that is too long": f"[{{tool: x, written: '{'a' * 2000}'}}]",
        "a tool that is none": "[{tool: {x: 1}, longer-than: 5}]",
        "words with an unknown place": "[{tool: x, longer-than: 5, because: '{size}'}]",
        "words with half a place": "[{tool: x, longer-than: 5, because: 'a } b'}]",
        "a flag that is none": "[{tool: x, written: a, tolerated: 1}]",
    }.items():
        yield name, f"seq:\n  - {{id: a, type: u1, -refused-by: {rule}}}\n".encode()
    yield "tools that are none", b"-tools: 5\nseq: []\n"
    yield "a tool without a code", b"-tools: {x: {warning: W1}}\nseq: []\n"
    yield "a word as an enum value", b"enums: {kind: {one: 1}}\n"
    yield "a list as a key", b"seq: []\n? [a, b]\n: 1\n"
    yield "a key twice", b"seq: []\nseq: []\n"
    yield "an object of Python", b"meta: !!python/object/apply:os.system [ls]\n"
    yield "a number of ten thousand digits", b"meta: {id: " + b"9" * 10_000 + b"}\n"
    yield "deep nesting", b"meta: " + b"[" * 20_000 + b"]" * 20_000
    yield (
        "deep types",
        b"".join(b" " * (2 * depth) + b"types:\n" + b" " * (2 * depth + 1) + b"t:\n" for depth in range(60)),
    )
    yield (
        "aliases that double",
        b"a0: &a0 [x]\n" + b"".join(b"a%d: &a%d [*a%d, *a%d]\n" % (n, n, n - 1, n - 1) for n in range(1, 40)),
    )
    yield "an alias inside itself", b"meta: &a [*a]\n"
    yield (
        "more fields than any format has",
        b"seq:\n" + b"".join(b"  - {id: a%d, type: u1}\n" % n for n in range(3_000)),
    )
    yield "a huge file", b"# " + b"x" * MAX_SIZE


@pytest.mark.parametrize("content", [content for _, content in hostile()], ids=[name for name, _ in hostile()])
def test_what_is_no_spec_is_refused_with_its_place(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "bad.ksy"
    file.write_bytes(content)
    with pytest.raises(SpecError, match=rf"^{file}:\d+:\d+: "):
        load_version(str(file))


def test_a_spec_that_cannot_be_read_gives_its_place_and_exit_code_2(tmp_path: Path) -> None:
    file = tmp_path / "bad.ksy"
    file.write_text("meta:\n  id: bad\nseq:\n  - id: [\n", encoding="utf-8")
    for command in (["spec", "diff", file, file], ["spec", "lint", file], ["spec", "show", file]):
        run = thawline(*command)
        assert run.returncode == 2
        assert run.stderr.startswith(f"thawline: {file}:")
        assert "Traceback" not in run.stderr


def test_the_most_fields_in_the_worst_order_take_a_bounded_time(tmp_path: Path) -> None:
    fields = [f"- {{id: a{number}, type: u1}}" for number in range(2_000)]
    started = time.process_time()
    assert review(tmp_path, seq(*fields), seq(*reversed(fields))).exit_code == 2
    assert time.process_time() - started < 10


def test_types_that_contain_themselves_have_no_size_and_do_no_harm(tmp_path: Path) -> None:
    body = "seq: [{id: a, type: t}]\ntypes: {t: {seq: [{id: b, type: t}, {id: c, type: u1}]}}\n"
    assert review(tmp_path, body, body.replace("u1", "u2")).exit_code == 2
