"""RbakWriter: a new backup, written segment by segment, whose manifest always lists the segments that are complete.

`SegmentBuilder` makes the bytes of one segment from JSON documents.
"""

from __future__ import annotations

import hashlib
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Protocol, Self
from urllib.parse import quote

import lz4.block
import lz4.frame
import orjson
import pyarrow as pa
import zstandard

from thawline.checksums import crc32
from thawline.engine.encoding import encode, frame
from thawline.errors import SourceError, ThawlineError
from thawline.formats.rbak import manifest
from thawline.formats.rbak.manifest import Listed
from thawline.formats.rbak.records import PROPERTIES
from thawline.outputs import replacing

__all__ = ["BadRecord", "Closed", "Coding", "RbakWriter", "SegmentBuilder", "record"]

Framing = Literal["block", "frame"]
SUFFIXES: dict[str, str] = {"none": "", "zstd": ".zst", "lz4": ".lz4"}
DEFAULT_LEVEL = 3
LONGEST_RECORD = (1 << 31) - 1
"""Bytes of a value that a column holds: a longer record could not be read."""
RESERVED = 2
"""Bytes of the header that are zero when written."""
LONGEST_BLOCK = 0x7E00_0000
"""LZ4_MAX_INPUT_SIZE: what one block can hold."""
PIECE = 1 << 20
SEGMENT_MAX_BYTES = 128 << 20
SEGMENT_MAX_INTERVAL_MS = 60_000
DEFAULT_VHOST, DEFAULT_FOLDER = "/", "_default"


class BadRecord(ThawlineError, ValueError):
    """Something that no segment can hold."""


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


# A backup.


@dataclass(slots=True)
class _Queue:
    """A queue, and its segment that is being filled."""

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
    """What else the manifest states, such as `source_cluster`."""
    clock: Callable[[], float] = time.time

    def __post_init__(self) -> None:
        self.path = Path(self.path)
        self._coding = Coding(self.compression, self.level, self.lz4_framing)
        self._queues: dict[tuple[str, str], _Queue] = {}
        self.segments: list[Listed] = []
        """What has been written, as the manifest lists it."""
        self._is_open = True
        _make_new(self.path)
        known = {"backup_id": self.backup_id or self.path.name, "created_at": self._now()}
        self._known: dict[str, Any] = {**known, **self.facts, "completed_at": None}
        self._write_manifest()

    def append(self, message: Mapping[str, Any]) -> None:
        """Write one record, given as the object that its JSON holds; `record` makes one."""
        queue, vhost, at = message.get("source_queue"), message.get("source_vhost"), message.get("backed_up_at")
        if not isinstance(queue, str) or not isinstance(vhost, str) or not isinstance(at, int):
            raise BadRecord("a record needs source_queue, source_vhost and backed_up_at")
        try:
            document = orjson.dumps(message)
        except (orjson.JSONEncodeError, TypeError) as error:
            raise BadRecord(f"a record that is no JSON: {error}") from error
        self.append_json(document, vhost=vhost, queue=queue, backed_up_at=at)

    def append_json(self, document: bytes, *, vhost: str, queue: str, backed_up_at: int) -> None:
        """Write one record, given as its JSON, verbatim."""
        if not self._is_open:
            raise Closed(f"{self.path}: the writer is closed")
        filled = self._queues.setdefault((vhost, queue), _Queue(vhost, queue))
        if filled.builder is None:
            filled.builder, filled.begun = SegmentBuilder(self._coding), self.clock()
        filled.builder.add(document, backed_up_at)
        is_old = (self.clock() - filled.begun) * 1000 >= self.segment_max_interval_ms
        if is_old or filled.builder.uncompressed_bytes >= self.segment_max_bytes:
            self._finish(filled)

    def flush(self) -> None:
        """Write what is held as segments, whatever their size."""
        for queue in self._queues.values():
            self._finish(queue)

    def close(self) -> None:
        """Write what is held, and state in the manifest that the backup is complete."""
        if self._is_open:
            self.flush()
            self._known["completed_at"] = self._now()
            self._write_manifest()
            self._is_open = False

    def _finish(self, queue: _Queue) -> None:
        """Write the segment of a queue, if one has been begun."""
        builder = queue.builder
        if builder is None:
            return
        key = f"{_folder(queue)}/segment-{queue.sequence + 1:04}{SUFFIXES[self.compression]}"
        size, digest = self._write_segment(key, builder)
        queue.sequence, queue.builder = queue.sequence + 1, None
        self.segments.append(
            Listed(
                key,
                queue.vhost,
                queue.name,
                queue.sequence,
                builder.count,
                size,
                builder.uncompressed_bytes,
                builder.first_timestamp,
                builder.last_timestamp,
                digest,
            )
        )
        self._write_manifest()

    def _write_segment(self, key: str, builder: SegmentBuilder) -> tuple[int, str]:
        """Write a segment; its size, and its SHA-256 in hex."""
        target = Path(self.path, key)
        target.parent.mkdir(parents=True, exist_ok=True)
        digest, size = hashlib.sha256(), 0
        with replacing(target) as file:
            for part in builder.finish():
                digest.update(part)
                size += file.write(part)
        return size, digest.hexdigest()

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
        # After an exception the backup stays interrupted, with the segments that are complete.
        if kind is None:
            self.close()
        self._is_open = False


def _folder(queue: _Queue) -> str:
    """The folder of a queue; names that no file system takes are escaped as in URLs."""
    vhost = DEFAULT_FOLDER if queue.vhost == DEFAULT_VHOST else _escaped(queue.vhost)
    return f"queues/{vhost}/{_escaped(queue.name)}"


def _escaped(name: str) -> str:
    """A name as part of a path; one that could be taken for another name, or for a parent folder, is escaped."""
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


# A segment.


@dataclass(frozen=True, slots=True)
class Coding:
    """How payloads are compressed. `lz4_framing` is `block` as the tool writes it, or `frame` as its page says."""

    compression: str = "zstd"
    level: int = DEFAULT_LEVEL
    lz4_framing: Framing = "block"

    def __post_init__(self) -> None:
        if self.compression not in SUFFIXES:
            raise BadRecord(f"compression is {self.compression!r}; it is one of {', '.join(SUFFIXES)}")
        if self.lz4_framing not in ("block", "frame"):
            raise BadRecord(f"lz4_framing is {self.lz4_framing!r}; it is block or frame")
        if not 1 <= self.level <= zstandard.MAX_COMPRESSION_LEVEL:
            raise BadRecord(f"level is {self.level}; it is 1 to {zstandard.MAX_COMPRESSION_LEVEL}")

    @property
    def largest_payload(self) -> int:
        """The most bytes that a payload can have before compression."""
        return LONGEST_BLOCK if self.compression == "lz4" and self.lz4_framing == "block" else sys.maxsize

    def compressor(self) -> Compressor:
        """A new compressor for one payload."""
        if self.compression == "zstd":
            # As the tool does it: one frame without content size or checksum (formats/rbak.md, section 2).
            stream: Compressor = zstandard.ZstdCompressor(self.level, write_content_size=False).compressobj()
            return stream
        if self.compression == "lz4":
            return _Lz4Frame() if self.lz4_framing == "frame" else _Whole(partial(lz4.block.compress, store_size=True))
        return _Whole(bytes)


class Compressor(Protocol):
    """Takes a payload in pieces and gives it compressed in others."""

    def compress(self, data: memoryview, /) -> bytes:
        """Take a piece."""
        ...

    def flush(self) -> bytes:
        """What is left at the end."""
        ...


class _Lz4Frame:
    """One LZ4 frame."""

    def __init__(self) -> None:
        self._frame = lz4.frame.LZ4FrameCompressor()
        self._begin: bytes = self._frame.begin()

    def compress(self, data: memoryview, /) -> bytes:
        begin, self._begin = self._begin, b""
        return begin + bytes(self._frame.compress(data))

    def flush(self) -> bytes:
        return self._begin + bytes(self._frame.flush())


class _Whole:
    """A payload that is compressed as a whole, or not at all."""

    def __init__(self, compress: Callable[[bytes], bytes]) -> None:
        self._compress_all, self._held = compress, bytearray()

    def compress(self, data: memoryview, /) -> bytes:
        self._held += data
        return b""

    def flush(self) -> bytes:
        return bytes(self._compress_all(bytes(self._held)))


@dataclass(slots=True)
class SegmentBuilder:
    """A segment that is being filled. It holds the compressed payload, and the whole payload of an LZ4 block."""

    coding: Coding = field(default_factory=Coding)
    count: int = 0
    uncompressed_bytes: int = 0
    first_timestamp: int = 0
    last_timestamp: int = 0

    _compressor: Compressor = field(init=False, repr=False)
    _parts: list[bytes] = field(init=False, repr=False, default_factory=list)
    _waiting: list[bytes] = field(init=False, repr=False, default_factory=list)
    _waiting_bytes: int = field(init=False, repr=False, default=0)

    def __post_init__(self) -> None:
        self._compressor = self.coding.compressor()

    def has_room(self, document: bytes, most: int) -> bool:
        """Whether the payload stays within `most` bytes, and within what it can have, with one more record."""
        return self.uncompressed_bytes + 4 + len(document) <= min(most, self.coding.largest_payload)

    def add(self, document: bytes, backed_up_at: int) -> None:
        """Append one record, given as its JSON."""
        if len(document) > LONGEST_RECORD:
            raise BadRecord(
                f"a record of {len(document)} bytes is longer than {LONGEST_RECORD}, the most that is written"
            )
        size = self.uncompressed_bytes + 4 + len(document)
        if size > self.coding.largest_payload:
            raise BadRecord(f"an LZ4 block holds {LONGEST_BLOCK} bytes; rotate earlier, or write frames")
        if not self.count:
            self.first_timestamp = backed_up_at
        self.last_timestamp = backed_up_at
        self.count, self.uncompressed_bytes = self.count + 1, size
        self._waiting.append(document)
        self._waiting_bytes += len(document)
        if self._waiting_bytes >= PIECE:
            self._flush()

    def _flush(self) -> None:
        documents = pa.chunked_array([self._waiting], pa.binary())  # in chunks where they are more than one can hold
        for chunk in documents.chunks:
            batch = pa.RecordBatch.from_arrays([chunk], ["json"])
            self._parts.append(self._compressor.compress(memoryview(encode("rbak_records", batch).data)))
        self._waiting.clear()
        self._waiting_bytes = 0

    def finish(self) -> Iterator[bytes]:
        """The bytes of the segment, piece by piece."""
        self._flush()
        self._parts.append(self._compressor.flush())
        crc = 0
        for part in (self._header(), *self._parts):
            crc = crc32(part, value=crc)
            yield part
        (footer,) = frame("rbak_footer", crc32=crc)
        yield bytes(footer)

    def _header(self) -> bytes:
        (header,) = frame(
            "rbak_header",
            compression=self.coding.compression,
            reserved=bytes(RESERVED),
            num_records=self.count,
            first_timestamp=self.first_timestamp,
            last_timestamp=self.last_timestamp,
        )
        return bytes(header)
