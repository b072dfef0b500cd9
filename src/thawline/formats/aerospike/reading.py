"""A file as runs and findings: plain text, zstd frames, or something that can only be named."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Generator, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial

from thawline.formats.aerospike.choice import Choice
from thawline.formats.aerospike.findings import BROKEN, BROKEN_FRAME, ENCRYPTED, OTHER_FORMAT, TRUNCATED
from thawline.formats.aerospike.parts import Part
from thawline.formats.aerospike.rows import KERNELS
from thawline.formats.aerospike.soundness import Soundness
from thawline.formats.aerospike.strictness import Doubted, Found, Making, Strictness, nothing
from thawline.formats.aerospike.text import ZSTD_MAGIC, Frame, PlainText, ZstdText, next_frame, room_of
from thawline.formats.aerospike.walk import HEADER, HEADER_SIZE, Walk, has_entries, rest_of_entry
from thawline.formats.contract import Claim
from thawline.model import Code, Finding, LeftOut, Payload, Run, Span
from thawline.source import Source
from thawline.wording import quoted

LOOKED_AT = 1 << 12
"""Bytes that tell whether a file without a header may be text at all."""
ANY_VERSION = re.compile(rb"Version [0-9][0-9.]*\n")
ASBX_HEAD = re.compile(rb"\x01.{8}.{4}[!-~]{1,31}\0{0,30}", re.DOTALL)
ASBX_HEAD_SIZE = 44
LATEST = "3.1"
"""The version of a text that does not say another one."""
LINES = re.compile(rb"(?:^|\n)\+ [kndsgtb] |\n- [A-Z]!? ")


@dataclass(frozen=True, slots=True)
class Entries(Payload):
    """Where the entries of a run lie, and what they are."""

    table: str = ""
    version: str = LATEST
    suspect: str = ""
    text: Span | None = None
    """Where they lie in compressed text."""
    frame: tuple[int, int] | None = None
    """The frame that they start in: its byte in the file, and where its text starts."""
    segment: int = 0
    """The byte of the file from which frames follow one another without damage."""
    mended: bytes = b""
    """The bytes that both tools read for them, where only one of them reads those in the file."""
    is_header: bool = False
    part: Part | None = field(default=None, compare=False, repr=False)
    """Their rows, as far as the walk has decoded them."""

    def portable(self) -> Entries:
        """The same without rows."""
        return replace(self, part=None)


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
            yield Item(given_too(self.shown))
        else:
            yield self


def given_too(finding: Finding) -> Finding:
    """A finding about entries that are given all the same. `replace` would be slow where every line has one."""
    return Finding(finding.code, finding.span, finding.detail, finding.hint, is_given=True)


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
            yield Item(_spared(Span(walk.pos, source.size), Entries(version=walk.version)))


def _item(found: Found, version: str) -> Item:
    """What a walk through plain text has found."""
    place = Entries(version=version)
    match found:
        case Finding():
            return Item(found)
        case Doubted(finding, part):
            return Item(finding, doubted=partial(_given, finding, part, finding.span.start, place))
    return Item(_run(found, found.span, place), found)


def _given(finding: Finding, making: Making, at: int, place: Entries) -> Item | None:
    """Entries that are given although they count as damaged: a run without bytes, which are the finding's."""
    part = making()
    if part is None:
        return None
    run = replace(_run(part, Span(at, at), place), recovered=finding.code.id, given=finding.span)
    return Item(run, part)


def _run(part: Part, span: Span, place: Entries) -> Run:
    told = part.labels.get("version")
    payload = replace(
        place,
        table=part.table,
        version=str(told) if told and place.version == LATEST else place.version,
        suspect=part.suspect or "",
        mended=part.mended,
        is_header=bool(part.labels.get("header")),
        part=part,
    )
    is_doubted = bool(part.labels.get("one_tool_only"))
    left_out = None if part.taken is None else LeftOut(part.units - part.taken, part.left_out_bytes)
    suspect = part.suspect or ("one tool only" if is_doubted else "")
    return Run(span, part.units, part.rows, suspect=suspect, left_out=left_out, payload=payload)


def _spared(span: Span, place: Entries) -> Run:
    """The rest of a file that holds no requested record."""
    return Run(span, 0, 0, left_out=LeftOut(0, span.size), payload=place)


def entries_of(run: Run) -> Entries:
    """Where the entries of a run lie."""
    return run.payload if isinstance(run.payload, Entries) else Entries()


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
        self.room = room_of(len(self.data))
        self.position = 0

    def items(self) -> Iterator[Item]:
        start, position, version, hint = 0, 0, LATEST, _hint(self.source)
        frame: Frame | None = None
        while start < len(self.data):
            text = ZstdText(self.data, start, position, self.source.release)
            text.begun = frame.blocks() if frame else None
            if start and (end := _end_of_scrap(text, position)) is not None:
                yield Item(self._inside(BROKEN, position, end, rest_of_entry(position), hint))
                position = end
            else:
                walk = Walk(text, self.rules, hint, position, version, self.quick)
                walk.choice, walk.is_written = self.choice, self.is_written
                yield from self._segment(walk, text, start)
                if walk.is_spared:
                    place = replace(_place(Span(walk.pos, walk.pos), text), version=walk.version)
                    yield Item(_spared(Span(self.position, len(self.data)), place))
                    return
                position, version = walk.pos, walk.version
            start = text.reached
            yield from self._rest(text)
            if text.damage:
                frame = None if text.is_full else next_frame(self.data, start + 1)
                yield self._broken_frame(start, frame, text.damage)
                frame, position = yield from self._stumps(frame, position, hint)
                start = self.position

    def _stumps(self, frame: Frame | None, position: int, hint: str) -> Generator[Item, None, tuple[Frame | None, int]]:
        """Frames that break off early and in which no entry starts; then the next frame, and where its text starts.

        A file may hold one every few bytes. Each is decompressed once, and takes no walk.
        """
        while frame and frame.damage and position + len(text := frame.text()) < self.room and not has_entries(text):
            end, reached = position + len(text), frame.reached
            yield Item(self._inside(BROKEN, position, end, rest_of_entry(position), hint))
            yield Item(Run(Span(frame.start, reached), 0, 0))
            following = next_frame(self.data, reached + 1)
            yield self._broken_frame(reached, following, frame.damage)
            frame, position = following, end
        return frame, position

    def _broken_frame(self, start: int, following: Frame | None, reason: str) -> Item:
        """The bytes from damage on up to the next frame that can be read."""
        self.position = following.start if following else len(self.data)
        return Item(Finding(BROKEN_FRAME, Span(start, self.position), {"at": start, "reason": reason}))

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
                yield self._doubted(found, text, Entries(version=walk.version, segment=segment))
                continue
            for part in _split(found, text.suspect_from):
                text.release(part.span.start)
                end = max(text.located(part.span.end), self.position)
                span, self.position = Span(self.position, end), end
                self.source.release(end)
                place = replace(_place(part.span, text), version=walk.version, segment=segment)
                yield Item(_run(part, span, place), part)

    def _inside(self, code: Code, start: int, end: int, detail: Mapping[str, object], hint: str) -> Finding:
        """A finding about the text: the frames are intact, so it takes none of their bytes."""
        place = {"text_start": start, "text_end": end}
        return Finding(code, Span(self.position, self.position), {**detail, **place}, hint)

    def _moved(self, finding: Finding) -> Finding:
        """The same of one that is placed in the text."""
        span = finding.span
        return self._inside(finding.code, span.start, span.end, finding.detail, finding.hint)

    def _doubted(self, found: Doubted, text: ZstdText, place: Entries) -> Item:
        """A finding about entries that are given all the same."""
        inside = self._moved(found.finding)

        def part() -> Part | None:
            made = found.part()
            is_sound = made is None or made.span.end <= text.suspect_from
            return made if made is None or is_sound else replace(made, suspect=made.suspect or "frame")

        at = _place(found.finding.span, text)
        place = replace(place, text=at.text, frame=at.frame)
        return Item(inside, doubted=partial(_given, inside, part, self.position, place))

    def _rest(self, text: ZstdText) -> Iterator[Item]:
        """The bytes of frames whose text is told already."""
        if self.position < text.reached:
            span, self.position = Span(self.position, text.reached), text.reached
            yield Item(Run(span, 0, 0))


def _end_of_scrap(text: ZstdText, start: int) -> int | None:
    """Where a text ends in which no entry starts; None for any other, which takes a walk."""
    view, is_last = text.window(start, text.step)
    return start + len(view) if is_last and not has_entries(view) else None


def _place(span: Span, text: ZstdText) -> Entries:
    """Where entries lie in compressed text."""
    return Entries(text=span, frame=text.frame_of(span.start))


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
    """What a run of an earlier walk is made of."""
    place = entries_of(run)
    if place.table not in KERNELS:
        return
    span = place.text or run.given or run.span
    text: PlainText | ZstdText = PlainText(source, span.end)
    if place.text:
        text = _Part(opened_at(source, place), span.end)
    walk = Walk(text, pos=span.start, version=place.version, is_written=False)
    walk.choice = choice
    if place.suspect == "nested":
        walk.nested_to = span.end
    for found in walk.entries():
        if isinstance(found, Part):
            yield replace(found, suspect="frame") if place.suspect == "frame" and not found.suspect else found


def spared_parts(source: Source, run: Run) -> Iterator[Part]:
    """The entries in the rest of a file that holds no requested record."""
    place = entries_of(run)
    text: PlainText | ZstdText = opened_at(source, place) if place.text else PlainText(source)
    start = place.text.start if place.text else run.span.start
    walk = Walk(text, pos=start, version=place.version, is_written=False)
    return (found for found in walk.entries() if isinstance(found, Part))


def opened_at(source: Source, place: Entries) -> ZstdText:
    """The frames of a compressed file from the one on that a run starts in."""
    assert place.frame is not None  # noqa: S101 - `_Compressed` sets it
    (frame, position), found = place.frame, source.on_disk()
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
    if entries_of(run).text or run.given or run.units == 1:
        yield run.given or run.span
        return
    for part in parts_of(source, run):
        yield from (Span(start, end) for start, end in part.places())
