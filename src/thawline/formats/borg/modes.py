"""Encryption modes: what a slot's first byte means, which depends on the object version and the repository version."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import blake3 as blake3_package
import pyarrow as pa
import pyarrow.compute as pc

from thawline.checksums import blake3, sha256

Hash = Callable[[bytes], bytes]
HASHING: dict[Hash, Callable[[], Any]] = {sha256: hashlib.sha256, blake3: blake3_package.blake3}


@dataclass(frozen=True, slots=True)
class Mode:
    """One way in which a repository keeps its objects, and what of it can be told without the key."""

    name: str
    id_hash: Hash | None = None
    """The hash whose value is the chunk_id; None where the id is keyed, so that nobody without the key can check it."""
    tag_hash: Hash | None = None
    """The hash that is each slot's tag; None where there is no tag, or a keyed one."""
    is_sealed: bool = False
    """Whether its slots are encrypted."""

    @property
    def hashing(self) -> Callable[[], Any] | None:
        """The hash whose value is the chunk_id, to be fed piece by piece."""
        return HASHING[self.id_hash] if self.id_hash else None


UNKNOWN = Mode("unknown")
NONE = Mode("none", sha256)
NONE_SHA256 = Mode("none-sha256", sha256, sha256)
NONE_BLAKE3 = Mode("none-blake3", blake3, blake3)
AUTHENTICATED = Mode("authenticated")
AUTHENTICATED_SHA256 = Mode("authenticated-sha256")
AUTHENTICATED_BLAKE3 = Mode("authenticated-blake3")
SEALED = {
    0x10: Mode("aes256-ocb", is_sealed=True),
    0x20: Mode("chacha20-poly1305", is_sealed=True),
    0x30: Mode("aes256-ocb-blake3", is_sealed=True),
    0x40: Mode("chacha20-poly1305-blake3", is_sealed=True),
}
"""The same in all versions; the last two make ids with BLAKE3 instead of SHA-256."""
VERSION_1 = {0x02: NONE, 0x07: AUTHENTICATED_SHA256, 0x50: AUTHENTICATED_BLAKE3} | SEALED
VERSION_2 = {
    4: {0x80: NONE_SHA256, 0x90: NONE_BLAKE3, 0x60: AUTHENTICATED_SHA256, 0x70: AUTHENTICATED_BLAKE3} | SEALED,
    5: {0x50: AUTHENTICATED_SHA256, 0x60: AUTHENTICATED_BLAKE3} | SEALED,
}
ANY_REPOSITORY = VERSION_2[4] | VERSION_2[5] | {0x60: AUTHENTICATED}
"""Where the repository version is not known: 0x60 is one of two modes, neither of which can be checked anyway."""
KEY_TYPES = 256
VERSIONS = (1, 2)


def mode_of(version: int, key_type: int, repository_version: int | None) -> Mode:
    """The mode that a slot's first byte names.

    >>> mode_of(1, 0x50, 4).name, mode_of(2, 0x60, 4).name, mode_of(2, 0x60, 5).name
    ('authenticated-blake3', 'authenticated-sha256', 'authenticated-blake3')
    """
    if version == 1:
        return VERSION_1.get(key_type, UNKNOWN)
    known = VERSION_2.get(repository_version, ANY_REPOSITORY) if repository_version else ANY_REPOSITORY
    return known.get(key_type, UNKNOWN)


def mode_names(versions: pa.Array, key_types: pa.Array, repository_version: int | None) -> pa.StringArray:
    """The modes of many blobs by name."""
    place = pc.add(pc.multiply(pc.subtract(versions, VERSIONS[0]), KEY_TYPES), key_types)
    return _names(repository_version).take(place)


@cache
def _names(repository_version: int | None) -> pa.StringArray:
    every = [mode_of(version, kind, repository_version).name for version in VERSIONS for kind in range(KEY_TYPES)]
    return pa.array(every, pa.string())
