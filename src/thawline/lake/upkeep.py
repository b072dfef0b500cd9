"""Upkeep of lakes: what is in them, small files packed into large ones, files and rows removed."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from thawline.errors import SourceError
from thawline.lake.accounts import DATA
from thawline.lake.commits import Change
from thawline.lake.forms import known, open_table
from thawline.lake.lake import PENDING, Lake, refuse_former
from thawline.lake.place import LakeError, Place
from thawline.lake.table import Table
from thawline.wording import utf8

__all__ = ["Commit", "Status", "TableStatus", "compact", "forget", "history_of", "pack", "status_of", "vacuum"]

TARGET = 128 << 20
"""Bytes of a table file."""
SMALL = 16 << 20
FEW = 16
"""Small files of a table that are left as they are."""
MOST = 2 << 30
"""Bytes that are packed at the end of a run; `thawline lake compact` packs any number."""


@dataclass(frozen=True, slots=True)
class TableStatus:
    """A table as it is now."""

    name: str
    rows: int
    files: int
    size: int
    version: int


@dataclass(frozen=True, slots=True)
class Status:
    """A lake as it is now."""

    tables: tuple[TableStatus, ...]
    statuses: dict[str, int]
    """The number of files by status."""


@dataclass(frozen=True, slots=True)
class Commit:
    """A commit of a lake."""

    number: int
    at: str
    run: str
    did: str
    files: int
    rows: int


def existing(to: str | os.PathLike[str]) -> Lake:
    """The lake at a place; `SourceError` if there is none."""
    refuse_former(Place.of(to))
    place = known(to)
    if not (place.exists("files/_delta_log") if place.form == "delta" else open_table(place, "files")):
        raise SourceError(f"{place}: is no lake; `thawline ingest SOURCE --to {place}` makes one")
    return Lake.open(to)


def tables(place: Place) -> Iterator[Table]:
    """The tables of a lake; `files` is the last."""
    for name in (*(f"{DATA}{name}" for name in place.listed(DATA)), "findings", "files"):
        if found := open_table(place, name):
            yield found


def status_of(to: str | os.PathLike[str]) -> Status:
    """What is in a lake."""
    lake = existing(to)
    lake.refresh()
    found = []
    for table in tables(lake.place):
        files = table.files()
        rows, size = sum(one.rows for one in files), sum(one.size for one in files)
        found.append(TableStatus(table.name, rows, len(files), size, table.version))
    counts: Counter[str] = Counter()
    for batch in lake.batches("files", ["status"]):
        counts.update(batch["status"].to_pylist())
    return Status(tuple(found), dict(counts))


def history_of(to: str | os.PathLike[str]) -> list[Commit]:
    """The commits of a lake, newest first."""
    place = existing(to).place
    files = open_table(place, "files")
    found = []
    for one in files.history() if files else ():
        facts = one.get("thawline", {})
        if "commit" in facts:
            at = datetime.fromtimestamp(one["timestamp"] / 1000, UTC).isoformat(timespec="seconds")
            rows = sum(facts.get("rows", {}).values())
            found.append(Commit(facts["commit"], at, facts.get("run", ""), _did(facts), facts.get("files", 0), rows))
    return found


def _did(facts: dict[str, object]) -> str:
    """A commit in a word or two."""
    if "forgot" in facts:
        return f"forgot {facts['forgot']}"
    if "files" in facts:
        return "took in"
    return f"marked {facts.get('marked', 0)}, took out {facts.get('removed', 0)}"


def pack(place: Place) -> None:
    """Pack the small files of tables that have many."""
    for table in tables(place):
        small = [one.size for one in table.files() if one.size < SMALL]
        if len(small) > FEW and sum(small) < MOST:
            table.pack(TARGET)


def compact(to: str | os.PathLike[str]) -> int:
    """Rewrite small files as large ones; returns how many fewer there are."""
    lake = existing(to)
    with _naming(lake):
        lake.refresh()
        return sum(table.pack(TARGET) for table in tables(lake.place))


def vacuum(to: str | os.PathLike[str], hours: int) -> int:
    """Remove files that no version younger than some hours needs; returns how many."""
    lake = existing(to)
    with _naming(lake):
        number = lake.refresh().number
        for name in lake.place.listed(PENDING):
            if int(name.partition("-")[0]) <= number:
                lake.place.remove(f"{PENDING}/{name}")
        return sum(table.vacuum(hours) for table in tables(lake.place))


def forget(to: str | os.PathLike[str], paths: Sequence[str]) -> int:
    """Take files out of a lake, with all of their rows; returns how many."""
    lake = existing(to)
    known = lake.refresh().works
    wanted = [*map(_keys, paths)]
    if unknown := [path for path, keys in zip(paths, wanted, strict=True) if not keys & known.keys()]:
        raise SourceError(f"{lake.place}: knows no file {unknown[0]}; its table `files` has the names of all")
    works = known.keys() & set().union(*wanted)
    change = Change(stale=_sorted(works), facts={"run": lake.run, "forgot": len(works)})
    with _naming(lake):
        lake.commit(change, {key: known[key].signature for key in works})
    return len(works)


@contextmanager
def _naming(lake: Lake) -> Iterator[None]:
    """Add to a `LakeError` the path of the lake."""
    try:
        yield
    except LakeError as error:
        raise LakeError(f"{lake.place}: {error}") from error


def _keys(path: str) -> set[str]:
    """The keys that the work of a path may have."""
    absolute = path if "://" in path else str(Path(path).absolute())
    return {f"{kind}:{name}" for kind in ("file", "folder") for name in (path, absolute)}


def _sorted(works: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(map(utf8, works)))
