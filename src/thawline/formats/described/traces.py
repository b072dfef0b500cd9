"""The fields of a unit or of a file with their places, as `thawline inspect` shows them."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from thawline.compiler.language import Program, load_traced
from thawline.compiler.language.fields import Found, Trail, trail
from thawline.formats.described.layout import Layout
from thawline.formats.described.parts import UNIT
from thawline.model import Span
from thawline.source import Source
from thawline.tracing import LONGEST_VALUE, MAX_FIELDS, Field, Trace

AROUND = 2
"""What leads to a unit in the spec that reads units: an item of the repetition, and the unit in it."""


def trace_unit(layout: Layout, source: Source, span: Span) -> Trace:
    """The fields of the unit that starts at a span; at the start of the file, those of the head before units."""
    if span.start == 0 and layout.parts.head is not None:
        found = trail(_program(layout, is_head=True), source.view(0, source.size), 0, (0, span.end), MAX_FIELDS)
        return _Traced(layout, 0, found, 0).trace(span)
    wanted = (span.start, source.size)
    found = trail(_program(layout), source.view(0, source.size), span.start, wanted, MAX_FIELDS, items=UNIT)
    return _Traced(layout, span.start, found, AROUND).trace(span)


def trace_whole(layout: Layout, source: Source, span: Span) -> Trace:
    """The fields of a file that touch a span."""
    found = trail(_program(layout), source.view(0, source.size), 0, (span.start, span.end), MAX_FIELDS)
    return _Traced(layout, span.start, found, 0).trace(span)


@lru_cache(maxsize=4)
def _program(layout: Layout, *, is_head: bool = False) -> Program:
    return load_traced(Path(layout.spec.file), layout.parts.head if is_head else layout.parts.read)


class _Traced:
    """The fields of a trail, under the names that they have in a person's spec."""

    def __init__(self, layout: Layout, start: int, found: Trail, above: int) -> None:
        self.layout, self.start, self.trail, self.above = layout, start, found, above

    def trace(self, span: Span) -> Trace:
        fields = tuple(self.field(it) for it in self.trail.fields if self.is_shown(it))
        end = max((it.end for it in fields if it.is_leaf), default=0)
        spec = self.layout.spec.id
        return Trace(spec, span.size, fields, end, is_truncated=False, is_cut=self.trail.is_cut)

    def is_shown(self, found: Found) -> bool:
        """Whether a person's spec has it."""
        return not self.above or (len(found.keys) > self.above and found.keys[self.above - 1] == UNIT)

    def field(self, found: Found) -> Field:
        """A field; that which cannot be read has the reason."""
        keys, value, left_out = found.keys[self.above :], found.value, 0
        if isinstance(value, bytes | str) and len(value) > LONGEST_VALUE:
            value, left_out = value[:LONGEST_VALUE], len(value) - LONGEST_VALUE
        reason, failure = "", self.trail.failure
        if failure and self.trail.failing and found.keys == self.trail.failing.keys:
            reason = failure.reason
        path = self.layout.parts.path(found.path)
        start, end = max(found.start - self.start, 0), max(found.end - self.start, 0)
        return Field(
            keys, ".".join(keys), start, end, self.layout.spec.id, path, found.is_leaf, value, left_out, reason
        )  # fmt: skip
