"""The byte layout of specs as an SVG: eight bytes in a row, each field a box as wide as it is long.

Bit fields are drawn with eight bits in a row. A field whose length depends on the data ends in a dashed edge, and the
next one starts a new row.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from textwrap import wrap
from xml.sax.saxutils import escape, quoteattr

from thawline.ksy.documents import Spec, TypeDef
from thawline.ksy.layouts import BITS, NUMBER, Extent, Row, described_types, rows_of

CELL, HEIGHT, COLUMNS = 104, 46, 8
LEFT, MARGIN = 170, 24
WIDTH = LEFT + CELL * COLUMNS + MARGIN
LETTER = 7.3
"""Width of a letter of a name in pixels; those of a note are smaller."""
NOTE_LETTER = 6.1
SMALL_LETTER = 5.5
MOST_ROWS = 5
"""A field of constant size that would take more rows is drawn in one."""
FILLS = {"number": "#dbe9f6", "bytes": "#eeeeee", "magic": "#fdf0c4", "structure": "#dcefd9", "text": "#efe2f3"}
STYLE = """
  text { font: 12px ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace; fill: #1a1a1a; }
  .note { font-size: 10px; fill: #555555; }
  .small { font-size: 9px; }
  .title { font-size: 17px; font-weight: bold; }
  .type { font-size: 14px; font-weight: bold; }
  .end { text-anchor: end; }
  .middle { text-anchor: middle; }
  rect.field { stroke: #444444; stroke-width: 1; }
  rect.open { stroke: none; }
  path.open { fill: none; stroke: #444444; stroke-width: 1; }
  path.torn { fill: none; stroke: #444444; stroke-width: 1; stroke-dasharray: 4 3; }
"""


@dataclass(frozen=True, slots=True)
class Box:
    """A field, or the part of it that is in one row, in cells from the left."""

    row: Row
    start: int
    end: int
    skipped: int = 0
    """The number of cells of the field in earlier rows."""
    is_open: bool = False
    """Whether its end is not known from the spec."""
    is_named: bool = True


@dataclass(frozen=True, slots=True)
class Band:
    """A row of the picture: its boxes, and whether a cell is a byte or a bit."""

    boxes: tuple[Box, ...]
    unit: str

    @property
    def offset(self) -> str:
        """Where the row starts."""
        first = self.boxes[0]
        start = first.row.start or Extent()
        bits = start.bits + first.skipped * (1 if self.unit == "bit" else 8)
        return str(Extent(bits // 8 * 8, start.terms)) + (", bits" if self.unit == "bit" else "")


def draw(specs: Iterable[Spec], known: Mapping[str, Spec]) -> str:
    """The types of specs below each other, as one SVG document."""
    canvas = _Canvas()
    for spec in specs:
        canvas.spec(spec, known)
    return canvas.document()


def bands(rows: Iterable[Row]) -> Iterator[Band]:
    """The rows of the picture of a type's fields."""
    current: list[Box] = []
    unit = "byte"
    for row in rows:
        wanted = "bit" if BITS.match(row.type) else "byte"
        if current and wanted != unit:
            yield Band(tuple(current), unit)
            current = []
        unit = wanted
        for box in _boxes(row, unit, current[-1].end if current else 0):
            if current and (box.start == 0 or current[-1].is_open):
                yield Band(tuple(current), unit)
                current = []
            current.append(box)
    if current:
        yield Band(tuple(current), unit)


def _boxes(row: Row, unit: str, at: int) -> Iterator[Box]:
    """The boxes of a field that starts in this cell, one for each row of the picture that it reaches into."""
    at = 0 if at == COLUMNS else at
    size = row.extent
    is_fixed = size is not None and not size.terms and "repeated" not in row.facts and "only if" not in row.facts
    if size is None or not is_fixed:
        yield Box(row, at, COLUMNS, is_open=True)
        return
    cells = size.bits if unit == "bit" else -(-size.bits // 8)
    if cells > MOST_ROWS * COLUMNS:
        yield Box(row, 0, COLUMNS, is_open=True)
        return
    pieces = list(_pieces(at, cells))
    widest = max(pieces, key=lambda piece: piece[1] - piece[0], default=None)
    for piece in pieces:
        yield Box(row, *piece, is_named=piece is widest)


def _pieces(at: int, cells: int) -> Iterator[tuple[int, int, int]]:
    """First and last cell of each part, and the number of cells before it."""
    skipped = 0
    while cells > 0:
        end = min(at + cells, COLUMNS)
        yield at, end, skipped
        skipped += end - at
        cells -= end - at
        at = 0


class _Canvas:
    """What is drawn so far, and its height."""

    def __init__(self) -> None:
        self.parts: list[str] = []
        self.top = MARGIN

    def spec(self, spec: Spec, known: Mapping[str, Spec]) -> None:
        title = (spec.data.get("meta") or {}).get("title", "")
        self.top += 16
        self.text(MARGIN, self.top, spec.id, "title")
        self.text(MARGIN, self.top + 18, str(title), "note")
        self.top += 34
        for type_ in described_types(spec):
            self.type(type_, known)
        self.top += 14

    def type(self, type_: TypeDef, known: Mapping[str, Spec]) -> None:
        rows = rows_of(type_, known)
        if type_.names:
            self.top += 14
            self.text(MARGIN, self.top, type_.names[-1], "type")
            self.top += 10
        for band in bands(row for row in rows if row.kind == "field"):
            self.band(band)
        self.notes(row for row in rows if row.kind != "field")
        self.top += 8

    def band(self, band: Band) -> None:
        self.fitted(LEFT - 10, self.top + HEIGHT // 2 + 4, band.offset, LEFT - MARGIN, "end")
        for box in band.boxes:
            self.box(box)
        self.top += HEIGHT

    def box(self, box: Box) -> None:
        left, width = LEFT + box.start * CELL, (box.end - box.start) * CELL
        shape = f'x="{left}" y="{self.top}" width="{width}" height="{HEIGHT}"'
        kind = "open" if box.is_open else "field"
        hover = f"<title>{escape(_hover(box.row))}</title>"
        self.parts.append(f'<rect class="{kind}" {shape} fill="{FILLS[_kind(box.row)]}">{hover}</rect>')
        if box.is_open:
            right, bottom = left + width, self.top + HEIGHT
            self.parts.append(f'<path class="open" d="M{right} {self.top} H{left} V{bottom} H{right}"/>')
            self.parts.append(f'<path class="torn" d="M{right} {self.top} V{bottom}"/>')
        middle = left + width // 2
        if not box.is_named:
            self.text(middle, self.top + HEIGHT // 2 + 4, _cut(f"… {box.row.name}", width / NOTE_LETTER), "note middle")
            return
        self.fitted(middle, self.top + 20, box.row.name, width - 6, "middle")
        self.text(middle, self.top + 36, _cut(_note(box.row), (width - 6) / NOTE_LETTER), "note middle")

    def notes(self, rows: Iterable[Row]) -> None:
        """Instances as lines of text: they overlap fields or are calculated."""
        for row in rows:
            size = f", {row.size}" if row.size else ""
            text = f"{row.name} {row.type}" if row.kind == "value" else f"{row.name} {row.offset}{size}: {row.type}"
            for line in wrap(text, int((WIDTH - LEFT - MARGIN) / NOTE_LETTER)):
                self.top += 15
                self.text(LEFT, self.top, line, "note")

    def fitted(self, x: float, y: float, content: str, room: float, style: str) -> None:
        """A text, in smaller letters if it is too long."""
        is_long = len(content) * LETTER > room
        text = _cut(content, room / (SMALL_LETTER if is_long else LETTER))
        self.text(x, y, text, f"small {style}" if is_long else style)

    def text(self, x: float, y: float, content: str, style: str) -> None:
        self.parts.append(f'<text x="{x:g}" y="{y:g}" class={quoteattr(style)}>{escape(content)}</text>')

    def document(self) -> str:
        height = self.top + MARGIN
        size = f'width="{WIDTH}" height="{height}" viewBox="0 0 {WIDTH} {height}"'
        back = f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>'
        lines = [
            f'<svg xmlns="http://www.w3.org/2000/svg" {size}>',
            f"<style>{STYLE}</style>",
            back,
            *self.parts,
            "</svg>",
        ]
        return "\n".join(lines) + "\n"


def _kind(row: Row) -> str:
    if row.type.startswith("contents"):
        return "magic"
    name = row.type.partition(" ")[0]
    if NUMBER.fullmatch(name) or BITS.fullmatch(name):
        return "number"
    if name in {"str", "strz"}:
        return "text"
    return "bytes" if name == "bytes" else "structure"


def _note(row: Row) -> str:
    """Type and size, unless the width of the box tells them."""
    is_plain = NUMBER.match(row.type) or BITS.match(row.type)
    parts = [row.type.removeprefix("contents b")]
    if not is_plain and _kind(row) != "magic":
        is_number = row.size.isdigit() or row.extent is not None
        parts.append(f"{row.size} byte{'' if row.size == '1' else 's'}" if is_number else row.size)
    parts += [word for word, fact in (("repeated", "repeated"), ("optional", "only if")) if fact in row.facts]
    return " · ".join(parts)


def _hover(row: Row) -> str:
    parts = [f"{row.name}: {row.type}, {row.size}", row.spec_name, row.facts, " ".join(row.doc.split())]
    return "\n".join(part for part in parts if part)


def _cut(text: str, room: float) -> str:
    return text if len(text) <= room else text[: max(int(room) - 1, 1)] + "…"
