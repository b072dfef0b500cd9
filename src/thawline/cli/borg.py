"""Commands that only Borg has: archives, items, diff, extract, index."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from thawline.cli.options import CSV_SAFE, EXIT_ZERO, FORMAT, LIMIT, OVERWRITE, TALKING, session, takes

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Iterable, Iterator

    import pyarrow as pa

    from thawline.cli.session import Session
    from thawline.formats.borg.archives import Gap, Item
    from thawline.formats.borg.folder import Catalogue, Repository
    from thawline.formats.borg.index import ChunkIndex
    from thawline.values import Bytes

DAMAGED = 1
IDS: Bytes = "hex"
"""Ids are written as borg writes them, so that both can be compared."""
REPOSITORY = click.argument("repository", type=click.Path(), metavar="REPOSITORY")
ARCHIVE = click.argument("archive", metavar="ARCHIVE")
PATHS = click.argument("paths", nargs=-1, metavar="[PATH]…")


@click.group()
def borg() -> None:
    """Look into Borg repositories without borg: archives, items, diff, extract, index."""


@borg.command()
@takes(REPOSITORY, FORMAT, TALKING, EXIT_ZERO)
@session
def archives(run: Session, repository: str) -> int:
    """List the archives of a repository that is not encrypted, oldest first."""
    from thawline.formats.borg.archives import Archive
    from thawline.formats.borg.folder import Catalogue
    from thawline.rendering.words import printable

    sink = run.records(("name", "id", "time", "hostname", "username", "files", "size", "comment"))
    with Catalogue(repository) as catalogue:
        for archive in catalogue.archives():
            if isinstance(archive, Archive):
                sink.add(_archive_record(archive))
            else:
                run.code = DAMAGED
                run.say(f"archive {archive.id} cannot be read: {printable(archive.reason)}")
    sink.close()
    return run.exit_code


def _archive_record(archive: Any) -> dict[str, Any]:
    return {
        "name": archive.name,
        "id": archive.id,
        "time": archive.time.isoformat().replace("+00:00", "Z") if archive.time else None,
        "hostname": archive.hostname,
        "username": archive.username,
        "files": archive.nfiles,
        "size": archive.size,
        "comment": archive.comment,
    }


@borg.command()
@takes(REPOSITORY, ARCHIVE, PATHS, FORMAT, TALKING, EXIT_ZERO)
@session
def items(run: Session, repository: str, archive: str, paths: tuple[str, ...]) -> int:
    """List the items of an archive, given by its name or its id; with PATHs, only those.

    Items with missing chunks are marked, and the exit code is then 1.
    """
    from thawline.formats.borg.folder import Catalogue

    sink = run.records(("path", "kind", "mode", "user", "group", "size", "mtime", "chunks", "target", "intact"))
    with Catalogue(repository) as catalogue:
        for item in _chosen(run, catalogue.items(catalogue.find(archive)), paths):
            record = _item_record(catalogue, item)
            run.code = max(run.code, 0 if record["intact"] else DAMAGED)
            sink.add(record)
    sink.close()
    return run.exit_code


def _item_record(catalogue: Catalogue, item: Item) -> dict[str, Any]:
    from datetime import UTC, datetime, timedelta

    since = datetime(1970, 1, 1, tzinfo=UTC)
    time = None if item.mtime is None else since + timedelta(microseconds=item.mtime // 1000)
    return {
        "path": item.path,
        "kind": item.kind,
        "mode": f"{item.mode:04o}",
        "user": item.user,
        "group": item.group,
        "size": item.size,
        "mtime": time.isoformat().replace("+00:00", "Z") if time else None,
        "chunks": len(item.chunks),
        "target": item.target,
        "intact": not catalogue.store.missing(chunk_id for chunk_id, _ in item.chunks),
    }


def _chosen(run: Session, found: Iterable[Item | Gap], paths: tuple[str, ...]) -> Iterator[Item]:
    """The items at or below some paths; gaps are reported."""
    from thawline.formats.borg.archives import Gap
    from thawline.rendering.words import printable

    wanted = [path.strip("/") for path in paths]
    for item in found:
        if isinstance(item, Gap):
            run.code = DAMAGED
            run.say(f"some items are lost: {printable(item.reason)}")
        elif not wanted or any(item.path == path or item.path.startswith(f"{path}/") for path in wanted):
            yield item


@borg.command()
@takes(
    REPOSITORY,
    click.argument("a", metavar="A"),
    click.argument("b", metavar="B"),
    click.option(
        "--in", "other", type=click.Path(), metavar="REPOSITORY", help="The repository of B, if it is another."
    ),
    LIMIT,
    click.option("-o", "--output", type=click.Path(), metavar="OUT", help="Write the rows to a file, as convert does."),
    OVERWRITE,
    FORMAT,
    CSV_SAFE,
    TALKING,
    EXIT_ZERO,
)
@session
def diff(
    run: Session,
    repository: str,
    a: str,
    b: str,
    *,
    other: str | None,
    output: str | None,
    overwrite: bool,
    csv_safe: bool,
) -> int:
    """Compare the items of the archives A and B by their paths; each is given by its name or its id.

    Two files have the same `content` where they consist of the same chunks, which two repositories with another key or
    another way of cutting files never have. The exit code is 0 where both archives hold the same, else 1.
    """
    from contextlib import ExitStack

    from thawline.cli.diff import show_difference
    from thawline.formats.borg.folder import Catalogue
    from thawline.formats.borg.rows import item_rows
    from thawline.generated.tables.borg_archive import ITEMS
    from thawline.rendering.differences import verdict
    from thawline.verbs.diff import diff_rows

    with ExitStack() as stack:
        ours = stack.enter_context(Catalogue(repository))
        theirs = stack.enter_context(Catalogue(other)) if other else ours
        sides = [ours.items(ours.find(a)), theirs.items(theirs.find(b))]
        rows_a, rows_b = (item_rows(_chosen(run, side, ())) for side in sides)
        found = stack.enter_context(diff_rows(rows_a, rows_b, ITEMS.schema, ITEMS.key))
        is_whole = not run.code
        run.code = max(run.code, DAMAGED if found.counts.differences else 0)
        show_difference(run, found, output, overwrite=overwrite, csv_safe=csv_safe)
        run.remark(verdict(found, is_whole=is_whole))
    return run.exit_code


@borg.command()
@takes(
    REPOSITORY,
    ARCHIVE,
    PATHS,
    click.option("-o", "--output", required=True, type=click.Path(), metavar="OUT", help="The folder to write to."),
    click.option("--links", is_flag=True, help="Make symbolic links that lead to somewhere below OUT."),
    OVERWRITE,
    TALKING,
    EXIT_ZERO,
)
@session
def extract(
    run: Session, repository: str, archive: str, paths: tuple[str, ...], output: str, *, links: bool, overwrite: bool
) -> int:
    """Write the files of an archive to the folder OUT; with PATHs, only those.

    Nothing is written outside of OUT, nor through a link: absolute paths and paths with .. are refused and named. Files
    with lost chunks and files whose path cannot be written are named and left out; the exit code is then 1.
    """
    from collections import Counter

    from thawline.errors import SourceError
    from thawline.formats.borg.folder import Catalogue
    from thawline.formats.borg.write import extract as write
    from thawline.rendering.words import counted, printable, quoted

    outcomes: Counter[str] = Counter()
    size = 0
    with Catalogue(repository) as catalogue:
        catalogue.repository.refuse_inside(Path(output))
        chosen = _chosen(run, catalogue.items(catalogue.find(archive)), paths)
        for done in write(catalogue.store, chosen, Path(output), overwrite=overwrite, links=links):
            outcomes[done.outcome] += 1
            size += done.size
            if done.outcome not in {"written", "folder", "linked"}:
                code = SourceError.exit_code if done.is_denied else DAMAGED
                run.code = max(run.code, code if done.outcome in {"damaged", "failed"} else 0)
                run.say(f"{done.outcome}: {printable(done.path) or repr('')}: {printable(done.why)}")
    run.remark(_extracted(outcomes, size, output))
    if outcomes["kept"]:
        left = f"{counted(outcomes['kept'], 'file')}, there already and not overwritten; --overwrite replaces them"
        raise SourceError(f"{quoted(output)}: left {left}")
    return run.exit_code


def _extracted(outcomes: Counter[str], size: int, output: str) -> str:
    """A line on what was written and what was not."""
    from thawline.rendering.words import counted, exact, quoted

    links = f" and {counted(outcomes['linked'], 'link')}" if outcomes["linked"] else ""
    names = ("damaged", "failed", "refused", "skipped", "kept")
    others = "".join(f", {counted(outcomes[name], 'item')} {name}" for name in names if outcomes[name])
    return f"wrote {counted(outcomes['written'], 'file')}, {exact(size)},{links} to {quoted(output)}{others}"


@borg.command()
@takes(
    REPOSITORY,
    click.option(
        "--rebuild",
        type=click.Path(),
        metavar="OUT",
        help="Write an index of the packs: .parquet, .jsonl, .csv or .arrow, or a folder for an index file of borg.",
    ),
    OVERWRITE,
    FORMAT,
    TALKING,
    EXIT_ZERO,
)
@session
def index(run: Session, repository: str, rebuild: str | None, *, overwrite: bool) -> int:
    """Show the index of a repository: which chunk lies in which pack, and where. Or rebuild it from the packs.

    \b
      thawline borg index REPOSITORY --rebuild chunks.parquet
      thawline borg index REPOSITORY --rebuild FOLDER

    The first writes chunk_id, pack_id, offset and length; the second an index file that borg accepts, named by its
    content, for repositories of 2.0.0b22 to b24. Later ones keep their index in the envelope of the key; borg rebuilds
    it.
    """  # noqa: D301 - click keeps the lines after a \b as they are
    from thawline.formats.borg.folder import repository_at

    found = repository_at(repository)
    if rebuild is None:
        _print_table(run, found.index)
        return run.exit_code
    return _rebuild(run, found, Path(rebuild), overwrite=overwrite)


def _print_table(run: Session, table: pa.Table) -> None:
    from thawline.rendering.rows import row_sink

    sink = row_sink(run.kind, run.stdout, run.console, IDS)
    sink.add(table.schema, table.to_batches(), "")
    sink.close()


def _rebuild(run: Session, repository: Repository, target: Path, *, overwrite: bool) -> int:
    from thawline.formats.borg.folder import read_packs
    from thawline.formats.borg.index import index_of
    from thawline.formats.borg.rows import Ledger
    from thawline.formats.borg.write import write_for_borg
    from thawline.formats.contract import Depth
    from thawline.rendering.words import counted, quoted

    ledger = Ledger()
    read_packs(repository, ledger, Depth.EVERYTHING)
    found = index_of(ledger.table())
    if target.suffix and not target.is_dir():
        _write_table(found, target, overwrite=overwrite)
    else:
        target.mkdir(parents=True, exist_ok=True)
        target = write_for_borg(repository, found, target)
    run.remark(f"wrote {counted(found.places.num_rows, 'entry')} to {quoted(str(target))}")
    if found.doubled:
        run.remark(f"{counted(found.doubled, 'blob')} hold a chunk that another blob holds, too; the first is listed")
    if damaged := sum(map(len, ledger.damaged.values())):
        run.code = DAMAGED
        run.remark(f"left out {counted(damaged, 'damaged place')}; see: thawline verify {quoted(repository.path)}")
    return run.exit_code


def _write_table(found: ChunkIndex, target: Path, *, overwrite: bool) -> None:
    from thawline.outputs import replacing
    from thawline.sinks import file_sink
    from thawline.verbs.convert import kind_of

    with replacing(target, overwrite=overwrite) as file, file_sink(kind_of(target), file, IDS) as sink:
        sink.add(found.places.schema, found.places.to_batches(), "")
