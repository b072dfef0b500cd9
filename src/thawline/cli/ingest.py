"""The command `ingest`: everything below some folders as tables, decoded on Spark."""

from __future__ import annotations

import json
import os
import re
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from thawline.cli.options import EXIT_ZERO, SPEC, TALKING, takes

if TYPE_CHECKING:
    from thawline.spark.ledger import Standing
    from thawline.spark.pipeline import Progress, Summary

DAMAGED = 1
SHOWN = 20
"""The number of damaged files that the summary names without -v."""


@click.command()
@click.argument("sources", nargs=-1, required=True, type=click.Path(), metavar="SOURCE…")
@click.option(
    "--to", required=True, type=click.Path(), metavar="LAKE", help="The folder, or s3://…, to write to; made if needed."
)
@click.option("--master", metavar="URL", help="The Spark cluster; by default all cores of this machine, local[*].")
@click.option("--conf", multiple=True, metavar="KEY=VALUE", help="A setting for Spark; may be given more than once.")
@click.option(
    "--ship",
    is_flag=True,
    help="Bring thawline along to the cluster, for workers whose Python does not have it.",
)
@click.option(
    "--partition-by",
    metavar="COLUMNS",
    help="Columns by which new tables are partitioned where they have them, such as topic,queue.",
)
@click.option(
    "--table-format",
    type=click.Choice(["delta", "iceberg", "parquet"]),
    help="How a new lake keeps its tables: as Delta, which is the default, as Iceberg, or as plain folders of Parquet.",
)
@click.option(
    "--catalog",
    metavar="NAME|URI",
    help="Where tables of Iceberg are found: a catalog of pyiceberg's configuration, sqlite:///FILE or https://….",
)
@click.option(
    "--follow",
    is_flag=True,
    help="Go on until ended: look again every few seconds for files that are new, have grown or have changed.",
)
@click.option(
    "--every",
    type=click.FloatRange(0.1),
    default=10.0,
    show_default=True,
    metavar="SECONDS",
    help="How often --follow looks.",
)
@click.option(
    "--prune-missing",
    is_flag=True,
    help="Take out the rows of files that are gone from SOURCE; else they are kept, and reported.",
)
@click.option(
    "--lineage",
    metavar="FILE|URL",
    help="Tell what was read and written as an event of OpenLineage: append it to FILE, or post it to URL.",
)
@click.option(
    "--format",
    "shape",
    type=click.Choice(["auto", "table", "jsonl"]),
    default="auto",
    show_default=True,
    help="Shape of the summary; auto is a table on a terminal and JSON in a pipe.",
)
@takes(SPEC, TALKING, EXIT_ZERO)
def ingest(sources: tuple[str, ...], to: str, **arguments: Any) -> int:
    """Take in everything below SOURCE: identify, verify and decode it on Spark, and write tables below LAKE.

    LAKE/tables/<format>_<table> has the rows, LAKE/findings everything that is wrong, with its file and bytes, and
    LAKE/files every file with its checksum and how much of it is intact, or why it was not looked at. DuckDB, Polars,
    Spark and others read them while they grow; `thawline lake` tells of them and keeps them in order. LAKE/report.html
    shows all of it to people, as `thawline report` does.

    Run it again, and only files that are new or have changed are taken in. It may be killed at any moment: what is
    committed counts, once, and the next run goes on from there. Several runs may write to one lake. Of a file that
    cannot be read to its end, no row is taken in.

    The exit code is about the lake: 1 as long as it holds damaged files, 2 if a file below SOURCE cannot be read,
    3 if one that looks like a known format is of none.

    With --follow, a file that was written to in the last ten minutes and is the newest of its folder is growing: what
    is whole of it is taken in, what it gains is added, and what looks damaged at its end waits. Once it is closed, it
    is taken in again as a whole. Ctrl-C ends it at any moment.

    Needs `pip install 'thawline[spark]'`. Java is found by JAVA_HOME or on the PATH, else it is the one that comes with
    that. SOURCE is a folder, a file, or a URL such as s3://bucket/prefix, with credentials by the usual environment,
    and so is LAKE. On a cluster, both must be where every worker sees them. Spark's own log is LAKE/_ingest/spark.log,
    or among temporary files if LAKE is a URL.
    """
    from thawline.spark.pipeline import ingest as run

    progress = _ProgressLine(arguments["progress"], is_quiet=arguments["quiet"])
    spark = _started(sources, to, arguments)
    by = arguments["partition_by"]
    options = {name: arguments[name] for name in ("table_format", "catalog", "prune_missing")}
    options["is_following"] = arguments["follow"]
    options["partition_by"] = by and by.split(",")
    try:
        while True:
            with telling(arguments["lineage"], sources, to) as rows:
                summary = run(spark, sources, to, on_progress=progress.show, **options)
                rows.update(summary.rows)
            if not arguments["follow"]:
                break
            if summary.ingested or summary.pruned:
                progress.clear()
                _print(summary, arguments["shape"], is_verbose=arguments["verbose"])
                sys.stdout.flush()
            time.sleep(arguments["every"])
    finally:
        progress.clear()
        with suppress(OSError):  # Java has ended, which is reported already
            spark.stop()
    _print(summary, arguments["shape"], is_verbose=arguments["verbose"])
    return 0 if arguments["exit_zero"] and summary.exit_code == DAMAGED else summary.exit_code


def _started(sources: tuple[str, ...], to: str, arguments: Mapping[str, Any]) -> Any:
    """The session of Spark, with what the command says of it."""
    from thawline.spark import session
    from thawline.spark.launch import KEY, QUICK
    from thawline.spark.pipeline import target
    from thawline.spark.shipping import ship

    settings = {"spark.log.level": "ERROR", KEY: QUICK, **dict(_settings(arguments["conf"]))}
    if arguments["ship"] and (arguments["master"] or "").startswith("sc://"):
        raise click.UsageError("--ship cannot bring thawline to a server of Spark Connect; install it on its workers")
    if arguments["ship"]:
        settings = ship(settings, (*sources, to))
    log = log_of(target(sources, to))
    with talking_to(log), starting(log):
        return session(arguments["master"], settings, "thawline ingest")


@contextmanager
def telling(lineage: str | None, sources: tuple[str, ...], to: str) -> Iterator[dict[str, int]]:
    """Where the rows of each table are put; at the end an event of OpenLineage tells of them, or of a failure."""
    rows: dict[str, int] = {}
    if lineage is None:
        yield rows
        return
    from thawline.errors import SourceError
    from thawline.spark.lineage import event, tell

    try:
        yield rows
    except BaseException:
        with suppress(SourceError):  # the error of the run is the one to report
            tell(event("FAIL", sources, to, {}), lineage)
        raise
    tell(event("COMPLETE", sources, to, rows), lineage)


def log_of(to: str) -> Path:
    """Where Spark's log goes: into the lake, or, if that is at a URL, beside temporary files."""
    if "://" in to:
        return Path(tempfile.gettempdir(), f"thawline-spark-{os.getuid()}.log")
    return Path(to, "_ingest", "spark.log")


@contextmanager
def talking_to(log: Path) -> Iterator[None]:
    """Redirect stderr to a file; Java and the workers, started meanwhile, inherit it instead of the terminal."""
    try:
        log.parent.mkdir(parents=True, exist_ok=True)
        file = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)  # another run may also write to it
    except OSError:
        yield  # the pipeline reports the error of the folder
        return
    terminal = os.dup(2)
    os.dup2(file, 2)
    try:
        yield
    finally:
        os.dup2(terminal, 2)
        os.close(terminal)
        os.close(file)


@contextmanager
def starting(log: Path) -> Iterator[None]:
    """Raise a failed start of Spark as `SparkEnded`; the reason is in Java's log, not in Python's error."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    from thawline.spark.pipeline import SparkEnded, cause

    start = log.stat().st_size if log.exists() else 0
    try:
        yield
    except (Py4JError, PySparkException) as error:
        text = log.read_bytes()[start:].decode(errors="replace") if log.exists() else ""
        raise SparkEnded(f"Spark does not start: {_complaint(text) or cause(error)}; see {log}") from error


def _complaint(log: str) -> str:
    r"""The first line of a log that is neither a warning nor part of a stack trace.

    >>> _complaint('WARNING: modules\nException in thread "main" org.x.SparkException: no such master\n\tat org.x')
    'no such master'
    """
    lines = (line for line in log.splitlines() if line and not re.match(r"\s|WARNING|Using|\d\d/.* (WARN|INFO) ", line))
    return re.sub(r'^Exception in thread "[^"]*" ([\w.]+: )?', "", next(lines, ""))


def _settings(pairs: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    for setting in pairs:
        key, sign, value = setting.partition("=")
        if not sign:
            raise click.UsageError(f"--conf {setting!r} has no value; write it like spark.executor.memory=4g")
        yield key, value


class _ProgressLine:
    """Progress on stderr: a line on a terminal, or JSON lines."""

    def __init__(self, mode: str, *, is_quiet: bool) -> None:
        is_shown = sys.stderr.isatty() and not is_quiet
        self.mode = ("line" if is_shown else "none") if mode == "auto" else mode
        self.started = self.last = time.monotonic()

    def show(self, progress: Progress) -> None:
        """Write the progress."""
        from thawline.cli.progress import redrawn
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
        """Erase the line."""
        if self.mode == "line":
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()


def _print(summary: Summary, shape: str, *, is_verbose: bool) -> None:
    if shape == "jsonl" or (shape == "auto" and not sys.stdout.isatty()):
        from thawline.values import well_formed

        sys.stdout.write(json.dumps(well_formed(_facts(summary))) + "\n")
        return
    from thawline.rendering.console import console
    from thawline.rendering.grid import Grid
    from thawline.rendering.words import counted, grouped, printable

    out = console(sys.stdout)
    rows = _by_format(summary)
    if rows:
        header = ["format", "files", "damaged", "rows", "intact", "damaged bytes", "findings"]
        grid = Grid(out, header, [False, *[True] * 6])
        grid.show([[name, *map(grouped, numbers)] for name, *numbers in rows])
        out.print("")
    for name, count in sorted(summary.rows.items()):
        out.print(f"    tables/{printable(name)}: {counted(count, 'row')}")
    for line in _notices(summary, is_verbose=is_verbose):
        out.print(line)


def _notices(summary: Summary, *, is_verbose: bool) -> Iterator[str]:
    """The lines of the summary that follow the tables: problems, totals, and the next command."""
    from thawline.rendering.words import counted, printable, quoted

    wrong = [one for one in summary.standings if one.is_damaged or one.is_suspect or one.status == "unreadable"]
    named = wrong if is_verbose else wrong[:SHOWN]
    yield from (f"!   {printable(one.path)}: {printable(_problem(one))}" for one in named)
    if len(wrong) > len(named):
        yield f"!   and {counted(len(wrong) - len(named), 'file')} more; -v names them all"
    unchanged = f", {counted(summary.unchanged, 'file')} unchanged since an earlier run" if summary.unchanged else ""
    pruned = f", {counted(summary.pruned, 'file')} taken out" if summary.pruned else ""
    yield f"{counted(summary.ingested, 'file')} taken in{unchanged}{pruned}; {printable(summary.to)} is up to date"
    damaged = [one for one in summary.standings if one.is_damaged]
    if damaged:
        yield f"damaged: {counted(len(damaged), 'file')} in the lake"
    missing = [one for one in summary.standings if one.status == "missing"]
    if missing:
        are = "is gone from its source" if len(missing) == 1 else "are gone from their sources"
        yield f"missing: {counted(len(missing), 'file')} {are}; --prune-missing takes the rows out"
    unread = [one for one in summary.standings if one.is_unread]
    if unread:
        yield f"not looked at: {counted(len(unread), 'file')}{'' if is_verbose else '; -v says why'}"
    if is_verbose:
        others = (one for one in (*missing, *unread) if one not in wrong)
        yield from (f"    {printable(one.path)}: {printable(_problem(one))}" for one in others)
    yield f"    report     {quoted(f'{summary.to}/report.html')}"
    if present := [one for one in damaged if one.status == "damaged"]:
        yield f"    next       thawline verify {quoted(present[0].path)}"


def _problem(standing: Standing) -> str:
    """What is wrong with a file."""
    from thawline.rendering.words import exact

    if standing.status != "damaged":
        return standing.reason
    return f"{exact(standing.damaged_bytes)} damaged" if standing.damaged_bytes else "see findings"


def _by_format(summary: Summary) -> list[tuple[str, int, int, int, int, int, int]]:
    """Files, damaged files, rows, intact and damaged bytes, and findings of each format."""
    return [
        (name or "(unknown)", one.files, one.damaged, one.rows, one.intact_bytes, one.damaged_bytes, one.findings)
        for name, one in sorted(summary.formats.items())
    ]


def _facts(summary: Summary) -> dict[str, object]:
    names = ("files", "damaged", "rows", "intact_bytes", "damaged_bytes", "findings")
    return {
        "to": summary.to,
        "ingested": summary.ingested,
        "unchanged": summary.unchanged,
        "pruned": summary.pruned,
        "damaged": sum(one.is_damaged for one in summary.standings),
        "missing": sum(one.status == "missing" for one in summary.standings),
        "unreadable": summary.unreadable,
        "not_looked_at": sum(one.is_unread for one in summary.standings),
        "formats": {name: dict(zip(names, numbers, strict=True)) for name, *numbers in _by_format(summary)},
        "tables": dict(sorted(summary.rows.items())),
        "listed": [{"file": one.path, "status": one.status, "reason": _problem(one)} for one in summary.standings],
    }
