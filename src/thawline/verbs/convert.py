"""The rows of files as one Parquet, Arrow, JSON lines or CSV file."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from thawline.errors import ThawlineError
from thawline.filters import EVERY, Filter
from thawline.jobs import ALONE, Crew
from thawline.outputs import replacing, replacing_folder
from thawline.parquet import ParquetSettings
from thawline.parts import PartsWriter
from thawline.sinks import FileKind, RowSink, Told, file_sink
from thawline.values import Bytes
from thawline.verbs.cat import FileColumns, cat, columns_of

if TYPE_CHECKING:
    from thawline.verbs.opened import OpenFile

SUFFIXES: dict[str, FileKind] = {
    ".parquet": "parquet",
    ".arrow": "arrow-file",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".csv": "csv",
}


class UnknownSuffix(ThawlineError):
    """The name of an output has no suffix that selects a file type."""


def convert(
    files: Iterable[OpenFile],
    target: Path,
    *,
    columns: Sequence[str] | None = None,
    where: Filter = EVERY,
    mode: Bytes = "auto",
    csv_safe: bool = False,
    on_formula: Told | None = None,
    overwrite: bool = False,
    named: FileColumns | None = None,
    parquet: ParquetSettings | None = None,
    crew: Crew = ALONE,
) -> int:
    """Write the rows of files into one file, of the type of its suffix; returns the number of rows.

    With `named`, the first columns name the file of a row. A crew encodes row groups of Parquet side by side.
    """
    kind = kind_of(target)
    with (
        replacing(target, overwrite=overwrite) as file,
        file_sink(kind, file, mode, csv_safe=csv_safe, on_formula=on_formula, parquet=parquet, crew=crew) as sink,
    ):
        _add(sink, files, columns, where, named)
    return sink.rows


def convert_to_parts(
    files: Iterable[OpenFile],
    folder: Path,
    *,
    columns: Sequence[str] | None = None,
    where: Filter = EVERY,
    overwrite: bool = False,
    named: FileColumns | None = None,
    parquet: ParquetSettings | None = None,
    partition_by: str | None = None,
    crew: Crew = ALONE,
) -> int:
    """Write the rows of files as the Parquet files of a folder; returns the number of rows.

    With `partition_by`, each value of that column has a folder of its own. All of it appears when it is complete.
    """
    with replacing_folder(folder, overwrite=overwrite) as staged:
        make = partial(PartsWriter, staged, settings=parquet, crew=crew, by=partition_by)
        with RowSink(make, is_mixed=False) as sink:
            _add(sink, files, columns, where, named)
    return sink.rows


def _add(
    sink: RowSink,
    files: Iterable[OpenFile],
    columns: Sequence[str] | None,
    where: Filter,
    named: FileColumns | None,
) -> None:
    for cold in files:
        schema, batches = columns_of(cold, columns), cat(cold, columns, where=where)
        if named:
            schema, batches = named.schema(schema), named.rows(batches, cold.name)
        sink.add(schema, batches, cold.name)


def kind_of(target: Path) -> FileKind:
    """The file type that a name's suffix selects."""
    if target.suffix.lower() not in SUFFIXES:
        raise UnknownSuffix(f"{target}: the name must end in one of {', '.join(SUFFIXES)}")
    return SUFFIXES[target.suffix.lower()]
