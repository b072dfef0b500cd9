"""The format of a file, and how much is in it."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from thawline.faults import with_faults
from thawline.formats.contract import Depth, Tailing, read
from thawline.model import Finding, Run, report
from thawline.values import listed
from thawline.verbs.identify import identify
from thawline.verbs.overview import Answers, columns_of

if TYPE_CHECKING:
    from thawline.verbs.opened import OpenFile


@dataclass(slots=True)
class Total:
    """What several files of one kind hold together."""

    head: dict[str, Any]
    """What they have in common, such as the title."""
    answers: Answers | None
    files: int = 0
    counts: dict[str, int] = field(default_factory=dict)
    folders: set[str] = field(default_factory=set)

    def add(self, facts: dict[str, Any]) -> None:
        """Count a file."""
        self.files += 1
        self.folders.add(str(PurePath(facts["file"]).parent))
        for name in ("units", "rows", "size", "findings"):
            self.counts[name] = self.counts.get(name, 0) + facts[name]

    def facts(self) -> dict[str, Any]:
        """The same as `info` gives of one file. Files of several folders do not follow one another, so have no gaps."""
        overview = self.answers.facts() if self.answers else {}
        if len(self.folders) > 1:
            overview.pop("gaps", None)
        return {**self.head, **self.counts, "overview": overview}


class Totals:
    """Totals of the files that `info` was asked about, by their kinds."""

    def __init__(self) -> None:
        self._found: dict[tuple[str, str], Total] = {}

    def of(self, cold: OpenFile) -> Total:
        """The total that a file counts for."""
        overview, key = cold.kind.overview, (cold.format.name, cold.kind.name)
        head = {"format": key[0], "version": "", "title": _title(cold), "unit": cold.unit_name}
        head |= {"checked": "heads" if cold.kind.has_heads else "everything"}
        return self._found.setdefault(key, Total(head, Answers(overview) if overview else None))

    def __iter__(self) -> Iterator[Total]:
        return iter(self._found.values())


def info(cold: OpenFile, totals: Totals | None = None) -> dict[str, Any]:
    """Format, version, counts and tables of a file, from its heads if its kind has heads, else from all of it.

    Its answers count for the totals, too.
    """
    overview = cold.kind.overview
    answers = Answers(overview) if overview else None
    total = totals.of(cold) if totals is not None else None
    heard = [it for it in (answers, total.answers if total else None) if it is not None]
    items = cold.watched(_walked(cold, heard))
    found = report(cold.name, cold.format.name, cold.size, items)
    facts = {
        **identify(cold),
        "title": _title(cold),
        "checked": "heads" if cold.kind.has_heads else "everything",
        "ok": found.ok,
        "unit": cold.unit_name,
        "units": found.units,
        "rows": found.rows,
        "intact_bytes": found.intact_bytes,
        "damaged_bytes": found.damaged_bytes,
        "findings": len(found.findings),
        "overview": answers.facts() if answers else {},
        "tables": {name: table.schema.names for name, table in cold.kind.tables.items()},
    }
    if total is not None:
        total.add(facts)
    return facts


def _walked(cold: OpenFile, heard: Sequence[Answers]) -> Iterator[Run | Finding]:
    """The walk by heads; the rows of its runs go to the answers on the way."""
    walked: deque[Run | Finding] = deque()

    def noted() -> Iterator[Run | Finding]:
        for item in with_faults(cold.kind.walk(cold.source, Depth.HEADS), cold.source):
            walked.append(item)
            yield item

    overview = cold.kind.overview
    if not heard or overview is None:
        yield from with_faults(cold.kind.walk(cold.source, Depth.HEADS), cold.source)
        return
    for item in read(cold.kind, cold.source, overview.table, columns_of(overview), noted()):
        if not isinstance(item, Finding):
            for batch in item[1]:
                for answers in heard:
                    answers.add(batch)
        while walked:
            yield walked.popleft()
    yield from walked


def glance(cold: OpenFile) -> dict[str, Any]:
    """Format, version and, if the kind reads it from the end, the last row: in constant time."""
    kind = cold.kind
    last = kind.tail(cold.source, 1, cold.table, cold.schema.names) if isinstance(kind, Tailing) else None
    rows = [row for batch in last or () for row in _rows(batch)]
    return {**identify(cold), "title": _title(cold), "last": rows[-1] if rows else None}


def _title(cold: OpenFile) -> str:
    """The format's title, or what a side file of the format is called, such as Kafka offset index."""
    is_main = cold.kind.name == cold.format.kinds[0].name
    return cold.format.title if is_main else f"{cold.format.title.split()[0]} {cold.kind.name}"


def _rows(batch: Any) -> list[dict[str, Any]]:
    columns = listed(batch, "auto")
    return [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]
