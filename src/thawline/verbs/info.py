"""The format of a file, and how much is in it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from thawline.formats.contract import Tailing
from thawline.values import listed
from thawline.verbs.identify import identify
from thawline.verbs.verify import verify

if TYPE_CHECKING:
    from thawline.cold import ColdFile


def info(cold: ColdFile) -> dict[str, Any]:
    """Format, version, counts and tables of a file, from its heads if its kind has heads, else from all of it."""
    report = verify(cold, heads_only=True)
    return {
        **identify(cold),
        "title": _title(cold),
        "checked": "heads" if cold.kind.has_heads else "everything",
        "ok": report.ok,
        "unit": cold.unit_name,
        "units": report.units,
        "rows": report.rows,
        "intact_bytes": report.intact_bytes,
        "damaged_bytes": report.damaged_bytes,
        "findings": len(report.findings),
        "tables": {name: table.schema.names for name, table in cold.kind.tables.items()},
    }


def glance(cold: ColdFile) -> dict[str, Any]:
    """Format, version and, if the kind reads it from the end, the last row: in constant time."""
    kind = cold.kind
    last = kind.tail(cold.source, 1, cold.table, cold.schema.names) if isinstance(kind, Tailing) else None
    rows = [row for batch in last or () for row in _rows(batch)]
    return {**identify(cold), "title": _title(cold), "last": rows[-1] if rows else None}


def _title(cold: ColdFile) -> str:
    """The format's title, or what a side file of the format is called, such as Kafka offset index."""
    is_main = cold.kind.name == cold.format.kinds[0].name
    return cold.format.title if is_main else f"{cold.format.title.split()[0]} {cold.kind.name}"


def _rows(batch: Any) -> list[dict[str, Any]]:
    columns = listed(batch, "auto")
    return [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]
