"""A byte map as one line of text."""

from __future__ import annotations

from rich.text import Text

from thawline.bytemap import STATES, State, cells, runs
from thawline.model import Report

BLOCKS: dict[State, str] = {"intact": "▇", "damaged": "░", "padding": "▁", "not looked at": "·"}
LETTERS: dict[State, str] = {"intact": "#", "damaged": "!", "padding": "_", "not looked at": "."}
"""The same for a terminal that has no blocks."""
COLOURS: dict[State, str] = {"intact": "green", "damaged": "bold red", "padding": "dim", "not looked at": "dim"}
LEAST, MOST = 8, 96
"""Cells of a map: with fewer it says nothing, with more the eye finds nothing."""


def strip(report: Report, room: int, encoding: str = "utf-8") -> Text | None:
    """The map of a file with its key, at most `room` columns wide; None where there is no room, or there are no bytes.

    >>> from thawline.model import Code, Finding, Run, Span, report
    >>> torn = Finding(Code("XXX101", "torn", "error", ""), Span(80, 100))
    >>> print(strip(report("a", "x", 100, [Run(Span(0, 80), 1, 1), torn]), 21))
    ▇▇▇▇▇▇▇▇░░  ░ damaged
    """
    signs = BLOCKS if _has(encoding) else LETTERS
    shown = {state for _, _, state in runs(cells(report.findings, report.size, MOST))}
    key = ", ".join(f"{signs[state]} {state}" for state in reversed(STATES[1:]) if state in shown)
    count = min(MOST, room - len(key) - 2)
    if count < LEAST or not report.size:
        return None
    line = Text()
    for first, end, state in runs(cells(report.findings, report.size, count)):
        line.append(signs[state] * (end - first), COLOURS[state])
    return line.append(f"  {key}", "dim") if key else line


def _has(encoding: str) -> bool:
    """Whether an encoding has the blocks."""
    try:
        "".join(BLOCKS.values()).encode(encoding)
    except (UnicodeEncodeError, LookupError):
        return False
    return True
