"""`df.write.format(…).save(dir)`: one or more files per task, which appear in the folder together or not at all.

Each task attempt writes to its own hidden folder, since Spark may run a task twice. The driver moves the files of
committed attempts to their places and removes the rest.
"""

from __future__ import annotations

import shutil
import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path
from typing import Any
from urllib.parse import quote

import orjson
import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql.datasource import DataSourceArrowWriter, WriterCommitMessage

from thawline.damage import CORRUPT
from thawline.errors import SourceError
from thawline.formats.aerospike.write import AsbWriter
from thawline.formats.borg.blobs import HASHES, Rule
from thawline.formats.borg.write import KEYLESS, PackWriter, enveloped
from thawline.formats.kafka.write import KafkaSegmentWriter
from thawline.formats.rbak.manifest import FILE as MANIFEST
from thawline.formats.rbak.manifest import compose, parse
from thawline.formats.rbak.records import PROPERTIES
from thawline.formats.rbak.write import RbakWriter, record
from thawline.formats.rbf.write import RbfWriter
from thawline.options import BadOption
from thawline.outputs import replacing

Batches = Iterator[pa.RecordBatch]
OPTIONS = {"path": "path", "compression": "compression", "columnnameofcorruptrecord": "columnNameOfCorruptRecord"}
"""Options of a write, by the lower-case names that Spark passes."""
WITHOUT_DAMAGE = (
    "read with option mode=DROPMALFORMED, or write only where {column} IS NULL; `thawline verify` says what is damaged"
)
FRAGMENT = ".manifest-"
LARGEST_PACK = 50_000_000
"""The pack size in bytes at which borg starts a new pack, by default."""


@dataclass(frozen=True, slots=True)
class Rows:
    """What a format requires of the rows that are written."""

    title: str
    """Spark's name of the format."""
    needed: tuple[str, ...] = ()
    """Required columns."""
    never_null: tuple[str, ...] = ()
    """Columns that are null only in a row that stands for a damaged stretch."""


ROWS = {
    "rbf": Rows("rbf", ("tag", "payload"), ("tag",)),
    "kafka": Rows("kafka_segment"),
    "borg": Rows("borg_pack", ("chunk_id", "version"), ("chunk_id", "version")),
    "aerospike": Rows(
        "aerospike_backup",
        ("namespace", "digest", "set", "key_type", "key", "generation", "bins", "expiration"),
        ("namespace", "digest"),
    ),
    "rbak": Rows("rbak", ("queue", "backed_up_at", "body")),
}


@dataclass
class Written(WriterCommitMessage):
    """The folder of a task attempt that has written all its rows."""

    folder: str
    rows: int


@dataclass
class ColdWriter(DataSourceArrowWriter):
    """Writes the rows of a frame as files of one format."""

    format_name: str
    path: str
    overwrite: bool
    compression: str = ""
    corrupt: str = CORRUPT
    """The column in which a reader returns the bytes of damaged stretches."""

    def __post_init__(self) -> None:
        """Make the hidden folder that tasks write to."""
        self.job = uuid.uuid4().hex
        self.is_new = not Path(self.path).exists()
        self.staging = str(Path(self.path, f".thawline-{self.job}"))
        Path(self.staging).mkdir(parents=True)

    def write(self, iterator: Batches) -> Written:
        """Write the rows of a task."""
        context = TaskContext.get()
        number, attempt = (context.partitionId(), context.taskAttemptId()) if context else (0, 0)
        folder = Path(self.staging, f"{number:05}-{attempt}")
        try:
            folder.mkdir()  # without parents: a task that outlives an aborted job must not recreate its folder
        except FileNotFoundError as error:
            raise SourceError(
                f"{self.path}: does not exist for this task; only the driver sees it, or the job was aborted"
            ) from error
        counted = Incoming(iterator, self.format_name, self.corrupt)
        WRITERS[self.format_name](folder, f"part-{number:05}-{self.job[:8]}", counted, self.compression)
        return Written(str(folder), counted.rows)

    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        """Move the files of all tasks to their places."""
        target = Path(self.path)
        target.mkdir(parents=True, exist_ok=True)
        before = [item for item in target.iterdir() if not item.name.startswith(".")] if self.overwrite else []
        try:
            folders = [Path(message.folder) for message in messages if isinstance(message, Written)]
            moves = list(_moves(folders, target, before))
            for item in before:
                shutil.rmtree(item) if item.is_dir() else item.unlink()
            for source, place in moves:
                place.parent.mkdir(parents=True, exist_ok=True)
                source.replace(place)
        finally:
            _remove(self.staging)
        FINISHED.get(self.format_name, _nothing)(target)

    def abort(self, messages: list[WriterCommitMessage | None]) -> None:
        """Remove everything that was written."""
        del messages
        _remove(self.staging)
        if self.is_new:
            with suppress(OSError):  # another job may have written to it
                Path(self.path).rmdir()


def _remove(staging: str) -> None:
    """Remove a folder, even while tasks that Spark has not stopped yet write to it."""
    for _ in range(50):
        shutil.rmtree(staging, ignore_errors=True)
        if not Path(staging).exists():
            return
        time.sleep(0.1)


class Incoming:
    """The rows of a task, checked and counted, without the column for damage, which must be null."""

    def __init__(self, batches: Batches, format_name: str, corrupt: str = CORRUPT) -> None:
        self.batches, self.format, self.corrupt, self.rows = batches, ROWS[format_name], corrupt, 0

    def __iter__(self) -> Batches:
        for batch in self.batches:
            sound = self._without_damage(batch)
            self._check(sound)
            self.rows += sound.num_rows
            yield sound

    def _without_damage(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        if self.corrupt not in batch.schema.names:
            return batch
        damaged = batch.num_rows - batch[self.corrupt].null_count
        if damaged:
            rows = "a row stands for a damaged stretch"
            rows = rows if damaged == 1 else f"{damaged} rows stand for damaged stretches"
            remedy = WITHOUT_DAMAGE.format(column=self.corrupt)
            raise BadOption(f"{rows} of what was read, which cannot be written: {remedy}")
        return batch.drop_columns([self.corrupt])

    def _check(self, batch: pa.RecordBatch) -> None:
        title = self.format.title
        if missing := [name for name in self.format.needed if name not in batch.schema.names]:
            raise BadOption(f"{title} cannot be written without the column {', '.join(missing)}")
        if empty := next((name for name in self.format.never_null if batch[name].null_count), None):
            raise BadOption(_without(title, empty))


def _without(title: str, column: str) -> str:
    """The message for a row with a null in a column that is never null."""
    remedy = WITHOUT_DAMAGE.format(column="the column for damage")
    return (
        f"{title} cannot be written from a row whose {column} is null; if it stands for a damaged stretch of what was "
        f"read, {remedy}"
    )


def writer_for(format_name: str, passed: dict[str, str], *, overwrite: bool) -> ColdWriter:
    """A writer for a format and options."""
    options = {key.lower(): value for key, value in passed.items()}
    if unknown := set(options) - set(OPTIONS):
        known = ", ".join(name for name in OPTIONS.values() if name != "path")
        raise BadOption(f"there is no option {', '.join(sorted(unknown))} for writing; there are {known}")
    if "path" not in options:
        raise BadOption("no folder to write to was given: save(path)")
    path = options["path"].removeprefix("file://").removeprefix("file:")
    if "://" in path:
        raise BadOption(f"{path}: files are written to folders, not to URLs")
    corrupt = options.get("columnnameofcorruptrecord", CORRUPT)
    return ColdWriter(format_name, str(Path(path).absolute()), overwrite, options.get("compression", ""), corrupt)


def _moves(folders: list[Path], target: Path, removed: list[Path]) -> Iterator[tuple[Path, Path]]:
    """Each file with its place; `SourceError` if another task or an earlier write has the same place."""
    seen: set[Path] = set()
    for folder in folders:
        for source in sorted(path for path in folder.rglob("*") if path.is_file()):
            place = target / source.relative_to(folder)
            is_there = place.exists() and not any(place.is_relative_to(item) for item in removed)
            if place in seen or is_there:
                raise SourceError(
                    f"{place}: is written twice; rows that belong in one file have to be in one task, in order: "
                    "repartition by what names the file, and sortWithinPartitions"
                )
            seen.add(place)
            yield source, place


def _nothing(_folder: Path) -> None:
    """Leave a folder as it is."""


def _split(batch: pa.RecordBatch, columns: tuple[str, ...]) -> Iterator[tuple[tuple[Any, ...], pa.RecordBatch]]:
    """The rows of a batch, grouped by their values in some columns."""
    present = [name for name in columns if name in batch.schema.names]
    keys = list(zip(*(batch[name].to_pylist() for name in present), strict=True)) or [()] * batch.num_rows
    distinct = list(dict.fromkeys(keys))
    for key in distinct:
        mask = pa.array([row_key == key for row_key in keys]) if len(distinct) > 1 else None
        values = dict(zip(present, key, strict=True))
        yield tuple(values.get(name) for name in columns), batch if mask is None else batch.filter(mask)


def write_rbf(folder: Path, name: str, batches: Incoming, _compression: str) -> None:
    """Write a log of frames from tags, payloads and tombstone flags."""
    writer: RbfWriter | None = None
    for batch in batches:
        writer = writer or RbfWriter(folder / f"{name}.rbf")
        payloads = batch["payload"].cast(pa.binary()).fill_null(b"")
        writer.append_batch(batch.set_column(batch.schema.get_field_index("payload"), "payload", payloads))
    if writer:
        writer.sync()
        writer.close()


def write_kafka(folder: Path, name: str, batches: Incoming, compression: str) -> None:
    """Write segments with their index files, in a folder per topic partition."""
    with ExitStack() as stack:
        writers: dict[tuple[Any, ...], KafkaSegmentWriter] = {}
        for batch in batches:
            for key, rows in _split(batch, ("topic", "partition")):
                if key not in writers:
                    topic, number = key
                    place = folder / (name if topic is None else f"{topic}-{number or 0}")
                    segment_writer = KafkaSegmentWriter(place, compression=compression or "none")
                    writers[key] = stack.enter_context(segment_writer)
                writers[key].append_batch(rows)


def write_borg(folder: Path, _name: str, batches: Incoming, _compression: str) -> None:
    """Write packs of blobs, named by their content, each of about the size that borg chooses."""
    writer: PackWriter | None = None
    for batch in batches:
        for row in batch.to_pylist():
            if writer and writer.size >= LARGEST_PACK:
                writer.close()
                writer = None
            writer = writer or PackWriter(folder, rule=_rule(row))
            writer.add(row["chunk_id"], *_slots(row), version=row["version"])
    if writer:
        writer.close()


def _rule(row: dict[str, Any]) -> Rule:
    """The hash that names a pack: that of the blob's original pack, else borg's choice for its object version."""
    rule: Rule | None = row.get("name_rule")
    return rule if rule in HASHES else "sha256" if row["version"] == 1 else "blake3"


def _slots(row: dict[str, Any]) -> tuple[bytes, bytes]:
    """The slots of a blob: its own, or new envelopes around its payloads if the mode needs no key."""
    if row.get("meta_slot") is not None and row.get("data_slot") is not None:
        return row["meta_slot"], row["data_slot"]
    version, mode = row["version"], row.get("mode")
    payloads = [row.get(name) for name in ("mode", "meta", "data")]
    slots = None if None in payloads else enveloped(version, row["mode"], row["chunk_id"], row["meta"], row["data"])
    if slots is None:
        keyless = ", ".join(f"{name} of object version {number}" for number, name in KEYLESS)
        raise BadOption(
            f"a blob of mode {mode} and object version {version} cannot be written without the columns meta_slot and "
            f"data_slot, which the option columns gives; from mode, meta and data envelopes are made only of {keyless}"
        )
    return slots


def write_aerospike(folder: Path, name: str, batches: Incoming, _compression: str) -> None:
    """Write a backup of records per namespace."""
    with ExitStack() as stack:
        writers: dict[tuple[Any, ...], AsbWriter] = {}
        for batch in batches:
            for key, rows in _split(batch, ("namespace",)):
                if key not in writers:
                    place = folder / f"{name}-{quote(str(key[0]), safe='')}.asb"
                    writers[key] = stack.enter_context(AsbWriter(place, key[0]))
                writers[key].write_rows(rows)


def write_rbak(folder: Path, name: str, batches: Incoming, compression: str) -> None:
    """Write segments per queue, and a hidden manifest of them, which `finish_rbak` merges into that of the backup."""
    backup = folder / "backup"
    with RbakWriter(backup, compression=compression or "zstd", segment_max_interval_ms=1 << 62) as writer:
        for batch in batches:
            for row in batch.to_pylist():
                writer.append(_record(row))
    listed = []
    for one in writer.segments:
        key = one.key.replace("/segment-", f"/{name}-segment-")
        (folder / key).parent.mkdir(parents=True, exist_ok=True)
        (backup / one.key).replace(folder / key)
        listed.append(replace(one, key=key))
    shutil.rmtree(backup)
    (folder / f"{FRAGMENT}{name}").write_bytes(compose({"backup_id": name}, listed))


def _record(row: dict[str, Any]) -> dict[str, Any]:
    """The record of a row of `messages`; `record_json`, if set, is the exact record."""
    if text := row.get("record_json"):
        exact: dict[str, Any] = orjson.loads(text)
        return exact
    if empty := next((name for name in ("queue", "backed_up_at") if row[name] is None), None):
        raise BadOption(_without("rbak", empty))
    properties = {name: row.get("type" if name == "type_field" else name) for name in PROPERTIES}
    plain = {name: int(value) if isinstance(value, Decimal) else value for name, value in properties.items()}
    optional = {
        name: row[name] for name in ("vhost", "exchange", "routing_key", "redelivered") if row.get(name) is not None
    }
    return record(
        row["body"],
        queue=row["queue"],
        backed_up_at=int(row["backed_up_at"].timestamp() * 1000),
        delivery_tag=int(row.get("delivery_tag") or 0),
        headers=orjson.loads(row.get("headers_json") or "[]"),
        properties=plain,
        **optional,
    )


def finish_rbak(folder: Path) -> None:
    """Write one manifest of all segments: those of earlier writes and those of each task."""
    fragments = sorted(folder.glob(f"{FRAGMENT}*"))
    kept = parse((folder / MANIFEST).read_bytes()) if (folder / MANIFEST).exists() else None
    segments = [
        *(kept.segments if kept else ()),
        *(one for file in fragments for one in parse(file.read_bytes()).segments),
    ]
    counts: Counter[tuple[str, str]] = Counter()
    for index, one in enumerate(segments):
        counts[one.vhost, one.queue] += 1
        segments[index] = replace(one, sequence=counts[one.vhost, one.queue])
    now = int(time.time() * 1000)
    known = dict(kept.raw) if kept else {"backup_id": folder.name, "created_at": now}
    with replacing(folder / MANIFEST, overwrite=True) as file:
        file.write(compose({**known, "completed_at": now}, segments))
    for fragment in fragments:
        fragment.unlink()


Write = Callable[[Path, str, Incoming, str], None]
WRITERS: dict[str, Write] = {
    "rbf": write_rbf,
    "kafka": write_kafka,
    "borg": write_borg,
    "aerospike": write_aerospike,
    "rbak": write_rbak,
}
"""How a task writes its rows, by format."""
FINISHED: dict[str, Callable[[Path], None]] = {"rbak": finish_rbak}
"""The last step of a commit, by format, once all files are in their places."""
