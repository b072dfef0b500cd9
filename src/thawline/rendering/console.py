"""Consoles with the width of their terminal, and with colour if it is requested."""

from __future__ import annotations

import os
import re
import shutil
from contextlib import suppress
from typing import IO, Any, Literal

from rich.console import Console
from rich.text import Text

from thawline.rendering.folding import Line, folded
from thawline.rendering.words import printable

SET_OFF = re.compile(r"thawline: {3}")
Color = Literal["auto", "always", "never"]
WIDTH = 120
"""The width of an output that is not a terminal, unless COLUMNS is set."""


def wants_color(stream: IO[str], choice: Color) -> bool:
    """Whether to colour a stream: the option decides, else NO_COLOR, FORCE_COLOR, TERM=dumb, else the terminal."""
    if choice != "auto":
        return choice == "always"
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return os.environ.get("TERM") != "dumb" and stream.isatty()


def room_of(stream: IO[str]) -> int | None:
    """The current width of a terminal; None for any other stream."""
    if not stream.isatty():
        return None
    columns = os.environ.get("COLUMNS", "")
    try:
        return (int(columns) if columns.isdecimal() else 0) or os.get_terminal_size(stream.fileno()).columns or WIDTH
    except (OSError, ValueError):
        return WIDTH


class PlainConsole(Console):
    """A console that folds lines between words on a terminal.

    It raises `BrokenPipeError` for a closed pipe; rich's console would end the process with code 1.
    """

    room: int | None = None
    """The width of the terminal; None for another stream, where lines are not folded."""
    marks: str = ""
    """A regular expression whose matches are marked."""

    def print(self, *objects: Any, **options: Any) -> None:
        """Print one or more lines, each folded if it does not fit."""
        if len(objects) != 1 or not isinstance(objects[0], str | Text):
            super().print(*objects, **options)
            return
        text = objects[0]
        for line in map(_shown, [text] if isinstance(text, Text) else map(Text, text.split("\n"))):
            if self.marks and not line.style:  # a header has a style of its own
                from thawline.rendering.marks import mark  # noqa: PLC0415 - imports Arrow, which errors do without

                mark(line, self.marks)
            for part in [line] if self.room is None else folded(line, self.room):
                super().print(part, **options)

    def on_broken_pipe(self) -> None:
        """Raise the error as any other write would."""
        raise BrokenPipeError


def _shown(line: Text) -> Text:
    """A line without control characters; a line that had some loses its colours."""
    plain = printable(line.plain)
    if plain == line.plain:
        return line
    escaped = Line(plain)
    escaped.hang = line.hang if isinstance(line, Line) else None
    return escaped


def say(stream: IO[str], text: str) -> None:
    """Write lines for a person, folded if the stream is a terminal.

    Text to copy is not broken: a path, and a shell command, which is a line that is set off by spaces. Errors of
    writing, such as a closed stream or a full disk, are ignored: remarks are not part of the output.
    """
    with suppress(OSError):
        _say(stream, text)


def _say(stream: IO[str], text: str) -> None:
    room = room_of(stream)
    for line in map(printable, text.split("\n")):
        is_whole = room is None or SET_OFF.match(line)
        parts = [Text(line)] if is_whole or room is None else folded(Text(line), room, "keep")
        stream.writelines(f"{part.plain}\n" for part in parts)
    stream.flush()


def console(stream: IO[str], choice: Color = "auto") -> PlainConsole:
    """A console for a stream that prints text unchanged: without markup, emoji or highlighting."""
    is_colored = wants_color(stream, choice)
    plain = PlainConsole(
        file=stream,
        width=shutil.get_terminal_size((WIDTH, 24)).columns,
        force_terminal=is_colored,
        no_color=not is_colored,
        color_system="standard" if is_colored else None,
        highlight=False,
        markup=False,
        emoji=False,
        soft_wrap=True,
    )
    plain.room = plain.width if stream.isatty() else None
    return plain
