"""The rows that are left where two sides are not in the same order: what is the same is found by its fingerprint.

A fingerprint is a hash of a whole row, of 128 bits, with a key of its own for each comparison, so that no file can be
made to deceive it. Rows are written down as they come, with no regard to their keys, and only those without a partner
are read once more. Fingerprints are in a file, too, and are looked at in parts that fit into memory.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from secrets import token_bytes
from typing import Any

import pyarrow as pa

from thawline import native
from thawline.engine.buffers import view
from thawline.native.constants.fingerprints import FINGERPRINT
from thawline.rowtext import planned
from thawline.sinks import joined
from thawline.verbs.diff.shelves import HELD, Shelf, writing

PART = 1 << 22
"""About as many rows of a side are looked at together; their table takes at most 64 bytes for each."""
MOST_PARTS = 1 << 16


class Pile:
    """The rows of a side, in order, with their fingerprints: in memory while they are few, then in files."""

    def __init__(self, folder: Path, schema: pa.Schema, key: bytes) -> None:
        self.folder, self.schema, self.key = folder, schema, key
        self.rows = 0
        """Those in files."""
        self.held: list[pa.RecordBatch] = []
        self._size = 0
        self._files: list[Any] = []
        self._writer: Any = None

    def fill(self, batches: Iterable[pa.RecordBatch]) -> None:
        """Take in rows; too many of them go to files."""
        for batch in batches:
            self.held.append(batch)
            self._size += batch.nbytes
            if self._size > HELD:
                self.put_down()

    def put_down(self) -> None:
        """Move all rows to files."""
        with writing(self.folder):
            if self._writer is None:
                self.folder.mkdir()
                self._files = [pa.OSFile(str(self.folder / name), "wb") for name in ("rows", "fingerprints")]
                self._writer = pa.ipc.new_file(self._files[0], self.schema)
            for batch in joined(self.held):
                self._writer.write_batch(batch)
                self._files[1].write(fingerprints(batch, self.key))
                self.rows += batch.num_rows
        self.held, self._size = [], 0

    @property
    def is_down(self) -> bool:
        """Whether there are rows in files."""
        return self._writer is not None

    def close(self) -> None:
        """Move the last rows to files, and end these, so that they can be read."""
        self.put_down()
        with writing(self.folder):
            self._writer.close()
            for file in self._files:
                file.close()

    def fingerprints(self) -> memoryview:
        """Those of all rows."""
        if not self.rows:  # an empty file cannot be mapped
            return memoryview(b"")
        with pa.memory_map(str(self.folder / "fingerprints")) as file:
            return view(file.read_buffer())

    def chosen(self, bits: bytearray) -> Iterator[pa.RecordBatch]:
        """The rows whose bits are set; batches without any are not read. The files are removed."""
        wanted, start = pa.Array.from_buffers(pa.bool_(), self.rows, [None, pa.py_buffer(bits)]), 0
        with pa.OSFile(str(self.folder / "rows")) as file, pa.ipc.open_file(file) as reader:
            for number in range(reader.num_record_batches if wanted.true_count else 0):
                batch = reader.get_batch(number)
                which = wanted.slice(start, batch.num_rows)
                start += batch.num_rows
                if which.true_count:
                    yield batch.filter(which)
        for name in ("rows", "fingerprints"):
            (self.folder / name).unlink()


def two_piles(folder: Path, schema: pa.Schema) -> tuple[Pile, Pile]:
    """A pile for each side."""
    key = token_bytes(FINGERPRINT)
    return Pile(folder / "pile-a", schema, key), Pile(folder / "pile-b", schema, key)


def sort_out(a: Pile, b: Pile, shelves: tuple[Shelf, Shelf]) -> int:
    """Put the rows on shelves that have no equal on the other side; returns how many have one."""
    if not a.is_down and not b.is_down:
        for pile, shelf in zip((a, b), shelves, strict=True):
            shelf.fill(pile.held)
        return 0
    for pile in (a, b):
        pile.close()
    left_a, left_b = (bytearray(b"\xff" * ((pile.rows + 7) // 8)) for pile in (a, b))
    prints_a, prints_b = a.fingerprints(), b.fingerprints()
    parts = 1
    while parts * PART < a.rows and parts < MOST_PARTS:
        parts *= 2
    settle = native.functions.settle_fingerprints
    same = sum(int(settle(prints_a, prints_b, part, parts, left_a, left_b)) for part in range(parts))
    for pile, shelf, bits in zip((a, b), shelves, (left_a, left_b), strict=True):
        shelf.fill(pile.chosen(bits))
    return same


def fingerprints(batch: pa.RecordBatch, key: bytes) -> pa.Buffer:
    """The fingerprint of each row, one after the other."""
    found = pa.allocate_buffer(FINGERPRINT * batch.num_rows)
    native.functions.row_fingerprints(planned(batch), key, view(found))
    return found
