"""The HTML that a notebook shows for a file: its facts, and the columns of its rows."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape

import pyarrow as pa

__all__ = ["card"]


def card(name: str, facts: Mapping[str, str], table: str, schema: pa.Schema) -> str:
    """A small HTML table; text from the file is escaped.

    >>> "&lt;b&gt;" in card("<b>", {"size": "4 bytes"}, "frames", pa.schema([]))
    True
    """
    rows = [(key, text) for key, text in facts.items() if text]
    rows += [(f"{table}.{field.name}", str(field.type)) for field in schema]
    lines = "".join(f"<tr><th>{escape(key)}</th><td>{escape(text)}</td></tr>" for key, text in rows)
    return f"<table><caption>{escape(name)}</caption>{lines}</table>"
