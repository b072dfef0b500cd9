"""`df.write.format(…).save(dir)`: a file, or a set of files, a task; they appear in the folder together, or not at all.

A task writes below a hidden folder that only it uses, since Spark may run it twice. The driver moves what the tasks
that count have written to its place, and takes the rest away.
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
import pyarrow.compute as pc
from pyspark import TaskContext
from pyspark.sql.datasource import DataSourceArrowWriter, WriterCommitMessage

from thawline.damage import CORRUPT
from thawline.errors import SourceError
from thawline.formats.aerospike.writer import AsbWriter
from thawline.formats.borg.envelopes import KEYLESS, enveloped
from thawline.formats.borg.naming import HASHES, Rule
from thawline.formats.borg.writer import PackWriter
from thawline.formats.kafka.writer import KafkaSegmentWriter
from thawline.formats.rbak.fields import PROPERTIES
from thawline.formats.rbak.manifest import FILE as MANIFEST
from thawline.formats.rbak.manifest import compose, parse
from thawline.formats.rbak.writer import RbakWriter, record
from thawline.formats.rbf.writer import RbfWriter
from thawline.options import BadOption
from thawline.outputs import replacing

Batches = Iterator[pa.RecordBatch]
OPTIONS = {"path": "path", "compression": "compression", "columnnameofcorruptrecord": "columnNameOfCorruptRecord"}
"""Options of a write by their names in lower case, as Spark passes them."""
WITHOUT_DAMAGE = (
    "read with option mode=DROPMALFORMED, or write only where {column} IS NULL; `thawline verify` says what is damaged"
)
FRAGMENT = ".manifest-"
LARGEST_PACK = 50_000_000
"""Bytes with which borg closes a pack, by default."""


@dataclass(frozen=True, slots=True)
class Rows:
    """What rows have to be like to be written as files of a format."""

    title: str
    """What Spark calls the format."""
    needed: tuple[str, ...] = ()
    """Columns that have to be there."""
    never_null: tuple[str, ...] = ()
    """Those that every row has a value in, unless it stands for a damaged stretch."""


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
    corrupt: str = CORRUPT
    """The column that a reader has put damaged stretches into."""

    def __post_init__(self) -> None:
        """Make the folder that tasks write below; it is hidden until it is gone."""
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
            folder.mkdir()  # not its parents: a task that still runs must not bring back what was given up
        except FileNotFoundError as error:
            raise SourceError(
                f"{self.path}: is not there for this task; only the driver sees it, or gave up"
            ) from error
        counted = Incoming(iterator, self.format_name, self.corrupt)
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
            _remove(self.staging)
        FINISHED.get(self.format_name, _nothing)(target)

    def abort(self, messages: list[WriterCommitMessage | None]) -> None:
        """Take away what was written."""
        del messages
        _remove(self.staging)
        if self.is_new:
            with suppress(OSError):  # another job has written to it meanwhile
                Path(self.path).rmdir()


def _remove(staging: str) -> None:
    """Take a folder away, also while tasks that Spark has not stopped yet still write below it."""
    for _ in range(50):
        shutil.rmtree(staging, ignore_errors=True)
        if not Path(staging).exists():
            return
        time.sleep(0.1)


class Incoming:
    """Rows of a task on their way to a file: counted, and without the column for damage, which must be empty."""

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
    """What there is to say about a row that lacks what every row has."""
    remedy = WITHOUT_DAMAGE.format(column="the column for damage")
    return (
        f"{title} cannot be written from a row whose {column} is null; if it stands for a damaged stretch of what was "
        f"read, {remedy}"
    )


def made(format_name: str, given: dict[str, str], *, overwrite: bool) -> ColdWriter:
    """A writer as the options say."""
    told = {key.lower(): value for key, value in given.items()}
    if unknown := set(told) - set(OPTIONS):
        known = ", ".join(name for name in OPTIONS.values() if name != "path")
        raise BadOption(f"there is no option {', '.join(sorted(unknown))} for writing; there are {known}")
    if "path" not in told:
        raise BadOption("no folder to write to was given: save(path)")
    path = told["path"].removeprefix("file://").removeprefix("file:")
    if "://" in path:
        raise BadOption(f"{path}: files are written to folders, not behind URLs")
    corrupt = told.get("columnnameofcorruptrecord", CORRUPT)
    return ColdWriter(format_name, str(Path(path).absolute()), overwrite, told.get("compression", ""), corrupt)


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


def _split(batch: pa.RecordBatch, columns: tuple[str, ...]) -> Iterator[tuple[tuple[Any, ...], pa.RecordBatch]]:
    """The rows of a batch by the values that they have in some columns."""
    present = [name for name in columns if name in batch.schema.names]
    keys = list(zip(*(batch[name].to_pylist() for name in present), strict=True)) or [()] * batch.num_rows
    distinct = list(dict.fromkeys(keys))
    for key in distinct:
        mask = pa.array([found == key for found in keys]) if len(distinct) > 1 else None
        held = dict(zip(present, key, strict=True))
        yield tuple(held.get(name) for name in columns), batch if mask is None else batch.filter(mask)


def write_rbf(folder: Path, name: str, batches: Incoming, _compression: str) -> None:
    """A log of the frames: their tags and payloads, and whether they are tombstones."""
    writer: RbfWriter | None = None
    for batch in batches:
        writer = writer or RbfWriter(folder / f"{name}.rbf")
        tombs = batch["tombstone"] if "tombstone" in batch.schema.names else pa.nulls(len(batch), pa.bool_())
        rows = zip(batch["tag"].to_pylist(), batch["payload"], pc.fill_null(tombs, False).to_pylist(), strict=True)  # noqa: FBT003
        for tag, payload, is_tombstone in rows:
            writer.append(tag, payload.as_buffer() or b"", tombstone=is_tombstone)
    if writer:
        writer.sync()
        writer.close()


def write_kafka(folder: Path, name: str, batches: Incoming, compression: str) -> None:
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


def write_borg(folder: Path, _name: str, batches: Incoming, _compression: str) -> None:
    """Packs of the blobs, named by their content; a new one is begun where borg begins one."""
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
    """What a pack is named by: as the one that the blob is from; else as borg named it when it wrote such blobs."""
    given: Rule | None = row.get("name_rule")
    return given if given in HASHES else "sha256" if row["version"] == 1 else "blake3"


def _slots(row: dict[str, Any]) -> tuple[bytes, bytes]:
    """The slots of a blob: as they are, or made anew around their payloads where that needs no key."""
    if row.get("meta_slot") is not None and row.get("data_slot") is not None:
        return row["meta_slot"], row["data_slot"]
    version, mode = row["version"], row.get("mode")
    given = [row.get(name) for name in ("mode", "meta", "data")]
    made = None if None in given else enveloped(version, row["mode"], row["chunk_id"], row["meta"], row["data"])
    if made is None:
        anew = ", ".join(f"{name} of object version {number}" for number, name in KEYLESS)
        raise BadOption(
            f"a blob of mode {mode} and object version {version} cannot be written without the columns meta_slot and "
            f"data_slot, which the option columns gives; from mode, meta and data envelopes are made only of {anew}"
        )
    return made


def write_aerospike(folder: Path, name: str, batches: Incoming, _compression: str) -> None:
    """A backup of the records for each namespace."""
    with ExitStack() as stack:
        writers: dict[tuple[Any, ...], AsbWriter] = {}
        for batch in batches:
            for key, rows in _split(batch, ("namespace",)):
                if key not in writers:
                    place = folder / f"{name}-{quote(str(key[0]), safe='')}.asb"
                    writers[key] = stack.enter_context(AsbWriter(place, key[0]))
                writers[key].write_rows(rows)


def write_rbak(folder: Path, name: str, batches: Incoming, compression: str) -> None:
    """Segments for each queue, and a hidden manifest of them, from which the one of the backup is made in the end."""
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
    """A row of `messages` as the record that it is from; what was not read back to the letter stands for itself."""
    if text := row.get("record_json"):
        found: dict[str, Any] = orjson.loads(text)
        return found
    if empty := next((name for name in ("queue", "backed_up_at") if row[name] is None), None):
        raise BadOption(_without("rbak", empty))
    properties = {name: row.get("type" if name == "type_field" else name) for name in PROPERTIES}
    plain = {name: int(value) if isinstance(value, Decimal) else value for name, value in properties.items()}
    given = {
        name: row[name] for name in ("vhost", "exchange", "routing_key", "redelivered") if row.get(name) is not None
    }
    return record(
        row["body"],
        queue=row["queue"],
        backed_up_at=int(row["backed_up_at"].timestamp() * 1000),
        delivery_tag=int(row.get("delivery_tag") or 0),
        headers=orjson.loads(row.get("headers_json") or "[]"),
        properties=plain,
        **given,
    )


def finish_rbak(folder: Path) -> None:
    """One manifest of all segments, those that were there before and those of each task."""
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
"""What is left to do once all files are in their places."""
