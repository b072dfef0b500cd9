"""Text that fits a terminal: lines are folded between words, and longer words are cut with a mark.

A command to copy is never folded: a line that the terminal wraps is still one line when it is copied.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal

from rich.cells import cell_len, set_cell_size
from rich.text import Text

MARK = "…"
COMMAND = re.compile(r"(?<![`\w/.'-])thawline [a-z].*")
NUMBER = r"\(?(?:\d{1,3}(?: \d{3})+|\d[\d.]*)"
WORD = re.compile(rf"{NUMBER}(?: (?:%|[^\W\d])\S*|\S*)|\S+")
"""A word; a number with grouped digits and the noun after it are one word."""
LongWord = Literal["cut", "break", "keep"]
NARROWEST = 24
"""The smallest legible width of a text."""


class Line(Text):
    """A line that, if it does not fit, continues below with an indent of `hang` columns."""

    hang: int | None = None

    @classmethod
    def hanging(cls, hang: int, *parts: str | tuple[str, str]) -> Line:
        """A line of parts, with or without styles."""
        line = cls()
        for part in parts:
            line.append(*([part] if isinstance(part, str) else part))
        line.hang = hang
        return line


def cut(text: str, room: int) -> str:
    """Text that fits; cut text ends with a mark.

    >>> cut("every byte accounted for", 11), cut("日本語", 4)
    ('every byte…', '日…')
    """
    return text if cell_len(text) <= room else set_cell_size(text, max(room - 1, 0)).rstrip() + MARK


def shortened(path: str, room: int) -> str:
    """A path that fits, cut in the middle with a mark, so that the file name remains.

    >>> shortened("/mnt/cold/2024/orders-3/00000000000000000000.log", 32)
    '/mnt/c…/00000000000000000000.log'
    """
    size = cell_len(path)
    if size <= room:
        return path
    name = cell_len(path.rpartition("/")[2]) + 1
    tail = name if name < size and name + 2 <= room else max(2 * (room - 1) // 3, 0)
    return set_cell_size(path, max(room - 1 - tail, 0)).rstrip() + MARK + _end(path, tail)


def _end(text: str, room: int) -> str:
    start = len(text)
    while start and cell_len(text[start - 1 :]) <= room:
        start -= 1
    return text[start:]


def folded(line: Text, room: int, long: LongWord = "cut") -> Iterator[Text]:
    """A line as lines that fit, broken between words; `long` decides what happens to a word that does not fit.

    >>> for line in folded(Text("  state  every byte is accounted for"), 21):
    ...     print(line)
      state  every byte
             is accounted
             for
    """
    if cell_len(line.plain) <= room:
        yield line
        return
    hang = _hang(line, room)
    for number, (start, end, is_command) in enumerate(_pieces(line.plain, room, hang)):
        indent = hang if number else 0
        piece = line[start:end]
        if is_command or long == "keep" or cell_len(piece.plain) <= room - indent:
            yield Text(" " * indent) + piece
        elif long == "cut":
            yield Text(" " * indent) + _shortened(piece, room - indent)
        else:
            yield from _broken(piece, room, hang, indent)


def _hang(line: Text, room: int) -> int:
    """The indent of continued lines: the line's own, else that of the text after its title, else two more columns."""
    own = line.hang if isinstance(line, Line) else None
    plain = line.plain
    inner = len(plain) - len(plain.lstrip())
    gap = plain.find("  ", inner)
    after_title = gap + len(plain[gap:]) - len(plain[gap:].lstrip()) if gap >= 0 else inner + 2
    if own is not None and own <= room - NARROWEST:
        return own
    return after_title if after_title <= room // 2 else min(inner + 2, room // 2)


def _pieces(plain: str, room: int, hang: int) -> Iterator[tuple[int, int, bool]]:
    """The start and end of each line, and whether it is a command."""
    command = COMMAND.search(plain)
    words = [match.span() for match in WORD.finditer(plain, 0, command.start() if command else len(plain))]
    words += [(command.start(), len(plain.rstrip()))] if command else []
    start, indent, end = 0, 0, 0
    for word_start, word_end in words:
        column = indent + cell_len(plain[start:word_start])
        if indent + cell_len(plain[start:word_end]) > room and column > hang and plain[start:end].strip():
            yield start, end, False
            start, indent = word_start, hang
        end = word_end
    yield start, end, command is not None


def _shortened(piece: Text, room: int) -> Text:
    plain = piece.plain
    inner = len(plain) - len(plain.lstrip())
    return Text(plain[:inner] + shortened(plain[inner:], room - inner), piece.spans[0].style if piece.spans else "")


def _broken(piece: Text, room: int, hang: int, indent: int) -> Iterator[Text]:
    while cell_len(piece.plain) > room - indent:
        fits = set_cell_size(piece.plain, room - indent).rstrip()
        comma = fits.rfind(",") + 1
        size = comma if comma > len(fits) // 2 else len(fits) or 1
        yield Text(" " * indent) + piece[:size]
        piece, indent = piece[size:], hang
    yield Text(" " * indent) + piece
