"""manifest.json: what a backup says about itself.

Only the top level is known for certain; what segments and queues are called inside is read tolerantly, and keys that
are not known are kept.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import orjson

from thawline.errors import FormatError

FILE = "manifest.json"
FIRST = ("first_timestamp", "first_message_timestamp", "start_timestamp", "min_timestamp")
LAST = ("last_timestamp", "last_message_timestamp", "end_timestamp", "max_timestamp")
TOP_LEVEL = {"backup_id", "queues", "total_segments", "backup_tool_version"}


@dataclass(frozen=True, slots=True)
class Listed:
    """A segment as the manifest lists it; None for what it does not say."""

    key: str
    vhost: str = ""
    queue: str = ""
    sequence: int | None = None
    record_count: int | None = None
    size_bytes: int | None = None
    uncompressed_bytes: int | None = None
    first_timestamp: int | None = None
    last_timestamp: int | None = None
    checksum: str = ""

    def as_object(self) -> dict[str, Any]:
        """The entry as the manifest has it."""
        names = ("key", "sequence", "record_count", "size_bytes", "uncompressed_bytes")
        times = {"first_timestamp": self.first_timestamp, "last_timestamp": self.last_timestamp}
        return {name: getattr(self, name) for name in names} | times | {"checksum": self.checksum}


@dataclass(frozen=True, slots=True)
class Manifest:
    """A manifest as it was read, and the segments that it lists."""

    raw: Mapping[str, Any] = field(default_factory=dict)
    segments: tuple[Listed, ...] = ()

    @property
    def backup_id(self) -> str:
        """What the backup is called; empty if it does not say."""
        found = self.raw.get("backup_id")
        return found if isinstance(found, str) else ""

    @property
    def is_interrupted(self) -> bool:
        """Whether the backup never got to its end."""
        return self.raw.get("completed_at") is None

    def totals(self) -> Iterator[tuple[str, int, int]]:
        """Totals that it states: name, stated and added up from what it lists."""
        added = {
            "total_segments": len(self.segments),
            "total_messages": _sum(listed.record_count for listed in self.segments),
            "total_bytes": _sum(listed.size_bytes for listed in self.segments),
        }
        for name, value in added.items():
            stated = self.raw.get(name)
            if isinstance(stated, int) and value is not None:
                yield name, stated, value


def _sum(values: Iterator[int | None]) -> int | None:
    """The sum, if every value is known."""
    kept = list(values)
    return sum(value for value in kept if value is not None) if None not in kept else None


def is_manifest(data: bytes) -> bool:
    """Whether these bytes are a manifest of a backup."""
    try:
        found = orjson.loads(data)
    except orjson.JSONDecodeError:
        return False
    return isinstance(found, dict) and bool(TOP_LEVEL & set(found))


def parse(data: bytes, file: str = FILE) -> Manifest:
    """A manifest from its bytes; `FormatError` if it is none."""
    try:
        raw = orjson.loads(data)
    except orjson.JSONDecodeError as error:
        raise FormatError(f"is not JSON: {error}", file=file, offset=error.pos) from error
    if not isinstance(raw, dict):
        raise FormatError("is no JSON object", file=file)
    queues = raw.get("queues", [])
    if not isinstance(queues, list):
        raise FormatError("queues is no array", file=file)
    return Manifest(raw, tuple(_segments(queues, file)))


def _segments(queues: list[Any], file: str) -> Iterator[Listed]:
    for queue in queues:
        if not isinstance(queue, dict) or not isinstance(queue.get("segments", []), list):
            raise FormatError("a queue is no object with an array of segments", file=file)
        for entry in queue.get("segments", []):
            if not isinstance(entry, dict) or not isinstance(entry.get("key"), str):
                raise FormatError("a segment is no object with a key", file=file)
            yield _listed(entry, queue)


def _listed(entry: Mapping[str, Any], queue: Mapping[str, Any]) -> Listed:
    return Listed(
        key=entry["key"],
        vhost=_text(queue.get("vhost")),
        queue=_text(queue.get("name")),
        sequence=_integer(entry, "sequence"),
        record_count=_integer(entry, "record_count"),
        size_bytes=_integer(entry, "size_bytes"),
        uncompressed_bytes=_integer(entry, "uncompressed_bytes"),
        first_timestamp=_integer(entry, *FIRST),
        last_timestamp=_integer(entry, *LAST),
        checksum=_text(entry.get("checksum")).removeprefix("sha256:").lower(),
    )


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _integer(entry: Mapping[str, Any], *names: str) -> int | None:
    """The first of some names that has an integer."""
    values = (entry.get(name) for name in names)
    return next((value for value in values if isinstance(value, int) and not isinstance(value, bool)), None)


def compose(known: Mapping[str, Any], segments: list[Listed]) -> bytes:
    """A manifest of some segments; what is known of the backup besides is kept, totals are added up."""
    queues: dict[tuple[str, str], list[Listed]] = {}
    for listed in segments:
        queues.setdefault((listed.vhost, listed.queue), []).append(listed)
    head = {"backup_id": "", "created_at": None, "completed_at": None, "source_cluster": None}
    head |= {"rabbitmq_version": None, "backup_tool_version": "thawline", "definitions": None}
    totals = {
        "total_messages": sum(listed.record_count or 0 for listed in segments),
        "total_bytes": sum(listed.size_bytes or 0 for listed in segments),
        "total_segments": len(segments),
    }
    old = {(item.get("vhost"), item.get("name")): item for item in known.get("queues", []) if isinstance(item, dict)}
    made = [_queue(old.get(place, {}), *place, found) for place, found in queues.items()]
    return orjson.dumps({**head, **known, "queues": made, **totals}, option=orjson.OPT_INDENT_2) + b"\n"


def _queue(old: Mapping[str, Any], vhost: str, name: str, segments: list[Listed]) -> dict[str, Any]:
    times = [
        time for listed in segments for time in (listed.first_timestamp, listed.last_timestamp) if time is not None
    ]
    facts = {
        "name": name,
        "vhost": vhost,
        "message_count": sum(listed.record_count or 0 for listed in segments),
        "first_message_timestamp": min(times, default=None),
        "last_message_timestamp": max(times, default=None),
    }
    return {**old, **facts, "segments": [listed.as_object() for listed in segments]}
