"""The walk of a worker over a large file, kept from task to task: a worker walks over each file only once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from thawline.errors import SourceError
from thawline.formats.contract import Depth, Format
from thawline.formats.ranges import Range, RangedWalk
from thawline.source import Beginning, LocalSource, RemoteSource, Source
from thawline.spark.files import File

Opener = Callable[[File], LocalSource | RemoteSource]


@dataclass(frozen=True, slots=True)
class _Kept:
    file: File
    format: Format
    table: str
    opened: LocalSource | RemoteSource
    walk: RangedWalk


class Walks:
    """At most one walk, over the file of the last task."""

    def __init__(self) -> None:
        self._kept: _Kept | None = None

    @contextmanager
    def over(self, file: File, format_: Format, table: str, wanted: Range, opener: Opener) -> Iterator[RangedWalk]:
        """A walk that a range can be taken from: the kept one if it is over this file and not beyond it."""
        kept, self._kept = self._kept, None
        if kept and not ((kept.file, kept.format, kept.table) == (file, format_, table) and kept.walk.can_take(wanted)):
            kept.opened.close()
            kept = None
        kept = kept or _begun(file, format_, table, opener(file))
        try:
            yield kept.walk
        finally:
            if kept.walk.reached is None or kept.walk.reached >= file.size:
                kept.opened.close()
            else:
                self._kept = kept


LAST = Walks()
"""That of this process: Spark's workers stay for many tasks."""


def _begun(file: File, format_: Format, table: str, opened: LocalSource | RemoteSource) -> _Kept:
    try:
        source = as_listed(opened, file)
        kind = format_.kind_of(source)
        depth = kind.tables[table].depth if table in kind.tables else Depth.HEADS
        return _Kept(file, format_, table, opened, RangedWalk(kind, source, depth))
    except BaseException:
        opened.close()
        raise


def as_listed(source: Source, file: File) -> Source:
    """The bytes that a file had when it was listed, so that all tasks read the same; `SourceError` if some are gone."""
    if source.size < file.size:
        raise SourceError(f"{file.path}: had {file.size} bytes when the read was planned, and has {source.size} now")
    return source if source.size == file.size else Beginning(source, file.size)
