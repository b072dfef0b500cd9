"""The format of a file, and how much is in it."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from thawline.faults import with_faults
from thawline.formats.contract import Depth, Tailing, read
from thawline.model import Finding, Run, report
from thawline.values import listed
from thawline.verbs.identify import identify
from thawline.verbs.overview import Answers, columns_of

if TYPE_CHECKING:
    from thawline.verbs.opened import OpenFile


def info(cold: OpenFile) -> dict[str, Any]:
    """Format, version, counts and tables of a file, from its heads if its kind has heads, else from all of it."""
    overview = cold.kind.overview
    answers = Answers(overview) if overview else None
    items = cold.watched(_walked(cold, answers))
    found = report(cold.name, cold.format.name, cold.size, items)
    return {
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


def _walked(cold: OpenFile, answers: Answers | None) -> Iterator[Run | Finding]:
    """The walk by heads; the rows of its runs go to the answers on the way."""
    walked: deque[Run | Finding] = deque()

    def noted() -> Iterator[Run | Finding]:
        for item in with_faults(cold.kind.walk(cold.source, Depth.HEADS), cold.source):
            walked.append(item)
            yield item

    overview = cold.kind.overview
    if answers is None or overview is None:
        yield from with_faults(cold.kind.walk(cold.source, Depth.HEADS), cold.source)
        return
    for item in read(cold.kind, cold.source, overview.table, columns_of(overview), noted()):
        if not isinstance(item, Finding):
            for batch in item[1]:
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
