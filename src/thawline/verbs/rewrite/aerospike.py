"""A backup with some of the records of another."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from thawline.errors import SourceError
from thawline.filters import Filter
from thawline.formats.aerospike import Aerospike
from thawline.formats.aerospike.salvage import filtered
from thawline.formats.aerospike.text import Item
from thawline.formats.aerospike.walk import items_of
from thawline.model import Finding, Run
from thawline.outputs import replacing

if TYPE_CHECKING:
    from thawline.verbs.opened import OpenFile


@dataclass(frozen=True, slots=True)
class Rewritten:
    """What went into the new file."""

    records: int
    bytes_written: int
    suspects: int
    """Records that met the conditions or not and were left out, because they cannot be trusted."""


def rewrite(cold: OpenFile, target: Path, where: Filter, *, overwrite: bool = False) -> Rewritten:
    """Write the records that meet the conditions, with the header, the indexes and the UDFs, to a new file.

    `BadFilter` if the conditions do not fit the columns of records.
    """
    if not isinstance(cold.format, Aerospike):
        raise SourceError(f"{cold.name}: is no Aerospike backup but {cold.format.title}")
    bound = where.bound(cold.every_column, "aerospike.records")
    kept, suspects = [0], [0]
    items = _watched(cold, items_of(cold.source, cold.format.rules), suspects)
    with replacing(target, overwrite=overwrite) as file:
        written = sum(file.write(piece) for piece in filtered(cold.source, items, bound, kept))
    return Rewritten(kept[0], written, suspects[0])


def _watched(cold: OpenFile, items: Iterator[Item], suspects: list[int]) -> Iterator[Item]:
    """The items on their way into the new file; the session that opened the old one counts them."""
    passing: list[Item] = []

    def shown() -> Iterator[Run | Finding]:
        for found in items:
            for item in found.given():
                passing.append(item)
                yield item.shown

    for _ in cold.watched(shown()):
        item = passing.pop()
        if item.stretch and (item.stretch.suspect or item.stretch.is_lasting):
            suspects[0] += item.stretch.units
        yield item
