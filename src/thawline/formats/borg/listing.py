"""The items of an archive as rows."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

import pyarrow as pa

from thawline.formats.borg.archives import Item
from thawline.values import well_formed

__all__ = ["ITEMS", "item_rows"]

ITEMS = pa.schema(
    [
        ("path", pa.string()),
        ("kind", pa.string()),
        ("mode", pa.string()),
        ("user", pa.string()),
        ("group", pa.string()),
        ("size", pa.int64()),
        ("mtime", pa.timestamp("ns", "UTC")),
        ("target", pa.string()),
        ("chunks", pa.int64()),
        ("content", pa.string()),
    ]
)
"""`content` stands for the chunks of a file: it is the same where its content is, in repositories with one key."""
TOGETHER = 4096


def item_rows(items: Iterable[Item]) -> Iterator[pa.RecordBatch]:
    """Items in batches of rows; a repository may have many millions."""
    waiting = iter(items)
    while some := [_row(item) for item in islice(waiting, TOGETHER)]:
        yield pa.RecordBatch.from_pylist(some, schema=ITEMS)


def _row(item: Item) -> dict[str, Any]:
    digest = hashlib.sha256()
    for chunk_id, size in item.chunks:
        digest.update(f"{chunk_id} {size}\n".encode())
    texts = well_formed({"path": item.path, "user": item.user, "group": item.group, "target": item.target})
    return {
        "path": texts["path"],
        "kind": item.kind,
        "mode": f"{item.mode:04o}",
        "user": texts["user"],
        "group": texts["group"],
        "size": item.size,
        "mtime": item.mtime,
        "target": texts["target"],
        "chunks": len(item.chunks),
        "content": digest.hexdigest() if item.chunks else None,
    }
