"""One segment in the making, with its index files, under temporary names until it is complete."""

from __future__ import annotations

from array import array
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from thawline.errors import SourceError
from thawline.formats.kafka.indexes import IndexBuilder
from thawline.formats.kafka.producers import AbortedTransaction
from thawline.outputs import replacing

if TYPE_CHECKING:
    from typing_extensions import Buffer  # collections.abc has it from Python 3.12 on

__all__ = ["LARGEST_RELATIVE_OFFSET", "LARGEST_SEGMENT", "SegmentOutput", "remove"]

LARGEST_SEGMENT = (1 << 31) - 1
"""Kafka keeps positions in 31 bits."""
LARGEST_RELATIVE_OFFSET = (1 << 31) - 1
BATCHES_AT_ONCE = 4096
"""Heads that are kept before the indexes get their entries."""


class _Output:
    """A file under a temporary name, until it is published or discarded."""

    def __init__(self, path: Path, *, overwrite: bool) -> None:
        self.path = path
        self._replacing = replacing(path, overwrite=overwrite)
        self.file: BinaryIO = self._replacing.__enter__()

    def publish(self) -> None:
        self._replacing.__exit__(None, None, None)

    def discard(self) -> None:
        given_up = _Discarded()
        with suppress(_Discarded, SourceError):  # it may still try to write what a full disk did not take
            self._replacing.__exit__(type(given_up), given_up, None)


class _Discarded(BaseException):
    """What a file that is given up is told, so that it removes itself."""


class SegmentOutput:
    """A segment that batches are added to; `publish` gives its files their names, the log's own last."""

    def __init__(self, path: Path, base_offset: int, *, index_interval: int | None, overwrite: bool) -> None:
        self.path, self.base_offset, self.size = path, base_offset, 0
        self._overwrite = overwrite
        self._builder = None if index_interval is None else IndexBuilder(base_offset, interval=index_interval)
        self._heads = [array("q") for _ in range(3)]
        self._aborted: list[AbortedTransaction] = []
        self._outputs: list[_Output] = []
        try:
            for suffix in (".log", *((".index", ".timeindex") if self._builder else ())):
                self._outputs.append(_Output(path.with_suffix(suffix), overwrite=overwrite))
        except BaseException:
            self.discard()
            raise

    def can_hold(self, last_offset: int) -> bool:
        """Whether an offset is near enough to the segment's own to be stored in 31 bits."""
        return last_offset - self.base_offset <= LARGEST_RELATIVE_OFFSET

    def add(self, head: Buffer, records: Buffer, last_offset: int, max_timestamp: int) -> None:
        """Write a batch behind those that are there."""
        for column, number in zip(self._heads, (self.size, last_offset, max_timestamp), strict=True):
            column.append(number)
        if len(self._heads[0]) == BATCHES_AT_ONCE:
            self._index_heads()
        log = self._outputs[0].file
        self.size += log.write(head) + log.write(records)

    def add_aborted(self, transaction: AbortedTransaction) -> None:
        """Keep a transaction whose marker is in this segment for its `.txnindex`."""
        self._aborted.append(transaction)

    def publish(self) -> list[Path]:
        """Complete the files and give them their names; gives those names."""
        log, *indexes = self._outputs
        published: list[Path] = []
        try:
            for output, data in zip(indexes, self._indexes(), strict=True):
                output.file.write(data)
            if self._builder and self._aborted:
                indexes.append(_Output(self.path.with_suffix(".txnindex"), overwrite=self._overwrite))
                indexes[-1].file.write(b"".join(entry.encoded() for entry in self._aborted))
                self._outputs.append(indexes[-1])
            for output in (*indexes, log):
                output.publish()
                self._outputs.remove(output)
                published.append(output.path)
        except BaseException:
            remove(published, overwritten=self._overwrite)
            self.discard()
            raise
        return published

    def discard(self) -> None:
        """Remove all that has no name yet."""
        while self._outputs:
            self._outputs.pop().discard()

    def _indexes(self) -> tuple[bytes, ...]:
        if self._builder is None:
            return ()
        self._index_heads()
        indexes = self._builder.finish()
        return indexes.offset_index, indexes.time_index

    def _index_heads(self) -> None:
        if self._builder is not None:
            self._builder.add(*self._heads)
        self._heads = [array("q") for _ in range(3)]


def remove(paths: list[Path], *, overwritten: bool) -> None:
    """Remove files that were published before something failed; what replaced older ones stays."""
    for path in paths if not overwritten else ():
        path.unlink(missing_ok=True)
