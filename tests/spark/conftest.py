"""One session for all tests on Spark: it takes longer to start than they take to run."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from thawline.spark import session


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run what needs the session in one process."""
    for item in items:
        if "spark" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.xdist_group("spark"))


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    made = session("local[2,3]", {"spark.log.level": "OFF", "spark.sql.shuffle.partitions": "2"})
    yield made
    made.stop()
