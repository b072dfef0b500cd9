"""Chunks of a repository by their id, read without borg and checked as far as their mode allows."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Mapping

import pyarrow as pa
import pyarrow.compute as pc

from thawline.errors import FormatError, SourceError, ThawlineError
from thawline.formats.borg.contents import Content, Flaw, known_mode, read_content
from thawline.formats.borg.envelopes import opened
from thawline.formats.borg.header import HEADER_SIZE
from thawline.formats.borg.modes import SEALED
from thawline.source import LocalSource, RemoteSource, open_source
from thawline.wording import counted, grouped

OPEN_PACKS = 8


class LostChunk(FormatError):
    """A chunk that no pack holds intact."""


class Encrypted(ThawlineError):
    """A repository whose content needs its key."""


class Store:
    """Chunks by id in hexadecimal digits, from the places where blobs lie."""

    def __init__(self, places: pa.Table, paths: Mapping[str, str], repository_version: int | None) -> None:
        self.paths, self.version = paths, repository_version
        self.asked: set[str] = set()
        """Every chunk that was asked for."""
        self.rows: dict[bytes, int] = {}
        self.others: dict[bytes, list[int]] = {}
        """Further rows of chunks that are stored more than once."""
        self.places = places.combine_chunks()
        self.size = int(pc.sum(places["size"]).as_py() or 0)
        """Bytes of all blobs."""
        for row, chunk_id in enumerate(places["chunk_id"].to_pylist()):
            if self.rows.setdefault(chunk_id, row) != row:
                self.others.setdefault(chunk_id, []).append(row)
        self.open: OrderedDict[str, LocalSource | RemoteSource] = OrderedDict()

    def __contains__(self, chunk_id: str) -> bool:
        return bytes.fromhex(chunk_id) in self.rows

    def get(self, chunk_id: str) -> Content:
        """What a chunk holds; `LostChunk` says why if no copy of it can be read."""
        self.asked.add(chunk_id)
        key = bytes.fromhex(chunk_id)
        if key not in self.rows:
            raise LostChunk(f"chunk {chunk_id} is in no pack")
        for row in (self.rows[key], *self.others.get(key, ())):
            try:
                return self._read(row)
            except Flaw as error:
                flaw = error
        raise LostChunk(f"chunk {chunk_id} is damaged: {flaw.reason}") from flaw

    def get_sized(self, chunk_id: str, size: int) -> bytes:
        """The plaintext of a chunk that has this size; `LostChunk` if it has another."""
        plaintext = self.get(chunk_id).plaintext
        if len(plaintext) != size:
            raise LostChunk(
                f"chunk {chunk_id} holds {counted(len(plaintext), 'byte')}, and {grouped(size)} belong there"
            )
        return plaintext

    def _read(self, row: int) -> Content:
        pack_id, offset, size = (self.places[name][row].as_py() for name in ("pack_id", "offset", "size"))
        source = self._source(pack_id.hex())
        if offset + size > source.size:
            raise SourceError(f"{source.name}: changed while it was read")
        blob = source.view(offset, offset + size)
        slots = opened(blob)
        key_type = blob[HEADER_SIZE] if size > HEADER_SIZE else 0
        if slots is None and key_type not in SEALED:
            raise SourceError(f"{source.name}: the blob at {offset:#x} changed while the file was read")
        if slots is None:
            raise Encrypted(f"{source.name}: is encrypted (mode {SEALED[key_type].name}); its content needs the key")
        return read_content(slots, known_mode(slots, self.version))

    def _source(self, pack_id: str) -> LocalSource | RemoteSource:
        if pack_id not in self.open:
            self.open[pack_id] = open_source(self.paths[pack_id])
            while len(self.open) > OPEN_PACKS:
                self.open.popitem(last=False)[1].close()
        self.open.move_to_end(pack_id)
        return self.open[pack_id]

    def close(self) -> None:
        """Let go of the packs."""
        while self.open:
            self.open.popitem()[1].close()

    def missing(self, chunk_ids: Iterable[str]) -> list[str]:
        """Those of some chunks that no pack holds."""
        return [chunk_id for chunk_id in chunk_ids if chunk_id not in self]
