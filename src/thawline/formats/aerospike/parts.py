"""What a walk finds: stretches of intact entries, and the rows that they are made into."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field

import pyarrow as pa

from thawline.chunks import Chunk
from thawline.formats.aerospike.bins import BinColumns
from thawline.formats.aerospike.choice import Choice
from thawline.formats.aerospike.rows import doubted, index_batch, record_batch, udf_batch
from thawline.formats.aerospike.soundness import Sound
from thawline.formats.aerospike.values import Decoded
from thawline.model import Span


class GlobalRows:
    """Indexes or UDFs of a chunk. Their rows are made once, however many parts share them."""

    def __init__(self, table: str, chunk: Chunk) -> None:
        self.table, self.chunk, self.batch = table, chunk, chunk.batch
        self._made: tuple[frozenset[str], pa.RecordBatch] | None = None

    def rows(self, wanted: Collection[str]) -> pa.RecordBatch:
        """All of them, with the columns that are wanted."""
        names = frozenset(wanted)
        if self._made is None or self._made[0] != names:
            self._made = names, (index_batch if self.table == "indexes" else udf_batch)(self.chunk, names)
        return self._made[1]


@dataclass(frozen=True, slots=True)
class Part:
    """A stretch of intact entries of one kind, and what their rows are made of."""

    span: Span
    units: int
    table: str = ""
    content: Decoded | GlobalRows | Chunk | Sound | None = None
    first: int = 0
    """Index of its first row in the content."""
    suspect: str | None = None
    """Why it may not be what it seems, so that it does not go into a new backup unasked."""
    refused_by: str | None = None
    """The tool that does not read it."""
    mended: bytes = b""
    """The bytes that both tools read for it, where only one of them reads those in the file."""
    labels: Mapping[str, object] = field(default_factory=dict)
    taken: int | None = None
    """How many rows of the content are its own, where others of its entries were left out; else one an entry."""

    @property
    def rows(self) -> int:
        """Rows of `records`."""
        return self.units if self.table == "records" else 0

    @property
    def left_out_bytes(self) -> int:
        """How many of its bytes belong to entries that are not asked for."""
        kept = sum(end - start for start, end in self.places()) if self.taken else 0
        return self.span.size - kept

    def places(self) -> list[tuple[int, int]]:
        """Where its entries start and end."""
        chunk = self.content.chunk if isinstance(self.content, Decoded | GlobalRows) else self.content
        if not isinstance(chunk, Chunk):
            return [(self.span.start, self.span.end)]
        rows = slice(self.first, self.first + (self.taken or self.units))
        return list(zip(chunk.starts[rows].to_pylist(), chunk.ends[rows].to_pylist(), strict=True))

    def batches(
        self, table: str, wanted: Collection[str], bins: BinColumns | None = None, choice: Choice | None = None
    ) -> Iterator[pa.RecordBatch]:
        """Its rows of a table, those that are asked for."""
        if table != self.table or self.taken == 0 or not isinstance(self.content, Decoded | GlobalRows):
            return
        made = (
            self.content.rows(wanted) if isinstance(self.content, GlobalRows) else _records(self.content, wanted, bins)
        )
        rows = self.units if self.taken is None else self.taken
        batch = made.slice(self.first, rows)
        if doubt := self.suspect or self.refused_by:
            batch = doubted(batch, doubt)
        mask = choice.mask(self.content.batch.slice(self.first, rows)) if choice else None
        yield batch if mask is None else batch.filter(mask)


def _records(decoded: Decoded, wanted: Collection[str], bins: BinColumns | None) -> pa.RecordBatch:
    """All rows of a chunk, made once however many parts share it."""
    key = frozenset(wanted), bins
    if decoded.made is None or decoded.made[0] != key:
        decoded.made = key, record_batch(decoded, wanted, bins)
    return decoded.made[1]
