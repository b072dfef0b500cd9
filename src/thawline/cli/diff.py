"""The command diff: what differs between two files, folders or backups."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from thawline.cli.options import (
    BYTES,
    CSV_SAFE,
    EXIT_ZERO,
    FORMAT,
    JOBS,
    LIMIT,
    OFFERED,
    OVERWRITE,
    PATH,
    READING,
    TALKING,
    names,
    session,
    takes,
)

if TYPE_CHECKING:
    import pyarrow as pa

    from thawline.cli.session import Session, WatchedFile
    from thawline.sinks import RowSink
    from thawline.verbs.diff import Difference

DIFFERENT = 1


@click.command()
@takes(
    click.argument("a", type=PATH, metavar="A"),
    click.argument("b", type=PATH, metavar="B"),
    click.option("--table", metavar="NAME", help="The table to compare; a format's first one by default."),
    click.option(
        "--key",
        type=names,
        default=(),
        metavar="A,B,…",
        help="The columns that identify a row; by default those that `thawline help FORMAT` names.",
    ),
    click.option("--columns", type=names, default=(), metavar="A,B,…", help="Compare only these columns of such rows."),
    LIMIT,
    click.option("-o", "--output", type=click.Path(), metavar="OUT", help="Write the rows to a file, as convert does."),
    OVERWRITE,
    READING,
    OFFERED,
    FORMAT,
    BYTES,
    CSV_SAFE,
    JOBS,
    TALKING,
    EXIT_ZERO,
)
@session
def diff(
    run: Session, a: str, b: str, *, key: tuple[str, ...], output: str | None, overwrite: bool, csv_safe: bool
) -> int:
    """Compare the rows of A and B: files, or folders of files, of one format.

    Rows with the same identity are compared: a topic, partition and offset of Kafka, a digest of Aerospike, a chunk of
    Borg, an address of RBF, a message of a queue of RBAK. `removed` rows are only in A, `added` ones only in B; of a
    `changed` row there are two lines, and `columns` names what differs; a `moved` row only lies elsewhere.

    The exit code is 0 only where every byte of both sides could be read and all rows are the same, else 1.

    \b
      thawline diff monday.asb tuesday.asb
      thawline diff orders-3/ /mnt/copy/orders-3/ -o differences.parquet
      thawline diff --key tag old.rbf new.rbf
    """  # noqa: D301 - click does not wrap the paragraph after a \b
    from thawline.verbs.diff import diff as compare

    if csv_safe and _kind(run, output) != "csv":
        raise click.UsageError("--csv-safe is about CSV; add --format csv")
    sides = [_side(run, name) for name in (a, b)]
    files_a, files_b = (_files(side) for side in sides)
    with compare(files_a, files_b, key, run.options.columns) as found:
        for side in sides:
            run.code = max(run.code, side.code, DIFFERENT if side.unread else 0)
        run.code = max(run.code, 0 if found.is_same else DIFFERENT)
        show_difference(run, found, output, overwrite=overwrite, csv_safe=csv_safe)
        _conclude(run, found, output, sides)
    return run.exit_code


def _side(run: Session, name: str) -> Session:
    """A session of its own for a side, which knows what was met there."""
    from thawline.cli.session import Session

    side = Session(replace(run.options, files=(name,), columns=()))
    side.stdout = run.stdout
    return side


def _files(side: Session) -> Iterator[WatchedFile]:
    """The files of a side; reports what was skipped in each."""
    from thawline.cli.rows import say_skipped

    table = ""

    def refusal(cold: WatchedFile) -> str:
        """Why a file of a folder is left out."""
        is_other = bool(table) and cold.table != table
        return f"holds {cold.table}, and {table} are compared" if is_other else ""

    for cold in side.opened(refusal):
        table = table or cold.table
        yield cold
        say_skipped(side, cold)


def show_difference(run: Session, found: Difference, output: str | None, *, overwrite: bool, csv_safe: bool) -> None:
    """Write the rows to the output; on a terminal, after the counts."""
    from thawline.batches import first

    rows = found.batches() if run.options.limit is None else first(found.batches(), run.options.limit)
    if output is not None:
        _write(run, found, rows, output, overwrite=overwrite, csv_safe=csv_safe)
        return
    if run.kind == "table" or run.kind == "vertical":  # noqa: PLR1714 - mypy narrows only so
        from thawline.rendering.differences import summary

        run.console.print(summary(found))
        if not found.counts.differences:
            return
    sink = _sink(run, csv_safe=csv_safe)
    sink.add(found.schema, rows, "")
    sink.close()


def _sink(run: Session, *, csv_safe: bool) -> RowSink:
    from thawline.cli.rows import formula_remark
    from thawline.rendering.rows import row_sink
    from thawline.sinks import file_sink

    if run.kind == "csv":
        return file_sink("csv", run.stdout, run.options.bytes, csv_safe=csv_safe, on_formula=formula_remark(run))
    return row_sink(run.kind, run.stdout, run.console, run.options.bytes)


def _kind(run: Session, output: str | None) -> str:
    from thawline.verbs.convert import kind_of

    return run.kind if output is None else kind_of(Path(output))


def _write(
    run: Session, found: Difference, rows: Iterator[pa.RecordBatch], output: str, *, overwrite: bool, csv_safe: bool
) -> None:
    from thawline.cli.rows import formula_remark
    from thawline.outputs import replacing
    from thawline.rendering.words import counted, quoted
    from thawline.sinks import file_sink
    from thawline.verbs.convert import kind_of

    kind, target = kind_of(Path(output)), Path(output)
    with (
        replacing(target, overwrite=overwrite) as file,
        file_sink(kind, file, run.options.bytes, csv_safe=csv_safe, on_formula=formula_remark(run)) as sink,
    ):
        sink.add(found.schema, rows, output)
    run.remark(f"wrote {counted(sink.rows, 'row')} to {quoted(output)}")


def _conclude(run: Session, found: Difference, output: str | None, sides: list[Session]) -> None:
    """Say the result, unless the counts are on the screen, and what it does not cover."""
    from thawline.rendering.differences import verdict
    from thawline.rendering.words import quoted

    is_whole = not any(side.unread for side in sides)
    if output is not None or run.kind not in {"table", "vertical"} or not found.counts.differences:
        run.remark(verdict(found, is_whole=is_whole))
    damaged = [side.options.files[0] for side, told in zip(sides, (found.a, found.b), strict=True) if told.findings]
    if damaged:
        run.remark(f"what is damaged could not be compared; see: thawline verify {' '.join(map(quoted, damaged))}")
    if not is_whole:
        run.remark("files that were not looked at may differ")
