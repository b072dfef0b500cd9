"""Matches of a pattern, marked in what is shown."""

from __future__ import annotations

import re

import pyarrow as pa
import pyarrow.compute as pc
from rich.text import Text

START, END = "\x02", "\x03"
"""Around a match; shown text has no control characters."""
STYLE = "bold red"


def mark(line: Text, pattern: str) -> None:
    """Mark the matches in a line; the search takes linear time (RE2), whatever the line holds.

    >>> text = Text("user-1 and user-2")
    >>> mark(text, "r-.")
    >>> [(span.start, span.end) for span in text.spans]
    [(3, 6), (14, 17)]
    """
    if START in line.plain or END in line.plain:
        return
    found = pc.replace_substring_regex(pa.scalar(line.plain), pattern, f"{START}\\0{END}").as_py()
    at = 0
    for piece in re.split(f"({START}[^{END}]*{END})", found):
        is_match = piece.startswith(START)
        size = len(piece) - 2 * is_match
        if is_match and size:
            line.stylize(STYLE, at, at + size)
        at += size
