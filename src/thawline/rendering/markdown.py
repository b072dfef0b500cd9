"""A report as Markdown, to paste into a ticket."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import islice

from thawline.rendering.exhibits import Exhibit
from thawline.rendering.report.verdict import sentences
from thawline.rendering.words import counted, exact, grouped, printable, quoted, share
from thawline.verbs.report import Account, Survey

MOST_FILES, MOST_FINDINGS, MOST_UNREAD = 50, 10, 50
BACKTICKS = re.compile("`+")


def markdown(survey: Survey, exhibits: Mapping[int, Exhibit]) -> Iterator[str]:
    """The document in pieces; the first damaged files with their findings, and counts of everything."""
    sentence = "; ".join(sentences(survey))
    yield f"# {sentence[0].upper()}{sentence[1:]}\n"
    damaged = [account for account in survey.accounts if not account.ok]
    for account in damaged[:MOST_FILES]:
        yield from _file(survey, account, exhibits.get(account.number))
    if len(damaged) > MOST_FILES:
        yield f"\nand {counted(len(damaged) - MOST_FILES, 'more damaged file')}\n"
    yield from _codes(survey)
    yield from _unread(survey)


def _file(survey: Survey, account: Account, exhibit: Exhibit | None) -> Iterator[str]:
    damaged = account.head["damaged_bytes"]
    bad = f", {grouped(damaged)} damaged ({share(damaged, account.size)})" if damaged else ""
    size = f", {exact(account.size)}" if account.size else ""
    yield f"\n## {code(account.file)}\n\n{account.format}{size}{bad}\n\n"
    for finding in islice(survey.findings_of(account), MOST_FINDINGS):
        lost = finding.detail.get("lost")
        told = f"; lost: {code(str(lost))}" if lost else ""
        yield f"- **{finding.code.id}** {finding.message}, {code(str(finding.span))}{told}\n"
    if account.findings > MOST_FINDINGS:
        yield f"- and {counted(account.findings - MOST_FINDINGS, 'more finding')}\n"
    commands = exhibit.assessment.next if exhibit else (f"thawline verify {quoted(account.file)}",)
    yield "\nNext:\n\n" + "".join(f"    {printable(command)}\n" for command in commands)


def _codes(survey: Survey) -> Iterator[str]:
    if survey.groups:
        yield "\n## Findings by code\n\n| code | | findings | files | bytes |\n| --- | --- | ---: | ---: | ---: |\n"
    for name, group in survey.groups.items():
        numbers = " | ".join(map(grouped, (group.count, group.files, group.size)))
        yield f"| {name} | {group.code.message} | {numbers} |\n"


def _unread(survey: Survey) -> Iterator[str]:
    if survey.unread:
        yield "\n## Not looked at\n\n"
    for left in survey.unread[:MOST_UNREAD]:
        yield f"- {code(left.path)}: {code(left.reason)}\n"
    if len(survey.unread) > MOST_UNREAD:
        yield f"- and {counted(len(survey.unread) - MOST_UNREAD, 'more file')}\n"


def code(text: str) -> str:
    """Any text as a code span, in which nothing is markup, a link or a mention.

    >>> print(code("a"), code("x`y``z"), code("[a](b)@c"))
    `a` ``` x`y``z ``` `[a](b)@c`
    """
    shown = printable(text) or " "
    longest = max((len(run) for run in BACKTICKS.findall(shown)), default=0)
    fence = "`" * (longest + 1)
    edge = " " if longest else ""
    return f"{fence}{edge}{shown}{edge}{fence}"
