"""Lets Spark find the data source `kafka_segment` by itself: it looks for modules of such names."""

from __future__ import annotations

from thawline.spark.sources import KafkaSource as DefaultSource

__all__ = ["DefaultSource"]
