"""The tables `files` and `findings` of a lake, and changes to single rows of them."""

from __future__ import annotations

import os
from base64 import b64decode
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

from thawline.packed import PAGE
from thawline.spark.intake import FILES, FINDINGS, Account
from thawline.spark.lake import Entry, Lake, Output
from thawline.spark.tables import SUFFIXES, Writer
from thawline.values import well_formed
from thawline.wording import utf8

UNREAD = ("unreadable", "left out", "unknown")
"""Statuses of files that were not read."""
REASONS = {"unknown": "no format recognises it", "missing": "is gone from its source since an earlier run"}


@dataclass(frozen=True, slots=True)
class Standing:
    """The state in a lake of a file that is not intact."""

    path: str
    status: str
    reason: str
    damaged_bytes: int
    is_damaged: bool
    """Also true of a missing file that was damaged: its lost rows are still absent from the tables."""
    is_suspect: bool = False
    """Whether no format recognises it although its name or its bytes resemble one."""

    @property
    def is_unread(self) -> bool:
        """Whether the file was not read."""
        return self.status in UNREAD


def standings(lake: Lake) -> list[Standing]:
    """Every file that is damaged, missing or unread, sorted by path."""
    names = ["path", "path_b64", "status", "error", "damaged_bytes", "_work"]
    rows = _rows(lake, FILES, names, ~pc.field("status").isin(["intact", "beside"]))
    missing = sorted({row["_work"] for row in rows if row["status"] == "missing"})
    errors = pc.field("_work").isin(missing) & (pc.field("severity") == "error")
    damaged = {row["file"] for row in _rows(lake, FINDINGS, ["file"], errors)} if missing else set()
    unsorted = [
        Standing(
            _exact(row),
            row["status"],
            row["error"] or REASONS.get(row["status"], ""),
            row["damaged_bytes"],
            row["status"] == "damaged" or (row["status"] == "missing" and row["path"] in damaged),
            row["status"] == "unknown" and bool(row["error"]),
        )
        for row in rows
        if row["status"] != "missing" or not _is_folder(row)  # the files of a missing folder have their own rows
    ]
    return sorted(unsorted, key=lambda standing: standing.path)


def _is_folder(row: Mapping[str, Any]) -> bool:
    """Whether a row of `files` is about a folder as a whole."""
    kind, _, path = row["_work"].partition(":")
    return bool(kind.startswith("folder") and path == row["path"])


def _exact(row: Mapping[str, Any]) -> str:
    """The name of a file as the file system spells it, even if it is not UTF-8."""
    return os.fsdecode(b64decode(row["path_b64"])) if row["path_b64"] else row["path"]


def _rows(lake: Lake, schema: pa.Schema, columns: list[str], condition: pc.Expression) -> list[dict[str, Any]]:
    table = "files" if schema is FILES else "findings"
    places = [lake.path / place for place in lake.outputs if place.startswith(f"{table}/")]
    if not places:
        return []
    dataset = ds.dataset([str(place) for place in places], schema, format=_kind(lake))
    rows: list[dict[str, Any]] = dataset.to_table(columns=columns, filter=condition).to_pylist()
    return rows


def _kind(lake: Lake) -> str:
    return "ipc" if lake.output_format == "arrow" else lake.output_format


def supersede(lake: Lake, entry: Entry, stale: Collection[str], staging: Path) -> None:
    """Make an entry remove everything that the lake holds of stale works."""
    for place, output in lake.outputs.items():
        if stale_here := set(stale).intersection(output.works):
            entry.removed.append(place)
            entry.outputs += _without(lake, output, stale_here, staging)


def _without(lake: Lake, output: Output, stale: set[str], staging: Path) -> Iterator[Output]:
    """A file of a table without the rows of stale works; nothing if no other rows remain."""
    kept = tuple(work for work in output.works if work not in stale)
    if not kept:
        return
    dataset = ds.dataset(lake.path / output.place, format=_kind(lake))
    if "_work" in dataset.schema.names:
        condition = ~pc.field("_work").isin([utf8(key) for key in sorted(stale)])
    else:
        condition = ~pc.field("_file").isin([utf8(key.partition(":")[2]) for key in sorted(stale)])
    yield _replacement(lake, output, kept, dataset.to_table(filter=condition), staging)


def mark(lake: Lake, entry: Entry, marks: Mapping[str, Account], staging: Path) -> None:
    """Make an entry set the status and the error of files; all other columns stay as they are."""
    works: set[str] = set()
    paths: set[str] = set()
    by_work = {utf8(key): account for key, account in marks.items()}
    for place, output in lake.outputs.items():
        if place.startswith("files/") and set(marks).intersection(output.works):
            rows = ds.dataset(lake.path / place, format=_kind(lake)).to_table().to_pylist()
            works |= {row["_work"] for row in rows}
            paths |= {row["path"] for row in rows}
            changed = pa.Table.from_pylist([_marked(row, by_work.get(row["_work"])) for row in rows], FILES)
            entry.removed.append(place)
            entry.outputs.append(_replacement(lake, output, output.works, changed, staging))
    new = [one for key, one in marks.items() if utf8(key) not in works and utf8(one.path) not in paths]
    entry.outputs += ledgers(new, staging, lake)


def _marked(row: dict[str, Any], account: Account | None) -> dict[str, Any]:
    return {**row, "status": account.status, "error": account.error} if account else row


def _replacement(lake: Lake, output: Output, works: tuple[str, ...], rows: pa.Table, staging: Path) -> Output:
    """A file of a table with changed rows, under a new name."""
    place = Path(output.place)
    name = f"{place.stem.partition('~')[0]}~{os.urandom(4).hex()}{place.suffix}"
    with Writer(staging / name, rows.schema, lake.output_format) as writer:
        writer.write(rows)
    return Output(str(staging / name), str(place.with_name(name)), works, rows.num_rows)


def ledgers(accounts: Iterable[Account], staging: Path, lake: Lake) -> Iterator[Output]:
    """New rows of `files` and `findings`."""
    listed = list(accounts)
    tables = {
        "files": _table((account.row() for account in listed), FILES),
        "findings": _table((row for account in listed for row in account.findings()), FINDINGS),
    }
    works = tuple(sorted({account.work for account in listed}))
    for name, rows in tables.items():
        if rows.num_rows:
            file = f"part-{os.urandom(8).hex()}.{SUFFIXES[lake.output_format]}"
            with Writer(staging / f"{name}-{file}", rows.schema, lake.output_format) as writer:
                writer.write(rows)
            yield Output(str(staging / f"{name}-{file}"), f"{name}/{file}", works, rows.num_rows)


def _table(rows: Iterable[Mapping[str, Any]], schema: pa.Schema) -> pa.Table:
    """Rows as a table; names that are not UTF-8 are escaped, and their bytes are kept in base64."""
    return pa.Table.from_batches(
        [pa.RecordBatch.from_pylist([well_formed(row) for row in page], schema=schema) for page in _pages(rows)], schema
    )


def _pages(rows: Iterable[Mapping[str, Any]]) -> Iterator[list[Mapping[str, Any]]]:
    waiting = iter(rows)
    while page := list(islice(waiting, PAGE)):
        yield page
