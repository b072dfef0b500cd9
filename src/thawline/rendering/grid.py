"""Rows in columns on a terminal, a page at a time; columns that do not fit are left out and named."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from rich.cells import cell_len, set_cell_size
from rich.console import Console
from rich.text import Text

from thawline.rendering.folding import NARROWEST, Line, cut, shortened
from thawline.rendering.words import counted

GAP = "  "
LONGEST = 200
"""The largest width of a column."""
DECENT, DECENT_PATH = 14, 27
"""The width down to which a column may be shortened; narrower values are not legible."""
FEWEST = 3
"""The smallest number of columns that makes a useful table."""
PATHS = {"file", "path"}
"""Columns whose values are cut in the middle."""
EMPTY = {"", "[]"}


class Grid:
    """Columns with the widths of the first page, so that later pages align with it.

    >>> from rich.console import Console
    >>> grid = Grid(Console(width=28), ["name", "size"], right=[False, True])
    >>> grid.show([["a.rbf", "12"], ["a-very-long-name.rbf", "1234567"]])
    name                    size
    a.rbf                     12
    a-very-long-name.r…  1234567
    """

    def __init__(
        self,
        console: Console,
        header: Sequence[str],
        right: Sequence[bool],
        firm: Sequence[bool] | None = None,
        hint: str = "",
        *,
        flows: bool = False,
        drops_alike: bool = False,
    ) -> None:
        self.console, self.header, self.right, self.hint = console, list(header), list(right), hint
        self.firm = list(firm or right)
        """Columns whose values are never cut: a part of a number is another number."""
        self.wants_flow = flows
        self.drops_alike = drops_alike
        """Whether columns with one value in all rows give way to others."""
        self.shown: list[int] = []
        self.widths: list[int] = []
        self.is_begun = False

    def fit(self, page: Sequence[Sequence[str]]) -> bool:
        """Choose columns and widths for the first page; returns whether enough columns fit."""
        if not self.widths:
            natural = self._natural(page)
            least = [
                width if is_firm else min(width, DECENT_PATH if name in PATHS else DECENT)
                for width, name, is_firm in zip(natural, self.header, self.firm, strict=True)
            ]
            empty = [bool(page) and all(row[index] in EMPTY for row in page) for index in range(len(natural))]
            alike = [self._is_alike(page, index) for index in range(len(natural))]
            self.shown = chosen(natural, least, empty, self.console.width, alike)
            self.widths = fitted(
                [natural[index] for index in self.shown], [least[index] for index in self.shown], self.console.width
            )
        return len(self.shown) >= min(FEWEST, len(self.header))

    def _is_alike(self, page: Sequence[Sequence[str]], index: int) -> bool:
        return self.drops_alike and len(page) > 1 and all(row[index] == page[0][index] for row in page)

    @property
    def flows(self) -> bool:
        """Whether the last column is shown in full, on several lines if necessary."""
        room = getattr(self.console, "room", None)
        is_text = bool(self.shown) and not self.firm[self.shown[-1]]
        return self.wants_flow and is_text and room is not None and self._start + NARROWEST <= room

    @property
    def _start(self) -> int:
        """The position of the last column."""
        return sum(self.widths[:-1]) + len(GAP) * (len(self.widths) - 1)

    def show(self, rows: Iterable[Sequence[str]]) -> None:
        """Print a page of rows; the first one after the header."""
        page = [list(row) for row in rows]
        self.fit(page)
        if not self.is_begun:
            self.is_begun = True
            self.console.print(Text(self._line(self.header), "bold"))
        for row in page:
            self.console.print(self._flowing(row) if self.flows else self._line(row))

    def close(self) -> None:
        """Print the names of the columns that are not shown."""
        hidden = [name for index, name in enumerate(self.header) if index not in self.shown]
        if hidden and self.is_begun:
            hint = f"; {self.hint} {'it' if len(hidden) == 1 else 'them'}" if self.hint else ""
            text = f"… {counted(len(hidden), 'column')} not shown: {', '.join(hidden)}{hint}"
            self.console.print(Line.hanging(2, (text, "italic")))

    def _natural(self, page: Sequence[Sequence[str]]) -> list[int]:
        columns = zip(self.header, *page, strict=True) if page else ((name,) for name in self.header)
        return [min(max(map(cell_len, column)), LONGEST) for column in columns]

    def _flowing(self, cells: Sequence[str]) -> Text:
        """A row whose last cell is continued below its start."""
        line = set_cell_size(self._line(cells), self._start) + cells[self.shown[-1]]
        return Line.hanging(self._start, line.rstrip())

    def _line(self, cells: Sequence[str]) -> str:
        return GAP.join(self._cells(cells)).rstrip()

    def _cells(self, cells: Sequence[str]) -> Iterator[str]:
        for index, width in zip(self.shown, self.widths, strict=True):
            fit = shortened if self.header[index] in PATHS else cut
            cell = fit(cells[index], width)
            space = " " * (width - cell_len(cell))
            yield space + cell if self.right[index] else cell + space


def chosen(
    natural: Sequence[int], least: Sequence[int], empty: Sequence[bool], room: int, alike: Sequence[bool] = ()
) -> list[int]:
    """The columns that fit: empty ones are removed before any is cut, then those before the last, down to one.

    Those with the same value in all rows go before others. The last column is kept, since it holds sums or remarks
    about the whole row.

    >>> chosen([5, 10, 20, 20, 30], [5, 10, 10, 10, 10], [False, True, False, False, False], 30)
    [0, 2, 4]
    >>> chosen([5, 10, 10, 10], [5, 10, 10, 10], [False] * 4, 30, [False, False, True, True])
    [0, 1, 3]
    """
    kept = list(range(len(least)))
    for index in reversed(range(len(least))):
        if empty[index] and len(kept) > 1 and _width(natural, kept) > room:
            kept.remove(index)
    for index in (place for place in reversed(kept[1:-1]) if alike and alike[place]):
        if _width(least, kept) > room:
            kept.remove(index)
    while len(kept) > 1 and _width(least, kept) > room:
        kept.pop(-2)
    for index in (place for place, is_alike in enumerate(alike) if is_alike and not empty[place]):
        if index not in kept and _width(least, again := sorted([*kept, index])) <= room:
            kept = again
    return kept


def _width(widths: Sequence[int], kept: Sequence[int]) -> int:
    return sum(widths[index] for index in kept) + len(GAP) * (len(kept) - 1)


def fitted(widths: list[int], least: list[int], room: int) -> list[int]:
    """Widths that fit into the room; the widest columns are shortened first.

    >>> fitted([5, 40, 60], [5, 14, 14], 60)
    [5, 25, 26]
    """
    result = list(widths)
    excess = sum(result) + len(GAP) * (len(result) - 1) - room
    while excess > 0:
        slack = [width if width > lowest else 0 for width, lowest in zip(result, least, strict=True)]
        if not any(slack):  # a single column that is wider than the room
            return [min(width, room) for width in result]
        result[slack.index(max(slack))] -= 1
        excess -= 1
    return result
