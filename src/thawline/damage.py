"""What becomes of damage while rows are read: it is passed over, kept as a row with its bytes, or raised."""

from __future__ import annotations

from typing import Literal

from thawline.errors import FormatError
from thawline.model import Finding
from thawline.source import Source

__all__ = ["CORRUPT", "LONGEST_CORRUPT", "OnError", "kept"]

OnError = Literal["skip", "keep", "raise"]
CORRUPT = "_corrupt_record"
"""The column with the bytes of damage, unless the reader is told another name."""
LONGEST_CORRUPT = 1 << 20
"""At most this much of a damaged stretch goes into its row."""


def kept(finding: Finding, source: Source, on_error: OnError) -> bytes | None:
    """The bytes of damage that become a row of their own; None where none do, `FormatError` where damage is raised."""
    if finding.severity != "error":
        return None
    if on_error == "raise":
        message = f"{finding.code.id} {finding.message}, up to byte {finding.span.end:#x}"
        raise FormatError(message, file=source.name, offset=finding.span.start)
    if on_error == "skip" or not finding.span.size or finding.is_given:
        return None
    end = min(finding.span.end, finding.span.start + LONGEST_CORRUPT)
    return bytes(source.view(finding.span.start, end))
