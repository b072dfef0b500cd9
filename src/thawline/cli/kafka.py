"""Commands for Kafka segments only."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from thawline.cli.options import FILES, OVERWRITE, READING, TALKING, session, takes

if TYPE_CHECKING:
    from thawline.cli.session import Session, WatchedFile


@click.group()
def kafka() -> None:
    """Commands for Kafka segments: build index files."""


@kafka.command()
@takes(
    FILES,
    click.option("-o", "--output", type=click.Path(), metavar="FOLDER", help="Where to write; else beside each FILE."),
    OVERWRITE,
    READING[1:2],
    TALKING,
)
@session
def index(run: Session, output: str | None, *, overwrite: bool) -> int:
    """Build the .index and .timeindex files of segments, as Kafka would.

    A segment is named after its first offset, and index entries count from that: a file of another name is refused.
    """
    from thawline.cli.rows import say_skipped
    from thawline.rendering.words import quoted
    from thawline.verbs.salvage import write_indexes

    if output:
        Path(output).mkdir(parents=True, exist_ok=True)

    def write(cold: WatchedFile) -> None:
        cold.verify()  # what is damaged is not indexed, and `say_skipped` says so
        say_skipped(run, cold)
        target = Path(output, Path(cold.name).name) if output else Path(cold.name)
        for path in write_indexes(cold, target, overwrite=overwrite):
            run.remark(f"wrote {quoted(str(path))}")

    return run.each(write)
