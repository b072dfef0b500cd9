"""The fields of one structure with their places, also of a damaged one up to the field that cannot be read.

`trace` reads with the build that records positions (`generated/structures`) and lists what it found in file order:
which bytes are which field, what they mean, where reading stopped and why. It raises nothing, whatever the bytes are.
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
"""A trace lists this many fields; the one at which reading failed is there in any case."""
MAX_DEPTH = 32
LONGEST_VALUE = 1_024
"""Bytes or characters of a value that are kept."""

Value = int | float | bytes | str
"""What a field holds: a number, a flag or a member of an enum (all are ints), bytes, text."""


@dataclass(frozen=True, slots=True)
class Field:
    """One field of a structure; of a repeated field one item."""

    keys: tuple[str, ...]
    """The names that lead to it, its own last, such as `("body", "status[1]", "reserved")`."""
    label: str
    """The same for a person: without the structures that are all the rest of what holds them, such as `body`."""
    start: int
    end: int
    """Behind its last byte; of a field that was cut off, behind the last byte that is there."""
    spec: str
    path: str
    """Its path in its spec, such as `/types/frame_status/seq/1`."""
    is_leaf: bool
    """Whether it is shown as one value, and not as the fields that follow it one level deeper."""
    value: Value | None = None
    """None for a structure, and for a field that was not read to its end."""
    left_out: int = 0
    """How much of a long value was not kept."""
    reason: str = ""
    """Why reading failed at this field; empty for all others."""

    @property
    def name(self) -> str:
        """Its own name, with its index where it is an item."""
        return self.keys[-1]

    @property
    def depth(self) -> int:
        """How many structures it lies in; 0 for a field of the traced one."""
        return len(self.keys) - 1

    @property
    def spec_name(self) -> str:
        """What the format's own document calls it; empty where that is no other name."""
        type_ = self.path.rpartition("/types/")[2].partition("/")[0] if "/types/" in self.path else self.spec
        return _spec_names(self.spec).get((type_, self.name.partition("[")[0]), "")


@dataclass(frozen=True, slots=True)
class Trace:
    """What was read of a structure, in file order: each structure before its fields."""

    spec: str
    size: int
    """How many bytes were there to read."""
    fields: tuple[Field, ...]
    end: int
    """Behind the last byte that was taken from the data, for whatever field."""
    is_truncated: bool
    """Whether reading failed because the bytes ended."""
    is_cut: bool
    """Whether there are more fields than are listed."""

    @property
    def failing(self) -> Field | None:
        """The field at which reading failed; None if it did not."""
        return next((field for field in self.fields if field.reason), None)

    @property
    def leaves(self) -> tuple[Field, ...]:
        """The fields without the structures that they lie in. They do not overlap, unless they are bits of a byte."""
        return tuple(field for field in self.fields if field.is_leaf)

    @property
    def unread(self) -> tuple[Span, ...]:
        """The stretches of the data that lie in no leaf, in order."""
        found, position = [], 0
        for leaf in self.leaves:
            if leaf.start > position:
                found.append(Span(position, leaf.start))
            position = max(position, leaf.end)
        return (*found, Span(position, self.size)) if position < self.size else tuple(found)


def trace(spec: str, data: bytes, *params: object, max_fields: int = MAX_FIELDS) -> Trace:
    """The fields of the structure that starts with `data`; positions count from its start.

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
    # An instance that failed lies ahead of the fields around it; everything else is found in file order.
    fields = tuple(sorted(walk.fields(root, 0, (), "", error), key=lambda field: field.start))
    end = max((field.end for field in fields if field.depth == 0), default=0)
    return Trace(spec, len(data), fields, end, isinstance(error, EOFError), walk.is_cut)


class _Walk:
    """A walk over what was read, which ends after so many fields."""

    def __init__(self, max_fields: int) -> None:
        self.left = max_fields
        self.is_cut = False

    def fields(
        self, node: Any, origin: int, above: tuple[str, ...], label: str, error: BaseException | None
    ) -> Iterator[Field]:
        """The fields of a structure and of those in it; where an error stopped it, the one it stopped at too."""
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
        """A field, then those in it."""
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
            is_all_the_rest = name == node.SEQ_FIELDS[-1]
            below = label if is_all_the_rest else f"{label}{name}."
            yield from self.fields(part.value, part.origin, (*above, name), below, error if is_stopped_inside else None)


def _kept(part: specs.Part) -> tuple[Value | None, int]:
    """A field's value, cut where it is long, and how much of it was left out."""
    value: Value | None = None
    if not part.is_open:
        with suppress(*specs.PARSE_ERRORS):
            value = _plain(part.value)
    if isinstance(value, bytes | str) and len(value) > LONGEST_VALUE:
        return value[:LONGEST_VALUE], len(value) - LONGEST_VALUE
    return value, 0


def _plain(value: Any) -> Value | None:
    """A value as Python has it: that of a varint or a decimal number, the bytes that an escaped token stands for."""
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
