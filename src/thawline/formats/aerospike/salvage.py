"""What of a backup goes into a new one: every intact entry, or only some of the records."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from thawline.conditions import matching
from thawline.formats.aerospike.reading import Entries, Item, entries_of, opened_at
from thawline.formats.aerospike.text import ZstdText
from thawline.formats.aerospike.units import header
from thawline.model import Finding, Run, Span
from thawline.source import Source

PIECE = 4 << 20
"""Bytes that are copied in one go."""

Pieces = Iterator[bytes | memoryview]


def rewritten(source: Source, items: Iterable[Run | Finding]) -> Pieces:
    """The bytes of a backup with the entries of all runs; a header is added where the old one is lost.

    What was compressed is not compressed again.
    """
    texts = RunTexts(source)
    has_header = False
    for item in items:
        if isinstance(item, Run) and item.units:
            if not has_header and not entries_of(item).is_header:
                yield header()
            has_header = True
            yield from texts.of(item)
            texts.source.release(item.span.end)
    if not has_header:
        yield header()


def chosen(source: Source, items: Iterable[Item], where: Mapping[str, str], kept: list[int]) -> Pieces:
    """The bytes of a backup with the records that meet conditions, and all that is no record; counts them in `kept`."""
    texts = RunTexts(source)
    has_header = False
    for item in items:
        run, part = item.shown, item.part
        if not isinstance(run, Run) or part is None or part.suspect or part.labels.get("one_tool_only"):
            continue
        if not has_header and not part.labels.get("header"):
            yield header()
        has_header = True
        if part.table != "records":
            yield from texts.of(run)
            continue
        batches = part.batches("records", {*where, "position", "length"})
        spans = [
            Span(start, start + length)
            for batch in matching(batches, where)
            for start, length in zip(batch["position"].to_pylist(), batch["length"].to_pylist(), strict=True)
        ]
        kept[0] += len(spans)
        for span in _joined(spans):
            yield from texts.of(run, span)
        source.release(run.span.end)
    if not has_header:
        yield header()


def _joined(spans: Iterable[Span]) -> Iterator[Span]:
    """Spans with those that touch made one."""
    current: Span | None = None
    for span in spans:
        if current and span.start == current.end:
            current = Span(current.start, span.end)
            continue
        if current:
            yield current
        current = span
    if current:
        yield current


class RunTexts:
    """The text of runs, which are asked for in file order."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self._segment: int | None = None
        self._text: ZstdText | None = None

    def of(self, run: Run, span: Span | None = None) -> Pieces:
        """The bytes of a run's entries, or of some of them, as both tools read them."""
        place = entries_of(run)
        if place.mended:
            yield place.mended
            return
        wanted = span or place.text or run.given or run.span
        for at in range(wanted.start, wanted.end, PIECE):
            end = min(at + PIECE, wanted.end)
            yield self._opened(place).window(at, end - at)[0] if place.text else self.source.view(at, end)

    def _opened(self, place: Entries) -> ZstdText:
        """The frames that a run lies in, decompressed once however many runs they hold."""
        if self._text is None or self._segment != place.segment:
            self._segment = place.segment
            self._text = opened_at(self.source, place)
        return self._text
