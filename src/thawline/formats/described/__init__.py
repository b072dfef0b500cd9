"""A format from a spec alone, whatever of Kaitai Struct it uses: units with checksums, or one structure a file.

`layout` is a spec that is ready to read files. `units` and `whole` are the two kinds of files; `units` also finds the
next unit after damage. `proofs` computes the checksums that the spec declares.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

import pyarrow as pa

from thawline.formats.contract import Format, Kind, Table
from thawline.formats.described.bundle import Bundle, Packed
from thawline.formats.described.findings import CODES
from thawline.formats.described.opening import opened
from thawline.formats.described.paths import signed
from thawline.formats.described.units import UnitFile
from thawline.formats.described.whole import WholeFile
from thawline.model import Code

__all__ = ["CODES", "Described"]


@dataclass(frozen=True, slots=True, eq=False)
class Described(Format):
    """A format of one kind of file, as a spec describes it."""

    name: str
    title: str
    kind: UnitFile | WholeFile
    bundle: Bundle
    """The spec with its imports and kernels, for another process."""
    is_signed: bool = False
    """Whether its tables have no unsigned numbers."""

    @property
    def codes(self) -> tuple[Code, ...]:  # type: ignore[override]
        """The codes of all formats that a spec describes."""
        return CODES

    @property
    def spec_file(self) -> str:
        """The path of the spec."""
        return str(self.bundle.file)

    @property
    def kinds(self) -> tuple[Kind, ...]:
        """The units, or the one structure."""
        return (self.kind,)

    @classmethod
    def of(cls, file: Path) -> Described:
        """The format that a `.ksy` describes; `SpecError` at the place of what is refused."""
        layout, bundle = opened(file)
        name = layout.spec.id
        kind = UnitFile(name, layout) if layout.parts.sync else WholeFile(name, layout)
        return cls(name, str((layout.spec.data.get("meta") or {}).get("title") or name), kind, bundle)

    def signed(self) -> Described:
        """The format with tables that have no unsigned numbers, for Spark and for lakes."""
        layout = self.kind.layout
        tables = {
            name: Table(pa.schema([field.with_type(signed(field.type)) for field in table.schema]))
            for name, table in layout.tables.items()
        }
        return replace(self, kind=replace(self.kind, layout=replace(layout, tables=tables)), is_signed=True)

    def __reduce__(self) -> tuple[object, ...]:
        """The spec and its kernels: another process compiles nothing."""
        return revived, (self.bundle.packed(), self.is_signed)


@lru_cache(maxsize=16)
def revived(packed: Packed, is_signed: bool) -> Described:  # noqa: FBT001 - as it was pickled
    """The format in another process, which opens it once."""
    with packed.unpacked() as file:
        found = Described.of(file)
    return found.signed() if is_signed else found
