"""Checksums of a buffer or of a range of it, without a copy.

`start` and `end` count from the start of the buffer. A range outside of the buffer raises ValueError: clipping it, as
slices do, would give the checksum of other bytes. To continue a CRC over several buffers, pass the previous `value`.
"""

from __future__ import annotations

import hashlib
import zlib
from typing import TYPE_CHECKING

import blake3 as _blake3

if TYPE_CHECKING:
    from typing_extensions import Buffer  # collections.abc has it from Python 3.12 on

__all__ = ["blake3", "crc32", "crc32c", "sha256"]


def crc32(data: Buffer, start: int = 0, end: int | None = None, *, value: int = 0) -> int:
    """CRC-32/ISO-HDLC, the one of gzip (RBAK, Kafka magic 0 and 1).

    >>> hex(crc32(b"123456789"))
    '0xcbf43926'
    """
    return zlib.crc32(_range(data, start, end), value)


def crc32c(data: Buffer, start: int = 0, end: int | None = None, *, value: int = 0) -> int:
    """CRC-32C, Castagnoli's (RBF, Kafka magic 2).

    >>> hex(crc32c(b"123456789"))
    '0xe3069283'
    """
    import crc32c as library  # noqa: PLC0415 - it looks up its own version, which is slow, and native code has its own

    return library.crc32c(_range(data, start, end), value)


def sha256(data: Buffer, start: int = 0, end: int | None = None) -> bytes:
    """SHA-256, 32 bytes (RBAK manifest, Borg)."""
    return hashlib.sha256(_range(data, start, end)).digest()


def blake3(data: Buffer, start: int = 0, end: int | None = None) -> bytes:
    """BLAKE3, 32 bytes (Borg)."""
    return _blake3.blake3(_range(data, start, end)).digest()


def _range(data: Buffer, start: int, end: int | None) -> memoryview:
    view = memoryview(data).cast("B")
    end = len(view) if end is None else end
    if not 0 <= start <= end <= len(view):
        raise ValueError(f"bytes [{start}, {end}) do not lie in a buffer of {len(view)} bytes")
    return view[start:end]
