"""The command `report`: what verify says, as a page, or for another program."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path, PurePath
from typing import TYPE_CHECKING

import click

from thawline.cli.options import EXIT_ZERO, JOBS, OFFERED, OVERWRITE, PATH, READING, TALKING, session, takes

if TYPE_CHECKING:
    from thawline.cli.session import Session, WatchedFile
    from thawline.cold import ColdFile
    from thawline.model import Report
    from thawline.rendering.exhibits import Exhibit
    from thawline.verbs.report import Study, Survey

SHAPES = ("html", "json", "md", "junit", "sarif", "github")
SUFFIXES = {".json": "json", ".md": "md", ".xml": "junit", ".sarif": "sarif"}
"""Shapes by the suffix of the output; any other suffix is a page."""
PATHS = click.argument("files", nargs=-1, required=True, type=PATH, metavar="PATH…")


@click.command()
@takes(
    PATHS,
    click.option("-o", "--output", type=click.Path(), metavar="OUT", help="The file to write; it must not exist."),
    click.option(
        "--format",
        "shape",
        type=click.Choice(SHAPES),
        help="What to write: a page, JSON, Markdown, JUnit XML, SARIF 2.1.0, or annotations of GitHub Actions. "
        "By default what the suffix of OUT says, else a page.",
    ),
    READING,
    OFFERED,
    JOBS,
    OVERWRITE,
    TALKING,
    EXIT_ZERO,
)
@session
def report(run: Session, output: str | None, shape: str | None, *, overwrite: bool) -> int:
    """Write a report with pictures over files and folders: one page, for people or a ticket.

    The verdict comes first, then the byte map of each damaged file with its findings at their bytes and the next
    commands, the findings by code, a treemap, a timeline, sizes and codecs, and every file that was read or was not.
    Verdicts and exit codes are those of `verify`. Without -o the report goes to stdout.
    """
    shape = shape or SUFFIXES.get(PurePath(output or "").suffix.lower(), "html")
    if output is None and shape == "html" and sys.stdout.isatty():
        raise click.UsageError("Missing option '-o' / '--output': a page is no text for a terminal")
    run.protect_sides()
    survey, exhibits = _surveyed(run)
    if not survey.accounts and not survey.unread:
        return run.exit_code
    pieces = _pieces(run, shape, survey, exhibits)
    if output is None:
        for piece in pieces:
            run.stdout.write(piece.encode())
        return run.exit_code
    _write(Path(output), pieces, overwrite=overwrite)
    _say(run, survey, output)
    return run.exit_code


def _surveyed(run: Session) -> tuple[Survey, dict[int, Exhibit]]:
    """Everything that was found, and what to show of the first damaged files."""
    from thawline.rendering.exhibits import MOST_FILES, exhibit
    from thawline.verbs.extent import Extent
    from thawline.verbs.report import Survey, study

    survey = Survey()
    exhibits: dict[int, Exhibit] = {}
    folders = {group.folder.path for group in run.groups}

    def enter(cold: ColdFile, verdict: Report, extent: Extent) -> None:
        account = survey.add(verdict, cold.unit_name, extent, is_folder=verdict.file in folders)
        if not verdict.ok and len(exhibits) < MOST_FILES:
            exhibits[account.number] = exhibit(cold, verdict)

    def show(cold: WatchedFile, done: Study) -> None:
        enter(cold, done.report, done.extent)

    run.each_studied(study, show, lambda cold, verdict: enter(cold, verdict, Extent()))
    survey.unread = list(run.unread)
    return survey, exhibits


def _pieces(run: Session, shape: str, survey: Survey, exhibits: dict[int, Exhibit]) -> Iterator[str]:
    """The report in a shape, piece by piece; renderers are imported when they are needed."""
    if shape == "html":
        from thawline.rendering.report import About, page

        made = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
        return iter([page(survey, exhibits, About(run.options.files, made))])
    if shape == "md":
        from thawline.rendering.markdown import markdown

        return markdown(survey, exhibits)
    if shape == "junit":
        from thawline.rendering.junit import junit

        return junit(survey)
    if shape == "sarif":
        from thawline.rendering.sarif import sarif

        return sarif(survey)
    if shape == "github":
        from thawline.rendering.annotations import commands

        return commands(survey)
    from thawline.rendering.objects import json_pieces

    return json_pieces(survey)


def _write(target: Path, pieces: Iterator[str], *, overwrite: bool) -> None:
    from thawline.outputs import replacing

    with replacing(target, overwrite=overwrite) as file:
        for piece in pieces:
            file.write(piece.encode())


def _say(run: Session, survey: Survey, output: str) -> None:
    from thawline.rendering.report.verdict import sentences
    from thawline.rendering.words import quoted

    run.remark("; ".join(sentences(survey)))
    run.remark(f"wrote {quoted(output)}")
