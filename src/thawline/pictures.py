"""The byte map of a file as SVG, for a page, a notebook or a file of its own.

States differ in height as well as in colour: damage stands out above and below, padding is low, what was not looked at
is a line. So the map reads the same in grey, and for everyone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from thawline.bytemap import State, Tile, cells, runs, tiles
from thawline.markup import Markup, element, joined
from thawline.model import Report, Span

__all__ = ["Picture", "byte_map", "coarse", "plot"]

WIDTH, HEIGHT, EDGE = 960, 40, 6
LEAST = 2.0
"""The least width of a stretch: one broken byte of a gigabyte is seen."""
MOST_TILES = 400
"""A file with more stretches is drawn as cells of equal size."""
CELLS = 240
FILLS: dict[State, str] = {"intact": "#c3ccd6", "damaged": "#c2410c", "padding": "#8b95a1", "not looked at": "#8b95a1"}
CLASSES: dict[State, str] = {"intact": "intact", "damaged": "damaged", "padding": "padding", "not looked at": "unseen"}

Link = Callable[[Tile], str]


@dataclass(frozen=True, slots=True)
class Picture:
    """An SVG image: a notebook shows it, and `str` is its text."""

    svg: str

    def __str__(self) -> str:
        return self.svg

    def _repr_svg_(self) -> str:
        return self.svg


def plot(report: Report) -> Picture:
    """The byte map of a file as a picture, from its report; the file is not read again.

    >>> from thawline.model import Run, report
    >>> str(plot(report("a.rbf", "rbf", 4, [Run(Span(0, 4), 0, 0)])))[:4]
    '<svg'
    """
    drawn = byte_map(drawn_tiles(report), report.size, report.file)
    return Picture(str(drawn))


def drawn_tiles(report: Report) -> Sequence[Tile]:
    """The stretches of a file as a picture shows them: exactly, or as cells where there are too many."""
    if len(report.findings) <= MOST_TILES:
        return list(tiles(report.findings, report.size))
    states = cells(report.findings, report.size, CELLS)
    return coarse(runs(states), len(states), report.size)


def coarse(states: Iterable[tuple[int, int, State]], count: int, size: int) -> Sequence[Tile]:
    """Runs of cells as stretches of bytes."""
    return [Tile(Span(first * size // count, end * size // count), state) for first, end, state in states]


def byte_map(
    stretches: Iterable[Tile], size: int, name: str, title: Callable[[Tile], str] = str, link: Link = lambda _tile: ""
) -> Markup:
    """The map of a file; `title` is what a stretch says under the pointer, and `link` where it leads."""
    scale = WIDTH / max(size, 1)
    base = _bar("intact", 0, WIDTH, "") if size else joined()
    marks = [_mark(tile, scale, title, link) for tile in stretches if tile.state != "intact"]
    labels = [_label(0, "start", "0x0"), _label(WIDTH, "end", f"{size:#x}")]
    return element(
        "svg",
        element("title", f"byte map of {name}"),
        base,
        *marks,
        *labels,
        xmlns="http://www.w3.org/2000/svg",
        viewBox=f"0 0 {WIDTH} {HEIGHT + 16}",
        class_="map",
        role="img",
    )


def _mark(tile: Tile, scale: float, title: Callable[[Tile], str], link: Link) -> Markup:
    width = max(tile.span.size * scale, LEAST)
    start = min(tile.span.start * scale, WIDTH - width)
    text = title(tile) if title is not str else f"{tile.span} {tile.state}"
    bar = _bar(tile.state, start, width, text)
    target = link(tile)
    return element("a", bar, href=target) if target else bar


def _bar(state: State, start: float, width: float, text: str) -> Markup:
    top, height = {
        "intact": (EDGE, HEIGHT - 2 * EDGE),
        "damaged": (0, HEIGHT),
        "padding": (HEIGHT - EDGE - 8, 8),
        "not looked at": (HEIGHT // 2 - 1, 3),
    }[state]
    inner = [element("title", text)] if text else []
    blank = state in ("padding", "not looked at")
    ground = _rect(start, EDGE, width, HEIGHT - 2 * EDGE, "#ffffff", "blank") if blank else joined()
    return joined(ground, _rect(start, top, width, height, FILLS[state], CLASSES[state], *inner))


def _rect(x: float, y: int, width: float, height: int, fill: str, class_: str, *inner: Markup) -> Markup:
    return element("rect", *inner, x=float(x), y=y, width=float(width), height=height, fill=fill, class_=class_)


def _label(x: int, anchor: str, text: str) -> Markup:
    return element(
        "text", text, x=x, y=HEIGHT + 13, text_anchor=anchor, font_size=11, font_family="monospace", fill="#6b7280"
    )
