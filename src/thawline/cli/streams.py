"""The three streams of the process and the signals that end it, made fit before a command runs.

A stream that is closed would let the next file that is opened take its number, and remarks would end up in it. So each
number is taken: what is then read or written fails with a reason, and what nobody listens to is lost.
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
"""What ends a command as Ctrl-C does; not every system has both."""


class Stopped(BaseException):
    """A signal has asked the command to end; what it was about to write is removed."""

    def __init__(self, number: int) -> None:
        super().__init__(signal.Signals(number).name)
        self.exit_code = 128 + number


class Stdout(io.FileIO):
    """Standard output, whose errors name it. A closed pipe stays what it is: no error."""

    def write(self, data: Buffer, /) -> int:
        """Write some bytes."""
        try:
            return super().write(data)
        except BrokenPipeError:
            raise
        except OSError as error:
            raise OSError(error.errno, f"cannot be written: {error.strerror}", "stdout") from error


class Remarks(logging.Handler):
    """What the library has to say, among the other remarks; -q keeps it quiet."""

    def emit(self, record: logging.LogRecord) -> None:
        """Say it."""
        from thawline.rendering.console import say

        context = click.get_current_context(silent=True)
        if not (context and context.params.get("quiet")):
            say(sys.stderr, f"thawline: {record.getMessage()}")


def prepare() -> None:
    """Take the numbers of closed streams, and let text that a stream cannot encode be escaped."""
    for number, mode in enumerate((os.O_WRONLY, os.O_RDONLY, os.O_WRONLY)):  # so that stdin and stdout fail
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, mode)  # it gets the lowest number that is free, which is this one
    sys.stdin = sys.stdin or io.TextIOWrapper(io.BufferedReader(io.FileIO(0, closefd=False)))
    sys.stderr = sys.stderr or _text(io.FileIO(2, "w", closefd=False), "utf-8")
    sys.stdout = _text(Stdout(1, "w", closefd=False), sys.stdout.encoding if sys.stdout else "utf-8")
    logging.getLogger("thawline").addHandler(Remarks())


def _text(raw: io.FileIO, encoding: str) -> io.TextIOWrapper:
    buffer = io.BufferedWriter(raw)
    return io.TextIOWrapper(buffer, encoding=encoding, errors="backslashreplace", line_buffering=raw.isatty())


def heed_signals() -> None:
    """Let the signals that end a process raise `Stopped`, unless it was told to ignore them, as by `nohup`."""
    for name in SIGNALS:
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, _stop)


def _stop(number: int, _frame: FrameType | None) -> None:
    """Remove what is half written, and end; at once if that was asked for before."""
    abandon()
    for name in SIGNALS:
        with suppress(AttributeError):
            signal.signal(getattr(signal, name), _stop_at_once)
    raise Stopped(number)


def _stop_at_once(number: int, _frame: FrameType | None) -> None:
    abandon()
    os._exit(128 + number)


def silence() -> None:
    """Send what is still to be written nowhere, so that Python does not complain about it when it ends."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            os.dup2(nowhere, stream.fileno())
