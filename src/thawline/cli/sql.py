"""The command sql: questions to files."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

import click

from thawline.cli.options import (
    BYTES,
    CSV_SAFE,
    DAMAGE,
    EXIT_ZERO,
    FORMAT,
    JOBS,
    OFFERED,
    OVERWRITE,
    READING,
    TALKING,
    Setting,
    session,
    takes,
)
from thawline.options import Option
from thawline.source import STDIN

if TYPE_CHECKING:
    import pyarrow as pa

    from thawline.cli.session import Session, WatchedFile
    from thawline.cold import ColdFile
    from thawline.queries.engine import Rows
    from thawline.queries.statement import Place
    from thawline.queries.tables import Files

SHOWN = 3
"""Files that are named where many are left out."""
MEMORY = Setting(Option("memory", (), "size", ""))


@click.command()
@takes(
    click.argument("query", required=False, metavar="[QUERY]"),
    click.option("-o", "--output", metavar="OUT", help="Write the answer there: .parquet, .arrow, .jsonl or .csv."),
    OVERWRITE,
    click.option(
        "--memory",
        type=MEMORY,
        metavar="SIZE",
        help="The most memory that the query itself may use, such as 2GiB; half of the machine's by default.",
    ),
    DAMAGE,
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
def sql(
    run: Session, query: str | None, output: str | None, memory: int | None, *, overwrite: bool, csv_safe: bool
) -> int:
    """Answer a QUERY in SQL; a prompt without one.

    Files stand in FROM as they are, in quotes: a path, a glob, a folder, a URL. 'orders-3/'.batches is another table of
    them. A query only reads: it cannot write, reach other files or the network, or load anything. Beyond its memory it
    spills to a temporary folder. DuckDB answers; its SQL is described at duckdb.org/docs.

    \b
      thawline sql "select key, count(*) from 'orders-3/' where offset >= 100 group by key"
      thawline sql "select * from 'a.log' join 'nightly/' on message_id = decode(key)"
      thawline sql -o sizes.parquet "select batch_start, size from 'orders-3/'.batches"
    """  # noqa: D301 - click does not wrap the paragraph after a \b
    _load()
    if query is None and sys.stdin.isatty():
        from thawline.cli.prompt import converse

        return converse(partial(_answer, run, memory=memory, csv_safe=csv_safe))
    text = sys.stdin.read() if query is None or query == "-" else query
    return _answer(run, text, memory=memory, csv_safe=csv_safe, output=output, overwrite=overwrite)


def _answer(
    run: Session,
    text: str,
    *,
    memory: int | None,
    csv_safe: bool,
    output: str | None = None,
    overwrite: bool = False,
) -> int:
    """Answer one query; the exit code."""
    from thawline.queries.engine import answered
    from thawline.queries.statement import BadQuery, Statement
    from thawline.queries.tables import rows_of

    try:
        statement = Statement(text)
    except BadQuery as error:
        raise click.UsageError(str(error)) from error
    asked = Asked(run)
    views: dict[str, Rows] = {}
    found = [asked.files(place) for place in statement.places]
    for place, files in zip(statement.places, found, strict=True):
        views[place.view] = rows_of(place, files, statement, run.options.tz)
    statement.in_words_of_filters([schema for files in found for schema in (files.schema, files.extras)])
    threads = run.crew.jobs
    with answered(statement.sql, views, threads=threads, memory=memory, zone=run.options.tz) as (schema, batches):
        if output is None:
            count = _shown(run, schema, batches, csv_safe=csv_safe)
        else:
            count = _written(run, schema, batches, Path(output), overwrite=overwrite, csv_safe=csv_safe)
    if not count:
        run.remark("the answer has no rows")
    asked.close(counted=[place.path for place in statement.places if views[place.view].schema.names == ["_"]])
    return run.exit_code


def _load() -> None:
    """Import what answers queries, without a search for garbage among what stays, which takes long."""
    gc.disable()
    try:
        import_module("thawline.queries.tables")
        with suppress(ImportError):  # the query says what is missing
            import_module("duckdb")
        gc.freeze()
    finally:
        gc.enable()


def _shown(run: Session, schema: pa.Schema, batches: Iterable[pa.RecordBatch], *, csv_safe: bool) -> int:
    from thawline.cli.rows import sink_of

    sink = sink_of(run, csv_safe=csv_safe, takes_columns=False)
    sink.add(schema, batches, "the answer")
    sink.close()
    return sink.rows


def _written(
    run: Session, schema: pa.Schema, batches: Iterable[pa.RecordBatch], target: Path, *, overwrite: bool, csv_safe: bool
) -> int:
    from thawline.cli.rows import formula_remark
    from thawline.outputs import replacing
    from thawline.rendering.words import counted, quoted
    from thawline.sinks import file_sink
    from thawline.verbs.convert import kind_of

    kind = kind_of(target)
    with (
        replacing(target, overwrite=overwrite) as file,
        file_sink(
            kind, file, run.options.bytes, csv_safe=csv_safe, on_formula=formula_remark(run), crew=run.crew
        ) as sink,
    ):
        sink.add(schema, batches, "the answer")
    run.remark(f"wrote {counted(sink.rows, 'row')} to {quoted(str(target))}")
    return sink.rows


class Asked:
    """The files of one query, with their damage."""

    def __init__(self, run: Session) -> None:
        self.run = run
        self.sessions: list[Session] = []
        self.read: dict[str, ColdFile] = {}
        """The files that were read, by name."""

    def files(self, place: Place) -> Files:
        """What a mention in FROM stands for; files that cannot be read or have other columns are left out, and told."""
        from thawline.cli.session import Session
        from thawline.queries.tables import Files

        if place.path == STDIN:
            raise click.UsageError("a query may read a file more than once, and stdin can be read only once")
        one = Session(replace(self.run.options, files=(place.path,), table=place.table))
        self.sessions.append(one)
        given = {each.path: each for each in one.inputs}
        found: list[WatchedFile] = []
        others: list[str] = []
        for cold in one.readable():
            is_same = not found or cold.schema.equals(found[0].schema)
            found.append(cold) if is_same else others.append(cold.name)
        if not found:
            raise click.exceptions.Exit(one.code or 2)
        self._leave_out(others, found[0].name)
        first = found[0]
        return Files(
            tuple(partial(one.open, given[cold.name]) for cold in found),
            first.schema,
            first.format.tables[first.table].extras,
            has_many=one.has_many,
            counts_by_heads=not self.run.settings and all(cold.counts_by_heads for cold in found),
            done=self._done,
        )

    def _leave_out(self, others: list[str], first: str) -> None:
        """Say which files have other columns than the first one, and so are no rows of the same table."""
        from thawline.errors import SourceError
        from thawline.rendering.words import counted, printable

        if others:
            shown = ", ".join(map(printable, others[:SHOWN])) + (", …" if len(others) > SHOWN else "")
            are = "has" if len(others) == 1 else "have"
            told = f"{counted(len(others), 'file')} {are} other columns than {printable(first)}"
            self.run.fail(SourceError(f"left out: {told}: {shown}; name each kind by itself in FROM"))

    def _done(self, cold: ColdFile) -> None:
        self.read[cold.name] = cold

    def close(self, counted: list[str]) -> None:
        """Report damage and errors, and count them in the exit code."""
        from thawline.cli.rows import say_skipped
        from thawline.cli.session import WatchedFile

        for cold in self.read.values():
            if isinstance(cold, WatchedFile):
                say_skipped(self.run, cold)
                self.run.meet(cold)
        for one in self.sessions:
            self.run.code = max(self.run.code, one.code)
        for path in counted:
            self.run.remark(f"{path}: counted by heads; damage that only decoding shows was not looked for")
