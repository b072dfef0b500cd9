"""A new file with what is intact in a damaged one; the damaged one is not touched."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from thawline.cold import ColdFile
from thawline.errors import SourceError
from thawline.faults import with_faults
from thawline.formats.contract import ContentNamed, Cuttable, Indexed, Recovering, Salvaging
from thawline.model import OUT, Finding, Findings, Run, Salvage
from thawline.outputs import replacing
from thawline.wording import quoted

__all__ = ["Cut", "Salvaged", "salvage", "truncate", "write_indexes"]

PIECE = 4 << 20
"""Bytes that are copied in one go."""


@dataclass(frozen=True, slots=True)
class Salvaged:
    """What went into the new file, and what did not."""

    target: Path
    units: int
    """Units in the new file, the recovered ones included."""
    rows: int
    """Their rows of the format's default table."""
    bytes_written: int
    lost: Sequence[Finding]
    """Damage of the old file of which nothing was recovered."""
    recovered: tuple[Run, ...] = ()
    """Units that a reader of the old file rejects; `Run.recovered` is the code of the finding about them."""
    suspects: int = 0
    """Units that were left out because they may lie in the payload of a broken one, or are shown to be changed."""
    repaired: tuple[str, ...] = ()
    """What was rebuilt, and proven to be as it was, place by place."""
    advice: tuple[str, ...] = ()
    """How to put the new file to use, line by line."""


@dataclass(frozen=True, slots=True)
class Cut:
    """A copy of the start of a file."""

    target: Path
    bytes_written: int
    bytes_cut: int
    """How much of the old file is not in it."""


def salvage(
    cold: ColdFile, target: Path, *, overwrite: bool = False, recover: bool = False, include_suspects: bool = False
) -> Salvaged:
    """Write the intact units of a file to a new one, which appears when it is complete.

    Suspects are left out unless they are asked for: a unit inside the extent of a broken one is most likely a copy
    that the broken one carried. To leave out a true record costs a look at the original, which is still there, and
    the result says how many there were; to add one that never was a record of this log goes unnoticed for good.
    `recover` adds the units that are proven although readers reject them.
    """
    kind = cold.kind
    if isinstance(kind, ContentNamed):
        found = kind.salvaged(cold.source, include_suspects=include_suspects)
        return _written(found, target, overwrite=overwrite)
    if not isinstance(kind, Salvaging):
        raise SourceError(f"{cold.name}: of {cold.format.title} files no new ones are made")
    recovering = _recovering(cold) if recover else None
    items = cold.watched(with_faults(kind.intact(cold.source), cold.source))
    if recovering:
        items = recovering.recover(cold.source, items)
    tally = _Tally(include_suspects=include_suspects)
    with replacing(target, overwrite=overwrite) as file:
        pieces = kind.salvage(cold.source, tally.kept(items))
        written = sum(file.write(piece) for piece in pieces)
    return tally.result(target, written)


def _written(found: Salvage, target: Path, *, overwrite: bool) -> Salvaged:
    """Write a file that names itself; into a folder, under the name that its content gives it."""
    if target.is_dir():
        target /= found.name
    with replacing(target, overwrite=overwrite) as file:
        written = sum(file.write(part) for part in found.parts)
    advice = tuple(line.replace(OUT, quoted(str(target))) for line in found.advice)
    return Salvaged(target, found.units, found.rows, written, found.lost, (), found.suspects, found.repaired, advice)


def truncate(cold: ColdFile, target: Path, at: int, *, overwrite: bool = False) -> Cut:
    """Copy the first `at` bytes of a file, if they are a file by themselves: up to an RBF log's DataTail.

    Everything before the cut is copied as it is, damage included. `SourceError` for formats that cannot be cut.
    """
    if not isinstance(cold.kind, Cuttable):
        raise SourceError(f"{cold.name}: {cold.format.title} files have no places to cut at; salvage it without one")
    cold.kind.check_cut(cold.source, cold.scan(), at)
    with replacing(target, overwrite=overwrite) as file:
        for start in range(0, at, PIECE):
            file.write(cold.source.view(start, min(start + PIECE, at)))
            cold.source.release(start)
    return Cut(target, at, cold.size - at)


def write_indexes(cold: ColdFile, target: Path, *, overwrite: bool = False) -> list[Path]:
    """Write the index files of a file, named as if it were at `target`; `SourceError` for formats without such."""
    if not isinstance(cold.kind, Indexed):
        raise SourceError(f"{cold.name}: {cold.format.title} files have no index files")
    written = []
    for suffix, data in cold.kind.indexes(cold.source).items():
        path = target.with_suffix(suffix)
        with replacing(path, overwrite=overwrite) as file:
            file.write(data)
        written.append(path)
    return written


def _recovering(cold: ColdFile) -> Recovering:
    if not isinstance(cold.kind, Recovering):
        raise SourceError(f"{cold.name}: {cold.format.title} files have nothing to recover beyond what is intact")
    return cold.kind


@dataclass(slots=True)
class _Tally:
    """Counts what passes by on its way into the new file, and holds back what does not belong there."""

    include_suspects: bool
    units: int = 0
    rows: int = 0
    suspects: int = 0
    lost: Findings = field(default_factory=Findings)
    recovered: list[Run] = field(default_factory=list)

    def kept(self, items: Iterable[Run | Finding]) -> Iterator[Run | Finding]:
        """The items but for the suspects."""
        for item in items:
            if isinstance(item, Run) and item.suspect and not self.include_suspects:
                self.suspects += item.units
            else:
                self._count(item)
                yield item

    def _count(self, item: Run | Finding) -> None:
        if isinstance(item, Run):
            self.units += item.units
            self.rows += item.rows
            self.recovered += [replace(item, span=item.given or item.span)] if item.recovered else []
        elif item.severity == "error" and not item.is_given:
            self.lost.append(item)

    def result(self, target: Path, written: int) -> Salvaged:
        return Salvaged(target, self.units, self.rows, written, self.lost, tuple(self.recovered), self.suspects)
