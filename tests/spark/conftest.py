"""One session for all tests on Spark: it takes longer to start than they take to run."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from typing import Any

import boto3
import pytest
from moto.server import ThreadedMotoServer
from pyspark.sql import SparkSession

from thawline.spark import session


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run what needs the session in one process."""
    for item in items:
        if "spark" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.xdist_group("spark"))


@pytest.fixture(scope="session")
def s3_port() -> int:
    """Where an S3 server may be started: workers are told at the start of the session, as their environment."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = int(free.getsockname()[1])
    told = {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test", "AWS_DEFAULT_REGION": "us-east-1"}
    os.environ.update(told, AWS_ENDPOINT_URL=f"http://127.0.0.1:{port}")
    return port


@pytest.fixture(scope="session")
def s3(s3_port: int) -> Iterator[Any]:
    """A client of an S3 server on loopback, which workers find, too."""
    server = ThreadedMotoServer("127.0.0.1", s3_port)
    server.start()
    yield boto3.client("s3")
    server.stop()


@pytest.fixture(scope="session")
def spark(s3_port: int) -> Iterator[SparkSession]:
    assert s3_port
    made = session("local[2,3]", {"spark.log.level": "OFF", "spark.sql.shuffle.partitions": "2"})
    yield made
    made.stop()
