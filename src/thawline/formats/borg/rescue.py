"""The rescue of a pack: a new one, under its right name, of all that is intact or proven; and how to put it back.

The repository itself is never touched. Where the pack lies in one, its index is asked, which knows the ids and places
of the blobs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from thawline.formats.borg.findings import BAD_NAME
from thawline.formats.borg.header import HEADER_SIZE, Header, header_at
from thawline.formats.borg.index import encode_index, read_index, scan_index, table_start
from thawline.formats.borg.modes import UNKNOWN, VERSION_2, mode_of
from thawline.formats.borg.naming import HASH_RULES, HASHES, id_in, pack_rule
from thawline.formats.borg.repair import Piece, Repair, Repaired
from thawline.formats.borg.repository import Repository, repository_of
from thawline.formats.borg.walk import Stretch, Walk
from thawline.model import OUT, Finding, Rescue, Run, Span
from thawline.source import LocalSource, Source
from thawline.wording import quoted

PIECE = 4 << 20
REPOSITORY = "REPOSITORY"
MOST_MENDED = 1_000
"""After so many blobs that could not be mended, the rest is left as it is."""
UNDAMAGED = "the pack hashes to its name: it is not damaged, and this is a copy"
STORED_LIKE_THAT = "the pack hashes to its name, so what is lost was stored like that; no repair can bring it back"
NEWEST = 5
GUESSED = "the new name is one of 2.0.0b25; for a repository of b23 or b24 say --repository-version 4"
UNSEEN = "what was changed, cut off, doubled or moved; nothing but the name tells"
CAUTION = (
    "careful: only the key can tell whether the content of these blobs is unchanged, and under its new name the pack",
    "passes a check of names; run `borg check --verify-data` on it before you rely on it",
)
GENERATIONS = {
    key_type: version
    for version, other in ((4, 5), (5, 4))
    for key_type in VERSION_2[version].keys() - VERSION_2[other].keys()
}
"""Repository versions by the key types of object version 2 that only one of them has."""


def rescue(source: Source, repository: Repository | None, version: int | None, *, include_suspects: bool) -> Rescue:
    """What can be rescued of a pack, or of an index."""
    if table_start(source) is not None:
        return _index(source, version)
    return _Pack(source, repository or repository_of(source.name), version).rescue(include_suspects=include_suspects)


def surviving(source: Source, items: Iterable[Run | Finding]) -> Iterator[memoryview]:
    """The bytes of all intact blobs."""
    for item in items:
        if isinstance(item, Run):
            for start in range(item.span.start, item.span.end, PIECE):
                yield source.view(start, min(start + PIECE, item.span.end))


class _Pack:
    """A pack to be rescued."""

    def __init__(self, source: Source, repository: Repository | None, version: int | None) -> None:
        self.source, self.repository = source.on_disk(), repository
        self.view = self.source.view(0, self.source.size)
        self.pack_id = id_in(source.name)
        self.given = version or (repository.version if repository else None)
        located = repository.located(self.pack_id) if repository and self.pack_id else {}
        self.items = list(Walk(self.source, "contents", self.given, located).items())
        self.version = self.given if self.given in HASH_RULES else _generation(self.view, self.items)
        if _others(self.items, self.version or NEWEST):
            # As the new pack will be read: its name tells the version.
            self.items = list(Walk(self.source, "contents", self.version or NEWEST, located).items())
        self.repair = Repair(self.view, self.pack_id or "", located, self.version)
        self.has_errors = any(isinstance(item, Finding) and item.severity == "error" for item in self.items)

    def rescue(self, *, include_suspects: bool) -> Rescue:
        """The whole pack where its name proves it, else what is left of it."""
        if not self.pack_id:
            return self._surviving(include_suspects=include_suspects)
        if pack_rule(self.view, self.pack_id, self.given) == "none":
            whole = self.repair.attempt(self.items)
            return self._whole(whole) if whole else self._surviving(include_suspects=include_suspects)
        if self.has_errors:
            found = self._surviving(include_suspects=include_suspects)
            return replace(found, advice=(STORED_LIKE_THAT, *found.advice))
        blobs = sum(len(item) for item in self.items if isinstance(item, Stretch))
        return Rescue((self.view,), self.pack_id, blobs, blobs, (), (), 0, (UNDAMAGED,))

    def _whole(self, whole: Repaired) -> Rescue:
        """The pack as its name says it was; what was broken when it was stored is left out all the same."""
        assert self.pack_id is not None  # noqa: S101 - without a name nothing is proven
        if any(isinstance(item, Finding) for item in _walked(whole.parts, self.version)):
            restored = LocalSource(self.source.name, b"".join(whole.parts))
            found = _Pack(restored, self.repository, self.given).rescue(include_suspects=False)
            return replace(found, repaired=(*whole.what, *found.repaired))
        advice = put_back(self.repository, self.pack_id)
        return Rescue(whole.parts, self.pack_id, whole.blobs, whole.blobs, (), whole.what, 0, advice)

    def _surviving(self, *, include_suspects: bool) -> Rescue:
        pieces: list[Piece] = []
        lost: list[Finding] = []
        suspects = 0
        for item in self.items:
            if isinstance(item, Stretch):
                suspects += len(item) if item.doubt and not include_suspects else 0
                pieces += [] if item.doubt and not include_suspects else [self._as_is(item)]
            elif len(lost) < MOST_MENDED and (proven := self.repair.proven(item.span)):
                pieces.append(proven)
            elif item.severity == "error":
                lost.append(item)
        parts, units, dropped = self._clean(tuple(part for piece in pieces for part in piece.parts))
        lost += dropped
        repaired = tuple(piece.what for piece in pieces if piece.what)
        if self.pack_id and not lost and not repaired:
            lost.append(Finding(BAD_NAME, Span(self.source.size, self.source.size), {"lost": UNSEEN}))
        name = HASHES[HASH_RULES[self.version or NEWEST]](memoryview(b"".join(parts))).hex()
        advice = replace_pack(self.repository, self.pack_id, name) if units else ()
        told = (*self._caution(), *self._guess(), *advice)
        return Rescue(parts, name, units, units, tuple(lost), repaired, suspects, told)

    def _clean(
        self, parts: tuple[bytes | memoryview, ...]
    ) -> tuple[tuple[bytes | memoryview, ...], int, list[Finding]]:
        """What of a new pack holds when it is read as such, how many blobs that is, and what does not.

        Blobs that are suspects are taken at the word of whoever wants them; beside others they may still be none.
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

    def _guess(self) -> tuple[str, ...]:
        """A word on the name, where the blobs are of a kind that two generations name differently."""
        return () if self.version else (GUESSED,)

    def _caution(self) -> tuple[str, ...]:
        """A word on blobs that nothing but the key or the old name could have proven."""
        kept = [item for item in self.items if isinstance(item, Stretch)]
        if all(
            row in item.judged.contents and item.judged.contents[row].verified_by
            for item in kept
            for row in range(item.first, item.last)
        ):
            return ()
        return CAUTION

    def _as_is(self, item: Stretch) -> Piece:
        parts = range(item.span.start, item.span.end, PIECE)
        return Piece(tuple(self.view[at : min(at + PIECE, item.span.end)] for at in parts), "", len(item))


def _walked(parts: Iterable[bytes | memoryview], version: int | None) -> list[Stretch | Finding]:
    """What a reader finds in a pack that is made of these parts."""
    return list(Walk(LocalSource("", b"".join(parts)), "contents", version).items())


def _generation(view: memoryview, items: Sequence[Stretch | Finding]) -> int | None:
    """The repository version by what blobs tell, intact ones first; None where they are the same in all.

    Version 1 of objects was written to repositories of version 4 only.
    """
    intact = [item for item in items if isinstance(item, Stretch)]
    broken = [item.span.start for item in items if isinstance(item, Finding)]
    kinds = [kind for item in intact for kind in item.kinds()]
    kinds += [(header.version, view[start + HEADER_SIZE]) for start in broken if (header := _roomy(view, start))]
    told = (4 if version == 1 else GENERATIONS.get(key_type) for version, key_type in kinds)
    return next((version for version in told if version), None)


def _others(items: Iterable[Stretch | Finding], repository_version: int) -> bool:
    """Whether some intact blobs are of a mode that repositories of this version do not have."""
    kinds = (kind for item in items if isinstance(item, Stretch) for kind in item.kinds())
    return any(mode_of(version, key_type, repository_version) is UNKNOWN for version, key_type in kinds)


def _roomy(view: memoryview, start: int) -> Header | None:
    """The header at a position that has something behind it."""
    return header_at(view, start) if start + HEADER_SIZE < len(view) else None


def _index(source: Source, version: int | None) -> Rescue:
    """The entries of an index that are whole, as a new index."""
    entries = read_index(source)
    names = ("chunk_id", "pack_id", "offset", "length")
    data = encode_index(zip(*(entries[name].to_pylist() for name in names), strict=True))
    name = HASHES[HASH_RULES.get(version or 0, "sha256")](memoryview(data)).hex()
    errors = (item for item in scan_index(source, version) if isinstance(item, Finding) and item.severity == "error")
    return Rescue((data,), name, 1, entries.num_rows, tuple(errors), (), 0, ())


def put_back(repository: Repository | None, pack_id: str) -> tuple[str, ...]:
    """How to put a repaired pack in the place of the damaged one."""
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
