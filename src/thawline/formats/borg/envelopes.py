"""Envelopes of slots in those modes in which anybody can make them, since no key goes into them."""

from __future__ import annotations

from thawline.formats.borg.contents import Slots, tag_input
from thawline.formats.borg.modes import NONE_BLAKE3, NONE_SHA256, VERSION_1, VERSION_2, Mode

KEYLESS: dict[tuple[int, str], tuple[int, Mode]] = {
    **{(1, mode.name): (key_type, mode) for key_type, mode in VERSION_1.items() if not mode.is_sealed},
    **{(2, mode.name): (kind, mode) for kind, mode in VERSION_2[4].items() if mode in (NONE_SHA256, NONE_BLAKE3)},
}
"""Key types by object version and name of the mode. Tags of other modes, and what is encrypted, need the key."""


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
