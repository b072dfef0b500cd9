"""Findings, and files that were not looked at, as records."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from thawline.folder import Unread
from thawline.model import Report
from thawline.values import json_text

FINDING_NAMES = ("file", "format", "code", "severity", "start", "end", "message", "detail", "hint")


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
        # Such shapes have details as text anyway, which takes less memory while they wait.
        told = {**finding.to_dict(), "detail": json_text(finding.detail)}
        yield {"file": report.file, "format": report.format, **told}
