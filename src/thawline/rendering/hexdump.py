"""Rows of a hex dump: address, sixteen bytes, the same as characters, and what they are.

Rows are aligned to sixteen bytes of the file, so they can be compared with what xxd or hexdump print. A field that
crosses a row takes the next one too; its name stands on the first. Colour only repeats what is written.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter

from rich.text import Text

from thawline.rendering.words import counted
from thawline.source import Source

ROW = 16
MARK_STYLE = "bold red"
BYTE_STYLES = {"null": "dim", "printable": "cyan", "blank": "green", "control": "magenta", "high": "yellow"}
"""Where bytes are no field they are coloured by what they may be."""


@dataclass(frozen=True, slots=True)
class Stretch:
    """Bytes of a file that are shown as one thing."""

    start: int
    end: int
    label: str
    value: str = ""
    note: str = ""
    style: str = ""
    """Of its bytes; empty to tell bytes by what they may be."""
    reason: str = ""
    """Why it is wrong; its bytes are then underlined with carets."""
    rows: int = 4
    """How many rows it may take; where more would be needed, it says how much is not shown."""


class Dump:
    """A hex dump of parts of a file."""

    def __init__(self, source: Source, focus: int | None = None) -> None:
        self.source = source
        self.focus = focus
        """A byte that is shown and marked, however long the stretch is that it lies in."""
        self.digits = max(4, len(f"{source.size:x}"))

    def lines(self, stretch: Stretch) -> Iterator[Text]:
        """The rows of a stretch."""
        position = stretch.start
        for row in self._rows(stretch):
            start, end = max(stretch.start, row * ROW), min(stretch.end, (row + 1) * ROW)
            if start > position:
                yield self._skipped(start - position)
            is_first = row == stretch.start // ROW
            yield self._row(stretch, start, end, is_first=is_first)
            if is_first and stretch.reason:
                yield self._marks(start, max(end, start + 1), stretch.reason)
            if self.focus is not None and start <= self.focus < end:
                yield self._marks(self.focus, self.focus + 1, f"byte {self.focus:#x}")
            position = end
        if position < stretch.end:
            yield self._skipped(stretch.end - position)

    def _rows(self, stretch: Stretch) -> list[int]:
        """Which rows of a stretch are shown, by number: the first ones, and those around the byte in focus."""
        first, last = stretch.start // ROW, max(stretch.end - 1, stretch.start) // ROW
        # To say that one row is left out takes a row as well.
        shown = set(range(first, last + 1 if last - first <= stretch.rows else first + stretch.rows))
        if self.focus is not None and stretch.start <= self.focus < stretch.end:
            near = self.focus // ROW
            shown.update(range(max(first, near - 1), min(last, near + 1) + 1))
        return sorted(shown)

    def _row(self, stretch: Stretch, start: int, end: int, *, is_first: bool) -> Text:
        data = bytes(self.source.view(start, end))
        before, behind = start % ROW, ROW - start % ROW - len(data)
        styles = [stretch.style or _byte_style(byte) for byte in data]
        line = Text().append(f"0x{start:0{self.digits}x}| ", "dim").append("   " * before)
        _append(line, [f"{byte:02x} " for byte in data], styles)
        line.append("   " * behind).append("|", "dim").append(" " * before)
        _append(line, [chr(byte) if _is_printable(byte) else "." for byte in data], styles)
        line.append(" " * behind).append("|", "dim")
        return line.append_text(_annotation(stretch)) if is_first else line

    def _marks(self, start: int, end: int, text: str) -> Text:
        """Carets under some bytes of a row, and what is to be said of them where their names stand."""
        column = start % ROW
        carets = " " * (3 * column) + "^" * (3 * (end - start) - 1)
        line = Text(" " * (self.digits + 2)).append("| ", "dim").append(f"{carets:{3 * ROW}}", MARK_STYLE)
        return line.append(f"|{' ' * ROW}| ", "dim").append(f"^ {text}", MARK_STYLE)

    def _skipped(self, count: int) -> Text:
        line = Text(" " * (self.digits + 2)).append("| ", "dim")
        line.append(f"… {counted(count, 'byte')} more".ljust(3 * ROW), "italic")
        return line.append(f"|{' ' * ROW}|", "dim")


def _append(line: Text, cells: list[str], styles: list[str]) -> None:
    """Add cells, those of one style in one piece."""
    for style, group in groupby(zip(styles, cells, strict=True), key=itemgetter(0)):
        line.append("".join(cell for _, cell in group), style)


def _annotation(stretch: Stretch) -> Text:
    text = Text(" ").append(stretch.label, f"bold {stretch.style}")
    if stretch.value:
        text.append(f": {stretch.value}")
    return text.append(f" ({stretch.note})", "italic") if stretch.note else text


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
