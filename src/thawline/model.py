"""Span, Run, Finding and Report: what a scan of a file says.

A format's `scan` yields runs and findings in file order, and their spans tile the file: no gap, no overlap, their
sizes add up to the file's. Everything else (verify, cat, salvage, a Spark partition) is a fold over that stream.
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
        """How many bytes it covers."""
        return self.end - self.start

    def __str__(self) -> str:
        return f"{self.start:#x}..{self.end:#x}"

    def __contains__(self, position: int) -> bool:
        return self.start <= position < self.end


@dataclass(frozen=True, slots=True)
class Code:
    """A kind of finding: declared once, at the top of its format's module."""

    id: str
    """Three letters and three digits, such as `RBF104`."""
    message: str
    """One line, lower case, without a full stop; the same for every finding of the kind."""
    severity: Severity
    explanation: str
    """What it means, what is lost and what to do: the text of `thawline explain`."""
    is_pruning: bool = False
    """Whether it says that a stretch was not read because nothing in it was requested."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong, or worth knowing, at one place of a file."""

    code: Code
    span: Span
    detail: Mapping[str, object] = field(default_factory=dict)
    """Facts about this one: what was expected, what is lost."""
    hint: str = ""
    """What the reader can do about it: a command."""
    is_given: bool = False
    """Whether all rows that it is about are given all the same, by the run before it."""

    @property
    def message(self) -> str:
        """What is wrong, in a line."""
        return self.code.message

    @property
    def severity(self) -> Severity:
        """`error` for damage, `warning` for what a peer may refuse, `note` for what is worth knowing."""
        return self.code.severity

    def to_dict(self) -> dict[str, Any]:
        """The finding as JSON holds it. Keys may be added, never changed or removed."""
        return {
            "code": self.code.id,
            "severity": self.severity,
            "start": self.span.start,
            "end": self.span.end,
            "message": self.message,
            "detail": dict(self.detail),
            "hint": self.hint,
        }


class Findings(Sequence[Finding]):
    """Findings in file order; a file can have so many of them that they are packed, and made anew when asked for.

    >>> two = Findings([Finding(Code("XXX101", "torn", "error", ""), Span(at, at + 1)) for at in (3, 5)])
    >>> two[-1].span.start, two.errors, two == list(two)
    (5, 2, True)
    """

    __slots__ = ("_codes", "_packed", "errors")

    def __init__(self, findings: Iterable[Finding] = ()) -> None:
        self._packed = Packed()
        self._codes: dict[Code, int] = {}
        self.errors = 0
        """How many of them are about damage."""
        for finding in findings:
            self.append(finding)

    def append(self, finding: Finding) -> None:
        """Add a finding behind the others."""
        code = self._codes.setdefault(finding.code, len(self._codes))
        span, detail = finding.span, dict(finding.detail)
        self._packed.append((code, span.start, span.end, detail, finding.hint, finding.is_given))
        self.errors += finding.severity == "error"

    def __len__(self) -> int:
        return len(self._packed)

    def __iter__(self) -> Iterator[Finding]:
        return self._made(self._packed)

    @overload
    def __getitem__(self, index: int) -> Finding: ...
    @overload
    def __getitem__(self, index: slice) -> list[Finding]: ...
    def __getitem__(self, index: int | slice) -> Finding | list[Finding]:
        if isinstance(index, slice):
            return list(self._made(self._packed[index]))
        return next(self._made([self._packed[index]]))

    def _made(self, packed: Iterable[tuple[int, int, int, dict[str, object], str, bool]]) -> Iterator[Finding]:
        codes = list(self._codes)
        for code, start, end, detail, hint, is_given in packed:
            yield Finding(codes[code], Span(start, end), detail, hint, is_given)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sequence):
            return NotImplemented
        return len(self) == len(other) and all(ours == theirs for ours, theirs in zip(self, other, strict=True))

    __hash__ = None  # type: ignore[assignment]  # as that of a list

    def __repr__(self) -> str:
        return repr(list(self))


class Payload:
    """What a kind's `walk` tells its `rows` about a run: a frozen dataclass of the kind."""

    __slots__ = ()

    def portable(self) -> Payload | None:
        """The same for another process, or for a part of the run: without what was only kept to save work here."""
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
    labels: Mapping[str, object] = field(default_factory=dict)
    _: KW_ONLY
    suspect: str = ""
    """Why its units may not be what they seem, such as `nested`; empty where nothing speaks against them."""
    recovered: str = ""
    """The code of the finding about its units, where readers reject them and they are proven or decode all the same."""
    given: Span | None = None
    """The span of the finding that follows, where its rows count as damaged and are given all the same.

    The bytes are those of the finding; the run itself has none.
    """
    left_out: LeftOut | None = None
    """What of it was not decoded because nothing in it was requested."""
    payload: Payload | None = None
    """What the kind needs to read its rows."""

    def __post_init__(self) -> None:
        """Take labels of the first edition as what they are now."""
        told = self.labels
        if not told:
            return
        marks = {"nested_suspect": "nested", "suspect": "suspect", "one_tool_only": "one tool only"}
        found = next((word for label, word in marks.items() if label in told), "")
        object.__setattr__(self, "suspect", self.suspect or found)
        object.__setattr__(self, "recovered", self.recovered or told.get("recovered", ""))
        object.__setattr__(self, "given", self.given or told.get("given"))
        if "left_out" in told:
            object.__setattr__(self, "left_out", LeftOut(*told["left_out"]))  # type: ignore[misc]
        if "skipped" in told:
            object.__setattr__(self, "left_out", LeftOut(self.units, self.span.size))

    def cut(self, span: Span, units: int) -> Run:
        """A part of it that starts where a unit starts; how many rows that has is not known."""
        labels = {name: value for name, value in self.labels.items() if name != "left_out"}
        return replace(self.portable(), span=span, units=units, rows=0, left_out=None, labels=labels)

    def portable(self) -> Run:
        """The same for another process."""
        return replace(self, payload=self.payload.portable()) if self.payload else self


OUT = "\ue000"
"""Stands for the path of a new file in advice about it: a character that no path has."""


@dataclass(frozen=True, slots=True)
class Salvage:
    """What a new file is made of, where files are named by their content and a repair can be proven by the name."""

    parts: tuple[bytes | memoryview, ...]
    name: str
    """What its content says that it is called."""
    units: int
    rows: int
    lost: tuple[Finding, ...] = ()
    """Damage of which nothing was recovered."""
    repaired: tuple[str, ...] = ()
    """What was rebuilt and proven, place by place."""
    suspects: int = 0
    """Units that were left out because they may not be what they seem."""
    advice: tuple[str, ...] = ()
    """How to put the new file to use, line by line; `OUT` stands for its path."""


Rescue = Salvage


class TilingError(Exception):
    """Spans of a scan that overlap or leave a gap: a mistake in the format's code, never in the file."""


@dataclass(slots=True)
class Report:
    """The account of one file: how much of it is intact, and what is wrong with the rest."""

    file: str
    format: str
    size: int
    units: int = 0
    rows: int = 0
    intact_bytes: int = 0
    damaged_bytes: int = 0
    findings: Findings = field(default_factory=Findings)
    position: int = 0
    """Up to where the file has been accounted for."""

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong with the file. Notes and warnings are no damage."""
        return not self.findings.errors

    def __bool__(self) -> bool:
        """The same as `ok`, so that `if report:` does not take a damaged file for a good one."""
        return self.ok

    def to_dict(self) -> dict[str, Any]:
        """The report as `thawline verify --format jsonl` prints it. Keys may be added, never changed or removed."""
        return {**self.head(), "findings": [finding.to_dict() for finding in self.findings]}

    def head(self) -> dict[str, Any]:
        """The same without the findings, which may be many."""
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

    def add(self, item: Run | Finding) -> None:
        """Account for the next stretch of the file."""
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

    def complete(self) -> Report:
        """The report itself, once it is sure that every byte of the file is in it."""
        if self.position != self.size:
            raise TilingError(f"{self.file}: {self.position:#x}..{self.size:#x} is not accounted for")
        return self


def report(file: str, format_name: str, size: int, items: Iterable[Run | Finding]) -> Report:
    """The account of a file, from what its scan yields."""
    account = Report(file, format_name, size)
    for item in items:
        account.add(item)
    return account.complete()
