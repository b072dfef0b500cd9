"""A program that runs the pipeline as soon as a file appears: several of them race for one lake."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

from lakes import Alone

from thawline.spark import bundles, pipeline


def main(start: str, cold: str, lake: str) -> dict[str, int]:
    """What this run took in."""
    bundles.OPEN_COST, bundles.MOST_PARTITION, pipeline.MANY = 4, 4, 2
    Path(start).with_suffix(f".{time.monotonic_ns()}").touch()
    while not Path(start).exists():
        time.sleep(0.01)
    summary = pipeline.ingest(Alone(), [cold], lake)  # type: ignore[arg-type]
    return {"ingested": summary.ingested, "unchanged": summary.unchanged}


if __name__ == "__main__":
    sys.stdout.write(json.dumps(main(*sys.argv[1:])))
