"""What the pages say about Spark is run as it is written, on files under the names that it uses."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

ROOT = Path(__file__).parents[2]
GOLDEN = ROOT / "tests" / "golden"
LOG = GOLDEN / "rbf" / "many-frames.rbf"
BLOCK = re.compile(r"^```python$(.*?)^```$", re.DOTALL | re.MULTILINE)


def blocks() -> list[str]:
    """The blocks of Python about Spark."""
    return [
        block
        for block in BLOCK.findall((ROOT / "docs" / "spark.md").read_text())
        if "import" in block and "thawline.spark" in block
    ]


@pytest.fixture
def mnt(tmp_path: Path, s3: Any) -> Path:
    """What stands for /mnt, with a partition in it, and a bucket of two logs."""
    orders = tmp_path / "cold" / "orders-0"
    orders.mkdir(parents=True)
    shutil.copy(GOLDEN / "kafka" / "v2-none.log", orders / f"{100:020}.log")
    s3.create_bucket(Bucket="bucket")
    for key in ("logs/a.rbf", "logs/b.rbf"):
        s3.put_object(Bucket="bucket", Key=key, Body=LOG.read_bytes())
    return tmp_path


def test_the_sample_works_as_written(spark: SparkSession, mnt: Path) -> None:
    assert len(blocks()) == 1
    made: dict[str, Any] = {}
    for block in blocks():
        exec(block.replace("/mnt/", f"{mnt}/"), made)  # noqa: S102 - our own page
    assert made["spark"] is spark
    assert [row["offset"] for row in made["orders"].collect()] == list(range(100, 107))
    assert spark.sql("SELECT count(*) AS n FROM log").collect()[0]["n"] == 2 * 40
    copied = spark.read.format("kafka_segment").option("recursiveFileLookup", "true").load(str(mnt / "copy"))
    assert copied.collect() == made["orders"].collect()
    spark.catalog.dropTempView("log")
