"""The format of a file, and how certain that is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from thawline.verbs.opened import OpenFile


def identify(cold: OpenFile) -> dict[str, Any]:
    """Format, version, confidence and reason, from a few bytes of the file."""
    claim = cold.claim
    return {
        "file": cold.name,
        "format": cold.format.name,
        "version": claim.version if claim else None,
        "confidence": claim.confidence if claim else None,
        "why": claim.why if claim else "named by --input-format; nothing in the file confirms it",
        "size": cold.size,
    }
