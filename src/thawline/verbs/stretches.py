"""Bytes that are one thing: a field or several that share bytes, with their names and values as a person reads them."""

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
"""Rows of sixteen bytes that are shown of a field."""

Role = Literal["field", "separator", "unread"]


@dataclass(frozen=True, slots=True)
class Stretch:
    """Bytes of a file that are shown as one thing."""

    start: int
    end: int
    label: str
    value: str = ""
    note: str = ""
    role: Role = "field"
    number: int = 0
    """Which field of its unit it is, counted from 0, so that neighbours can be told apart by their colour."""
    reason: str = ""
    """Why it is wrong."""
    rows: int = FIELD_ROWS
    """How many rows of sixteen bytes it may take; the rest is only counted."""


def grouped_fields(leaves: Sequence[Field]) -> Iterator[list[Field]]:
    """Leaves one by one, but those that share bytes of one structure together."""
    group: list[Field] = []
    for leaf in leaves:
        if group and not (leaf.start < group[-1].end and leaf.keys[:-1] == group[-1].keys[:-1]):
            yield group
            group = []
        group.append(leaf)
    if group:
        yield group


def name_of(field: Field, *, spec_names: bool) -> str:
    """A field's own name, or the one that the format's document has for it, with its index where it is an item."""
    name, bracket, index = field.name.partition("[")
    return ((spec_names and field.spec_name) or name) + bracket + index


def value_of(field: Field) -> str:
    """A value as text that fits a line and cannot disturb a terminal."""
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
    """A value of a row as text that fits a line and cannot disturb a terminal."""
    if value is None:
        return "null"
    return _text(value, len(value)) if isinstance(value, bytes | str) else str(value)


def _text(value: bytes | str, size: int) -> str:
    """Printable text in quotes, cut where it is long; of other bytes how many they are, since they stand beside it."""
    text = value if isinstance(value, str) else value.decode("utf-8", "replace")
    shown = text[:LONGEST_TEXT]
    if not shown.isprintable() or "\ufffd" in shown or not text:
        return counted(size, "byte")
    return f'"{text}"' if len(text) <= LONGEST_TEXT and len(value) == size else f'"{shown}…" of {counted(size, "byte")}'
