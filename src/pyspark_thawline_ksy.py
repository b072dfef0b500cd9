"""Lets Spark find the data source `ksy` by itself: it looks for modules of such names."""

from __future__ import annotations

from thawline.spark.ksy import KsySource as DefaultSource

__all__ = ["DefaultSource"]
