"""Folders and files that grow, as a stream: each row once, however often the query is restarted.

The offset says of each file up to where it was read, how large it was then, and whether more was expected. It is made
from listings alone; tasks read and verify.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import groupby

import pyarrow as pa
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxBytes,
    ReadMaxFiles,
    SupportsTriggerAvailableNow,
)

from thawline.errors import SourceError
from thawline.formats.growth import Growth, growths
from thawline.spark.files import File, Listing, Members
from thawline.spark.planning import MOST_PARTITION
from thawline.spark.rows import Reader
from thawline.spark.settings import Settings
from thawline.spark.worker import freeze

Offset = dict[str, dict[str, list[int]]]
"""By folder and name: where reading goes on, the size of the file, and 1 if it was closed."""


@dataclass(frozen=True, slots=True)
class Seen:
    """How far a file has been read."""

    end: int = 0
    size: int = 0
    is_closed: bool = False
    """Whether nothing was expected to be written to it any more."""

    @property
    def is_done(self) -> bool:
        """Whether all of it was read."""
        return self.end == self.size

    @property
    def is_final(self) -> bool:
        """Whether nothing of it is left to be read."""
        return self.is_closed and self.is_done


class Gain(InputPartition):
    """What one task reads of a file that has grown."""

    def __init__(self, file: File, growth: Growth) -> None:
        super().__init__(None)
        self.file = file
        self.growth = growth


class GrowingReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Plans and reads the micro-batches of a query."""

    def __init__(self, settings: Settings, schema: pa.Schema) -> None:
        self.settings = settings
        self.schema = schema
        self._until: dict[str, tuple[File, bool]] | None = None
        """With Trigger.AvailableNow, what there was at the start."""

    def initialOffset(self) -> Offset:  # noqa: N802 - as Spark calls it
        """Nothing has been read, or, with startingOffsets=latest, everything that there is."""
        if not self.settings.starts_at_latest:
            return {}
        return _offset({path: Seen(file.size, file.size, closed) for path, (file, closed) in self._listed().items()})

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802 - as Spark calls it
        """The limit that the options set."""
        if self.settings.max_files is not None:
            return ReadMaxFiles(self.settings.max_files)
        return ReadMaxBytes(self.settings.max_bytes) if self.settings.max_bytes is not None else ReadAllAvailable()

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802 - as Spark calls it
        """Read only what there is now."""
        self._until = self._listed()

    def latestOffset(self, start: Offset, limit: ReadLimit) -> Offset:  # noqa: N802 - as Spark calls it
        """How far the next micro-batch goes."""
        seen, files = _seen(start), self._listed() if self._until is None else self._until
        if lost := next((path for path, one in seen.items() if path not in files and not one.is_done), None):
            self._lose(f"{lost}: was deleted before it was read to its end")
        rest_of_files = limit.max_files if isinstance(limit, ReadMaxFiles) else len(files)
        everything = sum(file.size for file, _ in files.values())
        rest_of_bytes = limit.max_bytes if isinstance(limit, ReadMaxBytes) else everything
        found: dict[str, Seen] = {}
        for path, (file, is_closed) in files.items():
            before = seen.get(path, Seen())
            after = self._next(before, file, is_closed=is_closed, most=rest_of_bytes if rest_of_files > 0 else 0)
            rest_of_bytes -= max(after.end - before.end, 0)
            rest_of_files -= after.end > before.end
            if path in seen or after.end > before.end or after.is_closed:
                found[path] = after
        return _offset(found)

    def _next(self, before: Seen, file: File, *, is_closed: bool, most: int) -> Seen:
        """How far a file is read next. What was read to its end and closed is rewritten only by compaction."""
        if before.is_final:
            return Seen(file.size, file.size, is_closed=True)
        if file.size < before.end or (before.is_closed and file.size != before.size):
            self._lose(f"{file.path}: was replaced when only its first {before.end} bytes were read")
            return Seen(file.size, file.size, is_closed=is_closed)
        end = min(file.size, before.end + max(most, 0))
        return before if end == before.end < file.size else Seen(end, file.size, is_closed)

    def _lose(self, what: str) -> None:
        """Refuse to go on without rows, unless that is allowed."""
        if self.settings.fails_on_loss:
            raise SourceError(f"{what}, so rows are lost; failOnDataLoss=false goes on without them")

    def partitions(self, start: Offset, end: Offset) -> list[Gain]:
        """What each task reads."""
        before, files = _seen(start), self._listed()
        found: list[Gain] = []
        for path, after in _seen(end).items():
            known = before.get(path, Seen())
            is_replaced = known.is_final or after.size < known.end or (known.is_closed and after.size != known.size)
            if after != known and not is_replaced:
                listed = files[path][0] if path in files else File(path, after.size, is_named=True)
                found += _gains(replace(listed, size=after.size, modified=None, etag=""), known, after)
        return found

    def read(self, partition: InputPartition | None) -> Iterator[pa.RecordBatch]:
        """The rows of a task."""
        if isinstance(partition, Gain):
            may_miss = self.settings.ignores_missing or not self.settings.fails_on_loss
            reader = Reader(replace(self.settings, ignores_missing=may_miss), self.schema)
            yield from reader.read_gained(partition.file, partition.growth, Members(self.settings.format))
        freeze()

    def commit(self, end: Offset) -> None:
        """Nothing: offsets say everything."""

    def _listed(self) -> dict[str, tuple[File, bool]]:
        """Every file by path, with whether it is closed: a newer one stands in its folder."""
        files = Listing(replace(self.settings, ignores_missing=True)).files  # what is still to come is no error
        by_folder = groupby(sorted(files, key=_folder), key=_folder)
        newest = {max(group, key=self._age).path for _, group in by_folder}
        return {file.path: (file, file.path not in newest) for file in files}

    def _age(self, file: File) -> tuple[float, str]:
        """What rises from file to file: the name of Kafka's segments, of others the time of the last change."""
        return (0.0 if self.settings.format.name == "kafka" else file.modified or 0.0), file.path


def _folder(file: File) -> str:
    return file.path.rpartition("/")[0]


def _gains(file: File, before: Seen, after: Seen) -> Iterator[Gain]:
    """The tasks for what a file has gained; the first one also has what was held back before."""
    waiting = None if before.is_closed or not before.size else before.size
    is_open = not after.is_closed
    for growth in growths(before.end, after.end, MOST_PARTITION, is_open=is_open, waiting_at=waiting):
        yield Gain(file, growth)


def _seen(offset: Offset) -> dict[str, Seen]:
    return {
        f"{folder}/{name}": Seen(end, size, bool(is_closed))
        for folder, names in offset.items()
        for name, (end, size, is_closed) in names.items()
    }


def _offset(seen: Mapping[str, Seen]) -> Offset:
    """The same text for the same state, however it came about: Spark compares offsets as text."""
    found: Offset = {}
    for path in sorted(seen):
        folder, _, name = path.rpartition("/")
        one = seen[path]
        found.setdefault(folder, {})[name] = [one.end, one.size, int(one.is_closed)]
    return found
