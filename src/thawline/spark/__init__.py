"""Cold files in Spark: data sources to read and write them, a session that is set up for them, and a pipeline.

>>> from thawline.spark import register, session  # doctest: +SKIP
>>> spark = session()  # doctest: +SKIP
>>> spark.read.format("kafka_segment").load("orders-0")  # doctest: +SKIP

This package is the only one that imports pyspark.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING

from thawline.errors import MissingExtra

try:
    import pyspark  # noqa: F401 - said here once, for all modules of the package
except ImportError:
    raise MissingExtra("Spark is not installed: `pip install 'thawline[spark]'`") from None

from thawline.spark.java import find_java

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["CONFIGURATION", "register", "session"]

CONFIGURATION = {
    "spark.sql.python.filterPushdown.enabled": "true",
    "spark.python.unix.domain.socket.enabled": "true",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.execution.pyspark.udf.hideTraceback.enabled": "true",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}
"""What a session is told unless the caller says otherwise: filters reach the sources, tasks start without waiting for
the network, times are shown as they are stored, and an error is the sentence that matters."""


def register(spark: SparkSession) -> None:
    """Make the sources known to a session: rbak, rbf, aerospike_backup, borg_pack, kafka_segment."""
    from thawline.spark.sources import SOURCES  # noqa: PLC0415 - after the check that pyspark is there

    for source in SOURCES:
        spark.dataSource.register(source)


def session(
    master: str | None = None, configuration: Mapping[str, str] | None = None, name: str = "thawline"
) -> SparkSession:
    """A session that knows the sources: the one that is there, or a new one, on all cores of this machine by default.

    Workers run this very Python unless PYSPARK_PYTHON says otherwise. Java is found as `thawline.spark.java` says.
    """
    from pyspark.sql import SparkSession  # noqa: PLC0415 - as above

    warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)  # not needed here
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
    if SparkSession.getActiveSession() is None and (home := find_java()):
        os.environ["JAVA_HOME"] = home
    builder = SparkSession.builder.appName(name)
    if master or "PYSPARK_GATEWAY_PORT" not in os.environ:  # else it is spark-submit that says where to run
        builder = builder.master(master or "local[*]")
    for key, value in {**CONFIGURATION, **(configuration or {})}.items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    register(spark)
    return spark
