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
from contextlib import suppress
from typing import TYPE_CHECKING

from thawline.errors import MissingExtra

try:
    import pyspark  # noqa: F401 - said here once, for all modules of the package
except ImportError:
    raise MissingExtra("Spark is not installed: `pip install 'thawline[spark]'`") from None

from thawline.spark.java import find_java
from thawline.spark.worker import hush

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

hush()  # every task of ours imports this package first

RAISED = (
    "Exception in task .*",
    "Lost task .*",
    r"Task \d+ in stage \S+ failed \d+ times; aborting job",
    "Aborting task",
    "Abort(ing|ed) commit for partition .*",
    "Data source write support .* (is aborting|aborted).*",
)
"""What Spark logs, with a trace of Java's, about an error that the caller gets as an exception besides."""


def register(spark: SparkSession) -> None:
    """Make the sources known to a session: rbak, rbf, aerospike_backup, borg_pack, kafka_segment.

    Where thawline was installed when Spark looked for sources, it has found these by itself: to register one again
    would make it warn. Only a session whose JVM is elsewhere (Spark Connect) cannot be asked.
    """
    from thawline.spark.sources import SOURCES  # noqa: PLC0415 - after the check that pyspark is there

    session = getattr(spark, "_jsparkSession", None)
    known = session.sessionState().dataSourceManager() if session else None
    for source in SOURCES:
        if known is None or not known.dataSourceExists(source.name()):
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
    is_new = SparkSession.getActiveSession() is None
    spark = builder.getOrCreate()
    if is_new and "spark.log.level" not in (configuration or {}):
        _say_once(spark)
    register(spark)
    return spark


def _say_once(spark: SparkSession) -> None:
    """Keep errors that are raised out of the log: a hundred lines of Java around them hide the sentence."""
    jvm = getattr(spark, "_jvm", None)
    if jvm is None:
        return
    from py4j.protocol import Py4JError  # noqa: PLC0415 - comes with pyspark

    with suppress(Py4JError, TypeError):  # logs that are not kept by Log4j are left alone
        log4j = jvm.org.apache.logging.log4j.core
        deny, go_on = (getattr(log4j.Filter.Result, name) for name in ("DENY", "NEUTRAL"))
        pattern = f"(?s){'|'.join(RAISED)}"
        log4j.LoggerContext.getContext(False).getConfiguration().addFilter(  # noqa: FBT003 - Log4j's own
            log4j.filter.RegexFilter.createFilter(pattern, None, False, deny, go_on)  # noqa: FBT003 - as above
        )
