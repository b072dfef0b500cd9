"""Options that commands share, and their values."""

from __future__ import annotations

import datetime as dt
import functools
import re
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import click

from thawline.options import LARGEST, OPTIONS, BadOption, Option

if TYPE_CHECKING:
    from thawline.cli.progress import Mode
    from thawline.damage import OnError
    from thawline.rendering.console import Color
    from thawline.values import Bytes

Shape = Literal["auto", "table", "vertical", "jsonl", "json", "csv", "arrow"]
SHAPES = ("auto", "table", "vertical", "jsonl", "ndjson", "json", "csv", "arrow")
SAME_SHAPES = {"ndjson": "jsonl"}
"""Shapes that have a second name, by that."""

MOST_JOBS = 1024

Decorated = TypeVar("Decorated", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class Options:
    """The shared options of a command; those that it does not offer have their defaults."""

    files: tuple[str, ...] = ()
    recursive: bool = True
    input_format: str | None = None
    spec_format: str | None = None
    """The format of the only `--spec`: files that are named are of it, whatever is left of them."""
    table: str | None = None
    columns: tuple[str, ...] = ()
    where: tuple[str, ...] = ()
    grep: str = ""
    tz: dt.tzinfo = dt.UTC
    limit: int | None = None
    on_error: OnError = "skip"
    format: Shape = "auto"
    bytes: Bytes = "auto"
    color: Color = "auto"
    progress: Mode = "auto"
    quiet: bool = False
    verbose: bool = False
    exit_zero: bool = False
    jobs: int | None = 1
    """Threads; None for one on each core that the process may use."""
    settings: tuple[tuple[str, object], ...] = ()
    """Options of formats that are set: names and values."""


def position(value: str) -> int:
    """A byte position: `806`, `0x326` or `@0x326`."""
    try:
        number = int(value.removeprefix("@"), 0)
    except ValueError:
        raise click.BadParameter(f"{value!r} is no byte position; write it like 806 or 0x326") from None
    if number < 0:
        raise click.BadParameter(f"{value!r} lies before the start of the file")
    if number > LARGEST:
        raise click.BadParameter(f"{value!r} lies after the end of any file")
    return number


def names(value: str | tuple[str, ...]) -> tuple[str, ...]:
    """The names in a comma-separated list, in order."""
    if isinstance(value, tuple):
        return value
    listed = tuple(name.strip() for name in value.split(",") if name.strip())
    if len(set(listed)) < len(listed):
        raise click.BadParameter("a column is named twice")
    return listed


def zone(value: str | dt.tzinfo) -> dt.tzinfo:
    """A time zone by its name."""
    from thawline.times import zone_of

    try:
        return value if isinstance(value, dt.tzinfo) else zone_of(value)
    except ValueError as error:
        raise click.BadParameter(str(error)) from None


def spelled_out(arguments: list[str]) -> list[str]:
    """Arguments with every `--where-COLUMN VALUE` as `--where COLUMN=VALUE`, in quotes where it needs them.

    >>> spelled_out(["cat", "--where-tag", "5", "a.rbf", "--where-tombstone=no", "--", "--where-is"])
    ['cat', '--where', 'tag=5', 'a.rbf', '--where', 'tombstone=no', '--', '--where-is']
    >>> spelled_out(["cat", "--where-queue", "it's mine"])
    ['cat', '--where', "queue = 'it''s mine'"]
    """
    rest = list(arguments)
    done: list[str] = []
    while rest:
        argument = rest.pop(0)
        if argument == "--":
            return [*done, argument, *rest]
        if not argument.startswith("--where-"):
            done.append(argument)
            continue
        column, sign, value = argument.removeprefix("--where-").partition("=")
        done += ["--where", _equation(column, value if sign else rest.pop(0) if rest else "")]
    return done


def _equation(column: str, value: str) -> str:
    """The filter that a column has a value."""
    if not re.search(r"[\s'\"]", value):
        return f"{column}={value}"
    text = value.replace("'", "''")
    return f"{column} = '{text}'"


def format_names(_context: click.Context, _param: click.Parameter, incomplete: str) -> list[str]:
    """Names of formats, for completion."""
    from thawline.formats import FORMATS

    return [name for name in FORMATS if name.startswith(incomplete)]


PATH = click.Path(readable=False)  # the session reports an unreadable file, and goes on with the others
FILES = click.argument("files", nargs=-1, required=True, type=PATH, metavar="FILE…")
FILE = click.argument("file", type=PATH, metavar="FILE")


def declare(context: click.Context, specs: tuple[str, ...]) -> None:
    """Declare the formats of some specs for the rest of this run."""
    from thawline import formats
    from thawline.outputs import protect

    protect(specs)
    for path in specs:
        made = formats.declare(path)
        of_users(context).append(made.name)
        context.find_root().call_on_close(functools.partial(formats.FORMATS.pop, made.name, None))


def of_users(context: click.Context) -> list[str]:
    """The names of the formats that `--spec` has declared."""
    names: list[str] = context.find_root().meta.setdefault("thawline.specs", [])
    return names


SPEC = click.option(
    "--spec",
    multiple=True,
    is_eager=True,
    expose_value=False,
    callback=lambda context, _param, value: declare(context, value),
    type=click.Path(),
    metavar="X.ksy",
    help="Read files of the format that this Kaitai spec describes; may be given more than once.",
)
READING = [
    SPEC,
    click.option(
        "-r/ ",
        "--recursive/--no-recursive",
        default=True,
        help="Whether to read the subfolders of folders, too; on by default.",
    ),
    click.option(
        "--input-format",
        metavar="NAME",
        shell_complete=format_names,
        help="Take the files for this format instead of recognising it.",
    ),
]


class Setting(click.ParamType):  # type: ignore[type-arg]
    """The value of a format's option, as a person writes it."""

    def __init__(self, option: Option) -> None:
        self.option, self.name = option, option.kind

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The value in the type that the format expects."""
        try:
            return self.option.value(value, ctx.params.get("tz", dt.UTC) if ctx else dt.UTC)
        except BadOption as error:
            self.fail(str(error), param, ctx)


def offered(option: Option) -> Any:
    """An option of formats as an option of a command."""
    flag = "--" + option.name.replace("_", "-")
    text = f"{option.help} ({', '.join(option.formats)})"
    match option.kind:
        case "flag":
            return click.option(flag, option.name, is_flag=True, default=None, help=text)
        case "switch":
            return click.option(f"{flag}/--{option.choices[0]}", option.name, default=None, help=text)
        case "choice":
            return click.option(flag, option.name, type=click.Choice(option.choices), help=text)
    return click.option(flag, option.name, type=Setting(option), metavar=option.kind.upper(), help=text)


TZ = click.option(
    "--tz",
    type=zone,
    default="UTC",
    is_eager=True,  # times of other options are read in it
    metavar="ZONE",
    help="The zone of times that are given without one, such as Europe/Berlin; UTC by default.",
)
OFFERED = [*map(offered, OPTIONS), TZ]
"""The options of all formats; one that the file's format does not have is refused."""
WHERE = click.option(
    "--where",
    multiple=True,
    metavar="CONDITION",
    help="Only rows that meet a condition in SQL, such as \"offset >= 100 and key like 'user-%'\", or "
    "COLUMN=VALUE, also written --where-COLUMN VALUE; rows must meet all of several.",
)
ROWS = [
    click.option("--table", metavar="NAME", help="The table to read; a format's first one by default."),
    click.option("--columns", type=names, default=(), metavar="A,B,…", help="Only these columns, in this order."),
    WHERE,
    click.option(
        "--grep",
        default="",
        metavar="REGEX",
        help="Only rows with a match in some text or bytes; matches are marked on a terminal.",
    ),
]
DAMAGE = [
    click.option(
        "--on-error",
        type=click.Choice(["skip", "keep", "raise"]),
        default="skip",
        show_default=True,
        help="What to do with damage: pass over it, keep it as a row of nulls with its bytes in _corrupt_record, "
        "or stop there.",
    ),
]
EXIT_ZERO = click.option("--exit-zero", is_flag=True, help="Exit with 0 also where damage was found.")


class Count(click.IntRange):
    """A number of rows that fits into 64 bits."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The number."""
        number = super().convert(value, param, ctx)
        if number > LARGEST:
            self.fail(f"{value} lies beyond 64 bits; {LARGEST} is the largest number", param, ctx)
        return number


class ShapeName(click.Choice):  # type: ignore[type-arg]
    """A shape by one of its names."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The name that the code has for it."""
        name = super().convert(value, param, ctx)
        return SAME_SHAPES.get(name, name)


COUNTED = Count(min=0)
LIMIT = click.option("--limit", type=COUNTED, metavar="N", help="Stop after N rows in all.")
FORMAT = [
    click.option(
        "--format",
        type=ShapeName(SHAPES),
        default="auto",
        show_default=True,
        help="Shape of the output; auto is a table on a terminal and JSON lines, jsonl or ndjson, in a pipe.",
    ),
    click.option("--vertical", is_flag=True, help="A line for each column of a row, as --format vertical."),
]
BYTES = click.option(
    "--bytes",
    type=click.Choice(["auto", "hex", "base64", "utf8"]),
    default="auto",
    show_default=True,
    help="How bytes are shown; auto is text where it is valid UTF-8, else null with the bytes in <column>_b64.",
)
CSV_SAFE = click.option(
    "--csv-safe",
    is_flag=True,
    help="Put a ' before text in CSV that a spreadsheet would take for a formula: what begins with = + - @, a tab or "
    "an end of a line.",
)
TALKING = [
    click.option(
        "--color",
        type=click.Choice(["auto", "always", "never"]),
        default="auto",
        show_default=True,
        help="Colour; auto obeys NO_COLOR, FORCE_COLOR and TERM=dumb.",
    ),
    click.option(
        "--progress",
        type=click.Choice(["auto", "none", "json"]),
        default="auto",
        show_default=True,
        help="Progress on stderr; auto shows it on a terminal, after a second.",
    ),
    click.option("-q", "--quiet", is_flag=True, help="No remarks on stderr, errors only."),
    click.option("-v", "--verbose", is_flag=True, help="More remarks, and long lists in full."),
]
JOBS = click.option(
    "-j",
    "--jobs",
    type=click.IntRange(1, MOST_JOBS),
    metavar="N",
    help="How much is done at once; by default as much as there are cores. Rows and findings are the same for any N.",
)
OVERWRITE = click.option("--overwrite", is_flag=True, help="Replace OUT if it is there already.")
PARQUET = [
    click.option(
        "--compression",
        metavar="NAME[:LEVEL]",
        help="Of Parquet: zstd, snappy, lz4 or none, such as zstd:9; zstd by default.",
    ),
    click.option(
        "--row-group-bytes",
        type=Setting(Option("row_group_bytes", (), "size", "")),
        metavar="SIZE",
        help="The size in memory of Parquet's row groups, such as 128MiB; by default 65536 rows or 32 MiB.",
    ),
    click.option(
        "--partition-by", metavar="COLUMN", help="In a folder of Parquet files, a folder for each value of a column."
    ),
]
OUTPUT = click.option(
    "-o", "--output", required=True, type=click.Path(), metavar="OUT", help="What to write; it must not exist."
)


def takes(*options: Any) -> Callable[[Decorated], Decorated]:
    """A decorator that adds options, or lists of them, to a command, in the order of its help."""
    flat = [option for item in options for option in (item if isinstance(item, list) else [item])]

    def decorate(function: Decorated) -> Decorated:
        return functools.reduce(lambda decorated, option: option(decorated), reversed(flat), function)

    return decorate


def session(command: Callable[..., int]) -> Callable[..., int]:
    """A command that gets a `Session` made of its shared options, and its other options as arguments."""

    @functools.wraps(command)
    def run(**arguments: Any) -> int:
        from thawline.cli.session import Session

        if "file" in arguments:
            arguments["files"] = (arguments.pop("file"),)
        if arguments.pop("vertical", False):
            arguments["format"] = _vertical(arguments["format"])
        settings = [(option.name, arguments.pop(option.name, None)) for option in OPTIONS if option.name in arguments]
        arguments["settings"] = tuple((name, value) for name, value in settings if value is not None)
        shared = {field.name: arguments.pop(field.name) for field in fields(Options) if field.name in arguments}
        declared_names = of_users(click.get_current_context())
        shared["spec_format"] = declared_names[0] if len(declared_names) == 1 else None
        return command(Session(Options(**shared)), **arguments)

    return run


def _vertical(shape: Shape) -> Shape:
    if shape not in {"auto", "table", "vertical"}:
        raise click.UsageError(f"--vertical is a shape of its own; it does not go with --format {shape}")
    return "vertical"
