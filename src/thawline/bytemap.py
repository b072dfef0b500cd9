"""The byte map of a file: which stretches are intact, damaged, padding or not looked at, from its findings alone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from thawline.model import Finding, Span

__all__ = ["STATES", "State", "Tile", "cells", "runs", "tiles"]

State = Literal["intact", "damaged", "padding", "not looked at"]
STATES: tuple[State, ...] = ("intact", "padding", "not looked at", "damaged")
"""From the one that matters least to the one that is shown wherever it occurs."""
RANK = {state: rank for rank, state in enumerate(STATES)}


@dataclass(frozen=True, slots=True)
class Tile:
    """A stretch of a file in one state."""

    span: Span
    state: State
    finding: int = 0
    """The number of the finding about it, from 1; 0 if it is intact."""


def tiles(findings: Iterable[Finding], size: int) -> Iterator[Tile]:
    """The stretches of a file, which tile it. A finding about damage inside intact bytes is a tile without bytes.

    >>> from thawline.model import Code
    >>> torn = Finding(Code("XXX101", "torn", "error", ""), Span(4, 6))
    >>> print(*(f"{tile.span} {tile.state}" for tile in tiles([torn], 6)))
    0x0..0x4 intact 0x4..0x6 damaged
    """
    position = 0
    for number, finding in enumerate(findings, 1):
        span = Span(max(finding.span.start, position), min(finding.span.end, size))
        if span.end < span.start or not (span.size or finding.severity == "error"):
            continue
        if position < span.start:
            yield Tile(Span(position, span.start), "intact")
        yield Tile(span, state_of(finding), number)
        position = span.end
    if position < size:
        yield Tile(Span(position, size), "intact")


def state_of(finding: Finding) -> State:
    """The state of the bytes that a finding is about."""
    if finding.severity == "error":
        return "damaged"
    return "not looked at" if finding.code.is_pruning else "padding"


def cells(findings: Iterable[Finding], size: int, count: int) -> list[State]:
    """The map in cells of equal size; a cell shows the worst state of its bytes, so that no damage is lost.

    >>> from thawline.model import Code
    >>> cells([Finding(Code("XXX101", "torn", "error", ""), Span(97, 98))], 100, 4)
    ['intact', 'intact', 'intact', 'damaged']
    """
    if not size:
        return []
    count = min(count, size)
    states: list[State] = ["intact"] * count
    for tile in tiles(findings, size):
        if tile.state == "intact":
            continue
        first = min(tile.span.start * count // size, count - 1)
        last = max(first, -(-tile.span.end * count // size) - 1)
        for cell in range(first, last + 1):
            if RANK[tile.state] > RANK[states[cell]]:
                states[cell] = tile.state
    return states


def runs(states: Sequence[State]) -> Iterator[tuple[int, int, State]]:
    """Cells of one state that follow one another: the first, the one after the last, and the state.

    >>> list(runs(["intact", "intact", "damaged"]))
    [(0, 2, 'intact'), (2, 3, 'damaged')]
    """
    first = 0
    for cell in range(1, len(states) + 1):
        if cell == len(states) or states[cell] != states[first]:
            yield first, cell, states[first]
            first = cell
