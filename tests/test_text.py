"""Text that is no text: names that are not UTF-8 or drive a terminal, cells that a spreadsheet would run."""

from __future__ import annotations

import base64
import csv
import json
import os
import shutil
import subprocess
import unicodedata
from pathlib import Path

import orjson
import pyarrow as pa
import pytest
from accounts import GOLDEN
from in_process import Ran, on_pipe, on_terminal
from pyarrow import ipc, parquet

from thawline.formats.kafka.write import KafkaSegmentWriter
from thawline.formats.rbf.write import RbfWriter
from thawline.options import BadOption, Option
from thawline.values import iso_times, json_line
from thawline.wording import printable, quoted

NAMES = [b"a\xff\xfe.rbf", b"\x1b[31mred\x1b[0m.rbf", "rtl\u202efbr.rbf".encode(), b"new\nline.rbf", b"it's $HOME.rbf"]
HOSTILE = b"\xff\x1b[2J\xe2\x80\xae'\n \xc2\x9b.rbf"
"""Not UTF-8, clears the screen, turns the direction of writing, ends a quote and a line, and has a C1 control."""


def made(folder: Path, name: bytes, *, damaged: bool = True) -> str:
    """A log under some name; the name as Python has it."""
    data = bytearray((GOLDEN / "rbf/many-frames.rbf").read_bytes())
    data[970] ^= 0xFF if damaged else 0
    place = os.fsencode(folder) + b"/" + name
    with open(place, "wb") as file:  # noqa: PTH123 - a name that is no text
        file.write(data)
    return os.fsdecode(name)


def is_harmless(text: str) -> bool:
    """Whether nothing in a text drives a terminal: no control but the ends of lines, no format, no surrogate."""
    return not any(unicodedata.category(letter) in {"Cc", "Cf", "Cs", "Co"} and letter != "\n" for letter in text)


@pytest.mark.parametrize(
    "text, shown",
    [
        ("\x1b[31m", r"\x1b[31m"),
        ("\x9b31m", r"\x9b31m"),
        ("a\u202eb\u2066c\u200fd", r"a\u202eb\u2066c\u200fd"),
        ("a\u200bb\u200dc\ufeffd\u00ad", r"a\u200bb\u200dc\ufeffd\xad"),
        ("a\u3164b\ufe0fc\U000e0101", r"a\u3164b\ufe0fc\U000e0101"),
        ("\ud800\udcff", r"\ud800\udcff"),
        ("\u0378\ue000\U0010ffff", r"\u0378\ue000\U0010ffff"),
        ("a\u2028b\u00a0c", r"a\u2028b\xa0c"),
        ("naïve 日本語 ελ", "naïve 日本語 ελ"),
    ],
)
def test_what_a_terminal_would_not_show_is_escaped(text: str, shown: str) -> None:
    assert printable(text) == shown


@pytest.mark.parametrize("name", [*NAMES, HOSTILE, b"-n.rbf", b"-", b"a\\b'c\x01", b"plain.rbf", "日本 語".encode()])
@pytest.mark.parametrize("shell", ["bash", "zsh", "ksh"])
def test_a_quoted_name_is_that_name_for_a_shell(name: bytes, shell: str) -> None:
    found = shutil.which(shell)
    if found is None:
        pytest.skip(f"no {shell} here")
    word = quoted(os.fsdecode(name))
    assert is_harmless(word)
    assert "\n" not in word
    run = subprocess.run([found, "-c", f"printf %s {word}"], capture_output=True, check=True)
    assert run.stdout.removeprefix(b"./") == name


COMMANDS = ["", "identify", "info", "stats", "cat", "head", "tail", "verify", "cat --on-error keep"]
SHAPES = ["", "--format table", "--format vertical", "--format json", "--format csv", "--format arrow"]


@pytest.mark.parametrize("name", [*NAMES, HOSTILE])
@pytest.mark.parametrize("command", COMMANDS)
def test_a_file_of_any_name_is_read_in_every_shape(tmp_path: Path, name: bytes, command: str) -> None:
    given = made(tmp_path, name)
    for shape in SHAPES if command else SHAPES[:1]:
        for place in (given, "."):
            ran = on_pipe([*command.split(), *shape.split(), place], tmp_path)
            assert ran.code in {0, 1}, (shape, ran.err)
            assert is_harmless(ran.err)
            assert is_harmless(ran.out) or shape.endswith(("csv", "arrow"))


@pytest.mark.parametrize("command", [*COMMANDS, "inspect"])
def test_a_name_cannot_drive_the_terminal(tmp_path: Path, command: str) -> None:
    ran = on_terminal([*command.split(), made(tmp_path, HOSTILE)], tmp_path)
    assert ran.code in {0, 1}
    assert "\x1b[2J" not in ran.out
    assert is_harmless("\n".join(ran.lines()))


def records(ran: Ran) -> list[dict[str, object]]:
    return [orjson.loads(line) for line in ran.out.splitlines()]


@pytest.mark.parametrize("command", ["identify", "info", "stats", "cat", "verify"])
def test_json_tells_the_bytes_of_every_name(tmp_path: Path, command: str) -> None:
    names = [*NAMES, HOSTILE, rb"a\udcff\udcfe.rbf"]
    for name in names:
        made(tmp_path, name)
    told = {
        base64.b64decode(found["file_b64"]) if found.get("file_b64") else os.fsencode(found["file"])  # type: ignore[arg-type]
        for found in records(on_pipe([command, "."], tmp_path))
    }
    assert told == set(names)


@pytest.mark.parametrize("suffix", ["parquet", "arrow", "jsonl", "csv"])
def test_a_converted_table_tells_the_bytes_of_every_name(tmp_path: Path, suffix: str) -> None:
    (tmp_path / "in").mkdir()
    made(tmp_path / "in", b"plain.rbf"), made(tmp_path / "in", HOSTILE)
    assert on_pipe(["convert", "in", "-o", f"out.{suffix}"], tmp_path).code == 1
    out = tmp_path / f"out.{suffix}"
    match suffix:
        case "parquet":
            rows = parquet.read_table(out).to_pylist()
        case "arrow":
            rows = ipc.open_file(out).read_all().to_pylist()
        case "jsonl":
            rows = [orjson.loads(line) for line in out.read_bytes().splitlines()]
        case _:
            rows = list(csv.DictReader(out.open(encoding="utf-8", newline="")))
    found = {(Path(row["file"]).name, base64.b64decode(row["file_b64"] or b"") or None) for row in rows}
    assert {exact for _, exact in found} == {None, b"in/" + HOSTILE}
    assert ("plain.rbf", None) in found


def test_hints_are_commands_that_work(tmp_path: Path) -> None:
    made(tmp_path, HOSTILE)
    (report,) = records(on_pipe(["verify", "."], tmp_path))
    hint = report["findings"][0]["hint"]  # type: ignore[index]
    told = subprocess.run(["bash", "-c", f"printf '%s\\0' {hint}"], capture_output=True, check=True)
    words = [os.fsdecode(word) for word in told.stdout.split(b"\0")[:-1]]
    assert words[:3] == ["thawline", "salvage", os.fsdecode(HOSTILE)]
    assert on_pipe(words[1:], tmp_path).code == 1
    assert (tmp_path / words[-1]).exists()


def test_what_is_no_utf8_inside_of_a_record_has_its_bytes_beside_it() -> None:
    line = json_line({"detail": {"path": "a\udcff", "n": 1 << 70, "x": float("nan")}, "all": ["b\udcfe"], "ok": "ü"})
    assert orjson.loads(line.replace(str(1 << 70).encode(), b"0")) == {
        "detail": {"path": r"a\udcff", "path_b64": base64.b64encode(b"a\xff").decode(), "n": 0, "x": None},
        "all": [r"b\udcfe"],
        "ok": "ü",
    }
    assert json.loads(line)["detail"]["n"] == 1 << 70


def test_json_does_not_drive_the_terminal_that_shows_it() -> None:
    text = "\x1b[2J\x7f\x9b2J\u202e\u2066\ufeff\U000e0041ü日"
    line = json_line({"text": text})
    assert is_harmless(line.decode())
    assert json.loads(line) == orjson.loads(line) == {"text": text}
    assert "ü日".encode() in line


def test_usage_errors_are_escaped(tmp_path: Path) -> None:
    for arguments in (["cat", "x\x1b[2J"], ["\x1b[2J"], ["cat", "--table", "\x1b[2J", made(tmp_path, b"a.rbf")]):
        ran = on_pipe(arguments, tmp_path)
        assert ran.code == 2
        assert is_harmless(ran.err)
        assert ran.err


@pytest.fixture
def formulas(tmp_path: Path) -> Path:
    """A log whose payloads begin like formulas."""
    path = tmp_path / "formulas.rbf"
    with RbfWriter(path) as log:
        for text in ("=1+1", "+1", "-1", "@SUM(A1)", "\tx", "\rx", "\nx", "＝1", "'x", "plain", ""):  # noqa: RUF001
            log.append(tag=0x100, payload=text.encode())
    return path


GUARDED = ["'=1+1", "'+1", "'-1", "'@SUM(A1)", "'\tx", "'\rx", "'\nx", "'＝1", "'x", "plain", ""]  # noqa: RUF001


def test_csv_is_guarded_against_spreadsheets_on_request(formulas: Path) -> None:
    plain, safe = (
        on_pipe(["cat", "--format", "csv", *more, formulas.name], formulas.parent) for more in ([], ["--csv-safe"])
    )
    assert '"=1+1"' in plain.out
    assert plain.err.count("some cells begin as formulas of a spreadsheet do; --csv-safe guards them") == 1
    assert safe.err == ""
    assert [row["payload"] for row in csv.DictReader(safe.out.splitlines(keepends=True))] == GUARDED
    assert on_pipe(["convert", formulas.name, "-o", "out.csv", "--csv-safe"], formulas.parent).code == 0
    with (formulas.parent / "out.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["payload"] for row in rows] == GUARDED
    assert rows[0]["tag"] == "256"


@pytest.mark.parametrize("command", ["cat", "head", "stats", "verify", "sql", "diff"])
def test_csv_on_a_terminal_cannot_drive_it(tmp_path: Path, command: str) -> None:
    for name in ("a\x1b[31m.rbf", "b\x1b[31m.rbf"):
        with RbfWriter(tmp_path / name) as log:
            log.append(tag=1, payload=b"\x1b[2J\x1b]0;owned\x07 \xe2\x80\xae" + name.encode())
    given = {"sql": ["from '*.rbf'"], "diff": ["a\x1b[31m.rbf", "b\x1b[31m.rbf"]}.get(command, ["."])
    out = on_terminal([command, *given, "--format", "csv", "--color", "never"], tmp_path).out
    assert "\x1b[2J" not in out
    assert "\x1b]" not in out
    assert "\x1b[31m.rbf" not in out
    assert "\u202e" not in out
    assert "\\x1b" in out or command == "verify"  # it has nothing to say


@pytest.mark.parametrize(
    "arguments", ["cat --csv-safe", "cat --csv-safe --format json", "convert --csv-safe -o o.jsonl"]
)
def test_what_is_no_csv_is_not_guarded(formulas: Path, arguments: str) -> None:
    ran = on_pipe([*arguments.split(), formulas.name], formulas.parent)
    assert ran.code == 2
    assert "--csv-safe is about CSV" in ran.err


@pytest.fixture
def far(tmp_path: Path) -> Path:
    """A segment whose records are from beyond the year 9999."""
    path = tmp_path / "00000000000000000000.log"
    with KafkaSegmentWriter(path) as segment:
        for time in (0, 253402300800000, 8_640_000_000_000_000):
            segment.append(value=b"value", timestamp=time)
    return path


@pytest.mark.parametrize("command", ["cat", "cat --format json", "head -n 3"])
def test_times_beyond_the_year_9999_are_null_and_their_numbers_are_there(far: Path, command: str) -> None:
    ran = on_pipe([*command.split(), "--columns", "timestamp,timestamp_ms", far.name], far.parent)
    found = json.loads(ran.out) if "json" in command else records(ran)
    assert [row["timestamp"] for row in found] == ["1970-01-01T00:00:00.000000Z", None, None]
    assert [row["timestamp_ms"] for row in found] == [0, 253402300800000, 8_640_000_000_000_000]


def test_stats_of_times_beyond_the_year_9999_count_them_as_nulls(far: Path) -> None:
    (found,) = (row for row in records(on_pipe(["stats", far.name], far.parent)) if row["column"] == "timestamp")
    assert (found["min"], found["max"], found["nulls"]) == (*["1970-01-01T00:00:00.000000Z"] * 2, 2)


@pytest.mark.parametrize("command", ["stats", "cat", "info", "verify", "tail", ""])
@pytest.mark.parametrize("shape", ["table", "vertical", "csv", "arrow", "json"])
def test_times_beyond_four_digits_of_a_year_do_for_every_command(far: Path, command: str, shape: str) -> None:
    ran = on_pipe([*command.split(), far.name, *(["--format", shape] if command else [])], far.parent)
    assert (ran.code, ran.err) == (0, "")


@pytest.mark.parametrize(
    "unit, java", [("ms", "+292278994-08-17T07:12:55.807Z"), ("us", "+294247-01-10T04:00:54.775807Z")]
)
def test_the_last_time_of_64_bits_is_what_java_says_it_is(unit: str, java: str) -> None:
    column = pa.array([(1 << 63) - 1, None, 0]).cast(pa.timestamp(unit, "UTC"))
    assert iso_times(column).to_pylist()[:2] == [java, None]


HUGE = "9223372036854775808"
DIGITS = "9" * 50


@pytest.mark.parametrize(
    "arguments",
    [f"cat --since {HUGE}", f"cat --until -{HUGE}9", f"cat --offsets {HUGE}..", f"cat --offsets ..{DIGITS}",
     f"head -n {HUGE}", f"tail -n {HUGE}", f"cat --limit {DIGITS}", f"cat --max-batch-bytes {HUGE}",
     "cat --max-batch-bytes 9223372036854775807g", f"inspect --at {HUGE}", f"cat --where offset={HUGE}"],
)  # fmt: skip
def test_numbers_beyond_64_bits_are_refused(far: Path, arguments: str) -> None:
    ran = on_pipe([*arguments.split(), far.name], far.parent)
    assert ran.code == 2
    assert "Traceback" not in ran.err
    assert ran.err


@pytest.mark.parametrize(
    "arguments, rows",
    [("cat --since 9223372036854775807", 0), ("cat --since -9223372036854775808", 3),
     ("cat --offsets 1..9223372036854775807", 2),
     ("head -n 9223372036854775807", 3), ("tail -n 9223372036854775807", 3), ("cat --limit 9223372036854775807", 3),
     ("cat --until 9999-12-31T23:59:59.999Z", 1), ("cat --since 0001-01-01T00:00:00+14:00", 3)],
)  # fmt: skip
def test_numbers_of_64_bits_are_taken(far: Path, arguments: str, rows: int) -> None:
    ran = on_pipe([*arguments.split(), far.name], far.parent)
    assert (ran.code, len(ran.out.splitlines())) == (0, rows), ran.err


@pytest.mark.parametrize("kind", ["time", "span", "size"])
def test_an_option_says_that_it_takes_no_number_of_that_size(kind: str) -> None:
    with pytest.raises(BadOption, match="beyond 64 bits"):
        Option("x", (), kind, "").value(HUGE)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "command", ["identify --vertical", "info --vertical", "stats --format csv", "stats --format arrow"]
)
def test_records_of_different_columns_and_types_are_one_output(tmp_path: Path, command: str) -> None:
    made(tmp_path, b"a.rbf"), (tmp_path / "notes.txt").write_text("hello\n" * 9)
    ran = on_pipe([*command.split(), "."], tmp_path)
    assert ran.code in {0, 1}
    assert "Traceback" not in ran.err
