"""Where to start reading a segment for what is asked for, as the index files beside it say."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import PurePath

import pyarrow as pa
import pyarrow.compute as pc

from thawline.engine import columns
from thawline.engine.chunks import Chunk
from thawline.errors import SourceError
from thawline.formats.kafka.checks import Checksums
from thawline.formats.kafka.heads import Heads, head_at
from thawline.formats.kafka.selection import Selection
from thawline.source import Source, open_beside

LARGEST_OFFSET = (1 << 63) - 1
LARGEST_INDEX = 64 << 20
"""Kafka's largest is 10 MiB; a larger file is not one of its."""


def find_start(source: Source, base_offset: int, selection: Selection) -> Heads | None:
    """The last batch that an index names before all that is asked for; None where there is no help.

    An entry is the last offset of a batch, or a larger one (KAFKA-806), and where that batch starts, so with an entry
    below the first offset that is asked for, nothing before that place can be. Index files have no checksum: what one
    says is believed only if an intact batch starts there.
    """
    least = max(_least_by_time(source, base_offset, selection.since), selection.offsets[0] or 0)
    entries = _read(source, ".index", "kafka_offset_index") if least > base_offset else None
    if entries is None:
        return None
    offsets = pc.add(entries["relative_offset"].cast(pa.int64()), base_offset)
    places = entries["position"].filter(pc.and_(pc.less(offsets, least), pc.greater(entries["position"], 0)))
    position = pc.max(places).as_py()
    head = head_at(source, position) if position is not None and position < source.size else None
    if not isinstance(head, Heads) or not Checksums(source).right(head)[0].as_py():
        return None
    return head if head.rows["last_offset"][0].as_py() < least else None


def _least_by_time(source: Source, base_offset: int, since: int | None) -> int:
    """The first offset that can have such a time: an entry is the largest timestamp of all up to an offset."""
    entries = _read(source, ".timeindex", "kafka_time_index") if since is not None else None
    if entries is None:
        return 0
    before = entries["relative_offset"].filter(
        pc.and_(pc.less(entries["timestamp"], since), pc.greater(entries["timestamp"], 0))
    )
    last = pc.max(before).as_py()
    return 0 if last is None else min(base_offset + last + 1, LARGEST_OFFSET)


def _read(source: Source, suffix: str, table: str) -> pa.Table | None:
    """The entries of an index file; None where there is none."""
    if not PurePath(source.name).name.endswith(".log"):
        return None
    with suppress(SourceError), open_beside(source.name.removesuffix(".log") + suffix) as index:
        if index.size <= LARGEST_INDEX:
            return pa.Table.from_batches(_entries(index, table), columns.schema(table))
    return None


def _entries(index: Source, table: str) -> Iterator[pa.RecordBatch]:
    view = index.view(0, index.size)
    return (item.batch for item in columns.scan(table, view) if isinstance(item, Chunk))
