"""Reports and findings as data: the objects that `verify --format jsonl` promises."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from thawline.folder import Unread
from thawline.model import Finding, Report

FINDING_NAMES = ("file", "format", "code", "severity", "start", "end", "message", "detail", "hint")


def finding_object(finding: Finding) -> dict[str, Any]:
    """A finding as JSON holds it. Keys may be added, never changed or removed."""
    return {
        "code": finding.code.id,
        "severity": finding.severity,
        "start": finding.span.start,
        "end": finding.span.end,
        "message": finding.message,
        "detail": dict(finding.detail),
        "hint": finding.hint,
    }


def report_object(report: Report) -> dict[str, Any]:
    """A report as JSON holds it. Keys may be added, never changed or removed."""
    return {
        "file": report.file,
        "status": "ok" if report.ok else "damaged",
        "format": report.format,
        "size": report.size,
        "ok": report.ok,
        "units": report.units,
        "rows": report.rows,
        "intact_bytes": report.intact_bytes,
        "damaged_bytes": report.damaged_bytes,
        "findings": [finding_object(finding) for finding in report.findings],
    }


def unread_object(left: Unread) -> dict[str, Any]:
    """A file that was not looked at, as JSON holds it."""
    return {"file": left.path, "status": left.status, "reason": left.reason}


def unread_record(left: Unread) -> dict[str, Any]:
    """The same in the shape of a finding, for shapes that have rows only."""
    told = {"file": left.path, "severity": "error" if left.is_failure else "note"}
    return {**dict.fromkeys(FINDING_NAMES), **told, "message": f"not looked at: {left.reason}"}


def finding_records(report: Report) -> Iterator[dict[str, Any]]:
    """The findings of a report, one record each, for shapes that have rows only."""
    for finding in report.findings:
        yield {"file": report.file, "format": report.format, **finding_object(finding)}
