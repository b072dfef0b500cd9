"""Output for people and programs: rows, records and findings, on a terminal or in a pipe."""

from __future__ import annotations
