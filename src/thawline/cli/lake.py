"""The command `lake`: what is in a lake, what its runs did, and how it is kept in order."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping
from typing import Any

import click

from thawline.cli.options import takes

SHAPES = click.option(
    "--format",
    "shape",
    type=click.Choice(["auto", "table", "jsonl"]),
    default="auto",
    show_default=True,
    help="Shape of the output; auto is a table on a terminal and JSON lines in a pipe.",
)


@click.group()
def lake() -> None:
    """Tell of a lake that `thawline ingest` has written, and keep it in order.

    A lake is a folder or a URL with tables: tables/<format>_<table>, findings and files.

    None of this needs Spark.
    """


@lake.command()
@click.argument("place", metavar="LAKE")
@SHAPES
@takes()
def status(place: str, shape: str) -> int:
    """Show the tables of LAKE, with their rows, files, bytes and versions, and the files of each status."""
    from thawline.lake.upkeep import status_of

    found = status_of(place)
    rows = [
        {"table": one.name, "rows": one.rows, "files": one.files, "bytes": one.size, "version": one.version}
        for one in found.tables
    ]
    counts = [{"status": name, "files": number} for name, number in sorted(found.statuses.items())]
    _show(rows, shape)
    _show(counts, shape)
    return 0


@lake.command()
@click.argument("place", metavar="LAKE")
@SHAPES
@takes()
def history(place: str, shape: str) -> int:
    """Show the commits of LAKE, newest first: when, of which run, and what each did.

    `thawline.spark.read_lake(spark, LAKE, table, commit=N)` reads a table as it was after a commit.
    """
    from thawline.lake.upkeep import history_of

    _show(
        [
            {"commit": one.number, "at": one.at, "run": one.run, "did": one.did, "files": one.files, "rows": one.rows}
            for one in history_of(place)
        ],
        shape,
    )
    return 0


@lake.command()
@click.argument("place", metavar="LAKE")
@takes()
def compact(place: str) -> int:
    """Write the small files of LAKE again as files of 128 MB.

    Rows stay as they are. The small files stay on disk for earlier versions, until `vacuum` removes them.
    """
    from thawline.lake.upkeep import compact as run
    from thawline.rendering.words import counted

    fewer = run(place)
    sys.stdout.write(f"{counted(fewer, 'file')} fewer\n" if fewer else "nothing to do\n")
    return 0


@lake.command()
@click.argument("place", metavar="LAKE")
@click.option(
    "--older-than",
    "hours",
    type=click.IntRange(0),
    default=168,
    show_default=True,
    metavar="HOURS",
    help="Keep what versions younger than this need. Less than the longest run takes harms a run that is under way.",
)
@takes()
def vacuum(place: str, hours: int) -> int:
    """Remove files that no version of LAKE needs that is younger than a week, and what killed runs left behind.

    Versions that need them cannot be read any more.
    """
    from thawline.lake.upkeep import vacuum as run
    from thawline.rendering.words import counted

    sys.stdout.write(f"{counted(run(place, hours), 'file')} removed\n")
    return 0


@lake.command()
@click.argument("place", metavar="LAKE")
@click.argument("paths", nargs=-1, required=True, metavar="FILE…")
@takes()
def forget(place: str, paths: tuple[str, ...]) -> int:
    """Take all rows of FILE out of LAKE, and what it knows of it. A later `ingest` takes it in as new.

    Earlier versions have the rows until `vacuum --older-than 0` removes them.
    """
    from thawline.lake.upkeep import forget as run
    from thawline.rendering.words import counted

    sys.stdout.write(f"{counted(run(place, paths), 'file')} forgotten\n")
    return 0


def _show(rows: Iterable[Mapping[str, Any]], shape: str) -> None:
    """Rows as a table, or as JSON lines."""
    listed = list(rows)
    if shape == "jsonl" or (shape == "auto" and not sys.stdout.isatty()):
        sys.stdout.writelines(json.dumps(row) + "\n" for row in listed)
        return
    if not listed:
        return
    from thawline.rendering.console import console
    from thawline.rendering.grid import Grid
    from thawline.rendering.words import grouped, printable

    out = console(sys.stdout)
    numeric = [isinstance(value, int) for value in listed[0].values()]
    grid = Grid(out, list(listed[0]), numeric)
    grid.show(
        [
            [grouped(value) if isinstance(value, int) else printable(str(value)) for value in row.values()]
            for row in listed
        ]
    )
    out.print("")
