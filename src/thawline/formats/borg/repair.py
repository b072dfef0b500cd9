"""Repairs that are proven: a pack's name is a hash of its bytes, so a repair that gives the name back is right.

Each damaged place has a few ways in which it may have come about: a header with one wrong field, bytes put in, blobs in
another order. Ways are combined until the hash of the whole pack is its name, or too many have been tried.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice, product, zip_longest
from typing import Literal

import blake3

from thawline.engine import columns
from thawline.engine.chunks import Break
from thawline.formats.borg.contents import (
    CODECS,
    LARGEST_PLAINTEXT,
    TOO_MUCH,
    Allowance,
    Flaw,
    Known,
    Meta,
    Slots,
    check_content,
    decompress,
    known_mode,
    read_meta,
)
from thawline.formats.borg.envelopes import opened
from thawline.formats.borg.findings import BAD_DATA
from thawline.formats.borg.header import (
    ENVELOPES,
    HEADER_SIZE,
    IV,
    LARGEST_OBJECT,
    SESSION,
    Header,
    header_at,
    header_by_meta,
    pack_header,
)
from thawline.formats.borg.judging import ENVELOPE_COLUMNS, judge_envelopes
from thawline.formats.borg.modes import SEALED, mode_of
from thawline.formats.borg.walk import Located, Stretch
from thawline.model import Finding, Span

MOST_TRIES = 512
MOST_DAMAGES = 16
"""With more damaged places than this, nobody tries to mend all of them at once."""
HASHED_ANYWAY, HASHED_TIMES = 256 << 20, 80
"""Bytes that may be hashed for one repair, and as many more as the pack has, so many times."""
MOST_HEADERS = 500
"""Headers that are tried in all."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A way in which a stretch of the pack may have been, and what would have happened to it since."""

    parts: tuple[bytes | memoryview, ...]
    what: str = ""
    blobs: int = 0


@dataclass(frozen=True, slots=True)
class Repaired:
    """The bytes of a pack as they were stored, which its name proves."""

    parts: tuple[bytes | memoryview, ...]
    blobs: int
    what: tuple[str, ...]
    """What was wrong, place by place."""


class Repair:
    """The attempt to bring one pack back to what its name says."""

    def __init__(
        self, view: memoryview, pack_id: str, located: Mapping[int, Located], repository_version: int | None
    ) -> None:
        self.view, self.pack_id, self.located, self.version = view, pack_id, located, repository_version
        self.budget = HASHED_ANYWAY + HASHED_TIMES * len(view)
        self.headers = MOST_HEADERS
        self.allowance = Allowance()

    def attempt(self, items: Sequence[Stretch | Finding]) -> Repaired | None:
        """The pack as it was, if one of the ways leads there."""
        for pieces in self._attempts(items):
            parts = tuple(part for piece in pieces for part in piece.parts)
            size = sum(map(len, parts))
            self.budget -= 2 * size
            if self.budget < 0:
                return None
            if self.pack_id in _names(parts):
                return Repaired(parts, sum(piece.blobs for piece in pieces), tuple(p.what for p in pieces if p.what))
        return None

    def _attempts(self, items: Sequence[Stretch | Finding]) -> Iterator[Sequence[Piece]]:
        """Ways to put the pack together, the likely ones first."""
        if sum(isinstance(item, Finding) for item in items) <= MOST_DAMAGES:
            ways = [list(self._ways(*pair)) for pair in zip_longest(items, items[1:])]
            yield from islice(product(*ways), MOST_TRIES)
        blobs = [blob for item in items for blob in self._blobs(item)]
        if ordered := self._by_index(blobs):
            yield ordered
        if blobs and blobs[0][1][HEADER_SIZE] in SEALED:
            yield self._by_counter(blobs)
        yield self._once(blobs)
        yield from self._swapped(blobs)

    def _ways(self, item: Stretch | Finding, following: Stretch | Finding | None) -> Iterator[Piece]:
        """What an item may have been."""
        if isinstance(item, Finding):
            if item.span.size and item.severity == "error":
                yield from self._mended(item.span)
                yield Piece((), f"bytes that were put in at {item.span} are taken out")
                yield Piece((self.view[item.span.start : item.span.end],))
            else:
                yield Piece(())
            return
        as_is = Piece((self.view[item.span.start : item.span.end],), "", len(item))
        mended = list(self._ids_by_index(item))
        yield from mended or [as_is]
        gap = following.span if isinstance(following, Finding) else None
        if item.doubt == "uncertain" and gap and gap.size:
            header = header_at(self.view, item.span.start)
            if header:
                longer = replace(header, len_data=header.len_data + gap.size)
                yield self._with_header(header, longer, item.span.end)

    def _ids_by_index(self, stretch: Stretch) -> Iterator[Piece]:
        """The stretch with the ids that the index has for its places, if some differ."""
        parts: list[bytes | memoryview] = []
        told = []
        for row in range(stretch.first, stretch.last) if self.located else ():
            start, end = stretch.judged.start(row), stretch.judged.end(row)
            header, located = header_at(self.view, start), self.located.get(start)
            if header and located and located.chunk_id != header.chunk_id and located.size == end - start:
                parts += [_bytes_of(replace(header, chunk_id=located.chunk_id)), self.view[start + HEADER_SIZE : end]]
                told.append(
                    f"chunk_id of the blob at {start:#x} is {located.chunk_id.hex()} again, as the index has it"
                )
            else:
                parts.append(self.view[start:end])
        if told:
            yield Piece(tuple(parts), "; ".join(told), len(stretch))

    def _mended(self, span: Span) -> Iterator[Piece]:
        """A damaged blob with each header that fits what is behind it."""
        found = header_at(self.view, span.start, any_magic=True)
        for right in self._headers(span, found) if found else ():
            if self._judged(right) is not None:
                yield self._with_header(found, right, span.end)

    def proven(self, span: Span) -> Piece | None:
        """A damaged blob with a rebuilt header that its own hashes prove, in the modes where anybody can compute them.

        An id that was itself computed from the content proves nothing about it; there the tag has to.
        """
        found = header_at(self.view, span.start, any_magic=True)
        for right in self._headers(span, found) if found else ():
            known = self._judged(right)
            if known and known.verified_by and ("tag" in known.verified_by or right.chunk_id in self._given(right)):
                return self._with_header(found, right, span.end)
        return None

    def _judged(self, header: Header) -> Known | Literal[False] | None:
        """What a blob with this header holds; False if that needs the key, None if it is no blob."""
        blob = _bytes_of(header) + bytes(self.view[header.start + HEADER_SIZE : header.end])
        if blob[HEADER_SIZE : HEADER_SIZE + 1] and blob[HEADER_SIZE] not in SEALED:
            return self._read(opened(memoryview(blob)))
        item = next(columns.scan("borg_blobs", blob, columns=ENVELOPE_COLUMNS))
        is_blob = not isinstance(item, Break) and item.ends[0].as_py() == len(blob) and not judge_envelopes(item).flaws
        return False if is_blob else None

    def _read(self, slots: Slots | None) -> Known | None:
        """What a blob holds that is not encrypted; None if it is no blob."""
        if slots is None:
            return None
        try:
            return check_content(slots, known_mode(slots, self.version), self.allowance)
        except Flaw:
            return None

    def _headers(self, span: Span, found: Header) -> Iterator[Header]:
        """Headers that the blob in a span may have had."""
        if span.size > LARGEST_OBJECT:
            return
        for sized in dict.fromkeys(header for header in self._sizes(span, found) if header.end == span.end):
            for version in sorted(ENVELOPES, key=lambda version: version != found.version):
                whole = replace(sized, version=version)
                for chunk_id in dict.fromkeys(self._ids(whole)):
                    self.headers -= 1
                    if self.headers < 0:
                        return
                    yield replace(whole, chunk_id=chunk_id)

    def _sizes(self, span: Span, found: Header) -> Iterator[Header]:
        """Headers whose sizes fill the span, by the meta map, by the border between the slots, or by one size alone."""
        if by_meta := header_by_meta(self.view, span.start):
            yield by_meta
        room = span.size - HEADER_SIZE
        if border := self._border(span):
            yield replace(found, len_meta=border, len_data=room - border)
        yield found
        if 0 < found.len_meta < room:
            yield replace(found, len_data=room - found.len_meta)
        if 0 < found.len_data < room:
            yield replace(found, len_meta=room - found.len_data)

    def _border(self, span: Span) -> int:
        """Size of the meta slot of an encrypted blob: the data slot starts with the same session and the iv before."""
        slots = bytes(self.view[span.start + HEADER_SIZE : span.end])
        if len(slots) < SESSION.stop or slots[0] not in SEALED:
            return 0
        iv = int.from_bytes(slots[IV], "big")
        head = slots[:2] + max(iv - 1, 0).to_bytes(6, "big") + slots[SESSION]
        return max(slots.find(head, 1), 0)

    def _ids(self, header: Header) -> Iterator[bytes]:
        """Ids that the blob may have had: as it is, as the index has it, or as its content hashes."""
        yield from self._given(header)
        key_type = self.view[header.start + HEADER_SIZE] if header.start + HEADER_SIZE < len(self.view) else 0
        id_hash = mode_of(header.version, key_type, self.version).id_hash
        if id_hash is None or header.end > len(self.view):
            return
        envelope, data = ENVELOPES[header.version], header.start + HEADER_SIZE + header.len_meta
        try:
            meta = read_meta(bytes(self.view[header.start + HEADER_SIZE + envelope : data]))
            yield id_hash(self._plaintext(meta, bytes(self.view[data + envelope : header.end])))
        except Flaw:
            return

    def _plaintext(self, meta: Meta, payload: bytes) -> bytes:
        """What a data slot holds; `Flaw` if nobody can tell, or if too much has been decompressed already."""
        codec = CODECS.get(meta.ctype, "")
        if (LARGEST_PLAINTEXT if meta.size is None else meta.size) > self.allowance.room(codec, len(payload)):
            raise Flaw(BAD_DATA, TOO_MUCH)
        plaintext = decompress(meta, payload)
        self.allowance.take(codec, len(payload), len(plaintext))
        return plaintext

    def _given(self, header: Header) -> list[bytes]:
        """Ids that stand somewhere: in the header, in the index."""
        found = header_at(self.view, header.start, any_magic=True)
        located = self.located.get(header.start)
        return [known.chunk_id for known in (found, located) if known]

    def _with_header(self, was: Header | None, right: Header, end: int) -> Piece:
        rest = self.view[right.start + HEADER_SIZE : end]
        names = ("version", "chunk_id", "len_meta", "len_data")
        changed = [name for name in names if was is None or getattr(was, name) != getattr(right, name)]
        magic = [] if header_at(self.view, right.start) else ["magic"]
        shown = ", ".join([*magic, *changed]) or "nothing"
        return Piece((_bytes_of(right), rest), f"{shown} of the blob at {right.start:#x} rebuilt", 1)

    def _blobs(self, item: Stretch | Finding) -> Iterator[tuple[Header, memoryview]]:
        """The intact blobs of an item one by one."""
        if isinstance(item, Finding):
            return
        for row in range(item.first, item.last):
            start, end = item.judged.start(row), item.judged.end(row)
            if header := header_at(self.view, start):
                yield header, self.view[start:end]

    def _by_index(self, blobs: Iterable[tuple[Header, memoryview]]) -> list[Piece] | None:
        """The blobs in the order that the index has for them; None if it knows one that is not there."""
        there = {(header.chunk_id, len(blob)): blob for header, blob in blobs}
        places = [self.located[offset] for offset in sorted(self.located)]
        found = [there.get((place.chunk_id, place.size)) for place in places]
        if not found or None in found:
            return None
        parts = tuple(blob for blob in found if blob is not None)
        return [Piece(parts, "blobs put in the order that the index has", len(parts))]

    def _by_counter(self, blobs: Iterable[tuple[Header, memoryview]]) -> list[Piece]:
        """Encrypted blobs in the order in which they were sealed, each once."""
        seals = {bytes(blob[HEADER_SIZE:][SESSION]) + bytes(blob[HEADER_SIZE:][IV]): blob for _, blob in blobs}
        parts = tuple(seals[seal] for seal in sorted(seals))
        return [Piece(parts, "blobs put in the order of their counters", len(parts))]

    def _once(self, blobs: Iterable[tuple[Header, memoryview]]) -> list[Piece]:
        """Each blob once."""
        parts = tuple({bytes(blob): blob for _, blob in blobs}.values())
        return [Piece(parts, "blobs that were there twice are there once", len(parts))]

    def _swapped(self, blobs: Sequence[tuple[Header, memoryview]]) -> Iterator[list[Piece]]:
        """The blobs with each two neighbours in each other's place."""
        for first in range(min(len(blobs) - 1, MOST_TRIES)):
            parts = [blob for _, blob in blobs]
            parts[first : first + 2] = parts[first + 1], parts[first]
            what = f"the blob at {blobs[first][0].start:#x} and the one behind it put in each other's place"
            yield [Piece(tuple(parts), what, len(parts))]


def _bytes_of(header: Header) -> bytes:
    return pack_header(header.version, header.chunk_id, header.len_meta, header.len_data)


def _names(parts: Iterable[bytes | memoryview]) -> set[str]:
    """The names that a pack of these bytes may have."""
    hashes = (hashlib.sha256(), blake3.blake3())
    for part in parts:
        for made in hashes:
            made.update(part)
    return {made.hexdigest() for made in hashes}
