"""A program that reads a log on a cluster whose workers' Python has no thawline, and says what came back.

It is given the master, the Python of the workers, and a folder.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa

from thawline.spark import session
from thawline.spark.shipping import ship


def facts(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """In a task: where thawline comes from, and whether it is compiled."""
    import thawline  # noqa: PLC0415 - it is there only once the archive is
    from thawline import native  # noqa: PLC0415 - as above

    for _ in batches:
        pass
    yield pa.record_batch({"home": [str(thawline.__file__)], "is_compiled": [native.is_compiled]})


def main() -> None:
    """Print the number of frames and what a task says of its thawline, as JSON."""
    master, python, folder = sys.argv[1:]
    settings = {"spark.log.level": "OFF", "spark.pyspark.python": python, "spark.executor.cores": "1"}
    settings = ship(settings, [folder])
    spark = session(master, settings)
    try:
        frames = spark.read.format("rbf").load(str(Path(folder, "logs"))).count()
        told = spark.range(0, 4, numPartitions=2).mapInArrow(facts, "home string, is_compiled boolean").collect()
        sys.stdout.write(json.dumps({"frames": frames, "told": [row.asDict() for row in told]}))
    finally:
        spark.stop()


if __name__ == "__main__":
    main()
