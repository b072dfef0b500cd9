"""Rows of files as one Parquet, Arrow, JSON lines or CSV file."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import pyarrow as pa

from thawline.cold import ColdFile
from thawline.errors import ThawlineError
from thawline.outputs import replacing
from thawline.rendering.console import console
from thawline.rendering.rows import Kind, RowSink
from thawline.rendering.values import Bytes
from thawline.verbs.cat import EVERY, cat, columns_of, with_file

SUFFIXES: dict[str, Kind] = {".parquet": "parquet", ".arrow": "arrow-file", ".jsonl": "jsonl", ".csv": "csv"}


class UnknownSuffix(ThawlineError):
    """The name of an output does not say what it should be."""


def convert(
    files: Iterable[ColdFile],
    target: Path,
    *,
    columns: Sequence[str] | None = None,
    where: Mapping[str, str] = EVERY,
    mode: Bytes = "auto",
    overwrite: bool = False,
    named: bool = False,
) -> int:
    """Write the rows of some files into one, whose suffix says of which kind; how many rows that were.

    With `named`, the first column is the name of the file that a row is from.
    """
    kind = kind_of(target)
    with replacing(target, overwrite=overwrite) as file, RowSink(kind, file, console(sys.stdout), mode) as sink:
        for cold in files:
            schema, batches = columns_of(cold, columns), cat(cold, columns, where=where)
            if named:
                schema, batches = schema.insert(0, pa.field("file", pa.string())), with_file(batches, cold.name)
            sink.add(schema, batches, cold.name)
    return sink.rows


def kind_of(target: Path) -> Kind:
    """What a file of this name should hold."""
    if target.suffix.lower() not in SUFFIXES:
        raise UnknownSuffix(f"{target}: the name must end in one of {', '.join(SUFFIXES)}")
    return SUFFIXES[target.suffix.lower()]
