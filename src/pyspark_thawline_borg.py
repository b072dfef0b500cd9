"""Lets Spark find the data source `borg_pack` by itself: it looks for modules of such names."""

from __future__ import annotations

from thawline.spark.sources import BorgSource as DefaultSource

__all__ = ["DefaultSource"]
