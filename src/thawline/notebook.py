"""The HTML that a notebook shows for a file or a folder: facts, a byte map, and the first rows.

A notebook shows the last value of a cell unasked, so this looks at little: at all bytes of what is small and on disk,
else at the start of the file. It says what it has looked at.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any

from thawline.batches import first
from thawline.cards import card, drawn, table
from thawline.errors import ThawlineError
from thawline.markup import Markup, element, joined
from thawline.source import LocalSource
from thawline.values import json_text, listed
from thawline.wording import counted

if TYPE_CHECKING:
    from thawline.cold import ColdFile, ColdFolder

__all__ = ["file_card", "folder_card"]

SMALL = 16 << 20
"""Bytes that are read without a request."""
ROWS = 5
MOST_MAPS = 10


def file_card(cold: ColdFile) -> str:
    """A file: what it is, its byte map if it is small, its columns, and its first rows."""
    claim, is_local, is_small = cold.claim, cold.source.is_local, cold.size <= SMALL
    facts = {
        "format": f"{cold.format.title}, version {claim.version}" if claim else cold.format.title,
        "size": counted(cold.size, "byte"),
        "because": claim.why if claim else "",
    }
    parts = [_columns(cold.table, cold.schema)]
    try:
        if is_local and is_small:
            report = cold.verify()
            facts["verdict"] = "intact" if report.ok else "damaged"
            parts.insert(0, drawn(report))
        if is_local:
            parts.append(_first_rows(cold))
    except ThawlineError as error:
        facts["problem"] = str(error)
    looked = "all bytes" if is_small else f"the first {counted(SMALL, 'byte')}; verify() looks at all of them"
    facts["looked at"] = looked if is_local else "the head; verify() fetches the file"
    return card(cold.name, facts, *parts)


def _columns(name: str, schema: Any) -> Markup:
    named = ", ".join(f"{field.name} {field.type}" for field in schema)
    return element("p", element("b", name), f": {named}")


def _first_rows(cold: ColdFile) -> Markup:
    """The first rows as a table, from the start of the file, however large it is."""
    start = LocalSource(cold.name, cold.source.view(0, min(cold.size, SMALL)))
    rows: list[Sequence[str]] = []
    heads: list[str] = []
    for batch in first(type(cold)(start, cold.format, cold.table, claim=cold.claim).batches(), ROWS):
        columns = listed(batch, "auto")
        heads = list(columns)
        rows += zip(*([_text(value) for value in values] for values in columns.values()), strict=True)
    return table(heads, rows) if rows else joined()


def _text(value: Any) -> str:
    """A value as JSON has it; text as it is, and nothing for what is not there."""
    if value is None:
        return ""
    return value if isinstance(value, str) else json_text(value)


def folder_card(folder: ColdFolder) -> str:
    """A folder: how many files it has, the maps of damaged ones if it is small, and its columns."""
    total = sum(folder.folder.files().values())
    is_small = total <= SMALL and not folder.folder.is_remote
    facts = {"format": folder.format.title, "files": str(len(folder.members)), "size": counted(total, "byte")}
    parts = [_columns(folder.table, folder.schema)]
    if is_small:
        damaged = [report for report in folder.reports() if not report.ok]
        facts["verdict"] = f"{counted(len(damaged), 'report')} of damage" if damaged else "intact"
        parts += [joined(element("p", report.file), drawn(report)) for report in damaged[:MOST_MAPS]]
        if len(damaged) > MOST_MAPS:
            parts.append(element("p", f"and {len(damaged) - MOST_MAPS} more"))
    if not folder.folder.is_remote:
        parts += [_first_rows(cold) for cold in islice(folder.files(), 1)]
    facts["looked at"] = "all bytes" if is_small else "names, and the start of the first file; reports() looks at all"
    return card(folder.name, facts, *parts)
