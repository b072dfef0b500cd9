"""Text that fits a terminal: lines folded at their words, words that are too long cut with a mark.

A command to copy is never broken: what a terminal wraps by itself is still one line when it is copied.
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
"""A number stays together, and with what is counted."""
LongWord = Literal["cut", "break", "keep"]
NARROWEST = 24
"""Columns that a text needs to be read."""


class Line(Text):
    """A line that goes on below its own text, `hang` columns in, where it does not fit."""

    hang: int | None = None

    @classmethod
    def hanging(cls, hang: int, *parts: str | tuple[str, str]) -> Line:
        """A line of some parts, with their styles."""
        made = cls()
        for part in parts:
            made.append(*([part] if isinstance(part, str) else part))
        made.hang = hang
        return made


def cut(text: str, room: int) -> str:
    """Text that fits, with a mark at its end where it was cut.

    >>> cut("every byte accounted for", 11), cut("日本語", 4)
    ('every byte…', '日…')
    """
    return text if cell_len(text) <= room else set_cell_size(text, max(room - 1, 0)).rstrip() + MARK


def shortened(path: str, room: int) -> str:
    """A path that fits, cut in its middle with a mark: what it is called stays.

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
    """A line as lines that fit, broken between words; what is done with a word that does not fit is said.

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
    """Where a line goes on: where it says, else under what stands behind its title, else a little further in."""
    told = line.hang if isinstance(line, Line) else None
    plain = line.plain
    inner = len(plain) - len(plain.lstrip())
    gap = plain.find("  ", inner)
    behind = gap + len(plain[gap:]) - len(plain[gap:].lstrip()) if gap >= 0 else inner + 2
    if told is not None and told <= room - NARROWEST:
        return told
    return behind if behind <= room // 2 else min(inner + 2, room // 2)


def _pieces(plain: str, room: int, hang: int) -> Iterator[tuple[int, int, bool]]:
    """Start and end of each line, and whether it is a command."""
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
