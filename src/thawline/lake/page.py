"""The page of a lake: every file and every finding that it knows of, as `thawline report` shows them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from itertools import groupby
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from thawline import formats
from thawline.cold import open_cold
from thawline.errors import ThawlineError
from thawline.folder import Unread
from thawline.lake.lake import Lake, exact_path
from thawline.model import Code, Finding, Report, Span
from thawline.rendering.exhibits import MOST_FILES, Exhibit, exhibit
from thawline.rendering.report import About, page
from thawline.rendering.words import counted, grouped
from thawline.verbs.extent import Extent
from thawline.verbs.report import Account, Survey

__all__ = ["NAME", "leave_page", "survey_of"]

NAME = "report.html"
"""Its name, at the top of the lake."""
MOST_ACCOUNTS, MOST_FINDINGS = 100_000, 500_000
"""Files and findings that are looked at for a page; a lake may have many more than memory has room for."""
UNREAD = ("unknown", "unreadable", "left out", "beside")
REASONS = {"unknown": "no format recognises this file", "beside": "its folder speaks for it"}
FACTS = ("path", "path_b64", "format", "size", "units", "rows", "intact_bytes", "damaged_bytes", "status", "error")
TOLD = ("file", "code", "severity", "start", "end", "message", "detail", "hint")


def leave_page(lake: Lake, sources: Sequence[str]) -> None:
    """Write the page of a lake into it, in the place of an earlier one."""
    survey, notes = survey_of(lake)
    made = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
    text = page(survey, _exhibits(survey), About((*sources, f"in {lake.place}"), made, notes))
    lake.place.put(NAME, text.encode())


def survey_of(lake: Lake) -> tuple[Survey, tuple[str, ...]]:
    """What a lake knows of its files, damaged ones first, with remarks."""
    rows = _sorted(lake, "files", [*FACTS, "_work"], [("damaged_bytes", "descending"), ("path", "ascending")])
    found = _sorted(lake, "findings", [*TOLD], [("file", "ascending"), ("start", "ascending")], MOST_FINDINGS)
    by_file = {file: list(some) for file, some in groupby(_rows(found), key=lambda row: str(row["file"]))}
    survey, missing, left = Survey(), 0, 0
    for row in _rows(rows):
        missing += row["status"] == "missing"
        if row["format"] and row["status"] not in UNREAD:
            if len(survey.accounts) < MOST_ACCOUNTS:
                _enter(survey, row, by_file.pop(row["path"], []))
            else:
                left += 1
        else:
            survey.unread.append(_unread(row))
    return survey, tuple(_notes(missing, left, found))


def _notes(missing: int, left: int, found: pa.Table) -> Iterator[str]:
    if missing:
        are = "is gone from its source, and its rows are" if missing == 1 else "are gone from their sources, and kept"
        yield f"{counted(missing, 'file')} {are}{' kept' if missing == 1 else ''}"
    if left:
        yield f"{counted(left, 'more file')} of the lake, with the least damage, are not on this page"
    if found.num_rows == MOST_FINDINGS:
        yield f"only {grouped(MOST_FINDINGS)} findings are on this page; the table `findings` has all"


def _sorted(
    lake: Lake, table: str, columns: list[str], order: list[tuple[str, str]], most: int | None = None
) -> pa.Table:
    """Rows of a table of the lake in an order, errors first, up to a number of rows."""
    kept: list[pa.RecordBatch] = []
    room = most
    for severity in ("error", None) if most is not None else (None,):
        for batch in lake.batches(table, columns):
            some = batch if most is None else batch.filter(_of_severity(batch, severity))
            kept.append(some if room is None else some.slice(0, room))
            room = None if room is None else room - kept[-1].num_rows
            if room == 0:
                break
    schema = kept[0].schema if kept else pa.schema([(name, pa.string()) for name in columns])
    return pa.Table.from_batches(kept, schema).sort_by(order)


def _of_severity(batch: pa.RecordBatch, severity: str | None) -> pa.Array:
    is_error = pc.equal(batch["severity"], "error")
    return is_error if severity else pc.invert(is_error)


def _rows(table: pa.Table) -> Iterator[dict[str, Any]]:
    for batch in table.to_batches(max_chunksize=10_000):
        yield from batch.to_pylist()


def _enter(survey: Survey, row: Mapping[str, Any], findings: Sequence[Mapping[str, Any]]) -> Account:
    report = Report(exact_path(row), row["format"], row["size"] or 0, row["units"] or 0, row["rows"] or 0)
    report.intact_bytes, report.damaged_bytes = row["intact_bytes"] or 0, row["damaged_bytes"] or 0
    for one in findings:
        span = Span(one["start"], one["end"])
        report.findings.append(Finding(_code(report.format, one), span, json.loads(one["detail"]), one["hint"]))
    kind, _, path = row["_work"].partition(":")
    is_folder = kind.startswith("folder") and path == row["path"]
    return survey.add(report, _unit(report.format), Extent(), is_folder=is_folder)


def _code(format_name: str, row: Mapping[str, Any]) -> Code:
    """The code of a finding; one that this release does not know has only its message."""
    try:
        known = {code.id: code for code in formats.get(format_name).codes}
    except ThawlineError:
        known = {}
    return known.get(row["code"]) or Code(row["code"], row["message"], row["severity"], "")


@lru_cache
def _unit(format_name: str) -> str:
    try:
        return formats.get(format_name).kinds[0].unit_name
    except ThawlineError:
        return "unit"


def _unread(row: Mapping[str, Any]) -> Unread:
    reason = row["error"] or REASONS.get(row["status"], row["status"])
    return Unread(exact_path(row), reason, "left out" if row["status"] == "beside" else row["status"])


def _exhibits(survey: Survey) -> dict[int, Exhibit]:
    """What to show of the first damaged files, where they are still as they were and lie on this machine."""
    damaged = [account for account in survey.accounts if not account.ok and account.size and "://" not in account.file]
    found = {}
    for account in damaged[:MOST_FILES]:
        try:
            with open_cold(account.file, account.format) as cold:
                if cold.size == account.size:
                    found[account.number] = exhibit(cold, _report(survey, account))
        except ThawlineError:
            continue  # it is gone, or is not on this machine
    return found


def _report(survey: Survey, account: Account) -> Report:
    head = account.head
    report = Report(account.file, account.format, account.size, head["units"], head["rows"])
    report.intact_bytes, report.damaged_bytes = head["intact_bytes"], head["damaged_bytes"]
    for finding in survey.findings_of(account):
        report.findings.append(finding)
    return report
