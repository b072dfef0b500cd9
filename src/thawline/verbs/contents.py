"""The fields of a unit's content: the records of a batch or a segment, stored plainly or decompressed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import groupby

from thawline.formats.contract import Content
from thawline.source import LocalSource, Source
from thawline.tracing import Field, Trace, trace
from thawline.verbs.stretches import Stretch, grouped_fields, name_of, value_of
from thawline.wording import counted, grouped

MOST_BYTES = 256 << 10
"""Fields are read from at most this many bytes: each is a Python object, and the smallest records have seven."""
MOST_FIELDS = 100_000
FIRST_ITEMS = 3
"""This many items are shown, and the one that fails."""


@dataclass(frozen=True, slots=True)
class Inside:
    """The content of a unit, field by field."""

    content: Content
    source: Source
    """The bytes that positions of the stretches refer to: the file, or the decompressed content."""
    size: int
    """The size of the content, decompressed if it is compressed."""
    parts: tuple[Stretch | str, ...]
    """The fields that are shown, and notes on what is not."""


def inside(content: Content, source: Source, *, spec_names: bool) -> Inside:
    """The first items, the one that cannot be read, and notes on the rest."""
    holder = LocalSource(content.field, content.data) if content.data is not None else source
    start = 0 if content.data is not None else content.span.start
    size = len(content.data) if content.data is not None else content.span.size
    data = bytes(holder.view(start, start + min(size, MOST_BYTES)))
    traced = trace(content.spec, data, *content.params, max_fields=MOST_FIELDS)
    is_cut = size > MOST_BYTES and traced.is_truncated
    if is_cut:  # reading failed because only a piece was read; the content is not at fault
        traced = replace(traced, fields=tuple(field for field in traced.fields if not field.reason))
    parts = list(_Items(holder, start, traced, spec_names=spec_names).parts()) if data else []
    return Inside(content, holder, size, (*parts, *_notes(content, traced, size, is_cut=is_cut)))


def _notes(content: Content, traced: Trace, size: int, *, is_cut: bool) -> Iterator[str]:
    if is_cut or traced.is_cut:
        yield f"fields are read from the first {grouped(MOST_BYTES)} bytes only"
    elif traced.end < size and not traced.failing:
        yield f"{counted(size - traced.end, 'byte')} after the last field"
    if content.problem:
        yield f"no more of it could be decompressed: {content.problem}"


class _Items:
    """The traced items of a content."""

    def __init__(self, source: Source, start: int, traced: Trace, *, spec_names: bool) -> None:
        self.source, self.start, self.traced, self.spec_names = source, start, traced, spec_names
        self.structures = {field.keys: field for field in traced.fields if not field.is_leaf}
        self.failing = traced.failing

    def parts(self) -> Iterator[Stretch | str]:
        """The first items and the one that fails, field by field."""
        skipped = 0
        leaves = (leaf for leaf in self.traced.leaves if leaf.end > leaf.start or leaf.reason)
        for number, (item, fields) in enumerate(groupby(leaves, lambda leaf: leaf.keys[0])):
            if number >= FIRST_ITEMS and not (self.failing and self.failing.keys[0] == item):
                skipped += 1
                continue
            if skipped:
                yield f"{counted(skipped, 'item')} not shown"
                skipped = 0
            for index, group in enumerate(grouped_fields(list(fields))):
                yield replace(self._stretch(group), number=index, reason=self._reason(group))
        if skipped:
            yield f"{counted(skipped, 'item')} more"

    def _stretch(self, group: list[Field]) -> Stretch:
        """A field, or bit fields that share bytes, under the name of their structure."""
        field, limit = group[0], self.source.size  # an instance may point beyond the end
        start = min(self.start + field.start, limit)
        end = min(self.start + max(bits.end for bits in group), limit)
        value = value_of(field)
        if len(group) > 1:
            value = ", ".join(f"{self._name(bits)} {value_of(bits)}" for bits in group)
            field = self.structures[field.keys[:-1]]
        above, dot, _ = field.label.rpartition(".")
        return Stretch(start, end, above + dot + self._name(field), value)

    def _name(self, field: Field) -> str:
        return name_of(field, spec_names=self.spec_names)

    def _reason(self, group: list[Field]) -> str:
        """Why the field fails; the first field of a structure that fails as a whole has its reason."""
        failing = self.failing
        if failing is None or not any(field.keys[: len(failing.keys)] == failing.keys for field in group):
            return ""
        self.failing = None
        return f"{failing.reason} ({failing.spec}: {failing.path})"
