"""The salvage of a pack: a new one, under its right name, of all that is intact or proven.

The name of a pack is a hash of its bytes, so a candidate that hashes to the name is the original in every byte. Each
damaged place has a few candidates: a header with one field changed, bytes inserted, blobs in another order. They are
combined until the hash of the whole pack is its name, or too many have been tried. The repository is never written to;
if the pack lies in one, its index tells the ids and places of the blobs.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice, product, zip_longest

import blake3

from thawline.engine import columns
from thawline.engine.chunks import Break
from thawline.formats.borg.blobs import (
    CODECS,
    ENVELOPES,
    HASH_RULES,
    HASHES,
    HEADER_SIZE,
    IV,
    LARGEST_OBJECT,
    LARGEST_PLAINTEXT,
    SEALED,
    SESSION,
    TOO_MUCH,
    UNKNOWN,
    VERSION_2,
    Allowance,
    Checked,
    Flaw,
    Header,
    Meta,
    check_content,
    decompress,
    header_at,
    header_by_meta,
    known_mode,
    mode_of,
    opened,
    read_meta,
)
from thawline.formats.borg.findings import BAD_DATA, BAD_NAME
from thawline.formats.borg.folder import Repository, repository_of
from thawline.formats.borg.rows import ENVELOPE_COLUMNS, Stretch, judge_envelopes, proven_pack
from thawline.formats.borg.walk import TABLE, Located, Walk
from thawline.formats.contract import Depth
from thawline.model import OUT, Finding, Salvage, Span
from thawline.source import LocalSource, Source
from thawline.wording import quoted

PIECE = 4 << 20
"""Bytes that are copied at once."""
REPOSITORY = "REPOSITORY"
MOST_LOST = 1_000
"""After this many blobs that could not be restored, the rest is left as it is."""
MOST_TRIES = 512
"""Combinations of candidates that are tried."""
MOST_DAMAGES = 16
"""With more damaged places, the whole pack is not tried."""
HASHED_ANYWAY, HASHED_TIMES = 256 << 20, 80
"""Bytes that may be hashed for any pack, and how many times its size may be added."""
MOST_HEADERS = 500
"""Headers that are tried for one pack."""
NEWEST = 5
"""The repository version of a new pack where nothing tells another."""
GENERATIONS = {
    key_type: version
    for version, other in ((4, 5), (5, 4))
    for key_type in VERSION_2[version].keys() - VERSION_2[other].keys()
}
"""Repository versions by the key types of object version 2 that only one of them has."""
UNDAMAGED = "the pack hashes to its name: it is not damaged, and this is a copy"
STORED_DAMAGED = "the pack hashes to its name, so it was stored damaged; what is lost cannot be restored"
GUESSED = "the new name is one of 2.0.0b25; for a repository of b23 or b24 say --repository-version 4"
UNSEEN = "what was changed, cut off, doubled or moved; only the name tells"
CAUTION = (
    "careful: only the key can tell whether the content of these blobs is unchanged, and under its new name the pack",
    "passes a check of names; run `borg check --verify-data` on it before you rely on it",
)

Part = bytes | memoryview
Blob = tuple[Header, memoryview]
Item = Stretch | Finding


def salvaged_pack(
    source: Source, repository: Repository | None, version: int | None, *, include_suspects: bool
) -> Salvage:
    """A new pack of what is intact or proven."""
    pack = _DamagedPack(source, repository or repository_of(source.name), version)
    return pack.salvaged(include_suspects=include_suspects)


class _DamagedPack:
    """A pack to salvage, walked as the new pack will be read."""

    def __init__(self, source: Source, repository: Repository | None, version: int | None) -> None:
        self.source, self.repository = source.on_disk(), repository
        self.view = self.source.view(0, self.source.size)
        self.pack = proven_pack(self.source, version or (repository.version if repository else None))
        self.pack_id, self.given = self.pack.pack_id, self.pack.repository_version
        located = repository.located(self.pack_id) if repository and self.pack_id else {}
        self.items = list(Walk(self.source, Depth.EVERYTHING, self.given, located).items())
        self.version = self.given if self.given in HASH_RULES else _generation(self.view, self.items)
        if _has_others(self.items, self.version or NEWEST):
            # The name of the new pack will tell its version, and so the modes of its blobs.
            self.items = list(Walk(self.source, Depth.EVERYTHING, self.version or NEWEST, located).items())
        self.originals = Originals(self.view, self.pack_id or "", located, self.version)
        self.has_errors = any(isinstance(item, Finding) and item.severity == "error" for item in self.items)

    def salvaged(self, *, include_suspects: bool) -> Salvage:
        """The whole pack if its name proves it, else what is left of it."""
        if not self.pack_id:
            return self._remains(include_suspects=include_suspects)
        if self.pack.rule == "none":
            original = self.originals.by_name(self.items)
            return self._whole(original) if original else self._remains(include_suspects=include_suspects)
        if self.has_errors:
            found = self._remains(include_suspects=include_suspects)
            return replace(found, advice=(STORED_DAMAGED, *found.advice))
        blobs = sum(len(item) for item in self.items if isinstance(item, Stretch))
        return Salvage((self.view,), self.pack_id, blobs, blobs, (), (), 0, (UNDAMAGED,))

    def _whole(self, original: Original) -> Salvage:
        """The pack as it was stored; what was broken even then is left out."""
        assert self.pack_id is not None  # noqa: S101 - only a name proves an original
        if any(isinstance(item, Finding) for item in _walked(original.parts, self.version)):
            restored = LocalSource(self.source.name, b"".join(original.parts))
            found = _DamagedPack(restored, self.repository, self.given).salvaged(include_suspects=False)
            return replace(found, repaired=(*original.changes, *found.repaired))
        advice = put_back(self.repository, self.pack_id)
        return Salvage(original.parts, self.pack_id, original.blobs, original.blobs, (), original.changes, 0, advice)

    def _remains(self, *, include_suspects: bool) -> Salvage:
        """A new pack of the intact blobs, and of those whose own hashes prove a restored header."""
        kept: list[Candidate] = []
        lost: list[Finding] = []
        suspects = 0
        for item in self.items:
            if isinstance(item, Stretch):
                is_kept = include_suspects or not item.doubt
                suspects += 0 if is_kept else len(item)
                kept += [self._as_is(item)] if is_kept else []
            elif len(lost) < MOST_LOST and (proven := self.originals.by_hashes(item.span)):
                kept.append(proven)
            elif item.severity == "error":
                lost.append(item)
        parts, units, dropped = self._clean(tuple(part for candidate in kept for part in candidate.parts))
        lost += dropped
        restored = tuple(candidate.change for candidate in kept if candidate.change)
        if self.pack_id and not lost and not restored:
            lost.append(Finding(BAD_NAME, Span(self.source.size, self.source.size), {"lost": UNSEEN}))
        name = HASHES[HASH_RULES[self.version or NEWEST]](memoryview(b"".join(parts))).hex()
        advice = replace_pack(self.repository, self.pack_id, name) if units else ()
        return Salvage(parts, name, units, units, tuple(lost), restored, suspects, (*self._remarks(), *advice))

    def _as_is(self, item: Stretch) -> Candidate:
        starts = range(item.span.start, item.span.end, PIECE)
        return Candidate(tuple(self.view[at : min(at + PIECE, item.span.end)] for at in starts), "", len(item))

    def _clean(self, parts: tuple[Part, ...]) -> tuple[tuple[Part, ...], int, list[Finding]]:
        """The parts that still hold when they are read as a new pack, their blobs, and findings about the rest.

        Suspects are included on request; next to other blobs they may turn out not to be blobs.
        """
        dropped: list[Finding] = []
        items = _walked(parts, self.version or NEWEST)
        while flawed := [item for item in items if isinstance(item, Finding)]:
            dropped += [replace(item, span=Span(self.source.size, self.source.size)) for item in flawed]
            view = memoryview(b"".join(parts))
            kept = [item.span for item in items if isinstance(item, Stretch) and not item.doubt]
            parts = tuple(view[span.start : span.end] for span in kept)
            items = _walked(parts, self.version or NEWEST)
        return parts, sum(len(item) for item in items if isinstance(item, Stretch)), dropped

    def _remarks(self) -> tuple[str, ...]:
        """A caution unless hashes verify all blobs, and a remark where the repository version is a guess."""
        caution = () if all(map(_is_verified, self.items)) else CAUTION
        return caution if self.version else (*caution, GUESSED)


def _is_verified(item: Item) -> bool:
    """Whether hashes of their own verify all blobs of an item."""
    if isinstance(item, Finding):
        return True
    contents = item.judged.contents
    return all(row in contents and contents[row].verified_by for row in range(item.first, item.last))


def _walked(parts: Iterable[Part], version: int | None) -> list[Item]:
    """The items of a pack that is made of these parts."""
    return list(Walk(LocalSource("", b"".join(parts)), Depth.EVERYTHING, version).items())


def _generation(view: memoryview, items: Sequence[Item]) -> int | None:
    """The repository version that the blobs tell, intact ones first; None if they fit both.

    Object version 1 was only written to repositories of version 4.
    """
    intact = [item for item in items if isinstance(item, Stretch)]
    broken = [item.span.start for item in items if isinstance(item, Finding)]
    kinds = [kind for item in intact for kind in item.kinds()]
    for start in broken:
        header = header_at(view, start)
        if header and start + HEADER_SIZE < len(view):
            kinds.append((header.version, view[start + HEADER_SIZE]))
    versions = (4 if version == 1 else GENERATIONS.get(key_type) for version, key_type in kinds)
    return next((version for version in versions if version), None)


def _has_others(items: Iterable[Item], repository_version: int) -> bool:
    """Whether some intact blobs are of a mode that repositories of this version do not have."""
    kinds = (kind for item in items if isinstance(item, Stretch) for kind in item.kinds())
    return any(mode_of(version, key_type, repository_version) is UNKNOWN for version, key_type in kinds)


@dataclass(frozen=True, slots=True)
class Candidate:
    """What a stretch of the pack may have been."""

    parts: tuple[Part, ...]
    change: str = ""
    """What was changed to get there."""
    blobs: int = 0


@dataclass(frozen=True, slots=True)
class Original:
    """The bytes of a pack as they were stored, proven by its name."""

    parts: tuple[Part, ...]
    blobs: int
    changes: tuple[str, ...]
    """What was restored, place by place."""


class Originals:
    """What a damaged pack may have been, and which of it is proven."""

    def __init__(
        self, view: memoryview, pack_id: str, located: Mapping[int, Located], repository_version: int | None
    ) -> None:
        self.view, self.pack_id, self.located, self.version = view, pack_id, located, repository_version
        self.budget = HASHED_ANYWAY + HASHED_TIMES * len(view)
        self.headers = MOST_HEADERS
        self.allowance = Allowance()

    def by_name(self, items: Sequence[Item]) -> Original | None:
        """The whole pack, if one of the combinations hashes to its name."""
        for candidates in self._combinations(items):
            parts = tuple(part for candidate in candidates for part in candidate.parts)
            self.budget -= 2 * sum(map(len, parts))
            if self.budget < 0:
                return None
            if self.pack_id in _names(parts):
                changes = tuple(candidate.change for candidate in candidates if candidate.change)
                return Original(parts, sum(candidate.blobs for candidate in candidates), changes)
        return None

    def by_hashes(self, span: Span) -> Candidate | None:
        """A damaged blob with a restored header, if its own hashes prove it.

        An id that was computed from the content proves nothing about the content; there, the tag has to.
        """
        found = header_at(self.view, span.start, any_magic=True)
        for right in self._headers(span, found) if found else ():
            checks = checked.verified_by if (checked := self._checked(right)) else ()
            if "tag" in checks or (checks and right.chunk_id in self._stored_ids(right)):
                return self._with_header(found, right, span.end)
        return None

    def _combinations(self, items: Sequence[Item]) -> Iterator[Sequence[Candidate]]:
        """Candidates for the whole pack, likely ones first."""
        if sum(isinstance(item, Finding) for item in items) <= MOST_DAMAGES:
            ways = [list(self._candidates(*pair)) for pair in zip_longest(items, items[1:])]
            yield from islice(product(*ways), MOST_TRIES)
        blobs = [blob for item in items for blob in self._blobs(item)]
        if ordered := self._by_index(blobs):
            yield ordered
        if blobs and blobs[0][1][HEADER_SIZE] in SEALED:
            yield self._by_counter(blobs)
        yield self._once(blobs)
        yield from self._swapped(blobs)

    def _candidates(self, item: Item, following: Item | None) -> Iterator[Candidate]:
        """What an item may have been."""
        if isinstance(item, Stretch):
            yield from self._stretch_candidates(item, following)
        elif item.span.size and item.severity == "error":
            yield from self._blob_candidates(item.span)
            yield Candidate((), f"inserted bytes at {item.span} removed")
            yield Candidate((self.view[item.span.start : item.span.end],))
        else:
            yield Candidate(())

    def _stretch_candidates(self, item: Stretch, following: Item | None) -> Iterator[Candidate]:
        yield self._with_ids(item) or Candidate((self.view[item.span.start : item.span.end],), "", len(item))
        gap = following.span if isinstance(following, Finding) else None
        header = header_at(self.view, item.span.start)
        if item.doubt == "uncertain" and gap and gap.size and header:
            longer = replace(header, len_data=header.len_data + gap.size)
            if longer.is_possible:
                yield self._with_header(header, longer, item.span.end)

    def _with_ids(self, stretch: Stretch) -> Candidate | None:
        """The stretch with the ids that the index has for its places; None if they are the same."""
        parts: list[Part] = []
        changes = []
        for row in range(stretch.first, stretch.last) if self.located else ():
            start, end = stretch.judged.start(row), stretch.judged.end(row)
            header, located = header_at(self.view, start), self.located.get(start)
            if header and located and located.chunk_id != header.chunk_id and located.size == end - start:
                right = replace(header, chunk_id=located.chunk_id)
                parts += [right.encode(), self.view[start + HEADER_SIZE : end]]
                changes.append(f"chunk_id of the blob at {start:#x} restored from the index: {right.chunk_id.hex()}")
            else:
                parts.append(self.view[start:end])
        return Candidate(tuple(parts), "; ".join(changes), len(stretch)) if changes else None

    def _blob_candidates(self, span: Span) -> Iterator[Candidate]:
        """A damaged blob with each header that fits what follows it."""
        found = header_at(self.view, span.start, any_magic=True)
        for right in self._headers(span, found) if found else ():
            if self._is_blob(right):
                yield self._with_header(found, right, span.end)

    def _is_blob(self, header: Header) -> bool:
        """Whether the bytes after a header make a blob with it."""
        if not header.is_possible:
            return False
        slot = header.start + HEADER_SIZE
        if slot < min(header.end, len(self.view)) and self.view[slot] not in SEALED:
            return self._checked(header) is not None
        blob = header.encode() + bytes(self.view[slot : header.end])
        item = next(columns.scan(TABLE, blob, columns=ENVELOPE_COLUMNS))
        return not isinstance(item, Break) and item.ends[0].as_py() == len(blob) and not judge_envelopes(item).flaws

    def _checked(self, header: Header) -> Checked | None:
        """The content of the blob with this header; None if it is encrypted, or not a blob."""
        if not header.is_possible:
            return None
        blob = header.encode() + bytes(self.view[header.start + HEADER_SIZE : header.end])
        slots = opened(memoryview(blob))
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
        """Headers whose sizes may fill the span: by the meta map, by the border between the slots, by one size."""
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
        """Size of the meta slot of an encrypted blob: the data slot has the same session and the iv before."""
        slots = bytes(self.view[span.start + HEADER_SIZE : span.end])
        if len(slots) < SESSION.stop or slots[0] not in SEALED:
            return 0
        iv = int.from_bytes(slots[IV], "big")
        head = slots[: IV.start] + max(iv - 1, 0).to_bytes(IV.stop - IV.start, "big") + slots[SESSION]
        return max(slots.find(head, 1), 0)

    def _ids(self, header: Header) -> Iterator[bytes]:
        """Ids that the blob may have had: those stored, and the hash of its content."""
        yield from self._stored_ids(header)
        slot = header.start + HEADER_SIZE
        key_type = self.view[slot] if slot < len(self.view) else 0
        id_hash = mode_of(header.version, key_type, self.version).id_hash
        if id_hash is None or header.end > len(self.view):
            return
        envelope, data = ENVELOPES[header.version], slot + header.len_meta
        try:
            meta = read_meta(bytes(self.view[slot + envelope : data]))
            yield id_hash(self._plaintext(meta, bytes(self.view[data + envelope : header.end])))
        except Flaw:
            return

    def _stored_ids(self, header: Header) -> list[bytes]:
        """Ids in the header and in the index."""
        found = header_at(self.view, header.start, any_magic=True)
        located = self.located.get(header.start)
        return [known.chunk_id for known in (found, located) if known]

    def _plaintext(self, meta: Meta, payload: bytes) -> bytes:
        """The plaintext of a data slot; `Flaw` if it cannot be read, or too much has been decompressed already."""
        codec = CODECS.get(meta.ctype, "")
        if (LARGEST_PLAINTEXT if meta.size is None else meta.size) > self.allowance.room(codec, len(payload)):
            raise Flaw(BAD_DATA, TOO_MUCH)
        plaintext = decompress(meta, payload)
        self.allowance.take(codec, len(payload), len(plaintext))
        return plaintext

    def _with_header(self, was: Header | None, right: Header, end: int) -> Candidate:
        """The blob at a position with the right header, and what is different in it."""
        rest = self.view[right.start + HEADER_SIZE : end]
        names = ("version", "chunk_id", "len_meta", "len_data")
        changed = [name for name in names if was is None or getattr(was, name) != getattr(right, name)]
        magic = [] if header_at(self.view, right.start) else ["magic"]
        shown = ", ".join([*magic, *changed]) or "nothing"
        return Candidate((right.encode(), rest), f"{shown} of the blob at {right.start:#x} restored", 1)

    def _blobs(self, item: Item) -> Iterator[Blob]:
        """The intact blobs of an item one by one."""
        if isinstance(item, Finding):
            return
        for row in range(item.first, item.last):
            start, end = item.judged.start(row), item.judged.end(row)
            if header := header_at(self.view, start):
                yield header, self.view[start:end]

    def _by_index(self, blobs: Iterable[Blob]) -> list[Candidate] | None:
        """The blobs in the order of the index; None if it has one that is not there."""
        there = {(header.chunk_id, len(blob)): blob for header, blob in blobs}
        places = [self.located[offset] for offset in sorted(self.located)]
        found = [there.get((place.chunk_id, place.size)) for place in places]
        if not found or None in found:
            return None
        parts = tuple(blob for blob in found if blob is not None)
        return [Candidate(parts, "blobs put in the order of the index", len(parts))]

    def _by_counter(self, blobs: Iterable[Blob]) -> list[Candidate]:
        """Encrypted blobs in the order in which they were sealed, each once."""
        seals = {bytes(blob[HEADER_SIZE:][SESSION]) + bytes(blob[HEADER_SIZE:][IV]): blob for _, blob in blobs}
        parts = tuple(seals[seal] for seal in sorted(seals))
        return [Candidate(parts, "blobs put in the order of their counters", len(parts))]

    def _once(self, blobs: Iterable[Blob]) -> list[Candidate]:
        """Each blob once."""
        parts = tuple({bytes(blob): blob for _, blob in blobs}.values())
        return [Candidate(parts, "doubled blobs removed", len(parts))]

    def _swapped(self, blobs: Sequence[Blob]) -> Iterator[list[Candidate]]:
        """The blobs with one pair of neighbours swapped, for each pair."""
        for first in range(min(len(blobs) - 1, MOST_TRIES)):
            parts = [blob for _, blob in blobs]
            parts[first : first + 2] = parts[first + 1], parts[first]
            change = f"the blob at {blobs[first][0].start:#x} and the one after it swapped"
            yield [Candidate(tuple(parts), change, len(parts))]


def _names(parts: Iterable[Part]) -> set[str]:
    """The names that a pack of these parts may have."""
    hashes = (hashlib.sha256(), blake3.blake3())
    for part in parts:
        for made in hashes:
            made.update(part)
    return {made.hexdigest() for made in hashes}


def put_back(repository: Repository | None, pack_id: str) -> tuple[str, ...]:
    """How to put a restored pack in the place of the damaged one."""
    root = quoted(repository.path) if repository else REPOSITORY
    place = f"{root}/packs/{pack_id[:2]}/{pack_id}"
    return (
        "its name proves every byte, so it takes the place of the damaged one; with no borg running:",
        f"  mv {place} {pack_id[:12]}.damaged      # keep it until all is well",
        f"  cp {OUT} {place}",
        "  borg check",
    )


def replace_pack(repository: Repository | None, old_id: str | None, name: str) -> tuple[str, ...]:
    """How to put a pack of what survived into the repository, so that borg finds its blobs."""
    root = quoted(repository.path) if repository else REPOSITORY
    damaged = f"{root}/packs/{old_id[:2]}/{old_id}" if old_id else f"{root}/packs/…/THE_DAMAGED_PACK"
    return (
        "to let borg find these blobs again, on a copy of the repository or with no borg running:",
        f"  mkdir -p {root}/packs/{name[:2]} && cp {OUT} {root}/packs/{name[:2]}/{name}",
        f"  mv {damaged} {(old_id or 'the')[:12]}.damaged      # keep it until all is well",
        f"  rm -f {root}/index/* && rm -rf {root}/cache/*      # borg rebuilds both from the packs",
        "  borg check --repository-only",
        f"then see what is still missing: thawline verify {root}",
    )
