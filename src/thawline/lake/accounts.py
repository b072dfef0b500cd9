"""The tables that every lake has: what became of every file, and everything that is wrong."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Any

import pyarrow as pa

from thawline import formats
from thawline.errors import ThawlineError
from thawline.lake.table import Documented
from thawline.packed import PAGE
from thawline.values import well_formed

__all__ = ["DATA", "FILES", "FINDINGS", "column_of", "documented", "table_of"]

DATA = "tables/"
"""The folder of the tables of rows."""
FILES = pa.schema(
    [
        ("path", pa.string()),
        ("size", pa.int64()),
        ("sha256", pa.string()),
        ("format", pa.string()),
        ("version", pa.string()),
        ("units", pa.int64()),
        ("rows", pa.int64()),
        ("intact_bytes", pa.int64()),
        ("damaged_bytes", pa.int64()),
        ("findings", pa.int64()),
        ("status", pa.string()),
        ("error", pa.string()),
        ("_work", pa.string()),
        ("_signature", pa.string()),
        ("path_b64", pa.string()),
        ("_work_b64", pa.string()),
    ]
)
FINDINGS = pa.schema(
    [
        ("file", pa.string()),
        ("format", pa.string()),
        ("code", pa.string()),
        ("severity", pa.string()),
        ("start", pa.int64()),
        ("end", pa.int64()),
        ("message", pa.string()),
        ("lost", pa.string()),
        ("detail", pa.string()),
        ("hint", pa.string()),
        ("_work", pa.string()),
        ("file_b64", pa.string()),
    ]
)
MEANINGS = {
    "path": "path or URL of the file",
    "size": "bytes",
    "sha256": "checksum of its content",
    "format": "of which it is; null if no format recognises it",
    "version": "of its format, as far as it has one",
    "units": "frames, batches, blobs, records or whatever its format is made of",
    "rows": "of the format's first table",
    "intact_bytes": "bytes that were verified",
    "damaged_bytes": "bytes that were not readable or break a rule",
    "findings": "rows about it in `findings`",
    "status": "intact, damaged, unknown (no format recognises it), unreadable, left out (not a regular file), beside "
    "(in a folder of its format, but not a member), growing (still written to, and whole as far as it was taken in), "
    "or missing (gone from its source since it was taken in)",
    "error": "why it is unreadable, or what it resembles",
    "file": "path or URL of the file",
    "code": "of the finding; `thawline explain` tells what it means",
    "severity": "error or note",
    "start": "first byte that it is about",
    "end": "the byte behind it",
    "message": "what is wrong",
    "lost": "what is lost by it, in the words of those who have lost it",
    "detail": "JSON",
    "hint": "what to do",
    "path_b64": "the exact name in base64, where it is no UTF-8",
    "file_b64": "the exact name in base64, where it is no UTF-8",
    "_file": "path or URL of the file that the row is from",
    "_work": "what took it in: a file, or a folder as a whole",
    "_work_b64": "the exact name in base64, where it is no UTF-8",
    "_signature": "what changes when the file does",
}


def documented(table: str, schema: pa.Schema) -> Documented:
    """The schema of a table of a lake, with what it and its columns mean."""
    if table == "files":
        return Documented.of(schema, "What became of every file, and of every folder that is a whole.", MEANINGS)
    if table == "findings":
        return Documented.of(schema, "Everything that is wrong, with its file and bytes.", MEANINGS)
    format_name, _, name = table.removeprefix(DATA).partition("_")
    try:
        known = formats.get(format_name).tables[name]
    except (ThawlineError, KeyError):
        return Documented.of(schema, "", MEANINGS)
    return Documented.of(schema, known.doc, {**MEANINGS, **known.meanings})


def column_of(table: str) -> str:
    """The column that says where the rows of a table are from."""
    return "_file" if table.startswith(DATA) else "_work"


def table_of(rows: Iterable[Mapping[str, Any]], schema: pa.Schema) -> pa.Table:
    """Rows as a table; names that are not UTF-8 are escaped, and their bytes are kept in base64."""
    return pa.Table.from_batches(
        [pa.RecordBatch.from_pylist([well_formed(row) for row in page], schema=schema) for page in _pages(rows)], schema
    )


def _pages(rows: Iterable[Mapping[str, Any]]) -> Iterator[list[Mapping[str, Any]]]:
    waiting = iter(rows)
    while page := list(islice(waiting, PAGE)):
        yield page
