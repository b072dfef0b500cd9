"""Commands for Borg only: archives, items, extract, index."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from thawline.cli.options import EXIT_ZERO, FORMAT, OVERWRITE, TALKING, session, takes

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Iterable, Iterator

    import pyarrow as pa

    from thawline.cli.session import Session
    from thawline.formats.borg.archives import Gap, Item
    from thawline.formats.borg.catalogue import Catalogue
    from thawline.formats.borg.rebuild import Rebuilt
    from thawline.formats.borg.repository import Repository
    from thawline.values import Bytes

DAMAGED = 1
IDS: Bytes = "hex"
"""The notation of ids: as borg prints them, so that outputs can be compared."""
REPOSITORY = click.argument("repository", type=click.Path(), metavar="REPOSITORY")
ARCHIVE = click.argument("archive", metavar="ARCHIVE")
PATHS = click.argument("paths", nargs=-1, metavar="[PATH]…")


@click.group()
def borg() -> None:
    """Look into Borg repositories without borg: archives, items, extract, index."""


@borg.command()
@takes(REPOSITORY, FORMAT, TALKING, EXIT_ZERO)
@session
def archives(run: Session, repository: str) -> int:
    """List the archives of a repository that is not encrypted, oldest first."""
    from thawline.formats.borg.archives import Archive
    from thawline.formats.borg.catalogue import Catalogue
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
    """List the items of an archive, which is named by its name or its id; of PATHs only, if there are any.

    An item whose chunks are not all there is marked, and the exit code is then 1.
    """
    from thawline.formats.borg.catalogue import Catalogue

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


def _chosen(run: Session, every: Iterable[Item | Gap], paths: tuple[str, ...]) -> Iterator[Item]:
    """The items at or below some paths, all without paths; gaps are reported."""
    from thawline.formats.borg.archives import Gap
    from thawline.rendering.words import printable

    prefixes = [path.strip("/") for path in paths]
    for item in every:
        if isinstance(item, Gap):
            run.code = DAMAGED
            run.say(f"some items are lost: {printable(item.reason)}")
        elif not prefixes or any(item.path == path or item.path.startswith(f"{path}/") for path in prefixes):
            yield item


@borg.command()
@takes(
    REPOSITORY,
    ARCHIVE,
    PATHS,
    click.option("-o", "--output", required=True, type=click.Path(), metavar="OUT", help="The folder to write to."),
    click.option("--links", is_flag=True, help="Make symbolic links, those that lead to somewhere below OUT."),
    OVERWRITE,
    TALKING,
    EXIT_ZERO,
)
@session
def extract(
    run: Session, repository: str, archive: str, paths: tuple[str, ...], output: str, *, links: bool, overwrite: bool
) -> int:
    """Write the files of an archive to the folder OUT; of PATHs only, if there are any.

    Nothing is ever written outside of OUT, nor through a link: absolute paths and paths with .. are refused and named.
    A file of which a chunk is lost is not written, nor is one whose path cannot be; they are named, the exit code is
    then 1, and all others are written.
    """
    from collections import Counter

    from thawline.errors import SourceError
    from thawline.formats.borg.catalogue import Catalogue
    from thawline.formats.borg.extract import extract as write
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
    """The remark about an extraction: what was written, and how many items were not."""
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
        help="Write the index that the packs give: .parquet, .jsonl, .csv or .arrow, or a folder for a file of borg's.",
    ),
    OVERWRITE,
    FORMAT,
    TALKING,
    EXIT_ZERO,
)
@session
def index(run: Session, repository: str, rebuild: str | None, *, overwrite: bool) -> int:
    """Show what the index of a repository says: which chunk lies in which pack, where. Or rebuild it from the packs.

    \b
      thawline borg index REPOSITORY --rebuild chunks.parquet
      thawline borg index REPOSITORY --rebuild FOLDER

    The first writes chunk_id, pack_id, offset and length; the second a file that borg takes, named by its content. It
    is for repositories of 2.0.0b22 to b24. Later ones seal their index with the key; borg rebuilds it.
    """  # noqa: D301 - click does not wrap the paragraph after a \b
    from thawline.formats.borg.catalogue import repository_at

    opened = repository_at(repository)
    if rebuild is None:
        _print_table(run, opened.index)
        return run.exit_code
    return _rebuild(run, opened, Path(rebuild), overwrite=overwrite)


def _print_table(run: Session, table: pa.Table) -> None:
    from thawline.rendering.rows import row_sink

    sink = row_sink(run.kind, run.stdout, run.console, IDS)
    sink.add(table.schema, table.to_batches(), "")
    sink.close()


def _rebuild(run: Session, repository: Repository, target: Path, *, overwrite: bool) -> int:
    from thawline.formats.borg import Borg
    from thawline.formats.borg.catalogue import locate
    from thawline.formats.borg.rebuild import rebuilt, write_for_borg
    from thawline.rendering.words import counted, quoted

    borg_format = Borg()
    locate(repository, borg_format, contents=True)
    new = rebuilt(borg_format.ledger.table())
    if target.suffix and not target.is_dir():
        _write_table(new, target, overwrite=overwrite)
    else:
        target.mkdir(parents=True, exist_ok=True)
        target = write_for_borg(repository, new, target)
    run.remark(f"wrote {counted(new.places.num_rows, 'entry')} to {quoted(str(target))}")
    if new.doubled:
        run.remark(f"{counted(new.doubled, 'blob')} hold a chunk that another one holds too; the first is listed")
    if damaged := sum(map(len, borg_format.ledger.damaged.values())):
        run.code = DAMAGED
        run.remark(f"left out {counted(damaged, 'damaged place')}; see: thawline verify {quoted(repository.path)}")
    return run.exit_code


def _write_table(index: Rebuilt, target: Path, *, overwrite: bool) -> None:
    from thawline.outputs import replacing
    from thawline.sinks import file_sink
    from thawline.verbs.convert import kind_of

    with replacing(target, overwrite=overwrite) as file, file_sink(kind_of(target), file, IDS) as sink:
        sink.add(index.places.schema, index.places.to_batches(), "")
