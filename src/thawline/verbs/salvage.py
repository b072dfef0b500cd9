"""Salvage: a new file with everything intact in a damaged one, which is not changed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from thawline.errors import SourceError
from thawline.faults import with_faults
from thawline.filters import Filter, filter_of
from thawline.formats.contract import ContentNamed, Cuttable, Indexed, Recovering, Salvaging
from thawline.model import OUT, Finding, Findings, Run, Salvage
from thawline.outputs import replacing
from thawline.verbs.chosen import Choice
from thawline.wording import quoted

if TYPE_CHECKING:
    from thawline.verbs.opened import OpenFile

__all__ = ["Cut", "Salvaged", "salvage", "truncate", "write_indexes"]

PIECE = 4 << 20
"""Bytes that are copied at a time."""


@dataclass(frozen=True, slots=True)
class Salvaged:
    """The result of a salvage: what went into the new file, and what was lost."""

    target: Path
    units: int
    """Units in the new file, including the recovered ones."""
    rows: int
    """Their rows in the format's default table."""
    bytes_written: int
    lost: Sequence[Finding]
    """Damage of the old file of which nothing was recovered."""
    recovered: tuple[Run, ...] = ()
    """Units that readers of the old file reject; `Run.recovered` is the code of the finding about them."""
    suspects: int = 0
    """Units that were left out because they may lie in the payload of a broken one, or are provably changed."""
    repaired: tuple[str, ...] = ()
    """What was rebuilt and proven identical to the original, a line for each place."""
    advice: tuple[str, ...] = ()
    """How to put the new file to use, line by line."""
    unwanted: int = 0
    """Units that were left out because no row of theirs meets the filter."""


@dataclass(frozen=True, slots=True)
class Cut:
    """A copy of the start of a file."""

    target: Path
    bytes_written: int
    bytes_cut: int
    """Bytes of the old file that are not in the copy."""


def salvage(
    cold: OpenFile,
    target: Path,
    *,
    where: Filter | str | None = None,
    overwrite: bool = False,
    recover: bool = False,
    include_suspects: bool = False,
) -> Salvaged:
    """Write the intact units of a file to a new one, which appears when it is complete.

    With a filter, units that have rows of which none meets it are left out; units are copied whole.

    Suspects are left out unless requested: a unit inside a broken one is most likely part of its payload. A genuine
    record that is left out is still in the original, and the result counts the suspects; a false record that is added
    is never noticed. `recover` adds the units that are proven although readers reject them.
    """
    kind, choice = cold.kind, _choice(cold, where, recover=recover)
    if isinstance(kind, ContentNamed):
        content = kind.salvaged(cold.source, include_suspects=include_suspects)
        return _written(content, target, overwrite=overwrite)
    if not isinstance(kind, Salvaging):
        raise SourceError(f"{cold.name}: has nothing to salvage; it is built anew from the file that it belongs to")
    recovering = _recovering(cold) if recover else None
    # With a crew, a thread of its own looks for units while this one writes those that it has found.
    intact = kind.intact(cold.source)  # raises at once where a file has nothing to salvage
    found = cold.crew.streamed([lambda: intact], weigh=lambda item: item.span.size)
    items = cold.watched(with_faults(found, cold.source))
    if recovering:
        items = recovering.recover(cold.source, items)
    tally = _Tally(include_suspects=include_suspects)
    with replacing(target, overwrite=overwrite) as file:
        pieces = kind.salvage(cold.source, tally.kept(choice.of(items) if choice else items))
        written = sum(file.write(piece) for piece in pieces)
    return replace(tally.result(target, written), unwanted=choice.units if choice else 0)


def _choice(cold: OpenFile, where: Filter | str | None, *, recover: bool) -> Choice | None:
    chosen = filter_of(where)
    if not chosen:
        return None
    if isinstance(cold.kind, ContentNamed):
        raise SourceError(f"{cold.name}: is named by its content, so nothing of it is left out by choice")
    if recover:
        raise SourceError(f"{cold.name}: what is recovered has no rows to choose by; salvage it without a condition")
    return Choice(cold, chosen)


def _written(new: Salvage, target: Path, *, overwrite: bool) -> Salvaged:
    """Write a file that is named by its content; if the target is a folder, under that name in it."""
    if target.is_dir():
        target /= new.name
    with replacing(target, overwrite=overwrite) as file:
        written = sum(file.write(part) for part in new.parts)
    advice = tuple(line.replace(OUT, quoted(str(target))) for line in new.advice)
    return Salvaged(target, new.units, new.rows, written, new.lost, (), new.suspects, new.repaired, advice)


def truncate(cold: OpenFile, target: Path, at: int, *, overwrite: bool = False) -> Cut:
    """Copy the first `at` bytes of a file if they are a valid file by themselves, such as up to an RBF log's DataTail.

    Everything before the cut is copied unchanged, including damage. `SourceError` for formats that cannot be cut.
    """
    if not isinstance(cold.kind, Cuttable):
        raise SourceError(f"{cold.name}: {cold.format.title} files have no places to cut at; salvage it without one")
    cold.kind.check_cut(cold.source, cold.scan(), at)
    with replacing(target, overwrite=overwrite) as file:
        for start in range(0, at, PIECE):
            file.write(cold.source.view(start, min(start + PIECE, at)))
            cold.source.release(start)
    return Cut(target, at, cold.size - at)


def write_indexes(cold: OpenFile, target: Path, *, overwrite: bool = False) -> list[Path]:
    """Write the index files of a file, named as if it were at `target`; `SourceError` for formats without indexes."""
    if not isinstance(cold.kind, Indexed):
        raise SourceError(f"{cold.name}: {cold.format.title} files have no index files")
    written = []
    for suffix, data in cold.kind.indexes(cold.source).items():
        path = target.with_suffix(suffix)
        with replacing(path, overwrite=overwrite) as file:
            file.write(data)
        written.append(path)
    return written


def _recovering(cold: OpenFile) -> Recovering:
    if not isinstance(cold.kind, Recovering):
        raise SourceError(f"{cold.name}: {cold.format.title} files have nothing to recover beyond what is intact")
    return cold.kind


@dataclass(slots=True)
class _Tally:
    """Counts the items that go into the new file, and leaves out suspects."""

    include_suspects: bool
    units: int = 0
    rows: int = 0
    suspects: int = 0
    lost: Findings = field(default_factory=Findings)
    recovered: list[Run] = field(default_factory=list)

    def kept(self, items: Iterable[Run | Finding]) -> Iterator[Run | Finding]:
        """The items without suspects, unless those are requested."""
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
