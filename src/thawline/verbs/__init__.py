"""The verbs on a cold file: one module each, a short fold over its scan that returns data."""

from __future__ import annotations
