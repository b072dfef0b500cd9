"""One run of a command: it opens the inputs, writes remarks to stderr, and keeps the exit code."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, BinaryIO

import click

from thawline.cli.inputs import Input, Inputs
from thawline.cli.options import Options
from thawline.cli.progress import Progress, WatchedSource
from thawline.cold import ColdFile, Item
from thawline.conditions import value_of
from thawline.errors import SourceError, ThawlineError, UnknownFormat
from thawline.files import Group
from thawline.folder import Unread
from thawline.formats import resolve
from thawline.model import Finding, Report, Run
from thawline.outputs import protect
from thawline.rendering.console import console, say
from thawline.rendering.findings import unread_object
from thawline.rendering.records import Record, Records
from thawline.rendering.rows import Kind
from thawline.rendering.words import counted, grouped, printable
from thawline.source import LocalSource, open_source

if TYPE_CHECKING:
    import pyarrow as pa

DAMAGED = 1
SHOWN_UNREAD = 10


def sentence(error: BaseException) -> str:
    """The message of an error for a person: the file and the reason, without error numbers."""
    text = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    name = getattr(error, "filename", None)
    return printable(f"{name}: {text}" if name else text)


def _how_many(unread: list[Unread]) -> str:
    """The numbers of files and folders."""
    folders = sum(left.path.endswith("/") for left in unread)
    counts = ((len(unread) - folders, "file"), (folders, "folder"))
    return ", ".join(counted(number, noun) for number, noun in counts if number)


class WatchedFile(ColdFile):
    """A cold file that counts the damage in its last scan."""

    errors = 0
    skipped = 0
    """Findings about damage for which no row was returned."""
    damaged_bytes = 0
    """Bytes of those findings."""
    given_rows = 0
    """Rows that were returned although they count as damaged."""
    progress: Progress | None = None

    def watched(self, items: Iterator[Item]) -> Iterator[Item]:
        """The items of a scan, counted as they pass."""
        self.errors = self.skipped = self.damaged_bytes = self.given_rows = 0
        for item in items:
            piece: Any = item[0] if isinstance(item, tuple) else item
            # A caller that requests the next item is done with the items before it.
            self.source.release(piece.span.start)
            if isinstance(piece, Finding) and piece.severity == "error" and not piece.is_given:
                self.skipped += 1
                self.damaged_bytes += piece.span.size
                self._count_error()
            is_given = isinstance(piece, Run) and piece.given is not None
            if is_given:
                # Count the error here: a caller with enough rows stops before the finding that follows them.
                self._count_error()
            yield (piece, self._counted(item[1])) if is_given and isinstance(item, tuple) else item  # type: ignore[misc]

    def _count_error(self) -> None:
        self.errors += 1
        if self.progress:
            self.progress.findings = self.errors

    def _counted(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Rows that count as damaged, counted as they pass."""
        for batch in batches:
            self.given_rows += batch.num_rows
            yield batch


class Session:
    """The options of a command, its inputs, and the exit code that results from them."""

    def __init__(self, options: Options) -> None:
        self.options = options
        self.code = 0
        self.settings = dict(options.settings)
        inputs = Inputs(
            options.files, recursive=options.recursive, format_name=options.input_format, settings=self.settings
        )
        self.inputs, self.groups, self.unread = inputs.files, inputs.groups, inputs.unread
        self.sides = inputs.sides
        protect(one.path for one in self.inputs)
        self.stdout: BinaryIO = sys.stdout.buffer
        self.console = console(sys.stdout, options.color)
        self.progress = Progress("none" if options.quiet and options.progress == "auto" else options.progress)
        self._reported: set[str] = set()

    @property
    def kind(self) -> Kind:
        """The shape of the output."""
        if self.options.format != "auto":
            return self.options.format
        return "table" if sys.stdout.isatty() else "jsonl"

    @property
    def has_many(self) -> bool:
        """Whether rows need the name of their file: always, except for a single file that was named."""
        return len(self.inputs) > 1 or not all(one.is_named for one in self.inputs)

    def records(self, names: tuple[str, ...] = ()) -> Records:
        """The sink for records; the names are the columns of an output without records."""
        return Records(self.kind, self.stdout, self.console, names)

    def add_unread(self, sink: Records, as_data: Callable[[Unread], Record] = unread_object) -> None:
        """Add the files that were not read to the records about the others."""
        for left in self.unread:
            sink.add(as_data(left))

    def show(self, records: list[Record]) -> int:
        """Write records; returns the exit code."""
        sink = self.records()
        for record in records:
            sink.add(record)
        sink.close()
        return self.code

    def each(
        self, work: Callable[[WatchedFile], None], on_account: Callable[[ColdFile, Report], None] | None = None
    ) -> int:
        """Call `work` for each input; one that cannot be read is reported and does not stop the others.

        `on_account` is called for the reports about groups and the files beside their members.
        """
        self._each_input(work)
        if on_account:
            for whole, report in self.accounts():
                on_account(whole, report)
        self.say_unread()
        return self.exit_code

    def each_file(self, work: Callable[[WatchedFile], None]) -> int:
        """Call `work` for each input and for the files beside the members of groups; as `each` otherwise."""
        unknown = "part of its folder, which verify reads"
        self._each_input(work)
        for side in self.sides:
            try:
                with self.open(side) as cold:
                    work(cold)
            except UnknownFormat:
                self.unread.append(Unread(side.path, unknown, "left out"))
            except ThawlineError as error:
                self._leave(side, error)
        self.say_unread()
        return self.exit_code

    def _each_input(self, work: Callable[[WatchedFile], None]) -> None:
        for one in self.inputs:
            try:
                with self.open(one) as cold:
                    work(cold)
                    self.meet(cold)
            except ThawlineError as error:
                self._leave(one, error)

    def opened(self, refusal: Callable[[WatchedFile], str] = lambda _cold: "") -> Iterator[WatchedFile]:
        """Each input, open; one that was named and cannot be read stops the command.

        `refusal` returns why the command does not take a file from a folder, or an empty text if it does.
        """
        for one in self.inputs:
            try:
                cold = self.open(one)
            except ThawlineError as error:
                self._leave(one, error)
                if one.is_named:
                    raise click.exceptions.Exit(self.code) from error
                continue
            with cold:
                if not one.is_named and (reason := refusal(cold)):
                    self.unread.append(Unread(one.path, reason))
                    continue
                yield cold
                self.meet(cold)
        self.say_unread()
        if self.inputs and self.code == UnknownFormat.exit_code:
            raise click.exceptions.Exit(self.code)

    def accounts(self) -> Iterator[tuple[ColdFile, Report]]:
        """Reports about the groups among the inputs, each with its file."""
        for group in self.groups:
            accounted = {member.path for member in group.members}
            try:
                for report in group.format.accounts(group.folder):
                    accounted.add(report.file)
                    yield from self._account(report, group)
            except ThawlineError as error:
                self.fail(error)
                yield from self._singly(group.held.keys() - accounted)

    def _account(self, report: Report, group: Group) -> Iterator[tuple[ColdFile, Report]]:
        source = open_source(report.file) if report.size else LocalSource(report.file, b"")
        with ColdFile(source, group.format) as cold:
            yield cold, report
        if not report.ok:
            self.code = max(self.code, DAMAGED)

    def _singly(self, paths: Iterable[str]) -> Iterator[tuple[ColdFile, Report]]:
        """Reports of single files whose group could not be read."""
        for path in sorted(paths):
            single = Input(path, is_named=False)
            try:
                with self.open(single) as cold:
                    yield cold, cold.verify()
                    self.meet(cold)
            except ThawlineError as error:
                self._leave(single, error)

    def open_only(self) -> WatchedFile:
        """The input of a command that takes a single file; `UsageError` for a folder."""
        if len(self.inputs) != 1:
            raise click.UsageError(f"{self.options.files[0]} is a folder; name one of its files")
        return self.open(self.inputs[0])

    def open(self, one: Input) -> WatchedFile:
        """An open input, after a check of the requested table and columns."""
        path = one.path
        source = open_source(path)
        try:
            watched = WatchedSource(source, self.progress)
            if one.format:
                format_, claim = one.format, one.format.claim(watched)
            else:
                format_, claim = resolve(watched, self.options.input_format, self.settings)
            cold = WatchedFile(watched, format_, self.options.table, self.options.on_error, claim)
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
        named = cold.projected({*self.options.columns, *where})
        for name, text in where.items():
            value_of(text, named.field(name))

    @property
    def exit_code(self) -> int:
        """The highest code of all inputs: 0 clean, 1 damaged, 2 not readable, 3 of no known format."""
        return 0 if self.options.exit_zero and self.code == DAMAGED else self.code

    def meet(self, cold: WatchedFile) -> None:
        """Include the state of a file in the exit code."""
        self.code = max(self.code, DAMAGED if cold.errors else 0)

    def leave_out(self) -> None:
        """Include in the exit code that a new file lacks a part of its input."""
        self.code = max(self.code, DAMAGED)

    def fail(self, error: ThawlineError) -> None:
        """Report an error, and include it in the exit code."""
        self.code = max(self.code, error.exit_code)
        self.say(sentence(error))

    def _leave(self, one: Input, error: ThawlineError) -> None:
        """Record why an input was not read. A file of no known format in a folder is not an error."""
        is_foreign = isinstance(error, UnknownFormat) and not error.suspect
        if one.is_named or not is_foreign:
            self.fail(error)
            self._reported.add(one.path)
        if error.exit_code != DAMAGED:
            reason = sentence(error).removeprefix(f"{printable(one.path)}: ")
            is_unknown = isinstance(error, UnknownFormat)
            self.unread.append(Unread(one.path, reason, "unknown" if is_unknown else "unreadable"))

    def say_unread(self) -> None:
        """Report what was not read; it is an error if nothing else exists."""
        for left in self.unread:
            if left.is_failure and left.path not in self._reported:
                self._reported.add(left.path)
                self.fail(SourceError(f"{left.path}: {left.reason}"))
        named = {one.path for one in self.inputs if one.is_named}
        unnamed = [left for left in self.unread if left.path not in named]
        if unnamed:
            self._name_unread(unnamed)
        if not self.inputs and not self.groups and not self.code:
            self.fail(SourceError(f"{', '.join(self.options.files)}: there is no file to read"))
        unknown = [left for left in unnamed if left.status == "unknown"]
        if self.inputs and len(unknown) == len(self.inputs):
            self.fail(UnknownFormat(f"no format recognises any of {counted(len(unknown), 'file')}"))

    def _name_unread(self, unread: list[Unread]) -> None:
        self.remark(f"not looked at: {_how_many(unread)}")
        others = [left for left in unread if left.path not in self._reported]
        shown = others if self.options.verbose else others[:SHOWN_UNREAD]
        for left in shown:
            self.remark(f"- {printable(left.path)}: {printable(left.reason)}")
        if len(others) > len(shown):
            self.remark(f"- … and {grouped(len(others) - len(shown))} more; -v names all of them")

    def remark(self, text: str) -> None:
        """Write a remark, which is no error, to stderr unless -q is set."""
        if not self.options.quiet:
            self.say(text)

    def say(self, text: str) -> None:
        """Write a line to stderr, after everything that was written to stdout."""
        self.progress.clear()
        sys.stdout.flush()
        say(sys.stderr, f"thawline: {text}")
