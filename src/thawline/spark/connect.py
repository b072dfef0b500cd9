"""Sessions of Spark Connect: a server somewhere else, of which this process only knows the address."""

from __future__ import annotations

import socket
from collections.abc import Mapping
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from thawline.errors import MissingExtra, SourceError
from thawline.options import BadOption

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["SCHEME", "connected", "is_connect"]

SCHEME = "sc://"
PORT = 15002
"""Where servers listen unless they are told otherwise."""
PATIENCE = 10
"""Seconds that a server has to answer: the client itself would try for ten minutes."""
LOCAL = ("spark.log.level", "spark.driver.extraJavaOptions")
"""Settings that are about a Java of our own."""


def is_connect(spark: SparkSession) -> bool:
    """Whether a session is one of Spark Connect, which has frames, and no context."""
    return type(spark).__module__.startswith("pyspark.sql.connect.")


def connected(address: str, settings: Mapping[str, str]) -> SparkSession:
    """A session with the server at an address such as `sc://host:15002`; `SourceError` if none answers there."""
    from pyspark.errors import PySparkException, PySparkImportError  # noqa: PLC0415 - after the check for pyspark
    from pyspark.sql import SparkSession  # noqa: PLC0415 - as above

    _reach(address)
    try:
        spark = SparkSession.builder.remote(address).getOrCreate()
    except (ImportError, PySparkImportError) as error:
        raise MissingExtra("Spark Connect needs more of pyspark: `pip install 'thawline[connect]'`") from error
    except (PySparkException, RuntimeError) as error:
        raise SourceError(f"{address}: no session begins: {_first_line(error)}") from error
    for key, value in settings.items():
        if key not in LOCAL:
            _set(spark, key, value)
    return spark


def _reach(address: str) -> None:
    try:
        parts = urlsplit(address.replace("/;", "?").replace(";", "?"))
        host, port = parts.hostname, parts.port or PORT
    except ValueError as error:
        raise SourceError(f"{address}: is no address of Spark Connect: {error}; sc://HOST:PORT is one") from error
    if not host:
        raise SourceError(f"{address}: is no address of Spark Connect; sc://HOST:PORT is one")
    try:
        socket.create_connection((host, port), PATIENCE).close()
    except OSError as error:
        raise SourceError(f"{address}: no server of Spark Connect answers: {error.strerror or error}") from error


def _set(spark: SparkSession, key: str, value: str) -> None:
    from pyspark.errors import PySparkException  # noqa: PLC0415 - as above

    try:
        spark.conf.set(key, value)
    except PySparkException as error:
        raise BadOption(f"{key} cannot be set through Spark Connect; it is set where the server is started") from error


def _first_line(error: Exception) -> str:
    return next(iter(str(error).splitlines()), "") or type(error).__name__
