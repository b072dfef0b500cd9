"""Findings, and files that were not read, as records."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from thawline.folder import Unread
from thawline.model import Report
from thawline.values import json_text

FINDING_NAMES = ("file", "format", "code", "severity", "start", "end", "message", "detail", "hint")


def unread_object(left: Unread) -> dict[str, Any]:
    """A file that was not read, as a JSON object."""
    return {"file": left.path, "status": left.status, "reason": left.reason}


def unread_record(left: Unread) -> dict[str, Any]:
    """A file that was not read, with the columns of a finding, for csv and arrow."""
    known = {"file": left.path, "severity": "error" if left.is_failure else "note"}
    return {**dict.fromkeys(FINDING_NAMES), **known, "message": f"not looked at: {left.reason}"}


def finding_records(report: Report) -> Iterator[dict[str, Any]]:
    """The findings of a report, one record each, for csv and arrow."""
    for finding in report.findings:
        # These shapes hold details as text; encoding them here takes less memory while they are held.
        fields = {**finding.to_dict(), "detail": json_text(finding.detail)}
        yield {"file": report.file, "format": report.format, **fields}
