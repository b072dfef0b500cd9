"""Commands about the specs themselves: check, diff, lint, show, cache."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from thawline.cli.options import FORMAT, OVERWRITE, TALKING, session, takes
from thawline.wording import printable

if TYPE_CHECKING:
    from thawline.cli.session import Session
    from thawline.compiler.language import Refusal
    from thawline.ksy.versions import Version


def spec_names(_context: click.Context, _param: click.Parameter, incomplete: str) -> list[str]:
    """Names of formats and specs, for completion."""
    from thawline.formats import FORMATS
    from thawline.ksy.document_specs import SUFFIX
    from thawline.ksy.documents import SCHEMAS

    files = [*SCHEMAS.rglob("*.ksy"), *SCHEMAS.rglob(f"*{SUFFIX}")]
    names = [*FORMATS, *sorted(path.name.partition(".")[0] for path in files)]
    return [name for name in names if name.startswith(incomplete)]


@click.group()
def spec() -> None:
    """Review, check and show the Kaitai specs: check, diff, lint, show; cache, the kernels of specs of users."""


@spec.command()
@click.argument("old")
@click.argument("new")
@click.option(
    "--corpus",
    type=click.Path(exists=True, path_type=Path),
    multiple=True,
    metavar="DIR",
    help="Also read the files below this folder with both versions; may be given more than once.",
)
@click.option(
    "--format",
    "shape",
    type=click.Choice(["markdown", "json"]),
    default="markdown",
    show_default=True,
    help="Markdown to paste into a review, or JSON.",
)
@click.option(
    "--seconds",
    type=click.IntRange(1, 3600),
    default=10,
    show_default=True,
    metavar="N",
    help="Processor time that one unit of a file may take: a spec under review may loop for ever.",
)
@click.option("--structure", is_flag=True, help="Only compare the specs: compile nothing, read no files.")
@click.option(
    "--api", is_flag=True, help="Exit with 2 also where only users of the parsers or the tables have to change."
)
def diff(old: str, new: str, corpus: tuple[Path, ...], shape: str, seconds: int, *, structure: bool, api: bool) -> int:
    """Say what a change of specs does to the wire, to the API and to real files.

    OLD and NEW are files, folders, or either in a commit, written like main:schemas. Both versions are compiled and
    read the golden files; fields are matched by position, so that a pure rename shows as such.

    Exit codes: 0 no wire change, 1 compatible, 2 breaking, or a spec that does not compile.

    \b
      thawline spec diff HEAD:schemas schemas
      thawline spec diff v1.0:schemas/rbf_frame.ksy schemas/rbf_frame.ksy --corpus /mnt/cold
    """  # noqa: D301 - click does not wrap the paragraph after a \b
    from thawline.ksy.versions import load_version
    from thawline.rendering.review import markdown, record
    from thawline.review import compared, review
    from thawline.review.model import BREAKS

    versions = load_version(old), load_version(new)
    result = compared(*versions) if structure else review(*versions, corpus, seconds)
    if shape == "json":
        import json

        click.echo(json.dumps(record(result), indent=1, ensure_ascii=False))
    else:
        click.echo(markdown(result), nl=False)
    return BREAKS if api and result.breaks_api else result.exit_code


@spec.command()
@click.argument("paths", nargs=-1, metavar="[PATH]…")
@click.option(
    "--format", "shape", type=click.Choice(["text", "json"]), default="text", show_default=True, help="Lines, or JSON."
)
def lint(paths: tuple[str, ...], shape: str) -> int:
    """Hold specs to the style guide: order, names, reserved words, what is undocumented, unused or unchecked.

    PATH is a file, a folder, or either in a commit (main:schemas); thawline's own specs without one. Each flaw is a
    line that starts with file:line:column. Exit codes: 0 none found, 1 some, 2 a spec that cannot be read.
    """
    import sys

    from thawline.ksy.documents import SCHEMAS
    from thawline.ksy.lint import lint as flaws_of
    from thawline.ksy.lint import lint_document
    from thawline.ksy.versions import load_version

    versions = [load_version(path) for path in paths or (str(SCHEMAS),)]
    flaws = [
        flaw for version in versions for name in version.asked for flaw in flaws_of(version.specs[name], version.specs)
    ]
    flaws += [flaw for version in versions for spec in version.documents.values() for flaw in lint_document(spec)]
    if shape == "json":
        import dataclasses
        import json

        click.echo(json.dumps([dataclasses.asdict(flaw) for flaw in flaws], indent=1, ensure_ascii=False))
    else:
        for flaw in flaws:
            click.echo(f"{flaw.place}: {flaw.rule}: {flaw.message}")
        from thawline.rendering.words import counted

        number = sum(len(version.asked) + len(version.documents) for version in versions)
        click.echo(f"{counted(number, 'spec')}, {counted(len(flaws), 'flaw')}", file=sys.stderr)
    return 1 if flaws else 0


@spec.command()
@click.argument("paths", nargs=-1, required=True, metavar="SPEC…", type=click.Path(exists=True, path_type=Path))
@click.option(
    "--format",
    "shape",
    type=click.Choice(["text", "jsonl"]),
    default="text",
    show_default=True,
    help="Lines, or a JSON object for each spec.",
)
def check(paths: tuple[Path, ...], shape: str) -> int:
    """Say of each .ksy whether thawline compiles it, and otherwise every reason.

    SPEC is a .ksy file, or a folder with some. A reason starts with file:line:column. Exit codes: 0 all compile, 1 some
    do not, 2 a file that cannot be read.

    \b
      thawline spec check my.ksy
      thawline spec check formats --format jsonl
    """  # noqa: D301 - click does not wrap the paragraph after a \b
    import sys

    from thawline.formats.registry import refusals as refusals_of
    from thawline.rendering.words import counted

    files = [file for path in paths for file in (sorted(path.rglob("*.ksy")) if path.is_dir() else [path])]
    refused = 0
    for file in files:
        refusals = refusals_of(file)
        refused += bool(refusals)
        for line in _check_lines(file, refusals, shape):
            click.echo(line)
    if shape == "text":
        click.echo(f"{counted(len(files), 'spec')}, {len(files) - refused} compile", file=sys.stderr)
    return 1 if refused else 0


def _check_lines(file: Path, refusals: list[Refusal], shape: str) -> list[str]:
    if shape == "text":
        return [printable(f"{it.place}: {it.reason}") for it in refusals] or [printable(f"{file}: compiles")]
    import json

    places = [{"place": it.place, "reason": it.reason} for it in refusals]
    return [json.dumps({"spec": str(file), "compiles": not refusals, "refusals": places})]


@spec.command()
@takes(
    click.argument("name", metavar="FORMAT", shell_complete=spec_names),
    click.option("--svg", is_flag=True, help="A picture of the bytes instead: an SVG on stdout, or in OUT."),
    click.option("-o", "--output", type=click.Path(), metavar="OUT", help="Write to this file instead of stdout."),
    OVERWRITE,
    TALKING[0],
)
@session
def show(run: Session, name: str, output: str | None, *, svg: bool, overwrite: bool) -> int:
    """Show what lies where: offset, size, type, name and meaning of every field.

    FORMAT is a format, such as kafka, one of its specs, such as kafka_record_batch, a .ksy file, or one in a commit.

    \b
      thawline spec show rbf
      thawline spec show kafka_record_batch --svg > batch.svg
    """  # noqa: D301 - click does not wrap the paragraph after a \b
    from thawline.ksy.diagram import draw
    from thawline.rendering.specs import show_specs

    shown = _named_specs(name)
    if svg:
        return _write(draw([shown.specs[key] for key in shown.asked], shown.specs), output, overwrite=overwrite)
    if output:
        from io import StringIO

        from thawline.rendering.console import console

        text = StringIO()
        show_specs(console(text, "never"), shown)
        return _write(text.getvalue(), output, overwrite=overwrite)
    show_specs(run.console, shown)
    return 0


@spec.command()
@takes(
    click.option("--clear", is_flag=True, help="Remove all of them; the next use of a spec compiles it again."),
    FORMAT,
    TALKING[0],
)
@session
def cache(run: Session, *, clear: bool) -> int:
    """List the kernels that were compiled for specs of users, or remove them.

    They are in $THAWLINE_CACHE, else in thawline/ in the folder where the system keeps caches. Only its owner may be
    able to write there: they are code.
    """
    from thawline.compiler import kernel_cache
    from thawline.rendering.words import counted, exact
    from thawline.values import iso_time

    found = kernel_cache.clear() if clear else kernel_cache.kept()
    if not clear:
        run.show(
            [{"kernel": str(item.path), "size": item.size, "compiled": iso_time(int(item.made), "s")} for item in found]
        )
    done = "removed" if clear else "kept"
    run.remark(f"{counted(len(found), 'kernel')}, {exact(sum(item.size for item in found))}, {done}")
    return 0


def _named_specs(name: str) -> Version:
    """The specs that a name selects, in reading order."""
    from thawline.formats import FORMATS
    from thawline.ksy.documents import SCHEMAS
    from thawline.ksy.versions import load_version

    own = load_version(str(SCHEMAS))
    names = [*own.specs, *own.documents]
    if name in names or name in FORMATS:
        return own.only([key for key in names if key == name or (name in FORMATS and key.startswith(f"{name}_"))])
    if not Path(name).exists() and ":" not in name:
        from difflib import get_close_matches

        near = " or ".join(get_close_matches(name, [*FORMATS, *names])) or f"one of {', '.join(FORMATS)}"
        raise click.UsageError(f"there is no format or spec {name!r}; did you mean {near}?")
    return load_version(name)


def _write(text: str, output: str | None, *, overwrite: bool) -> int:
    if output is None:
        click.echo(text, nl=False)
        return 0
    from thawline.outputs import replacing

    with replacing(Path(output), overwrite=overwrite) as file:
        file.write(text.encode("utf-8"))
    return 0
