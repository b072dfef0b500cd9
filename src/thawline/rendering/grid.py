"""Rows in columns on a terminal, a page at a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from rich.cells import cell_len, set_cell_size
from rich.console import Console
from rich.text import Text

GAP = "  "
NARROWEST = 6
LONGEST = 200
"""A column may be shortened down to this, and is never wider than that."""


class Grid:
    """Columns whose widths are those of the first page, so that later pages stand under it.

    >>> from rich.console import Console
    >>> grid = Grid(Console(width=22), ["name", "size"], right=[False, True])
    >>> grid.show([["a.rbf", "12"], ["a-long-name.rbf", "1234567"]])
    name              size
    a.rbf               12
    a-long-name.…  1234567
    """

    def __init__(self, console: Console, header: Sequence[str], right: Sequence[bool]) -> None:
        self.console, self.header, self.right = console, list(header), list(right)
        self.widths: list[int] = []

    def show(self, rows: Iterable[Sequence[str]]) -> None:
        """Print a page of rows, under the header if it is the first."""
        page = [list(row) for row in rows]
        if not self.widths:
            self.widths = fitted(self._natural(page), self.console.width)
            self.console.print(Text(self._line(self.header), "bold"))
        for line in map(self._line, page):
            self.console.print(line)

    def _natural(self, page: list[list[str]]) -> list[int]:
        columns = zip(self.header, *page, strict=True) if page else ((name,) for name in self.header)
        return [min(max(map(cell_len, column)), LONGEST) for column in columns]

    def _line(self, cells: Sequence[str]) -> str:
        return GAP.join(self._cells(cells)).rstrip()

    def _cells(self, cells: Sequence[str]) -> Iterator[str]:
        for cell, width, is_right in zip(cells, self.widths, self.right, strict=True):
            used = cell_len(cell)
            if used > width:
                yield set_cell_size(cell, width - 1) + "…"
            else:
                yield " " * (width - used) + cell if is_right else cell + " " * (width - used)


def fitted(widths: list[int], room: int) -> list[int]:
    """Widths that fit into the room, by shortening the widest columns.

    >>> fitted([5, 40, 60], 60)
    [5, 25, 26]
    """
    made = list(widths)
    excess = sum(made) + len(GAP) * (len(made) - 1) - room
    while excess > 0 and max(made, default=0) > NARROWEST:
        made[made.index(max(made))] -= 1
        excess -= 1
    return made
