"""Commands that output rows: cat, head, tail, convert."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from thawline.cli.options import (
    BYTES,
    COUNTED,
    CSV_SAFE,
    DAMAGE,
    EXIT_ZERO,
    FILES,
    FORMAT,
    JOBS,
    LIMIT,
    OFFERED,
    OUTPUT,
    OVERWRITE,
    PARQUET,
    READING,
    ROWS,
    TALKING,
    session,
    takes,
)

if TYPE_CHECKING:
    import pyarrow as pa

    from thawline.cli.session import Session, WatchedFile
    from thawline.rendering.rows import Kind
    from thawline.sinks import FileKind, RowSink
    from thawline.verbs.cat import FileColumns

COUNT = click.option("-n", "count", type=COUNTED, default=10, show_default=True, metavar="N", help="Rows of each file.")


@click.command()
@takes(FILES, ROWS, LIMIT, DAMAGE, READING, OFFERED, FORMAT, BYTES, CSV_SAFE, JOBS, TALKING, EXIT_ZERO)
@session
def cat(run: Session, *, csv_safe: bool) -> int:
    """Print the rows of files.

    Damage is passed over and counted on stderr; the exit code is then 1. With more than one file, the first column
    says which one a row is from.

    \b
      thawline cat orders.rbf | jq -r .payload
      thawline cat --format csv --columns address,tag_text orders.rbf
    """  # noqa: D301 - click does not wrap the paragraph after a \b
    from thawline.jobs import ALONE
    from thawline.verbs.cat import cat as rows

    left = run.options.limit
    if left is not None:
        run.crew = ALONE  # nothing is read in vain

    def limited(cold: WatchedFile) -> Iterable[pa.RecordBatch]:
        nonlocal left
        for batch in rows(cold, run.options.columns or None, left, run.filter):
            left = None if left is None else left - batch.num_rows
            yield batch

    return _print(run, limited, csv_safe=csv_safe)


@click.command()
@takes(FILES, COUNT, ROWS, DAMAGE, READING, OFFERED, FORMAT, BYTES, CSV_SAFE, TALKING, EXIT_ZERO)
@session
def head(run: Session, count: int, *, csv_safe: bool) -> int:
    """Print the first rows of each file.

    No more of a file is read than that takes; damage after them goes unnoticed.
    """
    from thawline.verbs.cat import head as rows

    return _print(run, lambda cold: rows(cold, count, run.options.columns or None, run.filter), csv_safe=csv_safe)


@click.command()
@takes(FILES, COUNT, ROWS, READING, OFFERED, FORMAT, BYTES, CSV_SAFE, TALKING)
@session
def tail(run: Session, count: int, *, csv_safe: bool) -> int:
    """Print the last rows of each file.

    Where the format can be read from its end, only the end is read, so this is quick on a file of any size; damage
    before it goes unnoticed. `thawline verify` looks at all of it.
    """
    from thawline.verbs.cat import tail as rows

    return _print(run, lambda cold: rows(cold, count, run.options.columns or None, run.filter), csv_safe=csv_safe)


def _print(run: Session, rows: Callable[[WatchedFile], Iterable[pa.RecordBatch]], *, csv_safe: bool) -> int:
    """Write rows of each input to stdout."""
    if run.kind == "arrow" and sys.stdout.isatty():
        raise click.UsageError("an Arrow stream is binary; send it to a file or a pipe")
    if csv_safe and run.kind != "csv":
        raise click.UsageError("--csv-safe is about CSV; add --format csv")
    sink = sink_of(run, csv_safe=csv_safe)

    def add(cold: WatchedFile) -> None:
        sink.add(*_named(run, cold, rows(cold)), cold.name)
        say_skipped(run, cold)

    run.each(add)
    sink.close()
    run.say_none(sink.rows)
    return run.exit_code


def sink_of(run: Session, *, csv_safe: bool, takes_columns: bool = True) -> RowSink:
    """Where rows go: tables to the console, all else to stdout."""
    if run.kind == "table" or run.kind == "vertical":  # noqa: PLR1714 - mypy narrows only so
        from thawline.rendering.rows import HINT, ONLY_VERTICAL, row_sink

        if sys.stdout.isatty():
            run.progress.mode = "none"  # the rows show the progress
        hint = HINT if takes_columns else ONLY_VERTICAL
        return row_sink(run.kind, run.stdout, run.console, run.options.bytes, hint)
    from thawline.sinks import file_sink

    return file_sink(
        run.kind, run.stdout, run.options.bytes, csv_safe=csv_safe, on_formula=formula_remark(run), crew=run.crew
    )


def formula_remark(run: Session) -> Callable[[], None]:
    """Says once that there are cells which a spreadsheet evaluates."""
    return lambda: run.remark("some cells begin as formulas of a spreadsheet do; --csv-safe guards them")


def _named(
    run: Session, cold: WatchedFile, batches: Iterable[pa.RecordBatch]
) -> tuple[pa.Schema, Iterable[pa.RecordBatch]]:
    """Rows and their schema, with a column for the file's name if the command has several files."""
    from thawline.verbs.cat import columns_of

    schema, named = columns_of(cold, run.options.columns or None), _file_columns(run, run.kind)
    return (named.schema(schema), named.rows(batches, cold.name)) if named else (schema, batches)


def _file_columns(run: Session, kind: Kind | FileKind) -> FileColumns | None:
    """The columns for a row's file, if the command has several files; the same for all rows of an output."""
    from thawline.verbs.cat import FileColumns

    if not run.has_many:
        return None
    is_for_people = kind in {"table", "vertical"}
    return FileColumns() if is_for_people else FileColumns.of(one.path for one in run.inputs)


def say_skipped(run: Session, cold: WatchedFile) -> None:
    """Report the damage that the rows of a file do not include, if any."""
    from thawline.rendering.words import counted, printable, quoted
    from thawline.verbs.verify import spec_option

    if not cold.errors:
        return
    done = "kept" if run.options.on_error == "keep" else "skipped"
    remarks = [f"gave {counted(cold.given_rows, 'row')} that verify counts as damaged"] if cold.given_rows else []
    if cold.skipped or not remarks:
        skipped = cold.skipped or cold.errors
        remarks.append(f"{done} {counted(cold.damaged_bytes, 'damaged byte')} ({counted(skipped, 'finding')})")
    command = f"thawline verify {quoted(cold.name)}{spec_option(cold)}"
    run.remark(f"{printable(cold.name)}: {', '.join(remarks)}; see: {command}")


@click.command()
@takes(
    FILES,
    OUTPUT,
    OVERWRITE,
    PARQUET,
    ROWS,
    DAMAGE,
    READING,
    OFFERED,
    BYTES,
    CSV_SAFE,
    JOBS,
    TALKING,
    EXIT_ZERO,
)
@session
def convert(
    run: Session,
    output: str,
    *,
    overwrite: bool,
    csv_safe: bool,
    compression: str | None,
    row_group_bytes: int | None,
    partition_by: str | None,
) -> int:
    """Write the rows of files to OUT: .parquet, .arrow, .jsonl or .csv.

    An OUT that ends with a slash is a folder of Parquet files. OUT appears when it is complete. Damage is passed over
    and counted on stderr; the exit code is then 1. With more than one file, the first column says which one a row is
    from.
    """
    from thawline.parquet import ParquetSettings
    from thawline.rendering.words import counted, quoted
    from thawline.verbs.convert import convert as write
    from thawline.verbs.convert import convert_to_parts, kind_of

    is_folder = output.endswith(os.sep)
    kind = "parquet" if is_folder else kind_of(Path(output))
    if csv_safe and kind != "csv":
        raise click.UsageError(f"--csv-safe is about CSV, and {output} is none")
    if kind != "parquet" and (compression or row_group_bytes):
        raise click.UsageError(f"--compression and --row-group-bytes are about Parquet, and {output} is none")
    if partition_by and not is_folder:
        raise click.UsageError(f"--partition-by makes a folder of files; write -o {output}/")
    shared: dict[str, Any] = {
        "columns": run.options.columns or None,
        "where": run.filter,
        "overwrite": overwrite,
        "named": _file_columns(run, kind),
        "parquet": ParquetSettings.of(compression or "zstd", row_group_bytes),
        "crew": run.crew,
    }
    files = _convertible(run, kind)
    if is_folder:
        rows = convert_to_parts(files, Path(output), partition_by=partition_by, **shared)
    else:
        formulas: dict[str, Any] = {"csv_safe": csv_safe, "on_formula": formula_remark(run)}
        rows = write(files, Path(output), mode=run.options.bytes, **formulas, **shared)
    run.say_none(rows)
    run.remark(f"wrote {counted(rows, 'row')} to {quoted(output)}")
    return run.exit_code


def _convertible(run: Session, kind: FileKind) -> Iterator[WatchedFile]:
    """The files whose rows go into one output."""
    from thawline.rendering.words import printable
    from thawline.sinks import MIXED
    from thawline.verbs.cat import columns_of

    columns = run.options.columns or None
    first: list[WatchedFile] = []

    def refusal(cold: WatchedFile) -> str:
        """Why a file of a folder is left out: all rows of a table have the same columns."""
        if kind in MIXED or not first or columns_of(cold, columns).equals(columns_of(first[0], columns)):
            return ""
        return f"its rows have other columns than those of {printable(first[0].name)}; convert it by itself"

    for cold in run.opened(refusal):
        first[:] = first or [cold]
        yield cold
        say_skipped(run, cold)
    if not first and run.code:  # no file could be read, so no output is written
        raise click.exceptions.Exit(run.code)
