"""The damaged files of a report, each with its byte map, its findings at their bytes, and what to do next."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice

from rich.text import Text

from thawline.bytemap import Tile, tiles
from thawline.markup import LINE_END, Markup, element, joined
from thawline.model import Finding
from thawline.pictures import MOST_TILES, byte_map, coarse
from thawline.rendering.diagnosis import facts_of
from thawline.rendering.exhibits import Exhibit
from thawline.rendering.report.names import shown_name
from thawline.rendering.words import counted, exact, grouped, quoted, share
from thawline.verbs.report import Account, Survey

MOST_FINDINGS = 12
"""At most this many findings of a file are listed with it; all of them are listed by code."""
STYLES = {"cyan": "b0", "green": "b1", "yellow": "b2", "blue": "b3", "magenta": "b4", "bold red": "bad", "dim": "dim"}
"""Classes of the page by the styles of a terminal."""


def damaged_files(survey: Survey, exhibits: Mapping[int, Exhibit]) -> Iterator[Markup]:
    """A section for each damaged file."""
    for account in survey.accounts:
        if not account.ok:
            yield _section(survey, account, exhibits.get(account.number))


def _section(survey: Survey, account: Account, exhibit: Exhibit | None) -> Markup:
    findings = list(islice(survey.findings_of(account), MOST_TILES + 1))
    shown = list(islice(_errors_first(findings), MOST_FINDINGS))
    left = account.findings - len(shown)
    more = element("p", f"{counted(left, 'more finding')}: thawline verify -v {quoted(account.file)}", class_="more")
    return element(
        "section",
        element("h3", shown_name(account.file), title=account.file),
        element("p", _facts(account, exhibit), class_="facts"),
        _map(account, findings, {number for number, _ in shown}),
        element("ol", *(_finding(account, number, finding, exhibit) for number, finding in shown)),
        more if left > 0 else "",
        _next(account, exhibit),
        class_="file",
        id=f"f{account.number}",
    )


def _errors_first(findings: list[Finding]) -> Iterator[tuple[int, Finding]]:
    """Findings with their numbers from 1, damage before remarks."""
    numbered = list(enumerate(findings, 1))
    yield from (pair for pair in numbered if pair[1].severity == "error")
    yield from (pair for pair in numbered if pair[1].severity != "error")


def _facts(account: Account, exhibit: Exhibit | None) -> Markup:
    head = account.head
    parts = [account.format, "the folder as a whole" if account.is_folder else exact(account.size)]
    if head["damaged_bytes"]:
        damaged = f"{grouped(head['damaged_bytes'])} damaged ({share(head['damaged_bytes'], account.size)})"
        parts.append(damaged)
    if not account.is_folder:
        parts.append(f"{counted(head['units'], account.unit)} readable")
    told = [element("span", part) for part in parts]
    if exhibit and exhibit.assessment.looks_like:
        told.append(element("span", f"looks like {exhibit.assessment.looks_like}"))
    return joined(*told, by=" ")


def _map(account: Account, findings: list[Finding], listed: set[int]) -> Markup:
    if not account.size:
        return joined()
    is_exact = account.findings <= MOST_TILES
    drawn = list(tiles(findings, account.size)) if is_exact else coarse(account.map, account.cells, account.size)

    def title(tile: Tile) -> str:
        found = findings[tile.finding - 1] if tile.finding else None
        about = f"{found.code.id} {found.message}" if found else tile.state
        return f"{tile.span} ({counted(tile.span.size, 'byte')}): {about}"

    def link(tile: Tile) -> str:
        return f"#f{account.number}-{tile.finding}" if tile.finding in listed else ""

    return byte_map(drawn, account.size, shown_name(account.file), title, link)


def _finding(account: Account, number: int, finding: Finding, exhibit: Exhibit | None) -> Markup:
    span = finding.span
    place = f"{span} ({counted(span.size, 'byte')})" if span.size else f"{span.end:#x}" if account.size else ""
    dump = exhibit.dumps.get(number, []) if exhibit else []
    inspect = f"thawline inspect {quoted(account.file)} --finding {number}"
    return element(
        "li",
        element(
            "p",
            element("a", finding.code.id, href=f"#code-{finding.code.id}", class_=f"code {finding.severity}"),
            " ",
            finding.message,
            " ",
            element("span", place, class_="place") if place else "",
            class_="what",
        ),
        details(finding),
        element("pre", *_lines(dump), tabindex=0) if dump else "",
        element("p", element("code", inspect), class_="next") if dump else "",
        id=f"f{account.number}-{number}",
    )


def details(finding: Finding) -> Markup:
    """The facts of a finding, what is lost first."""
    facts = list(facts_of(finding.detail))
    if not facts:
        return joined()
    return element("dl", *(cell for key, value in facts for cell in (element("dt", key), element("dd", value))))


def _lines(dump: list[Text]) -> Iterator[Markup]:
    for line in dump:
        yield joined(*_pieces(line), LINE_END)


def _pieces(line: Text) -> Iterator[Markup]:
    """A line of a terminal with its colours as classes."""
    position, plain = 0, line.plain
    for span in sorted(line.spans, key=lambda span: (span.start, span.end)):
        start, end = max(span.start, position), min(span.end, len(plain))
        if start >= end:
            continue
        yield joined(plain[position:start])
        yield _styled(plain[start:end], str(span.style))
        position = end
    yield joined(plain[position:])


def _styled(text: str, style: str) -> Markup:
    class_ = STYLES.get(style) or STYLES.get(style.removeprefix("bold ").strip())
    return element("span", text, class_=class_) if class_ and text.strip() else joined(text)


def _next(account: Account, exhibit: Exhibit | None) -> Markup:
    """The next commands, without those that stand below the bytes of a finding."""
    if exhibit is None:  # there were too many files to look at their bytes
        return element("p", "next ", element("code", f"thawline verify {quoted(account.file)}"), class_="next")
    shown = tuple(f"--finding {number}" for number in exhibit.dumps)
    commands = [command for command in exhibit.assessment.next if not command.endswith(shown)]
    if not commands:
        return joined()
    return element("p", "next ", *(element("code", command) for command in commands), class_="next")
