"""Digests of a whole backup, to find those that occur more than once in whatever room there is.

Digests are as good as random, so by their first byte they fall into 256 shares of much the same size. Shares are kept
on disk once they grow, and looked at one after the other.
"""

from __future__ import annotations

import struct
import tempfile
from array import array
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from typing import IO

import pyarrow as pa
import pyarrow.compute as pc

from thawline import native

SHARES = 256
KEPT = 256 << 10
"""Bytes of a share that stay in memory."""
DIGEST, KEY, ENTRY = 20, 22, 26
"""Bytes of a digest, with the number of its namespace, and with that of its file."""


@dataclass(frozen=True, slots=True)
class Repeated:
    """Digests of one share that occur more than once."""

    records: int
    """How many records there are too many."""
    first: bytes
    """One of the digests."""
    files: tuple[int, ...]
    """Numbers of the files that it is in."""


@dataclass(slots=True)
class Digests:
    """All digests of a backup."""

    shares: list[bytearray] = field(default_factory=lambda: [bytearray() for _ in range(SHARES)])
    spilled: dict[int, IO[bytes]] = field(default_factory=dict)

    def add(self, digests: bytes, namespace: int, file: int) -> None:
        """Digests of records one behind the other, with the numbers of their namespace and file."""
        count = len(digests) // DIGEST
        ends, out = array("q", bytes(8 * SHARES)), bytearray(ENTRY * count)
        native.functions.share_digests(count, digests, memoryview(struct.pack(">HI", namespace, file)), ends, out)
        data, start = memoryview(out), 0
        for index, end in enumerate(ends):
            if end > start:
                self._keep(index, data[start:end])
            start = end

    def repeated(self, files: Collection[int]) -> Iterator[Repeated]:
        """What occurs more than once in these files, share by share."""
        for index in range(SHARES):
            if found := _repeated(self._share(index), files):
                yield found

    def close(self) -> None:
        """Let go of what is on disk."""
        for file in self.spilled.values():
            file.close()

    def _keep(self, index: int, entries: memoryview) -> None:
        share = self.shares[index]
        share += entries
        if len(share) > KEPT:
            if index not in self.spilled:
                self.spilled[index] = tempfile.TemporaryFile()  # noqa: SIM115 - `close` closes it
            self.spilled[index].write(share)
            share.clear()

    def _share(self, index: int) -> bytes:
        file = self.spilled.get(index)
        if file is None:
            return bytes(self.shares[index])
        file.seek(0)
        return file.read() + self.shares[index]


def _repeated(share: bytes, files: Collection[int]) -> Repeated | None:
    entries = pa.Array.from_buffers(pa.binary(ENTRY), len(share) // ENTRY, [None, pa.py_buffer(share)])
    counts = pc.value_counts(pc.binary_slice(entries, 0, KEY))
    if len(counts) == len(entries):
        return None  # most shares have nothing twice, not even of files that do not count
    wanted = b"".join(struct.pack(">I", file) for file in files)
    numbers = pa.Array.from_buffers(pa.binary(4), len(files), [None, pa.py_buffer(wanted)])
    entries = entries.filter(pc.is_in(pc.binary_slice(entries, KEY, ENTRY), numbers))
    keys = pc.binary_slice(entries, 0, KEY)
    counts = pc.value_counts(keys)
    more = counts.filter(pc.greater(counts.field("counts"), 1))
    if not len(more):
        return None
    first = more[0]["values"].as_py()
    where = entries.filter(pc.equal(keys, pa.scalar(first, keys.type))).to_pylist()
    found = sorted({int.from_bytes(entry[KEY:], "big") for entry in where})
    return Repeated(pc.sum(more.field("counts")).as_py() - len(more), first[:DIGEST], tuple(found))
