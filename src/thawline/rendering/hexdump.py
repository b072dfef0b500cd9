"""Rows of a hex dump: address, sixteen bytes, the same as characters, and their field.

Rows are aligned to sixteen bytes of the file, so they can be compared with the output of xxd or hexdump. A field that
crosses a row continues on the next one; its name is on the first. On a terminal too narrow for names beside sixteen
bytes, rows have eight. Colour adds no information.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from operator import itemgetter

from rich.text import Text

from thawline.rendering.folding import Line, folded
from thawline.rendering.words import counted
from thawline.source import Source
from thawline.verbs.stretches import Stretch

ROW, SHORT_ROW = 16, 8
NAME = 36
"""Columns that names and values need beside the bytes."""
MARK_STYLE = "bold red"
BYTE_STYLES = {"null": "dim", "printable": "cyan", "blank": "green", "control": "magenta", "high": "yellow"}
"""Colours of bytes outside of fields, by class."""


FIELD_STYLES = ("cyan", "green", "yellow", "blue", "magenta")
"""Colours of consecutive fields, in turn."""


class Dump:
    """A hex dump of parts of a file."""

    def __init__(self, source: Source, focus: int | None = None, room: int | None = None) -> None:
        self.source = source
        self.focus = focus
        """A byte that is always shown and marked, even in a stretch that is shortened."""
        self.digits = max(4, len(f"{source.size:x}"))
        self.row = ROW if room is None or room >= self._margin(ROW) + NAME else SHORT_ROW
        self.room = None if room is None else max(room - self._margin(self.row), NAME // 2)
        """Columns beside the bytes; None if lines are not folded."""

    def _margin(self, row: int) -> int:
        """Columns of address, bytes and characters."""
        return self.digits + 4 + 3 * row + 1 + row + 1 + 1

    def lines(self, stretch: Stretch) -> Iterator[Text]:
        """The rows of a stretch."""
        position = stretch.start
        notes = self._folded(_annotation(stretch))
        for row in self._rows(stretch):
            start, end = max(stretch.start, row * self.row), min(stretch.end, (row + 1) * self.row)
            if start > position:
                yield self._beside(f"… {counted(start - position, 'byte')} more", next(notes, Text()))
            yield self._bytes(stretch, start, end).append_text(next(notes, Text()))
            marked = list(self._marked(stretch, start, end))
            if marked:  # the reason follows directly below the marked bytes
                yield from (self._beside("", note) for note in notes)
            yield from marked
            position = end
        if position < stretch.end:
            yield self._beside(f"… {counted(stretch.end - position, 'byte')} more", next(notes, Text()))
        yield from (self._beside("", note) for note in notes)

    def _marked(self, stretch: Stretch, start: int, end: int) -> Iterator[Text]:
        if start == stretch.start and stretch.reason:
            yield from self._marks(start, max(end, start + 1), stretch.reason)
        if self.focus is not None and start <= self.focus < end:
            yield from self._marks(self.focus, self.focus + 1, f"byte {self.focus:#x}")

    def _rows(self, stretch: Stretch) -> list[int]:
        """The numbers of the rows to show: the first rows of a stretch, and those around the byte in focus."""
        first, last = stretch.start // self.row, max(stretch.end - 1, stretch.start) // self.row
        most = stretch.rows * ROW // self.row
        # A note that one row is left out would itself take a row.
        shown = set(range(first, last + 1 if last - first <= most else first + most))
        if self.focus is not None and stretch.start <= self.focus < stretch.end:
            near = self.focus // self.row
            shown.update(range(max(first, near - 1), min(last, near + 1) + 1))
        return sorted(shown)

    def _bytes(self, stretch: Stretch, start: int, end: int) -> Text:
        data = bytes(self.source.view(start, end))
        before, after = start % self.row, self.row - start % self.row - len(data)
        style = _style(stretch)
        styles = [style or _byte_style(byte) for byte in data]
        line = Text().append(f"0x{start:0{self.digits}x}| ", "dim").append("   " * before)
        _append(line, [f"{byte:02x} " for byte in data], styles)
        line.append("   " * after).append("|", "dim").append(" " * before)
        _append(line, [chr(byte) if _is_printable(byte) else "." for byte in data], styles)
        return line.append(" " * after).append("|", "dim")

    def _marks(self, start: int, end: int, text: str) -> Iterator[Text]:
        """Carets under some bytes of a row, with a text in the column of names."""
        carets = " " * (3 * (start % self.row)) + "^" * (3 * (end - start) - 1)
        first, *others = self._folded(Text(f" ^ {text}", MARK_STYLE))
        yield self._beside(carets, first, MARK_STYLE)
        yield from (self._beside("", part) for part in others)

    def _folded(self, note: Text) -> Iterator[Text]:
        """A note beside bytes, in lines that fit there."""
        return iter([note]) if self.room is None else folded(Line.hanging(3).append_text(note), self.room)

    def _beside(self, text: str, note: Text, style: str = "italic") -> Text:
        """A row without bytes."""
        line = Text(" " * (self.digits + 2)).append("| ", "dim").append(f"{text:{3 * self.row}}", style)
        return line.append(f"|{' ' * self.row}|", "dim").append_text(note)


def _append(line: Text, cells: list[str], styles: list[str]) -> None:
    """Add cells; adjacent cells of one style are one span."""
    for style, group in groupby(zip(styles, cells, strict=True), key=itemgetter(0)):
        line.append("".join(cell for _, cell in group), style)


def _annotation(stretch: Stretch) -> Text:
    text = Text(" ").append(stretch.label, f"bold {_style(stretch)}")
    if stretch.value:
        text.append(f": {stretch.value}")
    return text.append(f" ({stretch.note})", "italic") if stretch.note else text


def _style(stretch: Stretch) -> str:
    """The colour of a stretch; empty if its bytes are coloured by class."""
    if stretch.role == "field":
        return FIELD_STYLES[stretch.number % len(FIELD_STYLES)]
    return "dim" if stretch.role == "separator" else ""


def _is_printable(byte: int) -> bool:
    return 0x20 <= byte < 0x7F  # noqa: PLR2004 - ASCII


def _byte_style(byte: int) -> str:
    if byte == 0:
        return BYTE_STYLES["null"]
    if chr(byte) in " \t\n\v\f\r":
        return BYTE_STYLES["blank"]
    if _is_printable(byte):
        return BYTE_STYLES["printable"]
    return BYTE_STYLES["control" if byte < 0x80 else "high"]  # noqa: PLR2004 - ASCII
