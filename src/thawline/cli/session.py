"""One run of a command: it opens the inputs, writes remarks to stderr, and determines the exit code."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, BinaryIO, TypeVar, cast

import click

from thawline.cli import memory
from thawline.cli.inputs import Input, Inputs
from thawline.cli.options import Options
from thawline.cli.progress import Progress, WatchedSource
from thawline.cold import ColdFile, Item
from thawline.errors import NoSuchColumn, SourceError, ThawlineError, UnknownFormat
from thawline.files import Group
from thawline.filters import BadFilter, Filter
from thawline.folder import Unread
from thawline.formats import resolve
from thawline.jobs import ALONE, Crew, usable_cores
from thawline.model import Report, Run
from thawline.outputs import protect
from thawline.rendering.escaping import Escaping
from thawline.rendering.findings import unread_object
from thawline.rendering.words import counted, grouped, printable
from thawline.source import LocalSource, open_source

if TYPE_CHECKING:
    import pyarrow as pa

    from thawline.rendering.console import PlainConsole
    from thawline.rendering.records import Record, Records
    from thawline.rendering.rows import Kind

Studied = TypeVar("Studied")
DAMAGED = 1
SWITCH = 0.0005
"""Seconds for which a thread may keep others from running Python: most only want to make the next native call."""
SHOWN_UNREAD = 10
CHOOSING = {"since", "until", "offsets", "queue", "vhost", "namespace", "set", "tag"}
"""Options of formats that choose rows."""
RELEASED_AT_ONCE = 64 << 10
"""Release mapped pages every 64 KiB: a hostile file has an item every few bytes, and each release is a system call."""


def sentence(error: BaseException) -> str:
    """The message of an error, without the parts for programs."""
    text = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    name = getattr(error, "filename", None)
    return printable(f"{name}: {text}" if name else text)


def _how_many(found: list[Unread]) -> str:
    """Files and folders, counted."""
    folders = sum(left.path.endswith("/") for left in found)
    counts = ((len(found) - folders, "file"), (folders, "folder"))
    return ", ".join(counted(number, noun) for number, noun in counts if number)


class WatchedFile(ColdFile):
    """A cold file that remembers how much damage its last scan has met."""

    errors = 0
    skipped = 0
    """Findings about damage of which no row was given."""
    damaged_bytes = 0
    """Bytes of that damage."""
    given_rows = 0
    """Rows that were given although they count as damaged."""
    progress: Progress | None = None

    def watched(self, items: Iterator[Item]) -> Iterator[Item]:
        """The items of a scan, each counted as it goes by."""
        self.errors = self.skipped = self.damaged_bytes = self.given_rows = 0
        released = -RELEASED_AT_ONCE
        for item in items:
            met: Any = item[0] if isinstance(item, tuple) else item
            # A caller that requests the next item is done with the ones before it.
            if met.span.start - released >= RELEASED_AT_ONCE:
                released = met.span.start
                self.source.release(released)
            if isinstance(met, Run):
                yield self._passed(item, met)
                continue
            if not met.is_given and met.code.severity == "error":
                self.skipped += 1
                self.damaged_bytes += met.span.size
                self._meet()
            yield item

    def _passed(self, item: Item, run: Run) -> Item:
        """A run, with its rows counted where they are given although they count as damaged."""
        if run.given is None:
            return item
        # A caller that has enough rows does not request the finding after them.
        self._meet()
        return (run, self._counted(item[1])) if isinstance(item, tuple) else item  # type: ignore[return-value]

    def _meet(self) -> None:
        self.errors += 1
        if self.progress:
            self.progress.meet(self.errors)

    def _counted(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Rows that count as damaged, counted as they are given."""
        for batch in batches:
            self.given_rows += batch.num_rows
            yield batch


class Session:
    """The options of a command, the damage and errors so far, and the exit code that follows from them."""

    def __init__(self, options: Options) -> None:
        self.options = options
        self.code = 0
        self.settings = dict(options.settings)
        given = Inputs(
            options.files, recursive=options.recursive, format_name=options.input_format, settings=self.settings
        )
        self.inputs, self.groups, self.unread = given.files, given.groups, given.unread
        self.sides = given.sides
        protect(found.path for found in self.inputs)
        # CSV has texts as they are, and a terminal would obey what is in them.
        is_obeyed = options.format == "csv" and sys.stdout.isatty()
        self.stdout = cast("BinaryIO", Escaping(sys.stdout.buffer)) if is_obeyed else sys.stdout.buffer
        # Each thread reserves address space, of which a limit leaves little.
        self.crew = Crew(options.jobs or (usable_cores() if memory.limit() is None else 1))
        if not self.crew.is_alone:
            sys.setswitchinterval(SWITCH)
        self.progress = Progress("none" if options.quiet and options.progress == "auto" else options.progress)
        self._said: set[str] = set()
        self.filter = Filter(options.where, options.grep, options.tz)
        """Which rows are wanted."""
        try:
            self.filter.check()
        except BadFilter as error:
            raise click.UsageError(printable(str(error))) from error

    def protect_sides(self) -> None:
        """Protect the files beside the members of groups: only a command that makes them may replace them."""
        protect(found.path for found in self.sides)

    @cached_property
    def console(self) -> PlainConsole:
        """The console for tables and text; made on first use, since rows as data need none."""
        from thawline.rendering.console import console

        made = console(sys.stdout, self.options.color)
        made.marks = self.options.grep
        return made

    @property
    def kind(self) -> Kind:
        """The shape of the output."""
        if self.options.format != "auto":
            return self.options.format
        return "table" if sys.stdout.isatty() else "jsonl"

    @property
    def has_many(self) -> bool:
        """Whether rows need the name of their file: all but those of one file that was named itself."""
        return len(self.inputs) > 1 or not all(given.is_named for given in self.inputs)

    def records(self, names: tuple[str, ...] = ()) -> Records:
        """Where records go; the names are those of their columns, should there be no record."""
        from thawline.rendering.records import Records

        return Records(self.kind, self.stdout, self.console, names)

    def add_unread(self, sink: Records, as_data: Callable[[Unread], Record] = unread_object) -> None:
        """Add what was not looked at to the records about what was."""
        for left in self.unread:
            sink.add(as_data(left))

    def show(self, records: list[Record]) -> int:
        """Write some records; the exit code."""
        sink = self.records()
        for record in records:
            sink.add(record)
        sink.close()
        return self.code

    def each(
        self, work: Callable[[WatchedFile], None] | None, on_account: Callable[[ColdFile, Report], None] | None = None
    ) -> int:
        """Do something with each input; one that cannot be read is reported and does not stop the others.

        With `on_account`, also with the reports about groups and the files beside their members.
        """
        if work:
            self._each_input(work)
        if on_account:
            for whole, report in self.accounts():
                on_account(whole, report)
        self.say_unread()
        return self.exit_code

    def each_studied(
        self,
        study: Callable[[WatchedFile], Studied],
        show: Callable[[WatchedFile, Studied], None],
        on_account: Callable[[ColdFile, Report], None] | None = None,
    ) -> int:
        """As `each`, but several inputs are studied side by side; what was found is shown in their order."""
        if len(self.inputs) > 1 and not self.crew.is_alone:
            self.progress.join([given.path for given in self.inputs])
        found = self.crew.ordered(partial(self._studied, given, study) for given in self.inputs)
        for given, item in zip(self.inputs, found, strict=True):
            if isinstance(item, ThawlineError):
                self._leave(given, item)
                continue
            with item[0] as cold:
                show(*item)
                self.meet(cold)
        return self.each(None, on_account)

    def _studied(
        self, given: Input, study: Callable[[WatchedFile], Studied]
    ) -> tuple[WatchedFile, Studied] | ThawlineError:
        """An input and what was found in it; the error if it cannot be read."""
        try:
            cold = self.open(given)
            try:
                return cold, study(cold)
            except BaseException:
                cold.close()
                raise
        except ThawlineError as error:
            return error

    def each_file(self, work: Callable[[WatchedFile], None]) -> int:
        """As `each`, and with the files beside the members of groups: for what is to be said of every single file."""
        unknown = "part of its folder, which verify looks at"
        self._each_input(work)
        for given in self.sides:
            try:
                with self.open(given) as cold:
                    work(cold)
            except UnknownFormat:
                self.unread.append(Unread(given.path, unknown, "left out"))
            except ThawlineError as error:
                self._leave(given, error)
        self.say_unread()
        return self.exit_code

    def _each_input(self, work: Callable[[WatchedFile], None]) -> None:
        for given in self.inputs:
            try:
                with self.open(given) as cold:
                    work(cold)
                    self.meet(cold)
            except ThawlineError as error:
                self._leave(given, error)

    def opened(self, refusal: Callable[[WatchedFile], str] = lambda _cold: "") -> Iterator[WatchedFile]:
        """Each input; one that was named and cannot be read stops the command.

        `refusal` says why the command does not take a file that was found in a folder; empty if it does.
        """
        for given in self.inputs:
            try:
                cold = self.open(given)
            except ThawlineError as error:
                self._leave(given, error)
                if given.is_named:
                    raise click.exceptions.Exit(self.code) from error
                continue
            with cold:
                if not given.is_named and (reason := refusal(cold)):
                    self.unread.append(Unread(given.path, reason))
                    continue
                yield cold
                self.meet(cold)
        self.say_unread()
        if self.inputs and self.code == UnknownFormat.exit_code:
            raise click.exceptions.Exit(self.code)

    def readable(self) -> Iterator[WatchedFile]:
        """Each input that can be read, open until the next one is requested; reports why others cannot."""
        for given in self.inputs:
            try:
                with self.open(given) as cold:
                    yield cold
            except ThawlineError as error:
                self._leave(given, error)
        self.say_unread()

    def accounts(self) -> Iterator[tuple[ColdFile, Report]]:
        """Reports about the groups among the inputs, each with the bytes that it is about."""
        for group in self.groups:
            accounted = {member.path for member in group.members}
            try:
                for report in group.format.accounts(group.folder):
                    accounted.add(report.file)
                    yield from self._account(report, group)
            except ThawlineError as error:
                self.fail(error)
                yield from self._by_themselves(group.held.keys() - accounted)

    def _account(self, report: Report, group: Group) -> Iterator[tuple[ColdFile, Report]]:
        source = open_source(report.file) if report.size else LocalSource(report.file, b"")
        with ColdFile(source, group.format) as cold:
            yield cold, report
        if not report.ok:
            self.code = max(self.code, DAMAGED)

    def _by_themselves(self, paths: Iterable[str]) -> Iterator[tuple[ColdFile, Report]]:
        """Reports of files that their group does not report on."""
        for path in sorted(paths):
            given = Input(path, is_named=False)
            try:
                with self.open(given) as cold:
                    yield cold, cold.verify()
                    self.meet(cold)
            except ThawlineError as error:
                self._leave(given, error)

    def open_only(self) -> WatchedFile:
        """The one input of a command that takes no more; a folder of files that belong together is not one."""
        if len(self.inputs) != 1:
            raise click.UsageError(f"{self.options.files[0]} is a folder; name one of its files")
        return self.open(self.inputs[0])

    def open(self, given: Input) -> WatchedFile:
        """An input, with the table and the columns that were requested."""
        path = given.path
        source = open_source(path)
        try:
            watched = WatchedSource(source, self.progress)
            if given.format:
                found, claim = given.format, given.format.claim(watched)
            else:
                found, claim = resolve(watched, self._format_of(given), self.settings)
            crew = ALONE if self.progress.is_joint else self.crew
            cold = WatchedFile(watched, found, self.options.table, self.options.on_error, claim, crew)
            cold.progress = self.progress
            self._check_columns(cold)
        except BaseException as error:
            source.close()
            if isinstance(error, NoSuchColumn) or (
                isinstance(error, ValueError) and not isinstance(error, ThawlineError)
            ):
                raise click.UsageError(f"{path}: {error}") from error
            raise
        return cold

    def _format_of(self, given: Input) -> str | None:
        """The format that an option names; None if the format is to be recognised."""
        return self.options.input_format or (self.options.spec_format if given.is_named else None)

    def _check_columns(self, cold: ColdFile) -> None:
        cold.projected(self.options.columns or None)
        cold.bound(self.filter, self.options.columns or None)

    @property
    def exit_code(self) -> int:
        """The highest of the codes of the inputs: 0 clean, 1 damaged, 2 not readable, 3 of no known format."""
        return 0 if self.options.exit_zero and self.code == DAMAGED else self.code

    def meet(self, cold: WatchedFile) -> None:
        """Count the verdict on a file in the exit code."""
        self.code = max(self.code, DAMAGED if cold.errors else 0)

    def leave_out(self) -> None:
        """Count in the exit code that something was left out of a new file."""
        self.code = max(self.code, DAMAGED)

    def fail(self, error: ThawlineError) -> None:
        """Report an error, and count it in the exit code."""
        self.code = max(self.code, error.exit_code)
        self.say(sentence(error))

    def _leave(self, given: Input, error: ThawlineError) -> None:
        """Note an input that was not read, with the reason. A folder may have files of unknown formats."""
        is_foreign = isinstance(error, UnknownFormat) and not error.suspect
        if given.is_named or not is_foreign:
            self.fail(error)
            self._said.add(given.path)
        if error.exit_code != DAMAGED:
            reason = sentence(error).removeprefix(f"{printable(given.path)}: ")
            is_unknown = isinstance(error, UnknownFormat)
            self.unread.append(Unread(given.path, reason, "unknown" if is_unknown else "unreadable"))

    def say_unread(self) -> None:
        """Report what was not read; it is an error if nothing was read."""
        for left in self.unread:
            if left.is_failure and left.path not in self._said:
                self._said.add(left.path)
                self.fail(SourceError(f"{left.path}: {left.reason}"))
        named = {given.path for given in self.inputs if given.is_named}
        found = [left for left in self.unread if left.path not in named]
        if found:
            self._name_unread(found)
        if not self.inputs and not self.groups and not self.code:
            self.fail(SourceError(f"{', '.join(self.options.files)}: there is no file to read"))
        unknown = [left for left in found if left.status == "unknown"]
        if self.inputs and len(unknown) == len(self.inputs):
            self.fail(UnknownFormat(f"no format recognises any of {counted(len(unknown), 'file')}"))

    def _name_unread(self, found: list[Unread]) -> None:
        self.remark(f"not looked at: {_how_many(found)}")
        others = [left for left in found if left.path not in self._said]
        shown = others if self.options.verbose else others[:SHOWN_UNREAD]
        for left in shown:
            self.remark(f"- {printable(left.path)}: {printable(left.reason)}")
        if len(others) > len(shown):
            self.remark(f"- … and {grouped(len(others) - len(shown))} more; -v names all of them")

    def say_none(self, rows: int) -> None:
        """Report that a filter left no row."""
        if rows or not self.inputs or self.code > DAMAGED:
            return
        if self.filter or any(name in CHOOSING for name in self.settings):
            self.remark("no row meets the conditions")

    def remark(self, text: str) -> None:
        """Write a remark to stderr, unless -q was given."""
        if not self.options.quiet:
            self.say(text)

    def say(self, text: str) -> None:
        """Write to stderr, after flushing stdout."""
        self.progress.clear()
        sys.stdout.flush()
        from thawline.rendering.console import say

        say(sys.stderr, f"thawline: {text}")
