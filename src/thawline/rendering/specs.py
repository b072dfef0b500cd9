"""Specs as pages on a terminal: the layout of each type."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest
from textwrap import fill, wrap

from rich.console import Console
from rich.text import Text

from thawline.ksy.document_specs import members_of
from thawline.ksy.documents import Spec, TypeDef
from thawline.ksy.layouts import Row, described_types, rows_of, sync_text
from thawline.ksy.versions import Version

MARGIN, GAP = "  ", "  "
WIDEST = 120
HEADER = ("offset", "size", "type", "name", "meaning")
MEMBERS = ("type", "presence", "name", "meaning")
MOST, MOST_OF_MEMBERS = (18, 16, 22, 32), (8, 8, 48)
"""The largest widths of the columns before the last, which has the remaining width."""
LEAST, NARROWEST = 28, 8
"""The smallest width of the last column, which is kept by narrowing the others, and theirs; names are not narrowed."""
DOT = " · "
ORDERS = {"le": "little-endian", "be": "big-endian"}


def show_specs(console: Console, version: Version) -> None:
    """Print a page for each spec that is requested."""
    width = min(console.width, WIDEST)
    specs = [version.specs[name] for name in version.asked]
    for index, spec in enumerate([*specs, *version.documents.values()]):
        if index:
            console.print()
        _print_head(console, spec, width)
        if spec.id in version.documents:
            rows = [(row.type, row.presence, row.name, row.meaning) for row in members_of(spec)]
            console.print()
            _print_table(console, [MEMBERS, *rows], width, MOST_OF_MEMBERS)
        else:
            _show(console, spec, version.specs, width)


def _print_head(console: Console, spec: Spec, width: int) -> None:
    meta = spec.data.get("meta") or {}
    facts = [meta.get("title"), ORDERS.get(str(meta.get("endian")))]
    console.print(Text(spec.id, "bold") + Text("  " + DOT.join(str(fact) for fact in facts if fact)))
    if spec.data.get("doc"):
        console.print(fill(_line(spec.data["doc"]), width))


def _show(console: Console, spec: Spec, known: Mapping[str, Spec], width: int) -> None:
    for type_ in described_types(spec):
        console.print()
        if type_.names:
            _print_title(console, type_, width)
        rows = [_cells(row) for row in rows_of(type_, known)]
        _print_table(console, [HEADER, *rows], width)
        if found := sync_text(type_):
            console.print(
                fill(f"found after damage {found}", width, initial_indent=MARGIN, subsequent_indent=MARGIN * 2)
            )
    for name, members in (spec.data.get("enums") or {}).items():
        console.print()
        console.print(Text(name, "bold") + Text("  enum"))
        for line in _members(members or {}):
            console.print(fill(line, width, initial_indent=MARGIN, subsequent_indent=MARGIN * 3))


def _line(text: object) -> str:
    return " ".join(str(text).split())


def _print_title(console: Console, type_: TypeDef, width: int) -> None:
    params = ", ".join(str(item.get("id", "")) for item in type_.data.get("params") or [])
    name = type_.names[-1] + (f"({params})" if params else "")
    lines = wrap(f"{name}  {_line(type_.data.get('doc') or '')}", width)
    console.print(Text(name, "bold") + Text(lines[0].removeprefix(name)))
    for line in lines[1:]:
        console.print(line)


def _cells(row: Row) -> tuple[str, ...]:
    spec_name = row.spec_name if row.spec_name != row.name else ""
    type_, formula = ("calculated", row.type) if row.kind == "value" else (row.type, "")
    meaning = DOT.join(part for part in (spec_name, formula, row.facts, _line(row.doc)) if part)
    return row.offset, row.size, _line(type_), row.name, _line(meaning)


def _print_table(console: Console, rows: Sequence[Sequence[str]], width: int, mosts: Sequence[int] = MOST) -> None:
    """Print rows in columns with wrapped cells; the first row is the header."""
    columns = [*zip(*rows, strict=True)][:-1]
    widths = [min(max(map(len, column)), most) for column, most in zip(columns, mosts, strict=True)]
    room = width - len(MARGIN) - len(GAP) * len(widths)
    while sum(widths) + LEAST > room and max(widths[:-1]) > NARROWEST:
        widths[widths.index(max(widths[:-1]))] -= 1
    widths.append(max(room - sum(widths), LEAST))
    for index, row in enumerate(rows):
        for line in _wrapped(row, widths):
            console.print(Text(line, "" if index else "bold"))


def _wrapped(row: Sequence[str], widths: Sequence[int]) -> Iterator[str]:
    cells = [wrap(cell, width) or [""] for cell, width in zip(row, widths, strict=True)]
    for parts in zip_longest(*cells, fillvalue=""):
        yield (MARGIN + GAP.join(part.ljust(width) for part, width in zip(parts, widths, strict=True))).rstrip()


def _members(members: Mapping[int, object]) -> Iterator[str]:
    for value, member in members.items():
        entry = member if isinstance(member, dict) else {"id": member}
        facts = [entry["id"], entry.get("-orig-id"), _line(entry.get("doc", ""))]
        yield f"{value} ({value:#x})  " + DOT.join(str(fact) for fact in facts if fact)
