"""Span, Run, Finding and Report: the results of a scan of a file.

A kind's `walk` yields runs and findings in file order. Their spans tile the file: no gap, no overlap, and their sizes
add up to the file's. Everything else (verify, cat, salvage, a Spark task) is a fold over that stream.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import Any, Literal, overload

from thawline.packed import Packed

Severity = Literal["error", "warning", "note"]


@dataclass(frozen=True, slots=True, order=True)
class Span:
    """Half-open range of bytes `[start, end)` in a file.

    >>> Span(0x10, 0x18).size
    8
    >>> print(Span(0x10, 0x18))
    0x10..0x18
    """

    start: int
    end: int

    @property
    def size(self) -> int:
        """The number of bytes in it."""
        return self.end - self.start

    def __str__(self) -> str:
        return f"{self.start:#x}..{self.end:#x}"

    def __contains__(self, position: int) -> bool:
        return self.start <= position < self.end


@dataclass(frozen=True, slots=True)
class Code:
    """A kind of finding, declared once in its format."""

    id: str
    """Three upper-case letters and three digits, such as `RBF104`."""
    message: str
    """One line, lower case, without a full stop; the same for every finding with this code."""
    severity: Severity
    explanation: str
    """What it means, what is lost and what to do: the text of `thawline explain`."""
    is_pruning: bool = False
    """Whether it marks a stretch that was not read because nothing in it was requested."""
    cause: str = ""
    """What such damage looks like wherever it lies; empty if its place tells more."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong, or worth knowing, at one span of a file."""

    code: Code
    span: Span
    detail: Mapping[str, object] = field(default_factory=dict)
    """Facts about this finding, such as what was expected and what is lost."""
    hint: str = ""
    """A command that helps; empty if none does."""
    is_given: bool = False
    """Whether the run before it gives all of its rows in spite of the damage."""

    @property
    def message(self) -> str:
        """The message of its code."""
        return self.code.message

    @property
    def severity(self) -> Severity:
        """`error` for damage, `warning` for what a peer may refuse, `note` for what is worth knowing."""
        return self.code.severity

    def to_dict(self) -> dict[str, Any]:
        """The finding as a JSON object. Keys may be added, never changed or removed."""
        return _object(self.code, self.span.start, self.span.end, dict(self.detail), self.hint)


def _object(code: Code, start: int, end: int, detail: dict[str, object], hint: str) -> dict[str, Any]:
    return {
        "code": code.id,
        "severity": code.severity,
        "start": start,
        "end": end,
        "message": code.message,
        "detail": detail,
        "hint": hint,
    }


class Findings(Sequence[Finding]):
    """Findings in file order, packed: a hostile file can have very many. They are unpacked on access.

    >>> two = Findings([Finding(Code("XXX101", "torn", "error", ""), Span(at, at + 1)) for at in (3, 5)])
    >>> two[-1].span.start, two.errors, two == list(two)
    (5, 2, True)
    """

    __slots__ = ("_codes", "_packed", "errors")

    def __init__(self, findings: Iterable[Finding] = ()) -> None:
        self._packed = Packed()
        self._codes: dict[str, Code] = {}
        self.errors = 0
        """The number of findings with severity `error`."""
        for finding in findings:
            self.append(finding)

    def append(self, finding: Finding) -> None:
        """Add a finding after the others."""
        code, span = finding.code, finding.span
        self._codes[code.id] = code
        self._packed.append((code.id, span.start, span.end, dict(finding.detail), finding.hint, finding.is_given))
        self.errors += code.severity == "error"

    def to_dicts(self) -> Iterator[dict[str, Any]]:
        """`to_dict` of every finding, without making the finding: a hostile file has a hundred thousand."""
        codes = self._codes
        return (_object(codes[code], start, end, detail, hint) for code, start, end, detail, hint, _ in self._packed)

    def __len__(self) -> int:
        return len(self._packed)

    def __iter__(self) -> Iterator[Finding]:
        return self._unpacked(self._packed)

    @overload
    def __getitem__(self, index: int) -> Finding: ...
    @overload
    def __getitem__(self, index: slice) -> list[Finding]: ...
    def __getitem__(self, index: int | slice) -> Finding | list[Finding]:
        if isinstance(index, slice):
            return list(self._unpacked(self._packed[index]))
        return next(self._unpacked([self._packed[index]]))

    def _unpacked(self, packed: Iterable[tuple[str, int, int, dict[str, object], str, bool]]) -> Iterator[Finding]:
        codes = self._codes
        for code, start, end, detail, hint, is_given in packed:
            yield Finding(codes[code], Span(start, end), detail, hint, is_given)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sequence):
            return NotImplemented
        return len(self) == len(other) and all(ours == theirs for ours, theirs in zip(self, other, strict=True))

    __hash__ = None  # type: ignore[assignment]  # not hashable, like a list

    def __repr__(self) -> str:
        return repr(list(self))


class Payload:
    """What a kind's `walk` passes to its `rows` with a run; kinds subclass it as a frozen dataclass."""

    __slots__ = ()

    def portable(self) -> Payload | None:
        """The payload for another process or for a part of the run, without caches; None if nothing remains."""
        return self


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Units that were not decoded because nothing in them was requested, and their bytes."""

    units: int
    size: int


@dataclass(frozen=True, slots=True)
class Run:
    """A stretch of intact units that follow one another."""

    span: Span
    units: int
    rows: int
    """Rows of the format's default table."""
    _: KW_ONLY
    suspect: str = ""
    """Why its units may not be genuine, such as `nested`; empty if they are."""
    recovered: str = ""
    """The code of the finding about its units, where other readers reject them but they are proven or decode."""
    given: Span | None = None
    """The span of the finding that follows, where its rows count as damaged but are given.

    The bytes belong to the finding; the run's own span is empty.
    """
    left_out: LeftOut | None = None
    """The units of the run that were not decoded because nothing in them was requested."""
    payload: Payload | None = None
    """What the kind needs to read the run's rows."""

    def cut(self, span: Span, units: int) -> Run:
        """A part of the run that starts at a unit; its number of rows is not known and is 0."""
        return replace(self.portable(), span=span, units=units, rows=0, left_out=None)

    def portable(self) -> Run:
        """The run for another process."""
        return replace(self, payload=self.payload.portable()) if self.payload else self


OUT = "\ue000"
"""A placeholder for the path of the new file in advice: a private-use character, which paths do not contain."""


@dataclass(frozen=True, slots=True)
class Salvage:
    """The content of a salvaged file, in formats that name files by their content, so that the name proves it."""

    parts: tuple[bytes | memoryview, ...]
    name: str
    """The file's name, derived from its content."""
    units: int
    rows: int
    lost: tuple[Finding, ...] = ()
    """Damage of which nothing was recovered."""
    repaired: tuple[str, ...] = ()
    """What was rebuilt and proven, a line for each place."""
    suspects: int = 0
    """The number of units that were left out as suspects."""
    advice: tuple[str, ...] = ()
    """How to put the new file to use, line by line; `OUT` stands for its path."""


class TilingError(Exception):
    """Spans of a scan overlap or leave a gap: a bug in the format's code, never damage of the file."""


@dataclass(slots=True)
class Report:
    """The verdict on one file: how much of it is intact, and the findings about the rest."""

    file: str
    format: str
    size: int
    units: int = 0
    rows: int = 0
    intact_bytes: int = 0
    damaged_bytes: int = 0
    findings: Findings = field(default_factory=Findings)
    position: int = 0
    """The end of the last span that was added."""

    @property
    def ok(self) -> bool:
        """Whether the file is undamaged. Notes and warnings are no damage."""
        return not self.findings.errors

    def __bool__(self) -> bool:
        """The same as `ok`, so that `if report:` is false for a damaged file."""
        return self.ok

    def to_dict(self) -> dict[str, Any]:
        """The report as `thawline verify --format jsonl` prints it. Keys may be added, never changed or removed."""
        return {**self.head(), "findings": list(self.findings.to_dicts())}

    def head(self) -> dict[str, Any]:
        """The report without the findings, which may be many."""
        return {
            "file": self.file,
            "status": "ok" if self.ok else "damaged",
            "format": self.format,
            "size": self.size,
            "ok": self.ok,
            "units": self.units,
            "rows": self.rows,
            "intact_bytes": self.intact_bytes,
            "damaged_bytes": self.damaged_bytes,
        }

    def _repr_html_(self) -> str:
        from thawline.cards import report_card  # noqa: PLC0415 - only a notebook needs it

        return report_card(self)

    def add(self, item: Run | Finding) -> None:
        """Add the next span of the file."""
        if item.span.start != self.position or item.span.end < item.span.start:
            raise TilingError(f"{self.file}: {item.span} does not start at {self.position:#x}")
        self.position = item.span.end
        if isinstance(item, Run):
            self.units += item.units
            self.rows += item.rows
            self.intact_bytes += item.span.size
        else:
            self.findings.append(item)
            self.damaged_bytes += item.span.size if item.severity == "error" else 0

    def join(self, other: Report) -> None:
        """Add the report on another part of the same file."""
        self.units += other.units
        self.rows += other.rows
        self.intact_bytes += other.intact_bytes
        self.damaged_bytes += other.damaged_bytes
        for finding in other.findings:
            self.findings.append(finding)

    def complete(self) -> Report:
        """The report itself; raises `TilingError` unless the spans cover the file to its end."""
        if self.position != self.size:
            raise TilingError(f"{self.file}: {self.position:#x}..{self.size:#x} is not accounted for")
        return self


def report(file: str, format_name: str, size: int, items: Iterable[Run | Finding]) -> Report:
    """The report on a file, from the items of its scan."""
    verdict = Report(file, format_name, size)
    for item in items:
        verdict.add(item)
    return verdict.complete()
