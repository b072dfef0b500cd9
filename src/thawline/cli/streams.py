"""The standard streams and the termination signals of the process, set up before a command runs.

The next file that is opened would get the descriptor of a closed stream, and remarks would be written into it. So each
closed descriptor is opened on the null device: reading stdin and writing stdout fail, and writes to stderr are dropped.
"""

from __future__ import annotations

import io
import logging
import os
import signal
import sys
from contextlib import suppress
from types import FrameType
from typing import TYPE_CHECKING

import click

from thawline.partials import abandon

if TYPE_CHECKING:
    from typing_extensions import Buffer  # collections.abc has it from Python 3.12 on

SIGNALS = ("SIGTERM", "SIGHUP")
"""Signals that end a command as Ctrl-C does; not every system has both."""


class Stopped(BaseException):
    """A signal ends the command; partial outputs are removed."""

    def __init__(self, number: int) -> None:
        super().__init__(signal.Signals(number).name)
        self.exit_code = 128 + number


class Stdout(io.FileIO):
    """Standard output, with errors that name it; `BrokenPipeError` is raised unchanged."""

    def write(self, data: Buffer, /) -> int:
        """Write bytes."""
        try:
            return super().write(data)
        except BrokenPipeError:
            raise
        except OSError as error:
            raise OSError(error.errno, f"cannot be written: {error.strerror}", "stdout") from error


class Remarks(logging.Handler):
    """Writes the log of the library to stderr as remarks, unless -q is set."""

    def emit(self, record: logging.LogRecord) -> None:
        """Write a log record."""
        from thawline.rendering.console import say

        context = click.get_current_context(silent=True)
        if not (context and context.params.get("quiet")):
            say(sys.stderr, f"thawline: {record.getMessage()}")


def prepare() -> None:
    """Occupy the descriptors of closed streams, and escape text that a stream cannot encode."""
    for number, mode in enumerate((os.O_WRONLY, os.O_RDONLY, os.O_WRONLY)):  # modes that make stdin and stdout fail
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, mode)  # gets the lowest free descriptor, which is this one
    sys.stdin = sys.stdin or io.TextIOWrapper(io.BufferedReader(io.FileIO(0, closefd=False)))
    sys.stderr = sys.stderr or _text(io.FileIO(2, "w", closefd=False), "utf-8")
    sys.stdout = _text(Stdout(1, "w", closefd=False), sys.stdout.encoding if sys.stdout else "utf-8")
    logging.getLogger("thawline").addHandler(Remarks())


def _text(raw: io.FileIO, encoding: str) -> io.TextIOWrapper:
    buffer = io.BufferedWriter(raw)
    return io.TextIOWrapper(buffer, encoding=encoding, errors="backslashreplace", line_buffering=raw.isatty())


def heed_signals() -> None:
    """Make termination signals raise `Stopped`, unless they are ignored, as under `nohup`."""
    for name in SIGNALS:
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, _stop)


def _stop(number: int, _frame: FrameType | None) -> None:
    """Remove partial outputs and raise `Stopped`; a second signal ends the process at once."""
    abandon()
    for name in SIGNALS:
        with suppress(AttributeError):
            signal.signal(getattr(signal, name), _stop_at_once)
    raise Stopped(number)


def _stop_at_once(number: int, _frame: FrameType | None) -> None:
    abandon()
    os._exit(128 + number)


def silence() -> None:
    """Redirect broken streams to the null device, so that Python does not report them at exit."""
    null = os.open(os.devnull, os.O_WRONLY)
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            os.dup2(null, stream.fileno())
