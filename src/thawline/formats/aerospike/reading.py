"""A file as runs and findings: plain text, zstd frames, or something that can only be named."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial

from thawline.formats.aerospike.choice import Choice
from thawline.formats.aerospike.findings import BROKEN, BROKEN_FRAME, ENCRYPTED, OTHER_FORMAT, TRUNCATED
from thawline.formats.aerospike.parts import Part
from thawline.formats.aerospike.rows import KERNELS
from thawline.formats.aerospike.soundness import Soundness
from thawline.formats.aerospike.strictness import Doubted, Found, Making, Strictness, nothing
from thawline.formats.aerospike.text import ZSTD_MAGIC, Frame, PlainText, ZstdText, next_frame
from thawline.formats.aerospike.walk import HEADER, HEADER_SIZE, Walk, has_entries, rest_of_entry
from thawline.formats.contract import Claim
from thawline.model import Code, Finding, Run, Span
from thawline.source import Source
from thawline.wording import quoted

LOOKED_AT = 1 << 12
"""Bytes that tell whether a file without a header may be text at all."""
ANY_VERSION = re.compile(rb"Version [0-9][0-9.]*\n")
ASBX_HEAD = re.compile(rb"\x01.{8}.{4}[!-~]{1,31}\0{0,30}", re.DOTALL)
ASBX_HEAD_SIZE = 44
LATEST = "3.1"
"""The version of a text that does not say another one."""
SPARED = {"skipped": True}
"""The label of runs that hold nothing that is asked for."""
LINES = re.compile(rb"(?:^|\n)\+ [kndsgtb] |\n- [A-Z]!? ")


@dataclass(frozen=True, slots=True)
class Item:
    """A run or a finding, and of a run what it is made of."""

    shown: Run | Finding
    part: Part | None = None
    doubted: Callable[[], Item | None] = nothing
    """Of a finding: a run without bytes of the entries that are given although they count as damaged. It is to be asked
    for before the next item is."""

    def given(self) -> Iterator[Item]:
        """The item with what is given before it: a run, and the finding last."""
        found = self.doubted()
        if found and isinstance(self.shown, Finding):
            yield found
            yield replace(self, shown=replace(self.shown, is_given=True))
        else:
            yield self


def recognised(source: Source) -> Claim | None:
    """Whether a file is an Aerospike backup, and how that shows."""
    head = bytes(source.view(0, min(source.size, LOOKED_AT)))
    has_name = source.name.endswith(".asb")
    if found := HEADER.match(head):
        version = head[8:11].decode()
        return Claim("aerospike", version, f"starts with {found[0][:-1].decode()!r}", "certain")
    if head[:4] == ZSTD_MAGIC:
        return _compressed(source, has_name=has_name)
    if is_asbx(source, head):
        return Claim("aerospike", "asbx 1", "has the head of an XDR backup and is named .asbx", "likely")
    if has_name or ANY_VERSION.match(head):
        why = "named .asb, without a header" if has_name else "starts with 'Version' and no version that there is"
        if is_noise(head):
            why = "named .asb and looks like noise, as encrypted backups do"
        return Claim("aerospike", "", why, "possible")
    return None


def _compressed(source: Source, *, has_name: bool) -> Claim | None:
    text, _ = ZstdText(source.view(0, min(source.size, 1 << 18)), room=1 << 18).window(0, HEADER_SIZE)
    if HEADER.fullmatch(text):
        version = bytes(text[8:11]).decode()
        return Claim("aerospike", version, f"zstd-compressed text that starts with 'Version {version}'", "certain")
    return Claim("aerospike", "", "named .asb, and zstd-compressed", "possible") if has_name else None


def is_asbx(source: Source, head: bytes) -> bool:
    """Whether a file is an XDR backup."""
    return source.name.endswith(".asbx") and bool(ASBX_HEAD.fullmatch(head[:ASBX_HEAD_SIZE]))


def is_noise(head: bytes) -> bool:
    """Whether bytes have no text of a backup in them at all."""
    return bool(head) and not HEADER.match(head) and not LINES.search(head) and not _is_texty(head)


def _is_texty(head: bytes) -> bool:
    printable = sum(0x20 <= byte < 0x7F or byte in b"\n\r\t" for byte in head)  # noqa: PLR2004 - ASCII
    return 4 * printable > 3 * len(head)


def items_of(
    source: Source,
    rules: Strictness,
    *,
    quick: Soundness | None = None,
    choice: Choice | None = None,
    is_written: bool = True,
) -> Iterator[Item]:
    """Everything that is in a file, in its order; the spans tile it. With a quick look, parts have no rows.

    `is_written` asks for the bytes that both tools read, of entries that one of them refuses.
    """
    head = bytes(source.view(0, min(source.size, LOOKED_AT)))
    if not head:
        yield Item(Finding(TRUNCATED, Span(0, 0), {"reason": "the file is empty"}))
    elif head[:4] == ZSTD_MAGIC:
        yield from _Compressed(source, rules, quick=quick, choice=choice, is_written=is_written).items()
    elif is_asbx(source, head):
        yield Item(Finding(OTHER_FORMAT, Span(0, source.size)))
    elif is_noise(head):
        yield Item(Finding(ENCRYPTED, Span(0, source.size), {"at": 0, "reason": "nothing in it is text of a backup"}))
    else:
        walk = Walk(PlainText(source), rules, _hint(source), quick=quick, choice=choice, is_written=is_written)
        for found in walk.items():
            yield _item(found, walk.version)
        if walk.is_spared and walk.pos < source.size:
            yield Item(Run(Span(walk.pos, source.size), 0, 0, SPARED))


def _item(found: Found, version: str) -> Item:
    """What a walk through plain text has found."""
    labels = {} if version == LATEST else {"version": version}
    match found:
        case Finding():
            return Item(found)
        case Doubted(finding, part):
            return Item(finding, doubted=partial(_given, finding, part, finding.span.start, **labels))
    return Item(_run(found, found.span, **labels), found)


def _given(finding: Finding, making: Making, at: int, **labels: object) -> Item | None:
    """Entries that are given although they count as damaged: a run without bytes, for the finding has them."""
    part = making()
    if part is None:
        return None
    labels |= {"recovered": finding.code.id, "given": finding.span}
    return Item(_run(part, Span(at, at), **labels), part)


def _run(part: Part, span: Span, **labels: object) -> Run:
    named = {**part.labels, **labels}
    if part.table:
        named["table"] = part.table
    if part.suspect:
        named["suspect"] = part.suspect
    if part.mended:
        named["mended"] = part.mended
    if part.taken is not None:
        named["left_out"] = part.units - part.taken, part.left_out_bytes
    if part.taken == 0:
        named |= SPARED
    return Run(span, part.units, part.rows, named)


def _hint(source: Source) -> str:
    return f"thawline salvage {quoted(source.name)} -o intact.asb"


class _Compressed:
    """A file of zstd frames. Entries have no bytes of their own in it: a run ends with the block that its end is in."""

    def __init__(
        self, source: Source, rules: Strictness, *, quick: Soundness | None, choice: Choice | None, is_written: bool
    ) -> None:
        self.rules, self.quick, self.choice, self.is_written = rules, quick, choice, is_written
        self.source = source.on_disk()
        self.data = self.source.view(0, self.source.size)
        self.position = 0

    def items(self) -> Iterator[Item]:
        start, position, version, hint = 0, 0, LATEST, _hint(self.source)
        frame: Frame | None = None
        while start < len(self.data):
            text = ZstdText(self.data, start, position, self.source.release)
            text.begun = frame.blocks if frame else None
            if start and (end := _end_of_scrap(text, position)) is not None:
                yield Item(self._inside(BROKEN, position, end, rest_of_entry(position), hint))
                position = end
            else:
                walk = Walk(text, self.rules, hint, position, version, self.quick)
                walk.choice, walk.is_written = self.choice, self.is_written
                yield from self._segment(walk, text, start)
                if walk.is_spared:
                    yield Item(Run(Span(self.position, len(self.data)), 0, 0, SPARED))
                    return
                position, version = walk.pos, walk.version
            start = text.reached
            yield from self._rest(text)
            if text.damage:
                frame = None if text.is_full else next_frame(self.data, start + 1)
                following = frame.start if frame else len(self.data)
                yield Item(Finding(BROKEN_FRAME, Span(start, following), {"at": start, "reason": text.damage}))
                start = self.position = following

    def _segment(self, walk: Walk, text: ZstdText, segment: int) -> Iterator[Item]:
        """What lies in the frames from a byte of the file on, up to its end or to damage."""
        if segment:
            for finding in walk.lost_start():
                yield Item(self._moved(finding))
        for found in walk.entries() if segment else walk.items():
            if isinstance(found, Finding):
                yield Item(self._moved(found))
                continue
            if isinstance(found, Doubted):
                text.release(found.finding.span.start)
                yield self._doubted(found, text, version=walk.version, segment=segment)
                continue
            for part in _split(found, text.suspect_from):
                text.release(part.span.start)
                end = max(text.located(part.span.end), self.position)
                span, self.position = Span(self.position, end), end
                self.source.release(end)
                place = _place(part.span, text)
                yield Item(_run(part, span, version=walk.version, segment=segment, **place), part)

    def _inside(self, code: Code, start: int, end: int, detail: Mapping[str, object], hint: str) -> Finding:
        """A finding about the text: the frames are intact, so it takes none of their bytes."""
        place = {"text_start": start, "text_end": end}
        return Finding(code, Span(self.position, self.position), {**detail, **place}, hint)

    def _moved(self, finding: Finding) -> Finding:
        """The same of one that is placed in the text."""
        span = finding.span
        return self._inside(finding.code, span.start, span.end, finding.detail, finding.hint)

    def _doubted(self, found: Doubted, text: ZstdText, **labels: object) -> Item:
        """A finding about entries that are given all the same."""
        inside = self._moved(found.finding)

        def part() -> Part | None:
            made = found.part()
            is_sound = made is None or made.span.end <= text.suspect_from
            return made if made is None or is_sound else replace(made, suspect=made.suspect or "frame")

        labels |= _place(found.finding.span, text)
        return Item(inside, doubted=partial(_given, inside, part, self.position, **labels))

    def _rest(self, text: ZstdText) -> Iterator[Item]:
        """The bytes of frames whose text is told already."""
        if self.position < text.reached:
            span, self.position = Span(self.position, text.reached), text.reached
            yield Item(Run(span, 0, 0))


def _end_of_scrap(text: ZstdText, start: int) -> int | None:
    """Where a text ends in which no entry starts; None for any other, which takes a walk."""
    view, is_last = text.window(start, text.step)
    return start + len(view) if is_last and not has_entries(view) else None


def _place(span: Span, text: ZstdText) -> dict[str, object]:
    """Where entries lie in compressed text."""
    return {"text": (span.start, span.end), "frame": text.frame_of(span.start)}


def _split(part: Part, suspect_from: int) -> Iterator[Part]:
    """A part, or two where only its first entries lie before text that is suspect."""
    if part.span.end <= suspect_from:
        yield part
        return
    if part.taken is not None:
        yield replace(part, suspect=part.suspect or "frame")
        return
    ends = [end for _, end in part.places()]
    sound = bisect_right(ends, suspect_from)
    middle = ends[sound - 1] if sound else part.span.start
    if sound:
        yield replace(part, span=Span(part.span.start, middle), units=sound)
    rest = Span(middle, part.span.end)
    suspect = part.suspect or "frame"
    yield replace(part, span=rest, first=part.first + sound, units=part.units - sound, suspect=suspect)


def parts_of(source: Source, run: Run, choice: Choice | None = None) -> Iterator[Part]:
    """What a run of an earlier scan is made of."""
    table, place = run.labels.get("table"), run.labels.get("text")
    if table not in KERNELS:
        return
    span = Span(*place) if isinstance(place, tuple) else run.given or run.span
    text: PlainText | ZstdText = PlainText(source, span.end)
    if isinstance(place, tuple):
        text = _Part(opened_at(source, run), span.end)
    walk = Walk(text, pos=span.start, version=str(run.labels.get("version", LATEST)), is_written=False)
    walk.choice = choice
    if run.labels.get("suspect") == "nested":
        walk.nested_to = span.end
    suspect = run.labels.get("suspect")
    for found in walk.entries():
        if isinstance(found, Part):
            yield replace(found, suspect="frame") if suspect == "frame" and not found.suspect else found


def opened_at(source: Source, run: Run) -> ZstdText:
    """The frames of a compressed file from the one on that a run starts in."""
    place = run.labels["frame"]
    assert isinstance(place, tuple)  # noqa: S101 - `_Compressed` sets it
    (frame, position), found = place, source.on_disk()
    return ZstdText(found.view(0, found.size), frame, position, found.release)


class _Part(ZstdText):
    """A part of the text in zstd frames."""

    def __init__(self, whole: ZstdText, end: int) -> None:
        self.whole, self.last, self.damage = whole, end, ""

    def window(self, start: int, size: int) -> tuple[memoryview, bool]:
        """The bytes from `start` on, up to the end of the part."""
        view, is_last = self.whole.window(start, min(size, self.last - start))
        return view, is_last or start + len(view) >= self.last

    def release(self, end: int) -> None:
        """The same of the whole."""
        self.whole.release(end)


def unit_spans(source: Source, run: Run) -> Iterator[Span]:
    """The entries of a run; of a compressed file the run itself."""
    if "text" in run.labels or "given" in run.labels or run.units == 1:
        yield run.given or run.span
        return
    for part in parts_of(source, run):
        yield from (Span(start, end) for start, end in part.places())
