"""What people and programs are shown: rows, records, findings, on a terminal or in a pipe."""

from __future__ import annotations
