"""Commands that need no file: formats, schema, help, explain, completion."""

from __future__ import annotations

import sys
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

import click

from thawline.cli.options import FORMAT, SPEC, TALKING, format_names, session, takes
from thawline.errors import UnknownFormat

if TYPE_CHECKING:
    from collections.abc import Iterator

    from thawline.cli.session import Session
    from thawline.formats.contract import Table
    from thawline.model import Code

COLOR = TALKING[0]


@click.command()
@takes(FORMAT, COLOR)
@session
def formats(run: Session) -> int:
    """List the formats that can be read."""
    from thawline.formats import FORMATS, get

    listed = [get(name) for name in FORMATS]
    return run.show(
        [
            {"format": it.name, "title": it.title, "unit": it.kinds[0].unit_name, "tables": tuple(it.tables)}
            for it in listed
        ]
    )


@click.command()
@takes(
    click.argument("name", metavar="[FORMAT]", required=False, shell_complete=format_names),
    SPEC,
    click.option("--table", metavar="NAME", help="Only this table."),
    click.option("--arrow", "source", flag_value="arrow", help="The Arrow schema of the tables."),
    click.option("--layout", "source", flag_value="layout", help="The bytes of each structure, as Markdown tables."),
    click.option("--ksy", "source", flag_value="ksy", help="The Kaitai specs that the parsers are made from."),
    FORMAT,
    COLOR,
)
@session
def schema(run: Session, name: str | None, source: str | None) -> int:
    """Show the columns of a format's tables, or the bytes that they come from.

    With `--spec x.ksy` it is the format of this spec, before a byte of a file is read.
    """
    from thawline.formats import get

    name = name or run.options.spec_format
    if name is None:
        raise click.UsageError("Missing argument 'FORMAT'.")
    format_ = get(name)
    tables = [run.options.table] if run.options.table else list(format_.tables)
    if unknown := set(tables) - set(format_.tables):
        raise click.UsageError(f"{name} has no table {unknown.pop()!r}; there are {', '.join(format_.tables)}")
    if source in {"layout", "ksy"}:
        click.echo(_specs(name, source))
    elif source == "arrow":
        click.echo("\n\n".join(f"# {name}.{table}\n{format_.tables[table].schema}" for table in tables))
    else:
        return run.show([row for table in tables for row in _columns(table, format_.tables[table])])
    return 0


def _columns(name: str, table: Table) -> Iterator[dict[str, str]]:
    """What there is to say of each column of a table."""
    for fields, given in ((table.schema, "always"), (table.extras, "by name")):
        for field in fields:
            meaning = table.meanings.get(field.name, "")
            yield {"table": name, "column": field.name, "type": str(field.type), "given": given, "meaning": meaning}


def _specs(name: str, source: str) -> str:
    """The texts of all specs of a format, each with its file name as a heading."""
    from importlib.resources import files

    folder = files("thawline.schemas" if source == "ksy" else "thawline.generated.layouts")
    suffix = ".ksy" if source == "ksy" else ".md"
    texts = sorted(
        (item.name, item.read_text(encoding="utf-8").strip())
        for item in folder.iterdir()
        if item.name.startswith(f"{name}_") and item.name.endswith(suffix)
    )
    return "\n\n".join(f"# {title}\n{text}" if source == "ksy" else text for title, text in texts)


@click.command(name="help")
@click.argument("topic", required=False, shell_complete=format_names)
@click.pass_context
def help_page(context: click.Context, topic: str | None) -> int:
    """Show the page of a format, or the help of a command."""
    from thawline.formats import FORMATS
    from thawline.rendering.console import console
    from thawline.rendering.pages import show_page

    parent = context.parent
    assert parent is not None  # noqa: S101 - click runs this command within its group
    group: Any = parent.command
    command = group.get_command(parent, topic) if topic else group
    if topic in FORMATS:
        show_page(console(sys.stdout), _page(topic, parent, command))
    elif command is not None:
        click.echo(command.get_help(parent if topic is None else click.Context(command, parent, topic)))
    else:
        raise UnknownFormat(_unknown_topic(str(topic), group.list_commands(parent)))
    return 0


def _unknown_topic(topic: str, commands: list[str]) -> str:
    from thawline.formats import FORMATS

    near = get_close_matches(topic, [*FORMATS, *commands], 1)
    hint = f"did you mean {near[0]}?" if near else f"there are the formats {', '.join(FORMATS)}"
    return f"no format and no command is called {topic!r}; {hint}"


def _page(name: str, parent: click.Context, command: click.Group | None) -> str:
    """The page of a format, and the commands that only it has."""
    from importlib.resources import files

    from thawline.formats import get
    from thawline.rendering.pages import filled

    page = filled((files("thawline.schemas") / f"{name}.md").read_text(encoding="utf-8").rstrip(), get(name).tables)
    if command is None:
        return page
    context = click.Context(command, parent, name)
    own = [(each, command.get_command(context, each)) for each in command.list_commands(context)]
    width = max(len(each) for each, _ in own)
    lines = [f"* `thawline {name} {each:<{width}}`  {item.get_short_help_str(80)}" for each, item in own if item]
    return "\n".join([page, "", "## Commands of its own", "", *lines, "", f"`thawline {name} --help` lists them, too."])


def code_names(_context: click.Context, _param: click.Parameter, incomplete: str) -> list[str]:
    """Codes of findings, for completion."""
    return [code for code in _codes() if code.startswith(incomplete.upper())]


@click.command()
@takes(click.argument("name", metavar="[CODE]", required=False, shell_complete=code_names), FORMAT, COLOR)
@session
def explain(run: Session, name: str | None) -> int:
    """Explain a code such as RBF104: what it means, what is lost, what to do. Without CODE, list all."""
    codes = _codes()
    if name is None:
        return run.show(
            [{"code": code.id, "severity": code.severity, "message": code.message} for code in codes.values()]
        )
    if name.upper() not in codes:
        near = " or ".join(get_close_matches(name.upper(), codes)) or "one that `thawline explain` lists"
        raise click.UsageError(f"there is no code {name!r}; did you mean {near}?")
    code = codes[name.upper()]
    if run.options.format in {"auto", "table"}:
        run.console.print(_explanation(code, run.console.width))
        return 0
    record = {"code": code.id, "severity": code.severity, "message": code.message, "explanation": code.explanation}
    return run.show([record])


def _codes() -> dict[str, Code]:
    from thawline.faults import UNREADABLE
    from thawline.formats import FORMATS, declared, described, get

    of_specs = (*declared.CODES, *described.CODES)
    return {code.id: code for code in (*(code for name in FORMATS for code in get(name).codes), *of_specs, UNREADABLE)}


def _explanation(code: Code, width: int) -> str:
    from textwrap import fill

    return f"{code.id} {code.message} ({code.severity})\n\n{fill(code.explanation, min(width, 100))}"


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion(context: click.Context, shell: str) -> int:
    """Print the completion script of a shell.

    \b
      bash   echo 'eval "$(thawline completion bash)"' >> ~/.bashrc
      zsh    echo 'eval "$(thawline completion zsh)"' >> ~/.zshrc
      fish   thawline completion fish > ~/.config/fish/completions/thawline.fish
    """  # noqa: D301 - click does not wrap the paragraph after a \b
    from click.shell_completion import get_completion_class

    from thawline.cli import COMPLETE

    script = get_completion_class(shell)
    assert script is not None  # noqa: S101 - click supports all three
    click.echo(script(context.find_root().command, {}, "thawline", COMPLETE).source())
    return 0
