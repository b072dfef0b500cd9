"""Tools to build, sample, damage and measure the project; not part of the package."""

from __future__ import annotations
