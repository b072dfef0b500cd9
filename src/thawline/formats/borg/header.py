"""The 49-byte header of a blob where it may be damaged: what its fields say, whatever they are worth.

The spec (`borg_blob`) refuses a header that breaks a rule; to find out what a damaged one was, its fields are read here
by themselves. A test holds both to the same bytes.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

import msgpack

from thawline.formats.borg.modes import SEALED

MAGIC = b"BORG_OBJ"
LAYOUT = struct.Struct("<8sB32sII")
HEADER_SIZE = LAYOUT.size
CHUNK_ID, SIZES = 9, {"len_meta": 41, "len_data": 45}
"""Where fields stand in it."""
LARGEST_OBJECT = 20_971_479
"""MAX_DATA_SIZE, header included."""
LARGEST_META = 64 << 10
"""Borg b25 refuses a longer meta slot; real ones have some hundred bytes."""
USUAL_META = 1 << 10
"""A meta map that is to tell the size of a damaged blob is looked for in so many bytes."""
LEAST_SEALED = HEADER_SIZE + 2 * 48
"""An encrypted blob has at least this many bytes."""
FIRST_BLOCK, LAST_BLOCK = 1 << 10, 1 << 20
"""Bytes that are searched in one go; few at first, since a hostile pack has a magic every eight bytes."""
IV, SESSION = slice(2, 8), slice(8, 32)
"""Counter and session id in an encrypted slot."""
ENVELOPES = {1: 1, 2: 34}
"""Bytes before the payload of a slot that is not encrypted, by object version."""
FIXMAP = range(0x80, 0x90)


@dataclass(frozen=True, slots=True)
class Header:
    """What the header at a position says."""

    start: int
    version: int
    chunk_id: bytes
    len_meta: int
    len_data: int

    @property
    def end(self) -> int:
        """Where the blob ends, if the sizes are right."""
        return self.start + HEADER_SIZE + self.len_meta + self.len_data

    @property
    def is_possible(self) -> bool:
        """Whether borg could have written it."""
        return self.version in ENVELOPES and self.end - self.start <= LARGEST_OBJECT


def pack_header(version: int, chunk_id: bytes, len_meta: int, len_data: int) -> bytes:
    """The bytes of a header."""
    return LAYOUT.pack(MAGIC, version, chunk_id, len_meta, len_data)


def header_at(view: memoryview, start: int, *, any_magic: bool = False) -> Header | None:
    """The fields of a header; None where the bytes end before it does, or where there is no magic to begin with."""
    if start + HEADER_SIZE > len(view):
        return None
    magic, version, chunk_id, len_meta, len_data = LAYOUT.unpack_from(view, start)
    return Header(start, version, chunk_id, len_meta, len_data) if any_magic or magic == MAGIC else None


def header_by_meta(view: memoryview, start: int) -> Header | None:
    """The header that fits the meta map behind it, where the mode lets anybody read that; else None.

    The map ends where its last value does and says how many bytes of data follow, so both sizes can be told from it.
    """
    found = header_at(view, start, any_magic=True)
    if found is None or view[start + HEADER_SIZE : start + HEADER_SIZE + 1].tobytes()[:1] in _SEALED_BYTES:
        return None
    versions = sorted(ENVELOPES, key=lambda version: version != found.version)
    sizes = (_sizes_by_meta(view, start + HEADER_SIZE, ENVELOPES[version]) for version in versions)
    for version, size in zip(versions, sizes, strict=True):
        if size:
            return Header(start, version, found.chunk_id, *size)
    return None


_SEALED_BYTES = frozenset(bytes([key_type]) for key_type in SEALED)


def _sizes_by_meta(view: memoryview, slot: int, envelope: int) -> tuple[int, int] | None:
    payload = view[slot + envelope : slot + envelope + USUAL_META]
    if not payload or payload[0] not in FIXMAP:
        return None
    unpacker = msgpack.Unpacker(max_buffer_size=USUAL_META, max_map_len=len(FIXMAP), max_array_len=len(FIXMAP))
    unpacker.feed(payload)
    try:
        meta: object = unpacker.unpack()
    except (ValueError, msgpack.UnpackException, RecursionError):
        return None
    csize = meta.get("csize") if isinstance(meta, dict) else None
    if type(csize) is not int or not 0 <= csize <= LARGEST_OBJECT:
        return None
    len_meta = envelope + unpacker.tell()
    data = slot + len_meta
    if data >= len(view) or view[data] != view[slot]:
        return None
    return len_meta, envelope + csize


def first_header(view: memoryview) -> int | None:
    """Where the first header stands that borg could have written; a text about Borg holds the magic, too."""
    at = -1
    while (at := next_magic(view, at + 1)) < len(view):
        header = header_at(view, at)
        if header and header.is_possible:
            return at
    return None


def next_magic(view: memoryview, start: int) -> int:
    """Where the next magic stands; the end of the view if there is none."""
    block = FIRST_BLOCK
    while start < len(view):
        # A copy of a block costs less than a search that cannot use the block as bytes.
        at = bytes(view[start : start + block + len(MAGIC) - 1]).find(MAGIC)
        if at >= 0:
            return start + at
        start, block = start + block, min(4 * block, LAST_BLOCK)
    return len(view)
