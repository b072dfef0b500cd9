"""The tables of a report: files, formats, codecs, and what was not looked at."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator

from thawline.markup import Child, Markup, element, joined
from thawline.rendering.report.names import shown_name
from thawline.rendering.words import exact, grouped, human, share
from thawline.verbs.extent import Use
from thawline.verbs.report import Account, Survey

BAR = 120


def table(heads: Iterable[tuple[str, str]], rows: Iterable[Markup], caption: str) -> Markup:
    """A table; each head has a name and a class, such as `number`."""
    names = (element("th", name, scope="col", class_=class_ or None) for name, class_ in heads)
    inner = element(
        "table",
        element("caption", caption),
        element("thead", element("tr", *names)),
        element("tbody", *rows),
    )
    return element("div", inner, class_="wide")


def row(cells: Iterable[tuple[Child, str]], class_: str = "") -> Markup:
    """A row of a table; each cell has a class, such as `number`."""
    return element("tr", *(element("td", cell, class_=kind or None) for cell, kind in cells), class_=class_ or None)


FILES = (("file", ""), ("format", ""), ("size", "number"), ("units", "number"), ("rows", "number"),
         ("damaged", "number"), ("findings", "number"))  # fmt: skip


def files(survey: Survey) -> Iterator[Markup]:
    """A row for each file, damaged ones first."""
    for account in sorted(survey.accounts, key=lambda account: account.ok):
        yield _file(account)


def _file(account: Account) -> Markup:
    head, name = account.head, shown_name(account.file)
    linked = joined(name) if account.ok else element("a", name, href=f"#f{account.number}")
    damaged = head["damaged_bytes"]
    cells: list[tuple[Child, str]] = [
        (element("span", linked, title=account.file), "name") if name != account.file else (linked, "name"),
        (account.format, ""),
        ("" if account.is_folder else grouped(account.size), "number"),
        ("" if account.is_folder else grouped(head["units"]), "number"),
        ("" if account.is_folder else grouped(head["rows"]), "number"),
        (grouped(damaged) if damaged else "" if account.ok else "!", "number"),
        (grouped(account.findings) if account.findings else "", "number"),
    ]
    return row(cells, "" if account.ok else "bad")


UNREAD = (("file", ""), ("status", ""), ("reason", ""))


def unread(survey: Survey) -> Iterator[Markup]:
    """A row for each file that was not read, failures first."""
    for left in sorted(survey.unread, key=lambda left: not left.is_failure):
        cells = ((shown_name(left.path), "name"), (left.status, "status"), (left.reason, ""))
        yield row(cells, "bad" if left.is_failure else "")


FORMATS = (("format", ""), ("files", "number"), ("damaged", "number"), ("units", "number"), ("rows", "number"),
           ("size", "number"), ("share of all bytes", ""))  # fmt: skip


def formats(survey: Survey) -> Iterator[Markup]:
    """A row for each format, the largest first."""
    by_format: dict[str, list[Account]] = defaultdict(list)
    for account in survey.files:
        by_format[account.format].append(account)
    total = sum(account.size for account in survey.files)
    sizes = {name: sum(account.size for account in some) for name, some in by_format.items()}
    for name, some in sorted(by_format.items(), key=lambda item: -sizes[item[0]]):
        damaged = sum(not account.ok for account in some)
        numbers = (
            grouped(len(some)),
            grouped(damaged) if damaged else "",
            grouped(sum(account.head["units"] for account in some)),
            grouped(sum(account.head["rows"] for account in some)),
            human(sizes[name]),
        )
        yield row([(name, ""), *((number, "number") for number in numbers), (bar(sizes[name], total), "")])


CODECS = (("format", ""), ("codec", ""), ("units", "number"), ("stored", "number"), ("share of the format", ""))


def codecs(survey: Survey) -> Iterator[Markup]:
    """A row for each codec of a format, as the heads of its units name them."""
    used: dict[str, dict[str, Use]] = defaultdict(dict)
    for account in survey.files:
        for name, use in account.extent.codecs.items():
            total = used[account.format].setdefault(name, Use())
            total.units += use.units
            total.size += use.size
    for format_name, by_codec in used.items():
        whole = sum(use.size for use in by_codec.values())
        for name, use in sorted(by_codec.items(), key=lambda item: -item[1].size):
            numbers = ((grouped(use.units), "number"), (exact(use.size), "number"))
            yield row([(format_name, ""), (name, ""), *numbers, (bar(use.size, whole), "")])


def bar(part: int, whole: int) -> Markup:
    """A share as a bar with its percentage."""
    width = BAR * part / whole if whole else 0.0
    drawn = element("rect", width=max(width, 1.0) if part else 0, height=8, y=2, class_="intact")
    picture = element("svg", drawn, width=BAR, height=12, viewBox=f"0 0 {BAR} 12", class_="bar", aria_hidden="true")
    return joined(picture, " ", element("span", share(part, whole), class_="place"))
