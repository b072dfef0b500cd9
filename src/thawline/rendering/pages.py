"""Markdown pages on a terminal: paragraphs and tables are folded to its width, code is not."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby, zip_longest
from textwrap import wrap
from typing import Literal

import pyarrow as pa
from rich.cells import cell_len
from rich.text import Text

from thawline.formats.contract import Table
from thawline.rendering.console import PlainConsole
from thawline.rendering.folding import Line, folded
from thawline.rendering.grid import fitted

WIDEST = 100
"""The largest width of a line of prose: longer lines are hard to read."""
GAP = "  "
Block = Literal["code", "table", "heading", "prose", "blank"]
ITEM = re.compile(r" *(?:[*-]|\d+\.) ")
MARK = re.compile(r"<!-- (columns|extras) of (\w+) -->")
"""Where a page has the columns of a table, or those that are given only by name."""
BY_NAME = "More columns, where `--columns` names them:"
REMARK = re.compile(r"(?<=\S) {2,}(?=\S)")
"""The gap between a command and the remark after it."""


def filled(page: str, tables: Mapping[str, Table]) -> str:
    """A format's page with the columns of its tables at the places that are marked for them."""

    def listed(mark: re.Match[str]) -> str:
        table = tables[mark[2]]
        intro, fields = (_intro(table), table.schema) if mark[1] == "columns" else (BY_NAME, table.extras)
        rows = (f"| `{field.name}` | {_type(field.type)} | {table.meanings[field.name]} |" for field in fields)
        return "\n".join([intro, "", "| column | type | |", "| --- | --- | --- |", *rows])

    return MARK.sub(listed, page)


def _intro(table: Table) -> str:
    """What the rows of a table are, and what identifies one."""
    key = ", ".join(f"`{name}`" for name in table.identity.key)
    return f"{table.doc} `thawline diff` compares rows by {key}." if key else table.doc


def _type(kind: pa.DataType) -> str:
    """A type in a few words."""
    if pa.types.is_list(kind):
        return "list"
    return "timestamp" if pa.types.is_timestamp(kind) else str(kind).replace("decimal128", "decimal")


def show_page(console: PlainConsole, page: str) -> None:
    """Print a page, folded on a terminal only."""
    if console.room is None:
        console.print(page)
        return
    room = min(console.room, WIDEST)
    for kind, lines in groupby(page.splitlines(), _kind):
        for line in _folded(kind, list(lines), room):
            console.print(line)


def _kind(line: str) -> Block:
    if not line.strip():
        return "blank"
    if line.startswith("    "):
        return "code"
    if line.startswith("|"):
        return "table"
    return "heading" if line.startswith("#") else "prose"


def _folded(kind: Block, lines: list[str], room: int) -> Iterator[Text]:
    match kind:
        case "code":
            for line in lines:
                yield from _code(line, room)
        case "table":
            yield from _table([_cells(line) for line in lines if not set(line) <= set("|-: ")], room)
        case "heading":
            yield from (Text(line, "bold") for line in lines)
        case "prose":
            for item in _items(lines):
                yield from folded(item, room)
        case "blank":
            yield from (Text() for _ in lines)


def _code(line: str, room: int) -> Iterator[Text]:
    """A line of code, unchanged; a remark after it that does not fit moves to the next line."""
    remark = REMARK.search(line.lstrip())
    if cell_len(line) <= room or not remark:
        yield Text(line)
        return
    indent = len(line) - len(line.lstrip())
    yield Text(line[: indent + remark.start()])
    yield from folded(Line.hanging(indent + 4, " " * (indent + 4) + line[indent + remark.end() :]), room)


def _items(lines: list[str]) -> Iterator[Text]:
    """Paragraphs and list items, each as one line."""
    item: list[str] = []
    for line in lines:
        if item and ITEM.match(line):
            yield _item(item)
            item = []
        item.append(line)
    yield _item(item)


def _item(lines: list[str]) -> Text:
    mark = ITEM.match(lines[0])
    return Line.hanging(mark.end() if mark else 0, " ".join([lines[0].rstrip(), *map(str.strip, lines[1:])]))


def _cells(line: str) -> list[str]:
    return [cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", line.strip().strip("|"))]


def _table(rows: Sequence[Sequence[str]], room: int) -> Iterator[Text]:
    """The lines of a table with folded cells; the first row is the header."""
    count = max(map(len, rows))
    filled = [[*row, *[""] * (count - len(row))] for row in rows]
    columns = list(zip(*filled, strict=True))
    least = [max(cell_len(word) for cell in column for word in [*cell.split(), ""]) for column in columns]
    widths = fitted([max(map(cell_len, column)) for column in columns], least, room)
    for index, row in enumerate(filled):
        for line in _wrapped(row, widths):
            yield Text(line, "" if index else "bold")


def _wrapped(row: Sequence[str], widths: Sequence[int]) -> Iterator[str]:
    cells = [wrap(cell, max(width, 1), break_on_hyphens=False) or [""] for cell, width in zip(row, widths, strict=True)]
    for parts in zip_longest(*cells, fillvalue=""):
        yield GAP.join(part.ljust(width) for part, width in zip(parts, widths, strict=True)).rstrip()
