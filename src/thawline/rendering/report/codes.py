"""The findings of a report by code: what the code means, where it was found, and what is lost."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from thawline.markup import Markup, element, joined
from thawline.model import Finding
from thawline.rendering.report.names import shown_name
from thawline.rendering.words import counted, exact, grouped, printable
from thawline.verbs.report import Account, Group, Survey

MOST_ROWS = 6_000
"""Findings of a page; they are shared fairly among the codes."""
LEAST_ROWS = 20
LONGEST_TEXT = 300
RANK = {"error": 0, "warning": 1, "note": 2}

Row = tuple[Account, int, Finding]


def code_groups(survey: Survey) -> Iterator[Markup]:
    """A section for each code, damage first."""
    ranked = sorted(survey.groups.values(), key=lambda group: (RANK[group.code.severity], -group.count))
    rows = _rows(survey)
    for group in ranked:
        yield _section(group, rows[group.code.id])


def _rows(survey: Survey) -> dict[str, list[Row]]:
    """The first findings of each code, as many as a page has room for."""
    room = max(LEAST_ROWS, MOST_ROWS // max(len(survey.groups), 1))
    rows: dict[str, list[Row]] = defaultdict(list)
    for row in survey.findings():
        kept = rows[row[2].code.id]
        if len(kept) < room:
            kept.append(row)
    return rows


def _section(group: Group, rows: list[Row]) -> Markup:
    code = group.code
    counts = f"{counted(group.count, 'finding')} in {counted(group.files, 'file')}"
    size = f", {exact(group.size)}" if group.size else ""
    left = group.count - len(rows)
    heads = (element("th", name, scope="col") for name in ("file", "bytes", "what is lost, and what is known"))
    return element(
        "details",
        element(
            "summary",
            element("span", code.id, class_=f"code {code.severity}"),
            " ",
            element("span", code.message),
            " ",
            element("span", counts + size, class_="place"),
        ),
        element("p", code.explanation, class_="explanation"),
        element(
            "div",
            element("table", element("thead", element("tr", *heads)), element("tbody", *map(_row, rows))),
            class_="wide",
        ),
        element("p", f"{grouped(left)} more are not listed here", class_="more") if left else "",
        id=f"code-{code.id}",
        open=code.severity == "error",
    )


def _row(row: Row) -> Markup:
    account, number, finding = row
    name = shown_name(account.file)
    linked = joined(name) if account.ok else element("a", name, href=f"#f{account.number}")
    return element(
        "tr",
        element("td", linked, class_="name"),
        element("td", _place(account, finding), class_="number"),
        element("td", _known(finding), title=f"finding {number}"),
    )


def _place(account: Account, finding: Finding) -> str:
    """Where it is; nothing for a folder, which has no bytes."""
    if not account.size:
        return ""
    return str(finding.span) if finding.span.size else f"{finding.span.end:#x}"


def _known(finding: Finding) -> str:
    """What is lost, else the other facts, in a line."""
    detail = finding.detail
    text = detail.get("lost") or ", ".join(f"{key} {value}" for key, value in detail.items())
    shown = printable(str(text))
    return shown if len(shown) <= LONGEST_TEXT else f"{shown[:LONGEST_TEXT]}…"
