"""RbakWriter: a backup to write messages to, segment by segment, with a manifest that is always in step."""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from urllib.parse import quote

import orjson

from thawline.errors import SourceError, ThawlineError
from thawline.formats.rbak import manifest
from thawline.formats.rbak.encoding import SUFFIXES, BadRecord, Coding, Framing, SegmentBuilder
from thawline.formats.rbak.fields import PROPERTIES
from thawline.formats.rbak.manifest import Listed
from thawline.outputs import replacing

__all__ = ["BadRecord", "Closed", "RbakWriter", "record"]

SEGMENT_MAX_BYTES = 128 << 20
SEGMENT_MAX_INTERVAL_MS = 60_000
DEFAULT_VHOST, DEFAULT_FOLDER = "/", "_default"


class Closed(ThawlineError, RuntimeError):
    """A writer that has been closed, or has failed."""


def record(
    body: bytes | None,
    *,
    queue: str,
    vhost: str = "/",
    exchange: str = "",
    routing_key: str = "",
    delivery_tag: int = 0,
    redelivered: bool = False,
    backed_up_at: int | None = None,
    headers: object = (),
    properties: Mapping[str, object] | None = None,
) -> dict[str, Any]:
    """A BackupRecord with every key that the format's page lists; `type` may be given for `type_field`.

    >>> record(b"hi", queue="orders", backed_up_at=5)["body"]
    [104, 105]
    """
    given = {("type_field" if name == "type" else name): value for name, value in (properties or {}).items()}
    if unknown := set(given) - set(PROPERTIES):
        raise BadRecord(f"there is no property {', '.join(sorted(unknown))}; there are {', '.join(PROPERTIES)}")
    return {
        "body": None if body is None else list(body),
        "properties": dict.fromkeys(PROPERTIES) | given,
        "headers": list(headers) if isinstance(headers, tuple) else headers,
        "exchange": exchange,
        "routing_key": routing_key,
        "delivery_tag": delivery_tag,
        "redelivered": redelivered,
        "backed_up_at": time.time_ns() // 1_000_000 if backed_up_at is None else backed_up_at,
        "source_queue": queue,
        "source_vhost": vhost,
    }


@dataclass(slots=True)
class _Queue:
    """The segment that is being filled for a queue."""

    vhost: str
    name: str
    sequence: int = 0
    builder: SegmentBuilder | None = None
    begun: float = 0.0


@dataclass
class RbakWriter:
    """A new backup in a folder of its own.

    Each queue has its own segments, `queues/<vhost>/<queue>/segment-NNNN`, which rotate as the tool's do: when the
    records of one reach `segment_max_bytes` before compression, or `segment_max_interval_ms` after its first record. A
    segment appears under its name when it is complete and on the disk, and then the manifest is replaced by one that
    lists it; `completed_at` stays null until `close`. Whatever interrupts the writer leaves a backup that can be read.
    """

    path: Path | str
    backup_id: str = ""
    compression: str = "zstd"
    level: int = 3
    lz4_framing: Framing = "block"
    segment_max_bytes: int = SEGMENT_MAX_BYTES
    segment_max_interval_ms: int = SEGMENT_MAX_INTERVAL_MS
    facts: Mapping[str, Any] = field(default_factory=dict)
    """What else the manifest is to say, such as `source_cluster`."""
    clock: Callable[[], float] = time.time

    def __post_init__(self) -> None:
        self.path = Path(self.path)
        self._coding = Coding(self.compression, self.level, self.lz4_framing)
        self._queues: dict[tuple[str, str], _Queue] = {}
        self._folders: dict[str, tuple[str, str]] = {}
        self.segments: list[Listed] = []
        """What has been written, as the manifest lists it."""
        self._is_open = True
        _make_new(self.path)
        known = {"backup_id": self.backup_id or self.path.name, "created_at": self._now()}
        self._known: dict[str, Any] = {**known, **self.facts, "completed_at": None}
        self._write_manifest()

    def append(self, message: Mapping[str, Any]) -> None:
        """Write one record, given as what its JSON is to be; `record` makes one."""
        queue, vhost, at = message.get("source_queue"), message.get("source_vhost"), message.get("backed_up_at")
        if not isinstance(queue, str) or not isinstance(vhost, str) or not isinstance(at, int):
            raise BadRecord("a record needs source_queue, source_vhost and backed_up_at")
        try:
            document = orjson.dumps(message)
        except (orjson.JSONEncodeError, TypeError) as error:
            raise BadRecord(f"a record that is no JSON: {error}") from error
        self.append_json(document, vhost=vhost, queue=queue, backed_up_at=at)

    def append_json(self, document: bytes, *, vhost: str, queue: str, backed_up_at: int) -> None:
        """Write one record as the JSON that it is."""
        if not self._is_open:
            raise Closed(f"{self.path}: the writer is closed")
        place = self._queues.setdefault((vhost, queue), _Queue(vhost, queue))
        if place.builder is None:
            place.builder, place.begun = SegmentBuilder(self._coding), self.clock()
        place.builder.add(document, backed_up_at)
        is_old = (self.clock() - place.begun) * 1000 >= self.segment_max_interval_ms
        if is_old or place.builder.uncompressed_bytes >= self.segment_max_bytes:
            self._finish(place)

    def flush(self) -> None:
        """Write what is held as segments, whatever their size."""
        for place in self._queues.values():
            if place.builder is not None:
                self._finish(place)

    def close(self) -> None:
        """Write what is held, and say in the manifest that the backup is complete."""
        if self._is_open:
            self.flush()
            self._known["completed_at"] = self._now()
            self._write_manifest()
            self._is_open = False

    def _finish(self, place: _Queue) -> None:
        builder = place.builder
        if builder is None:
            return
        key = f"{self._folder(place)}/segment-{place.sequence + 1:04}{SUFFIXES[self.compression]}"
        target = Path(self.path, key)
        target.parent.mkdir(parents=True, exist_ok=True)
        digest, size = hashlib.sha256(), 0
        with replacing(target) as file:
            for part in builder.finish():
                digest.update(part)
                size += file.write(part)
        place.sequence, place.builder = place.sequence + 1, None
        self.segments.append(
            Listed(
                key,
                place.vhost,
                place.name,
                place.sequence,
                builder.count,
                size,
                builder.uncompressed_bytes,
                builder.first_timestamp,
                builder.last_timestamp,
                digest.hexdigest(),
            )
        )
        self._write_manifest()

    def _folder(self, place: _Queue) -> str:
        """The folder of a queue; names that no file system takes are escaped as in URLs."""
        vhost = DEFAULT_FOLDER if place.vhost == DEFAULT_VHOST else _escaped(place.vhost)
        return f"queues/{vhost}/{_escaped(place.name)}"

    def _write_manifest(self) -> None:
        with replacing(Path(self.path, manifest.FILE), overwrite=True) as file:
            file.write(manifest.compose(self._known, self.segments))

    def _now(self) -> int:
        return int(self.clock() * 1000)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        # After an exception the backup stays what it is: interrupted, with the segments that are complete.
        if kind is None:
            self.close()
        self._is_open = False


def _escaped(name: str) -> str:
    """A name as part of a path: one that could be mistaken for another, or for a folder above, is escaped."""
    escaped = quote(name, safe="")
    if escaped in {"", ".", ".."} or escaped == DEFAULT_FOLDER or escaped.startswith("."):
        return "%" + (f"{ord(escaped[0]):02X}{escaped[1:]}" if escaped else "")
    return escaped


def _make_new(path: Path) -> None:
    """Make the folder, unless there is something in it."""
    try:
        path.mkdir(parents=True, exist_ok=True)
        if any(os.scandir(path)):
            raise SourceError(f"{path}: is not empty; a backup needs a folder of its own")
    except FileExistsError as error:
        raise SourceError(f"{path}: is a file, not a folder") from error
    except OSError as error:
        if isinstance(error, SourceError):
            raise
        raise SourceError(error.errno, f"{path}: {error.strerror}") from error
