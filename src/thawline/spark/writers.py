"""`df.write.format(…).save(dir)`: a file, or a set of files, a task; they appear in the folder together, or not at all.

A task writes below a hidden folder that only it uses, since Spark may run it twice. The driver moves what the tasks
that count have written to its place, and takes the rest away.
"""

from __future__ import annotations

import shutil
import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark import TaskContext
from pyspark.sql.datasource import DataSourceArrowWriter, WriterCommitMessage

from thawline.errors import SourceError
from thawline.formats.borg.modes import VERSION_1
from thawline.formats.borg.writer import PackWriter
from thawline.formats.kafka.writer import KafkaSegmentWriter
from thawline.formats.rbf.writer import RbfWriter
from thawline.options import BadOption

Batches = Iterator[pa.RecordBatch]
OPTIONS = {"path", "compression"}


@dataclass
class Written(WriterCommitMessage):
    """The folder of a task that has written all its rows."""

    folder: str
    rows: int


@dataclass
class ColdWriter(DataSourceArrowWriter):
    """Writes the rows of a frame as files of one format."""

    format_name: str
    path: str
    overwrite: bool
    compression: str = ""

    def __post_init__(self) -> None:
        """Make the folder that tasks write below; it is hidden until it is gone."""
        self.job = uuid.uuid4().hex
        self.staging = str(Path(self.path, f".thawline-{self.job}"))

    def write(self, iterator: Batches) -> Written:
        """Write the rows of a task."""
        context = TaskContext.get()
        number, attempt = (context.partitionId(), context.taskAttemptId()) if context else (0, 0)
        folder = Path(self.staging, f"{number:05}-{attempt}")
        folder.mkdir(parents=True)
        counted = _Counted(iterator)
        WRITERS[self.format_name](folder, f"part-{number:05}-{self.job[:8]}", counted, self.compression)
        return Written(str(folder), counted.rows)

    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        """Move what the tasks have written to its place."""
        target = Path(self.path)
        target.mkdir(parents=True, exist_ok=True)
        before = [item for item in target.iterdir() if not item.name.startswith(".")] if self.overwrite else []
        try:
            moves = list(_moves([Path(told.folder) for told in messages if isinstance(told, Written)], target, before))
            for item in before:
                shutil.rmtree(item) if item.is_dir() else item.unlink()
            for source, place in moves:
                place.parent.mkdir(parents=True, exist_ok=True)
                source.replace(place)
        finally:
            shutil.rmtree(self.staging, ignore_errors=True)
        FINISHED.get(self.format_name, _nothing)(target)

    def abort(self, messages: list[WriterCommitMessage | None]) -> None:
        """Take away what was written."""
        del messages
        shutil.rmtree(self.staging, ignore_errors=True)


class _Counted:
    """Batches that are counted as they go by."""

    def __init__(self, batches: Batches) -> None:
        self.batches, self.rows = batches, 0

    def __iter__(self) -> Batches:
        for batch in self.batches:
            self.rows += batch.num_rows
            yield batch


def made(format_name: str, given: dict[str, str], *, overwrite: bool) -> ColdWriter:
    """A writer as the options say."""
    if unknown := set(given) - OPTIONS:
        raise BadOption(f"there is no option {', '.join(sorted(unknown))} for writing; there is compression")
    if "path" not in given:
        raise BadOption("no folder to write to was given: save(path)")
    path = given["path"].removeprefix("file://").removeprefix("file:")
    if "://" in path:
        raise BadOption(f"{path}: files are written to folders, not behind URLs")
    return ColdWriter(format_name, str(Path(path).absolute()), overwrite, given.get("compression", ""))


def _moves(folders: list[Path], target: Path, removed: list[Path]) -> Iterator[tuple[Path, Path]]:
    """Each file with its place; `SourceError` if two tasks, or one and an earlier write, have the same."""
    seen: set[Path] = set()
    for folder in folders:
        for source in sorted(path for path in folder.rglob("*") if path.is_file()):
            place = target / source.relative_to(folder)
            is_there = place.exists() and not any(place.is_relative_to(item) for item in removed)
            if place in seen or is_there:
                raise SourceError(
                    f"{place}: is written twice; rows that belong into one file have to be in one task, in order: "
                    "repartition by what names the file, and sortWithinPartitions"
                )
            seen.add(place)
            yield source, place


def _nothing(_folder: Path) -> None:
    """Leave a folder as it is."""


def _columns(batch: pa.RecordBatch, format_name: str, *needed: str) -> None:
    if missing := [name for name in needed if name not in batch.schema.names]:
        raise BadOption(f"{format_name} cannot be written without the column {', '.join(missing)}")


def _split(batch: pa.RecordBatch, columns: tuple[str, ...]) -> Iterator[tuple[tuple[Any, ...], pa.RecordBatch]]:
    """The rows of a batch by the values that they have in some columns."""
    present = [name for name in columns if name in batch.schema.names]
    keys = list(zip(*(batch[name].to_pylist() for name in present), strict=True)) or [()] * batch.num_rows
    distinct = list(dict.fromkeys(keys))
    for key in distinct:
        mask = pa.array([found == key for found in keys]) if len(distinct) > 1 else None
        held = dict(zip(present, key, strict=True))
        yield tuple(held.get(name) for name in columns), batch if mask is None else batch.filter(mask)


def write_rbf(folder: Path, name: str, batches: _Counted, _compression: str) -> None:
    """A log of the frames: their tags and payloads, and whether they are tombstones."""
    writer: RbfWriter | None = None
    for batch in batches:
        _columns(batch, "rbf", "tag", "payload")
        writer = writer or RbfWriter(folder / f"{name}.rbf")
        tombs = batch["tombstone"] if "tombstone" in batch.schema.names else pa.nulls(len(batch), pa.bool_())
        rows = zip(batch["tag"].to_pylist(), batch["payload"], pc.fill_null(tombs, False).to_pylist(), strict=True)  # noqa: FBT003
        for tag, payload, is_tombstone in rows:
            writer.append(tag, payload.as_buffer() or b"", tombstone=is_tombstone)
    if writer:
        writer.sync()
        writer.close()


def write_kafka(folder: Path, name: str, batches: _Counted, compression: str) -> None:
    """Segments with their index files, below a folder for each partition of a topic."""
    with ExitStack() as stack:
        writers: dict[tuple[Any, ...], KafkaSegmentWriter] = {}
        for batch in batches:
            for key, rows in _split(batch, ("topic", "partition")):
                if key not in writers:
                    topic, number = key
                    place = folder / (name if topic is None else f"{topic}-{number or 0}")
                    made_writer = KafkaSegmentWriter(place, compression=compression or "none")
                    writers[key] = stack.enter_context(made_writer)
                writers[key].append_batch(rows)


def write_borg(folder: Path, _name: str, batches: _Counted, _compression: str) -> None:
    """A pack of the blobs, named by its content: their ids, and the payloads of their slots as they are stored.

    Only of object version 1 and modes without encryption: any other envelope holds what a table does not.
    """
    types = {mode.name: bytes([key_type]) for key_type, mode in VERSION_1.items() if not mode.is_sealed}
    writer: PackWriter | None = None
    for batch in batches:
        _columns(batch, "borg_pack", "chunk_id", "mode", "version", "meta", "data")
        writer = writer or PackWriter(folder, version=1)
        for row in batch.select(["chunk_id", "mode", "version", "meta", "data"]).to_pylist():
            if row["mode"] not in types or row["version"] != 1:
                raise BadOption(
                    f"a blob of mode {row['mode']} cannot be written: what its envelope holds is in no column; "
                    f"object version 1 and the modes {', '.join(types)} can"
                )
            key_type = types[row["mode"]]
            writer.add(bytes.fromhex(row["chunk_id"]), key_type + row["meta"], key_type + row["data"])
    if writer:
        writer.close()


Write = Callable[[Path, str, _Counted, str], None]
WRITERS: dict[str, Write] = {"rbf": write_rbf, "kafka": write_kafka, "borg": write_borg}
"""How a task writes its rows, by format."""
FINISHED: dict[str, Callable[[Path], None]] = {}
"""What is left to do once all files are in their places."""
