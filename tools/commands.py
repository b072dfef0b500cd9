"""All commands of `thawline` with their options, as click has them: for the manual and the site."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from inspect import cleandoc
from itertools import groupby

import click

from thawline.cli import commands

__all__ = ["Command", "Option", "all_commands", "paragraphs"]


@dataclass(frozen=True, slots=True)
class Option:
    """An option of a command: how it is written, and what it does."""

    flags: str
    meaning: str


@dataclass(frozen=True, slots=True)
class Command:
    """A command with its full name, such as `thawline spec diff`."""

    name: str
    usage: str
    help: str
    options: tuple[Option, ...]


def all_commands() -> Iterator[Command]:
    """`thawline` itself, and every command and subcommand that is not hidden."""
    yield from _below(commands, "thawline", None)


def _below(command: click.Command, name: str, parent: click.Context | None) -> Iterator[Command]:
    context = click.Context(command, parent, name.rpartition(" ")[2], **command.context_settings)
    usage = " ".join(command.collect_usage_pieces(context))
    records = (it.get_help_record(context) for it in command.get_params(context) if isinstance(it, click.Option))
    options = tuple(Option(*record) for record in records if record)
    yield Command(name, f"{name} {usage}", cleandoc(command.help or ""), options)
    if isinstance(command, click.Group):
        for sub in command.list_commands(context):
            found = command.get_command(context, sub)
            if found is not None and not found.hidden:
                yield from _below(found, f"{name} {sub}", context)


def paragraphs(text: str) -> Iterator[tuple[bool, str]]:
    r"""The paragraphs of a help text; whether each is to be kept line by line.

    >>> list(paragraphs("One\ntwo.\n\n\b\n  a\n  b"))
    [(False, 'One two.'), (True, '  a\n  b')]
    """
    for is_text, lines in groupby(text.splitlines(), key=lambda line: bool(line.strip(" "))):
        found = list(lines)
        if is_text:
            is_kept = found[0].strip(" ") == "\b"
            yield is_kept, "\n".join(found[1:]) if is_kept else " ".join(line.strip() for line in found)
