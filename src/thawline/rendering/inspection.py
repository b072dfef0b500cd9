"""An inspection as an annotated hex dump."""

from __future__ import annotations

from collections.abc import Iterator

from rich.text import Text

from thawline.rendering.folding import Line
from thawline.rendering.hexdump import Dump
from thawline.rendering.words import counted, printable
from thawline.verbs.contents import Inside
from thawline.verbs.inspect import Inspection


def inspection_lines(found: Inspection, room: int | None = None) -> Iterator[Text]:
    """A heading, the bytes with their fields, and the contents of the unit; lines are `room` columns wide at most."""
    cold = found.cold
    version = f" {cold.claim.version}" if cold.claim else ""
    place = f"{found.span} ({counted(found.span.size, 'byte')})"
    title = f"  {found.title}  {place}  {cold.format.name}{version}"
    yield Line.hanging(2, (printable(cold.name), "bold"), title)
    dump = Dump(cold.source, found.focus, room)
    for stretch in found.stretches:
        yield from dump.lines(stretch)
    yield from map(_note, found.notes)
    if found.inside:
        yield from _inside(found.inside, room)


def _inside(found: Inside, room: int | None) -> Iterator[Text]:
    yield _heading(found)
    dump = Dump(found.source, room=room)
    for part in found.parts:
        yield from [_note(part)] if isinstance(part, str) else dump.lines(part)


def _heading(found: Inside) -> Text:
    content = found.content
    stored = f"{content.span} ({counted(content.span.size, 'byte')})"
    if content.data is None:
        return Text.assemble((content.field, "bold"), f"  {stored}")
    opened = f"{content.codec}, {counted(found.size, 'byte')} decompressed; positions count from their start"
    return Text.assemble((content.field, "bold"), f"  {stored}  {opened}")


def _note(text: str) -> Text:
    return Text.assemble("   = ", ("note: ", "bold"), text)
