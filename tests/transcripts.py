"""Transcripts (`*.console`) as tests: commands, what they print and how they end.

::

    # A remark about the command below it.
    $ thawline verify damaged.rbf
    what a person sees on a terminal of 100 columns, without colours
    exit: 1
    stderr:
    what goes to stderr

The commands of a file run one after another in a temporary folder, in which `golden/` are the golden files. stdout is
a terminal, so that a transcript shows what a person sees; in a pipe a command prints what it prints in a pipe.
`pytest --update` writes what the commands print now.

The `console` blocks of a page in `docs/` with a line `<!-- $ command -->` are a transcript, too (`test_pages.py`): that
command makes the files, and readers do not see it.
"""

from __future__ import annotations

import difflib
import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import tempfile
import termios
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from accounts import GOLDEN

COLUMNS = 100
GIVEN = re.compile(r"^<!-- \$ (.*) -->$", re.MULTILINE)
"""What makes the files that a page is about."""
BLOCK = re.compile(r"^```console\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update", action="store_true", help="write what the commands of *.console print now")


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    return TranscriptFile.from_parent(parent, path=file_path) if file_path.suffix == ".console" else None


class TranscriptFile(pytest.File):
    def collect(self) -> Iterator[pytest.Item]:
        yield Transcript.from_parent(self, name=self.path.stem)


class Different(Exception):
    """A transcript and what its commands print now."""


class Transcript(pytest.Item):
    def runtest(self) -> None:
        expected = self.path.read_text(encoding="utf-8")
        actual = replay(expected)
        if actual == expected:
            return
        if self.config.getoption("--update", default=False):
            self.path.write_text(actual, encoding="utf-8")
            return
        lines = difflib.unified_diff(expected.splitlines(), actual.splitlines(), "expected", "printed now", lineterm="")
        raise Different("\n".join(lines))

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        if isinstance(excinfo.value, Different):
            return f"{excinfo.value}\n\npytest --update {self.path.name} takes it as it is now"
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int, str]:
        return self.path, 0, self.name


def replay(transcript: str) -> str:
    """The transcript with what its commands print now."""
    with tempfile.TemporaryDirectory(prefix="transcript-") as folder:
        Path(folder, "golden").symlink_to(GOLDEN)
        return "".join(_entry(line, folder) for line in _script(transcript)).rstrip("\n") + "\n"


def replay_page(page: str) -> str:
    """The page with what the commands in its blocks print now, on stdout and then on stderr."""
    with tempfile.TemporaryDirectory(prefix="transcript-") as folder:
        Path(folder, "golden").symlink_to(GOLDEN)
        for command in GIVEN.findall(page):
            assert on_terminal(command, folder)[0] == 0, command
        return BLOCK.sub(lambda block: f"```console\n{_printed(block[1], folder)}```", page)


def _printed(block: str, folder: str) -> str:
    """The commands of a block with what each prints, an empty line between them."""
    entries = []
    for line in (line for line in block.splitlines() if line.startswith("$ ")):
        _, out, err = on_terminal(line.removeprefix("$ "), folder)
        entries.append(f"{line}\n{_ended(out)}{_ended(err)}")
    return "\n".join(entries)


def _script(transcript: str) -> Iterator[str]:
    """The commands, each behind its remarks: the lines with a # right above it. Other such lines were printed."""
    remarks: list[str] = []
    for line in transcript.splitlines():
        if line.startswith("$ "):
            yield from [*remarks, line]
        remarks = [*remarks, line] if line.startswith("# ") else []


def _entry(line: str, folder: str) -> str:
    if not line.startswith("$ "):
        return f"{line}\n"
    code, out, err = on_terminal(line.removeprefix("$ "), folder)
    made = f"{line}\n{_ended(out)}"
    made += f"exit: {code}\n" if code else ""
    return made + (f"stderr:\n{_ended(err)}" if err else "") + "\n"


def _ended(text: str) -> str:
    return text if not text or text.endswith("\n") else f"{text}\n"


def on_terminal(command: str, folder: str, **environment: str) -> tuple[int, str, str]:
    """Run a command with a terminal as stdout: its exit code, and what went to stdout and to stderr."""
    leader, follower = pty.openpty()
    _make_plain(follower)
    with tempfile.TemporaryFile() as errors:
        process = subprocess.Popen(
            ["bash", "-c", command],
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=follower,
            stderr=errors,
            env=surroundings(**{"NO_COLOR": "1", **environment}),
        )
        os.close(follower)
        out = b"".join(_chunks(leader))
        os.close(leader)
        code = process.wait()
        errors.seek(0)
        return code, out.decode("utf-8"), errors.read().decode("utf-8")


def surroundings(**environment: str) -> dict[str, str]:
    """The variables of a tidy machine, on which `thawline` is the one under test."""
    kept = {name: value for name, value in os.environ.items() if name in {"HOME", "LANG", "THAWLINE_NATIVE"}}
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return {**kept, "PATH": path, "TERM": "xterm", "LC_ALL": "C.UTF-8", "COLUMNS": str(COLUMNS), **environment}


def _make_plain(terminal: int) -> None:
    """Give the terminal a size, and let it pass line ends as they are."""
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 40, COLUMNS, 0, 0))
    settings = termios.tcgetattr(terminal)
    settings[1] &= ~termios.OPOST
    termios.tcsetattr(terminal, termios.TCSANOW, settings)


def _chunks(terminal: int) -> Iterator[bytes]:
    while True:
        try:
            chunk = os.read(terminal, 1 << 16)
        except OSError:  # Linux says so when the other side is closed
            return
        if not chunk:
            return
        yield chunk
