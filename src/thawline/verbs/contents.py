"""Fields of what a unit holds: the records of a batch or a segment, in the file itself or decompressed."""

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
"""Fields are read from so many bytes: each of them is an object, and the smallest records have seven."""
MOST_FIELDS = 100_000
FIRST_ITEMS = 3
"""Items that are shown; the one that fails is, too."""


@dataclass(frozen=True, slots=True)
class Inside:
    """What a unit holds, field by field, as far as it is shown."""

    content: Content
    source: Source
    """What positions of the stretches count in: the file, or what was decompressed."""
    size: int
    """Bytes of the content, decompressed if need be."""
    parts: tuple[Stretch | str, ...]
    """The fields that are shown, and notes on what is not."""


def inside(content: Content, source: Source, *, spec_names: bool) -> Inside:
    """The first items, the one that cannot be read, and what there is to say of the rest."""
    held = LocalSource(content.field, content.data) if content.data is not None else source
    start = 0 if content.data is not None else content.span.start
    size = len(content.data) if content.data is not None else content.span.size
    data = bytes(held.view(start, start + min(size, MOST_BYTES)))
    found = trace(content.spec, data, *content.params, max_fields=MOST_FIELDS)
    is_cut = size > MOST_BYTES and found.is_truncated
    if is_cut:  # what fails is the reading of a piece, not the content
        found = replace(found, fields=tuple(field for field in found.fields if not field.reason))
    parts = list(_Items(held, start, found, spec_names=spec_names).parts()) if data else []
    return Inside(content, held, size, (*parts, *_notes(content, found, size, is_cut=is_cut)))


def _notes(content: Content, found: Trace, size: int, *, is_cut: bool) -> Iterator[str]:
    if is_cut or found.is_cut:
        yield f"fields are read from the first {grouped(MOST_BYTES)} bytes only"
    elif found.end < size and not found.failing:
        yield f"{counted(size - found.end, 'byte')} behind the last field"
    if content.problem:
        yield f"no more of it could be decompressed: {content.problem}"


class _Items:
    """Traced items of a content."""

    def __init__(self, source: Source, start: int, found: Trace, *, spec_names: bool) -> None:
        self.source, self.start, self.found, self.spec_names = source, start, found, spec_names
        self.structures = {field.keys: field for field in found.fields if not field.is_leaf}
        self.failing = found.failing

    def parts(self) -> Iterator[Stretch | str]:
        """The first items and the one that fails, field by field."""
        skipped = 0
        leaves = (leaf for leaf in self.found.leaves if leaf.end > leaf.start or leaf.reason)
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
        """A field, or bit fields that share their bytes under the name of what holds them."""
        field, limit = group[0], self.source.size  # an instance may have been looked for behind the end
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
        """Why the field fails; of a structure that fails as a whole, the first field says it."""
        failing = self.failing
        if failing is None or not any(field.keys[: len(failing.keys)] == failing.keys for field in group):
            return ""
        self.failing = None
        return f"{failing.reason} ({failing.spec}: {failing.path})"
