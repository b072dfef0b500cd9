"""A console that knows how wide it is and whether colour is wanted."""

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
"""Columns of an output that is no terminal and is told no other width by COLUMNS."""


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
    """The columns of a terminal as it is now; None of anything else."""
    if not stream.isatty():
        return None
    given = os.environ.get("COLUMNS", "")
    try:
        return (int(given) if given.isdecimal() else 0) or os.get_terminal_size(stream.fileno()).columns or WIDTH
    except (OSError, ValueError):
        return WIDTH


class PlainConsole(Console):
    """A console that folds lines at their words where it is a terminal.

    It leaves a closed pipe to its caller; rich's own would end the process with code 1.
    """

    room: int | None = None
    """The columns of the terminal; None where there is none, and lines are as long as they are."""

    def print(self, *objects: Any, **options: Any) -> None:
        """Print a line or several, each folded where it does not fit."""
        if len(objects) != 1 or not isinstance(objects[0], str | Text):
            super().print(*objects, **options)
            return
        text = objects[0]
        for line in map(_shown, [text] if isinstance(text, Text) else map(Text, text.split("\n"))):
            for part in [line] if self.room is None else folded(line, self.room):
                super().print(part, **options)

    def on_broken_pipe(self) -> None:
        """Go on as any other write would."""
        raise BrokenPipeError


def _shown(line: Text) -> Text:
    """A line in which nothing drives the terminal, whoever has put it together; it loses its colours over that."""
    plain = printable(line.plain)
    if plain == line.plain:
        return line
    made = Line(plain)
    made.hang = line.hang if isinstance(line, Line) else None
    return made


def say(stream: IO[str], text: str) -> None:
    """Say something to a person: lines that are folded where the stream is a terminal.

    What may be copied stays as it is: a path, and a line that is set off by spaces, which is a command of a shell. What
    cannot be said, since nobody listens any more or the disk is full, is lost: it is no part of the work.
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
    """A console over a stream. It prints text as it is: no markup, no emoji, no guessed highlights."""
    is_colored = wants_color(stream, choice)
    made = PlainConsole(
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
    made.room = made.width if stream.isatty() else None
    return made
