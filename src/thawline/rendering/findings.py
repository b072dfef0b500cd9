"""Reports and findings as data: the objects that `verify --format jsonl` promises."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

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
        "format": report.format,
        "size": report.size,
        "ok": report.ok,
        "units": report.units,
        "rows": report.rows,
        "intact_bytes": report.intact_bytes,
        "damaged_bytes": report.damaged_bytes,
        "findings": [finding_object(finding) for finding in report.findings],
    }


def finding_records(report: Report) -> Iterator[dict[str, Any]]:
    """The findings of a report, one record each, for shapes that have rows only."""
    for finding in report.findings:
        yield {"file": report.file, "format": report.format, **finding_object(finding)}
