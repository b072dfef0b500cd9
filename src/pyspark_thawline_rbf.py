"""Lets Spark find the data source `rbf` by itself: it looks for modules of such names."""

from __future__ import annotations

from thawline.spark.sources import RbfSource as DefaultSource

__all__ = ["DefaultSource"]
