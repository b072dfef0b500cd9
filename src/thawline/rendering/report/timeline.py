"""The timeline of a report: from when to when, and from where to where, the data of each folder goes, with the gaps."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from thawline.markup import Markup, element
from thawline.rendering.report.names import folder_of, shown_name
from thawline.rendering.report.tables import row
from thawline.rendering.words import grouped
from thawline.values import iso_time
from thawline.verbs.report import Account, Survey

WIDTH, HEIGHT = 360, 18
MOST_MARKS, MOST_GAPS = 120, 4
"""Files and gaps of one lane that are drawn; gaps that are written out."""
TIMES = (("folder", ""), ("from", ""), ("to", ""), ("when", ""))
POSITIONS = (("folder", ""), ("from", "number"), ("to", "number"), ("where", ""), ("gaps", ""))


@dataclass(frozen=True, slots=True)
class Lane:
    """The files of one folder whose positions follow one another."""

    folder: str
    noun: str
    accounts: tuple[Account, ...]

    def times(self) -> tuple[int, int] | None:
        """The earliest and the latest time."""
        ranges = [item.extent for item in self.accounts if item.extent.earliest is not None]
        if not ranges:
            return None
        return min(item.earliest or 0 for item in ranges), max(item.latest or 0 for item in ranges)

    def places(self) -> tuple[int, int] | None:
        """The first and the last position."""
        ranges = [item.extent for item in self.accounts if item.extent.first is not None]
        if not ranges:
            return None
        return min(item.first or 0 for item in ranges), max(item.last or 0 for item in ranges)

    def gaps(self) -> tuple[list[tuple[int, int]], int]:
        """Positions that no intact unit holds, between files and inside of them, and how many such gaps there are."""
        found = [gap for item in self.accounts for gap in item.extent.gaps]
        count = sum(item.extent.gap_count for item in self.accounts)
        reached: int | None = None
        for first, last in sorted(
            (item.extent.first, item.extent.last)
            for item in self.accounts
            if item.extent.first is not None and item.extent.last is not None
        ):
            if reached is not None and first > reached + 1:
                found.append((reached + 1, first - 1))
                count += 1
            reached = last if reached is None else max(reached, last)
        return sorted(found), count


def lanes(survey: Survey) -> list[Lane]:
    """The folders whose files state times or positions."""
    found: dict[tuple[str, str, str], list[Account]] = defaultdict(list)
    for account in survey.files:
        extent = account.extent
        if extent.earliest is not None or extent.first is not None:
            found[folder_of(account.file), account.format, extent.noun].append(account)
    return [Lane(key[0], key[2], tuple(accounts)) for key, accounts in found.items()]


def times(found: Sequence[Lane]) -> Iterator[Markup]:
    """A row for each folder: from when to when, on one axis for all of them."""
    spans = [(lane, span) for lane in found if (span := lane.times())]
    axis = (min(first for _, (first, _) in spans), max(last for _, (_, last) in spans)) if spans else (0, 0)
    for lane, (first, last) in spans:
        marks = ((it.extent.earliest, it.extent.latest, it.ok) for it in lane.accounts)
        cells = ((_time(first), "time"), (_time(last), "time"), (_picture(marks, axis, ()), ""))
        yield row([(shown_name(lane.folder, 60), "name"), *cells])


def positions(found: Sequence[Lane]) -> Iterator[Markup]:
    """A row for each folder: from where to where, each on an axis of its own, and what no intact unit holds."""
    for lane in found:
        if span := lane.places():
            gaps, count = lane.gaps()
            # What is missing stands out as a gap, wherever else the file is damaged.
            marks = ((it.extent.first, it.extent.last, True) for it in lane.accounts)
            drawn, told = _picture(marks, span, gaps[:MOST_MARKS]), _gaps(gaps, count)
            cells = ((f"{lane.noun} {span[0]}", "number"), (str(span[1]), "number"), (drawn, ""), (told, "gaps"))
            yield row([(shown_name(lane.folder, 60), "name"), *cells], "bad" if told else "")


def _time(microseconds: int) -> str:
    """A time to the second."""
    return iso_time(microseconds // 1_000_000, "s").replace("T", " ").replace("Z", "")


def _gaps(gaps: Sequence[tuple[int, int]], count: int) -> str:
    told = [f"{first}" if first == last else f"{first} to {last}" for first, last in gaps[:MOST_GAPS]]
    more = f" and {grouped(count - len(told))} more" if count > len(told) else ""
    return ", ".join(told) + more


def _picture(
    marks: Iterable[tuple[int | None, int | None, bool]], axis: tuple[int, int], gaps: Sequence[tuple[int, int]]
) -> Markup:
    """Files as bars on an axis, and gaps as marks across it."""
    least, most = axis
    scale = WIDTH / max(most - least, 1)
    drawn = []
    for first, last, ok in list(marks)[:MOST_MARKS]:
        if first is not None and last is not None:
            start, width = (first - least) * scale, max((last - first) * scale - 0.5, 1.0)
            drawn.append(_bar(min(start, WIDTH - 1.0), width, 5, 8, "intact" if ok else "damaged"))
    for first, last in gaps:
        start = min((first - least) * scale, WIDTH - 2.0)
        drawn.append(_bar(start, max((last - first + 1) * scale, 1.5), 0, HEIGHT, "gap"))
    return element(
        "svg", *drawn, width=WIDTH, height=HEIGHT, viewBox=f"0 0 {WIDTH} {HEIGHT}", class_="lane", aria_hidden="true"
    )


def _bar(x: float, width: float, y: int, height: int, class_: str) -> Markup:
    return element("rect", x=x, y=y, width=width, height=height, class_=class_)
