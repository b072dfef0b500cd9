from __future__ import annotations

import io
import json
import os
import re
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pyarrow as pa
import pytest
from accounts import GOLDEN
from conftest import ROOT
from pyarrow import parquet
from transcripts import on_terminal, surroundings

from thawline.cli import ALIASES, COMMANDS, commands
from thawline.cli.progress import Progress
from thawline.formats import FORMATS, get
from thawline.formats.rbf.write import encode
from thawline.rendering.rows import Terminal
from thawline.values import objects

THAWLINE = [sys.executable, "-m", "thawline"]
ORDERS = GOLDEN / "rbf" / "many-frames.rbf"


def thawline(*arguments: object, folder: Path | None = None, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [*THAWLINE, *map(str, arguments)]
    return subprocess.run(
        command, capture_output=True, text=True, check=False, cwd=folder, env=surroundings(**environment)
    )


def in_shell(command: str, folder: Path) -> tuple[str, str]:
    run = subprocess.run(
        ["bash", "-c", command], capture_output=True, text=True, check=False, cwd=folder, env=surroundings()
    )
    return run.stdout, run.stderr


@pytest.fixture
def flipped(tmp_path: Path) -> Path:
    """A log with one damaged frame."""
    data = bytearray(ORDERS.read_bytes())
    data[970] ^= 1
    path = tmp_path / "flipped.rbf"
    path.write_bytes(data)
    return path


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A log whose rows do not fit into a pipe."""
    path = tmp_path_factory.mktemp("large") / "large.rbf"
    path.write_bytes(b"RBF1" + encode(1, b"payload " * 64) * 20_000)
    return path


# Exit codes.


def test_a_clean_file_is_0_and_silent_on_stderr() -> None:
    run = thawline("verify", ORDERS)
    assert (run.returncode, run.stderr) == (0, "")


def test_damage_is_1_and_the_work_is_done(flipped: Path) -> None:
    run = thawline("cat", flipped)
    assert run.returncode == 1
    assert len(run.stdout.splitlines()) == 39
    assert "skipped 60 damaged bytes" in run.stderr


@pytest.mark.parametrize(
    "arguments",
    [["cat"], ["cat", "--nosuch", ORDERS], ["nosuch"], ["cat", "nosuch.rbf"], ["convert", ORDERS, "-o", "no/out.csv"]],
)
def test_wrong_usage_and_what_cannot_be_read_or_written_is_2(arguments: list[object]) -> None:
    assert thawline(*arguments).returncode == 2


def test_an_unknown_format_is_3() -> None:
    assert thawline("identify", __file__).returncode == 3


def test_the_highest_code_of_several_files_counts(flipped: Path) -> None:
    assert thawline("verify", ORDERS, flipped).returncode == 1
    assert thawline("verify", flipped, "nosuch.rbf", ORDERS).returncode == 2
    assert thawline("verify", flipped, __file__, "nosuch.rbf").returncode == 3


def test_exit_zero_forgives_damage_and_nothing_else(flipped: Path) -> None:
    assert thawline("verify", "--exit-zero", flipped).returncode == 0
    assert thawline("verify", "--exit-zero", flipped, "nosuch.rbf").returncode == 2


def test_a_mistake_in_the_program_is_not_taken_for_damage() -> None:
    code = "import thawline.cli as c; c._dispatch = lambda _: 1 // 0; raise SystemExit(c.run([]))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert run.returncode == 2
    assert "mistake in thawline" in run.stderr


def test_errors_are_one_sentence(flipped: Path, tmp_path: Path) -> None:
    for arguments in (
        ["cat", "nosuch.rbf"],
        ["cat", __file__],
        ["cat", tmp_path / "*.log"],
        ["cat", "--on-error", "raise", flipped],
        ["convert", ORDERS, "-o", tmp_path / "x.txt"],
        ["cat", "memory://nosuch/x.rbf"],
        ["cat", "nosuch://x.rbf"],
        ["help", "nosuch"],
    ):
        error = thawline(*arguments).stderr
        assert re.fullmatch(r"thawline: .+\n", error), error


# Closed pipes and Ctrl-C.


@pytest.mark.parametrize("shape", ["jsonl", "json", "csv", "table"])
def test_a_closed_pipe_is_silent_and_0(shape: str, large: Path) -> None:
    out, err = in_shell(f"thawline cat --format {shape} {large} | head -1 | wc -l; echo ${{PIPESTATUS[0]}}", ROOT)
    assert (out.split(), err) == (["1", "0"], "")


def test_a_closed_pipe_of_binary_or_of_help_is_silent_and_0(large: Path) -> None:
    for command in (f"thawline cat --format arrow {large}", "thawline --help", f"thawline verify {ORDERS}"):
        out, err = in_shell(f"{command} | true; echo ${{PIPESTATUS[0]}}", ROOT)
        assert (out, err) == ("0\n", "")


def test_a_closed_stderr_is_silent_too(flipped: Path) -> None:
    out, _ = in_shell(
        f"(thawline cat {flipped} nosuch.rbf 2>&1; echo $? >&3) 3>code | true; sleep 2; cat code", flipped.parent
    )
    assert out in {"0\n", "2\n"}  # whether the pipe was closed by then


def slow_command(name: str, *arguments: object) -> subprocess.Popen[bytes]:
    """A command that is interrupted once it has opened its first file."""
    code = f"""
import os, signal, sys, time
from thawline.cold import ColdFile
batches = ColdFile.batches
def slow(self, columns=None, where=None):
    for batch in batches(self, columns, where):
        yield batch
        print("ready", file=sys.stderr, flush=True)
        time.sleep(60)
ColdFile.batches = slow
from thawline.cli import run
sys.exit(run({[name, *map(str, arguments)]!r}))
"""
    return subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def test_ctrl_c_is_130_and_leaves_no_file(tmp_path: Path) -> None:
    process = slow_command("convert", ORDERS, "-o", tmp_path / "out.parquet")
    assert process.stderr
    assert process.stderr.readline() == b"ready\n"
    assert list(tmp_path.iterdir()) != []
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=30)
    assert (process.returncode, out, err) == (130, b"", b"thawline: interrupted\n")
    assert list(tmp_path.iterdir()) == []


# stdout, stderr, colour, progress.


def test_quiet_leaves_errors_only(flipped: Path) -> None:
    assert thawline("cat", "-q", flipped).stderr == ""
    assert "nosuch.rbf" in thawline("cat", "-q", "nosuch.rbf").stderr


@pytest.mark.parametrize(
    ("arguments", "environment", "is_colored"),
    [
        ("", {}, True),
        ("", {"NO_COLOR": "1"}, False),
        ("", {"TERM": "dumb"}, False),
        ("", {"TERM": "dumb", "FORCE_COLOR": "1"}, True),
        ("--color never", {"FORCE_COLOR": "1"}, False),
        ("--color always", {"NO_COLOR": "1"}, True),
        ("| cat", {}, False),
        ("--format table | cat", {"FORCE_COLOR": "1"}, True),
    ],
)
def test_colour_is_for_those_who_want_it(arguments: str, environment: dict[str, str], *, is_colored: bool) -> None:
    environment = {"NO_COLOR": "", **environment}
    _, out, _ = on_terminal(f"thawline verify {ORDERS} {arguments}", str(ROOT), **environment)
    assert ("\x1b[" in out) == is_colored


def test_progress_is_shown_on_a_terminal_after_a_second(monkeypatch: pytest.MonkeyPatch) -> None:
    class Stream(io.StringIO):
        def isatty(self) -> bool:
            return True

    clock = iter([0.0, 0.0, 0.5, 1.5, 1.5, 2.0])
    monkeypatch.setattr(time, "monotonic", lambda: next(clock, 2.0))
    monkeypatch.setenv("TERM", "xterm")
    stream = Stream()
    progress = Progress("auto", stream)
    progress.start("a.rbf", 1000)
    progress.reach(10)
    assert stream.getvalue() == ""
    progress.reach(500)
    assert "a.rbf  50 %" in stream.getvalue()
    progress.clear()
    assert stream.getvalue().endswith("\r\x1b[K")


def test_progress_as_json_is_for_programs() -> None:
    stream = io.StringIO()
    progress = Progress("json", stream)
    progress.start("a.rbf", 1000)
    progress.due = 0
    progress.reach(400)
    line = json.loads(stream.getvalue())
    assert (line["message_type"], line["file"], line["position"], line["size"]) == ("progress", "a.rbf", 400, 1000)


def test_there_is_no_progress_in_a_pipe() -> None:
    assert Progress("auto", io.StringIO()).mode == "none"


def test_what_a_file_holds_cannot_control_the_terminal(tmp_path: Path) -> None:
    path = tmp_path / "evil\x1b[31m.rbf"
    path.write_bytes(b"RBF1" + encode(1, b"\x1b]0;owned\x07 \xc2\x9b2J") + b"torn")
    for command in ("cat", "verify", "info", "tail", "inspect", ""):
        _, out, err = on_terminal(f"thawline {command} *.rbf", str(tmp_path))
        assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f]", out + err), command


# The contracts.


def test_verify_prints_one_object_a_file_with_the_promised_keys(flipped: Path) -> None:
    clean, damaged = map(json.loads, thawline("verify", "--format", "jsonl", ORDERS, flipped).stdout.splitlines())
    keys = ["file", "status", "format", "size", "ok", "units", "rows", "intact_bytes", "damaged_bytes", "findings"]
    assert list(clean) == list(damaged) == keys
    assert clean == {
        "file": str(ORDERS), "status": "ok", "format": "rbf", "size": 1628, "ok": True, "units": 40, "rows": 40,
        "intact_bytes": 1628, "damaged_bytes": 0, "findings": [],
    }  # fmt: skip
    (finding,) = damaged["findings"]
    assert list(finding) == ["code", "severity", "start", "end", "message", "detail", "hint"]
    assert (finding["code"], finding["severity"], finding["start"], finding["end"]) == ("RBF104", "error", 956, 1016)


def test_cat_prints_every_row_with_every_column_and_binary_as_hex() -> None:
    account = json.loads((GOLDEN / "rbf" / "many-frames.rbf.json").read_text(encoding="utf-8"))
    rows = [
        json.loads(line) for line in thawline("cat", "--format", "jsonl", "--bytes", "hex", ORDERS).stdout.splitlines()
    ]
    assert all(list(row) == get("rbf").tables["frames"].schema.names for row in rows)
    assert len(rows) == len([unit for unit in account["units"] if "payload" in json.dumps(unit)])
    assert bytes.fromhex(rows[1]["payload"]) == b"record 1"


NESTED = pa.schema(
    [
        ("key", pa.binary()),
        ("headers", pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))),
        ("digest", pa.binary(2)),
        ("time", pa.timestamp("ms", tz="UTC")),
    ]
)
NESTED_ROW = {"key": b"\xff", "headers": [{"key": "a", "value": b"\xfe"}, {"key": "b", "value": b"x"}], "digest": b"ab"}


def rows_of(mode: Any, **row: Any) -> list[dict[str, Any]]:
    return list(objects(pa.RecordBatch.from_pylist([{**NESTED_ROW, **row}], schema=NESTED), mode))


def test_bytes_are_text_where_they_are_and_base64_beside_a_null_where_not() -> None:
    assert rows_of("auto", time=1_500) == [
        {
            "key": None,
            "key_b64": "/w==",
            "headers": [{"key": "a", "value": None, "value_b64": "/g=="}, {"key": "b", "value": "x"}],
            "digest": "ab",
            "time": "1970-01-01T00:00:01.500Z",
        }
    ]
    assert rows_of("auto", key=b"k")[0] == {**rows_of("auto", key=b"k")[0], "key": "k"}
    assert "key_b64" not in rows_of("auto", key=b"k")[0]
    assert "key_b64" not in rows_of("auto", key=None)[0]


def test_bytes_can_be_shown_all_alike() -> None:
    assert [row["headers"][0]["value"] for row in rows_of("hex")] == ["fe"]
    assert [row["digest"] for row in rows_of("base64")] == ["YWI="]
    assert [row["key"] for row in rows_of("utf8")] == ["\ufffd"]


def test_a_table_shows_nested_values_and_cuts_long_ones() -> None:
    from rich.console import Console  # noqa: PLC0415 - only here

    out = io.StringIO()
    table = Terminal(Console(file=out, width=60), "auto", NESTED)
    table.write(pa.RecordBatch.from_pylist([{**NESTED_ROW, "key": b"k" * 1000, "time": 0}], schema=NESTED))
    table.close()
    assert all(len(line) <= 60 for line in out.getvalue().splitlines())
    assert "…" in out.getvalue()


# Inputs.


def test_many_files_have_a_column_for_the_file(tmp_path: Path) -> None:
    rows = [
        json.loads(line)
        for line in thawline("head", "-n", 1, ORDERS, GOLDEN / "rbf" / "payload-1.rbf").stdout.splitlines()
    ]
    assert [Path(row["file"]).name for row in rows] == ["many-frames.rbf", "payload-1.rbf"]
    assert thawline("convert", ORDERS, ORDERS, "-o", tmp_path / "both.parquet").returncode == 0
    table = parquet.read_table(tmp_path / "both.parquet")
    assert (table.num_rows, table.column_names[0]) == (80, "file")


def test_globs_folders_and_subfolders(tmp_path: Path) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    for name in ("one.rbf", "a/two.rbf", "a/b/three.rbf", "a/.hidden.rbf"):
        (tmp_path / name).write_bytes(ORDERS.read_bytes())
    (tmp_path / "a" / "notes.txt").write_text("hello")

    def names(*arguments: str) -> list[str]:
        run = thawline("identify", *arguments, folder=tmp_path)
        objects = map(json.loads, run.stdout.splitlines())
        return [found["file"] for found in objects if "status" not in found]

    assert names("a") == names("-r", "a") == ["a/two.rbf", "a/b/three.rbf"]
    assert names("--no-recursive", "a") == ["a/two.rbf"]
    assert names("**/t*.rbf") == ["a/b/three.rbf", "a/two.rbf"]
    assert names("one.rbf", "a") == ["one.rbf", "a/two.rbf", "a/b/three.rbf"]


def test_a_folder_of_nothing_known_is_3_and_leaves_no_output(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "notes.txt").write_text("hello")
    assert thawline("convert", "in", "-o", "out.csv", folder=tmp_path).returncode == 3
    assert not (tmp_path / "out.csv").exists()
    assert thawline("verify", "in", folder=tmp_path).returncode == 3


def test_a_name_with_brackets_is_a_name_before_it_is_a_pattern(tmp_path: Path) -> None:
    (tmp_path / "log[1].rbf").write_bytes(ORDERS.read_bytes())
    assert thawline("verify", "log[1].rbf", folder=tmp_path).returncode == 0


def test_stdin_and_urls() -> None:
    out, _ = in_shell(
        f"thawline cat - < {ORDERS} | wc -l; cat {ORDERS} | thawline verify -; thawline cat file://{ORDERS} | wc -l",
        ROOT,
    )
    first, report, last = out.splitlines()
    assert (first.strip(), last.strip()) == ("40", "40")
    assert json.loads(report)["file"] == "<stdin>"


@pytest.mark.parametrize("suffix", ["parquet", "arrow", "jsonl", "csv"])
def test_convert_writes_every_row(suffix: str, tmp_path: Path) -> None:
    target = tmp_path / f"out.{suffix}"
    assert thawline("convert", ORDERS, "-o", target).returncode == 0
    readers = {
        "parquet": lambda: parquet.read_table(target).num_rows,
        "arrow": lambda: pa.ipc.open_file(target).read_all().num_rows,
        "jsonl": lambda: len(target.read_text().splitlines()),
        "csv": lambda: len(target.read_text().splitlines()) - 1,
    }
    assert readers[suffix]() == 40


def test_salvage_as_json_says_what_was_lost(flipped: Path) -> None:
    run = thawline("salvage", flipped, "-o", "intact.rbf", "--json", folder=flipped.parent)
    done = json.loads(run.stdout)
    assert (run.returncode, done["units"], [finding["code"] for finding in done["lost"]]) == (1, 39, ["RBF104"])
    assert run.stderr.endswith("thawline: now run: thawline verify intact.rbf\n")


# Help.


def all_commands() -> Iterator[tuple[str, click.Command]]:
    yield "thawline", commands
    yield from ((name, found) for name in COMMANDS if (found := commands.get_command(click.Context(commands), name)))


@pytest.mark.parametrize(("name", "command"), list(all_commands()))
def test_every_command_and_every_option_has_help(name: str, command: click.Command) -> None:
    assert command.help
    assert "\n" not in command.help.split("\n\n")[0] or len(command.help.split("\n\n")[0]) < 200
    for param in command.params:
        if isinstance(param, click.Option):
            assert param.help, f"{name} {param.opts[0]}"


def test_aliases_are_the_command_itself() -> None:
    assert thawline("check", ORDERS).stdout == thawline("validate", ORDERS).stdout == thawline("verify", ORDERS).stdout
    assert set(ALIASES) & set(COMMANDS) == set()


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_has_a_page_that_lists_its_tables_columns_and_codes(name: str) -> None:
    page = thawline("help", name).stdout
    for code in get(name).codes:
        assert f"| {code.id} | {code.severity} | {code.message} |" in page
    listed = set(re.findall(r"^\| ([A-Z]{3}\d{3}) \|", page, re.MULTILINE))
    assert listed == {code.id for code in get(name).codes}
    for table in get(name).tables:
        assert f"`{table}`" in page
        assert f"<!-- columns of {table} -->" in (ROOT / "schemas" / f"{name}.md").read_text(encoding="utf-8")
    assert "<!--" not in page


def test_a_page_has_the_name_the_type_and_the_meaning_of_a_column() -> None:
    page = thawline("help", "kafka").stdout
    assert (
        "| `partition` | int32 | number of the partition, as the folder is called; null where that says nothing |"
        in page
    )
    assert "| `headers` | list | key and value of each; values may be null |" in page
    assert "| `batch_start` | int64 | byte position of the batch in its file |" in page


@pytest.mark.parametrize("code", [code for name in FORMATS for code in get(name).codes], ids=lambda code: code.id)
def test_every_code_is_explained(code: Any) -> None:
    assert re.fullmatch(r"[A-Z]{3}\d{3}", code.id)
    assert code.message[0].islower() or code.message.split()[0] != code.message.split()[0].lower()
    assert not code.message.endswith(".")
    assert len(code.explanation) > 60
    assert code.explanation.endswith(".")


def test_help_and_completion_import_nothing_heavy() -> None:
    heavy = {"pyarrow", "rich", "orjson", "numpy", "kaitaistruct", "fsspec", "pyspark"}
    for arguments in (["--help"], ["cat", "--help"], ["completion", "fish"]):
        code = f"import sys; from thawline.cli import run; run({arguments!r}); print(*sys.modules, file=sys.stderr)"
        run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        assert {name.partition(".")[0] for name in run.stderr.split()} & heavy == set()


def test_help_answers_at_once() -> None:
    def seconds() -> float:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([*THAWLINE, "--help"], check=True, capture_output=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime

    # The processor's time, not the wall's: the machine may be busy with other tests.
    assert min(seconds() for _ in range(3)) < 0.25


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts(shell: str) -> None:
    assert "_THAWLINE_COMPLETE" in thawline("completion", shell).stdout


def test_completion_knows_commands_formats_and_codes() -> None:
    def completed(words: str, number: int) -> str:
        environment = {"_THAWLINE_COMPLETE": "bash_complete", "COMP_WORDS": words, "COMP_CWORD": str(number)}
        return thawline(**environment).stdout

    assert "verify" in completed("thawline ve", 1)
    assert "rbf" in completed("thawline schema r", 2)
    assert "RBF104" in completed("thawline explain RBF10", 2)


def test_the_module_is_the_command() -> None:
    assert thawline("--version").stdout.startswith("thawline ")
    script = Path(sys.executable).parent / "thawline"
    run = subprocess.run([script, "--version"], capture_output=True, text=True, check=True, env=dict(os.environ))
    assert run.stdout == thawline("--version").stdout
