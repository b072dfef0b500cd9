"""Read, verify, query, salvage and convert cold data without restoring it."""

from __future__ import annotations
