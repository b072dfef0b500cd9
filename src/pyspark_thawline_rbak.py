"""Lets Spark find the data source `rbak` by itself: it looks for modules of such names."""

from __future__ import annotations

from thawline.spark.sources import RbakSource as DefaultSource

__all__ = ["DefaultSource"]
