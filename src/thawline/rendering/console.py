"""A console that knows how wide it is and whether colour is wanted."""

from __future__ import annotations

import os
import shutil
from typing import IO, Literal

from rich.console import Console

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


class PlainConsole(Console):
    """A console that leaves a closed pipe to its caller; rich's own would end the process with code 1."""

    def on_broken_pipe(self) -> None:
        """Go on as any other write would."""
        raise BrokenPipeError


def console(stream: IO[str], choice: Color = "auto") -> Console:
    """A console over a stream. It prints text as it is: no markup, no emoji, no wrapping, no guessed highlights."""
    is_colored = wants_color(stream, choice)
    return PlainConsole(
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
