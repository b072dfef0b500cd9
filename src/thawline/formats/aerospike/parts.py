"""What a walk finds: stretches of intact entries, and the rows that they are made into."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace

import pyarrow as pa

from thawline.engine.chunks import Chunk
from thawline.formats.aerospike.bins import BinColumns
from thawline.formats.aerospike.choice import Choice
from thawline.formats.aerospike.rows import doubted, index_batch, record_batch, udf_batch
from thawline.formats.aerospike.soundness import Sound
from thawline.formats.aerospike.values import Decoded, Made
from thawline.model import Span


class GlobalRows:
    """Indexes or UDFs of a chunk. Their rows are made once, however many parts share them."""

    def __init__(self, table: str, chunk: Chunk) -> None:
        self.table, self.chunk, self.batch = table, chunk, chunk.batch
        self.made: Made = {}
        self.masks: dict[Choice, pa.BooleanArray | None] = {}


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

    def touches(self, following: Part) -> bool:
        """Whether the entries of another part come right behind these, here and in what their rows are made of."""
        if self.content is None or self.content is not following.content or self.span.end != following.span.start:
            return False
        if self.taken is not None:
            return False
        return replace(self, span=following.span, units=following.units, first=self.first + self.units) == following

    def with_next(self, following: Part) -> Part:
        """Both as one."""
        return replace(self, span=Span(self.span.start, following.span.end), units=self.units + following.units)

    @property
    def left_out_bytes(self) -> int:
        """How many of its bytes belong to entries that are not asked for."""
        if self.taken == self.units:
            return 0
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
        rows = self.units if self.taken is None else self.taken
        made = _made(self.content, frozenset(wanted), bins, self.suspect or self.refused_by)
        batch = made.slice(self.first, rows)
        mask = _mask(self.content, choice) if choice and self.taken is None else None
        if mask is None:
            yield batch
        elif rows == 1:  # a file may have a part for every record, and `filter` takes longer than to make the row
            yield batch if mask[self.first].as_py() else batch.slice(0, 0)
        else:
            yield batch.filter(mask.slice(self.first, rows))


def _mask(content: Decoded | GlobalRows, choice: Choice) -> pa.BooleanArray | None:
    """Which rows of a chunk are requested; computed once however many parts share it."""
    if choice not in content.masks:
        content.masks[choice] = choice.mask(content.batch)
    return content.masks[choice]


def _made(
    content: Decoded | GlobalRows, wanted: frozenset[str], bins: BinColumns | None, doubt: str | None
) -> pa.RecordBatch:
    """All rows of a chunk, made once however many parts share it."""
    if doubt is not None and "suspect" in wanted:
        if (wanted, doubt) not in content.made:
            content.made[wanted, doubt] = doubted(_made(content, wanted, bins, None), doubt)
        return content.made[wanted, doubt]
    if (wanted, "") not in content.made:
        content.made[wanted, ""] = _rows(content, wanted, bins)
    return content.made[wanted, ""]


def _rows(content: Decoded | GlobalRows, wanted: frozenset[str], bins: BinColumns | None) -> pa.RecordBatch:
    if isinstance(content, Decoded):
        return record_batch(content, wanted, bins)
    return (index_batch if content.table == "indexes" else udf_batch)(content.chunk, wanted)
