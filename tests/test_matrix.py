"""Every command over a file of every kind, intact and damaged, on a pipe and on a terminal of 80 columns.

Commands are found by walking those that there are: one that this module has no arguments for is a failure.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from accounts import GOLDEN
from in_process import Ran, on_pipe, on_terminal
from kinds import KINDS, Kind, golden_kinds

from thawline.cli import commands
from thawline.formats import FORMATS, get

COLUMNS = 80
CONTRACT = {0, 1, 2, 3}

PER_FILE = {
    "": ["{file}", "- < {file}"],
    "identify": ["{file}", "- < {file}"],
    "info": ["{file}", "- < {file}"],
    "stats": ["{file}", "{file} --vertical"],
    "cat": ["{file}", "{file} --vertical", "- < {file}", "{file} --on-error keep"],
    "head": ["{file}", "-n 2 {file} --vertical"],
    "tail": ["{file}", "-n 1 - < {file}"],
    "diff": ["{file} {file}", "{file} {file} --format csv --limit 2"],
    "sql": ["{rows}", "{count}"],
    "convert": ["{file} -o {out}.parquet", "{file} -o {out}.csv"],
    "verify": ["{file}", "-v {file} --format csv", "- < {file}"],
    "report": ["{file} -o {out}.html", "{file} --format json", "- --format md < {file}"],
    "inspect": ["{file}", "{file} --finding 1", "{file} --unit 1 --spec-names", "- < {file}"],
    "salvage": ["{file} -o {out}", "{file} -o {out}.whole --recover --include-suspects"],
    "glance": ["{file}"],
    "kafka index": ["{file} -o {out}.indexes"],
    "aerospike rewrite": ["{file} -o {out}.asb"],
    "rbak manifest": ["{file} -o {out}.json"],
    "rbak rewrite": ["{file} --to {out}.part"],
    "borg archives": ["{file}"],
    "borg items": ["{file} kitchen"],
    "borg diff": ["{file} kitchen kitchen"],
    "borg extract": ["{file} kitchen -o {out}.files"],
    "borg index": ["{file}", "{file} --rebuild {out}.jsonl"],
    "ingest": ["{file}"],
}
"""Arguments of commands that take a file. Without a command it is a glance. `ingest` starts Spark, and has modules of
its own in tests/spark; here it is told too little, which it must say."""
ONCE = {
    "formats": ["", "--vertical"],
    "schema": [*FORMATS, "kafka --vertical", "nosuch", "rbf --table nosuch"],
    "help": ["", *FORMATS, "cat", "nosuch"],
    "explain": ["", *(code.id for name in FORMATS for code in get(name).codes), "nosuch"],
    "completion": ["bash", "zsh", "fish", "nosuch"],
    **{f"lake {name}": ["nosuch", "/dev/null"] for name in ("status", "history", "compact", "vacuum")},
    "lake forget": ["nosuch file", "/dev/null file"],
    "spec diff": [f"--structure {GOLDEN.parents[1] / 'schemas'} {GOLDEN.parents[1] / 'schemas'}", "nosuch nosuch"],
    "spec check": [f"{GOLDEN.parents[1] / 'schemas' / 'rbf_frame.ksy'}", "nosuch"],
    "spec cache": ["", "--clear"],
    "spec lint": ["", "nosuch"],
    "spec show": [*FORMATS, "kafka_record_batch", "nosuch"],
}
"""Arguments of commands that need no file."""
VERBATIM = {"completion", "spec diff", "--format"}
"""What they print is for a shell, a review or a program, and is not cut to a terminal."""


def leaves(group: click.Group, above: str = "") -> Iterator[tuple[str, click.Command]]:
    """Every command with its full name; those of groups, not the groups."""
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        if isinstance(command, click.Group):
            yield from leaves(command, f"{above}{name} ")
        else:
            yield f"{above}{name}", command


def test_every_command_has_its_place_in_the_matrix() -> None:
    assert {name for name, _ in leaves(commands)} == {*PER_FILE, *ONCE} - {""}


def test_every_kind_of_golden_file_has_its_place_in_the_matrix() -> None:
    missing = golden_kinds() - {kind.golden for kind in KINDS}
    assert not missing


def problems(ran: Ran, line: str, *, terminal: bool) -> Iterator[str]:
    """What is wrong with how a command ended and with what it wrote."""
    text = ran.out + ran.err
    if "Traceback" in text or "mistake in thawline" in text:
        yield f"{line}: {text.strip().splitlines()[-2:]}"
    if ran.code not in CONTRACT:
        yield f"{line}: exit code {ran.code}"
    if ran.code >= 2 and "thawline" not in text:
        yield f"{line}: exit code {ran.code} without a word"
    if terminal and not any(mark in line for mark in VERBATIM):
        yield from (f"{line}: too wide: {wide!r}" for wide in ran.wide_lines(COLUMNS) if not may_be_wide(wide))


def may_be_wide(line: str) -> bool:
    """Whether a line is to be copied: a command, or a path on a line of its own.

    It is never broken: what a terminal wraps by itself is still one line when it is copied.
    """
    bare = re.sub(r"^ *(next|help:|thawline: {3})? *", "", line)
    is_path = "/" in bare and " " not in bare
    return is_path or bare.startswith(("thawline ", "mkdir ", "mv ", "rm ", "borg "))


def ran(command: str, arguments: str, folder: Path, file: str, *, terminal: bool) -> tuple[str, Ran]:
    """A command line with its outcome."""
    out = f"out-{command.replace(' ', '-')}-{'terminal' if terminal else 'pipe'}"
    place = "'" + file.replace("'", "''") + "'"
    queries = {"rows": f"from {place} limit 2", "count": f"select count(*) from {place}"}  # noqa: S608 - of tests
    quoted = {name: shlex.quote(text) for name, text in {**queries, "file": file}.items()}
    line = f"{command} {arguments.format(**quoted, out=out)}".strip()
    given, _, stdin = line.partition(" < ")
    if stdin and not Path(folder, file).is_file():
        return line, Ran(0, "")
    source = Path(folder, file) if stdin else None
    return line, (on_terminal if terminal else on_pipe)(shlex.split(given), folder, source)


@pytest.mark.parametrize("terminal", [False, True], ids=["pipe", "terminal"])
@pytest.mark.parametrize("damaged", [False, True], ids=["intact", "damaged"])
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name.replace(" ", "-"))
def test_every_command_keeps_its_promises_for_every_file(
    kind: Kind, tmp_path: Path, *, damaged: bool, terminal: bool
) -> None:
    kind.write(tmp_path, damaged=damaged)
    found: list[str] = []
    for command, variants in PER_FILE.items():
        for arguments in variants:
            line, outcome = ran(command, arguments, tmp_path, kind.path, terminal=terminal)
            found += problems(outcome, line, terminal=terminal)
            if command == "verify" and outcome.code != kind.codes[damaged] and "-" not in arguments:
                found.append(f"{line}: exit code {outcome.code} instead of {kind.codes[damaged]}")
    assert not found, "\n".join(found)


@pytest.mark.parametrize("terminal", [False, True], ids=["pipe", "terminal"])
@pytest.mark.parametrize("command", ONCE)
def test_every_command_without_a_file_keeps_its_promises(command: str, tmp_path: Path, *, terminal: bool) -> None:
    found: list[str] = []
    for arguments in ONCE[command]:
        line, outcome = ran(command, arguments, tmp_path, "", terminal=terminal)
        found += problems(outcome, line, terminal=terminal)
    assert not found, "\n".join(found)


@pytest.mark.parametrize("name", ["", *(name for name, _ in leaves(commands)), "kafka", "borg", "spec"])
def test_help_fits_a_terminal(name: str, tmp_path: Path) -> None:
    outcome = on_terminal([*name.split(), "--help"], tmp_path)
    assert outcome.code == 0
    assert all(map(may_be_wide, outcome.wide_lines(COLUMNS)))


@pytest.mark.parametrize("damaged", [False, True], ids=["intact", "damaged"])
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name.replace(" ", "-"))
def test_what_verify_says_and_how_it_ends_agree(kind: Kind, tmp_path: Path, *, damaged: bool) -> None:
    kind.write(tmp_path, damaged=damaged)
    outcome = on_pipe(["verify", kind.path], tmp_path)
    reports = [json.loads(line) for line in outcome.out.splitlines()]
    assert reports
    for report in reports:
        assert report.get("ok") == {"ok": True, "damaged": False}.get(report["status"])
    found = {report["status"] for report in reports}
    assert outcome.code == (3 if "unknown" in found else 1 if "damaged" in found else 0)
