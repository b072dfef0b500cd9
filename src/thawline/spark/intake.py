"""A task of the pipeline: identify, verify and decode files in one pass, and write their rows."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from thawline import formats, native
from thawline.blocks import keeping
from thawline.errors import SourceError, ThawlineError, UnknownFormat
from thawline.folder import Folder
from thawline.formats.contract import Claim, Foldered, Format
from thawline.formats.described import Described
from thawline.formats.growth import Growth, gained
from thawline.formats.legs import Broken, Joint, Leg
from thawline.formats.recognition import unrecognised
from thawline.lake.place import LakeError, Place
from thawline.model import Report
from thawline.source import LocalSource, RemoteSource, Source, open_source
from thawline.spark.discovery import Work
from thawline.spark.files import File, Members
from thawline.spark.planning import Part
from thawline.spark.tables import Output, Tables
from thawline.spark.walks import LAST, as_listed
from thawline.spark.worker import refuse_slow
from thawline.values import well_formed
from thawline.verbs.load import Sink, load

PIECE, RELEASED = 4 << 20, 32 << 20
"""Bytes that are hashed at a time, and after which they may leave memory."""


@dataclass(frozen=True, slots=True)
class Share:
    """A part of a work, for one task."""

    work: Work
    part: Part
    growth: Growth | None = None
    """What it has of a file that may still be written to."""
    is_leg: bool = False
    """Whether the range is read without a walk to it, and counts only if the others join."""


@dataclass(slots=True)
class Account:
    """The result for a file, or for a part of one; the parts of a file are added up."""

    work: str
    report: Report
    sha256: str | None = None
    version: str | None = None
    error: str | None = None
    apart: str = ""
    """A status that does not follow from the report: beside, left out, missing, or unknown but resembling a format."""
    is_open: bool = False
    """Whether the file may still be written to."""
    joint: Joint | None = None
    """How a leg joins others."""
    before: Mapping[str, Any] | None = None
    """The row in `files` of what the lake has of it, to which this is added."""

    @property
    def path(self) -> str:
        """The path of the file."""
        return self.report.file

    def add(self, other: Account) -> None:
        """Add another part of the same file."""
        self.sha256 = self.sha256 or other.sha256
        self.error = self.error or other.error
        self.report.join(other.report)

    @property
    def status(self) -> str:
        """The status of the file in the table `files`."""
        if self.apart:
            return self.apart
        if self.error:
            return "unreadable"
        if not self.report.format:
            return "unknown"
        if self.is_open and self.report.ok and (self.before or {}).get("status") != "damaged":
            return "growing"
        return "intact" if self.report.ok else "damaged"

    def row(self, signature: str) -> dict[str, Any]:
        """Its row in `files`."""
        report = self.report
        return {
            "path": report.file,
            "size": report.size,
            "sha256": self.sha256,
            "format": report.format or None,
            "version": self.version,
            "units": report.units + self._had("units"),
            "rows": report.rows + self._had("rows"),
            "intact_bytes": report.intact_bytes + self._had("intact_bytes"),
            "damaged_bytes": report.damaged_bytes + self._had("damaged_bytes"),
            "findings": len(report.findings) + self._had("findings"),
            "status": self.status,
            "error": self.error,
            "_work": self.work,
            "_signature": signature,
        }

    def _had(self, what: str) -> int:
        return int(self.before[what] or 0) if self.before else 0

    def findings(self) -> Iterator[dict[str, Any]]:
        """Its rows in `findings`."""
        for finding in self.report.findings:
            yield {
                "file": self.path,
                "format": self.report.format,
                "code": finding.code.id,
                "severity": finding.severity,
                "start": finding.span.start,
                "end": finding.span.end,
                "message": finding.message,
                "lost": finding.detail.get("lost"),
                "detail": json.dumps(well_formed(finding.detail)),
                "hint": finding.hint,
                "_work": self.work,
            }


def unread(path: str, work: str, size: int = 0, *, error: str | None = None, apart: str = "") -> Account:
    """The account of a file that was not read."""
    return Account(work, Report(path, "", size), error=error, apart=apart)


@dataclass(frozen=True, slots=True)
class Taken:
    """The accounts and output files of a task."""

    accounts: list[Account]
    outputs: list[Output]


def described() -> tuple[Described, ...]:
    """The formats that specs of users describe in this process, for lakes, which have no unsigned numbers."""
    return tuple(it.signed() for it in formats.FORMATS.values() if isinstance(it, Described))


@dataclass(frozen=True, slots=True)
class Intake:
    """Ingests the shares of a task."""

    place: Place
    run: str
    by: tuple[str, ...] = ()
    """Columns by which tables are partitioned."""
    described: tuple[Described, ...] = field(default_factory=described)
    """The formats of users' specs, which the process of a task does not know."""
    is_compiled: bool = native.is_compiled
    """Whether the driver has the native module."""

    def take(self, shares: tuple[Share, ...]) -> Taken:
        """Read all shares, and write their rows."""
        refuse_slow(is_compiled=self.is_compiled)
        formats.FORMATS.update({format_.name: format_ for format_ in self.described})
        tables = Tables(self.place, self.run, self.by)
        try:
            with keeping():  # a folder is accounted for after its files
                accounts = _accounts(shares, tables)
            return Taken(accounts, tables.close())
        except Broken:
            tables.discard()
            return Taken([], [])
        except BaseException:
            tables.discard()
            raise


def _accounts(shares: tuple[Share, ...], tables: Tables) -> list[Account]:
    """The accounts of all shares; their rows are in the tables."""
    known: dict[str, Members] = {}
    accounts: list[Account] = []
    for share in shares:
        format_name = share.work.format
        members = known.setdefault(format_name, Members(formats.get(format_name))) if format_name else None
        if share.work.is_folder:
            accounts += _folder_accounts(share.work)
        else:
            accounts.append(_file_account(share, members, tables))
    return accounts


def _folder_accounts(work: Work) -> Iterator[Account]:
    format_ = formats.get(work.format)
    try:
        for report in format_.accounts(Folder(work.file.path)) if isinstance(format_, Foldered) else ():
            yield Account(work.key, report, version="")
    except ThawlineError as error:
        yield unread(work.file.path, work.key, error=str(error))


def _file_account(share: Share, members: Members | None, tables: Tables) -> Account:
    file, work = share.part.file, share.work.key
    account = unread(file.path, work, file.size)
    account.is_open = share.growth is not None
    try:
        with open_source(file.path) as opened:
            source = as_listed(opened.on_disk(), file)  # the checksum and each table read the whole file
            if share.part.is_first and not share.growth:
                account.sha256 = _sha256(source)
            format_ = members.format_of(file) if members else None
            claim = format_.claim(source) if format_ else _identified(source)
            format_ = format_ or formats.get(claim.format if claim else "")
            account.report.format, account.version = format_.name, claim.version if claim else ""
            if share.work.beside == format_.name:
                account.apart = "beside"
                return account
            sink = partial(tables.add, format_.name, share.work.key, source.name)
            account.joint = _load(format_, source, share, sink, account.report)
        _refuse_changed(file)
    except (LakeError, Broken):
        raise  # the output failed, not this file, or a leg does not hold
    except MemoryError:
        account.error = "not enough memory to read it"
    except UnknownFormat as error:
        if share.work.beside:  # such as a key: its folder names it as its own
            account.report.format, account.apart = share.work.beside, "beside"
        elif error.suspect:
            account.apart, account.error = "unknown", str(error).removeprefix(f"{file.path}: ")
    except (ThawlineError, OSError) as error:
        account.error = str(error).removeprefix(f"{file.path}: ")
    except Exception as error:  # noqa: BLE001 - one file must not prevent the ingestion of the others
        account.error = f"a mistake in thawline, please report it: {type(error).__name__}: {error}"
    return account


def _refuse_changed(file: File) -> None:
    """Raise `SourceError` for a file that was written over since it was listed; what was appended is no harm."""
    if "://" in file.path or file.modified is None:
        return  # a store refuses to give parts of another object
    with suppress(FileNotFoundError):  # removed, but read to its end before that
        now = os.stat(file.path)  # noqa: PTH116 - a name with surrogates
        if now.st_size < file.size or (now.st_size == file.size and now.st_mtime != file.modified):
            raise SourceError("it was changed while it was read; the next run takes it in")


def _load(format_: Format, source: Source, share: Share, sink: Sink, report: Report) -> Joint | None:
    """Read a share; returns how it joins others if it is a leg."""
    part, kind = share.part, format_.kind_of(source)
    first = next(iter(kind.tables))
    if share.growth:
        load(kind, source, sink, report, gained(kind, source, kind.tables[first].depth, share.growth))
    elif part.range is None:
        load(kind, source, sink, report)
    elif share.is_leg:
        leg = Leg(kind, source, kind.tables[first].depth, part.range)
        load(kind, source, sink, report, leg.items())
        return leg.joint
    else:
        with LAST.over(part.file, format_, first, part.range, _opened) as walk:
            load(kind, walk.source, sink, report, walk.take(part.range))
    return None


def _opened(file: File) -> LocalSource | RemoteSource:
    return open_source(file.path)


def _identified(source: Source) -> Claim:
    try:
        return formats.identify(source)
    except UnknownFormat as error:
        raise unrecognised(source) from error


def _sha256(source: Source) -> str:
    digest = hashlib.sha256()
    for start in range(0, source.size, PIECE):
        digest.update(source.view(start, min(start + PIECE, source.size)))
        if start % RELEASED == 0:
            source.release(start)  # what is mapped counts as memory of the worker
    return digest.hexdigest()
