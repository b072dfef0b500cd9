"""A report over many files: the verdict on each, findings by code, and where the data of each lies, in one pass."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from thawline.bytemap import STATES, State, cells, runs
from thawline.folder import Unread
from thawline.model import Code, Finding, Report, Span
from thawline.packed import Packed
from thawline.verbs.extent import Extent, Meter
from thawline.verbs.verify import verify

if TYPE_CHECKING:
    from thawline.verbs.opened import OpenFile

__all__ = ["CELLS", "Account", "Group", "Study", "Survey", "study"]

CELLS = 240
"""Cells of the map of a file: as many as an eye tells apart on a page."""


@dataclass(frozen=True, slots=True)
class Study:
    """What one pass over a file has shown."""

    report: Report
    extent: Extent


def study(cold: OpenFile) -> Study:
    """The report on a file as `verify` gives it, and from where to where its rows go, in one pass."""
    meter = Meter(cold)
    return Study(verify(cold, seen=meter.add), meter.result())


@dataclass(frozen=True, slots=True)
class Account:
    """What a report says of one file, or of a folder as a whole."""

    number: int
    """Its place in the report, from 1."""
    head: dict[str, Any]
    """As `Report.head` gives it."""
    unit: str
    is_folder: bool
    extent: Extent
    map: tuple[tuple[int, int, State], ...]
    """Runs of cells that are not all intact: the first cell, the one after the last, and the state."""
    cells: int
    first: int
    findings: int
    """The place of its first finding among all, and their number."""
    errors: int

    @property
    def file(self) -> str:
        """Its path or URL."""
        return str(self.head["file"])

    @property
    def format(self) -> str:
        """The name of its format."""
        return str(self.head["format"])

    @property
    def size(self) -> int:
        """Its size in bytes."""
        return int(self.head["size"])

    @property
    def ok(self) -> bool:
        """Whether it is undamaged."""
        return bool(self.head["ok"])


@dataclass(slots=True)
class Group:
    """The findings of one code."""

    code: Code
    count: int = 0
    files: int = 0
    size: int = 0
    """Bytes that they are about."""


@dataclass(slots=True)
class Survey:
    """The verdicts on many files. Findings are packed: there may be a hundred thousand."""

    accounts: list[Account] = field(default_factory=list)
    unread: list[Unread] = field(default_factory=list)
    groups: dict[str, Group] = field(default_factory=dict)
    """The findings by code, in the order in which the codes were met."""
    _found: Packed = field(default_factory=Packed)

    def add(self, report: Report, unit: str, extent: Extent, *, is_folder: bool = False) -> Account:
        """Add the report on a file."""
        states = cells(report.findings, report.size, CELLS) if report.findings else []
        first, seen = len(self._found), set[str]()
        for finding in report.findings:
            self._enter(finding, is_first=finding.code.id not in seen)
            seen.add(finding.code.id)
        account = Account(
            number=len(self.accounts) + 1,
            head=report.head(),
            unit=unit,
            is_folder=is_folder,
            extent=extent,
            map=tuple(run for run in runs(states) if run[2] != STATES[0]),
            cells=len(states),
            first=first,
            findings=len(self._found) - first,
            errors=report.findings.errors,
        )
        self.accounts.append(account)
        return account

    def _enter(self, finding: Finding, *, is_first: bool) -> None:
        code, span = finding.code, finding.span
        group = self.groups.setdefault(code.id, Group(code))
        group.count += 1
        group.files += is_first
        group.size += span.size
        self._found.append((code.id, span.start, span.end, dict(finding.detail), finding.hint, len(self.accounts)))

    def findings_of(self, account: Account) -> Iterator[Finding]:
        """The findings of one file, in file order."""
        for place in range(account.first, account.first + account.findings):
            yield self._finding(self._found[place])

    def findings(self) -> Iterator[tuple[Account, int, Finding]]:
        """All findings: the file, the number of the finding in it, from 1, and the finding itself."""
        for place, packed in enumerate(self._found):
            account = self.accounts[packed[5]]
            yield account, place - account.first + 1, self._finding(packed)

    def _finding(self, packed: tuple[Any, ...]) -> Finding:
        code, start, end, detail, hint, _ = packed
        return Finding(self.groups[code].code, Span(start, end), detail, hint)

    @property
    def files(self) -> list[Account]:
        """The files that were read, without the accounts of folders as a whole."""
        return [account for account in self.accounts if not account.is_folder]

    @property
    def ok(self) -> bool:
        """Whether nothing is damaged; what was not looked at is no damage."""
        return all(account.ok for account in self.accounts)

    def counts(self) -> dict[str, int]:
        """How many files there are of each verdict, and folders that are damaged as a whole."""
        files = self.files
        ok = sum(account.ok for account in files)
        folders = sum(account.is_folder and not account.ok for account in self.accounts)
        return {"ok": ok, "damaged": len(files) - ok, "not looked at": len(self.unread), "folders damaged": folders}

    def to_dict(self) -> dict[str, Any]:
        """The report without its files and findings, as `thawline report --format json` begins."""
        counts = {name.replace(" ", "_"): count for name, count in self.counts().items()}
        return {
            "status": "ok" if self.ok else "damaged",
            **counts,
            "bytes": sum(account.size for account in self.accounts),
            "damaged_bytes": sum(account.head["damaged_bytes"] for account in self.accounts),
            "codes": {
                name: {
                    "severity": group.code.severity,
                    "message": group.code.message,
                    "findings": group.count,
                    "files": group.files,
                    "bytes": group.size,
                }
                for name, group in self.groups.items()
            },
        }
