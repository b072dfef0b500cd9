"""The ledger: where every intact blob of a repository's packs lies, filled in while the packs are read."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from thawline.formats.borg.modes import mode_of
from thawline.formats.borg.rows import Pack, blob_batches
from thawline.formats.borg.walk import Depth, Stretch
from thawline.model import Finding, Span

PLACES = pa.schema([("pack_id", pa.binary()), ("offset", pa.int64()), ("size", pa.int64()), ("chunk_id", pa.binary())])


class Ledger:
    """What has been found in packs, by the path of each."""

    def __init__(self) -> None:
        self.places: dict[str, list[pa.RecordBatch]] = {}
        """Where intact blobs lie; only of packs that were read to their end."""
        self.damaged: dict[str, list[Span]] = {}
        """Damaged stretches of packs, by the pack's name."""
        self.modes: set[str] = set()
        self.are_named = True
        """Whether the packs are named by their bytes, not by the chunk that they hold."""
        self.is_deep = True
        """Whether the contents of all blobs were looked at, not only their heads."""

    def entries(
        self, path: str, items: Iterator[Stretch | Finding], pack: Pack, depth: Depth
    ) -> Iterator[Stretch | Finding]:
        """The items of a pack on their way to whoever asked for them."""
        self.is_deep &= depth == "contents"
        self.are_named &= pack.rule != "chunk_id"
        found: list[pa.RecordBatch] = []
        held: list[Stretch] = []
        for item in items:
            if isinstance(item, Finding):
                if item.span.size:
                    self.damaged.setdefault(str(pack.pack_id), []).append(item.span)
            elif not item.doubt:
                if held and held[-1].judged is not item.judged:
                    found.append(self._places(held, pack))
                    held = []
                held.append(item)
            yield item
        self.places[path] = [*found, *([self._places(held, pack)] if held else [])]

    def _places(self, stretches: list[Stretch], pack: Pack) -> pa.RecordBatch:
        """Where the blobs of a chunk lie; as a copy, since a column of the kernel has room for many more rows."""
        for stretch in stretches:
            self.modes |= {mode_of(*kind, pack.repository_version).name for kind in stretch.kinds()}
        batches = [batch for stretch in stretches for batch in blob_batches(stretch, pack, PLACES.names)]
        return pa.concat_batches([batch.select(PLACES.names) for batch in batches])

    def table(self) -> pa.Table:
        """All places."""
        return pa.Table.from_batches([batch for found in self.places.values() for batch in found], PLACES)
