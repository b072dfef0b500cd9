"""Which entries are asked for: those of some namespaces and sets, told by their heads, before their bins are read."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from thawline.engine import columns
from thawline.engine.chunks import Chunk, Ranges

HEADS = frozenset({"namespace", "set"})
"""Columns that tell whether a record is asked for."""


@dataclass(frozen=True, slots=True)
class Choice:
    """Names of namespaces and sets; None for all of them."""

    namespace: tuple[str, ...] | None = None
    set: tuple[str, ...] | None = None
    trusts_header: bool = True
    """Whether a file that says at its start that it is of another namespace is believed."""

    def mask(self, batch: pa.RecordBatch) -> pa.BooleanArray | None:
        """Which rows are asked for; None for all of them."""
        mask = None
        for name, values in (("namespace", self.namespace), ("set", self.set)):
            if values is not None and name in batch.schema.names:
                found = pc.is_in(batch[name], value_set=pa.array(values, pa.string()))
                mask = found if mask is None else pc.and_(mask, found)
        return mask

    def spares(self, namespace: str | None, heads: pa.RecordBatch) -> bool:
        """Whether nothing in a file is asked for, as its header says and its first records confirm.

        A header by itself would not do: nothing would notice a flipped bit in it.
        """
        if not self.trusts_header or namespace is None or self.namespace is None or namespace in self.namespace:
            return False
        return bool(pc.all(pc.equal(heads["namespace"], namespace)).as_py())


def rows_of(kernel: str, chunk: Chunk, mask: pa.BooleanArray, view: memoryview, base: int) -> Chunk | None:
    """Some rows of a chunk with all their columns, read once more; None if they cannot be read in one go."""
    starts, ends = chunk.starts.filter(mask), chunk.ends.filter(mask)
    ranges = Ranges.covering(pc.subtract(starts, base), pc.subtract(ends, base))
    read = list(columns.scan(kernel, view, ranges, max_rows=len(chunk), max_bytes=len(view) + 1))
    if len(read) == 1 and isinstance(read[0], Chunk) and len(read[0]) == len(starts):
        return read[0].moved(base)
    return None
