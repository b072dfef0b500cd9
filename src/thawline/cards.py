"""Cards: what a notebook shows of a report, a table of facts with the byte map and the first findings."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING

from thawline.markup import Markup, element, joined
from thawline.pictures import byte_map, drawn_tiles
from thawline.wording import counted

if TYPE_CHECKING:
    from thawline.model import Report

__all__ = ["card", "drawn", "report_card", "table"]

MOST_FINDINGS = 10
LONGEST_VALUE = 80
LEFT = "text-align: left"
"""Notebooks put cells to the right, which is for numbers."""


def card(name: str, facts: Mapping[str, str], *parts: Markup) -> str:
    """Facts as a small table, and what follows it; text from the file is escaped.

    >>> "&lt;b&gt;" in card("<b>", {"size": "4 bytes"})
    True
    """
    told = ((key, text) for key, text in facts.items() if text)
    rows = (element("tr", element("th", key, style=LEFT), element("td", text, style=LEFT)) for key, text in told)
    return str(element("div", element("table", element("caption", name, style=LEFT), *rows), *parts))


def report_card(report: Report) -> str:
    """A report: the verdict, the byte map and the first findings. Nothing is read for it."""
    verdict = "intact, every byte accounted for" if report.ok else "damaged"
    facts = {
        "verdict": verdict,
        "format": report.format,
        "size": counted(report.size, "byte"),
        "intact": ", ".join((counted(report.units, "unit"), counted(report.rows, "row"))),
        "damaged": counted(report.damaged_bytes, "byte") if report.damaged_bytes else "",
    }
    return card(report.file, facts, drawn(report), _findings(report))


def drawn(report: Report) -> Markup:
    """The byte map of a file; nothing where it has no bytes."""
    return byte_map(drawn_tiles(report), report.size, report.file) if report.size else joined()


def _findings(report: Report) -> Markup:
    if not report.findings:
        return joined()
    rows = [
        (finding.code.id, finding.severity, str(finding.span), finding.message, str(finding.detail.get("lost", "")))
        for finding in islice(report.findings, MOST_FINDINGS)
    ]
    left = len(report.findings) - len(rows)
    more = element("p", f"and {counted(left, 'more finding')}") if left else joined()
    return joined(table(("code", "severity", "bytes", "finding", "lost"), rows), more)


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> Markup:
    """Rows with their heads; long values are cut."""
    head = element("thead", element("tr", *(element("th", name, style=LEFT) for name in heads)))
    body = (element("tr", *(element("td", _short(cell), style=LEFT) for cell in row)) for row in rows)
    return element("table", head, element("tbody", *body))


def _short(text: str) -> str:
    return text if len(text) <= LONGEST_VALUE else f"{text[:LONGEST_VALUE]}…"
