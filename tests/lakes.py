"""What is in a folder that the pipeline has written to, and a stand-in for Spark that needs no time to start."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.dataset as ds


def rows(lake: Path, table: str) -> Counter[str]:
    """The rows of a table below a lake, each as text, with how often it is there."""
    found = ds.dataset(lake / table, format="parquet").to_table(use_threads=False)
    return Counter(json.dumps(row, sort_keys=True, default=str) for row in found.to_pylist())


def everything(lake: Path) -> dict[str, Counter[str]]:
    """The rows of all tables; a table without rows is like one that is not there."""
    tables = [f"tables/{folder.name}" for folder in (lake / "tables").iterdir()]
    found = {table: rows(lake, table) for table in (*tables, "files", "findings") if (lake / table).exists()}
    return {table: counted for table, counted in found.items() if counted}


def leftovers(lake: Path) -> list[str]:
    """Files and folders that are of no use once a run has ended."""
    own = lake / "_ingest"
    found = [*own.glob("staging/*"), *own.rglob(".thawline-*"), *own.rglob("*.partial")]
    return sorted({str(path.relative_to(lake)) for path in found})


class Alone:
    """As much of a session as the pipeline asks for; tasks run one after the other, in this process."""

    def __init__(self) -> None:
        self.sparkContext = _Context()


class _Context:
    defaultParallelism = 1  # noqa: N815 - Spark's name

    def parallelize(self, tasks: list[Any], _slices: int) -> _Tasks:
        return _Tasks(tasks)

    def statusTracker(self) -> _Context:  # noqa: N802 - Spark's name
        return self

    def getActiveStageIds(self) -> list[int]:  # noqa: N802 - Spark's name
        return []


class _Tasks:
    def __init__(self, tasks: list[Any]) -> None:
        self.tasks = tasks

    def map(self, function: Callable[[Any], Any]) -> _Tasks:
        return _Tasks([function(task) for task in self.tasks])

    def collect(self) -> list[Any]:
        return self.tasks
