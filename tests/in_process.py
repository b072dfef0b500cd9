"""`thawline` run inside this process, as fast as a function call: on pipes, or with all its streams on a terminal.

The streams are real: the descriptors of the process are those of a pipe or of a pseudo-terminal while the command runs.
"""

from __future__ import annotations

import fcntl
import io
import os
import pty
import re
import struct
import sys
import tempfile
import termios
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Thread

from rich.cells import cell_len

from thawline.cli import run

ESCAPE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


@dataclass(frozen=True, slots=True)
class Ran:
    """How a command ended, and what it wrote."""

    code: int
    out: str
    err: str = ""
    """Empty for a terminal, which shows both."""

    def lines(self) -> list[str]:
        """What a terminal shows, without colours."""
        return re.split(r"[\r\n]+", ESCAPE.sub("", self.out))

    def wide_lines(self, columns: int) -> list[str]:
        """Lines that do not fit."""
        return [line for line in self.lines() if cell_len(line) > columns]


def on_pipe(arguments: Sequence[str], folder: Path, stdin: Path | None = None) -> Ran:
    """Run a command with stdout and stderr on something that is no terminal."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        code = _run(arguments, folder, stdin, out.fileno(), err.fileno())
        out.seek(0)
        err.seek(0)
        return Ran(code, out.read().decode("utf-8", "replace"), err.read().decode("utf-8", "replace"))


def on_terminal(arguments: Sequence[str], folder: Path, stdin: Path | None = None, columns: int = 80) -> Ran:
    """Run a command with stdout and stderr on a terminal."""
    leader, follower = pty.openpty()
    fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    chunks: list[bytes] = []
    reader = Thread(target=lambda: chunks.extend(_chunks(leader)))
    reader.start()
    try:
        code = _run(arguments, folder, stdin, follower, follower)
    finally:
        os.close(follower)
        reader.join()
        os.close(leader)
    return Ran(code, b"".join(chunks).decode("utf-8", "replace"))


def _chunks(leader: int) -> Iterator[bytes]:
    read: Callable[[], bytes] = lambda: os.read(leader, 1 << 16)  # noqa: E731
    try:
        yield from iter(read, b"")
    except OSError:  # Linux says so when the other side is closed
        return


def _run(arguments: Sequence[str], folder: Path, stdin: Path | None, out: int, err: int) -> int:
    given = os.open(stdin or os.devnull, os.O_RDONLY)
    try:
        with _streams(given, out, err), _surroundings(folder):
            return run(list(arguments))
    finally:
        os.close(given)


@contextmanager
def _streams(*descriptors: int) -> Iterator[None]:
    """Other files as stdin, stdout and stderr, for Python and for the process."""
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    kept, objects = [os.dup(number) for number in range(3)], (sys.stdin, sys.stdout, sys.stderr)
    for number, descriptor in enumerate(descriptors):
        os.dup2(descriptor, number)
    sys.stdin, sys.stdout, sys.stderr = _opened(0, "r"), _opened(1, "w"), _opened(2, "w")
    try:
        yield
    finally:
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        sys.stdin, sys.stdout, sys.stderr = objects
        for number, descriptor in enumerate(kept):
            os.dup2(descriptor, number)
            os.close(descriptor)


def _opened(descriptor: int, mode: str) -> io.TextIOWrapper:
    return io.TextIOWrapper(io.open(descriptor, f"{mode}b", closefd=False), encoding="utf-8", errors="replace")  # noqa: UP020


@contextmanager
def _surroundings(folder: Path) -> Iterator[None]:
    """A tidy environment, and another folder to be in."""
    kept, here = dict(os.environ), Path.cwd()
    for name in ("COLUMNS", "LINES", "FORCE_COLOR", "NO_COLOR"):
        os.environ.pop(name, None)
    os.environ["TERM"] = "xterm"
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(here)
        os.environ.clear()
        os.environ.update(kept)
