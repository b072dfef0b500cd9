"""Envelopes of slots in those modes in which anybody can open or make them, since no key goes into them."""

from __future__ import annotations

from thawline.formats.borg.contents import Slots, tag_input
from thawline.formats.borg.header import ENVELOPES, HEADER_SIZE, header_at
from thawline.formats.borg.modes import NONE_BLAKE3, NONE_SHA256, SEALED, VERSION_1, VERSION_2, Mode

KEYLESS: dict[tuple[int, str], tuple[int, Mode]] = {
    **{(1, mode.name): (key_type, mode) for key_type, mode in VERSION_1.items() if not mode.is_sealed},
    **{(2, mode.name): (kind, mode) for kind, mode in VERSION_2[4].items() if mode in (NONE_SHA256, NONE_BLAKE3)},
}
"""Key types by object version and name of the mode. Tags of other modes, and what is encrypted, need the key."""


def opened(blob: memoryview) -> Slots | None:
    """One blob that is not encrypted, out of its envelopes; None if it is no blob, or encrypted.

    The kernel does the same for many blobs at once, and takes longer for one. A test holds both to the same values.
    """
    header = header_at(blob, 0)
    if header is None or not header.is_possible or header.end != len(blob):
        return None
    size, middle = ENVELOPES[header.version], HEADER_SIZE + header.len_meta
    meta, data = bytes(blob[HEADER_SIZE:middle]), bytes(blob[middle:])
    if min(len(meta), len(data)) < size or meta[0] != data[0] or meta[0] in SEALED:
        return None
    if size > 1 and (meta[1] or data[1]):
        return None
    tags = (meta[2:size], data[2:size]) if size > 1 else (None, None)
    return Slots(header.version, header.chunk_id, meta[0], tags[0], meta[size:], tags[1], data[size:])


def enveloped(version: int, mode_name: str, chunk_id: bytes, meta: bytes, data: bytes) -> tuple[bytes, bytes] | None:
    r"""The slots of a blob around their payloads; None where only the holder of the key can make them.

    >>> enveloped(1, "none", bytes(32), b"meta", b"data")
    (b'\x02meta', b'\x02data')
    >>> enveloped(2, "aes256-ocb", bytes(32), b"meta", b"data") is None
    True
    """
    if (version, mode_name) not in KEYLESS:
        return None
    key_type, mode = KEYLESS[version, mode_name]
    if mode.tag_hash is None:
        return bytes([key_type]) + meta, bytes([key_type]) + data
    slots = Slots(version, chunk_id, key_type, None, meta, None, data)
    tags = (mode.tag_hash(tag_input(slots, slot) + payload) for slot, payload in ((b"M", meta), (b"D", data)))
    first, second = (bytes([key_type, 0]) + tag for tag in tags)
    return first + meta, second + data
