"""Local files that are read and not mapped, for where nothing guards a mapped one.

A mapped page that cannot be read costs a SIGBUS, which ends the process. The native module turns that into a fault
(`native/sources/faults.h`). Where it is not built, or all its slots are taken, a file is read with pread, which fails
as an error. A small file is held in memory; of a large one, the blocks that were viewed last.
"""

from __future__ import annotations

import errno
import os
from collections import OrderedDict
from collections.abc import Sequence
from typing import IO

from thawline.errors import SourceError
from thawline.source import FAILED, PAGE, SHRUNK, Fault, LocalSource, RemoteSource, identity_of_file

HELD = 16 << 20
"""Bytes of the largest file that is held in memory as a whole."""
MOST_FAULTS = 64
"""Faults of a file, as the native guard keeps them. Of more, the last one is stretched: more is called unreadable than
is, never less."""
PIECE = 1 << 20
"""Bytes of one read at most."""


class Reads:
    """Bytes of a file at any place; what cannot be read is zeros, and a fault that is kept."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._faults: list[Fault] = []

    def read(self, start: int, end: int) -> bytearray:
        """The bytes `[start, end)`, as far as the disk gives them."""
        data, at = bytearray(end - start), start
        while at < end:
            piece = self._piece(at, end)
            if piece is None:
                after = min((at // PAGE + 1) * PAGE, end)
                self._note(Fault(at, after, FAILED))
                at = after
            elif piece:
                data[at - start : at - start + len(piece)] = piece
                at += len(piece)
            else:
                self._note(Fault(at, end, SHRUNK))
                break
        return data

    def _piece(self, at: int, end: int) -> bytes | None:
        """What one read gives; None if the page at `at` cannot be read. A page before a bad one can."""
        for size in (min(PIECE, end - at), min(PAGE - at % PAGE, end - at)):
            try:
                return os.pread(self._file.fileno(), size, at)
            except OSError as error:
                if error.errno == errno.ENOMEM:  # not the disk's fault
                    raise
        return None

    def _note(self, fault: Fault) -> None:
        """Keep a fault, joined with those that it touches: a block may be read again."""
        touched = [one for one in self._faults if one.start <= fault.end and fault.start <= one.end]
        same = [one for one in (fault, *touched) if one.reason == fault.reason]
        joined = Fault(min(one.start for one in same), max(one.end for one in same), fault.reason)
        kept = [one for one in self._faults if one not in same]
        faults = sorted([*kept, joined], key=lambda one: one.start)
        if len(faults) > MOST_FAULTS:
            faults[-2:] = [Fault(faults[-2].start, max(one.end for one in faults[-2:]), faults[-1].reason)]
        self._faults = faults

    def faults(self) -> Sequence[Fault]:
        """What could not be read so far, in the order of the file."""
        return tuple(self._faults)


class UnmappedSource(RemoteSource):
    """A large local file, read in blocks, of which the last ones are kept."""

    block = 4 << 20
    kept = 8
    """The number of blocks that are kept."""

    def __init__(self, name: str, file: IO[bytes], size: int) -> None:
        super().__init__(name, file, size)
        self._reads = Reads(file)
        self._last: OrderedDict[int, bytes] = OrderedDict()
        self.identity = identity_of_file(file)

    def view(self, start: int, end: int) -> memoryview:
        """The bytes `[start, end)`, read unless they lie in a block that is kept, or the file has been copied."""
        if self._fetched is not None:
            return self._fetched.copy.view(start, end)
        if not 0 <= start <= end <= self.size:
            raise SourceError(f"{self.name}: no bytes {start:#x}..{end:#x} in a file of {self.size:#x}")
        first = start // self.block
        with self._lock:
            if end <= (first + 1) * self.block:
                return memoryview(self._block(first))[start - first * self.block : end - first * self.block]
            return memoryview(self._fetch(start, end))

    def _block(self, index: int) -> bytes:
        if index not in self._last:
            self._last[index] = self._fetch(index * self.block, min((index + 1) * self.block, self.size))
            while len(self._last) > self.kept:
                self._last.popitem(last=False)
        self._last.move_to_end(index)
        return self._last[index]

    def on_disk(self) -> LocalSource:
        """A copy on disk, made on the first call; from then on, views are views of the copy."""
        copy = super().on_disk()
        self._last.clear()
        return copy

    def _fetch(self, start: int, end: int) -> bytes:
        self._check_open()
        return bytes(self._reads.read(start, end))

    def faults(self) -> Sequence[Fault]:
        """What could not be read so far."""
        return self._reads.faults()


def unmapped(name: str, file: IO[bytes]) -> LocalSource | UnmappedSource:
    """A source over an open file that is not mapped; it closes the file."""
    size = os.fstat(file.fileno()).st_size
    if size > HELD:
        return UnmappedSource(name, file, size)
    reads = Reads(file)
    return LocalSource(name, reads.read(0, size), file, reads.faults())
