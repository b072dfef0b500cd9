"""What is in a folder that the pipeline has written to, and a stand-in for Spark that needs no time to start."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from deltalake import DeltaTable
from deltalake.exceptions import TableNotFoundError
from fsspec.core import url_to_fs
from pyarrow.dataset import dataset

from thawline.lake.forms import known, open_table
from thawline.lake.place import Place


def table(lake: Path | str, name: str) -> list[dict[str, Any]]:
    """The rows of a table of a lake, as others read them; none if there is no such table."""
    form = known(lake).form
    if form == "iceberg":
        from_catalog = open_table(known(lake), name)
        return from_catalog.found.scan().to_arrow().to_pylist() if from_catalog else []  # type: ignore[attr-defined]
    if form == "parquet":
        return _globbed(f"{lake}/{name}", opened.schema if (opened := open_table(known(lake), name)) else None)
    try:
        from_log = DeltaTable(f"{lake}/{name}", storage_options=known(lake).storage)
    except TableNotFoundError:
        return []
    found: list[dict[str, Any]] = from_log.to_pyarrow_table().to_pylist()
    return found


def _globbed(folder: str, schema: Any) -> list[dict[str, Any]]:
    """The rows of all Parquet files below a folder."""
    files, path = url_to_fs(folder)
    files.invalidate_cache()
    paths = sorted(one for one in files.find(path) if one.endswith(".parquet"))
    opened = dataset(paths, schema, filesystem=files, partitioning="hive", partition_base_dir=path)
    found: list[dict[str, Any]] = opened.to_table().to_pylist()
    return found


def rows(lake: Path | str, name: str) -> Counter[str]:
    """The rows of a table below a lake, each as text, with how often it is there."""
    return Counter(json.dumps(row, sort_keys=True, default=str) for row in table(lake, name))


def everything(lake: Path | str) -> dict[str, Counter[str]]:
    """The rows of all tables; a table without rows is like one that is not there."""
    tables = [f"tables/{name}" for name in known(lake).listed("tables")]
    found = {name: rows(lake, name) for name in (*tables, "files", "findings")}
    return {name: counted for name, counted in found.items() if counted}


def leftovers(lake: Path | str) -> list[str]:
    """Files that are of no use once a run has ended: of commits, and table files that no version has."""
    if isinstance(lake, str):
        return _leftovers_in(known(lake))
    found = [str(path.relative_to(lake)) for path in (lake / "_ingest" / "commits").glob("*")]
    found += [str(path.relative_to(lake)) for path in (lake / "_ingest" / "staged").rglob("*.parquet*")]
    if (place := known(lake)).form != "delta":
        return sorted(found + [f"{name}/{path}" for name, path in _unknown(place)])
    for log in lake.rglob("_delta_log"):
        ever = log.parent.rglob("*.parquet*")
        ever_known = {action["add"]["path"] for action in _actions(log) if "add" in action}
        names = {str(path.relative_to(log.parent)) for path in ever if log not in path.parents}
        found += [f"{log.parent.relative_to(lake)}/{name}" for name in sorted(names - set(map(unquote, ever_known)))]
    return sorted(found)


def _leftovers_in(place: Place) -> list[str]:
    """The same of a bucket that was cleaned up just now."""
    own = [f"_ingest/{path}" for path, _, _ in place.below("_ingest") if path.startswith(("commits/", "staged/"))]
    return own + [f"{name}/{path}" for name, path in _unknown(place)]


def _unknown(place: Place) -> Iterator[tuple[str, str]]:
    """Files of tables that their newest version does not have."""
    for name in (*(f"tables/{one}" for one in place.listed("tables")), "findings", "files"):
        has = {one.path for one in opened.files()} if (opened := open_table(place, name)) else set()
        yield from ((name, path) for path, _, _ in place.below(name) if path.endswith(".parquet") and path not in has)


def _actions(log: Path) -> list[dict[str, Any]]:
    """Everything that a log says."""
    return [json.loads(line) for path in log.glob("*.json") for line in path.read_text().splitlines()]


class Alone:
    """As much of a session as the pipeline asks for; tasks run one after the other, in this process."""

    def __init__(self) -> None:
        self.sparkContext = _Context()

    def range(self, *_: int) -> _Frame:
        return _Frame()

    def stop(self) -> None:
        pass


class _Context:
    defaultParallelism = 1  # noqa: N815 - Spark's name

    def setJobGroup(self, _group: str, _about: str) -> None:  # noqa: N802 - Spark's name
        pass

    def cancelJobGroup(self, _group: str) -> None:  # noqa: N802 - Spark's name
        pass


class _Frame:
    def __init__(self, function: Callable[[Any], Any] = iter) -> None:
        self.function = function

    def mapInArrow(self, function: Callable[[Any], Any], _schema: str) -> _Frame:  # noqa: N802 - Spark's name
        return _Frame(function)

    def collect(self) -> list[Any]:
        return [tuple(row.values()) for batch in self.function(iter(())) for row in batch.to_pylist()]
