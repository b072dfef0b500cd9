"""Cold files in Spark: data sources that read and write them, a configured session, and a pipeline.

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
from contextlib import suppress
from typing import TYPE_CHECKING

from thawline.errors import MissingExtra

try:
    import pyspark  # noqa: F401 - checked once, for all modules of the package
except ImportError:
    raise MissingExtra("Spark is not installed: `pip install 'thawline[spark]'`") from None

from thawline.spark.connect import SCHEME, connected
from thawline.spark.java import find_java
from thawline.spark.launch import with_options
from thawline.spark.worker import hush

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["CONFIGURATION", "read_lake", "register", "session"]

CONFIGURATION = {
    "spark.sql.python.filterPushdown.enabled": "true",
    "spark.python.unix.domain.socket.enabled": "true",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.execution.pyspark.udf.hideTraceback.enabled": "true",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}
"""Defaults of a new session. Filters reach the sources, workers connect over Unix domain sockets, times are shown in
UTC, and an error is shown without its traceback."""

hush()  # every task of ours imports this package first

RAISED = (
    "Exception in task .*",
    "Lost task .*",
    r"Task \d+ in stage \S+ failed \d+ times; aborting job",
    "Aborting task",
    "Abort(ing|ed) commit for partition .*",
    "Data source write support .* (is aborting|aborted).*",
)
"""Patterns of what Spark logs, with a Java stack trace, about an error that the caller also gets as an exception."""


def register(spark: SparkSession) -> None:
    """Register the sources with a session: rbak, rbf, aerospike_backup, borg_pack, kafka_segment, ksy.

    Spark discovers the sources of installed packages itself, and warns when one is registered again. A Spark Connect
    session has no local JVM to query, so all sources are registered there.
    """
    from thawline.spark.ksy import KsySource  # noqa: PLC0415 - after the check that pyspark is installed
    from thawline.spark.sources import SOURCES  # noqa: PLC0415 - as above

    session = getattr(spark, "_jsparkSession", None)
    known = session.sessionState().dataSourceManager() if session else None
    for source in (*SOURCES, KsySource):
        if known is None or not known.dataSourceExists(source.name()):
            spark.dataSource.register(source)


def read_lake(spark: SparkSession, to: str | os.PathLike[str], table: str, *, commit: int | None = None) -> DataFrame:
    """A table of a lake, such as `kafka_records`, `findings` or `files`, as it is or as it was after a commit.

    All tables that are read without a commit in between go together, also while an ingest runs.
    """
    from thawline.spark.reading import read  # noqa: PLC0415 - after the check that pyspark is installed

    return read(spark, to, table, commit)


def session(
    master: str | None = None, configuration: Mapping[str, str] | None = None, name: str = "thawline"
) -> SparkSession:
    """A session with the sources registered: the active one, or a new one, by default on all cores of this machine.

    Workers run the same Python as the driver unless spark.pyspark.python or PYSPARK_PYTHON is set. A master such as
    sc://host:15002 is a server of Spark Connect.
    """
    if master and master.startswith(SCHEME):
        queries = {key: value for key, value in CONFIGURATION.items() if key.startswith("spark.sql.")}
        spark = connected(master, {**queries, **(configuration or {})})
        register(spark)
        return spark
    from pyspark.sql import SparkSession  # noqa: PLC0415 - as above

    warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)  # not needed here
    if python := (configuration or {}).get("spark.pyspark.python"):
        os.environ["PYSPARK_PYTHON"] = python  # the setting alone is for spark-submit
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
    settings = {**CONFIGURATION, **(configuration or {})}
    if SparkSession.getActiveSession() is None and (home := find_java()):
        os.environ["JAVA_HOME"] = home
    builder = SparkSession.builder.appName(name)
    if "PYSPARK_GATEWAY_PORT" not in os.environ:  # else spark-submit has launched Java
        settings = with_options(settings, os.environ.get("JAVA_HOME"))
    if master or "PYSPARK_GATEWAY_PORT" not in os.environ:  # else spark-submit sets the master
        builder = builder.master(master or "local[*]")
    for key, value in settings.items():
        builder = builder.config(key, value)
    is_new = SparkSession.getActiveSession() is None
    spark = builder.getOrCreate()
    if is_new and "spark.log.level" not in (configuration or {}):
        _silence_raised(spark)
    register(spark)
    return spark


def _silence_raised(spark: SparkSession) -> None:
    """Filter raised errors from the log: a hundred lines of Java stack trace would hide the message."""
    jvm = getattr(spark, "_jvm", None)
    if jvm is None:
        return
    from py4j.protocol import Py4JError  # noqa: PLC0415 - comes with pyspark

    with suppress(Py4JError, TypeError):  # only Log4j can be filtered
        log4j = jvm.org.apache.logging.log4j.core
        deny, neutral = (getattr(log4j.Filter.Result, name) for name in ("DENY", "NEUTRAL"))
        pattern = f"(?s){'|'.join(RAISED)}"
        log4j.LoggerContext.getContext(False).getConfiguration().addFilter(  # noqa: FBT003 - Log4j's own
            log4j.filter.RegexFilter.createFilter(pattern, None, False, deny, neutral)  # noqa: FBT003 - as above
        )
