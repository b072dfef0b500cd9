"""Stretches of bytes for display: a field, or fields that share bytes, with readable names and values."""

from __future__ import annotations

import enum
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from thawline.tracing import Field, Value
from thawline.wording import counted

LONGEST_TEXT = 40
CHECKSUMS = ("crc", "crc32", "crc32c")
FIELD_ROWS = 4
"""At most this many rows of sixteen bytes are shown of a field."""

Role = Literal["field", "separator", "unread"]


@dataclass(frozen=True, slots=True)
class Stretch:
    """Bytes of a file that are shown together."""

    start: int
    end: int
    label: str
    value: str = ""
    note: str = ""
    role: Role = "field"
    number: int = 0
    """The index of the field in its unit, from 0; neighbours get different colours by it."""
    reason: str = ""
    """Why it is wrong."""
    rows: int = FIELD_ROWS
    """At most this many rows of sixteen bytes are shown; the rest is only counted."""


def grouped_fields(leaves: Sequence[Field]) -> Iterator[list[Field]]:
    """Groups of leaves: those of one structure that share bytes together, every other one alone."""
    group: list[Field] = []
    for leaf in leaves:
        if group and not (leaf.start < group[-1].end and leaf.keys[:-1] == group[-1].keys[:-1]):
            yield group
            group = []
        group.append(leaf)
    if group:
        yield group


def name_of(field: Field, *, spec_names: bool) -> str:
    """A field's name in the spec or in the format's own document, with the index if it is an item."""
    name, bracket, index = field.name.partition("[")
    return ((spec_names and field.spec_name) or name) + bracket + index


def value_of(field: Field) -> str:
    """A field's value as text that fits a line and is safe on a terminal."""
    value: Value | None = field.value
    if isinstance(value, bytes | str):
        return _text(value, len(value) + field.left_out)
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, enum.Enum):
        return value.name
    if value is None:
        return ""
    if field.name in CHECKSUMS:
        return f"{value:#010x}"
    return f"{value} ({value:#x})" if "tag" in field.name.split("_") else str(value)


def shown_value(value: object) -> str:
    """A value of a row as text that fits a line and is safe on a terminal."""
    if value is None:
        return "null"
    return _text(value, len(value)) if isinstance(value, bytes | str) else str(value)


def _text(value: bytes | str, size: int) -> str:
    """Printable text in quotes, shortened if it is long; for other bytes their number, since a hex dump shows them."""
    text = value if isinstance(value, str) else value.decode("utf-8", "replace")
    shown = text[:LONGEST_TEXT]
    if not shown.isprintable() or "\ufffd" in shown or not text:
        return counted(size, "byte")
    return f'"{text}"' if len(text) <= LONGEST_TEXT and len(value) == size else f'"{shown}…" of {counted(size, "byte")}'
