"""What a person sees: nothing is broken in the middle of a word, nothing is cut without a mark."""

from __future__ import annotations

import fcntl
import io
import os
import pty
import struct
import termios
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from accounts import GOLDEN
from in_process import on_pipe, on_terminal
from rich.cells import cell_len
from rich.text import Text

from thawline.cli.progress import Progress
from thawline.formats.kafka.write import KafkaSegmentWriter
from thawline.rendering.console import console
from thawline.rendering.folding import cut, folded, shortened
from thawline.rendering.rows import Terminal

PACK = GOLDEN / "borg/none-archive.pack"
SEGMENT = GOLDEN / "kafka/transactions.log"


@pytest.fixture
def terminal() -> Iterator[io.TextIOWrapper]:
    """A terminal of 40 columns, as a stream to write to."""
    leader, follower = pty.openpty()
    resize(follower, 40)
    with os.fdopen(follower, "w", encoding="utf-8") as stream:
        yield stream
    os.close(leader)


def resize(descriptor: int, columns: int) -> None:
    fcntl.ioctl(descriptor, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))


class Written(io.StringIO):
    """What was written to a terminal that another stream is."""

    def __init__(self, terminal: io.TextIOWrapper) -> None:
        super().__init__()
        self.terminal = terminal

    def isatty(self) -> bool:
        return True

    def fileno(self) -> int:
        return self.terminal.fileno()

    def last(self) -> str:
        return self.getvalue().rpartition("\x1b[K")[2]


# Progress.


def advance(progress: Progress, position: int) -> None:
    progress.due = 0
    progress.reach(position)


@pytest.mark.parametrize("name", ["/mnt/cold/" + "deep/" * 20 + "00000000000000000000.log", "日本語" * 20 + ".log"])
def test_a_progress_line_never_reaches_the_edge(
    name: str, terminal: io.TextIOWrapper, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    stream = Written(terminal)
    progress = Progress("auto", stream)
    progress.start(name, 1 << 30)
    progress.findings = 12_345
    for columns in (40, 120, 20, 60):
        resize(terminal.fileno(), columns)
        advance(progress, progress.position + 1000)
        assert 10 < cell_len(stream.last()) < columns
        assert "\n" not in stream.getvalue()
    assert "…" in stream.getvalue()


def test_a_progress_line_keeps_the_name_of_the_file(
    terminal: io.TextIOWrapper, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    resize(terminal.fileno(), 100)
    stream = Written(terminal)
    progress = Progress("auto", stream)
    progress.start("/mnt/cold/2024/03/backups/of/orders-3/00000000000000001234.log", 1000)
    progress.findings = 1234
    advance(progress, 10)
    assert "…/00000000000000001234.log  1 %" in stream.last()
    assert "1 234 found" in stream.last()


# Folding and cutting.


def test_text_is_cut_with_a_mark_and_never_wider_than_its_room() -> None:
    for text in ("every byte", "日本語テキスト", "a日b本c語", "👩‍👩‍👧 family", ""):
        for room in range(1, 12):
            assert cell_len(cut(text, room)) <= room
            assert cell_len(shortened(text, room)) <= room
            assert "…" in cut(text, room) or cut(text, room) == text


def test_a_path_is_cut_in_its_middle_and_keeps_its_name() -> None:
    path = "/mnt/cold/2024/03/orders-3/00000000000000001234.log"
    assert shortened(path, 30) == "/mnt…/00000000000000001234.log"
    assert shortened(path, 51) == path


def test_words_and_numbers_are_never_broken() -> None:
    line = Text("   = lost: 1 batch of 143 records, 1 234 567 bytes (1.2 MiB) of set 'demo', offsets 429 to 571")
    for room in range(28, 90):
        parts = [part.plain for part in folded(line, room)]
        assert all(cell_len(part) <= room for part in parts)
        assert " ".join(part.strip() for part in parts) == line.plain.strip()
        assert any("1 234 567 bytes" in part for part in parts)
        assert all(part.startswith("     ") for part in parts[1:])


def test_a_command_is_never_broken() -> None:
    command = f"thawline salvage {'deep/' * 30}a.log -o intact.log"
    parts = [part.plain for part in folded(Text(f"help: {command}"), 80)]
    assert parts == ["help:", f"  {command}"]


def test_an_error_is_folded_and_its_path_can_be_copied(tmp_path: Path) -> None:
    name = "deep/" * 30 + "nosuch.rbf"
    ran = on_terminal(["cat", name], tmp_path)
    assert ran.code == 2
    assert any(name in line for line in ran.lines())
    ran = on_terminal(["cat", str(SEGMENT), "--columns", "nosuch"], tmp_path)
    assert not ran.wide_lines(80)
    assert "timestampType" in ran.out


@pytest.mark.parametrize("command", ["info -v", "inspect", ""])
def test_no_word_is_broken(command: str, tmp_path: Path) -> None:
    arguments = [*command.split(), str(PACK)]
    words = set(on_pipe([*arguments, *(["--format", "table"] if "info" in command else [])], tmp_path).out.split())
    shown = " ".join(on_terminal(arguments, tmp_path).lines()).split()
    names = {word.strip(",:") for word in words if "_" in word and "|" not in word}
    assert len(names) > 3
    assert names <= {word.strip(",:") for word in shown}


# Tables.


def wide(columns: int = 12) -> pa.RecordBatch:
    return pa.RecordBatch.from_pydict(
        {
            "number": [12_345_678_901],
            "empty": pa.array([None], pa.string()),
            **{f"text_{index}": ["lorem ipsum dolor sit amet consectetur"] for index in range(columns)},
            "moment": pa.array([0], pa.timestamp("us", "UTC")),
        }
    )


def shown(batch: pa.RecordBatch, width: int, *, vertical: bool = False) -> list[str]:
    out = io.StringIO()
    sink = console(out)
    sink.width = sink.room = width
    table = Terminal(sink, "auto", batch.schema, vertical=vertical)
    table.write(batch)
    table.close()
    return out.getvalue().splitlines()


@pytest.mark.parametrize("width", [60, 80, 100, 120, 200])
def test_columns_that_do_not_fit_are_left_out_and_named(width: int) -> None:
    batch = wide()
    lines = shown(batch, width)
    header, hidden = (
        lines[0].split(),
        " ".join(line.strip() for line in lines[2:]).partition("not shown: ")[2].partition(";")[0],
    )
    assert all(cell_len(line) <= width for line in lines)
    assert {*header, *hidden.split(", ")} == set(batch.schema.names)
    assert len(header) + len(hidden.split(", ")) == batch.num_columns
    assert "--vertical shows them" in " ".join(line.strip() for line in lines)


def test_numbers_and_times_are_never_cut() -> None:
    for width in (60, 80, 100):
        assert {"12345678901", "1970-01-01T00:00:00.000000Z"} <= set(shown(wide(), width)[1].split())


def test_empty_columns_give_way_first() -> None:
    assert "empty" not in shown(wide(1), 80)[0].split()
    assert "empty" in shown(wide(1), 120)[0].split()


def test_no_column_is_left_out_where_all_fit() -> None:
    lines = shown(wide(1), 120)
    assert len(lines) == 2
    assert "lorem ipsum dolor sit amet consectetur" in lines[1]


def test_records_stand_one_below_the_other_where_hardly_a_column_fits() -> None:
    lines = shown(wide(2), 30)
    assert lines[0] == "row 1"
    assert [line.split()[0] for line in lines[1:4]] == ["number", "empty", "text_0"]
    assert all(cell_len(line) <= 30 for line in lines)


def test_vertical_shows_every_column_in_full() -> None:
    text = "lorem ipsum " * 50
    batch = pa.RecordBatch.from_pydict({"key": [b"k"], "value": [text.encode() * 2], "bin": [bytes(range(200, 250))]})
    lines = shown(batch, 60, vertical=True)
    joined = "".join(line[9:] for line in lines if not line.startswith("row"))
    assert joined.replace(" ", "").startswith("k" + (text * 2).replace(" ", ""))
    assert bytes(range(200, 250)).hex() in joined


def test_vertical_is_a_shape_of_every_command_that_prints_a_table(tmp_path: Path) -> None:
    for command in (["cat"], ["head"], ["tail"], ["stats"], ["identify"], ["info"]):
        on = on_terminal([*command, str(SEGMENT), "--vertical"], tmp_path)
        off = on_pipe([*command, str(SEGMENT), "--format", "vertical"], tmp_path)
        assert on.code == off.code == 0
        assert on.lines()[0] == off.out.splitlines()[0] == "row 1"


def test_vertical_and_another_shape_exclude_each_other(tmp_path: Path) -> None:
    ran = on_pipe(["cat", str(SEGMENT), "--vertical", "--format", "csv"], tmp_path)
    assert (ran.code, ran.out) == (2, "")
    assert "--vertical" in ran.err


def test_a_pipe_is_not_folded(tmp_path: Path) -> None:
    ran = on_pipe(["info", "-v", str(SEGMENT), "--format", "table"], tmp_path)
    assert max(map(len, ran.out.splitlines())) > 200
    ran = on_pipe(["inspect", str(SEGMENT)], tmp_path)
    assert max(map(len, ran.out.splitlines())) > 150


# Numbers.


def test_counts_are_grouped_wherever_a_person_reads_them(tmp_path: Path) -> None:
    with KafkaSegmentWriter(tmp_path / "orders-3", batch_records=1500) as log:
        for number in range(3000):
            log.append(value=b"order", timestamp=1_700_000_000_000 + number)
    name = "orders-3/00000000000000000000.log"
    file = tmp_path / name
    data = bytearray(file.read_bytes())
    size = f"{len(data):,}".replace(",", " ")
    for command, wanted in {
        "identify": [size],
        "info": ["3 000 rows", f"{size} bytes"],
        "stats": ["3 000", "15 000", "order (3 000)"],
        "verify": ["3 000 rows", f"{size} bytes"],
        "": [f"{size} bytes"],
    }.items():
        text = " ".join(on_terminal([*command.split(), name], tmp_path, columns=160).out.split())
        assert [number for number in wanted if number not in text] == [], command
    data[len(data) // 4] ^= 1
    file.write_bytes(data)
    text = on_terminal(["verify", name], tmp_path, columns=160).out
    assert f"of {size} bytes" in text
