"""Fingerprints of rows."""

from __future__ import annotations

FINGERPRINT = 16
"""Bytes of one."""
AHEAD = 16
"""So many rows before one is looked up, its place in the table is fetched."""
