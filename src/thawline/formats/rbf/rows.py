"""The table `frames`: rows of intact runs. Short runs share a scan, since each scan has a cost."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa
import pyarrow.compute as pc

from thawline.engine import columns
from thawline.engine.chunks import Chunk, Ranges
from thawline.errors import SourceError
from thawline.formats.building import Origins, batch_of
from thawline.formats.contract import Reading
from thawline.formats.declared import intact_chunks
from thawline.formats.rbf.frame import FENCE
from thawline.generated.tables.rbf import FRAMES
from thawline.literals import integer, repeated
from thawline.model import Finding, LeftOut, Run, Span
from thawline.source import Source

MOST_ITEMS = 1 << 12
"""The most runs and findings that wait for a shared scan."""


def frames(
    source: Source, items: Iterable[Run | Finding], tags: tuple[int, ...] | None, columns: Collection[str]
) -> Reading:
    """The items of a walk, each run with the rows of its frames that have one of some tags."""
    for bundle in _bundles(items):
        runs = [item for item in bundle if isinstance(item, Run) and item.units]
        each = Frames.of(source, runs, tags).of_each(columns) if runs else iter(())
        for item in bundle:
            if isinstance(item, Finding):
                yield item
            else:
                yield next(each) if item.units else (item, ())


def _bundles(items: Iterable[Run | Finding]) -> Iterator[list[Run | Finding]]:
    """The items of a walk in lists; the runs of each fit one chunk, so that they share a scan."""
    held: list[Run | Finding] = []
    start, frames, most = -1, 0, min(columns.MAX_BYTES, columns.WINDOW)
    for item in items:
        units = item.units if isinstance(item, Run) else 0
        is_beyond = frames + units > columns.MAX_ROWS or item.span.end - start > most
        if len(held) >= MOST_ITEMS or (units and frames and is_beyond):
            yield held
            held, frames = [], 0
        if units and not frames:
            start = item.span.start
        held.append(item)
        frames += units
    yield held


@dataclass(frozen=True, slots=True)
class Frames:
    """The frames of some runs, in file order: all of them, or those with certain tags."""

    source: Source
    runs: Sequence[Run]
    ranges: Ranges
    """Where they are, relative to the first frame of the first run."""
    counts: Sequence[int]
    """The number of frames in each run."""
    sizes: Sequence[int] | None = None
    """The number of their bytes in each run, where other frames are left out."""

    @classmethod
    def of(cls, source: Source, runs: Sequence[Run], tags: tuple[int, ...] | None = None) -> Frames:
        """The frames of runs; with tags, after reading the head of each."""
        base = first_frame(runs[0])
        ranges = Ranges.of([(first_frame(run) - base, run.span.end - base, -1) for run in runs])
        whole = cls(source, runs, ranges, [run.units for run in runs])
        return whole if tags is None else whole._tagged(tags)

    def _tagged(self, tags: tuple[int, ...]) -> Frames:
        wanted = pa.array(tags, pa.int64())
        found, counts, sizes = Ranges.of([]), [0] * len(self.runs), [0] * len(self.runs)
        for chunk in self.chunks(["tag"]):
            mask = pc.is_in(chunk.batch["frame_tag"], value_set=wanted)
            starts, ends = chunk.starts.filter(mask), chunk.ends.filter(mask)
            here = Ranges.covering(starts, ends)
            found.starts.extend(here.starts)
            found.ends.extend(here.ends)
            found.counts.extend(here.counts)
            for index, count, size in self._sums(chunk.ranges.filter(mask), pc.subtract(ends, starts)):
                counts[index] += count
                sizes[index] += size
        return replace(self, ranges=found, counts=counts, sizes=sizes)

    def _sums(self, runs: pa.Int32Array, sizes: pa.Int64Array) -> Iterator[tuple[int, int, int]]:
        """Numbers of frames and bytes to add for runs: the run's index first."""
        if len(self.runs) == 1:
            yield 0, len(sizes), pc.sum(sizes).as_py() or 0
        else:
            yield from ((run, 1, size) for run, size in zip(runs.to_pylist(), sizes.to_pylist(), strict=True))

    def of_each(self, wanted: Collection[str]) -> Iterator[tuple[Run, Iterable[pa.RecordBatch]]]:
        """Each run with its rows; frames with other tags are left out."""
        rows = [self.batches(wanted)] if len(self.runs) == 1 else self._parted(wanted)
        sizes = self.sizes or [0] * len(self.runs)
        for run, count, size, batches in zip(self.runs, self.counts, sizes, rows, strict=True):
            if self.sizes is None:
                yield run, batches
            else:
                left_out = LeftOut(run.units - count, run.span.size - size)
                yield replace(run, left_out=left_out), batches if count else ()

    def _parted(self, wanted: Collection[str]) -> Iterator[list[pa.RecordBatch]]:
        """The rows of each run."""
        batches = self.batches(wanted)
        batch, at = None, 0
        for count in self.counts:
            parts, left = [], count
            while left:
                if batch is None or at == batch.num_rows:
                    batch, at = next(batches, None), 0
                if batch is None:
                    raise SourceError(f"{self.source.name}: changed while it was read")
                parts.append(batch.slice(at, left))
                at, left = at + parts[-1].num_rows, left - parts[-1].num_rows
            yield parts

    def batches(self, columns: Collection[str]) -> Iterator[pa.RecordBatch]:
        """All rows, in batches that may cross runs."""
        base, done = first_frame(self.runs[0]), 0
        for chunk in self.chunks(columns):
            yield self._batch(chunk, base, columns, done)
            done += len(chunk)

    def chunks(self, wanted: Collection[str]) -> Iterator[Chunk]:
        """The frames in chunks, known to be intact; positions are relative to the first frame."""
        span = Span(first_frame(self.runs[0]), self.runs[-1].span.end)
        return intact_chunks("rbf_frames", self.source, span, "frame", FRAMES.fields(wanted), self.ranges)

    def _batch(self, chunk: Chunk, base: int, wanted: Collection[str], done: int) -> pa.RecordBatch:
        made = {
            "address": lambda: pc.add(chunk.starts, integer(base)),
            "tag_text": lambda: _tag_text(chunk.batch["frame_tag"]),
            "nested_suspect": lambda: self._suspects(done, len(chunk)),
        }
        origins = Origins(
            len(chunk), field=lambda column: chunk.batch[column.source], made=lambda column: made[column.name]()
        )
        return batch_of(FRAMES, wanted, origins)

    def _suspects(self, done: int, rows: int) -> pa.BooleanArray:
        """Whether each of `rows` rows, after the first `done`, is suspect."""
        flags = [bool(run.suspect) for run in self.runs]
        if len(set(flags)) == 1:
            return repeated(flags[0], pa.bool_(), rows)
        each = b"".join(bytes([flag]) * count for flag, count in zip(flags, self.counts, strict=True))
        return pa.Array.from_buffers(pa.int8(), rows, [None, pa.py_buffer(each[done : done + rows])]).cast(pa.bool_())


def first_frame(run: Run) -> int:
    """Where the first frame of a run starts: after the genesis fence, if the run has that."""
    return run.span.start or len(FENCE)


def _tag_text(tags: pa.Int64Array) -> pa.StringArray:
    """Tags as text where their four bytes are printable (fourCC); else null."""
    encoded = tags.dictionary_encode()
    texts = [tag.to_bytes(4, "little") for tag in encoded.dictionary.to_pylist()]
    shown = [text.decode("ascii") if text.isascii() and text.decode("ascii").isprintable() else None for text in texts]
    return pa.array(shown, pa.string()).take(encoded.indices)
