"""Statistics of columns, for people."""

from __future__ import annotations

from typing import Any

from thawline.rendering.rows import shown
from thawline.rendering.words import grouped

READING_ORDER = (
    "column", "type", "nulls", "distinct", "min", "max", "rows", "bytes", "shortest", "longest", "top",
)  # fmt: skip


def for_table(record: dict[str, Any]) -> dict[str, Any]:
    """A record with the most useful columns first, since a table may be cut on the right."""
    top = ", ".join(f"{_quoted(item['value'])} ({grouped(item['count'])})" for item in record["top"])
    return {name: record[name] for name in READING_ORDER} | {"top": top}


def _quoted(value: Any) -> str:
    return shown(value) or repr("")
