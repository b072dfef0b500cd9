"""What the check of a pack proves, in plain words: how far its mode and its name let anybody look without the key."""

from __future__ import annotations

from collections.abc import Iterator

from thawline.formats.borg.findings import BAD_NAME, NOT_ITS_NAME, PROVEN
from thawline.formats.borg.modes import mode_of
from thawline.formats.borg.rows import Pack
from thawline.formats.borg.walk import Stretch
from thawline.model import Finding, Span
from thawline.source import Source

BY_NAME = "every byte is the one that was stored under this name"
BY_STRUCTURE = "headers and envelopes fit each other; both slots of a blob have one session and adjacent counters"
BY_READING = "headers fit each other, meta maps can be read and chunks decompress to their sizes"
SHOWN_JUMPS = 5
OF_THE_REST = "of the blobs that are not reported: "
UNPROVEN_SEALED = "that the encrypted content is unchanged; a changed byte in a slot goes unnoticed"
UNPROVEN_READABLE = "that the content is unchanged; ids and tags are keyed, so a changed byte may go unnoticed"
UNPROVEN_ORIGIN = "who wrote it; that takes the key"
WITH_KEY = "borg check --verify-data, which needs the key"


class Evidence:
    """What was seen of a pack on the way through it."""

    def __init__(self, pack: Pack) -> None:
        self.pack = pack
        self.is_damaged = False
        self.unverified: set[str] = set()
        """Modes of the blobs of which no hash has been checked."""
        self.are_sealed = False
        self.jumps: list[int] = []
        """Where the counter of an encrypted blob does not follow on that of the one before it."""
        self.last_iv: int | None = None

    def add(self, item: Stretch | Finding) -> None:
        """Take the next part of the pack into account."""
        if isinstance(item, Finding):
            self.is_damaged = True
            return
        judged, version = item.judged, self.pack.repository_version
        if self.pack.pack_id and self.pack.rule == "none":
            self._follow_counters(item)
        rows = range(item.first, item.last)
        if judged.contents:
            rows_left = [row for row in rows if not (row in judged.contents and judged.contents[row].verified_by)]
        else:
            rows_left = list(rows[:1])
        for row in rows_left:
            mode = mode_of(judged.chunk.batch["version"][row].as_py(), judged.key_type(row), version)
            self.unverified.add(mode.name)
            self.are_sealed |= mode.is_sealed

    def _follow_counters(self, stretch: Stretch) -> None:
        """Remember where counters jump: blobs that are missing, doubled, moved, or brought together by a compaction."""
        batch = stretch.judged.chunk.batch.slice(stretch.first, len(stretch))
        for row, (data, meta) in enumerate(
            zip(batch["data_iv"].to_pylist(), batch["meta_iv"].to_pylist(), strict=True)
        ):
            if self.last_iv is not None and data is not None and data != self.last_iv + 1:
                self.jumps.append(stretch.judged.start(stretch.first + row))
            self.last_iv = meta

    def conclusions(self, source: Source, *, is_member: bool) -> Iterator[Finding]:
        """What is to be said at the end of the pack."""
        end = Span(source.size, source.size)
        if self.pack.pack_id and self.pack.rule == "none":
            detail: dict[str, object] = {"pack_id": self.pack.pack_id}
            if self.jumps:
                detail |= {"counters_jump_at": ", ".join(map(hex, self.jumps[:SHOWN_JUMPS])), "jumps": len(self.jumps)}
            yield Finding(NOT_ITS_NAME if self.is_damaged else BAD_NAME, end, detail)
        if self.unverified and not is_member:
            yield Finding(PROVEN, end, self.proven())

    def proven(self) -> dict[str, object]:
        """What holds, what need not, and who can tell."""
        told: dict[str, object] = {"mode": ", ".join(sorted(self.unverified))}
        if self.pack.is_proven:
            return {**told, "proven": BY_NAME, "not_proven": UNPROVEN_ORIGIN}
        proven = BY_STRUCTURE if self.are_sealed else BY_READING
        unproven = UNPROVEN_SEALED if self.are_sealed else UNPROVEN_READABLE
        proven = OF_THE_REST + proven if self.is_damaged else proven
        return {**told, "proven": proven, "not_proven": unproven, "who_can_tell": WITH_KEY}
