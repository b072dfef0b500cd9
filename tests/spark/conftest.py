"""One session for all tests on Spark: it takes longer to start than they take to run."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import Any

import boto3
import pytest
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
    # In a process of its own: delta-rs holds Python's lock while it waits for an answer.
    command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(s3_port)]
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while server.poll() is None:
        with socket.socket() as attempt:
            if attempt.connect_ex(("127.0.0.1", s3_port)) == 0:
                break
        time.sleep(0.05)
    yield boto3.client("s3")
    server.terminate()
    server.wait()


@pytest.fixture(scope="session")
def spark(s3_port: int) -> Iterator[SparkSession]:
    assert s3_port
    made = session("local[2,3]", {"spark.log.level": "OFF", "spark.sql.shuffle.partitions": "2"})
    yield made
    made.stop()
