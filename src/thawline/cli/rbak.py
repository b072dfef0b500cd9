"""Commands that only RabbitMQ backups have: manifest, rewrite."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from thawline.cli.options import EXIT_ZERO, OVERWRITE, TALKING, TZ, WHERE, Setting, offered, session, takes
from thawline.options import OPTIONS, Option

if TYPE_CHECKING:
    from collections.abc import Iterator

    from thawline.cli.session import Session, WatchedFile
    from thawline.verbs.rewrite.rbak import Rewritten

DAMAGED = 1


CHOOSING = [*(offered(option) for option in OPTIONS if option.name in {"since", "until", "prune", "max_payload"}), TZ]
TIME = Setting(Option("completed_at", ("rbak",), "time", ""))
SIZE = Setting(Option("segment_max_bytes", ("rbak",), "size", ""))


@click.group()
def rbak() -> None:
    """Rebuild the manifest of a RabbitMQ backup, or write a smaller one: manifest, rewrite."""


@rbak.command()
@takes(
    click.argument("folder", type=click.Path(), metavar="DIR"),
    click.option("-o", "--output", type=click.Path(), metavar="OUT", help="Write it there instead of to stdout."),
    click.option("--backup-id", default="", metavar="NAME", help="What the backup is to be called."),
    click.option("--completed-at", type=TIME, metavar="TIME", help="Say that the backup is complete since then."),
    OVERWRITE,
    TALKING,
    EXIT_ZERO,
)
@session
def manifest(
    run: Session, folder: str, output: str | None, backup_id: str, completed_at: int | None, *, overwrite: bool
) -> int:
    """Make a manifest from the segments in DIR, each verified and read in full.

    What an old manifest says besides its list is kept; one without an end stays interrupted unless --completed-at says
    otherwise. Segments that the backup tool would refuse are left out, and the exit code is then 1: salvage them first.
    DIR itself is not written to, unless OUT lies in it.
    """
    from thawline.folder import Folder
    from thawline.formats.rbak import Rbak
    from thawline.formats.rbak.salvage import new_manifest
    from thawline.outputs import protect, replacing
    from thawline.rendering.words import counted, quoted

    protect(member.path for member in Rbak().members(Folder(folder)))
    made = new_manifest(Rbak(), folder, backup_id=backup_id, completed_at=completed_at)
    if output is None:
        run.stdout.write(made.data)
    else:
        with replacing(Path(output), overwrite=overwrite) as file:
            file.write(made.data)
        run.remark(f"listed {counted(len(made.segments), 'segment')} in {quoted(output)}")
    for key in made.mixed:
        run.remark(f"{key}: holds messages of several queues; it is listed under that of the first")
    for key, why in made.left_out:
        run.say(f"{key}: left out, {why}")
        run.code = max(run.code, DAMAGED)
    return run.exit_code


@rbak.command()
@takes(
    click.argument("file", metavar="IN"),
    click.option("--to", "target", required=True, type=click.Path(), metavar="OUT", help="The new backup or segment."),
    WHERE,
    click.option(
        "--drop-header", "drop_headers", multiple=True, metavar="NAME",
        help="Leave out this header, in whatever case; * stands for anything. Can be given again.",
    ),
    CHOOSING,
    click.option("--compression", type=click.Choice(["none", "zstd", "lz4"]), default="zstd", show_default=True),
    click.option("--level", type=click.IntRange(1, 22), default=3, show_default=True, help="Of zstd."),
    click.option(
        "--lz4-framing", type=click.Choice(["block", "frame"]), default="block", show_default=True,
        help="block is what the tool writes, frame what its page says.",
    ),
    click.option("--segment-max-bytes", type=SIZE, default="128MiB", show_default=True, metavar="SIZE",
                 help="A segment ends when its records reach this size."),
    click.option("--backup-id", default="", metavar="NAME", help="The id of the new backup."),
    OVERWRITE,
    TALKING,
    EXIT_ZERO,
)  # fmt: skip
@session
def rewrite(run: Session, target: str, **given: Any) -> int:
    """Write the messages of IN that meet the conditions to OUT, a smaller and valid backup.

    IN is a backup or a segment; a backup becomes one in a new folder OUT, a segment becomes one segment. Records stay
    what they are, byte by byte, but for headers that are dropped. Damaged segments are passed over and counted; the
    exit code is then 1.

    \b
      thawline rbak rewrite backup/ --to part/ --where queue=orders --drop-header authorization
    """  # noqa: D301 - click keeps the lines after a \b as they are
    done, written = _rewritten(run, Path(target), given)
    _say(run, target, done, written)
    return run.exit_code


def _rewritten(run: Session, target: Path, given: dict[str, Any]) -> tuple[Rewritten, str]:
    from thawline.formats.rbak.write import Coding
    from thawline.rendering.words import counted, exact
    from thawline.verbs.rewrite.rbak import Rewritten, chosen, to_backup, to_segment

    done = Rewritten()
    messages = chosen(_files(run), run.filter, given["drop_headers"], done)
    coding = {name: given[name] for name in ("compression", "level", "lz4_framing")}
    if run.groups or len(run.inputs) > 1:
        # What is written is what is there, not what arrives over time: nothing but the size ends a segment.
        endless = {"segment_max_bytes": given["segment_max_bytes"], "segment_max_interval_ms": 1 << 62}
        count = to_backup(messages, target, backup_id=given["backup_id"], **coding, **endless)
        return done, counted(count, "segment")
    return done, exact(to_segment(messages, target, Coding(**coding), overwrite=given["overwrite"]))


def _files(run: Session) -> Iterator[WatchedFile]:
    for cold in run.opened(_refusal):
        if reason := _refusal(cold):
            raise click.UsageError(f"{cold.name} is {reason}")
        yield cold
        if cold.errors:
            run.say(f"{cold.name}: damaged, passed over what is; see: thawline verify {cold.name}")


def _refusal(cold: WatchedFile) -> str:
    return "" if cold.format.name == "rbak" else f"{cold.format.name}, no RabbitMQ backup"


def _say(run: Session, target: str, done: Rewritten, written: str) -> None:
    from thawline.rendering.words import counted, grouped, quoted

    run.remark(f"kept {grouped(done.kept)} of {counted(done.read, 'message')}, wrote {written} to {quoted(target)}")
    if done.headers:
        run.remark(f"dropped {counted(done.headers, 'header')} of {counted(done.edited, 'message')}")
    if done.untouched:
        run.say(
            f"{counted(done.untouched, 'message')} with headers of an unknown shape: none could be dropped from them; "
            "look at headers_json before you hand this over"
        )
        run.code = max(run.code, DAMAGED)
    for name in _definitions(run):
        run.remark(f"left out {name}: it has users and password hashes; a restore that makes queues anew needs it")
    run.remark(f"now run: thawline verify {quoted(target)}")


def _definitions(run: Session) -> list[str]:
    """Definitions of what is rewritten. A backup that is handed over gets none unasked."""
    folders = [group.folder for group in run.groups]
    return [folder.path_of("definitions") for folder in folders if "definitions" in folder.subfolders()]
