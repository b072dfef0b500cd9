"""The fields of one structure with their positions; of a damaged one, up to the field that cannot be read.

`trace` reads with the parsers that record positions (`generated/structures`). It lists in file order which bytes are
which field, what they mean, and where and why reading stopped. It never raises because of the bytes.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

import kaitaistruct

from thawline import specs
from thawline.model import Span

MAX_FIELDS = 2_000
"""A trace lists at most this many fields, and always the one at which reading failed."""
MAX_DEPTH = 32
LONGEST_VALUE = 1_024
"""At most this many bytes or characters of a value are kept."""

Value = int | float | bytes | str
"""The value of a field: a number, a flag or an enum member (all are ints), bytes, or text."""


@dataclass(frozen=True, slots=True)
class Field:
    """One field of a structure, or one item of a repeated field."""

    keys: tuple[str, ...]
    """The names that lead to it, its own last, such as `("body", "status[1]", "reserved")`."""
    label: str
    """The path to it for display, without structures that fill the rest of their parent, such as `body`."""
    start: int
    end: int
    """The end of its last byte; for a truncated field, the end of the data."""
    spec: str
    path: str
    """Its path in its spec, such as `/types/frame_status/seq/1`."""
    is_leaf: bool
    """Whether it is shown as one value; otherwise its fields follow, one level deeper."""
    value: Value | None = None
    """None for a structure, and for a field that was not read to its end."""
    left_out: int = 0
    """The bytes or characters of a long value that were not kept."""
    reason: str = ""
    """Why reading failed at this field; empty for all others."""

    @property
    def name(self) -> str:
        """Its own name, with the index if it is an item."""
        return self.keys[-1]

    @property
    def depth(self) -> int:
        """Its nesting depth; 0 for a field of the traced structure."""
        return len(self.keys) - 1

    @property
    def spec_name(self) -> str:
        """Its name in the format's own document; empty where that is the same name."""
        type_ = self.path.rpartition("/types/")[2].partition("/")[0] if "/types/" in self.path else self.spec
        return _spec_names(self.spec).get((type_, self.name.partition("[")[0]), "")


@dataclass(frozen=True, slots=True)
class Trace:
    """The fields of a structure in file order; a nested structure comes before its fields."""

    spec: str
    size: int
    """The size of the data."""
    fields: tuple[Field, ...]
    end: int
    """The end of the last byte that any field read."""
    is_truncated: bool
    """Whether reading failed because the bytes ended."""
    is_cut: bool
    """Whether the list of fields is incomplete because of `max_fields`."""

    @property
    def failing(self) -> Field | None:
        """The field at which reading failed; None if it did not."""
        return next((field for field in self.fields if field.reason), None)

    @property
    def leaves(self) -> tuple[Field, ...]:
        """The fields without the structures around them. Leaves do not overlap, unless they are bits of a byte."""
        return tuple(field for field in self.fields if field.is_leaf)

    @property
    def unread(self) -> tuple[Span, ...]:
        """The spans of the data that no leaf covers, in order."""
        gaps, position = [], 0
        for leaf in self.leaves:
            if leaf.start > position:
                gaps.append(Span(position, leaf.start))
            position = max(position, leaf.end)
        return (*gaps, Span(position, self.size)) if position < self.size else tuple(gaps)


def trace(spec: str, data: bytes, *params: object, max_fields: int = MAX_FIELDS) -> Trace:
    """The fields of the structure at the start of `data`; positions count from there.

    >>> for field in trace("kafka_offset_index", bytes([0, 0, 0, 7, 0, 0, 0, 42, 1])).leaves:
    ...     print(field.start, field.end, field.label, field.reason or field.value)
    0 4 entries[0].relative_offset 7
    4 8 entries[0].position 42
    8 9 entries[1].relative_offset needs 4 bytes, 1 left
    """
    if not specs.has_structure(spec):
        return Trace(spec, len(data), (), 0, is_truncated=False, is_cut=False)
    root, error = specs.read(spec, data, *params)
    walk = _Walk(max_fields)
    # A failed instance may lie before the fields around it; everything else comes in file order.
    fields = tuple(sorted(walk.fields(root, 0, (), "", error), key=lambda field: field.start))
    end = max((field.end for field in fields if field.depth == 0), default=0)
    return Trace(spec, len(data), fields, end, isinstance(error, EOFError), walk.is_cut)


class _Walk:
    """A walk over a parsed structure that stops after `max_fields` fields."""

    def __init__(self, max_fields: int) -> None:
        self.left = max_fields
        self.is_cut = False

    def fields(
        self, node: Any, origin: int, above: tuple[str, ...], label: str, error: BaseException | None
    ) -> Iterator[Field]:
        """The fields of a structure and its nested structures; after an error, also the field where it occurred."""
        last = specs.last_part(node, origin, error) if error else None
        for part in specs.parts(node, origin):
            if last and (part.path, part.index) == (last.path, last.index):
                continue
            if self.left <= 0:
                self.is_cut = True
                break
            yield from self._field(part, node, above, label, None)
        if last:
            yield from self._field(last, node, above, label, error)

    def _field(
        self, part: specs.Part, node: Any, above: tuple[str, ...], label: str, error: BaseException | None
    ) -> Iterator[Field]:
        """A field, then its nested fields."""
        name = part.name if part.index is None else f"{part.name}[{part.index}]"
        is_leaf = not part.is_structure or (part.is_open and not part.is_half_read) or len(above) >= MAX_DEPTH
        is_stopped_inside = part.is_half_read and not is_leaf
        value, left_out = _kept(part) if is_leaf else (None, 0)
        yield Field(
            keys=(*above, name),
            label=label + name,
            start=part.start,
            end=part.end,
            spec=part.spec,
            path=part.path,
            is_leaf=is_leaf,
            value=value,
            left_out=left_out,
            reason=specs.reason_of(error) if error and not is_stopped_inside else "",
        )
        self.left -= 1
        if not is_leaf:
            is_last = name == node.SEQ_FIELDS[-1]
            below = label if is_last else f"{label}{name}."
            yield from self.fields(part.value, part.origin, (*above, name), below, error if is_stopped_inside else None)


def _kept(part: specs.Part) -> tuple[Value | None, int]:
    """A field's value, shortened if it is long, and the length of what was cut off."""
    value: Value | None = None
    if not part.is_open:
        with suppress(*specs.PARSE_ERRORS):
            value = _plain(part.value)
    if isinstance(value, bytes | str) and len(value) > LONGEST_VALUE:
        return value[:LONGEST_VALUE], len(value) - LONGEST_VALUE
    return value, 0


def _plain(value: Any) -> Value | None:
    """A value as a Python object: the number of a varint or a decimal, the unescaped bytes of a token."""
    if not isinstance(value, kaitaistruct.KaitaiStruct):
        plain: Value | None = value
    elif hasattr(value, "chars"):
        plain = bytes(char.literal if char.is_escape else char.byte for char in value.chars[:-1])
    else:
        plain = getattr(value, "value", None)
    return plain


@cache
def _spec_names(spec: str) -> dict[tuple[str, str], str]:
    """Names in the format's own document by type and field, from the layout tables: the specs are not installed."""
    names, type_ = {}, spec
    text = resources.files("thawline.generated.layouts").joinpath(f"{spec}.md").read_text(encoding="utf-8")
    for line in text.splitlines():
        cells = line.replace("\\|", "").split(" | ")
        if line.startswith("## "):
            type_ = line.removeprefix("## ")
        elif len(cells) == len(("offset", "size", "type", "name", "spec name", "meaning")) and cells[4]:
            names[type_, cells[3]] = cells[4]
    return names
