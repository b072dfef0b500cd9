"""Which format a file is of, and how sure that is."""

from __future__ import annotations

from typing import Any

from thawline.cold import ColdFile


def identify(cold: ColdFile) -> dict[str, Any]:
    """Format, version, confidence and reason, from a look at a few bytes."""
    claim = cold.claim
    return {
        "file": cold.name,
        "format": cold.format.name,
        "version": claim.version if claim else None,
        "confidence": claim.confidence if claim else None,
        "why": claim.why if claim else "said by --input-format; nothing in the file speaks for it",
        "size": cold.size,
    }
