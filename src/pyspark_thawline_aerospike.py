"""Lets Spark find the data source `aerospike_backup` by itself: it looks for modules of such names."""

from __future__ import annotations

from thawline.spark.sources import AerospikeSource as DefaultSource

__all__ = ["DefaultSource"]
