"""The policy for damage while rows are read: skip it, keep its bytes as a row, or raise."""

from __future__ import annotations

from typing import Literal

from thawline.errors import FormatError
from thawline.model import Finding
from thawline.source import Source

__all__ = ["CORRUPT", "LONGEST_CORRUPT", "OnError", "kept"]

OnError = Literal["skip", "keep", "raise"]
CORRUPT = "_corrupt_record"
"""The default name of the column with damaged bytes."""
LONGEST_CORRUPT = 1 << 20
"""At most this many bytes of a damaged stretch go into its row."""


def kept(finding: Finding, source: Source, on_error: OnError) -> bytes | None:
    """The damaged bytes that become a row of their own, or None; raises `FormatError` with `on_error="raise"`."""
    if finding.severity != "error":
        return None
    if on_error == "raise":
        message = f"{finding.code.id} {finding.message}, up to byte {finding.span.end:#x}"
        raise FormatError(message, file=source.name, offset=finding.span.start)
    if on_error == "skip" or not finding.span.size or finding.is_given:
        return None
    end = min(finding.span.end, finding.span.start + LONGEST_CORRUPT)
    return bytes(source.view(finding.span.start, end))
