"""Review, Change and Verdict: what a change of the specs does. No I/O."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum

NO_WIRE_CHANGE, COMPATIBLE, BREAKS = 0, 1, 2


class Verdict(Enum):
    """What a change means for existing files and for code that reads them, the mildest first."""

    DOCUMENTATION = "documentation only"
    ADDITION = "API addition"
    API = "API-breaking"
    RECOVERY = "damaged files only"
    EXTENSION = "wire-compatible extension"
    LOOSER = "looser"
    STRICTER = "stricter"
    BREAKING = "breaking"

    @property
    def exit_code(self) -> int:
        """0 if no byte of any file is read differently, 1 if readable files remain readable, 2 if not."""
        match self:
            case Verdict.DOCUMENTATION | Verdict.ADDITION | Verdict.API:
                return NO_WIRE_CHANGE
            case Verdict.BREAKING:
                return BREAKS
        return COMPATIBLE

    @property
    def meaning(self) -> str:
        """The verdict in a sentence."""
        return MEANINGS[self]


MEANINGS = {
    Verdict.DOCUMENTATION: "no byte is read differently and no name changes",
    Verdict.ADDITION: "users of the parsers or the tables get something new; no byte is read differently",
    Verdict.API: "users of the parsers or the tables have to change; no byte is read differently",
    Verdict.RECOVERY: "intact files are read the same; after damage, other units may be found",
    Verdict.EXTENSION: "files that could be read are read the same; more can be expressed",
    Verdict.LOOSER: "files that were refused may now be read",
    Verdict.STRICTER: "files that were read may now be refused",
    Verdict.BREAKING: "the same bytes mean something else, or lie elsewhere",
}


@dataclass(frozen=True, slots=True)
class Change:
    """One difference, and what follows from it."""

    kind: str
    """added, removed, renamed, moved, retyped, resized, condition, valid, cases, endianness, codec, checksum, …"""
    path: str
    """What changed, by its new name if it has one: `kafka_record_batch::body.crc`."""
    before: str
    after: str
    verdict: Verdict
    reason: str
    breaks_api: bool = False
    """Whether users of the generated parsers, or of the public tables, have to change."""
    place: str = ""
    """file:line:column, in the new version unless it is gone there."""


@dataclass(frozen=True, slots=True)
class Line:
    """A row of a layout before and after; None where it is absent."""

    mark: str
    """+ added, - removed, ~ another size or type, > only moved, = only renamed, blank the same."""
    name: str
    before: tuple[str, str, str] | None
    after: tuple[str, str, str] | None
    """Offset, size, type."""


@dataclass(frozen=True, slots=True)
class Layout:
    """The fields of a type with their offsets and sizes, before and after."""

    type: str
    lines: tuple[Line, ...]


@dataclass(frozen=True, slots=True)
class Reading:
    """A difference in how both versions read a file, or a unit of it."""

    file: str
    unit: str
    """The spec that reads it, and from which byte on."""
    outcome: str
    """refused, accepted, differs; calculated if only an instance has another value."""
    field: str = ""
    """The first field that differs, or at which one version stops, with its byte."""
    before: str = ""
    after: str = ""
    count: int = 1
    """The number of units of the file that differ in the same way."""


@dataclass(frozen=True, slots=True)
class Behaviour:
    """Both versions over the golden files and a corpus."""

    skipped: str = ""
    """Why they were not run; empty if they were."""
    files: int = 0
    units: int = 0
    fields: int = 0
    readings: tuple[Reading, ...] = ()
    renames: tuple[tuple[str, str, int], ...] = ()
    """Fields that are the same bytes and values under another name: before, after, how often."""
    left_out: tuple[tuple[str, str], ...] = ()
    """Files that were not read, or not to their end, each with the reason."""
    refused_by_both: int = 0
    """Units that neither version reads to their end."""

    @property
    def exit_code(self) -> int:
        """2 if a file is refused or read differently, 1 if one is newly read."""
        outcomes = {reading.outcome for reading in self.readings}
        if outcomes & {"refused", "differs"}:
            return BREAKS
        return COMPATIBLE if "accepted" in outcomes else NO_WIRE_CHANGE


@dataclass(frozen=True, slots=True)
class ColumnChange:
    """A column of a table that was added, retyped or dropped: Arrow's type, and Spark's."""

    table: str
    column: str
    before: str
    after: str

    @property
    def kind(self) -> str:
        """added, dropped or retyped."""
        return "added" if not self.before else "dropped" if not self.after else "retyped"


@dataclass(frozen=True, slots=True)
class Derived:
    """Differences in the output of `make generate`."""

    skipped: str = ""
    """Why nothing was made; empty if something was."""
    refused: str = ""
    """Why the columnar backend refuses the new version; empty if it does not."""
    columns: tuple[ColumnChange, ...] = ()
    kernels: tuple[str, ...] = ()
    """A sentence for each kernel that differs."""
    layouts: tuple[str, ...] = ()
    """Specs whose page in `generated/layouts/` changes."""


@dataclass(frozen=True, slots=True)
class Review:
    """Everything that a change of the specs does."""

    old: str
    new: str
    changes: tuple[Change, ...] = ()
    layouts: tuple[Layout, ...] = ()
    behaviour: Behaviour = field(default_factory=Behaviour)
    derived: Derived = field(default_factory=Derived)

    @property
    def exit_code(self) -> int:
        """0 no wire change, 1 compatible, 2 breaking."""
        codes = [change.verdict.exit_code for change in self.changes]
        return max([*codes, self.behaviour.exit_code, BREAKS if self.derived.refused else NO_WIRE_CHANGE])

    @property
    def breaks_api(self) -> bool:
        """Whether users of the generated parsers, or of the public tables, have to change."""
        return any(change.breaks_api for change in self.changes)

    def counts(self) -> Iterator[tuple[Verdict, int]]:
        """The number of changes of each verdict, the gravest first."""
        for verdict in reversed(Verdict):
            if number := sum(change.verdict is verdict for change in self.changes):
                yield verdict, number
