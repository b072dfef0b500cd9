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
from difflib import get_close_matches
from importlib import import_module
from io import StringIO
from pathlib import Path

import click

from thawline import __version__
from thawline.cli import memory
from thawline.cli.checks import inspect, salvage, verify
from thawline.cli.ingest import ingest
from thawline.cli.looks import glance, identify, info, stats
from thawline.cli.options import spelled_out
from thawline.cli.reference import completion, explain, formats, help_page, schema
from thawline.cli.rows import cat, convert, head, tail
from thawline.cli.streams import Stopped, heed_signals, prepare, silence
from thawline.errors import ThawlineError
from thawline.partials import abandon

COMPLETE = "_THAWLINE_COMPLETE"
ALIASES = {"check": "verify", "validate": "verify"}
SECTIONS = {
    "Look": [identify, info, stats],
    "Read": [cat, head, tail, convert],
    "Check and salvage": [verify, inspect, salvage],
    "On Spark": [ingest],
    "Reference": [formats, schema, help_page, explain, completion],
}
FORMAT_COMMANDS: dict[str, str] = {
    "aerospike": "thawline.cli.aerospike",
    "kafka": "thawline.cli.kafka",
    "borg": "thawline.cli.borg",
    "rbak": "thawline.cli.rbak",
}
"""Modules of the command groups of single formats, by format; a group is imported on first use."""
SPEC_COMMANDS = {"spec": "thawline.cli.spec"}
"""The module of the command group for authors and reviewers of specs."""
GROUPS = {**FORMAT_COMMANDS, **SPEC_COMMANDS}
INTERRUPTED = 130
USAGE = 2


class Thawline(click.Group):
    """The commands and their aliases; a bare file name runs `glance`."""

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """A command by its name or alias, or the command group of a format."""
        if cmd_name in GROUPS:
            group: click.Command = getattr(import_module(GROUPS[cmd_name]), cmd_name)
            return group
        return super().get_command(ctx, ALIASES.get(cmd_name, cmd_name))

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Names of all commands, for completion."""
        return [*super().list_commands(ctx), *GROUPS]

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command that the arguments name; `glance` for an existing file, a URL or `-`."""
        name = args[0]
        memory.check()
        if self.get_command(ctx, name) is None and _is_file(name):
            return "glance", glance, args
        if self.get_command(ctx, name) is None and not name.startswith("-"):
            near = get_close_matches(name, self.list_commands(ctx), 1)
            hint = f"did you mean {near[0]}?" if near else "`thawline --help` lists the commands"
            ctx.fail(f"there is neither a command nor a file {name!r}; {hint}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands in sections, in the order in which a user needs them."""
        for title, commands in SECTIONS.items():
            with formatter.section(title):
                formatter.write_dl([(str(item.name), item.get_short_help_str(limit=80)) for item in commands])
        for title, names in {"For one format": FORMAT_COMMANDS, "For reviewers of specs": SPEC_COMMANDS}.items():
            with formatter.section(title):
                groups = [(name, self.get_command(ctx, name)) for name in names]
                formatter.write_dl([(name, item.get_short_help_str(limit=80)) for name, item in groups if item])


def _is_file(name: str) -> bool:
    return name == "-" or "://" in name or any(mark in name for mark in "/.*") or Path(name).exists()


@click.group(
    cls=Thawline,
    subcommand_metavar="COMMAND FILE…",
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, message="%(prog)s %(version)s")
def commands() -> None:
    """Read, verify, query, salvage and convert cold data without restoring it.

    FILE is a path, a glob, a folder, a URL such as s3://bucket/key, or - for stdin. Files are only ever read.
    `thawline FILE` says what a file is and what to do next.

    Data goes to stdout, remarks to stderr. Exit codes: 0 clean, 1 damage found (and the work was done), 2 wrong usage
    or a file that cannot be read or written, 3 a file of no known format, 130 interrupted, 143 or 129 ended by a
    signal. Of several files the highest code counts. A closed pipe is no error.
    """


for section in SECTIONS.values():
    for command in section:
        commands.add_command(command)
commands.add_command(glance)


def main() -> None:
    """Run `thawline` with the arguments of the process."""
    prepare()
    heed_signals()
    memory.be_frugal()
    code = run(sys.argv[1:])
    abandon()  # partial files that an interruption has left
    silence()
    sys.exit(code)


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
        with commands.make_context("thawline", spelled_out(arguments)) as context:
            return int(commands.invoke(context) or 0)
    except click.exceptions.Exit as error:
        return error.exit_code


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
