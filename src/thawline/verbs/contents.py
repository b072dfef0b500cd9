"""Fields of what a unit holds: the records of a batch or a segment, in the file itself or decompressed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import groupby

from rich.text import Text

from thawline.formats import Content
from thawline.rendering.fields import STYLES, grouped_fields, name_of, value_of
from thawline.rendering.hexdump import Dump, Stretch
from thawline.rendering.words import counted, grouped
from thawline.source import LocalSource, Source
from thawline.tracing import Field, Trace, trace

MOST_BYTES = 256 << 10
"""Fields are read from so many bytes: each of them is an object, and the smallest records have seven."""
MOST_FIELDS = 100_000
FIRST_ITEMS = 3
"""Items that are shown; the one that fails is, too."""
FIELD_ROWS = 4


def content_lines(content: Content, source: Source, *, spec_names: bool, room: int | None = None) -> Iterator[Text]:
    """A heading, the first items, the one that cannot be read, and what is to be said of the rest."""
    inside = LocalSource(content.field, content.data) if content.data is not None else source
    start = 0 if content.data is not None else content.span.start
    size = len(content.data) if content.data is not None else content.span.size
    data = bytes(inside.view(start, start + min(size, MOST_BYTES)))
    found = trace(content.spec, data, *content.params, max_fields=MOST_FIELDS)
    is_cut = size > MOST_BYTES and found.is_truncated
    if is_cut:  # what fails is the reading of a piece, not the content
        found = replace(found, fields=tuple(field for field in found.fields if not field.reason))
    yield _heading(content, size)
    if data:
        yield from _Inside(inside, start, found, spec_names=spec_names).lines(room)
    if is_cut or found.is_cut:
        yield _note(f"fields are read from the first {grouped(MOST_BYTES)} bytes only")
    elif found.end < size and not found.failing:
        yield _note(f"{counted(size - found.end, 'byte')} behind the last field")
    if content.problem:
        yield _note(f"no more of it could be decompressed: {content.problem}")


def _heading(content: Content, size: int) -> Text:
    stored = f"{content.span} ({counted(content.span.size, 'byte')})"
    if content.data is None:
        return Text.assemble((content.field, "bold"), f"  {stored}")
    opened = f"{content.codec}, {counted(size, 'byte')} decompressed; positions count from their start"
    return Text.assemble((content.field, "bold"), f"  {stored}  {opened}")


class _Inside:
    """Traced items of a content."""

    def __init__(self, source: Source, start: int, found: Trace, *, spec_names: bool) -> None:
        self.source, self.start, self.found, self.spec_names = source, start, found, spec_names
        self.structures = {field.keys: field for field in found.fields if not field.is_leaf}
        self.failing = found.failing

    def lines(self, room: int | None) -> Iterator[Text]:
        """The first items and the one that fails, field by field."""
        dump, skipped = Dump(self.source, room=room), 0
        leaves = (leaf for leaf in self.found.leaves if leaf.end > leaf.start or leaf.reason)
        for number, (item, fields) in enumerate(groupby(leaves, lambda leaf: leaf.keys[0])):
            if number >= FIRST_ITEMS and not (self.failing and self.failing.keys[0] == item):
                skipped += 1
                continue
            if skipped:
                yield _note(f"{counted(skipped, 'item')} not shown")
                skipped = 0
            for index, group in enumerate(grouped_fields(list(fields))):
                yield from dump.lines(self._stretch(group, STYLES[index % len(STYLES)]))
        if skipped:
            yield _note(f"{counted(skipped, 'item')} more")

    def _stretch(self, group: list[Field], style: str) -> Stretch:
        """A field, or bit fields that share their bytes under the name of what holds them."""
        field, limit = group[0], self.source.size  # an instance may have been looked for behind the end
        start = min(self.start + field.start, limit)
        end = min(self.start + max(bits.end for bits in group), limit)
        value = value_of(field)
        if len(group) > 1:
            value = ", ".join(f"{self._name(bits)} {value_of(bits)}" for bits in group)
            field = self.structures[field.keys[:-1]]
        above, dot, _ = field.label.rpartition(".")
        return Stretch(start, end, above + dot + self._name(field), value, "", style, self._reason(group), FIELD_ROWS)

    def _name(self, field: Field) -> str:
        return name_of(field, spec_names=self.spec_names)

    def _reason(self, group: list[Field]) -> str:
        """Why the field fails; of a structure that fails as a whole, the first field says it."""
        failing = self.failing
        if failing is None or not any(field.keys[: len(failing.keys)] == failing.keys for field in group):
            return ""
        self.failing = None
        return f"{failing.reason} ({failing.spec}: {failing.path})"


def _note(text: str) -> Text:
    return Text.assemble("   = ", ("note: ", "bold"), text)
