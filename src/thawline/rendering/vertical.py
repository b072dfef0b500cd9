"""Records one below another: a heading, and a line for each column."""

from __future__ import annotations

from collections.abc import Sequence

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from thawline.rendering.console import PlainConsole
from thawline.rendering.folding import Line, folded
from thawline.rendering.words import grouped

MARGIN, GAP = "  ", "  "


class Vertical:
    """Records with the same columns.

    >>> from rich.console import Console
    >>> Vertical(Console(), ["offset", "key"]).show([["7", "user7"]])
    row 1
      offset  7
      key     user7
    """

    def __init__(self, console: Console, header: Sequence[str], title: str = "row") -> None:
        self.console, self.header, self.title, self.count = console, header, title, 0
        self.width = max(map(cell_len, header), default=0)

    def show(self, rows: Sequence[Sequence[str]]) -> None:
        """Print records."""
        for row in rows:
            self.count += 1
            self.console.print(Text(f"{self.title} {grouped(self.count)}", "bold"))
            for name, value in zip(self.header, row, strict=True):
                self._print(name, value)

    def _print(self, name: str, value: str) -> None:
        title = MARGIN + name + " " * (self.width - cell_len(name)) + GAP
        line = Line.hanging(len(title), (title, "cyan"), value)
        line.rstrip()
        room = self.console.room if isinstance(self.console, PlainConsole) else None
        for part in [line] if room is None else folded(line, room, "break"):
            self.console.print(part)
