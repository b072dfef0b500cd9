"""What a report shows of a damaged file while it is open: how bad it is, its bytes, and what to do."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice

from rich.text import Text

from thawline.cold import ColdFile
from thawline.errors import ThawlineError
from thawline.model import Report
from thawline.rendering.diagnosis import Assessment, assessment
from thawline.rendering.hexdump import MARK_STYLE, Dump
from thawline.rendering.words import printable
from thawline.verbs.inspect import inspect_finding

MOST_FILES = 200
"""At most this many damaged files are shown with their bytes; of the others, a report has the findings."""
MOST_DUMPS, MOST_LINES = 3, 24
FIRST_LINES, BEFORE = 8, 4
"""Lines from the start, and lines before a marked one that lies further on."""
MOST_READ = 4096
"""Lines in which a marked one is looked for."""
ROOM = 132


@dataclass(frozen=True, slots=True)
class Exhibit:
    """What is shown of one damaged file."""

    assessment: Assessment
    dumps: dict[int, list[Text]] = field(default_factory=dict)
    """The bytes of findings with their fields, by the number of the finding."""


def exhibit(cold: ColdFile, report: Report) -> Exhibit:
    """What to show of a damaged file; its bytes are read again only where the findings are."""
    errors = (place for place in enumerate(report.findings, 1) if place[1].severity == "error")
    dumps = {}
    for number, finding in islice(errors, MOST_DUMPS):
        if finding.span.size and (lines := _around_marks(_dump(cold, report, number))):
            dumps[number] = lines
    return Exhibit(assessment(cold, report), dumps)


def _around_marks(dump: Iterator[Text]) -> list[Text]:
    """The first lines of a dump, and, if what is wrong is marked further on, those around the mark."""
    lines = list(islice(dump, MOST_READ))
    if len(lines) <= MOST_LINES:
        return lines
    marks = (place for place, line in enumerate(lines) if any(span.style == MARK_STYLE for span in line.spans))
    marked = next(marks, 0)
    if marked < MOST_LINES - BEFORE:
        return [*lines[: MOST_LINES - 1], _left_out()]
    start = marked - BEFORE
    return [*lines[:FIRST_LINES], _left_out(), *lines[start : start + MOST_LINES - FIRST_LINES - 2], _left_out()]


def _left_out() -> Text:
    return Text("…", "dim")


def _dump(cold: ColdFile, report: Report, number: int) -> Iterator[Text]:
    """The bytes of a finding; nothing where they cannot be read again."""
    try:
        dump = Dump(cold.source, room=ROOM)
        for stretch in inspect_finding(cold, number, report.findings[number - 1]):
            yield from dump.lines(stretch)
    except ThawlineError as error:
        yield Text(printable(str(error)))
