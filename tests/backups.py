"""Aerospike backups for tests, built line by line from the format's document; nothing of thawline writes them."""

from __future__ import annotations

import hashlib
import struct
from base64 import b64encode
from dataclasses import dataclass

HEADER = b"Version 3.1\n# namespace test\n"
DIGEST = bytes(range(20))


def digest_of(found_set: bytes, letter: str, key: bytes) -> bytes:
    """The digest by OpenSSL; tests that need it are skipped where it lacks the hash."""
    kind = {"I": b"\1", "D": b"\2", "S": b"\3", "B": b"\4"}[letter]
    return hashlib.new("ripemd160", found_set + kind + key).digest()


@dataclass(frozen=True)
class Lines:
    """A record as its lines."""

    bins: tuple[bytes, ...] = (b"- I a 1",)
    namespace: bytes = b"test"
    found_set: bytes = b"demo"
    key: bytes | None = None
    digest: bytes = DIGEST
    generation: bytes = b"1"
    expiration: bytes = b"0"

    def data(self) -> bytes:
        lines = [b"+ k " + self.key] if self.key is not None else []
        lines += [b"+ n " + self.namespace, b"+ d " + b64encode(self.digest)]
        lines += [b"+ s " + self.found_set] if self.found_set else []
        lines += [b"+ g " + self.generation, b"+ t " + self.expiration, b"+ b %d" % len(self.bins), *self.bins]
        return b"\n".join(lines) + b"\n"


def keyed(number: int, *bins: bytes) -> bytes:
    """A record with the key `userN` and its right digest."""
    name = b"user%d" % number
    key = b"S %d %s" % (len(name), name)
    return Lines(bins or (b"- I n %d" % number,), key=key, digest=digest_of(b"demo", "S", name)).data()


def numbered(number: int, *bins: bytes) -> bytes:
    """A record without a key."""
    digest = struct.pack(">Q", number) * 2 + b"...."
    return Lines(bins or (b"- I n %d" % number,), digest=digest).data()


def text_bin(name: bytes, value: bytes) -> bytes:
    """A string bin."""
    return b"- S %s %d %s" % (name, len(value), value)
