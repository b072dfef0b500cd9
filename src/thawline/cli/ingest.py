"""The command `ingest`: everything below some folders as tables, decoded on Spark."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from thawline.cli.options import EXIT_ZERO, TALKING, takes

if TYPE_CHECKING:
    from thawline.spark.pipeline import Progress, Summary

DAMAGED, UNREADABLE = 1, 2
SHOWN = 20
"""Damaged files that the summary names."""


@click.command()
@click.argument("sources", nargs=-1, required=True, type=click.Path(), metavar="SOURCE…")
@click.option("--to", required=True, type=click.Path(), metavar="DIR", help="The folder to write to; made if need be.")
@click.option("--master", metavar="URL", help="The Spark cluster; by default all cores of this machine, local[*].")
@click.option("--conf", multiple=True, metavar="KEY=VALUE", help="A setting for Spark; may be given more than once.")
@click.option(
    "--output-format",
    type=click.Choice(["parquet", "orc", "arrow"]),
    default="parquet",
    show_default=True,
    help="The kind of files that tables are written as.",
)
@click.option(
    "--format",
    "shape",
    type=click.Choice(["auto", "table", "jsonl"]),
    default="auto",
    show_default=True,
    help="Shape of the summary; auto is a table on a terminal and JSON in a pipe.",
)
@takes(TALKING, EXIT_ZERO)
def ingest(sources: tuple[str, ...], to: str, **given: Any) -> int:
    """Take in everything below SOURCE: identify, verify and decode it on Spark, and write tables below DIR.

    DIR/tables/<format>_<table> has the rows, DIR/findings everything that is wrong, with its file and bytes, and
    DIR/files every file with its checksum and how much of it is intact. Run it again, and only files that are new or
    have changed are taken in. It may be killed at any moment: run again, it goes on as if nothing had happened. What
    Spark itself has to say is in DIR/_ingest/spark.log.

    Needs `pip install 'thawline[spark]'`. Java is found by JAVA_HOME or on the PATH, else it is the one that comes with
    that. SOURCE is a folder, a file, or a URL such as s3://bucket/prefix, with credentials by the usual environment.
    DIR is a folder. On a cluster, both must be where every worker sees them.
    """
    from thawline.spark import session
    from thawline.spark.pipeline import ingest as run
    from thawline.spark.pipeline import target

    watched = _Watched(given["progress"], is_quiet=given["quiet"])
    settings = {"spark.log.level": "ERROR", **dict(_settings(given["conf"]))}
    with talking_to(Path(target(sources, to), "_ingest", "spark.log")):
        spark = session(given["master"], settings, "thawline ingest")
    try:
        found = run(spark, sources, to, output_format=given["output_format"], on_progress=watched.show)
    finally:
        watched.clear()
        with suppress(OSError):  # where Java has ended there is nothing to stop, and that has been said
            spark.stop()
    _print(found, given["shape"])
    code = UNREADABLE if found.unreadable else DAMAGED if found.damaged else 0
    return 0 if given["exit_zero"] and code == DAMAGED else code


@contextmanager
def talking_to(log: Path) -> Iterator[None]:
    """Have what is started meanwhile, Java and the workers, write its remarks to a file instead of the terminal."""
    try:
        log.parent.mkdir(parents=True, exist_ok=True)
        file = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)  # another run may be at it
    except OSError:
        yield  # the pipeline says what is wrong with the folder
        return
    kept = os.dup(2)
    os.dup2(file, 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(file)


def _settings(given: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    for setting in given:
        key, is_given, value = setting.partition("=")
        if not is_given:
            raise click.UsageError(f"--conf {setting!r} has no value; write it like spark.executor.memory=4g")
        yield key, value


class _Watched:
    """Progress on stderr: a line on a terminal, or JSON lines."""

    def __init__(self, mode: str, *, is_quiet: bool) -> None:
        shown = sys.stderr.isatty() and not is_quiet
        self.mode = ("line" if shown else "none") if mode == "auto" else mode
        self.started = self.last = time.monotonic()

    def show(self, progress: Progress) -> None:
        """Say how far it is."""
        from thawline.progress import redrawn
        from thawline.rendering.words import counted, grouped, human

        if self.mode == "none" or (self.mode == "json" and time.monotonic() - self.last < 1):
            return
        self.last = time.monotonic()
        if self.mode == "json":
            facts = {"done": progress.done, "total": progress.total, "bytes": progress.bytes_done}
            facts |= {"bytes_total": progress.bytes_total, "tasks_done": progress.tasks_done, "tasks": progress.tasks}
            line = json.dumps({"message_type": "progress", **facts}) + "\n"
        else:
            done = f"{human(progress.bytes_done)} of {human(progress.bytes_total)}"
            tasks = f", {grouped(progress.tasks_done)} of {counted(progress.tasks, 'task')}" if progress.tasks else ""
            files = f"{grouped(progress.done)} of {counted(progress.total, 'file')}"
            line = redrawn(sys.stderr, "", f"{files}, {done}{tasks}")
        sys.stderr.write(line)
        sys.stderr.flush()

    def clear(self) -> None:
        """Take the line away."""
        if self.mode == "line":
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()


def _print(summary: Summary, shape: str) -> None:
    if shape == "jsonl" or (shape == "auto" and not sys.stdout.isatty()):
        sys.stdout.write(json.dumps(_facts(summary)) + "\n")
        return
    from thawline.rendering.console import console
    from thawline.rendering.grid import Grid
    from thawline.rendering.words import counted, exact, grouped, printable, quoted

    out = console(sys.stdout)
    rows = _by_format(summary)
    if rows:
        header = ["format", "files", "damaged", "rows", "intact", "damaged bytes", "findings"]
        grid = Grid(out, header, [False, *[True] * 6])
        grid.show([[name, *map(grouped, numbers)] for name, *numbers in rows])
        out.print("")
    for name, count in sorted(summary.rows.items()):
        out.print(f"    tables/{printable(name)}: {counted(count, 'row')}")
    for account in [found for found in summary.accounts if found.status in {"damaged", "unreadable"}][:SHOWN]:
        lost = f"{exact(account.damaged_bytes)} damaged" if account.damaged_bytes else account.error or "see findings"
        out.print(f"!   {printable(account.path)}: {printable(lost)}")
    unchanged = f", {counted(summary.unchanged, 'file')} unchanged since an earlier run" if summary.unchanged else ""
    out.print(f"{counted(summary.ingested, 'file')} taken in{unchanged}; {printable(summary.to)} is up to date")
    if summary.damaged:
        out.print(f"    next       thawline verify {quoted(_first_damaged(summary))}")


def _first_damaged(summary: Summary) -> str:
    return next(account.path for account in summary.accounts if account.status == "damaged")


def _by_format(summary: Summary) -> list[tuple[str, int, int, int, int, int, int]]:
    """Files, damaged files, rows, intact and damaged bytes, and findings of each format."""
    found = []
    for name in sorted({account.format or "" for account in summary.accounts}):
        those = [account for account in summary.accounts if (account.format or "") == name]
        found.append(
            (
                name or "(unknown)",
                len(those),
                sum(account.status in {"damaged", "unreadable"} for account in those),
                sum(account.rows for account in those if account.work.startswith("file:")),
                sum(account.intact_bytes for account in those),
                sum(account.damaged_bytes for account in those),
                sum(len(account.findings) for account in those),
            )
        )
    return found


def _facts(summary: Summary) -> dict[str, object]:
    names = ("files", "damaged", "rows", "intact_bytes", "damaged_bytes", "findings")
    return {
        "to": summary.to,
        "ingested": summary.ingested,
        "unchanged": summary.unchanged,
        "damaged": summary.damaged,
        "unreadable": summary.unreadable,
        "formats": {name: dict(zip(names, numbers, strict=True)) for name, *numbers in _by_format(summary)},
        "tables": dict(sorted(summary.rows.items())),
    }
