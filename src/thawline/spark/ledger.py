"""The tables `files` and `findings`: what they say of files that are not intact, and changes to their rows."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from thawline.lake.accounts import FILES, FINDINGS, table_of
from thawline.lake.commits import Change
from thawline.lake.lake import Lake, exact_path
from thawline.lake.table import TableFile
from thawline.spark.intake import Account
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
    sound = pa.array(["intact", "beside", "growing"])
    columns = ["path", "path_b64", "status", "error", "damaged_bytes", "_work"]
    rows = _rows(lake, "files", columns, lambda batch: pc.invert(pc.is_in(batch["status"], sound)))
    missing = pa.array(sorted({row["_work"] for row in rows if row["status"] == "missing"}), pa.string())
    damaged = {row["file"] for row in _errors(lake, missing)} if len(missing) else set()
    unsorted = [
        Standing(
            exact_path(row),
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


def _errors(lake: Lake, works: pa.Array) -> list[dict[str, Any]]:
    """The errors that findings tell of some works."""
    return _rows(
        lake,
        "findings",
        ["file", "severity", "_work"],
        lambda batch: pc.and_(pc.is_in(batch["_work"], works), pc.equal(batch["severity"], "error")),
    )


def _rows(lake: Lake, table: str, columns: list[str] | None, mask: Any) -> list[dict[str, Any]]:
    return [row for batch in lake.batches(table, columns) for row in batch.filter(mask(batch)).to_pylist()]


def _is_folder(row: Mapping[str, Any]) -> bool:
    """Whether a row of `files` is about a folder as a whole."""
    kind, _, path = row["_work"].partition(":")
    return bool(kind.startswith("folder") and path == row["path"])


def settled(
    lake: Lake, marks: Mapping[str, tuple[Account, str]], again: Collection[str], removed: Collection[str]
) -> Change:
    """A change that takes works out, sets status, error and signature of others, and makes further ones new again.

    All other columns of a row stay as they are, and so do the rows of tables.
    """
    by_work = {utf8(key): mark for key, mark in marks.items()}
    renewed = sorted({*by_work, *map(utf8, again)})
    wanted = pa.array(renewed, pa.string())
    rows = _rows(lake, "files", None, lambda batch: pc.is_in(batch["_work"], wanted)) if renewed else []
    changed = [_marked(row, by_work.get(row["_work"])) for row in rows]
    known = {row["_work"] for row in rows}
    new = [account.row(signature) for key, (account, signature) in marks.items() if utf8(key) not in known]
    adds = lake.add("files", pa.concat_tables([pa.Table.from_pylist(changed, FILES), table_of(new, FILES)]))
    facts = {"run": lake.run, "marked": len(marks), "removed": len(removed)}
    return Change(tuple(adds), tuple(sorted(map(utf8, removed))), tuple(renewed), facts=facts)


def _marked(row: dict[str, Any], mark: tuple[Account, str] | None) -> dict[str, Any]:
    """A row with a new status; without one, its work is to be taken in again."""
    if mark is None:
        return {**row, "_signature": ""}
    account, signature = mark
    return {**row, "status": account.status, "error": account.error, "_signature": signature}


def with_past(lake: Lake, accounts: Iterable[Account], grown: Collection[str]) -> list[Account]:
    """The accounts; those of files that have grown with what the lake says of them, to which they are added."""
    listed = list(accounts)
    wanted = pa.array(sorted(map(utf8, grown)), pa.string())
    rows = _rows(lake, "files", None, lambda batch: pc.is_in(batch["_work"], wanted)) if grown else []
    before = {row["_work"]: row for row in rows}
    return [replace(account, before=before.get(utf8(account.work))) for account in listed]


def ledgers(lake: Lake, accounts: Iterable[Account], signatures: Mapping[str, str]) -> list[TableFile]:
    """Files with new rows of `files` and `findings`."""
    listed = list(accounts)
    rows = table_of((account.row(signatures[account.work]) for account in listed), FILES)
    findings = table_of((row for account in listed for row in account.findings()), FINDINGS)
    return [*lake.add("findings", findings), *lake.add("files", rows)]
