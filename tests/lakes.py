"""What is in a folder that the pipeline has written to, and a stand-in for Spark that needs no time to start."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from deltalake import DeltaTable


def table(lake: Path | str, name: str) -> list[dict[str, Any]]:
    """The rows of a table of a lake, as delta-rs reads them; none if there is no such table."""
    if not (Path(lake) / name / "_delta_log").exists():
        return []
    found: list[dict[str, Any]] = DeltaTable(f"{lake}/{name}").to_pyarrow_table().to_pylist()
    return found


def rows(lake: Path, name: str) -> Counter[str]:
    """The rows of a table below a lake, each as text, with how often it is there."""
    return Counter(json.dumps(row, sort_keys=True, default=str) for row in table(lake, name))


def everything(lake: Path) -> dict[str, Counter[str]]:
    """The rows of all tables; a table without rows is like one that is not there."""
    folder = lake / "tables"
    tables = [f"tables/{found.name}" for found in folder.iterdir()] if folder.exists() else []
    found = {name: rows(lake, name) for name in (*tables, "files", "findings")}
    return {name: counted for name, counted in found.items() if counted}


def leftovers(lake: Path) -> list[str]:
    """Files that are of no use once a run has ended: of commits, and table files that no version has."""
    found = [str(path.relative_to(lake)) for path in (lake / "_ingest" / "commits").glob("*")]
    for log in lake.rglob("_delta_log"):
        ever = log.parent.rglob("*.parquet")
        known = {action["add"]["path"] for action in _actions(log) if "add" in action}
        names = {str(path.relative_to(log.parent)) for path in ever if log not in path.parents}
        found += [f"{log.parent.relative_to(lake)}/{name}" for name in sorted(names - set(map(unquote, known)))]
    return sorted(found)


def _actions(log: Path) -> list[dict[str, Any]]:
    """Everything that a log says."""
    return [json.loads(line) for path in log.glob("*.json") for line in path.read_text().splitlines()]


class Alone:
    """As much of a session as the pipeline asks for; tasks run one after the other, in this process."""

    def __init__(self) -> None:
        self.sparkContext = _Context()


class _Context:
    defaultParallelism = 1  # noqa: N815 - Spark's name

    def parallelize(self, tasks: list[Any], _slices: int) -> _Tasks:
        return _Tasks(tasks)

    def setJobGroup(self, _group: str, _about: str) -> None:  # noqa: N802 - Spark's name
        pass

    def cancelJobGroup(self, _group: str) -> None:  # noqa: N802 - Spark's name
        pass


class _Tasks:
    def __init__(self, tasks: list[Any]) -> None:
        self.tasks = tasks

    def map(self, function: Callable[[Any], Any]) -> _Tasks:
        return _Tasks([function(task) for task in self.tasks])

    def collect(self) -> list[Any]:
        return self.tasks
