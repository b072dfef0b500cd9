"""An index made anew from the packs: where every intact blob lies."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from thawline.errors import SourceError, ThawlineError
from thawline.formats.borg.index import LARGEST_PLACE, write_index
from thawline.formats.borg.repository import Repository

PLACES = pa.schema(
    [("chunk_id", pa.binary()), ("pack_id", pa.binary()), ("offset", pa.int64()), ("length", pa.int64())]
)
PLAIN_INDEX = 4
"""The repository version whose index files are plain; those of version 5 are kept in the envelope of the key."""


class NeedsKey(ThawlineError):
    """An index file that only somebody with the key can write."""


@dataclass(frozen=True, slots=True)
class Rebuilt:
    """Places of chunks, each chunk once."""

    places: pa.Table
    doubled: int
    """Blobs whose chunk is stored in another place too."""


def rebuilt(blobs: pa.Table) -> Rebuilt:
    """The index that blobs give, in the order of the packs."""
    named = blobs.rename_columns(["pack_id", "offset", "length", "chunk_id"]).select(PLACES.names)
    first = named.group_by("chunk_id", use_threads=False).aggregate(
        [("pack_id", "first"), ("offset", "first"), ("length", "first")]
    )
    order = ["chunk_id", "pack_id_first", "offset_first", "length_first"]
    places = first.select(order).rename_columns(PLACES.names)
    return Rebuilt(places, named.num_rows - places.num_rows)


def write_for_borg(repository: Repository, found: Rebuilt, folder: Path) -> Path:
    """Write an index file that borg takes, under the name that its content gives it, into a folder of its own."""
    if repository.version != PLAIN_INDEX:
        raise NeedsKey(
            f"{repository.path}: is {repository.generation}, which keeps index files in the envelope of its key. "
            f"Borg itself rebuilds an index that is missing: move index/* and cache/* away and run borg check. "
            f"The same as data: --rebuild OUT.parquet or OUT.jsonl"
        )
    repository.refuse_inside(folder)
    return write_index(folder, _places(found.places), repository.version)


def _places(places: pa.Table) -> Iterator[tuple[bytes, bytes, int, int]]:
    for batch in places.to_batches(max_chunksize=1 << 16):
        columns = (batch[name].to_pylist() for name in PLACES.names)
        for chunk_id, pack_id, offset, length in zip(*columns, strict=True):
            if offset > LARGEST_PLACE:
                raise SourceError(f"pack {pack_id.hex()}: a blob at {offset:#x} has no place in an index of borg")
            yield chunk_id, pack_id, offset, length
