"""What a file is and how much is in it."""

from __future__ import annotations

from typing import Any

from thawline.cold import ColdFile
from thawline.formats.contract import Tailing
from thawline.values import listed
from thawline.verbs.identify import identify


def info(cold: ColdFile) -> dict[str, Any]:
    """Format, version, counts and tables of a file, from its heads where the format has such, else from all of it."""
    report = cold.verify(heads_only=True)
    return {
        **identify(cold),
        "title": cold.format.title,
        "checked": "heads" if cold.kind.has_heads else "everything",
        "ok": report.ok,
        "unit": cold.unit_name,
        "units": report.units,
        "rows": report.rows,
        "intact_bytes": report.intact_bytes,
        "damaged_bytes": report.damaged_bytes,
        "findings": len(report.findings),
        "tables": {name: table.schema.names for name, table in cold.format.tables.items()},
    }


def glance(cold: ColdFile) -> dict[str, Any]:
    """The same without the counts, and the last row where the format finds it from the end: at once, however large."""
    kind = cold.kind
    last = kind.tail(cold.source, 1, cold.table, cold.schema.names) if isinstance(kind, Tailing) else None
    rows = [row for batch in last or () for row in _rows(batch)]
    return {**identify(cold), "title": cold.format.title, "last": rows[-1] if rows else None}


def _rows(batch: Any) -> list[dict[str, Any]]:
    columns = listed(batch, "auto")
    return [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]
