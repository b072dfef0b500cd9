"""A backup with some of the records of another."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from thawline.conditions import value_of
from thawline.errors import SourceError
from thawline.formats.aerospike import Aerospike
from thawline.formats.aerospike.salvage import filtered
from thawline.formats.aerospike.text import Item
from thawline.formats.aerospike.walk import items_of
from thawline.model import Finding, Run
from thawline.outputs import replacing

if TYPE_CHECKING:
    from thawline.cold import ColdFile


@dataclass(frozen=True, slots=True)
class Rewritten:
    """What went into the new file."""

    records: int
    bytes_written: int
    suspects: int
    """Records that met the conditions or not and were left out, because they cannot be trusted."""


def rewrite(cold: ColdFile, target: Path, where: Mapping[str, str], *, overwrite: bool = False) -> Rewritten:
    """Write the records that meet the conditions, with the header, the indexes and the UDFs, to a new file.

    ValueError if a condition is about no column, or its value is none of that column's.
    """
    if not isinstance(cold.format, Aerospike):
        raise SourceError(f"{cold.name}: is no Aerospike backup but {cold.format.title}")
    schema = cold.every_column
    for name, text in where.items():
        if name not in schema.names:
            raise ValueError(f"records have no column {name}; they have {', '.join(schema.names)}")
        value_of(text, schema.field(name))
    kept, suspects = [0], [0]
    items = _watched(cold, items_of(cold.source, cold.format.rules), suspects)
    with replacing(target, overwrite=overwrite) as file:
        written = sum(file.write(piece) for piece in filtered(cold.source, items, where, kept))
    return Rewritten(kept[0], written, suspects[0])


def _watched(cold: ColdFile, items: Iterator[Item], suspects: list[int]) -> Iterator[Item]:
    """The items on their way into the new file; whoever opened the old one sees them pass."""
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
