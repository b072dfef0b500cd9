"""What a task of the pipeline does: identify, verify and decode files in one pass, and write their rows down."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

from thawline import formats
from thawline.errors import SourceError, ThawlineError, UnknownFormat
from thawline.folder import Folder
from thawline.formats.contract import Claim, Foldered, Format, Kind, read
from thawline.formats.recognition import unrecognised
from thawline.model import Finding, Report
from thawline.packed import Packed
from thawline.source import LocalSource, RemoteSource, Source, open_source
from thawline.spark.discovery import Work
from thawline.spark.files import Members
from thawline.spark.lake import LakeError, Output
from thawline.spark.planning import Part
from thawline.spark.rows import items_of
from thawline.spark.tables import Tables
from thawline.values import well_formed

PIECE = 4 << 20
FILES = pa.schema(
    [
        ("path", pa.string()),
        ("size", pa.int64()),
        ("sha256", pa.string()),
        ("format", pa.string()),
        ("version", pa.string()),
        ("units", pa.int64()),
        ("rows", pa.int64()),
        ("intact_bytes", pa.int64()),
        ("damaged_bytes", pa.int64()),
        ("findings", pa.int64()),
        ("status", pa.string()),
        ("error", pa.string()),
        ("_work", pa.string()),
        ("path_b64", pa.string()),
    ]
)
"""The table `files`. A status is intact; damaged; unknown: no format recognises the file, and `error`
says which one ought to; unreadable; left out: it is
no file, as a socket; beside: it lies in a folder of its format that does not count it among its own, such as a segment
that Kafka has deleted; or missing: it was taken in, and is gone from its source since. `error` says more."""
FINDINGS = pa.schema(
    [
        ("file", pa.string()),
        ("format", pa.string()),
        ("code", pa.string()),
        ("severity", pa.string()),
        ("start", pa.int64()),
        ("end", pa.int64()),
        ("message", pa.string()),
        ("lost", pa.string()),
        ("detail", pa.string()),
        ("hint", pa.string()),
        ("_work", pa.string()),
        ("file_b64", pa.string()),
    ]
)
"""The table `findings`; `detail` is JSON."""


@dataclass(frozen=True, slots=True)
class Share:
    """A part of a work, for one task."""

    work: Work
    part: Part


@dataclass(slots=True)
class Account:
    """What became of a file, or of a part of one; parts add up."""

    path: str
    work: str
    size: int = 0
    sha256: str | None = None
    format: str | None = None
    version: str | None = None
    units: int = 0
    rows: int = 0
    intact_bytes: int = 0
    damaged_bytes: int = 0
    error: str | None = None
    apart: str = ""
    """A status that is not read off its bytes: beside, left out, missing, or unknown against all appearances."""
    findings: Packed = field(default_factory=Packed)
    """Rows of `findings`."""
    errors: int = 0
    """How many of them are about damage."""

    def add(self, other: Account) -> None:
        """Take in another part of the same file."""
        self.sha256 = self.sha256 or other.sha256
        for name in ("units", "rows", "intact_bytes", "damaged_bytes", "errors"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        for row in other.findings:
            self.findings.append(row)
        self.error = self.error or other.error

    def find(self, finding: Finding, file: str, format_name: str) -> None:
        """Take in a finding."""
        self.findings.append(_found(finding, file, format_name, self.work))
        self.errors += finding.severity == "error"

    @property
    def status(self) -> str:
        """What there is to say about the file, in a word."""
        if self.apart:
            return self.apart
        if self.error:
            return "unreadable"
        if self.format is None:
            return "unknown"
        return "damaged" if self.errors else "intact"

    def row(self) -> dict[str, Any]:
        """Its row in `files`."""
        made = {name: getattr(self, name) for name in FILES.names if hasattr(self, name)}
        return {**made, "findings": len(self.findings), "_work": self.work}


@dataclass(frozen=True, slots=True)
class Taken:
    """What a task has done."""

    accounts: list[Account]
    outputs: list[Output]


@dataclass(frozen=True, slots=True)
class Intake:
    """Takes in the shares of a task."""

    staging: str
    output_format: str

    def take(self, shares: tuple[Share, ...]) -> Taken:
        """Read all shares, and write what is in them."""
        tables = Tables(Path(self.staging), self.output_format)
        known: dict[str, Members] = {}
        accounts: list[Account] = []
        for share in shares:
            format_name = share.work.format
            members = known.setdefault(format_name, Members(formats.get(format_name))) if format_name else None
            if share.work.is_folder:
                accounts += _folder_accounts(share.work)
            else:
                accounts.append(_file_account(share, members, tables))
        return Taken(accounts, tables.close())


def _folder_accounts(work: Work) -> Iterator[Account]:
    try:
        for report in _accounts(work):
            yield _of_report(report, work)
    except ThawlineError as error:
        yield Account(work.file.path, work.key, error=str(error))


def _accounts(work: Work) -> Iterator[Report]:
    found = formats.get(work.format)
    return found.accounts(Folder(work.file.path)) if isinstance(found, Foldered) else iter(())


def _of_report(report: Report, work: Work) -> Account:
    made = Account(report.file, work.key, report.size, None, report.format, "", report.units, report.rows)
    made.intact_bytes, made.damaged_bytes = report.intact_bytes, report.damaged_bytes
    for finding in report.findings:
        made.find(finding, report.file, report.format)
    return made


def _file_account(share: Share, members: Members | None, tables: Tables) -> Account:
    file, work = share.part.file, share.work.key
    account = Account(file.path, work, file.size)
    try:
        with open_source(file.path) as opened:
            source = opened.on_disk()  # for the checksum, and for each table, all of it is read
            if share.part.is_first:
                account.sha256 = _sha256(source)
            format_ = members.format_of(file) if members else None
            claim = format_.claim(source) if format_ else _identified(source)
            format_ = format_ or formats.get(claim.format if claim else "")
            account.format, account.version = format_.name, claim.version if claim else ""
            if share.work.beside == format_.name:
                account.apart = "beside"
                return account
            kind = format_.kind_of(source)
            first, *others = kind.tables
            _read(format_, source, share, (claim.table if claim else "") or first, account, tables)
            if not (claim and claim.table):
                _read_others(format_, source, share, others, tables)
    except LakeError:
        raise  # it is about where rows are written, not about this file
    except MemoryError:
        account.error = "not enough memory to read it"
    except UnknownFormat as error:
        if error.suspect:
            account.apart, account.error = "unknown", str(error).removeprefix(f"{file.path}: ")
    except (ThawlineError, OSError) as error:
        account.error = str(error).removeprefix(f"{file.path}: ")
    except Exception as error:  # noqa: BLE001 - one file must not keep the others from being taken in
        account.error = f"a mistake in thawline, please report it: {type(error).__name__}: {error}"
    return account


def _identified(source: Source) -> Claim:
    try:
        return formats.identify(source)
    except UnknownFormat as error:
        raise unrecognised(source) from error


def _read(
    format_: Format, source: LocalSource | RemoteSource, share: Share, table: str, account: Account, tables: Tables
) -> None:
    """The first table of a file, and what is wrong with it."""
    kind = format_.kind_of(source)
    for item in items_of(kind, source, share.part, table, kind.tables[table].schema.names):
        if isinstance(item, Finding):
            account.find(item, source.name, format_.name)
            account.damaged_bytes += item.span.size if item.severity == "error" else 0
            continue
        run, batches = item
        account.units += run.units
        account.intact_bytes += run.span.size
        for batch in batches:
            if batch.num_rows:
                account.rows += batch.num_rows
                tables.add(f"{format_.name}_{table}", batch, share.work.key, source.name)
        source.release(run.span.start)


def _read_others(
    format_: Format, source: LocalSource | RemoteSource, share: Share, names: list[str], tables: Tables
) -> None:
    kind = format_.kind_of(source)
    for table in names:
        if not _holds(kind, source, table):
            continue
        for item in items_of(kind, source, share.part, table, kind.tables[table].schema.names):
            for batch in () if isinstance(item, Finding) else item[1]:
                if batch.num_rows:
                    tables.add(f"{format_.name}_{table}", batch, share.work.key, source.name)


def _holds(kind: Kind, source: LocalSource | RemoteSource, table: str) -> bool:
    """Whether a table is one of those that this file has: Borg's index, for one, is in files of its own."""
    try:
        next(iter(read(kind, source, table, ())), None)
    except SourceError:
        return False
    return True


def _found(finding: Finding, file: str, format_name: str, work: str) -> dict[str, Any]:
    return {
        "file": file,
        "format": format_name,
        "code": finding.code.id,
        "severity": finding.severity,
        "start": finding.span.start,
        "end": finding.span.end,
        "message": finding.message,
        "lost": finding.detail.get("lost"),
        "detail": json.dumps(well_formed(finding.detail)),
        "hint": finding.hint,
        "_work": work,
    }


def _sha256(source: LocalSource | RemoteSource) -> str:
    digest = hashlib.sha256()
    for start in range(0, source.size, PIECE):
        digest.update(source.view(start, min(start + PIECE, source.size)))
    return digest.hexdigest()
