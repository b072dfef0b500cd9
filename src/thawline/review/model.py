"""Review, Change and Verdict: what a change of the specs does. No I/O."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum

NO_WIRE_CHANGE, COMPATIBLE, BREAKS = 0, 1, 2


class Verdict(Enum):
    """What a change means for files that exist and for code that reads them, the mildest first."""

    DOCUMENTATION = "documentation only"
    ADDITION = "API addition"
    API = "API-breaking"
    EXTENSION = "wire-compatible extension"
    LOOSER = "looser"
    STRICTER = "stricter"
    BREAKING = "breaking"

    @property
    def exit_code(self) -> int:
        """0 where no byte of any file is read differently, 1 where those that can be read stay so, 2 where not."""
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
    Verdict.ADDITION: "importers of the parsers get something new; no byte is read differently",
    Verdict.API: "importers of the parsers have to change; no byte is read differently",
    Verdict.EXTENSION: "files that could be read are read the same; more can be expressed",
    Verdict.LOOSER: "files that were refused may now be read",
    Verdict.STRICTER: "files that were read may now be refused",
    Verdict.BREAKING: "the same bytes mean something else, or lie elsewhere",
}


@dataclass(frozen=True, slots=True)
class Change:
    """One thing that is different, and what follows from it."""

    kind: str
    """added, removed, renamed, moved, retyped, resized, condition, valid, cases, endianness, codec, checksum, …"""
    path: str
    """What changed, by its new name where it has one: `kafka_record_batch::body.crc`."""
    before: str
    after: str
    verdict: Verdict
    reason: str
    breaks_api: bool = False
    """Whether importers of the generated parsers have to change."""
    place: str = ""
    """file:line:column, in the new version unless it is gone there."""


@dataclass(frozen=True, slots=True)
class Line:
    """A row of a layout before and after; None on the side where it is not there."""

    mark: str
    """+ added, - removed, ~ another size or type, > only its place is another, = only its name is, blank the same."""
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
    """How one file, or a unit of it, is read by both versions, where that is not the same."""

    file: str
    unit: str
    """Which spec read it, and from which byte on."""
    outcome: str
    """refused, accepted, differs; calculated where only an instance has another value."""
    field: str = ""
    """The first field that differs, or at which one version stops, with its byte."""
    before: str = ""
    after: str = ""
    count: int = 1
    """How many units of the file differ in the same way."""


@dataclass(frozen=True, slots=True)
class Behaviour:
    """Both versions, run over the golden files and a corpus."""

    skipped: str = ""
    """Why they were not run; empty where they were."""
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
        """2 where a file is refused or read differently, 1 where one is newly read."""
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
    """What `make generate` makes of both versions, where that is not the same."""

    skipped: str = ""
    """Why nothing was made; empty where something was."""
    refused: str = ""
    """What the columnar backend says about the new version, where it refuses it."""
    columns: tuple[ColumnChange, ...] = ()
    kernels: tuple[str, ...] = ()
    """Kernels with what is different about them, a sentence each."""
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
        """Whether importers of the generated parsers have to change."""
        return any(change.breaks_api for change in self.changes)

    def counts(self) -> Iterator[tuple[Verdict, int]]:
        """How many changes there are of each verdict, the gravest first."""
        for verdict in reversed(Verdict):
            if number := sum(change.verdict is verdict for change in self.changes):
                yield verdict, number
