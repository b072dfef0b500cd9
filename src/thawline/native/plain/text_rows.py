"""Rows of a batch as JSON or CSV: by way of Python's objects, and of Arrow's own writer of CSV."""

from __future__ import annotations

from io import BytesIO

import pyarrow as pa

from thawline.values import BYTES, flat, guarded, json_texts


def unplanned(schema: pa.Schema, mode: int, is_csv: bool) -> list[int]:  # noqa: ARG001, FBT001 - as compiled code has it
    """Nothing: Python knows all types."""
    return []


def json_rows(batch: pa.RecordBatch, written: list[int], mode: int, before: bytes, after: bytes) -> bytes:  # noqa: ARG001
    """The rows of a batch as JSON objects, each between two texts; no column is `written`, as none is unplanned."""
    return b"".join(part for text in json_texts(batch, BYTES[mode]) for part in (before, text, after))


def csv_rows(batch: pa.RecordBatch, written: list[int], mode: int, is_guarded: bool) -> bytes:  # noqa: ARG001, FBT001
    """The rows of a batch as lines of CSV; no column is `written`, as above."""
    from pyarrow import csv  # noqa: PLC0415 - slow to import

    file, rows = BytesIO(), flat(batch, BYTES[mode])
    csv.write_csv(guarded(rows) if is_guarded else rows, file, csv.WriteOptions(include_header=False))
    return file.getvalue()
