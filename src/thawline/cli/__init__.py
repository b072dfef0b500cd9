"""The command `thawline`: one short function per command, and the behaviour that all of them share.

Exit codes, closed pipes and Ctrl-C are handled only here. Commands import slow modules when they run, so that `--help`
and completion are fast.
"""

from __future__ import annotations

import os
import sys
import traceback
from contextlib import suppress
from contextvars import copy_context
from importlib import import_module
from io import StringIO
from pathlib import Path

import click

from thawline import __version__
from thawline.cli import memory
from thawline.cli.streams import Stopped, heed_signals, prepare, silence
from thawline.errors import ThawlineError
from thawline.partials import abandon

COMPLETE = "_THAWLINE_COMPLETE"
ALIASES = {"check": "verify", "validate": "verify"}
SECTIONS = {
    "Look": ("identify", "info", "stats"),
    "Read": ("cat", "head", "tail", "convert"),
    "Ask": ("sql",),
    "Compare": ("diff",),
    "Check and salvage": ("verify", "report", "inspect", "salvage"),
    "On Spark": ("ingest",),
    "Reference": ("formats", "schema", "help", "explain", "completion"),
}
MODULES = {
    "Look": "thawline.cli.looks",
    "Read": "thawline.cli.rows",
    "Ask": "thawline.cli.sql",
    "Compare": "thawline.cli.diff",
    "Check and salvage": "thawline.cli.checks",
    "On Spark": "thawline.cli.ingest",
    "Reference": "thawline.cli.reference",
}
COMMANDS = {"glance": MODULES["Look"], **{name: MODULES[title] for title, names in SECTIONS.items() for name in names}}
COMMANDS["report"] = "thawline.cli.report"
"""Modules of commands; a module is imported on first use."""
FUNCTIONS = {"help": "help_page"}
"""Commands whose functions have another name."""
FORMAT_COMMANDS: dict[str, str] = {
    "aerospike": "thawline.cli.aerospike",
    "kafka": "thawline.cli.kafka",
    "borg": "thawline.cli.borg",
    "rbak": "thawline.cli.rbak",
}
"""Modules of the command groups of single formats, by format; a group is imported on first use."""
LAKE_COMMANDS = {"lake": "thawline.cli.lake"}
"""The module of the command group about lakes that `ingest` has written."""
SPEC_COMMANDS = {"spec": "thawline.cli.spec"}
"""The module of the command group for authors and reviewers of specs."""
GROUPS = {**FORMAT_COMMANDS, **LAKE_COMMANDS, **SPEC_COMMANDS}
UNUSED = ("numpy", "pandas")
"""Libraries that pyarrow imports where they are installed. No command needs them, and they take long to import."""
INTERRUPTED = 130
USAGE = 2


class Thawline(click.Group):
    """The commands and their aliases; a bare file name runs `glance`."""

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """A command by its name or alias, or the command group of a format."""
        name = ALIASES.get(cmd_name, cmd_name)
        if home := (COMMANDS | GROUPS).get(name):
            command: click.Command = getattr(import_module(home), FUNCTIONS.get(name, name))
            return command
        return super().get_command(ctx, name)

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - as click has it
        """Names of all commands, for completion."""
        return [*sorted(COMMANDS), *GROUPS]

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command that the arguments name; `glance` for an existing file, a URL or `-`."""
        name = args[0]
        memory.check()
        if self.get_command(ctx, name) is None and _is_file(name):
            return "glance", self.get_command(ctx, "glance"), args
        if self.get_command(ctx, name) is None and not name.startswith("-"):
            from difflib import get_close_matches

            near = get_close_matches(name, self.list_commands(ctx), 1)
            hint = f"did you mean {near[0]}?" if near else "`thawline --help` lists the commands"
            ctx.fail(f"there is neither a command nor a file {name!r}; {hint}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands in sections, in the order in which a user needs them."""
        others = {"For one format": tuple(FORMAT_COMMANDS), "For reviewers of specs": tuple(SPEC_COMMANDS)}
        sections = {**SECTIONS, "On Spark": (*SECTIONS["On Spark"], *LAKE_COMMANDS)}
        for title, names in (sections | others).items():
            with formatter.section(title):
                found = [(name, self.get_command(ctx, name)) for name in names]
                formatter.write_dl([(name, item.get_short_help_str(limit=200)) for name, item in found if item])


def _is_file(name: str) -> bool:
    return name == "-" or "://" in name or any(mark in name for mark in "/.*") or Path(name).exists()


@click.group(
    cls=Thawline,
    subcommand_metavar="COMMAND FILE…",
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, message="%(prog)s %(version)s")
@click.option(
    "--spec",
    "specs",
    multiple=True,
    type=click.Path(),
    metavar="X.ksy",
    help="Read files of the format that this Kaitai spec describes; may be given more than once, also after COMMAND.",
)
@click.pass_context
def commands(context: click.Context, specs: tuple[str, ...]) -> None:
    """Read, verify, query, salvage and convert cold data without restoring it.

    FILE is a path, a glob, a folder, a URL such as s3://bucket/key, or - for stdin. Files are only ever read.
    `thawline FILE` says what a file is and what to do next.

    Data goes to stdout, remarks to stderr. Exit codes: 0 clean, 1 damage found (and the work was done), 2 wrong usage
    or a file that cannot be read or written, 3 a file of no known format, 130 interrupted, 143 or 129 ended by a
    signal. Of several files the highest code counts. A closed pipe is no error.
    """
    if specs:
        from thawline.cli.options import declare

        declare(context, specs)


def main() -> None:
    """Run `thawline` with the arguments of the process."""
    prepare()
    heed_signals()
    memory.be_frugal()
    if "ingest" not in sys.argv[1:]:  # Spark needs them; --spec may stand before the command
        leave_out(UNUSED)
    code = run(sys.argv[1:])
    abandon()  # partial files that an interruption has left
    silence()
    sys.exit(code)


def leave_out(libraries: tuple[str, ...]) -> None:
    """Let imports of libraries fail as if they were not installed; those that are imported already stay."""
    for name in libraries:
        sys.modules.setdefault(name, None)  # type: ignore[arg-type]


def run(arguments: list[str]) -> int:
    """Run `thawline`; returns its exit code."""
    try:
        code = copy_context().run(_dispatch, arguments)
        sys.stdout.flush()
    except BrokenPipeError:
        silence()
        return 0
    except KeyboardInterrupt:
        return _fail("interrupted", INTERRUPTED)
    except Stopped as stopped:
        return _fail(f"stopped by {stopped}", stopped.exit_code)
    except click.ClickException as error:
        return _wrong_usage(error)
    except Exception as error:  # noqa: BLE001 - Python would exit with 1, which means damage here
        return _failed(error)
    return code


def _failed(error: Exception) -> int:
    """Report an error; returns the exit code."""
    if isinstance(error, ThawlineError):
        return _fail(_sentence(error), error.exit_code)
    if memory.is_short(error):
        error.__traceback__ = None  # its frames keep everything that was read in memory
        return _fail(memory.NO_MEMORY, USAGE)
    if isinstance(error, OSError):
        return _fail(_sentence(error), USAGE)
    traceback.print_exc()
    return _fail("this is a mistake in thawline; please report it with the lines above", USAGE)


def _dispatch(arguments: list[str]) -> int:
    # Not `commands.main`: click treats a closed pipe as an error, and EOFError as Ctrl-C.
    if instruction := os.environ.get(COMPLETE):
        from click.shell_completion import shell_complete

        return shell_complete(commands, {}, "thawline", COMPLETE, instruction)
    try:
        with commands.make_context("thawline", _spelled_out(arguments)) as context:
            return int(commands.invoke(context) or 0)
    except click.exceptions.Exit as error:
        return error.exit_code


def _spelled_out(arguments: list[str]) -> list[str]:
    if not any(argument.startswith("--where-") for argument in arguments):
        return arguments
    from thawline.cli.options import spelled_out

    return spelled_out(arguments)


def _sentence(error: Exception) -> str:
    if isinstance(error, memory.NotEnoughMemory):
        return str(error)  # memory does not suffice to import more modules
    from thawline.cli.session import sentence

    return sentence(error)


def _fail(message: str, code: int) -> int:
    with suppress(OSError):
        sys.stdout.flush()
    _say(f"thawline: {message}")
    silence()
    return code


def _wrong_usage(error: click.ClickException) -> int:
    text = StringIO()
    error.show(text)
    _say(text.getvalue().rstrip("\n"))
    return USAGE


def _say(text: str) -> None:
    try:
        from thawline.rendering.console import say

        say(sys.stderr, text)
    except (MemoryError, ImportError):
        os.write(2, f"{text}\n".encode())
