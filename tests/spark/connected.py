"""A program that does through Spark Connect what others do with a session of their own: a process has one kind."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from thawline.spark import read_lake, session
from thawline.spark.pipeline import ingest


def main(address: str, cold: str, lake: str) -> dict[str, object]:
    """What was read, and taken in."""
    spark = session(address)
    summary = ingest(spark, [cold], lake)
    again = ingest(spark, [cold], lake)
    return {
        "ingested": summary.ingested,
        "unchanged": again.unchanged,
        "rows": dict(summary.rows),
        "frames": spark.read.format("rbf").load(str(Path(cold, "0.rbf"))).count(),
        "lake": read_lake(spark, lake, "rbf_frames").count(),
    }


if __name__ == "__main__":
    sys.stdout.write(json.dumps(main(*sys.argv[1:])))
