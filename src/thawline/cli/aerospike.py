"""Commands for Aerospike backups only."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from thawline.cli.options import EXIT_ZERO, FILE, OFFERED, OUTPUT, OVERWRITE, TALKING, WHERE, session, takes

if TYPE_CHECKING:
    from thawline.cli.session import Session


@click.group()
def aerospike() -> None:
    """Commands for Aerospike backups."""


@aerospike.command()
@takes(FILE, OUTPUT, WHERE, OVERWRITE, OFFERED, TALKING, EXIT_ZERO)
@session
def rewrite(run: Session, output: str, *, overwrite: bool) -> int:
    """Write a backup with only some of the records of FILE, such as --where set=users.

    Indexes, UDFs and the header are kept. What is kept is copied byte for byte; of an intact file without --where that
    is the file itself. What only one of asrestore and backup-go reads is written so that both do. A compressed file
    becomes a plain one.
    """
    from thawline.rendering.words import counted, exact, quoted
    from thawline.verbs.rewrite.aerospike import rewrite as written

    target = Path(output)
    with run.open_only() as cold:
        done = written(cold, target, run.filter, overwrite=overwrite)
        run.meet(cold)
    run.remark(f"wrote {counted(done.records, 'record')}, {exact(done.bytes_written)}, to {quoted(output)}")
    if done.suspects:
        run.leave_out()
        run.remark(f"left out {counted(done.suspects, 'record')} that cannot be trusted; see thawline verify")
    return run.exit_code
