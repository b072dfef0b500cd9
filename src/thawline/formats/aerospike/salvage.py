"""What of a backup goes into a new one: every intact entry, or only some of the records."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from thawline.conditions import matching
from thawline.formats.aerospike.reading import Item, opened_at
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
            if not has_header and not item.labels.get("header"):
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
        self._segment: object = None
        self._text: ZstdText | None = None

    def of(self, run: Run, span: Span | None = None) -> Pieces:
        """The bytes of a run's entries, or of some of them, as both tools read them."""
        mended, place = run.labels.get("mended"), run.labels.get("text")
        if isinstance(mended, bytes):
            yield mended
            return
        wanted = span or (Span(*place) if isinstance(place, tuple) else run.given or run.span)
        for at in range(wanted.start, wanted.end, PIECE):
            end = min(at + PIECE, wanted.end)
            yield self.source.view(at, end) if place is None else self._opened(run).window(at, end - at)[0]

    def _opened(self, run: Run) -> ZstdText:
        """The frames that a run lies in, decompressed only once however many runs there are."""
        if self._text is None or self._segment != run.labels["segment"]:
            self._segment = run.labels["segment"]
            self._text = opened_at(self.source, run)
        return self._text
