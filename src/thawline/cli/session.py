"""One run of a command: it opens the inputs, says what is to be said on stderr, and knows the exit code."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import BinaryIO

import click

from thawline.cli.inputs import Input, expand
from thawline.cli.options import Options
from thawline.cold import ColdFile
from thawline.errors import SourceError, ThawlineError, UnknownFormat
from thawline.model import Finding, Run
from thawline.progress import Progress, WatchedSource
from thawline.rendering.console import console
from thawline.rendering.records import Record, Records
from thawline.rendering.rows import Kind
from thawline.rendering.words import counted, printable
from thawline.source import open_source
from thawline.verbs.where import value_of

DAMAGED = 1


def sentence(error: BaseException) -> str:
    """What an error says, without what only a program needs."""
    text = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    name = getattr(error, "filename", None)
    return printable(f"{name}: {text}" if name else text)


class WatchedFile(ColdFile):
    """A cold file that remembers how much damage its last scan has met."""

    errors = 0
    damaged_bytes = 0
    progress: Progress | None = None

    def scan(self) -> Iterator[Run | Finding]:
        """Intact runs and findings, in file order."""
        self.errors = self.damaged_bytes = 0
        for item in super().scan():
            # Whoever asks for the next item is done with the ones before it.
            self.source.release(item.span.start)
            if isinstance(item, Finding) and item.severity == "error":
                self.errors += 1
                self.damaged_bytes += item.span.size
                if self.progress:
                    self.progress.findings = self.errors
            yield item


class Session:
    """What a command was told, what it has met, and the exit code that follows from it."""

    def __init__(self, options: Options) -> None:
        self.options = options
        self.code = 0
        self.inputs = expand(options.files, recursive=options.recursive)
        self.stdout: BinaryIO = sys.stdout.buffer
        self.console = console(sys.stdout, options.color)
        self.progress = Progress("none" if options.quiet and options.progress == "auto" else options.progress)
        self.passed_over: list[Input] = []

    @property
    def kind(self) -> Kind:
        """The shape of the output."""
        if self.options.format != "auto":
            return self.options.format
        return "table" if sys.stdout.isatty() else "jsonl"

    @property
    def has_many(self) -> bool:
        """Whether rows need the name of their file."""
        return len(self.inputs) > 1

    def records(self, names: tuple[str, ...] = ()) -> Records:
        """Where records go; the names are those of their columns, should there be no record."""
        return Records(self.kind, self.stdout, self.console, names)

    def show(self, records: list[Record]) -> int:
        """Write some records; the exit code."""
        sink = self.records()
        for record in records:
            sink.add(record)
        sink.close()
        return self.code

    def each(self, work: Callable[[WatchedFile], None]) -> int:
        """Do something with each input; one that cannot be read is said and does not stop the others."""
        for given in self.inputs:
            try:
                with self.open(given.path) as cold:
                    work(cold)
                    self.meet(cold)
            except UnknownFormat as error:
                self._unknown(given, error)
            except ThawlineError as error:
                self.fail(error)
        try:
            self._check_passed_over()
        except ThawlineError as error:
            self.fail(error)
        return self.exit_code

    def opened(self) -> Iterator[WatchedFile]:
        """Each input; one that cannot be read stops the command."""
        for given in self.inputs:
            try:
                cold = self.open(given.path)
            except UnknownFormat as error:
                self._unknown(given, error)
                if given.is_named:
                    raise click.exceptions.Exit(self.code) from error
                continue
            with cold:
                yield cold
                self.meet(cold)
        self._check_passed_over()

    def open(self, path: str) -> WatchedFile:
        """An input, with the table and the columns that were asked for."""
        source = open_source(path)
        try:
            watched = WatchedSource(source, self.progress)
            cold = WatchedFile(watched, self.options.input_format, self.options.table, self.options.on_error)
            cold.progress = self.progress
            self._check_columns(cold)
        except BaseException as error:
            source.close()
            if isinstance(error, ValueError) and not isinstance(error, ThawlineError):
                raise click.UsageError(f"{path}: {error}") from error
            raise
        return cold

    def _check_columns(self, cold: ColdFile) -> None:
        where = dict(self.options.where)
        unknown = [name for name in (*self.options.columns, *where) if name not in cold.schema.names]
        if unknown:
            known = ", ".join(cold.schema.names)
            raise ValueError(f"{cold.format.name}.{cold.table} has no column {', '.join(unknown)}; it has {known}")
        for name, text in where.items():
            value_of(text, cold.schema.field(name))

    @property
    def exit_code(self) -> int:
        """The highest of the codes of the inputs: 0 clean, 1 damaged, 2 not readable, 3 of no known format."""
        return 0 if self.options.exit_zero and self.code == DAMAGED else self.code

    def meet(self, cold: WatchedFile) -> None:
        """Take what a file was like into the exit code."""
        self.code = max(self.code, DAMAGED if cold.errors else 0)

    def fail(self, error: ThawlineError) -> None:
        """Say an error and take it into the exit code."""
        self.code = max(self.code, error.exit_code)
        self.say(sentence(error))

    def _unknown(self, given: Input, error: UnknownFormat) -> None:
        # A folder holds all kinds of files; only one that was named is expected to be known.
        if given.is_named:
            self.fail(error)
            return
        self.passed_over.append(given)
        if self.options.verbose:
            self.say(sentence(error))

    def _check_passed_over(self) -> None:
        """Say how many files of a folder were passed over; that none is left is an error."""
        if not self.inputs:
            raise SourceError("the folder has no files; -r also looks into its subfolders")
        if len(self.passed_over) == len(self.inputs):
            raise UnknownFormat(f"no format recognises any of {counted(len(self.inputs), 'file')}; -v names them")
        if self.passed_over:
            self.remark(f"passed over {counted(len(self.passed_over), 'file')} of no known format; -v names them")

    def remark(self, text: str) -> None:
        """Say something that is no error, unless -q was given."""
        if not self.options.quiet:
            self.say(text)

    def say(self, text: str) -> None:
        """Say something on stderr, behind what has been written to stdout."""
        self.progress.clear()
        sys.stdout.flush()
        sys.stderr.write(f"thawline: {text}\n")
        sys.stderr.flush()
