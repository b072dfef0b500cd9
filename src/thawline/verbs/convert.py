"""The rows of files as one Parquet, Arrow, JSON lines or CSV file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from thawline.errors import ThawlineError
from thawline.outputs import replacing
from thawline.sinks import FileKind, file_sink
from thawline.values import Bytes
from thawline.verbs.cat import EVERY, FileColumns, cat, columns_of

if TYPE_CHECKING:
    from thawline.cold import ColdFile

SUFFIXES: dict[str, FileKind] = {".parquet": "parquet", ".arrow": "arrow-file", ".jsonl": "jsonl", ".csv": "csv"}


class UnknownSuffix(ThawlineError):
    """The name of an output has no suffix that selects a file type."""


def convert(
    files: Iterable[ColdFile],
    target: Path,
    *,
    columns: Sequence[str] | None = None,
    where: Mapping[str, str] = EVERY,
    mode: Bytes = "auto",
    csv_safe: bool = False,
    overwrite: bool = False,
    named: FileColumns | None = None,
) -> int:
    """Write the rows of files into one file, of the type of its suffix; returns the number of rows.

    With `named`, the first columns name the file of a row.
    """
    kind = kind_of(target)
    with replacing(target, overwrite=overwrite) as file, file_sink(kind, file, mode, csv_safe=csv_safe) as sink:
        for cold in files:
            schema, batches = columns_of(cold, columns), cat(cold, columns, where=where)
            if named:
                schema, batches = named.schema(schema), named.rows(batches, cold.name)
            sink.add(schema, batches, cold.name)
    return sink.rows


def kind_of(target: Path) -> FileKind:
    """The file type that a name's suffix selects."""
    if target.suffix.lower() not in SUFFIXES:
        raise UnknownSuffix(f"{target}: the name must end in one of {', '.join(SUFFIXES)}")
    return SUFFIXES[target.suffix.lower()]
